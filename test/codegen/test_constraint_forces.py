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

"""Forces in the loops from generated code: those that close the equation of motion of the tree."""

import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.codegen import GeneratedCodeWarning
from closed_chain_dynamics.dynamics.constraints import actuator_rows

CLOSES = 1e-9  # of the largest force: J_C^T lambda is solved for lambda in least squares


@pytest.fixture(scope='module', params=['four_bar', 'exo'])
def moving(request):
    """Return a mechanism, its compiled code, and closed states with torques."""
    robot = ccd.load(request.param)
    rng = np.random.default_rng(2)
    q = ccd.assemble(robot)
    v = np.array([ccd.complete_velocity(robot, q, rng.normal(size=robot.nv)) for _ in range(4)])
    tau = rng.normal(size=(4, len(robot.actuator_names)))
    return robot, robot.compile(), np.tile(q, (4, 1)), v, tau


def left_over(robot, q, v, tau, acceleration):
    """Return what neither motors nor the tree account for of a motion, (nv,)."""
    needed = ccd.inverse_dynamics(robot, q, v, acceleration).tau_O
    return needed - actuator_rows(robot, q).T @ tau


def test_forces_of_one_state_and_of_a_batch_close_the_equation_of_motion(moving):
    robot, fast, q, v, tau = moving
    batch = fast.forward_dynamics(q, v, tau)
    forces = batch.constraint_forces
    assert not np.any(batch.generic)
    for k in range(len(q)):
        f = fast.forward_dynamics(q[k], v[k], tau[k])
        left = left_over(robot, q[k], v[k], tau[k], f.acceleration)
        assert np.abs(left).max() > 0.1
        for found in (f.constraint_forces, forces[k]):
            closed = ccd.coordinates(robot, q[k]).J_C.T @ found
            np.testing.assert_allclose(closed, left, atol=CLOSES * np.abs(left).max())
        expected = ccd.forward_dynamics(robot, q[k], v[k], tau[k]).constraint_forces
        np.testing.assert_allclose(forces[k], expected, atol=CLOSES * np.abs(expected).max())


def test_torques_by_name_and_none_have_forces_too(moving):
    robot, fast, q, v, _ = moving
    name = robot.actuator_names[0]
    for tau in (None, {name: 0.5}):
        found = fast.forward_dynamics(q[0], v[0], tau).constraint_forces
        expected = ccd.forward_dynamics(robot, q[0], v[0], tau).constraint_forces
        np.testing.assert_allclose(found, expected, atol=CLOSES * np.abs(expected).max())


def test_a_state_that_is_refused_has_no_forces_and_the_others_do(moving):
    _, fast, q, v, tau = moving
    spoilt = v.copy()
    spoilt[1, 0] = np.nan
    f = fast.forward_dynamics(q, spoilt, tau)
    known = np.isfinite(f.constraint_forces)
    assert known.shape[1] and known[[0, 2, 3]].all() and not known[1].any()
    none = fast.forward_dynamics(q[:0], v[:0], tau[:0])
    assert none.constraint_forces.shape == (0, known.shape[1])


def test_forces_are_those_of_the_question_whatever_happens_later():
    robot = ccd.load('four_bar')
    fast, q = robot.compile(), ccd.assemble(robot)
    v, tau = np.zeros(robot.nv), np.array([0.5])
    f = fast.forward_dynamics(q, v, tau)
    expected = ccd.forward_dynamics(robot, q, v, tau).constraint_forces
    tau[:], v[:] = 7.0, 1.0
    loop = robot.loop_names[0]
    robot.cut(loop)
    np.testing.assert_allclose(f.constraint_forces, expected, atol=CLOSES)
    with pytest.warns(GeneratedCodeWarning):
        opened = fast.forward_dynamics(q, np.zeros(robot.nv), tau)
    assert opened.generic and opened.constraint_forces.size == 0
