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
How a taut path goes around a sphere or a cylinder, over symbols; see kernels/wrapping.py.

Straight-line code computes every case and picks one. Those that are not picked stay finite, and so
do their slopes: roots and divisions are kept away from zero. Where a path touches a shape from
within, a fixed number of steps finds the point; a margin says whether that was enough.
"""

from dataclasses import dataclass

import casadi as ca

from closed_chain_dynamics.codegen.expressions import SX
from closed_chain_dynamics.kernels.loop_joints import WHOLE_TURN
from closed_chain_dynamics.kernels.wrapping import HALF_TURN, LAST_STEPS, LEAST_ANGLE, NO_SINE

__all__ = ['Wrapped', 'norm', 'wrap']

HALLEY_STEPS = 10  # of the smooth equation; they suffice unless an end almost touches the shape
EQUAL_ANGLES = 1e-7  # a difference from which one more step makes it rounding [rad]
NO_GAP = 1e-12  # a length that divides is at least this where the answer does not count
SHORTEST_PART = 1e-9  # from within; a shorter one has no direction but for rounding [m]


@dataclass
class Wrapped:
    """Whether a path touches a shape; where it comes on, goes off, how long it is between."""

    touches: SX
    on: SX
    off: SX
    length: SX
    before: SX  # unit directions of the straight parts
    behind: SX
    margin: SX  # positive where the answer counts


@dataclass
class _Circle:
    """A path around a circle: whether it touches, which way it turns, at which angle, how long."""

    touches: SX
    way: SX
    angle: SX
    arc: SX
    margin: SX  # positive where the angle counts


def norm(x: SX) -> SX:
    """Return a length, never quite zero: its slope is finite, and a division by it is safe."""
    return ca.sqrt(ca.fmax(ca.sumsqr(x), 1e-300))


def _root(x: SX) -> SX:
    return ca.sqrt(ca.fmax(x, 1e-300))


def _angle(x: SX, y: SX) -> SX:
    """Return the angle of a point, above -pi; of the origin any, with a slope that is finite."""
    phi = ca.atan2(y, ca.if_else(ca.fmax(ca.fabs(x), ca.fabs(y)) < NO_SINE, 1, x))
    return phi + WHOLE_TURN * (phi < LEAST_ANGLE)


def _turn(phi_0: SX, phi_1: SX) -> SX:
    """Return the turn from one angle to another, at most half a turn either way."""
    turn = phi_1 - phi_0
    return turn - WHOLE_TURN * ((turn > HALF_TURN) - (turn < -HALF_TURN))


def _sign(x: SX) -> SX:
    return ca.if_else(x >= 0, 1, -1)


def _tangents(x_0: SX, y_0: SX, x_1: SX, y_1: SX, r: float, side: SX | None) -> _Circle:
    """Return how a path goes around a circle; `side`: a point on the side that it takes."""
    d_0, d_1 = norm(ca.vertcat(x_0, y_0)), norm(ca.vertcat(x_1, y_1))
    phi_0, phi_1 = _angle(x_0, y_0), _angle(x_1, y_1)
    turn = _turn(phi_0, phi_1)
    if side is not None:
        phi = _angle(side[0], side[1])
        by_side = _turn(phi_0, phi) + _turn(phi, phi_1)
        turn = ca.if_else(norm(side) > NO_SINE, by_side, turn)
    alpha_0 = ca.atan2(_root(d_0 * d_0 - r * r), r)
    alpha_1 = ca.atan2(_root(d_1 * d_1 - r * r), r)
    arc, way = ca.fabs(turn) - alpha_0 - alpha_1, _sign(turn)
    outside = ca.logic_and(d_0 >= r, d_1 >= r)
    return _Circle(ca.logic_and(outside, arc > 0), way, phi_0 + way * alpha_0, arc, ca.SX(1))


def _reflection(x_0: SX, y_0: SX, x_1: SX, y_1: SX, r: float) -> _Circle:
    """
    Return where a path touches a circle from within.

    A point at an angle a from one end and b from the other has both parts at the same angle to
    its normal where d_0 d_1 sin(a - b) = r (d_0 sin a - d_1 sin b).
    """
    d_0, d_1 = norm(ca.vertcat(x_0, y_0)), norm(ca.vertcat(x_1, y_1))
    x, y = x_1 - x_0, y_1 - y_0
    square = x * x + y * y
    along = -(x * x_0 + y * y_0) / ca.fmax(square, NO_SINE)
    along = ca.fmin(ca.fmax(ca.if_else(square > NO_SINE, along, 0), 0), 1)
    nearest = norm(ca.vertcat(x_0 + along * x, y_0 + along * y))
    touches = ca.logic_and(ca.logic_and(d_0 > r, d_1 > r), nearest > r)
    # elsewhere the steps are those of a circle that is far away
    d_0, d_1 = ca.if_else(touches, d_0, 2 * r), ca.if_else(touches, d_1, 2 * r)
    inner = ca.if_else(touches, x_0 * x_1 + y_0 * y_1, 1)
    turn = ca.if_else(touches, ca.atan2(x_0 * y_1 - y_0 * x_1, inner), 0.5)
    way, turn = _sign(turn), ca.fabs(turn)
    high = ca.fmin(turn, ca.atan2(_root(d_0 * d_0 - r * r), r))
    low = ca.fmax(0, turn - ca.atan2(_root(d_1 * d_1 - r * r), r))
    near_0, near_1 = d_0 / ca.fmax(d_0 - r, NO_GAP * r), d_1 / ca.fmax(d_1 - r, NO_GAP * r)
    a = ca.fmin(ca.fmax(turn * near_1 / (near_0 + near_1), low), high)
    gap = ca.SX(0)
    for step in range(HALLEY_STEPS + LAST_STEPS):
        b = turn - a
        s_0, c_0, s_1, c_1 = d_0 * ca.sin(a), d_0 * ca.cos(a), d_1 * ca.sin(b), d_1 * ca.cos(b)
        if step < HALLEY_STEPS:
            gap = s_0 * c_1 - c_0 * s_1 - r * (s_0 - s_1)
            slope = 2 * (c_0 * c_1 + s_0 * s_1) - r * (c_0 + c_1)
            bend = -4 * (s_0 * c_1 - c_0 * s_1) + r * (s_0 - s_1)
            scale = 2 * slope**2 - gap * bend
            move = -2 * gap * slope / ca.if_else(ca.fabs(scale) < NO_SINE, 1, scale)
        else:
            gap = ca.atan2(s_0, c_0 - r) - ca.atan2(s_1, c_1 - r)
            own_0, own_1 = d_0 * d_0 - r * c_0, d_1 * d_1 - r * c_1
            slope = own_0 / (own_0 + r * (r - c_0)) + own_1 / (own_1 + r * (r - c_1))
            move = -gap / slope
        high, low = ca.if_else(gap > 0, a, high), ca.if_else(gap > 0, low, a)
        within = ca.logic_and(low <= a + move, a + move <= high)
        a = ca.if_else(within, a + move, 0.5 * (low + high))
    margin = ca.if_else(touches, EQUAL_ANGLES**2 - gap**2, 1)
    return _Circle(touches, way, _angle(x_0, y_0) + way * a, ca.SX(0), margin)


def _around_circle(
    x_0: SX, y_0: SX, x_1: SX, y_1: SX, r: float, side: SX | None, within: SX | bool
) -> _Circle:
    """Return how a path goes around a circle, or touches it from within."""
    if within is True:
        return _reflection(x_0, y_0, x_1, y_1, r)
    around = _tangents(x_0, y_0, x_1, y_1, r, side)
    if within is False:
        return around
    inside = _reflection(x_0, y_0, x_1, y_1, r)
    chosen = (
        ca.if_else(within, x, y)
        for x, y in (
            (inside.touches, around.touches),
            (inside.way, around.way),
            (inside.angle, around.angle),
            (inside.arc, around.arc),
            (inside.margin, around.margin),
        )
    )
    return _Circle(*chosen)


def _plane(a: SX, b: SX) -> tuple[SX, SX]:
    """Return two unit vectors that span the plane of a path around a ball."""
    e_1, n = a / ca.fmax(norm(a), NO_SINE), ca.cross(a, b)
    # straight through the centre: any plane, that of the kernels
    x, y, z = (ca.fabs(e_1[k]) for k in range(3))
    last = z > ca.fmax(x, y)
    middle = ca.logic_and(ca.logic_not(last), y > x)
    first = ca.logic_not(ca.logic_or(last, middle))
    across = ca.cross(e_1, 1 - ca.vertcat(first, middle, last))
    n = ca.if_else(norm(n) < NO_SINE, across, n)
    return e_1, ca.cross(n / ca.fmax(norm(n), NO_SINE), e_1)


def wrap(
    x_0: SX, x_1: SX, centre: SX, R: SX, radius: float, ball: bool, side: SX | None, fixed: bool
) -> Wrapped:
    """
    Return how a path from x_0 to x_1 goes around a ball or a cylinder.

    `side`: a point on the side that it takes, from the centre and in the axes of the shape;
    numbers, where it is `fixed` to the shape.
    """
    if radius < NO_SINE:
        return Wrapped(ca.SX(0), x_0, x_1, ca.SX(0), ca.SX.zeros(3), ca.SX.zeros(3), ca.SX(1))
    a, b = R.T @ (x_0 - centre), R.T @ (x_1 - centre)
    e_1, e_2 = _plane(a, b) if ball else (ca.SX([1, 0, 0]), ca.SX([0, 1, 0]))
    x_a, y_a, x_b, y_b = ca.dot(a, e_1), ca.dot(a, e_2), ca.dot(b, e_1), ca.dot(b, e_2)
    within: SX | bool = False
    towards = None
    if side is not None:
        within = norm(side) < radius
        if fixed:
            within = bool(float(within))
        towards = ca.vertcat(ca.dot(side, e_1), ca.dot(side, e_2))
    found = _around_circle(x_a, y_a, x_b, y_b, radius, towards, within)
    apart = ca.logic_and(norm(a) >= NO_SINE, norm(b) >= NO_SINE)
    angle, last = found.angle, found.angle + found.way * found.arc
    on = radius * (ca.cos(angle) * e_1 + ca.sin(angle) * e_2)
    off = radius * (ca.cos(last) * e_1 + ca.sin(last) * e_2)
    before = found.way * (ca.cos(angle) * e_2 - ca.sin(angle) * e_1)
    behind = found.way * (ca.cos(last) * e_2 - ca.sin(last) * e_1)
    length, margin = radius * found.arc, found.margin
    if not ball:  # it climbs evenly along the axis
        first = norm(ca.vertcat(x_a - on[0], y_a - on[1]))
        rest = norm(ca.vertcat(x_b - off[0], y_b - off[1]))
        climb = (b[2] - a[2]) / ca.fmax(first + length + rest, NO_GAP)
        on = ca.vertcat(on[:2], a[2] + climb * first)
        off = ca.vertcat(off[:2], a[2] + climb * (first + length))
        slope = 1 / ca.sqrt(1 + climb * climb)
        before = slope * ca.vertcat(before[:2], climb)
        behind = slope * ca.vertcat(behind[:2], climb)
        length = length / slope
    if within is not False:
        is_within = ca.SX(within)
        first, last = on - a, b - off
        least = ca.fmin(norm(first), norm(last))
        before = ca.if_else(is_within, first / ca.fmax(norm(first), NO_GAP), before)
        behind = ca.if_else(is_within, last / ca.fmax(norm(last), NO_GAP), behind)
        counts = ca.logic_and(is_within, ca.logic_and(found.touches, apart))
        margin = ca.if_else(counts, ca.fmin(found.margin, least - SHORTEST_PART), 1)
    touches = ca.logic_and(found.touches, apart)
    on, off, before, behind = centre + R @ on, centre + R @ off, R @ before, R @ behind
    return Wrapped(touches, on, off, length, before, behind, margin)
