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
What stiffness and damping turns of control can hold.

A spring and a damper on an inertia m, whose force is computed once in a turn T and acts a turn
later, is a linear system in discrete time. With kappa = k T^2 / m and delta = d T / m,

    z (z - 1)^2 + kappa (z + 1) / 2 + delta (z - 1) = 0

and Jury's test gives the region where it is stable:

    delta - (delta - kappa / 2)^2 > 3/2 kappa

A spring alone is never stable: its force lags by 3/2 T, which feeds energy in. It needs a damper
d >= LEAD T k, and gets it. With that and both bounds below, all kappa and delta are stable, even
where the device has half the inertia of its model. For several springs in any coordinates the same
holds: each root z of the whole, with its vector u, is a root for kappa = T^2 u^* K u and
delta = T u^* D u, u^* A u = 1. So only the largest eigenvalues of A^-1 K and A^-1 D count.
"""

import numpy as np

from closed_chain_dynamics.arrays import Matrix, Vector
from closed_chain_dynamics.dynamics.constraints import allowed_motions
from closed_chain_dynamics.dynamics.tree import mass_matrix
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = [
    'LEAD',
    'STIFFEST',
    'STRONGEST_DAMPING',
    'held_alone',
    'held_together',
    'longest_turn',
    'share',
]

STIFFEST = 0.1  # largest k T^2 / m
STRONGEST_DAMPING = 0.4  # largest d T / m
LEAD = 2.0  # turns by which a spring is led by its damper, at least
IN_PLACE_OF_ZERO = 1e-300  # in place of zero below a fraction


def held_alone(k: Vector, d: Vector, m: Vector | float, turn: float) -> tuple[Vector, Vector]:
    """Return stiffness and damping that turns hold, each pair on an inertia m of its own."""
    damping = np.minimum(np.maximum(d, LEAD * turn * k), STRONGEST_DAMPING * m / turn)
    stiffness = np.minimum(np.minimum(k, STIFFEST * m / turn**2), damping / (LEAD * turn))
    return stiffness, damping


def held_together(
    robot: Mechanism, q: Vector, rows: Matrix, given: tuple[Vector, Vector], turn: float
) -> tuple[Vector, Vector]:
    """
    Return stiffness and damping, (n,), that turns hold of those `given` on coordinates.

    `rows`: their rates by v, (n, nv). Each is weakened as far as its own inertia asks for, and
    then all together, so that a light foot does not make a hip soft.
    """
    k, d = given
    W = allowed_motions(robot, q)
    if not turn > 0.0 or not W.size or not k.size:
        return k, d
    R = rows @ W
    C = R @ np.linalg.solve(W.T @ mass_matrix(robot, q) @ W, R.T)  # 1 / m of the coordinates
    k, d = held_alone(k, d, 1.0 / np.maximum(np.diagonal(C), IN_PLACE_OF_ZERO), turn)
    of_D = min(1.0, STRONGEST_DAMPING / max(turn * _fastest(C, d), IN_PLACE_OF_ZERO))
    of_K = min(1.0, STIFFEST / max(turn**2 * _fastest(C, k), IN_PLACE_OF_ZERO), of_D)
    return of_K * k, of_D * d


def _fastest(C: Matrix, gains: Vector) -> float:
    """Return the largest eigenvalue of A^-1 R^T diag(gains) R, where C = R A^-1 R^T."""
    root = np.sqrt(gains)
    return float(np.linalg.eigvalsh(root[:, None] * C * root)[-1])


def share(held: tuple[Vector, Vector], given: tuple[Vector, Vector]) -> float:
    """Return the smallest share that is held of stiffnesses and dampings."""
    (k, d), (k_0, d_0) = held, given
    return float(
        min(
            (k[k_0 > 0.0] / k_0[k_0 > 0.0]).min(initial=1.0),
            (d[d_0 > 0.0] / d_0[d_0 > 0.0]).min(initial=1.0),
        )
    )


def longest_turn(k: Vector, d: Vector) -> float:
    """Return the longest turn that holds pairs as they are, each on an inertia of one [s]."""
    k, d = np.maximum(k, IN_PLACE_OF_ZERO), np.maximum(d, IN_PLACE_OF_ZERO)
    turns = STRONGEST_DAMPING / d, np.sqrt(STIFFEST / k), d / k / LEAD
    return float(np.minimum.reduce(turns).min(initial=np.inf))
