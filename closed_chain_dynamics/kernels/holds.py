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
Joints that stops or friction hold: a row of J_C for a coordinate, and what tells of events.

A joint rests at its limit, or friction holds it where it is: either way its rate is zero, which
is one more row, a unit row for a joint of the tree and the row of its own coordinate for a joint
that closes a loop. Records for all coordinates that may ever be held are there from the start;
they are switched on and off, and cost nothing while off. Which are on is decided in `simulation/`.
"""

import numpy as np

from . import records as at
from .compiling import kernel
from .kinematics import motion, placements
from .loop_frames import slide_bias
from .loop_joints import loop_coordinates
from .loops import add_loop_to_jacobian
from .sharing import HANDLE, NOTHING, TABLE, VECTOR, shared_kernel
from .vectors import angular, cross, inner, linear, minus

# depths at which a joint has hit its stop or a contact has touched, above the rounding of one, and
# at which it was there within a step, though it comes back [rad or m]
TOUCHING, PASSED = 1e-11, 2e-9
TURNING = 1e-9  # speed against its direction at which a joint turns round [rad/s or m/s]
NO_FORCE = 1e-9  # share of the friction, or of the largest force that holds, that is rounding
QUARTER = 0.5 * np.pi


@kernel
def _turn_bias(n, carrier, one, two):
    """Return (n (omega_2 - omega_1))' for an axis n that turns with one of the two bodies."""
    n_1 = cross(angular(carrier.V), n)  # n'
    omega = minus(angular(two.V), angular(one.V))
    return inner(n_1, omega) + inner(n, minus(angular(two.A), angular(one.A)))


@kernel
def coordinate_bias(m, k, d):
    """
    Return L' theta_O' of coordinate d of loop joint k, after `loop_coordinates`.

    With accelerations of the joints in the bodies' A it is the acceleration of the coordinate.
    """
    loop, f, move = at.loops(m)[k], at.loop_columns(m)[d].f, at.moving(m)
    kind, first = loop.type, loop.dof
    one, two = move[loop.body_1], move[loop.body_2]
    if inner(linear(f), linear(f)) != 0.0:  # a slide along an axis of frame 1
        i = 2 if kind == at.LOOP_PRISMATIC or kind == at.LOOP_CYLINDRICAL else d - first
        return slide_bias(at.frames(m)[k], i, one, two)
    if (
        kind == at.LOOP_REVOLUTE
        or kind == at.LOOP_CYLINDRICAL
        or kind == at.LOOP_PLANAR
        or (kind == at.LOOP_UNIVERSAL and d == first)
    ):
        return _turn_bias(angular(f), one, one, two)
    return _turn_bias(angular(f), two, one, two)


@kernel
def hold_row(m, h, q, J, i, local, bias):
    """Add the row of a coordinate that is held to row i of J; return its error and bias."""
    hold, second = at.holds(m)[h], 0.0
    if hold.loop < 0:
        J[i, at.dofs(m)[hold.dof].local if local else hold.dof] += 1.0
        position = q[hold.iq]
    else:
        loop_coordinates(m, hold.loop)
        column = at.loop_columns(m)[hold.dof]
        add_loop_to_jacobian(m, hold.loop, i, column.f, J, local)
        position = column.position
        if bias:
            second = coordinate_bias(m, hold.loop, hold.dof)
    return position - hold.position if hold.placed else 0.0, second


@kernel
def is_joined(m, hold):
    """Return whether the joint of a coordinate is there: neither cut nor open."""
    return hold.dof >= 0 and (hold.loop < 0 or at.loops(m)[hold.loop].active != 0)


@kernel
def hold_law(m, hold):
    """Return the law of a coordinate that may be held."""
    return at.dofs(m)[hold.dof] if hold.loop < 0 else at.loop_dofs(m)[hold.dof]


@kernel
def hold_state(m, hold, q, v):
    """Return position and rate of a coordinate; of a loop joint after `motion`."""
    if hold.loop < 0:
        return q[hold.iq], v[hold.dof]
    loop_coordinates(m, hold.loop)
    column = at.loop_columns(m)[hold.dof]
    return column.position, column.rate


@kernel
def compute_hold_states(m, q, v, states):
    """Write position and rate of every coordinate that may be held, (holds, 2)."""
    placements(m, q)
    motion(m, v, at.zeros(m), 0.0)
    hold = at.holds(m)
    for h in range(hold.size):
        states[h, 0] = states[h, 1] = 0.0
        if is_joined(m, hold[h]):
            states[h, 0], states[h, 1] = hold_state(m, hold[h], q, v)


@shared_kernel(HANDLE, VECTOR, VECTOR, TABLE, returns=NOTHING)
def hold_signs(m, q, v, signs):
    """
    Write what tells of an event of each coordinate, behind the contacts: below zero, it happened.

    Free: its speed in the direction in which friction is noted to act against it, and how far it
    is from the stop that it moves to, or from one that it was in and comes back from. Held: what
    is left of the friction, and how hard the stop pushes; friction helps it to hold.
    """
    hold, first, largest = at.holds(m), at.loops(m).size, 0.0
    for own in hold:
        if own.active:
            largest = max(largest, abs(own.force))
    for h in range(hold.size):
        own, sign = hold[h], signs[first + h]
        sign[0] = sign[1] = 1.0
        if not is_joined(m, own):
            continue
        law = hold_law(m, own)
        if own.active and own.mode == at.STUCK:
            sign[0] = (1.0 + NO_FORCE) * law.friction - abs(own.force)
        elif own.active and own.mode != at.FIXED:
            push = own.force if own.mode == at.AT_LOWER else -own.force
            sign[1] = push + law.friction + NO_FORCE * (law.friction + largest)
        elif not own.active:
            position, rate = hold_state(m, own, q, v)
            if law.slip == at.SLIDING and law.friction > 0.0:
                sign[0] = rate * law.direction + TURNING
            if own.placed:
                sign[1] = min(own.upper - position, position - own.lower) + PASSED
                away = own.upper - position if rate > 0.0 else position - own.lower
                if rate != 0.0:
                    sign[1] = min(sign[1], away + TOUCHING)


@kernel
def note_turns(m):
    """Note where joints that close loops are, before they have turned by half a turn."""
    for hold in at.holds(m):
        if hold.loop >= 0 and at.loops(m)[hold.loop].active:
            law, position = at.loop_dofs(m)[hold.dof], at.loop_columns(m)[hold.dof].position
            if abs(position - law.seen) > QUARTER:
                law.seen = position
                at.shape(m).changes += 1


@kernel
def any_slides(m):
    """Return whether the friction of any joint acts as noted, not as a function of its speed."""
    for hold in at.holds(m):
        if is_joined(m, hold) and hold_law(m, hold).slip == at.SLIDING:
            return True
    return False


@kernel
def note_slips(m, q, v):
    """
    Let friction act against the motion of a state of its own, not one within a step.

    To be called after `motion`; returns whether that changed any friction.
    """
    turned = False
    for hold in at.holds(m):
        if is_joined(m, hold) and hold_law(m, hold).slip == at.SLIDING:
            law = hold_law(m, hold)
            _, rate = hold_state(m, hold, q, v)
            if abs(rate) > TURNING and rate * law.direction <= 0.0:
                law.direction, turned = np.sign(rate), True
    return turned
