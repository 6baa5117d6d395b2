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
Torques of the accelerations nearest to wanted ones that the ground allows.

M a + h = S^T tau + J^T f: the base of a figure has no motor, points that stand do not move, and
the forces f in them push and stay within cones of friction. Of the accelerations a that obey, the
nearest to the wanted ones are found, with forces near wanted ones where they are free: with f
given they are linear in it, so that what remains is to find rays of the cones, none of them
negative, by least squares.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import nnls

__all__ = ['Ground', 'torques_on_ground']

Array = NDArray[np.float64]
BASE = 3  # coordinates without a motor: forward, upward, pitch
LEAST = 10.0  # force of a point that stands: less, and it would come and go [N]
ROUNDING = 1e-9  # keeps the equations solvable where two of them say nearly the same


@dataclass(frozen=True)
class Ground:
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


def torques_on_ground(
    M: Array, h: Array, a: Array, weights: Array, ground: Ground
) -> tuple[Array, Array]:
    """Return the forces in all coordinates, (nv,), zero in the base, and f in the points."""
    E = np.vstack([M[:BASE], ground.rows])
    e = np.concatenate([-h[:BASE], ground.rates])
    D = np.zeros((len(E), len(ground.carrying)))  # E a = e + D f
    D[:BASE] = ground.carrying[:, :BASE].T
    Y = (E / weights).T
    factor = cho_factor(E @ Y + ROUNDING * np.eye(len(E)))
    near, by_force = a + Y @ cho_solve(factor, e - E @ a), Y @ cho_solve(factor, D)
    f = _forces(near - a, by_force, np.sqrt(weights), ground)
    found = near + by_force @ f
    return np.asarray(M @ found + h - ground.carrying.T @ f), f


def _forces(away: Array, by_force: Array, root: Array, ground: Ground) -> Array:
    """Return the forces that bring accelerations nearest to what is wanted."""
    count = len(ground.wanted) // 2
    if not count:
        return np.zeros(0)
    rays = np.kron(np.eye(count), [[ground.friction, -ground.friction], [1.0, 1.0]])
    least = np.tile((0.0, LEAST), count)
    A = np.vstack([root[:, None] * by_force, ground.weight * np.eye(2 * count)])
    b = np.concatenate([-root * away, ground.weight * ground.wanted])
    shares, _ = nnls(A @ rays, b - A @ least)
    return np.asarray(least + rays @ shares)
