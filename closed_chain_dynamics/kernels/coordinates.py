"""
Generalized coordinates of every cluster: rank of J_C, theta_S and theta_G, and H (paper 2, II-B).

Columns of a cluster stand in the order theta_S, theta_G, so that Gauss-Jordan elimination of the
first `rank` columns turns J_C into [E  -H] without any gathering. The order is the choice of the
generalized coordinates; it is kept from call to call and checked, and made anew, by elimination
with complete pivoting, when H has grown large or the rank has changed. A choice made anew is in
the same velocities, so nothing in the state jumps.
"""

import numpy as np

from .kinematics import check_state, motion, placements
from .layout import (
    CLOSING_TOLERANCE,
    CLUSTER_CHOSEN,
    CLUSTER_COUPLING,
    CLUSTER_COUPLINGS,
    CLUSTER_DOF,
    CLUSTER_DOFS,
    CLUSTER_I,
    CLUSTER_LOOP,
    CLUSTER_LOOPS,
    CLUSTER_N_COUPLINGS,
    CLUSTER_N_DOFS,
    CLUSTER_N_LOOPS,
    CLUSTER_N_ROWS,
    CLUSTER_RANK,
    CLUSTER_SCRATCH,
    CLUSTER_WIDTH,
    COUPLING_ACTIVE,
    COUPLING_I,
    COUPLING_ROW,
    DOF_DEPENDENT,
    DOF_F,
    DOF_I,
    DOF_LOCAL,
    DOF_PREFERENCE,
    FULL_RANK,
    LENGTH,
    LOOP_ACTIVE,
    LOOP_DOF,
    LOOP_DOF_POSITION,
    LOOP_DOF_W,
    LOOP_I,
    LOOP_N_DOFS,
    LOOP_N_ROWS,
    LOOP_OPEN,
    LOOP_ROW,
    LOOP_SPHERICAL,
    LOOP_TYPE,
    MOBILITY,
    N_CLUSTERS,
    N_COUPLINGS,
    N_LOOPS,
    NV,
    OK,
    RANK,
    RANK_TOLERANCE,
    ROW_BIAS,
    ROW_ERROR,
    ROW_W,
    SCALE,
    SCRATCH,
    VECTORS,
    WORLD_F,
    ZERO,
    kernel,
    matrix,
    table,
)
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

# A pivot counts less in an actuated or wanted column, so that these become theta_G unless H
# would grow beyond the inverse of the weight.
WEIGHT_ACTUATED, WEIGHT_INDEPENDENT, WEIGHT_DEPENDENT = 0.01, 0.08, 100.0
MOST_FILLED = 8  # a column in many rows counts less, but never as little as a wanted one
GOOD_PIVOT = 0.005  # share of the largest entry that a pivot has while loops are taken in turn
LONGEST_LEVER = 100.0  # in typical lengths
SWITCH = 1e3  # |H| above which the choice is made anew: ten times what a fresh choice can give


@kernel
def constraint_matrix(mi, mf, w, c):
    """
    Return the view of [J_C | J_C' theta'] of a cluster, (rows, n + 1).

    In a cluster with contacts it has as many columns more as rows: elimination turns E there into
    the row operations that it did, from which the constraint forces follow.
    """
    row = table(mi, mi, CLUSTER_I)[c]
    return matrix(w, mi[SCRATCH] + row[CLUSTER_SCRATCH], row[CLUSTER_N_ROWS], row[CLUSTER_WIDTH])


@kernel
def cluster_scale(mi, w, c):
    """Return the place of the tolerance of a cluster's pivots, kept from the last choice."""
    row = table(mi, mi, CLUSTER_I)[c]
    n, m = row[CLUSTER_N_DOFS], row[CLUSTER_N_ROWS]
    return matrix(
        w, mi[SCRATCH] + row[CLUSTER_SCRATCH] + m * row[CLUSTER_WIDTH] + 2 * n * n + 8 * n, 1, 1
    )[0]


@kernel
def fill_constraints(mi, mf, w, c, q, v, bias):
    """
    Fill [J_C | J_C' theta'] of a cluster; linear rows are in units of the typical length.

    Without bias the last column is the position error instead.
    """
    row = table(mi, mi, CLUSTER_I)[c]
    loop_i, loops = table(mi, mi, LOOP_I), table(mi, mi, CLUSTER_LOOPS)[0]
    couplings, rows = table(mi, mi, CLUSTER_COUPLINGS)[0], table(w, mi, ROW_W)
    local = table(mi, mi, DOF_I)[:, DOF_LOCAL]
    J, n = constraint_matrix(mi, mf, w, c), row[CLUSTER_N_DOFS]
    unit = 1.0 / table(mf, mi, WORLD_F)[0, LENGTH]
    for i in range(np.uint64(row[CLUSTER_N_ROWS])):
        for j in range(np.uint64(row[CLUSTER_WIDTH])):
            J[i, j] = 0.0
    i = 0
    for number in range(row[CLUSTER_LOOP], row[CLUSTER_LOOP] + row[CLUSTER_N_LOOPS]):
        k = loops[number]
        if loop_i[k, LOOP_TYPE] == LOOP_SPHERICAL:
            point_rows(mi, mf, w, k, unit, J, i, n, bias)
        else:
            loop_rows(mi, mf, w, k, bias)
            add_loop_to_rows(mi, w, k, unit, J, i, n, bias)
        i += loop_i[k, LOOP_N_ROWS]
    for k in couplings[row[CLUSTER_COUPLING] : row[CLUSTER_COUPLING] + row[CLUSTER_N_COUPLINGS]]:
        g = rows[table(mi, mi, COUPLING_I)[k, COUPLING_ROW]]
        g[ROW_ERROR], g[ROW_BIAS] = coupling_row(mi, mf, k, q, v, J, i, local, bias)
        J[i, n] = g[ROW_BIAS] if bias else g[ROW_ERROR]
        i += 1
    if row[CLUSTER_WIDTH] > n + 1:
        for i in range(row[CLUSTER_N_ROWS]):
            J[i, n + 1 + i] = 1.0
    return J


@kernel
def choose(mi, mf, w, c):
    """
    Choose theta_S by elimination with complete pivoting; theta_G is what remains (II-B).

    Works on the filled J_C, destroys it, and reorders the cluster's columns.
    """
    row = table(mi, mi, CLUSTER_I)[c]
    dof_i, dof_f = table(mi, mi, DOF_I), table(mf, mi, DOF_F)
    dofs = table(mi, mi, CLUSTER_DOFS)[0]
    J, n, m = constraint_matrix(mi, mf, w, c), row[CLUSTER_N_DOFS], row[CLUSTER_N_ROWS]
    first = row[CLUSTER_DOF]
    for j in range(n):  # metres against radians in columns too
        for i in range(m):
            J[i, j] *= dof_f[dofs[first + j], SCALE]
    # Levers are a few typical lengths. In a pose far off, where a method of integration may look,
    # they are anything; a tolerance kept from there would let everything pass as redundant.
    size = min(max(largest(J, 0, m, 0, n), 1e-300), LONGEST_LEVER)
    tolerance = table(mf, mi, WORLD_F)[0, RANK_TOLERANCE] * size
    cluster_scale(mi, w, c)[0] = tolerance
    # Loop by loop, as long as pivots are good: then H keeps the zeros that the structure gives it.
    # What is left waits until all rows are there.
    rank, seen, loop, least = 0, 0, row[CLUSTER_LOOP], GOOD_PIVOT * size
    while rank < min(m, n):
        best, pivot_row, pivot_column = 0.0, rank, rank
        for j in range(rank, n):
            filled = 0  # a column in few rows makes few others depend on it
            for i in range(rank, m):
                filled += J[i, j] != 0.0
            weight = _weight(dof_i[dofs[first + j], DOF_PREFERENCE]) / min(
                max(filled, 1), MOST_FILLED
            )
            for i in range(rank, seen):
                size = abs(J[i, j])
                if size > least and size * weight > best:
                    best, pivot_row, pivot_column = size * weight, i, j
        if best == 0.0:
            if seen == m and least == tolerance:
                break
            if loop < row[CLUSTER_LOOP] + row[CLUSTER_N_LOOPS]:
                seen += table(mi, mi, LOOP_I)[table(mi, mi, CLUSTER_LOOPS)[0, loop], LOOP_N_ROWS]
                loop += 1
            elif seen < m:
                seen = m
            else:
                least = tolerance
            continue
        swap_rows(J, rank, pivot_row, 0, n)
        for i in range(m):
            J[i, rank], J[i, pivot_column] = J[i, pivot_column], J[i, rank]
        dofs[first + rank], dofs[first + pivot_column] = (
            dofs[first + pivot_column],
            dofs[first + rank],
        )
        for i in range(rank + 1, m):
            axpy(J[i], J[rank], -J[i, rank] / J[rank, rank], rank, n)
            J[i, rank] = 0.0
        rank += 1
    for j in range(n):
        dof_i[dofs[first + j], DOF_LOCAL] = j
        dof_i[dofs[first + j], DOF_DEPENDENT] = j < rank
    row[CLUSTER_RANK], row[CLUSTER_CHOSEN] = rank, 1


@kernel
def _weight(preference):
    if preference == 2:
        return WEIGHT_ACTUATED
    if preference == 1:
        return WEIGHT_INDEPENDENT
    return WEIGHT_DEPENDENT if preference == -1 else 1.0


@kernel
def eliminate(mi, mf, w, c, fresh):
    """
    Turn [J_S J_G | J_C' theta'] into [E  -H | -(H' theta_G')], Eqs. (15) to (17), (22) of paper 1.

    Return whether the choice of theta_S still holds: full pivots, H not large, and the rows left
    over redundant. A fresh choice is followed through whatever its pivots.
    """
    row = table(mi, mi, CLUSTER_I)[c]
    J, n, m, rank = (
        constraint_matrix(mi, mf, w, c),
        row[CLUSTER_N_DOFS],
        row[CLUSTER_N_ROWS],
        row[CLUSTER_RANK],
    )
    width = row[CLUSTER_WIDTH]
    tolerance = cluster_scale(mi, w, c)[0]
    for k in range(rank):
        best, pivot = abs(J[k, k]), k
        for i in range(k + 1, m):
            if abs(J[i, k]) > best:
                best, pivot = abs(J[i, k]), i
        for i in range(k, m):  # the first that is large enough: loops are finished one by one
            if abs(J[i, k]) >= 0.1 * best:
                pivot = i
                break
        if best <= 0.1 * tolerance and not fresh:  # hysteresis against `choose`
            return False
        if best == 0.0:
            continue
        swap_rows(J, k, pivot, k, width)
        at = np.uint64(k)
        factor = 1.0 / J[at, at]
        for j in range(at, np.uint64(width)):
            J[at, j] *= factor
        for i in range(at + np.uint64(1), np.uint64(m)):
            factor = J[i, at]
            if factor != 0.0:
                for j in range(at, np.uint64(width)):
                    J[i, j] -= factor * J[at, j]
    for k in range(rank - 1, 0, -1):  # back substitution, in the columns that matter
        at = np.uint64(k)
        for i in range(at):
            factor = J[i, at]
            if factor != 0.0:
                for j in range(np.uint64(rank), np.uint64(width)):
                    J[i, j] -= factor * J[at, j]
    return sum_of_squares(J, 0, rank, rank, n) <= SWITCH * SWITCH and (
        m == rank or largest(J, rank, m, rank, n) <= tolerance
    )


@kernel
def solve_constraints(mi, mf, w, q, v, bias):
    """Find H of every cluster, keeping the choice of coordinates where it still holds."""
    cluster_i = table(mi, mi, CLUSTER_I)
    mi[RANK] = 0
    for c in range(mi[N_CLUSTERS]):
        row = cluster_i[c]
        if row[CLUSTER_N_ROWS] == 0:
            continue
        fill_constraints(mi, mf, w, c, q, v, bias)
        if not (row[CLUSTER_CHOSEN] and eliminate(mi, mf, w, c, False)):
            if row[CLUSTER_CHOSEN]:
                fill_constraints(mi, mf, w, c, q, v, bias)
            choose(mi, mf, w, c)
            fill_constraints(mi, mf, w, c, q, v, bias)
            eliminate(mi, mf, w, c, True)
        mi[RANK] += row[CLUSTER_RANK]
    mi[FULL_RANK] = max(mi[FULL_RANK], mi[RANK])
    mi[MOBILITY] = mi[NV] - mi[RANK]


@kernel
def check_closed(mi, mf, w):
    """Return OK when every loop of a cluster is closed within tolerance, else LOOP_OPEN."""
    cluster_i, loop_i = table(mi, mi, CLUSTER_I), table(mi, mi, LOOP_I)
    coupling_i, rows = table(mi, mi, COUPLING_I), table(w, mi, ROW_W)
    tolerance = table(mf, mi, WORLD_F)[0, CLOSING_TOLERANCE]
    for c in range(mi[N_CLUSTERS]):
        row = cluster_i[c]
        if row[CLUSTER_N_ROWS] == 0:
            continue
        for j in range(row[CLUSTER_LOOP], row[CLUSTER_LOOP] + row[CLUSTER_N_LOOPS]):
            k = table(mi, mi, CLUSTER_LOOPS)[0, j]
            for r in range(loop_i[k, LOOP_ROW], loop_i[k, LOOP_ROW] + loop_i[k, LOOP_N_ROWS]):
                if not abs(rows[r, ROW_ERROR]) <= tolerance:
                    return LOOP_OPEN
            if loop_is_flipped(mi, w, k):
                return LOOP_OPEN
        for j in range(row[CLUSTER_COUPLING], row[CLUSTER_COUPLING] + row[CLUSTER_N_COUPLINGS]):
            k = table(mi, mi, CLUSTER_COUPLINGS)[0, j]
            if not abs(rows[coupling_i[k, COUPLING_ROW], ROW_ERROR]) <= tolerance:
                return LOOP_OPEN
    return OK


@kernel
def compute_constraints(mi, mf, w, q, v, J, error, bias):
    """Write J_C (rows, nv), the position errors and J_C' theta' of all active constraints."""
    status = check_state(mi, q, v, v)
    if status != OK:
        return status
    placements(mi, mf, w, q)
    motion(mi, mf, w, v, table(w, mi, VECTORS)[ZERO], 0.0)
    loop_i, coupling_i, rows = (
        table(mi, mi, LOOP_I),
        table(mi, mi, COUPLING_I),
        table(w, mi, ROW_W),
    )
    columns = np.arange(mi[NV])
    J[:, :] = 0.0
    for k in range(mi[N_LOOPS]):
        if loop_i[k, LOOP_ACTIVE]:
            loop_rows(mi, mf, w, k, True)
            for r in range(loop_i[k, LOOP_ROW], loop_i[k, LOOP_ROW] + loop_i[k, LOOP_N_ROWS]):
                add_loop_to_jacobian(mi, w, k, r, rows[r], J, columns)
                error[r], bias[r] = rows[r, ROW_ERROR], rows[r, ROW_BIAS]
    for k in range(mi[N_COUPLINGS]):
        if coupling_i[k, COUPLING_ACTIVE]:
            r = coupling_i[k, COUPLING_ROW]
            error[r], bias[r] = coupling_row(mi, mf, k, q, v, J, r, columns, True)
    return OK


@kernel
def compute_coordinates(mi, mf, w, q, W):
    """
    Choose coordinates afresh where needed and write W, (nv, at least mobility).

    Columns stand in the order of the velocities that are generalized coordinates.
    """
    status = check_state(mi, q, q, q)
    if status != OK:
        return status
    placements(mi, mf, w, q)
    zero = table(w, mi, VECTORS)[ZERO]
    solve_constraints(mi, mf, w, q, zero, False)
    write_W(mi, mf, w, W)
    return check_closed(mi, mf, w)


@kernel
def write_W(mi, mf, w, W):
    """Write W = d theta_O / d theta_G: unit rows for theta_G, rows of H for theta_S (Fig. 5)."""
    cluster_i, dof_i = table(mi, mi, CLUSTER_I), table(mi, mi, DOF_I)
    dofs = table(mi, mi, CLUSTER_DOFS)[0]
    column = np.empty(mi[NV], np.int64)
    count = 0
    for j in range(mi[NV]):
        column[j] = count
        count += 1 - dof_i[j, DOF_DEPENDENT]
    W[:, :] = 0.0
    for c in range(mi[N_CLUSTERS]):
        row = cluster_i[c]
        first, n, rank = row[CLUSTER_DOF], row[CLUSTER_N_DOFS], row[CLUSTER_RANK]
        J = constraint_matrix(mi, mf, w, c)
        for g in range(rank, n):
            k = column[dofs[first + g]]
            W[dofs[first + g], k] = 1.0
            for s in range(rank):
                W[dofs[first + s], k] = -J[s, g]


@kernel
def compute_loop_jacobian(mi, mf, w, q, v, L, positions):
    """Write L with loop rates = L theta_O', (loop coordinates, nv), and the loop positions."""
    status = check_state(mi, q, v, v)
    if status != OK:
        return status
    placements(mi, mf, w, q)
    motion(mi, mf, w, v, table(w, mi, VECTORS)[ZERO], 0.0)
    loop_i, rows = table(mi, mi, LOOP_I), table(w, mi, LOOP_DOF_W)
    columns = np.arange(mi[NV])
    L[:, :] = 0.0
    for k in range(mi[N_LOOPS]):
        loop_coordinates(mi, mf, w, k)
        for d in range(loop_i[k, LOOP_DOF], loop_i[k, LOOP_DOF] + loop_i[k, LOOP_N_DOFS]):
            add_loop_to_jacobian(mi, w, k, d, rows[d], L, columns)
            positions[d] = rows[d, LOOP_DOF_POSITION]
    return OK
