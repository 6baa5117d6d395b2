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
Solves planar loops and gears for the dependent coordinates, q_2 = f(q_1).

This is section 3.2 of Schappler et al. A planar loop with two unknown joints is a triangle: its
corners are these two and the pin, its sides are known lengths, and the last corner is where two
circles intersect. Which of the two intersections is meant is found from a closed pose, and named.
A slide among the unknown joints makes a line of one circle. Gears and other couplings give the one
joint in them that is not known.

`explicit`: angles by arctangents, and sines and cosines of these (direct elimination, Eq. (2));
else sines and cosines alone (trigonometric elimination, Eq. (3)).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import casadi as ca
import numpy as np

from closed_chain_dynamics.codegen.expressions import SX
from closed_chain_dynamics.codegen.source import SourceCoupling
from closed_chain_dynamics.errors import StructureError
from closed_chain_dynamics.symbolic.angles import Angle
from closed_chain_dynamics.symbolic.planar_loops import (
    PlanarLoop,
    PolygonStep,
    outside,
    planar_loop,
)
from closed_chain_dynamics.symbolic.tree import SymbolicTree, number

__all__ = ['ClosedForm']

BodyAngles = dict[int, Any]  # body -> its Angle, or how far it slides


@dataclass
class _Side:
    """A side of the triangle, in the direction after its first corner."""

    x: SX
    y: SX
    turn: Angle  # from its first corner to its last, the corners not included
    slide: tuple[SX, ...] = ()  # direction of the unknown slide in it
    slider: int = -1  # and the body of that


class ClosedForm:
    """
    All coordinates of a mechanism as functions of the independent ones.

    `state`: one Angle, or slide, per body; `branches`: {loop: which intersection}. `inputs`:
    {body: symbol} of the independent coordinates; `pose`: {body: q}, a closed pose that decides
    the branches; `outward`: bodies in the order in which branches are named; `order`: in which
    they become known.
    """

    def __init__(
        self,
        tree: SymbolicTree,
        inputs: Mapping[int, SX],
        pose: Mapping[int, float],
        outward: Sequence[int],
        *,
        explicit: bool,
    ) -> None:
        self.tree, self.explicit, self.pose = tree, explicit, pose
        self._outward = {i: k for k, i in enumerate(outward)}
        self._inputs = ca.vertcat(*inputs.values()) if inputs else ca.SX.zeros(0)
        self._at_pose = [pose[i] for i in inputs]
        self._values = dict(inputs)
        self.order = list(inputs)  # in which bodies become known
        self.state: BodyAngles = {i: self._of_value(i, node) for i, node in inputs.items()}
        self.branches: dict[str, str] = {}
        loops = [planar_loop(tree, loop) for loop in tree.source.loops]
        couplings = list(tree.source.couplings)
        self._owner = {body.given.iv: i for i, body in enumerate(tree.bodies) if i}
        while loops or couplings:
            left = (
                [loop for loop in loops if not self._solve_loop(loop)],
                [each for each in couplings if not self._solve_coupling(each)],
            )
            if left == (loops, couplings):
                self._refuse(loops, couplings)
            loops, couplings = left

    def _of_value(self, i: int, q: SX) -> SX | Angle:
        body = self.tree.bodies[i]
        return q if body.slides else Angle.of(q + body.delta)

    def value(self, i: int) -> SX:
        """Return the coordinate q of a body as an expression."""
        if i not in self._values:
            body = self.tree.bodies[i]
            self._values[i] = (
                self.state[i] if body.slides else self.state[i].explicit() - body.delta
            )
        return self._values[i]

    def _refuse(
        self, loops: Sequence[PlanarLoop], couplings: Sequence[SourceCoupling]
    ) -> NoReturn:
        for loop in loops:
            names = [repr(self.tree.bodies[i].joint) for i in self._unknown(loop)]
            count = (
                'only one of its joints is'
                if len(names) == 1
                else f'{len(names)} of its joints are'
            )
            raise outside(
                f'{count} still unknown when it is solved ({", ".join(names)}), and a '
                'triangle has two unknowns',
                self.tree.source.name,
                loop.name,
            )
        raise StructureError(
            'it cannot be solved for one joint',
            where=f'{self.tree.source.name}, coupling {couplings[0].name!r}',
            repair="Pass method='ic' (implicit constraints).",
        )

    def _unknown(self, loop: PlanarLoop) -> list[int]:
        return sorted(i for i in loop.bodies if i not in self.state)

    # --- couplings ----------------------------------------------------------------------------
    def _solve_coupling(self, coupling: SourceCoupling) -> bool:
        """Solve a coupling for its one unknown joint; return whether it is settled."""
        bodies = [self._owner[place] for place, _, _ in coupling.terms]
        polynomials = [coefficients for _, _, coefficients in coupling.terms]
        unknown = [k for k, i in enumerate(bodies) if i not in self.state]
        if not unknown:
            return True
        if len(unknown) > 1 or len(polynomials[unknown[0]]) > 1:
            return False
        total = ca.SX(coupling.constant)
        for k, polynomial in enumerate(polynomials):
            for degree, coefficient in enumerate(polynomial, start=1):
                if k != unknown[0]:
                    total = total + coefficient * self.value(bodies[k]) ** degree
        i = bodies[unknown[0]]
        self._values[i] = total * (-1.0 / polynomials[unknown[0]][0])
        self.state[i] = self._of_value(i, self._values[i])
        self.order.append(i)
        return True

    # --- loops --------------------------------------------------------------------------------
    def _solve_loop(self, loop: PlanarLoop) -> bool:
        """Solve a loop for its two unknown joints; return whether it is settled."""
        unknown = self._unknown(loop)
        if not unknown:
            return True  # the others imply it
        if len(unknown) != 2:
            return False
        slides = [i for i in unknown if self.tree.bodies[i].slides]
        if len(slides) > 1:
            names = ' and '.join(repr(self.tree.bodies[i].joint) for i in slides)
            raise outside(
                f'{names} both slide, and both are unknown', self.tree.source.name, loop.name
            )
        solve = self._slider if slides else self._triangle
        found = {sign: solve(loop, unknown, sign) for sign in (1, -1)}
        sign = min(found, key=lambda each: self._distance_from_pose(found[each]))
        self.state.update(found[sign])
        self.order += unknown
        self.branches[loop.name] = self._branch(loop, unknown, slides, sign)
        return True

    def _distance_from_pose(self, new: BodyAngles) -> float:
        found: list[SX] = []
        expected: list[float] = []
        for i, value in new.items():
            body = self.tree.bodies[i]
            found += [value] if body.slides else [value.cos, value.sin]
            theta = self.pose[i] + body.delta_value
            expected += [self.pose[i]] if body.slides else [np.cos(theta), np.sin(theta)]
        (flat,) = self.tree.numbers(ca.vertcat(*found))
        return float(abs(number(flat, self._inputs, self._at_pose).ravel() - expected).max())

    def _sides(
        self, loop: PlanarLoop, unknown: Collection[int]
    ) -> tuple[list[PolygonStep], list[_Side]]:
        """Return the corners of the polygon, and the sides that follow each of them."""
        steps = loop.steps
        cuts = [
            k
            for k, step in enumerate(steps)
            if step.turn and (step.body < 0 or step.body in unknown)
        ]
        return (
            [steps[k] for k in cuts],
            [
                self._side(steps, unknown, *ends)
                for ends in zip(cuts, [*cuts[1:], cuts[0] + len(steps)])
            ],
        )

    def _side(
        self, steps: Sequence[PolygonStep], unknown: Collection[int], start: int, end: int
    ) -> _Side:
        side = _Side(ca.SX(0), ca.SX(0), Angle(ca.SX(1), ca.SX(0)))
        for k in range(start + 1, end):
            step = steps[k % len(steps)]
            if step.turn:
                turn = self.state[step.body]
                side.turn = side.turn.then(turn if step.turn > 0 else turn.reverse())
                continue
            x, y = side.turn.turn(*(step.way or step.slide))
            if step.slide and step.body in unknown:
                side.slide, side.slider = (x, y), step.body
                continue
            if step.slide:
                x, y = x * self.state[step.body], y * self.state[step.body]
            side.x, side.y = side.x + x, side.y + y
        return side

    def _triangle(self, loop: PlanarLoop, unknown: Collection[int], sign: int) -> BodyAngles:
        """Return the two unknown turns where both joints turn."""
        corners, sides = self._sides(loop, unknown)
        squares = [side.x * side.x + side.y * side.y for side in sides]
        # scalar product of the sides at a corner from the three lengths; twice the area
        dots = [(squares[k - 2] - squares[k - 1] - squares[k]) * 0.5 for k in range(3)]
        area = ca.sqrt(squares[0] * squares[1] - dots[1] * dots[1])
        area = area if sign > 0 else -area
        return {
            corner.body: self._turn(
                sides[k - 1], sides[k], corner, dots[k], area, squares[k - 1] * squares[k]
            )
            for k, corner in enumerate(corners)
            if corner.body >= 0
        }

    def _slider(self, loop: PlanarLoop, unknown: Collection[int], sign: int) -> BodyAngles:
        """Return the unknown slide and turn where one joint slides."""
        corners, sides = self._sides(loop, unknown)
        sliding, fixed = sorted(sides, key=lambda side: not side.slide)
        square = fixed.x * fixed.x + fixed.y * fixed.y
        x, y = sliding.slide
        across = x * sliding.y - y * sliding.x
        root = ca.sqrt(square - across * across)
        way = (root if sign > 0 else -root) - (x * sliding.x + y * sliding.y)
        sliding.x, sliding.y = sliding.x + x * way, sliding.y + y * way
        new: BodyAngles = {sliding.slider: way}
        for k, corner in enumerate(corners):
            if corner.body >= 0:  # the two sides lie on each other
                new[corner.body] = self._turn(
                    sides[k - 1], sides[k], corner, -square, ca.SX(0), square * square
                )
        return new

    def _turn(
        self, before: _Side, after: _Side, corner: PolygonStep, K: SX, D: SX, square: SX
    ) -> Angle:
        """
        Return the turn at a corner.

        The sides there, each in its own direction, have scalar and vector products K and D once
        the second is turned by the corner and by what the first turned.
        """
        p = before.x * after.x + before.y * after.y
        r = before.x * after.y - before.y * after.x
        turn = Angle(p * K + r * D, p * D - r * K).then(before.turn.reverse())
        if corner.turn < 0:
            turn = turn.reverse()
        if self.explicit:
            return Angle.of(ca.atan2(turn.sin, turn.cos))
        inverse = 1 / square
        return Angle(turn.cos * inverse, turn.sin * inverse)

    def _branch(
        self, loop: PlanarLoop, unknown: Sequence[int], slides: Sequence[int], sign: int
    ) -> str:
        """Name the intersection: on which side of a line, or of a foot, it lies."""
        names = {i: self.tree.bodies[i].joint for i in unknown}
        if slides:
            return (
                f'{names[slides[0]]} {"beyond" if sign > 0 else "before"} the foot of the '
                'perpendicular on its line'
            )
        base, vertex = sorted(unknown, key=self._outward.__getitem__)
        corners = [
            step.body
            for step in loop.steps
            if step.turn and (step.body < 0 or step.body in unknown)
        ]
        follows = corners[(corners.index(base) + 1) % 3] == vertex
        side = 'right' if (sign > 0) == follows else 'left'
        return f'{names[vertex]} {side} of the line from {names[base]} to {loop.name}'
