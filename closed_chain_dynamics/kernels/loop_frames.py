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

"""Where the two frames of a loop joint are, and distances between them with derivatives."""

from . import records as at
from .compiling import kernel
from .vectors import (
    acceleration_at,
    add,
    angular,
    axis,
    cross,
    inner,
    minus,
    put,
    put_axis,
    put_spatial,
    rotate,
    times,
    velocity_at,
)


@kernel
def place_loop(m, k):
    """Write where both frames of a loop are, and return that record."""
    loop, frame, move = at.loops(m)[k], at.frames(m)[k], at.moving(m)
    _place(move[loop.body_1], loop.R_1, loop.p_1, frame.R_1, frame.p_1)
    _place(move[loop.body_2], loop.R_2, loop.p_2, frame.R_2, frame.p_2)
    return frame


@kernel
def _place(me, R, p, R_world, p_world):
    """Write where a frame on a body is in the world."""
    for i in range(3):
        put_axis(R_world, i, rotate(me.R, axis(R, i)))
    put(p_world, add(me.p, rotate(me.R, p)))


@kernel
def slide_row(frame, i, f):
    """Write the covector of the distance of frame 2 along axis i of frame 1; return it."""
    a = axis(frame.R_1, i)
    put_spatial(f, a, cross(frame.p_2, a))
    return inner(a, minus(frame.p_2, frame.p_1))


@kernel
def slide_bias(frame, i, one, two):
    """Return (a r)'' of a distance along axis i of frame 1; joints do not accelerate."""
    omega = angular(one.V)
    a = axis(frame.R_1, i)
    a_1 = cross(omega, a)  # a'
    a_2 = add(cross(angular(one.A), a), cross(omega, a_1))  # a''
    r = minus(frame.p_2, frame.p_1)
    r_1 = minus(velocity_at(two.V, frame.p_2), velocity_at(one.V, frame.p_1))
    r_2 = minus(acceleration_at(two.V, two.A, frame.p_2), acceleration_at(one.V, one.A, frame.p_1))
    return inner(a_2, r) + 2.0 * inner(a_1, r_1) + inner(a, r_2)


@kernel
def relative_bias(p, one, two):
    """Return the acceleration of a point of body 2 seen from body 1; joints do not accelerate."""
    # against the point of body 1 that is there now: then the distance of the origins drops out
    velocity = minus(velocity_at(two.V, p), velocity_at(one.V, p))
    acceleration = minus(acceleration_at(two.V, two.A, p), acceleration_at(one.V, one.A, p))
    return minus(acceleration, times(2.0, cross(angular(one.V), velocity)))


@kernel
def axis_product(frame, i, j):
    """Return the product of axis i of frame 1 and axis j of frame 2."""
    return inner(axis(frame.R_1, i), axis(frame.R_2, j))
