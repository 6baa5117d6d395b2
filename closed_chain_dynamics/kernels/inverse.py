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
Inverse dynamics of the closed chain: tau_O by Newton-Euler, tau_G = W^T tau_O, and the torques of
the actuators from S^T tau_A = tau_G (Nakamura and Yamane, section II-A).
"""

import numpy as np

from . import records as at
from .acting_forces import passive_forces
from .cluster_inertia import cluster_matrices
from .compiling import kernel
from .constraint_rows import check_closed, constraint_matrix
from .coordinates import solve_constraints
from .holds import any_slides, note_slips
from .kinematics import check_state, motion, placements
from .linear_algebra import axpy, cholesky, cholesky_solve, copy_to, dot
from .newton_euler import body_forces, pass_forces_inwards, project_forces
from .sharing import HANDLE, VECTOR, shared_kernel

NO_LEVER = 1e-10  # directions of H below this are rounding: no actuator reaches them
WEAK_LEVER = 1e-4  # those between are for the rule in `dynamics/levers.py`, with units


@kernel
def needed_forces(m, q, v, a, tau_O):
    """Write tau_O of the tree, passive forces included, after `solve_constraints`."""
    motion(m, v, a, 1.0)
    body_forces(m)
    passive, dof = passive_forces(m, q, v), at.dofs(m)
    pass_forces_inwards(m)
    project_forces(m, tau_O)
    for j in range(dof.size):
        tau_O[j] += dof[j].armature * a[j] - passive[j]
    return check_closed(m)


@kernel
def _actuate_cluster(m, cluster, force, tau_A):
    """
    Write tau_G over the forces on theta_G, and solve S^T tau_A = tau_G in one cluster.

    Actuated theta_G have unit rows in S, other actuators rows B of H: torques x and z with
    x + B_a^T z = tau_a where theta_G is actuated, and B_p^T z = tau_p where it is passive. First z
    meets the passive part as well as it can, z_0; what that leaves open is used to make the
    torques small: with B_a' the part of B_a at right angles to the range of B_p,
    (E + B_a' B_a'^T) u = B_a' (tau_a - B_a^T z_0), z = z_0 + u, x = tau_a - B_a^T z. Returns
    False where the range of B_p is not clear.
    """
    dof, n, rank = at.dofs(m), cluster.n_dofs, cluster.rank
    order = at.cluster_dofs(m)[cluster.first_dof : cluster.first_dof + n]
    H, ng = constraint_matrix(m, cluster), n - rank
    B, K, z_0, vectors = cluster_matrices(m, cluster)
    tau_G, z = vectors[0], vectors[1]
    for g in range(ng):
        tau_G[g] = force[order[rank + g]]
    for s in range(rank):
        axpy(tau_G, H[s, rank:], force[order[s]], 0, ng)
    for g in range(ng):
        force[order[rank + g]] = tau_G[g]
    nd, unit = 0, 0.0  # actuators on dependent coordinates, and the largest unit of a lever
    for s in range(rank):
        if dof[order[s]].actuator >= 0:
            unit = max(unit, dof[order[s]].scale)
            for g in range(ng):
                B[nd, g] = H[s, rank + g]
            nd += 1
    if nd:
        passive, least = np.empty(ng, np.bool_), np.inf
        for g in range(ng):
            passive[g] = dof[order[rank + g]].actuator < 0
            if passive[g]:
                least = min(least, dof[order[rank + g]].scale)
        r = _range_of_passive(B, nd, passive, unit / least)
        if r < 0:
            return False
        Q = B[nd : nd + r]
        _meet_passive(B[:nd], Q, H, K, passive, tau_G, z, z_0)  # H has done its work
        _make_small(B[:nd], Q, K, passive, tau_G, z)
        nd = 0
        for s in range(rank):
            actuator = dof[order[s]].actuator
            if actuator >= 0:
                tau_A[actuator] = z_0[nd, 0] + z[nd]
                nd += 1
    for g in range(ng):
        actuator = dof[order[rank + g]].actuator
        if actuator >= 0:
            tau_A[actuator] = tau_G[g]
    return True


@kernel
def _range_of_passive(B, nd, passive, unit):
    """
    Write an orthonormal basis of the range of B_p in the rows of B from nd on; return its size.

    -1 where a direction is neither clearly in it nor clearly not, in the unit of B.
    """
    r, largest_norm = 0, unit
    while r < nd:
        best, chosen = 0.0, -1
        for g in range(passive.size):
            if passive[g]:
                norm = _rest(B, nd, r, g)
                if norm > best:
                    best, chosen = norm, g
        largest_norm = max(largest_norm, best)
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
def _meet_passive(B, Q, X, K, passive, tau_G, z, z_0):
    """Write z_0 = Q y with X X^T y = X tau_p, X = Q^T B_p, and take its effect off tau_G."""
    nd, r, ng = B.shape[0], Q.shape[0], passive.size
    for i in range(r):
        z[i] = 0.0
        for g in range(ng):
            X[i, g] = 0.0
            if passive[g]:
                for d in range(nd):
                    X[i, g] += Q[i, d] * B[d, g]
                z[i] += X[i, g] * tau_G[g]
        for k in range(i + 1):
            K[k, i] = dot(X[i], X[k], 0, ng)
    cholesky(K, r, 0, 0.0)
    cholesky_solve(K, r, z)
    for d in range(nd):
        z_0[d, 0] = 0.0
        for i in range(r):
            z_0[d, 0] += Q[i, d] * z[i]
        axpy(tau_G, B[d], -z_0[d, 0], 0, ng)


@kernel
def _make_small(B, Q, K, passive, tau_G, z):
    """Write u, and take its effect off the actuated part of tau_G; B becomes B_a'."""
    nd, r, ng = B.shape[0], Q.shape[0], passive.size
    for g in range(ng):
        if passive[g]:
            for d in range(nd):
                B[d, g] = 0.0
    for i in range(r):
        for g in range(ng):
            along = 0.0
            for d in range(nd):
                along += Q[i, d] * B[d, g]
            for d in range(nd):
                B[d, g] -= along * Q[i, d]
    for d in range(nd):
        z[d] = dot(B[d], tau_G, 0, ng)
        for k in range(d + 1):
            K[k, d] = dot(B[d], B[k], 0, ng)
        K[d, d] += 1.0
    cholesky(K, nd, 0, 0.0)
    cholesky_solve(K, nd, z)
    for d in range(nd):
        axpy(tau_G, B[d], -z[d], 0, ng)


@kernel
def compute_inverse_dynamics(m, q, v, a, out):
    """
    Write tau_O, tau_G = W^T tau_O and torques tau_A of least norm (Nakamura and Yamane, II-A).

    `out`: mobility, tau_O (nv), tau_A (actuators), and tau_G in the order of the velocities that
    are generalized coordinates. Returns UNSOLVED where S needs a general solution, SINGULAR where
    the rank is below the largest seen; tau_A is then not valid. With contacts it is UNSOLVED too:
    the drag of those that slide is found by whoever asked.
    """
    size = at.shape(m)
    if q.size != size.nq or v.size != size.nv or a.size != size.nv:
        return at.WRONG_SIZE
    status = check_state(m, q, v, a)
    if status != at.OK:
        return status
    placements(m, q)
    if any_slides(m):  # a state of its own: friction is against its motion, whatever the last
        motion(m, v, at.zeros(m), 0.0)
        note_slips(m, q, v)
    solve_constraints(m, q, v, False)
    return needed_torques(m, q, v, a, out)


@shared_kernel(HANDLE, VECTOR, VECTOR, VECTOR, VECTOR)
def needed_torques(m, q, v, a, out):
    """Write what `compute_inverse_dynamics` does, after `solve_constraints`; uses up H."""
    size, actuator, dof = at.shape(m), at.actuators(m), at.dofs(m)
    first = 1 + size.nv
    last = first + actuator.size
    tau_O, tau_A, tau_G = out[1:first], out[first:last], out[last:]
    status = needed_forces(m, q, v, a, tau_O)
    if status != at.OK:
        return status
    force = at.tau(m)
    copy_to(force, tau_O)
    if size.n_contacts:
        status = at.UNSOLVED
    for k in range(actuator.size):
        tau_A[k] = 0.0  # what sits on a joint that has been cut
        if actuator[k].on_loop:
            status = at.UNSOLVED
    for c in range(size.n_clusters):
        if not _actuate_cluster(m, at.clusters(m)[c], force, tau_A):
            status = at.UNSOLVED
    count = 0
    for j in range(dof.size):
        if not dof[j].dependent:
            tau_G[count] = force[j]
            count += 1
    out[0] = count
    return status if size.rank == size.full_rank else at.SINGULAR
