# Copyright 2026 the authors of closed_chain_dynamics
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
Everything that reads what strangers write, as functions of bytes.

A model that was read must be able to be written, and what was written to be read again: that is
tried as well.
"""

from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from functools import cache
import io
from pathlib import Path

from benchmarks.fuzzing import mutants
import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import read, to_xml
from closed_chain_dynamics.description.assignments import assignments
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['READERS', 'Reader', 'RoundTripFailed', 'ros_readers']


class RoundTripFailed(Exception):
    """What was read and written cannot be read again, or two readers disagree."""


@dataclass(frozen=True)
class Reader:
    """`read(path)`: reads a file; `mutants`: how its inputs are spoilt, more often the first."""

    suffix: str
    read: Callable[[Path], object]
    mutants: tuple[mutants.Mutant, ...]


def _model(path: Path) -> None:
    described = read(path)
    Mechanism(described)
    _read_again(described)


def _text(path: Path) -> None:
    """Read a model as nodes do, which hear it as a text."""
    text = path.read_bytes().decode('utf-8', 'replace')
    if text.lstrip('\ufeff \t\r\n').startswith('<'):  # else no node takes it for a model
        _read_again(ccd.load(text).description)


def _read_again(described) -> None:
    text = to_xml(described)
    try:
        read(text, inertia='trust')
    except ccd.ClosedChainError as error:
        raise RoundTripFailed(str(error)) from error


def _check(path: Path) -> None:
    """Ask `closed-chain check` about a model."""
    from closed_chain_dynamics.cli.main import main

    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as said:
        try:
            code = main(['check', str(path), '--json'])
        except SystemExit as end:
            code = end.code
    if code not in (0, 1):
        raise RoundTripFailed(f'exit code {code}: {said.getvalue()[-2000:]}')


def _extended(path: Path) -> None:
    tree = path.with_suffix('.urdf')
    tree.write_text(_tree())
    read(tree)


@cache
def _tree() -> str:
    from closed_chain_dynamics.description.conversion import _extended as write

    return write(ccd.load('four_bar').description, (0.0, 0.0, -9.81), None)[0]['.urdf']


def _lists(path: Path) -> None:
    from closed_chain_dynamics.symbolic import read_lists

    read_lists(path)


def _study(path: Path) -> None:
    from closed_chain_dynamics.studies.experiment import Experiment
    from closed_chain_dynamics.studies.experiment_checks import check_experiment
    from closed_chain_dynamics.studies.study_file import read_study

    arguments = {'variations': (), 'responses': (), **read_study(path)}
    check_experiment(Experiment(_pendulum(), **arguments))


@cache
def _pendulum() -> Mechanism:
    return ccd.load('pendulum')


@cache
def _robot() -> Mechanism:
    return ccd.load('four_bar')


@cache
def _floating() -> Mechanism:
    return ccd.load('figure', root_joint='floating')


def _motion(path: Path) -> None:
    from closed_chain_dynamics.studies.motion.reading import read_trajectory

    read_trajectory(_robot(), path)


def _record(path: Path) -> None:
    from closed_chain_dynamics.identification.records import read_record

    robot = _pendulum()
    read_record(robot, path, ccd.assemble(robot, {}))


def _archive(path: Path) -> None:
    from closed_chain_dynamics.recording.log_reading import read_npz

    log = read_npz(path)
    for what in ('q', 'v', 'tau'):
        log.table(what)


def _words(path: Path) -> None:
    """Read what people write on a command line."""
    from closed_chain_dynamics.studies.responses import read_response
    from closed_chain_dynamics.studies.sampling import read_variation

    text = path.read_bytes().decode('utf-8', 'replace')
    for reads in (
        lambda: read_variation(text),
        lambda: assignments([text], 'position'),
        lambda: read_response(text).check(_pendulum()),
    ):
        with suppress(ccd.ClosedChainError, ValueError):  # argparse makes a sentence of it
            reads()


def _contact_state(path: Path) -> None:
    from closed_chain_dynamics.control.state_tracking import StateTracker
    from closed_chain_dynamics.ros.messages.contacts import read_state
    from closed_chain_dynamics.simulation.wishes import read_wish

    text = path.read_bytes().decode('utf-8', 'replace')
    robot = _robot().copy()
    state = read_state(text)
    if state is not None:
        StateTracker(robot).follow(state)
    read_wish(text, {*robot.loop_names, *robot.joint_names})


XML = (mutants.xml, mutants.xml, mutants.xml, mutants.bits)
FIELDS = (mutants.fields, mutants.fields, mutants.words, mutants.bits)
READERS = {
    'urdf': Reader('.urdf', _model, XML),
    'dialects': Reader('.urdf', _model, XML),
    'description': Reader('.urdf', _text, XML),
    'mjcf': Reader('.xml', _model, XML),
    'sdf': Reader('.sdf', _model, XML),
    'xacro': Reader('.xacro', _model, XML),
    'extended': Reader('.yaml', _extended, FIELDS),
    'lists': Reader('.yaml', _lists, FIELDS),
    'study': Reader('.yaml', _study, FIELDS),
    'words': Reader('.txt', _words, (mutants.words, mutants.bits)),
    'motion': Reader('.csv', _motion, (mutants.table, mutants.table, mutants.bits)),
    'record': Reader('.csv', _record, (mutants.table, mutants.table, mutants.bits)),
    'bag': Reader('.mcap', _record, (mutants.bits,)),
    'log': Reader('.npz', _archive, (mutants.archive, mutants.archive, mutants.bits)),
    'check': Reader('.urdf', _check, XML),
}


def ros_readers() -> dict[str, Reader]:
    """Return readers of bytes that come over DDS, none where ROS 2 is not installed."""
    try:
        from benchmarks.fuzzing import messages
    except ImportError:
        return {}
    return {
        'contact_state': Reader('.json', _contact_state, FIELDS),
        **{name: Reader('.cdr', each, (mutants.bits,)) for name, each in messages.READERS.items()},
    }
