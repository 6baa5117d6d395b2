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
Tendons over symbols: springs, dampers and inertia along paths and joints; see kernels/tendons.py.

A path is made of straight pieces, each with a covector along it. Around a shape there are always
two, from the point before to the shape and from there to the point behind: where the path does
not touch the shape, both lie along the straight way, and what they do to the shape cancels.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import casadi as ca

from closed_chain_dynamics.codegen.clusters import path_signs
from closed_chain_dynamics.codegen.expressions import SX
from closed_chain_dynamics.codegen.pair_forces import pull, push_apart
from closed_chain_dynamics.codegen.source import Source, SourceSpring, SourceWaypoint
from closed_chain_dynamics.codegen.tree import (
    TracedFrames,
    TracedMotion,
    point_acceleration,
    point_velocity,
)
from closed_chain_dynamics.codegen.wrapping import Wrapped, norm, wrap
from closed_chain_dynamics.description.elements import JointType
from closed_chain_dynamics.kernels.pair_forces import NO_LENGTH

__all__ = [
    'add_tendon_inertia',
    'carry_tendon',
    'path_length',
    'path_margins',
    'pull_path',
    'tendon_energy',
]


@dataclass
class _Piece:
    """A straight piece of a path, or a joint of a tendon: its covector, and where it lies."""

    body_1: int
    body_2: int
    f: SX
    p_1: SX
    p_2: SX
    length: SX  # of a joint: 0
    share: float = 1.0


def _straight(
    bodies: tuple[int, int], p_1: SX, p_2: SX, share: float, direction: SX | None = None
) -> _Piece:
    """Return a straight piece along a unit direction, by default its own, if it has a length."""
    way = p_2 - p_1
    length = norm(way)
    if direction is None:
        n = ca.if_else(length > NO_LENGTH, share / ca.fmax(length, NO_LENGTH), 0) * way
    else:
        n = share * direction
    return _Piece(*bodies, ca.vertcat(n, ca.cross(p_2, n)), p_1, p_2, length, share)


def _place(frames: TracedFrames, body: int, p: SX) -> SX:
    return frames.p[body] + frames.R[body] @ ca.SX(p)


def _wrap(frames: TracedFrames, ends: tuple[SX, SX], around: SourceWaypoint) -> Wrapped:
    """Return how a path between two points goes around a shape."""
    R, centre = frames.R[around.body] @ around.R, _place(frames, around.body, around.p)
    side, fixed = None, False
    if around.side is not None:
        body, p = around.side
        fixed = body == around.body
        if fixed:
            side = around.R.T @ (ca.SX(p) - ca.SX(around.p))
            fixed = side.is_constant()  # unless a parameter moves it
        else:
            side = R.T @ (_place(frames, body, p) - centre)
    return wrap(*ends, centre, R, around.radius, around.shape == 'sphere', side, fixed)


def _around(
    frames: TracedFrames, here: SourceWaypoint, around: SourceWaypoint, there: SourceWaypoint
) -> tuple[list[_Piece], SX]:
    """Return the two pieces of a path around a shape, and their length with what is between."""
    x_0, x_1 = _place(frames, here.body, here.p), _place(frames, there.body, there.p)
    found, share = _wrap(frames, (x_0, x_1), around), here.share
    straight = _straight((here.body, there.body), x_0, x_1, share)
    first = _straight((here.body, around.body), x_0, found.on, share, found.before)
    last = _straight((around.body, there.body), found.off, x_1, share, found.behind)
    wrapped = first.length + found.length + last.length
    for piece in (first, last):
        piece.f = ca.if_else(found.touches, piece.f, straight.f)
    return [first, last], share * ca.if_else(found.touches, wrapped, straight.length)


def _steps(
    spring: SourceSpring,
) -> Iterator[tuple[SourceWaypoint, SourceWaypoint | None, SourceWaypoint]]:
    """Yield from which point to which a path leads, and the shape between them."""
    way, t = spring.path, 0
    while t < len(way) - 1:
        shape = way[t + 1] if way[t + 1].shape else None
        there = t + 1 if shape is None else t + 2
        if not way[there].begins:
            yield way[t], shape, way[there]
        t = there


def _lay_path(spring: SourceSpring, frames: TracedFrames) -> tuple[list[_Piece], SX]:
    """Return the pieces of a path, and its length."""
    pieces, length = [], ca.SX(0)
    for here, shape, there in _steps(spring):
        if shape is None:
            p_1, p_2 = _place(frames, here.body, here.p), _place(frames, there.body, there.p)
            own = [_straight((here.body, there.body), p_1, p_2, here.share)]
            more = here.share * own[0].length
        else:
            own, more = _around(frames, here, shape, there)
        pieces += own
        length = length + more
    return pieces, length


def _lay_joints(source: Source, spring: SourceSpring, frames: TracedFrames) -> list[_Piece]:
    """Return the joints of a tendon as pieces."""
    owner = {j: i for i, b in enumerate(source.bodies) for j in range(b.iv, b.iv + b.nv)}
    pieces = []
    for j, _, c in spring.terms:
        i, S = owner[j], frames.S[j]
        p = frames.p[i]
        if source.bodies[i].kind is JointType.PRISMATIC:
            f = ca.vertcat(c * S[:3], c * ca.cross(p, S[:3]))
        else:
            f = ca.vertcat(ca.SX.zeros(3), c * S[3:])
        pieces.append(_Piece(source.bodies[i].parent, i, f, p, p, ca.SX(0)))
    return pieces


def _pieces(source: Source, spring: SourceSpring, frames: TracedFrames) -> list[_Piece]:
    return _lay_path(spring, frames)[0] if spring.path else _lay_joints(source, spring, frames)


def _rate(pieces: list[_Piece], moving: TracedMotion) -> SX:
    """Return how fast a tendon becomes longer."""
    V = moving.V
    return sum((ca.dot(x.f, V[x.body_2] - V[x.body_1]) for x in pieces), ca.SX(0))


def _push(pieces: list[_Piece], force: SX, forces: list[SX]) -> None:
    """Apply a force along a tendon."""
    for x in pieces:
        push_apart(forces, x.body_1, x.body_2, x.f * force)


def _acceleration(pieces: list[_Piece], moving: TracedMotion) -> SX:
    """Return (L theta')' of a tendon that wraps around nothing."""
    found, V, A = ca.SX(0), moving.V, moving.A
    for x in pieces:
        one, two, n = x.body_1, x.body_2, x.f[:3]
        if n.is_zero():  # a joint that turns
            found = found + ca.dot(x.f[3:], A[two][3:] - A[one][3:])
            continue
        faster = point_acceleration(V[two], A[two], x.p_2)
        found = found + ca.dot(n, faster - point_acceleration(V[one], A[one], x.p_1))
        if not x.length.is_zero():  # what moves across the piece makes it longer
            slip = point_velocity(V[two], x.p_2) - point_velocity(V[one], x.p_1)
            across = ca.sumsqr(ca.cross(n, slip)) / (ca.fmax(x.length, NO_LENGTH) * x.share)
            found = found + across
    return found


def pull_path(
    spring: SourceSpring, frames: TracedFrames, moving: TracedMotion, forces: list[SX]
) -> SX:
    """Apply the spring-damper along a path; return the power that its damper takes."""
    pieces, length = _lay_path(spring, frames)
    rate = _rate(pieces, moving)
    _push(pieces, pull(spring, length, rate), forces)
    return spring.damping * rate**2


def carry_tendon(
    source: Source,
    spring: SourceSpring,
    frames: TracedFrames,
    moving: TracedMotion,
    forces: list[SX],
) -> None:
    """Add what the armature of a tendon needs for the motion of the bodies to their forces."""
    pieces = _pieces(source, spring, frames)
    _push(pieces, -spring.armature * _acceleration(pieces, moving), forces)


def path_length(spring: SourceSpring, frames: TracedFrames) -> SX:
    """Return the length of a path."""
    return _lay_path(spring, frames)[1]


def tendon_energy(
    source: Source, spring: SourceSpring, frames: TracedFrames, moving: TracedMotion
) -> SX:
    """Return the kinetic energy of the armature of a tendon."""
    return 0.5 * spring.armature * _rate(_pieces(source, spring, frames), moving) ** 2


def add_tendon_inertia(
    source: Source, spring: SourceSpring, frames: TracedFrames, M: dict[tuple[int, int], SX]
) -> None:
    """Add a L^T L of the armature of a tendon to M."""
    L: dict[int, SX] = {}
    for x in _pieces(source, spring, frames):
        for j, sign in path_signs(source.bodies, x.body_1, x.body_2).items():
            L[j] = L.get(j, ca.SX(0)) + sign * ca.dot(x.f, frames.S[j])
    for i, x in L.items():
        for j, y in L.items():
            M[i, j] = M.get((i, j), ca.SX(0)) + spring.armature * x * y


def path_margins(source: Source, frames: TracedFrames) -> list[SX]:
    """Return what is positive while points where paths touch shapes from within are found."""
    margins = []
    for spring in source.springs:
        for here, shape, there in _steps(spring):
            if shape is not None:
                ends = _place(frames, here.body, here.p), _place(frames, there.body, there.p)
                margins.append(_wrap(frames, ends, shape).margin)
    return [each for each in margins if not each.is_constant()]
