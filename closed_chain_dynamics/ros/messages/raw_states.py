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
Joint states read from the bytes of their messages, and torques written into them, because Python
objects for them cost more time than the torques do.

The bytes are CDR, little endian: numbers aligned to their size, strings and sequences behind
their count. Names seldom change, so they are read once and compared as bytes. What is encoded in
another way, or does not add up, is left to ROS: then `read` returns None.
"""

import struct
from typing import Any

import numpy as np
from rclpy.serialization import serialize_message

from closed_chain_dynamics.arrays import Vector

__all__ = ['RawMessage', 'RawReader', 'Stamp', 'read_joint_state', 'read_multi_dof']

PLAIN_CDR = b'\x00\x01'  # little endian, first version of the encoding
BEGIN = 4  # behind the header of the encoding, from where alignment counts
NAMES = BEGIN + 8  # behind the stamp: frame_id, then names
Stamp = tuple[int, int]  # sec, nanosec


class RawMessage:
    """
    A message that is serialized once; later its stamp and its last numbers are written in place.

    `field` is the last one of the message, a sequence of doubles, and will have `count` of them.
    """

    def __init__(self, message: Any, field: str, count: int) -> None:
        marks = np.pi + np.arange(count)  # bytes that nothing else in the message has
        setattr(message, field, marks.tolist())
        raw = serialize_message(message)  # may be longer than the message
        place = raw.rindex(marks.tobytes())
        self._bytes = bytearray(raw[: place + marks.nbytes])
        self.numbers = np.frombuffer(self._bytes, offset=place) if count else marks
        self.numbers[:] = 0.0

    def stamp(self, sec: int, nanosec: int) -> None:
        """Write the stamp of a message that begins with a Header."""
        struct.pack_into('=iI', self._bytes, BEGIN, sec, nanosec)

    def __bytes__(self) -> bytes:
        return bytes(self._bytes)


class RawReader:
    """Reads messages that begin with a Header and names, and go on with sequences of doubles."""

    def __init__(self, *widths: int) -> None:
        self._widths = widths  # doubles in one entry of each sequence
        self.names: list[str] = []
        self.frame, self._end = '', 0
        self._prefix: bytes | None = None

    def read(self, raw: bytes) -> tuple[Stamp, list[str], list[Vector]] | None:
        """Return (sec, nanosec), names and an array (entries, width) per sequence, or None."""
        try:
            if raw[:2] != PLAIN_CDR:
                return None
            if self._prefix is None or raw[NAMES : self._end] != self._prefix:
                self._read_names(raw)
            place, arrays = self._end, []
            for width in self._widths:
                (count,) = struct.unpack_from('<I', raw, place)
                place += 4
                if count:
                    place += (BEGIN - place) % 8
                    arrays.append(
                        np.frombuffer(raw, '<f8', count * width, place).reshape(count, width)
                    )
                    place += 8 * count * width
                else:
                    arrays.append(np.zeros((0, width)))
            return struct.unpack_from('<iI', raw, BEGIN), self.names, arrays
        except (struct.error, ValueError):
            self._prefix = None
            return None

    def _read_names(self, raw: bytes) -> None:
        frame, place = _string(raw, NAMES)
        place += -place % 4
        (count,) = struct.unpack_from('<I', raw, place)
        names, place = [], place + 4
        for _ in range(count):
            name, place = _string(raw, place + -place % 4)
            names.append(name)
        self.names, self.frame, self._end = names, frame, place + -place % 4
        self._prefix = raw[NAMES : self._end]


def _string(raw: bytes, place: int) -> tuple[str, int]:
    """Return a string and the place behind it."""
    (length,) = struct.unpack_from('<I', raw, place)
    if place + 4 + length > len(raw):
        raise ValueError('the message ends within a string')
    # a string ends where the first zero stands, as for everybody who reads it with ROS
    text, _, _ = raw[place + 4 : place + 4 + length].partition(b'\0')
    return text.decode(), place + 4 + length


def read_joint_state() -> RawReader:
    """Return a reader of sensor_msgs/JointState: position, velocity and effort."""
    return RawReader(1, 1, 1)


def read_multi_dof() -> RawReader:
    """Return a reader of sensor_msgs/MultiDOFJointState: transforms, twists and wrenches."""
    return RawReader(7, 6, 6)
