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
What acts on a mechanism besides inertia: loads, springs, limits, friction, motors and rotors.

Forces on bodies are taken off what the bodies need; those on the coordinates of the tree are
returned. The drift W' theta_G' is what accelerations have before any force acts.
"""

from . import records as at
from .compiling import kernel
from .constraint_rows import constraint_matrix
from .inner_rotors import carry_inner_rotors
from .loop_joints import loop_coordinates
from .newton_euler import apply_loads
from .pair_forces import push_apart
from .passive import add_passive_forces


@kernel
def bias_acceleration(m):
    """Write the drift W' theta_G': h in the rows of theta_S, Eq. (22) of Yamane and Nakamura."""
    out, order, cluster = at.drift(m), at.cluster_dofs(m), at.clusters(m)
    for j in range(out.size):
        out[j] = 0.0
    for c in range(at.shape(m).n_clusters):
        own = cluster[c]
        if own.rank:
            E_H_h = constraint_matrix(m, own)
            for s in range(own.rank):
                out[order[own.first_dof + s]] = E_H_h[s, own.n_dofs]


@kernel
def passive_forces(m, q, v):
    """
    Take loads and passive forces off the bodies' F; return those on tree coordinates.

    Rotors of loop joints and tendons take what they need for the bodies' A.
    """
    force, total, size = at.tau(m), at.totals(m), at.shape(m)
    total.dissipation = 0.0
    for j in range(size.nv):
        force[j] = 0.0
    total.power = apply_loads(m)
    if size.passive_joints or size.passive_loops or at.springs(m).size:
        add_passive_forces(m, q, v, force)
    if size.inner_rotors:
        carry_inner_rotors(m)
    return force


@kernel
def applied_forces(m, q, v):
    """Do the same with the torques of the motors and the forces given on tree coordinates."""
    force, total, given = passive_forces(m, q, v), at.totals(m), at.extra(m)
    for j in range(given.size):
        force[j] += given[j]
        total.power += given[j] * v[j]
    actuator, tau_A = at.actuators(m), at.torques(m)
    for k in range(actuator.size):
        if actuator[k].on_loop:
            loop_motor(m, actuator[k].dof, tau_A[k])
        elif actuator[k].dof >= 0:  # else its joint has been cut
            force[actuator[k].dof] += tau_A[k]
            total.power += tau_A[k] * v[actuator[k].dof]
    return force


@kernel
def take_off_rotors(m, force):
    """Take off what rotors need for the drift: bodies got it with their accelerations."""
    dof, h = at.dofs(m), at.drift(m)
    for j in range(h.size):
        force[j] -= dof[j].armature * h[j]


@kernel
def loop_motor(m, d, torque):
    """Put a motor's torque on the two bodies that a loop joint connects."""
    loop = at.loops(m)
    for k in range(loop.size):
        own = loop[k]
        if own.active and own.dof <= d < own.dof + own.n_dofs:
            loop_coordinates(m, k)
            column = at.loop_columns(m)[d]
            push_apart(m, own.body_1, own.body_2, column.f, torque)
            at.totals(m).power += torque * column.rate
