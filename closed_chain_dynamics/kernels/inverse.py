"""
Inverse dynamics of the closed chain: tau_O by Newton-Euler, tau_G = W^T tau_O, and the torques of
the actuators from S^T tau_A = tau_G (paper 2, section II-A).
"""

import numpy as np

from .closed_chain import applied_forces, cluster_matrices
from .coordinates import check_closed, constraint_matrix, solve_constraints
from .kinematics import check_state, motion, placements
from .layout import (
    ACTUATOR_I,
    ACTUATOR_ON_LOOP,
    CLUSTER_DOF,
    CLUSTER_DOFS,
    CLUSTER_I,
    CLUSTER_N_DOFS,
    CLUSTER_RANK,
    DOF_ACTUATOR,
    DOF_DEPENDENT,
    DOF_I,
    FULL_RANK,
    N_ACTUATORS,
    N_CLUSTERS,
    N_CONTACTS,
    NQ,
    NV,
    OK,
    RANK,
    SINGULAR,
    TAU,
    UNSOLVED,
    VECTORS,
    WRONG_SIZE,
    kernel,
    table,
)
from .linear_algebra import axpy, cholesky, cholesky_solve, dot
from .newton_euler import body_forces, pass_forces_inwards, project_forces

NO_LEVER = 1e-10  # directions of H below this are rounding: no actuator reaches them
WEAK_LEVER = 1e-4  # those between are left to a more careful solution


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

    Actuated theta_G have unit rows in S, other actuators rows B of H: torques x and z with
    x + B_a^T z = tau_a where theta_G is actuated, and B_p^T z = tau_p where it is passive. First z
    meets the passive part as well as it can, z_0; what that leaves open is used to make the
    torques small: with B_a' the part of B_a at right angles to the range of B_p,
    (E + B_a' B_a'^T) u = B_a' (tau_a - B_a^T z_0), z = z_0 + u, x = tau_a - B_a^T z. Returns
    False where the range of B_p is not clear.
    """
    row, dof_i = table(mi, mi, CLUSTER_I)[c], table(mi, mi, DOF_I)
    first, n, rank = row[CLUSTER_DOF], row[CLUSTER_N_DOFS], row[CLUSTER_RANK]
    dofs = table(mi, mi, CLUSTER_DOFS)[0]
    J, ng = constraint_matrix(mi, mf, w, c), n - rank
    B, K, z_0, vectors = cluster_matrices(mi, w, c)
    tau, z = vectors[0], vectors[1]
    for g in range(ng):
        tau[g] = tau_O[dofs[first + rank + g]]
    for s in range(rank):
        axpy(tau, J[s, rank:], -tau_O[dofs[first + s]], 0, ng)
    for g in range(ng):
        tau_O[dofs[first + rank + g]] = tau[g]
    nd = 0  # actuators on dependent coordinates
    for s in range(rank):
        if dof_i[dofs[first + s], DOF_ACTUATOR] >= 0:
            for g in range(ng):
                B[nd, g] = -J[s, rank + g]
            nd += 1
    if nd:
        passive = dofs[first + rank : first + n]
        r = _range_of_passive(B, nd, ng, dof_i, passive)
        if r < 0:
            return False
        _meet_passive(B, J, K, nd, ng, r, dof_i, passive, tau, z, z_0)
        _make_small(B, K, nd, ng, r, dof_i, passive, tau, z)
        nd = 0
        for s in range(rank):
            actuator = dof_i[dofs[first + s], DOF_ACTUATOR]
            if actuator >= 0:
                tau_A[actuator] = z_0[nd, 0] + z[nd]
                nd += 1
    for g in range(ng):
        actuator = dof_i[dofs[first + rank + g], DOF_ACTUATOR]
        if actuator >= 0:
            tau_A[actuator] = tau[g]
    return True


@kernel
def _range_of_passive(B, nd, ng, dof_i, dofs):
    """
    Write an orthonormal basis of the range of B_p in the rows of B from nd on; return its size.

    -1 where a direction is neither clearly in it nor clearly not.
    """
    r, largest_norm = 0, 0.0
    while r < nd:
        best, chosen = 0.0, -1
        for g in range(ng):
            if dof_i[dofs[g], DOF_ACTUATOR] < 0:
                norm = _rest(B, nd, r, g)
                if norm > best:
                    best, chosen = norm, g
        largest_norm = max(largest_norm, best, 1.0)
        if best <= NO_LEVER * largest_norm:
            break
        if best < WEAK_LEVER * largest_norm:
            return -1
        _rest(B, nd, r, chosen)
        for d in range(nd):
            B[nd + r, d] /= best
        r += 1
    return r


@kernel
def _rest(B, nd, r, g):
    """Write the part of column g of B at right angles to the basis behind it; return its norm."""
    out = B[nd + r]
    for d in range(nd):
        out[d] = B[d, g]
    for _ in range(2):  # twice is enough
        for k in range(r):
            axpy(out, B[nd + k], -dot(out, B[nd + k], 0, nd), 0, nd)
    return np.sqrt(dot(out, out, 0, nd))


@kernel
def _meet_passive(B, X, K, nd, ng, r, dof_i, dofs, tau, z, z_0):
    """Write z_0 = Q y with X X^T y = X tau_p, X = Q^T B_p, and take its effect off tau."""
    for i in range(r):
        z[i] = 0.0
        for g in range(ng):
            X[i, g] = 0.0
            if dof_i[dofs[g], DOF_ACTUATOR] < 0:
                for d in range(nd):
                    X[i, g] += B[nd + i, d] * B[d, g]
                z[i] += X[i, g] * tau[g]
        for k in range(i + 1):
            K[k, i] = dot(X[i], X[k], 0, ng)
    cholesky(K, r, 0.0)
    cholesky_solve(K, r, z)
    for d in range(nd):
        z_0[d, 0] = 0.0
        for i in range(r):
            z_0[d, 0] += B[nd + i, d] * z[i]
        axpy(tau, B[d], -z_0[d, 0], 0, ng)


@kernel
def _make_small(B, K, nd, ng, r, dof_i, dofs, tau, z):
    """Write u, and take its effect off the actuated part of tau; B becomes B_a'."""
    for g in range(ng):
        if dof_i[dofs[g], DOF_ACTUATOR] < 0:
            for d in range(nd):
                B[d, g] = 0.0
    for i in range(r):
        for g in range(ng):
            along = 0.0
            for d in range(nd):
                along += B[nd + i, d] * B[d, g]
            for d in range(nd):
                B[d, g] -= along * B[nd + i, d]
    for d in range(nd):
        z[d] = dot(B[d], tau, 0, ng)
        for k in range(d + 1):
            K[k, d] = dot(B[d], B[k], 0, ng)
        K[d, d] += 1.0
    cholesky(K, nd, 0.0)
    cholesky_solve(K, nd, z)
    for d in range(nd):
        axpy(tau, B[d], -z[d], 0, ng)


@kernel
def compute_inverse_dynamics(mi, mf, w, q, v, a, wrenches, out):
    """
    Write tau_O, tau_G = W^T tau_O and the actuators' torques of least norm (paper 2, II-A).

    `out`: mobility, tau_O (nv), tau_A (actuators), and tau_G in the order of the velocities that
    are generalized coordinates. Returns UNSOLVED where S needs a general solution, SINGULAR where
    the rank is below the largest seen; tau_A is then not valid. With contacts it is UNSOLVED too:
    the drag of those that slide is found by whoever asked.
    """
    if q.size != mi[NQ] or v.size != mi[NV] or a.size != mi[NV]:
        return WRONG_SIZE
    first = 1 + mi[NV]
    last = first + mi[N_ACTUATORS]
    tau_O, tau_A, tau_G = out[1:first], out[first:last], out[last:]
    status = check_state(mi, q, v, a)
    if status != OK:
        return status
    status = inverse_dynamics(mi, mf, w, q, v, a, wrenches, tau_O)
    if status != OK:
        return status
    dof_i, actuator_i = table(mi, mi, DOF_I), table(mi, mi, ACTUATOR_I)
    work = table(w, mi, VECTORS)[TAU]
    if mi[N_CONTACTS]:
        status = UNSOLVED
    for j in range(mi[NV]):
        work[j] = tau_O[j]
    for k in range(mi[N_ACTUATORS]):
        tau_A[k] = 0.0  # what sits on a joint that has been cut
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
    out[0] = count
    return status if mi[RANK] == mi[FULL_RANK] else SINGULAR
