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
The jump of velocities when links are connected (paper 2, section V-C), and what comes with it.

The numbers of the examples are those of an independent evaluation of Eqs. (25) to (38), with the
misprint of (35) corrected: it needs (J1 - J2)^T where J1^T is printed. In them J1 belongs to the
side with the real link, F is the impulse that this side exerts on the other one, and the new
joint's rate is that of side 1 against side 2. So side 1 is the child here and side 2 the parent,
and the impulse of `impact`, on the child, is -F.

Random mechanisms are judged by the dense system [M -J^T; J 0] with M and J of Pinocchio's.
"""

from dataclasses import replace
import math

from helpers.random_mechanisms import (
    pinocchio_model,
    random_description,
    random_loops,
    random_state,
    relative_error,
    rigid_groups,
    rpy_of,
)
import numpy as np
import pinocchio as pin
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import (
    Description,
    Inertia,
    Joint,
    JointType,
    Link,
    LoopJoint,
    LoopType,
    Pose,
    Spring,
)
from closed_chain_dynamics.errors import NameNotFound, StructureError

PRINTED = 6e-11  # ten decimals, and rounding of numbers of about one
# Example B4 gives its configuration with ten decimals too: a pose off by 5e-11, and rates that
# change some ten times as much.
PRINTED_POSE = 1e-9
EXACT = 1e-13  # a few operations on numbers of order one; their order may change
AFTER = 1e-12  # what may be left of the speed that was caught [m/s or rad/s]
KEPT = 1e-10  # what the momentum of a free system may change by, relative
# Two solutions of one linear system whose condition is kept below CONDITION.
CONDITION = 1e5
SAME = 1e-9
BALANCE = 1e-9  # of energies of some hundred joules: a few roundings of each term

Z = (0.0, 0.0, 1.0)
X_90 = pin.rpy.rpyToMatrix(-math.pi / 2, 0.0, 0.0)  # takes z to y


def body(name, mass, com, moments):
    """Return a link; three moments are those about the axes."""
    if len(moments) == 3:
        moments = (moments[0], 0.0, 0.0, moments[1], 0.0, moments[2])
    return Link(name, Inertia(mass, Pose(com), moments))


def hinge(name, parent, child, at, axis=Z):
    return Joint(name, JointType.CONTINUOUS, parent, child, Pose(at), axis)


def world_frame(robot, q, link, point, R=None):
    """Return the Pose, in a link at q, of a frame at a world point with world axes R."""
    X = ccd.link_placement(robot, q, link)
    R_W, p_W = X[:3, :3], X[:3, 3]
    return Pose(
        tuple(R_W.T @ (np.array(point) - p_W)), rpy_of(R_W.T @ (np.eye(3) if R is None else R))
    )


def with_loop(description, q, name, kind, parent, child, point, R=None):
    """Return the mechanism with a loop joint, open, at a world point with z along R's."""
    robot = ccd.Mechanism(description)
    loop = LoopJoint(
        name,
        kind,
        parent,
        child,
        world_frame(robot, q, parent, point, R),
        world_frame(robot, q, child, point, R),
        active=False,
    )
    return ccd.Mechanism(replace(description, loops=(*description.loops, loop)))


def blow(robot, q, v, *loops):
    """Return the Impact of connecting loops."""
    for loop in loops:
        robot.connect(loop)
    return ccd.impact(robot, q, v)


def rate(robot, q, v, loop):
    """Return the rates of a loop joint."""
    L = ccd.loop_jacobian(robot, q) @ v
    return [
        value for name, value in zip(robot.loop_coordinate_names, L) if name.split(':')[0] == loop
    ]


def about_origin(robot, q, momentum):
    """Return angular momentum about the world's origin."""
    return momentum[3:] + np.cross(ccd.center_of_mass(robot, q), momentum[:3])


def projected(robot, q, v):
    """Return W (W^T M W)^-1 W^T M v: momentum is kept along every motion that remains."""
    W, M = ccd.coordinates(robot, q).W, ccd.mass_matrix(robot, q)
    return W @ np.linalg.solve(W.T @ M @ W, W.T @ M @ v)


# --- B1: two free bodies -------------------------------------------------------------------------
P_JOINT = np.array([0.2, 0.1, 0.05])
V_1, V_2 = (1.0, 0.2, -0.1, 0.3, -0.2, 0.5), (-0.4, 0.1, 0.2, -0.1, 0.4, -0.3)
V_RELATIVE = np.array([1.065, 0.615, -0.24, 0.7, -0.1, 0.8])
B_1 = np.array(
    [
        [1.3595238095, -0.9285714286, -0.6333333333, 0, 0.6666666667, -1.0714285714],
        [-0.9285714286, 3.2857142857, -0.3333333333, -1.6666666667, 0, 0.7142857143],
        [-0.6333333333, -0.3333333333, 4.6333333333, 3.3333333333, -0.6666666667, 0],
        [0, -1.6666666667, 3.3333333333, 66.6666666667, 0, 0],
        [0.6666666667, 0, -0.6666666667, 0, 53.3333333333, 0],
        [-1.0714285714, 0.7142857143, 0, 0, 0, 39.2857142857],
    ]
)
C_1 = (0.8793546841, 0.0411997630, 0.1255842882, -0.0052492203, -0.0094221299, 1)
T_BEFORE = 1.3797
# F1, v1+, v2+, rate of the new joint, kinetic energy after
FREE_BODIES = {
    LoopType.REVOLUTE: (
        (1.2412672530, 0.5613315081, 0.1435233443, 0.0173571205, -0.0155967989, 0),
        (0.3793663735, -0.0806657541, -0.1717616722, 0.1178560243, -0.7920631641, 0.7965105918),
        (-0.2128894973, -0.3137557510, 0.2478411148, -0.7920631641, -0.1178560243, -0.9324675306),
        (1.7289781224,),
        0.5564837183,
    ),
    LoopType.FIXED: (
        (1.2808884951, 0.5631878532, 0.1491818182, 0.0171206054, -0.0160213335, 0.0450571798),
        (0.3595557525, -0.0815939266, -0.1745909091, 0.1060302711, -0.8062242552, -0.2401475237),
        (-0.2122707156, -0.3269628317, 0.2497272727, -0.8062242552, -0.1060302711, -0.2401475237),
        (),
        0.5175322792,
    ),
    LoopType.SPHERICAL: (
        (1.2328751849, 0.5514615679, 0.1563974402, 0, 0, 0),
        (0.3835624075, -0.0757307840, -0.1781987201, 0.8966667187, -1.2121423733, 0.8248801226),
        (-0.2161794774, -0.3109583950, 0.2521324801, -0.3944905435, 0.2011110938, -0.9021564556),
        (1.0977778124, -0.8176518298, 1.7270365782),
        0.5723872247,
    ),
}
DELTA_REVOLUTE = (
    -0.6206336265,
    -0.2806657541,
    -0.0717616722,
    -0.1821439757,
    -0.5920631641,
    0.2965105918,
    0.1871105027,
    -0.4137557510,
    0.0478411148,
    -0.6920631641,
    -0.5178560243,
    -0.6324675306,
)


def free_bodies(kind):
    """Return two bodies in free flight, a joint between them still open, and their state."""
    description = Description(
        'free_bodies',
        (
            Link('world'),
            body('one', 2.0, (0.0, 0.0, 0.0), (0.02, 0.03, 0.04)),
            body('two', 3.0, (0.0, 0.0, 0.0), (0.05, 0.06, 0.07)),
        ),
        (
            Joint('free_1', JointType.FLOATING, 'world', 'one'),
            Joint('free_2', JointType.FLOATING, 'world', 'two'),
        ),
    )
    half = math.sqrt(0.5)
    q = np.array([0, 0, 0, 0, 0, 0, 1, 0.5, 0.2, 0.1, 0, 0, half, half])
    return with_loop(description, q, 'new', kind, 'two', 'one', P_JOINT), q, np.r_[V_1, V_2]


def side_jacobians(robot, q, one, two, point):
    """Return J1 and J2 at a world point, (6, nv) each; zero for the ground."""
    jacobians = []
    for link in (one, two):
        X = ccd.link_placement(robot, q, link)
        jacobians.append(
            ccd.jacobian(robot, q, link, point=X[:3, :3].T @ (np.array(point) - X[:3, 3]))
        )
    return jacobians


def test_the_matrices_of_two_free_bodies_are_those_of_the_reference():
    robot, q, v = free_bodies(LoopType.REVOLUTE)
    J_1, J_2 = side_jacobians(robot, q, 'one', 'two', P_JOINT)
    J_r = J_1 - J_2
    assert J_r @ v == pytest.approx(V_RELATIVE, abs=EXACT)
    B = J_r @ np.linalg.solve(ccd.mass_matrix(robot, q), J_r.T)
    assert pytest.approx(B_1, abs=PRINTED) == B
    J_n = np.eye(6)[:, 5:]
    B_inv = np.linalg.inv(B)
    C = J_n @ np.linalg.solve(J_n.T @ B_inv @ J_n, J_n.T @ B_inv)
    assert pytest.approx(np.vstack([np.zeros((5, 6)), C_1]), abs=PRINTED) == C
    assert J_r.T @ B_inv @ (np.eye(6) - C) @ V_RELATIVE == pytest.approx(
        -ccd.mass_matrix(robot, q) @ DELTA_REVOLUTE, abs=3 * PRINTED
    )  # masses of 2 and 3 kg


@pytest.mark.parametrize('kind', FREE_BODIES, ids=lambda kind: kind.value)
def test_two_free_bodies_are_joined_as_the_reference_says(kind):
    robot, q, v = free_bodies(kind)
    F, v_1, v_2, thn, T_after = FREE_BODIES[kind]
    hit = blow(robot, q, v, 'new')
    assert hit.v_after == pytest.approx(np.r_[v_1, v_2], abs=PRINTED)
    if kind is LoopType.REVOLUTE:
        assert hit.v_after - v == pytest.approx(DELTA_REVOLUTE, abs=PRINTED)
    assert hit.impulse == pytest.approx(-np.array(F[: kind.rows]), abs=PRINTED)
    assert not any(F[kind.rows :])
    assert rate(robot, q, hit.v_after, 'new') == pytest.approx(list(thn), abs=PRINTED)
    assert hit.energy_before == pytest.approx(T_BEFORE, abs=EXACT)
    assert hit.energy_after == pytest.approx(T_after, abs=PRINTED)
    assert hit.energy_lost == pytest.approx(V_RELATIVE @ F / 2, abs=2 * PRINTED)
    for momentum in (hit.momentum_before, hit.momentum_after):
        assert momentum[:3] == pytest.approx([1.7, -0.8, 0.4], abs=EXACT)
        assert about_origin(robot, q, momentum) == pytest.approx(
            [0.222, -0.341, -0.541], abs=EXACT
        )
    assert hit.v_after == pytest.approx(projected(robot, q, v), abs=EXACT)


# --- B1g: a free-flying chain catches the ground -------------------------------------------------
def test_a_free_flying_chain_catches_the_ground_as_the_reference_says():
    rod = (1 / 12, 0.001, 1 / 12)
    description = Description(
        'two_links',
        (
            Link('world'),
            body('base', 1.0, (0.0, 0.5, 0.0), rod),
            body('link_1', 1.0, (0.0, 0.5, 0.0), rod),
        ),
        (
            Joint('free', JointType.FLOATING, 'world', 'base'),
            hinge('theta7', 'base', 'link_1', (0.0, 1.0, 0.0)),
        ),
    )
    q = ccd.Mechanism(description).neutral()
    v = np.array([1, 0.3, 0.2, 0.1, -0.2, 0.4, 0.5])
    robot = with_loop(description, q, 'theta8', LoopType.REVOLUTE, 'world', 'link_1', (0, 2, 0))
    hit = blow(robot, q, v, 'theta8')
    assert hit.v_after == pytest.approx(
        [1.0428571429, 0, 0, 0, 0, 0.5285714286, -0.0142857143], abs=PRINTED
    )
    assert rate(robot, q, hit.v_after, 'theta8') == pytest.approx([0.5142857143], abs=PRINTED)
    F = np.array([-0.0857142857, 0.6, 0.6, -0.5333333333, -0.0004])
    assert hit.impulse == pytest.approx(-F, abs=PRINTED)
    assert hit.energy_before == pytest.approx(0.55504, abs=EXACT)
    assert hit.energy_after == pytest.approx(0.3588095238, abs=PRINTED)
    assert hit.v_after == pytest.approx(projected(robot, q, v), abs=EXACT)


# --- B2: the two hands of one chain --------------------------------------------------------------
V_HANDS = (0.3034405672, 0.0272719799, 0.1305283566, 0.4648917208, -0.45, 0.6467527074)
F_HANDS = np.array([0.0973859439, -0.0631658069, 0.0405636777, 0.0072531990, 0, 0.0229024411])
DELTA_HANDS = (
    -0.0253047139,
    0.0962854295,
    0.0710741012,
    0.2368131291,
    -1.1210890409,
    0.4962854295,
    -0.0239974541,
    -0.0631868709,
    -0.1710890409,
)
DELTA_AS_PRINTED = (
    -0.0581659637,
    0.0920732270,
    0.0732099412,
    0.2780015404,
    -1.1588453670,
    -0.0074557973,
    -0.0037805376,
    0.0729054326,
    -0.0668304798,
)
QD_HANDS = (
    0.4746952861,
    0.3962854295,
    -0.1289258988,
    0.6368131291,
    -0.5210890409,
    0.3962854295,
    0.2260025459,
    0.6368131291,
    -0.5210890409,
)


def two_arms():
    """Return a torso with two arms, hands that can be joined by a hinge about y, and a state."""
    links = [Link('world'), body('torso', 10.0, (0.0, 0.0, 0.25), (0.2, 0.15, 0.1))]
    joints = [hinge('a_torso', 'world', 'torso', (0.0, 0.0, 0.0))]
    for side, y in (('left', 0.2), ('right', -0.2)):
        links += [
            body(f'{side}_1', 0.5, (0.0, 0.0, 0.0), (0.002,) * 3),
            body(f'{side}_2', 0.5, (0.0, 0.0, 0.0), (0.002,) * 3),
            body(f'{side}_3', 2.0, (0.15, 0.0, 0.0), (0.003, 0.02, 0.02)),
            body(f'{side}_4', 1.5, (0.15, 0.0, 0.0), (0.002, 0.015, 0.015)),
        ]
        joints += [
            hinge(f'{side}_a1', 'torso', f'{side}_1', (0.0, y, 0.5), (1.0, 0.0, 0.0)),
            hinge(f'{side}_a2', f'{side}_1', f'{side}_2', (0.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
            hinge(f'{side}_a3', f'{side}_2', f'{side}_3', (0.0, 0.0, 0.0)),
            hinge(f'{side}_a4', f'{side}_3', f'{side}_4', (0.3, 0.0, 0.0)),
        ]
    elbow = math.asin(-2 / 3 - math.sin(0.2)) - 0.2  # brings the hand to y = 0
    assert elbow == pytest.approx(-1.2458203806, abs=PRINTED)
    q = np.array([0, 0, 0.1, 0.2, elbow, 0, 0.1, -0.2, -elbow])
    v = np.array([0.5, 0.3, -0.2, 0.4, 0.6, -0.1, 0.25, 0.7, -0.35])
    description = Description('two_arms', tuple(links), tuple(joints))
    hand = ccd.link_placement(ccd.Mechanism(description), q, 'left_4') @ (0.3, 0.0, 0.0, 1.0)
    assert hand[:3] == pytest.approx([0.4421575932, 0, 0.4556362629], abs=PRINTED)
    robot = with_loop(
        description, q, 'hands', LoopType.REVOLUTE, 'right_4', 'left_4', hand[:3], X_90
    )
    return robot, q, v, hand[:3]


def test_two_hands_of_one_chain_are_joined_as_the_corrected_equation_says():
    robot, q, v, hand = two_arms()
    J_1, J_2 = side_jacobians(robot, q, 'left_4', 'right_4', hand)
    assert (J_1 - J_2) @ v == pytest.approx(V_HANDS, abs=PRINTED)
    assert (
        np.linalg.matrix_rank(
            (J_1 - J_2) @ np.linalg.solve(ccd.mass_matrix(robot, q), (J_1 - J_2).T)
        )
        == 6
    )
    hit = blow(robot, q, v, 'hands')
    assert hit.v_after == pytest.approx(QD_HANDS, abs=PRINTED)
    assert hit.v_after - v == pytest.approx(DELTA_HANDS, abs=PRINTED)
    # rows: along x y z of the loop's frame, then about x and y; about z it turns freely
    F = -np.r_[X_90 @ hit.impulse[:3], X_90 @ [*hit.impulse[3:], 0.0]]
    assert pytest.approx(F_HANDS, abs=PRINTED) == F
    assert rate(robot, q, hit.v_after, 'hands') == pytest.approx([-0.3549284446], abs=PRINTED)
    assert hit.energy_before == pytest.approx(0.4081355164, abs=PRINTED)
    assert hit.energy_after == pytest.approx(0.3824819826, abs=PRINTED)
    assert hit.energy_lost == pytest.approx(0.0256535338, abs=PRINTED)
    assert hit.energy_lost == pytest.approx((J_1 - J_2) @ v @ F / 2, abs=EXACT)
    for momentum in (hit.momentum_before, hit.momentum_after):
        assert about_origin(robot, q, momentum)[2] == pytest.approx(0.8212930277, abs=PRINTED)


def test_the_equation_as_printed_neither_closes_the_hands_nor_keeps_the_momentum():
    """Eq. (35) with J1^T alone lets the impulse act on one hand and nothing on the other."""
    robot, q, v, hand = two_arms()
    J_1, J_2 = side_jacobians(robot, q, 'left_4', 'right_4', hand)
    M, J_r, J_n = ccd.mass_matrix(robot, q), J_1 - J_2, np.eye(6)[:, 4:5]
    B_inv = np.linalg.inv(J_r @ np.linalg.solve(M, J_r.T))
    C = J_n @ np.linalg.solve(J_n.T @ B_inv @ J_n, J_n.T @ B_inv)
    F = B_inv @ (np.eye(6) - C) @ J_r @ v
    assert pytest.approx(F_HANDS, abs=PRINTED) == F
    delta = {
        'corrected': -np.linalg.solve(M, J_r.T @ F),
        'printed': -np.linalg.solve(M, J_1.T @ F),
    }
    assert delta['corrected'] == pytest.approx(DELTA_HANDS, abs=PRINTED)
    assert delta['printed'] == pytest.approx(DELTA_AS_PRINTED, abs=PRINTED)
    robot.connect('hands')
    J_C, _, _ = ccd.constraint_jacobian(robot, q)
    assert np.abs(J_C @ (v + delta['corrected'])).max() < EXACT
    assert np.abs(J_C @ (v + delta['printed'])).max() == pytest.approx(0.4758766131, abs=PRINTED)
    turns = {
        key: about_origin(robot, q, ccd.momentum(robot, q, v + change))[2]
        for key, change in delta.items()
    }
    assert turns['corrected'] == pytest.approx(0.8212930277, abs=PRINTED)
    assert turns['printed'] == pytest.approx(0.8263198277, abs=PRINTED)


# --- B3, B4: planar arms, where B has no inverse -------------------------------------------------
ROD = (1e-3, 1 / 12, 1 / 12)


def planar_arm(names, parent='world', at=(0.0, 0.0, 0.0)):
    """Return links and hinges of a chain of rods of 1 m and 1 kg along x."""
    links, joints = [], []
    for name in names:
        links.append(body(f'rod_{name}', 1.0, (0.5, 0.0, 0.0), ROD))
        joints.append(hinge(name, parent, f'rod_{name}', at))
        parent, at = f'rod_{name}', (1.0, 0.0, 0.0)
    return links, joints


def tip(description, q, link):
    return (ccd.link_placement(ccd.Mechanism(description), q, link) @ (1.0, 0.0, 0.0, 1.0))[:3]


def test_a_planar_arm_catches_a_pin_though_b_is_singular():
    links, joints = planar_arm('abc')
    description = Description('planar', (Link('world'), *links), tuple(joints))
    q, v = np.array([1.2, -0.9, -0.8]), np.array([0.5, -0.3, 0.8])
    point = tip(description, q, 'rod_c')
    assert point == pytest.approx([2.1952768055, 0.7481337540, 0], abs=PRINTED)
    robot = with_loop(description, q, 'pin', LoopType.REVOLUTE, 'world', 'rod_c', point)
    J_1, _ = side_jacobians(robot, q, 'rod_c', 'world', point)
    assert np.linalg.matrix_rank(J_1 @ np.linalg.solve(ccd.mass_matrix(robot, q), J_1.T)) == 3
    hit = blow(robot, q, v, 'pin')
    assert hit.v_after == pytest.approx([0.1318826448, -0.3141956964, 0.3263241305], abs=PRINTED)
    assert hit.impulse == pytest.approx([0.8825320102, -0.9319956287, 0, 0, 0], abs=PRINTED)
    assert rate(robot, q, hit.v_after, 'pin') == pytest.approx([0.1440110789], abs=PRINTED)
    assert hit.energy_before == pytest.approx(0.6157010426, abs=PRINTED)
    assert hit.energy_after == pytest.approx(0.0131185888, abs=PRINTED)


def test_a_linkage_with_a_loop_catches_a_pin_and_its_loop_stays_closed():
    links, joints = planar_arm('abf')
    more_links, more_joints = planar_arm('ce', at=(1.2, 0.0, 0.0))
    old = LoopJoint(
        'old', LoopType.REVOLUTE, 'rod_e', 'rod_b', Pose((1.0, 0.0, 0.0)), Pose((1.0, 0.0, 0.0))
    )
    description = Description(
        'five_bar', (Link('world'), *links, *more_links), (*joints, *more_joints), (old,)
    )
    q = np.array([1.9198621772, -1.5776664396, 0.0068701128, 1.2217304764, 1.5776664396])
    point = tip(description, q, 'rod_f')
    assert point == pytest.approx([1.5396926208, 1.6172690926, 0], abs=PRINTED_POSE)
    robot = with_loop(description, q, 'pin', LoopType.REVOLUTE, 'world', 'rod_f', point)
    assert robot.coordinate_names == ['a', 'b', 'f', 'c', 'e']
    W = ccd.coordinates(robot, q).W
    W = W @ np.linalg.inv(W[[0, 3, 2]])  # theta_G = (a, c, f)
    assert W[1] == pytest.approx([-2.2186655388, 1.5817364834, 0], abs=PRINTED_POSE)
    assert W[4] == pytest.approx([1.5817364834, -2.2186655388, 0], abs=PRINTED_POSE)
    M = ccd.mass_matrix(robot, q)
    assert (
        pytest.approx(
            np.array(
                [
                    [7.1527671521, -5.8045109866, -1.0155402359],
                    [-5.8045109866, 8.5084026347, 1.3180950724],
                    [-1.0155402359, 1.3180950724, 0.3333333333],
                ]
            ),
            abs=10 * PRINTED_POSE,
        )
        == W.T @ M @ W
    )
    v = W @ [0.4, -0.3, 0.9]
    hit = blow(robot, q, v, 'pin')
    assert hit.v_after == pytest.approx(
        [-0.0064552857, -0.9331706984, 1.8792297938, -0.5990206512, 1.3188159149], abs=PRINTED_POSE
    )
    assert hit.impulse_of('pin')[:2] == pytest.approx(
        [1.1168195156, 0.7736771960], abs=PRINTED_POSE
    )
    assert rate(robot, q, hit.v_after, 'pin') == pytest.approx([0.9396038097], abs=PRINTED_POSE)
    assert hit.energy_before == pytest.approx(1.0651606546, abs=PRINTED_POSE)
    assert hit.energy_after == pytest.approx(0.6213481166, abs=PRINTED_POSE)
    # the old loop passes on a blow as well; without it, it would open
    assert np.abs(hit.impulse_of('old')).max() > 0.1
    J_new = ccd.constraint_jacobian(robot, q)[0][[name == 'pin' for name in hit.owners]][:2]
    alone = v - np.linalg.solve(
        M, J_new.T @ np.linalg.solve(J_new @ np.linalg.solve(M, J_new.T), J_new @ v)
    )
    assert alone == pytest.approx(
        [-0.0083435300, -1.2061337104, 2.4289258201, -0.3, 1.2982942550], abs=PRINTED_POSE
    )
    J_b, J_e = (
        side_jacobians(robot, q, link, 'world', tip(description, q, link))[0]
        for link in ('rod_b', 'rod_e')
    )
    assert ((J_b - J_e) @ alone)[:2] == pytest.approx(
        [0.4684420460, -0.0981890285], abs=PRINTED_POSE
    )


# --- random mechanisms against the dense system --------------------------------------------------
# directions that a joint blocks, in the parent's frame with z along the axis: 0-2 along, 3-5 about
BLOCKED = {
    LoopType.FIXED: (0, 1, 2, 3, 4, 5),
    LoopType.REVOLUTE: (0, 1, 2, 3, 4),
    LoopType.PRISMATIC: (0, 1, 3, 4, 5),
    LoopType.CYLINDRICAL: (0, 1, 3, 4),
    LoopType.SPHERICAL: (0, 1, 2),
    LoopType.PLANAR: (2, 3, 4),
    LoopType.SURFACE: (2,),
    LoopType.UNIVERSAL: (0, 1, 2),
    LoopType.FREE: (),
}
AXIAL = set(LoopType) - {LoopType.FIXED, LoopType.SPHERICAL, LoopType.FREE}
N_CASES, BLOCKS = 500, 10


def frame(data, model, link, origin, axis, axial):
    """Return the world placement of a loop frame, z along its axis."""
    R = pin.rpy.rpyToMatrix(*origin.rpy)
    X = data.oMf[model.getFrameId(link)] * pin.SE3(R, np.array(origin.xyz))
    if axial:
        turn = pin.Quaternion.FromTwoVectors(np.array(Z), np.array(axis))
        X = X * pin.SE3(turn.matrix(), np.zeros(3))
    return X


def dense_jacobian(description, q, names):
    """Return M and the rows of some loops, by Pinocchio's mass matrix and frame Jacobians."""
    model = pinocchio_model(description)
    data = model.createData()
    M = pin.crba(model, data, q)
    M = np.triu(M) + np.triu(M, 1).T
    pin.computeJointJacobians(model, data, q)
    pin.framesForwardKinematics(model, data, q)
    rows = [np.zeros((0, model.nv))]
    for loop in description.loops:
        if loop.name not in names:
            continue
        axial = loop.type in AXIAL
        X_1 = frame(data, model, loop.parent, loop.parent_origin, loop.parent_axis, axial)
        X_2 = frame(data, model, loop.child, loop.child_origin, loop.child_axis, axial)
        relative = np.zeros((6, model.nv))
        for link, sign in ((loop.parent, -1.0), (loop.child, 1.0)):
            number = model.getFrameId(link)
            J = pin.getFrameJacobian(model, data, number, pin.LOCAL_WORLD_ALIGNED)
            arm = X_2.translation - data.oMf[number].translation
            relative[:3] += sign * (J[:3] - pin.skew(arm) @ J[3:])
            relative[3:] += sign * J[3:]
        local = np.vstack([X_1.rotation.T @ relative[:3], X_1.rotation.T @ relative[3:]])
        rows.append(local[list(BLOCKED[loop.type])])
        if loop.type is LoopType.UNIVERSAL:
            normal = np.cross(X_2.rotation[:, 2], X_1.rotation[:, 2])
            rows.append((normal @ relative[3:])[None])
    return M, np.vstack(rows)


def random_case(seed):
    """
    Return a mechanism with loops still open, their names, q, and v that keeps the closed ones.

    Every second one is free of the ground, every third one has connections that say the same
    twice; one to four connections are new. Draws again until J is well enough conditioned.
    """
    rng = np.random.default_rng(seed)
    while True:
        free = seed % 2 == 0
        tree = random_description(rng, int(rng.integers(3, 15)), floating_root=free, damping=0.0)
        q, v, _ = random_state(rng, tree)
        group = rigid_groups(tree)
        inside = sorted(link for link in group if not free or group[link])
        if len({group[link] for link in inside}) < 2:
            continue
        n_old, n_new = int(rng.integers(0, 3)), 1 + seed % 4
        pairs = []
        while len(pairs) < n_old + n_new:
            one, two = (inside[k] for k in rng.choice(len(inside), 2, replace=False))
            if group[one] != group[two]:
                pairs.append((one, two))
        kinds = tuple(kind for kind in LoopType if kind is not LoopType.FREE)
        description = random_loops(rng, tree, q, n_old, kinds, pairs=pairs[:n_old])
        description = random_loops(
            rng, description, q, n_new, kinds, pairs=pairs[n_old:], active=False
        )
        if seed % 3 == 0:
            twice = description.loops[-1]
            description = replace(
                description, loops=(*description.loops, replace(twice, name='twice'))
            )
        new = [loop.name for loop in description.loops if not loop.active]
        M, J = dense_jacobian(description, q, {loop.name for loop in description.loops})
        sigma = np.linalg.svd(J, compute_uv=False)
        kept = sigma[sigma > 1e-10 * sigma[0]]
        if sigma[0] > CONDITION * kept[-1] or np.linalg.cond(M) > CONDITION:
            continue
        robot = ccd.Mechanism(description)
        W = ccd.coordinates(robot, q).W
        return robot, new, q, W @ np.linalg.lstsq(W, v, rcond=None)[0], free, M, J


@pytest.mark.parametrize('block', range(BLOCKS))
def test_random_connections_agree_with_the_dense_impulse_equations(block):
    size = N_CASES // BLOCKS
    for seed in range(size * block, size * (block + 1)):
        robot, new, q, v, free, M, J = random_case(seed)
        hit = blow(robot, q, v, *new)
        J_C, _, _ = ccd.constraint_jacobian(robot, q)
        assert pytest.approx(J, abs=1e-11) == J_C, seed
        assert np.abs(J_C @ hit.v_after).max() < AFTER, seed
        n, m = len(v), len(J)
        solution = np.linalg.lstsq(
            np.block([[M, -J.T], [J, np.zeros((m, m))]]), np.r_[M @ v, np.zeros(m)], rcond=1e-11
        )[0]
        assert relative_error(hit.v_after, solution[:n], at_least=1.0) < SAME, seed
        assert relative_error(hit.impulse, solution[n:], at_least=1.0) < SAME, seed
        jump = M @ (hit.v_after - v)
        assert relative_error(J.T @ hit.impulse, jump, at_least=np.abs(M @ v).max()) < KEPT, seed
        T = v @ M @ v / 2, hit.v_after @ M @ hit.v_after / 2
        assert (hit.energy_before, hit.energy_after) == pytest.approx(T, rel=1e-11, abs=1e-13)
        assert T[1] <= T[0] * (1 + 1e-12), seed
        # the work of the impulse on the mean of the speeds before and after
        assert hit.energy_lost == pytest.approx(-hit.impulse @ J @ v / 2, abs=1e-9 * T[0]), seed
        if free:
            assert relative_error(hit.momentum_after, hit.momentum_before, at_least=1.0) < KEPT, (
                seed
            )


def test_a_motion_that_keeps_the_loops_is_not_changed_by_them():
    for seed in range(20):
        robot, new, q, v, _, _, _ = random_case(seed)
        after = blow(robot, q, v, *new).v_after
        again = ccd.impact(robot, q, after)
        assert relative_error(again.v_after, after, at_least=1.0) < KEPT
        assert np.abs(again.impulse).max() < KEPT * max(1.0, np.abs(after).max())
        assert again.energy_lost == pytest.approx(0.0, abs=KEPT)


def test_two_blows_one_after_the_other_are_both_at_once():
    """Two blows in turn end in the motion of both at once, but the first alone in another."""
    robot, q, v = free_bodies(LoopType.SPHERICAL)
    second = replace(
        robot.description.loops[0],
        name='second',
        parent_origin=replace(robot.description.loops[0].parent_origin, xyz=(0.1, 0.2, 0.0)),
    )
    at = ccd.link_placement(robot, q, 'two') @ (0.1, 0.2, 0.0, 1.0)
    second = replace(second, child_origin=Pose(tuple(at[:3])))
    robot = ccd.Mechanism(replace(robot.description, loops=(*robot.description.loops, second)))
    together = blow(robot.copy(), q, v, 'new', 'second')
    first = blow(robot, q, v, 'new')
    then = blow(robot, q, first.v_after, 'second')
    assert together.v_after == pytest.approx(then.v_after, abs=1e-12)  # a projection in M
    assert together.energy_lost == pytest.approx(first.energy_lost + then.energy_lost, abs=1e-12)
    # the two points are 0.3 m apart, whose distance is given twice: 5 of 6 rows
    assert ccd.coordinates(robot, q).rank == 5
    other = blow(ccd.Mechanism(robot.description), q, v, 'second')
    assert np.abs(other.v_after - first.v_after).max() > 0.1


# --- connecting and cutting in a simulation ------------------------------------------------------
def flying_figure(**options):
    """Return a figure that swings on the bar by its left hand, and still turns upwards."""
    robot = ccd.load('high_bar')
    sim = ccd.Simulation(robot, **options)
    sim.cut('right_grip')
    rng = np.random.default_rng(5)
    c = ccd.coordinates(sim.robot, sim.q)
    sim.v = c.W @ rng.normal(size=c.mobility)
    return sim


def books(sim):
    return sim.energy().balance


def everything(sim):
    """Return all that a refused event must not change."""
    return (
        sim.q.copy(),
        sim.v.copy(),
        sim.robot.connections(),
        sim.time,
        len(sim.events),
        len(sim.log),
        len(sim.log.events),
        sim.lost,
        books(sim),
    )


def same(one, other):
    if isinstance(one, tuple):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other))
    return np.array_equal(one, other)


def test_a_connection_is_an_event_with_impulse_energy_and_mobility():
    sim = flying_figure()
    kinetic, balance = sim.energy().kinetic, books(sim)
    robot, v = sim.robot.copy(), sim.v.copy()
    (event,) = sim.connect('right_grip')
    assert (event.kind, event.name, event.time) == ('connect', 'right_grip', sim.time)
    assert (event.mobility_before, event.mobility_after) == (17, 12)
    assert event.impulse.shape == (5,) and np.abs(event.impulse).max() > 1e-3
    assert 0.0 < event.energy_lost < kinetic
    assert event.energy_lost == pytest.approx(kinetic - sim.energy().kinetic, abs=BALANCE)
    assert sim.energy().lost == sim.lost == event.energy_lost + event.energy_of_gap
    assert event.energy_of_gap == pytest.approx(0.0, abs=BALANCE)  # there is none
    assert books(sim) == pytest.approx(balance, abs=BALANCE)
    robot.connect('right_grip')
    hit = ccd.impact(robot, sim.q, v)
    assert event.impulse == pytest.approx(hit.impulse_of('right_grip'), abs=BALANCE)
    assert event.momentum_change == pytest.approx(
        hit.momentum_after - hit.momentum_before, abs=1e-12
    )
    J_C, error, _ = ccd.constraint_jacobian(sim.robot, sim.q)
    assert np.abs(J_C @ sim.v).max() < AFTER and np.abs(error).max() < AFTER
    assert sim.events[-1] is event and sim.log.events[-1] is event


def test_a_cut_is_an_event_that_changes_no_velocity():
    sim = flying_figure()
    sim.connect('right_grip')
    q, v, balance = sim.q.copy(), sim.v.copy(), books(sim)
    (event,) = sim.cut('left_grip')
    assert (event.kind, event.name) == ('cut', 'left_grip')
    assert (event.mobility_before, event.mobility_after) == (12, 17)
    assert event.energy_lost == 0.0
    assert np.array_equal(sim.q, q) and np.array_equal(sim.v, v)
    assert books(sim) == balance
    assert not sim.robot.is_connected('left_grip')


def test_several_connections_at_one_instant_are_one_impact():
    sim = ccd.Simulation(ccd.load('swing'))
    q = sim.q.copy()
    thighs, hands = ('left_thigh', 'right_thigh'), ('left_hand', 'right_hand')
    cuts = sim.cut(*thighs, *hands)
    assert [(each.mobility_before, each.mobility_after) for each in cuts] == [(7, 23)] * 4
    sim.v = np.random.default_rng(3).normal(size=sim.robot.nv)
    sim.v = (
        ccd.coordinates(sim.robot, q).W
        @ np.linalg.lstsq(ccd.coordinates(sim.robot, q).W, sim.v, rcond=None)[0]
    )
    v, balance, kinetic = sim.v.copy(), books(sim), sim.energy().kinetic
    events = sim.connect(*hands, *thighs)
    assert [each.name for each in events] == [*hands, *thighs]
    assert [(each.mobility_before, each.mobility_after) for each in events] == [(23, 7)] * 4
    assert [len(each.impulse) for each in events] == [3, 3, 5, 5]
    assert sum(each.energy_lost for each in events) == pytest.approx(
        kinetic - sim.energy().kinetic, abs=BALANCE
    )
    assert books(sim) == pytest.approx(balance, abs=BALANCE)
    assert sim.v == pytest.approx(ccd.impact(sim.robot, sim.q, v).v_after, abs=1e-12)


def gap_of(sim, loop):
    """Return how far a loop joint that is open stands apart, (metres, radians)."""
    robot = sim.robot.copy()
    robot.connect(loop)
    return robot.loop_gaps(sim.q)[loop]


@pytest.mark.parametrize('passive', [False, True], ids=['free', 'with a spring on the joint'])
def test_the_books_close_when_a_connection_closes_a_gap(passive):
    """Bringing the frames together changes the potential energy, apart from what the blow took."""
    robot = ccd.load('high_bar')
    if passive:
        spring = Spring('grip', 'torsional', 40.0, 0.5, 1.0, joint='right_grip')
        robot = ccd.Mechanism(replace(robot.description, springs=(spring,)))
    sim = ccd.Simulation(robot, dt=1e-3)
    first = books(sim)
    sim.cut('right_grip')
    assert books(sim) == pytest.approx(first, abs=BALANCE)
    sim.run(0.05)
    metres, radians = gap_of(sim, 'right_grip')
    assert metres > 1e-3
    balance, booked = books(sim), sim.lost
    (event,) = sim.connect('right_grip', gap=2 * metres, angle=2 * radians + 0.01)
    assert max(sim.robot.loop_gaps(sim.q)['right_grip']) < AFTER
    assert books(sim) == pytest.approx(balance, abs=BALANCE)
    assert sim.lost == pytest.approx(booked + event.energy_lost + event.energy_of_gap, abs=BALANCE)
    assert event.energy_lost > 0.0 > event.energy_of_gap  # it was lifted
    sim.run(0.05)
    # the method's own error: RK4 at 1 ms
    assert books(sim) == pytest.approx(first, abs=1e-5)


@pytest.mark.parametrize(
    'names, options, error, says',
    [
        (('right_grip',), {}, StructureError, r'rad apart, more than the 0.02 m and 0.05 rad'),
        (('right_grip',), {'gap': 9.0}, StructureError, r'more than the 9 m and 0.05 rad'),
        (('left_grip',), {}, StructureError, 'already connected'),
        (('right_grip', 'right_grip'), {'gap': 9.0, 'angle': 9.0}, StructureError, 'already'),
        (('right_grp',), {}, NameNotFound, 'right_grip'),
        (('right_grip', 'right_grp'), {'gap': 9.0, 'angle': 9.0}, NameNotFound, 'right_grip'),
    ],
    ids=['far', 'turned', 'connected', 'twice', 'unknown', 'one of two unknown'],
)
def test_a_refused_connection_changes_nothing(names, options, error, says):
    sim, twin = flying_figure(), flying_figure()
    for each in (sim, twin):
        each.run(0.1)
    metres, radians = gap_of(sim, 'right_grip')
    assert metres > 0.02 and radians > 0.05
    before = everything(sim)
    with pytest.raises(error, match=says):
        sim.connect(*names, **options)
    assert same(everything(sim), before)
    for each in (sim, twin):
        each.run(0.05)
    # the generalized coordinates may have been chosen anew, which rounds differently
    assert sim.q == pytest.approx(twin.q, abs=1e-11)
    assert sim.v == pytest.approx(twin.v, abs=1e-10)


def test_a_connection_that_cannot_be_closed_changes_nothing():
    """A pin out of the reach of the arm, though allowed by gap=."""
    links, joints = planar_arm('ab')
    description = Description('planar', (Link('world'), *links), tuple(joints))
    pin_far = LoopJoint(
        'pin',
        LoopType.REVOLUTE,
        'world',
        'rod_b',
        Pose((2.2, 0.0, 0.0)),
        Pose((1.0, 0.0, 0.0)),
        active=False,
    )
    sim = ccd.Simulation(
        ccd.Mechanism(replace(description, loops=(pin_far,))),
        q=np.array([0.1, 0.1]),
        v=np.array([0.3, -0.2]),
    )
    before = everything(sim)
    with pytest.raises(ccd.ClosedChainError):
        sim.connect('pin', gap=1.0)
    assert same(everything(sim), before)


def test_a_connection_that_leaves_no_motion_is_refused_and_changes_nothing():
    links, joints = planar_arm('ab')
    description = Description('planar', (Link('world'), *links), tuple(joints))
    q, v = np.array([0.4, 0.7]), np.array([0.3, -0.2])
    robot = with_loop(
        description, q, 'pin', LoopType.REVOLUTE, 'world', 'rod_b', tip(description, q, 'rod_b')
    )
    sim = ccd.Simulation(robot, q=q, v=v)
    before = everything(sim)
    with pytest.raises(StructureError, match="'pin' would leave no motion at all"):
        sim.connect('pin')
    assert same(everything(sim), before)
    hit = blow(robot, q, v, 'pin')  # the impact itself has an answer: rest
    assert np.abs(hit.v_after).max() < EXACT
    assert hit.energy_after == pytest.approx(0.0, abs=EXACT)


@pytest.mark.parametrize(
    'names, error',
    [
        (('right_grip',), StructureError),
        (('left_grip', 'left_grip'), StructureError),
        (('left_grip', 'no_grip'), NameNotFound),
    ],
    ids=['open', 'twice', 'one of two unknown'],
)
def test_a_refused_cut_changes_nothing(names, error):
    sim = flying_figure()
    before = everything(sim)
    with pytest.raises(error):
        sim.cut(*names)
    assert same(everything(sim), before)


def test_cutting_and_connecting_again_at_once_gives_the_same_motion():
    sim, twin = (ccd.Simulation(ccd.load('swing')) for _ in range(2))
    for each in (sim, twin):
        each.run(0.1)
    sim.cut('left_thigh', 'left_hand')
    events = sim.connect('left_thigh', 'left_hand')
    assert sum(each.energy_lost for each in events) == pytest.approx(0.0, abs=BALANCE)
    assert np.abs(np.concatenate([each.impulse for each in events])).max() < 1e-9
    for each in (sim, twin):
        each.run(0.1)
    assert sim.q == pytest.approx(twin.q, abs=1e-10)
    assert sim.v == pytest.approx(twin.v, abs=1e-9)
