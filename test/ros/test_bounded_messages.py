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
"""Trajectories that would hold up a turn are refused before they become Python objects."""

from hypothesis import given, strategies as some
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed here: no rclpy')

from rclpy.serialization import serialize_message  # noqa: E402
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # noqa: E402

from closed_chain_dynamics.ros.messages import bounded  # noqa: E402


def trajectory(names, count, numbers=0, frame=''):
    """Return the bytes of a trajectory with points of some numbers each."""
    made = JointTrajectory(joint_names=names)
    made.header.frame_id = frame
    made.points = [JointTrajectoryPoint(positions=[0.5] * numbers) for _ in range(count)]
    return serialize_message(made)


@given(
    names=some.lists(some.text('abcä_', max_size=9), max_size=6),
    count=some.integers(0, 5),
    frame=some.text('xyz', max_size=7),
)
def test_lengths_are_those_of_the_message(names, count, frame):
    raw = trajectory(names, count, len(names), frame)
    assert bounded._lengths(raw) == (len(names), count)
    for end in range(0, len(raw), 5):  # cut short, it may say anything, and raises nothing
        bounded._lengths(raw[:end])


@pytest.mark.parametrize(
    'names, count', [(['hip'], bounded.MOST_TRAJECTORY_POINTS + 1), (['j'] * 1001, 1)]
)
def test_what_has_too_many_points_or_joints_is_never_decoded(monkeypatch, names, count):
    """Points without any numbers are 24 bytes each: length alone does not tell."""
    raw, refused = trajectory(names, count), []
    assert len(raw) < bounded.MOST_MESSAGE_BYTES[JointTrajectory]
    monkeypatch.setattr(bounded, 'deserialize_message', pytest.fail)
    assert bounded.read_trajectory(raw, lambda *why: refused.append(why)) is None
    assert refused[0][0] == 'too large' and str(max(count, len(names))) in refused[0][1]


def test_what_is_small_enough_is_read_and_what_is_broken_is_told():
    raw, refused = trajectory(['hip', 'knee'], bounded.MOST_TRAJECTORY_POINTS, 2), []
    message = bounded.read_trajectory(raw, lambda *why: refused.append(why))
    assert len(message.points) == bounded.MOST_TRAJECTORY_POINTS and not refused
    assert bounded.read_trajectory(raw[:50], lambda *why: refused.append(why)) is None
    assert refused[0][0] == 'malformed'
