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

"""Joints that move no mass and are held by damping alone, as in some published robots."""

import logging

import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import (
    Actuator,
    Description,
    Dynamics,
    Inertia,
    Joint,
    JointType,
    Limit,
    Link,
    Pose,
)

DAMPING = 2.0
FOLLOWS = 1e-6  # share of the speed: the rotor stops within 1e-4 of a step


def gimbal():
    """Return a point mass on two hinges, of which one turns about the line through the mass."""
    point = Inertia(1.5, Pose((0.3, 0.0, 0.0)), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    links = (Link('world'), Link('arm', Inertia(0.5, Pose(), (0.1, 0.0, 0.0, 0.1, 0.0, 0.1))))
    rubs = Dynamics(damping=DAMPING)
    return ccd.Mechanism(
        Description(
            'gimbal',
            (*links, Link('tip', point)),
            (
                Joint(
                    *('swing', JointType.REVOLUTE, 'world', 'arm', Pose(), (0.0, 1.0, 0.0)),
                    Limit(-1.0, 0.5),
                ),
                Joint(
                    *('roll', JointType.CONTINUOUS, 'arm', 'tip', Pose(), (1.0, 0.0, 0.0)),
                    dynamics=rubs,
                ),
            ),
            actuators=(Actuator('roll'),),
        )
    )


def test_a_massless_joint_turns_as_its_damping_lets_it(caplog, monkeypatch):
    """Its rate is torque over damping, and what carries it falls and hits its stop as if alone."""
    monkeypatch.setattr(logging.getLogger('closed_chain_dynamics'), 'disabled', False)
    monkeypatch.setattr(logging.getLogger('closed_chain_dynamics'), 'propagate', True)
    with caplog.at_level(logging.WARNING, logger='closed_chain_dynamics'):
        sim = ccd.Simulation(gimbal(), dt=1e-3)
    assert "joint 'roll' moves almost no mass" in caplog.text
    swing, roll = sim.robot.structure.dofs['armature']
    assert swing == 0.0 < roll
    start = sim.energy().balance
    sim.run(0.6, np.array([0.5]))
    assert sim.v[1] == pytest.approx(0.5 / DAMPING, rel=FOLLOWS)
    assert sim.q[1] == pytest.approx(0.6 * 0.5 / DAMPING, rel=1e-3)
    assert [event.kind for event in sim.events] == ['stop']
    assert sim.q[0] == pytest.approx(0.5, abs=1e-9)
    assert abs(sim.energy().balance - start) < 1e-4
