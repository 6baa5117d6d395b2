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
The jump of velocities when moving links are connected (Nakamura and Yamane, V-C).

A connection acts for an instant: momentum along every motion that remains possible is kept, so
A+ theta_G'+ = W+^T (momentum before). That is Eqs. (29) to (38) for any joint, any number of
connections at once and any rank.
"""

import numpy as np

from . import records as at
from .body_motion import (
    free_systems,
    let_move,
    momenta_as_forces,
    nearest_motion,
    rotor_rate,
    system_centres,
)
from .compiling import kernel
from .coordinates import solve_constraints
from .inertia import energies
from .inner_rotors import inner_rotor_energy
from .kinematics import motion, placements
from .linear_algebra import copy_to
from .newton_euler import pass_forces_inwards, project_forces
from .vectors import add, axis, cross, inner, minus, put, put_axis, rotate, symmetric, times

LEAST_TURN = 1e-12  # share of the largest inertia below which a system cannot turn about an axis


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
    mass, before, after = system_centres(m, states, label, system)
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
        free_systems(m, label)
        for i in range(1, move.size):
            if label[i] == i:
                _turn_back(m, states, label, i)
    for i in range(1, move.size):
        let_move(move[i], states[i].v, states[i].omega)
    energies(m)
    kinetic = at.totals(m).kinetic
    if at.shape(m).inner_rotors:
        kinetic += inner_rotor_energy(m)
    for j in range(force.size):
        rate, armature = rotor_rate(m, j), at.dofs(m)[j].armature
        force[j] = -armature * rate
        kinetic += 0.5 * armature * rate * rate
    status = nearest_motion(m, v_after)
    if status != at.OK:
        return status, kinetic
    momenta_as_forces(m)  # solving the motion has used them up
    for i in range(move.size):
        copy_to(jump[i], move[i].F)
    motion(m, v_after, at.zeros(m), 0.0)
    momenta_as_forces(m)
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
