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

"""Rows of J_C, their bias and the position errors belong together, for every loop and coupling."""

from dataclasses import replace

from helpers.random_mechanisms import (
    moving_joints,
    random_description,
    random_loops,
    random_state,
    relative_error,
)
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import Coupling, CouplingTerm, JointType, LoopType

STEP = 1e-6
# Central differences with this step: rounding 1e-16 / 1e-6 and curvature 1e-12, with sizes of a
# few metres and rates of a few units on top.
FIRST_DIFFERENCE = 2e-8
SECOND_STEP = 1e-4
SECOND_DIFFERENCE = 5e-6  # rounding 1e-16 / 1e-8, curvature 1e-8, times sizes as above
CLOSED = 1e-12  # rounding of the generator and of a chain of twenty placements


def robot_with_loop(kind, seed, n_joints=8):
    """Return a mechanism with one loop of a kind that is closed at the configuration q."""
    rng = np.random.default_rng([seed, list(LoopType).index(kind)])
    tree = random_description(rng, n_joints, damping=0.0)
    q, v, _ = random_state(rng, tree)
    return ccd.Mechanism(random_loops(rng, tree, q, 1, (kind,))), q, v, rng


def move(robot, q, v, t):
    """Return the configuration after the time t at constant velocities."""
    return ccd.integrate(robot, q, t * v)


@pytest.mark.parametrize('kind', list(LoopType), ids=lambda kind: kind.value)
def test_a_loop_has_the_rows_of_the_table_and_vanishing_errors_where_it_is_closed(kind):
    rows = {
        'fixed': 6,
        'revolute': 5,
        'prismatic': 5,
        'cylindrical': 4,
        'universal': 4,
        'spherical': 3,
        'planar': 3,
        'surface': 1,
        'free': 0,
    }
    for seed in range(5):
        robot, q, _, _ = robot_with_loop(kind, seed)
        J_C, error, _ = ccd.constraint_jacobian(robot, q)
        assert J_C.shape == (rows[kind.value], robot.nv)
        assert np.abs(error).max(initial=0.0) < CLOSED


@pytest.mark.parametrize('where', ['closed', 'open'])
@pytest.mark.parametrize('kind', list(LoopType)[:-1], ids=lambda kind: kind.value)
def test_j_c_is_the_derivative_of_the_errors(kind, where):
    for seed in range(4):
        robot, q, v, rng = robot_with_loop(kind, seed)
        if where == 'open':
            q = move(robot, q, rng.normal(size=robot.nv), 0.3)
        J_C, _, _ = ccd.constraint_jacobian(robot, q)
        for _ in range(3):
            v = rng.normal(size=robot.nv)
            ahead = ccd.constraint_jacobian(robot, move(robot, q, v, STEP))[1]
            behind = ccd.constraint_jacobian(robot, move(robot, q, v, -STEP))[1]
            assert (
                relative_error(J_C @ v, (ahead - behind) / (2.0 * STEP), at_least=1.0)
                < FIRST_DIFFERENCE
            )


@pytest.mark.parametrize('where', ['closed', 'open'])
@pytest.mark.parametrize('kind', list(LoopType)[:-1], ids=lambda kind: kind.value)
def test_the_bias_is_the_second_derivative_of_the_errors_at_constant_rates(kind, where):
    for seed in range(4):
        robot, q, v, rng = robot_with_loop(kind, seed)
        if where == 'open':
            q = move(robot, q, rng.normal(size=robot.nv), 0.3)
        _, here, bias = ccd.constraint_jacobian(robot, q, v)
        ahead = ccd.constraint_jacobian(robot, move(robot, q, v, SECOND_STEP))[1]
        behind = ccd.constraint_jacobian(robot, move(robot, q, v, -SECOND_STEP))[1]
        second = (ahead - 2.0 * here + behind) / SECOND_STEP**2
        assert relative_error(bias, second, at_least=1.0) < SECOND_DIFFERENCE


def coupled(seed):
    """Return a mechanism with a polynomial coupling of up to four of its joints."""
    rng = np.random.default_rng(seed)
    tree = random_description(
        rng, 10, shares={JointType.REVOLUTE: 0.7, JointType.PRISMATIC: 0.3}, damping=0.0
    )
    names = [joint.name for joint in moving_joints(tree) if joint.type.nv == 1][:4]
    terms = tuple(CouplingTerm(name, tuple(rng.normal(size=rng.integers(1, 5)))) for name in names)
    coupling = Coupling('gears', terms, constant=float(rng.normal()))
    robot = ccd.Mechanism(replace(tree, couplings=(coupling,)))
    q, v, _ = random_state(rng, tree)
    return robot, q, v, coupling


def test_a_coupling_is_its_polynomial_with_exact_derivatives():
    for seed in range(10):
        robot, q, v, coupling = coupled(seed)
        J_C, error, bias = ccd.constraint_jacobian(robot, q, v)
        value, row, second = coupling.constant, np.zeros(robot.nv), 0.0
        for term in coupling.terms:
            iq, iv = robot.joint_slices(term.joint)
            polynomial = np.polynomial.Polynomial([0.0, *term.coefficients])
            value += polynomial(q[iq][0])
            row[iv] = polynomial.deriv()(q[iq][0])
            second += polynomial.deriv(2)(q[iq][0]) * v[iv][0] ** 2
        assert error[0] == pytest.approx(value, abs=1e-13)
        np.testing.assert_allclose(J_C[0], row, atol=1e-13)
        assert bias[0] == pytest.approx(second, abs=1e-12)


@pytest.mark.parametrize(
    'kind',
    [LoopType.REVOLUTE, LoopType.PRISMATIC, LoopType.CYLINDRICAL, LoopType.UNIVERSAL],
    ids=lambda kind: kind.value,
)
def test_positions_of_a_loop_joint_have_the_rates_of_the_loop_jacobian(kind):
    """Along motions that keep the loop closed: only there has a cut joint a position."""
    for seed in range(5):
        robot, q, _, rng = robot_with_loop(kind, seed, n_joints=12)
        c = ccd.coordinates(robot, q)
        v = c.W @ rng.normal(size=c.mobility)
        rate = ccd.loop_jacobian(robot, q) @ v
        ahead = ccd.loop_positions(robot, move(robot, q, v, STEP))
        behind = ccd.loop_positions(robot, move(robot, q, v, -STEP))
        turned = np.array([ahead[name] - behind[name] for name in ahead])
        turned = (turned + np.pi) % (2.0 * np.pi) - np.pi
        # leaving the loop by curvature, STEP squared, does not count against FIRST_DIFFERENCE
        assert relative_error(rate, turned / (2.0 * STEP), at_least=1.0) < FIRST_DIFFERENCE


def test_an_open_loop_has_no_rows():
    robot, q, _, _ = robot_with_loop(LoopType.REVOLUTE, 0)
    robot.cut('loop_0' if 'loop_0' in robot.loop_names else robot.loop_names[0])
    assert ccd.constraint_jacobian(robot, q)[0].shape == (0, robot.nv)
    robot.connect(robot.loop_names[0])
    assert ccd.constraint_jacobian(robot, q)[0].shape == (5, robot.nv)
