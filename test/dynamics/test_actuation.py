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
Actuator torques when they fit, are too many or too few; and the forces that need no actuator.

Springs, damping, friction, limit moments and external wrenches are compared with derivatives of
energies and powers that are written down here.
"""

from dataclasses import replace

from helpers.planar_linkages import (
    Body,
    Joined,
    accelerations,
    derivatives,
    five_bar,
    five_bar_frames,
    four_bar,
    linkage,
    moving_state,
)
from helpers.random_mechanisms import (
    moving_joints,
    random_description,
    random_loops,
    random_state,
    relative_error,
)
import mpmath
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import (
    Actuator,
    Coupling,
    CouplingTerm,
    Dynamics,
    JointType,
    Limit,
    LimitMoment,
    LoopType,
    Spring,
)
from closed_chain_dynamics.dynamics.actuation import POLICIES, actuator_torques
from closed_chain_dynamics.dynamics.constraints import actuator_rows

GRAVITY = (0.0, -9.81, 0.0)
ROUNDING = 1e-12  # forces of some ten newton metres through a few linear solves
CHAIN = 1e-9  # the same through random mechanisms of some twenty coordinates
DIFFERENCE_STEP = 1e-6
# Central differences of energies of some ten joule: rounding 1e-15 / 1e-6, curvature 1e-12
DIFFERENCE = 1e-7
POSE, RATES, SECONDS = (2.2, 1.0), (1.3, -0.7), (2.0, 3.0)


def close(actual, expected, tolerance=ROUNDING):
    """Return whether arrays agree relative to the largest number, or to one."""
    return relative_error(actual, expected, at_least=1.0) <= tolerance


def mechanism(make, actuated, pose=POSE, **options):
    """Return a linkage with motors, and a motion of it in closed form."""
    description, positions = make(actuated=actuated, **options)
    robot = ccd.Mechanism(description, gravity=GRAVITY)
    n = 1 if make is four_bar else 2
    return (robot, *moving_state(robot, positions, pose[:n], RATES[:n], SECONDS[:n]))


def needed(robot, q, v, a):
    """Return S and tau_G from J_C and the tree alone."""
    c = ccd.coordinates(robot, q)
    return actuator_rows(robot, q) @ c.W, c.W.T @ ccd.newton_euler(robot, q, v, a)


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
    for policy in POLICIES:
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


# --- within limits -------------------------------------------------------------------------------
def limited(make, motors, efforts):
    """Return a redundant linkage whose motors have effort limits."""
    laws = {name: {'limit': Limit(effort=effort)} for name, effort in zip(motors, efforts)}
    robot, q, v, a = mechanism(make, motors, **laws)
    limits = np.array([dict(zip(motors, efforts))[name] for name in robot.actuator_names])
    return robot, q, v, a, limits


def at_limit(tau_A, limits):
    """Return which torques are at their limits, up to the last digit that a preload costs."""
    return np.abs(tau_A) >= limits * (1.0 - 1e-12)


def is_least_norm_within(S, tau_A, limits, preload=0.0):
    """
    Return whether torques are nearest to the preload of those with this S^T tau_A and the limits.

    They are when preload + S lambda, cut off at the limits, gives them: the conditions of Karush,
    Kuhn and Tucker.
    """
    inside, preload = ~at_limit(tau_A, limits), preload + np.zeros(len(tau_A))
    multiplier = np.linalg.lstsq(S[inside], (tau_A - preload)[inside], rcond=1e-10)[0]
    return close(np.clip(preload + S @ multiplier, -limits, limits), tau_A, 1e-9)


def test_a_motor_at_its_limit_leaves_the_rest_to_the_other():
    robot, q, v, a, _ = limited(four_bar, ('crank', 'rocker'), (2.0, 50.0))
    S, tau_G = needed(robot, q, v, a)
    free = np.linalg.pinv(S.T) @ tau_G
    assert abs(free[0]) > 2.0  # the crank would need more than it can
    result = ccd.inverse_dynamics(robot, q, v, a, policy='within_limits')
    crank = 2.0 * np.sign(free[0])
    assert result.torques() == pytest.approx(
        {'crank': crank, 'rocker': (tau_G[0] - S[0, 0] * crank) / S[1, 0]}, rel=ROUNDING
    )
    assert close(ccd.forward_dynamics(robot, q, v, result.tau_A).acceleration, a, 1e-11)


@pytest.mark.parametrize(
    'efforts',
    [
        (1.0, 9.0, 2.0, 40.0),
        (3.0, 3.0, 3.0, 3.0),
        (0.5, 0.5, 30.0, 30.0),
        (0.0, 2.0, 30.0, np.inf),
    ],
)
@pytest.mark.parametrize(
    'make, motors',
    [
        (four_bar, ('crank', 'knee', 'pin', 'rocker')),
        (five_bar, ('left', 'left_elbow', 'right_elbow', 'right')),
    ],
    ids=['four_bar', 'five_bar'],
)
def test_limits_hold_exactly_and_the_motion_is_met_with_the_least_norm(make, motors, efforts):
    robot, q, v, a, limits = limited(make, motors, efforts)
    S, tau_G = needed(robot, q, v, a)
    result = ccd.inverse_dynamics(robot, q, v, a, policy='within_limits')
    assert np.all(np.abs(result.tau_A) <= limits)
    assert close(S.T @ result.tau_A, tau_G, 1e-11)
    assert is_least_norm_within(S, result.tau_A, limits)


@pytest.mark.parametrize('wish', [0.0, 0.7], ids=['plain', 'preloaded'])
def test_many_motors_within_limits_take_the_least_norm_or_come_as_near_as_they_can(wish):
    """Twenty motors on up to six coordinates, some without a limit and some without any effort."""
    rng = np.random.default_rng(11)
    names = [f'motor_{k:02d}' for k in range(20)]
    for case in range(60):
        limits = 10.0 ** rng.uniform(-1.0, 1.0, 20)
        limits[rng.random(20) < 0.1], limits[rng.random(20) < 0.1] = np.inf, 0.0
        robot = ccd.Mechanism(
            linkage(
                'many',
                {name: Body(1.0, (0.1, 0.0, 0.0)) for name in names},
                [
                    Joined(name, 'ground', name, (0.0, 0.0, 0.0), limit=Limit(effort=float(limit)))
                    for name, limit in zip(names, limits)
                ],
                actuated=names,
            )
        )
        S = rng.normal(size=(20, int(rng.integers(1, 7))))
        preload = wish * np.minimum(limits, 3.0) * rng.uniform(-1.0, 1.0, 20)
        reachable = case % 3 > 0
        tau_G = S.T @ (rng.uniform(-1.0, 1.0, 20) * np.minimum(limits, 5.0))
        tau_G = tau_G if reachable else 1e3 * tau_G / np.linalg.norm(tau_G)
        result = actuator_torques(robot, S, tau_G, policy='within_limits', preload=preload)
        assert np.all(np.abs(result.tau_A) <= limits)
        if np.abs(result.residual).max() <= 1e-10 * np.abs(tau_G).max():
            assert is_least_norm_within(S, result.tau_A, limits, preload)
        else:
            assert not reachable
            # no motor that could still give would help: each pulls as far as it can, or has none
            pull = S @ result.residual
            at_end = at_limit(result.tau_A, limits)
            assert np.all(np.abs(pull[~at_end]) < 1e-8 * np.abs(tau_G).max())
            assert np.all((pull * result.tau_A)[at_end] >= 0.0)


def test_where_the_limits_allow_it_they_change_nothing():
    robot, q, v, a, _ = limited(five_bar, ('left', 'tip', 'right'), (500.0, 500.0, 500.0))
    assert close(
        ccd.inverse_dynamics(robot, q, v, a, policy='within_limits').tau_A,
        ccd.inverse_dynamics(robot, q, v, a).tau_A,
    )


def test_motors_that_are_too_weak_all_pull_as_they_can_and_the_rest_is_the_residual():
    robot, q, v, a, limits = limited(four_bar, ('crank', 'rocker'), (0.5, 0.25))
    S, tau_G = needed(robot, q, v, a)
    result = ccd.inverse_dynamics(robot, q, v, a, policy='within_limits')
    pull = limits * np.sign(S[:, 0] * tau_G[0])
    assert close(result.tau_A, pull)
    assert np.all(np.abs(result.tau_A) <= limits)
    assert close(result.residual, tau_G - S.T @ pull)
    assert list(result.residual_by_name) == ccd.coordinates(robot, q).independent


def test_a_preload_beyond_a_limit_is_refused_by_name():
    robot, q, v, a, _ = limited(four_bar, ('crank', 'rocker'), (2.0, 50.0))
    with pytest.raises(ccd.ActuationError, match="'crank'.*effort limit 2"):
        ccd.inverse_dynamics(robot, q, v, a, policy='within_limits', preload={'crank': 5.0})


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


@pytest.mark.parametrize('policy', POLICIES)
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


# --- springs -------------------------------------------------------------------------------------
def five_bar_with(springs=(), motors=('left', 'right'), **laws):
    """Return a five-bar with springs and laws, and a motion of it."""
    return mechanism(five_bar, motors, springs=springs, **laws)


def test_springs_on_a_five_bar_need_the_gradient_of_their_energy():
    """One between two points, one on a joint of the tree, one on the loop joint."""
    plain = five_bar_with()[0]
    ends = {'left': 0.3 + 0.1j, 'right_distal': 0.4 - 0.05j}  # in the bodies' own frames
    start = five_bar_frames(2.0, 1.2)
    xyz = {}
    for link, local in ends.items():
        origin = ccd.link_placement(plain, plain.neutral(), link)[:3, 3]
        at = complex(start[link][0] + local * mpmath.expj(start[link][1]))
        xyz[link] = (at.real - origin[0], at.imag - origin[1], 0.0)
    springs = (
        Spring(
            'stretched',
            'linear',
            130.0,
            0.0,
            0.35,
            'left',
            xyz['left'],
            'right_distal',
            xyz['right_distal'],
        ),
        Spring('wound', 'torsional', 12.0, 0.0, 0.2, joint='left_elbow'),
        Spring('closing', 'torsional', 9.0, 0.0, -0.3, joint='tip'),
    )

    def energy(left, right):
        now = five_bar_frames(left, right)
        points = [now[link][0] + local * mpmath.expj(now[link][1]) for link, local in ends.items()]
        elbow = (
            now['left_distal'][1] - now['left'][1] - (start['left_distal'][1] - start['left'][1])
        )
        tip = (
            now['right_distal'][1]
            - now['left_distal'][1]
            - (start['right_distal'][1] - start['left_distal'][1])
        )
        return (
            130 * (abs(points[1] - points[0]) - mpmath.mpf(0.35)) ** 2
            + 12 * (elbow - mpmath.mpf(0.2)) ** 2
            + 9 * (tip + mpmath.mpf(0.3)) ** 2
        ) / 2

    robot, q, v, a = five_bar_with(springs)
    expected = [derivatives(energy, POSE, along, (0.0, 0.0))[0] for along in np.eye(2)]
    with_springs = ccd.inverse_dynamics(robot, q, v, a).torques()
    without = ccd.inverse_dynamics(plain, q, v, a).torques()
    assert close([with_springs[name] - without[name] for name in ('left', 'right')], expected)


def random_closed(seed, joints=9, loops=2, damping=0.0, shares=None):
    """Return the description of a random closed mechanism, its pose and a random generator."""
    rng = np.random.default_rng(seed)
    tree = random_description(rng, joints, damping=damping, shares=shares)
    q, _, _ = random_state(rng, tree)
    closed = random_loops(rng, tree, q, loops, (LoopType.REVOLUTE, LoopType.PRISMATIC))
    return closed, q, rng


def random_springs(description, rng, damping=0.0):
    """Return springs between links, on joints of the tree and on loop joints."""
    links = [link.name for link in description.links]
    springs = [
        Spring(
            f'linear_{k}',
            'linear',
            float(rng.uniform(20, 90)),
            damping,
            float(rng.uniform(0.0, 0.5)),
            *_end(rng, links),
            *_end(rng, links),
        )
        for k in range(3)
    ]
    joints = [joint.name for joint in moving_joints(description) if joint.type.nv == 1]
    joints += [loop.name for loop in description.loops]
    springs += [
        Spring(
            f'torsional_{name}',
            'torsional',
            float(rng.uniform(5, 30)),
            damping,
            float(rng.uniform(-1.0, 1.0)),
            joint=name,
        )
        for name in joints
    ]
    return tuple(springs)


def _end(rng, links):
    return links[rng.integers(len(links))], tuple(rng.uniform(-0.3, 0.3, 3).tolist())


def joint_positions(robot, q):
    """Return the position of every joint of one coordinate, loop joints included."""
    positions = ccd.loop_positions(robot, q)
    for name in robot.joint_names:
        if name in robot.coordinate_names:
            positions[name] = q[robot.joint_slices(name)[0]][0]
    return positions


def spring_energy(robot, springs, q):
    """Return the energy stored in springs, by Hooke's law."""
    placements, positions = ccd.link_placements(robot, q), joint_positions(robot, q)
    total = 0.0
    for spring in springs:
        if spring.type == 'linear':
            ends = [
                (placements[link] @ (*xyz, 1.0))[:3]
                for link, xyz in (
                    (spring.from_link, spring.from_xyz),
                    (spring.to_link, spring.to_xyz),
                )
            ]
            stretch = np.linalg.norm(ends[1] - ends[0]) - spring.rest
        else:
            stretch = positions[spring.joint] - spring.rest
        total += 0.5 * spring.stiffness * stretch**2
    return total


def gradient(robot, energy, q):
    """Return d energy / d theta_O by central differences, (nv,)."""
    out = np.empty(robot.nv)
    for j, along in enumerate(np.eye(robot.nv)):
        ahead = energy(ccd.integrate(robot, q, DIFFERENCE_STEP * along))
        behind = energy(ccd.integrate(robot, q, -DIFFERENCE_STEP * along))
        out[j] = (ahead - behind) / (2.0 * DIFFERENCE_STEP)
    return out


@pytest.mark.parametrize('seed', range(8))
def test_in_space_springs_put_the_gradient_of_their_energy_on_every_coordinate(seed):
    description, q, rng = random_closed(seed)
    springs = random_springs(description, rng)
    plain, robot = (ccd.Mechanism(replace(description, springs=each)) for each in ((), springs))
    still = np.zeros(robot.nv)
    needed = (
        ccd.inverse_dynamics(robot, q, still, still).tau_O
        - ccd.inverse_dynamics(plain, q, still, still).tau_O
    )
    assert close(
        needed, gradient(robot, lambda at: spring_energy(robot, springs, at), q), DIFFERENCE
    )


def test_a_spring_on_an_open_loop_joint_does_nothing():
    springs = (Spring('closing', 'torsional', 9.0, 1.0, -0.3, joint='tip'),)
    robot, q, v, a = five_bar_with(springs)
    plain = five_bar_with()[0]
    closed = ccd.inverse_dynamics(robot, q, v, a).tau_O
    for each in (robot, plain):
        each.cut('tip')
    assert not close(ccd.inverse_dynamics(robot, q, v, a).tau_O, closed)
    assert close(
        ccd.inverse_dynamics(robot, q, v, a).tau_O, ccd.inverse_dynamics(plain, q, v, a).tau_O
    )


# --- losses --------------------------------------------------------------------------------------
@pytest.mark.parametrize('seed', range(8))
def test_damping_and_friction_take_exactly_their_power(seed):
    """Power is damping times rate squared, and friction times speed; never does any come back."""
    description, q, rng = random_closed(seed)
    plain = ccd.Mechanism(description)
    law = {
        each.name: Dynamics(*rng.uniform(0.1, 3.0, 2))
        for each in (*description.joints, *description.loops)
    }
    springs = tuple(
        replace(spring, stiffness=0.0) for spring in random_springs(description, rng, damping=1.7)
    )
    robot = ccd.Mechanism(
        replace(
            description,
            springs=springs,
            joints=tuple(replace(each, dynamics=law[each.name]) for each in description.joints),
            loops=tuple(replace(each, dynamics=law[each.name]) for each in description.loops),
        )
    )
    # where no motion is possible the tree may still be asked: forces do not need the loops
    v = rng.choice((-1.0, 1.0), robot.nv) * rng.uniform(0.5, 2.0, robot.nv)
    a = accelerations(robot, q, v, rng.normal(size=robot.nv))
    lost = (
        ccd.inverse_dynamics(robot, q, v, a).tau_O - ccd.inverse_dynamics(plain, q, v, a).tau_O
    ) @ v
    rates = dict(zip(robot.coordinate_names, v))
    rates.update(zip(robot.loop_coordinate_names, ccd.loop_jacobian(robot, q) @ v))
    power = sum(
        law[name.split(':')[0]].damping * rate**2 + law[name.split(':')[0]].friction * abs(rate)
        for name, rate in rates.items()
    )
    for spring in springs:
        if spring.type == 'torsional':
            power += spring.damping * rates[spring.joint] ** 2
        else:
            ahead, behind = (
                _length(robot, spring, ccd.integrate(robot, q, sign * DIFFERENCE_STEP * v))
                for sign in (1.0, -1.0)
            )
            power += spring.damping * ((ahead - behind) / (2.0 * DIFFERENCE_STEP)) ** 2
    assert lost == pytest.approx(power, rel=DIFFERENCE)
    assert lost > 0.0


def _length(robot, spring, q):
    ends = [
        (ccd.link_placement(robot, q, link) @ (*xyz, 1.0))[:3]
        for link, xyz in ((spring.from_link, spring.from_xyz), (spring.to_link, spring.to_xyz))
    ]
    return np.linalg.norm(ends[1] - ends[0])


@pytest.mark.parametrize('cut', ['pin', 'crank'])
def test_friction_is_odd_full_at_any_speed_worth_the_name_and_zero_at_rest(cut):
    """On a joint of the tree and on the same joint cut."""
    answers = []
    for friction in (0.0, 2.5):
        description, positions = four_bar(cut, crank={'dynamics': Dynamics(friction=friction)})
        robot = ccd.Mechanism(description, gravity=GRAVITY)
        answers.append(
            [
                ccd.inverse_dynamics(
                    robot, *moving_state(robot, positions, (2.2,), (rate,), (0.0,))
                ).tau_A[0]
                for rate in (0.0, 0.1, 3.0, -0.1, -3.0)
            ]
        )
    assert np.subtract(*answers[::-1]) == pytest.approx(
        [0.0, 2.5, 2.5, -2.5, -2.5], abs=ROUNDING * 100
    )


# --- limit moments -------------------------------------------------------------------------------
STIFFNESS, TRANSITION, LOWER, UPPER = 200.0, 0.05, -0.4, 0.6


def hinge(damping=0.0, transition=TRANSITION):
    """Return a weightless-like hinge: one joint, no gravity, with limit moments."""
    description = linkage(
        'hinge',
        {'door': Body(1.0, (0.3, 0.0, 0.0))},
        [
            Joined(
                'hinge',
                'ground',
                'door',
                (0.0, 0.0, 0.0),
                limit=Limit(LOWER, UPPER),
                limit_moment=LimitMoment('linear', STIFFNESS, damping, transition),
            )
        ],
        actuated=('hinge',),
    )
    return ccd.Mechanism(description, gravity=(0.0, 0.0, 0.0))


def moment(robot, position, rate=0.0):
    """Return the moment that a limit puts on the hinge; the load of its motion is taken off."""
    a = np.zeros(1)
    return -ccd.inverse_dynamics(robot, np.array([position]), np.array([rate]), a).tau_A[0]


def test_a_limit_moment_grows_quadratically_through_the_transition_and_then_linearly():
    robot = hinge()
    inner = UPPER - TRANSITION
    for position in (-0.3, 0.0, inner):
        assert moment(robot, position) == 0.0
    for depth in (0.01, 0.025, 0.0499):
        assert moment(robot, inner + depth) == pytest.approx(
            -STIFFNESS * depth**2 / (2.0 * TRANSITION), rel=1e-10
        )
    assert moment(robot, UPPER) == pytest.approx(-STIFFNESS * TRANSITION / 2.0, rel=1e-10)
    for beyond in (0.0, 0.1, 0.3):
        assert moment(robot, UPPER + beyond) == pytest.approx(
            -STIFFNESS * (TRANSITION / 2.0 + beyond), rel=1e-10
        )


def test_the_lower_limit_is_the_mirror_of_the_upper():
    robot = hinge(damping=1.5)
    for depth, rate in ((0.02, 0.3), (0.2, -0.7), (0.05, 0.0), (-0.1, 2.0)):
        assert moment(robot, LOWER - depth, -rate) == pytest.approx(
            -moment(robot, UPPER + depth, rate), rel=1e-12, abs=1e-12
        )


def test_a_limit_moment_and_its_stiffness_are_continuous():
    robot = hinge()
    tiny = 1e-7
    for position in (UPPER - TRANSITION, UPPER, LOWER, LOWER + TRANSITION):
        below, at, above = (moment(robot, position + step) for step in (-tiny, 0.0, tiny))
        assert abs(above - below) <= 2.0 * STIFFNESS * tiny * (1.0 + 1e-6)
        # the slope changes by no more than its own growth over the step
        assert abs((above - at) - (at - below)) <= 2.0 * STIFFNESS / TRANSITION * tiny**2 + 1e-13
    hard = hinge(transition=0.0)
    assert moment(hard, UPPER) == 0.0
    assert moment(hard, UPPER + 0.1) == pytest.approx(-STIFFNESS * 0.1, rel=1e-10)


def stored(depth):
    """Return the energy of a limit entered by `depth`: the integral of its moment."""
    inside, beyond = min(max(depth, 0.0), TRANSITION), max(depth - TRANSITION, 0.0)
    return STIFFNESS * (
        inside**3 / (6.0 * TRANSITION) + TRANSITION * beyond / 2.0 + beyond**2 / 2.0
    )


@pytest.mark.parametrize('cut', ['pin', 'crank'])
def test_without_damping_a_limit_gives_back_all_of_its_energy(cut):
    """The moment is the gradient of an energy, on a joint of the tree and where it is cut."""
    law = {
        'limit': Limit(-0.5, 0.4),
        'limit_moment': LimitMoment('linear', STIFFNESS, 0.0, TRANSITION),
    }
    for theta in (1.38, 1.7, 0.53, 0.2, 1.1):  # described at 1: the limits are 0.5 and 1.4
        torques = []
        for laws in ({}, {'crank': law}):
            description, positions = four_bar(cut, **laws)
            robot = ccd.Mechanism(description, gravity=GRAVITY)
            torques.append(
                ccd.inverse_dynamics(
                    robot, *moving_state(robot, positions, (theta,), (2.0,), (1.0,))
                ).tau_A[0]
            )
        above, below = theta - 1.4 + TRANSITION, 0.5 + TRANSITION - theta
        step = 1e-6
        expected = (
            (stored(above + step) - stored(above - step))
            - (stored(below + step) - stored(below - step))
        ) / (2.0 * step)
        assert torques[1] - torques[0] == pytest.approx(expected, abs=DIFFERENCE * STIFFNESS)


def test_the_damping_of_a_limit_only_takes_energy_and_only_inside_it():
    elastic, damped = hinge(), hinge(damping=3.0)
    for position in np.linspace(LOWER - 0.1, UPPER + 0.1, 41):
        for rate in (-2.0, 0.5):
            loss = -(moment(damped, position, rate) - moment(elastic, position, rate)) * rate
            depth = max(position - UPPER, LOWER - position) + TRANSITION
            share = min(max(depth / TRANSITION, 0.0), 1.0)
            assert loss == pytest.approx(3.0 * share * rate**2, abs=1e-10)


# --- external wrenches ---------------------------------------------------------------------------
@pytest.mark.parametrize('seed', range(6))
def test_an_external_wrench_takes_its_share_off_through_the_jacobian(seed):
    description, q, rng = random_closed(seed, joints=12)
    robot = ccd.Mechanism(description)
    v = rng.normal(size=robot.nv)
    a = rng.normal(size=robot.nv)
    wrenches = {link: rng.normal(size=6) for link in robot.link_names}
    expected = -sum(ccd.jacobian(robot, q, link).T @ wrench for link, wrench in wrenches.items())
    difference = (
        ccd.inverse_dynamics(robot, q, v, a, wrenches=wrenches).tau_O
        - ccd.inverse_dynamics(robot, q, v, a).tau_O
    )
    assert close(difference, expected, 1e-11)


# --- everything at once --------------------------------------------------------------------------
def test_forward_of_inverse_is_the_identity_with_every_force_on():
    springs = (
        Spring(
            'stretched',
            'linear',
            130.0,
            2.0,
            0.35,
            'left',
            (0.1, 0.2, 0.0),
            'right_distal',
            (-0.2, 0.1, 0.0),
        ),
        Spring('wound', 'torsional', 12.0, 0.4, 0.2, joint='left_elbow'),
        Spring('closing', 'torsional', 9.0, 0.3, -0.3, joint='tip'),
    )
    stop = LimitMoment('linear', 150.0, 0.7, 0.1)
    laws = {
        'left': {'dynamics': Dynamics(0.3, 0.2)},
        'right_elbow': {
            'dynamics': Dynamics(0.1, 0.4),
            'limit': Limit(-0.1, 0.1),
            'limit_moment': stop,
        },
        'tip': {'dynamics': Dynamics(0.2, 0.3), 'limit': Limit(-0.05, 0.05), 'limit_moment': stop},
    }
    wrenches = {'left_distal': (1.0, -2.0, 0.5, 0.3, -0.1, 0.9), 'right': (0.0, 3.0, 0, 0, 0, 1.0)}
    for motors in (('left', 'right'), ('tip', 'right'), ('left', 'left_elbow', 'tip', 'right')):
        robot, q, v, a = five_bar_with(springs, motors, **laws)
        result = ccd.inverse_dynamics(robot, q, v, a, wrenches=wrenches)
        assert np.abs(result.residual).max() < CHAIN
        forward = ccd.forward_dynamics(robot, q, v, result.tau_A, wrenches=wrenches)
        assert close(forward.acceleration, a, 1e-11)


@pytest.mark.parametrize('seed', range(12))
def test_random_mechanisms_with_every_force_on_come_back_from_inverse_dynamics(seed):
    description, q, rng = random_closed(seed, joints=14, damping=2.0)
    joints = tuple(
        replace(
            joint,
            dynamics=Dynamics(1.0, 0.5),
            limit=Limit(-1.0, 1.0),
            limit_moment=LimitMoment('linear', 40.0, 0.5, 0.2),
        )
        if joint.type.nv == 1
        else joint
        for joint in description.joints
    )
    loops = tuple(
        replace(
            loop,
            dynamics=Dynamics(0.7, 0.3),
            limit=Limit(-0.5, 0.5),
            limit_moment=LimitMoment('linear', 30.0, 0.4, 0.1),
        )
        for loop in description.loops
    )
    names = [joint.name for joint in moving_joints(description)]
    motors = [name for name in names if rng.random() < 0.6] + [loops[0].name]
    robot = ccd.Mechanism(
        replace(
            description,
            joints=joints,
            loops=loops,
            springs=random_springs(description, rng, 1.0),
            actuators=tuple(Actuator(name) for name in motors),
        )
    )
    c = ccd.coordinates(robot, q)
    if not c.mobility or c.condition > 1e6:
        pytest.skip('this one cannot move, or is close to a singularity')
    v = c.W @ rng.normal(size=c.mobility)
    a = accelerations(robot, q, v, rng.normal(size=robot.nv))
    wrenches = {link: rng.normal(size=6) for link in robot.link_names[::2]}
    result = ccd.inverse_dynamics(robot, q, v, a, wrenches=wrenches)
    extra = np.zeros(robot.nv)
    extra[[robot.coordinate_names.index(name) for name in c.independent]] = result.residual
    forward = ccd.forward_dynamics(robot, q, v, result.tau_A, extra=extra, wrenches=wrenches)
    size = np.abs(result.tau_O).max()
    A = c.W.T @ ccd.mass_matrix(robot, q) @ c.W
    assert (
        np.abs(
            A
            @ (forward.acceleration - a)[
                [robot.coordinate_names.index(name) for name in c.independent]
            ]
        ).max()
        < CHAIN * size
    )
