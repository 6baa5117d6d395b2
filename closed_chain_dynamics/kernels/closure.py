"""
How far loops are from closed: errors that grow with the distance, however large it is.

The rows of `loops.py` are products of axes, which vanish at half a turn too and flatten at a
quarter: right for dynamics, where loops are closed, and a trap for closing them. Here turning is
the angle itself, and a row is the relative angular velocity along an axis of frame 1. Then J^T
error is the exact gradient of half the squared error at any angle, and no flipped pose looks
closed. Near the closed pose both kinds of rows agree to second order.
"""

import numpy as np

from .kinematics import check_state, motion, placements
from .layout import (
    BODY_W,
    CLUSTER_COUPLING,
    CLUSTER_COUPLINGS,
    CLUSTER_DOF,
    CLUSTER_DOFS,
    CLUSTER_I,
    CLUSTER_LOOP,
    CLUSTER_LOOPS,
    CLUSTER_N_COUPLINGS,
    CLUSTER_N_DOFS,
    CLUSTER_N_LOOPS,
    DOF_F,
    DOF_I,
    DOF_LOCAL,
    LENGTH,
    LOOP_BODY_1,
    LOOP_BODY_2,
    LOOP_CYLINDRICAL,
    LOOP_DOF,
    LOOP_DOF_W,
    LOOP_FIXED,
    LOOP_I,
    LOOP_N_DOFS,
    LOOP_N_ROWS,
    LOOP_PLANAR,
    LOOP_PRISMATIC,
    LOOP_R_1,
    LOOP_REVOLUTE,
    LOOP_ROW,
    LOOP_SURFACE,
    LOOP_TYPE,
    LOOP_UNIVERSAL,
    LOOP_W,
    N_LOOPS,
    OK,
    ROW_ERROR,
    ROW_W,
    SCALE,
    VECTORS,
    WORLD_F,
    ZERO,
    A,
    V,
    kernel,
    table,
)
from .loop_frames import axis_product, place_loop, slide_bias, slide_row
from .loops import (
    add_loop_to_jacobian,
    coupling_row,
    loop_coordinates,
    rotation_vector,
    slides,
    turn_coordinate,
)
from .surfaces import surface_rows

PARALLEL = 1e-12  # sine below which two axes give no direction to turn about


@kernel
def closing_rows(mi, mf, w, k):
    """Write covector and error of every row of a loop: distances, then angles."""
    if table(mi, mi, LOOP_I)[k, LOOP_TYPE] == LOOP_SURFACE:
        surface_rows(mi, mf, w, k, False)
        return
    x, rows = place_loop(mi, mf, w, k), table(w, mi, ROW_W)
    kind, r = table(mi, mi, LOOP_I)[k, LOOP_TYPE], table(mi, mi, LOOP_I)[k, LOOP_ROW]
    first, last = slides(kind)
    for axis in range(first, last):
        slide_row(x, axis, rows[r])
        r += 1
    if kind == LOOP_FIXED or kind == LOOP_PRISMATIC:
        turn = np.empty(3)
        rotation_vector(x, turn)
        for i in range(3):
            turn_coordinate(x, LOOP_R_1 + i, rows[r + i])
            rows[r + i, ROW_ERROR] = turn[i]
        return
    # z_2 in the axes of frame 1
    px, py, pz = axis_product(x, 0, 2), axis_product(x, 1, 2), axis_product(x, 2, 2)
    sine = np.hypot(px, py)
    if kind == LOOP_REVOLUTE or kind == LOOP_CYLINDRICAL or kind == LOOP_PLANAR:
        for i in range(2):
            turn_coordinate(x, LOOP_R_1 + i, rows[r + i])
        factor = np.arctan2(sine, pz) / sine if sine > PARALLEL else 1.0
        rows[r, ROW_ERROR], rows[r + 1, ROW_ERROR] = -factor * py, factor * px
        if sine <= PARALLEL and pz < 0.0:  # half a turn away, in any direction
            rows[r, ROW_ERROR] = np.pi
    elif kind == LOOP_UNIVERSAL:  # a quarter turn minus the angle between the axes
        c, s = (py / sine, -px / sine) if sine > PARALLEL else (1.0, 0.0)
        row = rows[r]
        for i in range(3):
            row[i], row[3 + i] = 0.0, c * x[LOOP_R_1 + 3 * i] + s * x[LOOP_R_1 + 3 * i + 1]
        row[ROW_ERROR] = np.arctan2(pz, sine)


@kernel
def compute_closure(mi, mf, w, c, q, J, error):
    """
    Write errors of a cluster (rows,) and their derivatives (rows, velocities), free of units.

    Rows stand loop by loop, then couplings; columns in the order of the cluster's velocities.
    """
    status = check_state(mi, q, q, q)
    if status != OK:
        return status
    placements(mi, mf, w, q)
    row, loop_i, rows = table(mi, mi, CLUSTER_I)[c], table(mi, mi, LOOP_I), table(w, mi, ROW_W)
    local, unit = table(mi, mi, DOF_I)[:, DOF_LOCAL], 1.0 / table(mf, mi, WORLD_F)[0, LENGTH]
    J[:, :] = 0.0
    i = 0
    for n in range(row[CLUSTER_LOOP], row[CLUSTER_LOOP] + row[CLUSTER_N_LOOPS]):
        k = table(mi, mi, CLUSTER_LOOPS)[0, n]
        closing_rows(mi, mf, w, k)
        first, last = slides(loop_i[k, LOOP_TYPE])
        for r in range(loop_i[k, LOOP_N_ROWS]):
            g = rows[loop_i[k, LOOP_ROW] + r]
            add_loop_to_jacobian(mi, w, k, i, g, J, local)
            factor = unit if r < last - first else 1.0
            error[i] = factor * g[ROW_ERROR]
            for j in range(row[CLUSTER_N_DOFS]):
                J[i, j] *= factor
            i += 1
    for n in range(row[CLUSTER_COUPLING], row[CLUSTER_COUPLING] + row[CLUSTER_N_COUPLINGS]):
        k = table(mi, mi, CLUSTER_COUPLINGS)[0, n]
        error[i], _ = coupling_row(mi, mf, k, q, q, J, i, local, False)
        i += 1
    dofs, dof_f = table(mi, mi, CLUSTER_DOFS)[0], table(mf, mi, DOF_F)
    for j in range(row[CLUSTER_N_DOFS]):
        for i in range(J.shape[0]):
            J[i, j] *= dof_f[dofs[row[CLUSTER_DOF] + j], SCALE]
    return OK


@kernel
def compute_gaps(mi, mf, w, q, gaps):
    """Write how far every loop is open, active or not, (loops, 2) [m, rad]."""
    status = check_state(mi, q, q, q)
    if status != OK:
        return status
    placements(mi, mf, w, q)
    loop_i, rows = table(mi, mi, LOOP_I), table(w, mi, ROW_W)
    for k in range(mi[N_LOOPS]):
        closing_rows(mi, mf, w, k)
        first, last = slides(loop_i[k, LOOP_TYPE])
        gaps[k, 0] = gaps[k, 1] = 0.0
        for r in range(loop_i[k, LOOP_N_ROWS]):
            error, place = rows[loop_i[k, LOOP_ROW] + r, ROW_ERROR], 0 if r < last - first else 1
            gaps[k, place] = np.hypot(gaps[k, place], error)
    return OK


@kernel
def compute_loop_bias(mi, mf, w, q, v, bias):
    """Write L' theta_O' of every coordinate of every loop joint, (loop coordinates,)."""
    status = check_state(mi, q, v, v)
    if status != OK:
        return status
    placements(mi, mf, w, q)
    motion(mi, mf, w, v, table(w, mi, VECTORS)[ZERO], 0.0)
    loop_i, rows, body_w = table(mi, mi, LOOP_I), table(w, mi, LOOP_DOF_W), table(w, mi, BODY_W)
    for k in range(mi[N_LOOPS]):
        loop_coordinates(mi, mf, w, k)
        loop, x = loop_i[k], table(w, mi, LOOP_W)[k]
        one, two = body_w[loop[LOOP_BODY_1]], body_w[loop[LOOP_BODY_2]]
        kind, first = loop[LOOP_TYPE], loop[LOOP_DOF]
        for d in range(first, first + loop[LOOP_N_DOFS]):
            n = rows[d]
            if n[0] != 0.0 or n[1] != 0.0 or n[2] != 0.0:
                along = 2 if kind == LOOP_PRISMATIC or kind == LOOP_CYLINDRICAL else d - first
                bias[d] = slide_bias(x, along, one, two)
                continue
            # an axis n that turns with one of the two frames: (o x n) (o_2 - o_1) + n (o_2 - o_1)'
            in_one = (
                kind == LOOP_REVOLUTE
                or kind == LOOP_CYLINDRICAL
                or kind == LOOP_PLANAR
                or (kind == LOOP_UNIVERSAL and d == first)
            )
            o = one[V + 3 : V + 6] if in_one else two[V + 3 : V + 6]
            bias[d] = 0.0
            for i in range(3, 6):
                j, m = 3 + (i + 1) % 3, 3 + (i + 2) % 3
                change = o[j - 3] * n[m] - o[m - 3] * n[j]
                bias[d] += change * (two[V + i] - one[V + i]) + n[i] * (two[A + i] - one[A + i])
    return OK
