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

"""Where links, loop joints and cut joints were in every sample of a log."""

from collections.abc import Mapping, Sequence

import numpy as np

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.description.elements import Pose
from closed_chain_dynamics.dynamics.tree import body_placements
from closed_chain_dynamics.model.changes import cut_joints
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['End', 'Track', 'link_tracks', 'loop_tracks']

Track = tuple[Array, Array]  # rotations (samples, ..., 3, 3) and positions (samples, ..., 3)
End = tuple[bool, Array, Array]  # of a joint: closed or not, where parent and child have it


def _body_tracks(robot: Mechanism, configurations: Sequence[Array] | Array) -> Track:
    """Return rotations (samples, bodies, 3, 3) and positions (samples, bodies, 3)."""
    bodies = np.empty((len(configurations), len(robot.model.bodies), 12))
    for sample, q in enumerate(configurations):
        bodies[sample] = body_placements(robot, q)
    return bodies[..., :9].reshape(*bodies.shape[:2], 3, 3), bodies[..., 9:]


def _moved(tracks: Track, body: int, R: Array, p: Array) -> Track:
    rotations, positions = tracks
    return rotations[:, body] @ R, positions[:, body] + rotations[:, body] @ p


def link_tracks(robot: Mechanism, configurations: Sequence[Array] | Array) -> dict[str, Track]:
    """Return placements in the world, {link: (rotations (samples, 3, 3), positions (.., 3))}."""
    tracks = _body_tracks(robot, configurations)
    return {link: _moved(tracks, *robot.link_frame(link)) for link in robot.link_names}


def loop_tracks(robot: Mechanism, tracks: Mapping[str, Track]) -> list[End]:
    """
    Return both ends of each loop joint and of each tree joint that is cut.

    A list of (whether it is closed, end on the parent, end on the child); `tracks` are those of
    the links, and the ends are (samples, 3) in the world [m].
    """
    apart = cut_joints(robot)
    ends = []
    for loop in robot.description.loops:
        ends.append(
            (
                robot.is_connected(loop.name),
                _point(tracks[loop.parent], loop.parent_origin),
                _point(tracks[loop.child], loop.child_origin),
            )
        )
    for joint in robot.description.joints:
        if joint.name in apart:
            ends.append(
                (False, _point(tracks[joint.parent], joint.origin), tracks[joint.child][1])
            )
    return ends


def _point(track: Track, origin: Pose) -> Array:
    rotations, positions = track
    point: Array = positions + rotations @ origin.position
    return point
