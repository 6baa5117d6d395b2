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
Rotors on loop joints: a cut joint feels reflected inertia as a joint of the tree does.

The rate of a coordinate of a loop joint is l theta', l = f (J_2 - J_1) with its covector f. A
rotor of inertia I adds I l^T l to M. What it needs for a motion is a pair of opposite wrenches
along f on the two bodies, I times the acceleration of the coordinate, so it joins the Newton-Euler
recursion.
"""

import numpy as np

from . import records as at
from .compiling import kernel
from .holds import coordinate_bias
from .loop_joints import loop_coordinates
from .loops import add_loop_to_jacobian
from .passive import push_apart
from .sharing import HANDLE, NOTHING, shared_kernel


@kernel
def _turns_rotor(m, k):
    """Return whether a loop joint is closed and turns a rotor; its coordinates are alike."""
    own = at.loops(m)[k]
    return own.active and own.n_dofs > 0 and at.loop_dofs(m)[own.dof].armature != 0.0


@shared_kernel(HANDLE, returns=NOTHING)
def carry_loop_rotors(m):
    """Add what rotors of loop joints need for the motion V, A of the bodies to their F."""
    for k in range(at.loops(m).size):
        if _turns_rotor(m, k):
            own = at.loops(m)[k]
            loop_coordinates(m, k)
            for d in range(own.dof, own.dof + own.n_dofs):
                force = -at.loop_dofs(m)[d].armature * coordinate_bias(m, k, d)
                push_apart(m, own.body_1, own.body_2, at.loop_columns(m)[d].f, force)


@shared_kernel(HANDLE, returns=NOTHING)
def take_loop_momenta(m):
    """Take the momentum that rotors of loop joints have in the motion V off the bodies' F."""
    for k in range(at.loops(m).size):
        if _turns_rotor(m, k):
            own = at.loops(m)[k]
            loop_coordinates(m, k)
            for d in range(own.dof, own.dof + own.n_dofs):
                momentum = at.loop_dofs(m)[d].armature * at.loop_columns(m)[d].rate
                push_apart(m, own.body_1, own.body_2, at.loop_columns(m)[d].f, momentum)


@kernel
def loop_rotor_energy(m):
    """Return the kinetic energy that rotors of loop joints have in the motion V of the bodies."""
    energy = 0.0
    for k in range(at.loops(m).size):
        if _turns_rotor(m, k):
            own = at.loops(m)[k]
            loop_coordinates(m, k)
            for d in range(own.dof, own.dof + own.n_dofs):
                energy += 0.5 * at.loop_dofs(m)[d].armature * at.loop_columns(m)[d].rate ** 2
    return energy


@kernel
def add_loop_inertia(m, k, M, local):
    """Add I l^T l of the rotors of one loop joint to M, of its cluster (`local`) or of all."""
    if not _turns_rotor(m, k):
        return
    own, n, l = at.loops(m)[k], M.shape[0], np.empty((1, M.shape[0]))
    loop_coordinates(m, k)
    for d in range(own.dof, own.dof + own.n_dofs):
        l[:] = 0.0
        add_loop_to_jacobian(m, k, 0, at.loop_columns(m)[d].f, l, local)
        for i in range(n):
            for j in range(n):
                M[i, j] += at.loop_dofs(m)[d].armature * l[0, i] * l[0, j]
