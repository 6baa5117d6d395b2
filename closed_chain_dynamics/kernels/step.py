"""
The methods of integration: Runge-Kutta and Euler on the manifold, and closing the loops again.

Rotations advance by the exponential of Eq. (39) of paper 2. Within a step the unknown is the
rotation vector u since its start, R = R_0 exp(u), whose rate is u' = J_r(u)^-1 omega: with it a
method keeps its full order, where adding angular velocities would leave only the second.
"""

import numpy as np

from .coordinates import constraint_matrix, solve_constraints
from .forward import forward_dynamics
from .kinematics import placements
from .layout import (
    BODY_I,
    CLUSTER_DOF,
    CLUSTER_DOFS,
    CLUSTER_I,
    CLUSTER_N_DOFS,
    CLUSTER_RANK,
    DISSIPATION,
    FREE,
    IQ,
    IV,
    LOOP_ACTIVE,
    LOOP_I,
    LOOP_OPEN,
    N_BODIES,
    N_CLUSTERS,
    N_LOOPS,
    N_ROWS,
    NQ,
    NV,
    OK,
    POWER,
    PRISMATIC,
    ROW_ERROR,
    ROW_W,
    SPHERICAL,
    TYPE,
    WORLD_W,
    kernel,
    table,
)
from .loops import loop_is_flipped
from .manifold import integrate, rotate_step

# loops count as closed in a simulation at this error; Newton's method gets there in one or two
CLOSED = 1e-13
CLOSING_STEPS = 8


@kernel
def _rotation_rate(u, j, ox, oy, oz, rate):
    """Write J_r(u)^-1 omega, the rate of a rotation vector whose body turns with omega."""
    x, y, z = u[j], u[j + 1], u[j + 2]
    angle = np.sqrt(x * x + y * y + z * z)
    if angle < 1e-2:  # next term angle^4 / 30240
        e = 1.0 / 12.0 + angle * angle / 720.0
    else:
        half = 0.5 * angle
        e = (1.0 - half * np.cos(half) / np.sin(half)) / (angle * angle)
    cx, cy, cz = y * oz - z * oy, z * ox - x * oz, x * oy - y * ox
    rate[j] = ox + 0.5 * cx + e * (y * cz - z * cy)
    rate[j + 1] = oy + 0.5 * cy + e * (z * cx - x * cz)
    rate[j + 2] = oz + 0.5 * cz + e * (x * cy - y * cx)


@kernel
def local_rate(mi, q, v, u, rate):
    """Write the rate of the local coordinates u that `advance` moves a configuration by."""
    body_i = table(mi, mi, BODY_I)
    for i in range(1, mi[N_BODIES]):
        joint, k, j = body_i[i, TYPE], body_i[i, IQ], body_i[i, IV]
        if joint <= PRISMATIC:
            rate[j] = v[j]
        elif joint == SPHERICAL:
            _rotation_rate(u, j, v[j], v[j + 1], v[j + 2], rate)
        elif joint == FREE:  # velocities are in the moving frame, positions are not
            x, y, z, c = q[k + 3], q[k + 4], q[k + 5], q[k + 6]
            s = 2.0 / (x * x + y * y + z * z + c * c)
            a, b, d = v[j], v[j + 1], v[j + 2]
            tx, ty, tz = s * (y * d - z * b), s * (z * a - x * d), s * (x * b - y * a)
            rate[j] = a + c * tx + y * tz - z * ty
            rate[j + 1] = b + c * ty + z * tx - x * tz
            rate[j + 2] = d + c * tz + x * ty - y * tx
            _rotation_rate(u, j + 3, v[j + 3], v[j + 4], v[j + 5], rate)
        else:  # PLANAR
            cs, sn = q[k + 2], q[k + 3]
            rate[j] = cs * v[j] - sn * v[j + 1]
            rate[j + 1] = sn * v[j] + cs * v[j + 1]
            rate[j + 2] = v[j + 2]


@kernel
def advance(mi, q, u, out):
    """Write q moved by local coordinates: rotations by their exponential, Eq. (39)."""
    body_i = table(mi, mi, BODY_I)
    for i in range(1, mi[N_BODIES]):
        joint, k, j = body_i[i, TYPE], body_i[i, IQ], body_i[i, IV]
        if joint <= PRISMATIC:
            out[k] = q[k] + u[j]
        elif joint == SPHERICAL:
            rotate_step(q, k, u[j], u[j + 1], u[j + 2], out)
        elif joint == FREE:
            for r in range(3):
                out[k + r] = q[k + r] + u[j + r]
            rotate_step(q, k + 3, u[j + 3], u[j + 4], u[j + 5], out)
        else:  # PLANAR
            out[k], out[k + 1] = q[k] + u[j], q[k + 1] + u[j + 1]
            c, s = np.cos(u[j + 2]), np.sin(u[j + 2])
            x, y = q[k + 2] * c - q[k + 3] * s, q[k + 3] * c + q[k + 2] * s
            length = np.sqrt(x * x + y * y)
            out[k + 2], out[k + 3] = x / length, y / length


@kernel
def _stage(mi, mf, w, q, v, tau_A, extra, wrenches, u, rate, a, books):
    """Evaluate one stage: rates of local coordinates, velocities and energy books."""
    status = forward_dynamics(mi, mf, w, q, v, tau_A, extra, wrenches, a)
    local_rate(mi, q, v, u, rate)
    world = table(w, mi, WORLD_W)[0]
    books[0], books[1] = world[POWER], world[DISSIPATION]
    return status


@kernel
def rk4_step(mi, mf, w, q, v, tau_A, extra, wrenches, dt, books, work):
    """
    Advance q, v and the energy books by one step of the classical Runge-Kutta method.

    `work` is (7, nq + nv + 2): the configuration and velocity of a stage, and four slopes.
    """
    nv, nq = mi[NV], mi[NQ]
    u, stage_q, stage_v = work[0, :nv], work[1, :nq], work[2, :nv]
    for j in range(nv):
        u[j], stage_v[j] = 0.0, v[j]
    for k in range(nq):
        stage_q[k] = q[k]
    for s in range(4):
        slope = work[3 + s]
        status = _stage(
            mi,
            mf,
            w,
            stage_q,
            stage_v,
            tau_A,
            extra,
            wrenches,
            u,
            slope[:nv],
            slope[nv : 2 * nv],
            slope[2 * nv : 2 * nv + 2],
        )
        if status != OK:
            return status
        if s < 3:
            h = dt if s == 2 else 0.5 * dt
            for j in range(nv):
                u[j] = h * slope[j]
                stage_v[j] = v[j] + h * slope[nv + j]
            advance(mi, q, u, stage_q)
    for j in range(nv):
        u[j] = dt / 6.0 * (work[3, j] + 2.0 * work[4, j] + 2.0 * work[5, j] + work[6, j])
        v[j] += (
            dt
            / 6.0
            * (work[3, nv + j] + 2.0 * work[4, nv + j] + 2.0 * work[5, nv + j] + work[6, nv + j])
        )
    for b in range(2):
        k = 2 * nv + b
        books[b] += dt / 6.0 * (work[3, k] + 2.0 * work[4, k] + 2.0 * work[5, k] + work[6, k])
    advance(mi, q, u, stage_q)
    for k in range(nq):
        q[k] = stage_q[k]
    return OK


@kernel
def euler_step(mi, mf, w, q, v, tau_A, extra, wrenches, dt, books, work):
    """Advance by one step of the semi-implicit Euler method: new velocities move the pose."""
    nv, nq = mi[NV], mi[NQ]
    u, stage_q, a, rate = work[0, :nv], work[1, :nq], work[3, :nv], work[4, :nv]
    for j in range(nv):
        u[j] = 0.0
    status = _stage(mi, mf, w, q, v, tau_A, extra, wrenches, u, rate, a, work[5, :2])
    if status != OK:
        return status
    for j in range(nv):
        v[j] += dt * a[j]
    books[0], books[1] = books[0] + dt * work[5, 0], books[1] + dt * work[5, 1]
    local_rate(mi, q, v, u, rate)
    for j in range(nv):
        u[j] = dt * rate[j]
    advance(mi, q, u, stage_q)
    for k in range(nq):
        q[k] = stage_q[k]
    return OK


@kernel
def closing_step(mi, mf, w, u):
    """Write the step of Newton's method that closes the loops, theta_G held."""
    cluster_i, dofs = table(mi, mi, CLUSTER_I), table(mi, mi, CLUSTER_DOFS)[0]
    for j in range(mi[NV]):
        u[j] = 0.0
    for c in range(mi[N_CLUSTERS]):
        row = cluster_i[c]
        J = constraint_matrix(mi, mf, w, c)
        for s in range(row[CLUSTER_RANK]):
            u[dofs[row[CLUSTER_DOF] + s]] = -J[s, row[CLUSTER_N_DOFS]]


@kernel
def close_loops(mi, mf, w, q, v, work):
    """
    Project q and v onto the loops: theta_G stays, theta_S follows by Newton's method.

    Returns LOOP_OPEN where it does not come to an end; then the loops cannot be closed from here.
    """
    if mi[N_ROWS] == 0:
        return OK
    nv, nq = mi[NV], mi[NQ]
    u, moved = work[0, :nv], work[1, :nq]
    cluster_i, dofs = table(mi, mi, CLUSTER_I), table(mi, mi, CLUSTER_DOFS)[0]
    rows = table(w, mi, ROW_W)
    for attempt in range(CLOSING_STEPS):
        placements(mi, mf, w, q)
        solve_constraints(mi, mf, w, q, v, False)
        worst = 0.0
        for r in range(mi[N_ROWS]):
            worst = max(worst, abs(rows[r, ROW_ERROR]))
        if worst <= CLOSED or (attempt == CLOSING_STEPS - 1 and worst <= 1e2 * CLOSED):
            for c in range(mi[N_CLUSTERS]):
                row = cluster_i[c]
                first, rank, n = row[CLUSTER_DOF], row[CLUSTER_RANK], row[CLUSTER_N_DOFS]
                J = constraint_matrix(mi, mf, w, c)
                for s in range(rank):
                    rate = 0.0
                    for g in range(rank, n):
                        rate -= J[s, g] * v[dofs[first + g]]
                    v[dofs[first + s]] = rate
            return _flipped(mi, w)
        closing_step(mi, mf, w, u)
        integrate(mi, q, u, moved)
        for k in range(nq):
            q[k] = moved[k]
    return LOOP_OPEN


@kernel
def _flipped(mi, w):
    for k in range(mi[N_LOOPS]):
        if table(mi, mi, LOOP_I)[k, LOOP_ACTIVE] and loop_is_flipped(mi, w, k):
            return LOOP_OPEN
    return OK
