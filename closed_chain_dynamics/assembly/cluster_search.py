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

"""The search for a closed pose of a cluster of loops: its starts, and the way out of a failure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.assembly.held_joints import HeldJoints
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
from closed_chain_dynamics.dynamics.constraints import loop_limits, loop_positions
from closed_chain_dynamics.errors import AssemblyError
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['ClusterFound', 'ClusterSearch']

MEANT_PARALLEL = 1e-3  # axes that miss each other by less were meant to be parallel [rad]
ROUNDED_AXES = (
    'Its axes miss each other by a little, as if the file had rounded them: write them exactly, '
    'or close the loop with type="spherical".'
)
SWEPT_GAP = 1e-2  # a start with smaller gaps is a pose to sweep from [m or rad]
# how far a start is shaken off a dead point or a straight line, where no step leads anywhere
# [rad or typical lengths]: a chosen start little, the neutral pose far enough to be well off it
SHAKES = {'start': (0.05, 0.3), 'neutral': (0.4, 0.8)}
UNASKED = ('neutral', 'mid-range')  # starts that the caller has not chosen
BATCH = 4  # random starts among which the nearest pose is taken


@dataclass
class ClusterFound:
    """The best pose that the starts of one cluster gave."""

    q: Vector
    gap: float
    attempts: int = 0
    iterations: int = 0
    source: str = ''
    worth: int = 0  # 0 open, 1 closed where nearby poses have another rank, 2 closed


class ClusterSearch:
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
    ) -> ClusterFound:
        """Return the pose nearest to the reference that closes a cluster, or the best failure."""
        base = into_range(closure, reference.copy())
        best = ClusterFound(into_range(closure, self.goal.copy()), np.inf)
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
            closed = closure.gap(closure.evaluate(base)[0]) <= SWEPT_GAP
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
        self, q: Vector, failed: list[tuple[Closure, ClusterFound]], hint: str | None
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
            more = len(failed) - 1
            others = '1 other group of loops does' if more == 1 else f'{more} other groups do'
            why += f' ({others}, too)'
        # axes that are off by so little open a loop by a share of its length that is as small
        little = metres <= max(self.enough, MEANT_PARALLEL * length)
        rounded = little and self.enough < radians <= MEANT_PARALLEL
        tried = f'{found.attempts} starts' + (f' around hint {hint!r}' if hint else '')
        if self.held.names:
            why += f' with {", ".join(map(repr, self.held.names))} held'
        return AssemblyError(
            f'{why}; tried {tried}',
            where=self.robot.name,
            repair=self._beyond_limits(closure, found)
            or (ROUNDED_AXES if rounded else self._way_out(closure, found, hint)),
        )

    def _loops_beyond(self, closure: Closure, q: Vector) -> list[str]:
        """Return the loop joints of a group that are out of their range at a pose."""
        at, limits = loop_positions(self.robot, q), loop_limits(self.robot)
        return [
            f'{name!r} at {at[name]:.4g} (range {limits[name].lower:.4g} to '
            f'{limits[name].upper:.4g})'
            for name in (self.robot.loop_names[k] for k in closure.loops)
            if name in limits and not limits[name].lower <= at[name] <= limits[name].upper
        ]

    def _beyond_limits(self, closure: Closure, found: ClusterFound) -> str:
        """Return which limits keep the loops open, or nothing if they stay open without them."""
        if not self.limits:
            return ''
        wide = ClusterSearch(
            self.robot, self.held, self.goal, False, self.tolerance, self.attempts // 3, self.seed
        )
        other = wide.run(wide.closure(closure.cluster), found.q, 'start', ())
        if not other.worth:
            return ''
        beyond = [
            f'{self.robot.coordinate_names[closure.dofs[j]]!r} at '
            f'{other.q[closure.places[j]]:.4g} (range {closure.lower[j]:.4g} to '
            f'{closure.upper[j]:.4g})'
            for j in closure.limited
            if not closure.lower[j] <= other.q[closure.places[j]] <= closure.upper[j]
        ]
        beyond += self._loops_beyond(closure, other.q)
        where = ', '.join(beyond) or 'a loop joint with several coordinates is out of its range'
        return f'It closes only beyond joint limits: {where}. Widen them, or pass limits=False.'

    def _way_out(self, closure: Closure, found: ClusterFound, hint: str | None) -> str:
        """Return what closes the loops instead: other values, or another file."""
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
