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

"""A platform on six legs, described in one closed pose."""

from dataclasses import replace
import math

from helpers.planar_linkages import Body, Joined, linkage
import numpy as np

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import Actuator, JointType, LoopJoint, LoopType, Pose

LEGS = range(6)
CENTRE = np.array([0.05, -0.02, 1.1])
PLATFORM_TENSOR = (0.5, 0.02, -0.01, 0.6, 0.03, 0.9)
PLATFORM_MASS = 12.0


def _ring(radius, height, angles):
    return [np.array([radius * math.cos(t), radius * math.sin(t), height]) for t in angles]


FEET_XYZ = _ring(0.9, 0.0, [0.1, 2.0, 2.2, 4.1, 4.3, 6.2])
HEADS_XYZ = [
    head + CENTRE - (0.0, 0.0, 1.1) for head in _ring(0.5, 1.1, [0.9, 1.2, 3.0, 3.3, 5.1, 5.4])
]


def leg_axes(k):
    """Return the two axes of the foot and the direction of a leg: three right angles."""
    leg = HEADS_XYZ[k] - FEET_XYZ[k]
    leg = leg / np.linalg.norm(leg)
    first = np.cross((0.0, 0.0, 1.0), leg)
    first /= np.linalg.norm(first)
    return first, np.cross(leg, first), leg


def stewart(foot='universal', leg_mass=0.0):
    """
    Return a platform on six legs with a universal or a spherical joint at the foot.

    The platform flies; the heads close the loops. 'universal_loop' cuts at the feet instead.
    """
    bodies = {'platform': Body(PLATFORM_MASS, tuple(CENTRE), PLATFORM_TENSOR)}
    joints = [Joined('platform', 'ground', 'platform', tuple(CENTRE), kind=JointType.FLOATING)]
    loops = []
    for k in LEGS:
        first, second, leg = (tuple(axis.tolist()) for axis in leg_axes(k))
        low, high = FEET_XYZ[k], HEADS_XYZ[k]
        inertia = tuple(leg_mass * x for x in (0.05, 0.01, 0.0, 0.04, 0.002, 0.03))
        bodies[f'lower_{k}'] = Body(leg_mass, tuple(0.7 * low + 0.3 * high), inertia)
        bodies[f'upper_{k}'] = Body(0.6 * leg_mass, tuple(0.2 * low + 0.8 * high), inertia)
        if foot == 'universal':
            bodies[f'cross_{k}'] = Body(0.0, tuple(low))
            joints += [
                Joined(f'swing_{k}', 'ground', f'cross_{k}', tuple(low), first),
                Joined(f'lean_{k}', f'cross_{k}', f'lower_{k}', tuple(low), second),
            ]
        elif foot == 'spherical':
            joints.append(
                Joined(f'foot_{k}', 'ground', f'lower_{k}', tuple(low), kind=JointType.SPHERICAL)
            )
        else:
            loops.append(
                LoopJoint(
                    f'foot_{k}',
                    LoopType.UNIVERSAL,
                    'ground',
                    f'lower_{k}',
                    Pose(tuple(low)),
                    Pose(tuple(low - 0.5 * (low + high))),
                    first,
                    second,
                )
            )
        joints += [
            Joined(
                f'leg_{k}',
                f'lower_{k}',
                f'upper_{k}',
                tuple(0.5 * (low + high)),
                leg,
                JointType.PRISMATIC,
            ),
            Joined(f'head_{k}', f'upper_{k}', 'platform', tuple(high), kind=JointType.SPHERICAL),
        ]
    cut = [] if foot == 'universal_loop' else [f'head_{k}' for k in LEGS]
    description = linkage('stewart', bodies, joints, cut=cut)
    return replace(
        description,
        loops=description.loops + tuple(loops),
        actuators=tuple(Actuator(f'leg_{k}') for k in LEGS),
    )


def with_platform(robot, q, twist, v=None):
    """Return velocities, or accelerations at the velocity v, from those of the platform."""
    J_C, _, bias = ccd.constraint_jacobian(robot, q, np.zeros(robot.nv) if v is None else v)
    place = robot.joint_slices('platform')[1]
    rest = [k for k in range(robot.nv) if not place.start <= k < place.stop]
    out = np.zeros(robot.nv)
    out[place] = twist
    out[rest] = np.linalg.lstsq(
        J_C[:, rest], -J_C[:, place] @ twist - (0.0 if v is None else bias), rcond=1e-12
    )[0]
    return out
