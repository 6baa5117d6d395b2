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
Generalized coordinates of every cluster: rank of J_C, theta_S and theta_G, and H (paper 2, II-B).

Columns of a cluster stand in the order theta_S, theta_G, so that Gauss-Jordan elimination of the
first `rank` columns turns [J_S  J_G | J_C' theta'] into [E  H | h] without any gathering. The
order is the choice of the generalized coordinates; it is kept from call to call and checked, and
made anew, by elimination with complete pivoting, when H has grown large or the rank has changed. A
choice made anew is in the same velocities, so nothing in the state jumps.
"""

import numpy as np

from . import records as at
from .compiling import kernel
from .holds import hold_row
from .kinematics import check_state, motion, placements
from .linear_algebra import axpy, largest, sum_of_squares, swap_rows
from .loops import (
    add_loop_to_jacobian,
    add_loop_to_rows,
    coupling_row,
    loop_coordinates,
    loop_is_flipped,
    loop_rows,
    point_rows,
)
from .sharing import FLAG, HANDLE, NOTHING, VECTOR, shared_kernel

# A pivot counts less in an actuated or wanted column, so that these become theta_G unless H
# would grow beyond the inverse of the weight.
WEIGHT_ACTUATED, WEIGHT_INDEPENDENT, WEIGHT_DEPENDENT = 0.01, 0.08, 100.0
MOST_FILLED = 8  # a column in many rows counts less, but never as little as a wanted one
GOOD_PIVOT = 0.005  # share of the largest entry that a pivot has while loops are taken in turn
LONGEST_LEVER = 100.0  # in typical lengths
FINEST = 1e-9  # coefficient of a coupling below which it is none
SWITCH = 1e3  # |H| above which the choice is made anew: ten times what a fresh choice can give


@kernel
def constraint_matrix(m, cluster):
    """
    Return [J_C | J_C' theta'] of a cluster, (rows, n + 1); after elimination it is [E  H | h].

    In a cluster with contacts it has as many columns more as rows: elimination turns E there into
    the row operations that it did, from which the constraint forces follow.
    """
    return at.matrix(m, cluster.scratch, cluster.n_rows, cluster.width)


@kernel
def fill_constraints(m, cluster, q, v, bias):
    """
    Fill [J_C | J_C' theta'] of a cluster; linear rows are in units of the typical length.

    Without bias the last column is the position error instead.
    """
    loop, row = at.loops(m), at.rows(m)
    J, n = constraint_matrix(m, cluster), cluster.n_dofs
    for i in range(np.uint64(cluster.n_rows)):
        for j in range(np.uint64(cluster.width)):
            J[i, j] = 0.0
    i = 0
    for k in at.cluster_loops(m)[cluster.first_loop : cluster.first_loop + cluster.n_loops]:
        if loop[k].type == at.LOOP_SPHERICAL:
            point_rows(m, k, J, i, n, bias)
        else:
            loop_rows(m, k, bias)
            add_loop_to_rows(m, k, J, i, n, bias)
        i += loop[k].n_rows
    first = cluster.first_coupling
    for k in at.cluster_couplings(m)[first : first + cluster.n_couplings]:
        own = row[at.couplings(m)[k].row]
        own.error, own.bias = coupling_row(m, k, q, v, J, i, True, bias)
        J[i, n] = own.bias if bias else own.error
        i += 1
    if at.shape(m).n_holds:
        _fill_holds(m, cluster, q, bias, J, i)
    if cluster.width > n + 1:
        for i in range(cluster.n_rows):
            J[i, n + 1 + i] = 1.0
    return J


@kernel
def _fill_holds(m, cluster, q, bias, J, i):
    """Fill the rows of the coordinates that are held, from row i on."""
    hold = at.holds(m)
    for h in range(hold.size):
        if hold[h].active and at.clusters(m)[hold[h].cluster].first_dof == cluster.first_dof:
            own = at.rows(m)[hold[h].row]
            own.error, own.bias = hold_row(m, h, q, J, i, True, bias)
            J[i, cluster.n_dofs] = own.bias if bias else own.error
            i += 1


@kernel
def _weight(preference):
    if preference == 2:
        return WEIGHT_ACTUATED
    if preference == 1:
        return WEIGHT_INDEPENDENT
    return WEIGHT_DEPENDENT if preference == -1 else 1.0


@kernel
def _best_pivot(J, rank, seen, least, preferences):
    """
    Return place and weighted size of the best pivot among the rows seen; 0 where none is.

    `least`: the size below which a pivot counts as zero, by column.
    """
    m, n = J.shape[0], preferences.size
    best, pivot_row, pivot_column = 0.0, rank, rank
    for j in range(rank, n):
        filled = 0  # a column in few rows makes few others depend on it
        for i in range(rank, m):
            filled += J[i, j] != 0.0
        weight = _weight(preferences[j]) / min(max(filled, 1), MOST_FILLED)
        for i in range(rank, seen):
            size = abs(J[i, j])
            if size > least[j] and size * weight > best:
                best, pivot_row, pivot_column = size * weight, i, j
    return best, pivot_row, pivot_column


@kernel
def _fineness(J, j, n_loop_rows):
    """
    Return by how much smaller entries of a column count, where only couplings feel it.

    Coefficients of couplings are exact: small ones are no rounding, as entries of loops are.
    """
    most = 0.0
    for i in range(J.shape[0]):
        most = max(most, abs(J[i, j]))
        if i < n_loop_rows and J[i, j] != 0.0:
            return 1.0
    return most if FINEST <= most < GOOD_PIVOT else 1.0


@kernel
def choose(m, cluster):
    """
    Choose theta_S by elimination with complete pivoting; theta_G is what remains (II-B).

    Works on the filled J_C, destroys it, and reorders the cluster's columns.
    """
    dof, J = at.dofs(m), constraint_matrix(m, cluster)
    n, n_rows = cluster.n_dofs, cluster.n_rows
    order = at.cluster_dofs(m)[cluster.first_dof : cluster.first_dof + n]
    preferences, fine, least = np.empty(n, np.int64), np.empty(n), np.empty(n)
    for j in range(n):
        preferences[j] = dof[order[j]].preference
        for i in range(n_rows):  # metres against radians in columns too
            J[i, j] *= dof[order[j]].scale
        fine[j] = _fineness(J, j, n_rows - cluster.n_couplings)
    # Levers are a few typical lengths. In a pose far off, where a method of integration may look,
    # they are anything; a tolerance kept from there would let everything pass as redundant.
    size = min(max(largest(J, 0, n_rows, 0, n), 1e-300), LONGEST_LEVER)
    tolerance = at.world(m).rank_tolerance * size
    cluster.tolerance = tolerance
    for j in range(n):
        least[j] = GOOD_PIVOT * size
        cluster.tolerance = min(cluster.tolerance, tolerance * fine[j])
    # Loop by loop, as long as pivots are good: then H keeps the zeros that the structure gives it.
    # What is left waits until all rows are there.
    rank, seen, next_loop, last = 0, 0, 0, False
    while rank < min(n_rows, n):
        best, i, j = _best_pivot(J, rank, seen, least, preferences)
        if best == 0.0:
            if last:
                break
            if next_loop < cluster.n_loops:
                seen += at.loops(m)[at.cluster_loops(m)[cluster.first_loop + next_loop]].n_rows
                next_loop += 1
            elif seen < n_rows:
                seen = n_rows
            else:
                last = True
                for k in range(rank, n):
                    least[k] = tolerance * fine[k]
            continue
        swap_rows(J, rank, i, 0, n)
        for k in range(n_rows):
            J[k, rank], J[k, j] = J[k, j], J[k, rank]
        order[rank], order[j] = order[j], order[rank]
        preferences[rank], preferences[j] = preferences[j], preferences[rank]
        fine[rank], fine[j] = fine[j], fine[rank]
        least[rank], least[j] = least[j], least[rank]
        for k in range(rank + 1, n_rows):
            axpy(J[k], J[rank], -J[k, rank] / J[rank, rank], rank, n)
            J[k, rank] = 0.0
        rank += 1
    for j in range(n):
        dof[order[j]].local, dof[order[j]].dependent = j, j < rank
    cluster.rank, cluster.chosen = rank, 1
    at.shape(m).changes += 1


@kernel
def eliminate(m, cluster, fresh):
    """
    Turn [J_S  J_G | J_C' theta'] into [E  H | h], Eqs. (15) to (17), (22) of paper 1.

    Row s then says theta_S' = H theta_G' and theta_S'' = H theta_G'' + h; where the last column
    was the position error, h is Newton's step of theta_S. Returns whether the choice of theta_S
    still holds: full pivots, H not large, and the rows left over redundant. A fresh choice is
    followed through whatever its pivots.
    """
    J, width = constraint_matrix(m, cluster), np.uint64(cluster.width)
    n, n_rows, rank = cluster.n_dofs, cluster.n_rows, cluster.rank
    for k in range(rank):
        best, pivot = abs(J[k, k]), k
        for i in range(k + 1, n_rows):
            if abs(J[i, k]) > best:
                best, pivot = abs(J[i, k]), i
        for i in range(k, n_rows):  # the first that is large enough: loops finish one by one
            if abs(J[i, k]) >= 0.1 * best:
                pivot = i
                break
        if best <= 0.1 * cluster.tolerance and not fresh:  # hysteresis against `choose`
            return False
        if best == 0.0:
            continue
        swap_rows(J, k, pivot, k, cluster.width)
        here = np.uint64(k)
        factor = 1.0 / J[here, here]
        for j in range(here, width):
            J[here, j] *= factor
        for i in range(here + np.uint64(1), np.uint64(n_rows)):
            factor = J[i, here]
            if factor != 0.0:
                for j in range(here, width):
                    J[i, j] -= factor * J[here, j]
    for k in range(rank - 1, 0, -1):  # back substitution, in the columns that matter
        here = np.uint64(k)
        for i in range(here):
            factor = J[i, here]
            if factor != 0.0:
                for j in range(np.uint64(rank), width):
                    J[i, j] -= factor * J[here, j]
    for s in range(np.uint64(rank)):  # from J_S^-1 J_G to H
        for j in range(np.uint64(rank), np.uint64(n + 1)):
            J[s, j] = -J[s, j]
    return sum_of_squares(J, 0, rank, rank, n) <= SWITCH * SWITCH and (
        n_rows == rank or largest(J, rank, n_rows, rank, n) <= cluster.tolerance
    )


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
        size.rank += own.rank
        if own.rank > own.full_rank:
            size.full_rank += own.rank - own.full_rank
            own.full_rank = own.rank
            size.changes += 1
    size.mobility = size.nv - size.rank


@kernel
def check_closed(m):
    """Return OK when every loop of a cluster is closed within tolerance, else LOOP_OPEN."""
    loop, coupling, row = at.loops(m), at.couplings(m), at.rows(m)
    tolerance = at.world(m).closing_tolerance
    for k in range(loop.size):
        own = loop[k]
        if own.active and own.n_rows > 0 and own.cluster >= 0:
            for r in range(own.row, own.row + own.n_rows):
                if not abs(row[r].error) <= tolerance:
                    return at.LOOP_OPEN
            if loop_is_flipped(m, k):
                return at.LOOP_OPEN
    for k in range(coupling.size):
        if coupling[k].active and not abs(row[coupling[k].row].error) <= tolerance:
            return at.LOOP_OPEN
    for hold in at.holds(m):
        if hold.active and not abs(row[hold.row].error) <= tolerance:
            return at.LOOP_OPEN
    return at.OK


@kernel
def compute_constraints(m, q, v, J_C, error, bias):
    """Write J_C (rows, nv), the position errors and J_C' theta' of all active constraints."""
    status = check_state(m, q, v, v)
    if status != at.OK:
        return status
    placements(m, q)
    motion(m, v, at.zeros(m), 0.0)
    loop, coupling, row = at.loops(m), at.couplings(m), at.rows(m)
    J_C[:, :] = 0.0
    for k in range(loop.size):
        if loop[k].active:
            loop_rows(m, k, True)
            for r in range(loop[k].row, loop[k].row + loop[k].n_rows):
                add_loop_to_jacobian(m, k, r, row[r].f, J_C, False)
                error[r], bias[r] = row[r].error, row[r].bias
    for k in range(coupling.size):
        if coupling[k].active:
            r = coupling[k].row
            error[r], bias[r] = coupling_row(m, k, q, v, J_C, r, False, True)
    for h in range(at.holds(m).size):
        if at.holds(m)[h].active:
            r = at.holds(m)[h].row
            error[r], bias[r] = hold_row(m, h, q, J_C, r, False, True)
    return at.OK


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


@kernel
def compute_loop_jacobian(m, q, v, L, positions):
    """Write L with loop rates = L theta_O', (loop coordinates, nv), and the loop positions."""
    status = check_state(m, q, v, v)
    if status != at.OK:
        return status
    placements(m, q)
    motion(m, v, at.zeros(m), 0.0)
    loop, column = at.loops(m), at.loop_columns(m)
    L[:, :] = 0.0
    for k in range(loop.size):
        loop_coordinates(m, k)
        for d in range(loop[k].dof, loop[k].dof + loop[k].n_dofs):
            add_loop_to_jacobian(m, k, d, column[d].f, L, False)
            positions[d] = column[d].position
    return at.OK
