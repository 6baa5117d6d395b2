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
A step of a simulation, taken in parts where it has to be.

RK4 takes a step in halves, quarters and so on where the books say that it has to. Energy less the
work put in, plus what was dissipated, is the one thing that every step should leave as it is,
loops, springs and friction included: what a step changes of it measures its error, at the price
of one look at the energies.
"""

import numpy as np

from . import records as at
from .compiling import kernel
from .implicit import implicit_step
from .inertia import energies, rotor_energy
from .kinematics import motion, placements
from .linear_algebra import copy_to
from .loop_closing import close_placed, nudge_loops
from .passive import passive_energy
from .step import euler_step, rk4_step
from .vectors import norm

EULER, RK4, IMPLICIT = range(3)  # run.method
MOST_STEP_PARTS = 16384  # parts that a step is taken in, at most
IMPLICIT_PARTS = 64  # the same of an implicit one, where its equations are not solved at once
PAYS = 0.25  # a part of half the size has less than this share of the error
EASILY = 128.0  # a part whose error is smaller by this is followed by one twice as large
TRACE = 1e-6  # share of the energy that the finest parts may gain or lose in a step
ENERGY_ROUNDING = 1e-15  # of the energies, several numbers of which are added


@kernel
def step_energies(m, q, v):
    """Return kinetic energy, that of gravity, and what springs and limits store."""
    placements(m, q)
    motion(m, v, at.zeros(m), 0.0)
    energies(m)
    return _noted_energies(m, q, v)


@kernel
def _noted_energies(m, q, v):
    """Return the same after `energies`."""
    kinetic = at.totals(m).kinetic + rotor_energy(m, v)
    return kinetic, at.totals(m).potential, passive_energy(m, q)


@kernel
def _lift(m):
    """Return the energy that lifts all masses by the characteristic length."""
    mass = 0.0
    for body in at.bodies(m)[1:]:
        mass += body.mass
    return mass * norm(at.world(m).gravity) * at.world(m).length


@kernel
def keep_state(q, v, books, kept):
    """Note a state and its books, to go back to."""
    copy_to(kept, q)
    copy_to(kept[q.size :], v)
    copy_to(kept[q.size + v.size :], books)


@kernel
def go_back(kept, q, v, books):
    """Go back to a state and its books."""
    copy_to(q, kept[: q.size])
    copy_to(v, kept[q.size : q.size + v.size])
    copy_to(books, kept[q.size + v.size :])


@kernel
def _take_part(m, q, v, dt, method, books, work, settled):
    """
    Take one step and close the loops; return a status.

    `settled`: the workspace is as the last part left it, in this very state: placed, with H, and
    with V and A of all bodies, which both the energies and the next part begin with.
    """
    if method == EULER:
        status = euler_step(m, q, v, dt, books, work, settled)
    elif method == IMPLICIT:
        status = implicit_step(m, q, v, dt, books, work)
    else:
        status = rk4_step(m, q, v, dt, books, work, settled)
    if status == at.OK:
        if method == RK4:
            nudge_loops(m, q, v, work)
        else:
            placements(m, q)
        status = close_placed(m, q, v, work)
    if status == at.OK:
        motion(m, v, at.zeros(m), 1.0)
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
    kinetic, gravity, stored = step_energies(m, q, v)
    before = kinetic + gravity + stored + books[1] - books[0]
    most = max(kinetic + abs(stored) + _lift(m), 1e-300)
    while left > 0:
        keep_state(q, v, books, kept)
        status = _take_part(m, q, v, part / IMPLICIT_PARTS * dt, IMPLICIT, books, work, False)
        if status == at.OK:
            left -= part
        elif status == at.LOCKED or part == 1:
            return status
        else:
            go_back(kept, q, v, books)
            part //= 2
    energies(m)
    kinetic, gravity, stored = _noted_energies(m, q, v)
    error = abs(kinetic + gravity + stored + books[1] - books[0] - before)
    run.rough = max(run.rough, error / max(most, kinetic + abs(stored)))
    return at.OK


@kernel
def take_step(m, q, v, dt, run, books, work, settled):
    """
    Take one step and close the loops, by RK4 in parts where it has to be; return a status.

    A part that leaves the loops open, or the books by more than its share of the tolerance times
    the energy, is halved: the state is set back, and the rest of the step goes on with the half,
    and with twice as much again where that is fine by far. Below a 64th of the step that goes on
    only while it pays: at a pose that is nearly singular it does not, and what is left over is
    told as `rough`. What is more than a trace where it would still pay is too stiff for the step.
    An infinite tolerance takes all steps as they are. The energy is all that moves or is stored,
    and what lifts the mechanism by its own length: so a mechanism at rest has some, too.
    `settled`: the workspace is as the last step left it.
    """
    if run.method == IMPLICIT:
        return _take_implicit(m, q, v, dt, run, books, work)
    if run.method == EULER or run.tolerance == np.inf:
        return _take_part(m, q, v, dt, run.method, books, work, settled)
    kept = np.empty(q.size + v.size + books.size)
    if not settled:  # else they are those that the last step ended with
        placements(m, q)
        motion(m, v, at.zeros(m), 1.0)
        energies(m)
    kinetic, gravity, stored = _noted_energies(m, q, v)
    before, lift, rough = kinetic + gravity + stored + books[1] - books[0], _lift(m), 0.0
    most = kinetic + abs(stored) + lift  # what damping takes in the step is still of this size
    left = part = MOST_STEP_PARTS
    coarser, floor = np.inf, 1  # the error of the part twice as large; where halving ceased to pay
    while left > 0:
        keep_state(q, v, books, kept)
        size = part / MOST_STEP_PARTS * dt
        status = _take_part(m, q, v, size, run.method, books, work, settled)
        settled = False
        if status == at.LOCKED:
            return status
        error, after, energy = np.inf, 0.0, most
        share = part / MOST_STEP_PARTS * run.tolerance
        if status == at.OK:
            energies(m)
            kinetic, gravity, stored = _noted_energies(m, q, v)
            after = kinetic + gravity + stored + books[1] - books[0]
            energy = max(kinetic + abs(stored) + lift, most)
            noise = ENERGY_ROUNDING * (energy + abs(gravity) + abs(books[0]) + abs(books[1]))
            error = max(abs(after - before) - noise, 0.0)
            error = error if error < np.inf else np.inf  # not a number is too much, too
        pays = error < PAYS * coarser or coarser == np.inf
        if error <= share * energy:
            left, before, coarser, settled = left - part, after, np.inf, True
            if error * EASILY <= share * energy and left % (2 * part) == 0:
                part = min(2 * part, MOST_STEP_PARTS)
        elif part > max(MOST_STEP_PARTS // 64, floor) or (part > floor and pays):
            go_back(kept, q, v, books)
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
