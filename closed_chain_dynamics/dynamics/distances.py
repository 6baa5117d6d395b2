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
How far a mechanism is from singular poses, cluster by cluster and by name.

The numbers are those of `kernels/singularity.py`: what loops, actuators and links would lose. A
cluster that cannot move comes no nearer to anything, and is left out. `SingularityWatch` is one
compiled call a pose, for whoever looks a thousand times a second.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closed_chain_dynamics import kernels
from closed_chain_dynamics.dynamics.rank import learn_rank, poses_nearby
from closed_chain_dynamics.dynamics.wording import share
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.model.model import Records

__all__ = ['ClusterDistance', 'SingularityWatch', 'singularity_distances']

_kernel = kernels.Strict(kernels.compute_distances)
WHAT = ('loops', 'actuators', 'links')


@dataclass(frozen=True)
class ClusterDistance:
    """
    How far loops that share joints are from a singular pose: 0 at it, about 1 far from it.

    `name`: the loops and couplings of the cluster; `loops`: smallest over largest singular value
    of J_C; `actuators`: smallest singular value of S; `links`: smallest singular value of the
    motion of `link`, the link that is closest to standing still. All are dimensionless, and
    infinite where there is nothing to lose.
    """

    name: str
    joints: tuple[str, ...]
    loops: float
    actuators: float
    links: float
    link: str

    @property
    def distance(self) -> float:
        """Return the smallest of the three numbers."""
        return min(self.loops, self.actuators, self.links)

    @property
    def condition(self) -> float:
        """Return the condition number of the independent rows of J_C."""
        return 1.0 / self.loops if self.loops > 0.0 else np.inf

    @property
    def what(self) -> str:
        """Return which number is the smallest: 'loops', 'actuators' or 'links'."""
        return min(WHAT, key=lambda name: float(getattr(self, name)))

    def __str__(self) -> str:
        lost = {
            'loops': 'its loops would allow an additional motion',
            'actuators': 'its actuators would lose control of a motion',
            'links': f'link {self.link!r} would stand still while others move',
        }
        return f'{self.name}: {share(self.distance)}; at 0, {lost[self.what]}'


class SingularityWatch:
    """
    Distances to singular poses by one compiled call, for a mechanism in its present structure.

    `watch(q)` returns records with the fields `loops`, `actuators`, `links` and `body`, one for
    each of `watch.names`; they are overwritten by the next call. Ask `worst(q)` for names. After
    `connect` and `cut` names and records are those of the new structure.
    """

    def __init__(self, robot: Mechanism) -> None:
        self.robot, self._changes = robot, -1
        self._names: tuple[str, ...] = ()

    def _take_structure(self, q: ArrayLike) -> None:
        """Name the clusters of the present structure, and learn what they do nearby."""
        robot = self.robot
        learn_motions(robot, q)
        structure, groups = robot.structure, dict[int, list[str]]()
        for names, table in (
            (robot.loop_names, structure.loops),
            (robot.coupling_names, structure.couplings),
        ):
            for name, row in zip(names, table):
                if row['active'] and row['cluster'] >= 0:
                    groups.setdefault(int(row['cluster']), []).append(name)
        full_rank, n_dofs = structure.clusters['full_rank'], structure.clusters['n_dofs']
        moving = [number for number in sorted(groups) if full_rank[number] < n_dofs[number]]
        self._names = tuple(', '.join(groups[number]) for number in moving)
        self._places: NDArray[np.int64] = np.array(moving, np.int64)
        self._out = np.zeros(len(structure.clusters), kernels.DISTANCE)
        self._changes = robot.changes

    def __repr__(self) -> str:
        return f'<SingularityWatch of {self.robot.name!r}>'

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the clusters that could move at the last call, by their loops."""
        return self._names

    def __call__(self, q: ArrayLike) -> Records:
        """Return the numbers of every cluster that can move, in the order of `names`."""
        robot = self.robot
        if robot.changes != self._changes:
            self._take_structure(q)
        try:
            status = _kernel.call(robot.handle, q, self._out)
        except TypeError:
            status = at.WRONG_SIZE
        if status == at.WRONG_SIZE:
            q = robot.vector(q, robot.nq, 'q')
            status = _kernel.checked(robot.handle, q, self._out)
        if status:
            robot.raise_for(status, robot.vector(q, robot.nq, 'q'))
        return self._out[self._places]

    def named(self, q: ArrayLike) -> dict[str, ClusterDistance]:
        """Return the ClusterDistance of every cluster that can move, by name."""
        numbers = self(q)
        return {
            name: self._described(name, int(cluster), row)
            for name, cluster, row in zip(self._names, self._places, numbers)
        }

    def worst(self, q: ArrayLike) -> ClusterDistance | None:
        """Return the cluster that is nearest to a singular pose; None without loops that move."""
        numbers = self(q)
        if not len(numbers):
            return None
        least = np.min([numbers[name] for name in WHAT], axis=0)
        k = int(np.argmin(least))
        return self._described(self._names[k], int(self._places[k]), numbers[k])

    def _described(self, name: str, cluster: int, row: np.void) -> ClusterDistance:
        model, bodies = self.robot.model, self.robot.structure.bodies
        joints = (model.body_joints[b] for b in np.flatnonzero(bodies['cluster'] == cluster))
        nearest = model.body_joints[int(row['body'])]
        return ClusterDistance(
            name,
            tuple(joint.name for joint in joints if joint is not None),
            float(row['loops']),
            float(row['actuators']),
            float(row['links']),
            nearest.child if nearest is not None else '',
        )


def singularity_distances(robot: Mechanism, q: ArrayLike) -> dict[str, ClusterDistance]:
    """Return how far every cluster of loops that can move is from a singular pose, by name."""
    return SingularityWatch(robot).named(q)


def learn_motions(robot: Mechanism, q: ArrayLike) -> None:
    """Find what actuators and links do at closed poses around a closed one, once per structure."""
    learn_rank(robot, q)
    structure = robot.structure
    if structure.motions_known:
        return
    q, other = robot.vector(q, robot.nq, 'q'), robot.copy()
    out = np.zeros(len(structure.clusters), kernels.DISTANCE)
    for pose in (*poses_nearby(other, q), q):  # largest numbers are kept by the kernel
        status = kernels.compute_distances(other.handle, pose, out)
        if status and pose is q:
            robot.raise_for(status, q)
    other.structure.motions_known = True
    structure.know_motions(other.structure)
    structure.changed()
