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
The jump of velocities when links are connected (paper 2, section V-C), on the examples.

The numbers of the examples are those of an independent evaluation of Eqs. (25) to (38), with the
misprint of (35) corrected: it needs (J1 - J2)^T where J1^T is printed. In them J1 belongs to the
side with the real link, F is the impulse that this side exerts on the other one, and the new
joint's rate is that of side 1 against side 2. So side 1 is the child here and side 2 the parent,
and the impulse of `impact`, on the child, is -F.
"""

import math

from helpers.impacts import (
    P_JOINT,
    blow,
    body,
    free_bodies,
    hinge,
    rate,
    side_jacobians,
    with_loop,
)
import numpy as np
import pinocchio as pin
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import Description, Joint, JointType, Link, LoopType

PRINTED = 6e-11  # ten decimals, and rounding of numbers of about one
EXACT = 1e-13  # a few operations on numbers of order one; their order may change
X_90 = pin.rpy.rpyToMatrix(-math.pi / 2, 0.0, 0.0)  # takes z to y


def about_origin(robot, q, momentum):
    """Return angular momentum about the world's origin."""
    return momentum[3:] + np.cross(ccd.center_of_mass(robot, q), momentum[:3])


def projected(robot, q, v):
    """Return W (W^T M W)^-1 W^T M v: momentum is kept along every motion that remains."""
    W, M = ccd.coordinates(robot, q).W, ccd.mass_matrix(robot, q)
    return W @ np.linalg.solve(W.T @ M @ W, W.T @ M @ v)


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
