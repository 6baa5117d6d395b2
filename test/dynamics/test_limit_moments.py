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

"""Moments at the limits of joints against the energy that they store."""

from helpers.bar_linkages import four_bar
from helpers.driven_linkages import GRAVITY
from helpers.planar_linkages import Body, Joined, linkage, moving_state
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import Limit, LimitMoment

# Central differences of energies of some ten joule: rounding 1e-15 / 1e-6, curvature 1e-12
DIFFERENCE = 1e-7
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
