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
from .inner_rotors import add_inner_inertia
from .lanes import (
    ROOM,
    add_four,
    add_six,
    four,
    lane,
    put_four,
    put_six,
    scale_six,
    six,
)
from .linear_algebra import cholesky, cholesky_solve, dot, solve_upper
from .sharing import HANDLE, VECTOR, shared_kernel
from .vectors import angular, inner, inner_spatial, linear

INDEFINITE = 1e-13  # a pivot of A below this share of its diagonal: a massless motion


@kernel
def _add_to_parent(m, i, up):
    """Add composite inertia and force of a body to another's."""
    inertia, move = at.inertias(m), at.moving(m)
    if up > 0:
        mine, others = inertia[i].I, inertia[up].I
        for k in range(np.uint64(0), np.uint64(36), np.uint64(4)):
            put_four(others, k, add_four(four(others, k), 1.0, four(mine, k)))
    F = move[up].F
    put_six(F, 0, add_six(six(F, 0), 1.0, six(move[i].F, 0)))


@kernel
def _write_momentum(column, I):
    """Write U, articulated inertia times the motion subspace."""
    s = column.s
    U = scale_six(six(I, 0), s[0])  # columns are read as rows
    for k in range(1, 6):
        U = add_six(U, s[k], six(I, 6 * k))
    put_six(column.U, 0, U)


@kernel
def _fold_single(m, cluster, force):
    """Fold a joint of one degree of freedom, that no loop binds, into the body that carries it."""
    i = at.cluster_bodies(m)[cluster.first_body]
    own, inertia, move = at.bodies(m)[i], at.inertias(m), at.moving(m)
    j, up = own.iv, own.parent
    column = at.columns(m)[j]
    _write_momentum(column, inertia[i].I)
    d = inner_spatial(column.U, column.s) + at.dofs(m)[j].armature
    if at.shape(m).inner_rotors:
        M = np.zeros((1, 1))
        add_inner_inertia(m, own.cluster, M)
        d += M[0, 0]
    if not d > 0.0:
        return at.NOT_POSITIVE
    column.rest = force[j] - inner_spatial(move[i].F, column.s)
    column.D_inverse = 1.0 / d
    _add_to_parent(m, i, up)
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
def cluster_matrices(m, cluster):
    """Return views of M, A, U_G (6 numbers a coordinate) and the vectors of a cluster."""
    n, width = cluster.n_dofs, cluster.n_dofs + ROOM
    start = cluster.scratch + cluster.n_rows * (cluster.width + ROOM + 2)
    return (
        at.matrix(m, start, n, width),
        at.matrix(m, start + width * width, n, width),
        at.matrix(m, start + 2 * width * width, n, 6),
        at.matrix(m, start + 2 * width * width + 6 * n, 2, n),
    )


@kernel
def _gather(m, cluster, M, rest, force):
    """Fill M and the forces left over inside a cluster, bodies from the leaves inwards."""
    body, dof, column = at.bodies(m), at.dofs(m), at.columns(m)
    inertia, move, order = at.inertias(m), at.moving(m), at.cluster_bodies(m)
    for i in range(np.uint64(cluster.n_dofs)):
        for j in range(np.uint64(M.shape[1])):
            M[i, j] = 0.0
    for k in range(cluster.first_body + cluster.n_bodies - 1, cluster.first_body - 1, -1):
        i = np.uint64(order[k])
        for j in range(body[i].iv, body[i].iv + body[i].n_dof):
            own, place = column[j], np.uint64(dof[j].local)
            _write_momentum(own, inertia[i].I)
            p, h = linear(own.U), angular(own.U)
            rest[place] = force[j] - inner_spatial(move[i].F, own.s)
            other = j
            while other >= 0:  # this coordinate and those of the cluster above it
                at_other, s = dof[np.uint64(other)], column[np.uint64(other)].s
                here = np.uint64(at_other.local)
                M[place, here] = M[here, place] = inner(p, linear(s)) + inner(h, angular(s))
                other = at_other.above
            M[place, place] += dof[j].armature
        _add_to_parent(m, i, body[i].parent)
    if at.shape(m).inner_rotors:
        add_inner_inertia(m, body[order[cluster.first_body]].cluster, M)


@kernel
def _project(H, n, rank, M, A):
    """
    Write the upper triangle of A = W^T M W with W = [H; E].

    With Y = M_SG + M_SS H / 2, which overwrites M_SG, it is M_GG + H^T Y + Y^T H. M_SS has many
    zeros: four rows of H are left out where M has none for them.
    """
    zero, one, four_on = np.uint64(0), np.uint64(1), np.uint64(4)
    first, last = np.uint64(rank), np.uint64(n)
    width, stride = np.uint64(H.shape[1]), np.uint64(M.shape[1])
    whole = first - first % four_on
    for s in range(first):
        row = s * stride
        for k in range(zero, whole, four_on):
            a, b = 0.5 * M[s, k], 0.5 * M[s, k + one]
            c, d = 0.5 * M[s, k + np.uint64(2)], 0.5 * M[s, k + np.uint64(3)]
            if a != 0.0 or b != 0.0 or c != 0.0 or d != 0.0:
                for g in range(first, last, four_on):
                    h = k * width + g
                    y = add_four(four(M, row + g), a, four(H, h))
                    y = add_four(y, b, four(H, h + width))
                    y = add_four(y, c, four(H, h + width + width))
                    y = add_four(y, d, four(H, h + width + width + width))
                    put_four(M, row + g, y)
        for k in range(whole, first):
            a = 0.5 * M[s, k]
            if a != 0.0:
                for g in range(first, last, four_on):
                    put_four(M, row + g, add_four(four(M, row + g), a, four(H, k * width + g)))
    for g in range(first, last, four_on):
        for k in range(g, last, four_on):
            _project_block(H, M, A, first, g, k)


@kernel
def _project_block(H, M, A, first, g, k):
    """Write four times four numbers of A, from column g of H and column k on."""
    width, stride = np.uint64(H.shape[1]), np.uint64(M.shape[1])
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    a = four(M, g * stride + k)
    b = four(M, (g + one) * stride + k)
    c = four(M, (g + two) * stride + k)
    d = four(M, (g + three) * stride + k)
    for s in range(first):
        x, y = four(H, s * width + k), four(M, s * stride + k)
        a = add_four(add_four(a, H[s, g], y), M[s, g], x)
        b = add_four(add_four(b, H[s, g + one], y), M[s, g + one], x)
        c = add_four(add_four(c, H[s, g + two], y), M[s, g + two], x)
        d = add_four(add_four(d, H[s, g + three], y), M[s, g + three], x)
    row, column = g - first, k - first
    put_four(A, row * stride + column, a)
    put_four(A, (row + one) * stride + column, b)
    put_four(A, (row + two) * stride + column, c)
    put_four(A, (row + three) * stride + column, d)


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
    for g in range(ng):  # Z = L^-1 U_G in place, z = L^-1 y in place
        own, rest = six(U_G, 6 * g), y[g]
        for k in range(g):
            own = add_six(own, -L[k, g], six(U_G, 6 * k))
            rest -= L[k, g] * y[k]
        own = scale_six(own, L[g, g])
        y[g] = rest * L[g, g]
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
            else:
                cholesky_solve(L, ng, y)
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
