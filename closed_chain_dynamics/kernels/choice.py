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
The choice of theta_G: elimination of J_C with complete pivoting (Nakamura and Yamane, II-B).

A choice is made loop by loop as long as pivots are good, so that H keeps the zeros that the
structure gives it; motors and coordinates that somebody prefers stay behind and become theta_G.
"""

import numpy as np

from . import records as at
from .compiling import kernel
from .constraint_rows import constraint_matrix
from .linear_algebra import axpy, largest, swap_rows

# A pivot counts less in an actuated or wanted column, so that these become theta_G unless H
# would grow beyond the inverse of the weight.
WEIGHT_ACTUATED, WEIGHT_INDEPENDENT, WEIGHT_DEPENDENT = 0.01, 0.08, 100.0
MOST_FILLED = 8  # a column in many rows counts less, but never as little as a wanted one
GOOD_PIVOT = 0.005  # share of the largest entry that a pivot has while loops are taken in turn
LONGEST_LEVER = 100.0  # in typical lengths
LEAST_COEFFICIENT = 1e-9  # coefficient of a coupling below which it is none


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
    return most if LEAST_COEFFICIENT <= most < GOOD_PIVOT else 1.0


@kernel
def _sort_by_rows(theta_S, filled):
    """
    Sort coordinates by the number of rows that they are in, those in few rows first.

    Elimination in this order leaves rows of other loops alone for long: for the humanoid with feet
    on the ground and hands on a bar it takes half as many row operations.
    """
    for k in range(1, theta_S.size):
        own, i = theta_S[k], k
        while i > 0 and filled[theta_S[i - 1]] > filled[own]:
            theta_S[i] = theta_S[i - 1]
            i -= 1
        theta_S[i] = own


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
    filled = np.empty(dof.size, np.int64)
    for j in range(n):
        preferences[j] = dof[order[j]].preference
        for i in range(n_rows):  # metres against radians in columns too
            J[i, j] *= dof[order[j]].scale
        fine[j] = _fineness(J, j, n_rows - cluster.n_couplings)
        filled[order[j]] = 0
        for i in range(n_rows):
            filled[order[j]] += J[i, j] != 0.0
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
    _sort_by_rows(order[:rank], filled)
    for j in range(n):
        dof[order[j]].local, dof[order[j]].dependent = j, j < rank
    cluster.rank, cluster.chosen = rank, 1
    at.shape(m).changes += 1
