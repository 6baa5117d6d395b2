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
What tells of events at contacts: touching, lifting off, sticking, slipping.

Two numbers a contact; below zero, it has happened. In which direction a contact slides is noted
after every step, so that one that turns round within a step is seen.
"""

from . import records as at
from .compiling import kernel
from .friction_cones import HOLDS, cone_margin, share_forces
from .holds import PASSED, TOUCHING
from .loop_frames import place_loop
from .sharing import HANDLE, NOTHING, TABLE, shared_kernel
from .surfaces import sliding_velocity, surface_distance, surface_normal
from .vectors import inner, norm, put, rotate, rotate_back, times

STANDING_SPEED = 1e-9  # speed below which the direction of sliding is the one noted [m/s]
MOVING_SPEED = 1e-7  # speed above which a direction of sliding is noted [m/s]
NO_LOAD = 1e-12  # share of the largest normal force that is rounding


@kernel
def contact_velocity(m, k):
    """Return how a contact slides along its surface, and how fast it moves away from it."""
    loop, move = at.loops(m)[k], at.moving(m)
    return sliding_velocity(at.frames(m)[k], move[loop.body_1], move[loop.body_2])


@kernel
def sliding_direction(m, k):
    """Write the direction in which a contact slides; standing still, the one noted for it."""
    frame = at.frames(m)[k]
    velocity, _ = contact_velocity(m, k)
    speed = norm(velocity)
    noted = rotate(frame.R_1, at.loops(m)[k].direction)
    forward = inner(velocity, noted)
    if speed > max(STANDING_SPEED, at.loops(m)[k].slow) and (forward > 0.0 or norm(noted) == 0.0):
        put(frame.sliding, times(1.0 / speed, velocity))
    else:  # within a step the friction does not turn round: that is an event
        put(frame.sliding, noted)
    return forward


@kernel
def note_directions(m):
    """Note in which direction each contact slides, after a step; return whether any turned."""
    loop, frame, turned = at.loops(m), at.frames(m), False
    for k in range(loop.size):
        if loop[k].active and loop[k].mode == at.SLIDE:
            velocity, _ = contact_velocity(m, k)
            speed = norm(velocity)
            if speed > MOVING_SPEED:
                turned = turned or inner(velocity, frame[k].sliding) < 0.0
                put(loop[k].direction, times(1.0 / speed, rotate_back(frame[k].R_1, velocity)))
                at.shape(m).changes += 1
    return turned


@shared_kernel(HANDLE, TABLE, returns=NOTHING)
def contact_signs(m, signs):
    """
    Write what tells of an event at each contact, (loops, 2): below zero, it has happened.

    Open: the distance. Sliding: the speed in the direction noted, and for a
    unilateral one the normal force. Sticking: what is left of the friction, and the normal force.
    To be called after the motion has been computed.
    """
    loop, frame, load = at.loops(m), at.frames(m), 0.0
    for k in range(loop.size):
        if loop[k].active and loop[k].mode != at.NO_MODE:
            load = max(load, abs(frame[k].normal_force))
            if loop[k].mode == at.STICK:
                load = max(load, norm(frame[k].friction))
    if load > 0.0:
        share_forces(m, load)
    for k in range(loop.size):
        own, here = loop[k], frame[k]
        signs[k, 0] = signs[k, 1] = 1.0
        if own.mode == at.NO_MODE or own.mode == at.SOFT:
            continue
        if not own.active:
            signs[k, 0] = _height(m, k)
            continue
        if own.contact == at.UNILATERAL:
            signs[k, 1] = here.normal_force + NO_LOAD * load
        if own.mode == at.STICK:
            signs[k, 0] = cone_margin(own, here) + HOLDS * load
            signs[k, 1] += HOLDS * load
        elif own.mu > 0.0:
            signs[k, 0] = sliding_direction(m, k) + STANDING_SPEED


@kernel
def _height(m, k):
    """Return how far an open contact is from touching, or from having been in its surface."""
    loop = at.loops(m)[k]
    if loop.contact != at.UNILATERAL:
        return 1.0
    frame = place_loop(m, k)
    surface_normal(loop, frame)
    _, away = contact_velocity(m, k)
    return surface_distance(loop, frame) + (TOUCHING if away < 0.0 else PASSED)
