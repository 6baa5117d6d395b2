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

"""Poses of a record: what the loops say about joints that were not measured, and about all."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.dynamics.constraints import constraint_jacobian
from closed_chain_dynamics.dynamics.tree import difference, integrate
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.studies.motion.closed_fit import closed, fit_closed
from closed_chain_dynamics.studies.motion.tracks import Tracks

__all__ = [
    'completed_tracks', 'coordinates_of', 'filled_poses', 'least_open', 'nearest_closed',
]  # fmt: skip

GAUSS_NEWTON_ITERATIONS = 30  # of Gauss-Newton: few are needed, the gaps are small
SETTLED_POSE = 1e-13  # a step of Gauss-Newton below this changes nothing [rad or m]


def least_open(robot: Mechanism, q: Array, free: NDArray[np.bool_]) -> Array:
    """Return the pose whose loops are least open, when only some coordinates may move."""
    error = constraint_jacobian(robot, q)[1]
    if not (error.size and free.any()):
        return q
    for _ in range(GAUSS_NEWTON_ITERATIONS):
        J_C = constraint_jacobian(robot, q)[0]
        step = np.zeros(robot.nv)
        step[free] = np.linalg.lstsq(J_C[:, free], -error, rcond=1e-9)[0]
        if np.abs(step).max() < SETTLED_POSE:
            break
        for half in range(GAUSS_NEWTON_ITERATIONS):
            tried = integrate(robot, q, 0.5**half * step)
            new = constraint_jacobian(robot, tried)[1]
            if new @ new < error @ error:
                q, error = tried, new
                break
        else:
            break
    return q


def coordinates_of(robot: Mechanism, joints: Iterable[str]) -> NDArray[np.bool_]:
    """Return which coordinates belong to some joints, bool (nv,)."""
    mine = np.zeros(robot.nv, dtype=bool)
    for joint in joints:
        mine[robot.joint_slices(joint)[1]] = True
    return mine


def filled_poses(robot: Mechanism, tracks: Tracks, q: Array) -> Array:
    """Return the poses, (samples, nq): as measured, the other joints as the loops want them."""
    free = coordinates_of(
        robot, [joint for joint in robot.joint_names if joint not in tracks.joints]
    )
    poses = []
    for k in range(len(tracks.time)):
        q = q.copy()
        for joint, track in tracks.joints.items():
            q[robot.joint_slices(joint)[0]] = track[0][k]
        q = least_open(robot, q, free)
        poses.append(q)
    return np.array(poses)


def nearest_closed(robot: Mechanism, measured: Sequence[str], poses: Array) -> Array:
    """Return the closed poses with the least sum of squares of changes of what was measured."""
    counts = coordinates_of(robot, measured)
    J = np.eye(robot.nv)[counts]
    found = []
    for recorded in poses:

        def away(q: Array) -> tuple[Array, Array]:
            return difference(robot, recorded, q)[counts], J

        found.append(fit_closed(robot, closed(robot, recorded), away))
    return np.array(found)


def completed_tracks(robot: Mechanism, tracks: Tracks, poses: Array) -> Tracks:
    """Return Tracks of all joints: those that were measured, and those that the loops gave."""
    from scipy.interpolate import CubicSpline

    complete = Tracks(tracks.time)
    for joint in robot.joint_names:
        place, mine = robot.joint_slices(joint)
        if joint in tracks.joints:
            complete.joints[joint] = (poses[:, place], *tracks.joints[joint][1:])
        else:  # in the tangent from the first pose, which for one coordinate is the angle itself
            moved = CubicSpline(
                tracks.time, np.array([difference(robot, poses[0], q)[mine] for q in poses])
            )
            complete.joints[joint] = (
                poses[:, place],
                moved(tracks.time, 1),
                moved(tracks.time, 2),
            )
    return complete
