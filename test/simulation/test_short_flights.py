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

"""What comes back to where it has hit from next to no distance stays there."""

import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import (
    Contact,
    Description,
    Inertia,
    Joint,
    JointType,
    Limit,
    Link,
    LoopJoint,
    LoopType,
    Pose,
)
from closed_chain_dynamics.simulation.impact_events import NO_WAY_BACK

G = 9.80665
HEIGHT = 0.05
BOOKS = 1e-9  # of the energy balance [J]


def trunk_on_foot(gap, e, *, foot=0.2, trunk=5.0):
    """
    Return a trunk above its foot, both on one vertical slide, and a state above the floor.

    The foot bounces off the floor and off the stop of the leg, each with restitution e.
    """

    def mass(m):
        return Inertia(m, Pose(), (0.01, 0.0, 0.0, 0.01, 0.0, 0.01))

    slide, up = JointType.PRISMATIC, {'axis': (0.0, 0.0, 1.0)}
    robot = ccd.Mechanism(
        Description(
            'squeezed',
            (Link('world'), Link('trunk', mass(trunk)), Link('foot', mass(foot))),
            (
                Joint('z', slide, 'world', 'trunk', **up),
                Joint('leg', slide, 'trunk', 'foot', **up, limit=Limit(-1.0, 0.0, restitution=e)),
            ),
            (
                LoopJoint(
                    *('sole', LoopType.SURFACE, 'world', 'foot'),
                    contact=Contact(mu=0.5, restitution=e),
                    active=False,
                ),
            ),
        )
    )
    return robot, np.array([HEIGHT + gap, -gap])


@pytest.mark.parametrize('e', [0.3, 0.7, 0.9])
@pytest.mark.parametrize('dt', [1e-3, 1e-2])
def test_a_ball_bounces_until_its_flights_are_short(e, dt):
    """It comes back with e^k sqrt(2 g h) after 2 e^k sqrt(2 g h) / g, whatever the step."""
    robot, q = trunk_on_foot(0.0, e, foot=1.0, trunk=1.0)
    sim = ccd.Simulation(robot, q=q, dt=dt)
    sim.run(3.0)
    hits = [event for event in sim.events if event.name == 'sole']
    speeds = e ** np.arange(1, 200) * np.sqrt(2.0 * G * HEIGHT)
    bounces = 1 + int(np.sum(2.0 * speeds**2 / G > NO_WAY_BACK))
    assert [event.kind for event in hits] == ['bounce'] * bounces + ['touch_down']
    ends = np.sqrt(2.0 * HEIGHT / G) + 2.0 * speeds[:bounces].sum() / G
    assert hits[-1].time == pytest.approx(ends, abs=1e-8)


@pytest.mark.parametrize('gap', [1e-3, 1e-2])
def test_a_foot_between_floor_and_stop_comes_to_rest_by_its_own_events(gap):
    """Ninety per cent of the speed comes back at either: 48 bounces on the floor where 75 were."""
    robot, q = trunk_on_foot(gap, 0.9)
    sim = ccd.Simulation(robot, q=q, dt=1e-3)
    start = sim.energy().balance
    sim.run(1.0)
    assert len(sim.events) < 110
    assert np.abs(sim.v).max() == 0.0
    assert abs(sim.energy().balance - start) < BOOKS
    assert min(event.energy_lost for event in sim.events) >= 0.0


def test_what_flies_fast_over_a_short_way_goes_on_bouncing():
    """A mass at 20 m/s between stops 2 mm apart: restitution counts whatever the time between."""
    robot = ccd.Mechanism(
        Description(
            'shuttle',
            (Link('world'), Link('mass', Inertia(1.0, Pose(), (0.1, 0.0, 0.0, 0.1, 0.0, 0.1)))),
            (
                Joint(
                    *('x', JointType.PRISMATIC, 'world', 'mass'),
                    axis=(1.0, 0.0, 0.0),
                    limit=Limit(-1e-3, 1e-3, restitution=0.8),
                ),
            ),
        )
    )
    sim = ccd.Simulation(robot, q=np.zeros(1), v=np.array([20.0]), dt=1e-3)
    sim.run(1e-3)
    hits, t, speed = 0, 0.5e-4, 20.0
    while t < 1e-3:
        hits, speed = hits + 1, 0.8 * speed
        t += 2e-3 / speed
    assert [event.kind for event in sim.events] == ['bounce'] * hits
    assert abs(sim.v[0]) == pytest.approx(speed, rel=1e-9)
