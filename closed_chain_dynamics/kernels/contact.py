"""
Contact with friction: normal forces, sliding, sticking (paper 3, section III, for any mechanism).

A sliding contact pushes along the normal with f_n and drags against the sliding with K f_n. Motion
and normal forces are linear in the drags: solved without drag and with a unit drag on each
contact, they give the small system (E - Lambda K) f_n = f_n0, which is Eqs. (20), (21) for several
contacts at once. Where it is singular, friction locks the mechanism: the frictional paradox.
"""

import numpy as np

from .closed_chain import applied_forces, solve_motion
from .coordinates import constraint_matrix
from .kinematics import motion
from .layout import (
    BIAS,
    BODY_W,
    CLUSTER_DOF,
    CLUSTER_DOFS,
    CLUSTER_I,
    CLUSTER_LOOP,
    CLUSTER_LOOPS,
    CLUSTER_N_DOFS,
    CLUSTER_N_LOOPS,
    CLUSTER_RANK,
    CLUSTER_WIDTH,
    CONTACT_NORMAL,
    DIRECTION,
    DISSIPATION,
    FRICTION_FORCE,
    LENGTH,
    LOCKED,
    LOOP_ACTIVE,
    LOOP_BODY_1,
    LOOP_BODY_2,
    LOOP_CONTACT,
    LOOP_F,
    LOOP_I,
    LOOP_MODE,
    LOOP_N_ROWS,
    LOOP_P_2,
    LOOP_W,
    MU,
    MU_STATIC,
    N_CLUSTERS,
    N_LOOPS,
    NO_MODE,
    NORMAL_FORCE,
    NV,
    OK,
    SLIDE,
    SLIDING,
    SOFT,
    STICK,
    UNILATERAL,
    VECTORS,
    WORLD_F,
    WORLD_W,
    kernel,
    table,
)
from .loop_frames import place_loop
from .newton_euler import body_forces, pass_forces_inwards, project_forces
from .passive import push_apart
from .surfaces import sliding_velocity, surface_distance, surface_normal

LOCKING = 1e-9  # share of the normal forces below which friction locks
STANDING = 1e-9  # speed below which the direction of sliding is the one noted [m/s]
MOVING = 1e-7  # speed above which a direction of sliding is noted [m/s]
TOUCHING = 1e-11  # depth at which an open contact has touched: above the rounding of one [m]
NO_LOAD = 1e-12  # share of the largest normal force that is rounding


@kernel
def _drag(mi, w, k, force):
    """Put the drag of a sliding contact on its two bodies."""
    loop, x = table(mi, mi, LOOP_I)[k], table(w, mi, LOOP_W)[k]
    tx, ty, tz = x[SLIDING], x[SLIDING + 1], x[SLIDING + 2]
    px, py, pz = x[LOOP_P_2], x[LOOP_P_2 + 1], x[LOOP_P_2 + 2]
    covector = np.array([tx, ty, tz, py * tz - pz * ty, pz * tx - px * tz, px * ty - py * tx])
    push_apart(mi, w, loop[LOOP_BODY_1], loop[LOOP_BODY_2], covector, -force)


@kernel
def sliding_direction(mi, mf, w, k):
    """Write the direction in which a contact slides; standing still, the one noted for it."""
    loop, law, x = table(mi, mi, LOOP_I)[k], table(mf, mi, LOOP_F)[k], table(w, mi, LOOP_W)[k]
    body_w = table(w, mi, BODY_W)
    vx, vy, vz, _ = sliding_velocity(x, body_w[loop[LOOP_BODY_1]], body_w[loop[LOOP_BODY_2]])
    speed = np.sqrt(vx * vx + vy * vy + vz * vz)
    noted = np.empty(3)
    for i in range(3):
        noted[i] = (
            x[3 * i] * law[DIRECTION]
            + x[3 * i + 1] * law[DIRECTION + 1]
            + x[3 * i + 2] * law[DIRECTION + 2]
        )
    forward = vx * noted[0] + vy * noted[1] + vz * noted[2]
    if speed > STANDING and (forward > 0.0 or not np.any(noted)):
        x[SLIDING], x[SLIDING + 1], x[SLIDING + 2] = vx / speed, vy / speed, vz / speed
    else:  # within a step the friction does not turn round: that is an event
        for i in range(3):
            x[SLIDING + i] = noted[i]
    return forward


@kernel
def _forces_at(mi, mf, w, q, v, a, tau_A, extra, wrenches, drags):
    """Compute the bodies' forces at accelerations a with given drags; return those on joints."""
    motion(mi, mf, w, v, a, 1.0)
    body_forces(mi, mf, w)
    tau = applied_forces(mi, mf, w, q, v, tau_A, extra, wrenches)
    for k in range(mi[N_LOOPS]):
        if drags[k] != 0.0:
            _drag(mi, w, k, drags[k])
    return tau


@kernel
def _try(mi, mf, w, q, v, tau_A, extra, wrenches, drags, acceleration, residual):
    """Solve the motion with given drags, and write what the constraints have to carry."""
    bias = table(w, mi, VECTORS)[BIAS]
    tau = _forces_at(mi, mf, w, q, v, bias, tau_A, extra, wrenches, drags)
    status = solve_motion(mi, mf, w, tau, acceleration)
    if status != OK:
        return status
    for j in range(mi[NV]):
        acceleration[j] += bias[j]
    tau = _forces_at(mi, mf, w, q, v, acceleration, tau_A, extra, wrenches, drags)
    pass_forces_inwards(mi, w)
    project_forces(mi, w, residual)
    for j in range(mi[NV]):
        residual[j] -= tau[j]
    return OK


@kernel
def _row_forces(J, n, rank, residual, dofs):
    """
    Return the forces in the rows of a cluster that carry the residual, (rows,).

    Elimination kept its row operations: the first `rank` rows of them give a solution, the others
    are forces in balance. Of all solutions it is the one of least norm: equal supports share.
    """
    m = J.shape[0]
    forces, balanced = np.zeros(m), J[rank:, n + 1 : n + 1 + m].copy()
    for s in range(rank):
        for i in range(m):
            forces[i] += J[s, n + 1 + i] * residual[dofs[s]]
    for r in range(m - rank):  # Gram and Schmidt, and off with what is in balance
        for s in range(r):
            balanced[r] -= np.sum(balanced[s] * balanced[r]) * balanced[s]
        balanced[r] /= np.sqrt(np.sum(balanced[r] * balanced[r]))
        forces -= np.sum(balanced[r] * forces) * balanced[r]
    return forces


@kernel
def _contact_forces(mi, mf, w, residual, normal):
    """Write the constraint force of every contact: along the normal, and of a sticking one all."""
    cluster_i, loop_i = table(mi, mi, CLUSTER_I), table(mi, mi, LOOP_I)
    dofs, loops = table(mi, mi, CLUSTER_DOFS)[0], table(mi, mi, CLUSTER_LOOPS)[0]
    unit = 1.0 / table(mf, mi, WORLD_F)[0, LENGTH]
    for c in range(mi[N_CLUSTERS]):
        row = cluster_i[c]
        n, first = row[CLUSTER_N_DOFS], row[CLUSTER_DOF]
        if row[CLUSTER_WIDTH] == n + 1:
            continue
        forces = _row_forces(
            constraint_matrix(mi, mf, w, c),
            n,
            row[CLUSTER_RANK],
            residual,
            dofs[first : first + n],
        )
        i = 0
        for k in loops[row[CLUSTER_LOOP] : row[CLUSTER_LOOP] + row[CLUSTER_N_LOOPS]]:
            x, mode, rows = table(w, mi, LOOP_W)[k], loop_i[k, LOOP_MODE], loop_i[k, LOOP_N_ROWS]
            if mode == SLIDE or mode == STICK:
                _resolve(x, mode, unit * forces[i : i + rows])
                normal[k] = x[NORMAL_FORCE]
            i += rows


@kernel
def _resolve(x, mode, force):
    """Write normal force and, of a sticking contact, friction force in world axes."""
    if mode == SLIDE:
        x[NORMAL_FORCE] = force[0]
        return
    total = np.zeros(3)
    for i in range(3):
        total[i] = x[3 * i] * force[0] + x[3 * i + 1] * force[1] + x[3 * i + 2] * force[2]
    normal = 0.0
    for i in range(3):
        normal += total[i] * x[CONTACT_NORMAL + i]
    x[NORMAL_FORCE] = normal
    for i in range(3):
        x[FRICTION_FORCE + i] = total[i] - normal * x[CONTACT_NORMAL + i]


@kernel
def contact_dynamics(mi, mf, w, q, v, tau_A, extra, wrenches, acceleration):
    """Write theta_O'' with friction in every sliding contact; forces are left in LOOP_W."""
    loop_i, law = table(mi, mi, LOOP_I), table(mf, mi, LOOP_F)
    n, count = mi[N_LOOPS], 0
    residual, drags, normal = np.empty(mi[NV]), np.zeros(n), np.zeros(n)
    rough = np.empty(n, np.int64)
    for k in range(n):
        if loop_i[k, LOOP_ACTIVE] and loop_i[k, LOOP_MODE] == SLIDE:
            sliding_direction(mi, mf, w, k)
            table(w, mi, LOOP_W)[k, FRICTION_FORCE : FRICTION_FORCE + 3] = 0.0
            if law[k, MU] > 0.0:
                rough[count] = k
                count += 1
    status = _try(mi, mf, w, q, v, tau_A, extra, wrenches, drags, acceleration, residual)
    if status != OK:
        return status
    _contact_forces(mi, mf, w, residual, normal)
    if count == 0:
        return OK
    free, share = normal.copy(), np.zeros((count, count))
    for b in range(count):  # how a unit drag on one changes the normal force of all
        drags[:] = 0.0
        drags[rough[b]] = 1.0
        status = _try(mi, mf, w, q, v, tau_A, extra, wrenches, drags, acceleration, residual)
        if status != OK:
            return status
        _contact_forces(mi, mf, w, residual, normal)
        for a in range(count):
            share[a, b] = (normal[rough[a]] - free[rough[a]]) * law[rough[b], MU]
    drags[:] = 0.0
    if not _solve_drags(loop_i, law, rough[:count], share, free, drags):
        return LOCKED
    status = _try(mi, mf, w, q, v, tau_A, extra, wrenches, drags, acceleration, residual)
    if status == OK:
        _contact_forces(mi, mf, w, residual, normal)
        _write_drags(mi, w, rough[:count], drags)
    return status


@kernel
def _solve_drags(loop_i, law, rough, share, free, drags):
    """
    Solve (E - share side) f_n = f_n0 for the drags K |f_n|; return whether there are any.

    The determinant is the A of Eq. (20) over m_c. At zero no finite force fits the motion; below
    zero a drag makes more normal force than it needs, and what the equations give has the wrong
    side: both are the frictional paradox. A contact held on both sides drags when it pulls, too.
    """
    count = rough.size
    side, right = np.ones(count), np.empty(count)
    for a in range(count):
        right[a] = free[rough[a]]
        if loop_i[rough[a], LOOP_CONTACT] != UNILATERAL and right[a] < 0.0:
            side[a] = -1.0
    for _ in range(count + 1):
        system = np.eye(count) - share * side
        if not np.linalg.det(system) > LOCKING:
            return False
        forces, settled = np.linalg.solve(system, right), True
        for a in range(count):
            if loop_i[rough[a], LOOP_CONTACT] != UNILATERAL and side[a] * forces[a] < 0.0:
                side[a], settled = -side[a], False
        if settled:
            for a in range(count):
                drags[rough[a]] = law[rough[a], MU] * side[a] * forces[a]
            return True
    return False


@kernel
def _write_drags(mi, w, rough, drags):
    """Write the friction forces of sliding contacts, and the power that they take."""
    loop_i, x = table(mi, mi, LOOP_I), table(w, mi, LOOP_W)
    body_w, world = table(w, mi, BODY_W), table(w, mi, WORLD_W)[0]
    for k in rough:
        vx, vy, vz, _ = sliding_velocity(
            x[k], body_w[loop_i[k, LOOP_BODY_1]], body_w[loop_i[k, LOOP_BODY_2]]
        )
        for i in range(3):
            x[k, FRICTION_FORCE + i] = -drags[k] * x[k, SLIDING + i]
        world[DISSIPATION] += drags[k] * (
            vx * x[k, SLIDING] + vy * x[k, SLIDING + 1] + vz * x[k, SLIDING + 2]
        )


@kernel
def note_directions(mi, mf, w):
    """Note in which direction each contact slides, after a step; return whether any turned."""
    turned = False
    loop_i, law, body_w = table(mi, mi, LOOP_I), table(mf, mi, LOOP_F), table(w, mi, BODY_W)
    for k in range(mi[N_LOOPS]):
        loop, x = loop_i[k], table(w, mi, LOOP_W)[k]
        if loop[LOOP_ACTIVE] and loop[LOOP_MODE] == SLIDE:
            vx, vy, vz, _ = sliding_velocity(
                x, body_w[loop[LOOP_BODY_1]], body_w[loop[LOOP_BODY_2]]
            )
            speed = np.sqrt(vx * vx + vy * vy + vz * vz)
            if speed > MOVING:
                turned = turned or vx * x[SLIDING] + vy * x[SLIDING + 1] + vz * x[SLIDING + 2] < 0
                for i in range(3):
                    law[k, DIRECTION + i] = (x[i] * vx + x[3 + i] * vy + x[6 + i] * vz) / speed
    return turned


@kernel
def contact_signs(mi, mf, w, signs):
    """
    Write what tells of an event at each contact, (loops, 2): below zero, it has happened.

    Open: the distance, while it comes nearer. Sliding: the speed in the direction noted, and for a
    unilateral one the normal force. Sticking: what is left of the friction, and the normal force.
    To be called after the motion has been computed.
    """
    loop_i, law, x = table(mi, mi, LOOP_I), table(mf, mi, LOOP_F), table(w, mi, LOOP_W)
    load = 0.0
    for k in range(mi[N_LOOPS]):
        if loop_i[k, LOOP_ACTIVE] and loop_i[k, LOOP_MODE] != NO_MODE:
            load = max(load, abs(x[k, NORMAL_FORCE]))
    for k in range(mi[N_LOOPS]):
        loop = loop_i[k]
        signs[k, 0] = signs[k, 1] = 1.0
        if loop[LOOP_MODE] == NO_MODE or loop[LOOP_MODE] == SOFT:
            continue
        if not loop[LOOP_ACTIVE]:
            signs[k, 0] = _height(mi, mf, w, k)
            continue
        if loop[LOOP_CONTACT] == UNILATERAL:
            signs[k, 1] = x[k, NORMAL_FORCE] + NO_LOAD * load
        if loop[LOOP_MODE] == STICK:
            held = np.sqrt(
                x[k, FRICTION_FORCE] ** 2
                + x[k, FRICTION_FORCE + 1] ** 2
                + x[k, FRICTION_FORCE + 2] ** 2
            )
            signs[k, 0] = law[k, MU_STATIC] * abs(x[k, NORMAL_FORCE]) - held + NO_LOAD * load
        elif law[k, MU] > 0.0:
            signs[k, 0] = sliding_direction(mi, mf, w, k) + STANDING


@kernel
def _height(mi, mf, w, k):
    """Return how far an open contact is from touching its surface; 1 where it moves away."""
    loop, law, body_w = table(mi, mi, LOOP_I)[k], table(mf, mi, LOOP_F)[k], table(w, mi, BODY_W)
    if loop[LOOP_CONTACT] != UNILATERAL:
        return 1.0
    x = place_loop(mi, mf, w, k)
    surface_normal(loop, law, x)
    _, _, _, away = sliding_velocity(x, body_w[loop[LOOP_BODY_1]], body_w[loop[LOOP_BODY_2]])
    return surface_distance(loop, law, x) + TOUCHING if away < 0.0 else 1.0
