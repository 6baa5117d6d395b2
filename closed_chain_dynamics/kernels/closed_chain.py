"""
The equations of motion of the closed chain, A theta_G'' + b = tau_G (paper 2, section III).

They are solved cluster by cluster from the leaves to the root. Each cluster projects its mass
matrix, A = W^T M W with W = [H; E], and hands what it feels like from outside, an articulated
inertia, to the body that carries it. With one cluster this is the papers' dense method, without
loops the articulated-body algorithm; a mechanism with many small loops costs in proportion to its
length.
"""

import numpy as np

from .coordinates import constraint_matrix
from .inertia import body_inertias, expand_inertia, inner
from .layout import (
    ACTUATOR_DOF,
    ACTUATOR_I,
    ACTUATOR_ON_LOOP,
    BIAS,
    BODY_I,
    BODY_IA,
    BODY_W,
    CARRIES,
    CLUSTER_BODIES,
    CLUSTER_BODY,
    CLUSTER_DOF,
    CLUSTER_DOFS,
    CLUSTER_I,
    CLUSTER_N_BODIES,
    CLUSTER_N_DOFS,
    CLUSTER_N_ROWS,
    CLUSTER_PARENT,
    CLUSTER_RANK,
    CLUSTER_SCRATCH,
    CLUSTER_WIDTH,
    D_INVERSE,
    DISSIPATION,
    DOF_ABOVE,
    DOF_I,
    DOF_LOCAL,
    DOF_W,
    IV,
    LOOP_ACTIVE,
    LOOP_BODY_1,
    LOOP_BODY_2,
    LOOP_DOF,
    LOOP_DOF_RATE,
    LOOP_DOF_W,
    LOOP_I,
    LOOP_N_DOFS,
    N_BODIES,
    N_CLUSTERS,
    N_DOF,
    N_LOOPS,
    N_SPRINGS,
    NOT_POSITIVE,
    NV,
    OK,
    PARENT,
    PASSIVE_JOINTS,
    PASSIVE_LOOPS,
    POWER,
    REST_FORCE,
    SCRATCH,
    TAU,
    VECTORS,
    WORLD_W,
    A,
    F,
    U,
    kernel,
    matrix,
    table,
)
from .linear_algebra import axpy, cholesky, cholesky_solve, dot, solve_upper
from .loops import loop_coordinates
from .newton_euler import apply_wrenches
from .passive import add_passive_forces, push_apart

INDEFINITE = 1e-13  # a pivot of A below this share of its diagonal: a massless motion


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
        elif actuator_i[k, ACTUATOR_DOF] >= 0:  # else its joint has been cut
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
    u0 = u1 = u2 = u3 = u4 = u5 = 0.0
    for k in range(6):  # symmetric: columns are read as rows
        s, o = column[k], 6 * k
        u0, u1, u2 = u0 + inertia[o] * s, u1 + inertia[o + 1] * s, u2 + inertia[o + 2] * s
        u3, u4, u5 = u3 + inertia[o + 3] * s, u4 + inertia[o + 4] * s, u5 + inertia[o + 5] * s
    column[U], column[U + 1], column[U + 2] = u0, u1, u2
    column[U + 3], column[U + 4], column[U + 5] = u3, u4, u5


@kernel
def _force_along(row, column):
    """Return the force of a body along a motion subspace."""
    return (
        row[F] * column[0]
        + row[F + 1] * column[1]
        + row[F + 2] * column[2]
        + row[F + 3] * column[3]
        + row[F + 4] * column[4]
        + row[F + 5] * column[5]
    )


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
            axpy(body_ia[up, 6 * r : 6 * r + 6], column[U : U + 6], -column[U + r] / d, 0, 6)
    axpy(body_w[up, F : F + 6], column[U : U + 6], rest / d, 0, 6)
    return OK


@kernel
def cluster_matrices(mi, w, c):
    """Return views of M, A, U_G (6 numbers a coordinate) and the vectors of a cluster."""
    row = table(mi, mi, CLUSTER_I)[c]
    n = row[CLUSTER_N_DOFS]
    start = mi[SCRATCH] + row[CLUSTER_SCRATCH] + row[CLUSTER_N_ROWS] * row[CLUSTER_WIDTH]
    return (
        matrix(w, start, n, n),
        matrix(w, start + n * n, n, n),
        matrix(w, start + 2 * n * n, n, 6),
        matrix(w, start + 2 * n * n + 6 * n, 2, n),
    )


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
        i = np.uint64(bodies[row[CLUSTER_BODY] + k])
        for j in range(body_i[i, IV], body_i[i, IV] + body_i[i, N_DOF]):
            column, place = dof_w[j], np.uint64(dof_i[j, DOF_LOCAL])
            _momentum(column, body_ia[i])
            force[place] = tau[j] - _force_along(body_w[i], column)
            u0, u1, u2, u3, u4, u5 = (
                column[U],
                column[U + 1],
                column[U + 2],
                column[U + 3],
                column[U + 4],
                column[U + 5],
            )
            other = j
            while other >= 0:  # this coordinate and those of the cluster above it
                m = np.uint64(other)
                s, at = dof_w[m], np.uint64(dof_i[m, DOF_LOCAL])
                value = s[0] * u0 + s[1] * u1 + s[2] * u2 + s[3] * u3 + s[4] * u4 + s[5] * u5
                M[place, at] = M[at, place] = value
                other = dof_i[m, DOF_ABOVE]
        _add_to_parent(mi, w, i, body_i[i, PARENT])
    return n


@kernel
def _project(J, n, rank, M, A):
    """
    Write the upper triangle of A = W^T M W with W = [H; E], H = -J (after elimination).

    With Y = M_SG + M_SS H / 2 it is M_GG + P + P^T, P = H^T Y. Y overwrites M_SG. H and M_SS have
    many zeros, which are left out row by row. No views of rows here: the loops are too short.
    """
    first, last = np.uint64(rank), np.uint64(n)
    for s in range(first):
        for k in range(np.uint64(0), first & ~np.uint64(3), np.uint64(4)):  # four rows at a time
            a, b = -0.5 * M[s, k], -0.5 * M[s, k + np.uint64(1)]
            c, d = -0.5 * M[s, k + np.uint64(2)], -0.5 * M[s, k + np.uint64(3)]
            if a != 0.0 or b != 0.0 or c != 0.0 or d != 0.0:
                for g in range(first, last):
                    M[s, g] += (
                        a * J[k, g]
                        + b * J[k + np.uint64(1), g]
                        + c * J[k + np.uint64(2), g]
                        + d * J[k + np.uint64(3), g]
                    )
        for k in range(first & ~np.uint64(3), first):
            a = -0.5 * M[s, k]
            if a != 0.0:
                for g in range(first, last):
                    M[s, g] += a * J[k, g]
    ng = last - first
    for g in range(ng):
        for k in range(ng):
            A[g, k] = 0.0
        for s in range(np.uint64(0), first & ~np.uint64(3), np.uint64(4)):
            a, b = -J[s, first + g], -J[s + np.uint64(1), first + g]
            c, d = -J[s + np.uint64(2), first + g], -J[s + np.uint64(3), first + g]
            if a != 0.0 or b != 0.0 or c != 0.0 or d != 0.0:
                for k in range(ng):
                    A[g, k] += (
                        a * M[s, first + k]
                        + b * M[s + np.uint64(1), first + k]
                        + c * M[s + np.uint64(2), first + k]
                        + d * M[s + np.uint64(3), first + k]
                    )
        for s in range(first & ~np.uint64(3), first):
            a = -J[s, first + g]
            if a != 0.0:
                for k in range(ng):
                    A[g, k] += a * M[s, first + k]
    for g in range(ng):
        for k in range(g, ng):
            A[g, k] += A[k, g] + M[first + g, first + k]


@kernel
def _fold_cluster(mi, mf, w, c, tau):
    """Fold a cluster into the body that carries it: A, its factor, and what is left outside."""
    row = table(mi, mi, CLUSTER_I)[c]
    dofs, dof_w = table(mi, mi, CLUSTER_DOFS)[0], table(w, mi, DOF_W)
    M, A_G, U_G, vectors = cluster_matrices(mi, w, c)
    force, y = vectors[0], vectors[1]
    J = constraint_matrix(mi, mf, w, c)
    n = _gather(mi, w, c, M, force, tau)
    rank, first, up = row[CLUSTER_RANK], row[CLUSTER_DOF], row[CLUSTER_PARENT]
    _project(J, n, rank, M, A_G)
    ng = n - rank
    for g in range(ng):  # W^T times force
        y[g] = force[rank + g]
    for s in range(np.uint64(rank)):
        for g in range(np.uint64(ng)):
            y[g] -= J[s, np.uint64(rank) + g] * force[s]
    if up > 0:
        _momenta_of_coordinates(J, n, rank, dofs[first : first + n], dof_w, U_G)
    if not cholesky(A_G, ng, INDEFINITE):
        return NOT_POSITIVE
    if up > 0:
        _fold_outwards(mi, w, up, A_G, ng, U_G, y)
    return OK


@kernel
def _momenta_of_coordinates(J, n, rank, dofs, dof_w, U_G):
    """Write W^T U, six numbers a generalized coordinate."""
    for g in range(n - rank):
        column = dof_w[dofs[rank + g]]
        u0, u1, u2, u3, u4, u5 = (
            column[U],
            column[U + 1],
            column[U + 2],
            column[U + 3],
            column[U + 4],
            column[U + 5],
        )
        for s in range(rank):
            h, other = -J[s, rank + g], dof_w[dofs[s]]
            u0, u1, u2 = u0 + h * other[U], u1 + h * other[U + 1], u2 + h * other[U + 2]
            u3, u4, u5 = u3 + h * other[U + 3], u4 + h * other[U + 4], u5 + h * other[U + 5]
        out = U_G[g]
        out[0], out[1], out[2], out[3], out[4], out[5] = u0, u1, u2, u3, u4, u5


@kernel
def _fold_outwards(mi, w, up, L, ng, U_G, y):
    """Take U_G A^-1 U_G^T off the carrier's inertia, and add U_G A^-1 y to its force."""
    inertia, force = table(w, mi, BODY_IA)[up], table(w, mi, BODY_W)[up]
    for g in range(ng):  # Z = L^-1 U_G in place, z = L^-1 y in place
        for k in range(g):
            axpy(U_G[g], U_G[k], -L[k, g], 0, 6)
            y[g] -= L[k, g] * y[k]
        for r in range(6):
            U_G[g, r] *= L[g, g]
        y[g] *= L[g, g]
    for g in range(ng):
        z0, z1, z2, z3, z4, z5 = U_G[g, 0], U_G[g, 1], U_G[g, 2], U_G[g, 3], U_G[g, 4], U_G[g, 5]
        for r in range(6):
            z, o = U_G[g, r], 6 * r
            i0, i1, i2 = inertia[o] - z * z0, inertia[o + 1] - z * z1, inertia[o + 2] - z * z2
            i3, i4, i5 = inertia[o + 3] - z * z3, inertia[o + 4] - z * z4, inertia[o + 5] - z * z5
            inertia[o], inertia[o + 1], inertia[o + 2] = i0, i1, i2
            inertia[o + 3], inertia[o + 4], inertia[o + 5] = i3, i4, i5
            force[F + r] += z * y[g]


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
        n, rank, first, up = (
            row[CLUSTER_N_DOFS],
            row[CLUSTER_RANK],
            row[CLUSTER_DOF],
            row[CLUSTER_PARENT],
        )
        if n == 1 and rank == 0:
            j = dofs[first]
            column = dof_w[j]
            acceleration[j] = column[D_INVERSE] * (
                column[REST_FORCE] - dot(column[U : U + 6], body_w[up, A : A + 6], 0, 6)
            )
        else:
            _, L, U_G, vectors = cluster_matrices(mi, w, c)
            y, ng = vectors[1], n - rank
            if up > 0:  # y and U_G hold L^-1 times theirs: one more solve with L^T
                for g in range(ng):
                    y[g] -= dot(U_G[g], body_w[up, A : A + 6], 0, 6)
                solve_upper(L, ng, y)
            else:
                cholesky_solve(L, ng, y)
            for g in range(ng):
                acceleration[dofs[first + rank + g]] = y[g]
            J = constraint_matrix(mi, mf, w, c)
            for s in range(rank):
                acceleration[dofs[first + s]] = -dot(J[s, rank:], y, 0, ng)
        for k in range(row[CLUSTER_BODY], row[CLUSTER_BODY] + row[CLUSTER_N_BODIES]):
            i = bodies[k]
            if not body_i[i, CARRIES]:  # no other cluster asks for it
                continue
            out = body_w[i]
            for r in range(A, A + 6):
                out[r] = body_w[body_i[i, PARENT], r]
            for j in range(body_i[i, IV], body_i[i, IV] + body_i[i, N_DOF]):
                axpy(out[A : A + 6], dof_w[j], acceleration[j], 0, 6)


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
