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

"""Several contacts with friction on one body: they hold as long as any of their forces can."""

from helpers.touching_bodies import G, body_on_slope, corners_of, downhill, solid_box
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import Contact
from closed_chain_dynamics.dynamics.contacts import contact_forces

NEAR = 1e-6  # share of a limit at which a body holds just below, and not just above
EXACT = 1e-9  # motion under constant forces
BOOKS = 1e-8  # energy balance [J]
TRIPOD = [(0.3, 0.0, -0.2), (-0.2, 0.25, -0.2), (-0.15, -0.3, -0.2)]


def stands(sim, q):
    """Return whether nothing has moved, to rounding."""
    return np.abs(sim.q - q).max() < 1e-12 and np.abs(sim.v).max() < 1e-12


def test_a_box_on_four_corners_rests_below_the_angle_of_static_friction():
    robot, q = body_on_slope(
        corners_of(0.3, 0.2, 0.1), Contact(mu=0.3, mu_static=0.5), tilt=np.radians(24.0)
    )
    sim = ccd.Simulation(robot, q=q, dt=1e-3)
    sim.run(1.0)
    assert stands(sim, q) and sim.events == []
    forces = contact_forces(sim.robot, sim.q, sim.v)
    for normal, drag in forces.values():  # a distribution that all cones hold
        assert np.linalg.norm(drag) <= 0.5 * normal
    total = sum(drag for _, drag in forces.values())
    assert total @ downhill(np.radians(24.0)) == pytest.approx(
        -2.0 * G * np.sin(np.radians(24.0)), rel=EXACT
    )


@pytest.mark.parametrize('seed', range(25))
def test_boxes_break_away_at_the_angle_of_static_friction(seed):
    rng = np.random.default_rng([seed, 3])
    a, b, h = rng.uniform(0.1, 0.4, 3)
    mu = rng.uniform(0.2, 0.7) * min(1.0, a / h)  # below the angle at which it would tip
    com = rng.uniform(-0.2, 0.2, 3) * (a, b, h)
    for share, holds in ((1.0 - NEAR, True), (1.0 + NEAR, False)):
        robot, q = body_on_slope(
            corners_of(a, b, h),
            Contact(mu=0.8 * mu, mu_static=mu),
            tilt=share * np.arctan(mu),
            com=com,
            inertia=solid_box(2.0, a, b, h),
        )
        sim = ccd.Simulation(robot, q=q, dt=1e-3, log_every=0)
        sim.run(0.02)
        assert stands(sim, q) == holds
        if not holds:
            tilt = np.arctan(mu)
            rate = G * (np.sin(tilt) - 0.8 * mu * np.cos(tilt))
            assert (sim.q[:3] - q[:3]) @ downhill(tilt) == pytest.approx(
                0.5 * rate * 0.02**2, rel=1e-4
            )


def test_a_box_thrown_upslope_stops_where_it_should_and_stays():
    tilt, speed, mu = np.radians(24.0), 1.5, 0.3
    robot, q = body_on_slope(corners_of(0.3, 0.2, 0.1), Contact(mu=mu, mu_static=0.5), tilt=tilt)
    sim = ccd.Simulation(robot, q=q, v=np.array([-speed, 0.0, 0.0, 0.0, 0.0, 0.0]), dt=1e-3)
    start = sim.energy().balance
    sim.run(1.0)
    rate = G * (np.sin(tilt) + mu * np.cos(tilt))
    assert [event.kind for event in sim.events] == ['stick'] * 4
    assert sim.events[0].time == pytest.approx(speed / rate, abs=EXACT)
    assert (sim.q[:3] - q[:3]) @ downhill(tilt) == pytest.approx(
        -(speed**2) / (2.0 * rate), abs=EXACT
    )
    assert np.abs(sim.v).max() < 1e-12
    assert abs(sim.energy().balance - start) < BOOKS


@pytest.mark.parametrize('com', [(0.0, 0.0, 0.0), (0.05, 0.03, 0.02)])
@pytest.mark.parametrize('share', [0.99, 0.9999, 1.0001, 1.001, 1.01, 1.1])
def test_a_tripod_near_the_cone_neither_chatters_nor_creeps(share, com):
    mu = 0.4
    tilt = share * np.arctan(mu)
    robot, q = body_on_slope(TRIPOD, Contact(mu=mu), tilt=tilt, com=com)
    sim = ccd.Simulation(robot, q=q, dt=1e-3)
    start = sim.energy().balance
    sim.run(1.0)
    rate = max(G * (np.sin(tilt) - mu * np.cos(tilt)), 0.0)
    assert np.abs(sim.q[:3] - q[:3] - 0.5 * rate * downhill(tilt)).max() < EXACT
    assert np.abs(sim.v[3:]).max() < EXACT  # and it does not turn
    assert sim.events == []
    assert abs(sim.energy().balance - start) < BOOKS


@pytest.mark.parametrize(('share', 'holds'), [(1.0 - NEAR, True), (1.0 + NEAR, False)])
def test_four_corners_resist_a_moment_about_the_normal(share, holds):
    """Each corner carries a quarter of the weight at the same radius: M = mu m g r."""
    a, b, mu = 0.3, 0.2, 0.4
    robot, q = body_on_slope(corners_of(a, b, 0.1), Contact(mu=mu))
    sim = ccd.Simulation(robot, q=q, dt=1e-3)
    moment = share * mu * 2.0 * G * np.hypot(a, b)
    sim.apply_wrench('body', (0.0, 0.0, 0.0, 0.0, 0.0, moment))
    sim.run(0.05)
    assert stands(sim, q) == holds


def test_a_box_that_spins_and_slides_comes_to_rest_at_once_and_stays():
    """Sliding and spinning end at the same instant, as is known of any patch."""
    robot, q = body_on_slope(
        corners_of(0.3, 0.2, 0.1), Contact(mu=0.3), inertia=solid_box(2.0, 0.3, 0.2, 0.1)
    )
    v = np.array([0.8, 0.3, 0.0, 0.0, 0.0, 4.0])
    sim = ccd.Simulation(robot, q=q, v=v, dt=1e-3)
    start = sim.energy().balance
    sim.run(1.5)
    assert np.abs(sim.v).max() < 1e-12
    sticks = [event.time for event in sim.events if event.kind == 'stick']
    assert max(sticks) - min(sticks[-4:]) < 1e-6
    assert len(sim.events) < 40
    assert abs(sim.energy().balance - start) < 1e-6


def test_adaptive_steps_bring_a_box_to_rest_and_let_a_tripod_slide_straight():
    """Slow contacts have a stiff direction, whatever the method."""
    box, q = body_on_slope(
        corners_of(0.3, 0.2, 0.1), Contact(mu=0.3), inertia=solid_box(2.0, 0.3, 0.2, 0.1)
    )
    v = np.array([0.8, 0.3, 0.0, 0.0, 0.0, 4.0])
    sim = ccd.Simulation(box, q=q, v=v, dt=1e-3, integrator='adaptive')
    sim.run(0.6)
    assert np.abs(sim.v).max() < 1e-12 and len(sim.events) < 10
    mu = 0.4
    tilt = 1.0001 * np.arctan(mu)
    robot, q = body_on_slope(TRIPOD, Contact(mu=mu), tilt=tilt, com=(0.05, 0.03, 0.02))
    sim = ccd.Simulation(robot, q=q, dt=1e-3, integrator='adaptive')
    sim.run(0.05)
    assert sim.events == [] and np.abs(sim.v[3:]).max() < EXACT
