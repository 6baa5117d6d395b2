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
Mass matrix of the tree by composite inertias, energies, momentum and centre of mass.

In world axes at the common point a rigid inertia is ten numbers, and composite inertias are sums
of them, with no change of frame. Articulated inertias, of what carries other clusters, fill the
6 x 6 matrix.
"""

from . import records as at
from .compiling import kernel
from .inner_rotors import add_inner_inertia, inner_rotor_energy
from .kinematics import check_state, motion, placements
from .sharing import HANDLE, NOTHING, shared_kernel
from .vectors import (
    add,
    angular,
    cross,
    inner,
    inner_spatial,
    linear,
    minus,
    put,
    put_spatial,
    rotate,
    rotate_back,
    symmetric,
    times,
    velocity_at,
)


@kernel
def body_inertias(m):
    """Write the rigid inertia of every body: mass, first moment, second moment (xx xy ... zz)."""
    body, move, inertia = at.bodies(m), at.moving(m), at.inertias(m)
    inertia[0].rigid[:] = 0.0
    for i in range(1, body.size):
        own, me, out = body[i], move[i], inertia[i].rigid
        h = times(own.mass, me.c)
        # column by column: R I R^T, and what the distance of the centre of mass adds
        x = rotate(me.R, symmetric(own.inertia, (me.R[0, 0], me.R[0, 1], me.R[0, 2])))
        y = rotate(me.R, symmetric(own.inertia, (me.R[1, 0], me.R[1, 1], me.R[1, 2])))
        z = rotate(me.R, symmetric(own.inertia, (me.R[2, 0], me.R[2, 1], me.R[2, 2])))
        cx, cy, cz = me.c[0], me.c[1], me.c[2]
        out[0], out[1], out[2], out[3] = own.mass, h[0], h[1], h[2]
        out[4] = x[0] + h[1] * cy + h[2] * cz
        out[5] = x[1] - h[0] * cy
        out[6] = x[2] - h[0] * cz
        out[7] = y[1] + h[0] * cx + h[2] * cz
        out[8] = y[2] - h[1] * cz
        out[9] = z[2] + h[0] * cx + h[1] * cy


@kernel
def add_rigid(I, r):
    """Add ten numbers of a rigid inertia to a 6 x 6 matrix, as the one that they stand for."""
    mass, x, y, z = r[0], r[1], r[2], r[3]
    I[0, 0] += mass
    I[1, 1] += mass
    I[2, 2] += mass
    I[0, 4] += z
    I[4, 0] += z
    I[1, 3] -= z
    I[3, 1] -= z
    I[1, 5] += x
    I[5, 1] += x
    I[2, 4] -= x
    I[4, 2] -= x
    I[2, 3] += y
    I[3, 2] += y
    I[0, 5] -= y
    I[5, 0] -= y
    I[3, 3] += r[4]
    I[3, 4] += r[5]
    I[4, 3] += r[5]
    I[3, 5] += r[6]
    I[5, 3] += r[6]
    I[4, 4] += r[7]
    I[4, 5] += r[8]
    I[5, 4] += r[8]
    I[5, 5] += r[9]


@kernel
def expand_inertias(m):
    """Write the 6 x 6 matrix of every body that carries a cluster, whose inertia adds to it."""
    body, inertia = at.bodies(m), at.inertias(m)
    for i in range(1, inertia.size):
        if body[i].carries:
            for k in range(36):
                inertia[i].I[k // 6, k % 6] = 0.0
            add_rigid(inertia[i].I, inertia[i].rigid)


@kernel
def rigid_momentum(rigid, V):
    """Return linear and angular momentum of a rigid inertia of ten numbers with velocity V."""
    h, v, omega = (rigid[1], rigid[2], rigid[3]), linear(V), angular(V)
    turning = (
        rigid[4] * omega[0] + rigid[5] * omega[1] + rigid[6] * omega[2],
        rigid[5] * omega[0] + rigid[7] * omega[1] + rigid[8] * omega[2],
        rigid[6] * omega[0] + rigid[8] * omega[1] + rigid[9] * omega[2],
    )
    return add(times(rigid[0], v), cross(omega, h)), add(cross(h, v), turning)


@kernel
def compute_mass_matrix(m, q, M):
    """Write M of the tree, (nv, nv), by composite inertias; loop joints add their rotors."""
    if q.size != at.shape(m).nq:
        return at.WRONG_SIZE
    status = check_state(m, q, q, q)
    if status != at.OK:
        return status
    placements(m, q)
    body_inertias(m)
    body, dof, inertia, column = at.bodies(m), at.dofs(m), at.inertias(m), at.columns(m)
    for i in range(body.size - 1, 0, -1):
        up, me = inertia[body[i].parent].rigid, inertia[i].rigid
        for k in range(10):
            up[k] += me[k]
    M[:] = 0.0
    for j in range(dof.size):
        own = column[j]
        momentum = rigid_momentum(inertia[dof[j].body].rigid, own.s)
        put_spatial(own.U, momentum[0], momentum[1])
        k = j
        while k >= 0:
            M[j, k] = M[k, j] = inner_spatial(own.U, column[k].s)
            k = dof[k].parent
        M[j, j] += dof[j].armature
    if at.shape(m).inner_rotors:
        add_inner_inertia(m, -1, M)
    return at.OK


@shared_kernel(HANDLE, returns=NOTHING)
def energies(m):
    """Compute kinetic and gravitational potential energy after `motion`; gravity acts on c."""
    body, move, total, g = at.bodies(m), at.moving(m), at.totals(m), at.world(m).gravity
    kinetic = potential = 0.0  # in registers: a body would wait for the sum to be written
    for i in range(1, body.size):
        own, me = body[i], move[i]
        v = velocity_at(me.V, me.c)
        omega = rotate_back(me.R, angular(me.V))
        kinetic += 0.5 * (own.mass * inner(v, v) + inner(omega, symmetric(own.inertia, omega)))
        potential -= own.mass * inner(g, add(me.c, total.origin))
        if own.lift != 0.0:
            here = add(me.p, rotate(me.R, own.lift_com))
            potential += own.lift * inner(g, add(here, total.origin))
    total.kinetic, total.potential = kinetic, potential


@kernel
def rotor_energy(m, v):
    """Return the kinetic energy of the rotors that joints reflect, after `motion`."""
    dof, energy = at.dofs(m), 0.0
    for j in range(dof.size):
        energy += 0.5 * dof[j].armature * v[j] * v[j]
    return energy + inner_rotor_energy(m) if at.shape(m).inner_rotors else energy


@kernel
def compute_totals(m, q, v, out):
    """
    Write kinetic and potential energy, centre of mass, linear and angular momentum, (11,).

    The angular momentum is about the centre of mass, in world axes.
    """
    status = check_state(m, q, v, v)
    if status != at.OK:
        return status
    placements(m, q)
    motion(m, v, v, 0.0)
    energies(m)
    body_inertias(m)
    body, move, inertia, total = at.bodies(m), at.moving(m), at.inertias(m), at.totals(m)
    mass, c, p, h = 0.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for i in range(1, body.size):
        mass += body[i].mass
        c = add(c, times(body[i].mass, move[i].c))
        momentum = rigid_momentum(inertia[i].rigid, move[i].V)
        p, h = add(p, momentum[0]), add(h, momentum[1])
    if mass > 0.0:
        c = times(1.0 / mass, c)
    out[0], out[1] = total.kinetic + rotor_energy(m, v), total.potential
    put(out[2:], add(c, total.origin))
    put_spatial(out[5:], p, minus(h, cross(c, p)))
    return at.OK
