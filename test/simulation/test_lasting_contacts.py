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

"""Contacts that would close again at once stay closed: no endless events in finite time."""

from collections import Counter
import warnings

from helpers.compass_walker import compass
from helpers.touching_bodies import body_on_slope, corners_of, solid_box
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import Contact
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
    hits = [event for event in sim.events if event.kind == 'touch_down' and event.energy_lost]
    for hit in hits[:5]:
        after = np.flatnonzero(sim.log.time <= hit.time)[-1]
        left = sim.log.kinetic[after]
        assert left / (left + hit.energy_lost) == pytest.approx(0.85**2, rel=1e-6)
    assert np.abs(sim.v).max() < 1e-12
    assert abs(sim.q[4]) < 1e-9  # upright
    assert abs(sim.energy().balance - start) < 1e-8


@pytest.mark.parametrize('spread', [0.2, 0.4, 0.9])
def test_a_compass_walker_that_lands_on_both_feet_makes_few_events(spread):
    robot, q = compass(spread)
    q[1] += 0.02
    v = np.array([0.1, 0.0, 0.3, -0.2])
    sim = ccd.Simulation(robot, q=q, v=v, dt=1e-3)
    start = sim.energy().balance
    sim.run(0.3)
    assert len(sim.events) < 60, Counter(event.kind for event in sim.events)
    assert abs(sim.energy().balance - start) < 1e-6


def test_too_many_events_of_a_contact_are_told_of_once_by_name():
    rates = EventRates('walker', 5)
    slow = [Event(0.5 * k, 'bounce', 'heel', 1, 1) for k in range(20)]
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        rates.count(slow)
    with pytest.warns(RuntimeWarning, match="walker: 'toe' has had 5 events") as told:
        rates.count(Event(1e-3 * k, 'bounce', 'toe', 1, 1) for k in range(20))
    assert len(told) == 1
