"""Where the two frames of a loop joint stand, and distances between them with derivatives."""

from .layout import (
    BODY_W,
    LOOP_BODY_1,
    LOOP_F,
    LOOP_I,
    LOOP_P_1,
    LOOP_P_2,
    LOOP_R_2,
    LOOP_W,
    ROW_ERROR,
    A,
    P,
    V,
    kernel,
    table,
)


@kernel
def place_loop(mi, mf, w, k):
    """Write where both frames of a loop stand, R_1 p_1 R_2 p_2, and return that row."""
    loop, frame, out = table(mi, mi, LOOP_I)[k], table(mf, mi, LOOP_F)[k], table(w, mi, LOOP_W)[k]
    body_w = table(w, mi, BODY_W)
    for end in range(2):
        row, o = body_w[loop[LOOP_BODY_1 + end]], 12 * end
        for i in range(3):
            a, b, c = row[3 * i], row[3 * i + 1], row[3 * i + 2]
            for j in range(3):
                out[o + 3 * i + j] = a * frame[o + j] + b * frame[o + 3 + j] + c * frame[o + 6 + j]
            out[o + 9 + i] = row[P + i] + a * frame[o + 9] + b * frame[o + 10] + c * frame[o + 11]
    return out


@kernel
def slide_row(x, axis, row):
    """Write covector and error of the distance of frame 2 along an axis of frame 1."""
    ax, ay, az = x[axis], x[3 + axis], x[6 + axis]
    px, py, pz = x[LOOP_P_2], x[LOOP_P_2 + 1], x[LOOP_P_2 + 2]
    row[0], row[1], row[2] = ax, ay, az
    row[3], row[4], row[5] = py * az - pz * ay, pz * ax - px * az, px * ay - py * ax
    row[ROW_ERROR] = (
        ax * (px - x[LOOP_P_1]) + ay * (py - x[LOOP_P_1 + 1]) + az * (pz - x[LOOP_P_1 + 2])
    )


@kernel
def slide_bias(x, axis, one, two):
    """Return the second derivative of a distance at zero joint acceleration."""
    bx, by, bz = x[axis], x[3 + axis], x[6 + axis]
    ox, oy, oz = one[V + 3], one[V + 4], one[V + 5]
    dx, dy, dz = oy * bz - oz * by, oz * bx - ox * bz, ox * by - oy * bx  # a'
    ax, ay, az = one[A + 3], one[A + 4], one[A + 5]
    ex = ay * bz - az * by + oy * dz - oz * dy  # a''
    ey = az * bx - ax * bz + oz * dx - ox * dz
    ez = ax * by - ay * bx + ox * dy - oy * dx
    vx, vy, vz, cx, cy, cz = point_motion(two, x[LOOP_P_2], x[LOOP_P_2 + 1], x[LOOP_P_2 + 2])
    ux, uy, uz, gx, gy, gz = point_motion(one, x[LOOP_P_1], x[LOOP_P_1 + 1], x[LOOP_P_1 + 2])
    rx, ry, rz = (
        x[LOOP_P_2] - x[LOOP_P_1],
        x[LOOP_P_2 + 1] - x[LOOP_P_1 + 1],
        x[LOOP_P_2 + 2] - x[LOOP_P_1 + 2],
    )
    return (
        ex * rx
        + ey * ry
        + ez * rz
        + 2.0 * (dx * (vx - ux) + dy * (vy - uy) + dz * (vz - uz))
        + bx * (cx - gx)
        + by * (cy - gy)
        + bz * (cz - gz)
    )


@kernel
def relative_bias(px, py, pz, one, two):
    """Return the acceleration of a point of body 2 seen from body 1; joints do not accelerate."""
    vx, vy, vz, cx, cy, cz = point_motion(two, px, py, pz)
    # the point of body 1 that is there now: then the distance between the origins drops out
    ux, uy, uz, gx, gy, gz = point_motion(one, px, py, pz)
    ox, oy, oz = 2.0 * one[V + 3], 2.0 * one[V + 4], 2.0 * one[V + 5]
    dx, dy, dz = vx - ux, vy - uy, vz - uz
    return (cx - gx - oy * dz + oz * dy, cy - gy - oz * dx + ox * dz, cz - gz - ox * dy + oy * dx)


@kernel
def point_motion(row, x, y, z):
    """Return velocity and classical acceleration of the point of a body that is at x, y, z."""
    ox, oy, oz = row[V + 3], row[V + 4], row[V + 5]
    vx, vy, vz = (
        row[V] + oy * z - oz * y,
        row[V + 1] + oz * x - ox * z,
        row[V + 2] + ox * y - oy * x,
    )
    ax, ay, az = row[A + 3], row[A + 4], row[A + 5]
    return (
        vx,
        vy,
        vz,
        row[A] + ay * z - az * y + oy * vz - oz * vy,
        row[A + 1] + az * x - ax * z + oz * vx - ox * vz,
        row[A + 2] + ax * y - ay * x + ox * vy - oy * vx,
    )


@kernel
def axis_product(x, one, two):
    """Return the product of an axis of frame 1 and an axis of frame 2."""
    return (
        x[one] * x[LOOP_R_2 + two]
        + x[3 + one] * x[LOOP_R_2 + 3 + two]
        + x[6 + one] * x[LOOP_R_2 + 6 + two]
    )
