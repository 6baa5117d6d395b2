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
from math import isfinite
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
ONES = np.ones(4)


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
        self._names: list[str] = []
        self._picked: NDArray[np.int_] | None = None  # q, then v, among the numbers of a message

    def read(self, raw: bytes) -> State | None:
        """Return stamp, names, positions as in q and velocities."""
        return self._quick(raw) or self._slow(raw)

    def _quick(self, raw: bytes) -> State | None:
        """Return the same; None where something is unusual."""
        again = self._read.again(raw)
        if again is None or self._picked is None:
            if self._read.read(raw) is None:
                return None
            self._plan(self._read.names)
            again = self._read.again(raw)
        if again is None or self._picked is None:
            return None
        stamp, numbers = again
        both, turns = numbers[self._picked], numbers[self._turns]
        off = (turns * turns).dot(ONES) - 1.0
        # a finite sum of squares has no other terms
        if not (isfinite(both.dot(both)) and off.dot(off) < UNIT * UNIT):
            return None
        return stamp, self._names, both[: self._n_q], both[self._n_q :]

    def _plan(self, names: list[str]) -> None:
        """Note where q and v of free and spherical joints stand among a message's numbers."""
        self._names, self._picked = names, None
        robot, (in_transforms, in_twists, _) = self._robot, self._read.firsts
        if any(count != len(names) for count in self._read.counts[:2]):
            return
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
            in_q += range(in_transforms + 7 * k + first, in_transforms + 7 * k + 7)
            in_v += range(in_twists + 6 * k + first, in_twists + 6 * k + 6)
        self._picked, self._n_q = np.array(in_q + in_v, int), len(in_q)
        self._turns = in_transforms + 7 * np.arange(len(names))[:, None] + np.arange(3, 7)

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
