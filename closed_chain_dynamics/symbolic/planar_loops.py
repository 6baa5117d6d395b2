"""
Finds the planar loops of a mechanism: those whose joints turn about one direction only.

Joints of a planar loop turn about parallel axes or slide across them. Its frames then differ by
turns in one plane, and the loop is a polygon: a list of ways, slides and turns that leads from
the body that carries it all down to the pin, and up on the other side.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics.description import LoopType
from closed_chain_dynamics.description.elements import Coupling, LoopJoint
from closed_chain_dynamics.errors import StructureError
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.symbolic.expression_graph import Node
from closed_chain_dynamics.symbolic.from_mechanism import Array, SymbolicTree, rounded

__all__ = [
    'PlanarLoop',
    'Step',
    'closed_couplings',
    'closed_loops',
    'outside',
    'planar_loop',
    'plane_of',
]

PINS = (LoopType.REVOLUTE, LoopType.CYLINDRICAL, LoopType.SPHERICAL)
OUT_OF_PLANE = 1e-9  # sine of the angle between axes that are still parallel


def outside(why: str, robot: Mechanism, loop: str) -> StructureError:
    """Return the error for a loop that has no closed form here, and offer the way that has."""
    return StructureError(
        why,
        where=f'{robot.name}, loop {loop!r}',
        repair="Use the method 'ic' (implicit constraints), which takes any "
        'loop of joints with one coordinate.',
    )


@dataclass
class Step:
    """One element of a polygon: a way in the present direction, a slide, or a turn."""

    body: int = -1  # of a turn or a slide; -1: the pin, or none
    turn: int = 0  # sign of the joint's angle in the polygon's sense
    way: tuple[Node, ...] = ()  # constant vector in the plane
    slide: tuple[Node, ...] = ()  # constant direction in the plane


@dataclass
class PlanarLoop:
    """A polygon: its steps from the common ancestor down to the pin and up again."""

    name: str
    top: int
    steps: list[Step]
    normal: Array  # in the frame of `top`
    bodies: tuple[int, ...]


def closed_loops(robot: Mechanism) -> list[LoopJoint]:
    """Return the loop joints that are closed now; a soft contact is a spring, no loop."""
    return [
        loop
        for loop in robot.description.loops
        if robot.is_connected(loop.name) and not (loop.contact and loop.contact.stiffness)
    ]


def closed_couplings(robot: Mechanism) -> list[Coupling]:
    """Return the couplings that are at work."""
    return [coupling for coupling in robot.description.couplings if coupling.active]


def planar_loop(tree: SymbolicTree, loop: LoopJoint) -> PlanarLoop:
    """Return a loop as a polygon, or say why it is none."""
    if loop.type not in PINS:
        raise outside(
            f'it is closed by a {loop.type.value} joint, and not by a pin', tree.robot, loop.name
        )
    ends = [tree.frames[loop.parent], tree.frames[loop.child]]
    top = tree.common_ancestor(*[end.body for end in ends])
    paths = [tree.path(end.body, top) for end in ends]
    normal = _normal(tree, paths, loop)
    plane = plane_of(normal)
    branches: list[list[Step]] = []
    for end, path, origin in zip(ends, paths, (loop.parent_origin, loop.child_origin)):
        steps: list[Step] = []
        K = plane
        for i in path:
            steps += _joint_steps(tree, i, K, loop.name)
            K = K @ tree.bodies[i].Q_value
        pin = end.p + end.R @ origin.position
        steps.append(Step(way=_nodes(tree, f'{loop.name}_{len(branches) + 1}', (K @ pin)[:2])))
        branches.append(steps)
    back = [_reversed(step) for step in reversed(branches[1])]
    return PlanarLoop(
        loop.name, top, [*branches[0], Step(turn=1), *back], normal, tuple(paths[0] + paths[1])
    )


def _normal(tree: SymbolicTree, paths: Sequence[Sequence[int]], loop: LoopJoint) -> Array:
    """Return the direction that all joints of a loop turn about, seen from where paths begin."""
    normal: Array | None = None
    first = ''
    slides: list[tuple[str, Array]] = []
    for path in paths:
        R = np.eye(3)
        for i in path:
            body = tree.bodies[i]
            R = R @ body.Q_value
            axis = R[:, 2]
            if body.slides:
                slides.append((body.joint, axis))
            elif normal is None:
                normal, first = axis, body.joint
            elif np.linalg.norm(np.cross(normal, axis)) > OUT_OF_PLANE:
                raise outside(
                    f'it is not planar: {body.joint!r} does not turn about an axis '
                    f'parallel to that of {first!r}',
                    tree.robot,
                    loop.name,
                )
    if normal is None:
        raise outside('none of its joints turns', tree.robot, loop.name)
    for joint, axis in slides:
        if abs(normal @ axis) > OUT_OF_PLANE:
            raise outside(
                f'it is not planar: {joint!r} slides out of the plane in which {first!r} turns',
                tree.robot,
                loop.name,
            )
    return normal


def plane_of(normal: Array) -> Array:
    """Return rows x, y, normal of the plane; x along an axis of the frame where possible."""
    k = int(np.argmax(abs(normal)))
    x = np.roll(np.eye(3)[k], 1)
    x = x - normal * (x @ normal)
    x /= np.linalg.norm(x)
    return rounded([x, np.cross(normal, x), normal])


def _nodes(tree: SymbolicTree, name: str, values: ArrayLike) -> tuple[Node, ...]:
    return tuple(
        tree.graph.parameter(f'{axis}_{name}', value) for axis, value in zip('xy', rounded(values))
    )


def _joint_steps(tree: SymbolicTree, i: int, K: Array, loop: str) -> list[Step]:
    body = tree.bodies[i]
    p = np.array([node.value for node in body.p])
    steps = [Step(way=_nodes(tree, f'{body.joint}_{loop}', (K @ p)[:2]))]
    axis = K @ body.Q_value[:, 2]
    if body.slides:
        steps.append(Step(i, slide=_nodes(tree, f'd_{body.joint}_{loop}', axis[:2])))
    else:
        steps.append(Step(i, turn=1 if axis[2] > 0 else -1))
    return steps


def _reversed(step: Step) -> Step:
    minus = [tuple(-node for node in pair) for pair in (step.way, step.slide)]
    return Step(step.body, -step.turn, *minus)
