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

"""States as messages and back, against the placements and velocities of links; pacing."""

from unittest import mock

from helpers import ros_helpers  # noqa: F401   skips this file where there is no rclpy
from helpers.random_mechanisms import random_state
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import closed_chain_dynamics as ccd
from closed_chain_dynamics.ros.messages.diagnostics import Rejections
from closed_chain_dynamics.ros.messages.state_messages import StateMessages, multi_dof_states
from closed_chain_dynamics.ros.pacing import Pace

ROUNDING = 1e-13
MODEL = """<robot name="kinds" xmlns:cc="urn:closed_chain_dynamics">
  <link name="world"/> {links}
  <joint name="flat" type="planar"><parent link="world"/><child link="a"/>
    <origin xyz="1 2 3" rpy="0.3 -0.2 0.5"/><axis xyz="0.36 0.48 -0.8"/></joint>
  <joint name="ball" type="floating" cc:type="spherical" cc:role="actuated">
    <parent link="world"/><child link="b"/><origin xyz="0 1 0" rpy="0 0.4 0"/></joint>
  <joint name="free" type="floating"><parent link="world"/><child link="c"/>
    <origin xyz="0 0 1" rpy="1 0 0"/></joint>
  <joint name="hinge" type="continuous" cc:role="actuated">
    <parent link="world"/><child link="d"/><axis xyz="0 1 0"/></joint>
</robot>""".format(
    links=''.join(
        f'<link name="{name}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" '
        'ixz="0" iyz="0"/></inertial></link>'
        for name in 'abcd'
    )
)


def vector(message):
    """Return a Vector3 as an array."""
    return np.array([message.x, message.y, message.z])


@pytest.fixture
def filled():
    """Return a mechanism with every kind of joint, a state of it, and the messages."""
    robot = ccd.load(MODEL)
    q, v, _ = random_state(np.random.default_rng(3), robot.description)
    messages = StateMessages(robot)
    messages.fill(12.25, q, v, np.arange(1.0, 5.0))
    return robot, q, v, messages


def test_transforms_and_twists_are_those_of_the_links(filled):
    """A transform is in the joint frame, a twist in the axes of the child."""
    robot, q, v, messages = filled
    placements, velocities = ccd.link_placements(robot, q), ccd.link_velocities(robot, q, v)
    joints = {joint.name: joint for joint in robot.description.joints}
    assert set(messages.multi_dof.joint_names) == {'flat', 'ball', 'free'}
    for name, transform, twist in zip(
        messages.multi_dof.joint_names, messages.multi_dof.transforms, messages.multi_dof.twist
    ):
        joint, turned = joints[name], transform.rotation
        R = (
            joint.origin.rotation
            @ Rotation.from_quat([turned.x, turned.y, turned.z, turned.w]).as_matrix()
        )
        p = joint.origin.position + joint.origin.rotation @ vector(transform.translation)
        X = placements[joint.child]
        assert np.abs(R - X[:3, :3]).max() < ROUNDING and np.abs(p - X[:3, 3]).max() < ROUNDING
        rate = np.concatenate([R @ vector(twist.linear), R @ vector(twist.angular)])
        assert np.abs(rate - velocities[joint.child]).max() < ROUNDING


def test_states_read_back_and_efforts_stand_with_their_joints(filled):
    """What was written is read; motors of a ball joint are a torque."""
    robot, q, v, messages = filled
    for name, (part_q, part_v) in multi_dof_states(robot, messages.multi_dof).items():
        in_q, in_v = robot.joint_slices(name)
        assert np.abs(part_q - q[in_q]).max() < ROUNDING
        assert np.abs(part_v - v[in_v]).max() < ROUNDING
    single = messages.joint_states
    assert list(single.name) == ['hinge'] and (
        single.header.stamp.sec,
        single.header.stamp.nanosec,
    ) == (12, 250000000)
    efforts = dict(zip(robot.actuator_names, np.arange(1.0, 5.0)))
    assert single.effort[0] == efforts['hinge']
    ball = messages.multi_dof.wrench[list(messages.multi_dof.joint_names).index('ball')]
    assert list(vector(ball.torque)) == [efforts[f'ball:w{axis}'] for axis in 'xyz']


@pytest.mark.parametrize(
    'spoil, culprit',
    [
        (lambda message: message.joint_names.__setitem__(0, 'flt'), "'flat'"),
        (lambda message: message.transforms.pop(), 'transforms'),
        (lambda message: setattr(message.twist[1].angular, 'x', float('nan')), 'finite'),
        (lambda message: setattr(message.transforms[1].rotation, 'w', 7.0), 'quaternion'),
        (lambda message: message.joint_names.__setitem__(0, 'hinge'), 'joint_states'),
    ],
)
def test_bad_states_are_refused_by_name(filled, spoil, culprit):
    """Names, sizes, numbers and orientations that do not fit."""
    robot, _, _, messages = filled
    message = messages.multi_dof
    message.joint_names = list(message.joint_names)
    spoil(message)
    with pytest.raises(ccd.ClosedChainError, match=culprit):
        multi_dof_states(robot, message)


@pytest.mark.parametrize('factor', [0.1, 1.0, 20.0])
def test_time_keeps_its_pace_while_the_timer_trembles(factor):
    """Ticks that come early and late by a third lose no period, and count as on time."""
    now = [100.0]
    pace = Pace(1e-3, clock=lambda: now[0])
    pace.begin(5.0, factor)
    rng, periods = np.random.default_rng(1), 0
    for tick in range(1, 2000):
        now[0] = 100.0 + (tick + rng.uniform(-0.33, 0.33)) * pace.wall_period
        periods += pace.due(5.0 + periods * 1e-3)
    assert periods * 1e-3 == pytest.approx((now[0] - 100.0) * factor, abs=0.021)
    assert pace.overruns == 0
    assert pace.real_time_factor(5.0 + periods * 1e-3) == pytest.approx(factor, rel=0.01)


def test_what_is_late_is_caught_up_within_limits():
    """A few periods are taken at once; after a long stop time goes on from where it is."""
    now = [0.0]
    pace = Pace(1e-3, clock=lambda: now[0])
    now[0] = 5e-3
    assert pace.due(0.0) == 5 and pace.overruns == 4
    now[0] = 30.0
    assert pace.due(5e-3) == 1
    now[0] += 1e-3
    assert pace.due(6e-3) == 1


def test_one_cause_is_counted_as_often_as_it_comes_and_written_once():
    """Whoever sends a thousand bad messages a second does not fill the disk."""
    node = mock.Mock()
    rejected = Rejections(node)
    for k in range(10_000):
        rejected('contact/cut', 'x' * 100_000)
    rejected('reference', 'another cause')
    lines = [call.args[0] for call in node.get_logger().warning.call_args_list]
    assert len(lines) == 2 and max(map(len, lines)) < 1000
    assert rejected.values()['rejected: contact/cut'] == 10_000
    assert rejected.values()['last rejection'] == 'another cause'
