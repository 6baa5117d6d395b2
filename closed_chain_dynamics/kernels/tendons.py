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
Tendons: springs, dampers and inertia along a path through points and around shapes.

A path is made of straight pieces. One from a point of body 1 to a point of body 2 becomes longer
at f (V_2 - V_1) with a covector f along it. Where it wraps, the arc between two pieces is as long
as their ends make it: the points of contact move along the taut path or across it, so neither
changes its length to first order, and the rate is that at points fixed to the shape. The rate of
a tendon is a sum over its pieces, and its force pulls along each. A tendon over joints is written
the same way where it has an armature: each joint is a piece.

An armature is a mass a that moves as fast as the tendon becomes longer, by L theta': it adds
a L^T L to M, and a (L theta'' + L' theta') along the tendon to the forces that a motion needs.
"""

import numpy as np

from . import records as at
from .compiling import kernel
from .loops import add_pair_to_jacobian
from .pair_forces import NO_LENGTH, pull, push_apart
from .sharing import FLAG, HANDLE, INDEX, NOTHING, NUMBER, TABLE, shared_kernel
from .vectors import (
    acceleration_at,
    add,
    angular,
    axis,
    cross,
    inner,
    inner_spatial,
    linear,
    minus,
    norm,
    put,
    put_axis,
    put_spatial,
    rotate,
    times,
    velocity_at,
)
from .wrapping import wrap


@kernel
def _place(m, body, p):
    """Return where a point of a body is."""
    me = at.moving(m)[body]
    return add(me.p, rotate(me.R, p))


@kernel
def _write_along(piece, bodies, p_1, p_2, direction, share):
    """Write a straight piece along a unit direction. Return its length."""
    piece.body_1, piece.body_2 = bodies
    put(piece.p_1, p_1)
    put(piece.p_2, p_2)
    piece.length = norm(minus(p_2, p_1))
    n = times(share, direction)
    put_spatial(piece.f, n, cross(p_2, n))
    return share * piece.length


@kernel
def _write(piece, bodies, p_1, p_2, share):
    """Write a straight piece; without length it has no direction. Return its length."""
    way = minus(p_2, p_1)
    length = norm(way)
    direction = times(1.0 / length if length > NO_LENGTH else 0.0, way)
    return _write_along(piece, bodies, p_1, p_2, direction, share)


@kernel
def _lay_around(m, t, own):
    """Write the pieces of a path from point t around the shape behind it; return its length."""
    way, piece = at.waypoints(m), at.pieces(m)
    here, shape, there = way[t], way[t + 1], way[t + 2]
    x_0, x_1 = _place(m, here.body, here.p), _place(m, there.body, there.p)
    R, me = np.empty((3, 3)), at.moving(m)[shape.body]
    for k in range(3):
        put_axis(R, k, rotate(me.R, axis(shape.R, k)))
    centre, side = _place(m, shape.body, shape.p), (0.0, 0.0, 0.0)
    if shape.side >= 0:
        side = _place(m, shape.side, shape.side_p)
    ball = shape.shape == at.AROUND_BALL
    touches, on, off, arc, before, behind = wrap(
        x_0, x_1, centre, R, shape.radius, ball, shape.side >= 0, side
    )
    if not touches:
        return _write(piece[own], (here.body, there.body), x_0, x_1, here.share)
    bodies = here.body, shape.body
    first = _write_along(piece[own], bodies, x_0, on, before, here.share)
    bodies = shape.body, there.body
    last = _write_along(piece[own + 1], bodies, off, x_1, behind, here.share)
    return first + here.share * arc + last


@kernel
def _lay_path(m, spring):
    """Write the pieces of a path after `placements`; return its length."""
    way, length, t = at.waypoints(m), 0.0, spring.body_1
    last = spring.body_1 + spring.body_2 - 1
    while t < last:
        own = spring.piece + t - spring.body_1
        here, there = way[t], way[t + 1]
        if there.begins:
            t += 1
        elif there.shape == at.POINT:
            p_1, p_2 = _place(m, here.body, here.p), _place(m, there.body, there.p)
            bodies = (here.body, there.body)
            length += _write(at.pieces(m)[own], bodies, p_1, p_2, here.share)
            t += 1
        else:
            length += _lay_around(m, t, own)
            t += 2
    return length


@kernel
def _lay_joints(m, spring):
    """Write the joints of a tendon as pieces."""
    for k in range(spring.body_2):
        term, own = at.terms(m)[spring.body_1 + k], at.pieces(m)[spring.piece + k]
        body, s = at.dofs(m)[term.dof].body, at.columns(m)[term.dof].s
        own.body_1, own.body_2 = at.bodies(m)[body].parent, body
        p = at.moving(m)[body].p
        put(own.p_1, p)
        put(own.p_2, p)
        c = term.coefficients[0]
        if at.bodies(m)[body].joint == at.REVOLUTE:
            put_spatial(own.f, (0.0, 0.0, 0.0), times(c, angular(s)))
        else:
            n = times(c, linear(s))
            put_spatial(own.f, n, cross(p, n))


@shared_kernel(HANDLE, INDEX, returns=NUMBER)
def lay_tendon(m, s):
    """Write the pieces of a tendon after `placements`; return the length of a path."""
    spring, piece = at.springs(m)[s], at.pieces(m)
    for k in range(spring.piece, spring.piece + spring.body_2):
        piece[k].body_1 = piece[k].body_2 = 0
        piece[k].f[:] = 0.0
        piece[k].length = 0.0
    if spring.type == at.ON_PATH:
        return _lay_path(m, spring)
    _lay_joints(m, spring)
    return 0.0


@kernel
def _rate(m, spring):
    """Return how fast a tendon becomes longer in the motion V of the bodies, after laying it."""
    rate, move = 0.0, at.moving(m)
    for own in at.pieces(m)[spring.piece : spring.piece + spring.body_2]:
        rate += inner_spatial(own.f, move[own.body_2].V) - inner_spatial(own.f, move[own.body_1].V)
    return rate


@kernel
def _push(m, spring, force):
    """Apply a force along a tendon."""
    for own in at.pieces(m)[spring.piece : spring.piece + spring.body_2]:
        push_apart(m, own.body_1, own.body_2, own.f, force)


@shared_kernel(HANDLE, INDEX, returns=NOTHING)
def pull_path(m, s):
    """Apply the spring-damper along a path."""
    spring = at.springs(m)[s]
    length = lay_tendon(m, s)
    force = pull(m, spring, length, _rate(m, spring))
    _push(m, spring, force)
    for own in at.pieces(m)[spring.piece : spring.piece + spring.body_2]:
        own.pull = -force


@kernel
def _moves_mass(spring):
    """Return whether a tendon has an armature, and all its joints are there."""
    return spring.armature != 0.0 and (spring.type == at.ON_PATH or spring.dof >= 0)


@kernel
def _acceleration(m, spring):
    """Return (L theta')' of a tendon that wraps around nothing, in the motion V, A of bodies."""
    found, move = 0.0, at.moving(m)
    for own in at.pieces(m)[spring.piece : spring.piece + spring.body_2]:
        one, two, n = move[own.body_1], move[own.body_2], linear(own.f)
        if inner(n, n) == 0.0:  # a joint that turns, or nothing
            found += inner(angular(own.f), minus(angular(two.A), angular(one.A)))
            continue
        faster = minus(
            acceleration_at(two.V, two.A, own.p_2), acceleration_at(one.V, one.A, own.p_1)
        )
        found += inner(n, faster)
        if own.length > NO_LENGTH:  # what moves across the piece makes it longer
            across = cross(n, minus(velocity_at(two.V, own.p_2), velocity_at(one.V, own.p_1)))
            found += inner(across, across) / (own.length * norm(n))
    return found


@kernel
def carry_tendons(m):
    """Add what armatures of tendons need for the motion V, A of the bodies to their F."""
    for s in range(at.springs(m).size):
        spring = at.springs(m)[s]
        if _moves_mass(spring):
            lay_tendon(m, s)
            force = -spring.armature * _acceleration(m, spring)
            _push(m, spring, force)
            for own in at.pieces(m)[spring.piece : spring.piece + spring.body_2]:
                own.pull = (own.pull if spring.type == at.ON_PATH else 0.0) - force


@kernel
def take_tendon_momenta(m):
    """Take the momentum that armatures of tendons have in the motion V off the bodies' F."""
    for s in range(at.springs(m).size):
        spring = at.springs(m)[s]
        if _moves_mass(spring):
            lay_tendon(m, s)
            _push(m, spring, spring.armature * _rate(m, spring))


@kernel
def tendon_energy(m):
    """Return the kinetic energy that armatures of tendons have in the motion V of the bodies."""
    energy = 0.0
    for s in range(at.springs(m).size):
        spring = at.springs(m)[s]
        if _moves_mass(spring):
            lay_tendon(m, s)
            energy += 0.5 * spring.armature * _rate(m, spring) ** 2
    return energy


@shared_kernel(HANDLE, INDEX, TABLE, FLAG, returns=NOTHING)
def tendon_row(m, s, row, local):
    """Write L of a tendon, (1, n), by coordinates within its cluster (`local`) or of the tree."""
    spring = at.springs(m)[s]
    row[:] = 0.0
    for own in at.pieces(m)[spring.piece : spring.piece + spring.body_2]:
        add_pair_to_jacobian(m, (own.body_1, own.body_2), 0, own.f, row, local)


@kernel
def add_tendon_inertia(m, cluster, M):
    """Add a L^T L of the armatures of tendons to M, of a cluster or (-1) of the whole tree."""
    n, row = M.shape[0], np.empty((1, M.shape[0]))
    for s in range(at.springs(m).size):
        spring = at.springs(m)[s]
        if _moves_mass(spring) and (cluster < 0 or spring.cluster == cluster):
            lay_tendon(m, s)
            tendon_row(m, s, row, cluster >= 0)
            for i in range(n):
                for j in range(n):
                    M[i, j] += spring.armature * row[0, i] * row[0, j]
