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

"""Generated code of springs on ball joints and with slack, against MuJoCo and the core."""

import math

import mujoco
import numpy as np
import pytest

import closed_chain_dynamics as ccd

GEOM = '<geom type="box" size="0.05 0.03 0.2" pos="0.02 0 -0.2"/>'
ARM = f"""
<mujoco model="arm"><option gravity="0 0 -9.81"/><worldbody>
  <body><joint name="root" axis="0 1 0"/>{GEOM}
    <body pos="0 0 -0.4"><joint name="ball" type="ball" stiffness="30" damping="0.5"/>{GEOM}
      <body pos="0 0 -0.4"><joint name="slide" type="slide" axis="0 0 1"/>{GEOM}</body>
    </body></body></worldbody>
  <tendon><fixed name="cord" stiffness="400" damping="2" springlength="-0.1 0.2">
    <joint joint="root" coef="1.5"/><joint joint="slide" coef="0.4"/></fixed></tendon>
</mujoco>"""
SAME = 1e-12  # of accelerations of 100 rad/s^2: sums in another order
LENGTHS = (-0.5, -0.1001, -0.0999, 0.05, 0.1999, 0.2001, 0.7)  # of the tendon, on all three sides
TURNS = (0.0, 1e-9, 1e-5, 1.9e-4, 2.1e-4, 0.3, 3.1, 3.2, 6.2)  # of the ball joint


@pytest.fixture(scope='module')
def arm():
    robot = ccd.load(ARM)
    return robot, robot.compile(robot.neutral())


def poses():
    rng = np.random.default_rng(2)
    for k, turn in enumerate(TURNS):
        axis = rng.normal(size=3)
        axis *= math.sin(0.5 * turn) / np.linalg.norm(axis)
        length = LENGTHS[k % len(LENGTHS)]
        # MuJoCo writes quaternions w x y z
        yield np.array([length / 1.5, *axis, math.cos(0.5 * turn), 0.0]), rng.normal(size=5)


def test_motion_is_that_of_mujoco_and_of_the_core(arm):
    robot, fast = arm
    model = mujoco.MjModel.from_xml_string(ARM)
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    data = mujoco.MjData(model)
    for q, v in poses():
        data.qpos[:], data.qvel[:] = [q[0], q[4], *q[1:4], q[5]], v
        mujoco.mj_forward(model, data)
        found = fast.forward_dynamics(q, v)
        core = ccd.forward_dynamics(robot, q, v).acceleration
        assert not found.generic
        np.testing.assert_allclose(found.acceleration, core, rtol=SAME, atol=SAME * 100.0)
        np.testing.assert_allclose(found.acceleration, data.qacc, rtol=1e-9, atol=1e-9)
        mine, theirs = fast.gravity_torques(q), ccd.inverse_dynamics(robot, q, 0.0 * v, 0.0 * v)
        np.testing.assert_allclose(mine.tau_O, theirs.tau_O, rtol=SAME, atol=SAME * 10.0)


def test_derivatives_are_slopes_wherever_a_spring_rests(arm):
    robot, fast = arm
    for q, v in poses():
        exact, found = ccd.derivatives(robot, q, v), fast.derivatives(q, v)
        np.testing.assert_allclose(found.wrt_q, exact.wrt_q, rtol=1e-10, atol=1e-8)
        assert np.isfinite(found.wrt_v).all()
        h = 1e-6
        for j in range(robot.nv):
            ends = [
                ccd.forward_dynamics(robot, ccd.integrate(robot, q, s * np.eye(5)[j]), v)
                for s in (h, -h)
            ]
            slope = (ends[0].acceleration - ends[1].acceleration) / (2.0 * h)
            size = np.abs(exact.wrt_q).max()
            assert np.abs(found.wrt_q[:, j] - slope).max() < 1e-6 * size


@pytest.mark.parametrize('integrator', ['rk4', 'euler'])
def test_a_simulation_keeps_the_same_books(arm, integrator):
    robot, _ = arm
    for q, v in list(poses())[5:]:
        fast, core = (
            ccd.Simulation(robot, q=q, v=v, integrator=integrator, compiled=c)
            for c in (True, False)
        )
        for sim in (fast, core):
            sim.run(0.02)
        assert (
            fast.generated.steps >= 19
        )  # a ball joint turns beyond half a turn, and its spring back
        assert np.abs(fast.q - core.q).max() < 1e-11 and np.abs(fast.v - core.v).max() < 1e-10
        for name in ('potential', 'kinetic', 'dissipated'):
            gap = getattr(fast.energy(), name) - getattr(core.energy(), name)
            assert abs(gap) < 1e-9 * max(1.0, abs(getattr(core.energy(), name)))
