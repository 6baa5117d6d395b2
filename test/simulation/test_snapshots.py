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

"""What a simulation has handed out means the same later."""

import numpy as np
import pytest

import closed_chain_dynamics as ccd


@pytest.fixture
def sim():
    robot = ccd.load('four_bar')
    return ccd.Simulation(robot, ccd.assemble(robot, {'crank': 0.4}), dt=1e-3)


@pytest.mark.parametrize(
    'move',
    [
        lambda sim: sim.step(),
        lambda sim: sim.run(0.05),
        lambda sim: sim.reset(),
        lambda sim: setattr(sim, 'v', 2.0 * sim.v),
    ],
)
def test_a_state_that_was_kept_stays_as_it_was(sim, move):
    sim.run(0.01)
    q, v = sim.q, sim.v
    kept = q.copy(), v.copy()
    move(sim)
    assert np.array_equal(q, kept[0]) and np.array_equal(v, kept[1])


def test_a_state_that_was_kept_survives_a_cut_and_a_connection(sim):
    sim.run(0.01)
    q, v = sim.q, sim.v
    kept = q.copy(), v.copy()
    (loop,) = sim.robot.loop_names
    sim.cut(loop)
    sim.run(0.002)
    sim.connect(loop)
    assert np.array_equal(q, kept[0]) and np.array_equal(v, kept[1])


def test_writing_into_a_snapshot_is_refused_rather_than_lost(sim):
    with pytest.raises(ValueError, match='read-only'):
        sim.v[0] = 1.0


def test_a_state_that_is_assigned_is_the_one_that_moves_on(sim):
    v = sim.v.copy()
    sim.v = v
    v[:] = np.nan
    sim.step()
    assert np.isfinite(sim.v).all()
    with pytest.raises(ccd.StateError, match='shape'):
        sim.q = np.zeros(sim.robot.nq + 1)
