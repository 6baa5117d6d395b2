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
Generalized coordinates of every cluster: rank, theta_S, theta_G and H (Nakamura and Yamane, II-B).

Columns of a cluster stand in the order theta_S, theta_G, so that Gauss-Jordan elimination of the
first `rank` columns turns [J_S  J_G | J_C' theta'] into [E  H | h] without any gathering. The
order is the choice of the generalized coordinates; it is kept from call to call and checked, and
made anew, by elimination with complete pivoting, when H has grown large or the rank has changed. A
choice made anew is in the same velocities, so nothing in the state jumps.
"""

import numpy as np

from . import records as at
from .choice import choose
from .compiling import kernel
from .constraint_rows import (
    check_closed,
    constraint_matrix,
    fill_constraints,
    fill_right_side,
    row_swaps,
)
from .kinematics import check_state, placements
from .lanes import ROOM, add_four, four, put_four, scale_four
from .linear_algebra import cholesky, cholesky_solve, dot, largest, sum_of_squares, swap_rows
from .sharing import FLAG, HANDLE, NOTHING, VECTOR, shared_kernel

SWITCH = 1e3  # |H| above which the choice is made anew: ten times what a fresh choice can give


@kernel
def eliminate(m, cluster, fresh):
    """
    Turn [J_S  J_G | J_C' theta'] into [E  H | h], Eqs. (15) to (17), (22) of Yamane and Nakamura.

    Row s then says theta_S' = H theta_G' and theta_S'' = H theta_G'' + h; where the last column
    was the position error, h is Newton's step of theta_S. Returns whether the choice of theta_S
    still holds: full pivots, H not large, and the rows left over redundant. A fresh choice is
    followed through whatever its pivots. In the place of E the factors of J_S stay, pivots as
    their inverse, for `solve_again`.
    """
    J, swaps = constraint_matrix(m, cluster), row_swaps(m, cluster)
    n, n_rows, rank = cluster.n_dofs, cluster.n_rows, cluster.rank
    one, four_on = np.uint64(1), np.uint64(4)
    stride, end = np.uint64(J.shape[1]), np.uint64(cluster.width)
    for k in range(rank):
        best, pivot = 0.0, k
        for i in range(k, n_rows):
            size = abs(J[i, k])
            best = size if size > best else best
        for i in range(k, n_rows):  # the first that is large enough: loops finish one by one
            if abs(J[i, k]) >= 0.1 * best:
                pivot = i
                break
        if best <= 0.1 * cluster.tolerance and not fresh:  # hysteresis against `choose`
            return False
        swaps[0, k] = pivot
        if best == 0.0:
            J[k, k] = 1.0
            continue
        swap_rows(J, k, pivot, 0, cluster.width)
        here = np.uint64(k)
        row, start, factor = here * stride, here + one, 1.0 / J[here, here]
        J[here, here] = factor
        for j in range(row + start, row + end, four_on):
            put_four(J, j, scale_four(four(J, j), factor))
        for i in range(start, np.uint64(n_rows)):
            factor = -J[i, here]
            if factor != 0.0:
                down = (i - here) * stride
                for j in range(row + start, row + end, four_on):
                    put_four(J, j + down, add_four(four(J, j + down), factor, four(J, j)))
    _substitute_back(J, cluster.width, rank)
    if cluster.width > n + 1:  # row operations keep their sign
        for s in range(rank):
            for j in range(n + 1, cluster.width):
                J[s, j] = -J[s, j]
    return sum_of_squares(J, 0, rank, rank, n) <= SWITCH * SWITCH and (
        n_rows == rank or largest(J, rank, n_rows, rank, n) <= cluster.tolerance
    )


@kernel
def _substitute_back(J, width, rank):
    """
    Turn what elimination left, [U  X] with units on the diagonal of U, into [.  -U^-1 X].

    U has many zeros: a row is only in the way of those that share coordinates with it. Four rows
    are taken off at a time: one by one, each would wait for the last to be written.
    """
    first, end, stride = np.uint64(rank), np.uint64(width), np.uint64(J.shape[1])
    one, two, three, four_on = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    for up in range(first):
        i = first - one - up
        row, whole = i * stride, first - up % four_on
        for j in range(first, end, four_on):
            put_four(J, row + j, scale_four(four(J, row + j), -1.0))
        for k in range(whole, first):
            factor, other = -J[i, k], k * stride
            if factor != 0.0:
                for j in range(first, end, four_on):
                    put_four(J, row + j, add_four(four(J, row + j), factor, four(J, other + j)))
        for k in range(i + one, whole, four_on):
            a, b, c, d = -J[i, k], -J[i, k + one], -J[i, k + two], -J[i, k + three]
            if a != 0.0 or b != 0.0 or c != 0.0 or d != 0.0:
                for j in range(first, end, four_on):
                    other = k * stride + j
                    x = add_four(four(J, row + j), a, four(J, other))
                    x = add_four(x, b, four(J, other + stride))
                    x = add_four(x, c, four(J, other + two * stride))
                    put_four(J, row + j, add_four(x, d, four(J, other + three * stride)))


@kernel
def may_solve_again(m):
    """Return whether the factors are all that h needs: nothing is held, no rounding is shared."""
    size = at.shape(m)
    return size.n_contacts == 0 and size.n_holds == 0 and not at.world(m).rounded


@shared_kernel(HANDLE, VECTOR, VECTOR, FLAG, returns=NOTHING)
def solve_again(m, q, v, bias):
    """
    Compute h anew with the factors of the last elimination, H as it is; see `may_solve_again`.

    That is exact where nothing but the velocities has changed since, and elsewhere a step of
    Newton's method with the rows of a pose nearby.
    """
    for cluster in at.clusters(m)[: at.shape(m).n_clusters]:
        if cluster.rank == 0:
            continue
        J, kept, rank = constraint_matrix(m, cluster), row_swaps(m, cluster), cluster.rank
        x = kept[1]
        fill_right_side(m, cluster, q, v, bias, x)
        for k in range(rank):
            other = int(kept[0, k])
            x[k], x[other] = x[other], x[k]
        for k in range(rank):
            x[k] = (x[k] - dot(J[k], x, 0, k)) * J[k, k]
        for k in range(rank - 1, -1, -1):
            x[k] -= dot(J[k], x, k + 1, rank)
            J[k, cluster.n_dofs] = -x[k]


@kernel
def share_rounding(m, cluster, q, v, bias):
    """
    Let all rows share what redundant ones contradict each other by, in the least squares.

    Elimination keeps as many rows as are independent, now these, now others; with each choice H
    and h are a little different, and the motion would jump. What is added to them is
    -(J_S^T J_S)^-1 J_S^T (J_S H + J_G).
    """
    E = constraint_matrix(m, cluster).copy()
    J, n, rank = fill_constraints(m, cluster, q, v, bias), cluster.n_dofs, cluster.rank
    N, change = np.zeros((rank, rank + ROOM)), np.zeros(rank)
    for i in range(cluster.n_rows):
        for s in range(rank):
            for t in range(rank):
                N[s, t] += J[i, s] * J[i, t]
    is_sound = cholesky(N, rank, 0, 0.0)
    for j in range(rank, n + 1):
        change[:] = 0.0
        for i in range(cluster.n_rows):
            rest = J[i, j]
            for s in range(rank):
                rest += J[i, s] * E[s, j]
            for s in range(rank):
                change[s] -= J[i, s] * rest
        if is_sound:
            cholesky_solve(N, rank, change)
            for s in range(rank):
                E[s, j] += change[s]
    J[:, :] = E


@shared_kernel(HANDLE, VECTOR, VECTOR, FLAG, returns=NOTHING)
def solve_constraints(m, q, v, bias):
    """Find H of every cluster, keeping the choice of coordinates where it still holds."""
    size, cluster = at.shape(m), at.clusters(m)
    size.rank = 0
    for c in range(size.n_clusters):
        own = cluster[c]
        if own.n_rows == 0:
            continue
        fill_constraints(m, own, q, v, bias)
        if not (own.chosen and eliminate(m, own, False)):
            if own.chosen:
                fill_constraints(m, own, q, v, bias)
            choose(m, own)
            fill_constraints(m, own, q, v, bias)
            eliminate(m, own, True)
        if at.world(m).rounded and own.rank < own.n_rows:
            share_rounding(m, own, q, v, bias)
        size.rank += own.rank
        if own.rank > own.full_rank:
            size.full_rank += own.rank - own.full_rank
            own.full_rank = own.rank
            size.changes += 1
    size.mobility = size.nv - size.rank


@kernel
def compute_coordinates(m, q, W):
    """
    Choose coordinates afresh where needed and write W, (nv, at least mobility).

    Columns stand in the order of the velocities that are generalized coordinates.
    """
    status = check_state(m, q, q, q)
    if status != at.OK:
        return status
    placements(m, q)
    solve_constraints(m, q, at.zeros(m), False)
    write_W(m, W)
    return check_closed(m)


@kernel
def write_W(m, W):
    """Write W = d theta_O / d theta_G: unit rows for theta_G, rows of H for theta_S (Fig. 5)."""
    dof, order = at.dofs(m), at.cluster_dofs(m)
    place = np.empty(dof.size, np.int64)  # the column of W, of a velocity in theta_G
    count = 0
    for j in range(dof.size):
        place[j] = count
        count += 1 - dof[j].dependent
    W[:, :] = 0.0
    for c in range(at.shape(m).n_clusters):
        own = at.clusters(m)[c]
        H = constraint_matrix(m, own)
        for g in range(own.rank, own.n_dofs):
            j = order[own.first_dof + g]
            W[j, place[j]] = 1.0
            for s in range(own.rank):
                W[order[own.first_dof + s], place[j]] = H[s, g]
