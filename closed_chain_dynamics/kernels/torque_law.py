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
Computed torque in one go: accelerations with feedback, and the torques that give them.

Where there is generated code for the present structure, it gives the torques.

The loops are solved once: what they say about accelerations and about torques is the same H. Where
actuators do not move every motion that the loops allow, those that none moves are left to the
dynamics, see control/law.py.
"""

from collections import namedtuple

import numpy as np

from . import records as at
from .acting_forces import bias_acceleration
from .compiling import kernel
from .coordinates import solve_constraints, write_W
from .generated import call_generated
from .inverse import needed_forces, needed_torques
from .kinematics import check_state, motion, placements
from .linear_algebra import inverse_root
from .manifold import difference
from .sharing import HANDLE, INDEX, NUMBER, VECTOR, named, shared_kernel

Target = namedtuple('Target', 'q v a')  # a reference, complete
TARGET = named(Target, VECTOR, VECTOR, VECTOR)
# kp and kd, (nv,) each [1/s^2, 1/s], the lever up to which an actuator does not count, and the
# address of generated code that finds torques for theta_G'' (0: none)
Gains = namedtuple('Gains', 'kp kd weak_lever code')
LAW_GAINS = named(Gains, VECTOR, VECTOR, NUMBER, INDEX)


@kernel
def compute_law(m, q, v, target, gains, a, out):
    """
    Write W theta_G'' + W' theta_G' with theta_G'' = theta_d'' + K_d e' + K_p e, and its torques.

    `out` as `compute_inverse_dynamics` writes it; behind it what the motion as wanted would need
    beyond the actuators, (nv,) at theta_G, and the largest e of an actuated coordinate. Returns
    its statuses.
    """
    status = check_state(m, q, v, v)
    if status != at.OK:
        return status
    if law_by_code(m, q, v, target, gains, out):
        return at.OK
    placements(m, q)
    motion(m, v, at.zeros(m), 0.0)
    solve_constraints(m, q, v, True)
    return law_at(m, q, v, target, gains, a, out)


@kernel
def law_by_code(m, q, v, target, gains, out):
    """
    Write torques and error as `law_at` does, by generated code; return whether it could.

    The code is for mechanisms whose theta_G all have a motor, so that nothing is left over; it
    refuses poses in which its pivots fail. `out[0]`, how many tau_G there are, is then 0.
    """
    if gains.code == 0:
        return False
    dof, nq, nv, here = at.dofs(m), q.size, v.size, q.size + v.size
    given, error, largest = np.empty(here + at.shape(m).mobility), np.empty(nv), 0.0
    difference(m, q, target.q, error)
    given[:nq], given[nq:here] = q, v
    for j in range(nv):
        if not dof[j].dependent:
            given[here] = target.a[j] + gains.kd[j] * (target.v[j] - v[j]) + gains.kp[j] * error[j]
            largest = max(largest, abs(error[j]))
            here += 1
    if not call_generated(gains.code, given, out[1 + nv : out.size - 1 - 2 * nv]):
        return False
    out[0], out[-1] = 0.0, largest
    out[out.size - 1 - nv : out.size - 1] = 0.0
    return True


@shared_kernel(HANDLE, VECTOR, VECTOR, TARGET, LAW_GAINS, VECTOR, VECTOR)
def law_at(m, q, v, target, gains, a, out):
    """Do what `compute_law` does, after `motion` and `solve_constraints` at a state."""
    dof, nv, n_G, g = at.dofs(m), at.shape(m).nv, at.shape(m).mobility, 0
    residual = out[out.size - 1 - nv : out.size - 1]
    error, W, is_driven = np.empty(nv), np.empty((nv, n_G)), True
    e, theta_G, feedback = np.empty(n_G), np.empty(n_G), np.empty(n_G)
    bias_acceleration(m)
    write_W(m, W)
    difference(m, q, target.q, error)
    for j in range(nv):
        residual[j] = 0.0
        if not dof[j].dependent:
            is_driven = is_driven and dof[j].actuator >= 0
            e[g], theta_G[g] = error[j], target.a[j]
            feedback[g] = gains.kd[j] * (target.v[j] - v[j]) + gains.kp[j] * error[j]
            g += 1
    N = np.empty((n_G, 0))
    if not is_driven:
        for actuator in at.actuators(m):
            if actuator.on_loop:
                return at.UNSOLVED
        N = _unmoved(m, W, gains.weak_lever)
        feedback -= np.dot(N, np.dot(N.T, feedback))
    theta_G += feedback
    _accelerate(m, W, theta_G, a)
    status = check_state(m, q, v, a)
    if status == at.OK and N.shape[1]:
        status = _leave_to_dynamics(m, q, v, a, W, N, residual)
    out[-1] = _largest_error(m, W, e, is_driven)
    return needed_torques(m, q, v, a, out[: -1 - nv]) if status == at.OK else status


@kernel
def _accelerate(m, W, theta_G, a):
    """Write a = W theta_G'' + W' theta_G'."""
    h = at.drift(m)
    for j in range(a.size):
        a[j] = h[j]
        for g in range(theta_G.size):
            a[j] += W[j, g] * theta_G[g]


@kernel
def _unmoved(m, W, weak):
    """
    Return rates of theta_G that actuators on the tree do not move, orthonormal columns.

    Levers are the singular values of S between motions of unit length and rates of actuators, in
    units of the joints (dynamics/levers.py): with W^T W = U^T U they are those of S U^-1. Those
    up to `weak` do not count.
    """
    dof, n_G = at.dofs(m), W.shape[1]
    free, moved = np.empty(W.shape), np.zeros(W.shape)
    for j in range(dof.size):
        for g in range(n_G):
            free[j, g] = W[j, g] / dof[j].scale
            if dof[j].actuator >= 0:
                moved[j, g] = free[j, g]
    root = inverse_root(free)
    between = np.dot(moved, root)
    squares, V = np.linalg.eigh(np.dot(between.T, between))
    count = 0
    while count < n_G and squares[count] <= weak * weak:
        count += 1
    N = np.dot(root, np.ascontiguousarray(V[:, :count]))
    for k in range(count):
        for _ in range(2):  # twice is enough
            for i in range(k):
                N[:, k] -= np.sum(N[:, i] * N[:, k]) * N[:, i]
        N[:, k] /= np.sqrt(np.sum(N[:, k] ** 2))
    return N


@kernel
def _leave_to_dynamics(m, q, v, a, W, N, residual):
    """
    Take off a the part along N that needs forces there: N^T (A (theta_G'' - N y) + b) = 0.

    Columns of A N are what Newton-Euler finds more for an acceleration that is more by W N. The
    residual is the force along N that the motion as wanted would have needed.
    """
    dof, nv, count = at.dofs(m), a.size, N.shape[1]
    tau_O, more, N_O = np.empty(nv), np.empty(nv), np.dot(W, N)
    status = needed_forces(m, q, v, a, tau_O)
    if status != at.OK:
        return status
    force, mass = np.dot(N_O.T, tau_O), np.empty((count, count))
    for k in range(count):
        column = np.ascontiguousarray(N_O[:, k])
        needed_forces(m, q, v, a + column, more)
        mass[:, k] = np.dot(N_O.T, more - tau_O)
    y, along, g = np.linalg.solve(mass, force), np.dot(N, force), 0
    a -= np.dot(N_O, y)
    for j in range(nv):
        if not dof[j].dependent:
            residual[j] = along[g]
            g += 1
    return at.OK


@kernel
def _largest_error(m, W, e, is_driven):
    """Return the largest error of theta_G where all of them have a motor, else of the motors."""
    dof, largest = at.dofs(m), 0.0
    if is_driven:
        for error in e:
            largest = max(largest, abs(error))
        return largest
    for j in range(dof.size):
        if dof[j].actuator >= 0:
            S_e = 0.0
            for g in range(e.size):
                S_e += W[j, g] * e[g]
            largest = max(largest, abs(S_e))
    return largest
