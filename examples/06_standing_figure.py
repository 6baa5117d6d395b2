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

"""Winter's standing figure of three segments: its foot slides, and from rest it collapses."""

from pathlib import Path
import sys

import numpy as np

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import (
    Actuator,
    Description,
    Geometry,
    Inertia,
    Joint,
    JointType,
    Link,
    Pose,
    Shape,
)

PATH = Path(sys.argv[1] if len(sys.argv) > 1 else 'out/06_standing_figure.gif')
NAMES = ('shank', 'thigh', 'trunk')
MASS, LENGTH, COM, MOMENT = (7, 15, 50), (0.44, 0.44, 0.7), (0.25, 0.25, 0.32), (0.10, 0.25, 3.4)


def segment(name, mass, length, com, moment):
    """Return a link along +x, its moment about its own centre of mass."""
    look = Shape(Geometry('box', (length, 0.12, 0.1)), Pose((length / 2, 0.0, 0.0)))
    return Link(
        name,
        Inertia(mass, Pose((com, 0.0, 0.0)), (0.01, 0.0, 0.0, moment, 0.0, moment)),
        visuals=(look,),
    )


links = [Link('world'), Link('foot')]
links += [segment(*each) for each in zip(NAMES, MASS, LENGTH, COM, MOMENT)]
joints = [Joint('slide', JointType.PRISMATIC, 'world', 'foot', axis=(1.0, 0.0, 0.0))]
for name, joint, parent, x in zip(
    NAMES, ('ankle', 'knee', 'hip'), ('foot', *NAMES), (0.0, 0.44, 0.44)
):
    joints.append(
        Joint(joint, JointType.CONTINUOUS, parent, name, Pose((x, 0.0, 0.0)), (0.0, -1.0, 0.0))
    )
robot = ccd.Mechanism(
    Description(
        'standing',
        tuple(links),
        tuple(joints),
        actuators=tuple(Actuator(joint.name) for joint in joints[1:]),
    ),
    gravity=(0.0, 0.0, -9.81),
)

# The paper's angles are against the ground: joint angles are their differences.
D = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, -1, 1, 0], [0, 0, -1, 1]], dtype=float)
q, v = D @ (0.05, 1.45, 1.70, 1.40), D @ (0.2, -0.6, 0.9, -0.4)
E_inverse = np.linalg.inv(D)
M = D.T @ ccd.mass_matrix(robot, q) @ D
assert np.allclose(M[0], (72.0, -30.1288392780, -25.5353688692, -15.7671956798), atol=1e-8)
wrench = {
    'thigh': (
        30.0,
        0.0,
        0.0,
        *np.cross((0.44 * np.cos(1.70), 0, 0.44 * np.sin(1.70)), (30.0, 0.0, 0.0)),
    )
}  # F pulls at the hip
f = ccd.forward_dynamics(robot, q, v, {'ankle': 20.0, 'knee': -35.0, 'hip': 15.0}, wrenches=wrench)
print("accelerations of the paper's angles:", E_inverse @ f.acceleration)
assert np.allclose(
    E_inverse @ f.acceleration,
    (14.7890744262, 51.5172261130, -19.8131278340, -0.664017530305),
    atol=1e-7,
)

sim = ccd.Simulation(robot, D @ (0.0, 1.50, 1.65, 1.52), dt=1e-3, log_every=5)
sim.run(0.3)
drift = abs(sim.log.balance - sim.log.balance[0]).max()
print(f'energy kept within {drift:.1e} J of {sim.log.kinetic.max():.0f} J')
assert drift < 1e-6 * sim.log.kinetic.max()
PATH.parent.mkdir(parents=True, exist_ok=True)
sim.log.record(PATH, fps=16, size=(480, 360), view='front')
print(f'wrote {PATH}')
