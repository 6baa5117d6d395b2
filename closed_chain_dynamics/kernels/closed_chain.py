"""
Inverse and forward dynamics of the closed chain (paper 2, sections II-A and III).

Inverse: tau_O by Newton-Euler, tau_G = W^T tau_O. Forward: A theta_G'' + b = tau_G, cluster by
cluster from the leaves to the root. Each cluster projects its mass matrix, A = W^T M W with
W = [H; E], and hands what it feels like from outside, an articulated inertia, to the body that
carries it. With one cluster this is the papers' dense method, without loops the articulated-body
algorithm; a mechanism with many small loops costs in proportion to its length.
"""

from .coordinates import check_closed, constraint_matrix, solve_constraints
from .inertia import body_inertias, expand_inertia, inner
from .kinematics import check_state, motion, placements
from .layout import (A, ACTUATOR_DOF, ACTUATOR_I, ACTUATOR_ON_LOOP, BIAS, BODY_I, BODY_IA, BODY_W,
                     CLUSTER, CLUSTER_BODIES, CLUSTER_BODY, CLUSTER_DOF, CLUSTER_DOFS, CLUSTER_I,
                     CLUSTER_N_BODIES, CLUSTER_N_DOFS, CLUSTER_N_ROWS, CLUSTER_PARENT,
                     CLUSTER_RANK, CLUSTER_SCRATCH, CLUSTER_WIDTH, D_INVERSE, DISSIPATION,
                     DOF_ACTUATOR, DOF_DEPENDENT, DOF_I, DOF_LOCAL, DOF_W, F, FULL_RANK, IV,
                     kernel, LOOP_ACTIVE, LOOP_BODY_1, LOOP_BODY_2, LOOP_DOF, LOOP_DOF_RATE,
                     LOOP_DOF_W, LOOP_I, LOOP_N_DOFS, matrix, N_ACTUATORS, N_BODIES, N_CLUSTERS,
                     N_DOF, N_LOOPS, N_SPRINGS, NOT_POSITIVE, NV, OK, PARENT, PASSIVE_JOINTS,
                     PASSIVE_LOOPS, POWER, RANK, REST_FORCE, SCRATCH, SINGULAR, table, TAU, U,
                     UNSOLVED, VECTORS, WORLD_W)
from .linear_algebra import axpy, cholesky, cholesky_solve, dot
from .loops import loop_coordinates
from .newton_euler import apply_wrenches, body_forces, pass_forces_inwards, project_forces
from .passive import add_passive_forces, push_apart

NO_LEVER = 1e-12    # entries of H below this are rounding: no actuator reaches that coordinate
INDEFINITE = 1e-13   # a pivot of A below this share of its diagonal: a massless motion


@kernel
def bias_acceleration(mi, mf, w):
    """Write W' theta_G': minus J_S^-1 J_C' theta' in the rows of theta_S, Eq. (22) of paper 1."""
    g, cluster_i = table(w, mi, VECTORS)[BIAS], table(mi, mi, CLUSTER_I)
    dofs = table(mi, mi, CLUSTER_DOFS)[0]
    for j in range(mi[NV]):
        g[j] = 0.0
    for c in range(mi[N_CLUSTERS]):
        row = cluster_i[c]
        if row[CLUSTER_RANK]:
            J = constraint_matrix(mi, mf, w, c)
            for k in range(row[CLUSTER_RANK]):
                g[dofs[row[CLUSTER_DOF] + k]] = -J[k, row[CLUSTER_N_DOFS]]


@kernel
def applied_forces(mi, mf, w, q, v, tau_A, extra, wrenches):
    """Take external and passive forces off the bodies' F; return forces on tree coordinates."""
    tau, world = table(w, mi, VECTORS)[TAU], table(w, mi, WORLD_W)[0]
    world[POWER] = world[DISSIPATION] = 0.0
    for j in range(mi[NV]):
        tau[j] = 0.0
    for j in range(extra.size):
        tau[j] = extra[j]
        world[POWER] += extra[j] * v[j]
    if wrenches.size:
        world[POWER] += apply_wrenches(mi, w, wrenches)
    if mi[PASSIVE_JOINTS] or mi[PASSIVE_LOOPS] or mi[N_SPRINGS]:
        add_passive_forces(mi, mf, w, q, v, tau)
    actuator_i = table(mi, mi, ACTUATOR_I)
    for k in range(tau_A.size):
        if actuator_i[k, ACTUATOR_ON_LOOP]:
            _loop_motor(mi, mf, w, actuator_i[k, ACTUATOR_DOF], tau_A[k])
        elif actuator_i[k, ACTUATOR_DOF] >= 0:   # else its joint has been cut
            tau[actuator_i[k, ACTUATOR_DOF]] += tau_A[k]
            world[POWER] += tau_A[k] * v[actuator_i[k, ACTUATOR_DOF]]
    return tau


@kernel
def _loop_motor(mi, mf, w, d, torque):
    """Put a motor's torque on the two bodies that a loop joint connects."""
    loop_i = table(mi, mi, LOOP_I)
    for k in range(mi[N_LOOPS]):
        first = loop_i[k, LOOP_DOF]
        if loop_i[k, LOOP_ACTIVE] and first <= d < first + loop_i[k, LOOP_N_DOFS]:
            loop_coordinates(mi, mf, w, k)
            row = table(w, mi, LOOP_DOF_W)[d]
            push_apart(mi, w, loop_i[k, LOOP_BODY_1], loop_i[k, LOOP_BODY_2], row, torque)
            table(w, mi, WORLD_W)[0, POWER] += torque * row[LOOP_DOF_RATE]


@kernel
def _add_to_parent(mi, w, i, up):
    """Add composite inertia and force of a body to another's."""
    body_ia, body_w = table(w, mi, BODY_IA), table(w, mi, BODY_W)
    if up > 0:
        axpy(body_ia[up], body_ia[i], 1.0, 0, 36)
    axpy(body_w[up], body_w[i], 1.0, F, F + 6)


@kernel
def _momentum(column, inertia):
    """Write articulated inertia times the motion subspace behind the latter."""
    s0, s1, s2, s3, s4, s5 = column[0], column[1], column[2], column[3], column[4], column[5]
    for r in range(6):   # symmetric: columns are read as rows
        k = 6 * r
        column[U + r] = (inertia[k] * s0 + inertia[k + 1] * s1 + inertia[k + 2] * s2
                         + inertia[k + 3] * s3 + inertia[k + 4] * s4 + inertia[k + 5] * s5)


@kernel
def _force_along(row, column):
    """Return the force of a body along a motion subspace."""
    return (row[F] * column[0] + row[F + 1] * column[1] + row[F + 2] * column[2]
            + row[F + 3] * column[3] + row[F + 4] * column[4] + row[F + 5] * column[5])


@kernel
def _fold_single(mi, w, i, tau):
    """Fold a joint of one degree of freedom, on no loop, into the body that carries it."""
    body_i, body_ia, body_w = table(mi, mi, BODY_I), table(w, mi, BODY_IA), table(w, mi, BODY_W)
    j, up = body_i[i, IV], body_i[i, PARENT]
    column = table(w, mi, DOF_W)[j]
    _momentum(column, body_ia[i])
    d = inner(column, column)
    if not d > 0.0:
        return NOT_POSITIVE
    rest = tau[j] - _force_along(body_w[i], column)
    column[D_INVERSE], column[REST_FORCE] = 1.0 / d, rest
    _add_to_parent(mi, w, i, up)
    if up > 0:
        for r in range(6):
            axpy(body_ia[up, 6 * r:6 * r + 6], column[U:U + 6], -column[U + r] / d, 0, 6)
    axpy(body_w[up, F:F + 6], column[U:U + 6], rest / d, 0, 6)
    return OK


@kernel
def _cluster_matrices(mi, w, c):
    """Return views of M, A, U_G (6 numbers a coordinate) and the vectors of a cluster."""
    row = table(mi, mi, CLUSTER_I)[c]
    n = row[CLUSTER_N_DOFS]
    start = mi[SCRATCH] + row[CLUSTER_SCRATCH] + row[CLUSTER_N_ROWS] * row[CLUSTER_WIDTH]
    return (matrix(w, start, n, n), matrix(w, start + n * n, n, n),
            matrix(w, start + 2 * n * n, n, 6), matrix(w, start + 2 * n * n + 6 * n, 2, n))


@kernel
def _gather(mi, w, c, M, force, tau):
    """Fill M and the forces left over inside a cluster, bodies from the leaves inwards."""
    row = table(mi, mi, CLUSTER_I)[c]
    body_i, dof_i, dof_w = table(mi, mi, BODY_I), table(mi, mi, DOF_I), table(w, mi, DOF_W)
    body_ia, body_w = table(w, mi, BODY_IA), table(w, mi, BODY_W)
    bodies = table(mi, mi, CLUSTER_BODIES)[0]
    n = row[CLUSTER_N_DOFS]
    M[:, :] = 0.0
    for k in range(row[CLUSTER_N_BODIES] - 1, -1, -1):
        i = bodies[row[CLUSTER_BODY] + k]
        for j in range(body_i[i, IV], body_i[i, IV] + body_i[i, N_DOF]):
            column, place = dof_w[j], dof_i[j, DOF_LOCAL]
            _momentum(column, body_ia[i])
            force[place] = tau[j] - _force_along(body_w[i], column)
            b, last = i, j + 1
            while True:   # this joint and the joints of the cluster above it
                for m in range(body_i[b, IV], last):
                    other = dof_i[m, DOF_LOCAL]
                    M[place, other] = M[other, place] = inner(dof_w[m], column)
                b = body_i[b, PARENT]
                if b == 0 or body_i[b, CLUSTER] != c:
                    break
                last = body_i[b, IV] + body_i[b, N_DOF]
        _add_to_parent(mi, w, i, body_i[i, PARENT])
    return n


@kernel
def _project(J, n, rank, M, A):
    """
    Write the lower triangle of A = W^T M W with W = [H; E], H = -J (after elimination).

    With Y = M_SG + M_SS H / 2 it is M_GG + H^T Y + Y^T H. Y overwrites M_SG.
    """
    for s in range(rank):
        for k in range(rank):
            axpy(M[s], J[k], -0.5 * M[s, k], rank, n)
    for g in range(n - rank):
        row = A[g]
        for k in range(g + 1):
            row[k] = M[rank + g, rank + k]
    for s in range(rank):
        h, y = J[s, rank:n], M[s, rank:n]
        for g in range(n - rank):
            if h[g] != 0.0 or y[g] != 0.0:
                axpy(A[g], y, -h[g], 0, g + 1)
                axpy(A[g], h, -y[g], 0, g + 1)


@kernel
def _fold_cluster(mi, mf, w, c, tau):
    """Fold a cluster into the body that carries it: A, its factor, and what is left outside."""
    row = table(mi, mi, CLUSTER_I)[c]
    dofs, dof_w = table(mi, mi, CLUSTER_DOFS)[0], table(w, mi, DOF_W)
    M, A_G, U_G, vectors = _cluster_matrices(mi, w, c)
    force, y = vectors[0], vectors[1]
    J = constraint_matrix(mi, mf, w, c)
    n = _gather(mi, w, c, M, force, tau)
    rank, first, up = row[CLUSTER_RANK], row[CLUSTER_DOF], row[CLUSTER_PARENT]
    _project(J, n, rank, M, A_G)
    ng = n - rank
    for g in range(ng):   # W^T times force and times U
        y[g] = force[rank + g]
        for r in range(6):
            U_G[g, r] = dof_w[dofs[first + rank + g], U + r]
    for s in range(rank):
        axpy(y, J[s, rank:], -force[s], 0, ng)
        if up > 0:
            column = dof_w[dofs[first + s], U:U + 6]
            for g in range(ng):
                axpy(U_G[g], column, -J[s, rank + g], 0, 6)
    if not cholesky(A_G, ng, INDEFINITE):
        return NOT_POSITIVE
    if up > 0:
        _fold_outwards(mi, w, up, A_G, ng, U_G, y)
    return OK


@kernel
def _fold_outwards(mi, w, up, L, ng, U_G, y):
    """Take U_G A^-1 U_G^T off the carrier's inertia, and add U_G A^-1 y to its force."""
    inertia, force = table(w, mi, BODY_IA)[up], table(w, mi, BODY_W)[up]
    for g in range(ng):   # Z = L^-1 U_G in place, z = L^-1 y in place
        for k in range(g):
            axpy(U_G[g], U_G[k], -L[g, k], 0, 6)
            y[g] -= L[g, k] * y[k]
        for r in range(6):
            U_G[g, r] *= L[g, g]
        y[g] *= L[g, g]
    for g in range(ng):
        z = U_G[g]
        for r in range(6):
            axpy(inertia[6 * r:6 * r + 6], z, -z[r], 0, 6)
            force[F + r] += z[r] * y[g]


@kernel
def _unfold(mi, mf, w, acceleration):
    """Compute accelerations from the root outwards; BODY_W's A becomes the increment of V'."""
    body_i, body_w, dof_w = table(mi, mi, BODY_I), table(w, mi, BODY_W), table(w, mi, DOF_W)
    cluster_i, dofs = table(mi, mi, CLUSTER_I), table(mi, mi, CLUSTER_DOFS)[0]
    bodies = table(mi, mi, CLUSTER_BODIES)[0]
    for k in range(6):
        body_w[0, A + k] = 0.0
    for c in range(mi[N_CLUSTERS]):
        row = cluster_i[c]
        n, rank, first, up = row[CLUSTER_N_DOFS], row[CLUSTER_RANK], row[CLUSTER_DOF], \
            row[CLUSTER_PARENT]
        if n == 1 and rank == 0:
            j = dofs[first]
            column = dof_w[j]
            acceleration[j] = column[D_INVERSE] * (
                column[REST_FORCE] - dot(column[U:U + 6], body_w[up, A:A + 6], 0, 6))
        else:
            _, L, U_G, vectors = _cluster_matrices(mi, w, c)
            y, ng = vectors[1], n - rank
            if up > 0:   # y and U_G hold L^-1 times theirs: one more solve with L^T
                for g in range(ng):
                    y[g] -= dot(U_G[g], body_w[up, A:A + 6], 0, 6)
                for g in range(ng - 1, -1, -1):
                    y[g] *= L[g, g]
                    axpy(y, L[g], -y[g], 0, g)
            else:
                cholesky_solve(L, ng, y)
            for g in range(ng):
                acceleration[dofs[first + rank + g]] = y[g]
            J = constraint_matrix(mi, mf, w, c)
            for s in range(rank):
                acceleration[dofs[first + s]] = -dot(J[s, rank:], y, 0, ng)
        for k in range(row[CLUSTER_BODY], row[CLUSTER_BODY] + row[CLUSTER_N_BODIES]):
            i = bodies[k]
            out = body_w[i]
            for r in range(A, A + 6):
                out[r] = body_w[body_i[i, PARENT], r]
            for j in range(body_i[i, IV], body_i[i, IV] + body_i[i, N_DOF]):
                axpy(out[A:A + 6], dof_w[j], acceleration[j], 0, 6)


@kernel
def solve_motion(mi, mf, w, tau, acceleration):
    """Solve A x = W^T (tau - forces of the bodies) for W x, after `solve_constraints`."""
    body_inertias(mi, mf, w)
    body_ia = table(w, mi, BODY_IA)
    for i in range(1, mi[N_BODIES]):
        expand_inertia(body_ia[i])
    cluster_i, bodies = table(mi, mi, CLUSTER_I), table(mi, mi, CLUSTER_BODIES)[0]
    for c in range(mi[N_CLUSTERS] - 1, -1, -1):
        if cluster_i[c, CLUSTER_N_DOFS] == 1 and cluster_i[c, CLUSTER_RANK] == 0:
            status = _fold_single(mi, w, bodies[cluster_i[c, CLUSTER_BODY]], tau)
        else:
            status = _fold_cluster(mi, mf, w, c, tau)
        if status != OK:
            return status
    _unfold(mi, mf, w, acceleration)
    return OK


@kernel
def inverse_dynamics(mi, mf, w, q, v, a, wrenches, tau_O):
    """Write tau_O of the tree, passive forces included; H of every cluster is left in w."""
    placements(mi, mf, w, q)
    solve_constraints(mi, mf, w, q, v, False)
    motion(mi, mf, w, v, a, 1.0)
    body_forces(mi, mf, w)
    passive = applied_forces(mi, mf, w, q, v, tau_O[:0], tau_O[:0], wrenches)
    pass_forces_inwards(mi, w)
    project_forces(mi, w, tau_O)
    for j in range(mi[NV]):
        tau_O[j] -= passive[j]
    return check_closed(mi, mf, w)


@kernel
def _actuate_cluster(mi, mf, w, c, tau_O, tau_A):
    """
    Write tau_G over tau_O's theta_G, and solve S^T tau_A = tau_G in one cluster.

    Where every actuated dependent coordinate depends on actuated ones only, S = [E; B], and the
    torques of least norm follow from a system as small as the surplus of actuators: with
    (E + B B^T) z = B tau_G they are tau_G - B^T z and z. Returns whether that was so.
    """
    row, dof_i = table(mi, mi, CLUSTER_I)[c], table(mi, mi, DOF_I)
    dofs = table(mi, mi, CLUSTER_DOFS)[0]
    first, n, rank = row[CLUSTER_DOF], row[CLUSTER_N_DOFS], row[CLUSTER_RANK]
    J = constraint_matrix(mi, mf, w, c)
    _, K, _, vectors = _cluster_matrices(mi, w, c)
    tau, z = vectors[0], vectors[1]
    for g in range(rank, n):
        tau[g] = tau_O[dofs[first + g]]
    for s in range(rank):
        axpy(tau, J[s], -tau_O[dofs[first + s]], rank, n)
    for g in range(rank, n):
        tau_O[dofs[first + g]] = tau[g]
    surplus = 0
    for s in range(rank):   # rows of B to the top of J: the elimination is not needed any more
        if dof_i[dofs[first + s], DOF_ACTUATOR] >= 0:
            for g in range(rank, n):
                if dof_i[dofs[first + g], DOF_ACTUATOR] < 0 and abs(J[s, g]) > NO_LEVER:
                    return False
            z[surplus] = -dot(J[s], tau, rank, n)
            for k in range(rank):
                J[s, k] = 0.0
            J[s, 0] = 1.0   # marks an actuated row
            surplus += 1
        else:
            J[s, 0] = 0.0
    _solve_surplus(J, K, z, n, rank, surplus)
    k = 0
    for s in range(rank):
        if J[s, 0] != 0.0:
            axpy(tau, J[s], z[k], rank, n)
            tau_A[dof_i[dofs[first + s], DOF_ACTUATOR]] = z[k]
            k += 1
    for g in range(rank, n):
        actuator = dof_i[dofs[first + g], DOF_ACTUATOR]
        if actuator >= 0:
            tau_A[actuator] = tau[g]
    return True


@kernel
def _solve_surplus(J, K, z, n, rank, surplus):
    """Solve (E + B B^T) z = B tau_G, with the rows of -B marked in J."""
    i = 0
    for s in range(rank):
        if J[s, 0] != 0.0:
            k = 0
            for t in range(s + 1):
                if J[t, 0] != 0.0:
                    K[i, k] = dot(J[s], J[t], rank, n)
                    k += 1
            K[i, i] += 1.0
            i += 1
    cholesky(K, surplus, 0.0)
    cholesky_solve(K, surplus, z)


@kernel
def compute_inverse_dynamics(mi, mf, w, q, v, a, wrenches, tau_O, tau_G, tau_A):
    """
    Write tau_O, tau_G = W^T tau_O and the actuators' torques of least norm (paper 2, II-A).

    tau_G stands in the order of the velocities that are generalized coordinates. Returns
    UNSOLVED where S needs a general solution, SINGULAR where the rank is below the largest seen;
    tau_A is then not valid.
    """
    status = check_state(mi, q, v, a)
    if status != OK:
        return status
    status = inverse_dynamics(mi, mf, w, q, v, a, wrenches, tau_O)
    if status != OK:
        return status
    dof_i, actuator_i = table(mi, mi, DOF_I), table(mi, mi, ACTUATOR_I)
    work = table(w, mi, VECTORS)[TAU]
    for j in range(mi[NV]):
        work[j] = tau_O[j]
    for k in range(mi[N_ACTUATORS]):
        if actuator_i[k, ACTUATOR_ON_LOOP]:
            status = UNSOLVED
    for c in range(mi[N_CLUSTERS]):
        if not _actuate_cluster(mi, mf, w, c, work, tau_A):
            status = UNSOLVED
    count = 0
    for j in range(mi[NV]):
        if not dof_i[j, DOF_DEPENDENT]:
            tau_G[count] = work[j]
            count += 1
    return status if mi[RANK] == mi[FULL_RANK] else SINGULAR
