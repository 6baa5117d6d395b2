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
Newton-Euler inverse dynamics of the tree: motion outwards, forces inwards (Li et al., section II).

In world axes at one point the inward recursion is a plain sum. The force F that a joint passes on
to its body falls out for every joint, whether it moves anything or not.
"""

from . import records as at
from .compiling import kernel
from .inner_rotors import carry_inner_rotors
from .kinematics import check_state, motion, placements
from .vectors import (
    acceleration_at,
    add,
    add_spatial,
    angular,
    cross,
    inner_spatial,
    linear,
    minus,
    put_spatial,
    rotate,
    rotate_back,
    symmetric,
    times,
)


@kernel
def body_forces(m):
    """Compute the force that each body's motion needs: Newton (5), (7) and Euler (8)."""
    body, move = at.bodies(m), at.moving(m)
    move[0].F[:] = 0.0
    for i in range(1, body.size):
        me, own = move[i], body[i]
        f = times(own.mass, acceleration_at(me.V, me.A, me.c))
        # Euler's equation in body axes: turning two vectors is cheaper than turning a tensor
        omega, alpha = rotate_back(me.R, angular(me.V)), rotate_back(me.R, angular(me.A))
        n = add(symmetric(own.inertia, alpha), cross(omega, symmetric(own.inertia, omega)))
        put_spatial(me.F, f, add(rotate(me.R, n), cross(me.c, f)))
        if own.lift != 0.0:
            weight = times(own.lift, at.world(m).gravity)
            here = add(me.p, rotate(me.R, own.lift_com))
            add_spatial(me.F, weight, cross(here, weight))


@kernel
def apply_loads(m):
    """Take external wrenches off the forces needed, and return their power."""
    move, power = at.moving(m), 0.0
    for load in at.loads(m):
        me = move[load.body]
        f = linear(load.wrench)
        n = add(angular(load.wrench), cross(add(me.p, rotate(me.R, load.p)), f))
        add_spatial(me.F, times(-1.0, f), times(-1.0, n))
        for k in range(3):
            power += f[k] * me.V[k] + n[k] * me.V[3 + k]
    return power


@kernel
def pass_forces_inwards(m):
    """Add every body's force to its parent's, Eq. (7)."""
    body, move = at.bodies(m), at.moving(m)
    for i in range(body.size - 1, 0, -1):
        up, me = move[body[i].parent], move[i]
        add_spatial(up.F, linear(me.F), angular(me.F))


@kernel
def project_forces(m, tau_O):
    """Write each joint's share of the force it passes on, the first term of Eq. (9)."""
    dof, move, column = at.dofs(m), at.moving(m), at.columns(m)
    for j in range(dof.size):
        tau_O[j] = inner_spatial(move[dof[j].body].F, column[j].s)


@kernel
def tree_forces(m, v, a):
    """Compute F of every joint after `placements`, Eqs. (2) to (8) of Li et al.."""
    motion(m, v, a, 1.0)
    body_forces(m)
    apply_loads(m)
    if at.shape(m).inner_rotors:
        carry_inner_rotors(m)
    pass_forces_inwards(m)


@kernel
def compute_newton_euler(m, q, v, a, tau_O):
    """Write tau_O of the tree with joint damping and the inertia of rotors, Eq. (9)."""
    size = at.shape(m)
    if q.size != size.nq or v.size != size.nv or a.size != size.nv:
        return at.WRONG_SIZE
    status = check_state(m, q, v, a)
    if status != at.OK:
        return status
    placements(m, q)
    tree_forces(m, v, a)
    project_forces(m, tau_O)
    dof = at.dofs(m)
    for j in range(dof.size):
        tau_O[j] += dof[j].damping * v[j] + dof[j].armature * a[j]
    return at.OK


@kernel
def compute_joint_wrenches(m, q, v, a, out):
    """Write the force and moment that every joint passes on, at the joint, (n, 6) world axes."""
    status = check_state(m, q, v, a)
    if status != at.OK:
        return status
    placements(m, q)
    tree_forces(m, v, a)
    move = at.moving(m)
    for i in range(move.size):
        me = move[i]
        f = linear(me.F)
        put_spatial(out[i], f, minus(angular(me.F), cross(me.p, f)))
    return at.OK
