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

"""Tree dynamics against Pinocchio, finite differences and invariants, on random trees."""

import math

from helpers.random_mechanisms import (
    moving_joints,
    pinocchio_model,
    random_description,
    random_loops,
    random_pose,
    random_state,
    random_unit,
    relative_error,
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
    LoopType,
    Pose,
    check,
)

# Two engines that add the same numbers in another order differ by rounding times the length of
# the chain. The worst of all quantities below, of all trees, is 4e-14.
RELATIVE = 1e-10
# A five-point stencil of step 1e-3 leaves h^4 / 30 of a fifth derivative, and rounding over h. The
# worst below, with all joints of a long chain turning at once, is 5e-11.
FINITE_DIFFERENCE = 1e-9
STENCIL_STEP = 1e-3
# Shifted by powers of two the coordinates are the same numbers, so only the arithmetic of the
# shift is left. In world coordinates without it the error is above 1e-9.
FAR_AWAY = 1e-12
# Lengths and rates of the trees are about one: what comes out of them is rounded to a unit like
# this, even where it happens to vanish.
UNIT = 1.0

CHUNKS, TREES_PER_CHUNK = 11, 20


class Case:
    """One random tree in both engines, with a random state and random gravity."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.seed, self.rng = seed, rng
        self.description = random_description(rng, int(rng.integers(1, 50)))
        check(self.description)
        gravity = 9.81 * rng.normal(size=3)
        self.robot = ccd.Mechanism(self.description, gravity=gravity)
        self.model = pinocchio_model(self.description, gravity)
        self.data = self.model.createData()
        self.q, self.v, self.a = random_state(rng, self.description)
        self.damping = np.array(
            [
                joint.dynamics.damping
                for joint in moving_joints(self.description)
                for _ in range(joint.type.nv)
            ]
        )

    @property
    def state(self):
        return self.robot, self.q, self.v, self.a

    def frame(self, link, point=(0.0, 0.0, 0.0)):
        """Return Pinocchio's joint and the placement of a point of a link on it."""
        frame = self.model.frames[self.model.getFrameId(link)]
        return frame.parentJoint, frame.placement * pin.SE3(np.eye(3), np.array(point))

    def check(self, actual, expected, what, tolerance=RELATIVE, at_least=0.0):
        """Fail with the seed when two results differ."""
        error = relative_error(actual, expected, at_least=at_least)
        assert error <= tolerance, f'{what} of tree {self.seed} is off by {error:.2e}'


@pytest.fixture(scope='module', params=range(CHUNKS), ids=lambda chunk: f'trees{chunk}')
def cases(request):
    first = request.param * TREES_PER_CHUNK
    return [Case(seed) for seed in range(first, first + TREES_PER_CHUNK)]


@pytest.fixture(scope='module')
def some_cases():
    """Return one in five trees: finite differences take a hundred evaluations each."""
    return [Case(seed) for seed in range(0, CHUNKS * TREES_PER_CHUNK, 5)]


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


# --- finite differences --------------------------------------------------------------------------
def _derivative(function, step=STENCIL_STEP):
    """Return the derivative of a function of one number at zero, by the five-point stencil."""
    f = [np.asarray(function(k * step)) for k in (-2, -1, 1, 2)]
    return (f[0] - 8.0 * f[1] + 8.0 * f[2] - f[3]) / (12.0 * step)


def _rate_of_turn(R, R_rate):
    """Return the angular velocity in world axes of a rotation and its derivative."""
    S = R_rate @ R.T
    return 0.5 * np.array([S[2, 1] - S[1, 2], S[0, 2] - S[2, 0], S[1, 0] - S[0, 1]])


def test_jacobians_of_all_links_are_the_derivatives_of_placements(some_cases):
    for case in some_cases:
        robot, q = case.robot, case.q
        points = {link: case.rng.normal(size=3) for link in robot.link_names}
        now = ccd.link_placements(robot, q)
        columns = {link: np.zeros((6, robot.nv)) for link in robot.link_names}
        for j, direction in enumerate(np.eye(robot.nv)):
            rates = _derivative(
                lambda h: np.array(
                    list(
                        ccd.link_placements(robot, ccd.integrate(robot, q, h * direction)).values()
                    )
                )
            )
            for link, rate in zip(now, rates):
                columns[link][:3, j] = rate[:3, :3] @ points[link] + rate[:3, 3]
                columns[link][3:, j] = _rate_of_turn(now[link][:3, :3], rate[:3, :3])
        for link in robot.link_names:
            case.check(
                ccd.jacobian(robot, q, link, point=points[link]),
                columns[link],
                f'the Jacobian of {link}',
                FINITE_DIFFERENCE,
                at_least=UNIT,
            )


def test_jacobian_biases_are_the_derivatives_of_jacobians(some_cases):
    for case in some_cases:
        robot, q, v = case.robot, case.q, case.v
        # slow enough for the stencil whatever the length of the chain
        v = v / max(1.0, np.linalg.norm(v))
        for link in case.rng.choice(
            robot.link_names, min(5, len(robot.link_names)), replace=False
        ):
            point = case.rng.normal(size=3)
            rate = _derivative(
                lambda h: (
                    ccd.jacobian(robot, ccd.integrate(robot, q, h * v), link, point=point) @ v
                )
            )
            case.check(
                ccd.jacobian_bias(robot, q, v, link, point=point),
                rate,
                f'the bias of {link}',
                FINITE_DIFFERENCE,
                at_least=UNIT,
            )


def test_the_weight_is_the_gradient_of_the_potential_energy(some_cases):
    for case in some_cases:
        robot, q, zero = case.robot, case.q, np.zeros(case.robot.nv)
        gradient = [
            _derivative(
                lambda h: ccd.energy(robot, ccd.integrate(robot, q, h * direction), zero)[1]
            )
            for direction in np.eye(robot.nv)
        ]
        case.check(
            ccd.newton_euler(robot, q, zero, zero), gradient, 'the weight', FINITE_DIFFERENCE
        )


def test_the_momentum_is_the_mass_times_the_rate_of_the_center_of_mass(some_cases):
    for case in some_cases:
        robot, q, v = case.robot, case.q, case.v
        rate = _derivative(lambda h: ccd.center_of_mass(robot, ccd.integrate(robot, q, h * v)))
        # links that are fixed to the world do not count as moving mass
        mass = pin.computeTotalMass(case.model)
        case.check(ccd.momentum(robot, q, v)[:3], mass * rate, 'the momentum', FINITE_DIFFERENCE)


def test_the_power_of_the_joints_is_the_rate_of_the_energy(some_cases):
    for case in some_cases:
        robot, q, v, a = case.state
        v, a = (x / max(1.0, np.linalg.norm(x)) for x in (v, a))
        # along q(h) = q + h v + h^2 a / 2 the rates are v + h a to first order in h
        rate = _derivative(
            lambda h: sum(
                ccd.energy(robot, ccd.integrate(robot, q, h * v + 0.5 * h * h * a), v + h * a)
            )
        )
        tau = ccd.newton_euler(robot, q, v, a) - case.damping * v
        size = np.abs(tau * v).sum()
        assert abs(tau @ v - rate) <= FINITE_DIFFERENCE * size, (
            f'the power of tree {case.seed} is off by {abs(tau @ v - rate) / size:.2e}'
        )


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


# --- bad states ----------------------------------------------------------------------------------
def _one_of_each():
    """Return a robot with a hinge, a ball, a planar and a free joint, and a state of it."""
    kinds = {
        'hinge': JointType.REVOLUTE,
        'ball': JointType.SPHERICAL,
        'plane': JointType.PLANAR,
        'flight': JointType.FLOATING,
    }
    joints = tuple(
        Joint(name, kind, 'ground', f'{name}_link', axis=(0.0, 0.0, 1.0))
        for name, kind in kinds.items()
    )
    bodies = tuple(
        Link(joint.child, Inertia(1.0, Pose(), (1.0, 0.0, 0.0, 1.0, 0.0, 1.0))) for joint in joints
    )
    description = Description('collection', (Link('ground'), *bodies), joints)
    return (ccd.Mechanism(description), *random_state(np.random.default_rng(1), description))


NEED_STATE = {
    'newton_euler': lambda r, q, v, a: ccd.newton_euler(r, q, v, a),
    'joint_wrenches': lambda r, q, v, a: ccd.joint_wrenches(r, q, v, a),
    'link_accelerations': lambda r, q, v, a: ccd.link_accelerations(r, q, v, a),
    'link_velocities': lambda r, q, v, a: ccd.link_velocities(r, q, v),
    'jacobian_bias': lambda r, q, v, a: ccd.jacobian_bias(r, q, v, 'ball_link'),
    'energy': lambda r, q, v, a: ccd.energy(r, q, v),
    'momentum': lambda r, q, v, a: ccd.momentum(r, q, v),
    'mass_matrix': lambda r, q, v, a: ccd.mass_matrix(r, q),
    'jacobian': lambda r, q, v, a: ccd.jacobian(r, q, 'ball_link'),
    'center_of_mass': lambda r, q, v, a: ccd.center_of_mass(r, q),
    'link_placement': lambda r, q, v, a: ccd.link_placement(r, q, 'ball_link'),
    'link_placements': lambda r, q, v, a: ccd.link_placements(r, q),
}
NEED_RATES = [
    'newton_euler',
    'joint_wrenches',
    'link_accelerations',
    'link_velocities',
    'jacobian_bias',
    'energy',
    'momentum',
]
NEED_ACCELERATIONS = ['newton_euler', 'joint_wrenches', 'link_accelerations']


@pytest.mark.parametrize('name', NEED_STATE)
def test_a_configuration_of_the_wrong_length_is_refused(name):
    robot, q, v, a = _one_of_each()
    with pytest.raises(ccd.StateError, match=rf'q has shape \({robot.nq - 1},\).*\({robot.nq},\)'):
        NEED_STATE[name](robot, q[:-1], v, a)


@pytest.mark.parametrize('name', NEED_RATES)
def test_velocities_of_the_wrong_length_are_refused(name):
    robot, q, v, a = _one_of_each()
    with pytest.raises(ccd.StateError, match=rf'v has shape \({robot.nv + 1},\).*\({robot.nv},\)'):
        NEED_STATE[name](robot, q, np.append(v, 0.0), a)


@pytest.mark.parametrize('name', NEED_ACCELERATIONS)
def test_accelerations_of_the_wrong_length_are_refused(name):
    robot, q, v, a = _one_of_each()
    with pytest.raises(ccd.StateError, match='a has shape'):
        NEED_STATE[name](robot, q, v, a[:-1])


def test_text_in_a_configuration_is_refused():
    robot, q, v, a = _one_of_each()
    with pytest.raises(ccd.StateError, match='q must be numbers'):
        ccd.newton_euler(robot, ['x'] * robot.nq, v, a)


@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize('name', NEED_STATE)
def test_a_configuration_that_is_not_finite_is_refused_with_the_name_of_the_joint(name, bad):
    robot, q, v, a = _one_of_each()
    q[robot.joint_slices('plane')[0].start] = bad
    with pytest.raises(ccd.StateError, match="'plane'"):
        NEED_STATE[name](robot, q, v, a)


@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize('name', NEED_RATES)
def test_a_velocity_that_is_not_finite_is_refused_with_its_name(name, bad):
    robot, q, v, a = _one_of_each()
    v[robot.coordinate_names.index('flight:wy')] = bad
    with pytest.raises(ccd.StateError, match="'flight:wy'"):
        NEED_STATE[name](robot, q, v, a)


@pytest.mark.parametrize('name', NEED_ACCELERATIONS)
def test_an_acceleration_that_is_not_finite_is_refused_with_its_name(name):
    robot, q, v, a = _one_of_each()
    a[robot.coordinate_names.index('hinge')] = math.nan
    with pytest.raises(ccd.StateError, match="'hinge'"):
        NEED_STATE[name](robot, q, v, a)


@pytest.mark.parametrize('joint, first', [('ball', 0), ('plane', 2), ('flight', 3)])
@pytest.mark.parametrize('name', NEED_STATE)
def test_an_orientation_that_is_not_of_unit_length_is_refused(name, joint, first):
    robot, q, v, a = _one_of_each()
    places = robot.joint_slices(joint)[0]
    for factor in (1.0 + 2e-6, 1.0 - 2e-6, 2.0, 0.0):
        bad = q.copy()
        bad[places.start + first : places.stop] *= factor
        with pytest.raises(ccd.StateError, match=f'orientation of joint {joint!r}'):
            NEED_STATE[name](robot, bad, v, a)


@pytest.mark.parametrize('name', NEED_STATE)
def test_an_orientation_within_the_tolerance_counts_as_normalised(name):
    robot, q, v, a = _one_of_each()
    nearly = q.copy()
    for joint, first in (('ball', 0), ('plane', 2), ('flight', 3)):
        places = robot.joint_slices(joint)[0]
        nearly[places.start + first : places.stop] *= 1.0 + 5e-7
    expected, actual = (_flat(NEED_STATE[name](robot, x, v, a)) for x in (q, nearly))
    assert relative_error(actual, expected, at_least=UNIT) <= 1e-13


def _flat(result):
    values = result.values() if isinstance(result, dict) else [result]
    return np.concatenate([np.ravel(each) for each in values])


def test_an_unknown_link_is_refused_with_the_nearest_names():
    robot, q, v, a = _one_of_each()
    for call in (
        lambda: ccd.link_placement(robot, q, 'bal_link'),
        lambda: ccd.jacobian(robot, q, 'bal_link'),
        lambda: ccd.jacobian_bias(robot, q, v, 'bal_link'),
        lambda: ccd.newton_euler(robot, q, v, a, wrenches={'bal_link': np.zeros(6)}),
        lambda: ccd.joint_wrenches(robot, q, v, a, wrenches={'bal_link': np.zeros(6)}),
    ):
        with pytest.raises(ccd.NameNotFound, match="'bal_link'.*'ball_link'"):
            call()


@pytest.mark.parametrize('function', [ccd.newton_euler, ccd.joint_wrenches])
def test_a_wrench_that_is_not_six_finite_numbers_is_refused_with_the_link(function):
    robot, q, v, a = _one_of_each()
    with pytest.raises(ccd.StateError, match="wrench on link 'ball_link' has shape"):
        function(robot, q, v, a, wrenches={'ball_link': (1.0, 2.0, 3.0)})
    with pytest.raises(ccd.StateError, match="wrench on link 'ball_link' is not finite"):
        function(robot, q, v, a, wrenches={'ball_link': (0.0, 0.0, math.nan, 0.0, 0.0, 0.0)})


def test_a_point_that_is_not_three_numbers_is_refused():
    robot, q, _, _ = _one_of_each()
    with pytest.raises(ccd.StateError, match='point has shape'):
        ccd.jacobian(robot, q, 'ball_link', point=(1.0, 2.0))


def test_a_bad_state_leaves_the_robot_usable():
    robot, q, v, a = _one_of_each()
    before = ccd.newton_euler(robot, q, v, a)
    with pytest.raises(ccd.StateError):
        ccd.newton_euler(robot, np.full(robot.nq, math.nan), v, a)
    np.testing.assert_array_equal(ccd.newton_euler(robot, q, v, a), before)


# --- the generator of closed mechanisms ----------------------------------------------------------
def _loop_frames(description, q, loop):
    """Return position, rotation and axis of both loop frames in the world."""
    model = pinocchio_model(description)
    data = model.createData()
    pin.framesForwardKinematics(model, data, q)
    for link, origin, axis in (
        (loop.parent, loop.parent_origin, loop.parent_axis),
        (loop.child, loop.child_origin, loop.child_axis),
    ):
        X = data.oMf[model.getFrameId(link)] * pin.SE3(
            pin.rpy.rpyToMatrix(*origin.rpy), np.array(origin.xyz)
        )
        yield X.translation, X.rotation, X.rotation @ axis


# what must vanish: gap d, rotations R and S, axes a and b
CLOSED = {
    LoopType.FIXED: lambda d, R, S, a, b: (d, (R - S).ravel()),
    LoopType.REVOLUTE: lambda d, R, S, a, b: (d, a - b),
    LoopType.PRISMATIC: lambda d, R, S, a, b: (np.cross(d, a), a - b),
    LoopType.CYLINDRICAL: lambda d, R, S, a, b: (np.cross(d, a), a - b),
    LoopType.UNIVERSAL: lambda d, R, S, a, b: (d, [a @ b]),
    LoopType.SPHERICAL: lambda d, R, S, a, b: (d,),
    LoopType.PLANAR: lambda d, R, S, a, b: ([d @ a], a - b),
    LoopType.SURFACE: lambda d, R, S, a, b: ([d @ a],),
    LoopType.FREE: lambda d, R, S, a, b: ([0.0],),
}


@pytest.mark.parametrize('kind', LoopType)
def test_random_loops_are_closed_where_they_were_made(kind):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        description = random_description(rng, 12)
        q, _, _ = random_state(rng, description)
        closed = random_loops(rng, description, q, 3, (kind,))
        check(closed)
        assert len(closed.loops) == 3 and ccd.Mechanism(closed).loop_names
        for loop in closed.loops:
            (p, R, a), (s, S, b) = _loop_frames(closed, q, loop)
            gap = np.abs(np.concatenate(CLOSED[kind](s - p, R, S, a, b))).max()
            assert gap <= 1e-13, f'{loop.name} of tree {seed} is open by {gap:.2e}'


def test_roll_pitch_and_yaw_give_the_rotation_back_at_any_pitch():
    rng = np.random.default_rng(0)
    for pitch in (0.3, math.pi / 2.0, -math.pi / 2.0, math.pi / 2.0 - 1e-9, 1.5):
        R = Pose(rpy=(rng.normal(), pitch, rng.normal())).rotation
        np.testing.assert_allclose(Pose(rpy=rpy_of(R)).rotation, R, atol=1e-15)
    for turn in rng.uniform(-math.pi, math.pi, 10):  # roll and yaw are one angle here
        c, s = math.cos(turn), math.sin(turn)
        R = np.array([[0.0, s, c], [0.0, c, -s], [-1.0, 0.0, 0.0]])
        np.testing.assert_allclose(Pose(rpy=rpy_of(R)).rotation, R, atol=1e-15)
    for _ in range(100):
        R = random_pose(rng).rotation
        np.testing.assert_allclose(Pose(rpy=rpy_of(R)).rotation, R, atol=1e-15)
        assert math.isclose(np.linalg.norm(random_unit(rng)), 1.0, rel_tol=1e-15)
