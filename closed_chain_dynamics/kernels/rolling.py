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
Contacts of a ball or a wheel: the point that touches moves over the body.

A ball of radius r about the origin of frame 2 touches at p = p_2 - r n; the rim of a wheel, whose
axis is z of frame 2, at its point nearest to the plane. The rows are those of the material point
that is at p now: sliding it may move along the surface, sticking it may not, which is rolling. Its
velocity w against the surface has the derivative w' below, in which p moves as geometry says.
Rolling is not integrable: a sticking row has no position, and the error is the gap alone.
"""

from . import records as at
from .compiling import kernel
from .kinematics import NO_VECTOR
from .vectors import add, angular, axis, cross, inner, minus, norm, put_spatial, times, velocity_at

LYING = 1e-12  # sine of the angle between normal and axis at which a wheel lies flat


@kernel
def _down_the_rim(frame):
    """Return the normal without its part along the wheel's axis, and its length."""
    n, c = frame.normal, axis(frame.R_2, 2)
    along = minus(n, times(inner(n, c), c))
    return along, max(norm(along), LYING)


@kernel
def reach(loop, frame):
    """Return the way from the centre of a ball or wheel to the point that touches."""
    if loop.ball == 0.0:
        return NO_VECTOR
    if loop.wheel:
        along, size = _down_the_rim(frame)
        return times(-loop.ball / size, along)
    return times(-loop.ball, frame.normal)


@kernel
def clearance(loop, frame):
    """Return how far the surface is from the centre of a ball or wheel that touches it."""
    if loop.ball > 0.0 and loop.wheel:
        c, n = axis(frame.R_2, 2), axis(frame.R_1, 2)
        return loop.ball * norm(minus(n, times(inner(n, c), c)))
    return loop.ball


@kernel
def _normal_rate(loop, frame, one, two, curvature):
    """Return n' in the world: it turns with body 1, and over a curved surface."""
    n = frame.normal
    rate = cross(angular(one.V), n)
    if curvature != 0.0:
        v = minus(velocity_at(two.V, frame.p_2), velocity_at(one.V, frame.p_2))
        v = minus(v, times(inner(v, n), n))
        if loop.shape == at.CYLINDER:
            z = axis(frame.R_1, 2)
            v = minus(v, times(inner(v, z), z))
        rate = add(rate, times(curvature, v))
    return rate


@kernel
def _reach_rate(loop, frame, two, n_1):
    """Return the rate of `reach`."""
    if not loop.wheel:
        return times(-loop.ball, n_1)
    n, c = frame.normal, axis(frame.R_2, 2)
    c_1 = cross(angular(two.V), c)
    along, size = _down_the_rim(frame)
    turn = inner(n_1, c) + inner(n, c_1)
    along_1 = minus(minus(n_1, times(turn, c)), times(inner(n, c), c_1))
    unit = times(1.0 / size, along)
    return times(-loop.ball / size, minus(along_1, times(inner(unit, along_1), unit)))


@kernel
def rolling_rows(m, loop, frame, one, two, curvature, gap, bias):
    """Write the rows of a ball or wheel: one along the normal, or three where it rolls."""
    row, n, p = at.rows(m), frame.normal, frame.point
    w = w_1 = n_1 = NO_VECTOR
    if bias:
        n_1 = _normal_rate(loop, frame, one, two, curvature)
        moves = add(velocity_at(two.V, frame.p_2), _reach_rate(loop, frame, two, n_1))
        w = minus(velocity_at(two.V, p), velocity_at(one.V, p))
        turning = minus(angular(two.V), angular(one.V))
        w_1 = add(minus(velocity_at(two.A, p), velocity_at(one.A, p)), cross(turning, moves))
    if loop.mode != at.STICK:
        own = row[loop.row]
        put_spatial(own.f, times(1.0, n), cross(p, n))
        own.error, own.bias = gap, inner(n, w_1) + inner(n_1, w)
        return
    for i in range(3):
        own, a = row[loop.row + i], axis(frame.R_1, i)
        put_spatial(own.f, a, cross(p, a))
        own.error = gap * inner(a, n)
        own.bias = inner(a, w_1) + inner(cross(angular(one.V), a), w)
