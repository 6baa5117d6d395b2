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

"""How a mechanism answers to forces along rows of coordinates, in one state."""

from dataclasses import dataclass

import numpy as np

from closed_chain_dynamics import kernels
from closed_chain_dynamics.arrays import Matrix, Vector
from closed_chain_dynamics.dynamics.tree import mass_matrix
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['Responses']


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
