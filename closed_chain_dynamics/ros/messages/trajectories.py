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

"""Messages that ask for a motion: JointTrajectory out of numbers, of a pose or of a file."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.ros.messages.state_messages import set_duration
from closed_chain_dynamics.studies.motion.reading import read_trajectory

__all__ = ['file_trajectory', 'pose_trajectory', 'trajectory']

POINT_PARTS = ('positions', 'velocities', 'accelerations')
ROWS = 100.0  # points per second that are made of a file
EASE = 0.5  # from rest into the motion of a file, and out of it [s]


def trajectory(
    names: Sequence[str], times: Iterable[float], *orders: ArrayLike
) -> JointTrajectory:
    """Return a message: positions, and derivatives where given, (times, joints) each [s]."""
    message = JointTrajectory(joint_names=list(names))
    for moment, *rows in zip(times, *(np.asarray(order).tolist() for order in orders)):
        point = JointTrajectoryPoint(**dict(zip(POINT_PARTS, rows)))
        set_duration(point.time_from_start, moment)
        message.points.append(point)
    return message


def pose_trajectory(pose: Mapping[str, float], within: float) -> JointTrajectory:
    """Return a message that asks for positions, {joint: rad or m}, within a time [s]."""
    return trajectory(list(pose), [within], [list(pose.values())])


def file_trajectory(
    robot: Mechanism, path: Path, *, approach: float
) -> tuple[JointTrajectory, float]:
    """Return the message of a CSV, its first row reached within `approach`, and its end [s]."""
    tracks = read_trajectory(robot, path, ROWS, ease=EASE)
    wide = [name for name, (q, _, _) in tracks.joints.items() if q.shape[1] > 1]
    if wide:
        raise ClosedChainError(
            f'the joint {wide[0]!r} has several degrees of freedom, and a JointTrajectory '
            'cannot say how it moves',
            file=path,
            repair='Leave its columns out; it is moved by the other joints and the loops.',
        )
    times = (tracks.time - tracks.time[0] + approach).tolist()
    orders = [
        np.column_stack([track[k][:, 0] for track in tracks.joints.values()]) for k in range(3)
    ]
    return trajectory(list(tracks.joints), times, *orders), times[-1]
