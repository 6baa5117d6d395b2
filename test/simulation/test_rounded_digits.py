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

"""A mechanism that closes only to the digits of its file moves: what assembles, simulates."""

from helpers.rounded_linkages import rounded_bennett
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.errors import StateError

ROUNDED = 1e-6  # a motion that rounding of the seventh digit changes, after a second [rad]


def test_an_overconstrained_linkage_with_rounded_digits_simulates():
    exact, crank = rounded_bennett(digits=15)
    rounded, _ = rounded_bennett(digits=7)
    ends = []
    for robot in (exact, rounded):
        q = ccd.assemble(robot, {'hinge_0': crank})
        assert ccd.coordinates(robot, q).mobility == 1
        sim = ccd.Simulation(robot, q=q)
        sim.run(1.0)
        ends.append(sim)
    gap = max(rounded.loop_gaps(ends[1].q)['closing'])
    assert 1e-9 < gap < 1e-6  # it cannot be closed, and stays as near as it can be
    assert ends[1].log.loop_error.max() < 1e-6
    assert np.abs(ends[1].q - ends[0].q).max() < ROUNDED
    assert np.ptp(ends[0].log.balance) < 1e-11 * 20.0
    assert np.ptp(ends[1].log.balance) < 1e-7 * ends[1].log.kinetic.max()


def test_a_pose_that_is_not_closed_is_refused_all_the_same():
    robot, crank = rounded_bennett()
    q = ccd.assemble(robot, {'hinge_0': crank})
    q[1] += 1.0
    with pytest.raises(StateError, match="loop 'closing' is open"):
        ccd.Simulation(robot, q=q, dt=1e-3)
