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
Every error is in the catalogue of the documentation, and is raised by a real bad file or call.

The catalogue, docs/pages/errors.md, has a table for each class of error. The first cell of a row
is the message, with a name in angle quotes for what is filled in: `no type named <name>`.
"""

from functools import cache
from pathlib import Path
import re
import traceback

from helpers.bad_calls import CALLS
from helpers.bad_code import CODE
from helpers.bad_equations import EQUATIONS
from helpers.bad_files import CASES, YAML_CASES
from helpers.bad_lists import LISTS
from helpers.bad_motions import MOTIONS
from helpers.bad_readings import READINGS, beside
from helpers.bad_ros import NODES, ROS, VALUES
from helpers.bad_studies import STUDIES
from helpers.error_sites import HOLE, PARAMETER, USAGE, files, raise_statements, sites
import pytest

from closed_chain_dynamics.cli.main import main
from closed_chain_dynamics.description import read
from closed_chain_dynamics.errors import ClosedChainError

PAGE = Path(__file__).resolve().parents[2] / 'docs' / 'pages' / 'errors.md'
HEADING = re.compile(r'^## .*`(\w+)`')
ROW = re.compile(r'^\| `(.+?)` \| (.+?) \| (.+?) \|$')
FILLED_IN = re.compile(
    '\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}.*?'
    '\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}'
)

# Messages that only pass on those of others.
PASSED_ON = {
    ('cli/up.py', HOLE),
    ('description/assignments.py', HOLE),
    ('ros/parameters.py', HOLE),
    ('ros/parameters.py', f'parameter {HOLE} {HOLE}'),
}
# Raised for Python's own reasons, and caught in the same module or never.
INTERNAL = {
    'raise ValueError',
    'raise TypeError',
    "raise TypeError('not compiled for these types')",
    "raise errors.ConstantInferenceError('not a constant')",
    'raise NotImplementedError',
    "raise NotImplementedError('an array that is changed far from where it was made')",
    'raise KeyboardInterrupt',
    'raise AttributeError(name)',
    "raise AttributeError(f'{type(self).__name__!r} object has no attribute {name!r}')",
    "raise AttributeError(f'module {__name__!r} has no attribute {name!r}', name=name)",
    "raise AttributeError(f'{name!r} of {type(self).__name__} cannot be set: it is a result')",
    'raise OSError(_why_not(shape.geometry.filename, robot.description.file))',
    "raise ValueError('lcaba cannot take a loop that ends on the world')",
}
# What no input reaches: kernels return a status that has no message only when they have a fault.
OUT_OF_REACH = {
    ('ClosedChainError', f'the computation failed with status {HOLE}'),
    # met over DDS (test_trajectory_action.py), and beside MuJoCo (test_mjcf_sizes.py)
    ('ClosedChainError', f'a tolerance names {HOLE}, which the goal does not move'),
    ('ClosedChainError', f'a tolerance of {HOLE} is {HOLE}'),
    ('ClosedChainError', 'the action needs control_msgs, which is not installed'),
    ('ClosedChainError', 'joints of several degrees of freedom cannot be commanded'),
    ('ClosedChainError', f'the goal has {HOLE} points'),
    ('DescriptionError', f'{HOLE} cells, at most {HOLE}'),
}
# What is met by tests of its own: below, of the nodes, and of the launch files.
ELSEWHERE = (
    "raise reader.error(element, f'{cells:g} cells",
    "raise ClosedChainError('the action needs control_msgs",
    "raise refused_goal('joints of several degrees",
    "raise refused_goal(f'the goal has {len(trajectory.points)} points'",
    "raise refused_goal(f'a tolerance ",
    'raise ClosedChainError(family.problem',
    'raise ValueError(',
    'raise Unreadable(',
    'raise locked_error(robot)',
    'raise done.error',
    'failed with status',
)

WRONG_USAGE = {
    'an unknown parameter': ['up', 'exo_leg', '--torque', 'mod=impedance'],
    'a parameter that is no choice': ['up', 'exo_leg', '--torque', 'mode=soft'],
    'nothing to repeat': ['up', 'four_bar', '--repeat'],
    'a pose that nobody holds': ['up', 'four_bar', '--hold', '--no-controller'],
    'a demonstration that holds': ['up', 'swing', '--hold', '--demo'],
    'the demonstration of a four-bar': ['up', 'four_bar', '--demo'],
    'nodes for a file that is repaired': ['up', 'four_bar', '--inertia', 'repair'],
    'a time below zero': ['simulate', 'four_bar', '--time', '-1'],
    'a parameter without value': ['up', 'exo_leg', '--torque', 'mode'],
    'a value without name': ['simulate', 'four_bar', '--q', 'crank'],
    'an event without time': ['simulate', 'four_bar', '--cut', 'coupler_rocker'],
    'a size of one number': ['simulate', 'four_bar', '--size', '640'],
    'a sine without frequency': ['torque', 'four_bar', '--sine', 'crank=1'],
    'a time with a unit': ['simulate', 'four_bar', '--time', '5s'],
    'a seed that is none': ['study', 'map', 'four_bar', '--over', 'crank=1', '--seed', '-1'],
    'a port that is none': ['view', 'four_bar', '--port', '99999'],
    'a domain that is none': ['up', 'four_bar', '--domain', '300'],
    'a term that is none': ['derive', 'four_bar', '--what', 'X'],
    'a variation without values': ['study', 'what-if', 'pendulum', '--vary', 'mass:arm'],
    'a map without values': ['study', 'map', 'four_bar', '--over', 'crank'],
    'half a sample': ['study', 'what-if', 'pendulum', '--samples', '0.5'],
    'a rate of zero': ['torque', 'four_bar', '--sine', 'crank=1,1', '--rate', '0'],
}


@cache
def catalogue():
    """Return {(class, message with holes): (cause, repair)}."""
    entries, kind = {}, ''
    for line in PAGE.read_text(encoding='utf-8').splitlines():
        heading, row = HEADING.match(line), ROW.match(line)
        if heading:
            kind = heading[1]
        elif row:
            key = kind, FILLED_IN.sub(HOLE, row[1])
            assert key not in entries, f'{key} is there twice'
            entries[key] = row[2], row[3]
    return entries


def is_here(file):
    """Return whether a module can run on this machine."""
    return ROS or not file.startswith('ros/')


@cache
def pattern(message):
    """Return what a message with holes matches."""
    return re.compile('.*'.join(map(re.escape, message.split(HOLE))), re.DOTALL)


def best_entry(entries, error):
    """Return the entry that an error belongs to: the one with most words that fits, or None."""
    fitting = [
        key
        for key in entries
        if key[0] == type(error).__name__ and pattern(key[1]).fullmatch(error.why)
    ]
    passed_on = [
        key
        for key in entries
        if key[0] in (USAGE, PARAMETER) and pattern(key[1]).search(error.why)
    ]
    return max(fitting or passed_on, key=lambda key: len(key[1]), default=None)


def bad_file(text):
    """Return a call that reads a text."""
    return lambda at: read(text)


BAD_INPUTS = {
    **{f'file: {name}': bad_file(case[0]) for name, case in CASES.items()},
    **{f'YAML: {name}': beside(case[0]) for name, case in YAML_CASES.items()},
    **CALLS,
    **READINGS,
    **CODE,
    **EQUATIONS,
    **LISTS,
    **MOTIONS,
    **NODES,
    **STUDIES,
}


@pytest.fixture(scope='module')
def raised(tmp_path_factory):
    """Return {id: what each bad input raises}; None where it raises nothing."""
    errors = {}
    for name, call in BAD_INPUTS.items():
        errors[name] = None
        try:
            call(tmp_path_factory.mktemp('bad'))
        except Exception as error:  # one that is no ClosedChainError fails the test of its input
            errors[name] = error
    return errors


def test_every_error_in_the_source_is_in_the_catalogue():
    made = {
        (site.kind, site.message) for site in sites() if (site.file, site.message) not in PASSED_ON
    }
    missing = sorted(made - set(catalogue()))
    assert not missing, f'add to {PAGE.name}: {missing}'


def test_every_entry_of_the_catalogue_is_in_the_source():
    stale = sorted(set(catalogue()) - {(site.kind, site.message) for site in sites()})
    assert not stale, f'remove from {PAGE.name}: {stale}'


def test_no_bad_input_hides_another():
    tables = CASES, YAML_CASES, CALLS, READINGS, CODE, EQUATIONS, LISTS, MOTIONS, NODES, STUDIES
    assert len(BAD_INPUTS) == sum(map(len, tables))


def test_every_entry_has_a_cause_and_a_repair():
    for key, (cause, repair) in catalogue().items():
        assert len(cause) > 5 and len(repair) > 5, key


@pytest.mark.parametrize('name', BAD_INPUTS)
def test_a_bad_input_raises_an_error_of_the_catalogue(raised, name):
    error = raised[name]
    assert isinstance(error, ClosedChainError), f'it raised {error!r}'
    assert best_entry(catalogue(), error), f'{type(error).__name__}: {error}'
    assert '\n' not in str(error)


def test_every_entry_is_raised_by_a_bad_input(raised):
    entries = catalogue()
    met = {
        best_entry(entries, error)
        for error in raised.values()
        if isinstance(error, ClosedChainError)
    }
    wanted = {
        (site.kind, site.message)
        for site in sites()
        if is_here(site.file)
        and (site.file, site.message) not in PASSED_ON
        and site.kind not in (USAGE, PARAMETER)
    } - OUT_OF_REACH
    assert not wanted - met, sorted(wanted - met)
    assert not OUT_OF_REACH & met


def test_every_raise_statement_is_reached_by_a_bad_input(raised):
    reached = set()
    for error in filter(None, raised.values()):
        for frame in traceback.extract_tb(error.__traceback__):
            reached.add((frame.filename, frame.lineno))
    missed = [
        f'{file}:{first} {source}'
        for file, statements in raise_statements().items()
        if is_here(file)
        for first, last, source in statements
        if source not in INTERNAL
        and USAGE not in source
        and not any((str(files()[file]), line) in reached for line in range(first, last + 1))
        and not any(each in source for each in ELSEWHERE)
    ]
    assert not missed, '\n'.join(missed)


@pytest.mark.parametrize('name', WRONG_USAGE)
def test_wrong_usage_is_told_with_a_message_of_the_catalogue(name, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(WRONG_USAGE[name])
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert any(pattern(message).search(said) for kind, message in catalogue() if kind == USAGE)


@pytest.mark.skipif(not ROS, reason='ROS 2 is not installed: no rclpy')
def test_a_value_that_a_parameter_refuses_is_told_with_a_message_of_the_catalogue():
    from closed_chain_dynamics.ros.parameters import Setting

    entries, met = {message for kind, message in catalogue() if kind == PARAMETER}, set()
    for default, value, options in VALUES.values():
        with pytest.raises(ValueError) as caught:
            Setting('name', default, 'what it is for', **options).read(value)
        met.add(
            max((each for each in entries if pattern(each).fullmatch(str(caught.value))), key=len)
        )
    assert entries - met == {f'write true or false, not {HOLE}'}  # of the launch files
