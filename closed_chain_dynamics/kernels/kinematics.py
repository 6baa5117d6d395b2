"""
Placements, velocities and accelerations of all bodies, from the root outwards.

Everything is written in world axes at one point, the world origin shifted to the first
free-flying body. Then no quantity changes its frame on the way along the tree: velocities and
forces of neighbours are simply added, and a motion subspace is a column of every Jacobian. The
shift costs nothing and keeps full precision for a robot that walked far from the origin.
"""

import numpy as np

from .layout import (
    BODY_F,
    BODY_I,
    BODY_IA,
    BODY_W,
    COM,
    DOF_W,
    FREE,
    GRAVITY,
    IQ,
    IV,
    N_BODIES,
    N_DOF,
    NOT_FINITE,
    NOT_UNIT,
    NV,
    OK,
    ORIGIN,
    PARENT,
    PLANAR,
    PRISMATIC,
    REVOLUTE,
    S_W,
    SPHERICAL,
    TREE_P,
    TREE_R,
    TYPE,
    WORLD_F,
    WORLD_W,
    A,
    C,
    P,
    R,
    V,
    kernel,
    table,
)

UNIT_TOLERANCE = 1e-6  # a quaternion this close to unit length is normalised, else refused


@kernel
def check_state(mi, q, v, a):
    """Return OK, NOT_FINITE or NOT_UNIT for a state; a zero times a bad number is not zero."""
    bad = 0  # counted, not summed up: integers vectorise
    for k in range(np.uint64(q.size)):
        bad += q[k] - q[k] != 0.0
    for k in range(np.uint64(v.size)):
        bad += v[k] - v[k] != 0.0
    for k in range(np.uint64(a.size)):
        bad += a[k] - a[k] != 0.0
    if bad:
        return NOT_FINITE
    body_i = table(mi, mi, BODY_I)
    for i in range(1, mi[N_BODIES]):
        joint = body_i[i, TYPE]
        if joint == PLANAR or joint == SPHERICAL or joint == FREE:
            k, last = body_i[i, IQ], body_i[i, IQ] + 4
            if joint == PLANAR:
                k += 2
            elif joint == FREE:
                k, last = k + 3, last + 3
            square = 0.0
            for j in range(k, last):
                square += q[j] * q[j]
            if abs(np.sqrt(square) - 1.0) > UNIT_TOLERANCE:
                return NOT_UNIT
    return OK


@kernel
def rotate_by_quaternion(row, x, y, z, w):
    """Multiply the rotation at the head of a row by a quaternion; the length does not matter."""
    s = 2.0 / (x * x + y * y + z * z + w * w)
    xx, yy, zz = s * x * x, s * y * y, s * z * z
    xy, xz, yz = s * x * y, s * x * z, s * y * z
    wx, wy, wz = s * w * x, s * w * y, s * w * z
    for k in range(0, 9, 3):
        a, b, c = row[k], row[k + 1], row[k + 2]
        row[k] = a * (1.0 - yy - zz) + b * (xy + wz) + c * (xz - wy)
        row[k + 1] = a * (xy - wz) + b * (1.0 - xx - zz) + c * (yz + wx)
        row[k + 2] = a * (xz + wy) + b * (yz - wx) + c * (1.0 - xx - yy)


@kernel
def _turn_about_z(row, c, s):
    """Multiply the rotation at the head of a row by a turn about z with cosine c and sine s."""
    for k in range(0, 9, 3):
        a, b = row[k], row[k + 1]
        row[k] = c * a + s * b
        row[k + 1] = c * b - s * a


@kernel
def _angular_column(column, row, k):
    """Write the motion subspace of a turn about axis k of a body that stands at p."""
    ax, ay, az = row[k], row[3 + k], row[6 + k]
    px, py, pz = row[P], row[P + 1], row[P + 2]
    column[0] = py * az - pz * ay
    column[1] = pz * ax - px * az
    column[2] = px * ay - py * ax
    column[3], column[4], column[5] = ax, ay, az


@kernel
def _linear_column(column, row, k):
    """Write the motion subspace of a slide along axis k of a body."""
    column[0], column[1], column[2] = row[k], row[3 + k], row[6 + k]
    column[3] = column[4] = column[5] = 0.0


@kernel
def _shift_origin(mi, mf, w, q):
    """Put the origin of all spatial quantities at the first free-flying body, if there is one."""
    body_i, body_f = table(mi, mi, BODY_I), table(mf, mi, BODY_F)
    world, root = table(w, mi, WORLD_W)[0], table(w, mi, BODY_W)[0]
    for k in range(root.size):
        root[k] = 0.0
    root[R] = root[R + 4] = root[R + 8] = 1.0
    x = y = z = 0.0
    for i in range(1, mi[N_BODIES]):
        if body_i[i, TYPE] == FREE and body_i[i, PARENT] == 0:
            t, k = body_f[i], body_i[i, IQ]
            x = t[TREE_P] + t[0] * q[k] + t[1] * q[k + 1] + t[2] * q[k + 2]
            y = t[TREE_P + 1] + t[3] * q[k] + t[4] * q[k + 1] + t[5] * q[k + 2]
            z = t[TREE_P + 2] + t[6] * q[k] + t[7] * q[k + 1] + t[8] * q[k + 2]
            break
    world[ORIGIN], world[ORIGIN + 1], world[ORIGIN + 2] = x, y, z
    root[P], root[P + 1], root[P + 2] = -x, -y, -z
    root[C], root[C + 1], root[C + 2] = -x, -y, -z


@kernel
def placements(mi, mf, w, q):
    """Compute R, p, the centre of mass and the motion subspace of every body."""
    body_i, body_f = table(mi, mi, BODY_I), table(mf, mi, BODY_F)
    body_w, dof_w = table(w, mi, BODY_W), table(w, mi, DOF_W)
    _shift_origin(mi, mf, w, q)
    for i in range(1, mi[N_BODIES]):
        up, row, t = body_w[body_i[i, PARENT]], body_w[i], body_f[i]
        u0, u1, u2 = up[0], up[1], up[2]
        u3, u4, u5 = up[3], up[4], up[5]
        u6, u7, u8 = up[6], up[7], up[8]
        for k in range(3):
            a, b, c = t[TREE_R + k], t[TREE_R + 3 + k], t[TREE_R + 6 + k]
            row[R + k] = u0 * a + u1 * b + u2 * c
            row[R + 3 + k] = u3 * a + u4 * b + u5 * c
            row[R + 6 + k] = u6 * a + u7 * b + u8 * c
        a, b, c = t[TREE_P], t[TREE_P + 1], t[TREE_P + 2]
        row[P] = up[P] + u0 * a + u1 * b + u2 * c
        row[P + 1] = up[P + 1] + u3 * a + u4 * b + u5 * c
        row[P + 2] = up[P + 2] + u6 * a + u7 * b + u8 * c

        joint, k, j = body_i[i, TYPE], body_i[i, IQ], body_i[i, IV]
        if joint == REVOLUTE:
            _turn_about_z(row, np.cos(q[k]), np.sin(q[k]))
            _angular_column(dof_w[j], row, 2)
        elif joint == PRISMATIC:
            _slide(row, 0.0, 0.0, q[k])
            _linear_column(dof_w[j], row, 2)
        elif joint == SPHERICAL:
            rotate_by_quaternion(row, q[k], q[k + 1], q[k + 2], q[k + 3])
            for axis in range(3):
                _angular_column(dof_w[j + axis], row, axis)
        elif joint == FREE:
            _slide(row, q[k], q[k + 1], q[k + 2])
            rotate_by_quaternion(row, q[k + 3], q[k + 4], q[k + 5], q[k + 6])
            for axis in range(3):
                _linear_column(dof_w[j + axis], row, axis)
                _angular_column(dof_w[j + 3 + axis], row, axis)
        else:  # PLANAR
            _slide(row, q[k], q[k + 1], 0.0)
            length = np.sqrt(q[k + 2] * q[k + 2] + q[k + 3] * q[k + 3])
            _turn_about_z(row, q[k + 2] / length, q[k + 3] / length)
            _linear_column(dof_w[j], row, 0)
            _linear_column(dof_w[j + 1], row, 1)
            _angular_column(dof_w[j + 2], row, 2)

        a, b, c = t[COM], t[COM + 1], t[COM + 2]
        row[C] = row[P] + row[0] * a + row[1] * b + row[2] * c
        row[C + 1] = row[P + 1] + row[3] * a + row[4] * b + row[5] * c
        row[C + 2] = row[P + 2] + row[6] * a + row[7] * b + row[8] * c


@kernel
def _slide(row, x, y, z):
    """Move a body by a vector in its own axes."""
    row[P] += row[0] * x + row[1] * y + row[2] * z
    row[P + 1] += row[3] * x + row[4] * y + row[5] * z
    row[P + 2] += row[6] * x + row[7] * y + row[8] * z


@kernel
def motion(mi, mf, w, v, a, gravity):
    """
    Compute V and A of every body, Eqs. (2) to (4) of paper 3 for any joint.

    With gravity = 1 the ground accelerates upwards, which puts the weight into A; with gravity
    = 0 and a = 0, A is the bias J' theta' of every body's Jacobian.
    """
    body_i, body_w, dof_w = table(mi, mi, BODY_I), table(w, mi, BODY_W), table(w, mi, DOF_W)
    g = table(mf, mi, WORLD_F)[0]
    for k in range(3):
        body_w[0, A + k] = -gravity * g[GRAVITY + k]
    for i in range(1, mi[N_BODIES]):
        up, row = body_w[body_i[i, PARENT]], body_w[i]
        j = body_i[i, IV]
        if body_i[i, TYPE] <= PRISMATIC:
            s, x, y = dof_w[j], v[j], a[j]
            v0, v1, v2 = s[0] * x, s[1] * x, s[2] * x
            v3, v4, v5 = s[3] * x, s[4] * x, s[5] * x
            a0, a1, a2 = s[0] * y, s[1] * y, s[2] * y
            a3, a4, a5 = s[3] * y, s[4] * y, s[5] * y
        else:
            v0 = v1 = v2 = v3 = v4 = v5 = 0.0
            a0 = a1 = a2 = a3 = a4 = a5 = 0.0
            last = j + (6 if body_i[i, TYPE] == FREE else 3)
            for k in range(j, last):
                s, x, y = dof_w[k], v[k], a[k]
                v0, v1, v2 = v0 + s[0] * x, v1 + s[1] * x, v2 + s[2] * x
                v3, v4, v5 = v3 + s[3] * x, v4 + s[4] * x, v5 + s[5] * x
                a0, a1, a2 = a0 + s[0] * y, a1 + s[1] * y, a2 + s[2] * y
                a3, a4, a5 = a3 + s[3] * y, a4 + s[4] * y, a5 + s[5] * y
        ux, uy, uz = up[V], up[V + 1], up[V + 2]
        ox, oy, oz = up[V + 3], up[V + 4], up[V + 5]
        row[V], row[V + 1], row[V + 2] = ux + v0, uy + v1, uz + v2
        row[V + 3], row[V + 4], row[V + 5] = ox + v3, oy + v4, oz + v5
        # a motion subspace rides on its body, so its rate is the spatial cross product V x
        row[A] = up[A] + a0 + oy * v2 - oz * v1 + uy * v5 - uz * v4
        row[A + 1] = up[A + 1] + a1 + oz * v0 - ox * v2 + uz * v3 - ux * v5
        row[A + 2] = up[A + 2] + a2 + ox * v1 - oy * v0 + ux * v4 - uy * v3
        row[A + 3] = up[A + 3] + a3 + oy * v5 - oz * v4
        row[A + 4] = up[A + 4] + a4 + oz * v3 - ox * v5
        row[A + 5] = up[A + 5] + a5 + ox * v4 - oy * v3


@kernel
def add_acceleration(mi, w, a):
    """Add joint accelerations to A of every body, after `motion` without them."""
    body_i, body_w, dof_w = table(mi, mi, BODY_I), table(w, mi, BODY_W), table(w, mi, DOF_W)
    change = table(w, mi, BODY_IA)  # inertias come later: their place is free until then
    for r in range(6):
        change[0, r] = 0.0
    for i in range(1, mi[N_BODIES]):
        up, row, out = change[body_i[i, PARENT]], change[i], body_w[i]
        c0, c1, c2, c3, c4, c5 = up[0], up[1], up[2], up[3], up[4], up[5]
        for j in range(body_i[i, IV], body_i[i, IV] + body_i[i, N_DOF]):
            x, s = a[j], dof_w[j]
            if x != 0.0:
                c0, c1, c2 = c0 + x * s[0], c1 + x * s[1], c2 + x * s[2]
                c3, c4, c5 = c3 + x * s[3], c4 + x * s[4], c5 + x * s[5]
        row[0], row[1], row[2], row[3], row[4], row[5] = c0, c1, c2, c3, c4, c5
        out[A], out[A + 1], out[A + 2] = out[A] + c0, out[A + 1] + c1, out[A + 2] + c2
        out[A + 3], out[A + 4], out[A + 5] = out[A + 3] + c3, out[A + 4] + c4, out[A + 5] + c5


@kernel
def compute_placements(mi, mf, w, q, out):
    """Write R (row by row) and p of every body in the world, (n, 12)."""
    status = check_state(mi, q, q, q)
    if status != OK:
        return status
    placements(mi, mf, w, q)
    body_w, world = table(w, mi, BODY_W), table(w, mi, WORLD_W)[0]
    for i in range(mi[N_BODIES]):
        for k in range(12):
            out[i, k] = body_w[i, k]
        for k in range(3):
            out[i, P + k] += world[ORIGIN + k]
    return OK


@kernel
def compute_motion(mi, mf, w, q, v, a, out):
    """Write V and A of every body at its own origin in world axes, (n, 12); no gravity in A."""
    status = check_state(mi, q, v, a)
    if status != OK:
        return status
    placements(mi, mf, w, q)
    motion(mi, mf, w, v, a, 0.0)
    body_w = table(w, mi, BODY_W)
    for i in range(mi[N_BODIES]):
        for k in range(0, 12, 6):
            x, y, z = body_w[i, P], body_w[i, P + 1], body_w[i, P + 2]
            ox, oy, oz = body_w[i, V + k + 3], body_w[i, V + k + 4], body_w[i, V + k + 5]
            out[i, k] = body_w[i, V + k] + oy * z - oz * y
            out[i, k + 1] = body_w[i, V + k + 1] + oz * x - ox * z
            out[i, k + 2] = body_w[i, V + k + 2] + ox * y - oy * x
            out[i, k + 3], out[i, k + 4], out[i, k + 5] = ox, oy, oz
    return OK


@kernel
def compute_jacobian(mi, mf, w, q, v, body, point, out):
    """
    Write the Jacobian of a point of a body (linear, angular; world axes), (6, nv + 1).

    The last column is the bias J' theta': the classical acceleration of the point, and the
    angular acceleration, at zero joint acceleration.
    """
    status = check_state(mi, q, v, v)
    if status != OK:
        return status
    placements(mi, mf, w, q)
    nv = mi[NV]
    motion(mi, mf, w, v, np.zeros(nv), 0.0)
    body_i, body_w, dof_w = table(mi, mi, BODY_I), table(w, mi, BODY_W), table(w, mi, DOF_W)
    row = body_w[body]
    x = row[P] + row[0] * point[0] + row[1] * point[1] + row[2] * point[2]
    y = row[P + 1] + row[3] * point[0] + row[4] * point[1] + row[5] * point[2]
    z = row[P + 2] + row[6] * point[0] + row[7] * point[1] + row[8] * point[2]
    out[:] = 0.0
    i = body
    while i > 0:
        j = body_i[i, IV]
        nd = 1 if body_i[i, TYPE] <= PRISMATIC else (6 if body_i[i, TYPE] == FREE else 3)
        for k in range(j, j + nd):
            s = dof_w[k]
            out[0, k] = s[S_W] + s[4] * z - s[5] * y
            out[1, k] = s[S_W + 1] + s[5] * x - s[3] * z
            out[2, k] = s[S_W + 2] + s[3] * y - s[4] * x
            out[3, k], out[4, k], out[5, k] = s[3], s[4], s[5]
        i = body_i[i, PARENT]
    # classical acceleration of the point: A + alpha x r + omega x (v + omega x r)
    ox, oy, oz = row[V + 3], row[V + 4], row[V + 5]
    vx = row[V] + oy * z - oz * y
    vy = row[V + 1] + oz * x - ox * z
    vz = row[V + 2] + ox * y - oy * x
    ax, ay, az = row[A + 3], row[A + 4], row[A + 5]
    out[0, nv] = row[A] + ay * z - az * y + oy * vz - oz * vy
    out[1, nv] = row[A + 1] + az * x - ax * z + oz * vx - ox * vz
    out[2, nv] = row[A + 2] + ax * y - ay * x + ox * vy - oy * vx
    out[3, nv], out[4, nv], out[5, nv] = ax, ay, az
    return OK
