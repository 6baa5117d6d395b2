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
Implicit constraints h(q) = 0 of loops and couplings, J = dh/dq, and J_2 x = b.

These are section 3.4 of Schappler et al. Each loop is seen from the body that carries all of it. A
planar loop gives two rows, the way between the two ends of its pin in the plane; any other gives
the rows of its joint's type, of which as many are kept as are independent at a pose. J_2 is
sparse: sorted into blocks that can be solved one after the other, it is inverted block by block.
"""

from collections.abc import Iterator, Sequence

import casadi as ca
import numpy as np

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.codegen.elimination import Solved, eliminate
from closed_chain_dynamics.codegen.expressions import SX
from closed_chain_dynamics.codegen.loops import HELD_SLIDES, ConstraintRow
from closed_chain_dynamics.codegen.source import SourceLoop
from closed_chain_dynamics.description import LoopType
from closed_chain_dynamics.errors import StructureError
from closed_chain_dynamics.symbolic.planar_loops import planar_loop, plane_of
from closed_chain_dynamics.symbolic.tree import SymbolicPose, SymbolicTree, number, rounded

__all__ = ['LoopGeometry', 'blocks_of', 'constraint_rows', 'independent_rows', 'solution']

Block = tuple[list[int], list[int]]  # rows, and the rates that they are solved for

CRAMER = 4  # largest block that determinants solve: they need no pivot
# pairs of axes, one of each frame, that a type keeps perpendicular
HELD_ANGLES: dict[LoopType, tuple[tuple[int, int], ...]] = {
    LoopType.FIXED: ((1, 2), (0, 2), (0, 1)),
    LoopType.PRISMATIC: ((1, 2), (0, 2), (0, 1)),
    LoopType.REVOLUTE: ((0, 2), (1, 2)),
    LoopType.CYLINDRICAL: ((0, 2), (1, 2)),
    LoopType.PLANAR: ((0, 2), (1, 2)),
    LoopType.UNIVERSAL: ((2, 2),),
}
# coordinates of a loop joint: slides along axes of frame 1, turns about axes of frame 1 or 2
FREE_SLIDES = {
    LoopType.PRISMATIC: (2,),
    LoopType.CYLINDRICAL: (2,),
    LoopType.PLANAR: (0, 1),
    LoopType.SURFACE: (0, 1),
    LoopType.FREE: (0, 1, 2),
}
ABOUT_Z = ((0, 2),)
BALL_ROWS = ((1, 0), (1, 1), (1, 2))
FREE_TURNS: dict[LoopType, tuple[tuple[int, int], ...]] = {
    LoopType.REVOLUTE: ABOUT_Z,
    LoopType.CYLINDRICAL: ABOUT_Z,
    LoopType.PLANAR: ABOUT_Z,
    LoopType.UNIVERSAL: ((0, 2), (1, 2)),
    LoopType.SPHERICAL: BALL_ROWS,
    LoopType.SURFACE: BALL_ROWS,
    LoopType.FREE: BALL_ROWS,
}


class LoopGeometry:
    """The two end frames of a loop, and how joints move them, seen from what carries it all."""

    def __init__(self, tree: SymbolicTree, loop: SourceLoop, pose: SymbolicPose) -> None:
        self.tree, self.loop = tree, loop
        self.top = tree.common_ancestor(loop.body_1, loop.body_2)
        self._paths: list[tuple[int, float, SX, SX]] = []  # body, sign, its rotation and origin
        self.ends: list[tuple[SX, SX]] = []  # rotation and origin of each end frame
        for end, (body, R_end, p_end, sign) in enumerate(
            ((loop.body_1, loop.R_1, loop.p_1, -1.0), (loop.body_2, loop.R_2, loop.p_2, 1.0)),
            start=1,
        ):
            R, p = ca.SX(ca.DM(np.eye(3))), ca.SX.zeros(3)
            for i in tree.path(body, self.top):
                R, p = R @ pose.E[i], p + R @ pose.r[i]
                self._paths.append((i, sign, R, p))
            name = f'{loop.name}_{end}'
            frame = tree.rotation(name, rounded(R_end))
            self.ends.append((R @ frame, p + R @ tree.vector(name, p_end)))

    def row(self, direction: SX, *, turning: bool) -> SX:
        """
        Return one row of J, (1, nv).

        `direction`: along which the second end moves against the first; or, if `turning`, about
        which it turns.
        """
        row = ca.SX.zeros(1, self.tree.source.nv)
        point = self.ends[1][1]
        for i, sign, R, p in self._paths:
            body = self.tree.bodies[i]
            for k, place in enumerate(range(body.rates.start, body.rates.stop)):
                moves = R @ body.turn[:, k]
                if not turning:
                    moves = ca.cross(moves, point - p) + R @ body.slide[:, k]
                row[place] = sign * ca.dot(direction, moves)
        return row

    def rows(self) -> list[SX]:
        """Return the rows of J that this loop gives."""
        try:
            x, y = plane_of(planar_loop(self.tree, self.loop).normal)[:2]
            return [self.row(ca.SX(ca.DM(axis)), turning=False) for axis in (x, y)]
        except StructureError:
            pass  # not planar
        one, two = self.ends[0][0], self.ends[1][0]
        return [self.row(one[:, k], turning=False) for k in HELD_SLIDES[self.loop.kind]] + [
            self.row(ca.cross(two[:, m], one[:, k]), turning=True)
            for k, m in HELD_ANGLES.get(self.loop.kind, ())
        ]

    def coordinates(self) -> Iterator[SX]:
        """Yield the rate of every coordinate of the loop joint as a row, (1, nv)."""
        for axis in FREE_SLIDES.get(self.loop.kind, ()):
            yield self.row(self.ends[0][0][:, axis], turning=False)
        for end, axis in FREE_TURNS.get(self.loop.kind, ()):
            yield self.row(self.ends[end][0][:, axis], turning=True)

    def position(self) -> SX:
        """Return the position of a loop joint that has one coordinate."""
        (R_1, p_1), (R_2, p_2) = self.ends
        if self.loop.kind is LoopType.PRISMATIC:
            return ca.dot(R_1[:, 2], p_2 - p_1)
        P = R_1.T @ R_2
        return ca.atan2(P[1, 0] - P[0, 1], P[0, 0] + P[1, 1])


def constraint_rows(tree: SymbolicTree, pose: SymbolicPose, q: SX) -> SX:
    """Return J of all closed loops and couplings, (rows, nv)."""
    rows = [row for loop in tree.source.loops for row in LoopGeometry(tree, loop, pose).rows()]
    for coupling in tree.source.couplings:
        row = ca.SX.zeros(1, tree.source.nv)
        for place, at, coefficients in coupling.terms:
            for degree, coefficient in enumerate(coefficients, start=1):
                row[place] = row[place] + degree * coefficient * q[at] ** (degree - 1)
        rows.append(row)
    return ca.vertcat(*rows) if rows else ca.SX.zeros(0, tree.source.nv)


def independent_rows(J: SX, at_pose: Array, dependent: Sequence[int]) -> SX:
    """Return as many rows as there are dependent coordinates, with J_2 regular at a pose."""
    from scipy.linalg import qr  # slow to import

    if not dependent:
        return J[:0, :]
    order = qr(at_pose[:, dependent].T, mode='r', pivoting=True)[1]
    return J[sorted(order[: len(dependent)].tolist()), :]


def blocks_of(J: SX, dependent: Sequence[int]) -> list[Block]:
    """Return J_2 in blocks, [(rows, rates)], each solvable once those before it are."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components, maximum_bipartite_matching

    n = len(dependent)
    pattern = np.array(
        [[not J[row, place].is_zero() for place in dependent] for row in range(n)]
    ).reshape(n, n)
    columns = maximum_bipartite_matching(csr_matrix(pattern), perm_type='column')
    # row a needs row b first, if it contains the unknown that belongs to b
    graph = pattern[:, columns]
    count, label = connected_components(csr_matrix(graph), connection='strong')
    groups = [[k for k in range(n) if label[k] == each] for each in range(count)]
    order: list[int] = []
    while len(order) < count:
        for each, group in enumerate(groups):
            before = {label[k] for a in group for k in np.flatnonzero(graph[a])} - {each}
            if each not in order and before <= set(order):
                order.append(each)
    return [(groups[each], [dependent[columns[k]] for k in groups[each]]) for each in order]


def solution(
    tree: SymbolicTree, J: SX, blocks: Sequence[Block], right: SX, symbols: SX
) -> dict[int, SX]:
    """Return x of J_2 x = right, {rate: row of x}; symbols: q, which J is a function of."""
    x: dict[int, SX] = {}
    for rows, places in blocks:
        side = right[rows, :]
        for place, known in x.items():
            side = side - J[rows, place] @ known
        A = J[rows, places]
        if len(places) <= CRAMER:
            solved = (ca.adj(A) @ side) * (1 / ca.det(A))
        else:
            solved = _eliminated(tree, A, side, places, symbols)
        x.update((place, solved[k, :]) for k, place in enumerate(places))
    return x


def _eliminated(tree: SymbolicTree, A: SX, B: SX, places: Sequence[int], symbols: SX) -> SX:
    """Solve A X = B by elimination; pivots are large, and spare operations, at the pose."""
    n, m, nv = A.shape[0], B.shape[1], tree.source.nv
    (flat,) = tree.numbers(A)
    at_pose = number(flat, symbols, tree.source.q)
    rows, numbers = [], []
    for i in range(n):
        entries = {place: A[i, k] for k, place in enumerate(places)}
        entries |= {nv + k: -B[i, k] for k in range(m)}
        rows.append(ConstraintRow(entries, ca.SX(0), ca.SX(0), 1.0, ca.SX(0)))
        numbers.append({place: float(at_pose[i, k]) for k, place in enumerate(places)})
    solved = Solved()
    eliminate(tree.source, rows, numbers, list(places), solved)
    X = ca.SX.zeros(n, m)
    for i, place in enumerate(places):
        for k, entry in solved.H[place].items():
            X[i, k - nv] = entry
    return X
