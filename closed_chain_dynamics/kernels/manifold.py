"""
Configurations as points of a manifold: q plus a tangent step, and the step between two of them.

The step of a spherical or free joint is a twist in the moving frame, held constant: the exact
exponential, Eq. (39) of paper 2 with the product on the right, because the angular velocity is in
the axes of the moving link (on the left it would have to be in those of the parent).
"""

import numpy as np

from .layout import (
    BODY_I,
    FREE,
    IQ,
    IV,
    N_BODIES,
    NQ,
    PLANAR,
    PRISMATIC,
    SPHERICAL,
    TYPE,
    kernel,
    table,
)

SMALL_ANGLE = 1e-4  # below it the series are exact to rounding: the next term is angle^4 / 120


@kernel
def _screw_coefficients(angle):
    """Return (1 - cos) / angle^2 and (angle - sin) / angle^3."""
    if angle < SMALL_ANGLE:
        return 0.5 - angle * angle / 24.0, 1.0 / 6.0 - angle * angle / 120.0
    half = np.sin(0.5 * angle)
    return 2.0 * half * half / (angle * angle), (angle - np.sin(angle)) / angle**3


@kernel
def multiply_quaternion(q, k, x, y, z, w, out):
    """Write the product of the quaternions q[k:] and (x, y, z, w), made unit, to out[k:]."""
    a, b, c, d = q[k], q[k + 1], q[k + 2], q[k + 3]
    i = d * x + a * w + b * z - c * y
    j = d * y + b * w + c * x - a * z
    m = d * z + c * w + a * y - b * x
    n = d * w - a * x - b * y - c * z
    length = np.sqrt(i * i + j * j + m * m + n * n)
    out[k], out[k + 1], out[k + 2], out[k + 3] = i / length, j / length, m / length, n / length


@kernel
def rotate_step(q, k, ox, oy, oz, out):
    """Turn the quaternion at q[k:] by the rotation vector o in its own axes."""
    angle = np.sqrt(ox * ox + oy * oy + oz * oz)
    half = 0.5 * angle
    s = 0.5 - angle * angle / 48.0 if angle < SMALL_ANGLE else np.sin(half) / angle
    multiply_quaternion(q, k, s * ox, s * oy, s * oz, np.cos(half), out)


@kernel
def integrate(mi, q, step, out):
    """Write q moved along a tangent step, Eq. (39) for every spherical and free joint."""
    body_i = table(mi, mi, BODY_I)
    for i in range(1, mi[N_BODIES]):
        joint, k, j = body_i[i, TYPE], body_i[i, IQ], body_i[i, IV]
        if joint <= PRISMATIC:
            out[k] = q[k] + step[j]
        elif joint == SPHERICAL:
            rotate_step(q, k, step[j], step[j + 1], step[j + 2], out)
        elif joint == FREE:
            vx, vy, vz = step[j], step[j + 1], step[j + 2]
            ox, oy, oz = step[j + 3], step[j + 4], step[j + 5]
            b, c = _screw_coefficients(np.sqrt(ox * ox + oy * oy + oz * oz))
            # displacement in moving axes: v + b (o x v) + c (o x (o x v))
            ux, uy, uz = oy * vz - oz * vy, oz * vx - ox * vz, ox * vy - oy * vx
            dx = vx + b * ux + c * (oy * uz - oz * uy)
            dy = vy + b * uy + c * (oz * ux - ox * uz)
            dz = vz + b * uz + c * (ox * uy - oy * ux)
            _add_rotated(q, k + 3, dx, dy, dz, 1.0, q, k, out)
            rotate_step(q, k + 3, ox, oy, oz, out)
        else:  # PLANAR: x, y, cos, sin
            vx, vy, o = step[j], step[j + 1], step[j + 2]
            b, c = _screw_coefficients(abs(o))
            dx = vx - o * b * vy - o * o * c * vx
            dy = vy + o * b * vx - o * o * c * vy
            cs, sn = q[k + 2], q[k + 3]
            out[k] = q[k] + cs * dx - sn * dy
            out[k + 1] = q[k + 1] + sn * dx + cs * dy
            co, so = np.cos(o), np.sin(o)
            nc, ns = cs * co - sn * so, sn * co + cs * so
            length = np.sqrt(nc * nc + ns * ns)
            out[k + 2], out[k + 3] = nc / length, ns / length


@kernel
def _add_rotated(q, k, x, y, z, sign, base, at, out):
    """Write base[at:] plus the vector turned by the quaternion at q[k:] (sign -1: turned back)."""
    a, b, c, d = sign * q[k], sign * q[k + 1], sign * q[k + 2], q[k + 3]
    s = 2.0 / (a * a + b * b + c * c + d * d)
    tx, ty, tz = s * (b * z - c * y), s * (c * x - a * z), s * (a * y - b * x)
    ux, uy, uz = (
        x + d * tx + b * tz - c * ty,
        y + d * ty + c * tx - a * tz,
        z + d * tz + a * ty - b * tx,
    )
    out[at], out[at + 1], out[at + 2] = base[at] + ux, base[at + 1] + uy, base[at + 2] + uz


@kernel
def _rotation_vector(p, q, k, out, j):
    """Write the rotation vector from the quaternion p[k:] to q[k:], in the axes of p."""
    a, b, c, d = -p[k], -p[k + 1], -p[k + 2], p[k + 3]
    x, y, z, w = q[k], q[k + 1], q[k + 2], q[k + 3]
    i = d * x + a * w + b * z - c * y
    m = d * y + b * w + c * x - a * z
    n = d * z + c * w + a * y - b * x
    r = d * w - a * x - b * y - c * z
    if r < 0.0:  # the shorter way round
        i, m, n, r = -i, -m, -n, -r
    s = np.sqrt(i * i + m * m + n * n)
    # angle / sin(angle / 2); atan2 stays exact near half a turn, and near none
    f = 2.0 / r - 2.0 * s * s / (3.0 * r**3) if s < SMALL_ANGLE else 2.0 * np.arctan2(s, r) / s
    out[j], out[j + 1], out[j + 2] = f * i, f * m, f * n


@kernel
def _unscrew(ox, oy, oz, x, y, z, out, j):
    """Write the velocity whose screw about o displaces by (x, y, z); undoes `integrate`."""
    angle = np.sqrt(ox * ox + oy * oy + oz * oz)
    if angle < 1e-2:  # next term: angle^4 / 30240, below rounding
        e = 1.0 / 12.0 + angle * angle / 720.0
    else:
        half = 0.5 * angle
        e = (1.0 - half * np.cos(half) / np.sin(half)) / (angle * angle)
    ux, uy, uz = oy * z - oz * y, oz * x - ox * z, ox * y - oy * x
    out[j] = x - 0.5 * ux + e * (oy * uz - oz * uy)
    out[j + 1] = y - 0.5 * uy + e * (oz * ux - ox * uz)
    out[j + 2] = z - 0.5 * uz + e * (ox * uy - oy * ux)


@kernel
def difference(mi, p, q, out):
    """Write the tangent step that leads from configuration p to configuration q."""
    body_i = table(mi, mi, BODY_I)
    displacement, turn = np.zeros(3), np.zeros(3)
    for i in range(1, mi[N_BODIES]):
        joint, k, j = body_i[i, TYPE], body_i[i, IQ], body_i[i, IV]
        if joint <= PRISMATIC:
            out[j] = q[k] - p[k]
        elif joint == SPHERICAL:
            _rotation_vector(p, q, k, out, j)
        elif joint == FREE:
            displacement[:] = 0.0
            _add_rotated(
                p,
                k + 3,
                q[k] - p[k],
                q[k + 1] - p[k + 1],
                q[k + 2] - p[k + 2],
                -1.0,
                displacement,
                0,
                displacement,
            )
            _rotation_vector(p, q, k + 3, turn, 0)
            _unscrew(
                turn[0],
                turn[1],
                turn[2],
                displacement[0],
                displacement[1],
                displacement[2],
                out,
                j,
            )
            out[j + 3], out[j + 4], out[j + 5] = turn[0], turn[1], turn[2]
        else:  # PLANAR
            cs, sn = p[k + 2], p[k + 3]
            x, y = q[k] - p[k], q[k + 1] - p[k + 1]
            o = np.arctan2(cs * q[k + 3] - sn * q[k + 2], cs * q[k + 2] + sn * q[k + 3])
            _unscrew(0.0, 0.0, o, cs * x + sn * y, cs * y - sn * x, 0.0, displacement, 0)
            out[j], out[j + 1], out[j + 2] = displacement[0], displacement[1], o


@kernel
def neutral(mi, q):
    """Write the configuration with every joint at zero."""
    body_i = table(mi, mi, BODY_I)
    for k in range(mi[NQ]):
        q[k] = 0.0
    for i in range(1, mi[N_BODIES]):
        joint, k = body_i[i, TYPE], body_i[i, IQ]
        if joint == SPHERICAL:
            q[k + 3] = 1.0
        elif joint == FREE:
            q[k + 6] = 1.0
        elif joint == PLANAR:
            q[k + 2] = 1.0
