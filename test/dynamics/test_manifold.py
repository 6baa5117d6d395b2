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

"""Configurations as points of a manifold: closed forms, a paper's numbers, Pinocchio, inverses."""

import math

from helpers.random_mechanisms import (
    moving_joints,
    pinocchio_model,
    random_description,
    random_state,
    relative_error,
)
from hypothesis import given, strategies as st
import numpy as np
import pinocchio as pin
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import Description, Inertia, Joint, JointType, Link

# Both engines round a handful of operations per joint. The worst below is 2e-14.
RELATIVE = 1e-10
# The inverse of a screw divides by the sine of half its angle: a few roundings, measured 2e-15.
INVERSE = 1e-13
# The reference prints ten digits.
PRINTED = 0.6e-10
ROUNDING = 4e-16

SEEDS = st.integers(0, 10**6)
SIZES = st.integers(1, 20)
# shares of joint types that put the curved manifolds in front
CURVED = {
    JointType.SPHERICAL: 0.4,
    JointType.FLOATING: 0.3,
    JointType.PLANAR: 0.2,
    JointType.REVOLUTE: 0.1,
}
# Pinocchio 4.1 forms (1 - cos) / angle for a planar joint and loses the digits of its small turns:
# at 1e-9 its step and the difference that should undo it are 2e-7 apart.
NOT_PLANAR = {kind: share for kind, share in CURVED.items() if kind is not JointType.PLANAR}
AXES = [(1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.36, 0.48, -0.8), (2.0 / 3.0, 1.0 / 3.0, 2.0 / 3.0)]


def _robot(kind):
    """Return a body on one joint."""
    return ccd.Mechanism(
        Description(
            kind.value,
            (Link('ground'), Link('body', Inertia(1.0))),
            (Joint('joint', kind, 'ground', 'body', axis=(0.0, 0.0, 1.0)),),
        )
    )


def _pair(seed, n_joints, shares=CURVED):
    rng = np.random.default_rng(seed)
    description = random_description(rng, n_joints, shares=shares)
    return rng, description, ccd.Mechanism(description), pinocchio_model(description)


def _same_side(description, q, reference):
    """Return q with each quaternion on the side of the reference: both signs are one rotation."""
    q, at = q.copy(), 0
    for joint in moving_joints(description):
        at += joint.type.nq
        if (
            joint.type in (JointType.SPHERICAL, JointType.FLOATING)
            and q[at - 4 : at] @ reference[at - 4 : at] < 0.0
        ):
            q[at - 4 : at] *= -1.0
    return q


def _turns(description, step, scale):
    """Return a step whose turns of spherical and free joints have an angle of `scale`."""
    step, at = step.copy(), 0
    for joint in moving_joints(description):
        at += joint.type.nv
        if joint.type in (JointType.SPHERICAL, JointType.FLOATING):
            step[at - 3 : at] *= scale / np.linalg.norm(step[at - 3 : at])
        elif joint.type is JointType.PLANAR:
            step[at - 1] = math.copysign(scale, step[at - 1])
    return step


def _matrix(quaternion):
    return pin.Quaternion(*np.roll(quaternion, 1)).matrix()


# --- against Pinocchio ---------------------------------------------------------------------------
@given(SEEDS, SIZES)
def test_integration_agrees_with_pinocchio(seed, n_joints):
    rng, description, robot, model = _pair(seed, n_joints)
    q, step, _ = random_state(rng, description, speed=rng.choice([0.1, 1.0, 3.0]))
    expected = pin.integrate(model, q, step)
    actual = _same_side(description, ccd.integrate(robot, q, step), expected)
    assert relative_error(actual, expected) <= RELATIVE


@given(SEEDS, SIZES)
def test_difference_agrees_with_pinocchio(seed, n_joints):
    rng, description, robot, model = _pair(seed, n_joints)
    (p, _, _), (q, _, _) = (random_state(rng, description) for _ in range(2))
    assert relative_error(ccd.difference(robot, p, q), pin.difference(model, p, q)) <= RELATIVE


@pytest.mark.parametrize(
    'angle',
    [
        0.0,
        1e-12,
        1e-9,
        1e-7,
        1e-6,
        1e-5,
        0.99e-4,
        1.01e-4,
        1e-3,
        0.99e-2,
        1.01e-2,
        0.1,
        3.0,
        math.pi - 1e-3,
        math.pi - 1e-6,
    ],
)
def test_small_turns_and_half_turns_agree_with_pinocchio(angle):
    for seed in range(10):
        rng, description, robot, model = _pair(seed, 8, NOT_PLANAR)
        q, step, _ = random_state(rng, description)
        step = _turns(description, step, angle)
        moved = ccd.integrate(robot, q, step)
        expected = pin.integrate(model, q, step)
        assert relative_error(_same_side(description, moved, expected), expected) <= RELATIVE
        assert (
            relative_error(ccd.difference(robot, q, moved), pin.difference(model, q, moved))
            <= RELATIVE
        ), f'tree {seed}'


# --- inverses ------------------------------------------------------------------------------------
@given(SEEDS, SIZES)
def test_a_difference_leads_from_the_one_configuration_to_the_other(seed, n_joints):
    rng, description, robot, _ = _pair(seed, n_joints)
    (p, _, _), (q, _, _) = (random_state(rng, description) for _ in range(2))
    reached = ccd.integrate(robot, p, ccd.difference(robot, p, q))
    turns = [
        k
        for joint in moving_joints(description)
        if joint.type.nv > 1
        for k in range(
            robot.joint_slices(joint.name)[0].start, robot.joint_slices(joint.name)[0].stop
        )
    ]
    reached = _same_side(description, reached, q)
    assert relative_error(reached[turns], q[turns]) <= INVERSE
    assert relative_error(reached, q) <= INVERSE


@pytest.mark.parametrize(
    'angle',
    [1e-12, 1e-9, 1e-6, 0.99e-4, 1.01e-4, 1e-3, 0.99e-2, 1.01e-2, 0.5, 2.0, 3.0, math.pi - 1e-4],
)
def test_the_difference_of_a_step_is_the_step(angle):
    for seed in range(10):
        rng, description, robot, _ = _pair(seed, 8)
        q, step, _ = random_state(rng, description)
        step = _turns(description, step, angle)
        found = ccd.difference(robot, q, ccd.integrate(robot, q, step))
        # coordinates of size one limit what can be known about a step, however small
        assert relative_error(found, step, at_least=1.0) <= INVERSE, f'tree {seed}'


@pytest.mark.parametrize('angle', [1e-10, 1e-8, 1e-6, 1e-4, 1e-2])
def test_small_steps_from_the_neutral_configuration_keep_all_their_digits(angle):
    for kind in (JointType.SPHERICAL, JointType.FLOATING):
        robot = _robot(kind)
        for axis in AXES:
            step = np.zeros(robot.nv)
            step[-3:] = angle * np.array(axis)
            found = ccd.difference(
                robot, robot.neutral(), ccd.integrate(robot, robot.neutral(), step)
            )
            assert relative_error(found, step) <= ROUNDING


@given(SEEDS, SIZES)
def test_no_step_goes_nowhere(seed, n_joints):
    rng, description, robot, _ = _pair(seed, n_joints)
    q, _, _ = random_state(rng, description)
    assert relative_error(ccd.integrate(robot, q, np.zeros(robot.nv)), q) <= ROUNDING
    assert relative_error(ccd.difference(robot, q, q), np.zeros(robot.nv)) <= 1e-15


@given(SEEDS, SIZES)
def test_a_step_in_two_halves_is_the_step(seed, n_joints):
    # along a constant twist the halves lie on one line; any first-order rule fails here
    rng, description, robot, _ = _pair(seed, n_joints)
    q, step, _ = random_state(rng, description)
    halfway = ccd.integrate(robot, q, 0.5 * step)
    assert (
        relative_error(ccd.integrate(robot, halfway, 0.5 * step), ccd.integrate(robot, q, step))
        <= INVERSE
    )


@given(SEEDS, SIZES)
def test_orientations_stay_of_unit_length(seed, n_joints):
    rng, description, robot, _ = _pair(seed, n_joints)
    q, step, _ = random_state(rng, description)
    for _ in range(20):
        q = ccd.integrate(robot, q, step)
    for joint in moving_joints(description):
        part = q[robot.joint_slices(joint.name)[0]]
        if joint.type in (JointType.SPHERICAL, JointType.FLOATING):
            assert abs(np.linalg.norm(part[-4:]) - 1.0) <= ROUNDING
        elif joint.type is JointType.PLANAR:
            assert abs(np.linalg.norm(part[2:]) - 1.0) <= ROUNDING


def test_both_signs_of_a_quaternion_are_one_place():
    robot, rng = _robot(JointType.SPHERICAL), np.random.default_rng(0)
    p, q = (x / np.linalg.norm(x) for x in rng.normal(size=(2, 4)))
    np.testing.assert_array_equal(ccd.difference(robot, p, q), ccd.difference(robot, p, -q))
    assert np.linalg.norm(ccd.difference(robot, p, q)) <= math.pi


# --- closed forms and printed numbers ------------------------------------------------------------
def test_the_rotation_of_the_paper_with_the_velocity_in_link_axes():
    # paper 2, Eq. (39), with omega in link axes: R' = R exp(omega dt); the paper prints it on the
    # left, which needs omega in parent axes
    robot = _robot(JointType.SPHERICAL)
    start = ccd.integrate(robot, robot.neutral(), np.array([0.3, -0.5, 0.8]))
    moved = ccd.integrate(robot, start, 0.025 * np.array([0.7, -1.1, 0.4]))
    expected = [
        [0.5740582780, -0.7559629292, -0.3146063303],
        [0.6006666554, 0.6499114413, -0.4656336409],
        [0.5564680247, 0.0783273139, 0.8271687672],
    ]
    np.testing.assert_allclose(
        ccd.link_placement(robot, moved, 'body')[:3, :3], expected, rtol=0.0, atol=PRINTED
    )


def test_the_error_of_steps_of_the_paper_is_the_published_one():
    # omega(t) = (sin 2t, cos 3t, 0.5 + 0.2 t) in parent axes, held over each step for one second;
    # the inverse of the rotation then turns by -omega in its own axes
    robot = _robot(JointType.SPHERICAL)

    def turned(dt, within):
        q = robot.neutral()
        for k in range(round(1.0 / dt)):
            t = (k + within) * dt
            q = ccd.integrate(
                robot, q, -dt * np.array([math.sin(2.0 * t), math.cos(3.0 * t), 0.5 + 0.2 * t])
            )
        return _matrix(q)

    exact = turned(1e-4, 0.5)  # taken in the middle of a step, omega gives second order
    errors = [np.linalg.norm(turned(dt, 0.0) - exact) for dt in (0.02, 0.01, 0.005)]
    np.testing.assert_allclose(errors, [0.0281, 0.0140, 0.0070], rtol=0.0, atol=0.5e-4)


def test_a_body_with_a_constant_twist_goes_round_in_a_circle():
    # v = (1, 0, 0) and omega = (0, 0, 1) in moving axes: a circle of radius 1 about (0, 1, 0)
    robot = _robot(JointType.FLOATING)
    for t in (1e-9, 1e-3, 0.5, 1.0, 3.0, 2.0 * math.pi, 20.0):
        q = ccd.integrate(robot, robot.neutral(), t * np.array([1.0, 0.0, 0.0, 0.0, 0.0, 1.0]))
        expected = [math.sin(t), 2.0 * math.sin(0.5 * t) ** 2, 0.0]
        np.testing.assert_allclose(q[:3], expected, rtol=1e-14, atol=1e-15)
        np.testing.assert_allclose(
            _matrix(q[3:])[:2, 0], [math.cos(t), math.sin(t)], rtol=1e-14, atol=2e-15
        )


def test_a_constant_twist_of_a_free_joint_is_the_exponential_of_its_matrix():
    robot, rng = _robot(JointType.FLOATING), np.random.default_rng(2)
    for size in (1e-9, 1e-5, 1e-3, 0.1, 1.0, 3.0, 10.0):
        twist = rng.normal(size=6)
        twist[3:] *= size / np.linalg.norm(twist[3:])
        q, _, _ = random_state(rng, robot.description)
        X = ccd.link_placement(robot, ccd.integrate(robot, q, twist), 'body')
        expected = ccd.link_placement(robot, q, 'body') @ _exponential(twist)
        np.testing.assert_allclose(X, expected, rtol=0.0, atol=1e-13)


def _exponential(twist):
    """Return the exponential of a twist by its power series, halved until it converges fast."""
    x, y, z, a, b, c = twist / 2.0**10
    A = np.array([[0.0, -c, b, x], [c, 0.0, -a, y], [-b, a, 0.0, z], [0.0, 0.0, 0.0, 0.0]])
    X, term = np.eye(4), np.eye(4)
    for k in range(1, 12):
        term = term @ A / k
        X = X + term
    for _ in range(10):
        X = X @ X
    return X


def test_a_constant_twist_of_a_planar_joint_is_the_exponential_of_its_matrix():
    robot, rng = _robot(JointType.PLANAR), np.random.default_rng(3)
    for turn in (0.0, 1e-12, 1e-9, -1e-7, 1e-5, 0.99e-4, 1.01e-4, 1e-3, 0.1, -1.0, 3.0, -10.0):
        q, step, _ = random_state(rng, robot.description)
        step[2] = turn
        X = ccd.link_placement(robot, ccd.integrate(robot, q, step), 'body')
        twist = np.array([*step[:2], 0.0, 0.0, 0.0, turn])
        expected = ccd.link_placement(robot, q, 'body') @ _exponential(twist)
        np.testing.assert_allclose(X, expected, rtol=0.0, atol=1e-13)


@pytest.mark.parametrize('function', [ccd.integrate, ccd.difference])
def test_a_step_or_a_configuration_of_the_wrong_length_is_refused(function):
    robot = _robot(JointType.FLOATING)
    with pytest.raises(ccd.StateError, match='q has shape'):
        function(robot, np.zeros(6), np.zeros(6))
    with pytest.raises(ccd.StateError, match='has shape'):
        function(robot, robot.neutral(), np.zeros(5))


def test_one_coordinate_joints_simply_add():
    for kind in (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.PRISMATIC):
        robot = _robot(kind)
        assert ccd.integrate(robot, [3.0], [4.0]) == [7.0]
        assert ccd.difference(robot, [3.0], [-4.0]) == [-7.0]
