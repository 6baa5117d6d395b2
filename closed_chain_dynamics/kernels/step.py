"""
One step of a simulation: Runge-Kutta on the manifold, then closing the loops again.

Rotations advance by the exponential of Eq. (39) of paper 2. Within a step the unknown is the
rotation vector u since its start, R = R_0 exp(u), whose rate is u' = J_r(u)^-1 omega: with it a
method keeps its full order, where adding angular velocities would leave only the second.
"""

import numpy as np

from .contact import contact_signs, note_directions
from .coordinates import constraint_matrix, solve_constraints
from .forward import forward_dynamics
from .inertia import energies
from .kinematics import motion, placements
from .layout import (BODY_I, CLUSTER_DOF, CLUSTER_DOFS, CLUSTER_I, CLUSTER_N_DOFS, CLUSTER_RANK,
                     DISSIPATION, EVENT, FREE, IQ, IV, kernel, KINETIC, LOCKED, LOOP_ACTIVE,
                     LOOP_F, LOOP_I, LOOP_MODE, LOOP_N_ROWS, LOOP_OPEN, LOOP_ROW, N_BODIES,
                     N_CLUSTERS, N_CONTACTS, N_LOOPS, N_ROWS, NOT_FINITE, NQ, NV, OK, POTENTIAL,
                     POWER, PRISMATIC, ROW_ERROR, ROW_W, SLIDE, SPHERICAL, STICK, table, TYPE,
                     VECTORS, WORLD_W, ZERO)
from .loop_frames import place_loop
from .loops import active_loop_rows, loop_is_flipped
from .manifold import integrate, rotate_step
from .passive import passive_energy
from .surfaces import surface_normal

# loops count as closed in a simulation at this error; Newton's method gets there in one or two
CLOSED = 1e-13
CLOSING_STEPS = 8
EVENT_TIME = 1e-13   # events are found to this time [s]


@kernel
def _rotation_rate(u, j, ox, oy, oz, rate):
    """Write J_r(u)^-1 omega, the rate of a rotation vector whose body turns with omega."""
    x, y, z = u[j], u[j + 1], u[j + 2]
    angle = np.sqrt(x * x + y * y + z * z)
    if angle < 1e-2:   # next term angle^4 / 30240
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
        elif joint == FREE:   # velocities are in the moving frame, positions are not
            x, y, z, c = q[k + 3], q[k + 4], q[k + 5], q[k + 6]
            s = 2.0 / (x * x + y * y + z * z + c * c)
            a, b, d = v[j], v[j + 1], v[j + 2]
            tx, ty, tz = s * (y * d - z * b), s * (z * a - x * d), s * (x * b - y * a)
            rate[j] = a + c * tx + y * tz - z * ty
            rate[j + 1] = b + c * ty + z * tx - x * tz
            rate[j + 2] = d + c * tz + x * ty - y * tx
            _rotation_rate(u, j + 3, v[j + 3], v[j + 4], v[j + 5], rate)
        else:   # PLANAR
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
        else:   # PLANAR
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
        status = _stage(mi, mf, w, stage_q, stage_v, tau_A, extra, wrenches, u, slope[:nv],
                        slope[nv:2 * nv], slope[2 * nv:2 * nv + 2])
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
        v[j] += dt / 6.0 * (work[3, nv + j] + 2.0 * work[4, nv + j] + 2.0 * work[5, nv + j]
                            + work[6, nv + j])
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
        for j in range(nv):
            u[j] = 0.0
        for c in range(mi[N_CLUSTERS]):
            row = cluster_i[c]
            J = constraint_matrix(mi, mf, w, c)
            for s in range(row[CLUSTER_RANK]):
                u[dofs[row[CLUSTER_DOF] + s]] = -J[s, row[CLUSTER_N_DOFS]]
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


@kernel
def record(mi, mf, w, q, v, t, books, row):
    """Write time, energies, books and loop error of a state to a row of the log."""
    placements(mi, mf, w, q)
    motion(mi, mf, w, v, table(w, mi, VECTORS)[ZERO], 0.0)
    energies(mi, mf, w)
    active_loop_rows(mi, mf, w, False)
    world, rows = table(w, mi, WORLD_W)[0], table(w, mi, ROW_W)
    worst = 0.0
    for k in range(mi[N_LOOPS]):
        loop = table(mi, mi, LOOP_I)[k]
        if loop[LOOP_ACTIVE]:
            for r in range(loop[LOOP_ROW], loop[LOOP_ROW] + loop[LOOP_N_ROWS]):
                worst = max(worst, abs(rows[r, ROW_ERROR]))
    row[0], row[1], row[2] = t, world[KINETIC], world[POTENTIAL] + passive_energy(mi, mf, w, q)
    row[3], row[4], row[5] = books[0], books[1], worst


@kernel
def _take_step(mi, mf, w, q, v, tau_A, extra, wrenches, dt, method, books, work):
    """Take one step and close the loops; return a status."""
    if method == 0:
        status = euler_step(mi, mf, w, q, v, tau_A, extra, wrenches, dt, books, work)
    else:
        status = rk4_step(mi, mf, w, q, v, tau_A, extra, wrenches, dt, books, work)
    if status == OK:
        status = close_loops(mi, mf, w, q, v, work)
    if status == OK:
        total = 0.0
        for j in range(mi[NV]):
            total += 0.0 * v[j]
        status = OK if total == 0.0 else NOT_FINITE
    return status


@kernel
def _happened(mi, mf, w, q, v, tau_A, extra, wrenches, work, signs):
    """Return whether any contact tells of an event in this state; its signs are written."""
    status = OK
    if mi[N_CONTACTS]:
        status = forward_dynamics(mi, mf, w, q, v, tau_A, extra, wrenches, work[3, :mi[NV]])
    else:
        placements(mi, mf, w, q)
        motion(mi, mf, w, v, table(w, mi, VECTORS)[ZERO], 0.0)
    contact_signs(mi, mf, w, signs)
    return status, np.min(signs) < 0.0


@kernel
def compute_loop_placement(mi, mf, w, q, v, k):
    """Compute where a contact is, its normal, and how all bodies move."""
    placements(mi, mf, w, q)
    motion(mi, mf, w, v, table(w, mi, VECTORS)[ZERO], 0.0)
    surface_normal(table(mi, mi, LOOP_I)[k], table(mf, mi, LOOP_F)[k], place_loop(mi, mf, w, k))


@kernel
def compute_signs(mi, mf, w, q, v, tau_A, extra, wrenches, work, signs):
    """Write the signs of all contacts in a state; return a status."""
    return _happened(mi, mf, w, q, v, tau_A, extra, wrenches, work, signs)[0]


@kernel
def compute_run(mi, mf, w, q, v, tau_A, extra, wrenches, start, first, dt, steps, method, stride,
                books, work, log, log_q, log_v, signs):
    """
    Take steps and log every `stride`-th state; return a status, steps taken, time, samples.

    Time is `start` + dt times the number of steps since then, of which `first` are taken before:
    one run and many short ones have the same times and log the same states.

    A step that fails leaves the state as it was before it. At an event of a contact the run ends
    with EVENT, in the state at its instant, found by halving the step; `signs` tell which it is.
    """
    nq, nv = mi[NQ], mi[NV]
    logged = 0
    watch = False
    for k in range(mi[N_LOOPS]):
        loop = table(mi, mi, LOOP_I)[k]
        watch = watch or loop[LOOP_MODE] == SLIDE or loop[LOOP_MODE] == STICK
    keep_q, keep_v, keep_books = np.empty(nq), np.empty(nv), np.empty(2)
    for step in range(steps):
        now = start + (first + step) * dt
        keep_q[:], keep_v[:], keep_books[:] = q[:nq], v[:nv], books[:2]
        status = _take_step(mi, mf, w, q, v, tau_A, extra, wrenches, dt, method, books, work)
        event = False
        if status == OK and watch:
            status, event = _happened(mi, mf, w, q, v, tau_A, extra, wrenches, work, signs)
        if status != OK and status != LOCKED:
            q[:nq], v[:nv], books[:2] = keep_q, keep_v, keep_books
            return status, step, now, logged
        if event or status == LOCKED:
            early, late = 0.0, 1.0
            while (late - early) * dt > EVENT_TIME:
                middle = 0.5 * (early + late)
                q[:nq], v[:nv], books[:2] = keep_q, keep_v, keep_books
                status = _take_step(mi, mf, w, q, v, tau_A, extra, wrenches, middle * dt, method,
                                    books, work)
                if status == OK:
                    status, event = _happened(mi, mf, w, q, v, tau_A, extra, wrenches, work, signs)
                if event or status != OK:
                    late = middle
                else:
                    early = middle
            q[:nq], v[:nv], books[:2] = keep_q, keep_v, keep_books
            status = _take_step(mi, mf, w, q, v, tau_A, extra, wrenches, late * dt, method, books,
                                work)
            if status == OK:
                status, _ = _happened(mi, mf, w, q, v, tau_A, extra, wrenches, work, signs)
            if status != OK:   # friction locks: up to there
                q[:nq], v[:nv], books[:2] = keep_q, keep_v, keep_books
                if early > 0.0:
                    _take_step(mi, mf, w, q, v, tau_A, extra, wrenches, early * dt, method, books,
                               work)
                return status, step, now + early * dt, logged
            return EVENT, step, now + late * dt, logged
        if watch:
            note_directions(mi, mf, w)
        if stride > 0 and (first + step + 1) % stride == 0:
            record(mi, mf, w, q, v, start + (first + step + 1) * dt, books, log[logged])
            log_q[logged, :nq], log_v[logged, :nv] = q[:nq], v[:nv]
            logged += 1
    return OK, steps, start + (first + steps) * dt, logged
