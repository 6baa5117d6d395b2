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

"""The Stewart platform against the screws of its legs."""

import math

from helpers.comparing import ROUNDING, close
from helpers.planar_linkages import GRAVITY
from helpers.stewart_platform import (
    CENTRE,
    FEET_XYZ,
    HEADS_XYZ,
    LEGS,
    PLATFORM_MASS,
    PLATFORM_TENSOR,
    leg_axes,
    stewart,
    with_platform,
)
import numpy as np
import pytest

import closed_chain_dynamics as ccd

STIFF = 1e-10  # the same where a short crank moves at engine speed: accelerations of 1e4


def platform_pose(robot, shift, turn):
    """Return q with the platform shifted and turned (a rotation vector), all legs by inverse."""
    q = robot.neutral()
    angle = np.linalg.norm(turn)
    axis = np.asarray(turn) / angle
    K = np.cross(np.eye(3), axis)
    R = np.eye(3) + math.sin(angle) * K + (1.0 - math.cos(angle)) * K @ K
    q[robot.joint_slices('platform')[0]] = [
        *shift,
        *(math.sin(angle / 2.0) * axis),
        math.cos(angle / 2.0),
    ]
    heads = []
    for k in LEGS:
        head = CENTRE + shift + R @ (HEADS_XYZ[k] - CENTRE)
        leg = head - FEET_XYZ[k]
        way = leg / np.linalg.norm(leg)
        first, second, start = leg_axes(k)
        q[robot.joint_slices(f'lean_{k}')[0]] = math.asin(way @ first)
        q[robot.joint_slices(f'swing_{k}')[0]] = math.atan2(-way @ second, way @ start)
        q[robot.joint_slices(f'leg_{k}')[0]] = np.linalg.norm(leg) - np.linalg.norm(
            HEADS_XYZ[k] - FEET_XYZ[k]
        )
        heads.append(head)
    return q, R, CENTRE + shift, heads


def leg_screws(heads, centre):
    """Return Pluecker coordinates of the lines of the legs about the platform's centre, (6, 6)."""
    screws = np.empty((6, 6))
    for k, head in enumerate(heads):
        way = (head - FEET_XYZ[k]) / np.linalg.norm(head - FEET_XYZ[k])
        screws[:, k] = *way, *np.cross(head - centre, way)
    return screws


SHIFT, TURN = np.array([0.08, -0.05, 0.12]), np.array([0.2, -0.1, 0.35])


def test_a_stewart_platform_has_mobility_six_wherever_it_is_cut():
    for foot, rank in (('universal', 18), ('universal_loop', 24)):
        robot = ccd.Mechanism(stewart(foot, leg_mass=1.0))
        c = ccd.coordinates(robot, robot.neutral())
        assert (c.mobility, c.rank, c.redundant_rows) == (6, rank, [])
    assert sorted(c.independent) == [f'leg_{k}' for k in LEGS]  # the motors


def test_spherical_feet_let_every_leg_spin_about_itself():
    robot = ccd.Mechanism(stewart('spherical', leg_mass=1.0))
    q = robot.neutral()
    c = ccd.coordinates(robot, q)
    assert (c.mobility, c.rank) == (12, 18)
    for k in LEGS:
        spin = np.zeros(robot.nv)
        spin[robot.joint_slices(f'foot_{k}')[1]] = leg_axes(k)[2]
        assert np.abs(c.J_C @ spin).max() < ROUNDING


def test_the_legs_of_a_stewart_platform_change_their_length_as_their_screws_say():
    robot = ccd.Mechanism(stewart())
    q, R, centre, heads = platform_pose(robot, SHIFT, TURN)
    assert np.abs(ccd.constraint_jacobian(robot, q)[1]).max() < ROUNDING
    linear, angular = np.array([0.3, -0.5, 0.2]), np.array([0.7, 0.4, -0.6])  # world axes
    v = with_platform(robot, q, np.concatenate([R.T @ linear, R.T @ angular]))
    rates = leg_screws(heads, centre).T @ np.concatenate([linear, angular])
    for k in LEGS:
        assert v[robot.joint_slices(f'leg_{k}')[1]] == pytest.approx(rates[k], abs=ROUNDING)


@pytest.mark.parametrize('foot', ['universal', 'spherical', 'universal_loop'])
def test_the_legs_of_a_stewart_platform_balance_a_wrench_by_their_screws(foot):
    robot = ccd.Mechanism(stewart(foot, leg_mass=1.0), gravity=(0.0, 0.0, 0.0))
    q, centre, heads, still = robot.neutral(), CENTRE, HEADS_XYZ, np.zeros(robot.nv)
    if foot == 'universal':
        q, _, centre, heads = platform_pose(robot, SHIFT, TURN)
    wrench = np.array([20.0, -35.0, -90.0, 4.0, 7.0, -3.0])
    result = ccd.inverse_dynamics(robot, q, still, still, wrenches={'platform': wrench})
    forces = [result.torques()[f'leg_{k}'] for k in LEGS]
    assert close(forces, np.linalg.solve(leg_screws(heads, centre), -wrench))
    assert close(result.residual, np.zeros(len(result.residual)), 1e-10)


def test_on_massless_legs_the_platform_moves_by_newton_and_euler():
    robot = ccd.Mechanism(stewart(leg_mass=0.0), gravity=GRAVITY)
    q, R, centre, heads = platform_pose(robot, SHIFT, TURN)
    twist = np.array([0.3, -0.5, 0.2, 0.7, 0.4, -0.6])  # in the platform's axes
    change = np.array([1.0, 2.0, -1.5, 0.8, -3.0, 1.2])  # of these six numbers
    v = with_platform(robot, q, twist)
    a = with_platform(robot, q, change, v)
    xx, xy, xz, yy, yz, zz = PLATFORM_TENSOR
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    linear = R @ (change[:3] + np.cross(twist[3:], twist[:3]))  # classical, world axes
    force = PLATFORM_MASS * (linear - GRAVITY)
    moment = R @ (tensor @ change[3:] + np.cross(twist[3:], tensor @ twist[3:]))
    expected = np.linalg.solve(leg_screws(heads, centre), np.concatenate([force, moment]))
    result = ccd.inverse_dynamics(robot, q, v, a)
    assert close([result.torques()[f'leg_{k}'] for k in LEGS], expected)
    tau = {f'leg_{k}': expected[k] for k in LEGS}
    assert close(ccd.forward_dynamics(robot, q, v, tau).acceleration, a, STIFF)


def test_heavy_legs_move_alike_whether_the_heads_or_the_feet_are_cut():
    tau = {f'leg_{k}': 10.0 * (k - 2.2) for k in LEGS}
    twist = np.array([0.3, -0.5, 0.2, 0.7, 0.4, -0.6])
    answers = []
    for foot in ('universal', 'universal_loop'):
        robot = ccd.Mechanism(stewart(foot, leg_mass=3.0), gravity=GRAVITY)
        q = robot.neutral()
        v = with_platform(robot, q, twist)
        a = ccd.forward_dynamics(robot, q, v, tau).acceleration
        joints = ['platform', *(f'leg_{k}' for k in LEGS)]
        answers.append(np.concatenate([a[robot.joint_slices(name)[1]] for name in joints]))
        assert ccd.inverse_dynamics(robot, q, v, a).torques() == pytest.approx(tau, rel=STIFF)
    assert close(answers[0], answers[1], STIFF)
