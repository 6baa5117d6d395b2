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
A run of a simulation: steps, finer where they have to be, events at their instants, the log.

RK4 takes a step in halves, quarters and so on where the books say that it has to. Energy less the
work put in, plus what was dissipated, is the one thing that every step should leave as it is,
loops, springs and friction included: what a step changes of it measures its error, at the price
of one look at the energies.
"""

import numpy as np

from . import records as at
from .aiming import aim, aim_slow, forget_slow
from .compiling import kernel, kernel_without_patience
from .contact import contact_signs, note_directions
from .forward import forward_dynamics
from .holds import hold_signs, note_turns
from .implicit import implicit_step
from .inertia import energies, rotor_energy
from .kinematics import motion, placements
from .linear_algebra import copy_to
from .loop_frames import place_loop
from .loops import active_loop_rows
from .passive import passive_energy
from .step import close_loops, euler_step, rk4_step
from .surfaces import surface_normal
from .vectors import norm

# What a run is asked for: time is `start` + dt times the number of steps since then, of which
# `first` are taken before; every `stride`-th step is logged, `counted` of which are taken before.
# So one run and many short ones have the same times and log the same states. What it answers:
# steps taken, time reached, states logged, and the largest share of the energy that a step gained
# or lost because smaller parts did not help.
RUN = np.dtype(
    [
        ('start', np.float64),
        ('first', np.int64),
        ('dt', np.float64),
        ('steps', np.int64),
        ('method', np.int64),
        ('tolerance', np.float64),
        ('stride', np.int64),
        ('counted', np.int64),
        ('taken', np.int64),
        ('time', np.float64),
        ('logged', np.int64),
        ('rough', np.float64),
    ]
)
EULER, RK4, IMPLICIT = range(3)  # run.method
LOG_ROW = 6  # time, kinetic, potential, work put in, dissipated, loop error; then q and v
FINEST = 16384  # parts that a step is taken in, at most
IMPLICIT_PARTS = 64  # the same of an implicit one, where its equations are not solved at once
PAYS = 0.25  # a part of half the size has less than this share of the error
EASILY = 128.0  # a part whose error is smaller by this is followed by one twice as large
TRACE = 1e-6  # share of the energy that the finest parts may gain or lose in a step
ROUNDING = 1e-15  # of the energies, several numbers of which are added
EVENT_TIME = 1e-13  # events are found to this time [s]


@kernel
def _energies(m, q, v):
    """Return kinetic energy, that of gravity, and what springs and limits store."""
    placements(m, q)
    motion(m, v, at.zeros(m), 0.0)
    energies(m)
    kinetic = at.totals(m).kinetic + rotor_energy(m, v)
    return kinetic, at.totals(m).potential, passive_energy(m, q)


@kernel
def record(m, q, v, t, books, row):
    """Write time, energies, books and loop error of a state to a row of the log."""
    kinetic, gravity, stored = _energies(m, q, v)
    active_loop_rows(m, False)
    worst = 0.0
    for loop in at.loops(m):
        if loop.active:
            for own in at.rows(m)[loop.row : loop.row + loop.n_rows]:
                worst = max(worst, abs(own.error))
    row[0], row[1], row[2] = t, kinetic, gravity + stored
    row[3], row[4], row[5] = books[0], books[1], worst


@kernel
def _lift(m):
    """Return the energy that lifts all masses by the characteristic length."""
    mass = 0.0
    for body in at.bodies(m)[1:]:
        mass += body.mass
    return mass * norm(at.world(m).gravity) * at.world(m).length


@kernel
def _keep(q, v, books, kept):
    """Note a state and its books, to go back to."""
    copy_to(kept, q)
    copy_to(kept[q.size :], v)
    copy_to(kept[q.size + v.size :], books)


@kernel
def _go_back(kept, q, v, books):
    """Go back to a state and its books."""
    copy_to(q, kept[: q.size])
    copy_to(v, kept[q.size : q.size + v.size])
    copy_to(books, kept[q.size + v.size :])


@kernel
def _take_part(m, q, v, dt, method, books, work):
    """Take one step and close the loops; return a status."""
    if method == EULER:
        status = euler_step(m, q, v, dt, books, work)
    elif method == IMPLICIT:
        status = implicit_step(m, q, v, dt, books, work)
    else:
        status = rk4_step(m, q, v, dt, books, work)
    if status == at.OK:
        status = close_loops(m, q, v, work)
    if status == at.OK:
        total = 0.0
        for j in range(v.size):
            total += 0.0 * v[j]
        status = at.OK if total == 0.0 else at.NOT_FINITE
    return status


@kernel
def _take_implicit(m, q, v, dt, run, books, work):
    """
    Take one implicit step and close the loops; return a status.

    Where its equations have no solution that is found, it is taken in halves, quarters and so on.
    What swings faster than the step is not followed, and its energy is gone: what the books do not
    know of is told as `rough`.
    """
    kept, left, part = np.empty(q.size + v.size + books.size), IMPLICIT_PARTS, IMPLICIT_PARTS
    kinetic, gravity, stored = _energies(m, q, v)
    before = kinetic + gravity + stored + books[1] - books[0]
    most = max(kinetic + abs(stored) + _lift(m), 1e-300)
    while left > 0:
        _keep(q, v, books, kept)
        status = _take_part(m, q, v, part / IMPLICIT_PARTS * dt, IMPLICIT, books, work)
        if status == at.OK:
            left -= part
        elif status == at.LOCKED or part == 1:
            return status
        else:
            _go_back(kept, q, v, books)
            part //= 2
    kinetic, gravity, stored = _energies(m, q, v)
    error = abs(kinetic + gravity + stored + books[1] - books[0] - before)
    run.rough = max(run.rough, error / max(most, kinetic + abs(stored)))
    return at.OK


@kernel
def _take_step(m, q, v, dt, run, books, work):
    """
    Take one step and close the loops, by RK4 in parts where it has to be; return a status.

    A part that leaves the loops open, or the books by more than its share of the tolerance times
    the energy, is halved: the state is set back, and the rest of the step goes on with the half,
    and with twice as much again where that is fine by far. Below a 64th of the step that goes on
    only while it pays: at a pose that is nearly singular it does not, and what is left over is
    told as `rough`. What is more than a trace where it would still pay is too stiff for the step.
    An infinite tolerance takes all steps as they are. The energy is all that moves or is stored,
    and what lifts the mechanism by its own length: so a mechanism at rest has some, too.
    """
    if run.method == IMPLICIT:
        return _take_implicit(m, q, v, dt, run, books, work)
    if run.method == EULER or run.tolerance == np.inf:
        return _take_part(m, q, v, dt, run.method, books, work)
    kept = np.empty(q.size + v.size + books.size)
    kinetic, gravity, stored = _energies(m, q, v)
    before, lift, rough = kinetic + gravity + stored + books[1] - books[0], _lift(m), 0.0
    most = kinetic + abs(stored) + lift  # what damping takes in the step is still of this size
    left = part = FINEST
    coarser, floor = np.inf, 1  # the error of the part twice as large; where halving ceased to pay
    while left > 0:
        _keep(q, v, books, kept)
        status = _take_part(m, q, v, part / FINEST * dt, run.method, books, work)
        if status == at.LOCKED:
            return status
        error, after, energy = np.inf, 0.0, most
        share = part / FINEST * run.tolerance
        if status == at.OK:
            kinetic, gravity, stored = _energies(m, q, v)
            after = kinetic + gravity + stored + books[1] - books[0]
            energy = max(kinetic + abs(stored) + lift, most)
            noise = ROUNDING * (energy + abs(gravity) + abs(books[0]) + abs(books[1]))
            error = max(abs(after - before) - noise, 0.0)
            error = error if error < np.inf else np.inf  # not a number is too much, too
        pays = error < PAYS * coarser or coarser == np.inf
        if error <= share * energy:
            left, before, coarser = left - part, after, np.inf
            if error * EASILY <= share * energy and left % (2 * part) == 0:
                part = min(2 * part, FINEST)
        elif part > max(FINEST // 64, floor) or (part > floor and pays):
            _go_back(kept, q, v, books)
            part, coarser = part // 2, error
        elif status != at.OK:
            return status
        else:
            rough += error
            if part == 1 and pays and not rough <= TRACE * energy:
                return at.TOO_STIFF
            left, before, coarser, floor = left - part, after, np.inf, part
            run.rough = max(run.rough, rough / energy)
    return at.OK


@kernel
def _happened(m, q, v, work, signs):
    """
    Return a status, and whether any contact tells of an event in this state.

    Friction is against the motion of the state, not as aimed for the step: what an event leads to
    is decided so, too. Else one that sticks might slip again and again, and hold each time.
    """
    status, loop = at.OK, at.loops(m)
    if at.shape(m).n_contacts or at.shape(m).n_holds:
        slow = np.empty(loop.size)
        for k in range(loop.size):
            slow[k], loop[k].slow = loop[k].slow, 0.0
        status = forward_dynamics(m, q, v, work[3, : v.size])
        for k in range(loop.size):
            loop[k].slow = slow[k]
    elif _watched_in_space(m):
        placements(m, q)
        motion(m, v, at.zeros(m), 0.0)
    signs[:, :] = 1.0
    if _watches_contacts(m):
        contact_signs(m, signs)
    hold_signs(m, q, v, signs)
    return status, np.min(signs) < 0.0


@kernel
def compute_loop_placement(m, q, v, k):
    """Compute where a contact is, its normal, and how all bodies move."""
    placements(m, q)
    motion(m, v, at.zeros(m), 0.0)
    surface_normal(at.loops(m)[k], place_loop(m, k))


@kernel
def compute_aim(m, q, v, work):
    """Turn the drags of contacts that begin to slide against the motion; return a status."""
    return aim(m, q, v, 0.0, work[3, : v.size])


@kernel
def compute_signs(m, q, v, work, signs):
    """Write the signs of all contacts and joints in a state, (loops + holds, 2); a status."""
    if signs.shape[0] < at.loops(m).size + at.holds(m).size:
        return at.WRONG_SIZE
    return _happened(m, q, v, work, signs)[0]


@kernel
def _find_event(m, q, v, run, books, work, signs):
    """
    Go to the instant of an event within the next step, found by halving it.

    Returns a status, EVENT or why there is no going on (then the state is the last one that there
    is), and the share of the step that was taken.
    """
    kept, early, late = np.empty(q.size + v.size + books.size), 0.0, 1.0
    _keep(q, v, books, kept)
    while (late - early) * run.dt > EVENT_TIME:
        middle = 0.5 * (early + late)
        status, event = _take_step(m, q, v, middle * run.dt, run, books, work), False
        if status == at.OK:
            status, event = _happened(m, q, v, work, signs)
        _go_back(kept, q, v, books)
        if event or status != at.OK:
            late = middle
        else:
            early = middle
    status = _take_step(m, q, v, late * run.dt, run, books, work)
    if status == at.OK:
        status = _happened(m, q, v, work, signs)[0]
    if status == at.OK:
        return at.EVENT, late
    _go_back(kept, q, v, books)  # friction locks: up to there
    if early > 0.0:
        _take_step(m, q, v, early * run.dt, run, books, work)
    return status, early


@kernel
def _watches_contacts(m):
    """Return whether a contact may have an event."""
    for loop in at.loops(m):
        if loop.mode == at.SLIDE or loop.mode == at.STICK:
            return True
    return False


@kernel
def _watched_in_space(m):
    """Return whether a contact, or a joint that closes a loop, may have an event."""
    if _watches_contacts(m):
        return True
    for hold in at.holds(m):
        if hold.loop >= 0:
            return True
    return False


@kernel
def _rough(m):
    """Return whether any contact slides with friction."""
    for loop in at.loops(m):
        if loop.active and loop.mode == at.SLIDE and loop.mu > 0.0:
            return True
    return False


@kernel_without_patience
def compute_run(m, q, v, task, books, work, log, signs):
    """Take steps and log states, as `task` asks for (RUN, one record); return a status."""
    status = _run(m, q, v, task, books, work, log, signs)
    forget_slow(m)
    return status


@kernel
def _run(m, q, v, task, books, work, log, signs):
    """
    Take steps and log states; return a status.

    The log is (samples, 6 + nq + nv). A step that fails leaves the state as it was before it. At
    an event of a contact the run ends with EVENT, in the state at its instant; `signs` tell which
    it is.
    """
    run, watch, rough = task[0], at.holds(m).size > 0 or _watched_in_space(m), _rough(m)
    kept = np.empty(q.size + v.size + books.size)
    run.logged = 0
    for step in range(run.steps):
        run.taken, run.time = step, run.start + (run.first + step) * run.dt
        _keep(q, v, books, kept)
        if rough:
            aim_slow(m, q, v, run.dt, work[3, : v.size])
        status, event = _take_step(m, q, v, run.dt, run, books, work), False
        if status == at.OK and watch:
            status, event = _happened(m, q, v, work, signs)
        if event or status != at.OK:
            _go_back(kept, q, v, books)
            if event or status == at.LOCKED:
                status, share = _find_event(m, q, v, run, books, work, signs)
                run.time += share * run.dt
            return status
        if watch:
            note_directions(m)
            note_turns(m)
        run.taken, run.time = step + 1, run.start + (run.first + step + 1) * run.dt
        if run.stride > 0 and (run.counted + step + 1) % run.stride == 0:
            row = log[run.logged]
            record(m, q, v, run.time, books, row)
            copy_to(row[LOG_ROW:], q)
            copy_to(row[LOG_ROW + q.size :], v)
            run.logged += 1
    return at.OK
