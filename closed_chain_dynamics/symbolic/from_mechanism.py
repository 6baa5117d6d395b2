"""
The tree of a mechanism as symbols: frames, parameters, and where links are.

Every joint turns about, or slides along, the z axis of its own body frame. The body frame of a
turning joint is `Q Rz(theta)` in its parent's, theta = q + delta; frames are chosen such that Q
has only 0 and 1 in it wherever the axes allow it, and constant turns about the joint's own axis
are in delta. Links that are fixed to each other are one body.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closed_chain_dynamics.description import JointType
from closed_chain_dynamics.description.elements import Inertia, Joint
from closed_chain_dynamics.description.tree import ONE_DOF, Tree
from closed_chain_dynamics.errors import StructureError
from closed_chain_dynamics.model.changes import cut_joints
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.symbolic.expression_graph import Graph, Node, total

__all__ = [
    'Angle',
    'Array',
    'Body',
    'Frame',
    'Rows',
    'State',
    'SymbolicTree',
    'Vector',
    'cross',
    'dot',
    'plus',
    'rounded',
    'times',
    'turn_z_to',
]

Array = NDArray[np.float64]
Vector = Sequence[Node]
Rows = Sequence[Vector]  # of a matrix
State = Sequence[Any]  # one Angle per body, or the Node of how far it slides

ROUNDING = 1e-13  # of a rotation's element or of a share of a vector: noise of the file


@dataclass
class Angle:
    """A turn by its cosine and sine, and by itself where it is known."""

    cos: Node
    sin: Node
    value: 'Node | None' = None

    @classmethod
    def of(cls, value: Node) -> 'Angle':
        """Return the turn by a known angle."""
        graph = value.graph
        return cls(graph.function('cos', value), graph.function('sin', value), value)

    def explicit(self) -> Node:
        """Return the angle itself, by an arctangent where only cosine and sine are known."""
        if self.value is None:
            self.value = self.cos.graph.function('atan2', self.sin, self.cos)
        return self.value

    def reverse(self) -> 'Angle':
        """Return the turn the other way round."""
        return Angle(self.cos, -self.sin)

    def then(self, other: 'Angle') -> 'Angle':
        """Return the turn by the sum of two angles."""
        return Angle(
            self.cos * other.cos - self.sin * other.sin,
            self.sin * other.cos + self.cos * other.sin,
        )

    def turn(self, x: Node, y: Node) -> tuple[Node, Node]:
        """Return a plane vector turned by the angle."""
        return self.cos * x - self.sin * y, self.sin * x + self.cos * y


@dataclass
class Body:
    """A rigid body with the joint that moves it."""

    joint: str
    parent: int  # -1: the world
    slides: bool
    Q: Rows  # rows of a constant rotation, nodes
    Q_value: Array
    p: Vector  # origin in the parent's frame, nodes
    delta: Node  # theta - q [rad]
    damping: float
    # known once all links are added up
    mass: Node = field(init=False)
    moment: Vector = field(init=False)  # mass times centre of mass, in body axes [kg m]
    inertia: Rows = field(init=False)  # about the body's origin [kg m^2]


@dataclass
class Frame:
    """A place fixed to a body: body number (-1: world), rotation and position there, numbers."""

    body: int
    R: Array
    p: Array


class SymbolicTree:
    """Bodies of a mechanism with one coordinate each; `frames` says where every link is."""

    def __init__(self, robot: Mechanism) -> None:
        self.robot, self.graph = robot, Graph()
        description = robot.description
        _refuse_what_is_not_one_coordinate(robot)
        tree = Tree(description.joints)
        self.bodies: list[Body] = []
        self.frames = {description.root: Frame(-1, np.eye(3), np.zeros(3))}
        inertias: list[list[Any]] = []  # mass, first and second moment of each body
        links = {link.name: link for link in description.links}
        for joint in tree.outward(description.root):
            self._add(joint, links[joint.child].inertia, inertias)
        for body, inertia in zip(self.bodies, inertias):
            self._name_inertia(body, *inertia)
        self.names = [body.joint for body in self.bodies]
        self.gravity = [
            self.graph.parameter(f'g_{axis}', value) for axis, value in zip('xyz', robot.gravity)
        ]
        # in the robot's order
        self.order = [self.names.index(name) for name in robot.coordinate_names]

    def _add(self, joint: Joint, inertia: Inertia | None, inertias: list[list[Any]]) -> None:
        above = self.frames[joint.parent]
        R = above.R @ joint.origin.rotation
        p = above.p + above.R @ joint.origin.position
        if joint.type is JointType.FIXED:
            frame = Frame(above.body, R, p)
        else:
            to_link = turn_z_to(np.array(joint.axis))
            Q, delta = R @ to_link, 0.0
            slides = joint.type is JointType.PRISMATIC
            if not slides:
                Q, delta = _without_own_turn(Q)
            Q = rounded(Q)
            self.bodies.append(
                Body(
                    joint.name,
                    above.body,
                    slides,
                    self.rotation(joint.name, Q),
                    Q,
                    self.vector(joint.name, p),
                    self.graph.parameter(f'delta_{joint.name}', delta),
                    joint.dynamics.damping,
                )
            )
            inertias.append([0.0, np.zeros(3), np.zeros((3, 3))])
            frame = Frame(len(self.bodies) - 1, to_link.T, np.zeros(3))
        self.frames[joint.child] = frame
        if inertia is not None and frame.body >= 0:
            c = frame.p + frame.R @ inertia.origin.position
            sums = inertias[frame.body]
            sums[0] += inertia.mass
            sums[1] = sums[1] + inertia.mass * c
            sums[2] = (
                sums[2]
                + frame.R @ inertia.tensor @ frame.R.T
                + inertia.mass * (c @ c * np.eye(3) - np.outer(c, c))
            )

    def rotation(self, joint: str, Q: Array) -> list[list[Node]]:
        """Return a rotation as nodes; equal elements share a parameter."""
        names: dict[float, str] = {}
        return [
            [
                self.graph.parameter(
                    names.setdefault(abs(Q[i, j]), f'R{i + 1}{j + 1}_{joint}'), Q[i, j]
                )
                for j in range(3)
            ]
            for i in range(3)
        ]

    def vector(self, name: str, values: Array) -> list[Node]:
        """Return a constant vector as nodes."""
        values = rounded(values, max(abs(values).max(), 1e-3))
        return [
            self.graph.parameter(f'{axis}_{name}', value) for axis, value in zip('xyz', values)
        ]

    def _name_inertia(self, body: Body, mass: float, moment: Array, inertia: Array) -> None:
        body.mass = self.graph.parameter(f'm_{body.joint}', mass)
        scale = max(abs(inertia).max(), 1e-300)
        body.moment = [
            self.graph.parameter(f'h{axis}_{body.joint}', value)
            for axis, value in zip('xyz', rounded(moment, max(abs(moment).max(), 1e-300)))
        ]
        inertia = rounded(inertia, scale)
        body.inertia = [
            [
                self.graph.parameter(
                    f'I{"xyz"[min(i, j)]}{"xyz"[max(i, j)]}_{body.joint}', inertia[i, j]
                )
                for j in range(3)
            ]
            for i in range(3)
        ]

    def point(self, link: str, xyz: ArrayLike, name: str) -> tuple[int, list[Node]]:
        """Return the body of a link's point, and the point in its frame as nodes."""
        frame = self.frames[link]
        return frame.body, self.vector(name, frame.p + frame.R @ np.array(xyz, dtype=float))

    def path(self, body: int, top: int = -1) -> list[int]:
        """Return the bodies from below `top` down to a body."""
        bodies = []
        while body != top:
            bodies.append(body)
            body = self.bodies[body].parent
        return bodies[::-1]

    def common_ancestor(self, one: int, two: int) -> int:
        """Return the last body that carries both; -1 is the world."""
        above = {-1, *self.path(one)}
        while two not in above:
            two = self.bodies[two].parent
        return two

    # --- vectors between the frames of a body and its parent --------------------------------
    def to_parent(self, i: int, vector: Vector, state: State) -> list[Node]:
        """Return a vector of a body's frame in its parent's."""
        body = self.bodies[i]
        if not body.slides:
            vector = [*state[i].turn(vector[0], vector[1]), vector[2]]
        return times(body.Q, vector)

    def to_child(self, i: int, vector: Vector, state: State) -> list[Node]:
        """Return a vector of the parent's frame in the body's."""
        body = self.bodies[i]
        seen = times([list(column) for column in zip(*body.Q)], vector)
        if not body.slides:
            seen = [*state[i].reverse().turn(seen[0], seen[1]), seen[2]]
        return seen

    def origin(self, i: int, state: State) -> Vector:
        """Return the origin of a body in its parent's frame."""
        body = self.bodies[i]
        if not body.slides:
            return body.p
        return [p + row[2] * state[i] for p, row in zip(body.p, body.Q)]


def _refuse_what_is_not_one_coordinate(robot: Mechanism) -> None:
    for joint in robot.description.joints:
        if joint.type not in (*ONE_DOF, JointType.FIXED):
            raise StructureError(
                f'joint {joint.name!r} is {joint.type.value} and has {joint.type.nv} coordinates',
                where=robot.name,
                repair='Equations are derived for joints that turn about or slide along one axis: '
                'write it as a chain of such joints, or use the numeric functions.',
            )
    if cut_joints(robot):
        raise StructureError(
            'a joint of its tree has been cut',
            where=robot.name,
            repair='Derive the equations of the mechanism as it is loaded.',
        )


def turn_z_to(axis: Array) -> Array:
    """Return a rotation that takes z to an axis; of 0 and 1 where the axis allows it."""
    axis = rounded(axis)
    k = int(np.argmax(abs(axis)))
    first = np.zeros(3)
    first[(k + 1) % 3] = 1.0
    x = first - axis * (first @ axis)
    x /= np.linalg.norm(x)
    return rounded(np.column_stack([x, np.cross(axis, x), axis]))


def _without_own_turn(Q: Array) -> tuple[Array, float]:
    """Split a rotation into one of 0 and 1 and a turn about its own z, where that is possible."""
    Q = rounded(Q)
    if np.count_nonzero(Q[:, 2]) > 1:
        return Q, 0.0
    plain = turn_z_to(Q[:, 2])
    delta = float(np.arctan2(*(plain.T @ Q[:, 0])[1::-1]))
    quarter = round(delta / (np.pi / 2))
    c, s = (1, 0, -1, 0)[quarter % 4], (0, 1, 0, -1)[quarter % 4]
    plain = plain @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    delta -= quarter * np.pi / 2
    return plain, 0.0 if abs(delta) < ROUNDING else delta


def rounded(values: ArrayLike, scale: float = 1.0) -> Array:
    """Return values without the noise of rounding around 0, 1 and -1."""
    result = np.array(values, dtype=float)
    result[abs(result) < ROUNDING * scale] = 0.0
    for whole in (1.0, -1.0):
        result[abs(result - whole) < ROUNDING] = whole
    return result


def dot(a: Vector, b: Vector) -> Node:
    """Return the product of two vectors."""
    return total(a[0].graph, [x * y for x, y in zip(a, b)])


def cross(a: Vector, b: Vector) -> list[Node]:
    """Return the vector product."""
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def plus(*vectors: Vector) -> list[Node]:
    """Return the sum of vectors."""
    return [total(parts[0].graph, parts) for parts in zip(*vectors)]


def times(matrix: Rows, vector: Vector) -> list[Node]:
    """Return a matrix times a vector."""
    return [dot(row, vector) for row in matrix]
