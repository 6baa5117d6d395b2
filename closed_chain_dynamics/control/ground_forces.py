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

"""
Torques of the motion nearest to a wanted one that the ground allows.

M a + h = S^T tau + J^T f: the base of a figure has no motor, points that stand do not move, and
the forces f in them push and stay within cones of friction. Of all motions that obey, the one is
found whose accelerations a, moments tau and forces f are nearest to wanted ones, by weighted
squares: with f given, a and tau are linear in it, so that what remains is to find rays of the
cones, none of them negative, by least squares.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from closed_chain_dynamics.arrays import Array

__all__ = ['Footing', 'Wanted', 'torques_on_ground']

BASE = 3  # coordinates without a motor: forward, upward, pitch
LEAST_FORCE = 10.0  # force of a point that stands: less, and it would come and go [N]
NEARLY_SAME = 1e-9  # keeps the equations solvable where two of them say nearly the same


@dataclass(frozen=True)
class Wanted:
    """
    Accelerations `a` and moments `tau`, (nv,), that a motion should have, and what they weigh.

    `weights` of accelerations, (nv,); `moment` is the cost of a moment [m/s^2 or rad/s^2 per N m].
    """

    a: Array
    weights: Array
    tau: Array
    moment: float


@dataclass(frozen=True)
class Footing:
    """
    What the ground does: `rows` a = `rates` of points that stand, and forces in `carrying`.

    `carrying` (2 n, nv) are Jacobians of points that may push, forward and upward each; `wanted`
    (2 n,) the forces they should push with [N]; `friction` the slope of the cones; `weight` the
    cost of forces [m/s^2 or rad/s^2 per N].
    """

    rows: Array
    rates: Array
    carrying: Array
    wanted: Array
    friction: float
    weight: float


def torques_on_ground(M: Array, h: Array, wanted: Wanted, ground: Footing) -> tuple[Array, Array]:
    """Return the forces in all coordinates, (nv,), zero in the base, and f in the points."""
    E = np.vstack([M[:BASE], ground.rows])
    e = np.concatenate([-h[:BASE], ground.rates])
    D = np.zeros((len(E), len(ground.carrying)))  # E a = e + D f
    D[:BASE] = ground.carrying[:, :BASE].T
    # R a = r + P f: rows that say how far accelerations and moments are from the wanted ones
    root = np.sqrt(wanted.weights)
    R = np.vstack([np.diag(root), wanted.moment * M[BASE:]])
    r = np.concatenate([root * wanted.a, wanted.moment * (wanted.tau - h)[BASE:]])
    P = np.vstack([np.zeros((len(M), len(D.T))), wanted.moment * ground.carrying[:, BASE:].T])
    # each matrix is factorised once: for accelerations without forces, and by unit forces
    n = len(E)
    solved = np.linalg.solve(R.T @ R, np.column_stack([E.T, R.T @ r, R.T @ P]))
    Y, free = solved[:, :n], solved[:, n:]
    gap = np.column_stack([e, D]) - E @ free
    motion = free + Y @ np.linalg.solve(E @ Y + NEARLY_SAME * np.eye(n), gap)
    a, by_force = motion[:, 0], motion[:, 1:]
    f = _forces(R @ a - r, R @ by_force - P, ground)
    return np.asarray(M @ (a + by_force @ f) + h - ground.carrying.T @ f), f


def _forces(away: Array, by_force: Array, ground: Footing) -> Array:
    """Return the forces that bring a motion nearest to what is wanted: least away + by_force f."""
    count = len(ground.wanted) // 2
    if not count:
        return np.zeros(0)
    rays = np.kron(np.eye(count), [[ground.friction, -ground.friction], [1.0, 1.0]])
    least = np.tile((0.0, LEAST_FORCE), count)
    A = np.vstack([by_force, ground.weight * np.eye(2 * count)])
    b = np.concatenate([-away, ground.weight * ground.wanted])
    shares, _ = nnls(A @ rays, b - A @ least)
    return np.asarray(least + rays @ shares)
