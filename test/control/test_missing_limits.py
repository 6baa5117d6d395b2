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
"""Motors without an effort limit in the model: limited all the same, and named."""

from helpers.controlled_runs import ControlledRun
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.control.torque_guard import DEFAULT_EFFORT, TorqueGuard
from closed_chain_dynamics.model import library

LIMIT = '<limit lower="-0.6" upper="1.0" effort="120" velocity="8"/>'  # of the hip
LARGEST = 7.0  # torque of motors without a limit [N m]
RATE = 100.0  # of torques [effort limits per second]
PERIOD = 1e-3


@pytest.fixture
def leg(tmp_path):
    """Return the path of a leg whose hip has no effort limit."""
    text = library.find('exo_leg').read_text()
    assert text.count(LIMIT) == 1
    path = tmp_path / 'leg.urdf'
    path.write_text(text.replace(LIMIT, LIMIT.replace('effort="120"', '')))
    return str(path)


def test_a_motor_without_an_effort_limit_has_a_default_one(leg):
    robot = ccd.load(leg)
    assert TorqueGuard(robot).effort[0] == DEFAULT_EFFORT
    guard = TorqueGuard(robot, default_effort=LARGEST, rate_limit=RATE)
    assert guard.unlimited == ['hip']
    before = guard.limit({'hip': 0.0}, 0.0)
    for k in range(1, 100):
        tau = guard.limit({'hip': 4.2e10 * (-1) ** (k // 20)}, k * PERIOD)
        assert np.abs(tau).max() <= LARGEST
        assert np.abs(tau - before).max() <= RATE * LARGEST * PERIOD * (1.0 + 1e-12)
        before = tau
    assert 'hip' in guard.saturated


def test_neither_gains_nor_speeds_drive_it_beyond(leg):
    """Stiff gains, and states whose velocity nobody can believe."""
    run = ControlledRun(leg, guard={'default_effort': LARGEST}, kp=1e6, kd=2e3)
    run.turn()
    assert run.loop.take_reference(['hip'], [0.3], [[0.4]])
    largest = []
    for k in range(300):
        run.turn()
        largest.append(abs(run.tau[0]))
        if k % 50 == 49:
            q, v = run.measured()
            now = run.sim.time
            run.loop.take_state(run.names, q, v + 1e9, stamp=1.0 + now, now=now)
            assert np.abs(run.loop.guard.tau[0]) <= LARGEST
    assert max(largest) == pytest.approx(LARGEST) and run.loop.safety.state != 'active'
