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
Rows of J_C over symbols: covector, error and bias of every row of a loop, and of couplings.

A covector applied to V_2 - V_1 of the two bodies that a loop connects is the rate of its row;
the rows, their axes and their order are those of the kernels.
"""

from dataclasses import dataclass

import casadi as ca

from closed_chain_dynamics.codegen.clusters import path_signs
from closed_chain_dynamics.codegen.expressions import SX
from closed_chain_dynamics.codegen.source import Source, SourceCoupling, SourceLoop
from closed_chain_dynamics.codegen.tree import (
    TracedFrames,
    TracedMotion,
    point_acceleration,
    point_velocity,
)
from closed_chain_dynamics.description.elements import LoopType

__all__ = [
    'ConstraintRow',
    'cluster_rows',
    'flip_margins',
    'loop_rows',
    'place_loop',
    'seen_from_1',
]

HELD_SLIDES = {  # axes of frame 1 along which nothing slides
    LoopType.FIXED: (0, 1, 2),
    LoopType.REVOLUTE: (0, 1, 2),
    LoopType.PRISMATIC: (0, 1),
    LoopType.CYLINDRICAL: (0, 1),
    LoopType.UNIVERSAL: (0, 1, 2),
    LoopType.SPHERICAL: (0, 1, 2),
    LoopType.PLANAR: (2,),
    LoopType.SURFACE: (2,),
    LoopType.FREE: (),
}
# turning rows as sums of factor times a product of an axis of frame 1 and one of frame 2
ALL_TURNS = (((0.5, 2, 1), (-0.5, 1, 2)), ((0.5, 0, 2), (-0.5, 2, 0)), ((0.5, 1, 0), (-0.5, 0, 1)))
TILTS = (((-1.0, 1, 2),), ((1.0, 0, 2),))
HELD_TURNS: dict[LoopType, tuple[tuple[tuple[float, int, int], ...], ...]] = {
    LoopType.FIXED: ALL_TURNS,
    LoopType.PRISMATIC: ALL_TURNS,
    LoopType.REVOLUTE: TILTS,
    LoopType.CYLINDRICAL: TILTS,
    LoopType.PLANAR: TILTS,
    LoopType.UNIVERSAL: (((1.0, 2, 2),),),
}


@dataclass
class ConstraintRow:
    """
    One row: entries by velocity, error, bias J_C' theta', unit, and its number in J_C.

    `gap`: the error as the core tells it, along the axes of frame 1.
    """

    entries: dict[int, SX]
    error: SX
    bias: SX
    unit: float
    gap: SX
    number: int = -1


@dataclass
class LoopFrames:
    """Where the two frames of a loop stand."""

    R_1: SX
    p_1: SX
    R_2: SX
    p_2: SX


def place_loop(loop: SourceLoop, frames: TracedFrames) -> LoopFrames:
    """Return where both frames of a loop stand."""
    one, two = loop.body_1, loop.body_2
    return LoopFrames(
        frames.R[one] @ loop.R_1,
        frames.p[one] + frames.R[one] @ loop.p_1,
        frames.R[two] @ loop.R_2,
        frames.p[two] + frames.R[two] @ loop.p_2,
    )


def seen_from_1(V_1: SX, A_1: SX, V_2: SX, A_2: SX, p: SX) -> SX:
    """Return how the point p of body 2 accelerates, seen from body 1."""
    relative = point_velocity(V_2, p) - point_velocity(V_1, p)
    away = point_acceleration(V_2, A_2, p) - point_acceleration(V_1, A_1, p)
    return away - 2 * ca.cross(V_1[3:], relative)


def _slide_rows(
    source: Source,
    loop: SourceLoop,
    x: LoopFrames,
    frames: TracedFrames,
    moving: TracedMotion | None,
    as_in_core: bool,
) -> list[ConstraintRow]:
    axes = list(HELD_SLIDES[loop.kind])
    if not axes:
        return []
    to_frame = x.R_1[:, axes].T
    gap = to_frame @ (x.p_2 - x.p_1)
    if len(axes) == 3 and not as_in_core:  # any axes do for a point, and these cost nothing
        to_frame = ca.SX.eye(3)
    error = to_frame @ (x.p_2 - x.p_1)
    bias = ca.SX.zeros(len(axes))
    if moving is not None:
        V_1, V_2 = moving.V[loop.body_1], moving.V[loop.body_2]
        A_1, A_2 = moving.A[loop.body_1], moving.A[loop.body_2]
        bias = to_frame @ seen_from_1(V_1, A_1, V_2, A_2, x.p_2)
    columns = {
        j: sign * (to_frame @ point_velocity(frames.S[j], x.p_2))
        for j, sign in path_signs(source.bodies, loop.body_1, loop.body_2).items()
    }
    return [
        ConstraintRow(
            {j: column[r] for j, column in columns.items()},
            error[r],
            bias[r],
            1 / source.length,
            gap[r],
        )
        for r in range(len(axes))
    ]


def _turn_rows(
    source: Source,
    loop: SourceLoop,
    x: LoopFrames,
    frames: TracedFrames,
    moving: TracedMotion | None,
    as_in_core: bool,
) -> list[ConstraintRow]:
    covectors, errors, rests = [], [], []  # a row's bias is its covector times alpha, and a rest
    signs = path_signs(source.bodies, loop.body_1, loop.body_2)
    for products in HELD_TURNS.get(loop.kind, ()):
        covector, error, rest = ca.SX.zeros(3), ca.SX(0), ca.SX(0)
        for factor, k, m in products:
            b, c = x.R_1[:, k], x.R_2[:, m]
            covector, error = covector + factor * ca.cross(c, b), error + factor * ca.dot(b, c)
            if moving is not None:
                o_1, o_2 = moving.V[loop.body_1][3:], moving.V[loop.body_2][3:]
                d, e = ca.cross(o_1, b), ca.cross(o_2, c)
                rest = rest + factor * (
                    ca.dot(ca.cross(o_2, e), b) + ca.dot(ca.cross(o_1, d), c) + 2 * ca.dot(d, e)
                )
        covectors.append(covector)
        errors.append(error)
        rests.append(rest)
    if not covectors:
        return []
    alpha = ca.SX.zeros(3)
    if moving is not None:
        alpha = moving.A[loop.body_2][3:] - moving.A[loop.body_1][3:]
    C, error, rest = ca.horzcat(*covectors).T, ca.vertcat(*errors), ca.vertcat(*rests)
    gap = error
    if len(covectors) == 3 and not as_in_core:  # no turn at all: any axes do, as for a point
        inverse = _inverse(C)
        C, error, rest = ca.SX.eye(3), inverse @ error, inverse @ rest
    bias = C @ alpha + rest
    columns = {j: sign * (C @ frames.S[j][3:]) for j, sign in signs.items()}
    return [
        ConstraintRow(
            {j: column[r] for j, column in columns.items()}, error[r], bias[r], 1.0, gap[r]
        )
        for r in range(len(covectors))
    ]


def _inverse(C: SX) -> SX:
    """Return the inverse of a (3, 3) matrix."""
    a, b, c = C[0, :].T, C[1, :].T, C[2, :].T
    adjugate = ca.horzcat(ca.cross(b, c), ca.cross(c, a), ca.cross(a, b))
    return adjugate / ca.dot(a, adjugate[:, 0])


def _coupling_row(coupling: SourceCoupling, q: SX, v: SX | None) -> ConstraintRow:
    error, bias = ca.SX(coupling.constant), ca.SX(0)
    entries: dict[int, SX] = {}
    for dof, iq, coefficients in coupling.terms:
        x, value, slope, second = q[iq], ca.SX(0), ca.SX(0), ca.SX(0)
        for power, c in reversed(list(enumerate(coefficients, start=1))):  # Horner
            value = value * x + c
            slope = slope * x + power * c
            second = second * x + power * (power - 1) * c if power > 1 else second
        error = error + value * x
        if v is not None:
            bias = bias + second * v[dof] ** 2
        entries[dof] = entries.get(dof, 0) + slope
    return ConstraintRow(entries, error, bias, 1.0, error)


def loop_rows(
    source: Source,
    loop: SourceLoop,
    frames: TracedFrames,
    moving: TracedMotion | None,
    slides_as_in_core: bool = False,
    turns_as_in_core: bool = False,
) -> list[ConstraintRow]:
    """Return the rows of a loop; biases where things move."""
    x = place_loop(loop, frames)
    slides = _slide_rows(source, loop, x, frames, moving, slides_as_in_core)
    return slides + _turn_rows(source, loop, x, frames, moving, turns_as_in_core)


def cluster_rows(
    source: Source,
    c: int,
    frames: TracedFrames,
    q: SX,
    v: SX | None,
    moving: TracedMotion | None,
    as_in_core: bool = False,
) -> list[ConstraintRow]:
    """
    Return the rows of a cluster, loop by loop, then couplings; biases where things move.

    Rows of a loop may be combined as is cheapest, unless they are to be those of the core.
    """
    rows: list[ConstraintRow] = []
    for k in source.clusters[c].loops:
        loop = source.loops[k]
        own = loop_rows(source, loop, frames, moving, as_in_core, as_in_core)
        for n, row in enumerate(own, start=loop.first_row):
            row.number = n
        rows += own
    for k in source.clusters[c].couplings:
        rows.append(_coupling_row(source.couplings[k], q, v))
        rows[-1].number = source.couplings[k].row
    return rows


def flip_margins(source: Source, frames: TracedFrames) -> list[SX]:
    """Return what is positive for every loop unless its turning errors vanish at half a turn."""
    margins = []
    for cluster in source.clusters:
        for k in cluster.loops:
            loop, x = source.loops[k], place_loop(source.loops[k], frames)
            if loop.kind in (LoopType.FIXED, LoopType.PRISMATIC):
                margins.append(ca.trace(x.R_1.T @ x.R_2) - 1)
            elif loop.kind in (LoopType.REVOLUTE, LoopType.CYLINDRICAL, LoopType.PLANAR):
                margins.append(ca.dot(x.R_1[:, 2], x.R_2[:, 2]))
    return margins
