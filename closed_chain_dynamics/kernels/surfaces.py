"""
Surfaces that a point of a link may touch: plane, sphere, cylinder, or a function C(r) given.

C is the distance from the surface, or is made one by the size of its gradient; then its gradient
is the unit normal.
"""

import numpy as np

from .layout import (
    ANCHOR,
    BODY_W,
    CONTACT_NORMAL,
    CYLINDER,
    FUNCTION,
    LOOP_BODY_1,
    LOOP_BODY_2,
    LOOP_F,
    LOOP_FUNCTION,
    LOOP_I,
    LOOP_MODE,
    LOOP_P_1,
    LOOP_P_2,
    LOOP_ROW,
    LOOP_SHAPE,
    PLANE,
    RADIUS,
    ROW_BIAS,
    ROW_ERROR,
    ROW_W,
    SPHERE,
    STICK,
    V,
    call_at,
    kernel,
    table,
)
from .loop_frames import place_loop, slide_bias, slide_row

BEND_STEP = 1e-5  # half the distance over which a given surface's normal is compared [m]


@kernel
def surface_rows(mi, mf, w, k, bias):
    """
    Write the rows of a point on a surface: one along the normal, or three where it sticks.

    The surface stands in frame 1: the plane z = 0, a sphere about its origin or a cylinder about
    its z axis, of a radius; C is the distance from it, so that its gradient is the unit normal. A
    function C(x, y, z) is divided by the length of its gradient, which makes it one on C = 0.
    """
    loop, law, x = table(mi, mi, LOOP_I)[k], table(mf, mi, LOOP_F)[k], place_loop(mi, mf, w, k)
    rows, body_w = table(w, mi, ROW_W), table(w, mi, BODY_W)
    one, two = body_w[loop[LOOP_BODY_1]], body_w[loop[LOOP_BODY_2]]
    curvature = surface_normal(loop, law, x)
    r = loop[LOOP_ROW]
    if loop[LOOP_MODE] == STICK:
        for axis in range(3):
            slide_row(x, axis, rows[r + axis])
            rows[r + axis, ROW_ERROR] -= law[ANCHOR + axis]
            if bias:
                rows[r + axis, ROW_BIAS] = slide_bias(x, axis, one, two)
        return
    row = rows[r]
    nx, ny, nz = x[CONTACT_NORMAL], x[CONTACT_NORMAL + 1], x[CONTACT_NORMAL + 2]
    px, py, pz = x[LOOP_P_2], x[LOOP_P_2 + 1], x[LOOP_P_2 + 2]
    row[0], row[1], row[2] = nx, ny, nz
    row[3], row[4], row[5] = py * nz - pz * ny, pz * nx - px * nz, px * ny - py * nx
    row[ROW_ERROR] = surface_distance(loop, law, x)
    if bias:
        row[ROW_BIAS] = 0.0
        for axis in range(3):  # the normal as it is now, held in frame 1, and then its turning
            share = nx * x[axis] + ny * x[3 + axis] + nz * x[6 + axis]
            if share != 0.0:
                row[ROW_BIAS] += share * slide_bias(x, axis, one, two)
        if curvature != 0.0:
            row[ROW_BIAS] += curvature * _speed_on_surface(loop, x, one, two)
        if loop[LOOP_SHAPE] == FUNCTION:
            row[ROW_BIAS] += _bend(loop, x, one, two)


@kernel
def _in_frame_1(x, axis):
    """Return where frame 2 stands along an axis of frame 1."""
    return (
        x[axis] * (x[LOOP_P_2] - x[LOOP_P_1])
        + x[3 + axis] * (x[LOOP_P_2 + 1] - x[LOOP_P_1 + 1])
        + x[6 + axis] * (x[LOOP_P_2 + 2] - x[LOOP_P_1 + 2])
    )


@kernel
def surface_function(loop, a, b, c):
    """Return C, its unit gradient and the length of the gradient, of a surface as a function."""
    place, out = np.array([a, b, c]), np.empty(4)
    call_at(loop[LOOP_FUNCTION], place, out)
    length = np.sqrt(out[1] * out[1] + out[2] * out[2] + out[3] * out[3])
    return out[0], out[1] / length, out[2] / length, out[3] / length, length


@kernel
def _bend(loop, x, one, two):
    """
    Return what the turning of a function's gradient adds to C'' / |grad C|: v^T C_rr v / |grad C|.

    By a central difference of the gradient along the motion: good to about 1e-10 of it.
    """
    vx, vy, vz, _ = sliding_velocity(x, one, two)
    u, v, w = (
        vx * x[0] + vy * x[3] + vz * x[6],
        vx * x[1] + vy * x[4] + vz * x[7],
        vx * x[2] + vy * x[5] + vz * x[8],
    )
    speed = np.sqrt(u * u + v * v + w * w)
    if speed == 0.0:
        return 0.0
    h = BEND_STEP / speed
    a, b, c = _in_frame_1(x, 0), _in_frame_1(x, 1), _in_frame_1(x, 2)
    bend = 0.0
    for side in (-1.0, 1.0):
        _, na, nb, nc, length = surface_function(
            loop, a + side * h * u, b + side * h * v, c + side * h * w
        )
        bend += side * length * (na * u + nb * v + nc * w)
    return bend / (2.0 * h * surface_function(loop, a, b, c)[4])


@kernel
def surface_distance(loop, law, x):
    """Return the distance C(r) of the point from the surface, positive outside."""
    a, b, c = _in_frame_1(x, 0), _in_frame_1(x, 1), _in_frame_1(x, 2)
    if loop[LOOP_SHAPE] == PLANE:
        return c
    if loop[LOOP_SHAPE] == FUNCTION:
        value, _, _, _, length = surface_function(loop, a, b, c)
        return value / length
    if loop[LOOP_SHAPE] == CYLINDER:
        c = 0.0
    return np.sqrt(a * a + b * b + c * c) - law[RADIUS]


@kernel
def surface_normal(loop, law, x):
    """Write the unit normal in world axes, the gradient of C; return the curvature 1 / |r|."""
    a, b, c, curvature = 0.0, 0.0, 1.0, 0.0
    if loop[LOOP_SHAPE] == FUNCTION:
        _, a, b, c, _ = surface_function(
            loop, _in_frame_1(x, 0), _in_frame_1(x, 1), _in_frame_1(x, 2)
        )
    elif loop[LOOP_SHAPE] != PLANE:
        a, b = _in_frame_1(x, 0), _in_frame_1(x, 1)
        c = _in_frame_1(x, 2) if loop[LOOP_SHAPE] == SPHERE else 0.0
        length = np.sqrt(a * a + b * b + c * c)
        curvature = 1.0 / length
        a, b, c = a / length, b / length, c / length
    for i in range(3):
        x[CONTACT_NORMAL + i] = a * x[3 * i] + b * x[3 * i + 1] + c * x[3 * i + 2]
    return curvature


@kernel
def sliding_velocity(x, one, two):
    """Return the velocity of the contact point against the surface, along it (world axes)."""
    px, py, pz = x[LOOP_P_2], x[LOOP_P_2 + 1], x[LOOP_P_2 + 2]
    dx, dy, dz = two[V + 3] - one[V + 3], two[V + 4] - one[V + 4], two[V + 5] - one[V + 5]
    vx = two[V] - one[V] + dy * pz - dz * py
    vy = two[V + 1] - one[V + 1] + dz * px - dx * pz
    vz = two[V + 2] - one[V + 2] + dx * py - dy * px
    nx, ny, nz = x[CONTACT_NORMAL], x[CONTACT_NORMAL + 1], x[CONTACT_NORMAL + 2]
    away = vx * nx + vy * ny + vz * nz
    return vx - away * nx, vy - away * ny, vz - away * nz, away


@kernel
def _speed_on_surface(loop, x, one, two):
    """Return the square of the speed along the curved directions of the surface."""
    vx, vy, vz, _ = sliding_velocity(x, one, two)
    if loop[LOOP_SHAPE] == CYLINDER:  # along its axis it is straight
        along = vx * x[2] + vy * x[5] + vz * x[8]
        vx, vy, vz = vx - along * x[2], vy - along * x[5], vz - along * x[8]
    return vx * vx + vy * vy + vz * vz
