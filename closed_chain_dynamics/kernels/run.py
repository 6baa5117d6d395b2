"""
A run of a simulation: steps, finer where they have to be, events at their instants, the log.

RK4 takes a step in halves, quarters and so on where the books say that it has to. Energy less the
work put in, plus what was dissipated, is the one thing that every step should leave as it is,
loops, springs and friction included: what a step changes of it measures its error, at the price
of one look at the energies.
"""

import numpy as np

from .contact import contact_signs, note_directions
from .forward import forward_dynamics
from .inertia import energies
from .kinematics import motion, placements
from .layout import (
    BODY_F,
    EVENT,
    GRAVITY,
    KINETIC,
    LENGTH,
    LOCKED,
    LOOP_ACTIVE,
    LOOP_F,
    LOOP_I,
    LOOP_MODE,
    LOOP_N_ROWS,
    LOOP_ROW,
    MASS,
    N_BODIES,
    N_CONTACTS,
    N_LOOPS,
    NOT_FINITE,
    NQ,
    NV,
    OK,
    POTENTIAL,
    ROW_ERROR,
    ROW_W,
    SLIDE,
    STICK,
    VECTORS,
    WORLD_F,
    WORLD_W,
    ZERO,
    kernel,
    table,
)
from .loop_frames import place_loop
from .loops import active_loop_rows
from .passive import passive_energy
from .step import close_loops, euler_step, rk4_step
from .surfaces import surface_normal

FINEST = 64  # parts that a step is taken in, at most
EVENT_TIME = 1e-13  # events are found to this time [s]


@kernel
def _energies(mi, mf, w, q, v):
    """Return kinetic energy, that of gravity, and what springs and limits store."""
    placements(mi, mf, w, q)
    motion(mi, mf, w, v, table(w, mi, VECTORS)[ZERO], 0.0)
    energies(mi, mf, w)
    world = table(w, mi, WORLD_W)[0]
    return world[KINETIC], world[POTENTIAL], passive_energy(mi, mf, w, q)


@kernel
def record(mi, mf, w, q, v, t, books, row):
    """Write time, energies, books and loop error of a state to a row of the log."""
    kinetic, gravity, stored = _energies(mi, mf, w, q, v)
    active_loop_rows(mi, mf, w, False)
    rows, worst = table(w, mi, ROW_W), 0.0
    for k in range(mi[N_LOOPS]):
        loop = table(mi, mi, LOOP_I)[k]
        if loop[LOOP_ACTIVE]:
            for r in range(loop[LOOP_ROW], loop[LOOP_ROW] + loop[LOOP_N_ROWS]):
                worst = max(worst, abs(rows[r, ROW_ERROR]))
    row[0], row[1], row[2] = t, kinetic, gravity + stored
    row[3], row[4], row[5] = books[0], books[1], worst


@kernel
def _lift(mi, mf):
    """Return the energy that lifts all masses by the characteristic length."""
    body_f, world = table(mf, mi, BODY_F), table(mf, mi, WORLD_F)[0]
    g = np.sqrt(world[GRAVITY] ** 2 + world[GRAVITY + 1] ** 2 + world[GRAVITY + 2] ** 2)
    return g * world[LENGTH] * np.sum(body_f[1 : mi[N_BODIES], MASS])


@kernel
def _take_part(mi, mf, w, q, v, tau_A, extra, wrenches, dt, method, books, work):
    """Take one step and close the loops; return a status."""
    if method == 0:
        status = euler_step(mi, mf, w, q, v, tau_A, extra, wrenches, dt, books, work)
    else:
        status = rk4_step(mi, mf, w, q, v, tau_A, extra, wrenches, dt, books, work)
    if status == OK:
        status = close_loops(mi, mf, w, q, v, work)
    if status == OK:
        total = 0.0
        for j in range(mi[NV]):
            total += 0.0 * v[j]
        status = OK if total == 0.0 else NOT_FINITE
    return status


@kernel
def _take_step(mi, mf, w, q, v, tau_A, extra, wrenches, dt, method, tolerance, books, work):
    """
    Take one step and close the loops, by RK4 in parts where it has to be; return a status.

    A part that leaves the loops open, or the books by more than its share of `tolerance` of the
    energy, is halved: the state is set back, and the rest of the step goes on with the half. An
    infinite tolerance takes all steps as they are. The energy is all that moves or is stored, and
    what lifts the mechanism by its own length: so a mechanism at rest has some, too.
    """
    if method == 0 or tolerance == np.inf:
        return _take_part(mi, mf, w, q, v, tau_A, extra, wrenches, dt, method, books, work)
    nq, nv = mi[NQ], mi[NV]
    keep_q, keep_v, keep_books = np.empty(nq), np.empty(nv), np.empty(2)
    kinetic, gravity, stored = _energies(mi, mf, w, q, v)
    before, lift = kinetic + gravity + stored + books[1] - books[0], _lift(mi, mf)
    left = part = FINEST
    while left > 0:
        keep_q[:], keep_v[:], keep_books[:] = q[:nq], v[:nv], books[:2]
        status = _take_part(
            mi, mf, w, q, v, tau_A, extra, wrenches, part / FINEST * dt, method, books, work
        )
        if status == LOCKED:
            return status
        fine, after = False, 0.0
        if status == OK:
            kinetic, gravity, stored = _energies(mi, mf, w, q, v)
            after = kinetic + gravity + stored + books[1] - books[0]
            share = part / FINEST * tolerance
            fine = abs(after - before) <= share * (kinetic + abs(stored) + lift)
        if fine or part == 1:
            if status != OK:
                return status
            left, before = left - part, after
        else:
            q[:nq], v[:nv], books[:2] = keep_q, keep_v, keep_books
            part //= 2
    return OK


@kernel
def _happened(mi, mf, w, q, v, tau_A, extra, wrenches, work, signs):
    """Return whether any contact tells of an event in this state; its signs are written."""
    status = OK
    if mi[N_CONTACTS]:
        status = forward_dynamics(mi, mf, w, q, v, tau_A, extra, wrenches, work[3, : mi[NV]])
    else:
        placements(mi, mf, w, q)
        motion(mi, mf, w, v, table(w, mi, VECTORS)[ZERO], 0.0)
    contact_signs(mi, mf, w, signs)
    return status, np.min(signs) < 0.0


@kernel
def compute_loop_placement(mi, mf, w, q, v, k):
    """Compute where a contact is, its normal, and how all bodies move."""
    placements(mi, mf, w, q)
    motion(mi, mf, w, v, table(w, mi, VECTORS)[ZERO], 0.0)
    surface_normal(table(mi, mi, LOOP_I)[k], table(mf, mi, LOOP_F)[k], place_loop(mi, mf, w, k))


@kernel
def compute_signs(mi, mf, w, q, v, tau_A, extra, wrenches, work, signs):
    """Write the signs of all contacts in a state; return a status."""
    return _happened(mi, mf, w, q, v, tau_A, extra, wrenches, work, signs)[0]


@kernel
def compute_run(
    mi,
    mf,
    w,
    q,
    v,
    tau_A,
    extra,
    wrenches,
    start,
    first,
    dt,
    steps,
    method,
    tolerance,
    stride,
    books,
    work,
    log,
    log_q,
    log_v,
    signs,
):
    """
    Take steps and log every `stride`-th state; return a status, steps taken, time, samples.

    Time is `start` + dt times the number of steps since then, of which `first` are taken before:
    one run and many short ones have the same times and log the same states.

    A step that fails leaves the state as it was before it. At an event of a contact the run ends
    with EVENT, in the state at its instant, found by halving the step; `signs` tell which it is.
    """
    nq, nv = mi[NQ], mi[NV]
    logged = 0
    watch = False
    for k in range(mi[N_LOOPS]):
        loop = table(mi, mi, LOOP_I)[k]
        watch = watch or loop[LOOP_MODE] == SLIDE or loop[LOOP_MODE] == STICK
    keep_q, keep_v, keep_books = np.empty(nq), np.empty(nv), np.empty(2)
    for step in range(steps):
        now = start + (first + step) * dt
        keep_q[:], keep_v[:], keep_books[:] = q[:nq], v[:nv], books[:2]
        status = _take_step(
            mi, mf, w, q, v, tau_A, extra, wrenches, dt, method, tolerance, books, work
        )
        event = False
        if status == OK and watch:
            status, event = _happened(mi, mf, w, q, v, tau_A, extra, wrenches, work, signs)
        if status != OK and status != LOCKED:
            q[:nq], v[:nv], books[:2] = keep_q, keep_v, keep_books
            return status, step, now, logged
        if event or status == LOCKED:
            early, late = 0.0, 1.0
            while (late - early) * dt > EVENT_TIME:
                middle = 0.5 * (early + late)
                q[:nq], v[:nv], books[:2] = keep_q, keep_v, keep_books
                status = _take_step(
                    mi,
                    mf,
                    w,
                    q,
                    v,
                    tau_A,
                    extra,
                    wrenches,
                    middle * dt,
                    method,
                    tolerance,
                    books,
                    work,
                )
                if status == OK:
                    status, event = _happened(mi, mf, w, q, v, tau_A, extra, wrenches, work, signs)
                if event or status != OK:
                    late = middle
                else:
                    early = middle
            q[:nq], v[:nv], books[:2] = keep_q, keep_v, keep_books
            status = _take_step(
                mi, mf, w, q, v, tau_A, extra, wrenches, late * dt, method, tolerance, books, work
            )
            if status == OK:
                status, _ = _happened(mi, mf, w, q, v, tau_A, extra, wrenches, work, signs)
            if status != OK:  # friction locks: up to there
                q[:nq], v[:nv], books[:2] = keep_q, keep_v, keep_books
                if early > 0.0:
                    _take_step(
                        mi,
                        mf,
                        w,
                        q,
                        v,
                        tau_A,
                        extra,
                        wrenches,
                        early * dt,
                        method,
                        tolerance,
                        books,
                        work,
                    )
                return status, step, now + early * dt, logged
            return EVENT, step, now + late * dt, logged
        if watch:
            note_directions(mi, mf, w)
        if stride > 0 and (first + step + 1) % stride == 0:
            record(mi, mf, w, q, v, start + (first + step + 1) * dt, books, log[logged])
            log_q[logged, :nq], log_v[logged, :nv] = q[:nq], v[:nv]
            logged += 1
    return OK, steps, start + (first + steps) * dt, logged
