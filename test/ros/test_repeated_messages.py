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

"""Messages like the last one are read in one go: with the numbers that a fresh reader finds."""

import struct

from hypothesis import given, settings, strategies as some
import numpy as np
import pytest

import closed_chain_dynamics as ccd

pytest.importorskip('rclpy', reason='ROS 2 is not installed here: no rclpy')

from rclpy.serialization import serialize_message  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

from closed_chain_dynamics.ros.messages.measured_states import MeasuredStates  # noqa: E402
from closed_chain_dynamics.ros.messages.raw_states import read_joint_state  # noqa: E402
from closed_chain_dynamics.ros.messages.state_messages import StateMessages  # noqa: E402

ROBOT = ccd.load('five_bar')
NAMES = ROBOT.joint_names
# what messages may have, so that one is like the last or differs in one thing
MESSAGES = some.fixed_dictionaries(
    {
        'names': some.sampled_from(
            [NAMES, NAMES[::-1], NAMES[:2], [*NAMES, 'nobody'], ['a', 'a']]
        ),
        'with_velocity': some.booleans(),
        'with_effort': some.booleans(),
        'odd': some.sampled_from([0.5, 0.5, 0.5, np.nan, np.inf, 1e300]),
        'big_endian': some.booleans(),
    }
)


def big_endian(message):
    """Return the bytes of a message with the highest byte of each number first."""
    raw = struct.pack('>iI', message.header.stamp.sec, message.header.stamp.nanosec)

    def text(raw, words):
        raw += bytes(-len(raw) % 4) + struct.pack('>I', len(words) + 1)
        return raw + words.encode() + b'\0'

    raw = text(raw, message.header.frame_id)
    raw += bytes(-len(raw) % 4) + struct.pack('>I', len(message.name))
    for name in message.name:
        raw = text(raw, name)
    for numbers in (message.position, message.velocity, message.effort):
        raw += bytes(-len(raw) % 4) + struct.pack('>I', len(numbers))
        if numbers:
            raw += bytes(-len(raw) % 8) + struct.pack(f'>{len(numbers)}d', *numbers)
    return bytes(4) + raw


def written(k, names, *, with_velocity, with_effort, odd, big_endian):
    """Return the bytes of the k-th message, whose numbers are its own."""
    message = JointState(name=names)
    message.header.stamp.sec = k
    message.position = [k + 0.01 * place for place in range(len(names))]
    if with_velocity:
        message.velocity = [-0.1 * k, *([odd] * (len(names) - 1))]
    if with_effort:
        message.effort = [7.0] * len(names)
    return globals()['big_endian'](message) if big_endian else serialize_message(message)


@settings(max_examples=60)
@given(some.lists(MESSAGES, min_size=2, max_size=8))
def test_what_was_read_before_changes_nothing(messages):
    told = [], []
    lasting = MeasuredStates(ROBOT, lambda *why: told[0].append(why))
    for k, message in enumerate(messages):
        raw = written(k, **message)
        for _ in range(2):  # the second is like the last
            told[0].clear(), told[1].clear()
            fresh = MeasuredStates(ROBOT, lambda *why: told[1].append(why))
            found, expected = lasting.joint_states(raw), fresh.joint_states(raw)
            assert told[0] == told[1]
            assert (found is None) == (expected is None)
            if found is not None:
                assert found[:2] == expected[:2]
                np.testing.assert_array_equal(found[2], expected[2])
                np.testing.assert_array_equal(found[3], expected[3])


def test_no_message_of_another_layout_is_taken_for_the_last_one():
    """Every byte that is neither stamp nor number counts, and so does the length."""
    reader = read_joint_state()
    raw = serialize_message(
        JointState(name=NAMES, position=[1.0] * len(NAMES), velocity=[2.0] * len(NAMES))
    )
    assert reader.again(raw) is None  # nothing was read yet
    reader.read(raw)
    stamp, numbers = reader.again(raw)
    count = len(NAMES)
    assert stamp == (0, 0) and reader.counts == (count, count, 0)
    firsts = reader.firsts
    np.testing.assert_array_equal(numbers[firsts[0] : firsts[0] + count], 1.0)
    np.testing.assert_array_equal(numbers[firsts[1] : firsts[1] + count], 2.0)
    for place in (1, raw.index(NAMES[0].encode()), raw.index(struct.pack('<I', count))):
        changed = bytearray(raw)
        changed[place] ^= 1
        assert reader.again(bytes(changed)) is None
    between = raw.index(struct.pack('<d', 2.0)) - 8  # the count of velocities
    changed = bytearray(raw)
    changed[between : between + 4] = struct.pack('<I', count - 1)
    assert reader.again(bytes(changed)) is None
    assert reader.again(raw[:-8]) is None and reader.again(raw + bytes(8)) is None


def test_a_quaternion_that_is_none_any_more_is_seen_in_a_message_like_the_last():
    robot, told = ccd.load('swing'), []
    q, v = ccd.assemble(robot), np.random.default_rng(0).normal(size=robot.nv)
    messages = StateMessages(robot)
    states = MeasuredStates(robot, lambda *why: told.append(why))
    for k in range(4):
        messages.fill(12.5 + k, q, (k + 1) * v, np.zeros(len(robot.actuator_names)))
        if k >= 2:
            messages.multi_dof.transforms[0].rotation.w = (4.0, np.nan)[k - 2]
        states.multi_dof(serialize_message(messages.multi_dof))
        whole = states.joint_states(serialize_message(messages.joint_states))
        assert (whole is None) == bool(told) == (k >= 2)
        if whole is not None:
            _, names, position, velocity = whole
            for given, found, i in ((q, position, 0), ((k + 1) * v, velocity, 1)):
                places = np.concatenate([np.r_[robot.joint_slices(name)[i]] for name in names])
                np.testing.assert_array_equal(found, given[places])
