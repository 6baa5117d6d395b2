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

"""What is in a stop or a surface at the end of a step has hit it, though it is coming back."""

from helpers.touching_bodies import body_on_slope
import numpy as np
import pytest
from scipy.optimize import brentq

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import (
    Contact,
    Description,
    Inertia,
    Joint,
    JointType,
    Limit,
    Link,
    Pose,
)

G = 9.80665
DT = 1e-2
TURNS = 0.9 * DT  # when what is thrown would be farthest in; at the end of the step it still is in
OVER = 2e-5  # how far that is [m]
INSTANT = 1e-9  # within which an event is found, and the speed is what it should be [s, m/s]


def thrown(top, speed, integrator):
    """Return a simulation of a mass on a vertical slide, thrown up to below a stop."""
    robot = ccd.Mechanism(
        Description(
            'thrown',
            (Link('world'), Link('mass', Inertia(2.0, Pose(), (0.1, 0.0, 0.0, 0.1, 0.0, 0.1)))),
            (
                Joint(
                    *('z', JointType.PRISMATIC, 'world', 'mass'),
                    axis=(0.0, 0.0, 1.0),
                    limit=Limit(-10.0, top, restitution=0.5),
                ),
            ),
        )
    )
    return ccd.Simulation(robot, q=np.zeros(1), v=np.array([speed]), dt=DT, integrator=integrator)


@pytest.mark.parametrize('integrator', ['rk4', 'adaptive'])
def test_a_mass_that_would_turn_just_behind_its_stop_hits_it(integrator):
    """It arrives with sqrt(2 g over) and leaves with half of that."""
    speed = G * TURNS
    top = speed**2 / (2.0 * G) - OVER
    sim = thrown(top, speed, integrator)
    sim.run(DT)
    (hit,) = sim.events
    arrives = np.sqrt(2.0 * G * OVER)
    when = (speed - arrives) / G
    assert (hit.kind, hit.name) == ('bounce', 'z')
    assert hit.time == pytest.approx(when, abs=INSTANT)
    assert sim.v[0] == pytest.approx(-0.5 * arrives - G * (DT - when), abs=10.0 * INSTANT)
    assert sim.log.joint('z').max() < top + 1e-10


def test_a_point_that_would_dip_into_the_floor_touches_it():
    """A body falls from rest and turns: its point is lowest just after it was straight below."""
    r, spin = 0.1, 45.0
    robot, q = body_on_slope(
        [(0.0, 0.0, -r)], Contact(mu=0.0), inertia=(0.02, 0.02, 0.02), active=False
    )
    turn = -0.5 * spin * TURNS
    q[:] = 0.0, 0.0, r - OVER + 0.5 * G * TURNS**2, 0.0, np.sin(turn), 0.0, np.cos(turn)
    sim = ccd.Simulation(robot, q=q, v=[0.0, 0.0, 0.0, 0.0, spin, 0.0], dt=DT)
    sim.run(DT)

    def height(t):
        return q[2] - 0.5 * G * t * t - r * np.cos(spin * (t - TURNS))

    assert height(0.0) > 1e-5
    assert height(DT) < -1e-8
    assert height(DT) > height(0.99 * DT)  # on its way out
    assert sim.events[0].kind == 'touch_down'
    assert sim.events[0].time == pytest.approx(brentq(height, 0.0, TURNS), abs=INSTANT)
