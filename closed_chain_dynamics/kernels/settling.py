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
How a gap is closed: by the motion that leaves all masses nearest to where they were.

It is the jump of velocities of `impact`, with displacements in the place of velocities. To begin
with that is the step M^-1 J_C^T (J_C M^-1 J_C^T)^-1 times the gap; what is left of it, the second
order, follows.
"""

import numpy as np

from . import records as at
from .body_motion import free_systems, let_move, nearest_motion, system_centres
from .compiling import kernel
from .coordinates import solve_constraints
from .kinematics import NO_VECTOR, motion, placements
from .linear_algebra import copy_to
from .loop_closing import close_loops, closing_step
from .manifold import integrate
from .vectors import add, angular, axis, cross, linear, minus, put, put_spatial, rotate_back, times

MOST_SETTLING = 8  # steps that close a gap; the first takes most of the way
SETTLED_GAP = 1e-9  # a step that is not worth another one [rad, m]
LONGEST_SETTLING = 0.7  # a step that leads nobody knows where [rad, m]


# --- closing a gap ---------------------------------------------------------------------------
@kernel
def _settling_step(m, q, states, step, rest):
    """
    Write the step that closes the loops and takes all bodies nearest to where they were.

    Of the bodies' way back, what the closing step does not do is done as far as the loops permit.
    """
    placements(m, q)
    solve_constraints(m, q, at.zeros(m), False)
    closing_step(m, step)
    motion(m, step, at.zeros(m), 0.0)
    move, origin = at.moving(m), at.totals(m).origin
    for i in range(1, move.size):
        me, old = move[i], states[i]
        v_done, w_done = linear(me.V), angular(me.V)
        back = NO_VECTOR  # half the sum of axis x axis before: the sine of the turn
        for k in range(3):
            back = add(back, times(0.5, cross(axis(me.R, k), axis(old.R, k))))
        let_move(me, minus(old.c, add(me.c, origin)), back)
        put_spatial(me.V, minus(linear(me.V), v_done), minus(angular(me.V), w_done))
    status = nearest_motion(m, rest)
    for j in range(step.size):
        step[j] += rest[j]
    return status


@kernel
def _shift_back(m, q, states):
    """Move every free system as a whole to where its centre of mass was."""
    body = at.bodies(m)
    label = np.empty(body.size, np.int64)
    placements(m, q)
    free_systems(m, label)
    for system in range(1, body.size):
        if label[system] != system:
            continue
        mass, before, after = system_centres(m, states, label, system)
        for i in range(1, body.size):
            if mass > 0.0 and label[i] == system and body[i].parent == 0:
                place = q[body[i].iq :]  # in the axes of the joint
                put(place, add(place, rotate_back(body[i].R, minus(before, after))))


@kernel
def compute_settling(m, q, states, work):
    """
    Close the loops; all masses come to be nearest to where they were recorded.

    The centre of mass of what flies freely is then where it was, exactly. Returns LOOP_OPEN, and
    leaves q as it was, where Newton's method does not get there.
    """
    nq, nv = at.shape(m).nq, at.shape(m).nv
    step, rest, moved, to = np.empty(nv), np.zeros(nv), q[:nq].copy(), np.empty(nq)
    for _ in range(MOST_SETTLING):
        if _settling_step(m, moved, states, step, rest) != at.OK:
            return at.LOOP_OPEN
        size = np.max(np.abs(step))
        if not size < LONGEST_SETTLING:
            return at.LOOP_OPEN
        integrate(m, moved, step, to)
        copy_to(moved, to)
        if size <= SETTLED_GAP:
            break
    if close_loops(m, moved, rest, work) != at.OK:
        return at.LOOP_OPEN
    _shift_back(m, moved, states)
    copy_to(q, moved)
    return at.OK
