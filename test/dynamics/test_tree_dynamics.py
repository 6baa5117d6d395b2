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

"""Tree dynamics against Pinocchio on random trees, close to minus z and far away."""

from helpers.random_mechanisms import (
    pinocchio_model,
    random_description,
    random_state,
    relative_error,
)
from helpers.random_trees import CHUNKS, RELATIVE, TREES_PER_CHUNK, Case
import numpy as np
import pinocchio as pin
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import Description, Inertia, Joint, JointType, Link, Pose

# Shifted by powers of two the coordinates are the same numbers, so only the arithmetic of the
# shift is left. In world coordinates without it the error is above 1e-9.
FAR_AWAY = 1e-12
# Lengths and rates of the trees are about one: what comes out of them is rounded to a unit like
# this, even where it happens to vanish.
UNIT = 1.0


@pytest.fixture(scope='module', params=range(CHUNKS), ids=lambda chunk: f'trees{chunk}')
def cases(request):
    first = request.param * TREES_PER_CHUNK
    return [Case(seed) for seed in range(first, first + TREES_PER_CHUNK)]


def test_the_random_trees_have_every_kind_of_joint_and_of_shape():
    cases = [Case(seed) for seed in range(CHUNKS * TREES_PER_CHUNK)]
    descriptions = [case.description for case in cases]
    assert len(cases) >= 200
    assert {joint.type for each in descriptions for joint in each.joints} == set(JointType)
    assert max(case.robot.nv for case in cases) == 60
    assert any(link.inertia is None for each in descriptions for link in each.links)
    assert any(
        joint.type is JointType.FLOATING and joint.parent != each.root
        for each in descriptions
        for joint in each.joints
    )
    parents = [[joint.parent for joint in each.joints] for each in descriptions]
    assert sum(len(set(each)) < len(each) for each in parents) > 100  # these have branches


# --- against Pinocchio ---------------------------------------------------------------------------
def test_joints_and_coordinates_stand_in_the_order_of_pinocchio(cases):
    for case in cases:
        assert case.robot.joint_names == list(case.model.names)[1:]
        assert (case.robot.nq, case.robot.nv) == (case.model.nq, case.model.nv)
        for joint in case.robot.joint_names:
            number = case.model.getJointId(joint)
            in_q, in_v = case.robot.joint_slices(joint)
            assert in_q.start == case.model.idx_qs[number]
            assert in_v.start == case.model.idx_vs[number]
        np.testing.assert_array_equal(case.robot.neutral(), pin.neutral(case.model))


def test_placements_of_all_links_agree_with_pinocchio(cases):
    for case in cases:
        pin.framesForwardKinematics(case.model, case.data, case.q)
        placements = ccd.link_placements(case.robot, case.q)
        assert set(placements) == {link.name for link in case.description.links}
        for link, X in placements.items():
            expected = case.data.oMf[case.model.getFrameId(link)].homogeneous
            case.check(X, expected, f'the placement of {link}')
            case.check(X[:3, :3] @ X[:3, :3].T, np.eye(3), f'the rotation of {link}')
        link = case.description.links[-1].name
        np.testing.assert_array_equal(
            ccd.link_placement(case.robot, case.q, link), placements[link]
        )


def test_jacobians_of_random_points_agree_with_pinocchio(cases):
    for case in cases:
        pin.computeJointJacobians(case.model, case.data, case.q)
        for link in case.robot.link_names:
            point = case.rng.normal(size=3)
            expected = pin.getFrameJacobian(
                case.model, case.data, *case.frame(link, point), pin.LOCAL_WORLD_ALIGNED
            )
            expected = expected.reshape(6, -1)  # a single column comes back as a vector
            J = ccd.jacobian(case.robot, case.q, link, point=point)
            case.check(J[:3], expected[:3], f'the linear Jacobian of {link}', at_least=UNIT)
            case.check(J[3:], expected[3:], f'the angular Jacobian of {link}', at_least=UNIT)


def test_jacobian_biases_are_the_classical_accelerations_of_pinocchio(cases):
    for case in cases:
        pin.forwardKinematics(case.model, case.data, case.q, case.v, np.zeros(case.robot.nv))
        for link in case.robot.link_names:
            point = case.rng.normal(size=3)
            expected = pin.getFrameClassicalAcceleration(
                case.model, case.data, *case.frame(link, point), pin.LOCAL_WORLD_ALIGNED
            )
            bias = ccd.jacobian_bias(case.robot, case.q, case.v, link, point=point)
            case.check(bias[:3], expected.linear, f'the linear bias of {link}', at_least=UNIT)
            case.check(bias[3:], expected.angular, f'the angular bias of {link}', at_least=UNIT)


def test_velocities_and_accelerations_of_all_links_agree_with_pinocchio(cases):
    for case in cases:
        pin.forwardKinematics(case.model, case.data, case.q, case.v, case.a)
        velocities = ccd.link_velocities(case.robot, case.q, case.v)
        accelerations = ccd.link_accelerations(*case.state)
        assert set(velocities) == set(accelerations) == set(case.robot.link_names)
        for link in case.robot.link_names:
            place = (*case.frame(link), pin.LOCAL_WORLD_ALIGNED)
            velocity = pin.getFrameVelocity(case.model, case.data, *place)
            acceleration = pin.getFrameClassicalAcceleration(case.model, case.data, *place)
            case.check(velocities[link], velocity.vector, f'the velocity of {link}', at_least=UNIT)
            case.check(
                accelerations[link],
                acceleration.vector,
                f'the acceleration of {link}',
                at_least=UNIT,
            )


def _random_wrenches(case):
    """Return wrenches on half of the links, in world axes at the link, and Pinocchio's list."""
    pin.forwardKinematics(case.model, case.data, case.q)
    wrenches, forces = {}, [pin.Force.Zero() for _ in range(case.model.njoints)]
    for link in case.robot.link_names:
        if case.rng.random() < 0.5:
            wrenches[link] = 10.0 * case.rng.normal(size=6)
            joint, placement = case.frame(link)
            in_link_axes = pin.SE3((case.data.oMi[joint] * placement).rotation.T, np.zeros(3)).act(
                pin.Force(wrenches[link])
            )
            forces[joint] += placement.act(in_link_axes)
    return wrenches, forces


def test_newton_euler_with_wrenches_and_damping_agrees_with_pinocchio(cases):
    for case in cases:
        wrenches, forces = _random_wrenches(case)
        expected = pin.rnea(case.model, case.data, case.q, case.v, case.a, forces)
        case.check(
            ccd.newton_euler(*case.state, wrenches=wrenches),
            expected + case.damping * case.v,
            'tau_O with wrenches',
        )
        expected = pin.rnea(case.model, case.data, case.q, case.v, case.a)
        case.check(ccd.newton_euler(*case.state), expected + case.damping * case.v, 'tau_O')


def test_damping_alone_is_damping_times_rate(cases):
    for case in cases:
        still = ccd.newton_euler(case.robot, case.q, 0.0 * case.v, case.a)
        undamped = pin.rnea(case.model, case.data, case.q, 0.0 * case.v, case.a)
        case.check(still, undamped, 'tau_O at rest')
        moving = ccd.newton_euler(*case.state)
        inertial = pin.rnea(case.model, case.data, case.q, case.v, case.a)
        size = np.abs(inertial).max(initial=1.0)
        error = np.abs(moving - inertial - case.damping * case.v).max(initial=0.0) / size
        assert error <= RELATIVE, f'the damping of tree {case.seed} is off by {error:.2e}'


def test_joint_wrenches_are_the_forces_of_pinocchio_in_world_axes(cases):
    for case in cases:
        wrenches, forces = _random_wrenches(case)
        pin.rnea(case.model, case.data, case.q, case.v, case.a, forces)
        passed_on = ccd.joint_wrenches(*case.state, wrenches=wrenches)
        assert list(passed_on) == case.robot.joint_names
        for joint, wrench in passed_on.items():
            number = case.model.getJointId(joint)
            to_world = pin.SE3(case.data.oMi[number].rotation, np.zeros(3))
            case.check(wrench, to_world.act(case.data.f[number]).vector, f'the wrench in {joint}')


def test_mass_matrices_agree_with_pinocchio(cases):
    for case in cases:
        M = ccd.mass_matrix(case.robot, case.q)
        case.check(M, pin.crba(case.model, case.data, case.q), 'the mass matrix')
        np.testing.assert_array_equal(M, M.T)


def test_energies_agree_with_pinocchio(cases):
    for case in cases:
        kinetic, potential = ccd.energy(case.robot, case.q, case.v)
        case.check(
            kinetic,
            pin.computeKineticEnergy(case.model, case.data, case.q, case.v),
            'the kinetic energy',
        )
        # heights of both signs cancel: measure against the sum of all magnitudes
        expected = pin.computePotentialEnergy(case.model, case.data, case.q)
        size = sum(
            inertia.mass * abs(np.dot(case.model.gravity.linear, X.act(inertia.lever)))
            for inertia, X in zip(list(case.model.inertias)[1:], list(case.data.oMi)[1:])
        )
        error = abs(potential - expected) / size if size else abs(potential)
        assert error <= RELATIVE, f'the potential energy of tree {case.seed} is off by {error:.2e}'


def test_momentum_and_center_of_mass_agree_with_pinocchio(cases):
    for case in cases:
        expected = pin.computeCentroidalMomentum(case.model, case.data, case.q, case.v)
        momentum = ccd.momentum(case.robot, case.q, case.v)
        case.check(momentum[:3], expected.linear, 'the linear momentum')
        case.check(momentum[3:], expected.angular, 'the angular momentum')
        if case.robot.nv:
            case.check(
                ccd.center_of_mass(case.robot, case.q),
                pin.centerOfMass(case.model, case.data, case.q),
                'the centre of mass',
            )


def test_gravity_can_be_assigned_afterwards(cases):
    for case in cases[:3]:
        robot, gravity = case.robot.copy(), (1.0, -2.0, 3.0)
        robot.gravity = gravity
        np.testing.assert_array_equal(robot.gravity, gravity)
        model = pinocchio_model(case.description, gravity)
        expected = pin.rnea(model, model.createData(), case.q, case.v, case.a)
        case.check(
            ccd.newton_euler(robot, case.q, case.v, case.a),
            expected + case.damping * case.v,
            'tau_O under another gravity',
        )
        assert not np.array_equal(case.robot.gravity, gravity), 'a copy shares its gravity'


# --- axes that stand almost opposite to z --------------------------------------------------------
@pytest.mark.parametrize('kind', [JointType.REVOLUTE, JointType.PRISMATIC, JointType.PLANAR])
@pytest.mark.parametrize('tilt', [0.0, 1e-12, 1e-9, 1e-7, 1.5e-6, 1e-5, 1e-3])
def test_an_axis_close_to_minus_z_keeps_its_direction(kind, tilt):
    # files from drawing programs hold axes such as (1e-6, 0, -1)
    axis = np.array([0.6 * tilt, 0.8 * tilt, -1.0])
    axis = tuple(float(x) for x in axis / np.linalg.norm(axis))
    description = Description(
        'tilted',
        (Link('base'), Link('tip', Inertia(1.0))),
        (Joint('joint', kind, 'base', 'tip', axis=axis),),
    )
    robot, model = ccd.Mechanism(description), pinocchio_model(description)
    q, _, _ = random_state(np.random.default_rng(0), description)
    data = model.createData()
    pin.framesForwardKinematics(model, data, q)
    expected = data.oMf[model.getFrameId('tip')].homogeneous
    assert relative_error(ccd.link_placement(robot, q, 'tip'), expected) <= 1e-14


# --- far from the origin -------------------------------------------------------------------------
@pytest.mark.parametrize('seed', range(5))
def test_a_free_flying_robot_a_kilometre_away_loses_no_digits(seed):
    rng = np.random.default_rng(seed)
    description = random_description(rng, 30, floating_root=True, branching=0.5)
    description = Description(
        description.name,
        description.links,
        tuple(
            Joint(**{**vars(joint), 'origin': Pose()})
            if joint.parent == description.root
            else joint
            for joint in description.joints
        ),
    )  # the shift below is along the axes of the world
    robot = ccd.Mechanism(description)
    near, v, a = random_state(rng, description)
    root = next(
        name
        for name in robot.joint_names
        if next(joint for joint in description.joints if joint.name == name).type
        is JointType.FLOATING
    )
    place = robot.joint_slices(root)[0].start
    near[place : place + 3] = np.round(near[place : place + 3] * 2.0**20) / 2.0**20
    far = near.copy()
    far[place : place + 3] += (1024.0, -512.0, 256.0)
    carried = _carried_by(description, root)
    link = carried[-1]
    computed = {
        'tau_O': lambda q: ccd.newton_euler(robot, q, v, a),
        'the mass matrix': lambda q: ccd.mass_matrix(robot, q),
        'the Jacobian': lambda q: ccd.jacobian(robot, q, link, point=(0.1, 0.2, 0.3)),
        'the bias': lambda q: ccd.jacobian_bias(robot, q, v, link, point=(0.1, 0.2, 0.3)),
        'the velocities': lambda q: np.array(
            [ccd.link_velocities(robot, q, v)[each] for each in carried]
        ),
        'the accelerations': lambda q: np.array(
            [ccd.link_accelerations(robot, q, v, a)[each] for each in carried]
        ),
        'the joint wrenches': lambda q: np.array(
            list(ccd.joint_wrenches(robot, q, v, a, wrenches={link: np.arange(6.0)}).values())
        ),
        'the momentum': lambda q: ccd.momentum(robot, q, v),
        'the kinetic energy': lambda q: ccd.energy(robot, q, v)[0],
    }
    for what, function in computed.items():
        error = relative_error(function(far), function(near))
        assert error <= FAR_AWAY, f'{what} is off by {error:.2e}'


def _carried_by(description, joint):
    """Return the links that a joint moves, the nearest first."""
    links = [next(each.child for each in description.joints if each.name == joint)]
    for link in links:
        links += [each.child for each in description.joints if each.parent == link]
    return links


# --- edge cases ----------------------------------------------------------------------------------
def test_a_mechanism_without_moving_joints_is_an_ordinary_case():
    description = Description(
        'rock',
        (Link('base', Inertia(2.0)), Link('top', Inertia(1.0))),
        (Joint('weld', JointType.FIXED, 'base', 'top', Pose((0.0, 0.0, 1.0))),),
    )
    robot, none = ccd.Mechanism(description), np.zeros(0)
    assert (robot.nq, robot.nv, robot.total_mass) == (0, 0, 3.0)
    assert ccd.mass_matrix(robot, none).shape == (0, 0)
    assert ccd.newton_euler(robot, none, none, none).shape == (0,)
    assert ccd.jacobian(robot, none, 'top').shape == (6, 0)
    assert ccd.joint_wrenches(robot, none, none, none) == {}
    assert ccd.energy(robot, none, none) == (0.0, 0.0)
    assert ccd.integrate(robot, none, none).shape == (0,)
    np.testing.assert_array_equal(ccd.link_placement(robot, none, 'top')[:3, 3], (0.0, 0.0, 1.0))


def test_results_are_not_overwritten_by_the_next_call():
    case = Case(3)
    first = [
        ccd.newton_euler(*case.state),
        ccd.mass_matrix(case.robot, case.q),
        ccd.momentum(case.robot, case.q, case.v),
        ccd.center_of_mass(case.robot, case.q),
        ccd.jacobian(case.robot, case.q, case.robot.link_names[-1]),
    ]
    kept = [each.copy() for each in first]
    q, v, a = random_state(case.rng, case.description)
    ccd.newton_euler(case.robot, q, v, a)
    ccd.mass_matrix(case.robot, q)
    ccd.momentum(case.robot, q, v)
    ccd.jacobian(case.robot, q, case.robot.link_names[-1])
    for each, copy in zip(first, kept):
        np.testing.assert_array_equal(each, copy)
