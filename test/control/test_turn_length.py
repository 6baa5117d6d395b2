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

"""Laws stay stable in turns as long, late and uneven as they come: closed forms, then a leg."""

from collections import deque

from helpers.controlled_runs import PERIOD, ControlledRun
from hypothesis import given, settings, strategies as st
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.control.fallback import damping_torques
from closed_chain_dynamics.control.feel import Feel
from closed_chain_dynamics.control.held_gains import held_alone, held_together, longest_turn
from closed_chain_dynamics.control.turn_length import FORGOTTEN, UNKNOWN, TurnLength

PAGE = {  # of docs/pages/exo_leg.md
    'hip': (150.0, 8.0),
    'knee': (100.0, 6.0),
    'ankle_pitch': (40.0, 0.5),
    'ankle_roll': (20.0, 0.2),
}
CIRCLE = 1.0 + 1e-9  # roots of a stable system are within it; a spring of nothing is on it
LIGHTER = 0.5  # of its model a device may be
PUSH = 0.3  # on the foot, which the softest law still holds within its limits [N m]
logs = st.floats(-6.0, 6.0).map(lambda exponent: 10.0**exponent)


def largest_root(k, d, m, T):
    """Return the largest root of springs and dampers in turns T, each a turn late; matrices."""
    n = len(k)
    one, none, inverse = np.eye(n), np.zeros((n, n)), np.linalg.inv(m)
    step = np.block(  # of x, v and the force that acts, which was computed a turn ago
        [[one, T * one, 0.5 * T**2 * inverse], [none, one, T * inverse], [-k, -d, none]]
    )
    return np.abs(np.linalg.eigvals(step)).max()


@given(logs, logs | st.just(0.0), logs, st.floats(1e-4, 0.2))
@settings(max_examples=300, deadline=None)
def test_any_spring_and_damper_is_held_a_turn_late(k, d, m, T):
    """The roots of the discrete system by numpy, also for a device that is lighter."""
    held_k, held_d = held_alone(np.array([k]), np.array([d]), m, T)
    assert 0.0 < held_k[0] <= k
    for mass in (m, LIGHTER * m):
        root = largest_root(*(np.array([[x]]) for x in (held_k[0], held_d[0], mass)), T)
        assert root < CIRCLE


@pytest.mark.parametrize('damping', [0.05, 0.3, 0.6, 0.9])
def test_the_closed_form_is_the_edge_of_stability(damping):
    """delta - (delta - kappa / 2)^2 = 3/2 kappa, in turns of one on an inertia of one."""
    kappa = np.roots([-0.25, damping - 1.5, damping - damping**2])
    kappa = kappa[kappa > 0.0][0]
    for share, is_stable in ((0.99, True), (1.01, False)):
        k, d, m = (np.array([[x]]) for x in (share * kappa, damping, 1.0))
        assert (largest_root(k, d, m, 1.0) < 1.0) == is_stable


def test_gains_are_as_given_in_turns_that_hold_them():
    """Up to the longest turn, and not beyond."""
    k, d = np.array([400.0, 900.0]), np.array([40.0, 60.0])
    T = longest_turn(k, d)
    assert all(map(np.array_equal, held_alone(k, d, 1.0, 0.999 * T), (k, d)))
    assert not all(map(np.array_equal, held_alone(k, d, 1.0, 1.001 * T), (k, d)))


@pytest.mark.parametrize('T', [1e-3, 5e-3, 0.02, 0.1])
@pytest.mark.parametrize('space', ['joint', 'actuator'])
def test_springs_of_a_closed_chain_are_held_together(T, space):
    """Of the whole leg, linear about a pose: passive joints, a light foot, stiff and undamped."""
    leg = ccd.load('exo_leg')
    q = ccd.assemble(leg, {'ankle_pitch': 0.2, 'ankle_roll': 0.1}, start=np.zeros(leg.nq))
    c = ccd.coordinates(leg, q)
    A = c.W.T @ ccd.mass_matrix(leg, q) @ c.W
    names = list(PAGE) if space == 'joint' else leg.actuator_names
    rows = np.eye(leg.nv)[[leg.joint_slices(name)[1].start for name in names]]
    R = rows @ c.W
    for k, d in (
        np.array(list(PAGE.values())).T,
        ([500.0] * 4, [0.0] * 4),
        ([1.0] * 4, [99.0] * 4),
    ):
        given_gains = np.array(k), np.array(d)
        K, D = ((R.T * each) @ R for each in held_together(leg, q, rows, given_gains, T))
        for mass in (A, LIGHTER * A):
            assert largest_root(K, D, mass, T) < CIRCLE


def test_a_light_foot_does_not_make_a_hip_soft():
    """What the foot cannot hold is taken from the foot."""
    leg = ccd.load('exo_leg')
    rows = np.eye(leg.nv)[[leg.joint_slices(name)[1].start for name in PAGE]]
    k, d = np.array(list(PAGE.values())).T
    held = held_together(leg, ccd.assemble(leg, {}), rows, (k, d), 0.01)[0] / k
    assert held[0] > 0.5 and held[2] < 0.2


# --- how long turns are --------------------------------------------------------------------------
def test_a_turn_is_as_long_as_the_longest_of_late():
    """At once longer; shorter again slowly; by the age where that is more; pauses do not count."""
    turns = TurnLength()
    turns.take(10.0, 0.0, stood=False)
    assert turns.now == UNKNOWN
    turns.take(10.001, 0.0, stood=True)
    assert turns.now == pytest.approx(1e-3)
    turns.take(10.021, 0.0, stood=True)
    assert turns.now == pytest.approx(0.02)
    turns.take(10.021 + FORGOTTEN, 0.0, stood=False)  # the fallback was sent meanwhile
    assert turns.now == pytest.approx(0.02 / np.e)
    turns.take(11.1, 0.03, stood=True)
    assert turns.now == pytest.approx(max(11.1 - 10.021 - FORGOTTEN, 0.03))
    turns.take(11.1001, 1e9, stood=True)  # stamps of another clock tell no age
    assert turns.now < 0.1
    turns.take(3.0, 0.0, stood=True)  # a clock that started anew
    assert turns.now < 0.1


# --- a leg in such turns -------------------------------------------------------------------------
def pushed(periods, delay, **law):
    """
    Return a run of the leg in turns of some periods [ms], torques some turns late, and its speeds.

    Somebody pushes the foot for a tenth of a second after a quarter of the turns.
    """
    run = ControlledRun('exo_leg', **law)
    if law['mode'] == 'computed_torque':
        run.loop.take_reference(['hip'], [0.1], [[run.position('hip')]])
    late, speeds = deque([run.tau] * delay), []
    begin = run.sim.time + 0.25 * sum(periods) * PERIOD
    for steps in periods:
        run.take()
        late.append(run.tau)
        tau = late.popleft()
        for _ in range(steps):
            is_pushed = begin <= run.sim.time < begin + 0.1
            run.sim.apply_wrench('foot', [0, 0, 0, 0, PUSH, 0] if is_pushed else None)
            run.sim.step(tau)
            speeds.append(np.abs(run.sim.v).max())
    return run, np.array(speeds)


def uneven(seed, count):
    """Return periods of a busy machine [ms]: 5 ms, and now and then several at once."""
    rng = np.random.default_rng(seed)
    return 5 * np.where(rng.random(count) < 0.2, rng.integers(2, 9, count), 1)


@pytest.mark.parametrize('delay', [0, 1])
@pytest.mark.parametrize('turn', [1, 2, 5, 10, 20, 'uneven'])
@pytest.mark.parametrize('mode', ['impedance', 'computed_torque'])
def test_a_leg_is_held_in_turns_of_any_length(turn, delay, mode):
    """At 1000 to 50 Hz, even and uneven, at once and a turn late: it calms down, without fault."""
    periods = uneven(1, 150) if turn == 'uneven' else [turn] * max(60, 600 // turn)
    law = {'feel': Feel(PAGE)} if mode == 'impedance' else {'kp': 2500.0, 'kd': 100.0}
    run, speeds = pushed(periods, delay, mode=mode, **law)
    assert not run.loop.safety.is_fault and not run.loop.reason, str(run.loop.safety)
    assert speeds[-50:].max() < 0.3 * speeds.max()
    told = run.loop.describe()['share of the impedance that is held']
    assert (run.loop.safety.cause == 'slow turns') == (told < 0.5)


@pytest.mark.parametrize('turn', [1, 10, 50])
def test_the_fallback_brakes_in_turns_of_any_length(turn):
    """Damping that a turn can hold never makes a joint faster."""
    leg = ccd.load('exo_leg')
    sim = ccd.Simulation(leg, q=ccd.assemble(leg, {}), dt=PERIOD, log_every=0)
    sim.v = ccd.complete_velocity(leg, sim.q, {'ankle_pitch': 2.0})
    still = sim.energy().kinetic
    for _ in range(10):
        tau = damping_torques(leg, sim.q, sim.v, 50.0, turn * PERIOD)
        for _ in range(turn):
            sim.step(tau)
    assert sim.energy().kinetic < still
