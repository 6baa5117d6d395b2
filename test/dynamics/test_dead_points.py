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

"""
Dead points of actuators: where a motor has no lever, it gets no torque, and the residual says so.

The slider-crank with its ram as the motor, at and beside crank = 0 and pi; the same press cut at
the ram, so that the motor sits on a cut joint; in metres and in millimetres.
"""

from helpers.folding_linkages import bar, hinge
import numpy as np
import pytest

import closed_chain_dynamics as ccd

CRANK, ROD, WEIGHT = 0.1, 0.3, 9.81  # [m], m/s^2 along -y
OFF = [0.0, 1e-12, 1e-10, 1e-8, 1e-7, 1e-5, 1e-4, 1e-3]
LEAST = 1e-6  # the lever that counts, in radians and typical lengths
POLICIES = {
    'plain': {},
    'preload': {'preload': {'ram': 0.0}},
    'weighted': {'policy': 'weighted', 'weights': {'ram': 3.0}},
    'within_limits': {'policy': 'within_limits'},
}


def press(motor_is_cut=False, size=1.0, gravity=(0.0, -WEIGHT, 0.0)):
    """Return the slider-crank, driven by its ram; cut either at the pin or at the ram."""
    parts = [bar('crank_bar', CRANK * size), bar('rod_bar', ROD * size)]
    parts += [bar('ram_bar', 0.1 * size), hinge('crank', 'base', 'crank_bar')]
    parts += [hinge('rod', 'crank_bar', 'rod_bar', CRANK * size)]
    limit = '<limit lower="-9" upper="9" effort="1e8" velocity="9"/>'
    if motor_is_cut:
        parts += [hinge('pin', 'rod_bar', 'ram_bar', ROD * size)]
        parts += [
            f"""<constraint name="ram" type="prismatic">{limit}
            <parent link="base"/><parent_axis xyz="1 0 0"/>
            <child link="ram_bar"/><child_axis xyz="1 0 0"/></constraint>"""
        ]
    else:
        parts += [
            f"""<joint name="ram" type="prismatic"><parent link="base"/><child link="ram_bar"/>
            <axis xyz="1 0 0"/>{limit}</joint>
            <constraint name="pin" type="revolute">
            <parent link="rod_bar"/><parent_origin xyz="{ROD * size} 0 0"/>
            <parent_axis xyz="0 0 1"/>
            <child link="ram_bar"/><child_axis xyz="0 0 1"/></constraint>"""
        ]
    xml = '<robot name="press"><link name="base"/>' + ''.join(parts) + '</robot>'
    return ccd.load(xml, actuated=('ram',), gravity=gravity)


def pose(robot, crank, size=1.0):
    """Return the closed pose in closed form."""
    rod = -np.arcsin(CRANK / ROD * np.sin(crank))
    along = size * (CRANK * np.cos(crank) + ROD * np.cos(rod))
    q = robot.neutral()
    for joint, value in (('crank', crank), ('rod', rod - crank), ('ram', along), ('pin', -rod)):
        if joint in robot.joint_names:
            q[robot.joint_slices(joint)[0]] = value
    return q


def lever(robot, crank, size=1.0):
    """Return d ram / d crank, and the lever: that of a motion of unit length, free of units."""
    turned = -np.arcsin(CRANK / ROD * np.sin(crank))
    rate = -CRANK * np.cos(crank) / (ROD * np.cos(turned))
    ram = size * (-CRANK * np.sin(crank) - ROD * np.sin(turned) * rate)
    length = float(robot.structure.world['length'])
    rates = [1.0, rate - 1.0]
    rates += [ram / length] if 'ram' in robot.joint_names else [-rate]
    return ram, abs(ram) / length / np.linalg.norm(rates)


@pytest.mark.parametrize('size', [1.0, 1e-3])
@pytest.mark.parametrize('motor_is_cut', [False, True])
@pytest.mark.parametrize('options', POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize('dead', [0.0, np.pi])
@pytest.mark.parametrize('off', OFF)
def test_beside_a_dead_point_every_policy_gives_what_holds_or_nothing(
    off, dead, options, motor_is_cut, size
):
    robot = press(motor_is_cut, size)
    q, zero = pose(robot, dead + off, size), np.zeros(robot.nv)
    ram, arm = lever(robot, dead + off, size)
    r = ccd.inverse_dynamics(robot, q, zero, zero, **options)
    held = ccd.reactions(robot, q, zero, zero)
    if arm <= LEAST:
        assert np.all(np.abs(r.tau_A) == 0.0) and np.all(held.tau_A == 0.0)
        assert r.dead_point and held.dead_point
        assert list(r.residual_by_name) == r.coordinates.independent
        assert r.residual == pytest.approx(r.tau_G)
        assert r.coordinates.W.T @ held.missing == pytest.approx(r.tau_G)
    else:
        weight = r.coordinates.W.T @ ccd.newton_euler(robot, q, zero, zero)
        needed = weight[0] / r.coordinates.S[0, 0]
        assert not r.dead_point and not held.dead_point
        assert r.tau_A[0] == pytest.approx(needed, rel=1e-6)
        assert held.tau_A[0] == pytest.approx(needed, rel=1e-6)
        # what is left is rounding of a pose next to a dead point
        assert np.abs(r.residual).max() < 1e-9 * abs(needed)
        # by the closed form, as far as a pose of 16 digits has the lever
        assert abs(r.coordinates.S[0, 0]) == pytest.approx(
            abs(ram / r.coordinates.W[robot.coordinate_names.index('crank')].item())
            if 'crank' in r.coordinates.independent
            else abs(r.coordinates.S[0, 0]),
            rel=1e-6,
        )


def test_a_preload_stays_where_it_moves_nothing():
    robot = press()
    q, zero = pose(robot, np.pi), np.zeros(robot.nv)
    r = ccd.inverse_dynamics(robot, q, zero, zero, preload={'ram': 5.0})
    assert r.tau_A == pytest.approx([5.0]) and r.dead_point
    assert r.residual == pytest.approx(r.tau_G)


def test_a_motor_too_few_is_no_dead_point():
    """What is missing nearby too is a matter of the mechanism, not of the pose."""
    xml = '<robot name="two"><link name="base"/>' + ''.join(
        [bar('a', 1.0), bar('b', 1.0), hinge('ja', 'base', 'a'), hinge('jb', 'a', 'b', 1.0)]
    )
    robot = ccd.load(xml + '</robot>', actuated=('jb',), gravity=(0.0, -WEIGHT, 0.0))
    zero = np.zeros(2)
    r = ccd.inverse_dynamics(robot, zero, zero, zero)
    assert r.residual_by_name and not r.dead_point


def test_the_public_step_alone_knows_a_dead_point_too():
    robot = press()
    c = ccd.coordinates(robot, pose(robot, np.pi))
    for more in ({}, {'W': c.W}):
        found = ccd.actuator_torques(robot, c.S, np.array([2.0]), **more)
        assert found.tau_A == pytest.approx([0.0], abs=0.0) and found.kind == 'mixed'
        assert found.residual == pytest.approx([2.0])
        assert found.null_space == pytest.approx(np.eye(1))


def test_check_says_what_no_actuator_holds_at_a_dead_point():
    robot = press()
    c = ccd.coordinates(robot, pose(robot, np.pi))
    assert c.dead_point and c.levers.rank == 0
    assert 'No actuator decides how crank' in str(c)
