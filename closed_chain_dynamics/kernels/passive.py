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
Passive forces: damping, Coulomb friction, limit moments and springs, on tree and loop joints.

A force on a tree joint is a number in its coordinate. A spring between two points, or anything on
a loop joint, is a pair of opposite wrenches on two bodies, so it joins the Newton-Euler recursion.
"""

import numpy as np

from . import records as at
from .compiling import kernel
from .loop_frames import place_loop
from .loop_joints import loop_coordinates
from .sharing import HANDLE, NOTHING, VECTOR, shared_kernel
from .surfaces import sliding_velocity, surface_distance, surface_normal
from .vectors import (
    add,
    add_spatial,
    angular,
    cross,
    inner,
    linear,
    minus,
    norm,
    put,
    rotate,
    times,
    velocity_at,
)

# Coulomb friction changes its sign over this speed [rad/s or m/s]: tanh is exact to rounding
# above twenty times it
FRICTION_SPEED = 1e-3
CREEP_SPEED = 1e-2  # the same for a soft contact [m/s]
NO_LENGTH = 1e-12  # a spring shorter than this has no direction [m]
LEAST_SLIDING = 1e-300  # keeps the direction of sliding finite where there is none [m/s]


@kernel
def _stop_force(depth, rate, law):
    """
    Return elastic and damping moment of a limit entered by `depth`.

    Within the transition the stiffness rises linearly, so that the moment sets in smoothly.
    """
    t = law.stop_transition
    if depth <= 0.0:
        return 0.0, 0.0
    if depth < t:
        share = depth / t
        return 0.5 * law.stop_stiffness * depth * share, law.stop_damping * rate * share
    return law.stop_stiffness * (depth - 0.5 * t), law.stop_damping * rate


@kernel
def _stop_energy(depth, law):
    """Return the energy stored in a limit entered by `depth`."""
    t = law.stop_transition
    if depth <= 0.0:
        return 0.0
    if depth < t:
        return law.stop_stiffness * depth**3 / (6.0 * t)
    beyond = depth - t
    return law.stop_stiffness * (t * t / 6.0 + 0.5 * beyond * (t + beyond))


@kernel
def _depths(law, position):
    """Return how far a position is inside the zones of the upper and of the lower limit."""
    t = law.stop_transition
    return position - law.upper + t, law.lower + t - position


@kernel
def joint_force(law, position, rate, limited):
    """Return the passive force along one coordinate of a joint, and the power that it takes."""
    lost = -law.damping * rate
    if law.friction != 0.0:
        if law.slip == at.SMOOTH:
            lost -= law.friction * np.tanh(rate / FRICTION_SPEED)
        elif law.slip == at.SLIDING:  # within a step it does not turn round: that is an event
            lost -= law.friction * law.direction
    stored = 0.0
    if limited and (law.stop_stiffness != 0.0 or law.stop_damping != 0.0):
        above, below = _depths(law, position)
        elastic, damping = _stop_force(above, rate, law)
        stored, lost = stored - elastic, lost - damping
        elastic, damping = _stop_force(below, -rate, law)
        stored, lost = stored + elastic, lost + damping
    return stored + lost, -lost * rate


@kernel
def _limit_energy(law, position):
    """Return the energy stored in the limits of one coordinate."""
    above, below = _depths(law, position)
    return _stop_energy(above, law) + _stop_energy(below, law)


@kernel
def push_apart(m, one, two, f, force):
    """Put a force along a covector on body two, and its opposite on body one."""
    push, turn = times(force, linear(f)), times(force, angular(f))
    add_spatial(at.moving(m)[one].F, push, turn)
    add_spatial(at.moving(m)[two].F, times(-1.0, push), times(-1.0, turn))


@kernel
def _along(n, p):
    """Return the covector of a vector n that acts at a point p."""
    return n + cross(p, n)


@kernel
def spring_ends(m, spring):
    """Return where the ends of a spring are, (p_1, p_2)."""
    one, two = at.moving(m)[spring.body_1], at.moving(m)[spring.body_2]
    return add(one.p, rotate(one.R, spring.p_1)), add(two.p, rotate(two.R, spring.p_2))


@kernel
def _pull_points(m, spring):
    """Apply a spring-damper between two points; at zero length it has no direction, no force."""
    one, two = at.moving(m)[spring.body_1], at.moving(m)[spring.body_2]
    p_1, p_2 = spring_ends(m, spring)
    length = norm(minus(p_2, p_1))
    if length < NO_LENGTH:
        return
    n = times(1.0 / length, minus(p_2, p_1))
    rate = inner(n, minus(velocity_at(two.V, p_2), velocity_at(one.V, p_1)))
    push_apart(m, spring.body_1, spring.body_2, _along(n, p_2), _pull(m, spring, length, rate))


@kernel
def _pull(m, spring, position, rate):
    """Return the force of a spring-damper, and add what its damper takes to the dissipation."""
    at.totals(m).dissipation += spring.damping * rate * rate
    return -spring.stiffness * (position - spring.rest) - spring.damping * rate


@kernel
def _length(m, spring, q):
    """Return the length of a tendon."""
    term, length = at.terms(m), 0.0
    for t in range(spring.body_1, spring.body_1 + spring.body_2):
        length += term[t].coefficients[0] * q[term[t].iq]
    return length


@kernel
def _pull_joints(m, spring, q, v, tau):
    """Apply the spring-damper of a tendon to the joints that it runs over."""
    term, rate = at.terms(m), 0.0
    for t in range(spring.body_1, spring.body_1 + spring.body_2):
        rate += term[t].coefficients[0] * v[term[t].dof]
    force = _pull(m, spring, _length(m, spring, q), rate)
    for t in range(spring.body_1, spring.body_1 + spring.body_2):
        tau[term[t].dof] += term[t].coefficients[0] * force


@kernel
def _soft_contact(m, k):
    """
    Apply a soft contact: a spring-damper that pushes out of the surface and never pulls.

    The damping grows with the depth, so that the force sets in without a jump; friction is K f_n,
    smoothed at low speed.
    """
    loop, frame = at.loops(m)[k], place_loop(m, k)
    surface_normal(loop, frame)
    depth = -surface_distance(loop, frame)
    frame.normal_force = 0.0
    frame.friction[:] = 0.0
    if depth <= 0.0:
        return
    v, away = sliding_velocity(frame, at.moving(m)[loop.body_1], at.moving(m)[loop.body_2])
    elastic = loop.stiffness * depth
    normal = max(elastic - loop.damping * depth * away, 0.0)
    speed = norm(v)
    drag = loop.mu * normal * np.tanh(speed / CREEP_SPEED) / max(speed, LEAST_SLIDING)
    friction = times(-drag, v)
    f = add(times(normal, frame.normal), friction)
    push_apart(m, loop.body_1, loop.body_2, _along(f, frame.point), 1.0)
    frame.normal_force = normal
    put(frame.friction, friction)
    at.totals(m).dissipation += (elastic - normal) * away + drag * speed * speed


@kernel
def loop_joints_matter(m):
    """Return whether any law or spring needs the coordinates of the loop joints."""
    return at.shape(m).passive_loops or at.springs(m).size > 0


@shared_kernel(HANDLE, VECTOR, VECTOR, VECTOR, returns=NOTHING)
def add_passive_forces(m, q, v, tau):
    """Add passive forces: those of tree joints to tau, the others to the bodies' F."""
    body, dof, loop, column, total = (
        at.bodies(m),
        at.dofs(m),
        at.loops(m),
        at.loop_columns(m),
        at.totals(m),
    )
    if at.shape(m).passive_joints:
        for j in range(dof.size):
            own = body[dof[j].body]
            force, lost = joint_force(dof[j], q[own.iq], v[j], own.n_dof == 1)
            tau[j] += force
            total.dissipation += lost
    for k in range(loop.size):
        own = loop[k]
        if own.active and own.mode == at.SOFT:
            _soft_contact(m, k)
        elif own.active and loop_joints_matter(m):
            loop_coordinates(m, k)
            for d in range(own.dof, own.dof + own.n_dofs):
                x = column[d]
                force, lost = joint_force(at.loop_dofs(m)[d], x.position, x.rate, own.n_dofs == 1)
                push_apart(m, own.body_1, own.body_2, x.f, force)
                total.dissipation += lost
    for spring in at.springs(m):
        j = spring.dof
        if spring.type == at.BETWEEN_POINTS:
            _pull_points(m, spring)
        elif spring.type == at.ON_JOINT and j >= 0:  # else its joint has been cut
            tau[j] += _pull(m, spring, q[spring.iq], v[j])
        elif spring.type == at.ON_TENDON and j >= 0:
            _pull_joints(m, spring, q, v, tau)
        elif spring.type == at.ON_LOOP and loop[spring.body_1].active:
            own = loop[spring.body_1]  # the loop that has this coordinate
            force = _pull(m, spring, column[j].position, column[j].rate)
            push_apart(m, own.body_1, own.body_2, column[j].f, force)


@kernel
def passive_energy(m, q):
    """Return the energy stored in springs and limits, after `placements`."""
    body, dof, loop, column = at.bodies(m), at.dofs(m), at.loops(m), at.loop_columns(m)
    energy = 0.0
    if at.shape(m).passive_joints:
        for j in range(dof.size):
            own = body[dof[j].body]
            if own.n_dof == 1 and dof[j].stop_stiffness != 0.0:
                energy += _limit_energy(dof[j], q[own.iq])
    for k in range(loop.size):
        own = loop[k]
        if own.active and own.mode == at.SOFT:
            depth = -surface_distance(own, place_loop(m, k))
            if depth > 0.0:
                energy += 0.5 * own.stiffness * depth * depth
        elif own.active and loop_joints_matter(m):
            loop_coordinates(m, k)
            if own.n_dofs == 1 and at.loop_dofs(m)[own.dof].stop_stiffness != 0.0:
                energy += _limit_energy(at.loop_dofs(m)[own.dof], column[own.dof].position)
    for spring in at.springs(m):
        stretch = 0.0
        if spring.type == at.BETWEEN_POINTS:
            p_1, p_2 = spring_ends(m, spring)
            stretch = norm(minus(p_2, p_1)) - spring.rest
        elif spring.type == at.ON_JOINT and spring.dof >= 0:
            stretch = q[spring.iq] - spring.rest
        elif spring.type == at.ON_TENDON and spring.dof >= 0:
            stretch = _length(m, spring, q) - spring.rest
        elif spring.type == at.ON_LOOP and loop[spring.body_1].active:
            stretch = column[spring.dof].position - spring.rest
        energy += 0.5 * spring.stiffness * stretch * stretch
    return energy
