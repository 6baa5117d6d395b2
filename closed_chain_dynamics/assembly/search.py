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
Assembly: closing all loops in position, whatever the start (paper 2 takes closed poses as given).

Each cluster of loops is closed by itself (`closure.py`): from the start or hint, from the file's
hints, from neutral and mid-range poses, then from random ones. Held joints that are away from a
closed start or a hint are swept to their values in small steps, which keeps the branch; where
the way is blocked, they jump.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics.assembly.branches import name_branch
from closed_chain_dynamics.assembly.held_joints import (
    HeldJoints,
    check_state,
    read_held,
    refuse_contradictions,
)
from closed_chain_dynamics.assembly.starts import (
    distance,
    into_range,
    middle,
    put_hint,
    random_pose,
    shake,
    unwind,
)
from closed_chain_dynamics.description import Assembly
from closed_chain_dynamics.dynamics.closing import Closure
from closed_chain_dynamics.dynamics.values import KeptPose, Where
from closed_chain_dynamics.errors import AssemblyError, NameNotFound
from closed_chain_dynamics.model.mechanism import Mechanism, Vector

__all__ = ['Assembled', 'assemble', 'find_assembly']

ROUNDED = 1e-3  # axes that miss each other by less were meant to be parallel [rad]
ROUNDED_AXES = (
    'Only its axes miss each other, as if the file had rounded them: write them exactly, or close '
    'the loop with type="spherical".'
)
NEARLY_CLOSED = 1e-2  # a start with smaller gaps is a pose to sweep from [m or rad]
# how far a start is shaken off a dead point or a straight line, where no step leads anywhere
# [rad or typical lengths]: a chosen start little, the neutral pose far enough to be well off it
SHAKES = {'start': (0.05, 0.3), 'neutral': (0.4, 0.8)}
UNASKED = ('neutral', 'mid-range')  # starts that the caller has not chosen
BATCH = 4  # random starts among which the nearest pose is taken


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
    whether joints stay within their range. `tolerance`: gap at which to stop, one more step
    follows [m or rad]; loops that the file's own numbers do not let close so well are accepted
    up to the closing tolerance of the kernels. `attempts`: starts per cluster; `seed`: of the
    random ones.
    """
    work = robot.copy()
    held = read_held(work, joints, limits)
    reference, label = _reference(work, start, hint)
    goal = reference.copy()
    goal[held.places] = held.positions
    refuse_contradictions(work, held, goal)
    search = _Search(work, held, goal, limits, tolerance, attempts, seed)
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


@dataclass
class _Found:
    """The best pose that the starts of one cluster gave."""

    q: Vector
    gap: float
    attempts: int = 0
    iterations: int = 0
    source: str = ''
    worth: int = 0  # 0 open, 1 closed where nearby poses have another rank, 2 closed


class _Search:
    """The starts, and what is asked of every cluster."""

    def __init__(
        self,
        robot: Mechanism,
        held: HeldJoints,
        goal: Vector,
        limits: bool,
        tolerance: float,
        attempts: int,
        seed: int,
    ) -> None:
        self.robot, self.held, self.goal, self.limits = robot, held, goal, limits
        self.tolerance, self.attempts, self.seed = tolerance, max(int(attempts), 1), seed
        self.enough = float(robot.structure.world['closing_tolerance'])

    def closure(self, cluster: int, *, held: bool = True, limits: bool | None = None) -> Closure:
        """Return the closing problem of a cluster, with or without the held joints."""
        limits = self.limits if limits is None else limits
        mask = self.held.mask if held else np.zeros(self.robot.nv, dtype=bool)
        return Closure(self.robot, cluster, mask, limits, self.held.loops if held else None)

    def run(
        self, closure: Closure, reference: Vector, label: str, hints: Sequence[Assembly]
    ) -> _Found:
        """Return the pose nearest to the reference that closes a cluster, or the best failure."""
        base = into_range(closure, reference.copy())
        best = _Found(into_range(closure, self.goal.copy()), np.inf)
        if not closure.units.size:  # nothing to close: the first hint of the file says where
            if hints:
                best.q = put_hint(self.robot, best.q, hints[0])
                best.q[self.held.places] = self.held.positions
                into_range(closure, best.q)
            best.gap, best.worth = 0.0, 2
            return best
        rng, end, count = np.random.default_rng(self.seed), self.attempts, 0
        for source, q, sweep in self._starts(closure, base, label, hints, rng):
            count += 1
            q, gap, iterations = self._try(closure, q, sweep)
            best.iterations += iterations
            # what nobody asked for had better not be a dead point or a linkage folded flat
            worth = (
                0
                if gap > self.enough
                else 1
                if source in UNASKED and closure.is_singular(q, rng)
                else 2
            )
            near = distance(closure, base, q) if worth else gap
            if (worth, -near) > (best.worth, -best.gap):
                best.q, best.gap, best.worth = q, near, worth
                best.source, best.attempts = source, count
            if worth == 2:
                end = min(end, count + BATCH - 1 if source == 'random' else count)
            elif worth == 1:
                end = min(end, count + BATCH)
            if count >= end:
                break
        best.attempts = best.attempts if best.worth else count
        unwind(closure, best.q, base)
        return best

    def _starts(
        self,
        closure: Closure,
        base: Vector,
        label: str,
        hints: Sequence[Assembly],
        rng: np.random.Generator,
    ) -> Iterator[tuple[str, Vector, bool]]:
        """Yield (source, configuration, whether to sweep held joints from it)."""
        if label != 'neutral':
            closed = closure.gap(closure.evaluate(base)[0]) <= NEARLY_CLOSED
            yield label, base, closed or label != 'start'
        for each in hints:
            if any(
                self.robot.joint_slices(joint)[1].start in closure.dofs
                for joint, _ in each.positions
            ):
                yield f'hint {each.name!r}', put_hint(self.robot, base, each), True
        if label == 'neutral':
            yield label, base, False
        for size in SHAKES['neutral' if label == 'neutral' else 'start']:
            yield f'{label}, shaken', shake(closure, base, size, rng), False
        if label == 'start':
            yield 'neutral', into_range(closure, self.robot.neutral()), False
        yield 'mid-range', middle(closure, base), False
        while True:
            yield 'random', random_pose(closure, base, rng), False

    def _try(self, closure: Closure, q: Vector, sweep: bool) -> tuple[Vector, float, int]:
        """Return pose, gap and iterations from one start: held joints swept there, or put."""
        iterations = 0
        if sweep and closure.held.any():
            loose = self.closure(closure.cluster, held=False)
            q_near, gap, iterations = loose.close(into_range(loose, q.copy()), self.tolerance)
            if gap <= self.enough:
                swept, more = closure.sweep(q_near, self.goal, self.tolerance)
                iterations += more
                q = q if swept is None else swept
        q = q.copy()
        q[self.held.places] = self.held.positions
        q, gap, more = closure.close(into_range(closure, q), self.tolerance)
        return q, gap, iterations + more

    def failure(
        self, q: Vector, failed: list[tuple[Closure, _Found]], hint: str | None
    ) -> AssemblyError:
        """Return the error that names the loop that stays open, by how much, and a way out."""
        closure, found = failed[0]
        gaps = self.robot.loop_gaps(q)
        length = self.robot.structure.world['length']
        names = [self.robot.loop_names[k] for k in closure.loops] + [
            self.robot.coupling_names[k] for k in closure.couplings
        ]
        name = max(names, key=lambda each: max(gaps[each][0] / length, gaps[each][1]))
        metres, radians = gaps[name]
        kind = 'loop' if name in self.robot.loop_names else 'coupling'
        why = f'{kind} {name!r} stays open by {metres:.3g} m and {radians:.3g} rad at best'
        if len(failed) > 1:
            why += f' (and {len(failed) - 1} more groups of loops stay open)'
        rounded = metres <= self.enough and radians <= ROUNDED
        tried = f'{found.attempts} starts' + (f' around hint {hint!r}' if hint else '')
        if self.held.names:
            why += f' with {", ".join(map(repr, self.held.names))} held'
        return AssemblyError(
            f'{why}; tried {tried}',
            where=self.robot.name,
            repair=ROUNDED_AXES if rounded else self._way_out(closure, found, hint),
        )

    def _way_out(self, closure: Closure, found: _Found, hint: str | None) -> str:
        """Return what closes the loops instead: other limits, other values, or neither."""
        if self.limits:
            wide = _Search(
                self.robot,
                self.held,
                self.goal,
                False,
                self.tolerance,
                self.attempts // 3,
                self.seed,
            )
            other = wide.run(wide.closure(closure.cluster), found.q, 'start', ())
            if other.worth:
                beyond = [
                    f'{self.robot.coordinate_names[closure.dofs[j]]!r} at '
                    f'{other.q[closure.places[j]]:.4g} (range {closure.lower[j]:.4g} to '
                    f'{closure.upper[j]:.4g})'
                    for j in closure.limited
                    if not closure.lower[j] <= other.q[closure.places[j]] <= closure.upper[j]
                ]
                where = ', '.join(beyond) if beyond else 'a loop joint out of its range'
                advice = 'Widen them, or pass limits=False.'
                return f'It closes only beyond joint limits: {where}. {advice}'
        if closure.held.any():
            loose = self.closure(closure.cluster, held=False)
            q, gap, _ = loose.close(into_range(loose, found.q.copy()), self.tolerance)
            if gap <= self.enough:
                near = self.held.at(self.robot, q)
                return f'It closes nearby with {near}: hold that, or fewer joints.'
        return 'Check lengths and frames of the loop in the file' + (
            ', or leave out hint=.'
            if hint
            else ', or add a <cc:assembly> with a pose that is nearly closed.'
        )
