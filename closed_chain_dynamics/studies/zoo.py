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
A whole folder of robots: which load, close, move, and agree with the tool they were written for.

Files of strangers may crash a library or never end. So every file is judged in a second process,
which is started anew when it dies or takes too long; that file gets the blame, and the others
their judgement.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
import multiprocessing
from multiprocessing.connection import Connection
import os
from pathlib import Path
import re
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.assembly.search import assemble
from closed_chain_dynamics.description.document import ROBOT_SUFFIXES
from closed_chain_dynamics.description.own_files import MODEL_PATH
from closed_chain_dynamics.dynamics.generalized_coordinates import coordinates
from closed_chain_dynamics.errors import ClosedChainError, DescriptionError
from closed_chain_dynamics.model.mechanism import Mechanism, load
from closed_chain_dynamics.simulation.simulation import Simulation
from closed_chain_dynamics.studies.other_engines import Unreadable, differences, engine_of

__all__ = ['AGREEMENT', 'Specimen', 'robots_in', 'visit']

AGREEMENT = 1e-8  # difference to the own tool, relative to its largest numbers
SECONDS = 1.0  # of simulated time
DOUBTFUL = 'No rigid body has the inertias'  # a note that belongs into the table
TELLING_OMISSIONS = ('springs', 'stiffness')  # what makes a difference where it is left out
ROOTS = re.compile(rb'<\s*(robot|mujoco|sdf)[\s>]')
MODELS = re.compile(rb'<\s*(model|include)[\s>]')
HEAD_BYTES = 65536  # bytes in which a root element must show itself


@dataclass
class Specimen:
    """What is known of a file; None: was not reached, or there is nothing to say."""

    file: str
    loads: bool = False
    inertia: str = 'check'  # 'trust' where it is refused otherwise
    left_out: list[str] = field(default_factory=list)  # what the file says and nothing here has
    closes: bool | None = None
    mobility: int | None = None
    redundant: int | None = None  # rows of loops that say nothing new
    loops: int | None = None
    actuation: str | None = None
    engine: str = ''  # the tool that the file was written for, where it is installed
    engine_loads: bool | None = None
    differences: dict[str, float] | None = None  # to that tool, relative
    doubt: float = 0.0  # what rounded loops leave open of accelerations
    agrees: bool | None = None
    simulates: bool | None = None
    why: str = ''  # the first thing that went wrong, in a sentence
    seconds: float = 0.0  # that all this took

    @property
    def good(self) -> bool:
        """Return whether nothing went wrong, or only what goes wrong in the own tool too."""
        if not self.loads:
            return self.engine_loads is False
        return all(each is not False for each in (self.closes, self.agrees, self.simulates))

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON."""
        return {**asdict(self), 'good': self.good}


def robots_in(folder: Path) -> list[Path]:
    """Return the files below a folder that may be robots, in order, but for hidden folders."""
    if not folder.is_dir():
        raise DescriptionError(
            'is not a folder', file=str(folder), repair='Give a folder with robots in it.'
        )
    found = []
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(each for each in folders if not each.startswith('.'))
        for name in sorted(files):
            path = Path(place, name)
            if path.suffix.lower() in ROBOT_SUFFIXES and _is_robot(path):
                found.append(path)
    return found


def _is_robot(path: Path) -> bool:
    try:
        with path.open('rb') as file:
            found = ROOTS.search(head := file.read(HEAD_BYTES))
            # an SDF file may be a scene, a light or an actor
            return found is not None and (found[1] != b'sdf' or MODELS.search(head) is not None)
    except OSError:  # a broken link, or not ours to read
        return False


def judge(path: Path, tell: Callable[[Specimen], None] = lambda found: None) -> Specimen:
    """
    Load a robot, close it, compare it and let it move; whatever goes wrong is written down.

    `tell` is called with what is known so far, before what may take long.
    """
    found, begun = Specimen(str(path), engine=engine_of(path)), time.perf_counter()
    robot, q = _load(path, found), None
    if robot is not None:
        tell(found)
        try:
            q = assemble(robot, {})
            found.closes = True
            c = coordinates(robot, q)
            found.mobility = c.mobility
            found.redundant = sum(c.redundant_rows_by_loop.values())
            found.actuation = c.levers.kind if len(c.S) else 'none'
        except ClosedChainError as error:
            found.why = _sentence(error)
            found.closes = q is not None
    if found.engine:
        tell(found)
        _compare(robot, path, q, found)
    tell(found)
    if robot is not None and found.closes:
        try:
            if found.inertia == 'trust':  # no motion follows from an inertia below zero
                robot = load(str(path), inertia='repair')
                q = assemble(robot, {})
            Simulation(robot, q=q, log_every=0).run(SECONDS)
            found.simulates = True
        except ClosedChainError as error:
            found.simulates = False
            found.why = _sentence(error)
    found.seconds = time.perf_counter() - begun
    return found


def _load(path: Path, found: Specimen) -> Mechanism | None:
    """Load a robot; one whose inertias are refused is taken as it is, and that is told."""
    robot = None
    try:
        robot = load(str(path))
    except ClosedChainError as error:
        found.why = _sentence(error)
        try:
            robot, found.inertia = load(str(path), inertia='trust'), 'trust'
        except ClosedChainError:
            return None
    found.loads, found.loops = True, len(robot.loop_names)
    notes = robot.description.notes
    found.left_out = [note for note in notes if note.startswith('Left out')]
    found.why = found.why or next((each for each in notes if each.startswith(DOUBTFUL)), '')
    return robot


def _compare(
    robot: Mechanism | None, path: Path, q: NDArray[np.float64] | None, found: Specimen
) -> None:
    """Compare a robot with its own tool, in a pose beyond limits where it closes only there."""
    try:
        if robot is not None and q is None:
            with suppress(ClosedChainError):  # without loops there is still a tree to compare
                q = assemble(robot, {}, limits=False)
        found.differences = differences(robot, path, q) or None
        found.engine_loads = True
        if found.differences:
            found.doubt = found.differences.pop('doubt', 0.0)
            bound = {'acceleration': max(found.doubt, AGREEMENT)}
            excess = {
                name: size / bound.get(name, AGREEMENT) for name, size in found.differences.items()
            }
            worst = max(excess, key=excess.__getitem__)
            size, found.agrees = found.differences[worst], excess[worst] <= 1.0
            if not found.agrees:
                sentence = f'{worst} differs from {found.engine} by {size:.2g}'
                told = [
                    each
                    for each in found.left_out
                    if any(word in each for word in TELLING_OMISSIONS)
                ]
                found.why = '. '.join([sentence, *told])
    except Unreadable as error:
        if robot is None:
            found.engine_loads = False
        else:
            found.why = found.why or f'cannot be compared with {found.engine}: {error}'


def _sentence(error: Exception) -> str:
    return ' '.join(str(error).split())


def visit(
    files: list[Path], *, patience: float = 120.0, folder: Path | None = None
) -> Iterator[Specimen]:
    """
    Yield the judgement of every file; one that takes longer than `patience` [s] is given up.

    Whoever chooses a folder trusts it: its models may name all files in it.
    """
    judges = _Judges(folder)
    try:
        for path in files:
            yield judges.ask(path, patience)
    finally:
        judges.stop()


class _Judges:
    """The second process; there is always one that works."""

    def __init__(self, folder: Path | None) -> None:
        self._context = multiprocessing.get_context('forkserver')
        self._context.set_forkserver_preload([__name__])  # the next one starts without imports
        trusted = (str(folder.resolve()) if folder else '', os.environ.get(MODEL_PATH, ''))
        self._model_path = os.pathsep.join(filter(None, trusted))
        self._process: Any = None

    def _start(self) -> None:
        self._here, there = self._context.Pipe()
        self._process = self._context.Process(
            target=_serve, args=(there, self._model_path), daemon=True
        )
        self._process.start()
        there.close()
        self._here.recv()  # it has imported everything

    def ask(self, path: Path, patience: float) -> Specimen:
        """Return its judgement, or as much of it as there is, and why there is no more."""
        if self._process is None:
            self._start()
        found, end = Specimen(str(path), engine=engine_of(path)), time.perf_counter() + patience
        try:
            self._here.send(path)
            while self._here.poll(max(end - time.perf_counter(), 0.0)):
                answer: tuple[Specimen, bool] = self._here.recv()
                found, is_all = answer
                if is_all:
                    return found
            why = f'took more than {patience:g} s'
        except (EOFError, OSError):
            self._process.join()
            why = f'ended the process with exit code {self._process.exitcode}'
        self.stop()
        found.simulates = False if found.loads else None
        found.why, found.seconds = why, patience
        return found

    def stop(self) -> None:
        """End the process, whatever it does."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None


def _serve(there: Connection, model_path: str) -> None:
    """Judge files until nobody asks any more; models may name files of folders in a path."""
    os.environ[MODEL_PATH] = model_path
    Simulation(load('pendulum')).run(1e-3)  # compiles what it has to, at nobody's expense
    there.send('ready')
    while True:
        try:
            path = there.recv()
        except EOFError:
            return
        try:
            answer = judge(path, lambda found: there.send((found, False)))
        except Exception as error:  # a fault of ours: it belongs into the table, by its name
            answer = Specimen(str(path), why=f'{type(error).__name__}: {_sentence(error)}')
        there.send((answer, True))
