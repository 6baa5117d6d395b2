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
The rows of J_C of one cluster, as elimination takes them, and of all constraints together.

A cluster's matrix is [J_C | J_C' theta'], or with the position errors in its last column. The
columns stand in the order theta_S, theta_G; linear rows are in units of the typical length.
"""

import numpy as np

from . import records as at
from .compiling import kernel
from .holds import hold_row
from .kinematics import check_state, motion, placements
from .lanes import ROOM
from .loop_joints import loop_coordinates
from .loops import (
    add_loop_to_jacobian,
    add_loop_to_rows,
    coupling_error,
    coupling_row,
    linear_rows,
    loop_is_flipped,
    loop_rows,
    point_error,
    point_rows,
)


@kernel
def constraint_matrix(m, cluster):
    """
    Return [J_C | J_C' theta'] of a cluster, (rows, n + 1); after elimination it is [E  H | h].

    In a cluster with contacts it has as many columns more as rows: elimination turns E there into
    the row operations that it did, from which the constraint forces follow.
    """
    return at.matrix(m, cluster.scratch, cluster.n_rows, cluster.width + ROOM)


@kernel
def row_swaps(m, cluster):
    """Return the row that elimination took for each pivot, and room for a right-hand side."""
    start = cluster.scratch + cluster.n_rows * (cluster.width + ROOM)
    return at.matrix(m, start, 2, cluster.n_rows)


@kernel
def fill_right_side(m, cluster, q, v, bias, x):
    """Write what would be the last column of `fill_constraints` alone; nothing may be held."""
    loop, row, unit = at.loops(m), at.rows(m), 1.0 / at.world(m).length
    i = 0
    for k in at.cluster_loops(m)[cluster.first_loop : cluster.first_loop + cluster.n_loops]:
        own = loop[k]
        if own.type == at.LOOP_SPHERICAL:
            x[i], x[i + 1], x[i + 2] = point_error(m, k, bias)[1]
        else:
            loop_rows(m, k, bias)
            n_linear = linear_rows(own)
            for r in range(own.n_rows):
                here = row[own.row + r]
                x[i + r] = (here.bias if bias else here.error) * (unit if r < n_linear else 1.0)
        i += own.n_rows
    first = cluster.first_coupling
    for k in at.cluster_couplings(m)[first : first + cluster.n_couplings]:
        here = row[at.couplings(m)[k].row]
        here.error, here.bias = coupling_error(m, k, q, v)
        x[i] = here.bias if bias else here.error
        i += 1


@kernel
def fill_constraints(m, cluster, q, v, bias):
    """
    Fill [J_C | J_C' theta'] of a cluster; linear rows are in units of the typical length.

    Without bias the last column is the position error instead.
    """
    loop, row = at.loops(m), at.rows(m)
    J, n = constraint_matrix(m, cluster), cluster.n_dofs
    for i in range(np.uint64(cluster.n_rows)):
        for j in range(np.uint64(J.shape[1])):
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
        own.error, own.bias = coupling_row(m, k, q, v, J, i, True)
        J[i, n] = own.bias if bias else own.error
        i += 1
    if at.shape(m).n_holds:
        fill_holds(m, cluster, q, bias, J, i)
    if cluster.width > n + 1:
        for i in range(cluster.n_rows):
            J[i, n + 1 + i] = 1.0
    return J


@kernel
def fill_holds(m, cluster, q, bias, J, i):
    """Fill the rows of the coordinates that are held, from row i on."""
    hold = at.holds(m)
    for h in range(hold.size):
        if hold[h].active and at.clusters(m)[hold[h].cluster].first_dof == cluster.first_dof:
            own = at.rows(m)[hold[h].row]
            own.error, own.bias = hold_row(m, h, q, J, i, True, bias)
            J[i, cluster.n_dofs] = own.bias if bias else own.error
            i += 1


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
            error[r], bias[r] = coupling_row(m, k, q, v, J_C, r, False)
    for h in range(at.holds(m).size):
        if at.holds(m)[h].active:
            r = at.holds(m)[h].row
            error[r], bias[r] = hold_row(m, h, q, J_C, r, False, True)
    return at.OK


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
