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
How a taut path goes around a sphere or a cylinder, in closed form.

The path lies in a plane: through both ends and the centre of a sphere, across the axis of a
cylinder, along which it then climbs evenly. In the plane the shape is a circle of radius r about
the origin. The tangents from a point at distance d and angle phi touch it at phi +- alpha,
cos(alpha) = r / d. A path that turns by omega about the centre, to the left (s = 1) or to the
right (s = -1), touches at phi_0 + s alpha_0, leaves at phi_1 - s alpha_1, and is on the circle for
|omega| - alpha_0 - alpha_1; where that is negative, it is straight. A point on one side says how
it turns: from one end to that point, then from there to the other, each by less than half a turn,
as MuJoCo takes it since version 4. Without one it turns by less than half a turn. Of two ways that
are equally long, the difference of the angles decides, each above -pi, whatever the last digit.

Both straight parts lie along the tangents, even where an end is on the circle and its part has no
length.

A path that is to touch the circle from within comes to a point where both of its parts have the
same angle to the normal: the shortest of all ways through the circle, as light is reflected.
"""

import numpy as np

from .compiling import kernel
from .loop_joints import WHOLE_TURN
from .vectors import add, cross, inner, minus, norm, rotate, rotate_back, times

NO_SINE = 1e-15  # a length or a sine below which there is none
HALF_TURN = np.pi + 1e-13  # what is larger by rounding only is half a turn, either way
LEAST_ANGLE = -np.pi + 1e-15  # an angle below this differs by rounding from half a turn
MOST_SEARCHED = 100  # of Halley's method, which takes three to ten, or bisections
CLOSE_ANGLE = 1e-5  # a share of an angle; one more step of third order finds all its digits
LAST_STEPS = 2  # at the end, of the two angles
NO_WAY = 0.0, 0.0, 0.0


@kernel
def _nearest(x_0, y_0, x_1, y_1):
    """Return the point of a line between two that is nearest to the origin."""
    x, y = x_1 - x_0, y_1 - y_0
    square = x * x + y * y
    along = -(x * x_0 + y * y_0) / square if square > NO_SINE else 0.0
    along = min(max(along, 0.0), 1.0)
    return x_0 + along * x, y_0 + along * y


@kernel
def _angle(x, y):
    """Return the angle of a point, above -pi."""
    phi = np.arctan2(y, x)
    return phi + WHOLE_TURN if phi < LEAST_ANGLE else phi


@kernel
def _turn(phi_0, phi_1):
    """Return the turn from one angle to another, at most half a turn either way."""
    turn = phi_1 - phi_0
    if abs(turn) > HALF_TURN:
        turn -= np.copysign(WHOLE_TURN, turn)
    return turn


@kernel
def _tangents(x_0, y_0, x_1, y_1, r, side):
    """
    Return (way, angle, arc) of a path around a circle: the way is 0 where it is straight.

    `side` is a point on the side that it takes, zero where it takes the shorter way.
    """
    d_0, d_1 = np.hypot(x_0, y_0), np.hypot(x_1, y_1)
    if d_0 < r or d_1 < r or r < NO_SINE:
        return NO_WAY
    phi_0, phi_1 = _angle(x_0, y_0), _angle(x_1, y_1)
    turn = _turn(phi_0, phi_1)
    if np.hypot(side[0], side[1]) > NO_SINE:
        phi = _angle(side[0], side[1])
        turn = _turn(phi_0, phi) + _turn(phi, phi_1)
    alpha_0 = np.arctan2(np.sqrt(d_0 * d_0 - r * r), r)
    alpha_1 = np.arctan2(np.sqrt(d_1 * d_1 - r * r), r)
    arc, way = abs(turn) - alpha_0 - alpha_1, 1.0 if turn >= 0.0 else -1.0
    if arc <= 0.0:
        return NO_WAY
    return way, phi_0 + way * alpha_0, arc


@kernel
def _equal_angles(d_0, d_1, turn, r):
    """
    Return the angle from one end to the point that a path touches from within.

    At angles a and b = turn - a from the ends, both parts have the same angle to the normal where
    d_0 d_1 sin(a - b) = r (d_0 sin a - d_1 sin b): smooth even for an end that is almost on the
    circle, where Newton's method of the two angles may not arrive.
    """
    low = max(0.0, turn - np.arctan2(np.sqrt(d_1 * d_1 - r * r), r))
    high = min(turn, np.arctan2(np.sqrt(d_0 * d_0 - r * r), r))
    near_0, near_1 = d_0 / (d_0 - r), d_1 / (d_1 - r)
    a = min(max(turn * near_1 / (near_0 + near_1), low), high)
    left = MOST_SEARCHED
    while left > 0:
        left -= 1
        b = turn - a
        s_0, c_0, s_1, c_1 = d_0 * np.sin(a), d_0 * np.cos(a), d_1 * np.sin(b), d_1 * np.cos(b)
        if left >= LAST_STEPS:
            gap = s_0 * c_1 - c_0 * s_1 - r * (s_0 - s_1)
            slope = 2.0 * (c_0 * c_1 + s_0 * s_1) - r * (c_0 + c_1)
            bend = -4.0 * (s_0 * c_1 - c_0 * s_1) + r * (s_0 - s_1)
            scale = 2.0 * slope * slope - gap * bend
            moved = a - (2.0 * gap * slope / scale if scale != 0.0 else 0.0)
        else:
            gap = np.arctan2(s_0, c_0 - r) - np.arctan2(s_1, c_1 - r)
            own_0, own_1 = d_0 * d_0 - r * c_0, d_1 * d_1 - r * c_1
            moved = a - gap / (own_0 / (own_0 + r * (r - c_0)) + own_1 / (own_1 + r * (r - c_1)))
        if gap > 0.0:
            high = a
        else:
            low = a
        if not low <= moved <= high:
            moved = 0.5 * (low + high)
        if left >= LAST_STEPS and abs(moved - a) <= CLOSE_ANGLE * min(moved, turn - moved):
            left = LAST_STEPS
        a = moved
    return a


@kernel
def _reflection(x_0, y_0, x_1, y_1, r):
    """Return (way, angle, 0) of a path that touches a circle from within; 0 where straight."""
    d_0, d_1 = np.hypot(x_0, y_0), np.hypot(x_1, y_1)
    x, y = _nearest(x_0, y_0, x_1, y_1)
    if d_0 <= r or d_1 <= r or r < NO_SINE or np.hypot(x, y) <= r:
        return NO_WAY
    turn = np.arctan2(x_0 * y_1 - y_0 * x_1, x_0 * x_1 + y_0 * y_1)
    way, turn = 1.0 if turn >= 0.0 else -1.0, abs(turn)
    return way, _angle(x_0, y_0) + way * _equal_angles(d_0, d_1, turn, r), 0.0


@kernel
def _plane(a, b, ball):
    """Return two unit vectors that span the plane of a path between a and b."""
    if not ball:
        return (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
    e_1, n = times(1.0 / norm(a), a), cross(a, b)
    if norm(n) < NO_SINE:  # straight through the centre: any plane, MuJoCo's to agree with it
        i = 0
        for k in range(1, 3):
            if abs(e_1[k]) > abs(e_1[i]):
                i = k
        n = cross(e_1, (0.0 if i == 0 else 1.0, 0.0 if i == 1 else 1.0, 0.0 if i == 2 else 1.0))
    return e_1, cross(times(1.0 / norm(n), n), e_1)


@kernel
def wrap(x_0, x_1, centre, R, radius, ball, sided, side):
    """
    Return (touches, where it comes on, where it goes off, length between, directions) of a path.

    From x_0 to x_1 around a ball or a cylinder, in the world; `side`: a point on the side that it
    takes; the unit directions are those of the straight parts before and behind.
    """
    a, b = rotate_back(R, minus(x_0, centre)), rotate_back(R, minus(x_1, centre))
    if norm(a) < NO_SINE or norm(b) < NO_SINE:
        return False, x_0, x_1, 0.0, NO_WAY, NO_WAY
    e_1, e_2 = _plane(a, b, ball)
    x_a, y_a, x_b, y_b = inner(a, e_1), inner(a, e_2), inner(b, e_1), inner(b, e_2)
    s = rotate_back(R, minus(side, centre))
    if sided and norm(s) < radius:
        way, angle, arc = _reflection(x_a, y_a, x_b, y_b, radius)
    else:
        towards = (inner(s, e_1), inner(s, e_2)) if sided else (0.0, 0.0)
        way, angle, arc = _tangents(x_a, y_a, x_b, y_b, radius, towards)
    if way == 0.0:
        return False, x_0, x_1, 0.0, NO_WAY, NO_WAY
    last = angle + way * arc
    on = add(times(radius * np.cos(angle), e_1), times(radius * np.sin(angle), e_2))
    off = add(times(radius * np.cos(last), e_1), times(radius * np.sin(last), e_2))
    before = add(times(-way * np.sin(angle), e_1), times(way * np.cos(angle), e_2))
    behind = add(times(-way * np.sin(last), e_1), times(way * np.cos(last), e_2))
    length, climb = radius * arc, 0.0
    if not ball:  # it climbs evenly along the axis
        first = np.hypot(x_a - on[0], y_a - on[1])
        climb = (b[2] - a[2]) / (first + length + np.hypot(x_b - off[0], y_b - off[1]))
        on = (on[0], on[1], a[2] + climb * first)
        off = (off[0], off[1], a[2] + climb * (first + length))
        slope = 1.0 / np.sqrt(1.0 + climb * climb)
        before = times(slope, (before[0], before[1], climb))
        behind = times(slope, (behind[0], behind[1], climb))
        length = length / slope
    if arc == 0.0:  # it touches from within
        before, behind = minus(on, a), minus(b, off)
        before = times(1.0 / max(norm(before), NO_SINE), before)
        behind = times(1.0 / max(norm(behind), NO_SINE), behind)
    on, off = add(centre, rotate(R, on)), add(centre, rotate(R, off))
    return True, on, off, length, rotate(R, before), rotate(R, behind)
