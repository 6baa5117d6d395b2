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

"""Springs, dampers and masses along tendons and on ball joints, against MuJoCo."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import convert, read
from closed_chain_dynamics.description.writer import to_xml
from closed_chain_dynamics.dynamics.tree import tendon_path
from closed_chain_dynamics.errors import StructureError

GEOM = '<geom type="box" size="0.05 0.03 0.2" pos="0.02 0 -0.2"/>'
ARM = f"""
<mujoco model="arm"><option gravity="0 0 -9.81"/><worldbody><site name="w" pos="0.1 0.2 0.1"/>
  <body><joint name="root" axis="0 1 0"/>{GEOM}<site name="a" pos="0.1 0.03 -0.1"/>
    <geom name="ball" type="sphere" size="0.06" pos="0.05 0.02 -0.4" mass="0"/>
    <geom name="rod" type="cylinder" size="0.05 0.3" pos="-0.02 0 -0.4" euler="80 10 0" mass="0"/>
    <site name="side" pos="0.2 0 -0.4"/><site name="inside" pos="0.051 0.021 -0.41"/>
    <body pos="0 0 -0.4"><joint name="middle" axis="0 1 0.2"/>{GEOM}
      <site name="b" pos="0.02 -0.1 -0.3"/>
      <body pos="0 0 -0.4"><joint name="slide" type="slide" axis="0 0.1 1"/>{GEOM}
        <site name="c" pos="-0.1 0.04 -0.1"/>
        <body pos="0 0 -0.4"><joint name="knob" type="ball" stiffness="3" damping="0.1"/>{GEOM}
          <site name="d" pos="0.07 0.04 -0.2"/></body></body></body></body></worldbody>
  <tendon>%s</tendon></mujoco>"""
PASSED_ON = 1e-12  # of the largest force or moment in a joint: rounding of some ten additions
LAW = 'name="cord" stiffness="400" damping="20"'
ROPE = f'<spatial {LAW} springlength="0.1"><site site="a"/>%s<site site="%s"/></spatial>'
MASS = f'<spatial {LAW} springlength="0.2 0.9" armature="2.5">%s</spatial>'
SITES = ''.join(f'<site site="{name}"/>' for name in 'wabd')
PULLEYS = '<site site="a"/><site site="c"/><pulley divisor="3"/><site site="b"/><site site="d"/>'
JOINTS = '<joint joint="root" coef="1.5"/><joint joint="middle" coef="-0.7"/>'
TENDONS = {
    'joints': f'<fixed {LAW} springlength="0.1" armature="3">{JOINTS}</fixed>',
    'slack joints': f'<fixed {LAW} springlength="-0.2 0.3">{JOINTS}</fixed>',
    'two points': MASS % '<site site="w"/><site site="c"/>',
    'points': MASS % SITES,
    'pulleys': MASS % f'<site site="w"/><site site="a"/><pulley divisor="2"/>{PULLEYS}',
    'ball': ROPE % ('<geom geom="ball"/>', 'b'),
    'side of ball': ROPE % ('<geom geom="ball" sidesite="side"/>', 'c'),
    'rod': ROPE % ('<geom geom="rod"/>', 'b'),
    'side of rod': ROPE % ('<geom geom="rod" sidesite="side"/>', 'c'),
    'through ball': ROPE % ('<geom geom="ball" sidesite="inside"/>', 'c'),
    'through rod': ROPE % ('<geom geom="rod" sidesite="inside"/>', 'c'),
}
SAME = 1e-11  # of accelerations of some 100 rad/s^2: sums in another order
# MuJoCo ends its search for the point where a path touches from within at 1e-6 rad
SEARCHED = 1e-7
POSES = 8


def tolerance(kind):
    return SEARCHED if 'through' in kind else SAME


def states(count=POSES):
    random = np.random.default_rng(7)
    for _ in range(count):
        q, v = random.normal(size=7) * 0.8, random.normal(size=6)
        q[2] *= 0.1
        q[3:] /= np.linalg.norm(q[3:])
        yield q, v


@pytest.fixture(scope='module', params=TENDONS)
def arm(request):
    """Return a kind of tendon, the mechanism, and MuJoCo's model and data."""
    text = ARM % TENDONS[request.param]
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
    return request.param, ccd.load(text), model, mujoco.MjData(model)


def set_state(model, data, q, v):
    data.qpos[:], data.qvel[:] = [*q[:3], q[6], *q[3:6]], v
    mujoco.mj_forward(model, data)


def test_mass_matrix_forces_and_motion_are_those_of_mujoco(arm):
    kind, robot, model, data = arm
    assert not any('tendons' in note or 'springs' in note for note in robot.description.notes)
    M = np.zeros((model.nv, model.nv))
    for q, v in states():
        set_state(model, data, q, v)
        mujoco.mj_fullM(model, data, M)
        np.testing.assert_allclose(ccd.mass_matrix(robot, q), M, atol=SAME)
        a, within = data.qacc.copy(), tolerance(kind) * np.abs(data.qacc).max()
        np.testing.assert_allclose(ccd.forward_dynamics(robot, q, v).acceleration, a, atol=within)
        needed = ccd.inverse_dynamics(robot, q, v, a).tau_O  # nothing but passive forces moves it
        scale = np.abs(data.qfrc_bias).max() + np.abs(data.qfrc_passive).max()
        np.testing.assert_allclose(needed, 0.0, atol=tolerance(kind) * scale)


def test_energy_is_that_of_mujoco_up_to_a_constant(arm):
    kind, robot, model, data = arm
    apart = []
    for q, v in states():
        set_state(model, data, q, v)
        apart.append(ccd.Simulation(robot, q=q, v=v).energy().balance - data.energy.sum())
    assert np.ptp(apart) < SAME * 100.0  # of some 100 J


def test_rate_of_the_length_is_its_derivative(arm):
    """By finite differences, and the length itself is MuJoCo's."""
    kind, robot, model, data = arm
    number = [each.name for each in robot.description.springs].index('cord')
    step = 1e-6
    for q, v in states():
        set_state(model, data, q, v)
        length, row = tendon_path(robot, q, number)
        assert length == pytest.approx(data.ten_length[0], abs=1e-12)
        ends = [
            tendon_path(robot, ccd.integrate(robot, q, side * step * v), number)[0]
            for side in (-1.0, 1.0)
        ]
        assert row @ v == pytest.approx(np.diff(ends)[0] / (2.0 * step), abs=1e-8)


def test_own_tags_and_mjcf_keep_it(arm, tmp_path):
    kind, robot, _, _ = arm
    springs = robot.description.springs
    assert read(to_xml(robot.description)).springs == springs
    (file,), lost = convert(robot.description, tmp_path / 'again.xml', robot.gravity)
    again = ccd.load(file)
    assert not any('tendon' in sentence or 'spring' in sentence for sentence in lost)
    for q, v in states(2):
        np.testing.assert_allclose(
            ccd.forward_dynamics(again, q, v).acceleration,
            ccd.forward_dynamics(robot, q, v).acceleration,
            rtol=1e-9,
        )
    _, lost = convert(robot.description, tmp_path / 'again.sdf', robot.gravity)
    assert any('springs along tendons (1: cord)' in sentence for sentence in lost)
    assert any('springs on ball joints (1: knob_spring)' in sentence for sentence in lost)


def test_free_motion_keeps_its_energy(arm):
    """
    Without dampers; implicit steps are of second order, so they keep it less well.

    In one pose the path round the side of the ball would snap to the other side, by its very rule.
    """
    kind, robot, _, _ = arm
    free = replace(
        robot.description,
        springs=tuple(replace(each, damping=0.0) for each in robot.description.springs),
        joints=tuple(
            replace(each, dynamics=replace(each.dynamics, damping=0.0))
            for each in robot.description.joints
        ),
    )
    robot = ccd.Mechanism(free, gravity=robot.gravity)
    q, v = list(states())[1 if kind == 'side of ball' else 0]
    for integrator, within in (('rk4', 1e-6), ('implicit', 2e-2)):
        sim = ccd.Simulation(robot, q=q, v=0.1 * v, integrator=integrator)
        before = sim.energy().balance
        sim.run(0.1)
        assert sim.energy().balance == pytest.approx(before, abs=within), integrator


def test_code_is_generated_for_slack_and_for_nothing_else(arm):
    kind, robot, _, _ = arm
    q, v = next(states(1))
    if kind == 'slack joints':
        found = robot.compile(q=q).forward_dynamics(q, v)
        expected = ccd.forward_dynamics(robot, q, v).acceleration
        np.testing.assert_allclose(found.acceleration, expected, rtol=SAME, atol=SAME)
        return
    with pytest.raises(StructureError, match='no straight-line code'):
        robot.compile(q=q)


@pytest.mark.parametrize('name', [name for name in TENDONS if 'joints' not in name])
def test_a_hinge_passes_on_no_moment_of_a_path_about_its_axis(name):
    """Whatever pulls on its links, mass of the tendon included: a closed form of every hinge."""
    robot = ccd.load(ARM % TENDONS[name])
    rng = np.random.default_rng(4)
    q = ccd.integrate(robot, robot.neutral(), 0.4 * rng.normal(size=robot.nv))
    v = rng.normal(size=robot.nv)
    found = ccd.reactions(robot, q, v, ccd.forward_dynamics(robot, q, v).acceleration)
    size = max(np.abs(each.wrench).max() for each in found.values())
    assert np.abs(found['root'].moment[1]) < PASSED_ON * size
