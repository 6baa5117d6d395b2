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

"""A planar walker of two legs on point feet, and an oracle that tries everything feet can do."""

from itertools import product

import numpy as np
from scipy.linalg import solve

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
LEG, HALF = 1.0, 0.5  # length of a leg, and where its mass is [m]
LEG_MASS, LEG_INERTIA, HIP_MASS = 5.0, 0.02, 10.0
MU = 0.8
ZERO = 1e-9  # what counts as zero of a force [N] or speed [m/s] that the oracle has found


def compass(spread):
    """Return the walker with its feet on the floor, legs apart by twice `spread`, and its pose."""
    rod = (LEG_INERTIA, 0.0, 0.0, LEG_INERTIA, 0.0, 0.001)
    links = [Link('world'), Link('slide')]
    links += [Link(side, Inertia(LEG_MASS, Pose((0.0, 0.0, -HALF)), rod)) for side in 'ab']
    links.append(Link('hip', Inertia(HIP_MASS, Pose(), (0.01, 0.0, 0.0, 0.01, 0.0, 0.01))))
    joints = (
        Joint('x', JointType.PRISMATIC, 'world', 'slide', axis=(1.0, 0.0, 0.0)),
        Joint('z', JointType.PRISMATIC, 'slide', 'hip', axis=(0.0, 0.0, 1.0)),
        Joint('leg_a', JointType.CONTINUOUS, 'hip', 'a', axis=(0.0, 1.0, 0.0)),
        Joint('leg_b', JointType.CONTINUOUS, 'hip', 'b', axis=(0.0, 1.0, 0.0)),
    )
    feet = tuple(
        LoopJoint(
            f'foot_{side}',
            LoopType.SURFACE,
            'world',
            side,
            child_origin=Pose((0.0, 0.0, -LEG)),
            contact=Contact(mu=MU),
            active=False,
        )
        for side in 'ab'
    )
    robot = ccd.Mechanism(Description('compass', tuple(links), joints, feet))
    return robot, np.array([0.0, LEG * np.cos(spread), spread, -spread])


class Feet:
    """What two feet can do: rows n, t of foot a, then of foot b; u = inverse_mass p + c."""

    def __init__(self, q, v):
        mass, force = np.diag([HIP_MASS, HIP_MASS, 0.0, 0.0]), np.zeros(4)
        force[1] -= HIP_MASS * G
        self.J, bias = np.zeros((4, 4)), np.zeros(4)
        for i in (0, 1):
            s, c, w = np.sin(q[2 + i]), np.cos(q[2 + i]), v[2 + i]
            rows = np.zeros((2, 4))  # velocity of the mass along x and z
            rows[0, 0], rows[0, 2 + i] = 1.0, -HALF * c
            rows[1, 1], rows[1, 2 + i] = 1.0, HALF * s
            mass += LEG_MASS * rows.T @ rows
            mass[2 + i, 2 + i] += LEG_INERTIA
            force -= LEG_MASS * rows.T @ (HALF * w * w * np.array([s, c]) + [0.0, G])
            self.J[2 * i] = LEG / HALF * rows[1]
            self.J[2 * i, 1] = 1.0
            self.J[2 * i + 1] = LEG / HALF * rows[0]
            self.J[2 * i + 1, 0] = 1.0
            bias[2 * i], bias[2 * i + 1] = LEG * c * w * w, LEG * s * w * w
        self.response = solve(mass, self.J.T, assume_a='pos')
        self.G, self.u = self.J @ self.response, self.J @ v
        self.c = self.J @ solve(mass, force, assume_a='pos') + bias

    def forces(self):
        """Return all (n, t, n, t) that fit the motion of sliding feet: each drags, or leaves."""
        ways = [np.sign(self.u[1]), np.sign(self.u[3])]
        return self._all([('open', way) for way in ways], self.c)

    def impulses(self):
        """Return all impulses, other than none, of an impact without collision."""
        every = ('open', 'stick', 1.0, -1.0)
        return [p for p in self._all([every, every], self.u) if np.abs(p).max() > ZERO]

    def _all(self, choices, c):
        return [p for modes in product(*choices) if (p := self._one(modes, c)) is not None]

    def _one(self, modes, c):
        """Solve for what each foot does, and look whether Coulomb's law agrees."""
        A, b = np.zeros((4, 4)), np.zeros(4)
        for i, mode in enumerate(modes):
            n, t = 2 * i, 2 * i + 1
            if mode == 'open':
                A[n, n] = A[t, t] = 1.0
                continue
            A[n], b[n] = self.G[n], -c[n]
            if mode == 'stick':
                A[t], b[t] = self.G[t], -c[t]
            else:
                A[t, t], A[t, n] = 1.0, MU * mode
        if np.linalg.cond(A) > 1e12:
            return None
        p = solve(A, b)
        u = self.G @ p + c
        for i, mode in enumerate(modes):
            n, t = 2 * i, 2 * i + 1
            good = u[n] >= -ZERO and p[n] >= -ZERO and abs(p[t]) <= MU * p[n] + ZERO
            if mode not in ('open', 'stick') and c is self.u:  # an impact decides the way anew
                good = good and u[t] * mode >= -ZERO
            if not good:
                return None
        return p
