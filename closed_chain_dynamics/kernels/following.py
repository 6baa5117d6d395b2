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
follows where they are theta_G; else theta_G moves along W until they fit best (fitting.py).
Velocities and accelerations fit named ones in the same way.
"""

from collections import namedtuple

from numba import from_dtype, types
import numpy as np

from . import records as at
from .acting_forces import bias_acceleration
from .compiling import kernel
from .constraint_rows import check_closed
from .coordinates import solve_constraints, write_W
from .fitting import (
    FIT,
    PLACES,
    SAME_RATE,
    along,
    close_keeping_theta_G,
    compute_fit,
    distance,
    fit_pose,
    fit_velocity,
    is_theta_G,
    largest,
    velocity_of_theta_G,
)
from .kinematics import check_state, motion, placements
from .linear_algebra import copy_to
from .loop_closing import CLOSED, follow_theta_G, open_by
from .manifold import difference, integrate
from .sharing import HANDLE, VECTOR, named, shared_kernel

# positions, rates and accelerations (none: not asked for) that are given; places in q and in v
Named = namedtuple('Named', 'position rates accelerations q_places places')
# the pose foreseen, and what is found
Found = namedtuple('Found', 'ahead q v a')
# Given: time since the last state, distance that counts as lost, and how many motions named joints
# usually leave free. Found: distance to the foreseen pose, largest misfit of positions and its
# place, largest misfit of rates, largest change of speed of unnamed and of named velocities, speed
# before, motions left free; whether the loops are solved at the state found, drift included
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
        ('is_solved', np.int64),
    ]
)
# what happened: done; bad numbers (the status of the kernels); too far; a harder way is needed
FOLLOWED, BAD, FAR, HARD = range(4)
NEARLY_CLOSED = 1e-7  # a complete pose that moves less when it is closed needs no fit


@shared_kernel(
    HANDLE,
    VECTOR,
    VECTOR,
    named(Named, VECTOR, VECTOR, VECTOR, PLACES, PLACES),
    FIT,
    types.Array(from_dtype(FACTS), 1, 'C'),
    named(Found, VECTOR, VECTOR, VECTOR, VECTOR),
    same_types=True,
)
def compute_follow(m, q, v, named, fit, facts, found):
    """
    Write the pose and velocity that named positions and rates lead to; return what happened.

    `facts`: FACTS, one record. Rates that are nan go on as before, or follow from the positions
    where all are. `found.a` is written where accelerations are named.
    """
    fact, places, nv = facts[0], named.places, at.shape(m).nv
    away, target = np.empty(nv), np.empty(q.size)
    for j in range(nv):
        away[j] = fact.dt * v[j]
    integrate(m, q, away, found.ahead)
    copy_to(target, found.ahead)
    for i in range(named.q_places.size):
        target[named.q_places[i]] = named.position[i]
    if check_state(m, target, v, v) != at.OK:
        return BAD
    if not distance(m, found.ahead, target, away) <= fact.jump:
        return FAR
    fact.is_solved = places.size == nv and _is_given(m, target, named, fact, found)
    if fact.is_solved:
        fact.distance, fact.misfit, fact.worst, fact.free = largest(m, away), 0.0, 0, 0
        _note_changes(m, v, found.v, places, fact)
        if named.accelerations.size:
            _accelerate(m, named, False, fit, facts, found)
        return FOLLOWED
    copy_to(found.q, target)
    quick = is_theta_G(m, places)
    if quick or places.size == nv:
        far = close_keeping_theta_G(m, found.q, fit.work)
        quick = 0.0 <= far <= (fact.jump if quick else NEARLY_CLOSED)
    if not quick and not fit_pose(m, found.ahead, target, places, fact, fit, found.q):
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
    # closing has solved the loops
    is_fitted = fit_velocity(m, v, wanted, places, fit, fact, found.v)
    _note_changes(m, v, found.v, places, fact)
    if named.accelerations.size:
        _accelerate(m, named, is_fitted, fit, facts, found)
    return FOLLOWED


@kernel
def _is_given(m, target, named, fact, found):
    """
    Return whether a state is complete as it was given: loops closed, rates in accord with them.

    Then it is the one found, and the loops are solved for whatever comes next.
    """
    for i in range(named.places.size):
        found.v[named.places[i]] = named.rates[i]
    if check_state(m, target, found.v, found.v) != at.OK:
        return False  # some rates are not known
    placements(m, target)
    motion(m, found.v, at.zeros(m), 0.0)
    solve_constraints(m, target, found.v, True)
    if not open_by(m) <= CLOSED or check_closed(m) != at.OK:
        return False
    allowed, misfit = found.v.copy(), 0.0
    follow_theta_G(m, allowed)
    for j in range(allowed.size):
        misfit = max(misfit, abs(allowed[j] - found.v[j]))
    copy_to(found.q, target)
    copy_to(found.v, allowed)
    fact.rate_misfit = misfit
    return misfit <= SAME_RATE


@kernel
def solve_with_drift(m, facts, found):
    """Solve the loops at the state found, with the drift W' theta_G' that needs its velocity."""
    if not facts[0].is_solved:
        motion(m, found.v, at.zeros(m), 0.0)
        solve_constraints(m, found.q, found.v, True)
        facts[0].is_solved = True


@kernel
def _accelerate(m, named, is_fitted, fit, facts, found):
    """Write the acceleration that the loops allow and that fits the named ones, at the state."""
    places, h, wanted = named.places, at.drift(m), np.zeros(at.shape(m).nv)
    solve_with_drift(m, facts, found)
    bias_acceleration(m)
    for i in range(places.size):
        wanted[places[i]] = named.accelerations[i]
    write_W(m, fit.W)
    if is_theta_G(m, places):
        velocity_of_theta_G(m, fit.W, wanted, found.a)
    else:
        if not is_fitted:
            compute_fit(m, places, fit)
        for j in places:
            wanted[j] -= h[j]
        along(m, fit, places, wanted, found.a)
    for j in range(h.size):
        found.a[j] += h[j]


@kernel
def _note_misfit(m, q, target, places, fact):
    """Note by how much named positions are off, free of units, and which one is most."""
    dof, away = at.dofs(m), np.empty(at.shape(m).nv)
    difference(m, q, target, away)
    fact.misfit, fact.worst = 0.0, 0
    for i in range(places.size):
        off = abs(away[places[i]]) / dof[places[i]].scale
        if off > fact.misfit:
            fact.misfit, fact.worst = off, i


@kernel
def _note_changes(m, before, after, places, fact):
    """Note how velocities change, named ones and others, free of units."""
    dof, change = at.dofs(m), after - before
    fact.speed, fact.named_change = largest(m, before), 0.0
    for j in places:
        fact.named_change = max(fact.named_change, abs(change[j]) / dof[j].scale)
        change[j] = 0.0
    fact.unnamed_change = largest(m, change)
