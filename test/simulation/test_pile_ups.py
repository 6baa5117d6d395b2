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

"""Where events pile up, a part of the step is taken at velocity level: against closed forms."""

from helpers.touching_bodies import body_on_slope, corners_of, solid_box
import numpy as np
import pytest
from scipy.optimize import linprog

from benchmarks.random_corners import case_of, run
import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import (
    Contact,
    Description,
    Dynamics,
    Inertia,
    Joint,
    JointType,
    Limit,
    Link,
    Pose,
)
from closed_chain_dynamics.simulation.event_handling import EventHandling
from closed_chain_dynamics.simulation.moving_mechanism import MovingMechanism
from closed_chain_dynamics.simulation.pile_ups import EVENTS_AT_ONCE, EVENTS_BEFORE, PileUp

G = 9.80665
EXACT = 1e-11  # of closed forms: rounding, and what closes contacts
SIDES = 64  # of the polygon that a friction cone contains
ROUND = 1.0 / np.cos(np.pi / SIDES)  # by which the polygon that contains the cone is larger
H = 1e-3
STANDS = 1e-12  # speed of a point that stands: rounding [m/s]


def stepped(robot, q, v, h=H):
    """Return the motion, and its events, after one step at velocity level."""
    motion = MovingMechanism(robot.copy(), q, v, h)
    handling = EventHandling(motion, limits=True)
    handling.begin()
    start = motion.energy()
    events = handling.step_over(h)
    assert motion.time == h
    assert motion.energy().balance == pytest.approx(start.balance, abs=EXACT)
    assert motion.books[1] >= -EXACT
    return motion, events


def box(angle, speed, mu=0.5):
    """Return a box of 2 kg on four corners on a slope, sliding downhill, and its state."""
    half = 0.1
    robot, q = body_on_slope(
        corners_of(half, half, half),
        Contact(mu=mu),
        inertia=solid_box(2.0, half, half, half),
        tilt=angle,
    )
    return robot, q, np.array([speed, 0.0, 0.0, 0.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ('angle', 'speed'),
    [(0.3, 0.0), (0.3, 1.0), (0.3, 1e-3), (0.3, -1e-3), (0.6, 0.0), (0.6, -1.0)],
)
def test_a_box_slides_or_stops_as_its_impulses_say(angle, speed):
    """v' = v + h g (sin - mu cos), or rest where friction takes all of it within h."""
    robot, q, v = box(angle, speed)
    motion, _ = stepped(robot, q, v)
    pulled, most = speed + H * G * np.sin(angle), H * 0.5 * G * np.cos(angle)
    expected = pulled - np.clip(pulled, -most, most)
    assert motion.v == pytest.approx([expected, 0.0, 0.0, 0.0, 0.0, 0.0], abs=EXACT)
    moved = motion.q[:3] - q[:3]
    assert np.linalg.norm(moved) == pytest.approx(abs(H * expected), abs=EXACT)
    force = 2.0 * G * np.sin(angle)
    taken = speed**2 - expected**2 + force * H * expected  # of 2 kg
    assert motion.books[1] == pytest.approx(taken, abs=EXACT)


def slide(*, limit=None, friction=0.0, mass=2.0):
    """Return a mass on a vertical slide."""
    return ccd.Mechanism(
        Description(
            'slide',
            (Link('world'), Link('mass', Inertia(mass, Pose(), (0.1, 0.0, 0.0, 0.1, 0.0, 0.1)))),
            (
                Joint(
                    *('z', JointType.PRISMATIC, 'world', 'mass'),
                    axis=(0.0, 0.0, 1.0),
                    limit=limit or Limit(),
                    dynamics=Dynamics(friction=friction),
                ),
            ),
        )
    )


@pytest.mark.parametrize('friction', [0.0, 5.0, 30.0])
@pytest.mark.parametrize('speed', [0.0, 2e-3, -2e-3, 0.5, -0.5])
@pytest.mark.parametrize('height', [1e-6, 1.0])
def test_a_mass_on_a_slide_meets_its_friction_and_its_stop(height, speed, friction):
    """Friction takes what it can of v - g h; the stop is reached with the rest, not passed."""
    robot = slide(limit=Limit(0.0, 2.0), friction=friction)
    motion, _ = stepped(robot, np.array([height]), np.array([speed]))
    free, most = speed - H * G, H * friction / 2.0
    expected = max(free - np.clip(free, -most, most), -height / H)
    assert motion.q[0] == pytest.approx(height + H * expected, abs=EXACT)
    arrived = motion.q[0] < 1e-9  # and is held there, after the step
    assert motion.v[0] == pytest.approx(0.0 if arrived else expected, abs=EXACT)


@pytest.mark.parametrize('seed', range(12))
def test_the_impulses_on_a_body_are_possible_ones_and_resist(seed):
    """
    A linear program finds impulses that change the momentum so, and obey Coulomb's law.

    Points that move away have none, points that slide have theirs against the sliding, and those
    that stand have any in their cone.
    """
    rng, mass = np.random.default_rng(seed), 2.0
    mu = rng.uniform(0.1, 1.0)
    moments = rng.uniform(0.01, 0.02, 3)
    points = np.column_stack([rng.uniform(-0.2, 0.2, (3, 2)), np.full(3, -0.1)])
    robot, q = body_on_slope(points, Contact(mu=mu), inertia=moments, mass=mass)
    v = rng.normal(size=6) * [0.01, 0.01, 0.0, 0.0, 0.0, 0.1] * (seed % 3)
    h = 1e-7  # so short that the pose stays what it is
    v[:2] += rng.normal(size=2) * h * 5.0  # friction may stop that within h
    motion, _ = stepped(robot, q, v, h)
    w, spin = motion.v, v[3:]
    change = np.concatenate(
        [
            mass * (w[:3] - v[:3] + h * (np.cross(spin, v[:3]) + [0.0, 0.0, G])),
            moments * (w - v)[3:],
        ]
    )
    columns = []
    for r in points:
        u = w[:3] + np.cross(w[3:], r)
        slip = np.hypot(*u[:2])
        edges = []
        if slip > STANDS:
            edges = [np.array([*(-mu * u[:2] / slip), 1.0])]
        elif u[2] < STANDS:
            angles = 2.0 * np.pi * np.arange(SIDES) / SIDES
            edges = [
                np.array([mu * ROUND * np.cos(x), mu * ROUND * np.sin(x), 1.0]) for x in angles
            ]
        assert u[2] > -STANDS
        columns += [np.concatenate([edge, np.cross(r, edge)]) for edge in edges if u[2] < STANDS]
    A, n = np.column_stack(columns), len(columns)
    miss = linprog(  # impulses, and by how much they miss on either side
        np.append(np.zeros(n), np.ones(12)),
        A_eq=np.hstack([A, np.eye(6), -np.eye(6)]) / np.abs(change).max(),
        b_eq=change / np.abs(change).max(),
        bounds=(0.0, None),
    )
    assert miss.fun < 1e-6 * np.abs(change).max()


def test_events_at_one_time_and_many_in_a_step_are_a_pile():
    pile = PileUp(1.0)
    for k in range(EVENTS_BEFORE):
        assert not pile.is_high
        pile.count(0.1 * k)
    assert pile.is_high
    assert pile.step(1.0) == 1.0 / 64.0
    assert not pile.is_high
    pile = PileUp(1.0)
    for _ in range(EVENTS_AT_ONCE + 1):
        assert not pile.is_high
        pile.count(0.5)
    assert pile.is_high
    assert pile.step(1e-3) == 1e-3  # what is left
    pile.lock()
    assert pile.step(1.0) == 1.0 / 32.0


@pytest.mark.parametrize(
    ('family', 'seed', 'until', 'most'),
    [
        ('tripod', 3, 0.42, 30),
        ('stack', 5, 0.27, 250),
        ('stack', 11, 0.6, 100),
        ('leg', 1, 1.0, 350),
    ],
)
def test_contacts_whose_friction_turns_within_a_step_go_on(family, seed, until, most):
    """
    Cases that once had a thousand events at one instant.

    The friction that was aimed for a step locked, or pushed a joint back onto its stop, and that
    of the state did not: what one of them decided, the other undid.
    """
    sim, faults = run(case_of(family, seed), until)
    assert not faults
    assert len(sim.events) < most
