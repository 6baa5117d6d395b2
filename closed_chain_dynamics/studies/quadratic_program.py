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
A sparse quadratic program by Mehrotra's interior-point method.

Least 1/2 x' P x + c' x with E x = b and x_i >= 0 for some i. In every iteration the linear system
is factorised once, and solved twice: where to go if nothing bent, then corrected for what bends.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.errors import ClosedChainError

__all__ = ['Blocks', 'least_quadratic']


PROGRAM_ITERATIONS = 80
SHORT_OF_ZERO = 0.995  # share of the way to the first bound that a step goes
SOLVED = 1e-11  # residuals and products of multipliers, beside the largest numbers of the problem
FIRM = 1e-13  # added to the diagonal, so that rows that say the same do no harm


def least_quadratic(P: Any, c: Array, E: Any, b: Array, bounded: NDArray[np.bool_]) -> Array:
    """Return x, (n,); P and E are sparse, `bounded` (n,) tells which x are not negative."""
    from scipy.sparse import bmat, diags, eye
    from scipy.sparse.linalg import splu

    n, m, count = len(c), len(b), int(bounded.sum())
    x, y, z = bounded.astype(float), np.zeros(m), bounded.astype(float)
    scale = 1.0 + max(np.abs(c).max(initial=0.0), np.abs(b).max(initial=0.0))
    for _ in range(PROGRAM_ITERATIONS):
        dual, primal = P @ x + c - E.T @ y - z, E @ x - b
        gap = float(x @ z) / max(count, 1)
        worst = max(np.abs(dual).max(initial=0.0), np.abs(primal).max(initial=0.0), gap)
        if worst <= SOLVED * scale:
            return x
        ratio = np.zeros(n)
        ratio[bounded] = z[bounded] / x[bounded]
        system = bmat([[P + diags(ratio) + FIRM * eye(n), E.T], [E, -FIRM * eye(m)]], format='csc')
        factor = splu(system)

        def step(bend: Array) -> tuple[Array, Array, Array]:
            """Return the steps of x, y and z to products of bounds and multipliers `bend`."""
            toward = np.zeros(n)
            toward[bounded] = bend / x[bounded] - z[bounded]
            moved = factor.solve(np.append(-dual + toward, -primal))
            dx = moved[:n]
            return dx, -moved[n:], np.where(bounded, toward - ratio * dx, 0.0)

        dx, dy, dz = step(np.zeros(count))
        if count:
            far = min(_reach(x, dx, bounded), _reach(z, dz, bounded))
            after = float((x + far * dx)[bounded] @ (z + far * dz)[bounded]) / count
            dx, dy, dz = step(gap * (after / gap) ** 3 - (dx * dz)[bounded])
        far = min(1.0, SHORT_OF_ZERO * min(_reach(x, dx, bounded), _reach(z, dz, bounded)))
        x, y, z = x + far * dx, y + far * dy, z + far * dz
    if worst <= 1e4 * SOLVED * scale:
        return x
    raise ClosedChainError(
        f'the nearest motion was not found: {PROGRAM_ITERATIONS} steps '
        f'left an error of {worst:.2g}',
        repair='Smooth the record, or take a shorter part of it.',
    )


def _reach(x: Array, dx: Array, bounded: NDArray[np.bool_]) -> float:
    """Return how far along dx the bounds allow, 1 at most or a little more."""
    falls = bounded & (dx < 0.0)
    return float((-x[falls] / dx[falls]).min(initial=1.0 / SHORT_OF_ZERO))


class Blocks:
    """A sparse matrix that is put together from blocks."""

    def __init__(self) -> None:
        self.parts: list[tuple[Array, NDArray[Any], NDArray[Any]]] = []

    def add(self, row: int, column: int, block: Array) -> None:
        """Put a block with its first number at a place."""
        rows, columns = np.indices(block.shape)
        self.parts.append((block.ravel(), row + rows.ravel(), column + columns.ravel()))

    def diagonal(self, place: int, values: Array) -> None:
        """Put numbers on the diagonal, the first at a place."""
        places = place + np.arange(len(values))
        self.parts.append((values, places, places))

    def matrix(self, rows: int, columns: int) -> Any:
        """Return the matrix; blocks at one place are added."""
        from scipy.sparse import csr_matrix

        values, at, along = (np.concatenate(each) for each in zip(*self.parts))
        return csr_matrix((values, (at, along)), shape=(rows, columns))
