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

from helpers.tendon_arms import ARM, TENDONS, states
import mujoco
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import convert, read
from closed_chain_dynamics.description.writer import to_xml
from closed_chain_dynamics.dynamics.tree import tendon_path

PASSED_ON = 1e-12  # of the largest force or moment in a joint: rounding of some ten additions
SAME = 1e-11  # of accelerations of some 100 rad/s^2: sums in another order
# MuJoCo ends its search for the point where a path touches from within at 1e-6 rad
SEARCHED = 1e-7
SNAPS = ['side of ball', 'side that moves']


def tolerance(kind):
    return SEARCHED if 'through' in kind else SAME


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

    In one pose the path round a side of the ball would snap to the other side, by its very rule.
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
    q, v = list(states())[1 if kind in SNAPS else 0]
    for integrator, within in (('rk4', 1e-6), ('implicit', 2e-2)):
        sim = ccd.Simulation(robot, q=q, v=0.1 * v, integrator=integrator)
        before = sim.energy().balance
        sim.run(0.1)
        assert sim.energy().balance == pytest.approx(before, abs=within), integrator


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
