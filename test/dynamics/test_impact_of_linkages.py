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
Impacts of arms where B has no inverse, and of random mechanisms.

They are judged by the dense system [M -J^T; J 0] with M and J of Pinocchio's.
"""

from dataclasses import replace

from helpers.impacts import Z, blow, free_bodies, planar_arm, rate, side_jacobians, tip, with_loop
from helpers.random_mechanisms import (
    pinocchio_model,
    random_description,
    random_loops,
    random_state,
    relative_error,
    rigid_groups,
)
import numpy as np
import pinocchio as pin
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import Description, Link, LoopJoint, LoopType, Pose

PRINTED = 6e-11  # ten decimals, and rounding of numbers of about one
# Example B4 gives its configuration with ten decimals too: a pose off by 5e-11, and rates that
# change some ten times as much.
PRINTED_POSE = 1e-9
AFTER = 1e-12  # what may be left of the speed that was caught [m/s or rad/s]
KEPT = 1e-10  # what the momentum of a free system may change by, relative
# Two solutions of one linear system whose condition is kept below CONDITION.
CONDITION = 1e5
SAME = 1e-9


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
