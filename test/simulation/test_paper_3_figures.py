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

"""Figures 3 to 6 of paper 3, and where its friction locks."""

from helpers.planar_arm import FOLDED, TENT, PlanarArm, arm
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.dynamics.contacts import contact_forces

STEP = 2e-3
ON_SURFACE = 1e-10  # [m]
FIGURE = 1e-6  # end states that are given with nine decimals, torques held over a step


# --- Figs. 3 to 6 ------------------------------------------------------------------------------
def fig_3(t):
    """Return the torques of Fig. 3."""
    return (-3.0, 3.0)


def fig_4(t):
    """Return the torques of Fig. 4."""
    return (3.0 * np.sin(np.pi * t / 3.0), 3.0 * np.sin(np.pi * t / 3.0))


def fig_5(t):
    """Return the torques of Fig. 5."""
    return (3.0, 3.0, 3.0)


def fig_6(t):
    """Return the torques of Fig. 6."""
    turn = 2.0 * np.pi * t
    return (-3.0 * np.cos(turn), -3.0 * np.sin(turn), 3.0 * np.cos(turn))


# end states at t = 1 s, or the first reversal of the tip
FIGURES = {
    'fig_3': ('two', FOLDED, fig_3, 1.0, (-1.242603149, -0.656386355), 10.1633002),
    'fig_4': ('two', FOLDED, fig_4, 1.0, (-0.719742773, -1.702107109), 4.2283367),
    'fig_5': ('three', TENT, fig_5, 1.0, (-1.354139485, -0.487093781, 0.322647347), 9.6642555),
}


@pytest.mark.parametrize('figure', FIGURES)
def test_the_figures_end_where_their_equations_lead(figure):
    links, start, torques, end, q, f_n = FIGURES[figure]
    dt = 5e-4
    sim = ccd.Simulation(arm(links, 0.2), q=np.array(start), dt=dt)
    # a torque held over a step is that of its middle, to the second order of the step
    sim.run(end, lambda sim: torques(sim.time + 0.5 * dt))
    assert np.abs(sim.q - q).max() < FIGURE
    forces = contact_forces(sim.robot, sim.q, sim.v, torques(end))
    assert forces['tip_on_floor'][0] == pytest.approx(f_n, abs=FIGURE)
    assert np.max(sim.log.loop_error) < ON_SURFACE


@pytest.mark.parametrize(
    ('links', 'start', 'torques', 'turn', 'kind'),
    [
        ('two', FOLDED, fig_3, 1.364799, 'slip'),
        ('three', TENT, fig_5, 1.031611, 'slip'),
        ('three', TENT, fig_6, 0.365075, 'stick'),
    ],
)
def test_the_tip_comes_to_a_stand_when_the_figures_say(links, start, torques, turn, kind):
    """In Figs. 3 and 5 it passes its farthest reach and turns round, in Fig. 6 it can rest."""
    dt = 5e-4
    sim = ccd.Simulation(arm(links, 0.2), q=np.array(start), dt=dt)
    sim.run(turn + 0.01, lambda sim: torques(sim.time + 0.5 * dt))
    assert [event.kind for event in sim.events] == [kind]
    assert sim.events[0].time == pytest.approx(turn, abs=2e-6)
    assert np.max(sim.log.loop_error) < ON_SURFACE


def test_fig_6_keeps_the_constraint_through_all_its_reversals():
    """The paper's own way drifts by 1e-2 m here; an independent integration knows better."""
    dt = 5e-4
    sim = ccd.Simulation(arm('three', 0.2), q=np.array(TENT), dt=dt)
    sim.run(1.0, lambda sim: fig_6(sim.time + 0.5 * dt))
    assert np.max(sim.log.loop_error) < ON_SURFACE
    oracle = PlanarArm(3, 0.2, fig_6)
    t, x = oracle.run(TENT, 0.0, 1.0, 1.0)
    t_slip, x, side = oracle.hold(t, x, 1.0)
    _, x = oracle.run(x[:3], t_slip, 1.0, side, x[3:])
    assert [event.kind for event in sim.events] == ['stick', 'slip']
    assert sim.events[0].time == pytest.approx(t, abs=1e-6)
    assert sim.events[1].time == pytest.approx(t_slip, abs=dt)  # torques change once a step
    assert np.abs(sim.q - x[:3]).max() < dt**2 * 100  # and are held over it


def test_the_adaptive_integrator_finds_the_same_motion_and_the_same_reversal():
    sim = ccd.Simulation(
        arm('two', 0.2), q=np.array(FOLDED), dt=0.1, integrator='adaptive', tolerance=1e-10
    )
    sim.run(1.0, fig_3(0.0))
    assert np.abs(sim.q - FIGURES['fig_3'][4]).max() < 1e-8
    sim.run(0.5, fig_3(0.0))
    assert [event.kind for event in sim.events] == ['slip']
    assert sim.events[0].time == pytest.approx(1.364798841, abs=1e-7)


# --- friction that locks -----------------------------------------------------------------------
def test_fig_3_is_locked_by_friction_before_it_has_folded():
    sim = ccd.Simulation(arm('two', 0.2), q=np.array(FOLDED), dt=STEP)
    sim.run(5.0, fig_3(0.0))
    oracle = PlanarArm(2, 0.2, fig_3)
    t, x = oracle.run(FOLDED, 0.0, 6.0, 1.0)
    t, x = oracle.run(x[:2], t, 6.0, -1.0, x[2:])
    assert [event.kind for event in sim.events] == ['slip', 'stick']
    locked = sim.events[-1]
    assert locked.time == pytest.approx(t, abs=1e-5)
    assert locked.mobility_after == 0
    assert np.abs(sim.q - x[:2]).max() < 1e-7
    assert not np.any(sim.v)


def folding(angle, speed):
    """Return a state of the two links near the folded pose: tip on the floor, folding on."""
    q = np.array([-np.pi + angle, np.pi - 2.0 * angle])
    return q, np.array([-speed, 2.0 * speed])


def test_the_frictional_paradox_is_found_where_a_of_eq_20_passes_zero():
    robot, oracle = arm('two', 0.2), PlanarArm(2, 0.2, fig_3)

    def coefficient(angle):
        q, v = folding(angle, 0.2)
        return oracle.solve(0.0, q, v, np.sign(oracle.speed(np.concatenate([q, v]))))[2]

    low, high = 0.02, 0.2
    assert coefficient(low) < 0.0 < coefficient(high)
    while high - low > 1e-12:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if coefficient(middle) < 0.0 else (low, middle)
    ccd.forward_dynamics(robot, *folding(high + 1e-6, 0.2), fig_3(0.0))
    for angle in (high, high - 1e-6, 0.03):  # at zero, and beyond it, where A is negative
        with pytest.raises(ccd.StructureError, match='tip_on_floor.*frictional paradox'):
            ccd.forward_dynamics(robot, *folding(angle, 0.2), fig_3(0.0))


@pytest.mark.parametrize('integrator', ['euler', 'rk4', 'adaptive'])
def test_a_simulation_that_starts_in_the_paradox_names_it_and_keeps_its_state(integrator):
    q, v = folding(0.03, 0.2)
    sim = ccd.Simulation(arm('two', 0.2), q=q, v=v, dt=1e-3, integrator=integrator)
    before = sim.q.copy(), sim.v.copy()
    with pytest.raises(ccd.StructureError, match='tip_on_floor.*t = 0 s.*frictional paradox'):
        sim.run(0.1, fig_3(0.0))
    assert np.array_equal(sim.q, before[0]) and np.array_equal(sim.v, before[1])
