#!/usr/bin/env python3
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

"""Two free bodies collide and latch: an impulse, a jump of velocity, a loss of energy."""

from pathlib import Path
import sys

import numpy as np

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import (
    Description,
    Geometry,
    Inertia,
    Joint,
    JointType,
    Link,
    LoopJoint,
    LoopType,
    Pose,
    Shape,
)

PATH = Path(sys.argv[1] if len(sys.argv) > 1 else 'out/07_impact.gif')


def bar(name, mass):
    """Return a bar of 0.6 m along x."""
    flat, round_ = mass * 0.6**2 / 12.0, mass * 0.002
    look = Shape(Geometry('box', (0.6, 0.1, 0.1)))
    return Link(name, Inertia(mass, Pose(), (round_, 0.0, 0.0, flat, 0.0, flat)), visuals=(look,))


robot = ccd.Mechanism(
    Description(
        'two_bars',
        (Link('world'), bar('one', 2.0), bar('two', 3.0)),
        tuple(Joint(f'{name}_free', JointType.FLOATING, 'world', name) for name in ('one', 'two')),
        loops=(
            LoopJoint(
                'pin',
                LoopType.REVOLUTE,
                'one',
                'two',
                parent_origin=Pose((0.3, 0.0, 0.0)),
                child_origin=Pose((-0.3, 0.0, 0.0)),
                parent_axis=(0.0, 1.0, 0.0),
                child_axis=(0.0, 1.0, 0.0),
                active=False,
            ),
        ),
    ),
    gravity=(0.0, 0.0, 0.0),
)
q, v = robot.neutral(), np.zeros(robot.nv)
q[robot.joint_slices('one_free')[0].start] = -0.5
q[robot.joint_slices('one_free')[0].start + 2] = -0.16
q[robot.joint_slices('two_free')[0].start] = 0.5
v[robot.joint_slices('one_free')[1]] = (0.5, 0.0, 0.4, 0.0, 0.0, 0.0)
v[robot.joint_slices('two_free')[1]] = (-0.5, 0.0, 0.0, 0.0, 0.0, 0.0)

sim = ccd.Simulation(robot, q, v, dt=1e-3, log_every=5)
sim.run(0.4)  # here the two ends meet
(event,) = sim.connect('pin')
print(
    f'impulse {np.linalg.norm(event.impulse[:3]):.4f} N s, lost {event.energy_lost:.4f} J, '
    f'mobility {event.mobility_before} -> {event.mobility_after}'
)
assert event.mobility_after == event.mobility_before - 5 and event.energy_lost > 0.0
assert np.allclose(event.momentum_change[:3], 0.0, atol=1e-10)
sim.run(1.5)

log = sim.log
assert abs(log.balance - log.balance[0]).max() < 1e-9 and log.loop_error.max() < 1e-10
assert np.allclose(ccd.momentum(sim.robot, sim.q, sim.v)[:3], (-0.5, 0.0, 0.8), atol=1e-9)
PATH.parent.mkdir(parents=True, exist_ok=True)
log.record(PATH, fps=16, size=(480, 360), view='front')
print(f'wrote {PATH}')
