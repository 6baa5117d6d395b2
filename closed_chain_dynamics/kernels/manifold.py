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
Configurations as points of a manifold: q plus a tangent step, and the step between two of them.

The step of a spherical or free joint is a twist in the moving frame, held constant: the exact
exponential, Eq. (39) of Nakamura and Yamane with the product on the right, because the angular
velocity is in the axes of the moving link (on the left it would have to be in those of the
parent).
"""

import numpy as np

from . import records as at
from .compiling import kernel
from .sharing import HANDLE, NOTHING, VECTOR, shared_kernel
from .vectors import add, cross, minus, norm, put, times

SMALL_ANGLE = 1e-4  # below it the series are exact to rounding: the next term is angle^4 / 120
STRAIGHT_SCREW = 1e-2  # the same for (1 - x cot x) / (4 x^2): next term angle^4 / 30240


@kernel
def three(x, k):
    """Return three numbers of an array from place k on as a vector."""
    return x[k], x[k + 1], x[k + 2]


@kernel
def _screw_coefficients(angle):
    """Return (1 - cos) / angle^2 and (angle - sin) / angle^3."""
    if angle < SMALL_ANGLE:
        return 0.5 - angle * angle / 24.0, 1.0 / 6.0 - angle * angle / 120.0
    half = np.sin(0.5 * angle)
    return 2.0 * half * half / (angle * angle), (angle - np.sin(angle)) / angle**3


@kernel
def inverse_screw_coefficient(angle):
    """Return (1 - angle / 2 cot(angle / 2)) / angle^2, of the inverse of a screw's Jacobian."""
    if angle < STRAIGHT_SCREW:
        return 1.0 / 12.0 + angle * angle / 720.0
    half = 0.5 * angle
    return (1.0 - half * np.cos(half) / np.sin(half)) / (angle * angle)


@kernel
def rotate_step(q, k, u, out):
    """Turn the quaternion at q[k:] by the rotation vector u in its own axes."""
    angle = norm(u)
    s = 0.5 - angle * angle / 48.0 if angle < SMALL_ANGLE else np.sin(0.5 * angle) / angle
    n, w, own, d = times(s, u), np.cos(0.5 * angle), three(q, k), q[k + 3]
    # the product of two quaternions, made unit
    axis = add(add(times(d, n), times(w, own)), cross(own, n))
    scalar = d * w - (own[0] * n[0] + own[1] * n[1] + own[2] * n[2])
    length = np.sqrt(axis[0] ** 2 + axis[1] ** 2 + axis[2] ** 2 + scalar * scalar)
    put(out[k:], times(1.0 / length, axis))
    out[k + 3] = scalar / length


@kernel
def turned(q, k, a, sign):
    """Return a vector turned by the quaternion at q[k:], or turned back by it (sign -1)."""
    n, d = times(sign, three(q, k)), q[k + 3]
    s = 2.0 / (n[0] ** 2 + n[1] ** 2 + n[2] ** 2 + d * d)
    t = times(s, cross(n, a))
    return add(a, add(times(d, t), cross(n, t)))


@shared_kernel(HANDLE, VECTOR, VECTOR, VECTOR, returns=NOTHING)
def integrate(m, q, step, out):
    """Write q moved along a tangent step, Eq. (39) for every spherical and free joint."""
    body = at.bodies(m)
    for i in range(1, body.size):
        joint, k, j = body[i].joint, body[i].iq, body[i].iv
        if joint <= at.PRISMATIC:
            out[k] = q[k] + step[j]
        elif joint == at.SPHERICAL:
            rotate_step(q, k, three(step, j), out)
        elif joint == at.FREE:
            v, omega = three(step, j), three(step, j + 3)
            b, c = _screw_coefficients(norm(omega))
            # displacement in moving axes: v + b (o x v) + c (o x (o x v))
            u = cross(omega, v)
            moved = add(v, add(times(b, u), times(c, cross(omega, u))))
            put(out[k:], add(three(q, k), turned(q, k + 3, moved, 1.0)))
            rotate_step(q, k + 3, omega, out)
        else:  # PLANAR: x, y, cos, sin
            vx, vy, o = three(step, j)
            b, c = _screw_coefficients(abs(o))
            dx = vx - o * b * vy - o * o * c * vx
            dy = vy + o * b * vx - o * o * c * vy
            cs, sn = q[k + 2], q[k + 3]
            out[k] = q[k] + cs * dx - sn * dy
            out[k + 1] = q[k + 1] + sn * dx + cs * dy
            turn_planar(q, k, o, out)


@kernel
def turn_planar(q, k, angle, out):
    """Turn cosine and sine at q[k + 2:] by an angle, made unit."""
    cs, sn = q[k + 2], q[k + 3]
    c, s = np.cos(angle), np.sin(angle)
    x, y = cs * c - sn * s, sn * c + cs * s
    length = np.sqrt(x * x + y * y)
    out[k + 2], out[k + 3] = x / length, y / length


@kernel
def _rotation_vector(p, q, k):
    """Return the rotation vector from the quaternion p[k:] to q[k:], in the axes of p."""
    a, d = times(-1.0, three(p, k)), p[k + 3]
    b, w = three(q, k), q[k + 3]
    n = add(add(times(d, b), times(w, a)), cross(a, b))
    r = d * w - (a[0] * b[0] + a[1] * b[1] + a[2] * b[2])
    if r < 0.0:  # the shorter way round
        n, r = times(-1.0, n), -r
    s = norm(n)
    # angle / sin(angle / 2); atan2 stays exact near half a turn, and near none
    f = 2.0 / r - 2.0 * s * s / (3.0 * r**3) if s < SMALL_ANGLE else 2.0 * np.arctan2(s, r) / s
    return times(f, n)


@kernel
def _unscrew(omega, moved):
    """Return the velocity whose screw about omega displaces by a vector; undoes `integrate`."""
    u = cross(omega, moved)
    e = inverse_screw_coefficient(norm(omega))
    return add(minus(moved, times(0.5, u)), times(e, cross(omega, u)))


@shared_kernel(HANDLE, VECTOR, VECTOR, VECTOR, returns=NOTHING)
def difference(m, p, q, out):
    """Write the tangent step that leads from configuration p to configuration q."""
    body = at.bodies(m)
    for i in range(1, body.size):
        joint, k, j = body[i].joint, body[i].iq, body[i].iv
        if joint <= at.PRISMATIC:
            out[j] = q[k] - p[k]
        elif joint == at.SPHERICAL:
            put(out[j:], _rotation_vector(p, q, k))
        elif joint == at.FREE:
            moved = turned(p, k + 3, minus(three(q, k), three(p, k)), -1.0)
            omega = _rotation_vector(p, q, k + 3)
            put(out[j:], _unscrew(omega, moved))
            put(out[j + 3 :], omega)
        else:  # PLANAR
            cs, sn = p[k + 2], p[k + 3]
            x, y = q[k] - p[k], q[k + 1] - p[k + 1]
            o = np.arctan2(cs * q[k + 3] - sn * q[k + 2], cs * q[k + 2] + sn * q[k + 3])
            moved = (cs * x + sn * y, cs * y - sn * x, 0.0)
            put(out[j:], _unscrew((0.0, 0.0, o), moved))
            out[j + 2] = o


@kernel
def neutral(m, q):
    """Write the configuration with every joint at zero."""
    body = at.bodies(m)
    q[:] = 0.0
    for i in range(1, body.size):
        joint, k = body[i].joint, body[i].iq
        if joint == at.SPHERICAL:
            q[k + 3] = 1.0
        elif joint == at.FREE:
            q[k + 6] = 1.0
        elif joint == at.PLANAR:
            q[k + 2] = 1.0
