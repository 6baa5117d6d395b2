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
Contact with friction: normal forces, sliding, sticking (Li et al., III, for any mechanism).

A sliding contact pushes along the normal with f_n and drags against the sliding with K f_n. Motion
and normal forces are linear in the drags: solved without drag and with a unit drag on each
contact, they give the small system (E - Lambda K) f_n = f_n0, which is Eqs. (20), (21) for several
contacts at once. Where it is singular, friction locks the mechanism: the frictional paradox.
"""

import numpy as np

from . import records as at
from .acting_forces import applied_forces, take_off_rotors
from .closed_chain import solve_motion
from .compiling import kernel
from .constraint_rows import constraint_matrix
from .contact_events import contact_velocity, sliding_direction
from .friction_cones import balanced_forces
from .hold_forces import hold_forces
from .kinematics import motion
from .linear_algebra import solve, take_off
from .newton_euler import body_forces, pass_forces_inwards, project_forces
from .pair_forces import push_apart
from .sharing import HANDLE, VECTOR, shared_kernel
from .vectors import cross, inner, linear, minus, put, put_spatial, rotate, times

LOCKING = 1e-9  # share of the normal forces below which friction locks
MOST_SIDES = 10  # contacts held on both sides whose sides are all tried


@kernel
def _drag(m, k, force):
    """Put the drag of a sliding contact on its two bodies."""
    loop, frame, f = at.loops(m)[k], at.frames(m)[k], np.empty(6)
    put_spatial(f, linear(frame.sliding), cross(frame.point, frame.sliding))
    push_apart(m, loop.body_1, loop.body_2, f, -force)


@kernel
def _forces_at(m, q, v, a, drags):
    """Compute the bodies' forces at accelerations a with given drags; return those on joints."""
    motion(m, v, a, 1.0)
    body_forces(m)
    force = applied_forces(m, q, v)
    for k in range(drags.size):
        if drags[k] != 0.0:
            _drag(m, k, drags[k])
    return force


@kernel
def _try(m, q, v, drags, acceleration, residual):
    """Solve the motion with given drags, and write what the constraints have to carry."""
    h, dof = at.drift(m), at.dofs(m)
    force = _forces_at(m, q, v, h, drags)
    take_off_rotors(m, force)
    status = solve_motion(m, force, acceleration)
    if status != at.OK:
        return status
    for j in range(h.size):
        acceleration[j] += h[j]
    force = _forces_at(m, q, v, acceleration, drags)
    pass_forces_inwards(m)
    project_forces(m, residual)
    for j in range(h.size):
        residual[j] += dof[j].armature * acceleration[j] - force[j]
    return at.OK


@kernel
def _row_forces(m, cluster, residual):
    """
    Return the forces in the rows of a cluster that carry the residual, (rows,).

    Elimination kept its row operations: the first `rank` rows of them give a solution, the others
    are forces in balance. Of all solutions it is the one of least norm: equal supports share.
    """
    J, order = constraint_matrix(m, cluster), at.cluster_dofs(m)
    n, n_rows, rank = cluster.n_dofs, cluster.n_rows, cluster.rank
    forces = np.zeros(n_rows)
    for s in range(rank):
        for i in range(n_rows):
            forces[i] += J[s, n + 1 + i] * residual[order[cluster.first_dof + s]]
    for balanced in balanced_forces(m, cluster):  # off with what is in balance
        take_off(forces, balanced)
    return forces


@kernel
def _contact_forces(m, residual, normal):
    """Write the constraint force of every contact: along the normal, and of a sticking one all."""
    loop, frame, unit = at.loops(m), at.frames(m), 1.0 / at.world(m).length
    if at.shape(m).n_holds:
        hold_forces(m, residual)
    for c in range(at.shape(m).n_clusters):
        own = at.clusters(m)[c]
        if own.width == own.n_dofs + 1:
            continue
        forces, i = _row_forces(m, own, residual), 0
        for k in at.cluster_loops(m)[own.first_loop : own.first_loop + own.n_loops]:
            if loop[k].mode == at.SLIDE or loop[k].mode == at.STICK:
                _resolve(frame[k], loop[k].mode, unit * forces[i : i + loop[k].n_rows])
                normal[k] = frame[k].normal_force
            i += loop[k].n_rows


@kernel
def _resolve(frame, mode, force):
    """Write normal force and, of a sticking contact, friction force in world axes."""
    if mode == at.SLIDE:
        frame.normal_force = force[0]
        return
    total = rotate(frame.R_1, force)
    frame.normal_force = inner(total, frame.normal)
    put(frame.friction, minus(total, times(frame.normal_force, frame.normal)))


@shared_kernel(HANDLE, VECTOR, VECTOR, VECTOR)
def contact_dynamics(m, q, v, acceleration):
    """Write theta_O'' with friction in every sliding contact; forces are left in `frames`."""
    loop, n, count = at.loops(m), at.loops(m).size, 0
    residual, drags, normal = np.empty(at.shape(m).nv), np.zeros(n), np.zeros(n)
    rough = np.empty(n, np.int64)
    for k in range(n):
        if loop[k].active and loop[k].mode == at.SLIDE:
            sliding_direction(m, k)
            put(at.frames(m)[k].friction, (0.0, 0.0, 0.0))
            if loop[k].mu > 0.0:
                rough[count] = k
                count += 1
    status = _try(m, q, v, drags, acceleration, residual)
    if status != at.OK:
        return status
    _contact_forces(m, residual, normal)
    if count == 0:
        return at.OK
    free, share = normal.copy(), np.zeros((count, count))
    for b in range(count):  # how a unit drag on one changes the normal force of all
        drags[:] = 0.0
        drags[rough[b]] = 1.0
        status = _try(m, q, v, drags, acceleration, residual)
        if status != at.OK:
            return status
        _contact_forces(m, residual, normal)
        for a in range(count):
            share[a, b] = (normal[rough[a]] - free[rough[a]]) * loop[rough[b]].mu
    drags[:] = 0.0
    if not _solve_drags(m, rough[:count], share, free, drags):
        return at.LOCKED
    status = _try(m, q, v, drags, acceleration, residual)
    if status == at.OK:
        _contact_forces(m, residual, normal)
        _write_drags(m, rough[:count], drags)
    return status


@kernel
def _solve_drags(m, rough, share, free, drags):
    """
    Solve (E - share side) f_n = f_n0 for the drags K |f_n|; return whether there are any.

    The determinant is the A of Eq. (20) over m_c. At zero no finite force fits the motion; below
    zero a drag makes more normal force than it needs, and what the equations give has the wrong
    side: both are the frictional paradox. A contact held on both sides drags when it pulls, too.
    Several of those may have forces of the right sides below zero and nowhere else.
    """
    loop, count, both = at.loops(m), rough.size, 0
    side, forces, system = np.empty(count), np.empty(count), np.empty((count, count))
    for k in rough:
        if loop[k].contact != at.UNILATERAL:
            both += 1
    ways = 1 << min(both, MOST_SIDES)
    for way in range(2 * ways if both == count else ways):  # the side without friction first
        flips, bit, above = way % ways, 1, way < ways
        for a in range(count):
            forces[a], side[a] = free[rough[a]], 1.0
            if loop[rough[a]].contact != at.UNILATERAL:
                side[a] = 1.0 if (forces[a] < 0.0) == (flips & bit != 0) else -1.0
                bit <<= 1
        for a in range(count):
            for b in range(count):
                system[a, b] = (1.0 if a == b else 0.0) - share[a, b] * side[b]
        determinant = solve(system, count, forces)
        fits = (determinant if above else -determinant) > LOCKING
        for a in range(count):
            wrong = loop[rough[a]].contact != at.UNILATERAL and side[a] * forces[a] < 0.0
            fits = fits and not wrong
        if fits:
            for a in range(count):
                drags[rough[a]] = loop[rough[a]].mu * side[a] * forces[a]
            return True
    return False


@kernel
def _write_drags(m, rough, drags):
    """Write the friction forces of sliding contacts, and the power that they take."""
    frame, total = at.frames(m), at.totals(m)
    for k in rough:
        velocity, _ = contact_velocity(m, k)
        put(frame[k].friction, times(-drags[k], frame[k].sliding))
        total.dissipation += drags[k] * inner(velocity, frame[k].sliding)
