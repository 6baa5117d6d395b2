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

"""Touch-down, bouncing and lift-off at the instants that closed forms say."""

from helpers.contact_bodies import CORNERS, G, books_close, free_body, kinds, slider
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import (
    Contact,
    Description,
    Inertia,
    Joint,
    JointType,
    Link,
    LoopJoint,
    LoopType,
    Pose,
)
from closed_chain_dynamics.simulation.impact_events import NO_WAY_BACK

EXACT = 1e-9  # motion under constant forces, which RK4 integrates exactly: rounding
EVENT = 1e-9  # events against closed forms [s]; they are located to 1e-13 s


@pytest.mark.parametrize(
    ('integrator', 'dt'), [('rk4', 1e-2), ('rk4', 0.2), ('adaptive', 0.1), ('euler', 1e-4)]
)
def test_a_falling_ball_touches_down_at_the_instant_of_the_closed_form(integrator, dt):
    sim = ccd.Simulation(
        slider(Contact(), active=False), q=np.array([0.0, 0.0, 1.3]), dt=dt, integrator=integrator
    )
    sim.run(1.0)
    (event,) = sim.events
    assert event.kind == 'touch_down'
    # the Euler method moves the fall itself by half a step
    assert event.time == pytest.approx(
        np.sqrt(2.0 * 1.3 / G), abs=dt if integrator == 'euler' else EVENT
    )
    assert np.abs(sim.v).max() < 1e-12 and abs(sim.q[2]) < 1e-12
    assert event.energy_lost == pytest.approx(2.0 * G * 1.3, rel=1e-3 if dt == 1e-4 else EXACT)
    assert event.impulse == pytest.approx([2.0 * np.sqrt(2.0 * G * 1.3)], rel=1e-3)


@pytest.mark.parametrize('integrator', ['rk4', 'adaptive'])
def test_a_bouncing_ball_bounces_when_the_series_says_until_it_rests(integrator):
    e, height = 0.5, 0.8
    sim = ccd.Simulation(
        slider(Contact(restitution=e), active=False),
        q=np.array([0.0, 0.0, height]),
        dt=0.05,
        integrator=integrator,
    )
    start = sim.energy().balance
    sim.run(2.0)
    speed, t, expected = np.sqrt(2.0 * G * height), np.sqrt(2.0 * height / G), []
    while (
        not expected or 2.0 * speed**2 / G > NO_WAY_BACK
    ):  # speed times the time of the last flight
        expected.append(t)
        speed *= e
        t += 2.0 * speed / G
    expected.append(t)  # from next to no height it does not bounce again
    assert kinds(sim) == ['bounce'] * (len(expected) - 1) + ['touch_down']
    assert np.abs(np.array([event.time for event in sim.events]) - expected).max() < 1e-8
    assert np.abs(sim.v).max() < 1e-12
    assert books_close(sim, start)


def test_a_box_that_falls_flat_bounces_without_turning():
    robot = free_body(*CORNERS, contact=Contact(restitution=0.6), active=False)
    sim = ccd.Simulation(robot, q=np.array([0.0, 0.0, 0.6, 0.0, 0.0, 0.0, 1.0]), dt=1e-2)
    sim.run(0.5)
    assert kinds(sim) == ['bounce'] * 4
    assert np.abs(sim.v[3:]).max() < 1e-10
    assert sim.events[0].time == pytest.approx(np.sqrt(2.0 * 0.5 / G), abs=EVENT)


def test_a_rocking_rod_lets_go_at_one_end_when_the_other_hits():
    """With heavy ends the blow on one end throws the other up: a support cannot pull it back."""
    mass, inertia, r, tip, rate = 2.0, 1.5, 0.5, 0.05, 0.8
    robot = free_body(
        (-r, 0.0, 0.0),
        (r, 0.0, 0.0),
        contact=Contact(),
        mass=mass,
        inertia=(0.01, inertia, inertia),
    )
    robot.cut('p1')
    q = np.array([0.0, 0.0, r * np.sin(tip), 0.0, -np.sin(tip / 2.0), 0.0, np.cos(tip / 2.0)])
    # the middle falls with the turn, straight down: the floor is smooth
    v = np.array([0.0, 0.0, -r * rate * np.cos(tip), 0.0, rate, 0.0])
    v[:3] = (
        np.array(
            [[np.cos(tip), 0.0, np.sin(tip)], [0.0, 1.0, 0.0], [-np.sin(tip), 0.0, np.cos(tip)]]
        )
        @ v[:3]
    )
    sim = ccd.Simulation(robot, q=q, v=v, dt=1e-3)
    start = sim.energy().balance
    sim.run(0.2)
    assert [(event.kind, event.name) for event in sim.events[:2]] == [
        ('touch_down', 'p1'),
        ('lift_off', 'p0'),
    ]
    # turning about the resting end before and about the other after, at half the rate
    about_end = mass * r * r + inertia
    hit = (
        (mass * (r * np.cos(tip)) ** 2 + inertia) * rate**2 + 2.0 * mass * G * r * np.sin(tip)
    ) / about_end  # square of the rate at the blow
    share = (inertia - mass * r * r) / about_end
    assert share == 0.5
    assert sim.events[0].energy_lost == pytest.approx(
        0.5 * about_end * hit * (1.0 - share**2), rel=1e-8
    )
    assert books_close(sim, start)


def test_a_ladder_leaves_the_wall_when_its_equation_says():
    """A smooth ladder slides down; the wall lets go at two thirds of its first height."""
    length, mass, start = 2.0, 3.0, 1.2
    inertia = mass * length**2 / 12.0
    links = (
        Link('world'),
        Link('ladder', Inertia(mass, Pose(), (inertia, 0.0, 0.0, inertia, 0.0, 1e-3))),
    )
    joints = (Joint('plane', JointType.PLANAR, 'world', 'ladder', axis=(0.0, -1.0, 0.0)),)
    end = length / 2.0
    loops = (
        LoopJoint(
            'floor',
            LoopType.SURFACE,
            'world',
            'ladder',
            child_origin=Pose((0.0, 0.0, -end)),
            contact=Contact(),
        ),
        LoopJoint(
            'wall',
            LoopType.SURFACE,
            'world',
            'ladder',
            child_origin=Pose((0.0, 0.0, end)),
            contact=Contact(normal=(1.0, 0.0, 0.0)),
        ),
    )
    robot = ccd.Mechanism(Description('ladder', links, joints, loops))
    # the angle from the floor: the foot at x = l cos, the top at z = l sin
    R = np.array(
        [
            [np.sin(start), 0.0, -np.cos(start)],
            [0.0, 1.0, 0.0],
            [np.cos(start), 0.0, np.sin(start)],
        ]
    )
    middle = end * np.array([np.cos(start), 0.0, np.sin(start)])
    q = planar_state(robot, middle, R)
    sim = ccd.Simulation(robot, q=q, dt=1e-3)
    sim.run(0.9)
    run = solve_ivp(
        lambda t, x: [x[1], -1.5 * G / length * np.cos(x[0])],
        (0.0, 2.0),
        [start, 0.0],
        rtol=1e-12,
        atol=1e-13,
        dense_output=True,
        events=lambda t, x: np.sin(x[0]) - 2.0 / 3.0 * np.sin(start),
    )
    off = [event for event in sim.events if event.kind == 'lift_off']
    assert off[0].name == 'wall'
    assert off[0].time == pytest.approx(run.t_events[0][0], abs=EVENT * 10)


def planar_state(robot, position, R):
    """Return the configuration of one planar joint that puts its link at a placement."""
    best, q = np.inf, None
    for turn in np.linspace(-np.pi, np.pi, 721):
        trial = robot.neutral()
        trial[2:4] = np.cos(turn), np.sin(turn)
        error = np.abs(ccd.link_placement(robot, trial, 'ladder')[:3, :3] - R).max()
        if error < best:
            best, q = error, trial
    for _ in range(8):  # Newton on the angle
        X = ccd.link_placement(robot, q, 'ladder')
        J = ccd.jacobian(robot, q, 'ladder')
        skew = 0.5 * (R @ X[:3, :3].T - (R @ X[:3, :3].T).T)
        error = np.concatenate([position - X[:3, 3], [skew[2, 1], skew[0, 2], skew[1, 0]]])
        q = ccd.integrate(robot, q, np.linalg.lstsq(J, error, rcond=None)[0])
    return q


def test_a_point_that_starts_below_its_surface_is_told_with_what_it_took():
    sim = ccd.Simulation(slider(Contact(), active=False), q=np.array([0.0, 0.0, -0.2]))
    sim.run(0.01)
    assert kinds(sim) == ['below_surface']
    assert sim.q[2] == pytest.approx(0.0, abs=1e-12)
    (event,) = sim.events
    assert event.energy_of_gap == pytest.approx(-2.0 * G * 0.2, rel=EXACT)  # it was lifted
    assert event.energy_of_gap + event.energy_lost == sim.energy().lost
    assert (event.mobility_before, event.mobility_after) == (3, 2)


def test_a_point_that_starts_on_its_surface_is_not_told():
    sim = ccd.Simulation(slider(Contact(), active=False), q=np.array([0.0, 0.0, -1e-12]))
    sim.run(0.01)
    assert kinds(sim) == []
