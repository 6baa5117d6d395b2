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

"""Coordinates of loop joints over symbols: positions, rates by velocity of the tree, and more."""

import casadi as ca

from closed_chain_dynamics.codegen.clusters import path_signs
from closed_chain_dynamics.codegen.expressions import SX
from closed_chain_dynamics.codegen.loops import place_loop, seen_from_1
from closed_chain_dynamics.codegen.source import Source, SourceLoop
from closed_chain_dynamics.codegen.tree import TracedFrames, TracedMotion
from closed_chain_dynamics.description.elements import LoopType

__all__ = ['coordinate_acceleration', 'loop_coordinates', 'loop_jacobian']


def loop_coordinates(loop: SourceLoop, frames: TracedFrames) -> tuple[list[SX], SX]:
    """
    Return the covector of every coordinate of a loop joint, and the position of its only one.

    A cut joint moves like a tree joint from parent to child: slides along axes of frame 1, turns
    about z_1; a spherical joint's rates are in the child's axes.
    """
    x, kind = place_loop(loop, frames), loop.kind

    def slide(axis: int) -> SX:
        return ca.vertcat(x.R_1[:, axis], ca.cross(x.p_2, x.R_1[:, axis]))

    def turn(axis: SX) -> SX:
        return ca.vertcat(ca.SX.zeros(3), axis)

    about_z = turn(x.R_1[:, 2])
    free = [turn(x.R_2[:, k]) for k in range(3)]
    covectors = {
        LoopType.FIXED: [],
        LoopType.REVOLUTE: [about_z],
        LoopType.PRISMATIC: [slide(2)],
        LoopType.CYLINDRICAL: [slide(2), about_z],
        LoopType.UNIVERSAL: [about_z, turn(x.R_2[:, 2])],
        LoopType.SPHERICAL: free,
        LoopType.PLANAR: [slide(0), slide(1), about_z],
        LoopType.SURFACE: [slide(0), slide(1), *free],
        LoopType.FREE: [slide(0), slide(1), slide(2), *free],
    }[kind]
    position = ca.SX(0)
    if kind is LoopType.REVOLUTE:
        P = x.R_1.T @ x.R_2
        s, c = P[1, 0] - P[0, 1], P[0, 0] + P[1, 1]
        if not isinstance(loop.seen, float) or loop.seen:  # whole turns are counted from there
            sin, cos = ca.sin(loop.seen), ca.cos(loop.seen)
            s, c = s * cos - c * sin, c * cos + s * sin
        position = ca.atan2(s, c) + loop.seen
    elif kind is LoopType.PRISMATIC:
        position = ca.dot(x.R_1[:, 2], x.p_2 - x.p_1)
    return covectors, position


def loop_jacobian(
    source: Source, loop: SourceLoop, frames: TracedFrames, covector: SX
) -> dict[int, SX]:
    """Return the rate of a coordinate of a loop joint by velocity of the tree."""
    signs = path_signs(source.bodies, loop.body_1, loop.body_2)
    return {j: sign * ca.dot(covector, frames.S[j]) for j, sign in signs.items()}


def coordinate_acceleration(
    loop: SourceLoop, frames: TracedFrames, moving: TracedMotion, covector: SX
) -> SX:
    """Return the acceleration of a coordinate of a loop joint in the motion of its bodies."""
    V_1, V_2 = moving.V[loop.body_1], moving.V[loop.body_2]
    A_1, A_2 = moving.A[loop.body_1], moving.A[loop.body_2]
    slide, turn = covector[:3], covector[3:]
    if not slide.is_zero():
        return ca.dot(slide, seen_from_1(V_1, A_1, V_2, A_2, place_loop(loop, frames).p_2))
    # the axis may turn with either body: the difference is at right angles to the relative turn
    return ca.dot(turn, A_2[3:] - A_1[3:]) + ca.dot(ca.cross(V_1[3:], turn), V_2[3:] - V_1[3:])
