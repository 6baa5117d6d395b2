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

"""Tree dynamics against finite differences, and powers against energies, on random trees."""

from helpers.random_trees import CHUNKS, TREES_PER_CHUNK, Case
import numpy as np
import pinocchio as pin
import pytest

import closed_chain_dynamics as ccd

# A five-point stencil of step 1e-3 leaves h^4 / 30 of a fifth derivative, and rounding over h. The
# worst below, with all joints of a long chain turning at once, is 5e-11.
FINITE_DIFFERENCE = 1e-9
STENCIL_STEP = 1e-3
# Lengths and rates of the trees are about one: what comes out of them is rounded to a unit like
# this, even where it happens to vanish.
UNIT = 1.0


@pytest.fixture(scope='module')
def some_cases():
    """Return one in five trees: finite differences take a hundred evaluations each."""
    return [Case(seed) for seed in range(0, CHUNKS * TREES_PER_CHUNK, 5)]


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
