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

"""Mechanisms in motion, and where they are after a while."""

from dataclasses import replace

import numpy as np

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import Description, Inertia, Joint, JointType, Link, Pose


def seated(**changes):
    """Return the figure on the swing, its posture, and a motion of all its freedoms."""
    robot = ccd.load('swing')
    if changes:
        robot = ccd.Mechanism(replace(robot.description, **changes))
    q = ccd.assemble(robot, {})
    W = ccd.coordinates(robot, q).W
    return robot, q, W @ np.random.default_rng(0).normal(0.0, 0.3, W.shape[1])


def moved(robot, q, v, duration, **options):
    """Return the simulation after a time."""
    sim = ccd.Simulation(robot, q, v, **{'log_every': 0, **options})
    sim.run(duration)
    return sim


def pendulum(**options):
    """Return a point mass of 1 kg on a rod of 0.7 m."""
    bob = Link('bob', Inertia(1.0, Pose((0.0, 0.0, -0.7)), (0.0,) * 6))
    return ccd.Mechanism(
        Description(
            'pendulum',
            (Link('world'), bob),
            (
                Joint(
                    'pivot', JointType.CONTINUOUS, 'world', 'bob', axis=(0.0, 1.0, 0.0), **options
                ),
            ),
        )
    )
