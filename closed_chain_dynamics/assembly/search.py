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
Assembly: closing all loops in position, whatever the start.

Nakamura and Yamane take closed poses as given. Here each cluster of loops is closed by itself
(`closure.py`): from the start or hint, from the file's hints, from neutral and mid-range poses,
then from random ones. Held joints that are away from a closed start or a hint are swept to their
values in small steps, which keeps the branch; where the way is blocked, they jump.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from numpy.typing import ArrayLike

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.assembly.branches import name_branch
from closed_chain_dynamics.assembly.cluster_search import ClusterSearch
from closed_chain_dynamics.assembly.held_joints import (
    check_state,
    read_held,
    refuse_contradictions,
)
from closed_chain_dynamics.assembly.starts import put_hint
from closed_chain_dynamics.dynamics.values import KeptPose, Where
from closed_chain_dynamics.errors import NameNotFound
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['Assembled', 'assemble', 'find_assembly']


@dataclass(frozen=True, eq=False)
class Assembled(KeptPose):
    """A closed pose `q`, and how it was found."""

    _where: Where
    attempts: int  # starts that the hardest cluster took
    iterations: int  # steps of all clusters and starts together
    started_from: str  # the start that closed the hardest cluster

    def __repr__(self) -> str:
        return (
            f'Assembled(q={self.q!r}, attempts={self.attempts}, iterations={self.iterations}, '
            f'started_from={self.started_from!r})'
        )

    @cached_property
    def gaps(self) -> dict[str, tuple[float, float]]:
        """Return what is left open, {loop or coupling: (metres, radians)}."""
        return self.robot.loop_gaps(self.q)

    @cached_property
    def branch(self) -> str:
        """
        Return the name of the branch: the nearest hint, and a sign per cluster with loops.

        The sign is that of det(J_S), 0 at a singularity. It cannot change along a motion that
        stays away from singularities, so other signs mean another branch; equal signs alone do
        not mean the same one.
        """
        return name_branch(self.robot, self.q)


def assemble(
    robot: Mechanism,
    joints: Mapping[str, ArrayLike] | None = None,
    *,
    start: ArrayLike | None = None,
    hint: str | None = None,
    limits: bool = True,
    tolerance: float = 1e-12,
    attempts: int = 60,
    seed: int = 0,
) -> Vector:
    """
    Return a configuration with all loops closed and the named joints held, (nq,).

    `joints`: {joint or loop coordinate: position}, a number [rad or m], or the joint's part of q
    where it has several numbers. The other joints stay near the start. For the options, and for
    how the pose was found, see `find_assembly`.
    """
    return find_assembly(
        robot,
        joints,
        start=start,
        hint=hint,
        limits=limits,
        tolerance=tolerance,
        attempts=attempts,
        seed=seed,
    ).q


def find_assembly(
    robot: Mechanism,
    joints: Mapping[str, ArrayLike] | None = None,
    *,
    start: ArrayLike | None = None,
    hint: str | None = None,
    limits: bool = True,
    tolerance: float = 1e-12,
    attempts: int = 60,
    seed: int = 0,
) -> Assembled:
    """
    Return an Assembled: a closed pose, its branch, what is left open, and how it was found.

    `start`: configuration to stay near (nq,), closed or not. `hint`: name of a cc:assembly to
    start from; without start and hint all of them are tried, in the order of the file. `limits`:
    whether joints stay within their range. `tolerance`: gap at which the search stops, after one
    more step [m or rad]; loops that the digits of the file do not allow to close that well are
    accepted up to the closing tolerance of the kernels. `attempts`: starts per cluster; `seed`: of
    the random starts.
    """
    work = robot.copy()
    held = read_held(work, joints, limits)
    reference, label = _reference(work, start, hint)
    goal = reference.copy()
    goal[held.places] = held.positions
    refuse_contradictions(work, held, goal)
    search = ClusterSearch(work, held, goal, limits, tolerance, attempts, seed)
    hints = () if label != 'neutral' else work.description.assemblies
    q, most, total, source, failed = goal.copy(), 0, 0, label, []
    for cluster in range(len(work.structure.clusters)):
        closure = search.closure(cluster)
        found = search.run(closure, reference, label, hints)
        q[closure.q_places] = found.q[closure.q_places]
        total += found.iterations
        if found.attempts > most:
            most, source = found.attempts, found.source
        if not found.worth:
            failed.append((closure, found))
    if failed:
        raise search.failure(q, failed, hint)
    return Assembled((work.model, work.structure, q.tobytes()), most, total, source)


def _reference(robot: Mechanism, start: ArrayLike | None, hint: str | None) -> tuple[Vector, str]:
    """Return the configuration to stay near, and what to call it."""
    reference = robot.neutral() if start is None else check_state(robot, start)
    if hint is not None:
        names = [each.name for each in robot.description.assemblies]
        if hint not in names:
            raise NameNotFound('assembly hint', hint, names, where=robot.name)
        return put_hint(
            robot, reference, robot.description.assemblies[names.index(hint)]
        ), f'hint {hint!r}'
    return reference, 'neutral' if start is None else 'start'
