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
A description at a pose: where its links stand, and what its loop joints show there.

SDF has one frame for both ends of a joint and counts every joint from the pose in which the file
places the links, so that a file with loops is written in a pose that closes them.
"""

from collections.abc import Mapping
import math

import numpy as np

from closed_chain_dynamics.description.elements import (
    Description,
    Joint,
    JointType,
    LoopJoint,
    LoopType,
    Numbers,
    Pose,
)
from closed_chain_dynamics.description.left_out import LeftOut
from closed_chain_dynamics.description.rotations import rotation, rotation_to, turn
from closed_chain_dynamics.description.sdf_frames import NO_OFFSET, Offset, chained, relative
from closed_chain_dynamics.description.tree import Tree
from closed_chain_dynamics.errors import DescriptionError, NameNotFound

__all__ = ['Positions', 'check_positions', 'loop_coordinate', 'placements', 'refuse_open_loops']

# as in an Assembly; a joint that is not named is at zero
Positions = Mapping[str, float | Numbers]
CLOSED_IN_FILE = (
    1e-9  # how far a loop may be open in the pose of a file, without a word [m or rad]
)
ROUNDED_LOOPS = 1e-6  # what `assemble` leaves open where the digits of a file do not close a loop


def _moved(joint: Joint, positions: Positions) -> Offset:
    """Return the child's frame in the parent's, with the joint where the positions put it."""
    origin: Offset = (joint.origin.rotation, joint.origin.position)
    if joint.type is JointType.FIXED or joint.name not in positions:
        return origin
    held = np.atleast_1d(np.asarray(positions[joint.name], dtype=float))
    if joint.type is JointType.PRISMATIC:
        return chained(origin, (np.eye(3), held[0] * np.array(joint.axis)))
    if joint.type in (JointType.SPHERICAL, JointType.FLOATING):
        x, y, z, w = held[-4:]
        place = np.zeros(3) if joint.type is JointType.SPHERICAL else held[:3]
        return chained(origin, (rotation((w, x, y, z)), place))
    return chained(origin, (turn(joint.axis, float(held[0])), np.zeros(3)))


def check_positions(description: Description, positions: Positions) -> None:
    """Raise unless every position is of a joint, finite, and of as many numbers as it has."""
    numbers = {joint.name: joint.type.nq for joint in description.joints}
    for name, value in positions.items():
        if name not in numbers:
            raise NameNotFound('joint', name, numbers, file=description.file, where='pose')
        held = np.ravel(value)
        if held.size != numbers[name] or not np.all(np.isfinite(held)):
            raise DescriptionError(
                f'the position of the joint {name!r} is {value}',
                file=description.file,
                where='pose',
                repair=f'Give {numbers[name]} finite numbers, its part of q.',
            )


def placements(description: Description, positions: Positions) -> dict[str, Offset]:
    """Return where every link stands, by name, with the root at the origin."""
    places = {description.root: NO_OFFSET}
    for joint in Tree(description.joints).outward(description.root):
        places[joint.child] = chained(places[joint.parent], _moved(joint, positions))
    return places


def refuse_open_loops(
    description: Description,
    loops: tuple[LoopJoint, ...],
    places: dict[str, Offset],
    left_out: LeftOut,
) -> None:
    """Raise where a loop is open in the pose that the file is to show; tell of rounded digits."""
    for loop in loops:
        gap = _gap(loop, places)
        if CLOSED_IN_FILE <= gap < ROUNDED_LOOPS:
            left_out.change(
                f'loops that were open by at most {ROUNDED_LOOPS:g} are closed', loop.name
            )
        elif not gap < CLOSED_IN_FILE:
            raise DescriptionError(
                f'the loop is open by {gap:.2g} in the pose to be written, which SDF cannot '
                'express',
                file=description.file,
                where=f'loop {loop.name!r}',
                repair='Give `pose` with joint positions that close the loops, as `assemble` '
                'finds them.',
            )


def loop_coordinate(loop: LoopJoint, places: dict[str, Offset]) -> float:
    """Return the turn [rad] or the slide [m] of a revolute or prismatic loop joint."""
    R, p = relative(*_ends(loop, places))
    return float(p[2]) if loop.type is LoopType.PRISMATIC else math.atan2(R[1, 0], R[0, 0])


def _ends(loop: LoopJoint, places: dict[str, Offset]) -> list[Offset]:
    """Return the loop frames of parent and child with the axis of the joint as z."""
    ends: tuple[tuple[str, Pose, Numbers], ...] = (
        (loop.parent, loop.parent_origin, loop.parent_axis),
        (loop.child, loop.child_origin, loop.child_axis),
    )
    axial = loop.type in (LoopType.REVOLUTE, LoopType.PRISMATIC, LoopType.UNIVERSAL)
    found = []
    for link, origin, axis in ends:
        R, p = chained(places[link], (origin.rotation, origin.position))
        found.append((R @ rotation_to(axis) if axial else R, p))
    return found


def _gap(loop: LoopJoint, places: dict[str, Offset]) -> float:
    """Return the largest violation of a loop [m or rad]."""
    R, p = relative(*_ends(loop, places))
    along = p[:2] if loop.type is LoopType.PRISMATIC else p
    turns = {
        LoopType.FIXED: np.abs(R - np.eye(3)),
        LoopType.PRISMATIC: np.abs(R - np.eye(3)),
        LoopType.REVOLUTE: np.abs(R[:, 2] - np.array([0.0, 0.0, 1.0])),
        LoopType.UNIVERSAL: np.abs(R[2, 2]),
    }.get(loop.type, np.zeros(1))
    return float(max(np.max(np.abs(along)), np.max(turns)))
