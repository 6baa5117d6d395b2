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
How far loops are from closed: errors that grow with the distance, however large it is.

The rows of `loops.py` are products of axes, which vanish at half a turn too and flatten at a
quarter: right for dynamics, where loops are closed, and a trap for closing them. Here turning is
the angle itself, and a row is the relative angular velocity along an axis of frame 1. Then J^T
error is the exact gradient of half the squared error at any angle, and no flipped pose looks
closed. Near the closed pose both kinds of rows agree to second order.
"""

import numpy as np

from . import records as at
from .compiling import kernel
from .holds import coordinate_bias, hold_row
from .kinematics import check_state, motion, placements
from .loop_frames import axis_product, place_loop, slide_row
from .loop_joints import NO_AXIS, loop_coordinates, rotation_vector, turn_coordinate
from .loops import add_loop_to_jacobian, coupling_row, linear_rows, slides
from .sharing import HANDLE, INDEX, NOTHING, shared_kernel
from .surfaces import surface_rows
from .vectors import add, axis, times


@shared_kernel(HANDLE, INDEX, returns=NOTHING)
def closing_rows(m, k):
    """Write covector and error of every row of a loop: distances, then angles."""
    loop = at.loops(m)[k]
    kind, r = loop.type, loop.row
    if kind == at.LOOP_SURFACE:
        surface_rows(m, k, False)
        return
    frame, row = place_loop(m, k), at.rows(m)
    first, last = slides(kind)
    for i in range(first, last):
        row[r].error = slide_row(frame, i, row[r].f)
        r += 1
    if kind == at.LOOP_FIXED or kind == at.LOOP_PRISMATIC:
        turn = rotation_vector(frame)
        for i in range(3):
            turn_coordinate(axis(frame.R_1, i), row[r + i].f)
            row[r + i].error = turn[i]
        return
    # z_2 in the axes of frame 1
    x, y, z = axis_product(frame, 0, 2), axis_product(frame, 1, 2), axis_product(frame, 2, 2)
    sine = np.hypot(x, y)
    if kind == at.LOOP_REVOLUTE or kind == at.LOOP_CYLINDRICAL or kind == at.LOOP_PLANAR:
        for i in range(2):
            turn_coordinate(axis(frame.R_1, i), row[r + i].f)
        factor = np.arctan2(sine, z) / sine if sine > NO_AXIS else 1.0
        row[r].error, row[r + 1].error = -factor * y, factor * x
        if sine <= NO_AXIS and z < 0.0:  # half a turn away, in any direction
            row[r].error = np.pi
    elif kind == at.LOOP_UNIVERSAL:  # a quarter turn minus the angle between the axes
        c, s = (y / sine, -x / sine) if sine > NO_AXIS else (1.0, 0.0)
        n = add(times(c, axis(frame.R_1, 0)), times(s, axis(frame.R_1, 1)))
        turn_coordinate(n, row[r].f)
        row[r].error = np.arctan2(z, sine)


@kernel
def compute_closure(m, c, q, J, error):
    """
    Write errors of a cluster (rows,) and their derivatives (rows, velocities), free of units.

    Rows are in the order of loops, then couplings; columns in that of the cluster's velocities.
    """
    status = check_state(m, q, q, q)
    if status != at.OK:
        return status
    placements(m, q)
    cluster, loop, row = at.clusters(m)[c], at.loops(m), at.rows(m)
    unit = 1.0 / at.world(m).length
    J[:, :] = 0.0
    i = 0
    for n in range(cluster.first_loop, cluster.first_loop + cluster.n_loops):
        k = at.cluster_loops(m)[n]
        closing_rows(m, k)
        for r in range(loop[k].n_rows):
            own = row[loop[k].row + r]
            add_loop_to_jacobian(m, k, i, own.f, J, True)
            factor = unit if r < linear_rows(loop[k]) else 1.0
            error[i] = factor * own.error
            for j in range(cluster.n_dofs):
                J[i, j] *= factor
            i += 1
    for n in range(cluster.first_coupling, cluster.first_coupling + cluster.n_couplings):
        error[i], _ = coupling_row(m, at.cluster_couplings(m)[n], q, q, J, i, True)
        i += 1
    for h in range(at.holds(m).size):
        if at.holds(m)[h].active and at.holds(m)[h].cluster == c:
            error[i], _ = hold_row(m, h, q, J, i, True, False)
            i += 1
    for j in range(cluster.n_dofs):
        scale = at.dofs(m)[at.cluster_dofs(m)[cluster.first_dof + j]].scale
        for i in range(J.shape[0]):
            J[i, j] *= scale
    return at.OK


@kernel
def compute_gaps(m, q, gaps):
    """Write how far every loop is open, active or not, (loops, 2) [m, rad]."""
    status = check_state(m, q, q, q)
    if status != at.OK:
        return status
    placements(m, q)
    loop, row = at.loops(m), at.rows(m)
    for k in range(loop.size):
        closing_rows(m, k)
        gaps[k, 0] = gaps[k, 1] = 0.0
        for r in range(loop[k].n_rows):
            kind = 0 if r < linear_rows(loop[k]) else 1
            gaps[k, kind] = np.hypot(gaps[k, kind], row[loop[k].row + r].error)
    return at.OK


@kernel
def compute_loop_bias(m, q, v, bias):
    """Write L' theta_O' of every coordinate of every loop joint, (loop coordinates,)."""
    status = check_state(m, q, v, v)
    if status != at.OK:
        return status
    placements(m, q)
    motion(m, v, at.zeros(m), 0.0)
    loop = at.loops(m)
    for k in range(loop.size):
        loop_coordinates(m, k)
        for d in range(loop[k].dof, loop[k].dof + loop[k].n_dofs):
            bias[d] = coordinate_bias(m, k, d)
    return at.OK
