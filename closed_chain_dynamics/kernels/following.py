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
Following named joints: one instant of a state that is kept complete (see control/loop_state.py).

The pose is foreseen by the last velocity, the named joints are put where they are, and theta_S
follows where they are theta_G; else theta_G moves along W until they fit best. Velocities fit
named rates in the same way.
"""

from collections import namedtuple

import numpy as np

from .compiling import kernel
from .coordinates import solve_constraints, write_W
from .kinematics import check_state, placements
from .linear_algebra import copy_to
from .manifold import difference, integrate
from .records import OK, dofs, shape, zeros
from .step import CLOSED, CLOSING_STEPS, close_loops, closing_step, open_by
from .tangent import compute_tangent

# positions and rates that are given, and their places in q and in v
Named = namedtuple('Named', 'position rates q_places places')
# theta_O' = W theta_G' + drift; columns of W R, freed of units, are orthonormal; theta_G' follows
# from named velocities by `gain`; `sigma` are the shares that these have in motions of length one;
# and room for closing loops
Fit = namedtuple('Fit', 'W drift R gain sigma work')
# the pose foreseen, and what is found
Found = namedtuple('Found', 'ahead q v')
# Given: time since the last state, distance that counts as lost, and how many motions named joints
# usually leave free. Found: distance to the foreseen pose, largest misfit of positions and its
# place, largest misfit of rates, largest change of speed of unnamed and of named velocities, speed
# before, motions left free
FACTS = np.dtype(
    [
        ('dt', np.float64),
        ('jump', np.float64),
        ('usually_free', np.int64),
        ('distance', np.float64),
        ('misfit', np.float64),
        ('worst', np.int64),
        ('rate_misfit', np.float64),
        ('unnamed_change', np.float64),
        ('named_change', np.float64),
        ('speed', np.float64),
        ('free', np.int64),
    ]
)
# what happened: done; bad numbers (the status of the kernels); too far; a harder way is needed
FOLLOWED, BAD, FAR, HARD = range(4)
STEPS = 10  # of Gauss-Newton; a fresh prediction needs one or two
CONVERGED = 1e-11  # square of the last step, of which the rest is [rad, or typical lengths]
SLOW = 1e-3  # a step that is still this long after all of them does not converge
WEAK = 0.01  # share that named joints have in a motion below which it is damped
NEARLY_CLOSED = 1e-7  # a complete pose that moves less when it is closed needs no fit
SAME_RATE = 1e-9  # share of a velocity that is rounding


@kernel
def compute_fit(m, places, fit):
    """
    Write the least-squares fit of theta_G' to velocities at some places: `gain` times these.

    Needs W. Motions in which they have a share below WEAK are damped.
    """
    dof, n, n_G = dofs(m), places.size, shape(m).mobility
    fit.gain[:, :] = 0.0
    fit.sigma[:] = 0.0
    if n_G == 0:
        return
    free = np.empty((dof.size, n_G))
    for j in range(dof.size):
        for g in range(n_G):
            free[j, g] = fit.W[j, g] / dof[j].scale
    # |H| is bounded by the choice of theta_G, so that squares do no harm
    inverse = np.linalg.inv(np.linalg.cholesky(np.dot(free.T, free)))
    for i in range(n_G):
        for k in range(n_G):
            fit.R[i, k] = inverse[k, i]
    if n == 0:
        return
    named = np.empty((n, n_G))
    for i in range(n):
        for k in range(n_G):
            named[i, k] = 0.0
            for g in range(n_G):
                named[i, k] += free[places[i], g] * inverse[k, g]
    squares, V = np.linalg.eigh(np.dot(named.T, named))
    for k in range(n_G):
        sigma = np.sqrt(max(squares[k], 0.0))
        weak = WEAK * max(1.0 - (sigma / WEAK) ** 2, 0.0)
        factor = 1.0 / (sigma**2 + weak**2 + 1e-300)
        along = np.dot(inverse.T, np.ascontiguousarray(V[:, k]))
        seen = np.dot(named, np.ascontiguousarray(V[:, k]))
        fit.sigma[k] = sigma
        for i in range(n):
            f = factor * seen[i] / dof[places[i]].scale
            for g in range(n_G):
                fit.gain[g, i] += f * along[g]


@kernel
def largest(m, v):
    """Return the largest entry of a step or velocity, free of units [rad, or lengths]."""
    dof, most = dofs(m), 0.0
    for j in range(dof.size):
        most = max(most, abs(v[j]) / dof[j].scale)
    return most


@kernel
def distance(m, q_from, q_to, away):
    """Return the largest difference of two poses [rad, or typical lengths]; write the step."""
    difference(m, q_from, q_to, away)
    return largest(m, away)


@kernel
def is_theta_G(m, places):
    """Return whether named velocities are the generalized ones, no more and no less."""
    dof = dofs(m)
    if places.size != shape(m).mobility:
        return False
    for j in places:
        if dof[j].dependent:
            return False
    return True


@kernel
def _close(m, q, work):
    """Close the loops of q in place; return how far it moved, or -1 where Newton fails."""
    zero, away, moved = np.zeros(shape(m).nv), np.empty(shape(m).nv), q.copy()
    if close_loops(m, moved, zero, work) != OK:
        return -1.0
    far = distance(m, q, moved, away)
    copy_to(q, moved)
    return far


@kernel
def _close_nearest(m, q, fit):
    """
    Close the loops of q in place by the smallest motion; return how far it moved, -1 for failure.

    Newton's step in theta_S, without its part along the motions that the loops allow: so theta_G
    need not stay, where it cannot, with bars in line.
    """
    nobody, start = np.empty(0, np.int64), q.copy()
    u, away, moved = np.empty(shape(m).nv), np.empty(shape(m).nv), np.empty(q.size)
    for attempt in range(CLOSING_STEPS):
        placements(m, q)
        solve_constraints(m, q, zeros(m), False)
        worst = open_by(m)
        if worst <= CLOSED or (attempt == CLOSING_STEPS - 1 and worst <= 1e2 * CLOSED):
            return distance(m, start, q, away)
        closing_step(m, u)
        write_W(m, fit.W)
        compute_fit(m, nobody, fit)
        _project(m, fit, u, away)
        u -= away
        integrate(m, q, u, moved)
        copy_to(q, moved)
    return -1.0


@kernel
def _project(m, fit, v, out):
    """Write the velocity nearest to v that the loops allow."""
    dof, W, n_G = dofs(m), fit.W, shape(m).mobility
    column = np.empty(dof.size)
    out[:] = 0.0
    for g in range(n_G):
        along = 0.0
        for j in range(dof.size):
            column[j] = 0.0
            for k in range(n_G):
                column[j] += W[j, k] * fit.R[k, g]
            along += column[j] * v[j] / dof[j].scale ** 2
        for j in range(dof.size):
            out[j] += column[j] * along


@kernel
def _along(m, fit, places, wanted, out):
    """Write W gain wanted[places]: the motion that fits wanted velocities best."""
    out[:] = 0.0
    for g in range(shape(m).mobility):
        rate = 0.0
        for i in range(places.size):
            rate += fit.gain[g, i] * wanted[places[i]]
        for j in range(out.size):
            out[j] += fit.W[j, g] * rate


@kernel
def _fit_pose(m, q, target, places, jump, fit):
    """Move q along W until named joints fit the target best; return FOLLOWED or HARD."""
    away, step, moved = np.empty(shape(m).nv), np.empty(shape(m).nv), np.empty(q.size)
    if not 0.0 <= _close_nearest(m, q, fit) <= jump:
        return HARD
    size = 0.0
    for _ in range(STEPS):
        if compute_tangent(m, q, zeros(m), fit.W, fit.drift) != OK:
            return HARD
        compute_fit(m, places, fit)
        difference(m, q, target, away)
        _along(m, fit, places, away, step)
        size = largest(m, step)
        integrate(m, q, step, moved)
        copy_to(q, moved)
        if not 0.0 <= _close_nearest(m, q, fit) <= jump:
            return HARD
        if size * size < CONVERGED:  # what is left is of second order
            break
    return FOLLOWED if size < SLOW else HARD


@kernel
def velocity_of_theta_G(m, W, wanted, v):
    """Write v = W theta_G', theta_G' from a vector over all velocities."""
    dof, g = dofs(m), 0
    v[:] = 0.0
    for k in range(dof.size):
        if not dof[k].dependent:
            for j in range(dof.size):
                v[j] += W[j, g] * wanted[k]
            g += 1


@kernel
def compute_velocity(m, q, wanted, places, fit, facts, v):
    """Write the velocity in a closed pose that fits the wanted rates at some places best."""
    placements(m, q)
    solve_constraints(m, q, zeros(m), False)
    _fit_velocity(m, zeros(m), wanted, places, fit, facts[0], v)


@kernel
def _fit_velocity(m, before, wanted, places, fit, fact, v):
    """
    Write the velocity that the loops allow and that fits the wanted rates at some places best.

    After `solve_constraints`. Motions that named joints usually fix, and do not fix here, go on as
    before.
    """
    nv = shape(m).nv
    write_W(m, fit.W)
    if places.size == nv or is_theta_G(m, places):
        velocity_of_theta_G(m, fit.W, wanted, v)
        misfit = speed = 0.0
        for j in places:
            misfit, speed = max(misfit, abs(v[j] - wanted[j])), max(speed, abs(v[j]))
        fact.rate_misfit, fact.free = misfit, 0
        if misfit <= SAME_RATE * max(speed, 1.0):
            return
    compute_fit(m, places, fit)
    fact.free = 0
    for g in range(shape(m).mobility):
        fact.free += fit.sigma[g] <= WEAK
    v[:] = 0.0
    if fact.free > fact.usually_free:
        _project(m, fit, before, v)
    rest, more = np.zeros(nv), np.empty(nv)
    for j in places:
        rest[j] = wanted[j] - v[j]
    _along(m, fit, places, rest, more)
    v += more
    fact.rate_misfit = 0.0
    for j in places:
        fact.rate_misfit = max(fact.rate_misfit, abs(v[j] - wanted[j]))


@kernel
def compute_follow(m, q, v, named, fit, facts, found):
    """
    Write the pose and velocity that named positions and rates lead to; return what happened.

    `facts`: FACTS, one record. Rates that are nan go on as before, or follow from the positions
    where all are.
    """
    fact, places, nv = facts[0], named.places, shape(m).nv
    away, target = np.empty(nv), np.empty(q.size)
    for j in range(nv):
        away[j] = fact.dt * v[j]
    integrate(m, q, away, found.ahead)
    copy_to(target, found.ahead)
    for i in range(named.q_places.size):
        target[named.q_places[i]] = named.position[i]
    if check_state(m, target, v, v) != OK:
        return BAD
    if not distance(m, found.ahead, target, away) <= fact.jump:
        return FAR
    copy_to(found.q, target)
    quick = is_theta_G(m, places)
    if quick or places.size == nv:
        far = _close(m, found.q, fit.work)
        quick = 0.0 <= far <= (fact.jump if quick else NEARLY_CLOSED)
    if not quick:
        copy_to(found.q, found.ahead)
        if _fit_pose(m, found.q, target, places, fact.jump, fit) != FOLLOWED:
            return HARD
    fact.distance = distance(m, found.ahead, found.q, away)
    _note_misfit(m, found.q, target, places, fact)
    wanted = np.zeros(nv)
    difference(m, q, found.q, away)
    unknown = np.isnan(named.rates).sum() == places.size
    for i in range(places.size):
        j = places[i]
        if unknown and fact.dt > 0.0:
            wanted[j] = away[j] / fact.dt
        else:
            wanted[j] = v[j] if np.isnan(named.rates[i]) else named.rates[i]
    _fit_velocity(m, v, wanted, places, fit, fact, found.v)  # closing has solved the loops
    _note_changes(m, v, found.v, places, fact)
    return FOLLOWED


@kernel
def _note_misfit(m, q, target, places, fact):
    """Note by how much named positions are off, free of units, and which one is most."""
    dof, away = dofs(m), np.empty(shape(m).nv)
    difference(m, q, target, away)
    fact.misfit, fact.worst = 0.0, 0
    for i in range(places.size):
        off = abs(away[places[i]]) / dof[places[i]].scale
        if off > fact.misfit:
            fact.misfit, fact.worst = off, i


@kernel
def _note_changes(m, before, after, places, fact):
    """Note how velocities change, named ones and others, free of units."""
    dof, change = dofs(m), after - before
    fact.speed, fact.named_change = largest(m, before), 0.0
    for j in places:
        fact.named_change = max(fact.named_change, abs(change[j]) / dof[j].scale)
        change[j] = 0.0
    fact.unnamed_change = largest(m, change)
