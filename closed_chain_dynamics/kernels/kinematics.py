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
Placements, velocities and accelerations of all bodies, from the root outwards.

Everything is written in world axes at one point, the world origin shifted to the first
free-flying body, or to the first joint where there is none. Then no quantity changes its frame on
the way along the tree: velocities and forces of neighbours are simply added, and a motion subspace
is a column of every Jacobian. The shift costs nothing and keeps full precision for a robot that
walked, or stands, far from the origin.
"""

import numpy as np

from . import records as at
from .compiling import kernel
from .sharing import HANDLE, NOTHING, NUMBER, VECTOR, shared_kernel
from .vectors import (
    acceleration_at,
    add,
    add_spatial,
    angular,
    axis,
    cross,
    linear,
    minus,
    put,
    put_axis,
    put_spatial,
    rotate,
    times,
    velocity_at,
)

UNIT_TOLERANCE = 1e-6  # a quaternion this close to unit length is normalised, else refused
NO_VECTOR = (0.0, 0.0, 0.0)


@kernel
def _count_bad(x):
    bad = 0  # counted, not summed up: integers vectorise
    for k in range(np.uint64(x.size)):
        bad += x[k] - x[k] != 0.0
    return bad


@shared_kernel(HANDLE, VECTOR, VECTOR, VECTOR)
def check_state(m, q, v, a):
    """Return OK, NOT_FINITE or NOT_UNIT for a state; a zero times a bad number is not zero."""
    if _count_bad(q) + _count_bad(v) + _count_bad(a):
        return at.NOT_FINITE
    body = at.bodies(m)
    for i in range(1, body.size):
        joint, k = body[i].joint, body[i].iq
        if joint <= at.PRISMATIC:
            continue
        if joint == at.PLANAR:
            square = q[k + 2] ** 2 + q[k + 3] ** 2
        else:
            k += 3 if joint == at.FREE else 0
            square = q[k] ** 2 + q[k + 1] ** 2 + q[k + 2] ** 2 + q[k + 3] ** 2
        if abs(np.sqrt(square) - 1.0) > UNIT_TOLERANCE:
            return at.NOT_UNIT
    return at.OK


@kernel
def rotate_by_quaternion(R, q, k):
    """Multiply a rotation by the quaternion at q[k:], whose length does not matter."""
    x, y, z, w = q[k], q[k + 1], q[k + 2], q[k + 3]
    s = 2.0 / (x * x + y * y + z * z + w * w)
    xx, yy, zz = s * x * x, s * y * y, s * z * z
    xy, xz, yz = s * x * y, s * x * z, s * y * z
    wx, wy, wz = s * w * x, s * w * y, s * w * z
    for i in range(3):
        a, b, c = R[i, 0], R[i, 1], R[i, 2]
        R[i, 0] = a * (1.0 - yy - zz) + b * (xy + wz) + c * (xz - wy)
        R[i, 1] = a * (xy - wz) + b * (1.0 - xx - zz) + c * (yz + wx)
        R[i, 2] = a * (xz + wy) + b * (yz - wx) + c * (1.0 - xx - yy)


@kernel
def _turn_about_z(R, c, s):
    """Multiply a rotation by a turn about z with cosine c and sine s."""
    for i in range(3):
        a, b = R[i, 0], R[i, 1]
        R[i, 0] = c * a + s * b
        R[i, 1] = c * b - s * a


@kernel
def _turning(column, me, k):
    """Write the motion subspace of a turn about axis k of a body."""
    n = axis(me.R, k)
    put_spatial(column.s, cross(me.p, n), n)


@kernel
def _sliding(column, me, k):
    """Write the motion subspace of a slide along axis k of a body."""
    put_spatial(column.s, axis(me.R, k), NO_VECTOR)


@kernel
def _shift_origin(m, q):
    """Put the origin of all spatial quantities at the first free-flying body, or else joint."""
    body, root, total = at.bodies(m), at.moving(m)[0], at.totals(m)
    put(total.origin, body[min(1, body.size - 1)].p)  # of the world itself: zero
    for i in range(1, body.size):
        own = body[i]
        if own.joint == at.FREE and own.parent == 0:
            k = own.iq
            put(total.origin, add(own.p, rotate(own.R, (q[k], q[k + 1], q[k + 2]))))
            break
    root.R[:] = 0.0
    root.R[0, 0] = root.R[1, 1] = root.R[2, 2] = 1.0
    put(root.p, times(-1.0, total.origin))
    put(root.c, times(-1.0, total.origin))
    root.V[:] = 0.0
    root.A[:] = 0.0
    root.F[:] = 0.0


@kernel
def _slide(me, x, y, z):
    """Move a body by a vector in its own axes."""
    put(me.p, add(me.p, rotate(me.R, (x, y, z))))


@shared_kernel(HANDLE, VECTOR, returns=NOTHING)
def placements(m, q):
    """Compute R, p, the centre of mass and the motion subspace of every body."""
    body, move, column = at.bodies(m), at.moving(m), at.columns(m)
    _shift_origin(m, q)
    for i in range(1, body.size):
        own, me = body[i], move[i]
        up = move[own.parent]
        for k in range(3):
            put_axis(me.R, k, rotate(up.R, axis(own.R, k)))
        put(me.p, add(up.p, rotate(up.R, own.p)))
        joint, k, j = own.joint, own.iq, own.iv
        if joint == at.REVOLUTE:
            _turn_about_z(me.R, np.cos(q[k]), np.sin(q[k]))
            _turning(column[j], me, 2)
        elif joint == at.PRISMATIC:
            _slide(me, 0.0, 0.0, q[k])
            _sliding(column[j], me, 2)
        elif joint == at.SPHERICAL:
            rotate_by_quaternion(me.R, q, k)
            for d in range(3):
                _turning(column[j + d], me, d)
        elif joint == at.FREE:
            _slide(me, q[k], q[k + 1], q[k + 2])
            rotate_by_quaternion(me.R, q, k + 3)
            for d in range(3):
                _sliding(column[j + d], me, d)
                _turning(column[j + 3 + d], me, d)
        else:  # PLANAR
            _slide(me, q[k], q[k + 1], 0.0)
            length = np.sqrt(q[k + 2] * q[k + 2] + q[k + 3] * q[k + 3])
            _turn_about_z(me.R, q[k + 2] / length, q[k + 3] / length)
            _sliding(column[j], me, 0)
            _sliding(column[j + 1], me, 1)
            _turning(column[j + 2], me, 2)
        put(me.c, add(me.p, rotate(me.R, own.com)))


@shared_kernel(HANDLE, VECTOR, VECTOR, NUMBER, returns=NOTHING)
def motion(m, v, a, gravity):
    """
    Compute V and A of every body, Eqs. (2) to (4) of Li et al. for any joint.

    With gravity = 1 the ground accelerates upwards, which puts the weight into A; with gravity
    = 0 and a = 0, A is the bias J' theta' of every body's Jacobian.
    """
    body, move, column = at.bodies(m), at.moving(m), at.columns(m)
    put_spatial(move[0].A, times(-gravity, at.world(m).gravity), NO_VECTOR)
    for i in range(1, body.size):
        own, me = body[i], move[i]
        up = move[own.parent]
        # velocity and acceleration that the joint adds
        v_J = w_J = a_J = alpha_J = NO_VECTOR
        for j in range(own.iv, own.iv + own.n_dof):
            s = column[j].s
            v_J, w_J = add(v_J, times(v[j], linear(s))), add(w_J, times(v[j], angular(s)))
            a_J, alpha_J = add(a_J, times(a[j], linear(s))), add(alpha_J, times(a[j], angular(s)))
        omega = angular(up.V)
        put_spatial(me.V, add(linear(up.V), v_J), add(omega, w_J))
        # a motion subspace rides on its body, so its rate is the spatial cross product V x
        turn = add(cross(omega, v_J), cross(linear(up.V), w_J))
        put_spatial(
            me.A,
            add(add(linear(up.A), a_J), turn),
            add(add(angular(up.A), alpha_J), cross(omega, w_J)),
        )


@kernel
def add_acceleration(m, a):
    """Add joint accelerations to A of every body, after `motion` without them."""
    body, move, column = at.bodies(m), at.moving(m), at.columns(m)
    move[0].dA[:] = 0.0
    for i in range(1, body.size):
        own, me = body[i], move[i]
        up = move[own.parent]
        a_J, alpha_J = linear(up.dA), angular(up.dA)
        for j in range(own.iv, own.iv + own.n_dof):
            if a[j] != 0.0:
                s = column[j].s
                a_J = add(a_J, times(a[j], linear(s)))
                alpha_J = add(alpha_J, times(a[j], angular(s)))
        put_spatial(me.dA, a_J, alpha_J)
        add_spatial(me.A, a_J, alpha_J)


@kernel
def compute_placements(m, q, out):
    """Write R (row by row) and p of every body in the world, (n, 12)."""
    status = check_state(m, q, q, q)
    if status != at.OK:
        return status
    placements(m, q)
    move, origin = at.moving(m), at.totals(m).origin
    for i in range(move.size):
        for k in range(9):
            out[i, k] = move[i].R[k // 3, k % 3]
        put(out[i, 9:], add(move[i].p, origin))
    return at.OK


@kernel
def compute_motion(m, q, v, a, out):
    """Write V and A of every body at its own origin in world axes, (n, 12); no gravity in A."""
    status = check_state(m, q, v, a)
    if status != at.OK:
        return status
    placements(m, q)
    motion(m, v, a, 0.0)
    move = at.moving(m)
    for i in range(move.size):
        me = move[i]
        put_spatial(out[i], velocity_at(me.V, me.p), angular(me.V))
        put_spatial(out[i, 6:], velocity_at(me.A, me.p), angular(me.A))
    return at.OK


@kernel
def compute_jacobian(m, q, v, i, point, out):
    """
    Write the Jacobian of a point of body i (linear, angular; world axes), (6, nv + 1).

    The last column is the bias J' theta': the classical acceleration of the point, and the
    angular acceleration, at zero joint acceleration.
    """
    status = check_state(m, q, v, v)
    if status != at.OK:
        return status
    placements(m, q)
    nv = at.shape(m).nv
    motion(m, v, at.zeros(m), 0.0)
    body, me, column = at.bodies(m), at.moving(m)[i], at.columns(m)
    p = add(me.p, rotate(me.R, point))
    out[:] = 0.0
    put_spatial(out[:, nv], acceleration_at(me.V, me.A, p), angular(me.A))
    while i > 0:
        for j in range(body[i].iv, body[i].iv + body[i].n_dof):
            s = column[j].s
            put_spatial(out[:, j], minus(linear(s), cross(p, angular(s))), angular(s))
        i = body[i].parent
    return at.OK
