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

"""Bodies, loops that catch, and the blow that comes with it."""

from dataclasses import replace
import math

from helpers.random_mechanisms import rpy_of
import numpy as np

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import (
    Description,
    Inertia,
    Joint,
    JointType,
    Link,
    LoopJoint,
    Pose,
)

Z = (0.0, 0.0, 1.0)


def body(name, mass, com, moments):
    """Return a link; three moments are those about the axes."""
    if len(moments) == 3:
        moments = (moments[0], 0.0, 0.0, moments[1], 0.0, moments[2])
    return Link(name, Inertia(mass, Pose(com), moments))


def hinge(name, parent, child, at, axis=Z):
    return Joint(name, JointType.CONTINUOUS, parent, child, Pose(at), axis)


def world_frame(robot, q, link, point, R=None):
    """Return the Pose, in a link at q, of a frame at a world point with world axes R."""
    X = ccd.link_placement(robot, q, link)
    R_W, p_W = X[:3, :3], X[:3, 3]
    return Pose(
        tuple(R_W.T @ (np.array(point) - p_W)), rpy_of(R_W.T @ (np.eye(3) if R is None else R))
    )


def with_loop(description, q, name, kind, parent, child, point, R=None):
    """Return the mechanism with a loop joint, open, at a world point with z along R's."""
    robot = ccd.Mechanism(description)
    loop = LoopJoint(
        name,
        kind,
        parent,
        child,
        world_frame(robot, q, parent, point, R),
        world_frame(robot, q, child, point, R),
        active=False,
    )
    return ccd.Mechanism(replace(description, loops=(*description.loops, loop)))


def blow(robot, q, v, *loops):
    """Return the Impact of connecting loops."""
    for loop in loops:
        robot.connect(loop)
    return ccd.impact(robot, q, v)


def rate(robot, q, v, loop):
    """Return the rates of a loop joint."""
    L = ccd.loop_jacobian(robot, q) @ v
    return [
        value for name, value in zip(robot.loop_coordinate_names, L) if name.split(':')[0] == loop
    ]


P_JOINT = np.array([0.2, 0.1, 0.05])
V_1, V_2 = (1.0, 0.2, -0.1, 0.3, -0.2, 0.5), (-0.4, 0.1, 0.2, -0.1, 0.4, -0.3)


def free_bodies(kind):
    """Return two bodies in free flight, a joint between them still open, and their state."""
    description = Description(
        'free_bodies',
        (
            Link('world'),
            body('one', 2.0, (0.0, 0.0, 0.0), (0.02, 0.03, 0.04)),
            body('two', 3.0, (0.0, 0.0, 0.0), (0.05, 0.06, 0.07)),
        ),
        (
            Joint('free_1', JointType.FLOATING, 'world', 'one'),
            Joint('free_2', JointType.FLOATING, 'world', 'two'),
        ),
    )
    half = math.sqrt(0.5)
    q = np.array([0, 0, 0, 0, 0, 0, 1, 0.5, 0.2, 0.1, 0, 0, half, half])
    return with_loop(description, q, 'new', kind, 'two', 'one', P_JOINT), q, np.r_[V_1, V_2]


def side_jacobians(robot, q, one, two, point):
    """Return J1 and J2 at a world point, (6, nv) each; zero for the ground."""
    jacobians = []
    for link in (one, two):
        X = ccd.link_placement(robot, q, link)
        jacobians.append(
            ccd.jacobian(robot, q, link, point=X[:3, :3].T @ (np.array(point) - X[:3, 3]))
        )
    return jacobians


ROD = (1e-3, 1 / 12, 1 / 12)


def planar_arm(names, parent='world', at=(0.0, 0.0, 0.0)):
    """Return links and hinges of a chain of rods of 1 m and 1 kg along x."""
    links, joints = [], []
    for name in names:
        links.append(body(f'rod_{name}', 1.0, (0.5, 0.0, 0.0), ROD))
        joints.append(hinge(name, parent, f'rod_{name}', at))
        parent, at = f'rod_{name}', (1.0, 0.0, 0.0)
    return links, joints


def tip(description, q, link):
    return (ccd.link_placement(ccd.Mechanism(description), q, link) @ (1.0, 0.0, 0.0, 1.0))[:3]
