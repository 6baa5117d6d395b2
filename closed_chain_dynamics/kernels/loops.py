"""
Constraints of loops and couplings: position error, rows of J_C, and the bias J_C' theta'.

A loop joint is two frames that the joint lets move against each other: frame 1 on the parent,
frame 2 on the child, z along the joint axis. An error is either a distance along an axis of
frame 1, or a product of one axis of each frame that vanishes when they are perpendicular. Both
have exact first and second derivatives in closed form, on and off the closed pose. The first
derivative of an error is its row: a spatial covector applied to V_2 - V_1.

Paper 2 writes six rows a loop and gives the virtual joint columns of its own; here those columns
are eliminated by construction, which leaves the rows of the table in the documentation.
"""

import numpy as np

from .layout import (
    BODY_I,
    BODY_W,
    COUPLING_F,
    COUPLING_I,
    COUPLING_N_TERMS,
    COUPLING_TERM,
    DOF_I,
    DOF_LOCAL,
    DOF_W,
    IV,
    LOOP_ACTIVE,
    LOOP_BODY_1,
    LOOP_BODY_2,
    LOOP_CYLINDRICAL,
    LOOP_DOF,
    LOOP_DOF_POSITION,
    LOOP_DOF_RATE,
    LOOP_DOF_W,
    LOOP_F,
    LOOP_FIXED,
    LOOP_FREE,
    LOOP_I,
    LOOP_N_DOFS,
    LOOP_N_ROWS,
    LOOP_P_1,
    LOOP_P_2,
    LOOP_PLANAR,
    LOOP_PRISMATIC,
    LOOP_R_1,
    LOOP_R_2,
    LOOP_REVOLUTE,
    LOOP_ROW,
    LOOP_SPHERICAL,
    LOOP_SURFACE,
    LOOP_TOP,
    LOOP_TYPE,
    LOOP_UNIVERSAL,
    LOOP_W,
    N_DOF,
    N_LOOPS,
    PARENT,
    ROW_BIAS,
    ROW_ERROR,
    ROW_W,
    TERM_DOF,
    TERM_F,
    TERM_I,
    TERM_IQ,
    A,
    P,
    V,
    kernel,
    table,
)
from .loop_frames import axis_product, place_loop, relative_bias, slide_row
from .structure import common_ancestor
from .surfaces import surface_rows

STRAIGHT = 1e-12  # sine below which a turn has no direction of its own


@kernel
def _product_row(x, one, two, factor, row):
    """Add covector and error of factor times the product of an axis of each frame."""
    bx, by, bz = x[one], x[3 + one], x[6 + one]
    cx, cy, cz = x[LOOP_R_2 + two], x[LOOP_R_2 + 3 + two], x[LOOP_R_2 + 6 + two]
    row[3] += factor * (cy * bz - cz * by)
    row[4] += factor * (cz * bx - cx * bz)
    row[5] += factor * (cx * by - cy * bx)
    row[ROW_ERROR] += factor * (bx * cx + by * cy + bz * cz)


@kernel
def _product_bias(x, k, m, factor, one, two, row):
    """Add the second derivative, at zero joint acceleration, of a product of two axes."""
    bx, by, bz = x[k], x[3 + k], x[6 + k]
    cx, cy, cz = x[LOOP_R_2 + m], x[LOOP_R_2 + 3 + m], x[LOOP_R_2 + 6 + m]
    ox, oy, oz = one[V + 3], one[V + 4], one[V + 5]
    px, py, pz = two[V + 3], two[V + 4], two[V + 5]
    dx, dy, dz = oy * bz - oz * by, oz * bx - ox * bz, ox * by - oy * bx  # b'
    ex, ey, ez = py * cz - pz * cy, pz * cx - px * cz, px * cy - py * cx  # c'
    row[ROW_BIAS] += factor * (
        (two[A + 3] - one[A + 3]) * (cy * bz - cz * by)
        + (two[A + 4] - one[A + 4]) * (cz * bx - cx * bz)
        + (two[A + 5] - one[A + 5]) * (cx * by - cy * bx)
        + (py * ez - pz * ey) * bx
        + (pz * ex - px * ez) * by
        + (px * ey - py * ex) * bz
        + (oy * dz - oz * dy) * cx
        + (oz * dx - ox * dz) * cy
        + (ox * dy - oy * dx) * cz
        + 2.0 * (dx * ex + dy * ey + dz * ez)
    )


@kernel
def slides(kind):
    """Return first and last plus one of the axes along which a loop type lets nothing slide."""
    if kind == LOOP_PRISMATIC or kind == LOOP_CYLINDRICAL:
        return 0, 2
    if kind == LOOP_PLANAR or kind == LOOP_SURFACE:
        return 2, 3
    return (3, 3) if kind == LOOP_FREE else (0, 3)


@kernel
def linear_rows(loop):
    """Return how many of a loop's rows are distances."""
    if loop[LOOP_TYPE] == LOOP_SURFACE:
        return loop[LOOP_N_ROWS]
    first, last = slides(loop[LOOP_TYPE])
    return last - first


@kernel
def loop_rows(mi, mf, w, k, bias):
    """
    Write covector, error and (if asked) bias of every row of one loop, in LoopType's order.

    Turning is written as half the differences of products: their gradient is the plain relative
    angular velocity at the closed pose. A pose turned by half a turn makes them vanish too;
    `loop_is_flipped` tells it apart.
    """
    loop = table(mi, mi, LOOP_I)[k]
    if loop[LOOP_TYPE] == LOOP_SURFACE:
        surface_rows(mi, mf, w, k, bias)
        return
    x = place_loop(mi, mf, w, k)
    rows, body_w = table(w, mi, ROW_W), table(w, mi, BODY_W)
    one, two = body_w[loop[LOOP_BODY_1]], body_w[loop[LOOP_BODY_2]]
    kind, r = loop[LOOP_TYPE], loop[LOOP_ROW]
    first, last = slides(kind)
    if bias and first < last:
        bx, by, bz = relative_bias(x[LOOP_P_2], x[LOOP_P_2 + 1], x[LOOP_P_2 + 2], one, two)
    for axis in range(first, last):
        slide_row(x, axis, rows[r])
        if bias:
            rows[r, ROW_BIAS] = x[axis] * bx + x[3 + axis] * by + x[6 + axis] * bz
        r += 1
    if kind == LOOP_FIXED or kind == LOOP_PRISMATIC:
        for i in range(3):  # half of z_1 y_2 - y_1 z_2, and so on round
            j, m = (i + 1) % 3, (i + 2) % 3
            _clear(rows[r])
            _product_row(x, m, j, 0.5, rows[r])
            _product_row(x, j, m, -0.5, rows[r])
            if bias:
                _product_bias(x, m, j, 0.5, one, two, rows[r])
                _product_bias(x, j, m, -0.5, one, two, rows[r])
            r += 1
    elif kind == LOOP_REVOLUTE or kind == LOOP_CYLINDRICAL or kind == LOOP_PLANAR:
        for i in range(2):  # -y_1 z_2 turns about x, x_1 z_2 about y
            axis, factor = (1, -1.0) if i == 0 else (0, 1.0)
            _clear(rows[r])
            _product_row(x, axis, 2, factor, rows[r])
            if bias:
                _product_bias(x, axis, 2, factor, one, two, rows[r])
            r += 1
    elif kind == LOOP_UNIVERSAL:
        _clear(rows[r])
        _product_row(x, 2, 2, 1.0, rows[r])
        if bias:
            _product_bias(x, 2, 2, 1.0, one, two, rows[r])


@kernel
def _clear(row):
    for i in range(row.size):
        row[i] = 0.0


@kernel
def loop_is_flipped(mi, w, k):
    """Return whether a loop's turning errors vanish at half a turn instead of at none."""
    kind, x = table(mi, mi, LOOP_I)[k, LOOP_TYPE], table(w, mi, LOOP_W)[k]
    if kind == LOOP_SPHERICAL or kind >= LOOP_SURFACE or kind == LOOP_UNIVERSAL:
        return False
    products = np.zeros(3)
    for axis in range(3):
        for i in range(3):
            products[axis] += x[3 * i + axis] * x[LOOP_R_2 + 3 * i + axis]
    if kind == LOOP_FIXED or kind == LOOP_PRISMATIC:
        return products[0] + products[1] + products[2] < 1.0  # 1 + 2 cos(turn)
    return products[2] < 0.0


@kernel
def add_loop_to_jacobian(mi, w, k, row, covector, J, at_dof):
    """Add a covector applied to V_2 - V_1 to a row of J; velocity j has column at_dof[j]."""
    body_i, dof_w = table(mi, mi, BODY_I), table(w, mi, DOF_W)
    loop = table(mi, mi, LOOP_I)[k]
    top = common_ancestor(body_i, loop[LOOP_BODY_1], loop[LOOP_BODY_2])
    f0, f1, f2, f3, f4, f5 = (
        covector[0],
        covector[1],
        covector[2],
        covector[3],
        covector[4],
        covector[5],
    )
    for end in range(2):
        sign = 2.0 * end - 1.0
        b = loop[LOOP_BODY_1 + end]
        while b != top:
            for j in range(body_i[b, IV], body_i[b, IV] + body_i[b, N_DOF]):
                s = dof_w[j]
                J[row, at_dof[j]] += sign * (
                    f0 * s[0] + f1 * s[1] + f2 * s[2] + f3 * s[3] + f4 * s[4] + f5 * s[5]
                )
            b = body_i[b, PARENT]


@kernel
def add_loop_to_rows(mi, w, k, unit, J, i, n, bias):
    """Write all rows of a loop to J from row i on, the path from end to end walked only once."""
    loop, rows = table(mi, mi, LOOP_I)[k], table(w, mi, ROW_W)
    body_i, dof_i, dof_w = table(mi, mi, BODY_I), table(mi, mi, DOF_I), table(w, mi, DOF_W)
    top, first, count, n_linear = (
        loop[LOOP_TOP],
        loop[LOOP_ROW],
        loop[LOOP_N_ROWS],
        linear_rows(loop),
    )
    for r in range(count):
        g = rows[first + r]
        J[i + r, n] = (g[ROW_BIAS] if bias else g[ROW_ERROR]) * (unit if r < n_linear else 1.0)
    for end in range(2):
        sign = 2.0 * end - 1.0
        b = loop[LOOP_BODY_1 + end]
        while b != top:
            for j in range(body_i[b, IV], body_i[b, IV] + body_i[b, N_DOF]):
                s, column = dof_w[j], np.uint64(dof_i[j, DOF_LOCAL])
                s0, s1, s2, s3, s4, s5 = s[0], s[1], s[2], s[3], s[4], s[5]
                for r in range(np.uint64(count)):
                    f = rows[np.uint64(first) + r]
                    scale = sign * unit if r < n_linear else sign
                    J[np.uint64(i) + r, column] = scale * (
                        f[0] * s0 + f[1] * s1 + f[2] * s2 + f[3] * s3 + f[4] * s4 + f[5] * s5
                    )
            b = body_i[b, PARENT]


@kernel
def point_rows(mi, mf, w, k, unit, J, i, n, bias):
    """
    Write the three rows of a spherical loop to J from row i on, along the axes of the world.

    Rows of J_C may be turned together: H does not change. In world axes a column is just the
    velocity that a coordinate gives the point.
    """
    loop, frame, rows = table(mi, mi, LOOP_I)[k], table(mf, mi, LOOP_F)[k], table(w, mi, ROW_W)
    body_i, dof_i, dof_w = table(mi, mi, BODY_I), table(mi, mi, DOF_I), table(w, mi, DOF_W)
    one, two = table(w, mi, BODY_W)[loop[LOOP_BODY_1]], table(w, mi, BODY_W)[loop[LOOP_BODY_2]]
    gx, gy, gz = _point(one, frame, LOOP_P_1)
    x, y, z = _point(two, frame, LOOP_P_2)
    r, top = loop[LOOP_ROW], loop[LOOP_TOP]
    gx, gy, gz = x - gx, y - gy, z - gz
    rows[r, ROW_ERROR], rows[r + 1, ROW_ERROR], rows[r + 2, ROW_ERROR] = gx, gy, gz
    if bias:
        gx, gy, gz = relative_bias(x, y, z, one, two)
    a, b, c = np.uint64(i), np.uint64(i + 1), np.uint64(i + 2)
    J[a, n], J[b, n], J[c, n] = unit * gx, unit * gy, unit * gz
    for end in range(2):
        factor = unit if end == 1 else -unit
        body = loop[LOOP_BODY_1 + end]
        while body != top:
            for j in range(body_i[body, IV], body_i[body, IV] + body_i[body, N_DOF]):
                s, column = dof_w[j], np.uint64(dof_i[j, DOF_LOCAL])
                ox, oy, oz = s[3], s[4], s[5]
                J[a, column] = factor * (s[0] + oy * z - oz * y)
                J[b, column] = factor * (s[1] + oz * x - ox * z)
                J[c, column] = factor * (s[2] + ox * y - oy * x)
            body = body_i[body, PARENT]


@kernel
def _point(row, frame, o):
    """Return where a point of a body is, given in the body's frame by three numbers at o."""
    a, b, c = frame[o], frame[o + 1], frame[o + 2]
    return (
        row[P] + row[0] * a + row[1] * b + row[2] * c,
        row[P + 1] + row[3] * a + row[4] * b + row[5] * c,
        row[P + 2] + row[6] * a + row[7] * b + row[8] * c,
    )


@kernel
def coupling_row(mi, mf, k, q, v, J, row, at_dof, bias):
    """Add the gradient of a coupling to a row of J; return its error and, if asked, its bias."""
    coupling, term_i = table(mi, mi, COUPLING_I)[k], table(mi, mi, TERM_I)
    term_f = table(mf, mi, TERM_F)
    first = coupling[COUPLING_TERM]
    error, second = table(mf, mi, COUPLING_F)[k, 0], 0.0
    for t in range(first, first + coupling[COUPLING_N_TERMS]):
        x, c, j = q[term_i[t, TERM_IQ]], term_f[t], term_i[t, TERM_DOF]
        error += x * (c[0] + x * (c[1] + x * (c[2] + x * c[3])))
        J[row, at_dof[j]] += c[0] + x * (2.0 * c[1] + x * (3.0 * c[2] + x * 4.0 * c[3]))
        if bias:
            second += (2.0 * c[1] + x * (6.0 * c[2] + x * 12.0 * c[3])) * v[j] * v[j]
    return error, second


@kernel
def loop_coordinates(mi, mf, w, k):
    """
    Write covector, position and rate of every coordinate of a loop joint, frame 2 against 1.

    A cut joint moves like a tree joint from parent to child: slides along axes of frame 1, turns
    about z_1; a spherical joint's rates are in the child's axes.
    """
    loop, x = table(mi, mi, LOOP_I)[k], place_loop(mi, mf, w, k)
    kind, d = loop[LOOP_TYPE], loop[LOOP_DOF]
    rows = table(w, mi, LOOP_DOF_W)
    if kind == LOOP_REVOLUTE:
        turn_coordinate(x, LOOP_R_1 + 2, rows[d])
        rows[d, LOOP_DOF_POSITION] = _turn(x)
    elif kind == LOOP_PRISMATIC or kind == LOOP_CYLINDRICAL:
        slide_row(x, 2, rows[d])
        if kind == LOOP_CYLINDRICAL:
            turn_coordinate(x, LOOP_R_1 + 2, rows[d + 1])
            rows[d + 1, LOOP_DOF_POSITION] = _turn(x)
    elif kind == LOOP_UNIVERSAL:
        turn_coordinate(x, LOOP_R_1 + 2, rows[d])
        turn_coordinate(x, LOOP_R_2 + 2, rows[d + 1])
        rows[d, LOOP_DOF_POSITION] = np.arctan2(axis_product(x, 1, 2), axis_product(x, 0, 2))
        rows[d + 1, LOOP_DOF_POSITION] = np.arctan2(-axis_product(x, 2, 1), axis_product(x, 2, 0))
    else:
        if kind == LOOP_PLANAR or kind == LOOP_SURFACE or kind == LOOP_FREE:
            for axis in range(3 if kind == LOOP_FREE else 2):
                slide_row(x, axis, rows[d])
                d += 1
        if kind == LOOP_PLANAR:
            turn_coordinate(x, LOOP_R_1 + 2, rows[d])
            rows[d, LOOP_DOF_POSITION] = _turn(x)
        elif kind != LOOP_FIXED:
            _rotation_coordinates(x, rows, d)
    one, two = table(w, mi, BODY_W)[loop[LOOP_BODY_1]], table(w, mi, BODY_W)[loop[LOOP_BODY_2]]
    for i in range(loop[LOOP_DOF], loop[LOOP_DOF] + loop[LOOP_N_DOFS]):
        rate = 0.0
        for j in range(6):
            rate += rows[i, j] * (two[V + j] - one[V + j])
        rows[i, LOOP_DOF_RATE] = rate


@kernel
def turn_coordinate(x, axis, row):
    """Write the covector of turning about an axis, given by the place of its first number."""
    row[0] = row[1] = row[2] = 0.0
    row[3], row[4], row[5] = x[axis], x[axis + 3], x[axis + 6]


@kernel
def _turn(x):
    """Return the angle of frame 2 about the z axis that it shares with frame 1."""
    return np.arctan2(
        axis_product(x, 1, 0) - axis_product(x, 0, 1),
        axis_product(x, 0, 0) + axis_product(x, 1, 1),
    )


@kernel
def rotation_vector(x, out):
    """Write the rotation vector from frame 1 to frame 2, exact up to and at half a turn."""
    out[0] = 0.5 * (axis_product(x, 2, 1) - axis_product(x, 1, 2))
    out[1] = 0.5 * (axis_product(x, 0, 2) - axis_product(x, 2, 0))
    out[2] = 0.5 * (axis_product(x, 1, 0) - axis_product(x, 0, 1))
    sine = np.sqrt(out[0] * out[0] + out[1] * out[1] + out[2] * out[2])
    cosine = 0.5 * (axis_product(x, 0, 0) + axis_product(x, 1, 1) + axis_product(x, 2, 2) - 1.0)
    angle = np.arctan2(sine, cosine)
    if cosine > -0.99:
        factor = angle / sine if sine > STRAIGHT else 1.0
        for i in range(3):
            out[i] *= factor
        return
    # near half a turn the sine has no digits left; (R + R^T) / 2 - cos E is n n^T (1 - cos)
    best = 0
    for i in range(1, 3):
        if axis_product(x, i, i) > axis_product(x, best, best):
            best = i
    n, side = np.zeros(3), 0.0
    for i in range(3):
        n[i] = 0.5 * (axis_product(x, i, best) + axis_product(x, best, i)) - (
            cosine if i == best else 0.0
        )
        side += n[i] * out[i]
    length = np.sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2])
    for i in range(3):
        out[i] = (angle if side >= 0.0 else -angle) * n[i] / length


@kernel
def _rotation_coordinates(x, rows, d):
    """Write covectors in the child's axes, and the rotation vector, of a free relative turn."""
    turn = np.empty(3)
    rotation_vector(x, turn)
    for axis in range(3):
        turn_coordinate(x, LOOP_R_2 + axis, rows[d + axis])
        rows[d + axis, LOOP_DOF_POSITION] = turn[axis]


@kernel
def active_loop_rows(mi, mf, w, bias):
    """Write the rows of every active loop."""
    loop_i = table(mi, mi, LOOP_I)
    for k in range(mi[N_LOOPS]):
        if loop_i[k, LOOP_ACTIVE]:
            loop_rows(mi, mf, w, k, bias)
