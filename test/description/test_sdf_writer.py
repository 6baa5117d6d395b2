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

"""SDF that is written means there, and read back here, what the description says."""

from dataclasses import replace
import json
import math

from helpers.random_mechanisms import random_description, random_loops, random_state
from helpers.sdf_models import Drake
from lxml import etree
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.cli.convert import _closed_pose
from closed_chain_dynamics.cli.main import main
from closed_chain_dynamics.description import (
    Coupling,
    CouplingTerm,
    Dynamics,
    JointType,
    Limit,
    LoopType,
    Spring,
    convert,
    read,
)
from closed_chain_dynamics.description.rotations import pose_of
from closed_chain_dynamics.description.straight_couplings import as_mimics
from closed_chain_dynamics.dynamics.constraints import loop_jacobian, loop_positions

# Every number is written as exactly as it is in memory; sums are formed in another order.
EXACT = 1e-12
SAME_TREE = (
    'biped',
    'exo_leg',
    'five_bar',
    'four_bar',
    'pendulum',
    'six_bar',
    'slider_crank',
    'three_link',
)
WRITTEN_LOOPS = (
    LoopType.FIXED,
    LoopType.REVOLUTE,
    LoopType.PRISMATIC,
    LoopType.UNIVERSAL,
    LoopType.SPHERICAL,
)


def positions(robot, q):
    """Return the part of q of each joint by name."""
    return {name: tuple(q[robot.joint_slices(name)[0]]) for name in robot.joint_names}


def known(description):
    """Return the description without what SDF has no word for and inverse dynamics feels."""
    return replace(
        description,
        joints=tuple(
            replace(each, limit_moment=None, dynamics=Dynamics())
            if each.type is JointType.SPHERICAL
            else replace(each, limit_moment=None)
            for each in description.joints
        ),
        springs=tuple(each for each in description.springs if each.type == 'torsional'),
    )


def written(robot, path, pose=None):
    pose = _closed_pose(robot) if pose is None else pose
    (file,), told = convert(robot.description, path, robot.gravity, pose=pose)
    return file, told, pose


def turned_back(robot, again, pose, q):
    """Return q as the file counts it, from the pose that it shows."""
    at = again.neutral()
    for name in robot.joint_names:
        here, there = robot.joint_slices(name)[0], again.joint_slices(name)[0]
        zero = np.array(pose.get(name, robot.neutral()[here]))
        if here.stop - here.start == 1:
            at[there] = q[here] - zero
        else:  # a ball, x y z w: what is left behind the turn of the pose
            x, y, z, w = zero * np.array([-1.0, -1.0, -1.0, 1.0])
            back = np.array([[w, -z, y, x], [z, w, -x, y], [-y, x, w, z], [-x, -y, -z, w]])
            at[there] = back @ q[here]
    return at


def compare(robot, again, pose, q, v, a):
    """Assert that mass matrix, forces of the tree and loop rows are those before."""
    q_again = turned_back(robot, again, pose, q)
    order = [again.coordinate_names.index(name) for name in robot.coordinate_names]
    v_again, a_again = np.zeros(again.nv), np.zeros(again.nv)
    v_again[order], a_again[order] = v, a
    M = ccd.mass_matrix(robot, q)
    assert np.abs(ccd.mass_matrix(again, q_again)[np.ix_(order, order)] - M).max() < EXACT * max(
        1.0, np.abs(M).max()
    )
    open_ones = [
        ccd.Mechanism(replace(each.description, loops=(), couplings=()), gravity=each.gravity)
        for each in (robot, again)
    ]
    tau, other = (
        ccd.inverse_dynamics(*each).tau_O
        for each in ((open_ones[0], q, v, a), (open_ones[1], q_again, v_again, a_again))
    )
    assert np.abs(other[order] - tau).max() < EXACT * max(1.0, np.abs(tau).max())
    # the frames of a loop turn about its axis, which turns its rows among themselves
    J, J_again = loop_jacobian(robot, q), loop_jacobian(again, q_again)[:, order]
    assert len(J) == len(J_again)
    assert np.abs(J.T @ J - J_again.T @ J_again).max(initial=0.0) < EXACT * max(
        1.0, np.abs(J.T @ J).max(initial=0.0)
    )


@pytest.mark.parametrize('model', SAME_TREE)
def test_shipped_models_come_back(model, tmp_path):
    robot = ccd.load(model)
    kept = tuple(
        each for each in robot.description.loops if each.active and each.type in WRITTEN_LOOPS
    )
    robot = ccd.Mechanism(
        replace(known(robot.description), loops=kept, couplings=()), gravity=robot.gravity
    )
    file, _, pose = written(robot, tmp_path / 'm.sdf')
    again = ccd.load(file)
    assert np.array_equal(again.gravity, robot.gravity)
    assert set(again.coordinate_names) == set(robot.coordinate_names)
    rng = np.random.default_rng(1)
    q = ccd.assemble(robot)
    compare(robot, again, pose, q, rng.normal(size=robot.nv), rng.normal(size=robot.nv))
    assert ccd.coordinates(robot, q).mobility == (
        ccd.coordinates(again, turned_back(robot, again, pose, q)).mobility
    )


@pytest.mark.parametrize('seed', range(6))
def test_random_mechanisms_with_loops_come_back(seed, tmp_path):
    rng = np.random.default_rng(seed)
    shares = {
        kind: 1.0 for kind in JointType if kind not in (JointType.PLANAR, JointType.FLOATING)
    }
    tree = known(random_description(rng, 8, shares=shares, floating_root=False))
    q, v, a = random_state(rng, ccd.Mechanism(tree).description)
    robot = ccd.Mechanism(random_loops(rng, tree, q, 4, WRITTEN_LOOPS))
    file, told, pose = written(robot, tmp_path / 'm.sdf', positions(robot, q))
    assert not any(each.startswith('Left out') and 'loop' in each for each in told)
    compare(robot, ccd.load(file), pose, q, v, a)


@pytest.mark.parametrize('model', ['stewart', 'swing', 'high_bar'])
def test_what_floats_and_is_held_by_loops_accelerates_alike(model, tmp_path):
    """SDF has no joint for what floats: reading hangs it on the first loop that holds it."""
    robot = ccd.load(model)
    robot = ccd.Mechanism(known(robot.description), gravity=robot.gravity)
    q = ccd.assemble(robot)
    file, told, _ = written(robot, tmp_path / 'm.sdf', positions(robot, q))
    assert any('floating joints are links that nothing holds' in each for each in told)
    again = ccd.load(file)
    assert ccd.coordinates(robot, q).mobility == ccd.coordinates(again, again.neutral()).mobility
    mine = ccd.forward_dynamics(robot, q, np.zeros(robot.nv), {}).acceleration
    other = ccd.forward_dynamics(again, again.neutral(), np.zeros(again.nv), {}).acceleration
    before = ccd.link_accelerations(robot, q, np.zeros(robot.nv), mine)
    after = ccd.link_accelerations(again, again.neutral(), np.zeros(again.nv), other)
    largest = max(np.abs(each).max() for each in before.values())
    assert largest > 1.0
    for link in robot.description.links:
        if link.name != 'world':  # of equations with the condition of their loops
            assert np.abs(before[link.name] - after[link.name]).max() < 1e-9 * largest, link.name


@pytest.mark.parametrize('seed', range(4))
def test_drake_reads_the_same_tree(seed, tmp_path):
    pytest.importorskip('pydrake', reason='Drake is the peer here')
    rng = np.random.default_rng(100 + seed)
    shares = dict.fromkeys((JointType.CONTINUOUS, JointType.PRISMATIC, JointType.FIXED), 1.0)
    robot = ccd.Mechanism(random_description(rng, 7, shares=shares, damping=0.0))
    q, v, _ = random_state(rng, robot.description)
    file, _, pose = written(robot, tmp_path / 'm.sdf', positions(robot, q))
    twin = Drake(file.read_text(), robot.coordinate_names)
    shift = rng.normal(size=robot.nv)
    twin.set(shift, v)
    twin.plant.mutable_gravity_field().set_gravity_vector(robot.gravity)
    M = ccd.mass_matrix(robot, q + shift)
    assert np.abs(twin.mass_matrix() - M).max() < 1e-11 * np.abs(M).max()
    for link in robot.description.links:
        if link.inertia is not None and link.name != robot.description.root:
            X = ccd.link_placement(robot, q + shift, link.name)
            assert np.abs(twin.placement(link.name) - X).max() < 1e-12


def test_ranges_springs_and_laws_count_from_the_pose_of_the_file(tmp_path):
    robot = ccd.load('four_bar')
    (loop,) = robot.description.loops
    loop = replace(
        loop, limit=Limit(-2.0, 1.5, 7.0, 8.0), dynamics=Dynamics(0.3, 0.2), limit_moment=None
    )
    springs = (
        Spring('one', 'torsional', 2.0, 0.1, 0.5, joint='rocker'),
        Spring('two', 'torsional', 3.0, 0.2, 0.7, joint='rocker'),
        Spring('pin', 'torsional', 4.0, 0.0, 0.3, joint=loop.name),
    )
    rocker = next(each for each in robot.description.joints if each.name == 'rocker')
    ranged = replace(rocker, type=JointType.REVOLUTE, limit=Limit(-3.0, 3.0, 5.0, 6.0))
    joints = tuple(ranged if each is rocker else each for each in robot.description.joints)
    robot = ccd.Mechanism(
        replace(robot.description, joints=joints, loops=(loop,), springs=springs)
    )
    file, _, pose = written(robot, tmp_path / 'm.sdf')
    again = ccd.load(file, actuated=['crank'])
    back = {each.name: each for each in again.description.all_joints}
    at = pose['rocker'][0]
    assert abs(at) > 0.1
    assert back['rocker'].limit.lower == pytest.approx(-3.0 - at, abs=1e-15)
    assert (back['rocker'].limit.effort, back['rocker'].limit.velocity) == (5.0, 6.0)
    assert back['rocker'].dynamics.damping == pytest.approx(ranged.dynamics.damping + 0.3)
    turn = loop_positions(robot, ccd.assemble(robot))[loop.name]
    assert back[loop.name].limit.upper == pytest.approx(1.5 - turn, abs=EXACT)
    assert (back[loop.name].dynamics.damping, back[loop.name].dynamics.friction) == (0.3, 0.2)
    read_springs = {each.joint: each for each in again.description.springs}
    assert read_springs['rocker'].rest == pytest.approx((2.0 * 0.5 + 3.0 * 0.7) / 5.0 - at)
    assert read_springs[loop.name].rest == pytest.approx(0.3 - turn, abs=EXACT)
    q = ccd.assemble(robot, {'crank': 0.9})
    mine, other = (
        ccd.inverse_dynamics(each, state, np.zeros(3), np.zeros(3)).torques()['crank']
        for each, state in ((robot, q), (again, turned_back(robot, again, pose, q)))
    )
    assert other == pytest.approx(mine, abs=1e-11)


def test_gears_are_mimics_or_gearboxes(tmp_path):
    robot = ccd.load('exo')
    file, told, pose = written(robot, tmp_path / 'm.sdf')
    assert not any('couplings' in each for each in told)
    kinds = [each.get('type') for each in etree.parse(file).iter('joint')]
    assert kinds.count('gearbox') == 1 and etree.parse(file).getroot().get('version') == '1.11'
    q = ccd.assemble(robot)
    again = ccd.load(file)
    c, other = (
        ccd.coordinates(robot, q),
        ccd.coordinates(again, turned_back(robot, again, pose, q)),
    )
    assert c.mobility == other.mobility
    order = [again.coordinate_names.index(name) for name in robot.coordinate_names]
    # what may move is the same: the null spaces of the constraints
    project = [np.linalg.pinv(J) @ J for J in (c.J_C, other.J_C[:, order])]
    assert np.abs(project[0] - project[1]).max() < 1e-11


def test_a_curved_coupling_is_left_out_and_told(tmp_path):
    robot = ccd.load('two_link')
    curved = Coupling(
        'cam', (CouplingTerm('joint_1', (1.0, 2.0)), CouplingTerm('joint_2', (1.0,)))
    )
    open_one = Coupling(
        'gear', (CouplingTerm('joint_1', (2.0,)), CouplingTerm('joint_2', (1.0,))), active=False
    )
    made = replace(robot.description, couplings=(curved, open_one))
    assert as_mimics(made) == ({}, [curved, open_one])
    _, told = convert(made, tmp_path / 'm.sdf', robot.gravity)
    assert any('(2: cam, gear); the joints move freely' in each for each in told)


def test_a_hinge_on_the_world_stands_the_other_way_round(tmp_path):
    """The child of an SDF joint is never the world."""
    robot = ccd.load('four_bar')
    (loop,) = robot.description.loops
    q = ccd.assemble(robot)
    X = ccd.link_placement(robot, q, loop.parent)
    R, p = X[:3, :3] @ loop.parent_origin.rotation, X[:3, :3] @ loop.parent_origin.position
    for kind in (LoopType.REVOLUTE, LoopType.PRISMATIC, LoopType.UNIVERSAL):
        axis = loop.parent_axis if kind is not LoopType.UNIVERSAL else (1.0, 0.0, 0.0)
        pinned = replace(
            loop,
            type=kind,
            child='world',
            child_origin=pose_of(R, X[:3, 3] + p),
            child_axis=axis,
            dynamics=Dynamics(),
            limit=Limit(-0.4, 0.7),
        )
        held = ccd.Mechanism(replace(robot.description, loops=(pinned,)))
        file, _, pose = written(held, tmp_path / 'm.sdf', positions(robot, q))
        assert all(each.findtext('child') != 'world' for each in etree.parse(file).iter('joint'))
        again = ccd.load(file)
        compare(held, again, pose, q, np.ones(3), np.ones(3))
        if kind is not LoopType.UNIVERSAL:
            (back,) = again.description.loops
            assert (back.limit.lower, back.limit.upper) == pytest.approx((-0.4, 0.7), abs=EXACT)
            delta = 0.01 * np.ones(3)
            mine = loop_positions(held, q + delta)[loop.name]
            other = loop_positions(again, turned_back(held, again, pose, q + delta))[loop.name]
            assert other == pytest.approx(mine, abs=1e-10)


def test_no_two_things_of_a_model_have_one_name(tmp_path):
    robot = ccd.load('swing')  # a loop is called as the thigh that it holds
    file, told, _ = written(robot, tmp_path / 'm.sdf')
    model = next(
        each for each in etree.parse(file).iter('model') if each.get('name') == robot.name
    )
    names = [each.get('name') for each in model.iterchildren('link', 'joint', 'frame')]
    assert len(set(names)) == len(names)
    assert any('left_thigh_2' in each and each.startswith('Changed') for each in told)


def test_links_without_mass_become_frames_with_their_shapes(tmp_path):
    robot = ccd.load('figure')
    plate = replace(robot.description.links[1], name='plate', inertia=None)
    hung = robot.description.joints[0]
    fixed = replace(
        hung, name='plate_joint', type=JointType.FIXED, parent=plate_parent(robot), child='plate'
    )
    made = replace(
        robot.description,
        links=(*robot.description.links, plate),
        joints=(*robot.description.joints, fixed),
    )
    (file,), told = convert(made, tmp_path / 'm.sdf', robot.gravity)
    frame = next(etree.parse(file).iter('frame'))
    assert (frame.get('name'), frame.get('attached_to')) == ('plate', fixed.parent)
    again = {each.name: each for each in read(file).links}
    before = {each.name: each for each in made.links}
    assert len(again[fixed.parent].visuals) == len(before[fixed.parent].visuals) + len(
        plate.visuals
    )
    assert any('frames of what they are fixed to (1: plate)' in each for each in told)


def test_a_joint_away_from_its_link_needs_no_link_without_mass(tmp_path):
    robot = ccd.Mechanism(known(ccd.load('swing').description))
    first, _, _ = written(robot, tmp_path / 'm.sdf')
    again = ccd.load(first)  # hangs on the left hand, away from the forearm's origin
    assert any(link.inertia is None and link.name != 'world' for link in again.description.links)
    second, told, pose = written(again, tmp_path / 'n.sdf')
    assert not any('weigh nothing' in each for each in told)
    third = ccd.load(second)
    rng = np.random.default_rng(9)
    q, v, a = random_state(rng, again.description)
    compare(again, third, pose, q, v, a)


def plate_parent(robot):
    return next(each.child for each in robot.description.joints if each.type.nv == 1)


def test_rotations_near_straight_up_keep_their_digits():
    rng = np.random.default_rng(5)
    for level in [0.0, *10.0 ** np.arange(-17.0, 0.0)]:
        for sign in (-1.0, 1.0):
            roll, yaw = rng.uniform(-math.pi, math.pi, 2)
            cr, sr, cy, sy = math.cos(roll), math.sin(roll), math.cos(yaw), math.sin(yaw)
            cp, sp = level, sign * math.sqrt(1.0 - level**2)
            R = np.array(
                [
                    [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
                    [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
                    [-sp, cp * sr, cp * cr],
                ]
            )
            assert np.abs(pose_of(R, np.zeros(3)).rotation - R).max() < 2e-14


def test_the_command_finds_a_closed_pose_and_tells(tmp_path, capsys):
    out = tmp_path / 'm.sdf'
    assert main(['convert', 'four_bar', str(out), '--json']) == 0
    report = json.loads(capsys.readouterr().out)
    assert report['files'] == [str(out)]
    assert any('motors' in each for each in report['left_out'])
    assert any('count from the pose' in each for each in report['changed'])
    assert ccd.load(out).loop_names == ['coupler_rocker']
    with pytest.raises(SystemExit, match='2'):  # wrong usage
        main(['convert', 'four_bar', str(tmp_path / 'm.dae')])
    said = capsys.readouterr().err
    assert all(name in said for name in ('sdf (.sdf)', 'drake (.urdf)', 'mjcf', 'extended'))
