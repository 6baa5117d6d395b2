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

"""Impacts of mechanisms whose tendons have a mass of their own, which the jump has to carry."""

import mujoco
import numpy as np
import pytest

import closed_chain_dynamics as ccd

WINCH = """
<mujoco><option gravity="0 0 0"/><worldbody>
  <body><joint name="drum" axis="0 1 0"/><geom type="sphere" size="0.1" mass="2"/>
    <body><joint name="load" type="slide" axis="0 1 0"/>
      <geom type="sphere" size="0.05" mass="1.5"/></body></body></worldbody>
  <tendon><fixed name="cord" armature="0.8"><joint joint="drum" coef="0.3"/>
    <joint joint="load" coef="1"/></fixed></tendon>
  <equality><joint joint1="drum"/></equality></mujoco>"""

BAR = '<geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.03" mass="1.2"/>'
LINKAGE = f"""
<mujoco><option gravity="0 0 0"/><worldbody><site name="ground" pos="0.1 0.05 0.3"/>
  <body><joint name="one" axis="0 1 0"/>{BAR}<site name="a" pos="0.1 0 0.05"/>
    <body pos="0.4 0 0"><joint name="two" axis="0 1 0"/>{BAR}
      <body pos="0.4 0 0"><joint name="three" axis="0 1 0.3"/>{BAR}<site name="b" pos="0.2 0 0"/>
        <body pos="0.4 0 0"><joint name="four" type="ball"/>{BAR}</body></body></body></body>
  </worldbody><tendon>%s</tendon>
  <equality><connect body1="world" body2="tip" anchor="0.9 0.1 0.2"/></equality></mujoco>"""
LINKAGE = LINKAGE.replace(
    '<body pos="0.4 0 0"><joint name="four"', '<body name="tip" pos="0.4 0 0"><joint name="four"'
)
TENDONS = {
    'joints': '<fixed armature="0.7"><joint joint="one" coef="1.5"/>'
    '<joint joint="three" coef="-0.8"/></fixed>',
    'points': '<spatial armature="2.5"><site site="ground"/><site site="a"/><site site="b"/>'
    '</spatial>',
}
ROUNDING = 1e-11  # of the largest velocity, after two solutions with M
MATTERS = 1e-3  # by which velocities differ without the mass of the tendon [rad/s]


def test_a_drum_that_is_stopped_hands_its_cord_over_to_the_load():
    """
    (m + a) x' + a r w is conserved, since no impulse acts along x.

    a: mass of the cord, which moves with x' + r w; w: speed of the drum, zero after the impact.
    """
    robot = ccd.load(WINCH)
    m, a, r, w, x = 1.5, 0.8, 0.3, 4.0, -1.0
    hit = ccd.impact(robot, robot.neutral(), [w, x])
    np.testing.assert_allclose(hit.v_after, [0.0, x + a * r * w / (m + a)], atol=1e-14)
    spin = 0.4 * (2.0 * 0.1**2 + m * 0.05**2)  # of drum and load, which turns with it
    before = 0.5 * m * x**2 + 0.5 * a * (x + r * w) ** 2 + 0.5 * spin * w**2
    assert hit.energy_before == pytest.approx(before, rel=1e-12)
    after = 0.5 * (m + a) * hit.v_after[1] ** 2
    assert hit.energy_lost == pytest.approx(before - after, rel=1e-12)


@pytest.mark.parametrize('tendon', TENDONS.values(), ids=TENDONS)
def test_the_jump_is_that_of_the_masses_of_mujoco(tendon):
    """v+ = v - M^-1 J^T (J M^-1 J^T)^-1 J v with M and J of MuJoCo."""
    text = LINKAGE % tendon
    robot, model = ccd.load(text), mujoco.MjModel.from_xml_string(text)
    q = ccd.assemble(robot, {}, start=robot.neutral())
    v = np.random.default_rng(2).normal(size=robot.nv)
    hit = ccd.impact(robot, q, v)
    M, J = _of_mujoco(model, robot, q)
    jump = np.linalg.solve(M, J.T) @ np.linalg.lstsq(J @ np.linalg.solve(M, J.T), J @ v)[0]
    np.testing.assert_allclose(hit.v_after, v - jump, atol=ROUNDING * np.abs(v).max())
    assert hit.energy_lost == pytest.approx(0.5 * jump @ M @ jump, rel=1e-9)
    light = ccd.load(text.replace('armature', 'user'))  # the mass of the tendon does matter
    assert np.abs(ccd.impact(light, q, v).v_after - hit.v_after).max() > MATTERS


def _of_mujoco(model, robot, q):
    """Return M and the rows of the equalities at a pose, in the same order of velocities."""
    data = mujoco.MjData(model)
    data.qpos[:] = [*q[:3], q[6], *q[3:6]]  # MuJoCo's quaternions begin with their real part
    mujoco.mj_forward(model, data)
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M)
    J = np.zeros((data.nefc, model.nv))
    if mujoco.mj_isSparse(model):
        mujoco.mju_sparse2dense(
            J, data.efc_J, data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind
        )
    else:
        J[:] = data.efc_J.reshape(J.shape)
    return M, J
