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
H of every cluster over symbols: elimination of theta_S with pivots chosen beforehand.

Straight-line code cannot look for pivots. They are chosen once, in a given pose, for few
operations (after Markowitz) among those that are large enough there; margins watch them: where
one of them is not positive, the answer does not count and the kernels are asked instead.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import casadi as ca
import numpy as np

from closed_chain_dynamics.codegen.clusters import path_signs
from closed_chain_dynamics.codegen.expressions import SX
from closed_chain_dynamics.codegen.loops import ConstraintRow, cluster_rows
from closed_chain_dynamics.codegen.source import Source, SourceCluster
from closed_chain_dynamics.codegen.tree import TracedFrames, TracedMotion, place
from closed_chain_dynamics.errors import SingularityError

__all__ = [
    'GROWTH',
    'Solved',
    'eliminate',
    'is_zero',
    'numbers_in_pose',
    'solve_constraints',
    'with_sparse_choice',
]

LARGE_ENOUGH = 0.1  # share of a column's largest entry that a pivot has in the pose of the choice
SMALL_PIVOT = 1e-7  # share of the largest entry of J_C below which a pivot counts as lost
REDUNDANT_PIVOTS = 1e-6, 1e-3  # the same for what is left of redundant rows, by precision
GROWTH = 1e3  # multipliers, and H, above which digits would be lost
Entries = dict[int, Any]


@dataclass
class Solved:
    """theta_S by theta_G: H, the drift W' theta_G', Newton's step, and margins of the solution."""

    H: dict[int, Entries] = field(default_factory=dict)  # by theta_S, then theta_G
    drift: Entries = field(default_factory=dict)  # by theta_S
    closing: Entries = field(default_factory=dict)  # by theta_S
    errors: list[SX] = field(default_factory=list)
    margins: list[SX] = field(default_factory=list)


def numbers_in_pose(rows: list[ConstraintRow], q: SX, source: Source) -> list[dict[int, float]]:
    """Return the entries of the rows in the pose of the source."""
    flat = [entry * row.unit for row in rows for entry in row.entries.values()]
    p, at = source.symbols or (ca.SX(0, 1), ())
    found = ca.Function('J', [q, p], [ca.vertcat(*flat)])(source.q, ca.DM(list(at)))
    values = iter(np.asarray(found).ravel())
    return [{j: float(next(values)) for j in row.entries} for row in rows]


def is_zero(x: SX) -> bool:
    """Return whether an expression is zero whatever the state."""
    return bool(ca.SX(x).is_zero())


def solve_constraints(
    source: Source,
    frames: TracedFrames,
    q: SX,
    v: SX | None = None,
    moving: TracedMotion | None = None,
) -> Solved:
    """Return H of all clusters; the drift too where the bodies' motion is given."""
    solved = Solved()
    for c, cluster in enumerate(source.clusters):
        rows = cluster_rows(source, c, frames, q, v, moving)
        if not rows:
            continue
        solved.errors += [row.gap for row in rows]
        numbers = numbers_in_pose(rows, q, source)
        eliminate(source, rows, numbers, list(cluster.dependent), solved)
    return solved


BIAS_COLUMN, ERROR_COLUMN = -1, -2  # columns of the right-hand sides


def eliminate(
    source: Source,
    rows: list[ConstraintRow],
    numbers: list[dict[int, float]],
    dependent: list[int],
    solved: Solved,
    least: float = SMALL_PIVOT,
) -> None:
    """
    Add H, drift and Newton's step of some velocities; `numbers`: the rows at the pose.

    `least`: share of the largest entry below which a pivot counts as lost.
    """
    symbols: list[Entries] = []
    for row in rows:
        entries = {j: x * row.unit for j, x in row.entries.items() if not is_zero(x)}
        entries[BIAS_COLUMN], entries[ERROR_COLUMN] = row.bias * row.unit, row.error * row.unit
        symbols.append(entries)
    size = max((abs(x) for row in numbers for x in row.values()), default=1.0)
    active, left, pivots = set(range(len(rows))), set(dependent), []
    growth = ca.SX(0)
    while left:
        i, s = _pivot(source, symbols, numbers, active, left, size)
        active.remove(i)
        left.remove(s)
        inverse, number = 1 / symbols[i][s], numbers[i][s]
        solved.margins.append(symbols[i][s] ** 2 - (least * size) ** 2)
        for r in sorted(active):
            if s in symbols[r]:
                factor = symbols[r].pop(s) * inverse
                growth = growth + factor**2
                _subtract(symbols[r], symbols[i], factor, s)
                share = numbers[r].pop(s, 0.0) / number
                for j, x in numbers[i].items():
                    if j != s:
                        numbers[r][j] = numbers[r].get(j, 0.0) - share * x
        pivots.append((i, s, inverse))
    rest = ca.SX(0)
    for r in active:
        for j, x in symbols[r].items():
            if j >= 0:
                rest = rest + x**2
    _substitute_back(symbols, pivots, solved)
    slopes = ca.SX(0)
    for _, s, _ in pivots:
        for x in solved.H[s].values():
            slopes = slopes + x**2
    for total, most in (
        (growth, GROWTH),
        (slopes, GROWTH),
        (rest, REDUNDANT_PIVOTS[source.single] * size),
    ):
        if not total.is_constant():
            solved.margins.append(most**2 - total)


def _pivot(
    source: Source,
    symbols: list[Entries],
    numbers: list[dict[int, float]],
    active: set[int],
    left: set[int],
    size: float,
) -> tuple[int, int]:
    """Return the row and the column of theta_S whose elimination fills least."""
    best = None
    for s in left:
        column = {r: abs(numbers[r].get(s, 0.0)) for r in active if s in symbols[r]}
        largest = max(column.values(), default=0.0)
        if largest <= SMALL_PIVOT * size:
            continue
        for r, value in column.items():
            if value >= LARGE_ENOUGH * largest:
                cost = (len(symbols[r]) - 3) * (len(column) - 1)
                if best is None or (cost, -value) < best[:2]:
                    best = cost, -value, r, s
    if best is None:
        names = ', '.join(repr(source.coordinate_names[s]) for s in sorted(left))
        raise SingularityError(
            f'no pivot is left for {names}: the pose is too close to a singular one',
            where=source.name,
            repair='Generate the code in another pose.',
        )
    return best[2], best[3]


def _subtract(row: Entries, other: Entries, factor: SX, skip: int) -> None:
    for j, x in other.items():
        if j != skip:
            row[j] = row[j] - factor * x if j in row else -factor * x


def _substitute_back(
    symbols: list[Entries], pivots: list[tuple[int, int, SX]], solved: Solved
) -> None:
    """Write H, drift and Newton's step of every theta_S, the last eliminated first."""
    dependent = {s for _, s, _ in pivots}
    for i, s, inverse in reversed(pivots):
        total: Entries = {j: x for j, x in symbols[i].items() if j not in dependent}
        for other in dependent & symbols[i].keys() - {s}:
            x = symbols[i][other]
            for j, h in solved.H[other].items():
                total[j] = total[j] + x * h if j in total else x * h
            total[BIAS_COLUMN] = total[BIAS_COLUMN] + x * solved.drift[other]
            total[ERROR_COLUMN] = total[ERROR_COLUMN] + x * solved.closing[other]
        solved.drift[s] = -total.pop(BIAS_COLUMN) * inverse
        solved.closing[s] = -total.pop(ERROR_COLUMN) * inverse
        solved.H[s] = {j: -x * inverse for j, x in total.items() if not is_zero(x)}


def with_sparse_choice(source: Source, wanted: list[bool] | None = None) -> Source:
    """
    Return the source with theta_S of all or `wanted` clusters chosen for few operations.

    It was chosen for motors. Accelerations do not depend on the choice, nor do torques of motors
    that are more than enough. Pivots are not much smaller than anything in their row, so that H
    stays small, or in their column. Few operations in the elimination are one thing, few entries
    of H another: both are sought, and that with the sparser H is taken.
    """
    q = ca.SX.sym('q', source.nq)
    frames = place(source, q)
    clusters = []
    for c, cluster in enumerate(source.clusters):
        is_wanted = wanted is None or wanted[c]
        rows = cluster_rows(source, c, frames, q, None, None) if is_wanted else []
        if rows:
            numbers, rank = numbers_in_pose(rows, q, source), len(cluster.dependent)
            loops = _loops_of(source, cluster)
            rehearsed = [_rehearse(rows, numbers, rank, of) for of in ({}, loops)]
            found = [each for each in rehearsed if each is not None]
            if found:
                _, chosen = min(found, key=lambda each: each[0])
                cluster = replace(
                    cluster,
                    dependent=tuple(sorted(chosen)),
                    independent=tuple(j for j in cluster.dofs if j not in chosen),
                )
        clusters.append(cluster)
    theta_G = sorted(g for cluster in clusters for g in cluster.independent)
    return replace(source, clusters=tuple(clusters), independent=tuple(theta_G))


def _loops_of(source: Source, cluster: SourceCluster) -> dict[int, int]:
    """Return for every velocity of a cluster how many of its loops it moves."""
    count: dict[int, int] = {}
    for k in cluster.loops:
        loop = source.loops[k]
        for j in path_signs(source.bodies, loop.body_1, loop.body_2):
            count[j] = count.get(j, 0) + 1
    return count


def _rehearse(
    rows: list[ConstraintRow], numbers: list[dict[int, float]], rank: int, shared: dict[int, int]
) -> tuple[int, set[int]] | None:
    """
    Return the cost of H, and `rank` columns to eliminate; None where no pivot is left.

    Columns that few loops share come first, then those whose elimination fills least.
    """
    numbers = [dict(row) for row in numbers]
    pattern = [{j for j, x in row.entries.items() if not is_zero(x)} for row in rows]
    size = max((abs(x) for row in numbers for x in row.values()), default=0.0)
    active = set(range(len(pattern)))
    pivots: list[tuple[int, int]] = []
    while len(pivots) < rank:
        best = None
        for r in active:
            largest = max((abs(numbers[r].get(j, 0.0)) for j in pattern[r]), default=0.0)
            if largest <= REDUNDANT_PIVOTS[0] * size:
                continue
            for j in pattern[r]:
                value = abs(numbers[r].get(j, 0.0))
                column = [abs(numbers[k].get(j, 0.0)) for k in active if j in pattern[k]]
                if value >= LARGE_ENOUGH * max(largest, *column):
                    cost = shared.get(j, 0), (len(pattern[r]) - 1) * (len(column) - 1)
                    if best is None or (cost, -value, r, j) < best:
                        best = cost, -value, r, j
        if best is None:
            return None
        _, _, r, j = best
        active.remove(r)
        pivots.append((r, j))
        for k in active:
            if j in pattern[k]:
                share = numbers[k].pop(j, 0.0) / numbers[r][j]
                for m in pattern[r] - {j}:
                    numbers[k][m] = numbers[k].get(m, 0.0) - share * numbers[r].get(m, 0.0)
                pattern[k] = (pattern[k] | pattern[r]) - {j}
    entries: dict[int, set[int]] = {}  # of H, the last eliminated first
    for r, j in reversed(pivots):
        entries[j] = set().union(*(entries.get(m, {m}) for m in pattern[r] - {j}))
    return sum(len(each) ** 2 for each in entries.values()), set(entries)
