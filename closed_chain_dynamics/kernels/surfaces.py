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
Surfaces that a point of a link may touch: plane, sphere, cylinder, or a function C(r) given.

C is the distance from the surface, or is made one by the size of its gradient; then its gradient
is the unit normal.
"""

import ctypes

from llvmlite import ir
from numba import types
from numba.extending import intrinsic
import numpy as np

from . import records as at
from .compiling import kernel
from .loop_frames import place_loop, slide_bias, slide_row
from .rolling import clearance, reach, rolling_rows
from .sharing import FLAG, HANDLE, INDEX, NOTHING, shared_kernel
from .vectors import (
    add,
    axis,
    cross,
    inner,
    minus,
    norm,
    put,
    put_spatial,
    rotate,
    rotate_back,
    times,
    velocity_at,
)

BEND_STEP = 1e-5  # half the distance over which a given surface's normal is compared [m]


@intrinsic
def _at_address(typing, address, given, out):
    """Call a compiled `void f(const double *given, double *out)` at an address."""

    def codegen(context, builder, signature, arguments):
        data = [
            context.make_array(kind)(context, builder, array).data
            for kind, array in zip(signature.args[1:], arguments[1:])
        ]
        kind = ir.FunctionType(ir.VoidType(), [ir.DoubleType().as_pointer()] * 2)
        builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), data)
        return context.get_dummy_value()

    return types.void(address, given, out), codegen


def _call_at(address, given, out):
    """Call a function of a point, which writes its value and gradient."""
    _at_address(address, given, out)


def _call_at_plain(address, given, out):
    numbers = ctypes.POINTER(ctypes.c_double)
    function = ctypes.CFUNCTYPE(None, numbers, numbers)(int(address))
    function(*(array.ctypes.data_as(numbers) for array in (given, out)))


call_at = kernel(_call_at, _call_at_plain)


@shared_kernel(HANDLE, INDEX, FLAG, returns=NOTHING)
def surface_rows(m, k, bias):
    """
    Write the rows of a point on a surface: one along the normal, or three where it sticks.

    The surface is in frame 1: the plane z = 0, a sphere about its origin or a cylinder about its
    z axis, of a radius; C is the distance from it, so that its gradient is the unit normal. A
    function C(x, y, z) is divided by the length of its gradient, which makes it one on C = 0.
    """
    loop, frame, row = at.loops(m)[k], place_loop(m, k), at.rows(m)
    one, two = at.moving(m)[loop.body_1], at.moving(m)[loop.body_2]
    curvature = surface_normal(loop, frame)
    if loop.ball > 0.0:
        gap = surface_distance(loop, frame)
        rolling_rows(m, loop, frame, one, two, curvature, gap, bias)
        return
    if loop.mode == at.STICK:
        for i in range(3):
            own = row[loop.row + i]
            own.error = slide_row(frame, i, own.f) - loop.anchor[i]
            own.bias = slide_bias(frame, i, one, two) if bias else 0.0
        return
    own, n = row[loop.row], frame.normal
    put_spatial(own.f, n, cross(frame.p_2, n))
    own.error = surface_distance(loop, frame)
    own.bias = 0.0
    if bias:
        for i in range(3):  # the normal as it is now, held in frame 1, and then its turning
            share = inner(n, axis(frame.R_1, i))
            if share != 0.0:
                own.bias += share * slide_bias(frame, i, one, two)
        if curvature != 0.0:
            own.bias += curvature * _speed_on_surface(loop, frame, one, two)
        if loop.shape == at.FUNCTION:
            own.bias += _bend(loop, frame, one, two)


@kernel
def _in_frame_1(frame):
    """Return where frame 2 is in the axes of frame 1."""
    return rotate_back(frame.R_1, minus(frame.p_2, frame.p_1))


@kernel
def _surface_function(loop, r):
    """Return C, its unit gradient and the length of the gradient, of a surface as a function."""
    place, out = np.array([r[0], r[1], r[2]]), np.empty(4)
    call_at(loop.function, place, out)
    length = norm(out[1:])
    return out[0], times(1.0 / length, out[1:]), length


@kernel
def _bend(loop, frame, one, two):
    """
    Return what the turning of a function's gradient adds to C'' / |grad C|: v^T C_rr v / |grad C|.

    By a central difference of the gradient along the motion: good to about 1e-10 of it.
    """
    velocity, _ = sliding_velocity(frame, one, two)
    v = rotate_back(frame.R_1, velocity)
    speed = norm(v)
    if speed == 0.0:
        return 0.0
    h = BEND_STEP / speed
    r, bend = _in_frame_1(frame), 0.0
    for side in (-1.0, 1.0):
        _, n, length = _surface_function(loop, add(r, times(side * h, v)))
        bend += side * length * inner(n, v)
    return bend / (2.0 * h * _surface_function(loop, r)[2])


@kernel
def _from_centre(loop, frame):
    """Return where the point is from the centre of a sphere or from the axis of a cylinder."""
    r = _in_frame_1(frame)
    return (r[0], r[1], 0.0) if loop.shape == at.CYLINDER else r


@kernel
def surface_distance(loop, frame):
    """Return the distance C(r) of the point, ball or wheel from the surface, positive outside."""
    if loop.shape == at.PLANE:
        return _in_frame_1(frame)[2] - clearance(loop, frame)
    if loop.shape == at.FUNCTION:
        C, _, length = _surface_function(loop, _in_frame_1(frame))
        return C / length
    return norm(_from_centre(loop, frame)) - loop.radius - clearance(loop, frame)


@kernel
def surface_normal(loop, frame):
    """
    Write the unit normal in world axes, the gradient of C, and the point that touches.

    Returns the curvature 1 / |r|.
    """
    n, curvature = (0.0, 0.0, 1.0), 0.0
    if loop.shape == at.FUNCTION:
        _, n, _ = _surface_function(loop, _in_frame_1(frame))
    elif loop.shape != at.PLANE:
        r = _from_centre(loop, frame)
        curvature = 1.0 / norm(r)
        n = times(curvature, r)
    put(frame.normal, rotate(frame.R_1, n))
    put(frame.point, add(frame.p_2, reach(loop, frame)))
    return curvature


@kernel
def sliding_velocity(frame, one, two):
    """Return the velocity of the contact point along the surface, and how fast it leaves it."""
    v = minus(velocity_at(two.V, frame.point), velocity_at(one.V, frame.point))
    away = inner(v, frame.normal)
    return minus(v, times(away, frame.normal)), away


@kernel
def _speed_on_surface(loop, frame, one, two):
    """Return the square of the speed along the curved directions of the surface."""
    v, _ = sliding_velocity(frame, one, two)
    if loop.shape == at.CYLINDER:  # along its axis it is straight
        z = axis(frame.R_1, 2)
        v = minus(v, times(inner(v, z), z))
    return inner(v, v)
