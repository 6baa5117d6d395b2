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
Force and moment in every joint, against Pinocchio, free bodies cut out by hand, and statics.

The free bodies take positions, velocities and accelerations of the links from Pinocchio and only
the reactions from the package, so that nothing on the other side of a balance was made here.
"""

from dataclasses import replace
from pathlib import Path

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
from closed_chain_dynamics.description import (
    Actuator,
    Coupling,
    CouplingTerm,
    Description,
    Dynamics,
    Inertia,
    Joint,
    JointType,
    Limit,
    LimitMoment,
    Link,
    LoopJoint,
    LoopType,
    Pose,
    Spring,
)
from closed_chain_dynamics.errors import NameNotFound, StateError

ROOT = Path(__file__).resolve().parents[2]
G = 9.80665

TREE = 1e-12  # two recursions over up to 25 links, each rounding at 1e-16
BALANCE = 1e-11  # a sum over the joints of one link, after a solve with condition below 1e3
SOLVED = 1e-9  # constraint forces of two solvers, condition numbers below 1e4
EXACT = 1e-12  # statics of a few bars: rounding only


def inertia(mass, com=(0.0, 0.0, 0.0), moment=0.01):
    return Inertia(mass, Pose(com), (moment, 0.0, 0.0, moment, 0.0, moment))


def hinge(name, parent, child, xyz=(0.0, 0.0, 0.0), axis=(0.0, 0.0, 1.0), **more):
    return Joint(name, JointType.REVOLUTE, parent, child, Pose(xyz), axis, **more)


def actuated(description, *names):
    return replace(description, actuators=tuple(Actuator(name) for name in names))


def random_closed(seed, n_joints=9, n_loops=2, kinds=tuple(LoopType), **options):
    """Return a mechanism with loops, passive forces and motors, and q, v that respect it."""
    rng = np.random.default_rng(seed)
    tree = random_description(rng, n_joints, **options)
    q, _, _ = random_state(rng, tree)
    model = random_loops(rng, tree, q, n_loops, kinds)
    loops = tuple(
        replace(loop, dynamics=Dynamics(*rng.uniform(0.0, 1.0, 2))) for loop in model.loops
    )
    ends = rng.choice([link.name for link in model.links], 2, replace=False)
    spring = Spring(
        'spring',
        'linear',
        30.0,
        2.0,
        0.1,
        ends[0],
        tuple(rng.uniform(-1, 1, 3)),
        ends[1],
        tuple(rng.uniform(-1, 1, 3)),
    )
    movable = [joint.name for joint in moving_joints(model)]
    motors = [*rng.choice(movable, min(3, len(movable)), replace=False), loops[0].name]
    model = actuated(replace(model, loops=loops, springs=(spring,)), *motors)
    robot = Mechanism(model)
    c = ccd.coordinates(robot, q)
    v = c.W @ rng.normal(size=c.mobility)
    return robot, q, v / max(np.abs(v).max(initial=0.0), 1.0), c, rng


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


# --- statics by hand -----------------------------------------------------------------------------
def parallelogram(phi, crank=0.3, base=0.5, mass=2.0):
    """Return a parallelogram in x-z with a coupler that has mass, and its closed pose."""
    y = (0.0, -1.0, 0.0)  # turns count from x to z
    model = Description(
        'parallelogram',
        (
            Link('base'),
            Link('crank'),
            Link('coupler', inertia(mass, (base / 2.0, 0.0, 0.0))),
            Link('rocker'),
        ),
        (
            hinge('drive', 'base', 'crank', axis=y),
            hinge('pin_1', 'crank', 'coupler', (crank, 0.0, 0.0), axis=y),
            hinge('swing', 'base', 'rocker', (base, 0.0, 0.0), axis=y),
        ),
        (
            LoopJoint(
                'pin_2',
                LoopType.REVOLUTE,
                'coupler',
                'rocker',
                Pose((base, 0.0, 0.0)),
                Pose((crank, 0.0, 0.0)),
                y,
                y,
            ),
        ),
    )
    robot = Mechanism(actuated(model, 'drive'))
    return robot, np.array([phi, -phi, phi])


@pytest.mark.parametrize('phi', [0.4, 1.1, 2.0, 2.9])
@pytest.mark.parametrize('split', ['joints', 'loops'])
def test_a_parallelogram_carries_its_coupler_as_statics_says(phi, split):
    mass, length = 2.0, 0.3
    robot, q = parallelogram(phi)
    w = ccd.reactions(robot, q, np.zeros(3), np.zeros(3), split=split)
    # the rocker has no weight: its force b runs along it, and lifts half of the coupler
    b = mass * G / (2.0 * np.sin(phi))
    along = b * np.array([np.cos(phi), 0.0, np.sin(phi)])
    other = np.array([-along[0], 0.0, mass * G / 2.0])
    size = mass * G + abs(b)
    for name, force in (('pin_1', other), ('drive', other), ('pin_2', -along), ('swing', along)):
        assert np.abs(w[name].force - force).max() < EXACT * size, name
    torque = mass * G * length * np.cos(phi)  # counts about -y
    assert np.abs(w['drive'].moment - (0.0, -torque, 0.0)).max() < EXACT * size
    assert w.tau_A == pytest.approx([torque], rel=EXACT, abs=EXACT * size)
    for name in ('pin_1', 'pin_2', 'swing'):
        assert np.abs(w[name].moment).max() < EXACT * size


def test_out_of_plane_parts_of_a_planar_loop_are_not_unique():
    robot, q = parallelogram(1.0)
    w = ccd.reactions(robot, q, np.zeros(3), np.zeros(3))
    assert not w.is_unique
    for reaction in w.values():
        assert not reaction.unique
        # forces in x and z and the moment about y are; those across the plane are not
        assert reaction.unique_components.tolist() == [True, False, True, False, True, False]


def test_a_spherical_loop_of_a_planar_linkage_leaves_less_open():
    robot, q = parallelogram(1.0)
    (loop,) = robot.description.loops
    robot = Mechanism(replace(robot.description, loops=(replace(loop, type=LoopType.SPHERICAL),)))
    w = ccd.reactions(robot, q, np.zeros(3), np.zeros(3))
    assert w['pin_2'].unique_components.tolist() == [True, False, True, True, True, True]


def door(kind, loop_kind, *, height=2.0, mass=30.0, arm=0.45):
    """Return a door on two hinges along z, its centre of mass in the middle of its height."""
    joint = Joint('lower', kind, 'frame', 'door', Pose(), (0.0, 0.0, 1.0))
    loop = LoopJoint(
        'upper', loop_kind, 'frame', 'door', Pose((0.0, 0.0, height)), Pose((0.0, 0.0, height))
    )
    return Mechanism(
        Description(
            'door',
            (Link('frame'), Link('door', inertia(mass, (arm, 0.0, height / 2.0), 2.0))),
            (joint,),
            (loop,),
        )
    )


def test_a_door_on_two_balls_shares_its_weight_and_not_its_couple():
    robot = door(JointType.SPHERICAL, LoopType.SPHERICAL)
    q, rest = robot.neutral(), np.zeros(3)
    w = ccd.reactions(robot, q, rest, rest)
    weight, couple = 30.0 * G, 30.0 * G * 0.45 / 2.0
    for name, push in (('lower', couple), ('upper', -couple)):
        assert np.abs(w[name].force - (push, 0.0, weight / 2.0)).max() < EXACT * weight
        assert np.abs(w[name].moment).max() < EXACT * weight
        assert not w[name].unique
        assert w[name].unique_components.tolist() == [True, True, False, True, True, True]
    # the loop's frames stand along the world's axes: its rows are its force
    assert np.abs(w.multipliers - w['upper'].force).max() < EXACT * weight
    # with the multipliers of least norm the cut joint carries no more than it must
    w = ccd.reactions(robot, q, rest, rest, split='loops')
    assert np.abs(w['lower'].force - (couple, 0.0, weight)).max() < EXACT * weight
    assert np.abs(w['upper'].force - (-couple, 0.0, 0.0)).max() < EXACT * weight


def test_two_hinges_of_a_door_share_all_alike_wherever_the_cut_is():
    robot = door(JointType.REVOLUTE, LoopType.REVOLUTE)
    w = ccd.reactions(robot, np.zeros(1), np.zeros(1), np.zeros(1))
    weight = 30.0 * G
    assert w['lower'].force[2] == pytest.approx(weight / 2.0, rel=EXACT)
    assert w['upper'].force[2] == pytest.approx(weight / 2.0, rel=EXACT)
    assert w['upper'].moment == pytest.approx(w['lower'].moment, rel=EXACT, abs=EXACT * weight)
    for name in ('lower', 'upper'):  # turning about z is free: nothing is left open there
        assert w[name].unique_components.tolist() == [False] * 5 + [True]
    assert w.check()['equilibrium'] < EXACT


def test_a_door_that_floats_between_two_loops_has_halves_too():
    robot = door(JointType.FLOATING, LoopType.SPHERICAL)
    (upper,) = robot.description.loops
    lower = replace(upper, name='below', parent_origin=Pose(), child_origin=Pose())
    robot = Mechanism(replace(robot.description, loops=(upper, lower)))
    for split in ('joints', 'loops'):
        w = ccd.reactions(robot, robot.neutral(), np.zeros(6), np.zeros(6), split=split)
        assert np.abs(w['lower'].wrench).max() < EXACT * 300.0  # a joint that flies holds nothing
        assert w['lower'].unique
        for name in ('below', 'upper'):
            assert w[name].force[2] == pytest.approx(15.0 * G, rel=EXACT)


def test_a_truss_of_two_bars_pulls_and_pushes_along_its_bars():
    half, height, load = 1.5, 2.0, 700.0
    y, angle = (0.0, -1.0, 0.0), np.arctan2(2.0, 1.5)
    length = np.hypot(half, height)
    robot = Mechanism(
        Description(
            'truss',
            (Link('ground'), Link('left'), Link('right')),
            (
                hinge('foot_1', 'ground', 'left', (-half, 0.0, 0.0), y),
                hinge('foot_2', 'ground', 'right', (half, 0.0, 0.0), y),
            ),
            (
                LoopJoint(
                    'top',
                    LoopType.REVOLUTE,
                    'left',
                    'right',
                    Pose((length, 0.0, 0.0)),
                    Pose((length, 0.0, 0.0)),
                    y,
                    y,
                ),
            ),
        )
    )
    q = np.array([angle, np.pi - angle])
    assert ccd.coordinates(robot, q).mobility == 0
    tip = np.array([half, 0.0, height])  # from the origin of the left bar
    push = np.array([0.0, 0.0, -load])
    w = ccd.reactions(
        robot,
        q,
        np.zeros(2),
        np.zeros(2),
        wrenches={'left': np.concatenate([push, np.cross(tip, push)])},
    )
    bar = load / (2.0 * height / length)  # compression in each bar
    for name, sign in (('foot_1', 1.0), ('foot_2', -1.0)):
        expected = bar / length * np.array([sign * half, 0.0, height])
        assert np.abs(w[name].force - expected).max() < EXACT * bar
        assert np.abs(w[name].moment).max() < EXACT * bar
    assert (
        np.abs(w['top'].force + bar / length * np.array([-half, 0.0, height])).max() < EXACT * bar
    )


def test_a_wall_bracket_of_fixed_joints_bends_as_a_beam_does():
    robot = Mechanism(
        Description(
            'bracket',
            (
                Link('wall'),
                Link('beam', inertia(3.0, (0.5, 0.0, 0.0))),
                Link('lamp', inertia(1.0)),
            ),
            (
                Joint('clamp', JointType.FIXED, 'wall', 'beam'),
                Joint('screw', JointType.FIXED, 'beam', 'lamp', Pose((1.0, 0.0, 0.0))),
            ),
        )
    )
    w = ccd.reactions(
        robot,
        np.zeros(0),
        np.zeros(0),
        np.zeros(0),
        wrenches={'lamp': [0.0, 4.0, 0.0, 0.0, 0.0, 0.0]},
    )
    assert w['screw'].wrench == pytest.approx([0.0, -4.0, G, 0.0, 0.0, 0.0], abs=EXACT)
    assert w['clamp'].wrench == pytest.approx(
        [0.0, -4.0, 4.0 * G, 0.0, -2.5 * G, -4.0], abs=1e2 * EXACT
    )


# --- what joints add of their own ----------------------------------------------------------------
def test_the_torque_of_a_motor_on_a_cut_joint_appears_in_it():
    robot, q = parallelogram(0.7)
    robot = Mechanism(actuated(robot.description, 'pin_2'))
    f = ccd.forward_dynamics(robot, q, np.zeros(3), {'pin_2': 3.0})
    w = ccd.reactions(robot, q, np.zeros(3), f.acceleration)
    assert w.tau_A == pytest.approx([3.0], rel=SOLVED)
    assert w['pin_2'].moment[1] == pytest.approx(-3.0, rel=SOLVED)
    assert w.check()['missing'] < BALANCE


def test_passive_forces_of_a_cut_joint_appear_in_it():
    robot, q = parallelogram(0.7)
    (loop,) = robot.description.loops
    stop = LimitMoment('linear', 50.0, 0.5, 0.1)
    loop = replace(loop, dynamics=Dynamics(0.4, 0.3), limit=Limit(-0.5, 0.5), limit_moment=stop)
    model = replace(
        robot.description,
        loops=(loop,),
        springs=(Spring('s', 'torsional', 7.0, 0.2, 0.1, joint='pin_2'),),
    )
    robot = Mechanism(model)
    v = ccd.coordinates(robot, q).W[:, 0]
    v = 2.0 * v / v[0]
    f = ccd.forward_dynamics(robot, q, v)
    w = ccd.reactions(robot, q, v, f.acceleration)
    # the rocker turns by phi against a coupler that does not turn: 0.7 rad at 2 rad/s
    expected = -(0.4 * 2.0 + 0.3) - (7.0 * 0.6 + 0.2 * 2.0) - (50.0 * (0.3 - 0.05) + 0.5 * 2.0)
    assert w['pin_2'].moment[1] == pytest.approx(-expected, rel=SOLVED)
    assert w.check()['missing'] < BALANCE


def test_a_coupling_acts_along_the_joints_it_couples():
    gear = Coupling('gear', (CouplingTerm('b', (1.0,)), CouplingTerm('a', (-2.0,))))
    model = Description(
        'gears',
        (
            Link('base'),
            Link('wheel_1', inertia(1.0, (0.2, 0.0, 0.0))),
            Link('wheel_2', inertia(1.0)),
        ),
        (
            hinge('a', 'base', 'wheel_1', axis=(0.0, -1.0, 0.0)),
            hinge('b', 'base', 'wheel_2', (1.0, 0.0, 0.0), (0.0, -1.0, 0.0)),
        ),
        couplings=(gear,),
    )
    robot = Mechanism(actuated(model, 'b'))
    w = ccd.reactions(robot, np.zeros(2), np.zeros(2), np.zeros(2))
    # holding wheel 1 by wheel 2 at the ratio 2: half the torque, and b itself turns nothing
    assert w.tau_A == pytest.approx([0.2 * G / 2.0], rel=EXACT)
    assert w['a'].moment[1] == pytest.approx(-0.2 * G, rel=EXACT)
    assert w['b'].moment == pytest.approx([0.0, 0.0, 0.0], abs=EXACT)
    assert w.check()['missing'] < EXACT
    # a second gear that says the same takes half of the first one's load, and no joint feels it
    robot = Mechanism(actuated(replace(model, couplings=(gear, replace(gear, name='twin'))), 'b'))
    twins = ccd.reactions(robot, np.zeros(2), np.zeros(2), np.zeros(2))
    assert twins.is_unique
    assert twins.multipliers == pytest.approx([w.multipliers[0] / 2.0] * 2, rel=EXACT)
    assert twins['a'].wrench == pytest.approx(w['a'].wrench, rel=EXACT, abs=EXACT)


@pytest.mark.parametrize('seed', range(8))
def test_what_is_unique_does_not_depend_on_the_split(seed):
    robot, q, v, c, rng = random_closed(seed, 7, 3, (LoopType.REVOLUTE, LoopType.FIXED))
    a = ccd.forward_dynamics(robot, q, v).acceleration
    tau = np.zeros(len(robot.actuator_names))
    by_joints = ccd.reactions(robot, q, v, a, tau, frame='joint')
    by_loops = ccd.reactions(robot, q, v, a, tau, frame='joint', split='loops')
    size = max(np.abs(each.wrench).max() for each in by_loops.values())
    changed = False
    for name, one in by_joints.items():
        same = np.abs(one.wrench - by_loops[name].wrench) < BALANCE * size
        assert np.all(same | ~one.unique_components), name
        changed |= not same.all()
    assert changed == bool(c.redundant_rows)


@pytest.mark.parametrize('phi', [0.5, 1.9])
def test_the_split_over_all_joints_does_not_depend_on_where_the_loop_is_cut(phi):
    """The same linkage, once cut between coupler and rocker, once between rocker and base."""
    y, a, b = (0.0, -1.0, 0.0), 0.3, 0.5
    bars = tuple(
        Link(name, inertia(1.0 + k, (0.1, 0.05 * (k + 1), 0.02)))
        for k, name in enumerate(('crank', 'coupler', 'rocker'))
    )
    first = [
        hinge('drive', 'base', 'crank', axis=y),
        hinge('pin_1', 'crank', 'coupler', (a, 0.0, 0.0), axis=y),
    ]
    one = Description(
        'one',
        (Link('base'), *bars),
        (*first, hinge('swing', 'base', 'rocker', (b, 0.0, 0.0), axis=y)),
        (
            LoopJoint(
                'pin_2',
                LoopType.REVOLUTE,
                'rocker',
                'coupler',
                Pose((a, 0.0, 0.0)),
                Pose((b, 0.0, 0.0)),
                y,
                y,
            ),
        ),
    )
    # the rocker now hangs on the coupler; its frame stays where it was, at the base
    two = Description(
        'two',
        (Link('base'), *bars[:2], Link('knee'), bars[2]),
        (
            *first,
            hinge('pin_2', 'coupler', 'knee', (b, 0.0, 0.0), axis=y),
            Joint('glue', JointType.FIXED, 'knee', 'rocker', Pose((-a, 0.0, 0.0))),
        ),
        (
            LoopJoint(
                'swing', LoopType.REVOLUTE, 'base', 'rocker', Pose((b, 0.0, 0.0)), Pose(), y, y
            ),
        ),
    )
    found = []
    for model in (one, two):
        robot = Mechanism(actuated(model, 'drive'))
        q = ccd.assemble(robot, {'drive': phi}, start=np.array([phi, -phi, phi]))
        v = ccd.complete_velocity(robot, q, {'drive': 1.5})
        acceleration = ccd.complete_acceleration(robot, q, v, {'drive': -2.0})
        found.append(ccd.reactions(robot, q, v, acceleration))
        assert found[-1].check()['equilibrium'] < BALANCE
    for name, sign in (('drive', 1.0), ('pin_1', 1.0), ('swing', 1.0), ('pin_2', -1.0)):
        assert relative_error(sign * found[1][name].wrench, found[0][name].wrench) < SOLVED, name
    assert np.abs(found[0]['pin_2'].moment[[0, 2]]).max() > 0.01  # a part that is shared


def test_an_open_loop_passes_nothing_on():
    robot, q = parallelogram(0.7)
    spring = Spring('s', 'torsional', 7.0, 0.2, 0.1, joint='pin_2')
    robot = Mechanism(replace(robot.description, springs=(spring,)))
    robot.cut('pin_2')
    w = ccd.reactions(robot, q, np.zeros(3), np.zeros(3))
    assert not w['pin_2'].wrench.any() and w['pin_2'].unique and w.is_unique
    assert w['swing'].force == pytest.approx([0.0, 0.0, 0.0], abs=EXACT)
    robot.connect('pin_2')
    assert ccd.reactions(robot, q, np.zeros(3), np.zeros(3))['pin_2'].wrench.any()


def test_a_loop_within_one_body_is_not_unique_and_carries_nothing():
    model = Description(
        'self',
        (Link('base'), Link('arm', inertia(1.0, (0.3, 0.0, 0.0))), Link('tip')),
        (
            hinge('turn', 'base', 'arm', axis=(0.0, 1.0, 0.0)),
            Joint('glue', JointType.FIXED, 'arm', 'tip', Pose((0.5, 0.0, 0.0))),
        ),
        (LoopJoint('bolt', LoopType.FIXED, 'arm', 'tip', Pose((0.5, 0.0, 0.0))),),
    )
    w = ccd.reactions(Mechanism(model), np.zeros(1), np.zeros(1), np.zeros(1))
    assert not w['bolt'].unique and not w['glue'].unique and w['turn'].unique
    assert np.abs(w['bolt'].wrench).max() < EXACT


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


def test_reactions_cover_every_joint_and_leave_the_state_alone():
    robot = ccd.load(str(ROOT / 'urdf' / 'four_bar.urdf'))
    q = closed_pose(robot)
    kept = q.copy()
    w = ccd.reactions(robot, q, np.zeros(robot.nv), np.zeros(robot.nv))
    names = [each.name for each in (*robot.description.joints, *robot.description.loops)]
    assert list(w) == names
    assert np.array_equal(q, kept)
    assert w['world_to_base'].force[2] == pytest.approx(robot.total_mass * G, rel=EXACT)
