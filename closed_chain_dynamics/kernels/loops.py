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
Constraints of loops and couplings: position error, rows of J_C, and the bias J_C' theta'.

A loop joint is two frames that the joint lets move against each other: frame 1 on the parent,
frame 2 on the child, z along the joint axis. An error is either a distance along an axis of
frame 1, or a product of one axis of each frame that vanishes when they are perpendicular. Both
have exact first and second derivatives in closed form, on and off the closed pose. The first
derivative of an error is its row: a spatial covector applied to V_2 - V_1.

Nakamura and Yamane write six rows a loop and give the virtual joint columns of its own; here those
columns are eliminated by construction, which leaves the rows of the table in the documentation.
"""

import numpy as np

from . import records as at
from .compiling import kernel
from .kinematics import NO_VECTOR
from .loop_frames import axis_product, place_loop, relative_bias, slide_row
from .sharing import FLAG, HANDLE, INDEX, NOTHING, shared_kernel
from .structure import common_ancestor
from .surfaces import surface_rows
from .vectors import (
    add,
    angular,
    axis,
    cross,
    inner,
    inner_spatial,
    linear,
    minus,
    put_spatial,
    rotate,
    times,
    velocity_at,
)


@kernel
def slides(kind):
    """Return first and last plus one of the axes along which a loop type lets nothing slide."""
    if kind == at.LOOP_PRISMATIC or kind == at.LOOP_CYLINDRICAL:
        return 0, 2
    if kind == at.LOOP_PLANAR or kind == at.LOOP_SURFACE:
        return 2, 3
    return (3, 3) if kind == at.LOOP_FREE else (0, 3)


@kernel
def linear_rows(loop):
    """Return how many of a loop's rows are distances."""
    if loop.type == at.LOOP_SURFACE:
        return loop.n_rows
    first, last = slides(loop.type)
    return last - first


@kernel
def _add_product(row, factor, frame, i, j):
    """Add covector and error of factor times axis i of frame 1 times axis j of frame 2."""
    f = times(factor, cross(axis(frame.R_2, j), axis(frame.R_1, i)))
    put_spatial(row.f, NO_VECTOR, add(angular(row.f), f))
    row.error += factor * axis_product(frame, i, j)


@kernel
def _product_bias(frame, i, j, one, two):
    """Return (b c)'' of axis b = i of frame 1 and c = j of frame 2, at zero joint acceleration."""
    b, c = axis(frame.R_1, i), axis(frame.R_2, j)
    b_1, c_1 = cross(angular(one.V), b), cross(angular(two.V), c)  # b', c'
    return (
        inner(minus(angular(two.A), angular(one.A)), cross(c, b))
        + inner(cross(angular(two.V), c_1), b)
        + inner(cross(angular(one.V), b_1), c)
        + 2.0 * inner(b_1, c_1)
    )


@shared_kernel(HANDLE, INDEX, FLAG, returns=NOTHING)
def loop_rows(m, k, bias):
    """
    Write covector, error and (if asked) bias of every row of one loop, in LoopType's order.

    Turning is written as half the differences of products: their gradient is the plain relative
    angular velocity at the closed pose. A pose turned by half a turn makes them vanish too;
    `loop_is_flipped` tells it apart.
    """
    loop = at.loops(m)[k]
    kind = loop.type
    if kind == at.LOOP_SURFACE:
        surface_rows(m, k, bias)
        return
    frame, row = place_loop(m, k), at.rows(m)
    one, two = at.moving(m)[loop.body_1], at.moving(m)[loop.body_2]
    first, last = slides(kind)
    seen = relative_bias(frame.p_2, one, two) if bias else NO_VECTOR
    r = loop.row
    for i in range(first, last):
        row[r].error = slide_row(frame, i, row[r].f)
        row[r].bias = inner(axis(frame.R_1, i), seen)
        r += 1
    for turn in range(r, loop.row + loop.n_rows):
        row[turn].f[:] = 0.0
        row[turn].error = row[turn].bias = 0.0
    if kind == at.LOOP_FIXED or kind == at.LOOP_PRISMATIC:
        for i in range(3):  # half of z_1 y_2 - y_1 z_2, and so on round
            j, n = (i + 1) % 3, (i + 2) % 3
            _add_product(row[r + i], 0.5, frame, n, j)
            _add_product(row[r + i], -0.5, frame, j, n)
            if bias:
                row[r + i].bias = 0.5 * (
                    _product_bias(frame, n, j, one, two) - _product_bias(frame, j, n, one, two)
                )
    elif kind == at.LOOP_REVOLUTE or kind == at.LOOP_CYLINDRICAL or kind == at.LOOP_PLANAR:
        # -y_1 z_2 turns about x, x_1 z_2 about y
        _add_product(row[r], -1.0, frame, 1, 2)
        _add_product(row[r + 1], 1.0, frame, 0, 2)
        if bias:
            row[r].bias = -_product_bias(frame, 1, 2, one, two)
            row[r + 1].bias = _product_bias(frame, 0, 2, one, two)
    elif kind == at.LOOP_UNIVERSAL:
        _add_product(row[r], 1.0, frame, 2, 2)
        if bias:
            row[r].bias = _product_bias(frame, 2, 2, one, two)


@kernel
def active_loop_rows(m, bias):
    """Write the rows of every active loop."""
    loop = at.loops(m)
    for k in range(loop.size):
        if loop[k].active:
            loop_rows(m, k, bias)


@kernel
def loop_is_flipped(m, k):
    """Return whether a loop's turning errors vanish at half a turn instead of at none."""
    kind, frame = at.loops(m)[k].type, at.frames(m)[k]
    if kind == at.LOOP_FIXED or kind == at.LOOP_PRISMATIC:
        trace = axis_product(frame, 0, 0) + axis_product(frame, 1, 1) + axis_product(frame, 2, 2)
        return trace < 1.0  # 1 + 2 cos(turn)
    if kind == at.LOOP_REVOLUTE or kind == at.LOOP_CYLINDRICAL or kind == at.LOOP_PLANAR:
        return axis_product(frame, 2, 2) < 0.0
    return False


@kernel
def add_loop_to_jacobian(m, k, i, f, J, local):
    """Add a covector applied to V_2 - V_1 to row i of J, columns within the cluster or of all."""
    loop = at.loops(m)[k]
    add_pair_to_jacobian(m, (loop.body_1, loop.body_2), i, f, J, local)


@kernel
def add_pair_to_jacobian(m, pair, i, f, J, local):
    """Do the same for two bodies that no loop connects, or one that is open and has no `top`."""
    body, dof, column = at.bodies(m), at.dofs(m), at.columns(m)
    top = common_ancestor(body, pair[0], pair[1])
    for b, sign in ((pair[0], -1.0), (pair[1], 1.0)):
        while b != top:
            for j in range(body[b].iv, body[b].iv + body[b].n_dof):
                J[i, dof[j].local if local else j] += sign * inner_spatial(f, column[j].s)
            b = body[b].parent


@kernel
def add_loop_to_rows(m, k, J, i, n, bias):
    """Write all rows of a loop to J from row i on, the path from end to end walked only once."""
    loop, row, unit = at.loops(m)[k], at.rows(m), 1.0 / at.world(m).length
    body, dof, column = at.bodies(m), at.dofs(m), at.columns(m)
    start, first, n_linear = np.uint64(i), np.uint64(loop.row), np.uint64(linear_rows(loop))
    for r in range(np.uint64(loop.n_rows)):
        own = row[first + r]
        J[start + r, n] = (own.bias if bias else own.error) * (unit if r < n_linear else 1.0)
    for b, sign in ((loop.body_1, -1.0), (loop.body_2, 1.0)):
        while b != loop.top:
            for j in range(body[b].iv, body[b].iv + body[b].n_dof):
                here, v, omega = np.uint64(dof[j].local), linear(column[j].s), angular(column[j].s)
                for r in range(np.uint64(loop.n_rows)):
                    f = row[first + r].f
                    scale = sign * unit if r < n_linear else sign
                    J[start + r, here] = scale * (inner(linear(f), v) + inner(angular(f), omega))
            b = body[b].parent


@kernel
def point_error(m, k, bias):
    """Return where a spherical loop is, and its bias or its error in units of length."""
    loop, row = at.loops(m)[k], at.rows(m)
    one, two = at.moving(m)[loop.body_1], at.moving(m)[loop.body_2]
    p = add(two.p, rotate(two.R, loop.p_2))
    gap = minus(p, add(one.p, rotate(one.R, loop.p_1)))
    r = loop.row
    row[r].error, row[r + 1].error, row[r + 2].error = gap
    return p, times(1.0 / at.world(m).length, relative_bias(p, one, two) if bias else gap)


@kernel
def point_rows(m, k, J, i, n, bias):
    """
    Write the three rows of a spherical loop to J from row i on, along the axes of the world.

    Rows of J_C may be turned together: H does not change. In world axes a column is just the
    velocity that a coordinate gives the point.
    """
    loop, unit = at.loops(m)[k], 1.0 / at.world(m).length
    body, dof, column = at.bodies(m), at.dofs(m), at.columns(m)
    p, last = point_error(m, k, bias)
    x, y, z = np.uint64(i), np.uint64(i + 1), np.uint64(i + 2)
    J[x, n], J[y, n], J[z, n] = last
    for b, sign in ((loop.body_1, -unit), (loop.body_2, unit)):
        while b != loop.top:
            for j in range(body[b].iv, body[b].iv + body[b].n_dof):
                here = np.uint64(dof[j].local)
                J[x, here], J[y, here], J[z, here] = times(sign, velocity_at(column[j].s, p))
            b = body[b].parent


@kernel
def coupling_row(m, k, q, v, J, i, local):
    """Add the gradient of a coupling to row i of J; return its error and its bias."""
    coupling, term, dof = at.couplings(m)[k], at.terms(m), at.dofs(m)
    for t in range(coupling.first, coupling.first + coupling.n_terms):
        x, c, j = q[term[t].iq], term[t].coefficients, term[t].dof
        J[i, dof[j].local if local else j] += c[0] + x * (
            2.0 * c[1] + x * (3.0 * c[2] + x * 4.0 * c[3])
        )
    return coupling_error(m, k, q, v)


@kernel
def coupling_error(m, k, q, v):
    """Return error and bias of a coupling."""
    coupling, term = at.couplings(m)[k], at.terms(m)
    error, second = coupling.constant, 0.0
    for t in range(coupling.first, coupling.first + coupling.n_terms):
        x, c, j = q[term[t].iq], term[t].coefficients, term[t].dof
        error += x * (c[0] + x * (c[1] + x * (c[2] + x * c[3])))
        second += (2.0 * c[1] + x * (6.0 * c[2] + x * 12.0 * c[3])) * v[j] * v[j]
    return error, second
