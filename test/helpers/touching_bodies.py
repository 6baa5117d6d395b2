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

"""Bodies that rest on surfaces at several points: boxes on slopes, and random ones."""

import numpy as np

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import (
    Contact,
    Description,
    Inertia,
    Joint,
    JointType,
    Link,
    LoopJoint,
    LoopType,
    Pose,
)

G = 9.80665


def corners_of(a, b, h):
    """Return the lower corners of a box of half sizes."""
    return [(x, y, -h) for x in (-a, a) for y in (-b, b)]


def solid_box(mass, a, b, h):
    """Return the moments of inertia of a homogeneous box of half sizes."""
    return tuple(mass / 3.0 * np.array([b * b + h * h, a * a + h * h, a * a + b * b]))


def body_on_slope(
    points, contact, *, tilt=0.0, mass=2.0, inertia=(0.02, 0.03, 0.04), com=(0.0, 0.0, 0.0), **more
):
    """Return a free body that stands with its points on a slope about y, and its pose."""
    links = (
        Link('world'),
        Link(
            'body',
            Inertia(mass, Pose(tuple(com)), (inertia[0], 0.0, 0.0, inertia[1], 0.0, inertia[2])),
        ),
    )
    loops = tuple(
        LoopJoint(
            f'p{k}',
            LoopType.SURFACE,
            'world',
            'body',
            Pose((0.0, 0.0, 0.0), (0.0, tilt, 0.0)),
            Pose(tuple(point)),
            contact=contact,
            **more,
        )
        for k, point in enumerate(points)
    )
    joints = (Joint('float', JointType.FLOATING, 'world', 'body'),)
    robot = ccd.Mechanism(Description('standing', links, joints, loops))
    height = -points[0][2]
    q = np.array(
        [
            height * np.sin(tilt),
            0.0,
            height * np.cos(tilt),
            0.0,
            np.sin(tilt / 2.0),
            0.0,
            np.cos(tilt / 2.0),
        ]
    )
    return robot, q


def downhill(tilt):
    """Return the direction of steepest descent."""
    return np.array([np.cos(tilt), 0.0, -np.sin(tilt)])


class RandomContacts:
    """
    One or two free bodies in a pose at zero, touched at random points by surfaces of random tilt.

    `touches`: per contact the upper body, the lower one (-1: the world), point, normal and mu.
    """

    def __init__(self, rng, bodies, *, restitution=0.0, active=True, static=1.0):
        self.masses = rng.uniform(0.5, 3.0, bodies)
        self.centres = rng.uniform(-0.1, 0.1, (bodies, 3)) + [
            [0.0, 0.0, 0.5 * k] for k in range(bodies)
        ]
        self.touches, links, joints, loops = [], [Link('world')], [], []
        for k in range(bodies):
            size = self.masses[k] * rng.uniform(0.02, 0.04, 3)
            inertia = (size[0], 0.0, 0.0, size[1], 0.0, size[2])
            links.append(
                Link(
                    f'b{k}', Inertia(float(self.masses[k]), Pose(tuple(self.centres[k])), inertia)
                )
            )
            joints.append(Joint(f'f{k}', JointType.FLOATING, 'world', f'b{k}'))
            for _ in range(rng.integers(2, 5)):
                self._touch(rng, loops, k, restitution, active, static)
        self.robot = ccd.Mechanism(
            Description('random', tuple(links), tuple(joints), tuple(loops))
        )
        self.q = np.tile([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], bodies)

    def _touch(self, rng, loops, k, restitution, active, static):
        point = np.append(rng.uniform(-0.3, 0.3, 2), 0.5 * k - 0.25)
        rpy = tuple(rng.uniform(-0.5, 0.5, 2)) + (0.0,)
        normal = Pose((0.0, 0.0, 0.0), rpy).rotation[:, 2]
        mu = float(rng.uniform(0.1, 0.9))
        self.touches.append((k, k - 1, point, normal, static * mu))
        loops.append(
            LoopJoint(
                f'c{len(loops)}',
                LoopType.SURFACE,
                f'b{k - 1}' if k else 'world',
                f'b{k}',
                Pose(tuple(point), rpy),
                Pose(tuple(point)),
                contact=Contact(mu=mu, mu_static=static * mu, restitution=restitution),
                active=active,
            )
        )

    def balance(self):
        """Return E, g with E f + g = 0 where forces f (3 contacts,) hold all bodies at rest."""
        n = len(self.masses)
        E, g = np.zeros((6 * n, 3 * len(self.touches))), np.zeros(6 * n)
        for k, (mass, c) in enumerate(zip(self.masses, self.centres)):
            weight = np.array([0.0, 0.0, -mass * G])
            g[6 * k : 6 * k + 6] = np.append(weight, np.cross(c, weight))
        for i, (upper, lower, point, _, _) in enumerate(self.touches):
            for body, sign in ((upper, 1.0), (lower, -1.0)):
                if body >= 0:
                    for axis in range(3):
                        f = sign * np.eye(3)[axis]
                        E[6 * body : 6 * body + 6, 3 * i + axis] = np.append(f, np.cross(point, f))
        return E, g
