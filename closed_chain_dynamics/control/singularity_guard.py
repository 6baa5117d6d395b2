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
Keeps references away from singular poses: by cluster, and before one is passed.

Three things count: loops that lose a constraint, actuators that lose a motion, and links that do.
Where a crank and its rod come into line, what they drive stands still: the joints that carry that
link lose a motion that they clearly have elsewhere; the little by which a rod turns about itself
comes and goes in ordinary poses. A pose is too near where a number is below
`distance` and falls, or would be before the motion can end: a dead point may lie between two
poses. Moving away is free.
"""

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.dynamics.constraints import allowed_motions
from closed_chain_dynamics.dynamics.distances import SingularityWatch
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['SingularityGuard']

NEARER = 1e-9  # a change of distance that is rounding
HAS_MOTION = 0.05  # share of a link in a motion from which it has that motion
AS_LARGE = 0.2  # as the largest motion of the link, that a motion has to be to count


class SingularityGuard:
    """Says in words what is wrong with a step from one pose to the next, or nothing."""

    def __init__(self, robot: Mechanism, distance: float) -> None:
        self.robot, self._watch, self._distance = robot, SingularityWatch(robot), distance
        self._changes, self._last = -1, np.empty(0)
        self._of_last: bytes | None = None

    def __call__(self, before: Vector, after: Vector, more: float) -> str:
        """Return what comes too near to a singular pose; `more`: steps until it can end."""
        if self.robot.changes != self._changes:
            self._take_structure()
        then = self._last if before.tobytes() == self._of_last else self._numbers(before)
        now = self._numbers(after)
        self._last, self._of_last = now, after.tobytes()
        falls = now < then - NEARER
        near = falls & (np.minimum(now, now + more * (now - then)) < self._distance)
        if not near.any():
            return ''
        k, clusters = int(np.flatnonzero(near)[0]), len(self._watch.names)
        what = ('its loops', 'its actuators')[k // clusters] if k < 2 * clusters else ''
        name = self._watch.names[k % clusters] if what else self._link_clusters[k - 2 * clusters]
        lost = what or f'link {self._link_names[k - 2 * clusters]!r}'
        return (
            f'{name} comes too near to a singular pose, at which {lost} would lose a motion: its '
            f'distance is {now[k]:.3g} and on the way to less than {self._distance:g}'
        )

    def _take_structure(self) -> None:
        """Note the joints that carry the links of every cluster."""
        self._changes = self.robot.changes
        structure, model = self.robot.structure, self.robot.model
        self._groups: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        self._link_names: list[str] = []
        self._link_clusters: list[str] = []
        bodies = structure.bodies
        for number in range(len(structure.clusters)):
            rows = zip(self.robot.loop_names, structure.loops)
            name = ', '.join(n for n, row in rows if row['active'] and row['cluster'] == number)
            paths = []
            for body in np.flatnonzero(bodies['cluster'] == number):
                path: list[int] = []
                up = int(body)
                while up > 0 and bodies['cluster'][up] == number:
                    first = int(bodies['iv'][up])
                    path += range(first, first + int(bodies['n_dof'][up]))
                    up = int(bodies['parent'][up])
                joint = model.body_joints[int(body)]
                paths.append(path)
                self._link_names.append(joint.child if joint is not None else '')
                self._link_clusters.append(name)
            # of the same length, so that one call does for all: the last row of motions is zero
            even = np.full((len(paths), max(map(len, paths), default=0)), self.robot.nv, np.int64)
            for row, path in zip(even, paths):
                row[: len(path)] = path
            self._groups.append((structure.dofs_of(number).copy(), even))
        self._ways = [np.zeros(len(even), np.int64) for _, even in self._groups]

    def _numbers(self, q: Vector) -> Vector:
        """Return loops and actuators of every cluster, then every link."""
        found = self._watch(q)
        W, scale = allowed_motions(self.robot, q), self.robot.structure.dofs['scale'][:, None]
        parts = [found['loops'], found['actuators']]
        for (own, paths), ways in zip(self._groups, self._ways):
            sigma = np.linalg.svd(_motions_of(W / scale, own)[paths], compute_uv=False)
            clear = np.maximum(HAS_MOTION, AS_LARGE * sigma.max(axis=1, initial=0.0))
            np.maximum(ways, (sigma > clear[:, None]).sum(axis=1), out=ways)
            has = (ways > 0) & (ways <= sigma.shape[1])
            links = np.full(len(ways), np.inf)
            links[has] = sigma[has, ways[has] - 1]
            parts.append(links)
        numbers = np.concatenate(parts)
        return np.where(np.isfinite(numbers), numbers, 1.0)  # nothing to lose


def _motions_of(W: NDArray[np.float64], own: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return an orthonormal basis of the motions of some joints; other rows, and a last, zero."""
    U, sigma, _ = np.linalg.svd(W[own], full_matrices=False)
    kept = U[:, sigma > 1e-9 * max(sigma.max(initial=0.0), 1e-300)]
    motions = np.zeros((len(W) + 1, kept.shape[1]))
    motions[own] = kept
    return motions
