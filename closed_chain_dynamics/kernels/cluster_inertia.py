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
The mass matrix of one cluster, and what is left of it in its generalized coordinates.

M follows from composite inertias, which may be articulated by other clusters that hang on this
one, and A = W^T M W from M and H.
"""

import numpy as np

from . import records as at
from .compiling import kernel
from .inertia import add_rigid, rigid_momentum
from .inner_rotors import add_inner_inertia
from .lanes import ROOM, add_four, add_six, four, put_four, put_six, scale_six, six
from .vectors import angular, inner, inner_spatial, linear, put_spatial


@kernel
def cluster_matrices(m, cluster):
    """
    Return views of M, A, U_G (6 numbers a coordinate) and the vectors of a cluster.

    M and A have room for a column more, and for the last four rows and numbers of a row, vectors
    for their last four numbers.
    """
    n, width = cluster.n_dofs, cluster.n_dofs + 1 + ROOM
    start = cluster.scratch + cluster.n_rows * (cluster.width + ROOM + 2)
    return (
        at.matrix(m, start, width, width),
        at.matrix(m, start + width * width, width, width),
        at.matrix(m, start + 2 * width * width, n, 6),
        at.matrix(m, start + 2 * width * width + 6 * n, 2, n + ROOM),
    )


@kernel
def add_to_parent(m, i, up):
    """Add composite inertia and force of a body to another's."""
    body, inertia, move = at.bodies(m), at.inertias(m), at.moving(m)
    if up > 0:
        mine, others = inertia[i], inertia[up]
        if body[i].carries:
            for k in range(np.uint64(0), np.uint64(36), np.uint64(4)):
                put_four(others.I, k, add_four(four(others.I, k), 1.0, four(mine.I, k)))
        elif body[up].carries:
            add_rigid(others.I, mine.rigid)
        else:
            for k in range(10):
                others.rigid[k] += mine.rigid[k]
    F = move[up].F
    put_six(F, 0, add_six(six(F, 0), 1.0, six(move[i].F, 0)))


@kernel
def write_momentum(column, inertia, is_rigid):
    """Write U, composite inertia times the motion subspace."""
    s = column.s
    if is_rigid:
        p, h = rigid_momentum(inertia.rigid, s)
        put_spatial(column.U, p, h)
        return
    I = inertia.I
    U = scale_six(six(I, 0), s[0])  # columns are read as rows
    for k in range(1, 6):
        U = add_six(U, s[k], six(I, 6 * k))
    put_six(column.U, 0, U)


@kernel
def gather(m, cluster, M, rest, force):
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
            write_momentum(own, inertia[i], not body[i].carries)
            p, h = linear(own.U), angular(own.U)
            rest[place] = force[j] - inner_spatial(move[i].F, own.s)
            other = j
            while other >= 0:  # this coordinate and those of the cluster above it
                above, s = dof[np.uint64(other)], column[np.uint64(other)].s
                here = np.uint64(above.local)
                M[place, here] = M[here, place] = inner(p, linear(s)) + inner(h, angular(s))
                other = above.above
            M[place, place] += dof[j].armature
        add_to_parent(m, i, body[i].parent)
    if at.shape(m).inner_rotors:
        add_inner_inertia(m, body[order[cluster.first_body]].cluster, M)


@kernel
def project(H, n, rank, M, A):
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
    """
    Write four times four numbers of A, from column g of H and column k on.

    Four rows at a time share what they load, and do not wait for each other's sums: all blocks of
    15 x 27 coordinates take 0.30 us, and 0.62 row by row; of 18 x 36, 0.74 and 1.77.
    """
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
