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
An implicit step, for springs and dampers that are faster than the step.

The method is Alexander's of two stages and second order, with gamma = 1 - 1/sqrt(2): what is
infinitely stiff and damped is at rest after a step (it is L-stable), and the last stage is the
state after the step. A stage asks for accelerations a with which the pose and velocity that they
lead to have them. Newton's method takes the derivatives that are stiff, damping D and stiffness K:
each iteration is forward dynamics with h D + h^2 K, h = gamma dt, added to the mass matrix. What
tree joints have of it is diagonal and joins the rotors; what acts between bodies is a few rows
(`stiff_rows.py`), whose forces follow from how the mechanism answers a force along each: Woodbury.

Symbol      Meaning
x_1, x_2    velocities of the stages, which move the pose; u' is their mean, weighted
K, D        stiffness and damping of tree joints, diagonal
L, k, d     rows between bodies, with stiffness and damping along each
"""

from collections import namedtuple

import numpy as np

from . import records as at
from .acting_forces import applied_forces
from .compiling import kernel
from .inertia import energies, rotor_energy
from .kinematics import motion, placements
from .linear_algebra import axpy, copy_to, dot, solve
from .newton_euler import body_forces
from .sharing import HANDLE, NUMBER, TABLE, VECTOR, shared_kernel
from .step import advance, local_rate, move, stage
from .stiff_rows import most_rows, stiff_rows, tree_laws

GAMMA = 1.0 - np.sqrt(0.5)
WEIGHTS = (1.0 - GAMMA, GAMMA)  # of the stages
LEAST_PUSH = 1.0  # force or moment along a row that shows how the mechanism answers [N or N m]
ITERATIONS = 20  # of Newton's method in a stage; three to five are usual
SETTLED_STAGE = 1e-11  # share of the velocity that the last iteration may change
STAGE_ROUNDING = 1e-14  # of the way made by a stage [rad or m]

Laws = namedtuple('Laws', 'K D L k d slot')  # `slot`: which law of the mechanism each row is of
# accelerations, velocities and rates of a stage, its pose, and how far that is from the begin
Stage = namedtuple('Stage', 'a x rate q place')
Room = namedtuple('Room', 'slope spare')  # for what forward dynamics gives


@kernel
def _add_resistance(K, L, k, x, factor, out):
    """Add factor times K x, the rows' part L^T k L x included."""
    n = K.size
    for j in range(n):
        out[j] += factor * K[j] * x[j]
    for r in range(k.size):
        axpy(out, L[r], factor * k[r] * dot(L[r], x, 0, n), 0, n)


@kernel
def _add_both(laws, x, h, damping, stiffness):
    """Add h D x to one vector and h^2 K x to another, or to the same."""
    _add_resistance(laws.D, laws.L, laws.d, x, h, damping)
    _add_resistance(laws.K, laws.L, laws.k, x, h * h, stiffness)


@kernel
def _answer(m, here, room, L, c):
    """
    Add forces -c L a along the rows to those in `extra`, and write the stage with them.

    Motion is linear in forces: without those along the rows it is `slope`, and pushed along one of
    them it changes by what `answer` holds.
    """
    nv, n, given, slope, answer = at.shape(m).nv, c.size, at.extra(m), room.slope, room.spare
    system, force = np.empty((n, n)), np.empty(n)
    for r in range(n):
        force[r] = -dot(L[r], slope[nv:], 0, nv)
    for b in range(n):
        push = max(LEAST_PUSH, c[b] * abs(force[b]))
        axpy(given, L[b], push, 0, nv)
        status = stage(m, here.q, here.x, here.place, answer)
        axpy(given, L[b], -push, 0, nv)
        if status != at.OK:
            return status
        for r in range(n):
            system[r, b] = (dot(L[r], answer[nv:], 0, nv) + force[r]) / push
        system[b, b] += 1.0 / c[b]
    solve(system, n, force)
    for r in range(n):
        axpy(given, L[r], force[r], 0, nv)
    return stage(m, here.q, here.x, here.place, slope)


@kernel
def _iteration(m, here, h, laws, room):
    """Write accelerations with h D + h^2 K on top of the masses, linear about those of a stage."""
    dof, given, K, D = at.dofs(m), at.extra(m), laws.K, laws.D
    armature, was, c = np.empty(K.size), given.copy(), np.empty(laws.k.size)
    _add_both(laws, here.a, h, given, given)
    for j in range(K.size):
        armature[j] = dof[j].armature
        dof[j].armature += h * D[j] + h * h * K[j]
    for r in range(c.size):
        c[r] = h * laws.d[r] + h * h * laws.k[r]
    status = stage(m, here.q, here.x, here.place, room.slope)
    if status == at.OK and c.size:
        status = _answer(m, here, room, laws.L, c)
    for j in range(K.size):
        dof[j].armature = armature[j]
    copy_to(given, was)
    return status


@kernel
def _first(laws, rows):
    """Return the laws with the rows that are there."""
    return Laws(laws.K, laws.D, laws.L, laws.k[:rows], laws.d[:rows], laws.slot)


@kernel
def _place(m, q, u, h, here):
    """Write the pose of a stage: q, moved by u + h rate."""
    for j in range(u.size):
        here.place[j] = u[j] + h * here.rate[j]
    advance(m, q, here.place, here.q)


@kernel
def _solve_stage(m, start, h, here, laws, room):
    """
    Find accelerations a with which velocity v + h a and pose q, moved by u + h rate, have them.

    `start`: q, v and u. Begins with `a` and `rate` of the stage, and writes all of it; returns a
    status and the number of rows.
    """
    q, v, u = start
    rows, a, x = 0, here.a, here.x
    for _ in range(ITERATIONS):
        for j in range(v.size):
            x[j] = v[j] + h * a[j]
        _place(m, q, u, h, here)
        local_rate(m, here.q, x, here.place, here.rate)
        _place(m, q, u, h, here)
        placements(m, here.q)
        motion(m, x, at.zeros(m), 0.0)
        tree_laws(m, here.q, x, laws.K, laws.D)
        rows = stiff_rows(m, laws.L, laws.k, laws.d, laws.slot)
        status = _iteration(m, here, h, _first(laws, rows), room)
        if status != at.OK:
            return status, rows
        change, size = 0.0, 0.0
        for j in range(v.size):
            after = room.slope[v.size + j]
            change = max(change, h * abs(after - a[j]))
            size = max(size, abs(v[j] + h * after), h * abs(after))
            a[j] = after
            x[j] = v[j] + h * after
        if change <= SETTLED_STAGE * size or h * change <= STAGE_ROUNDING:
            return at.OK, rows
    return at.UNSOLVED, rows


@kernel
def _power(m, q, v):
    """Return what motors and forces from outside do."""
    placements(m, q)
    motion(m, v, at.zeros(m), 1.0)
    body_forces(m)
    applied_forces(m, q, v)
    return at.totals(m).power


@kernel
def _product(m, x, y):
    """Return x M y, after `placements`; M is that of the tree with its rotors."""
    result, z = 0.0, np.empty(x.size)
    for side in (1.0, -1.0):
        for j in range(x.size):
            z[j] = x[j] + side * y[j]
        motion(m, z, at.zeros(m), 0.0)
        energies(m)
        result += 0.5 * side * (at.totals(m).kinetic + rotor_energy(m, z))
    return result


@kernel
def _fast_loss(m, v_0, v, x, uneven, h, laws):
    """
    Return what dampers took of motion faster than the step, after `placements`.

    Forces times the way, by the weights of the stages, leave (v - v_0) M ((v_0 + v) / 2 - u') out
    of the change of kinetic energy: motion that began with v_0 and ends long before the step does.
    `uneven` of it is in the books, as dampers' power in the stages is more than that of the mean.
    The rest is damping's where h D is far above M + h^2 K along what differs; elsewhere it is an
    error of the method, and stays one in the books.
    """
    n = v.size
    change, apart, damping, stiffness = np.empty(n), np.empty(n), np.zeros(n), np.zeros(n)
    for j in range(n):
        mean = WEIGHTS[0] * x[0, j] + WEIGHTS[1] * x[1, j]
        change[j], apart[j] = v[j] - v_0[j], 0.5 * (v[j] + v_0[j]) - mean
    _add_both(laws, apart, h, damping, stiffness)
    slowed = dot(apart, damping, 0, n)
    if not slowed > 0.0:
        return 0.0
    others = _product(m, apart, apart) + dot(apart, stiffness, 0, n)
    return -(_product(m, change, apart) + uneven) / (1.0 + (others / slowed) ** 2)


@kernel
def _unevenness(laws, x, rates):
    """Return by how much dampers' power in the stages is more than that of their mean rates."""
    total = 0.0
    for j in range(laws.D.size):
        total += laws.D[j] * (x[0, j] - x[1, j]) ** 2
    for r in range(laws.d.size):
        total += laws.d[r] * (rates[0, laws.slot[r]] - rates[1, laws.slot[r]]) ** 2
    return WEIGHTS[0] * WEIGHTS[1] * total


@shared_kernel(HANDLE, VECTOR, VECTOR, NUMBER, VECTOR, TABLE)
def implicit_step(m, q, v, dt, books, work):
    """
    Advance q, v and the books by one step; `work` as in `rk4_step`. The room for forces on the
    coordinates has to be there: the stages put some into it.

    The books know the forces that were applied: those of the stages, with their velocities.
    """
    nq, nv, h, most = at.shape(m).nq, at.shape(m).nv, GAMMA * dt, most_rows(m)
    u, rate, room = work[0, :nv], work[1, :nv], Room(work[3], work[4])
    a, x, v_0, stage_q, place = (
        np.zeros(nv),
        np.empty((2, nv)),
        v.copy(),
        np.empty(nq),
        np.empty(nv),
    )
    K, D, rates, slot = np.empty(nv), np.empty(nv), np.zeros((2, most)), np.empty(most, np.int64)
    laws, rows = Laws(K, D, np.empty((most, nv)), np.empty(most), np.empty(most), slot), 0
    u[:] = 0.0
    local_rate(m, q, v, u, rate)
    for s in range(2):
        status, rows = _solve_stage(
            m, (q, v, u), h, Stage(a, x[s], rate, stage_q, place), laws, room
        )
        if status != at.OK:
            return status
        for r in range(rows):
            rates[s, slot[r]] = dot(laws.L[r], x[s], 0, nv)
        for j in range(nv):
            u[j] += WEIGHTS[s] * dt * rate[j]
            v[j] += WEIGHTS[s] * dt * a[j]
        books[0] += WEIGHTS[s] * dt * _power(m, stage_q, x[s])
        books[1] += WEIGHTS[s] * dt * room.slope[2 * nv + 1]
    there = _first(laws, rows)
    uneven = dt * _unevenness(there, x, rates)
    books[1] += _fast_loss(m, v_0, v, x, uneven, h, there)
    move(m, q, u, work)
    return at.OK
