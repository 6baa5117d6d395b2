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

Each contact opens, sticks or slides. What all of them do makes as many equations as unknowns, and
Newton's method solves them: they are linear but for the directions in which points slide.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.dynamics.constraints import Matrix
from closed_chain_dynamics.model.mechanism import Vector

__all__ = ['MOST_TRIED', 'Law']

MOST_POLISHING = 30
POLISHED = 1e-13  # share of the largest force that Newton's method still changes
REDUNDANT = 1e-11  # singular values below this share of the largest count as zero
EXACT = 1e-9  # share of the largest force or speed by which a solution may miss the law
MOST_TRIED = 5  # contacts, all modes of which are tried: 243
STICKS, SLIDES, OPENS = range(3)

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Law:
    """
    The law for contacts with friction mu, of which some are held on `both` sides.

    `drag`: contacts that move, whose friction is along t_1; of the others the direction is open.
    """

    G: Matrix
    c: Vector
    mu: Vector
    both: Flags
    drag: Flags

    def agrees(self, p: Vector, within: float) -> bool:
        """Return whether p obeys the law, but for a share of the largest force or speed."""
        f, moved = p.reshape(-1, 3), self.G @ p
        u = (moved + self.c).reshape(-1, 3)
        force = within * float(np.abs(p).max(initial=0.0))
        speed = within * max(float(np.abs(part).max(initial=0.0)) for part in (self.c, moved))
        for k, (n, *t) in enumerate(f):
            away, slip = u[k, 0], float(np.linalg.norm(u[k, 1:]))
            if away < -speed or (self.both[k] and away > speed):
                return False
            if not self.both[k] and (n < -force or (n > force and away > speed)):
                return False
            most, friction = self.mu[k] * abs(n), np.array(t)
            if np.linalg.norm(friction) > most + force:
                return False
            if self.drag[k]:
                friction[0] += most
            elif slip > speed:
                friction += most * u[k, 1:] / slip
            else:
                continue
            if np.linalg.norm(friction) > 10.0 * force:
                return False
        return True

    def by_trying(self) -> Vector | None:
        """Return the first p that obeys the law, of all that contacts can do, or None."""
        n = len(self.mu)
        if n > MOST_TRIED:
            return None
        ways = [
            ((SLIDES,) if drag else (STICKS, SLIDES)) + (() if both else (OPENS,))
            for both, drag in zip(self.both, self.drag)
        ]
        for modes in product(*ways):
            does = np.array(modes)
            p = self._newton(np.zeros(3 * n), does == OPENS, does == SLIDES)
            if p is not None and self.agrees(p, EXACT):
                return p
        return None

    def polish(self, p: Vector, opens: Flags, slides: Flags) -> Vector | None:
        """Return p improved to rounding, or None where that leads away from it."""
        better = self._newton(p, opens, slides)
        if better is None:
            return None
        size = max(float(np.abs(p).max(initial=0.0)), 1e-300)
        good = self._outside(better) <= self._outside(p) + 1e-9 * size
        near = float(np.abs(better - p).max(initial=0.0)) <= 0.5 * size
        return better if good and near else None

    def _outside(self, p: Vector) -> float:
        """Return how far the worst force is outside its cone."""
        f = p.reshape(-1, 3)
        over = np.linalg.norm(f[:, 1:], axis=1) - self.mu * np.abs(f[:, 0])
        return float(np.maximum(over, 0.0).max(initial=0.0))

    def _newton(self, p: Vector, opens: Flags, slides: Flags) -> Vector | None:
        """Solve the equations of what each contact does from p on; None where that fails."""
        G, mu, drag = self.G, self.mu, self.drag
        for _ in range(MOST_POLISHING):
            u = G @ p + self.c
            F, D = u.copy(), G.copy()
            for k in range(len(mu)):
                i, t = 3 * k, slice(3 * k + 1, 3 * k + 3)
                if opens[k]:
                    F[i : i + 3], D[i : i + 3] = p[i : i + 3], np.eye(len(p))[i : i + 3]
                elif slides[k]:
                    side = -1.0 if p[i] < 0.0 and self.both[k] else 1.0
                    size = max(float(np.linalg.norm(u[t])), 1e-300)
                    way = np.array([1.0, 0.0]) if drag[k] else u[t] / size
                    F[t] = p[t] + mu[k] * side * p[i] * way
                    D[t] = np.eye(len(p))[t]
                    D[t, i] += mu[k] * side * way
                    if not drag[k]:
                        turning = (np.eye(2) - np.outer(way, way)) / size
                        D[t] += mu[k] * side * p[i] * turning @ G[t]
            step = np.linalg.lstsq(D, -F, rcond=REDUNDANT)[0]
            p = p + step
            if not np.all(np.isfinite(p)):
                return None
            if np.abs(step).max(initial=0.0) <= POLISHED * np.abs(p).max(initial=0.0):
                return p
        return None
