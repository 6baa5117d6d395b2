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
The jump of velocities when links are connected at non-zero relative speed (paper 2, V-C).

A connection acts for an instant: momentum along every motion that remains possible is kept, so
A+ theta_G'+ = W+^T (momentum before). That is Eqs. (29) to (38) for any joint, any number of
connections at once and any rank, and it is the system that forward dynamics solves, with momenta
in the place of forces. With displacements in the place of velocities it says how a gap is closed:
by the motion that leaves all masses nearest to where they were. To begin with that is the step
M^-1 J_C^T (J_C M^-1 J_C^T)^-1 times the gap; what is left of it, the second order, follows.
"""

import numpy as np

from . import records as at
from .closed_chain import solve_motion
from .compiling import kernel
from .coordinates import solve_constraints
from .inertia import body_inertias, energies, rigid_momentum
from .inner_rotors import inner_rotor_energy, take_inner_momenta
from .kinematics import NO_VECTOR, check_state, motion, placements
from .linear_algebra import copy_to
from .manifold import integrate
from .newton_euler import pass_forces_inwards, project_forces
from .step import close_loops, closing_step
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
    rotate,
    rotate_back,
    symmetric,
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
MOST_SETTLING = 8  # steps that close a gap; the first takes most of the way
SETTLED = 1e-9  # a step that is not worth another one [rad, m]
LONGEST = 0.7  # a step that leads nobody knows where [rad, m]
LEAST_TURN = 1e-12  # share of the largest inertia below which a system cannot turn about an axis


@kernel
def _momenta_as_forces(m):
    """Put minus the momentum of every body in the place of the force that it needs."""
    body_inertias(m)
    move, inertia = at.moving(m), at.inertias(m)
    move[0].F[:] = 0.0
    for i in range(1, move.size):
        p, h = rigid_momentum(inertia[i].rigid, move[i].V)
        put_spatial(move[i].F, times(-1.0, p), times(-1.0, h))
    if at.shape(m).inner_rotors:
        take_inner_momenta(m)


@kernel
def _rotor_rate(m, j):
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
    _momenta_as_forces(m)
    momentum = at.tau(m)
    for j in range(momentum.size):
        momentum[j] = at.dofs(m)[j].armature * _rotor_rate(m, j)
    return solve_motion(m, momentum, out)


@kernel
def _let_move(me, velocity, omega):
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


# --- closing a gap ---------------------------------------------------------------------------
@kernel
def _settling_step(m, q, states, step, rest):
    """
    Write the step that closes the loops and takes all bodies nearest to where they were.

    Of the bodies' way back, what the closing step does not do is done as far as the loops permit.
    """
    placements(m, q)
    solve_constraints(m, q, at.zeros(m), False)
    closing_step(m, step)
    motion(m, step, at.zeros(m), 0.0)
    move, origin = at.moving(m), at.totals(m).origin
    for i in range(1, move.size):
        me, old = move[i], states[i]
        v_done, w_done = linear(me.V), angular(me.V)
        back = NO_VECTOR  # half the sum of axis x axis before: the sine of the turn
        for k in range(3):
            back = add(back, times(0.5, cross(axis(me.R, k), axis(old.R, k))))
        _let_move(me, minus(old.c, add(me.c, origin)), back)
        put_spatial(me.V, minus(linear(me.V), v_done), minus(angular(me.V), w_done))
    status = nearest_motion(m, rest)
    for j in range(step.size):
        step[j] += rest[j]
    return status


@kernel
def _free_systems(m, label):
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
def _centres(m, states, label, system):
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


@kernel
def _shift_back(m, q, states):
    """Move every free system as a whole to where its centre of mass was."""
    body = at.bodies(m)
    label = np.empty(body.size, np.int64)
    placements(m, q)
    _free_systems(m, label)
    for system in range(1, body.size):
        if label[system] != system:
            continue
        mass, before, after = _centres(m, states, label, system)
        for i in range(1, body.size):
            if mass > 0.0 and label[i] == system and body[i].parent == 0:
                place = q[body[i].iq :]  # in the axes of the joint
                put(place, add(place, rotate_back(body[i].R, minus(before, after))))


@kernel
def compute_settling(m, q, states, work):
    """
    Close the loops; all masses come to be nearest to where they were recorded.

    The centre of mass of what flies freely is then where it was, exactly. Returns LOOP_OPEN, and
    leaves q as it was, where Newton's method does not get there.
    """
    nq, nv = at.shape(m).nq, at.shape(m).nv
    step, rest, moved, to = np.empty(nv), np.zeros(nv), q[:nq].copy(), np.empty(nq)
    for _ in range(MOST_SETTLING):
        if _settling_step(m, moved, states, step, rest) != at.OK:
            return at.LOOP_OPEN
        size = np.max(np.abs(step))
        if not size < LONGEST:
            return at.LOOP_OPEN
        integrate(m, moved, step, to)
        copy_to(moved, to)
        if size <= SETTLED:
            break
    if close_loops(m, moved, rest, work) != at.OK:
        return at.LOOP_OPEN
    _shift_back(m, moved, states)
    copy_to(q, moved)
    return at.OK


# --- the jump --------------------------------------------------------------------------------
@kernel
def _tensor(R, inertia):
    """Return the inertia of a body with axes R about its centre of mass, world axes, (3, 3)."""
    tensor = np.empty((3, 3))
    for k in range(3):
        put_axis(tensor, k, rotate(R, symmetric(inertia, (R[k, 0], R[k, 1], R[k, 2]))))
    return tensor


@kernel
def _turn_back(m, states, label, system):
    """
    Add to a free system the turn that makes up for the angular momentum that a gap took.

    Two masses that pass each other have some; brought together they have none, unless all turns.
    """
    body, move, origin = at.bodies(m), at.moving(m), at.totals(m).origin
    mass, before, after = _centres(m, states, label, system)
    if mass == 0.0:
        return
    inertia, missing = np.zeros((3, 3)), np.zeros(3)
    for i in range(1, body.size):
        if label[i] == system:
            own, old = body[i], states[i]
            new = _tensor(move[i].R, own.inertia)
            r = minus(add(move[i].c, origin), after)
            moved = minus(minus(old.c, before), r)
            lost = add(
                times(own.mass, cross(moved, old.v)),
                rotate(_tensor(old.R, own.inertia) - new, old.omega),
            )
            put(missing, add(missing, lost))
            inertia += new
            for k in range(3):
                inertia[k, k] += own.mass * inner(r, r)
                put_axis(inertia, k, minus(axis(inertia, k), times(own.mass * r[k], r)))
    # points on a line cannot turn about it
    turn = np.linalg.lstsq(inertia, missing, LEAST_TURN)[0]
    for i in range(1, body.size):
        if label[i] == system:
            r = minus(add(move[i].c, origin), after)
            put(states[i].v, add(states[i].v, cross(turn, r)))
            put(states[i].omega, add(states[i].omega, turn))


@kernel
def compute_impact(m, q, states, moved, v_after, jump, force):
    """
    Write the velocities after joints and loops have caught bodies that moved as recorded.

    `moved` says that a gap was closed since the record: the bodies keep their velocities, and a
    free system its momentum, linear and angular. Also written: what each body's momentum gained,
    at O, (n, 6), and that along the coordinates of the tree, which is J_C^T times the impulse.
    Returns a status and the kinetic energy just before.
    """
    placements(m, q)
    solve_constraints(m, q, at.zeros(m), False)
    move = at.moving(m)
    if moved:
        label = np.empty(move.size, np.int64)
        _free_systems(m, label)
        for i in range(1, move.size):
            if label[i] == i:
                _turn_back(m, states, label, i)
    for i in range(1, move.size):
        _let_move(move[i], states[i].v, states[i].omega)
    energies(m)
    kinetic = at.totals(m).kinetic
    if at.shape(m).inner_rotors:
        kinetic += inner_rotor_energy(m)
    for j in range(force.size):
        rate, armature = _rotor_rate(m, j), at.dofs(m)[j].armature
        force[j] = -armature * rate
        kinetic += 0.5 * armature * rate * rate
    status = nearest_motion(m, v_after)
    if status != at.OK:
        return status, kinetic
    _momenta_as_forces(m)  # solving the motion has used them up
    for i in range(move.size):
        copy_to(jump[i], move[i].F)
    motion(m, v_after, at.zeros(m), 0.0)
    _momenta_as_forces(m)
    for i in range(move.size):
        for k in range(6):
            jump[i, k] -= move[i].F[k]
            move[i].F[k] = jump[i, k]
    pass_forces_inwards(m)
    bodies_gain = at.tau(m)
    project_forces(m, bodies_gain)
    for j in range(force.size):
        force[j] += bodies_gain[j] + at.dofs(m)[j].armature * v_after[j]
    return at.OK, kinetic
