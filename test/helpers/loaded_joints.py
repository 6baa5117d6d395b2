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

"""Mechanisms whose joints carry known loads."""

from dataclasses import replace

from helpers.random_mechanisms import moving_joints, random_description, random_loops, random_state
import numpy as np

import closed_chain_dynamics as ccd
from closed_chain_dynamics import Mechanism
from closed_chain_dynamics.description import (
    Actuator,
    Description,
    Dynamics,
    Inertia,
    Joint,
    JointType,
    Link,
    LoopJoint,
    LoopType,
    Pose,
    Spring,
)


def inertia(mass, com=(0.0, 0.0, 0.0), moment=0.01):
    return Inertia(mass, Pose(com), (moment, 0.0, 0.0, moment, 0.0, moment))


def hinge(name, parent, child, xyz=(0.0, 0.0, 0.0), axis=(0.0, 0.0, 1.0), **more):
    return Joint(name, JointType.REVOLUTE, parent, child, Pose(xyz), axis, **more)


def actuated(description, *names):
    return replace(description, actuators=tuple(Actuator(name) for name in names))


def random_closed(seed, n_joints=9, n_loops=2, kinds=tuple(LoopType), **options):
    """Return a mechanism with loops, passive forces and motors, and q, v that respect it."""
    rng = np.random.default_rng(seed)
    tree = random_description(rng, n_joints, **options)
    q, _, _ = random_state(rng, tree)
    model = random_loops(rng, tree, q, n_loops, kinds)
    loops = tuple(
        replace(loop, dynamics=Dynamics(*rng.uniform(0.0, 1.0, 2))) for loop in model.loops
    )
    ends = rng.choice([link.name for link in model.links], 2, replace=False)
    spring = Spring(
        'spring',
        'linear',
        30.0,
        2.0,
        0.1,
        ends[0],
        tuple(rng.uniform(-1, 1, 3)),
        ends[1],
        tuple(rng.uniform(-1, 1, 3)),
    )
    movable = [joint.name for joint in moving_joints(model)]
    motors = [*rng.choice(movable, min(3, len(movable)), replace=False), loops[0].name]
    model = actuated(replace(model, loops=loops, springs=(spring,)), *motors)
    robot = Mechanism(model)
    c = ccd.coordinates(robot, q)
    v = c.W @ rng.normal(size=c.mobility)
    return robot, q, v / max(np.abs(v).max(initial=0.0), 1.0), c, rng


def parallelogram(phi, crank=0.3, base=0.5, mass=2.0):
    """Return a parallelogram in x-z with a coupler that has mass, and its closed pose."""
    y = (0.0, -1.0, 0.0)  # turns count from x to z
    model = Description(
        'parallelogram',
        (
            Link('base'),
            Link('crank'),
            Link('coupler', inertia(mass, (base / 2.0, 0.0, 0.0))),
            Link('rocker'),
        ),
        (
            hinge('drive', 'base', 'crank', axis=y),
            hinge('pin_1', 'crank', 'coupler', (crank, 0.0, 0.0), axis=y),
            hinge('swing', 'base', 'rocker', (base, 0.0, 0.0), axis=y),
        ),
        (
            LoopJoint(
                'pin_2',
                LoopType.REVOLUTE,
                'coupler',
                'rocker',
                Pose((base, 0.0, 0.0)),
                Pose((crank, 0.0, 0.0)),
                y,
                y,
            ),
        ),
    )
    robot = Mechanism(actuated(model, 'drive'))
    return robot, np.array([phi, -phi, phi])
