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
Coulomb's law for several contacts together, u = G p + c: does p obey it, and which p does?

Each contact opens, sticks or slides; what holds a joint, a stop or its friction, holds or gives
way. What all of them do makes as many equations as unknowns, and Newton's method solves them: they
are linear but for the directions in which points slide.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.arrays import Matrix, Vector

__all__ = ['EXACT', 'LOWER', 'MOST_TRIED', 'SLIDES', 'STICKS', 'UPPER', 'CoulombLaw']

MOST_POLISHING = 30
POLISHED = 1e-13  # share of the largest force that Newton's method still changes
REDUNDANT_CONTACTS = 1e-11  # singular values below this share of the largest count as zero
EXACT = 1e-9  # share of the largest force or speed by which a solution may miss the law
MOST_TRIED = 5  # contacts, all modes of which are tried: 243
MOST_CHANGES = 60  # of what one contact does, on the way from a guess to a solution
# what one does: it holds, it slides, or its normal force is at a bound: an open contact at LOWER
STICKS, SLIDES, LOWER, UPPER = range(4)

Modes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CoulombLaw:
    """
    The law for contacts with friction mu, their forces along the normal within bounds, (n, 2).

    A contact pushes, (0, inf), or is held on both sides, (-inf, inf). `drag`: contacts that move,
    whose friction is along t_1; of the others the direction is open.
    """

    G: Matrix
    c: Vector
    mu: Vector
    bounds: Matrix
    drag: NDArray[np.bool_]

    def agrees(self, p: Vector, within: float) -> bool:
        """Return whether p obeys the law, but for a share of the largest force or speed."""
        return self._worst(p, within)[0] <= 1.0

    def _worst(self, p: Vector, within: float) -> tuple[float, int, int]:
        """
        Return by how much p misses the law at most, in shares `within`; where; and what to do.

        Forces are measured by the largest, u by the largest speed; of several, the first counts.
        """
        f, moved = p.reshape(-1, 3), self.G @ p
        u = (moved + self.c).reshape(-1, 3)
        force = max(within * float(np.abs(p).max(initial=0.0)), 1e-300)
        sizes = (float(np.abs(part).max(initial=0.0)) for part in (self.c, moved))
        speed = max(within * max(sizes), 1e-300)
        worst, where, remedy = 0.0, 0, STICKS

        def note(miss: float, mode: int) -> None:
            nonlocal worst, where, remedy
            if miss > max(worst, 1.0):
                worst, where, remedy = miss, k, mode

        for k, (n, *t) in enumerate(f):
            (low, high), away, slip = self.bounds[k], u[k, 0], float(np.linalg.norm(u[k, 1:]))
            moves = SLIDES if self.drag[k] else STICKS
            note((low - n) / force, LOWER)
            note((n - high) / force, UPPER)
            if n > low + force:
                note(away / speed, LOWER if np.isfinite(low) else moves)
            if n < high - force:
                note(-away / speed, UPPER if np.isfinite(high) else moves)
            most, friction = self.mu[k] * abs(n), np.array(t)
            note((float(np.linalg.norm(friction)) - most) / force, SLIDES)
            if self.drag[k]:
                friction[0] += most
            elif slip > speed:
                friction += most * u[k, 1:] / slip
            else:
                continue
            note(float(np.linalg.norm(friction)) / (10.0 * force), moves)
        return worst, where, remedy

    def by_changing(self, p: Vector, modes: Modes) -> Vector | None:
        """Return p that obeys the law, from a guess by changing one contact after another."""
        modes, seen = modes.copy(), set()
        for _ in range(MOST_CHANGES):
            if modes.tobytes() in seen:
                return None
            seen.add(modes.tobytes())
            ways = [(self._worst(found, EXACT), found) for found in self._solutions(modes, p)]
            if not ways:
                return None
            (worst, where, remedy), found = min(ways, key=lambda way: way[0][0])
            if worst <= 1.0:
                return found
            modes[where] = remedy
        return None

    def by_trying(self) -> Vector | None:
        """Return the first p that obeys the law, of all that contacts can do, or None."""
        n = len(self.mu)
        if n > MOST_TRIED:
            return None
        return self._first([self._ways(k) for k in range(n)], np.zeros(3 * n))

    def by_doubting(self, p: Vector, modes: Modes) -> Vector | None:
        """
        Return p that obeys the law, from a guess in which points move a little that should stick.

        Where a motion hardly moves them, no force in the cones holds them, and some of them slide.
        """
        moved = self.G @ p
        speed = EXACT * max(float(np.abs(each).max(initial=0.0)) for each in (self.c, moved))
        slip = np.linalg.norm((moved + self.c).reshape(-1, 3)[:, 1:], axis=1)
        doubtful = (modes == STICKS) & (self.mu > 0.0) & (slip > speed)
        if not 0 < np.count_nonzero(doubtful) <= MOST_TRIED:
            return None
        both = (STICKS, SLIDES)
        return self._first([both if d else (int(m),) for d, m in zip(doubtful, modes)], p)

    def _first(self, ways: Sequence[tuple[int, ...]], start: Vector) -> Vector | None:
        """Return the first p that obeys the law, of contacts that can do these things, or None."""
        for modes in product(*ways):
            for p in self._solutions(np.array(modes), start):
                if self.agrees(p, EXACT):
                    return p
        return None

    def _solutions(self, modes: Modes, p: Vector) -> Iterator[Vector]:
        """Yield what solves the equations, from p and, where directions are open, from others."""
        starts = [p]
        if np.any((modes == SLIDES) & ~self.drag):
            starts += [self._start(modes), np.zeros(len(p))]
        for start in starts:
            found = self._newton(start, modes)
            if found is not None:
                yield found

    def _start(self, modes: Modes) -> Vector:
        """Return p to begin with: as if nothing slid, then what slides brought to its cone."""
        p = np.zeros(3 * len(modes))
        free = (modes == SLIDES) & ~self.drag
        if np.any(free):
            stuck = self._newton(p, np.where(free, STICKS, modes))
            p = p if stuck is None else stuck
        for k in np.flatnonzero(free):
            t = p[3 * k + 1 : 3 * k + 3]
            t *= self.mu[k] * abs(p[3 * k]) / max(float(np.linalg.norm(t)), 1e-300)
        return p

    def _ways(self, k: int) -> tuple[int, ...]:
        """Return all that one can do."""
        ways = (SLIDES,) if self.drag[k] else (STICKS, SLIDES) if self.mu[k] else (STICKS,)
        ends = zip((LOWER, UPPER), self.bounds[k])
        return ways + tuple(end for end, bound in ends if np.isfinite(bound))

    def polish(self, p: Vector, modes: Modes) -> Vector | None:
        """Return p improved to rounding, or None where that leads away from it."""
        better = self._newton(p, modes)
        if better is None:
            return None
        size = max(float(np.abs(p).max(initial=0.0)), 1e-300)
        good = self._outside(better) <= self._outside(p) + 1e-9 * size
        near = float(np.abs(better - p).max(initial=0.0)) <= 0.5 * size
        return better if good and near else None

    def _outside(self, p: Vector) -> float:
        """Return how far the worst force is outside its cone or its bounds."""
        f = p.reshape(-1, 3)
        over = np.linalg.norm(f[:, 1:], axis=1) - self.mu * np.abs(f[:, 0])
        beyond = np.maximum(self.bounds[:, 0] - f[:, 0], f[:, 0] - self.bounds[:, 1])
        return float(np.maximum(over, beyond).max(initial=0.0))

    def _newton(self, p: Vector, modes: Modes) -> Vector | None:
        """Solve the equations of what each contact does from p on; None where that fails."""
        G, mu, drag, E = self.G, self.mu, self.drag, np.eye(len(p))
        for _ in range(MOST_POLISHING):
            u = G @ p + self.c
            F, D = u.copy(), G.copy()
            for k, mode in enumerate(modes):
                i, t = 3 * k, slice(3 * k + 1, 3 * k + 3)
                if mode >= LOWER:
                    F[i : i + 3], D[i : i + 3] = p[i : i + 3], E[i : i + 3]
                    F[i] -= self.bounds[k, mode - LOWER]
                elif mode == SLIDES:
                    side = -1.0 if p[i] < 0.0 and self.bounds[k, 0] < 0.0 else 1.0
                    size = max(float(np.linalg.norm(u[t])), 1e-300)
                    way = np.array([1.0, 0.0]) if drag[k] else u[t] / size
                    F[t] = p[t] + mu[k] * side * p[i] * way
                    D[t] = E[t]
                    D[t, i] += mu[k] * side * way
                    if not drag[k]:
                        turning = (np.eye(2) - np.outer(way, way)) / size
                        D[t] += mu[k] * side * p[i] * turning @ G[t]
            step = _newton_step(D, F, np.repeat(modes >= LOWER, 3))
            p = p + step
            if not np.all(np.isfinite(p)):
                return None
            if np.abs(step).max(initial=0.0) <= POLISHED * np.abs(p).max(initial=0.0):
                return p
        return None


def _newton_step(D: Matrix, F: Vector, known: NDArray[np.bool_]) -> Vector:
    """
    Return the step s with D s = -F, of least norm where contacts are redundant.

    Rows that are `known` are those of the identity, and a joint that is held has rows of zeros for
    the friction that it has not: of a hand with many stops, a few equations are left.
    """
    step = np.where(known, -F, 0.0)
    asked = np.flatnonzero(~known & D.any(axis=1))
    rest = -F[asked] - D[np.ix_(asked, known)] @ step[known]
    step[asked] = np.linalg.lstsq(D[np.ix_(asked, asked)], rest, rcond=REDUNDANT_CONTACTS)[0]
    return step
