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

"""Joint states from the bytes of messages: the numbers that ROS reads, and what is refused."""

from hypothesis import given, strategies as some
import numpy as np
import pytest

import closed_chain_dynamics as ccd

pytest.importorskip('rclpy', reason='ROS 2 is not installed here: no rclpy')

from rclpy.serialization import deserialize_message, serialize_message  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402

from closed_chain_dynamics.ros.messages.measured_states import MeasuredStates  # noqa: E402
from closed_chain_dynamics.ros.messages.raw_states import RawMessage, read_joint_state  # noqa: E402
from closed_chain_dynamics.ros.messages.state_messages import StateMessages  # noqa: E402

NUMBERS = some.floats(width=64)


@given(
    frame=some.text(max_size=9),
    names=some.lists(some.text(max_size=9), max_size=5),
    numbers=some.lists(some.lists(NUMBERS, max_size=5), min_size=3, max_size=3),
    sec=some.integers(-(2**31), 2**31 - 1),
    nanosec=some.integers(0, 2**32 - 1),
)
def test_bytes_are_read_as_ros_writes_them(frame, names, numbers, sec, nanosec):
    """Any names, any numbers, any alignment."""
    if '\0' in frame + ''.join(names):  # ROS ends strings there
        return
    message = JointState(name=names)
    message.header.frame_id = frame
    message.header.stamp.sec, message.header.stamp.nanosec = sec, nanosec
    message.position, message.velocity, message.effort = numbers
    reader, raw = read_joint_state(), serialize_message(message)
    for _ in range(2):  # the second time names are known
        stamp, read, arrays = reader.read(raw)
        assert stamp == (sec, nanosec) and read == names
        for array, expected in zip(arrays, numbers):
            np.testing.assert_array_equal(array[:, 0], expected)


def test_bytes_that_end_too_soon_or_are_encoded_otherwise_are_left_to_ros():
    """No number is made up, and the next good message is read."""
    raw = serialize_message(JointState(name=['crank'], position=[1.0], velocity=[2.0]))
    reader = read_joint_state()
    for length in range(4, len(raw) - 8):
        read = reader.read(raw[:length])
        assert read is None or read[1] == ['crank'] and len(read[2]) == 3
    assert reader.read(b'\x00\x00' + raw[2:]) is None  # big endian
    assert reader.read(raw)[2][0][0, 0] == 1.0


def swing():
    """Return the figure on the swing, a state, its messages, and what takes them."""
    robot = ccd.load('swing')
    q, v = ccd.assemble(robot), np.random.default_rng(0).normal(size=robot.nv)
    messages, refused = StateMessages(robot), []
    messages.fill(12.5, q, v, np.zeros(len(robot.actuator_names)))
    measured = MeasuredStates(robot, lambda reason, text: refused.append((reason, text)))
    return robot, q, v, messages, measured, refused


@pytest.mark.parametrize('scale', [1.0, 1.001])
def test_both_halves_of_a_state_come_together_by_their_stamp(scale):
    """In either order; quaternions that are not quite of unit length are made so."""
    robot, q, v, messages, measured, refused = swing()
    for transform in messages.multi_dof.transforms:
        transform.rotation.w *= scale
        transform.rotation.x *= scale
        transform.rotation.y *= scale
        transform.rotation.z *= scale
    single, multi = serialize_message(messages.joint_states), serialize_message(messages.multi_dof)
    assert measured.multi_dof(multi) is None
    stamp, names, position, velocity = measured.joint_states(single)
    assert stamp == (12, 500000000) and sorted(names) == sorted(robot.joint_names)
    slices = [robot.joint_slices(name) for name in names]
    np.testing.assert_allclose(
        position, np.concatenate([q[each] for each, _ in slices]), atol=1e-15
    )
    np.testing.assert_array_equal(velocity, np.concatenate([v[each] for _, each in slices]))
    messages.fill(12.6, q, v, np.zeros(len(robot.actuator_names)))
    assert measured.joint_states(serialize_message(messages.joint_states)) is None
    assert measured.multi_dof(multi) is None  # of another time
    assert refused == []


@pytest.mark.parametrize('single_first', [True, False])
@pytest.mark.parametrize('shift, words', [(-4e-4, 'ahead of'), (4e-4, 'behind'), (1e-6, '')])
def test_halves_that_never_meet_are_told_whichever_is_ahead(shift, words, single_first):
    """A microsecond apart they meet: two publishers seldom read the clock together."""
    robot, q, v, messages, measured, refused = swing()
    assert measured.multi_dof(serialize_message(messages.multi_dof)) is None  # there are two
    states = []
    for k in range(20):
        halves = []
        for late, which in ((0.0, 'joint_states'), (shift, 'multi_dof')):
            messages.fill(20.0 + 0.01 * k + late, q, v, np.zeros(len(robot.actuator_names)))
            halves.append((which, serialize_message(getattr(messages, which))))
        for which, raw in halves if single_first else reversed(halves):
            states.append(getattr(measured, which)(raw))
    if not words:
        assert not refused and sum(each is not None for each in states) == 20
        return
    assert not any(states) and len(refused) > 20
    told = [text for kind, text in refused if kind == 'unpaired' and '0.0004 s' in text]
    assert told and all(f'{words} multi_dof_joint_states' in text for text in told)


def test_bad_orientations_are_refused():
    """Not finite, and no quaternion at all."""
    _, _, _, messages, measured, refused = swing()
    for value in (float('nan'), 30.0):
        messages.multi_dof.transforms[0].rotation.w = value
        assert measured.multi_dof(serialize_message(messages.multi_dof)) is None
        assert refused.pop()[0] == 'multi_dof_joint_states'


def test_names_of_other_machines_are_left_out_and_told():
    """And velocities that are not given are nan, not zero."""
    robot, refused = ccd.load('four_bar'), []
    measured = MeasuredStates(robot, lambda *why: refused.append(why), wanted=['crank'])
    message = JointState(name=['gripper', 'crank'], position=[0.3, 1.0])
    _, names, position, velocity = measured.joint_states(serialize_message(message))
    assert names == ['crank'] and position.tolist() == [1.0] and np.isnan(velocity).all()
    assert refused[0][0] == 'unknown joint' and 'gripper' in refused[0][1]
    assert (
        measured.joint_states(serialize_message(JointState(name=['rocker'], position=[1.0])))
        is None
    )
    assert refused[-1][0] == 'missing joint'


@given(
    names=some.lists(some.text('abc_', min_size=1, max_size=9), max_size=6, unique=True),
    sec=some.integers(0, 2**31 - 1),
    nanosec=some.integers(0, 10**9 - 1),
    number=some.floats(allow_nan=False),
)
def test_ros_reads_what_was_written_in_place(names, sec, nanosec, number):
    """Names of any length, so any alignment; no numbers too."""
    numbers = number * np.arange(len(names)) if np.isfinite(number) else np.zeros(len(names))
    torques = RawMessage(JointState(name=names), 'effort', len(names))
    torques.numbers[:] = numbers
    torques.stamp(sec, nanosec)
    message = deserialize_message(bytes(torques), JointState)
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (sec, nanosec)
    assert message.name == names and list(message.effort) == numbers.tolist()
    commands = RawMessage(Float64MultiArray(), 'data', len(names))
    assert not any(deserialize_message(bytes(commands), Float64MultiArray).data)
    commands.numbers[:] = numbers
    assert list(deserialize_message(bytes(commands), Float64MultiArray).data) == numbers.tolist()


def test_joints_of_several_messages_are_put_together_while_they_are_fresh():
    """As of two broadcasters; what has not come for longer than that is missing, and told."""
    robot, refused = ccd.load('five_bar'), []
    wanted = ['left_shoulder', 'right_shoulder']
    measured = MeasuredStates(
        robot, lambda *why: refused.append(why), wanted=wanted, merge_within=0.05
    )

    def say(name, stamp, position):
        message = JointState(name=[name], position=[position], velocity=[2.0 * position])
        message.header.stamp.sec, message.header.stamp.nanosec = 5, round(1e9 * stamp)
        return measured.joint_states(serialize_message(message))

    assert say('left_shoulder', 0.0, 0.1) is None
    assert refused.pop() == ('missing joint', 'joint_states: right_shoulder missing')
    stamp, names, position, velocity = say('right_shoulder', 0.01, 0.2)
    assert stamp == (5, 10_000_000)
    assert dict(zip(names, position)) == dict(zip(wanted, (0.1, 0.2)))
    assert dict(zip(names, velocity)) == dict(zip(wanted, (0.2, 0.4)))
    assert not refused
    assert say('right_shoulder', 0.06, 0.3) is None
    assert refused.pop() == ('missing joint', 'joint_states: left_shoulder missing')
