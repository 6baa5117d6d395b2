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
Forces on coordinates that keep within bounds, and that move the mechanism no more than they must.

Stops push and never pull, friction holds up to its limit. Of all forces within their bounds those
act that make x^T G x / 2 + c^T x least, where G = R A^-1 R^T is what a force does to the rates of
the coordinates, rows R, and c what they do without it (Gauss's principle of least constraint). A
rate that is not zero then belongs to a force at its bound. The motion is unique, the forces are
not where more is held than can move.
"""

from dataclasses import dataclass

import numpy as np

from closed_chain_dynamics import kernels
from closed_chain_dynamics.dynamics.constraints import Matrix
from closed_chain_dynamics.dynamics.tree import mass_matrix
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.model.mechanism import Mechanism, Vector

__all__ = ['Responses']

NO_RESPONSE = 1e-12  # share of the largest response below which a coordinate cannot move


@dataclass(frozen=True)
class Responses:
    """How a mechanism answers to forces along rows: `moved` is W A^-1 W^T R^T, (nv, rows)."""

    rows: Matrix
    moved: Matrix
    root: Matrix  # B with G = B^T B

    @classmethod
    def of(cls, robot: Mechanism, q: Vector, rows: Matrix) -> 'Responses':
        """Return the responses to forces along rows, (rows, nv), in the present structure."""
        W = np.empty((robot.nv, robot.nv))
        status = kernels.compute_coordinates(robot.handle, q, W)
        if status:
            robot.raise_for(status, q)
        W = W[:, : robot.structure.shape['mobility']]
        try:
            L = np.linalg.cholesky(W.T @ mass_matrix(robot, q) @ W)
        except np.linalg.LinAlgError:
            robot.raise_for(at.NOT_POSITIVE, q)
        root = np.linalg.solve(L, W.T @ rows.T) if W.size else np.zeros((0, len(rows)))
        moved = W @ np.linalg.solve(L.T, root) if W.size else np.zeros((robot.nv, len(rows)))
        return cls(rows, moved, root)

    def forces(self, rates: Vector, lower: Vector, upper: Vector) -> Vector:
        """Return the forces within bounds, (rows,), for rates that there are without them."""
        G = self.root.T @ self.root
        stiff = np.diag(G) > NO_RESPONSE * np.diag(G).max(initial=0.0)
        forces = np.zeros(len(rates))
        if np.count_nonzero(stiff) == 1:
            (k,) = np.flatnonzero(stiff)
            forces[k] = np.clip(-rates[k] / G[k, k], lower[k], upper[k])
        elif np.any(stiff):
            from scipy.optimize import lsq_linear  # slow to import

            B = self.root[:, stiff]
            aim = np.linalg.lstsq(B.T, -rates[stiff], rcond=None)[0]
            bounds = lower[stiff], upper[stiff]
            forces[stiff] = lsq_linear(B, aim, bounds, method='bvls', tol=1e-15).x
        return forces
