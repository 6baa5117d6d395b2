"""
Following named joints: one instant of a state that is kept complete (see control/loop_state.py).

The pose is foreseen by the last velocity, the named joints are put where they are, and theta_S
follows where they are theta_G; else theta_G moves along W until they fit best. Velocities fit
named rates in the same way.
"""

import numpy as np

from .coordinates import constraint_matrix, solve_constraints, write_W
from .kinematics import check_state, placements
from .layout import (
    CLUSTER_DOF,
    CLUSTER_DOFS,
    CLUSTER_I,
    CLUSTER_N_DOFS,
    CLUSTER_RANK,
    DOF_DEPENDENT,
    DOF_I,
    MOBILITY,
    N_CLUSTERS,
    N_ROWS,
    NQ,
    NV,
    OK,
    ROW_ERROR,
    ROW_W,
    kernel,
    table,
)
from .manifold import difference, integrate
from .step import CLOSED, CLOSING_STEPS, close_loops
from .tangent import compute_tangent

# what happened: done; bad numbers (the status of the kernels); too far; a harder way is needed
FOLLOWED, BAD, FAR, HARD = range(4)
# facts that are written: distance to the foreseen pose, largest misfit of positions and its place,
# of rates, largest change of speed of unnamed and of named velocities, speed before, free motions
DISTANCE, MISFIT, WORST, RATE_MISFIT, UNNAMED_CHANGE, NAMED_CHANGE, SPEED, FREE = range(8)
N_FACTS = 8
STEPS = 10  # of Gauss-Newton; a fresh prediction needs one or two
CONVERGED = 1e-11  # square of the last step, of which the rest is [rad, or typical lengths]
SLOW = 1e-3  # a step that is still this long after all of them does not converge
WEAK = 0.01  # share that named joints have in a motion below which it is damped
NEARLY_CLOSED = 1e-7  # a complete pose that moves less when it is closed needs no fit
SAME_RATE = 1e-9  # share of a velocity that is rounding


@kernel
def compute_fit(mi, W, scale, places, R, gain, sigma):
    """
    Write the least-squares fit of theta_G' to named velocities: `gain` times these.

    Columns of W R, freed of units, are orthonormal; `sigma` are the shares that the named
    velocities have in motions of length one. Those below WEAK are damped.
    """
    m, n = mi[MOBILITY], places.size
    gain[:, :] = 0.0
    sigma[:] = 0.0
    if m == 0:
        return
    free = np.empty((mi[NV], m))
    for j in range(mi[NV]):
        for g in range(m):
            free[j, g] = W[j, g] / scale[j]
    # |H| is bounded by the choice of theta_G, so that squares do no harm
    inverse = np.linalg.inv(np.linalg.cholesky(np.dot(free.T, free)))
    for g in range(m):
        for k in range(m):
            R[g, k] = inverse[k, g]
    if n == 0:
        return
    named = np.empty((n, m))
    for i in range(n):
        for k in range(m):
            named[i, k] = 0.0
            for g in range(m):
                named[i, k] += free[places[i], g] * inverse[k, g]
    squares, V = np.linalg.eigh(np.dot(named.T, named))
    for k in range(m):
        sigma[k] = np.sqrt(max(squares[k], 0.0))
        weak = WEAK * max(1.0 - (sigma[k] / WEAK) ** 2, 0.0)
        factor = 1.0 / (sigma[k] ** 2 + weak**2 + 1e-300)
        along = np.dot(inverse.T, np.ascontiguousarray(V[:, k]))
        seen = np.dot(named, np.ascontiguousarray(V[:, k]))
        for i in range(n):
            f = factor * seen[i] / scale[places[i]]
            for g in range(m):
                gain[g, i] += f * along[g]


@kernel
def distance(mi, scale, q_from, q_to, away):
    """Return the largest difference of two poses [rad, or typical lengths]."""
    difference(mi, q_from, q_to, away)
    largest = 0.0
    for j in range(mi[NV]):
        largest = max(largest, abs(away[j]) / scale[j])
    return largest


@kernel
def is_theta_G(mi, places):
    """Return whether named velocities are the generalized ones, no more and no less."""
    dof_i = table(mi, mi, DOF_I)
    if places.size != mi[MOBILITY]:
        return False
    for j in places:
        if dof_i[j, DOF_DEPENDENT]:
            return False
    return True


@kernel
def _close(mi, mf, w, q, scale, work):
    """Close the loops of q in place; return how far it moved, or -1 where Newton fails."""
    zero, away, moved = np.zeros(mi[NV]), np.empty(mi[NV]), q.copy()
    if close_loops(mi, mf, w, moved, zero, work) != OK:
        return -1.0
    far = distance(mi, scale, q, moved, away)
    q[:] = moved
    return far


@kernel
def _close_nearest(mi, mf, w, q, scale, W, R, gain, sigma):
    """
    Close the loops of q in place by the smallest motion; return how far it moved, -1 for failure.

    Newton's step in theta_S, without its part along the motions that the loops allow: so theta_G
    need not stay, where it cannot, with bars in line.
    """
    nv, nobody = mi[NV], np.empty(0, np.int64)
    cluster_i, dofs = table(mi, mi, CLUSTER_I), table(mi, mi, CLUSTER_DOFS)[0]
    rows = table(w, mi, ROW_W)
    zero, u, moved, away = np.zeros(nv), np.empty(nv), np.empty(mi[NQ]), np.empty(nv)
    start = q.copy()
    for attempt in range(CLOSING_STEPS):
        placements(mi, mf, w, q)
        solve_constraints(mi, mf, w, q, zero, False)
        worst = 0.0
        for r in range(mi[N_ROWS]):
            worst = max(worst, abs(rows[r, ROW_ERROR]))
        if worst <= CLOSED or (attempt == CLOSING_STEPS - 1 and worst <= 1e2 * CLOSED):
            return distance(mi, scale, start, q, away)
        for j in range(nv):
            u[j] = 0.0
        for c in range(mi[N_CLUSTERS]):
            row, J = cluster_i[c], constraint_matrix(mi, mf, w, c)
            for s in range(row[CLUSTER_RANK]):
                u[dofs[row[CLUSTER_DOF] + s]] = -J[s, row[CLUSTER_N_DOFS]]
        write_W(mi, mf, w, W)
        compute_fit(mi, W, scale, nobody, R, gain, sigma)
        _project(mi, W, R, scale, u, away)
        for j in range(nv):
            u[j] -= away[j]
        integrate(mi, q, u, moved)
        q[:] = moved
    return -1.0


@kernel
def _project(mi, W, R, scale, v, out):
    """Write the velocity nearest to v that the loops allow."""
    m, nv = mi[MOBILITY], mi[NV]
    for j in range(nv):
        out[j] = 0.0
    for g in range(m):
        along = 0.0
        for j in range(nv):
            column = 0.0
            for k in range(m):
                column += W[j, k] * R[k, g]
            along += column * v[j] / scale[j] ** 2
        for j in range(nv):
            for k in range(m):
                out[j] += W[j, k] * R[k, g] * along


@kernel
def _fit_pose(mi, mf, w, q, target, places, scale, jump, W, drift, R, gain, sigma):
    """Move q along W until named joints fit the target best; return FOLLOWED or HARD."""
    nv, moved = mi[NV], np.empty(mi[NQ])
    zero, away, step = np.zeros(nv), np.empty(nv), np.empty(nv)
    if not 0.0 <= _close_nearest(mi, mf, w, q, scale, W, R, gain, sigma) <= jump:
        return HARD
    size = 0.0
    for _ in range(STEPS):
        if compute_tangent(mi, mf, w, q, zero, W, drift) != OK:
            return HARD
        compute_fit(mi, W, scale, places, R, gain, sigma)
        difference(mi, q, target, away)
        size = _along(mi, W, gain, places, away, step, scale)
        integrate(mi, q, step, moved)
        q[:] = moved
        if not 0.0 <= _close_nearest(mi, mf, w, q, scale, W, R, gain, sigma) <= jump:
            return HARD
        if size * size < CONVERGED:  # what is left is of second order
            break
    return FOLLOWED if size < SLOW else HARD


@kernel
def _along(mi, W, gain, places, wanted, out, scale):
    """Write W gain wanted[places]; return its largest entry, free of units."""
    largest = 0.0
    for j in range(mi[NV]):
        out[j] = 0.0
    for g in range(mi[MOBILITY]):
        rate = 0.0
        for i in range(places.size):
            rate += gain[g, i] * wanted[places[i]]
        for j in range(mi[NV]):
            out[j] += W[j, g] * rate
    for j in range(mi[NV]):
        largest = max(largest, abs(out[j]) / scale[j])
    return largest


@kernel
def velocity_of_theta_G(mi, W, wanted, v):
    """Write v = W theta_G', theta_G' from a vector over all velocities."""
    dof_i = table(mi, mi, DOF_I)
    for j in range(mi[NV]):
        v[j] = 0.0
    g = 0
    for k in range(mi[NV]):
        if not dof_i[k, DOF_DEPENDENT]:
            for j in range(mi[NV]):
                v[j] += W[j, g] * wanted[k]
            g += 1


@kernel
def fit_velocity(
    mi, mf, w, q, before, wanted, places, scale, usually_free, W, drift, R, gain, sigma, v, facts
):
    """
    Write the velocity that the loops allow and that fits the wanted rates of named joints best.

    Motions that named joints usually fix, and do not fix here, go on as before.
    """
    nv = mi[NV]
    zero, rest = np.zeros(nv), np.zeros(nv)
    compute_tangent(mi, mf, w, q, zero, W, drift)
    if places.size == nv or is_theta_G(mi, places):
        velocity_of_theta_G(mi, W, wanted, v)
        misfit = speed = 0.0
        for j in places:
            misfit, speed = max(misfit, abs(v[j] - wanted[j])), max(speed, abs(v[j]))
        facts[RATE_MISFIT], facts[FREE] = misfit, 0.0
        if misfit <= SAME_RATE * max(speed, 1.0):
            return
    compute_fit(mi, W, scale, places, R, gain, sigma)
    free = 0
    for g in range(mi[MOBILITY]):
        free += sigma[g] <= WEAK
    facts[FREE] = free
    for j in range(nv):
        v[j] = 0.0
    if free > usually_free:
        _project(mi, W, R, scale, before, v)
    for j in places:
        rest[j] = wanted[j] - v[j]
    _along(mi, W, gain, places, rest, zero, scale)
    for j in range(nv):
        v[j] += zero[j]
    misfit = 0.0
    for j in places:
        misfit = max(misfit, abs(v[j] - wanted[j]))
    facts[RATE_MISFIT] = misfit


@kernel
def compute_follow(
    mi,
    mf,
    w,
    q,
    v,
    dt,
    position,
    rates,
    q_places,
    places,
    scale,
    jump,
    usually_free,
    work,
    W,
    drift,
    R,
    gain,
    sigma,
    ahead,
    found,
    v_found,
    facts,
):
    """
    Write the pose and velocity that named positions and rates lead to; return what happened.

    Rates that are nan go on as before, or follow from the positions where all are.
    """
    nv = mi[NV]
    away, target = np.empty(nv), np.empty(mi[NQ])
    for j in range(nv):
        away[j] = dt * v[j]
    integrate(mi, q, away, ahead)
    target[:] = ahead
    for i in range(q_places.size):
        target[q_places[i]] = position[i]
    if check_state(mi, target, v, v) != OK:
        return BAD
    if not distance(mi, scale, ahead, target, away) <= jump:
        return FAR
    found[:] = target
    quick = is_theta_G(mi, places)
    if quick or places.size == nv:
        far = _close(mi, mf, w, found, scale, work)
        quick = 0.0 <= far <= (jump if quick else NEARLY_CLOSED)
    if not quick:
        found[:] = ahead
        if (
            _fit_pose(mi, mf, w, found, target, places, scale, jump, W, drift, R, gain, sigma)
            != FOLLOWED
        ):
            return HARD
    facts[DISTANCE] = distance(mi, scale, ahead, found, away)
    difference(mi, found, target, away)
    facts[MISFIT], facts[WORST] = 0.0, 0.0
    for i in range(places.size):
        off = abs(away[places[i]]) / scale[places[i]]
        if off > facts[MISFIT]:
            facts[MISFIT], facts[WORST] = off, i
    wanted, unknown = np.zeros(nv), 0
    for i in range(places.size):
        unknown += np.isnan(rates[i])
    difference(mi, q, found, away)
    for i in range(places.size):
        j = places[i]
        if unknown == places.size and dt > 0.0:
            wanted[j] = away[j] / dt
        else:
            wanted[j] = v[j] if np.isnan(rates[i]) else rates[i]
    fit_velocity(
        mi,
        mf,
        w,
        found,
        v,
        wanted,
        places,
        scale,
        usually_free,
        W,
        drift,
        R,
        gain,
        sigma,
        v_found,
        facts,
    )
    facts[SPEED] = facts[UNNAMED_CHANGE] = facts[NAMED_CHANGE] = 0.0
    for j in range(nv):
        facts[SPEED] = max(facts[SPEED], abs(v[j]) / scale[j])
        wanted[j] = abs(v_found[j] - v[j]) / scale[j]
    for j in places:
        facts[NAMED_CHANGE] = max(facts[NAMED_CHANGE], wanted[j])
        wanted[j] = 0.0
    for j in range(nv):
        facts[UNNAMED_CHANGE] = max(facts[UNNAMED_CHANGE], wanted[j])
    return FOLLOWED
