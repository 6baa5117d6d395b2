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
"""

from collections.abc import Callable
from typing import Any

from rclpy.serialization import deserialize_message
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

__all__ = ['MOST_MESSAGE_BYTES', 'read_bounded', 'read_text', 'read_trajectory']

MOST_TRAJECTORY_POINTS = 2000  # of a trajectory: 18 us each
MOST_MESSAGE_BYTES = {JointTrajectory: 2**19, String: 2**16}
MOST_OF_OTHERS = 2**14  # bytes of a message of any other kind

Reject = Callable[[str, str], None]


def read_text(raw: bytes, what: str, reject: Reject) -> str | None:
    """Return the text of a String, or None where it is refused."""
    message = read_bounded(raw, String, what, reject)
    return None if message is None else str(message.data)


def read_trajectory(raw: bytes, reject: Reject) -> Any:
    """Return a JointTrajectory, or None where it is refused."""
    message = read_bounded(raw, JointTrajectory, 'reference', reject)
    if message is not None and len(message.points) > MOST_TRAJECTORY_POINTS:
        reject(
            'too large',
            f'reference: {len(message.points)} points, at most {MOST_TRAJECTORY_POINTS}',
        )
        return None
    return message


def read_bounded(raw: bytes, kind: Any, what: str, reject: Reject) -> Any:
    """Return a message of some kind, or None where it is too long or no such message."""
    most = MOST_MESSAGE_BYTES.get(kind, MOST_OF_OTHERS)
    if len(raw) > most:
        reject('too large', f'{what}: {len(raw)} bytes, at most {most}')
        return None
    try:
        return deserialize_message(raw, kind)
    except RuntimeError as error:  # what the middleware raises is one
        reject('malformed', f'{what}: {error}')
        return None
