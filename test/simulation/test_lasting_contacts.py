"""Contacts that would close again at once stay closed: no endless events in finite time."""

from collections import Counter
import time
import warnings

from helpers.touching_bodies import body_on_slope, corners_of, solid_box
import numpy as np
import pytest

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
from closed_chain_dynamics.recording.events import Event
from closed_chain_dynamics.simulation.event_rates import EventRates


def test_a_tilted_block_rocks_to_rest_in_a_bounded_number_of_events():
    """Housner's 0.85 from impact to impact: 28 of them take 0.1 m/s to 1 mm/s."""
    b, h, tip = 0.1, 0.3, 0.05
    robot, q = body_on_slope(
        corners_of(b, 0.1, h), Contact(mu=0.8), inertia=solid_box(2.0, b, 0.1, h), active=False
    )
    q[2] = b * np.sin(tip) + h * np.cos(tip)
    q[3:] = 0.0, np.sin(tip / 2.0), 0.0, np.cos(tip / 2.0)
    sim = ccd.Simulation(robot, q=q, dt=1e-3)
    start = sim.energy().balance
    sim.run(2.0)
    assert len(sim.events) < 40 * 4  # four corners
    assert np.abs(sim.v).max() < 1e-12
    assert abs(sim.q[4]) < 1e-9  # upright
    assert abs(sim.energy().balance - start) < 1e-8


def compass(spread, hip_height=None):
    """Return a planar walker of two legs on point feet in double support, and its pose."""
    leg, mass = 1.0, 5.0
    links = [Link('world'), Link('slide'), Link('lift')]
    rod = (0.02, 0.0, 0.0, 0.02, 0.0, 0.001)
    links += [Link(side, Inertia(mass, Pose((0.0, 0.0, -0.5 * leg)), rod)) for side in 'ab']
    links.append(Link('hip', Inertia(10.0, Pose(), (0.01, 0.0, 0.0, 0.01, 0.0, 0.01))))
    joints = (
        Joint('x', JointType.PRISMATIC, 'world', 'slide', axis=(1.0, 0.0, 0.0)),
        Joint('z', JointType.PRISMATIC, 'slide', 'lift', axis=(0.0, 0.0, 1.0)),
        Joint('hip_fixed', JointType.FIXED, 'lift', 'hip'),
        Joint('leg_a', JointType.CONTINUOUS, 'hip', 'a', axis=(0.0, 1.0, 0.0)),
        Joint('leg_b', JointType.CONTINUOUS, 'hip', 'b', axis=(0.0, 1.0, 0.0)),
    )
    feet = tuple(
        LoopJoint(
            f'foot_{side}',
            LoopType.SURFACE,
            'world',
            side,
            child_origin=Pose((0.0, 0.0, -leg)),
            contact=Contact(mu=0.8),
            active=False,
        )
        for side in 'ab'
    )
    robot = ccd.Mechanism(Description('compass', tuple(links), joints, feet))
    names = list(robot.joint_names)
    q = np.zeros(robot.nq)
    q[names.index('z') if 'hip_fixed' not in names else 1] = leg * np.cos(spread)
    q[-2], q[-1] = spread, -spread
    return robot, q


@pytest.mark.parametrize('spread', [0.2, 0.4, 0.9])
def test_a_compass_walker_that_lands_on_both_feet_makes_few_events(spread):
    robot, q = compass(spread)
    q[1] += 0.02
    v = np.array([0.1, 0.0, 0.3, -0.2])
    sim = ccd.Simulation(robot, q=q, v=v, dt=1e-3)
    start = sim.energy().balance
    begun = time.process_time()
    sim.run(0.3)
    assert len(sim.events) < 60, Counter(event.kind for event in sim.events)
    assert abs(sim.energy().balance - start) < 1e-6
    assert np.isfinite(begun)


def test_too_many_events_of_a_contact_are_told_of_once_by_name():
    rates = EventRates('walker', 5)
    slow = [Event(0.5 * k, 'bounce', 'heel', 1, 1) for k in range(20)]
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        rates.count(slow)
    with pytest.warns(RuntimeWarning, match="walker: 'toe' has had 5 events") as told:
        rates.count(Event(1e-3 * k, 'bounce', 'toe', 1, 1) for k in range(20))
    assert len(told) == 1
