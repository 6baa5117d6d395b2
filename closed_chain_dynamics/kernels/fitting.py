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
Poses and velocities that the loops allow and that fit named joints best, in least squares.

theta_O' = W theta_G'. A pose that is nearly right is met by Newton's method for loops and names
together; where that is not sure, loops are closed by the smallest motion after every step.
"""

from collections import namedtuple

import numpy as np

from . import records as at
from .compiling import kernel
from .coordinates import solve_constraints, write_W
from .kinematics import placements
from .linear_algebra import copy_to, inverse_root
from .loop_closing import CLOSED, CLOSING_STEPS, close_loops, closing_step, open_by
from .manifold import difference, integrate
from .sharing import HANDLE, NOTHING, TABLE, VECTOR, named, shared_kernel
from .tangent import compute_tangent

# theta_O' = W theta_G' + drift; columns of W R, freed of units, are orthonormal; theta_G' follows
# from named velocities by `gain`; `sigma` are the shares that these have in motions of length one;
# and room for closing loops
Fit = namedtuple('Fit', 'W drift R gain sigma work')
FIT, PLACES = named(Fit, TABLE, VECTOR, TABLE, TABLE, VECTOR, TABLE), HANDLE  # also whole numbers
STEPS = 10  # of Gauss-Newton; a fresh prediction needs one or two
CONVERGED = 1e-11  # square of the last step, of which the rest is [rad, or typical lengths]
SLOW = 1e-3  # a step that is still this long after all of them does not converge
WEAK = 0.01  # share that named joints have in a motion below which it is damped
UNSEEN = 1e-6  # share below which named joints tell nothing of a motion
SAME_RATE = 1e-9  # share of a velocity that is rounding
DIRECT_STEPS = 5  # of Newton's method for loops and names together
ARRIVED = 1e-9  # a step of it that is none any more [rad, or typical lengths]


@shared_kernel(HANDLE, PLACES, FIT, returns=NOTHING)
def compute_fit(m, places, fit):
    """
    Write the least-squares fit of theta_G' to velocities at some places: `gain` times these.

    Needs W. Motions in which they have a share below WEAK are damped.
    """
    dof, n, n_G = at.dofs(m), places.size, at.shape(m).mobility
    fit.gain[:, :] = 0.0
    fit.sigma[:] = 0.0
    if n_G == 0:
        return
    free = np.empty((dof.size, n_G))
    for j in range(dof.size):
        for g in range(n_G):
            free[j, g] = fit.W[j, g] / dof[j].scale
    # |H| is bounded by the choice of theta_G, so that squares do no harm
    root = inverse_root(free)
    for i in range(n_G):
        copy_to(fit.R[i], root[i])
    if n == 0:
        return
    named = np.empty((n, n_G))
    for i in range(n):
        for k in range(n_G):
            named[i, k] = 0.0
            for g in range(k + 1):
                named[i, k] += free[places[i], g] * root[g, k]
    # named = U sigma V^T: the smaller product has every sigma that is not zero
    if n < n_G:
        squares, U = np.linalg.eigh(np.dot(named, named.T))
        left = np.ascontiguousarray(U)
        right = np.dot(named.T, left)
    else:
        squares, V = np.linalg.eigh(np.dot(named.T, named))
        right = np.ascontiguousarray(V)
        left = np.dot(named, right)
    along = np.dot(root, right)
    for k in range(squares.size):
        sigma = np.sqrt(max(squares[k], 0.0))
        weak = WEAK * max(1.0 - (sigma / WEAK) ** 2, 0.0)
        factor = 1.0 / (sigma**2 + weak**2 + 1e-300)
        fit.sigma[n_G - squares.size + k] = sigma
        for i in range(n):
            f = factor * left[i, k] / dof[places[i]].scale
            for g in range(n_G):
                fit.gain[g, i] += f * along[g, k]


@kernel
def largest(m, v):
    """Return the largest entry of a step or velocity, free of units [rad, or lengths]."""
    dof, most = at.dofs(m), 0.0
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
    dof = at.dofs(m)
    if places.size != at.shape(m).mobility:
        return False
    for j in places:
        if dof[j].dependent:
            return False
    return True


@kernel
def close_keeping_theta_G(m, q, work):
    """Close the loops of q in place; return how far it moved, or -1 where Newton fails."""
    zero, away, moved = np.zeros(at.shape(m).nv), np.empty(at.shape(m).nv), q.copy()
    if close_loops(m, moved, zero, work) != at.OK:
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
    u, away, moved = np.empty(at.shape(m).nv), np.empty(at.shape(m).nv), np.empty(q.size)
    for attempt in range(CLOSING_STEPS):
        placements(m, q)
        solve_constraints(m, q, at.zeros(m), False)
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
    dof, W, n_G = at.dofs(m), fit.W, at.shape(m).mobility
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
def along(m, fit, places, wanted, out):
    """Write W gain wanted[places]: the motion that fits wanted velocities best."""
    out[:] = 0.0
    for g in range(at.shape(m).mobility):
        rate = 0.0
        for i in range(places.size):
            rate += fit.gain[g, i] * wanted[places[i]]
        for j in range(out.size):
            out[j] += fit.W[j, g] * rate


@kernel
def _fit_pose_carefully(m, q, target, places, jump, fit):
    """Move q along W until named joints fit the target best; return whether they do."""
    away, step, moved = np.empty(at.shape(m).nv), np.empty(at.shape(m).nv), np.empty(q.size)
    if not 0.0 <= _close_nearest(m, q, fit) <= jump:
        return False
    size = 0.0
    for _ in range(STEPS):
        if compute_tangent(m, q, at.zeros(m), fit.W, fit.drift) != at.OK:
            return False
        compute_fit(m, places, fit)
        difference(m, q, target, away)
        along(m, fit, places, away, step)
        size = largest(m, step)
        integrate(m, q, step, moved)
        copy_to(q, moved)
        if not 0.0 <= _close_nearest(m, q, fit) <= jump:
            return False
        if size * size < CONVERGED:  # what is left is of second order
            break
    return size < SLOW


@kernel
def _fit_pose_directly(m, q, target, places, fact, fit):
    """
    Meet loops and named joints in the same steps of Newton's method; return whether it came there.

    u closes the loops by the smallest motion; what it does not give of target - q at the named
    joints, W x makes up for. At the end the loops are solved at q.
    """
    nv = at.shape(m).nv
    u, away, step, moved = np.empty(nv), np.empty(nv), np.empty(nv), np.empty(q.size)
    for _ in range(DIRECT_STEPS):
        placements(m, q)
        solve_constraints(m, q, at.zeros(m), False)
        worst = open_by(m)
        closing_step(m, u)
        write_W(m, fit.W)
        compute_fit(m, places, fit)
        free = 0
        for g in range(at.shape(m).mobility):
            free += fit.sigma[g] <= UNSEEN
            if UNSEEN < fit.sigma[g] <= WEAK:
                return False
        if free > fact.usually_free:
            return False
        _project(m, fit, u, away)
        u -= away
        difference(m, q, target, away)
        away -= u
        along(m, fit, places, away, step)
        if worst <= CLOSED and largest(m, step) <= ARRIVED:
            return True
        step += u
        if not largest(m, step) <= fact.jump:
            return False
        integrate(m, q, step, moved)
        copy_to(q, moved)
    return False


@kernel
def fit_pose(m, ahead, target, places, fact, fit, q):
    """Write the pose near `ahead` whose named joints fit the target best; return if there is."""
    copy_to(q, ahead)
    if _fit_pose_directly(m, q, target, places, fact, fit):
        return True
    copy_to(q, ahead)
    return _fit_pose_carefully(m, q, target, places, fact.jump, fit)


@kernel
def velocity_of_theta_G(m, W, wanted, v):
    """Write v = W theta_G', theta_G' from a vector over all velocities."""
    dof, g = at.dofs(m), 0
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
    solve_constraints(m, q, at.zeros(m), False)
    fit_velocity(m, at.zeros(m), wanted, places, fit, facts[0], v)


@kernel
def fit_velocity(m, before, wanted, places, fit, fact, v):
    """
    Write the velocity that the loops allow and that fits the wanted rates at some places best.

    After `solve_constraints`. Motions that named joints usually fix, and do not fix here, go on as
    before. Returns whether `fit.gain` was needed, and is that of this pose.
    """
    nv = at.shape(m).nv
    write_W(m, fit.W)
    if places.size == nv or is_theta_G(m, places):
        velocity_of_theta_G(m, fit.W, wanted, v)
        misfit = speed = 0.0
        for j in places:
            misfit, speed = max(misfit, abs(v[j] - wanted[j])), max(speed, abs(v[j]))
        fact.rate_misfit, fact.free = misfit, 0
        if misfit <= SAME_RATE * max(speed, 1.0):
            return False
    compute_fit(m, places, fit)
    fact.free = 0
    for g in range(at.shape(m).mobility):
        fact.free += fit.sigma[g] <= WEAK
    v[:] = 0.0
    if fact.free > fact.usually_free:
        _project(m, fit, before, v)
    rest, more = np.zeros(nv), np.empty(nv)
    for j in places:
        rest[j] = wanted[j] - v[j]
    along(m, fit, places, rest, more)
    v += more
    fact.rate_misfit = 0.0
    for j in places:
        fact.rate_misfit = max(fact.rate_misfit, abs(v[j] - wanted[j]))
    return True
