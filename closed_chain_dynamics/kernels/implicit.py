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
A linearly implicit step, for joints whose springs and dampers are faster than the step.

The method is Rosenbrock's of two stages and second order, with gamma = 1 - 1/sqrt(2): what is
infinitely stiff and damped is at rest after a step (it is L-stable). Its order does not depend on
the Jacobian, so only damping D and stiffness K of the tree's own joints are in it, which are
diagonal: a stage is forward dynamics with gamma h D + (gamma h)^2 K added to the rotors.

Symbol      Meaning
k_1, w      slopes of the two stages; the state moves by h (k_1 + w) / 2
y_2         y + h k_1, where the second stage looks
"""

import numpy as np

from .closed_chain import applied_forces
from .compiling import kernel
from .kinematics import motion, placements
from .newton_euler import body_forces
from .records import OK, ON_JOINT, bodies, dofs, extra, shape, springs, totals, zeros
from .step import advance, move, stage

GAMMA = 1.0 - np.sqrt(0.5)


@kernel
def _is_near(law, position):
    """Return whether a position is in the zone of a limit."""
    t = law.stop_transition
    return position > law.upper - t or position < law.lower + t


@kernel
def _diagonals(m, q, v, dt, K, D):
    """Write stiffness and damping of every coordinate of the tree."""
    body, dof = bodies(m), dofs(m)
    for j in range(dof.size):
        own, law = body[dof[j].body], dof[j]
        K[j], D[j] = 0.0, law.damping
        if own.n_dof == 1 and (law.stop_stiffness != 0.0 or law.stop_damping != 0.0):
            here = q[own.iq]
            if _is_near(law, here) or _is_near(law, here + dt * v[j]):
                K[j] += law.stop_stiffness
                D[j] += law.stop_damping
    for spring in springs(m):
        if spring.type == ON_JOINT and spring.dof >= 0:
            K[spring.dof] += spring.stiffness
            D[spring.dof] += spring.damping


@kernel
def _stiff_stage(m, q, v, u, slope, h, K, D, pull):
    """Write a stage with h D + h^2 K on top of the rotors and forces `pull` on the joints."""
    dof, given = dofs(m), extra(m)
    armature, was = np.empty(K.size), np.empty(K.size)
    for j in range(K.size):
        armature[j] = dof[j].armature
        dof[j].armature += h * D[j] + h * h * K[j]
    for j in range(given.size):
        was[j] = given[j]
        given[j] += pull[j]
    status = stage(m, q, v, u, slope)
    for j in range(K.size):
        dof[j].armature = armature[j]
    for j in range(given.size):
        given[j] = was[j]
    return status


@kernel
def _power(m, q, v):
    """Return what motors and forces from outside do at a velocity."""
    placements(m, q)
    motion(m, v, zeros(m), 1.0)
    body_forces(m)
    applied_forces(m, q, v)
    return totals(m).power


@kernel
def implicit_step(m, q, v, dt, books, work):
    """
    Advance q and v by one step, and the work put in; `work` as in `rk4_step`. The room for forces
    on the coordinates has to be there: the stages put some into it.

    The velocity within a step is not known where it is fast, the way that was made is: so work is
    the force times that. What was dissipated is left to the caller, who knows the energies.
    """
    nq, nv = shape(m).nq, shape(m).nv
    u, stage_q, stage_v = work[0, :nv], work[1, :nq], work[2, :nv]
    K, D, pull, h = np.empty(nv), np.empty(nv), np.empty(nv), GAMMA * dt
    _diagonals(m, q, v, dt, K, D)
    k_1, w = work[3], work[4]
    for j in range(nv):
        u[j], pull[j] = 0.0, -h * K[j] * v[j]
    status = _stiff_stage(m, q, v, u, k_1, h, K, D, pull)
    if status != OK:
        return status
    for j in range(nv):
        k_1[j] += h * k_1[nv + j]
        u[j], stage_v[j] = dt * k_1[j], v[j] + dt * k_1[nv + j]
    advance(m, q, u, stage_q)
    for j in range(nv):
        pull[j] = 2.0 * h * (K[j] * k_1[j] + D[j] * k_1[nv + j])
        pull[j] -= h * K[j] * (stage_v[j] - 2.0 * h * k_1[nv + j])
    status = _stiff_stage(m, stage_q, stage_v, u, w, h, K, D, pull)
    if status != OK:
        return status
    for j in range(nv):
        w[j] += h * (w[nv + j] - 2.0 * k_1[nv + j])
        u[j], stage_v[j] = 0.5 * dt * (k_1[j] + w[j]), 0.5 * (k_1[j] + w[j])
        v[j] += 0.5 * dt * (k_1[nv + j] + w[nv + j])
    books[0] += 0.5 * dt * _power(m, q, stage_v)
    move(m, q, u, work)
    books[0] += 0.5 * dt * _power(m, q, stage_v)
    return OK
