"""
Messages that somebody sends by mistake, or on purpose, and that would hold up a turn: refused by
their length, before any of it becomes Python objects.
"""

from collections.abc import Callable
from typing import Any

from rclpy.serialization import deserialize_message
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

__all__ = ['MOST_BYTES', 'read_text', 'read_trajectory']

MOST_POINTS = 2000  # of a trajectory: 18 us each
MOST_BYTES = {JointTrajectory: 2**19, String: 2**16}

Reject = Callable[[str, str], None]


def read_text(raw: bytes, what: str, reject: Reject) -> str | None:
    """Return the text of a String, or None where it is refused."""
    message = _read(raw, String, what, reject)
    return None if message is None else str(message.data)


def read_trajectory(raw: bytes, reject: Reject) -> Any:
    """Return a JointTrajectory, or None where it is refused."""
    message = _read(raw, JointTrajectory, 'reference', reject)
    if message is not None and len(message.points) > MOST_POINTS:
        reject('too large', f'reference: {len(message.points)} points, at most {MOST_POINTS}')
        return None
    return message


def _read(raw: bytes, kind: Any, what: str, reject: Reject) -> Any:
    if len(raw) > MOST_BYTES[kind]:
        reject('too large', f'{what}: {len(raw)} bytes, at most {MOST_BYTES[kind]}')
        return None
    try:
        return deserialize_message(raw, kind)
    except RuntimeError as error:  # what the middleware raises is one
        reject('malformed', f'{what}: {error}')
        return None
