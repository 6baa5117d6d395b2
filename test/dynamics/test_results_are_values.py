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

"""Results mean the same later, whatever happens to the mechanism, to q or to a simulation."""

from helpers.folding_linkages import four_bar, parallel_pose, parallelogram
import numpy as np
import pytest

import closed_chain_dynamics as ccd

SAME = 1e-12  # the same computation on another copy of the mechanism
BALANCE = 1e-10  # relative: both sides of the equation of motion, from different algorithms
LOOP, TORQUE = 'coupler_rocker', 2.5


@pytest.fixture
def state():
    """Return a closed four-bar in motion: robot, q, v, a."""
    robot = ccd.load('four_bar')
    q = ccd.assemble(robot, {'crank': 0.7})
    v = ccd.complete_velocity(robot, q, {'crank': 1.3})
    return robot, q, v, ccd.complete_acceleration(robot, q, v, {'crank': -0.4})


def cut_the_loop(robot, q):
    robot.cut(LOOP)


def overwrite_the_pose(robot, q):
    q[:] = ccd.assemble(robot.copy(), {'crank': 2.1})


def turn_gravity_round(robot, q):
    robot.gravity = (0.0, 0.0, 9.80665)


def compute_elsewhere(robot, q):
    other = ccd.assemble(robot, {'crank': 2.9})
    ccd.forward_dynamics(robot, other, np.ones(robot.nv), wrenches={'coupler_link': np.ones(6)})


CHANGES = [cut_the_loop, overwrite_the_pose, turn_gravity_round, compute_elsewhere]


def facts_of_coordinates(c):
    return [c.W, c.H, c.S, c.J_C, c.q, c.condition, c.mobility, c.redundant_rows, str(c)]


def facts_of_inverse(r):
    return [
        r.q,
        r.v,
        r.a,
        r.tau_O,
        r.tau_G,
        r.tau_A,
        r.residual,
        r.coordinates.W,
        *r.check().values(),
    ]


def facts_of_forward(f):
    return [f.q, f.v, f.tau_A, f.A, f.b, f.tau_G, f.constraint_forces, *f.check().values()]


def facts_of_reactions(w):
    return [w.equilibrium(), w.multipliers, w.missing, *(w[name].wrench for name in w)]


def assert_same(now, then):
    assert len(now) == len(then)
    for one, two in zip(now, then):
        if isinstance(one, str):
            assert one == two
        else:
            np.testing.assert_allclose(one, two, atol=SAME)


@pytest.mark.parametrize('change', CHANGES)
@pytest.mark.parametrize(
    ('ask', 'facts'),
    [
        (lambda robot, q, v, a: ccd.coordinates(robot, q), facts_of_coordinates),
        (ccd.inverse_dynamics, facts_of_inverse),
        (lambda robot, q, v, a: ccd.forward_dynamics(robot, q, v, [TORQUE]), facts_of_forward),
        (ccd.reactions, facts_of_reactions),
    ],
    ids=['coordinates', 'inverse', 'forward', 'reactions'],
)
def test_nothing_that_happens_later_changes_a_result(state, change, ask, facts):
    robot, q, v, a = state
    then = facts(ask(robot.copy(), q.copy(), v.copy(), a.copy()))
    result = ask(robot, q, v, a)
    change(robot, q)
    assert_same(facts(result), then)


def test_a_result_outlives_the_steps_of_its_simulation(state):
    robot, q, v, _ = state
    sim = ccd.Simulation(robot, q=q, v=v, dt=1e-3)
    here = sim.q.copy(), sim.v.copy()
    then = facts_of_forward(ccd.forward_dynamics(robot.copy(), *here, [TORQUE]))
    result = ccd.forward_dynamics(sim.robot, sim.q, sim.v, [TORQUE])
    sim.run(0.2)
    sim.cut(LOOP)
    sim.run(0.1)
    assert np.abs(sim.q - here[0]).max() > 0.01
    assert_same(facts_of_forward(result), then)


def test_a_new_choice_of_coordinates_leaves_older_results_alone():
    """A rocker drives the crank through its dead points: there another joint takes over."""
    robot = four_bar(1.0, 0.3, 0.9, 0.7, actuated=('rocker',))
    q = ccd.assemble(robot, {'crank': 0.5})
    v = ccd.complete_velocity(robot, q, {'crank': 1.0})
    first = ccd.inverse_dynamics(robot, q, v, ccd.complete_acceleration(robot, q, v, {}))
    chosen = {ccd.coordinates(robot, q).independent[0]}
    # crank and coupler in line: a triangle of 1.2, 1.0 and 0.7
    dead = np.arccos((1.2**2 + 1.0**2 - 0.7**2) / (2.0 * 1.2))
    for angle in (dead, -dead):
        q = ccd.assemble(robot, {'crank': angle}, start=q)
        chosen.add(ccd.coordinates(robot, q).independent[0])
    assert len(chosen) > 1  # the robot has chosen anew
    np.testing.assert_allclose(first.coordinates.W.T @ first.tau_O, first.tau_G, rtol=BALANCE)
    assert np.abs(first.residual).max() < BALANCE * np.abs(first.tau_G).max()


def test_what_is_done_to_an_answer_does_not_change_it(state):
    robot, q, v, a = state
    result = ccd.inverse_dynamics(robot, q, v, a)
    torque = result.tau_A[0]
    result.tau_A[:] = 0.0
    assert result.tau_A[0] == torque != 0.0
    with pytest.raises(AttributeError, match='tau_A'):
        result.tau_A = np.zeros(1)
    with pytest.raises(AttributeError, match='singular'):
        result.singular = True
    with pytest.raises(ValueError, match='read-only'):
        result.coordinates.W[:] = 0.0


def test_an_impact_is_not_the_state_of_the_simulation_that_goes_on(state):
    robot, q, _, _ = state
    found = ccd.impact(robot, q, np.array([1.0, 0.0, 0.0]))
    after = found.v_after.copy()
    sim = ccd.Simulation(robot, q=q, v=found.v_after, dt=1e-3)
    sim.run(0.1)
    np.testing.assert_array_equal(found.v_after, after)


@pytest.mark.parametrize('torque', [0.0, TORQUE])
def test_the_equation_of_motion_is_a_check_of_the_accelerations(state, torque):
    """A theta_G'' + b = tau_G, with b of the state and not of the answer."""
    robot, q, v, _ = state
    push = {'coupler_link': np.array([1.0, -2.0, 0.5, 0.1, 0.2, -0.3])}
    extra = np.array([0.3, -0.1, 0.2])
    f = ccd.forward_dynamics(robot, q, v, [torque], wrenches=push, extra=extra)
    other = ccd.forward_dynamics(robot, q, v, [7.0], wrenches=push)
    np.testing.assert_array_equal(f.b, other.b)
    missing = f.A @ f.theta_G_acceleration + f.b - f.tau_G
    assert np.abs(missing).max() < BALANCE * np.abs(f.b).max()
    # and the check can fail: it is not computed from the answer
    still = ccd.forward_dynamics(robot, q, np.zeros(robot.nv), [torque], wrenches=push)
    assert np.abs(still.b - f.b).max() > 1e-3 * np.abs(f.b).max()


def test_wrenches_act_on_one_computation_even_when_it_fails(state):
    robot, q, v, a = state
    alone = ccd.inverse_dynamics(robot, q, v, a).tau_A
    push = {'coupler_link': np.full(6, 10.0)}
    with pytest.raises(ccd.StateError):
        ccd.inverse_dynamics(robot, q, np.full(robot.nv, np.nan), a, wrenches=push)
    np.testing.assert_array_equal(ccd.inverse_dynamics(robot, q, v, a).tau_A, alone)
    with pytest.raises(ccd.StateError):
        ccd.forward_dynamics(robot, q, v, extra=[1.0, np.nan, 0.0], wrenches=push)
    free = ccd.forward_dynamics(robot, q, v).acceleration
    np.testing.assert_array_equal(ccd.forward_dynamics(robot.copy(), q, v).acceleration, free)


def test_a_computation_that_fails_has_taught_nothing_about_the_rank():
    """The rank away from singular poses is learnt from a closed pose, not from an error."""
    robot = parallelogram()
    with pytest.raises(ccd.StateError, match='open'):
        ccd.coordinates(robot, parallel_pose(robot, 0.0) + np.array([0.0, 0.3, 0.0]))
    folded = ccd.coordinates(robot, parallel_pose(robot, 0.0))
    assert folded.lost_rank == 1 and folded.is_singular
