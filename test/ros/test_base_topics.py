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

"""A floating robot whose base comes from an IMU, over DDS: torques, silence and recovery."""

import sys

from helpers.floating_hopper import HOPPER, LEG, Hopper
from helpers.ros_helpers import latched, ros  # skips this file where there is no rclpy
import numpy as np
import pytest
from sensor_msgs.msg import Imu, JointState, MultiDOFJointState
from std_msgs.msg import String

import closed_chain_dynamics as ccd
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.ros.messages.base_topics import odometry_message
from closed_chain_dynamics.ros.messages.state_messages import StateMessages

__all__ = ['ros']  # a fixture: pytest finds it by its name here

PERIOD = 0.005  # of states that the test publishes [s]
TIMEOUT = 1.0  # the pauses of a busy machine are shorter [s]


class HopperBench:
    """A torque_node that holds a hopper still, and its sensors."""

    def __init__(self, ros, tmp_path):
        self.ros, self.hopper = ros, Hopper()
        self.hopper.v[:] = 0.0
        path = tmp_path / 'hopper.urdf'
        path.write_text(HOPPER)
        self.node = ros.start(
            'torque_node',
            {
                'model': str(path),
                'mode': 'gravity_compensation',
                'base_source': 'imu',
                'base_timeout': TIMEOUT,
                'state_timeout': TIMEOUT,
            },
        )
        self.torques = ros.listen(JointState, 'actuator_torques')
        self.states = ros.publisher(JointState, 'joint_states')
        self.imu = ros.publisher(Imu, 'imu')
        for each in (self.states, self.imu):
            ros.wait_for_reader(each)

    def send(self, *, with_imu=True):
        """Publish what the sensors say now, each with a stamp of its own."""
        if with_imu:
            message, turned = Imu(), self.hopper.sensor()[0][3:]
            message.header.stamp = self.ros.node.get_clock().now().to_msg()
            message.header.frame_id = 'sensor'
            each = message.orientation
            each.x, each.y, each.z, each.w = map(float, turned)
            self.imu.publish(message)
            self.ros.spin(PERIOD)
        message = JointState(name=LEG, position=self.hopper.q[7:].tolist(), velocity=[0.0, 0.0])
        message.header.stamp = self.ros.node.get_clock().now().to_msg()
        self.states.publish(message)
        self.ros.spin(PERIOD)

    def until(self, expected, **options):
        """Publish until torques are as expected."""
        self.torques.clear()

        def come():
            self.send(**options)
            return self.torques and np.allclose(self.torques[-1].effort, expected, atol=1e-6)

        self.ros.wait(come, f'torques {expected}')


def test_an_imu_is_the_base_and_its_silence_ends_the_torques(ros, tmp_path):
    bench = HopperBench(ros, tmp_path)
    zero = np.zeros(bench.hopper.robot.nv)
    expected = ccd.inverse_dynamics(bench.hopper.robot, bench.hopper.q, zero, zero).tau_A
    assert np.abs(expected).max() > 1.0
    bench.until(expected)
    bench.until([0.0, 0.0], with_imu=False)  # joint states go on, and are no states any more
    bench.until(expected)


def test_a_base_that_falls_silent_ends_the_torques(ros, tmp_path):
    """On multi_dof_joint_states: the last pose of the base is not the present one."""
    hopper, zero = Hopper(), [0.0, 0.0]
    path = tmp_path / 'hopper.urdf'
    path.write_text(HOPPER)
    given = {'mode': 'gravity_compensation', 'state_timeout': TIMEOUT}
    ros.start('torque_node', {'model': str(path), **given})
    torques = ros.listen(JointState, 'actuator_torques')
    said = ros.listen(String, 'safety_state', latched())
    states = ros.publisher(JointState, 'joint_states')
    bases = ros.publisher(MultiDOFJointState, 'multi_dof_joint_states')
    for each in (states, bases):
        ros.wait_for_reader(each)
    messages = StateMessages(hopper.robot)

    def send(with_base):
        now = ros.node.get_clock().now().nanoseconds
        messages.fill(1e-9 * now, hopper.q, np.zeros(hopper.robot.nv), np.zeros(2))
        if with_base:
            bases.publish(messages.multi_dof)
        states.publish(messages.joint_states)
        ros.spin(PERIOD)
        return torques[-1].effort if torques else zero

    still = np.zeros(hopper.robot.nv)
    expected = ccd.inverse_dynamics(hopper.robot, hopper.q, still, still).tau_A
    for _ in range(2):
        ros.wait(lambda: np.allclose(send(True), expected, atol=1e-6), 'torques')
        ros.wait(lambda: not np.any(send(False)), 'zero torques')
        ros.wait(lambda: 'no good joint state' in said[-1].data, 'the reason')


def test_without_nav_msgs_odometry_is_refused_with_the_reason(monkeypatch):
    monkeypatch.setitem(sys.modules, 'nav_msgs.msg', None)  # importing it fails
    with pytest.raises(ClosedChainError, match='odometry needs nav_msgs'):
        odometry_message()


def test_a_pose_of_odometry_is_the_base_and_its_silence_ends_the_torques(ros, tmp_path):
    """Where its messages are: torques are those of the pose it tells, which is a tilted one."""
    pytest.importorskip('nav_msgs', reason='nav_msgs is not installed here')
    hopper = Hopper()
    hopper.v[:] = 0.0
    path = tmp_path / 'hopper.urdf'
    path.write_text(HOPPER)
    ros.start(
        'torque_node',
        {
            'model': str(path),
            'mode': 'gravity_compensation',
            'base_source': 'odometry',
            'base_timeout': TIMEOUT,
            'state_timeout': TIMEOUT,
        },
    )
    kind = odometry_message()
    torques = ros.listen(JointState, 'actuator_torques')
    states, odom = ros.publisher(JointState, 'joint_states'), ros.publisher(kind, 'odom')
    ros.wait_for_reader(odom)
    zero = np.zeros(hopper.robot.nv)
    expected = ccd.inverse_dynamics(hopper.robot, hopper.q, zero, zero).tau_A

    def send(*, with_base=True):
        pose, message = hopper.sensor()[0], kind(child_frame_id='sensor')
        message.header.stamp = ros.node.get_clock().now().to_msg()
        at, turned = message.pose.pose.position, message.pose.pose.orientation
        at.x, at.y, at.z = map(float, pose[:3])
        turned.x, turned.y, turned.z, turned.w = map(float, pose[3:])
        if with_base:
            odom.publish(message)
            ros.spin(PERIOD)
        state = JointState(name=LEG, position=hopper.q[7:].tolist(), velocity=[0.0, 0.0])
        state.header.stamp = ros.node.get_clock().now().to_msg()
        states.publish(state)
        ros.spin(PERIOD)
        return torques[-1].effort

    for _ in range(2):  # it comes back
        ros.wait(lambda: np.allclose(send(), expected, atol=1e-6), 'torques')
        ros.wait(lambda: not np.any(send(with_base=False)), 'zero torques')
