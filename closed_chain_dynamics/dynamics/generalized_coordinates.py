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
Generalized coordinates of a closed chain (Nakamura and Yamane, section II).

Symbol      Meaning                                                        Shape
J_C         constraint Jacobian of all loops, Eq. (11)                     (rows, nv)
m           rank of J_C                                                    Eq. (12)
theta_G     generalized coordinates, N_F = nv - m of theta_O               Eq. (13)
theta_S     the other m, dependent                                         Eq. (14)
H           d theta_S / d theta_G = -J_S^-1 J_G                            (m, N_F), Eq. (17)
W           d theta_O / d theta_G                                          (nv, N_F), Eq. (4)
S           d theta_A / d theta_G                                          (motors, N_F), Eq. (6)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from html import escape

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closed_chain_dynamics.arrays import Matrix, Vector
from closed_chain_dynamics.dynamics.constraints import (
    actuator_rows,
    allowed_motions,
    constraint_jacobian,
    row_owners,
    row_units,
)
from closed_chain_dynamics.dynamics.distances import ClusterDistance, singularity_distances
from closed_chain_dynamics.dynamics.explanation import explain
from closed_chain_dynamics.dynamics.levers import Levers, find_levers, no_lever
from closed_chain_dynamics.dynamics.rank import learn_rank
from closed_chain_dynamics.dynamics.singularities import lost_motion
from closed_chain_dynamics.dynamics.values import KeptPose, Where, constant
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['Cluster', 'Coordinates', 'coordinates']

SINGULAR_DISTANCE = 1e-4  # below this the loops count as close to losing rank


@dataclass(frozen=True, eq=False)
class Cluster:
    """Joints that loops and couplings tie together, at one pose."""

    number: int  # among the clusters of the structure, with loops or without
    dofs: NDArray[np.int64]  # their velocities: theta_S, then theta_G
    rows: NDArray[np.int64]  # their rows of J_C
    rank: int  # of those rows


@dataclass(frozen=True, eq=False)
class Coordinates(KeptPose):
    """
    The generalized coordinates of a mechanism in one pose, and why they were chosen.

    A value: `robot` is a copy of the mechanism in the structure that was asked about.
    """

    _where: Where = field(repr=False)
    J_C: Matrix = field(repr=False)
    W: Matrix = field(repr=False)
    clusters: tuple[Cluster, ...] = field(repr=False)  # those with rows of J_C
    full_rank: int  # the rank of J_C at closed poses around this one
    _is_dependent: NDArray[np.bool_] = field(repr=False)  # (nv,)

    def __repr__(self) -> str:
        return f'Coordinates(independent={self.independent}, dependent={self.dependent})'

    @property
    def independent(self) -> list[str]:
        """Return the names of theta_G."""
        return self._named(~self._is_dependent)

    @property
    def dependent(self) -> list[str]:
        """Return the names of theta_S."""
        return self._named(self._is_dependent)

    def _named(self, chosen: NDArray[np.bool_]) -> list[str]:
        return [name for name, yes in zip(self.robot.coordinate_names, chosen) if yes]

    @property
    def places(self) -> NDArray[np.int64]:
        """Return the places of theta_G in a velocity, (mobility,)."""
        return np.flatnonzero(~self._is_dependent)

    @property
    def mobility(self) -> int:
        """Return N_F, the number of generalized coordinates, Eq. (13)."""
        return int(self.W.shape[1])

    @property
    def rank(self) -> int:
        """Return m, the rank of J_C."""
        return len(self.W) - self.mobility

    @cached_property
    def H(self) -> Matrix:
        """Return d theta_S / d theta_G, (rank, mobility), Eq. (17)."""
        return constant(self.W[self._is_dependent])

    @cached_property
    def S(self) -> Matrix:
        """Return d theta_A / d theta_G, (actuators, mobility), Eq. (6), Fig. 6."""
        return constant(actuator_rows(self.robot, self.q) @ self.W)

    @cached_property
    def levers(self) -> Levers:
        """Return what the actuators can move, and what they cannot."""
        return find_levers(self.robot, self.S, self.W)

    @property
    def dead_point(self) -> bool:
        """Return whether actuators have no leverage here, but have some at nearby poses."""
        least = no_lever(self.robot)
        return any(each.actuators <= least for each in self.distances.values())

    @cached_property
    def _svd(self) -> tuple[Matrix, Vector, Matrix]:
        """Singular values of J_C with rows and columns freed of units."""
        J = row_units(self.robot)[:, None] * self.J_C * self.robot.structure.dofs['scale']
        U, sigma, Vt = np.linalg.svd(J, full_matrices=False)
        return U, sigma, Vt

    @property
    def singular_values(self) -> Vector:
        """Return the singular values of J_C without units, largest first."""
        return np.array(self._svd[1])

    @property
    def rank_gap(self) -> tuple[float, float]:
        """
        Return the smallest singular value that counts for the rank, and the largest that does not.

        Both are relative to the largest singular value of J_C; 1 and 0 where there is none.
        """
        sigma, m = self._svd[1], self.rank
        share = sigma / sigma.max(initial=1e-300)
        return float(share[m - 1]) if m else 1.0, float(share[m]) if m < len(share) else 0.0

    @cached_property
    def distances(self) -> dict[str, ClusterDistance]:
        """Return how far each cluster that can move is from a singular pose, by name."""
        found = singularity_distances(self.robot, self.q)
        self._where[1].know_motions(self.robot.structure)  # for all results in this structure
        return found

    @property
    def nearest(self) -> ClusterDistance | None:
        """Return the cluster that is nearest to a singular pose; None where no loop moves."""
        return min(self.distances.values(), key=lambda each: each.distance, default=None)

    @property
    def distance(self) -> float:
        """
        Return the distance to the nearest singularity (that of `nearest`); 1 without loops.

        It measures what loops, actuators or a link would lose there: see `ClusterDistance`.
        """
        return self.nearest.distance if self.nearest else 1.0

    @property
    def _loop_distance(self) -> float:
        """The smallest over the largest singular value of J_C, in the worst cluster."""
        return min((each.loops for each in self.distances.values()), default=1.0)

    @property
    def condition(self) -> float:
        """Return the condition number of the independent constraints; 1 without loops."""
        if self.full_rank == 0:
            return 1.0
        sigma = self._svd[1]
        least = float(sigma[self.full_rank - 1])
        return float(sigma[0]) / least if least > 0.0 else np.inf

    @property
    def singular_direction(self) -> Vector:
        """Return the velocity that becomes free at the nearest singularity, (nv,), unit length."""
        if self.full_rank == 0:
            return np.zeros(self.robot.nv)
        if self.lost_rank:
            return lost_motion(self.robot, self.q, self.W)
        direction = self._svd[2][self.rank - 1] * self.robot.structure.dofs['scale']
        return np.asarray(direction / np.linalg.norm(direction))

    @property
    def is_singular(self) -> bool:
        """Return whether the loops are at or close to losing rank; see `distance` for more."""
        return self._loop_distance < SINGULAR_DISTANCE or self.lost_rank > 0

    @property
    def lost_rank(self) -> int:
        """Return by how much the rank is below that of the closed poses nearby."""
        return self.full_rank - self.rank

    @property
    def redundant_rows(self) -> list[int]:
        """Return the redundant rows of J_C, a list of row numbers."""
        if not len(self.J_C):
            return []
        from scipy.linalg import qr  # slow to import, seldom needed

        rows = row_units(self.robot)[:, None] * self.J_C
        order = qr(rows.T, mode='r', pivoting=True)[1]
        return sorted(int(row) for row in order[self.rank :])

    @property
    def redundant_rows_by_loop(self) -> dict[str, int]:
        """Return how many rows of each loop or coupling are redundant, {name: count}."""
        owners = row_owners(self.robot)
        counts: dict[str, int] = {}
        for row in self.redundant_rows:
            counts[owners[row]] = counts.get(owners[row], 0) + 1
        return counts

    def __str__(self) -> str:
        return explain(self)

    def _repr_html_(self) -> str:
        return f'<pre style="white-space: pre-wrap">{escape(str(self))}</pre>'


def coordinates(robot: Mechanism, q: ArrayLike) -> Coordinates:
    """
    Return the generalized coordinates of a mechanism in a closed pose.

    The choice prefers actuated joints, then joints marked independent; it is kept from call to
    call while it is well conditioned.
    """
    q = robot.vector(q, robot.nq, 'q')
    learn_rank(robot, q)
    W = allowed_motions(robot, q)
    clusters = _clusters(robot)
    return Coordinates(
        (robot.model, robot.kept_structure(), q.tobytes()),
        constant(constraint_jacobian(robot, q)[0]),
        constant(W),
        clusters,
        int(robot.structure.shape['full_rank']),
        robot.structure.dofs['dependent'].astype(bool),
    )


def _clusters(robot: Mechanism) -> tuple[Cluster, ...]:
    """Return the clusters that have rows of J_C, after the constraints have been solved."""
    structure, clusters = robot.structure, []
    loops = structure.loops[structure.loops['active'] != 0]
    couplings = structure.couplings[structure.couplings['active'] != 0]
    holds = structure.holds[structure.holds['active'] != 0]
    for number, own in enumerate(structure.clusters):
        if own['n_rows']:
            rows = [
                row
                for loop in loops[loops['cluster'] == number]
                for row in range(loop['row'], loop['row'] + loop['n_rows'])
            ]
            rows += couplings['row'][couplings['cluster'] == number].tolist()
            rows += holds['row'][holds['cluster'] == number].tolist()
            clusters.append(
                Cluster(number, structure.dofs_of(number).copy(), np.array(rows), int(own['rank']))
            )
    return tuple(clusters)
