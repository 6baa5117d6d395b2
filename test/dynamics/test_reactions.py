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
Force and moment in every joint, against Pinocchio and free bodies cut out by hand.

The free bodies take positions, velocities and accelerations of the links from Pinocchio and only
the reactions from the package, so that nothing on the other side of a balance was made here.
"""

from dataclasses import replace
from pathlib import Path

from helpers.loaded_joints import parallelogram, random_closed
from helpers.random_mechanisms import (
    moving_joints,
    pinocchio_model,
    random_description,
    random_loops,
    random_state,
    relative_error,
)
import numpy as np
import pinocchio as pin
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics import Mechanism
from closed_chain_dynamics.description import Dynamics, JointType, LoopJoint, LoopType
from closed_chain_dynamics.errors import NameNotFound, StateError

ROOT = Path(__file__).resolve().parents[2]
G = 9.80665
TREE = 1e-12  # two recursions over up to 25 links, each rounding at 1e-16
BALANCE = 1e-11  # a sum over the joints of one link, after a solve with condition below 1e3
SOLVED = 1e-9  # constraint forces of two solvers, condition numbers below 1e4
EXACT = 1e-12  # statics of a few bars: rounding only


def link_motion(robot, q, v, a):
    """Return Pinocchio's placement, velocity and acceleration of every link, world axes."""
    model = pinocchio_model(robot.description)
    data = model.createData()
    pin.forwardKinematics(model, data, q, v, a)
    pin.updateFramePlacements(model, data)
    frame, motion = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED, {}
    for link in robot.link_names:
        number = model.getFrameId(link)
        motion[link] = (
            data.oMf[number],
            pin.getFrameVelocity(model, data, number, frame),
            pin.getFrameClassicalAcceleration(model, data, number, frame),
        )
    return motion


def free_body_imbalance(robot, w, motion, wrenches):
    """Return what is out of balance on the worst link, relative to the largest force on any."""
    model, worst, size = robot.description, 0.0, 1e-300
    for link in model.links:
        if link.name == model.root:
            continue
        X, V, A = motion[link.name]
        com = X.translation.copy()
        need = np.zeros(6)
        if link.inertia is not None:
            r = X.rotation @ np.array(link.inertia.origin.xyz)
            R = X.rotation @ pin.rpy.rpyToMatrix(*link.inertia.origin.rpy)
            xx, xy, xz, yy, yz, zz = link.inertia.moments
            T = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
            com += r
            linear = (
                A.linear + np.cross(A.angular, r) + np.cross(V.angular, np.cross(V.angular, r))
            )
            need[:3] = link.inertia.mass * (linear - robot.gravity)
            need[3:] = T @ A.angular + np.cross(V.angular, T @ V.angular)
        have = np.zeros(6)

        def act(point, force, moment):
            have[:3] += force
            have[3:] += moment + np.cross(point - com, force)

        for joint in (*model.joints, *model.loops):
            each = w[joint.name]
            size = max(size, np.abs(each.wrench).max())
            if joint.child == link.name:
                act(each.point, each.force, each.moment)
            if joint.parent == link.name:
                act(each.point, -each.force, -each.moment)
        if link.name in wrenches:
            act(X.translation, wrenches[link.name][:3], wrenches[link.name][3:])
        for spring in model.springs:
            if spring.type == 'linear':
                for pull, (end, _) in zip(spring_pull(spring, motion), _ends(spring)):
                    if end == link.name:
                        act(*pull, np.zeros(3))
        worst = max(worst, np.abs(have - need).max())
    return worst / size


def _ends(spring):
    return (spring.from_link, spring.from_xyz), (spring.to_link, spring.to_xyz)


def spring_pull(spring, motion):
    """Return point and force of a linear spring at both of its ends."""
    points, speeds = [], []
    for link, xyz in _ends(spring):
        X, V, _ = motion[link]
        points.append(X.act(np.array(xyz)))
        speeds.append(V.linear + np.cross(V.angular, X.rotation @ np.array(xyz)))
    way = points[1] - points[0]
    length = np.linalg.norm(way)
    force = (
        (
            spring.stiffness * (length - spring.rest)
            + spring.damping * (way @ (speeds[1] - speeds[0])) / length
        )
        * way
        / length
    )
    return (points[0], force), (points[1], -force)


# --- trees against Pinocchio ---------------------------------------------------------------------
@pytest.mark.parametrize('seed', range(12))
def test_wrenches_of_a_tree_are_those_of_pinocchio(seed):
    rng = np.random.default_rng(seed)
    tree = random_description(rng, int(rng.integers(1, 25)))
    q, v, a = random_state(rng, tree)
    robot = Mechanism(tree)
    model = pinocchio_model(tree)
    data = model.createData()
    pin.rnea(model, data, q, v, a)
    w = ccd.reactions(robot, q, v, a, frame='joint')
    largest = max([np.abs(data.f[k].vector).max() for k in range(1, model.njoints)], default=1.0)
    for joint in moving_joints(tree):
        # a planar joint's frame in Pinocchio is turned against the child's
        frame = model.frames[model.getFrameId(joint.child)]
        expected = frame.placement.actInv(data.f[model.getJointId(joint.name)]).vector
        assert w[joint.name].unique
        assert relative_error(w[joint.name].wrench, expected, at_least=largest) < TREE, joint.name


@pytest.mark.parametrize('seed', range(12))
def test_a_fixed_joint_passes_on_what_a_joint_at_rest_does(seed):
    rng = np.random.default_rng(seed)
    tree = random_description(
        rng, 14, shares={JointType.FIXED: 0.5, JointType.REVOLUTE: 0.4, JointType.SPHERICAL: 0.1}
    )
    q, v, a = random_state(rng, tree)
    robot = Mechanism(tree)
    # Pinocchio with a hinge in place of every fixed joint, and that hinge at rest
    hinged = replace(
        tree,
        joints=tuple(
            replace(joint, type=JointType.REVOLUTE) if joint.type is JointType.FIXED else joint
            for joint in tree.joints
        ),
    )
    model = pinocchio_model(hinged)
    data = model.createData()
    state = [pin.neutral(model), np.zeros(model.nv), np.zeros(model.nv)]
    for joint in moving_joints(tree):
        k, places = model.getJointId(joint.name), robot.joint_slices(joint.name)
        state[0][model.idx_qs[k] : model.idx_qs[k] + model.nqs[k]] = q[places[0]]
        for values, mine in zip(state[1:], (v, a)):
            values[model.idx_vs[k] : model.idx_vs[k] + model.nvs[k]] = mine[places[1]]
    pin.rnea(model, data, *state)
    w = ccd.reactions(robot, q, v, a, frame='joint')
    largest = max(np.abs(data.f[k].vector).max() for k in range(1, model.njoints))
    assert {joint.name for joint in tree.joints} == set(w)
    for joint in tree.joints:
        expected = data.f[model.getJointId(joint.name)].vector
        assert relative_error(w[joint.name].wrench, expected, at_least=largest) < TREE, joint.name


# --- closed chains -------------------------------------------------------------------------------
@pytest.mark.parametrize('seed', range(40))
def test_every_link_of_a_closed_chain_is_in_equilibrium(seed):
    robot, q, v, c, rng = random_closed(seed, int(rng_size(seed)), 1 + seed % 4)
    assert c.condition < 1e3  # what the tolerances stand on
    link = robot.link_names[int(rng.integers(len(robot.link_names)))]
    wrenches = {link: rng.normal(size=6) * 20.0}
    tau = rng.normal(size=len(robot.actuator_names)) * 5.0
    f = ccd.forward_dynamics(robot, q, v, tau, wrenches=wrenches)
    motion = link_motion(robot, q, v, f.acceleration)
    for split in ('joints', 'loops'):
        w = ccd.reactions(robot, q, v, f.acceleration, tau, wrenches=wrenches, split=split)
        assert free_body_imbalance(robot, w, motion, wrenches) < BALANCE
        assert max(w.check().values()) < BALANCE
        check_free_axes(robot, q, v, tau, w, motion)
    assert relative_error(w.multipliers, f.constraint_forces) < BALANCE
    assert max(f.check()[key] for key in ('motion', 'power')) < SOLVED


def rng_size(seed):
    return np.random.default_rng(1000 + seed).integers(4, 16)


def check_free_axes(robot, q, v, tau, w, motion):
    """Check that along free axes joints pass on what motors and passive forces give, no more."""
    given = dict.fromkeys((*robot.coordinate_names, *robot.loop_coordinate_names), 0.0)
    for name, torque in zip(robot.actuator_names, tau):
        given[name] += torque
    size = max(np.abs(each.wrench).max() for each in w.values())
    for joint in robot.description.joints:
        if joint.type.nv != 1:
            continue
        k = robot.coordinate_names.index(joint.name)
        axis = motion[joint.child][0].rotation @ np.array(joint.axis)
        each = w[joint.name]
        part = each.force if joint.type is JointType.PRISMATIC else each.moment
        expected = given[joint.name] - joint.dynamics.damping * v[k]
        assert abs(part @ axis - expected) < BALANCE * size, joint.name
    rates = dict(zip(robot.loop_coordinate_names, ccd.loop_jacobian(robot, q) @ v))
    for loop in robot.description.loops:
        V_1, V_2 = motion[loop.parent][1], motion[loop.child][1]
        each = w[loop.name]

        def speed(link):
            X, V, _ = motion[link]
            return V.linear + np.cross(V.angular, each.point - X.translation)

        power = each.force @ (speed(loop.child) - speed(loop.parent)) + each.moment @ (
            V_2.angular - V_1.angular
        )
        expected = sum(
            rate
            * (
                given[name]
                - loop.dynamics.damping * rate
                - loop.dynamics.friction * np.tanh(rate / 1e-3)
            )
            for name, rate in rates.items()
            if name.split(':')[0] == loop.name
        )
        assert abs(power - expected) < BALANCE * size, loop.name


def independent_loop(kind, seed):
    """Return a free-flying mechanism with one loop whose rows are independent, and a motion."""
    rng = np.random.default_rng(seed)
    for _ in range(100):
        tree = random_description(rng, 12, floating_root=True, damping=0.0)
        q, _, _ = random_state(rng, tree)
        robot = Mechanism(random_loops(rng, tree, q, 1, (kind,)))
        c = ccd.coordinates(robot, q)
        if not c.redundant_rows and c.condition < 1e3:
            return robot, q, c.W @ rng.normal(size=c.mobility), rng.normal(size=robot.nv)
    raise AssertionError('no such mechanism was drawn')


@pytest.mark.parametrize('seed', range(10))
@pytest.mark.parametrize('kind', [LoopType.FIXED, LoopType.SPHERICAL])
def test_loop_wrenches_are_those_of_pinocchio(kind, seed):
    robot, q, v, tau = independent_loop(kind, seed)
    model = pinocchio_model(robot.description)
    loop = robot.description.loops[0]
    ends = []
    for link, origin in ((loop.child, loop.child_origin), (loop.parent, loop.parent_origin)):
        frame = model.frames[model.getFrameId(link)]
        ends += [
            frame.parentJoint,
            frame.placement * pin.SE3(pin.rpy.rpyToMatrix(*origin.rpy), np.array(origin.xyz)),
        ]
    size = pin.ContactType.CONTACT_6D if kind is LoopType.FIXED else pin.ContactType.CONTACT_3D
    constraints, constraint_data = (
        pin.StdVec_RigidConstraintModel(),
        pin.StdVec_RigidConstraintData(),
    )
    constraints.append(pin.RigidConstraintModel(size, model, *ends, pin.ReferenceFrame.LOCAL))
    constraint_data.append(constraints[0].createData())
    data = model.createData()
    pin.initConstraintDynamics(model, data, constraints, constraint_data)
    acceleration = pin.constraintDynamics(
        model,
        data,
        q,
        v,
        tau,
        constraints,
        constraint_data,
        pin.ProximalSettings(1e-14, 1e-14, 100),
    )
    f = ccd.forward_dynamics(robot, q, v, extra=tau)
    assert relative_error(f.acceleration, acceleration) < SOLVED
    w = ccd.reactions(robot, q, v, f.acceleration, extra=tau, frame='joint')[loop.name]
    # the child was given first: Pinocchio's force acts on it, in the axes of its frame
    expected = constraint_data[0].contact_force.vector
    assert w.unique
    assert relative_error(w.wrench, expected) < SOLVED


@pytest.mark.parametrize('seed', range(10))
def test_constraint_forces_are_the_least_that_close_the_equation_of_motion(seed):
    robot, q, v, c, rng = random_closed(seed, 8, 2, damping=0.0)
    assert c.condition < 1e3  # what the tolerances stand on
    robot = Mechanism(
        replace(
            robot.description,
            springs=(),
            loops=tuple(replace(loop, dynamics=Dynamics()) for loop in robot.description.loops),
        )
    )
    tau = rng.normal(size=robot.nv)
    f = ccd.forward_dynamics(robot, q, v, extra=tau)
    model = pinocchio_model(robot.description)
    data = model.createData()
    left = pin.rnea(model, data, q, v, f.acceleration) - tau
    expected = np.linalg.pinv(c.J_C.T, rcond=1e-8) @ left
    assert relative_error(f.constraint_forces, expected) < SOLVED
    assert relative_error(c.J_C.T @ f.constraint_forces, left, at_least=1.0) < SOLVED


def test_torques_default_to_those_of_inverse_dynamics():
    robot, q, v, c, rng = random_closed(3, 8, 1)
    a = ccd.forward_dynamics(robot, q, v, rng.normal(size=len(robot.actuator_names))).acceleration
    w = ccd.reactions(robot, q, v, a)
    r = ccd.inverse_dynamics(robot, q, v, a)
    assert relative_error(w.tau_A, r.tau_A) < SOLVED
    assert max(w.check().values()) < BALANCE


def test_in_free_fall_rounding_is_not_taken_for_a_force():
    rng = np.random.default_rng(2)
    tree = random_description(rng, 8, floating_root=True)
    q, v, _ = random_state(rng, tree)
    robot = Mechanism(random_loops(rng, tree, q, 1, (LoopType.SPHERICAL,)))
    f = ccd.forward_dynamics(robot, q, np.zeros(robot.nv))
    w = ccd.reactions(robot, q, np.zeros(robot.nv), f.acceleration)
    assert max(np.abs(each.wrench).max() for each in w.values()) < BALANCE * robot.total_mass * G
    assert max(w.check().values()) < BALANCE
    assert max(f.check().values()) < BALANCE


def test_a_motion_that_actuators_cannot_make_is_told():
    robot = ccd.load(str(ROOT / 'urdf' / 'five_bar.urdf'), actuated=['left_shoulder'])
    q = closed_pose(robot)
    w = ccd.reactions(robot, q, np.zeros(robot.nv), np.zeros(robot.nv))
    assert w.check()['equilibrium'] < BALANCE
    assert w.check()['missing'] > 1e-3
    assert np.abs(w.missing).max() > 1e-3


def closed_pose(robot):
    """Return the first pose that the file hints at, in which its loops are closed."""
    q = robot.neutral()
    for name, value in robot.description.assemblies[0].positions:
        q[robot.joint_slices(name)[0]] = value
    assert np.abs(ccd.constraint_jacobian(robot, q)[1]).max() < 1e-9
    return q


# --- frames, points and names --------------------------------------------------------------------
@pytest.mark.parametrize('seed', range(4))
def test_the_same_wrench_in_any_axes(seed):
    robot, q, v, c, rng = random_closed(seed, 7, 2)
    a = ccd.forward_dynamics(robot, q, v).acceleration
    tau = np.zeros(len(robot.actuator_names))
    world = ccd.reactions(robot, q, v, a, tau)
    motion = link_motion(robot, q, v, a)
    link = robot.link_names[-1]
    in_link = ccd.reactions(robot, q, v, a, tau, frame=link)
    in_joint = ccd.reactions(robot, q, v, a, tau, frame='joint')
    for joint in (*robot.description.joints, *robot.description.loops):
        child = motion[joint.child][0]
        if isinstance(joint, LoopJoint):
            child = child * pin.SE3(
                pin.rpy.rpyToMatrix(*joint.child_origin.rpy), np.array(joint.child_origin.xyz)
            )
        assert world[joint.name].point == pytest.approx(child.translation, abs=1e-12)
        size = np.abs(world[joint.name].wrench).max() + 1.0
        for other, R in ((in_link, motion[link][0].rotation), (in_joint, child.rotation)):
            for part in ('force', 'moment'):
                error = R @ getattr(other[joint.name], part) - getattr(world[joint.name], part)
                assert np.abs(error).max() < TREE * size
        assert (in_joint[joint.name].frame, in_link[joint.name].frame) == ('joint', link)
    assert in_joint.equilibrium() == pytest.approx(world.equilibrium(), abs=1e-9)


def test_far_from_the_origin_nothing_changes():
    rng = np.random.default_rng(5)
    tree = random_description(rng, 9, floating_root=True)
    q, v, a = random_state(rng, tree)
    robot = Mechanism(tree)
    # powers of two, so that the pose is the same to the last digit
    start = robot.joint_slices(robot.joint_names[0])[0].start
    q[start] = round(q[start] * 2**20) / 2**20
    near = ccd.reactions(robot, q, v, a)
    q[start] += 2**20
    far = ccd.reactions(robot, q, v, a)
    for name in near:
        assert relative_error(far[name].wrench, near[name].wrench, at_least=1.0) < TREE


def test_gravity_is_a_parameter():
    robot, q = parallelogram(1.0)
    robot.gravity = (0.0, 0.0, 0.0)
    w = ccd.reactions(robot, q, np.zeros(3), np.zeros(3))
    assert max(np.abs(each.wrench).max() for each in w.values()) < EXACT


def test_unknown_frames_and_splits_are_refused():
    robot, q = parallelogram(1.0)
    with pytest.raises(NameNotFound, match="no link named 'croupler'.*'coupler'"):
        ccd.reactions(robot, q, np.zeros(3), np.zeros(3), frame='croupler')
    with pytest.raises(StateError, match="unknown split 'half'"):
        ccd.reactions(robot, q, np.zeros(3), np.zeros(3), split='half')
    with pytest.raises(StateError, match='finite'):
        ccd.reactions(robot, q, np.zeros(3), np.zeros(3), [np.nan])
    with pytest.raises(StateError, match='shape'):
        ccd.reactions(robot, q, np.zeros(3), np.zeros(2))


def test_a_joint_that_is_not_there_is_told_with_the_nearest():
    robot = ccd.load('four_bar')
    found = ccd.reactions(robot, ccd.assemble(robot), np.zeros(3), np.zeros(3))
    with pytest.raises(NameNotFound, match="joint named 'couplr_rocker'.*'coupler_rocker'"):
        found['couplr_rocker']
    assert found.get('couplr_rocker') is None and 'couplr_rocker' not in found


def test_reactions_cover_every_joint_and_leave_the_state_alone():
    robot = ccd.load(str(ROOT / 'urdf' / 'four_bar.urdf'))
    q = closed_pose(robot)
    kept = q.copy()
    w = ccd.reactions(robot, q, np.zeros(robot.nv), np.zeros(robot.nv))
    names = [each.name for each in (*robot.description.joints, *robot.description.loops)]
    assert list(w) == names
    assert np.array_equal(q, kept)
    assert w['world_to_base'].force[2] == pytest.approx(robot.total_mass * G, rel=EXACT)
