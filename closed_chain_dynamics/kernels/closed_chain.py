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
The equations of motion of the closed chain, A theta_G'' + b = tau_G (Nakamura and Yamane, III).

They are solved cluster by cluster from the leaves to the root. Each cluster projects its mass
matrix, A = W^T M W with W = [H; E], and hands what it feels like from outside, an articulated
inertia, to the body that carries it. With one cluster this is the papers' dense method, without
loops the articulated-body algorithm; a mechanism with many small loops costs in proportion to its
length.
"""

import numpy as np

from . import records as at
from .cluster_inertia import add_to_parent, cluster_matrices, gather, project, write_momentum
from .compiling import kernel
from .constraint_rows import constraint_matrix
from .inertia import body_inertias, expand_inertias
from .inner_rotors import add_inner_inertia
from .lanes import add_four, add_six, four, lane, put_six, scale_six, six
from .linear_algebra import cholesky, dot, solve_upper
from .sharing import HANDLE, VECTOR, shared_kernel
from .vectors import inner_spatial

INDEFINITE = 1e-13  # a pivot of A below this share of its diagonal: a massless motion


@kernel
def _fold_single(m, cluster, force):
    """Fold a joint of one degree of freedom, that no loop binds, into the body that carries it."""
    i = at.cluster_bodies(m)[cluster.first_body]
    own, inertia, move = at.bodies(m)[i], at.inertias(m), at.moving(m)
    j, up = own.iv, own.parent
    column = at.columns(m)[j]
    write_momentum(column, inertia[i], not own.carries)
    d = inner_spatial(column.U, column.s) + at.dofs(m)[j].armature
    if at.shape(m).inner_rotors:
        M = np.zeros((1, 1))
        add_inner_inertia(m, own.cluster, M)
        d += M[0, 0]
    if not d > 0.0:
        return at.NOT_POSITIVE
    column.rest = force[j] - inner_spatial(move[i].F, column.s)
    column.D_inverse = 1.0 / d
    add_to_parent(m, i, up)
    if up > 0:
        _take_off_square(inertia[up].I, column.U, 0, column.D_inverse)
    F = move[up].F
    put_six(F, 0, add_six(six(F, 0), column.rest * column.D_inverse, six(column.U, 0)))
    return at.OK


@kernel
def _take_off_square(I, U, place, factor):
    """Take factor U U^T off an inertia, U at a place of an array."""
    whole = six(U, place)
    by = scale_six(whole, -factor)
    for r in range(6):
        put_six(I, 6 * r, add_six(six(I, 6 * r), lane(by, r), whole))


@kernel
def _project_forces(H, rank, ng, rest, A):
    """Write W^T times force as a column of A, behind the coordinates; A has room for four rows."""
    width, first, column = np.uint64(H.shape[1]), np.uint64(rank), np.uint64(ng)
    for g in range(np.uint64(0), column, np.uint64(4)):
        total = four(rest, first + g)
        for s in range(first):
            total = add_four(total, rest[s], four(H, s * width + first + g))
        A[g, column], A[g + np.uint64(1), column] = lane(total, 0), lane(total, 1)
        A[g + np.uint64(2), column], A[g + np.uint64(3), column] = lane(total, 2), lane(total, 3)


@kernel
def _fold_cluster(m, cluster, force):
    """Fold a cluster into the body that carries it: A, its factor, and what is left outside."""
    M, A, U_G, vectors = cluster_matrices(m, cluster)
    rest, y, H = vectors[0], vectors[1], constraint_matrix(m, cluster)
    n, rank, up = cluster.n_dofs, cluster.rank, cluster.parent
    gather(m, cluster, M, rest, force)
    project(H, n, rank, M, A)
    ng = n - rank
    _project_forces(H, rank, ng, rest, A)
    if up > 0:
        _momenta_of_coordinates(m, cluster, H, U_G)
    if not cholesky(A, ng, 1, INDEFINITE):
        return at.NOT_POSITIVE
    for g in range(np.uint64(ng)):
        y[g] = A[g, np.uint64(ng)]
    if up > 0:
        _fold_outwards(m, up, A, ng, U_G, y)
    return at.OK


@kernel
def _momenta_of_coordinates(m, cluster, H, U_G):
    """Write W^T U, six numbers a generalized coordinate."""
    column, order = at.columns(m), at.cluster_dofs(m)[cluster.first_dof :]
    rank = cluster.rank
    for g in range(cluster.n_dofs - rank):
        out = six(column[order[rank + g]].U, 0)
        for s in range(rank):
            out = add_six(out, H[s, rank + g], six(column[order[s]].U, 0))
        put_six(U_G, 6 * g, out)


@kernel
def _fold_outwards(m, up, L, ng, U_G, y):
    """Take U_G A^-1 U_G^T off the carrier's inertia, and add U_G A^-1 y to its force."""
    I, F = at.inertias(m)[up].I, at.moving(m)[up].F
    force = six(F, 0)
    for g in range(ng):  # Z = L^-1 U_G in place; y is L^-1 y already
        own = six(U_G, 6 * g)
        for k in range(g):
            own = add_six(own, -L[k, g], six(U_G, 6 * k))
        own = scale_six(own, L[g, g])
        put_six(U_G, 6 * g, own)
        _take_off_square(I, U_G, 6 * g, 1.0)
        force = add_six(force, y[g], own)
    put_six(F, 0, force)


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
            for g in range(ng):
                acceleration[order[first + rank + g]] = y[g]
            for s in range(rank):
                acceleration[order[first + s]] = dot(H[s, rank:], y, 0, ng)
        for i in members[own.first_body : own.first_body + own.n_bodies]:
            if body[i].carries:  # else no other cluster asks for it
                A = six(move[body[i].parent].A, 0)
                for j in range(body[i].iv, body[i].iv + body[i].n_dof):
                    A = add_six(A, acceleration[j], six(column[j].s, 0))
                put_six(move[i].A, 0, A)


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
