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
Properties of random sets of contacts on one and two bodies, judged by linear programs.

An inscribed polygon in every friction cone: where it has forces that hold, nothing may move. A
circumscribed one: where it has none, something must.
"""

from helpers.touching_bodies import RandomContacts
from hypothesis import given, settings, strategies as st
import numpy as np
import pytest
from scipy.optimize import linprog

import closed_chain_dynamics as ccd

SIDES = 96  # of the polygons: inscribed and circumscribed differ by 5e-4
CLEAR = 1e-3  # share of the friction between the two questions, so that each has a clear answer


def can_hold(case, factor):
    """Return whether forces in polygons with `factor` times the friction hold all bodies."""
    E, g = case.balance()
    columns = []
    for i, (_, _, _, normal, mu) in enumerate(case.touches):
        one = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
        one /= np.linalg.norm(one)
        two = np.cross(normal, one)
        for angle in 2.0 * np.pi * np.arange(SIDES) / SIDES:
            edge = normal + factor * mu * (np.cos(angle) * one + np.sin(angle) * two)
            columns.append(E[:, 3 * i : 3 * i + 3] @ edge)
    A = np.column_stack(columns)
    result = linprog(np.ones(A.shape[1]), A_eq=A, b_eq=-g, bounds=(0.0, None), method='highs')
    return result.status == 0


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.integers(1, 2), st.sampled_from([1.0, 1.4]))
def test_contacts_hold_exactly_when_any_forces_in_their_cones_do(seed, bodies, static):
    case = RandomContacts(np.random.default_rng(seed), bodies, static=static)
    sim = ccd.Simulation(case.robot, q=case.q, dt=1e-3)
    sim.run(2e-3)
    still = np.abs(sim.v).max() < 1e-9
    if can_hold(case, 1.0 - CLEAR):
        assert still
    elif not can_hold(case, (1.0 + CLEAR) / np.cos(np.pi / SIDES)):
        assert not still


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.integers(1, 2))
def test_friction_never_gives_power_and_events_never_give_energy(seed, bodies):
    case = RandomContacts(np.random.default_rng(seed), bodies)
    sim = ccd.Simulation(case.robot, q=case.q, dt=1e-3)
    start, scale = sim.energy().balance, float(case.masses.sum())
    sim.run(0.05)
    dissipated = np.concatenate([np.diff(part) for part in [sim.log.dissipated]])
    assert dissipated.min(initial=0.0) > -1e-9 * scale
    assert all(event.energy_lost >= 0.0 for event in sim.events)
    assert abs(sim.energy().balance - start) < 1e-5 * scale


@pytest.mark.parametrize(('seed', 'most'), [(34, 20), (79, 20), (233, 40)])
def test_points_that_hold_a_body_together_do_not_chatter_at_their_limit(seed, most):
    """
    Random sets that once made a thousand events in a step.

    In one the friction aimed for a step and that of the state disagreed whether a point holds, in
    another a point well within its cone was said to slide.
    """
    case = RandomContacts(np.random.default_rng(seed), 2)
    sim = ccd.Simulation(case.robot, q=case.q, dt=1e-3)
    sim.run(0.1)
    assert len(sim.events) < most
