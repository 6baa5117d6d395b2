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
Measured joints out of messages: names, positions as in q, velocities, and why not.

JointState has the joints of one degree of freedom; MultiDOFJointState, where somebody publishes
it, the others, and a state is complete when both with the same stamp are there: once there was a
second half, a first one alone is no state any more. Stamps that differ by less than SAME_TIME are
the same: two publishers seldom read the clock in the same nanosecond. Joints that come in several
messages are put together, as long as none is older than `merge_within`. A simulator in step with
its controller writes what is closed into the frame_id of its joint states, see contacts.py. Names
that the model does not have are left out, counted and named; a message with a wrong size, a name
twice or a number that is not finite is refused as a whole. A velocity may be nan.
"""

from collections.abc import Callable, Iterable
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import JointState

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.ros.messages.multi_dof_reader import (
    MultiDofReader,
    State,
    deserialized,
    size_in_v,
)
from closed_chain_dynamics.ros.messages.raw_states import Stamp, read_joint_state

__all__ = ['MeasuredStates', 'State', 'seconds']

MOST_UNPAIRED = 6  # halves in a row, of both kinds, that found no other before it is told
SAME_TIME = 2e-4  # between the stamps of two halves of a state [s]
MOST_BYTES, MOST_BYTES_PER_JOINT = 2**14, 2**8  # of a message; longer ones would hold up a turn


def seconds(stamp: Any) -> float:
    """Return a builtin_interfaces/Time, or a pair (sec, nanosec), in seconds."""
    sec, nanosec = stamp if isinstance(stamp, tuple) else (stamp.sec, stamp.nanosec)
    return float(sec + 1e-9 * nanosec)


class MeasuredStates:
    """
    Turns the bytes of messages into states; `reject(reason, text)` is told what is bad.

    `wanted`: joints that have to be there. Messages come in through `joint_states` and
    `multi_dof`; both return ((sec, nanosec), names, positions, velocities) or None. Velocities
    that were not given are nan. `pairs`: whether the other half of a state is waited for;
    `on_frame(frame_id)` is told before a state with another frame_id is looked at; `join(state)`
    adds what comes from elsewhere, such as the base (base_topics.py), or returns None.
    """

    def __init__(
        self,
        robot: Mechanism,
        reject: Callable[[str, str], None],
        *,
        wanted: Iterable[str] = (),
        pairs: bool = True,
        merge_within: float = 0.05,
        on_frame: Callable[[str], None] | None = None,
        join: Callable[[State], State | None] | None = None,
    ) -> None:
        self.robot, self._reject, self._wanted = robot, reject, list(wanted)
        self._pairs, self._frame, self._on_frame = pairs, '', on_frame
        self._merge_within, self._join = merge_within, join
        self._read_single, self._multi_reader = read_joint_state(), MultiDofReader(robot, reject)
        self.restructured()

    def restructured(self) -> None:
        """Take note that joints were connected or cut."""
        self._names: list[str] | None = None
        self._problem: tuple[str, str] | None = None
        self._single: list[str] = []
        self._places = np.zeros(0, dtype=int)
        # positions, then velocities, among the numbers of a message
        self._picked: NDArray[np.int_] | None = None
        self._complete: list[str] | None = None  # names that have all that are wanted
        self._multi_reader.restructured()
        self._half: State | None = None
        self._multi: State | None = None
        self._unpaired = 0
        self._parts: dict[str, tuple[float, Vector, Vector]] = {}
        self._merged: list[str] = []
        self._is_halved = self.is_in_step and any(
            size_in_v(self.robot, name) > 1 for name in self.robot.joint_names
        )

    @property
    def is_in_step(self) -> bool:
        """Return whether states come from a simulator that waits for the answer to each."""
        return self._frame.startswith('{')

    def joint_states(self, raw: bytes) -> State | None:
        """Take the bytes of a JointState; return the state if it is complete."""
        if self._is_too_large(raw, 'joint_states'):
            return None
        half = self._like_the_last(raw) or self._anew(raw)
        if half is None:
            return None
        self._half = half
        if self._join is not None:
            whole = self._checked(half)
            return None if whole is None else self._join(whole)
        return self._pair() if self._pairs and self._is_halved else self._checked(half)

    def _like_the_last(self, raw: bytes) -> State | None:
        """Return what `_anew` does, for a message like the last one, where that was good."""
        again = self._read_single.again(raw) if self._picked is not None else None
        if again is None:
            return None
        stamp, numbers = again
        both, count = numbers[self._picked], len(self._single)
        if not isfinite(both.dot(both)):  # a finite sum of squares has no other terms
            return None
        return stamp, self._single, both[:count], both[count:]

    def _anew(self, raw: bytes) -> State | None:
        """Return the joints of one degree in a message that may be any, or None."""
        self._picked = None
        unpacked = self._unpack(raw)
        if unpacked is None:
            return None
        stamp, frame, names, (position, velocity) = unpacked
        if frame != self._frame:
            self._frame = frame
            if self._on_frame:
                self._on_frame(frame)
            self.restructured()
        if names is not self._names and names != self._names:
            self._plan(list(names))
        self._names = names  # the same list as long as names stay
        if self._problem:
            self._reject(*self._problem)
            return None
        count = len(names)
        if len(position) != count or len(velocity) not in (0, count):
            self._reject(
                'wrong size',
                f'joint_states: {count} names with {len(position)} '
                f'positions and {len(velocity)} velocities',
            )
            return None
        if self._unknown:
            self._reject(
                'unknown joint',
                f'joint_states: {", ".join(self._unknown)} left out, '
                'not in the model as joints of one degree',
            )
        position = position[self._places]
        rates = velocity[self._places] if len(velocity) else np.full(len(position), np.nan)
        # nan as a velocity is how joint_state_broadcaster says that nobody measures it
        bad = ~np.isfinite(position) | np.isinf(rates)
        if bad.any():
            k = int(np.flatnonzero(bad)[0])
            self._reject(
                'not finite',
                f'joint_states: {self._single[k]!r} is at {position[k]} with velocity {rates[k]}',
            )
            return None
        if len(velocity) and not self._unknown and names is self._read_single.names:
            in_position, in_velocity, _ = self._read_single.firsts
            self._picked = np.append(in_position + self._places, in_velocity + self._places)
        return stamp, self._single, position, rates

    def _unpack(self, raw: bytes) -> tuple[Stamp, str, list[str], tuple[Vector, Vector]] | None:
        """Return stamp, frame_id, names, positions and velocities."""
        read = self._read_single.read(raw)
        if read:
            stamp, names, (position, velocity, _) = read
            return stamp, self._read_single.frame, names, (position[:, 0], velocity[:, 0])
        message = deserialized(raw, JointState, self._reject)
        if message is None:
            return None
        stamp = message.header.stamp
        return (
            (stamp.sec, stamp.nanosec),
            message.header.frame_id,
            list(message.name),
            (np.array(message.position, dtype=float), np.array(message.velocity, dtype=float)),
        )

    def _is_too_large(self, raw: bytes, what: str) -> bool:
        """Return whether a message is longer than ten robots like this would need."""
        most = MOST_BYTES + MOST_BYTES_PER_JOINT * len(self.robot.joint_names)
        if len(raw) > most:
            self._reject('too large', f'{what}: {len(raw)} bytes, at most {most}')
        return len(raw) > most

    def multi_dof(self, raw: bytes) -> State | None:
        """Take the bytes of a MultiDOFJointState; return the state if it is complete."""
        if self._is_too_large(raw, 'multi_dof_joint_states'):
            return None
        self._multi = self._multi_reader.read(raw)
        if self._multi is None:
            return None
        self._is_halved = self._is_halved or bool(self._multi[1])
        return self._pair()

    def _pair(self) -> State | None:
        """Return both halves together if they are of the same time."""
        if self._half is None or self._multi is None:
            return None
        apart = 0.0
        if self._half[0] != self._multi[0]:
            apart = seconds(self._half[0]) - seconds(self._multi[0])
        if not abs(apart) < SAME_TIME:
            self._unpaired += 1  # its half is still to come, unless it never does
            if self._unpaired > MOST_UNPAIRED:
                where = 'ahead of' if apart > 0.0 else 'behind'
                self._reject(
                    'unpaired',
                    f'joint_states is {abs(apart):.3g} s {where} multi_dof_joint_states',
                )
            return None
        self._unpaired = 0
        (stamp, names, position, velocity), (_, more, q, v) = self._half, self._multi
        self._half = None
        if self._joined[:2] != (names, more):
            self._joined = names, more, [*names, *more]
        return self._checked(
            (stamp, self._joined[2], np.concatenate([position, q]), np.concatenate([velocity, v]))
        )

    # names of both halves, and together
    _joined: tuple[list[str], list[str], list[str]] = [], [], []

    def _checked(self, state: State) -> State | None:
        if state[1] is self._complete:
            return state
        missing = [name for name in self._wanted if name not in state[1]]
        if not missing:
            self._complete = state[1]
            return state
        merged = self._merge(state)
        missing = [name for name in self._wanted if name not in merged[1]]
        if missing:
            self._reject('missing joint', f'joint_states: {", ".join(missing)} missing')
            return None
        return merged

    def _merge(self, state: State) -> State:
        """Return a state with what other messages said about other joints a moment ago."""
        stamp, names, position, velocity = state
        now, first = seconds(stamp), [0, 0]
        for name in names:
            slices = self.robot.joint_slices(name)
            ends = [first[k] + slices[k].stop - slices[k].start for k in (0, 1)]
            self._parts[name] = now, position[first[0] : ends[0]], velocity[first[1] : ends[1]]
            first = ends
        fresh = {
            name: (q, v)
            for name, (when, q, v) in self._parts.items()
            if abs(now - when) <= self._merge_within
        }
        if list(fresh) != self._merged:
            self._merged = list(fresh)  # the same list as long as names stay
        return (
            stamp,
            self._merged,
            np.concatenate([np.zeros(0), *(q for q, _ in fresh.values())]),
            np.concatenate([np.zeros(0), *(v for _, v in fresh.values())]),
        )

    def _plan(self, names: list[str]) -> None:
        """Note where the joints of the model stand in messages with these names."""
        robot = self.robot
        known = {
            name: place
            for place, name in enumerate(names)
            if name in robot.joint_names and size_in_v(robot, name) == 1
        }
        loops = set(robot.loop_coordinate_names)  # coordinates of cut joints follow from the tree
        self._unknown = [name for name in names if name not in known and name not in loops]
        self._single, self._problem = list(known), None
        self._places = np.array(list(known.values()), dtype=int)
        if len(set(names)) < len(names):
            twice = next(name for k, name in enumerate(names) if name in names[:k])
            self._problem = 'wrong size', f'joint_states: {twice!r} is named twice'
        elif not known and names:
            self._problem = (
                'unknown joint',
                f'joint_states: none of {", ".join(names[:5])} is in the model',
            )
