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

"""A run of a simulation: steps, events at their instants, and the log."""

import numpy as np

from . import records as at
from .aiming import aim, aim_slow, forget_slow
from .compiling import kernel, kernel_without_patience
from .contact_events import contact_signs, note_directions
from .fine_steps import go_back, keep_state, step_energies, take_step
from .forward import forward_dynamics
from .holds import hold_signs, note_turns
from .kinematics import motion, placements
from .linear_algebra import copy_to
from .loop_frames import place_loop
from .loops import active_loop_rows
from .surfaces import surface_normal

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
LOG_ROW = 6  # time, kinetic, potential, work put in, dissipated, loop error; then q and v
EVENT_TIME = 1e-13  # events are found to this time [s]


@kernel
def record(m, q, v, t, books, row):
    """Write time, energies, books and loop error of a state to a row of the log."""
    kinetic, gravity, stored = step_energies(m, q, v)
    active_loop_rows(m, False)
    worst = 0.0
    for loop in at.loops(m):
        if loop.active:
            for own in at.rows(m)[loop.row : loop.row + loop.n_rows]:
                worst = max(worst, abs(own.error))
    row[0], row[1], row[2] = t, kinetic, gravity + stored
    row[3], row[4], row[5] = books[0], books[1], worst


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
    keep_state(q, v, books, kept)
    while (late - early) * run.dt > EVENT_TIME:
        middle = 0.5 * (early + late)
        status, event = take_step(m, q, v, middle * run.dt, run, books, work, False), False
        if status == at.OK:
            status, event = _happened(m, q, v, work, signs)
        go_back(kept, q, v, books)
        if event or status != at.OK:
            late = middle
        else:
            early = middle
    status = take_step(m, q, v, late * run.dt, run, books, work, False)
    if status == at.OK:
        status = _happened(m, q, v, work, signs)[0]
    if status == at.OK:
        return at.EVENT, late
    go_back(kept, q, v, books)  # friction locks: up to there
    if early > 0.0:
        take_step(m, q, v, early * run.dt, run, books, work, False)
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
    run.logged, logged = 0, False
    for step in range(run.steps):
        run.taken, run.time = step, run.start + (run.first + step) * run.dt
        keep_state(q, v, books, kept)
        if rough:
            aim_slow(m, q, v, run.dt, work[3, : v.size])
        settled = step > 0 and not (watch or rough or logged)
        status = take_step(m, q, v, run.dt, run, books, work, settled)
        event, logged = False, False
        if status == at.OK and watch:
            status, event = _happened(m, q, v, work, signs)
        if event or status != at.OK:
            go_back(kept, q, v, books)
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
            run.logged, logged = run.logged + 1, True
    return at.OK
