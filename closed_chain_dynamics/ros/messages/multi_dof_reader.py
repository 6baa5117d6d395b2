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

"""Joints of several degrees out of messages: a quick way for what is usual, ROS's for the rest."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import MultiDOFJointState

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.ros.messages.raw_states import Stamp, read_multi_dof
from closed_chain_dynamics.ros.messages.state_messages import multi_dof_states

__all__ = ['MultiDofReader', 'State', 'deserialized', 'size_in_v']

State = tuple[Stamp, list[str], Vector, Vector]  # stamp, names, positions, velocities
UNIT = 1e-9  # a quaternion whose square is closer to one is taken as it is


def deserialized(raw: bytes, kind: Any, reject: Callable[[str, str], None]) -> Any:
    """Return a message as ROS reads it, None where the bytes are no such message."""
    try:
        return deserialize_message(raw, kind)
    except RuntimeError as error:  # what the middleware raises is one
        reject('malformed', f'{kind.__name__}: {error}')
        return None


def size_in_v(robot: Mechanism, name: str) -> int:
    """Return how many velocities a joint has."""
    in_v = robot.joint_slices(name)[1]
    return int(in_v.stop - in_v.start)


class MultiDofReader:
    """Reads the bytes of a MultiDOFJointState; `reject(reason, text)` is told what is bad."""

    def __init__(self, robot: Mechanism, reject: Callable[[str, str], None]) -> None:
        self._robot, self._reject, self._read = robot, reject, read_multi_dof()
        self.restructured()

    def restructured(self) -> None:
        """Take note that joints were connected or cut."""
        self._names: list[str] | None = None
        self._in_transforms: NDArray[np.int_] | None = None

    def read(self, raw: bytes) -> State | None:
        """Return stamp, names, positions as in q and velocities."""
        return self._quick(raw) or self._slow(raw)

    def _quick(self, raw: bytes) -> State | None:
        """Return the same; None where something is unusual."""
        read = self._read.read(raw)
        if read is None:
            return None
        stamp, names, (transforms, twists, _) = read
        if names is not self._names:
            self._plan(names)
        if self._in_transforms is None or not len(transforms) == len(twists) == len(names):
            return None
        position = transforms.ravel()[self._in_transforms]
        velocity = twists.ravel()[self._in_twists]
        squares = np.einsum('ij,ij->i', transforms[:, 3:], transforms[:, 3:])
        good = np.abs(squares - 1.0).max(initial=0.0) < UNIT and np.isfinite(
            position.sum() + velocity.sum()
        )
        return (stamp, names, position, velocity) if good else None

    def _plan(self, names: list[str]) -> None:
        """Note where the parts of q and v stand in the numbers of free and spherical joints."""
        self._names, self._in_transforms = names, None
        robot = self._robot
        in_q: list[int] = []
        in_v: list[int] = []
        for k, name in enumerate(names):
            if (
                name not in robot.joint_names
                or names.count(name) > 1
                or size_in_v(robot, name) == 1
                or robot.is_planar(name)
            ):
                return
            first = 0 if size_in_v(robot, name) == 6 else 3
            in_q += range(7 * k + first, 7 * k + 7)
            in_v += range(6 * k + first, 6 * k + 6)
        self._in_transforms, self._in_twists = np.array(in_q, int), np.array(in_v, int)

    def _slow(self, raw: bytes) -> State | None:
        message = deserialized(raw, MultiDOFJointState, self._reject)
        if message is None:
            return None
        try:
            parts = multi_dof_states(self._robot, message)
        except ClosedChainError as error:
            self._reject('multi_dof_joint_states', str(error))
            return None
        rates = [
            np.full(size_in_v(self._robot, name), np.nan) if v is None else v
            for name, (_, v) in parts.items()
        ]
        stamp, nothing = message.header.stamp, np.zeros(0)
        return (
            (stamp.sec, stamp.nanosec),
            list(parts),
            np.concatenate([nothing, *(q for q, _ in parts.values())]),
            np.concatenate([nothing, *rates]),
        )
