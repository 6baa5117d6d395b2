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
The equations of motion of the closed chain, A theta_G'' + b = tau_G (paper 2, section III).

They are solved cluster by cluster from the leaves to the root. Each cluster projects its mass
matrix, A = W^T M W with W = [H; E], and hands what it feels like from outside, an articulated
inertia, to the body that carries it. With one cluster this is the papers' dense method, without
loops the articulated-body algorithm; a mechanism with many small loops costs in proportion to its
length.
"""

import numpy as np

from . import records as at
from .compiling import kernel
from .constraint_rows import constraint_matrix
from .inertia import body_inertias, expand_inertias
from .linear_algebra import axpy, cholesky, cholesky_solve, dot, solve_upper
from .loop_rotors import add_loop_inertia
from .sharing import HANDLE, VECTOR, shared_kernel
from .vectors import add_spatial, angular, inner_spatial, linear, put_spatial, times

INDEFINITE = 1e-13  # a pivot of A below this share of its diagonal: a massless motion


@kernel
def _add_to_parent(m, i, up):
    """Add composite inertia and force of a body to another's."""
    inertia, move = at.inertias(m), at.moving(m)
    if up > 0:
        for r in range(6):
            axpy(inertia[up].I[r], inertia[i].I[r], 1.0, 0, 6)
    add_spatial(move[up].F, linear(move[i].F), angular(move[i].F))


@kernel
def _write_momentum(column, I):
    """Write U, articulated inertia times the motion subspace."""
    u0 = u1 = u2 = u3 = u4 = u5 = 0.0
    for k in range(6):  # columns are read as rows; in registers 23 ns instead of 36 ns
        s = column.s[k]
        u0, u1, u2 = u0 + I[k, 0] * s, u1 + I[k, 1] * s, u2 + I[k, 2] * s
        u3, u4, u5 = u3 + I[k, 3] * s, u4 + I[k, 4] * s, u5 + I[k, 5] * s
    put_spatial(column.U, (u0, u1, u2), (u3, u4, u5))


@kernel
def _add_loop_rotors(m, cluster, M):
    """Add the rotors of a cluster's loop joints to its M."""
    for k in at.cluster_loops(m)[cluster.first_loop : cluster.first_loop + cluster.n_loops]:
        add_loop_inertia(m, k, M, True)


@kernel
def _fold_single(m, cluster, force):
    """Fold a joint of one degree of freedom, that no loop binds, into the body that carries it."""
    i = at.cluster_bodies(m)[cluster.first_body]
    own, inertia, move = at.bodies(m)[i], at.inertias(m), at.moving(m)
    j, up = own.iv, own.parent
    column = at.columns(m)[j]
    _write_momentum(column, inertia[i].I)
    d = inner_spatial(column.U, column.s) + at.dofs(m)[j].armature
    if at.shape(m).rotor_loops:
        M = np.zeros((1, 1))
        _add_loop_rotors(m, cluster, M)
        d += M[0, 0]
    if not d > 0.0:
        return at.NOT_POSITIVE
    column.rest = force[j] - inner_spatial(move[i].F, column.s)
    column.D_inverse = 1.0 / d
    _add_to_parent(m, i, up)
    if up > 0:
        for r in range(6):
            axpy(inertia[up].I[r], column.U, -column.U[r] / d, 0, 6)
    share = column.rest / d
    add_spatial(move[up].F, times(share, linear(column.U)), times(share, angular(column.U)))
    return at.OK


@kernel
def cluster_matrices(m, cluster):
    """Return views of M, A, U_G (6 numbers a coordinate) and the vectors of a cluster."""
    n = cluster.n_dofs
    start = cluster.scratch + cluster.n_rows * cluster.width
    return (
        at.matrix(m, start, n, n),
        at.matrix(m, start + n * n, n, n),
        at.matrix(m, start + 2 * n * n, n, 6),
        at.matrix(m, start + 2 * n * n + 6 * n, 2, n),
    )


@kernel
def _gather(m, cluster, M, rest, force):
    """Fill M and the forces left over inside a cluster, bodies from the leaves inwards."""
    body, dof, column = at.bodies(m), at.dofs(m), at.columns(m)
    inertia, move, order = at.inertias(m), at.moving(m), at.cluster_bodies(m)
    M[:, :] = 0.0
    for k in range(cluster.first_body + cluster.n_bodies - 1, cluster.first_body - 1, -1):
        i = np.uint64(order[k])
        for j in range(body[i].iv, body[i].iv + body[i].n_dof):
            own, place = column[j], np.uint64(dof[j].local)
            _write_momentum(own, inertia[i].I)
            rest[place] = force[j] - inner_spatial(move[i].F, own.s)
            other = j
            while other >= 0:  # this coordinate and those of the cluster above it
                here = np.uint64(dof[other].local)
                M[place, here] = M[here, place] = inner_spatial(own.U, column[other].s)
                other = dof[other].above
            M[place, place] += dof[j].armature
        _add_to_parent(m, i, body[i].parent)
    if at.shape(m).rotor_loops:
        _add_loop_rotors(m, cluster, M)


@kernel
def _project(H, n, rank, M, A):
    """
    Write the upper triangle of A = W^T M W with W = [H; E].

    With Y = M_SG + M_SS H / 2 it is M_GG + P + P^T, P = H^T Y. Y overwrites M_SG. H and M_SS have
    many zeros, which are left out row by row. Four rows at a time: 2.5 us instead of 3.4 us for
    the figure on the swing, 34 coordinates of rank 15. No views of rows: the loops are too short.
    """
    first, last = np.uint64(rank), np.uint64(n)
    for s in range(first):
        for k in range(np.uint64(0), first & ~np.uint64(3), np.uint64(4)):
            a, b = 0.5 * M[s, k], 0.5 * M[s, k + np.uint64(1)]
            c, d = 0.5 * M[s, k + np.uint64(2)], 0.5 * M[s, k + np.uint64(3)]
            if a != 0.0 or b != 0.0 or c != 0.0 or d != 0.0:
                for g in range(first, last):
                    M[s, g] += (
                        a * H[k, g]
                        + b * H[k + np.uint64(1), g]
                        + c * H[k + np.uint64(2), g]
                        + d * H[k + np.uint64(3), g]
                    )
        for k in range(first & ~np.uint64(3), first):
            a = 0.5 * M[s, k]
            if a != 0.0:
                for g in range(first, last):
                    M[s, g] += a * H[k, g]
    ng = last - first
    for g in range(ng):
        for k in range(ng):
            A[g, k] = 0.0
        for s in range(np.uint64(0), first & ~np.uint64(3), np.uint64(4)):
            a, b = H[s, first + g], H[s + np.uint64(1), first + g]
            c, d = H[s + np.uint64(2), first + g], H[s + np.uint64(3), first + g]
            if a != 0.0 or b != 0.0 or c != 0.0 or d != 0.0:
                for k in range(ng):
                    A[g, k] += (
                        a * M[s, first + k]
                        + b * M[s + np.uint64(1), first + k]
                        + c * M[s + np.uint64(2), first + k]
                        + d * M[s + np.uint64(3), first + k]
                    )
        for s in range(first & ~np.uint64(3), first):
            a = H[s, first + g]
            if a != 0.0:
                for k in range(ng):
                    A[g, k] += a * M[s, first + k]
    for g in range(ng):
        for k in range(g, ng):
            A[g, k] += A[k, g] + M[first + g, first + k]


@kernel
def _fold_cluster(m, cluster, force):
    """Fold a cluster into the body that carries it: A, its factor, and what is left outside."""
    M, A, U_G, vectors = cluster_matrices(m, cluster)
    rest, y, H = vectors[0], vectors[1], constraint_matrix(m, cluster)
    n, rank, up = cluster.n_dofs, cluster.rank, cluster.parent
    _gather(m, cluster, M, rest, force)
    _project(H, n, rank, M, A)
    ng = n - rank
    for g in range(ng):  # W^T times force
        y[g] = rest[rank + g]
    for s in range(np.uint64(rank)):
        for g in range(np.uint64(ng)):
            y[g] += H[s, np.uint64(rank) + g] * rest[s]
    if up > 0:
        _momenta_of_coordinates(m, cluster, H, U_G)
    if not cholesky(A, ng, INDEFINITE):
        return at.NOT_POSITIVE
    if up > 0:
        _fold_outwards(m, up, A, ng, U_G, y)
    return at.OK


@kernel
def _momenta_of_coordinates(m, cluster, H, U_G):
    """Write W^T U, six numbers a generalized coordinate."""
    column, order, rank = at.columns(m), at.cluster_dofs(m), cluster.rank
    for g in range(cluster.n_dofs - rank):
        out = U_G[g]
        U = column[order[cluster.first_dof + rank + g]].U
        put_spatial(out, linear(U), angular(U))
        for s in range(rank):
            U = column[order[cluster.first_dof + s]].U
            axpy(out, U, H[s, rank + g], 0, 6)


@kernel
def _fold_outwards(m, up, L, ng, U_G, y):
    """Take U_G A^-1 U_G^T off the carrier's inertia, and add U_G A^-1 y to its force."""
    I, F = at.inertias(m)[up].I, at.moving(m)[up].F
    for g in range(ng):  # Z = L^-1 U_G in place, z = L^-1 y in place
        for k in range(g):
            axpy(U_G[g], U_G[k], -L[k, g], 0, 6)
            y[g] -= L[k, g] * y[k]
        for r in range(6):
            U_G[g, r] *= L[g, g]
        y[g] *= L[g, g]
    for g in range(ng):
        for r in range(6):
            axpy(I[r], U_G[g], -U_G[g, r], 0, 6)
        axpy(F, U_G[g], y[g], 0, 6)


@kernel
def _unfold(m, acceleration):
    """Compute accelerations from the root outwards; A of a body becomes the increment of V'."""
    body, move, column = at.bodies(m), at.moving(m), at.columns(m)
    cluster, order, members = at.clusters(m), at.cluster_dofs(m), at.cluster_bodies(m)
    move[0].A[:] = 0.0
    for c in range(at.shape(m).n_clusters):
        own = cluster[c]
        n, rank, first, up = own.n_dofs, own.rank, own.first_dof, own.parent
        if n == 1 and rank == 0:
            single = column[order[first]]
            acceleration[order[first]] = single.D_inverse * (
                single.rest - inner_spatial(single.U, move[up].A)
            )
        else:
            _, L, U_G, vectors = cluster_matrices(m, own)
            y, ng, H = vectors[1], n - rank, constraint_matrix(m, own)
            if up > 0:  # y and U_G hold L^-1 times theirs: one more solve with L^T
                for g in range(ng):
                    y[g] -= inner_spatial(U_G[g], move[up].A)
                solve_upper(L, ng, y)
            else:
                cholesky_solve(L, ng, y)
            for g in range(ng):
                acceleration[order[first + rank + g]] = y[g]
            for s in range(rank):
                acceleration[order[first + s]] = dot(H[s, rank:], y, 0, ng)
        for i in members[own.first_body : own.first_body + own.n_bodies]:
            if body[i].carries:  # else no other cluster asks for it
                A, above = move[i].A, move[body[i].parent].A
                put_spatial(A, linear(above), angular(above))
                for j in range(body[i].iv, body[i].iv + body[i].n_dof):
                    axpy(A, column[j].s, acceleration[j], 0, 6)


@shared_kernel(HANDLE, VECTOR, VECTOR)
def solve_motion(m, force, acceleration):
    """Solve A x = W^T (force - forces of the bodies) for W x, after `solve_constraints`."""
    body_inertias(m)
    expand_inertias(m)
    cluster = at.clusters(m)
    for c in range(at.shape(m).n_clusters - 1, -1, -1):
        own = cluster[c]
        if own.n_dofs == 1 and own.rank == 0:
            status = _fold_single(m, own, force)
        else:
            status = _fold_cluster(m, own, force)
        if status != at.OK:
            return status
    _unfold(m, acceleration)
    return at.OK
