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

from itertools import pairwise
import struct
from typing import Any

import numpy as np
from rclpy.serialization import serialize_message

from closed_chain_dynamics.arrays import Vector

__all__ = ['RawMessage', 'RawReader', 'Stamp', 'read_joint_state', 'read_multi_dof']

PLAIN_CDR = b'\x00\x01'  # little endian, first version of the encoding
BEGIN = 4  # behind the header of the encoding, from where alignment counts
NAMES = BEGIN + 8  # behind the stamp: frame_id, then names
COUNT, STAMP = struct.Struct('<I'), struct.Struct('<iI')
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
    """
    Reads messages that begin with a Header and names, and go on with sequences of doubles.

    `counts`: entries of the sequences of the last message; `firsts`: where each begins in what
    `again` returns.
    """

    def __init__(self, *widths: int) -> None:
        self._widths = widths  # doubles in one entry of each sequence
        self.names: list[str] = []
        self.frame, self._end = '', 0
        self._prefix: bytes | None = None
        self.firsts: list[int] = []
        self.counts: tuple[int, ...] = ()
        self._length, self._counting = -1, COUNT  # of the last message, and what reads its counts
        self._words = 0, 0  # of eight bytes, from its first double on, and where that is

    def again(self, raw: bytes) -> tuple[Stamp, Vector] | None:
        """
        Return (sec, nanosec) and all numbers of a message like the one that was read last.

        They are in one array, with counts between the sequences, which mean nothing as numbers.
        None where anything but stamp and numbers is another.
        """
        if len(raw) != self._length or raw[NAMES : self._end] != self._prefix:
            return None
        if raw[:2] != PLAIN_CDR or self._counting.unpack_from(raw, self._end) != self.counts:
            return None
        return STAMP.unpack_from(raw, BEGIN), np.frombuffer(raw, '<f8', *self._words)

    def read(self, raw: bytes) -> tuple[Stamp, list[str], list[Vector]] | None:
        """Return (sec, nanosec), names and an array (entries, width) per sequence, or None."""
        try:
            if raw[:2] != PLAIN_CDR:
                return None
            if self._prefix is None or raw[NAMES : self._end] != self._prefix:
                self._read_names(raw)
            place, arrays, counts, starts, ends = self._end, [], [], [], [self._end]
            for width in self._widths:
                (count,) = COUNT.unpack_from(raw, place)
                place += 4
                if count:
                    place += (BEGIN - place) % 8
                    arrays.append(
                        np.frombuffer(raw, '<f8', count * width, place).reshape(count, width)
                    )
                else:
                    arrays.append(np.zeros((0, width)))
                counts.append(count)
                starts.append(place)
                place += 8 * count * width
                ends.append(place)
            if (len(raw), tuple(counts)) != (self._length, self.counts):
                self._remember(len(raw), counts, starts, ends)
            return STAMP.unpack_from(raw, BEGIN), self.names, arrays
        except (struct.error, ValueError):
            self._prefix, self._length = None, -1
            return None

    def _remember(
        self, length: int, counts: list[int], starts: list[int], ends: list[int]
    ) -> None:
        """Note how a message is laid out; its counts stand where the sequence before ends."""
        skipped = (f'{after - before - 4}x' for before, after in pairwise(ends[:-1]))
        self._counting = struct.Struct('<I' + 'I'.join(skipped) + 'I')
        first = next((start for start, count in zip(starts, counts) if count), ends[-1])
        self._words = (ends[-1] - first) // 8, first
        self.firsts = [(start - first) // 8 for start in starts]
        self._length, self.counts = length, tuple(counts)

    def _read_names(self, raw: bytes) -> None:
        frame, place = _string(raw, NAMES)
        place += -place % 4
        (count,) = COUNT.unpack_from(raw, place)
        names, place = [], place + 4
        for _ in range(count):
            name, place = _string(raw, place + -place % 4)
            names.append(name)
        self.names, self.frame, self._end = names, frame, place + -place % 4
        self._length = -1  # nothing else is as it was
        self._prefix = raw[NAMES : self._end]


def _string(raw: bytes, place: int) -> tuple[str, int]:
    """Return a string and the place behind it."""
    (length,) = COUNT.unpack_from(raw, place)
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
