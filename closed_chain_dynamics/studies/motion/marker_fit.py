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
Poses that fit recorded markers: inverse kinematics of a mechanism with loops.

Every frame is a problem of least squares over theta_G: the sum over all markers that were seen of
weight times squared distance from where the model has them. A frame starts from the one before;
the first is turned and moved as a whole to its markers where the model flies freely.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.dynamics.tree import jacobian, link_placements
from closed_chain_dynamics.errors import ClosedChainError, StateError
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.recording.terminal import Progress
from closed_chain_dynamics.studies.motion.bvh import ALONG
from closed_chain_dynamics.studies.motion.closed_fit import fit_closed
from closed_chain_dynamics.studies.motion.marker_files import MarkerRecord

__all__ = ['Marker', 'MarkerFit', 'fit_markers', 'markers_by_name']

FEWEST_MARKERS = 3  # markers of a frame, below which nothing is fitted
OPENED = 1e-6  # a loop to the world that a whole motion opens so far holds the model [m or rad]


@dataclass(frozen=True)
class Marker:
    """Where a marker sits: a point of a link, in its axes [m], and what its error counts."""

    link: str
    xyz: tuple[float, float, float] = (0.0, 0.0, 0.0)
    weight: float = 1.0


@dataclass(frozen=True, eq=False)
class MarkerFit:
    """Poses of a record, (frames, nq), and {marker: how far off it is (frames,)} [m]."""

    record: MarkerRecord
    markers: dict[str, Marker]
    poses: Array
    errors: dict[str, Array]  # NaN where the marker was not seen

    @property
    def rms(self) -> float:
        """Return the root mean square of all errors [m]."""
        return float(np.sqrt(np.nanmean(np.square([*self.errors.values()]))))

    @property
    def unused(self) -> list[str]:
        """Return the markers of the record that have no place on the model."""
        return [each for each in self.record.names if each not in self.markers]

    def worst(self) -> tuple[str, int]:
        """Return the marker with the largest error, and its frame."""
        table = np.nan_to_num(np.array([*self.errors.values()]))
        marker, frame = np.unravel_index(int(np.argmax(table)), table.shape)
        return [*self.errors][marker], int(frame)


def markers_by_name(robot: Mechanism, record: MarkerRecord) -> dict[str, Marker]:
    """
    Return places of markers that are named like a link, or like a point on its axes.

    'shank' is the origin of the link shank; 'shank+x' is the point 0.1 m along its x axis, as the
    joints of a BVH file give it.
    """
    links, found = {each.name for each in robot.description.links}, {}
    for name in record.names:
        link, _, axis = name.rpartition('+')
        if name in links:
            found[name] = Marker(name)
        elif link in links and axis in ('x', 'y', 'z'):
            x, y, z = ALONG * np.eye(3)['xyz'.index(axis)]
            found[name] = Marker(link, (float(x), float(y), float(z)))
    return found


def fit_markers(
    robot: Mechanism,
    record: MarkerRecord,
    start: Array,
    markers: Mapping[str, Marker] | None = None,
    *,
    progress: Progress | None = None,
) -> MarkerFit:
    """Return the MarkerFit of a record from a closed pose; `markers`: {name: Marker}."""
    placed = dict(markers_by_name(robot, record) if markers is None else markers)
    absent = [name for name in placed if name not in record.names]
    if absent:
        raise ClosedChainError(
            f'the marker {absent[0]!r} is placed on the model but is not in the record',
            file=record.file,
            repair=f'It has {", ".join(record.names[:12])}.',
        )
    if len(placed) < FEWEST_MARKERS:
        raise ClosedChainError(
            f'{len(placed)} markers are placed on {robot.name}, '
            f'and at least {FEWEST_MARKERS} are needed',
            file=record.file,
            repair='State where they are attached, for instance markers: {knee: {link: shank, '
            'xyz: [0, 0.05, 0]}}, or name them after links.',
        )
    places = [*placed.values()]
    columns = [record.names.index(name) for name in placed]
    points = record.points[:, columns]
    seen = np.all(np.isfinite(points), axis=2)
    blind = np.flatnonzero(seen.sum(axis=1) < FEWEST_MARKERS)
    if blind.size:
        raise StateError(
            f'at {record.time[blind[0]]:.6g} s fewer than {FEWEST_MARKERS} markers were seen',
            where=record.file,
            repair='Fill the gaps of the record, or cut it to the frames that have them.',
        )
    q, poses, errors = _aligned(robot, start, places, points[0]), [], []
    for k, frame in enumerate(points):
        q = fit_closed(robot, q, _Distances(robot, places, frame, seen[k]))
        poses.append(q)
        errors.append(np.linalg.norm(_points(robot, q, places) - frame, axis=1))
        if progress:
            progress((k + 1) / len(points))
    return MarkerFit(record, placed, np.array(poses), dict(zip(placed, np.array(errors).T)))


def _points(robot: Mechanism, q: Array, places: list[Marker]) -> Array:
    """Return where the model has the markers, (markers, 3) [m]."""
    X = link_placements(robot, q)
    return np.array(
        [X[each.link][:3, 3] + X[each.link][:3, :3] @ np.array(each.xyz) for each in places]
    )


class _Distances:
    """Distances of markers that were seen, times the root of their weights, and derivatives."""

    def __init__(self, robot: Mechanism, places: list[Marker], frame: Array, seen: Array) -> None:
        self.robot = robot
        self.places = [each for each, there in zip(places, seen) if there]
        self.frame = frame[seen]
        self.root = np.sqrt([each.weight for each in self.places])

    def __call__(self, q: Array) -> tuple[Array, Array]:
        away = _points(self.robot, q, self.places) - self.frame
        J = [jacobian(self.robot, q, each.link, point=each.xyz)[:3] for each in self.places]
        r = (self.root[:, None] * away).ravel()
        return r, (self.root[:, None, None] * np.array(J)).reshape(len(r), -1)


def _aligned(robot: Mechanism, q: Array, places: list[Marker], frame: Array) -> Array:
    """Return the start, moved as a whole to the markers of a frame where the model may fly."""
    from scipy.spatial.transform import Rotation

    free = [each for each in robot.description.joints if each.type.nq == 7]
    if len(free) != 1 or free[0].parent != robot.description.root:
        return q
    seen, mine = np.all(np.isfinite(frame), axis=1), _points(robot, q, places)
    about, there = mine[seen].mean(axis=0), frame[seen].mean(axis=0)
    turn, _ = Rotation.align_vectors(frame[seen] - there, mine[seen] - about)
    joint, place = free[0].origin, robot.joint_slices(free[0].name)[0]
    R_0, p_0 = Rotation.from_matrix(joint.rotation), joint.position
    p = p_0 + R_0.apply(q[place][:3])
    moved = q.copy()
    moved[place] = [
        *R_0.inv().apply(there + turn.apply(p - about) - p_0),
        *(R_0.inv() * turn * R_0 * Rotation.from_quat(q[place][3:])).as_quat(),
    ]
    return moved if max(map(max, robot.loop_gaps(moved).values()), default=0.0) < OPENED else q
