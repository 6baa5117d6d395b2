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
Section VII-A of paper 2: a free-flying chain of two links, hinged to the ground by a loop joint.

The paper gives no masses; the numbers here are those of two uniform rods of 1 kg and 1 m, worked
out apart from the package with ten digits. Its Eqs. (46) and (48) have misprints; the matrices
below are the ones that follow from Eq. (45), and the last tests show that the printed S is wrong.

The paper counts eight velocities: theta1 to theta3 linear and theta4 to theta6 angular ones of
the base, theta7 of the elbow and theta8 of the loop joint, and writes six rows, J of the virtual
link's real partner minus J of the virtual link: child minus parent. Here the column of theta8 is
eliminated: J_C has the five rows without it, and `loop_jacobian` is the sixth, solved for theta8'.
"""

import itertools
import math

from helpers.planar_linkages import Body, Joined, configuration, linkage
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import JointType

PRINTED = 1e-9  # the reference has ten digits, of numbers up to some twenty
EXACT = 1e-13  # rounding of numbers of size one
TENTH = 1e-10  # rounding of numbers of size one to ten printed digits

XML = """
<robot name="two_link_free_flying" xmlns:cc="urn:closed_chain_dynamics">
  <link name="world"/>
  <link name="base"><inertial><origin xyz="0 0.5 0"/><mass value="1"/>
    <inertia ixx="0.08333333333333333" iyy="0.001" izz="0.08333333333333333"
             ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="link1"><inertial><origin xyz="0 0.5 0"/><mass value="1"/>
    <inertia ixx="0.08333333333333333" iyy="0.001" izz="0.08333333333333333"
             ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="base" type="floating" {base}>
    <parent link="world"/><child link="base"/></joint>
  <joint name="theta7" type="continuous" {theta7}>
    <parent link="base"/><child link="link1"/><origin xyz="0 1 0"/><axis xyz="0 0 1"/></joint>
  <constraint name="theta8" type="revolute" cc:role="actuated">
    <parent link="world"/><parent_origin xyz="0 2 0"/><parent_axis xyz="0 0 1"/>
    <child link="link1"/><child_origin xyz="0 1 0"/><child_axis xyz="0 0 1"/></constraint>
</robot>
"""
DOWN, ASIDE = (0.0, -9.81, 0.0), (-9.81, 0.0, 0.0)

# Eq. (45), columns theta1 to theta8
J_C_45 = np.array(
    [
        [1, 0, 0, 0, 0, -2, -1, 0],
        [0, 1, 0, 0, 0, 0, 0, 0],
        [0, 0, 1, 2, 0, 0, 0, 0],
        [0, 0, 0, 1, 0, 0, 0, 0],
        [0, 0, 0, 0, 1, 0, 0, 0],
        [0, 0, 0, 0, 0, 1, 1, -1],
    ],
    dtype=float,
)
# Eqs. (46) to (48) for theta_G = (theta1, theta7), the misprints corrected
H_46 = np.array([[0, 0], [0, 0], [0, 0], [0, 0], [0.5, -0.5], [0.5, 0.5]])
W_47 = np.array([[1, 0], [0, 0], [0, 0], [0, 0], [0, 0], [0.5, -0.5], [0, 1]])
S_48 = np.array([[0.0, 1.0], [0.5, 0.5]])
S_48_AS_PRINTED = np.array([[1.0, 0.0], [0.5, 0.5]])
# theta_G: det J_S, and the rows of H that do not vanish, by the dependent coordinate
PAIRS = {
    (1, 6): (1, {7: (1, -2), 8: (1, -1)}),
    (1, 7): (2, {6: (0.5, -0.5), 8: (0.5, 0.5)}),
    (1, 8): (-1, {6: (1, -1), 7: (-1, 2)}),
    (6, 7): (-1, {1: (2, 1), 8: (1, 1)}),
    (6, 8): (1, {1: (1, 1), 7: (-1, 1)}),
    (7, 8): (1, {1: (-1, 2), 6: (-1, 1)}),
}
THETA_1, THETA_7 = 0, 6  # places in the tree's velocities


def two_links(gravity=DOWN, base='', theta7='cc:role="actuated"'):
    """Return the chain; straight up at its neutral pose, where the loop is closed."""
    return ccd.load(XML.format(base=base, theta7=theta7), gravity=gravity)


def paper_rows(robot, q):
    """Return J_C as the paper writes it: six rows, the column of the cut joint last."""
    J_C, _, _ = ccd.constraint_jacobian(robot, q)
    L = ccd.loop_jacobian(robot, q)
    return np.block([[J_C, np.zeros((len(J_C), 1))], [L, -np.ones((1, 1))]])


def in_paper_coordinates(c, matrix):
    """Return d / d (theta1, theta7) from d / d theta_G, whatever theta_G was chosen."""
    return matrix @ np.linalg.inv(c.W[[THETA_1, THETA_7]])


def test_j_c_is_that_of_equation_45_with_the_column_of_the_cut_joint_eliminated():
    robot = two_links()
    J = paper_rows(robot, robot.neutral())
    assert pytest.approx(J_C_45, abs=EXACT) == J
    assert np.linalg.matrix_rank(J) == 6
    c = ccd.coordinates(robot, robot.neutral())
    assert c.rank == 5  # theta8 was eliminated with the sixth row
    assert c.mobility == 2  # N_F = 8 - 6
    assert c.redundant_rows == []


def test_all_six_choices_of_generalized_coordinates_give_the_tabulated_h():
    robot = two_links()
    J = paper_rows(robot, robot.neutral())
    admissible = []
    for pair in itertools.combinations(range(1, 9), 2):
        rest = [k for k in range(1, 9) if k not in pair]
        J_S, J_G = J[:, [k - 1 for k in rest]], J[:, [k - 1 for k in pair]]
        if abs(np.linalg.det(J_S)) < 0.5:  # of whole numbers: zero, or at least one
            continue
        admissible.append(pair)
        determinant, rows = PAIRS[pair]
        assert np.linalg.det(J_S) == pytest.approx(determinant, abs=EXACT)
        H = -np.linalg.solve(J_S, J_G)
        for k, row in zip(rest, H):
            assert row == pytest.approx(rows.get(k, (0.0, 0.0)), abs=EXACT), (pair, k)
    assert admissible == list(PAIRS)


def test_the_choice_made_is_that_of_the_paper_with_its_h_w_and_s():
    robot = two_links()
    c = ccd.coordinates(robot, robot.neutral())
    assert c.independent == ['base:vx', 'theta7']
    assert c.dependent == ['base:vy', 'base:vz', 'base:wx', 'base:wy', 'base:wz']
    assert pytest.approx(H_46[:5], abs=EXACT) == c.H
    assert ccd.loop_jacobian(robot, robot.neutral()) @ c.W == pytest.approx(H_46[5:], abs=EXACT)
    assert pytest.approx(W_47, abs=EXACT) == c.W
    assert pytest.approx(S_48, abs=EXACT) == c.S
    assert pytest.approx(np.array([[-1, 1], [2, 0]]), abs=EXACT) == np.linalg.inv(c.S).T


@pytest.mark.parametrize(
    'marks, expected',
    [
        ({}, ['base:vx', 'theta7']),
        ({'base': 'independent="true"', 'theta7': ''}, ['base:vx', 'base:wz']),
        ({'base': 'independent="false"', 'theta7': 'independent="true"'}, None),
        ({'theta7': ''}, None),
    ],
)
def test_whatever_is_chosen_w_and_s_are_the_same_after_a_change_of_coordinates(marks, expected):
    robot = two_links(**marks)
    c = ccd.coordinates(robot, robot.neutral())
    if expected:
        assert c.independent == expected
    places = [robot.coordinate_names.index(name) + 1 for name in c.independent]
    rows = PAIRS[tuple(places)][1]
    for name, row in zip(robot.coordinate_names, c.W):
        place = robot.coordinate_names.index(name) + 1
        if place not in places:
            assert row == pytest.approx(rows.get(place, (0.0, 0.0)), abs=EXACT)
    assert in_paper_coordinates(c, c.W) == pytest.approx(W_47, abs=EXACT)
    theta8 = robot.actuator_names.index('theta8')
    assert in_paper_coordinates(c, c.S)[theta8] == pytest.approx(S_48[1], abs=EXACT)


def test_the_inertia_matrix_is_that_of_the_conventional_two_link_arm():
    robot = two_links()
    q = robot.neutral()
    c = ccd.coordinates(robot, q)
    A = ccd.forward_dynamics(robot, q, np.zeros(7)).A
    assert pytest.approx(np.array([[2 / 3, 1 / 4], [1 / 4, 1 / 6]]), abs=EXACT) == A
    at_motors = np.linalg.inv(c.S)  # theta_G' of theta_A' = (theta7', theta8')
    assert at_motors.T @ A @ at_motors == pytest.approx(
        np.array([[1 / 3, -5 / 6], [-5 / 6, 8 / 3]]), abs=EXACT
    )


@pytest.mark.parametrize(
    'gravity, tau_O, tau_G, tau_A',
    [
        (
            DOWN,
            (2, 19.62, 0, 0, 0, -1.6666666667, -0.25),
            (1.1666666667, 0.5833333333),
            (-0.5833333333, 2.3333333333),
        ),
        (
            ASIDE,
            (21.62, 0, 0, 0, 0, -21.2866666667, -5.155),
            (10.9766666667, 5.4883333333),
            (-5.4883333333, 21.9533333333),
        ),
    ],
    ids=['down', 'aside'],
)
def test_inverse_dynamics_from_rest_gives_the_reference_torques(gravity, tau_O, tau_G, tau_A):
    robot = two_links(gravity)
    q, v = robot.neutral(), np.zeros(7)
    a = W_47 @ (1.0, 2.0)  # theta_G'' = (1, 2)
    result = ccd.inverse_dynamics(robot, q, v, a)
    assert result.tau_O == pytest.approx(tau_O, abs=PRINTED)
    assert result.tau_G == pytest.approx(tau_G, abs=PRINTED)
    assert result.tau_A == pytest.approx(tau_A, abs=PRINTED)
    assert result.torques() == pytest.approx(dict(zip(('theta7', 'theta8'), tau_A)), abs=PRINTED)
    forward = ccd.forward_dynamics(robot, q, v, result.tau_A)
    assert forward.acceleration == pytest.approx(a, abs=PRINTED)


@pytest.mark.parametrize(
    'gravity, wrong',
    [(DOWN, (0.5833333333, 1.1666666667)), (ASIDE, (5.4883333333, 10.9766666667))],
    ids=['down', 'aside'],
)
def test_the_s_that_the_paper_prints_gives_torques_that_break_the_power_balance(gravity, wrong):
    robot = two_links(gravity)
    q, v = robot.neutral(), np.zeros(7)
    result = ccd.inverse_dynamics(robot, q, v, W_47 @ (1.0, 2.0))
    printed = np.linalg.solve(S_48_AS_PRINTED.T, result.tau_G)
    assert printed == pytest.approx(wrong, abs=PRINTED)
    forward = ccd.forward_dynamics(robot, q, v, printed)
    # another motion altogether
    assert np.abs(forward.theta_G_acceleration - (1.0, 2.0)).max() > 1.0
    for velocity in (W_47 @ (1.0, 0.0), W_47 @ (0.0, 1.0), W_47 @ (0.7, -0.4)):
        rates = velocity[THETA_7], float((ccd.loop_jacobian(robot, q) @ velocity)[0])
        power = result.tau_O @ velocity
        assert result.tau_A @ rates == pytest.approx(power, abs=EXACT * 100)
        assert abs(printed @ rates - power) > 0.1 * abs(power)


# --- section 2.4 of the reference: theta8 = 0.3, theta7 = 0.5, theta8' = 0.7, theta7' = -0.4
H_MOVING = {
    'base:vy': (0.2553419212, 0.2553419212),
    'base:wz': (0.5325997484, -0.4674002516),
    'theta8': (0.5325997484, 0.5325997484),
}
BIAS_MOVING = {'base:vy': -0.28, 'base:wz': -0.0714957379, 'theta8': -0.0714957379}
A_MOVING = np.array([[0.7217080763, 0.3104747011], [0.3104747011, 0.2325746591]])
V_MOVING = (1.7143077933, 0.3355978770, 0, 0, 0, 1.1, -0.4)
ACCELERATION_MOVING = (5.7505790150, -3.7863564165, 0, 0, 0, 12.0974256454, -19.4825835357)
THETA_8_MOVING = -7.3851578902


def moving():
    """Return the chain, its pose in closed form, and velocities from the rates of both hinges."""
    robot = two_links()
    base, link = -0.2, 0.3
    xy = np.array([0.0, 2.0]) + [math.sin(base) + math.sin(link), -math.cos(base) - math.cos(link)]
    assert xy == pytest.approx((0.0968508759, 0.0645969330), abs=TENTH)
    q = np.array([*xy, 0.0, 0.0, 0.0, math.sin(base / 2), math.cos(base / 2), 0.5])
    return robot, q, velocity(robot, q, 0.7, -0.4)


def velocity(robot, q, theta_8, theta_7):
    """Return the velocity that both hinges give, from the six rows and theta7 itself."""
    J_C, _, _ = ccd.constraint_jacobian(robot, q)
    rows = np.vstack([J_C, ccd.loop_jacobian(robot, q), np.eye(7)[THETA_7]])
    return np.linalg.solve(rows, [0.0] * 5 + [theta_8, theta_7])


def bias_acceleration(robot, q, v):
    """Return W' theta_G': accelerations while theta_G'' = (theta1'', theta7'') is zero."""
    J_C, _, bias = ccd.constraint_jacobian(robot, q, v)
    rows = np.vstack([J_C, np.eye(7)[[THETA_1, THETA_7]]])
    return np.linalg.solve(rows, [*-bias, 0.0, 0.0])


def test_the_moving_pose_has_the_reference_velocities_and_h():
    robot, q, v = moving()
    assert v == pytest.approx(V_MOVING, abs=TENTH)
    assert ccd.loop_positions(robot, q)['theta8'] == pytest.approx(0.3, abs=EXACT)
    c = ccd.coordinates(robot, q)
    W = in_paper_coordinates(c, c.W)
    rows = dict(zip(robot.coordinate_names, W))
    rows['theta8'] = (ccd.loop_jacobian(robot, q) @ W)[0]
    for name, row in H_MOVING.items():
        assert rows[name] == pytest.approx(row, abs=PRINTED), name


def test_the_rate_of_h_is_that_of_the_reference():
    """The loop joint turns about a fixed axis, so that theta8'' = theta6'' + theta7''."""
    robot, q, v = moving()
    rest = dict(zip(robot.coordinate_names, bias_acceleration(robot, q, v)))
    rest['theta8'] = rest['base:wz'] + rest['theta7']
    for name, value in BIAS_MOVING.items():
        assert rest[name] == pytest.approx(value, abs=PRINTED), name


def test_a_and_b_of_the_moving_pose_are_those_of_the_reference():
    robot, q, v = moving()
    forward = ccd.forward_dynamics(robot, q, v, (0.3, -0.2))
    assert forward.coordinates.independent == ['base:vx', 'theta7']
    assert pytest.approx(A_MOVING, abs=PRINTED) == forward.A
    b = (1.7920900308, 2.9392259744)
    assert forward.b == pytest.approx(b, abs=PRINTED)
    rest = ccd.inverse_dynamics(robot, q, v, bias_acceleration(robot, q, v))
    assert rest.tau_G == pytest.approx(b, abs=PRINTED)
    assert forward.tau_G == pytest.approx((-0.1065199497, 0.1934800503), abs=PRINTED)
    expected = (5.7505790150, -19.4825835357)
    assert forward.theta_G_acceleration == pytest.approx(expected, abs=PRINTED)


def test_the_unit_vector_method_of_the_paper_gives_the_same_inertia_matrix():
    robot, q, v = moving()
    c = ccd.coordinates(robot, q)
    W = in_paper_coordinates(c, c.W)
    rest = bias_acceleration(robot, q, v)
    b = W.T @ ccd.newton_euler(robot, q, v, rest)
    A = np.column_stack(
        [W.T @ ccd.newton_euler(robot, q, v, rest + W[:, k]) - b for k in range(2)]
    )
    assert pytest.approx(A_MOVING, abs=PRINTED) == A


def test_forward_dynamics_of_the_moving_pose_gives_the_reference_accelerations():
    robot, q, v = moving()
    a = ccd.forward_dynamics(robot, q, v, {'theta7': 0.3, 'theta8': -0.2}).acceleration
    assert a == pytest.approx(ACCELERATION_MOVING, abs=PRINTED)
    assert a[5] + a[6] == pytest.approx(THETA_8_MOVING, abs=PRINTED)
    assert ccd.inverse_dynamics(robot, q, v, a).tau_A == pytest.approx((0.3, -0.2), abs=PRINTED)


def test_the_conventional_arm_without_any_loop_moves_the_same_way():
    """The same two rods hung from the ground hinge: a tree with the two motors at its joints."""
    rod = (1 / 12, 0.0, 0.0, 0.001, 0.0, 1 / 12)
    arm = ccd.Mechanism(
        linkage(
            'arm',
            {'base': Body(1.0, (0.0, 0.5, 0.0), rod), 'link1': Body(1.0, (0.0, 1.5, 0.0), rod)},
            [
                Joined('theta7', 'base', 'link1', (0.0, 1.0, 0.0)),
                Joined('theta8', 'ground', 'link1', (0.0, 2.0, 0.0)),
            ],
            actuated=('theta7', 'theta8'),
        ),
        gravity=DOWN,
    )
    assert {joint.type for joint in arm.description.joints} == {JointType.CONTINUOUS}
    q = configuration(arm, {'theta7': 0.5, 'theta8': 0.3})
    names = arm.coordinate_names
    v = np.array([{'theta7': -0.4, 'theta8': 0.7}[name] for name in names])
    a = ccd.forward_dynamics(arm, q, v, {'theta7': 0.3, 'theta8': -0.2}).acceleration
    assert dict(zip(names, a)) == pytest.approx(
        {'theta7': ACCELERATION_MOVING[THETA_7], 'theta8': THETA_8_MOVING}, abs=PRINTED
    )
