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
Finds the planar loops of a mechanism: those whose joints turn about one direction only.

Joints of a planar loop turn about parallel axes or slide across them. Its frames then differ by
turns in one plane, and the loop is a polygon: a list of ways, slides and turns that leads from
the body that carries it all down to the pin, and up on the other side.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.codegen.expressions import SX
from closed_chain_dynamics.codegen.source import SourceLoop
from closed_chain_dynamics.description import LoopType
from closed_chain_dynamics.errors import StructureError
from closed_chain_dynamics.symbolic.tree import TURNS, SymbolicTree, rounded

__all__ = ['PlanarLoop', 'PolygonStep', 'outside', 'planar_loop', 'plane_of']


PINS = (LoopType.REVOLUTE, LoopType.CYLINDRICAL, LoopType.SPHERICAL)
OUT_OF_PLANE = 1e-9  # sine of the angle between axes that are still parallel


def outside(why: str, where: str, loop: str) -> StructureError:
    """Return the error for a loop that has no closed form here, and offer the way that has."""
    return StructureError(
        why,
        where=f'{where}, loop {loop!r}',
        repair="Pass method='ic' (implicit constraints), which takes loops of any kind.",
    )


@dataclass
class PolygonStep:
    """One element of a polygon: a way in the present direction, a slide, or a turn."""

    body: int = -1  # of a turn or a slide; -1: the pin, or none
    turn: int = 0  # sign of the joint's angle in the polygon's sense
    way: tuple[SX, ...] = ()  # constant vector in the plane
    slide: tuple[SX, ...] = ()  # constant direction in the plane


@dataclass
class PlanarLoop:
    """A polygon: its steps from the common ancestor down to the pin and up again."""

    name: str
    top: int
    steps: list[PolygonStep]
    normal: Array  # in the frame of `top`
    bodies: tuple[int, ...]


def planar_loop(tree: SymbolicTree, loop: SourceLoop) -> PlanarLoop:
    """Return a loop as a polygon, or say why it is none."""
    if loop.kind not in PINS:
        raise outside(
            f'it is closed by a {loop.kind.value} joint, not by a pin', tree.source.name, loop.name
        )
    top = tree.common_ancestor(loop.body_1, loop.body_2)
    paths = [tree.path(body, top) for body in (loop.body_1, loop.body_2)]
    normal = _normal(tree, paths, loop)
    plane = plane_of(normal)
    branches: list[list[PolygonStep]] = []
    for path, pin in zip(paths, (loop.p_1, loop.p_2)):
        steps: list[PolygonStep] = []
        K = plane
        for i in path:
            steps += _joint_steps(tree, i, K, loop.name)
            K = K @ tree.bodies[i].Q_value
        steps.append(
            PolygonStep(way=_symbols(tree, f'{loop.name}_{len(branches) + 1}', (K @ pin)[:2]))
        )
        branches.append(steps)
    back = [_reversed(step) for step in reversed(branches[1])]
    return PlanarLoop(
        loop.name,
        top,
        [*branches[0], PolygonStep(turn=1), *back],
        normal,
        tuple(paths[0] + paths[1]),
    )


def _normal(tree: SymbolicTree, paths: Sequence[Sequence[int]], loop: SourceLoop) -> Array:
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
            elif normal is None and body.given.kind in TURNS:
                normal, first = axis, body.joint
            elif normal is None or not _parallel(normal, axis) or body.given.kind not in TURNS:
                raise outside(
                    f'it is not planar: {body.joint!r} does not turn about an axis '
                    f'parallel to that of {first!r}',
                    tree.source.name,
                    loop.name,
                )
    if normal is None:
        raise outside('none of its joints is a hinge', tree.source.name, loop.name)
    for joint, axis in slides:
        if abs(normal @ axis) > OUT_OF_PLANE:
            raise outside(
                f'it is not planar: {joint!r} slides out of the plane in which {first!r} turns',
                tree.source.name,
                loop.name,
            )
    return normal


def _parallel(one: Array, other: Array) -> bool:
    return bool(np.linalg.norm(np.cross(one, other)) <= OUT_OF_PLANE)


def plane_of(normal: Array) -> Array:
    """Return rows x, y, normal of the plane; x along an axis of the frame where possible."""
    k = int(np.argmax(abs(normal)))
    x = np.roll(np.eye(3)[k], 1)
    x = x - normal * (x @ normal)
    x /= np.linalg.norm(x)
    return rounded([x, np.cross(normal, x), normal])


def _symbols(tree: SymbolicTree, name: str, values: ArrayLike) -> tuple[SX, ...]:
    return tuple(
        tree.parameter(f'{axis}_{name}', value)
        for axis, value in zip('xy', rounded(values).tolist())
    )


def _joint_steps(tree: SymbolicTree, i: int, K: Array, loop: str) -> list[PolygonStep]:
    body = tree.bodies[i]
    p = (K @ body.given.p_tree)[:2]
    steps = [PolygonStep(way=_symbols(tree, f'{body.joint}_{loop}', p))]
    axis = K @ body.Q_value[:, 2]
    if body.slides:
        steps.append(PolygonStep(i, slide=_symbols(tree, f'd_{body.joint}_{loop}', axis[:2])))
    else:
        steps.append(PolygonStep(i, turn=1 if axis[2] > 0 else -1))
    return steps


def _reversed(step: PolygonStep) -> PolygonStep:
    minus = [tuple(-x for x in pair) for pair in (step.way, step.slide)]
    return PolygonStep(step.body, -step.turn, *minus)
