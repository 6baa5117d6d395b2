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

"""Actuator torques when they fit, are too many or too few, and what is refused."""

from dataclasses import replace

from helpers.bar_linkages import five_bar, four_bar
from helpers.comparing import ROUNDING, close
from helpers.driven_linkages import GRAVITY, mechanism, needed
from helpers.planar_linkages import Body, Joined, linkage, moving_state
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import Coupling, CouplingTerm, JointType
from closed_chain_dynamics.dynamics.actuation import ACTUATION_POLICIES, actuator_torques


def solution(robot, q, v, a, **options):
    """Return the Actuation of a motion."""
    S, tau_G = needed(robot, q, v, a)
    return actuator_torques(robot, S, tau_G, **options)


# --- square --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    'motors',
    [('left', 'right'), ('left_elbow', 'right'), ('tip', 'left'), ('left_elbow', 'right_elbow')],
)
def test_as_many_motors_as_coordinates_give_s_inverse_transposed(motors):
    robot, q, v, a = mechanism(five_bar, motors)
    S, tau_G = needed(robot, q, v, a)
    result = ccd.inverse_dynamics(robot, q, v, a)
    assert close(result.tau_A, np.linalg.inv(S).T @ tau_G)
    assert close(result.tau_G, tau_G)
    assert result.residual_by_name == {}
    assert solution(robot, q, v, a).kind == 'square'
    assert solution(robot, q, v, a).null_space.shape == (2, 0)
    for policy in ACTUATION_POLICIES:
        assert close(ccd.inverse_dynamics(robot, q, v, a, policy=policy).tau_A, result.tau_A)


# --- redundant -----------------------------------------------------------------------------------
REDUNDANT = [
    (four_bar, ('crank', 'rocker')),
    (four_bar, ('crank', 'pin')),
    (four_bar, ('crank', 'knee', 'pin', 'rocker')),
    (five_bar, ('left', 'left_elbow', 'right_elbow', 'right')),
    (five_bar, ('left', 'tip', 'right')),
]
redundant = pytest.mark.parametrize(
    'make, motors', REDUNDANT, ids=[f'{m.__name__}-{len(a)}-{a[1]}' for m, a in REDUNDANT]
)


@redundant
def test_too_many_motors_share_with_the_least_norm(make, motors):
    robot, q, v, a = mechanism(make, motors)
    S, tau_G = needed(robot, q, v, a)
    result = ccd.inverse_dynamics(robot, q, v, a)
    assert close(result.tau_A, np.linalg.pinv(S.T) @ tau_G)
    assert close(result.residual, 0.0 * tau_G)
    assert solution(robot, q, v, a).kind == 'redundant'
    assert ccd.inverse_dynamics(robot, q, v, a, policy='minimum_norm').tau_A == pytest.approx(
        solution(robot, q, v, a).tau_A, rel=ROUNDING, abs=ROUNDING
    )


@redundant
def test_weights_make_a_motor_cheap_or_dear(make, motors):
    robot, q, v, a = mechanism(make, motors)
    S, tau_G = needed(robot, q, v, a)
    weights = {name: 10.0 ** (k - 1) for k, name in enumerate(motors)}
    inverse = np.diag([1.0 / weights[name] for name in robot.actuator_names])
    expected = inverse @ S @ np.linalg.solve(S.T @ inverse @ S, tau_G)
    result = ccd.inverse_dynamics(robot, q, v, a, policy='weighted', weights=weights)
    assert close(result.tau_A, expected)
    as_array = [weights[name] for name in robot.actuator_names]
    assert close(
        ccd.inverse_dynamics(robot, q, v, a, policy='weighted', weights=as_array).tau_A, expected
    )
    one = {motors[0]: 1e3}  # the others weigh one
    inverse = np.diag([1e-3 if name in one else 1.0 for name in robot.actuator_names])
    assert close(
        ccd.inverse_dynamics(robot, q, v, a, policy='weighted', weights=one).tau_A,
        inverse @ S @ np.linalg.solve(S.T @ inverse @ S, tau_G),
    )


@redundant
def test_a_preload_is_met_as_nearly_as_the_motion_allows(make, motors):
    robot, q, v, a = mechanism(make, motors)
    S, tau_G = needed(robot, q, v, a)
    wanted = {motors[0]: 4.0, motors[-1]: -3.0}
    preload = np.array([wanted.get(name, 0.0) for name in robot.actuator_names])
    result = ccd.inverse_dynamics(robot, q, v, a, preload=wanted)
    assert close(S.T @ result.tau_A, tau_G)
    assert close(result.tau_A, preload + np.linalg.pinv(S.T) @ (tau_G - S.T @ preload))
    assert close(ccd.inverse_dynamics(robot, q, v, a, preload=preload).tau_A, result.tau_A)
    # what is missing from the preload moves something: nothing of it is preload
    null_space = solution(robot, q, v, a).null_space
    assert close(null_space.T @ (result.tau_A - preload), np.zeros(null_space.shape[1]))


@redundant
def test_the_null_space_moves_nothing(make, motors):
    robot, q, v, a = mechanism(make, motors)
    actuation = solution(robot, q, v, a)
    null_space = actuation.null_space
    S, _ = needed(robot, q, v, a)
    assert null_space.shape == (len(motors), len(motors) - S.shape[1])
    assert close(null_space.T @ null_space, np.eye(null_space.shape[1]))
    assert close(S.T @ null_space, np.zeros((S.shape[1], null_space.shape[1])))
    moved = ccd.forward_dynamics(robot, q, v, actuation.tau_A).acceleration
    assert close(moved, a)
    for column in null_space.T:
        preloaded = actuation.tau_A + 50.0 * column
        assert close(ccd.forward_dynamics(robot, q, v, preloaded).acceleration, moved, 1e-11)


# --- deficient and mixed -------------------------------------------------------------------------
@pytest.mark.parametrize('motors', [('left',), ('right_elbow',), ('tip',)])
def test_too_few_motors_do_what_they_can_and_the_residual_is_named(motors):
    robot, q, v, a = mechanism(five_bar, motors)
    S, tau_G = needed(robot, q, v, a)
    result = ccd.inverse_dynamics(robot, q, v, a)
    expected = np.linalg.lstsq(S.T, tau_G, rcond=None)[0]
    assert close(result.tau_A, expected)
    assert close(result.residual, tau_G - S.T @ expected)
    assert solution(robot, q, v, a).kind == 'deficient'
    names = ccd.coordinates(robot, q).independent
    by_name = {
        name: value for name, value in zip(names, tau_G - S.T @ expected) if abs(value) > 1e-9
    }
    assert result.residual_by_name == pytest.approx(by_name, rel=1e-10)
    if motors == ('left',):  # the motor is a generalized coordinate and meets its own share
        assert len(by_name) == 1
        assert 'left' not in by_name


def test_the_residual_is_the_force_that_would_make_up_for_the_missing_motors():
    robot, q, v, a = mechanism(five_bar, ('tip',))
    result = ccd.inverse_dynamics(robot, q, v, a)
    extra = np.zeros(robot.nv)
    for name, value in result.residual_by_name.items():
        extra[robot.coordinate_names.index(name)] = value
    assert close(
        ccd.forward_dynamics(robot, q, v, result.tau_A, extra=extra).acceleration, a, 1e-11
    )
    moved = ccd.forward_dynamics(robot, q, v, result.tau_A).acceleration
    assert np.abs(moved - a).max() > 1e-3


def test_a_motor_far_geared_down_between_two_free_joints_gives_what_it_can():
    """Its own coordinate would make H large: it depends on two coordinates without a motor."""
    slow = 0.005
    description = linkage(
        'differential',
        {
            name: Body(1.0 + k, (0.3, 0.1 * k, 0.0))
            for k, name in enumerate(('left', 'motor', 'right'))
        },
        [Joined(name, 'ground', name, (0.0, 0.0, 0.0)) for name in ('left', 'motor', 'right')],
        actuated=('motor',),
        couplings=(
            Coupling(
                'sum',
                (
                    CouplingTerm('motor', (1.0,)),
                    CouplingTerm('left', (-slow,)),
                    CouplingTerm('right', (-slow,)),
                ),
            ),
        ),
    )
    robot = ccd.Mechanism(description, gravity=GRAVITY)
    q, v = np.zeros(3), np.zeros(3)
    a = np.array([2.0, slow * (2.0 - 0.5), -0.5])
    assert ccd.coordinates(robot, q).independent == ['left', 'right']
    tau_O = ccd.newton_euler(robot, q, v, a)
    lever = np.array([slow, slow])
    tau_G = tau_O[[0, 2]] + lever * tau_O[1]
    tau = lever @ tau_G / (lever @ lever)
    result = ccd.inverse_dynamics(robot, q, v, a)
    assert result.tau_A == pytest.approx([tau], rel=1e-10)
    assert result.residual_by_name == pytest.approx(
        dict(zip(('left', 'right'), tau_G - lever * tau)), rel=1e-10
    )


def acrobot(floating=False):
    """Return two links with a motor between them only, hinged to the ground or flying freely."""
    foot = {'kind': JointType.FLOATING} if floating else {}
    description = linkage(
        'acrobot',
        {'leg': Body(1.3, (0.1, 0.4, 0.0)), 'body': Body(2.1, (0.0, 1.4, 0.1))},
        [
            Joined('foot', 'ground', 'leg', (0.0, 0.0, 0.0), **foot),
            Joined('hip', 'leg', 'body', (0.0, 1.0, 0.0)),
        ],
        actuated=('hip',),
    )
    return ccd.Mechanism(description, gravity=GRAVITY)


def test_an_acrobot_lacks_the_torque_of_its_foot():
    robot = acrobot()
    q, v, a = np.array([0.4, -0.7]), np.array([1.1, -0.5]), np.array([3.0, 2.0])
    tau_O = ccd.newton_euler(robot, q, v, a)
    result = ccd.inverse_dynamics(robot, q, v, a)
    assert result.tau_A == pytest.approx([tau_O[1]], rel=ROUNDING)
    assert result.residual_by_name == pytest.approx({'foot': tau_O[0]}, rel=ROUNDING)


def test_a_free_flyer_lacks_the_wrench_that_nothing_gives_it():
    robot = acrobot(floating=True)
    q, v, a = robot.neutral(), 0.3 * np.arange(7.0) - 1.0, np.arange(7.0)[::-1] - 2.5
    tau_O = ccd.newton_euler(robot, q, v, a)
    result = ccd.inverse_dynamics(robot, q, v, a)
    assert result.tau_A == pytest.approx([tau_O[6]], rel=ROUNDING)
    assert result.residual_by_name == pytest.approx(
        {
            f'foot:{s}': tau_O[k]
            for k, s in enumerate(('vx', 'vy', 'vz', 'wx', 'wy', 'wz'))
            if abs(tau_O[k]) > 1e-9
        },
        rel=ROUNDING,
    )
    # in free fall without any torque nothing lacks
    a = ccd.forward_dynamics(robot, q, v).acceleration
    assert ccd.inverse_dynamics(robot, q, v, a).residual_by_name == {}


def test_too_many_motors_here_and_none_there_is_mixed():
    """Two motors drive a four-bar; a pendulum beside it has none."""
    description, positions = four_bar(actuated=('crank', 'rocker'))
    beside = linkage(
        'pendulum',
        {'bob': Body(1.0, (3.0, -0.5, 0.0))},
        [Joined('swing', 'ground', 'bob', (3.0, 0.0, 0.0))],
    )
    description = replace(
        description,
        links=description.links + beside.links[1:],
        joints=description.joints + beside.joints,
    )
    robot = ccd.Mechanism(description, gravity=GRAVITY)
    alone = ccd.Mechanism(four_bar(actuated=('crank', 'rocker'))[0], gravity=GRAVITY)
    q, v, a = moving_state(alone, positions, (2.2,), (1.3,), (2.0,))
    whole = [np.append(each, value) for each, value in ((q, 0.3), (v, 0.9), (a, -2.0))]
    assert robot.coordinate_names == [*alone.coordinate_names, 'swing']
    S, tau_G = needed(robot, *whole)
    actuation = solution(robot, *whole)
    assert actuation.kind == 'mixed'
    assert actuation.null_space.shape == (2, 1)
    result = ccd.inverse_dynamics(robot, *whole)
    assert close(result.tau_A, ccd.inverse_dynamics(alone, q, v, a).tau_A)
    assert close(result.tau_A, np.linalg.lstsq(S.T, tau_G, rcond=1e-10)[0])
    assert list(result.residual_by_name) == ['swing']
    assert result.residual_by_name['swing'] == pytest.approx(
        ccd.newton_euler(robot, *whole)[-1], rel=ROUNDING
    )


@pytest.mark.parametrize('policy', ACTUATION_POLICIES)
def test_without_any_actuator_everything_is_residual(policy):
    robot, q, v, a = mechanism(five_bar, ())
    result = ccd.inverse_dynamics(robot, q, v, a, policy=policy)
    assert result.tau_A.shape == (0,)
    assert result.torques() == {}
    _, tau_G = needed(robot, q, v, a)
    assert close(result.residual, tau_G)
    assert set(result.residual_by_name) == set(ccd.coordinates(robot, q).independent)
    assert close(
        ccd.forward_dynamics(robot, q, v).acceleration,
        ccd.forward_dynamics(robot, q, v, {}).acceleration,
    )


# --- what is refused -----------------------------------------------------------------------------
@pytest.mark.parametrize(
    'options, message',
    [
        ({'policy': 'least'}, "unknown policy 'least'.*minimum_norm, weighted, within_limits"),
        ({'policy': 'weighted', 'weights': {'crank': -1.0}}, 'weights must be positive'),
        ({'policy': 'weighted', 'weights': {'crank': float('nan')}}, 'weights'),
        ({'weights': {'crank': 2.0}}, 'weighted'),
        ({'preload': {'crank': float('nan')}}, 'preload'),
        ({'preload': {'crank': 'much'}}, 'preload'),
    ],
)
def test_a_wrong_policy_weight_or_preload_is_refused(options, message):
    robot, q, v, a = mechanism(four_bar, ('crank', 'rocker'))
    with pytest.raises((ccd.ActuationError, ccd.StateError), match=message):
        ccd.inverse_dynamics(robot, q, v, a, **options)


@pytest.mark.parametrize(
    'options',
    [{'policy': 'weighted', 'weights': {'crnk': 1.0}}, {'preload': {'crnk': 1.0}}],
    ids=['weights', 'preload'],
)
def test_weights_and_preload_of_no_actuator_are_refused_with_the_nearest_name(options):
    robot, q, v, a = mechanism(four_bar, ('crank', 'rocker'))
    with pytest.raises(ccd.NameNotFound, match="'crnk'.*Did you mean 'crank'"):
        ccd.inverse_dynamics(robot, q, v, a, **options)


@pytest.mark.parametrize('joint', ['knee', 'pin'])
def test_a_torque_on_a_passive_joint_is_refused_by_name(joint):
    robot, q, v, _ = mechanism(four_bar, ('crank', 'rocker'))
    with pytest.raises(ccd.ActuationError, match=f'{joint!r} is passive'):
        ccd.forward_dynamics(robot, q, v, {joint: 1.0})


def test_a_torque_on_no_joint_is_refused_with_the_nearest_name():
    robot, q, v, _ = mechanism(four_bar, ('crank', 'rocker'))
    with pytest.raises(ccd.NameNotFound, match="'rocket'.*Did you mean 'rocker'"):
        ccd.forward_dynamics(robot, q, v, {'rocket': 1.0})


def test_torques_of_the_wrong_number_are_refused_with_the_names_of_the_actuators():
    robot, q, v, _ = mechanism(four_bar, ('crank', 'rocker'))
    for tau in ([1.0, 2.0, 3.0], [1.0], 3.0):
        with pytest.raises(ccd.StateError, match=r'tau has shape.*\(2,\).*: crank, rocker\.'):
            ccd.forward_dynamics(robot, q, v, tau)


def test_a_torque_that_is_no_number_is_refused_with_the_name_of_its_actuator():
    robot, q, v, _ = mechanism(four_bar, ('crank', 'rocker'))
    with pytest.raises(ccd.StateError, match="'rocker' is nan"):
        ccd.forward_dynamics(robot, q, v, [1.0, np.nan])
    with pytest.raises(ccd.StateError, match="'rocker' is nan"):
        ccd.forward_dynamics(robot, q, v, {'rocker': np.nan})
    with pytest.raises(ccd.StateError, match='tau'):
        ccd.forward_dynamics(robot, q, v, {'rocker': 'much'})


def test_an_extra_force_that_is_no_number_is_refused():
    robot, q, v, _ = mechanism(four_bar, ('crank', 'rocker'))
    with pytest.raises(ccd.StateError, match='nan'):
        ccd.forward_dynamics(robot, q, v, extra=np.array([0.0, np.nan, 0.0]))
