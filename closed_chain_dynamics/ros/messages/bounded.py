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
Messages that somebody sends by mistake, or on purpose, and that would hold up a turn: refused by
their length, before any of it becomes Python objects.

Bytes that are no message of their topic are refused and counted: an executor would drop them
without a word.
"""

from collections.abc import Callable
import struct
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

__all__ = ['MOST_MESSAGE_BYTES', 'read_bounded', 'read_text', 'read_trajectory', 'subscribe']

MOST_TRAJECTORY_POINTS = 2000  # of a trajectory: 18 us each
MOST_TRAJECTORY_JOINTS = 1000  # of joints in it
MOST_MESSAGE_BYTES = {JointTrajectory: 2**19, String: 2**16}
MOST_OF_OTHERS = 2**14  # bytes of a message of any other kind

Reject = Callable[[str, str], None]


def read_text(raw: bytes, what: str, reject: Reject) -> str | None:
    """Return the text of a String, or None where it is refused."""
    message = read_bounded(raw, String, what, reject)
    return None if message is None else str(message.data)


def read_trajectory(raw: bytes, reject: Reject) -> Any:
    """Return a JointTrajectory, or None where it is refused."""
    if len(raw) <= MOST_MESSAGE_BYTES[JointTrajectory]:
        names, points = _lengths(raw)
        if names > MOST_TRAJECTORY_JOINTS or points > MOST_TRAJECTORY_POINTS:
            reject(
                'too large',
                f'reference: {names} joints and {points} points, at most '
                f'{MOST_TRAJECTORY_JOINTS} and {MOST_TRAJECTORY_POINTS}',
            )
            return None
    return read_bounded(raw, JointTrajectory, 'reference', reject)


def _lengths(raw: bytes) -> tuple[int, int]:
    """
    Return how many joints and points a JointTrajectory has, as its bytes say; (0, 0): broken.

    A stamp of 8 bytes, the text frame_id, names and points. A text is its length and its bytes, a
    list its length and what is in it; lengths are on multiples of 4 bytes, from the fifth on.
    """
    order = '<' if raw[1:2] == b'\1' else '>'

    def length(at: int) -> tuple[int, int]:
        """Return a length that is at a place or a little behind it, and where it ends."""
        at = (at + 3) & ~3
        return struct.unpack_from(f'{order}I', raw, at)[0], at + 4

    try:
        text, at = length(12)
        names, at = length(at + text)
        if names > MOST_TRAJECTORY_JOINTS:
            return names, 0
        for _ in range(names):
            text, at = length(at)
            at += text
        return names, length(at)[0]
    except struct.error:  # it ends too soon, which the middleware tells
        return 0, 0


def read_bounded(raw: bytes, kind: Any, what: str, reject: Reject) -> Any:
    """Return a message of some kind, or None where it is too long or no such message."""
    most = MOST_MESSAGE_BYTES.get(kind, MOST_OF_OTHERS)
    if len(raw) > most:
        reject('too large', f'{what}: {len(raw)} bytes, at most {most}')
        return None
    return _read(raw, kind, what, reject)


def subscribe(
    node: Node,
    reject: Reject,
    kind: Any,
    topic: str,
    callback: Callable[[Any], None],
    quality: QoSProfile,
) -> Any:
    """Subscribe to messages of any length; those that are none are refused. Return what does."""

    def take(raw: bytes) -> None:
        message = _read(raw, kind, topic, reject)
        if message is not None:
            callback(message)

    return node.create_subscription(kind, topic, take, quality, raw=True)


def _read(raw: bytes, kind: Any, what: str, reject: Reject) -> Any:
    try:
        return deserialize_message(raw, kind)
    except RuntimeError as error:  # what the middleware raises is one
        reject('malformed', f'{what}: {error}')
        return None
