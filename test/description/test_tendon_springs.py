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

"""Springs along tendons over several joints: MuJoCo's soft fixed tendons, and their own tag."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import convert, read
from closed_chain_dynamics.description.writer import to_xml
from closed_chain_dynamics.symbolic.elimination import derive

GEOM = '<geom type="box" size="0.05 0.03 0.2" pos="0.02 0 -0.2"/>'
FINGER = f"""
<mujoco model="finger"><option gravity="0 0 -9.81"/><worldbody>
  <body><joint name="root" axis="0 1 0"/>{GEOM}
    <body pos="0 0 -0.4"><joint name="middle" axis="0 1 0.2"/>{GEOM}
      <body pos="0 0 -0.4"><joint name="slide" type="slide" axis="0 0 1"/>{GEOM}</body>
    </body></body></worldbody>
  <tendon><fixed name="flexor" stiffness="40" damping="2" springlength="0.1">
    <joint joint="root" coef="1.5"/><joint joint="middle" coef="-0.7"/>
    <joint joint="slide" coef="0.4"/></fixed></tendon>
</mujoco>"""
Q, V = np.array([0.3, -0.5, 0.05]), np.array([1.0, 0.4, -0.8])
SAME = 1e-12  # of accelerations of 100 rad/s^2: sums in another order


@pytest.fixture(scope='module')
def finger():
    return ccd.load(FINGER)


def test_motion_and_energy_are_those_of_mujoco(finger):
    model = mujoco.MjModel.from_xml_string(FINGER)
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = Q, V
    mujoco.mj_forward(model, data)
    assert not any('tendons' in note for note in finger.description.notes)
    np.testing.assert_allclose(
        ccd.forward_dynamics(finger, Q, V).acceleration, data.qacc, rtol=SAME, atol=SAME
    )
    ends = np.array([-0.6, 0.2, 0.1])
    stored = []
    for q in (Q, ends):
        data.qpos[:], data.qvel[:] = q, 0.0
        mujoco.mj_forward(model, data)
        own = ccd.Simulation(finger, q=q).energy().balance
        stored.append((own, data.energy[0]))
    assert np.diff(stored, axis=0)[0] @ [1.0, -1.0] == pytest.approx(0.0, abs=1e-12)


def test_generated_code_and_equations_agree(finger):
    a = ccd.forward_dynamics(finger, Q, V).acceleration
    compiled = finger.compile().forward_dynamics(Q, V).acceleration
    np.testing.assert_allclose(compiled, a, rtol=SAME)
    needed = ccd.inverse_dynamics(finger, Q, V, a).tau_G
    equations = derive(finger, 'ic', Q)
    np.testing.assert_allclose(equations.evaluate('tau_1', Q, V, a), needed, atol=1e-11)


def test_its_own_tag_and_mjcf_keep_it(finger, tmp_path):
    assert read(to_xml(finger.description)).springs == finger.description.springs
    (file,), lost = convert(finger.description, tmp_path / 'again.xml', finger.gravity)
    assert ccd.load(file).description.springs == finger.description.springs
    assert not any('tendon' in sentence for sentence in lost)
    _, lost = convert(finger.description, tmp_path / 'again.sdf', finger.gravity)
    assert any('springs along tendons (1: flexor)' in sentence for sentence in lost)


def test_it_ends_with_a_joint_that_is_cut(finger):
    """And is back when the joint is joined again; without it the rest falls freely."""
    without = ccd.Mechanism(replace(finger.description, springs=()), gravity=finger.gravity)
    runs = []
    for robot in (finger, without):
        sim = ccd.Simulation(robot, q=Q, v=V)
        sim.cut('slide')
        sim.run(0.01)
        runs.append(sim.q)
    np.testing.assert_allclose(*runs, rtol=SAME)
    sim = ccd.Simulation(finger, q=Q, v=V)
    sim.cut('slide')
    sim.connect('slide')
    a = ccd.forward_dynamics(finger, Q, V).acceleration
    found = ccd.forward_dynamics(sim.robot, sim.q, sim.v).acceleration
    np.testing.assert_allclose(found, a, rtol=1e-9)  # Q came back from where the link was
