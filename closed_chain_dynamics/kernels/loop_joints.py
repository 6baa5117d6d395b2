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
The coordinates of joints that close loops: how far frame 2 has turned and slid against frame 1.

Angles count whole turns from where they were seen last; the rotation vector of a spherical or
free joint is exact up to and at half a turn.
"""

import numpy as np

from . import records as at
from .compiling import kernel
from .kinematics import NO_VECTOR
from .loop_frames import axis_product, place_loop, slide_row
from .sharing import HANDLE, INDEX, NOTHING, shared_kernel
from .vectors import axis, inner, inner_spatial, norm, put_spatial, times

NO_AXIS = 1e-12  # sine of a turn below which it has no axis of its own
WHOLE_TURN = 2.0 * np.pi
NEAR_HALF_A_TURN = -0.99  # cosine below which the sine has lost digits


@shared_kernel(HANDLE, INDEX, returns=NOTHING)
def loop_coordinates(m, k):
    """
    Write covector, position and rate of every coordinate of a loop joint, frame 2 against 1.

    A cut joint moves like a tree joint from parent to child: slides along axes of frame 1, turns
    about z_1; a spherical joint's rates are in the child's axes.
    """
    loop, frame, column = at.loops(m)[k], place_loop(m, k), at.loop_columns(m)
    kind, d = loop.type, loop.dof
    if kind == at.LOOP_PRISMATIC or kind == at.LOOP_CYLINDRICAL:
        column[d].position = slide_row(frame, 2, column[d].f)
        d += 1
    elif kind == at.LOOP_PLANAR or kind == at.LOOP_SURFACE or kind == at.LOOP_FREE:
        for i in range(3 if kind == at.LOOP_FREE else 2):
            column[d].position = slide_row(frame, i, column[d].f)
            d += 1
    if kind == at.LOOP_REVOLUTE or kind == at.LOOP_CYLINDRICAL or kind == at.LOOP_PLANAR:
        turn_coordinate(axis(frame.R_1, 2), column[d].f)
        column[d].position = _whole_turns(m, d, _turn(frame))
    elif kind == at.LOOP_UNIVERSAL:
        turn_coordinate(axis(frame.R_1, 2), column[d].f)
        turn_coordinate(axis(frame.R_2, 2), column[d + 1].f)
        first = np.arctan2(axis_product(frame, 1, 2), axis_product(frame, 0, 2))
        second = np.arctan2(-axis_product(frame, 2, 1), axis_product(frame, 2, 0))
        column[d].position = _whole_turns(m, d, first)
        column[d + 1].position = _whole_turns(m, d + 1, second)
    elif kind == at.LOOP_SPHERICAL or kind == at.LOOP_SURFACE or kind == at.LOOP_FREE:
        turn = rotation_vector(frame)
        for i in range(3):
            turn_coordinate(axis(frame.R_2, i), column[d + i].f)
            column[d + i].position = turn[i]
    one, two = at.moving(m)[loop.body_1], at.moving(m)[loop.body_2]
    for d in range(loop.dof, loop.dof + loop.n_dofs):
        column[d].rate = inner_spatial(column[d].f, two.V) - inner_spatial(column[d].f, one.V)


@kernel
def _whole_turns(m, d, angle):
    """Return an angle with the whole turns that bring it nearest to where it was seen."""
    return angle + WHOLE_TURN * np.round((at.loop_dofs(m)[d].seen - angle) / WHOLE_TURN)


@kernel
def turn_coordinate(n, f):
    """Write the covector of turning about an axis."""
    put_spatial(f, NO_VECTOR, n)


@kernel
def _turn(frame):
    """Return the angle of frame 2 about the z axis that it shares with frame 1."""
    return np.arctan2(
        axis_product(frame, 1, 0) - axis_product(frame, 0, 1),
        axis_product(frame, 0, 0) + axis_product(frame, 1, 1),
    )


@kernel
def _half_sum(frame, i, j):
    """Return an entry of (R + R^T) / 2, where R turns frame 1 into frame 2."""
    return 0.5 * (axis_product(frame, i, j) + axis_product(frame, j, i))


@kernel
def _half_difference(frame, i, j):
    """Return an entry of (R - R^T) / 2, where R turns frame 1 into frame 2."""
    return 0.5 * (axis_product(frame, i, j) - axis_product(frame, j, i))


@kernel
def rotation_vector(frame):
    """Return the rotation vector from frame 1 to frame 2, exact up to and at half a turn."""
    # sin(turn) times its axis
    n = (
        _half_difference(frame, 2, 1),
        _half_difference(frame, 0, 2),
        _half_difference(frame, 1, 0),
    )
    diagonal = axis_product(frame, 0, 0), axis_product(frame, 1, 1), axis_product(frame, 2, 2)
    sine, cosine = norm(n), 0.5 * (diagonal[0] + diagonal[1] + diagonal[2] - 1.0)
    turn = np.arctan2(sine, cosine)
    if cosine > NEAR_HALF_A_TURN:
        return times(turn / sine if sine > NO_AXIS else 1.0, n)
    # the sine has no digits left there; (R + R^T) / 2 - cos E is n n^T (1 - cos)
    best = 0
    for i in range(1, 3):
        if diagonal[i] > diagonal[best]:
            best = i
    column = (
        _half_sum(frame, 0, best) - (cosine if best == 0 else 0.0),
        _half_sum(frame, 1, best) - (cosine if best == 1 else 0.0),
        _half_sum(frame, 2, best) - (cosine if best == 2 else 0.0),
    )
    side = 1.0 if inner(column, n) >= 0.0 else -1.0
    return times(side * turn / norm(column), column)
