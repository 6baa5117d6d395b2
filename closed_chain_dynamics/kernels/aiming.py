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
The direction of friction at low speed, which is stiff.

A drag turns the sliding into its own direction within the time speed / (mu f_n / mass). Where that
is shorter than a step, an explicit method would shoot over from side to side: contacts would
chatter and creep. So there the direction is that of the motion at the end of the step, and holds
for the whole of it. Several contacts of one body find theirs together, by iteration.
"""

import numpy as np

from . import records as at
from .compiling import kernel
from .contact_events import NO_LOAD, STANDING_SPEED
from .forward import forward_dynamics
from .kinematics import motion, placements
from .linear_algebra import copy_to
from .loop_frames import place_loop
from .sharing import HANDLE, NOTHING, NUMBER, VECTOR, shared_kernel
from .surfaces import sliding_velocity, surface_normal
from .vectors import (
    add,
    angular,
    cross,
    inner,
    minus,
    norm,
    put,
    rotate,
    rotate_back,
    times,
    velocity_at,
)

STIFF = 4.0  # a speed that friction takes within as many steps is slow
WORTH_A_LOOK = 10.0  # times what friction under the weight takes: other forces may press harder
HELD_STILL = 1e-6  # acceleration of what friction or a stop holds: rounding [m/s^2 or rad/s^2]
AIMED = 1e-10  # a direction of sliding is found to this
MOST_TURNS = 500  # and in no more iterations than these


@kernel
def _is_rough(loop):
    """Return whether a contact slides with friction."""
    return loop.active and loop.mode == at.SLIDE and loop.mu > 0.0


@kernel
def _lighter(m, k):
    """Return the mass of the lighter of a contact's bodies that have any."""
    one, two = at.bodies(m)[at.loops(m)[k].body_1].mass, at.bodies(m)[at.loops(m)[k].body_2].mass
    if one == 0.0 or two == 0.0:
        return max(one, two, 1e-300)
    return min(one, two)


@kernel
def _speed(m, k):
    """Return how fast a contact slides, after `motion`."""
    loop, move = at.loops(m)[k], at.moving(m)
    surface_normal(loop, place_loop(m, k))
    velocity, _ = sliding_velocity(at.frames(m)[k], move[loop.body_1], move[loop.body_2])
    return velocity, norm(velocity)


@kernel
def _acceleration(m, k):
    """Return how the point of a contact accelerates along its surface, after the dynamics."""
    loop, frame = at.loops(m)[k], at.frames(m)[k]
    one, two = at.moving(m)[loop.body_1], at.moving(m)[loop.body_2]
    a = minus(velocity_at(two.A, frame.point), velocity_at(one.A, frame.point))
    turning = minus(angular(two.V), angular(one.V))
    a = add(a, cross(turning, velocity_at(two.V, frame.p_2)))
    return minus(a, times(inner(a, frame.normal), frame.normal))


@kernel
def note_slow(m, q, v, dt, acceleration):
    """Note below which speed the direction of each contact is stiff; return whether any is."""
    loop, g, near, any_slow = at.loops(m), norm(at.world(m).gravity), False, False
    for k in range(loop.size):
        loop[k].slow = 0.0
        if _is_rough(loop[k]):
            near = near or _speed(m, k)[1] < WORTH_A_LOOK * STIFF * dt * loop[k].mu * g
    if not near or forward_dynamics(m, q, v, acceleration) != at.OK:
        return False
    for k in range(loop.size):
        if _is_rough(loop[k]):
            push = abs(at.frames(m)[k].normal_force) / _lighter(m, k)
            loop[k].slow = STIFF * dt * loop[k].mu * push
            any_slow = any_slow or _speed(m, k)[1] < loop[k].slow
    return any_slow


@shared_kernel(HANDLE, VECTOR, VECTOR, NUMBER, VECTOR)
def aim(m, q, v, rate, acceleration):
    """
    Turn the drags of slow contacts against the motion 1 / `rate` later; at rest, rate is 0.

    Each is turned by a share of the force that its acceleration needs: that share grows while it
    helps. Returns a status.
    """
    loop, frame, share, last, size = at.loops(m), at.frames(m), 0.0, 1e300, 0.0
    for k in range(loop.size):
        if _is_rough(loop[k]):
            size += 1.0
            share = _lighter(m, k) if share == 0.0 else min(share, _lighter(m, k))
    share /= max(size, 1.0)
    for _ in range(MOST_TURNS):
        status = forward_dynamics(m, q, v, acceleration)
        if status != at.OK:
            return status
        astray = 0.0
        for k in range(loop.size):
            if not _is_rough(loop[k]):
                continue
            velocity, speed = _speed(m, k)
            if speed > loop[k].slow:
                continue
            noted = rotate(frame[k].R_1, loop[k].direction)
            way = add(_acceleration(m, k), times(rate, velocity))
            size = norm(way)
            if size > HELD_STILL:  # else the others hold it
                astray = max(astray, norm(minus(times(1.0 / size, way), noted)))
                drag = loop[k].mu * abs(frame[k].normal_force)
                way = add(times(drag, noted), times(share, way))
                size = max(norm(way), 1e-300)
                put(loop[k].direction, times(1.0 / size, rotate_back(frame[k].R_1, way)))
        if astray < AIMED:
            return at.OK
        share, last = share * (1.2 if astray < last else 0.5), astray
    return at.OK


@kernel
def _pulls(m):
    """Return whether a contact that can only push would have to pull: its drag gives energy."""
    load, least = 0.0, 0.0
    for k in range(at.loops(m).size):
        if _is_rough(at.loops(m)[k]) and at.loops(m)[k].contact == at.UNILATERAL:
            load = max(load, abs(at.frames(m)[k].normal_force))
            least = min(least, at.frames(m)[k].normal_force)
    return least < -NO_LOAD * load


@kernel
def forget_slow(m):
    """After a run: directions are those of the motion again."""
    for loop in at.loops(m):
        loop.slow = 0.0


@shared_kernel(HANDLE, VECTOR, VECTOR, NUMBER, VECTOR, returns=NOTHING)
def aim_slow(m, q, v, dt, acceleration):
    """Before a step: aim the drags of contacts that are slow."""
    placements(m, q)
    motion(m, v, at.zeros(m), 0.0)
    if not note_slow(m, q, v, dt, acceleration):
        return
    loop, before = at.loops(m), np.empty((at.loops(m).size, 3))
    for k in range(loop.size):
        copy_to(before[k], loop[k].direction)
    status = aim(m, q, v, 1.0 / dt, acceleration)
    for k in range(loop.size):  # one that turns round within the step stops first: an event
        if _is_rough(loop[k]):
            velocity, speed = _speed(m, k)
            R_1, noted = at.frames(m)[k].R_1, loop[k].direction
            if STANDING_SPEED < speed < loop[k].slow and inner(velocity, rotate(R_1, noted)) < 0.0:
                put(noted, times(1.0 / speed, rotate_back(R_1, velocity)))
    if status == at.OK:
        status = forward_dynamics(m, q, v, acceleration)
    if status != at.OK or _pulls(m):  # it would lock or drag along: then they are as they move
        for k in range(loop.size):
            copy_to(loop[k].direction, before[k])
        forget_slow(m)
