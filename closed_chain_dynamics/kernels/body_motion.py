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
The motion of joints and loops that comes nearest to given velocities of the bodies, by their mass.

It is the system that forward dynamics solves, with momenta in the place of forces: momentum along
every motion that remains possible is kept. Systems that nothing holds are found here, too.
"""

import numpy as np

from . import records as at
from .closed_chain import solve_motion
from .compiling import kernel
from .inertia import body_inertias, rigid_momentum
from .kinematics import NO_VECTOR, check_state, motion, placements
from .loop_rotors import take_loop_momenta
from .vectors import (
    add,
    angular,
    axis,
    cross,
    inner,
    linear,
    minus,
    put,
    put_axis,
    put_spatial,
    times,
    velocity_at,
)

# where a body is and how it moves: axes, centre of mass, its velocity, angular velocity, all in
# the world
BODY_STATE = np.dtype(
    [
        ('R', np.float64, (3, 3)),
        ('c', np.float64, 3),
        ('v', np.float64, 3),
        ('omega', np.float64, 3),
    ]
)


@kernel
def momenta_as_forces(m):
    """Put minus the momentum of every body in the place of the force that it needs."""
    body_inertias(m)
    move, inertia = at.moving(m), at.inertias(m)
    move[0].F[:] = 0.0
    for i in range(1, move.size):
        p, h = rigid_momentum(inertia[i].rigid, move[i].V)
        put_spatial(move[i].F, times(-1.0, p), times(-1.0, h))
    if at.shape(m).rotor_loops:
        take_loop_momenta(m)


@kernel
def rotor_rate(m, j):
    """Return the rate of a coordinate as the bodies' V have it; 0 where it turns no rotor."""
    dof, move = at.dofs(m)[j], at.moving(m)
    if dof.armature == 0.0:
        return 0.0
    me, up, s = move[dof.body], move[at.bodies(m)[dof.body].parent], at.columns(m)[j].s
    if inner(angular(s), angular(s)) > 0.0:
        return inner(angular(s), minus(angular(me.V), angular(up.V)))
    return inner(linear(s), minus(velocity_at(me.V, me.p), velocity_at(up.V, me.p)))


@kernel
def nearest_motion(m, out):
    """Write the motion of joints and loops that comes nearest to the bodies' V, by their mass."""
    momenta_as_forces(m)
    momentum = at.tau(m)
    for j in range(momentum.size):
        momentum[j] = at.dofs(m)[j].armature * rotor_rate(m, j)
    return solve_motion(m, momentum, out)


@kernel
def let_move(me, velocity, omega):
    """Let a body's centre of mass have a velocity while the body turns."""
    put_spatial(me.V, minus(velocity, cross(omega, me.c)), times(1.0, omega))


@kernel
def compute_bodies(m, q, v, states):
    """Write where all bodies are and how they move, BODY_STATE (n,)."""
    status = check_state(m, q, v, v)
    if status != at.OK:
        return status
    placements(m, q)
    motion(m, v, at.zeros(m), 0.0)
    move, origin = at.moving(m), at.totals(m).origin
    for i in range(move.size):
        me, state = move[i], states[i]
        for k in range(3):
            put_axis(state.R, k, axis(me.R, k))
        put(state.c, add(me.c, origin))
        put(state.v, velocity_at(me.V, me.c))
        put(state.omega, angular(me.V))
    return at.OK


@kernel
def free_systems(m, label):
    """Give all bodies of a system that flies freely one number; 0 where the world holds them."""
    body = at.bodies(m)
    label[0] = 0
    for i in range(1, body.size):
        up = body[i].parent
        label[i] = i if up == 0 and body[i].joint == at.FREE else label[up]
    for loop in at.loops(m):
        if loop.active and loop.n_rows:
            one, two = label[loop.body_1], label[loop.body_2]
            for i in range(body.size):
                if label[i] == max(one, two):
                    label[i] = min(one, two)


@kernel
def system_centres(m, states, label, system):
    """Return a free system's mass, and its centre as recorded and as it is, in the world."""
    body, move, origin = at.bodies(m), at.moving(m), at.totals(m).origin
    mass, before, after = 0.0, NO_VECTOR, NO_VECTOR
    for i in range(1, body.size):
        if label[i] == system:
            mass += body[i].mass
            before = add(before, times(body[i].mass, states[i].c))
            after = add(after, times(body[i].mass, add(move[i].c, origin)))
    share = 1.0 / mass if mass > 0.0 else 0.0
    return mass, times(share, before), times(share, after)
