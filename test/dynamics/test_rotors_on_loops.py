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

"""Rotors on cut joints: nothing depends on where a loop is cut, rotors included."""

from dataclasses import replace

from helpers.two_cuts import ring
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description.elements import (
    Description,
    Dynamics,
    Inertia,
    Joint,
    JointType,
    Link,
    LoopJoint,
    LoopType,
    Pose,
)
from closed_chain_dynamics.description.mjcf_writer import to_mjcf
from closed_chain_dynamics.identification.regressor import regressor
from closed_chain_dynamics.studies.engine_twins import MuJoCo

R, P, S = JointType.REVOLUTE, JointType.PRISMATIC, JointType.SPHERICAL
Z, X = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)
POINTS = [(0.0, 0.0, 0.0), (0.3, 0.4, 0.1), (1.1, 0.7, -0.1), (1.3, 0.1, 0.0)]
FLAT = [(x, y, 0.0) for x, y, _ in POINTS]
ARMATURE = 0.4  # a third of what the links have
TORQUE = 0.7
AGREES = 1e-10  # of accelerations of 10 rad/s^2, where J_C has a condition below 100
# points, types and axes of joints j0 to j3; the rotor sits on j1
RINGS = {
    'revolute': (FLAT, [R, R, R, R], [Z, Z, Z, Z]),
    'prismatic': (FLAT, [R, P, R, R], [Z, (0.6, 0.8, 0.0), Z, Z]),
    'spherical': (POINTS, [R, S, S, R], [Z, Z, Z, (0.0, 0.6, 0.8)]),
}


def motions(robot, q, wanted):
    """Return v that moves the links as wanted, {link: (6,)} about the origin of the world."""
    columns = [
        np.concatenate([at_origin(robot, q, ccd.link_velocities(robot, q, e), l) for l in wanted])
        for e in np.eye(robot.nv)
    ]
    rates = np.concatenate([*wanted.values()])
    return np.linalg.lstsq(np.column_stack(columns), rates, rcond=None)[0]


def at_origin(robot, q, velocities, link):
    """Return a velocity of a link about the origin of the world: links differ in their frames."""
    p = ccd.link_placement(robot, q, link)[:3, 3]
    linear, omega = velocities[link][:3], velocities[link][3:]
    return np.concatenate([linear + np.cross(p, omega), omega])


def turning(robot, q, v, a):
    """Return angular accelerations of all links, which no choice of frames changes."""
    found = ccd.link_accelerations(robot, q, v, a)
    return np.array([found[link][3:] for link in 'ABC'])


@pytest.fixture(params=RINGS)
def pair(request):
    """Return the ring with its rotor on the tree and on the cut joint, in the same motion."""
    points, types, axes = RINGS[request.param]
    tree, cut = (
        ccd.Mechanism(ring(points, types, axes, where, armature=ARMATURE, on=1))
        for where in (3, 1)
    )
    q, q_cut = (ccd.assemble(each, {'j0': 0.0}) for each in (tree, cut))
    v = ccd.coordinates(tree, q).W @ np.linspace(1.5, -1.0, ccd.coordinates(tree, q).mobility)
    wanted = {l: at_origin(tree, q, ccd.link_velocities(tree, q, v), l) for l in 'ABC'}
    return tree, q, v, cut, q_cut, motions(cut, q_cut, wanted)


def test_motion_energy_and_torques_do_not_depend_on_the_cut(pair):
    tree, q, v, cut, q_cut, v_cut = pair
    answers = []
    for robot, at, moving in ((tree, q, v), (cut, q_cut, v_cut)):
        a = ccd.forward_dynamics(robot, at, moving, [TORQUE]).acceleration
        answers.append((turning(robot, at, moving, a), ccd.energy(robot, at, moving)[0]))
        back = ccd.inverse_dynamics(robot, at, moving, a)
        np.testing.assert_allclose(back.tau_A, TORQUE, atol=AGREES)
        np.testing.assert_allclose(back.residual, 0.0, atol=AGREES)
    np.testing.assert_allclose(answers[1][0], answers[0][0], atol=AGREES)
    assert answers[1][1] == pytest.approx(answers[0][1], rel=1e-12)


def test_reactions_do_not_depend_on_the_cut(pair):
    """Where they are unique, that is; the force passes through the cut joint with the rotor."""
    tree, q, v, cut, q_cut, v_cut = pair
    found = []
    for robot, at, moving in ((tree, q, v), (cut, q_cut, v_cut)):
        a = ccd.forward_dynamics(robot, at, moving, [TORQUE]).acceleration
        answer = ccd.reactions(robot, at, moving, a, [TORQUE])
        assert max(answer.check().values()) < AGREES
        found.append(answer)
    on_tree, on_loop = (each['j1'] for each in found)
    np.testing.assert_allclose(on_loop.force, on_tree.force, atol=1e-8)
    np.testing.assert_allclose(on_loop.moment, on_tree.moment, atol=1e-8)


def test_generated_code_agrees(pair):
    *_, cut, q, v = pair
    a = ccd.forward_dynamics(cut, q, v, [TORQUE]).acceleration
    fast = cut.compile()
    np.testing.assert_allclose(fast.forward_dynamics(q, v, [TORQUE]).acceleration, a, atol=AGREES)
    np.testing.assert_allclose(fast.inverse_dynamics(q, v, a).tau_A, TORQUE, atol=AGREES)


def test_energy_stays_in_a_run_and_in_a_generated_run():
    points, types, axes = RINGS['revolute']
    robot = ccd.Mechanism(ring(points, types, axes, 1, armature=ARMATURE, on=1))
    q = ccd.assemble(robot, {'j0': 0.0})
    v = ccd.complete_velocity(robot, q, {'j0': 2.0})
    ends = []
    for generated in (False, True):
        sim = ccd.Simulation(robot, q=q, v=v, dt=1e-3, compiled=generated)
        before = sim.energy().balance
        sim.run(0.1)
        assert sim.energy().balance == pytest.approx(before, abs=1e-8)
        ends.append(sim.q)
    np.testing.assert_allclose(*ends, atol=1e-10)


def test_impact_does_not_depend_on_the_cut():
    """A point of B is caught while the ring turns: two loops, one with the rotor."""
    points, types, axes = RINGS['revolute']
    points = [*points, (0.9, -0.6, 0.0)]
    caught = LoopJoint(
        'caught', LoopType.SPHERICAL, 'world', 'B', Pose((0.7, 0.6, 0.0)), Pose((0.7, 0.6, 0.0))
    )
    answers = []
    for where in (4, 1):
        robot = ccd.Mechanism(
            ring(points, [R] * 5, [Z] * 5, where, armature=ARMATURE, on=1, loops=(caught,))
        )
        robot.cut('caught')
        q = ccd.assemble(robot, {'j0': 0.0})
        # seen from the other end of the ring, a joint of the tree turns the other way
        v = ccd.complete_velocity(robot, q, {'j0': 1.0, 'j3': -0.5 if where == 4 else 0.5})
        robot.connect('caught')
        after = ccd.impact(robot, q, v)
        moving = ccd.link_velocities(robot, q, after.v_after)
        speeds = np.array([moving[link][5] for link in 'ABCD'])
        answers.append(
            (speeds, after.energy_before, after.energy_after, after.impulse_of('caught'))
        )
        assert after.energy_lost > 0.0
    for one, two in zip(*answers):
        np.testing.assert_allclose(two, one, atol=1e-10)


def test_two_rotors_of_a_universal_joint():
    """On the tree they are two hinges with a link between them that weighs nothing."""
    points, axes = POINTS, [Z, Z, Z, (0.0, 0.6, 0.8)]
    universal = ring(points, [R, S, S, R], axes, 1, armature=0.0, on=1)
    rotor = Dynamics(armature=ARMATURE)
    (loop,) = universal.loops
    loop = replace(loop, type=LoopType.UNIVERSAL, parent_axis=Z, child_axis=X, dynamics=rotor)
    cut = ccd.Mechanism(replace(universal, loops=(loop,)))
    on_tree = ring(points, [R, R, S, R], [Z, Z, Z, axes[3]], 3, armature=ARMATURE, on=1)
    tree = ccd.Mechanism(_with_second_hinge(on_tree, rotor))
    answers = []
    for robot in (cut, tree):
        q = ccd.assemble(robot, {'j0': 0.0, 'j3': 0.0} if robot is cut else {'j0': 0.0})
        v = ccd.complete_velocity(robot, q, {'j0': 1.5})
        a = ccd.forward_dynamics(robot, q, v, [TORQUE]).acceleration
        answers.append(turning(robot, q, v, a))
    np.testing.assert_allclose(*answers, atol=AGREES)


def _with_second_hinge(description: Description, rotor: Dynamics) -> Description:
    """Put a massless link and a hinge about x behind j1."""
    joints = []
    for joint in description.joints:
        if joint.name == 'j1':
            joints.append(replace(joint, child='between'))
            joint = Joint('j1b', R, 'between', joint.child, Pose(), X, dynamics=rotor)
        joints.append(joint)
    return replace(description, joints=tuple(joints), links=(*description.links, Link('between')))


def test_a_rotor_on_a_loop_that_binds_nothing_counts():
    """A second hinge on the axis of the first: rank 0, and both turn the rotor."""
    arm = Link('arm', Inertia(1.0, Pose((0.5, 0.0, 0.0)), (0.01, 0.0, 0.0, 0.1, 0.0, 0.1)))
    rotor = Dynamics(armature=ARMATURE)
    joint = Joint('hinge', R, 'world', 'arm', axis=(0.0, 1.0, 0.0))
    loop = LoopJoint(
        'second', LoopType.REVOLUTE, 'world', 'arm', Pose(), Pose(), joint.axis, joint.axis,
        dynamics=rotor,
    )  # fmt: skip
    base = Description('arm', (Link('world'), arm), (joint,))
    doubled = ccd.Mechanism(replace(base, loops=(loop,)))
    single = ccd.Mechanism(replace(base, joints=(replace(joint, dynamics=rotor),)))
    answers = [ccd.forward_dynamics(each, [0.4], [1.2]).acceleration for each in (doubled, single)]
    np.testing.assert_allclose(*answers, rtol=1e-12)


def test_identified_rotors_include_those_of_cut_joints():
    points, types, axes = RINGS['revolute']
    robot = ccd.Mechanism(ring(points, types, axes, 1, armature=ARMATURE, on=1))
    q = ccd.assemble(robot, {'j0': 0.2})
    v = ccd.complete_velocity(robot, q, {'j0': 1.3})
    a = ccd.complete_acceleration(robot, q, v, {'j0': -2.0})
    found = regressor(robot, q, v, a)
    assert 'armature(j1)' in map(str, found.parameters)
    np.testing.assert_allclose(found.known, 0.0, atol=1e-12)  # nothing is left unexplained


def test_mujoco_gives_the_same_motion(pair):
    """MuJoCo has armature on joints of its tree alone: there the rotor is, here on the cut."""
    tree, q, v, cut, q_cut, v_cut = pair
    twin = MuJoCo(to_mjcf(tree.description, tuple(tree.gravity))[0])
    twin.attach(tree)
    found = twin.acceleration(q, v, ccd.coordinates(tree, q).mobility)
    a = ccd.forward_dynamics(cut, q_cut, v_cut).acceleration
    np.testing.assert_allclose(found[0], v, atol=AGREES)
    np.testing.assert_allclose(
        turning(tree, q, v, found[1]), turning(cut, q_cut, v_cut, a), atol=1e-7
    )  # MuJoCo's drift is a difference
