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

"""Motions that excite stay within all limits: of loop joints, and of what motors can give."""

from pathlib import Path

import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.dynamics.constraints import loop_positions
from closed_chain_dynamics.errors import StateError
from closed_chain_dynamics.identification.excitation import excite

TEXT = Path(ccd.load('five_bar').description.file).read_text()
QUICK = {'candidates': 1, 'improvements': 0, 'samples': 60}


def torques(robot, motion):
    """Return the torques of a motion by inverse dynamics, (samples, motors)."""
    states = zip(motion.q, motion.v, motion.a)
    return np.array([ccd.inverse_dynamics(robot, *state).tau_A for state in states])


def test_motors_can_give_the_torques_of_an_excitation():
    free = ccd.load(TEXT)
    q = ccd.assemble(free, {})
    asked = abs(torques(free, excite(free, q, **QUICK).motion)).max()
    at_rest = abs(ccd.inverse_dynamics(free, q, np.zeros(4), np.zeros(4)).tau_A).max()
    most = 0.5 * (asked + at_rest)
    weak = ccd.load(TEXT.replace('effort="20"', f'effort="{most}"'))
    assert asked > most
    assert abs(torques(weak, excite(weak, q, **QUICK).motion)).max() <= most
    weaker = ccd.load(TEXT.replace('effort="20"', f'effort="{0.5 * at_rest}"'))
    with pytest.raises(StateError, match='limits and loops'):
        excite(weaker, q, **QUICK)


def test_a_loop_joint_stays_within_its_limits():
    free = ccd.load(TEXT)
    q = ccd.assemble(free, {})
    middle = loop_positions(free, q)['tip']
    found = [loop_positions(free, each)['tip'] for each in excite(free, q, **QUICK).motion.q]
    half = 0.5 * max(abs(np.array(found) - middle))
    limit = f'<limit lower="{middle - half}" upper="{middle + half}"/></constraint>'
    narrow = ccd.load(TEXT.replace('</constraint>', limit))
    assert narrow.description.loops[0].limit.upper == pytest.approx(middle + half)
    motion = excite(narrow, q, **QUICK).motion
    assert max(abs(loop_positions(narrow, each)['tip'] - middle) for each in motion.q) <= half


def test_a_search_never_reports_that_it_made_the_condition_worse():
    # of this seed the second motion reveals more parameters than the first, which compares with
    # the condition of fewer parameters otherwise
    robot = ccd.load('four_bar')
    q = ccd.assemble(robot, {'crank': 1.0})
    found = excite(robot, q, period=2.0, candidates=2, improvements=0, samples=60, seed=14)
    assert found.condition <= found.first_condition
