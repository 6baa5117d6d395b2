"""
Implicit constraints h(q) = 0 of loops and couplings, J = dh/dq, and W (paper 5, section 3.4).

Each loop is seen from the body that carries all of it. A planar loop gives two rows, the way
between the two ends of its pin in the plane; any other gives the rows of its joint's type, of
which as many are kept as are independent at a pose. J_2 is sparse: sorted into blocks that can be
solved one after the other, it is inverted block by block.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from closed_chain_dynamics.description import LoopType
from closed_chain_dynamics.description.elements import LoopJoint
from closed_chain_dynamics.errors import StructureError
from closed_chain_dynamics.symbolic.expression_graph import Graph, Node, evaluate, total
from closed_chain_dynamics.symbolic.from_mechanism import (
    Rows,
    State,
    SymbolicTree,
    Vector,
    cross,
    dot,
    plus,
    rounded,
    times,
    turn_z_to,
)
from closed_chain_dynamics.symbolic.planar_loops import (
    closed_couplings,
    closed_loops,
    planar_loop,
    plane_of,
)

__all__ = ['LoopGeometry', 'constraint_rows', 'independent_rows', 'solution']

Row = dict[int, Node]  # of J: body -> derivative by its coordinate
Block = tuple[list[Row], list[int]]  # rows, and the bodies that they are solved for
Matrix = list[list[Node]]
Pose = Mapping[Node, float]  # numbers of the inputs

CRAMER = 4  # largest block that determinants solve: they need no pivot
# axes 0, 1, 2 along which a type lets nothing slide
HELD_AXES: Mapping[LoopType, tuple[int, ...]] = {
    LoopType.PRISMATIC: (0, 1),
    LoopType.CYLINDRICAL: (0, 1),
    LoopType.PLANAR: (2,),
    LoopType.SURFACE: (2,),
    LoopType.FREE: (),
}
# pairs of axes, one of each frame, that a type keeps perpendicular
HELD_ANGLES: Mapping[LoopType, tuple[tuple[int, int], ...]] = {
    LoopType.FIXED: ((1, 2), (0, 2), (0, 1)),
    LoopType.PRISMATIC: ((1, 2), (0, 2), (0, 1)),
    LoopType.REVOLUTE: ((0, 2), (1, 2)),
    LoopType.CYLINDRICAL: ((0, 2), (1, 2)),
    LoopType.PLANAR: ((0, 2), (1, 2)),
    LoopType.UNIVERSAL: ((2, 2),),
}


class LoopGeometry:
    """Axes, origins and the two end frames of a loop, in the frame of the body that carries it."""

    def __init__(self, tree: SymbolicTree, loop: LoopJoint, state: State) -> None:
        if loop.contact and loop.contact.surface != 'plane':
            raise StructureError(
                f'its point slides on a {loop.contact.surface}',
                where=f'{tree.robot.name}, loop {loop.name!r}',
                repair='Equations are derived for planes: cut it first, robot.cut(...).',
            )
        self.tree, self.loop = tree, loop
        ends = [tree.frames[loop.parent], tree.frames[loop.child]]
        self.top = tree.common_ancestor(*[end.body for end in ends])
        self.axes: dict[int, list[Node]] = {}
        self.origins: dict[int, list[Node]] = {}
        self.signs: dict[int, int] = {}
        self.ends: list[tuple[Matrix, list[Node]]] = []  # axes and origin of each
        axis = loop.contact.normal if loop.contact else loop.parent_axis
        poses = zip(
            ends, (loop.parent_origin, loop.child_origin), (axis, loop.child_axis), (-1, 1)
        )
        for end, origin, axis, sign in poses:
            R, p = self._walk(tree.path(end.body, self.top), sign, state)
            frame = end.R @ origin.rotation @ turn_z_to(np.array(axis))
            name = f'{loop.name}_{len(self.ends) + 1}'
            point = times(R, tree.vector(name, end.p + end.R @ origin.position))
            rows = [list(column) for column in zip(*tree.rotation(name, rounded(frame)))]
            self.ends.append(([times(R, row) for row in rows], plus(p, point)))

    def _walk(self, path: Iterable[int], sign: int, state: State) -> tuple[Matrix, list[Node]]:
        """Go down a branch; return rotation (rows) and origin of its last body."""
        graph = self.tree.graph
        columns = [[graph.node(float(i == j)) for i in range(3)] for j in range(3)]
        p = [graph.node(0.0)] * 3
        for i in path:
            body, R = self.tree.bodies[i], list(zip(*columns))
            p = plus(p, times(R, self.tree.origin(i, state)))
            columns = [times(R, list(column)) for column in zip(*body.Q)]
            if not body.slides:
                c, s = state[i].cos, state[i].sin
                x, y, z = columns
                columns = [
                    [c * a + s * b for a, b in zip(x, y)],
                    [c * b - s * a for a, b in zip(x, y)],
                    z,
                ]
            self.axes[i], self.origins[i], self.signs[i] = columns[2], p, sign
        return [list(row) for row in zip(*columns)], p

    def columns(self, direction: Vector, turning: bool) -> Row:
        """
        Return one row of J, {body: node}.

        `direction`: along which the second end moves against the first; or, if `turning`, about
        which it turns.
        """
        row: Row = {}
        for i, axis in self.axes.items():
            if self.tree.bodies[i].slides:
                moves = None if turning else axis
            else:
                lever = [p - o for p, o in zip(self.ends[1][1], self.origins[i])]
                moves = axis if turning else cross(axis, lever)
            if moves is not None:
                row[i] = dot(direction, moves) * float(self.signs[i])
        return row

    def rows(self) -> list[Row]:
        """Return the rows of J that this loop gives."""
        graph = self.tree.graph
        try:
            x, y = plane_of(planar_loop(self.tree, self.loop).normal)[:2]
            return [self.columns([graph.node(value) for value in axis], False) for axis in (x, y)]
        except StructureError:
            pass  # not planar
        one, two = self.ends[0][0], self.ends[1][0]
        held = HELD_AXES.get(self.loop.type, (0, 1, 2))
        return [self.columns(one[k], False) for k in held] + [
            self.columns(cross(two[m], one[k]), True)
            for k, m in HELD_ANGLES.get(self.loop.type, ())
        ]

    def turning_rate(self, rates: Vector) -> Node:
        """Return how fast the second end turns about the first one's z axis."""
        z = self.ends[0][0][2]
        return total(
            self.tree.graph, [node * rates[i] for i, node in self.columns(z, True).items()]
        )


def constraint_rows(tree: SymbolicTree, state: State, values: Vector) -> list[Row]:
    """Return the rows of J, each {body: node}, of all closed loops and couplings."""
    rows: list[Row] = []
    for loop in closed_loops(tree.robot):
        rows += LoopGeometry(tree, loop, state).rows()
    for coupling in closed_couplings(tree.robot):
        row: Row = {}
        for term in coupling.terms:
            i = tree.names.index(term.joint)
            q, power = values[i], tree.graph.node(1.0)
            slope: list[Node] = []
            for degree, coefficient in enumerate(term.coefficients, start=1):
                slope.append(power * (degree * coefficient))
                power = power * q
            row[i] = row.get(i, tree.graph.node(0.0)) + total(tree.graph, slope)
        rows.append(row)
    return rows


def independent_rows(rows: Sequence[Row], dependent: Sequence[int], pose: Pose) -> list[Row]:
    """Return as many rows as there are dependent coordinates, with J_2 regular at a pose."""
    numbers = np.array(
        [
            [float(evaluate([row[i]], pose)[0]) if i in row else 0.0 for i in dependent]
            for row in rows
        ]
    ).reshape(len(rows), len(dependent))
    from scipy.linalg import qr  # slow to import

    order = qr(numbers.T, mode='r', pivoting=True)[1] if len(dependent) else []
    return [rows[k] for k in sorted(order[: len(dependent)])]


def blocks_of(rows: Sequence[Row], dependent: Sequence[int]) -> list[Block]:
    """Return J_2 in blocks, [(rows, bodies)], each solvable once those before it are."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components, maximum_bipartite_matching

    n = len(dependent)
    pattern = np.array(
        [
            [i in row and not (row[i].op == 'number' and row[i].value == 0.0) for i in dependent]
            for row in rows
        ]
    ).reshape(n, n)
    columns = maximum_bipartite_matching(csr_matrix(pattern), perm_type='column')
    # row a needs row b first, if it contains the unknown that belongs to b
    graph = pattern[:, columns]
    count, label = connected_components(csr_matrix(graph), connection='strong')
    groups = [[k for k in range(n) if label[k] == each] for each in range(count)]
    done: set[int] = set()
    order: list[int] = []
    while len(order) < count:
        for each, group in enumerate(groups):
            before = {label[k] for a in group for k in np.flatnonzero(graph[a])} - {each}
            if each not in order and before <= done:
                order.append(each)
                done.add(each)
    return [
        ([rows[k] for k in groups[each]], [dependent[columns[k]] for k in groups[each]])
        for each in order
    ]


def solution(
    tree: SymbolicTree, blocks: Iterable[Block], right: Mapping[int, Vector], pose: Pose
) -> dict[int, list[Node]]:
    """
    Return x of J_2 x = right, {body: [node per column]}; right: one list of nodes per row.

    `right` is {id of row: list}; `pose` gives the numbers that choose pivots in large blocks.
    """
    x: dict[int, list[Node]] = {}
    for rows, bodies in blocks:
        sides = []
        for row in rows:
            side = list(right[id(row)])
            for i in row:
                if i in x:
                    side = [old - row[i] * new for old, new in zip(side, x[i])]
            sides.append(side)
        zero = tree.graph.node(0.0)
        A = [[row.get(i, zero) for i in bodies] for row in rows]
        solve = _cramer if len(bodies) <= CRAMER else _eliminate
        x.update(zip(bodies, solve(tree.graph, A, sides, pose)))
    return x


def _cramer(graph: Graph, A: Rows, B: Rows, _: Pose) -> Matrix:
    """Solve A X = B by determinants, which divide by nothing but det A."""
    inverse = graph.node(1.0) / _determinant(graph, A)
    return [
        [
            _determinant(graph, [[*row[:k], side[j], *row[k + 1 :]] for row, side in zip(A, B)])
            * inverse
            for j in range(len(B[0]))
        ]
        for k in range(len(A))
    ]


def _determinant(graph: Graph, A: Rows) -> Node:
    if not A:
        return graph.node(1.0)
    return total(
        graph,
        [
            (-1.0) ** j
            * (A[0][j] * _determinant(graph, [[*row[:j], *row[j + 1 :]] for row in A[1:]]))
            for j in range(len(A))
            if not (A[0][j].op == 'number' and A[0][j].value == 0.0)
        ],
    )


def _eliminate(graph: Graph, A: Rows, B: Rows, pose: Pose) -> Matrix:
    """Solve A X = B by elimination; pivots are the largest numbers at the pose."""
    n, rows = len(A), [list(a) + list(b) for a, b in zip(A, B)]
    for k in range(n):
        sizes = [abs(float(evaluate([row[k]], pose)[0])) for row in rows[k:]]
        pivot = k + int(np.argmax(sizes))
        rows[k], rows[pivot] = rows[pivot], rows[k]
        inverse = graph.node(1.0) / rows[k][k]
        rows[k] = [node * inverse for node in rows[k]]
        for other in range(n):
            if other != k:
                factor = rows[other][k]
                rows[other] = [a - factor * b for a, b in zip(rows[other], rows[k])]
    return [row[n:] for row in rows]
