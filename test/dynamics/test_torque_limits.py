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

"""Actuator torques within their limits: exact, of least norm, or as near as motors can come."""

from helpers.bar_linkages import five_bar, four_bar
from helpers.comparing import ROUNDING, close
from helpers.driven_linkages import mechanism, needed
from helpers.planar_linkages import Body, Joined, linkage
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import Limit
from closed_chain_dynamics.dynamics.actuation import actuator_torques


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
