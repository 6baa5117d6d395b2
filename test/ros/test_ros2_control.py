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

"""The simulator as hardware of ros2_control, and robots beside each other, over DDS."""

from geometry_msgs.msg import WrenchStamped  # noqa: I100
from helpers.ros_helpers import newest, ros  # skips this file where there is no rclpy
import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

import closed_chain_dynamics as ccd
from closed_chain_dynamics.errors import StateError
from closed_chain_dynamics.ros.messages.joint_commands import commanded_efforts

__all__ = ['ros']  # a fixture: pytest finds it by its name here

MOTORS = ['left_shoulder', 'right_shoulder']
ALL = ['left_shoulder', 'left_elbow', 'right_shoulder', 'right_elbow']
NAN = float('nan')


def test_efforts_belong_to_the_joints_that_have_motors():
    """As topic_based_ros2_control writes them: all names, efforts of command interfaces only."""
    names, efforts = commanded_efforts(JointState(name=ALL, effort=[1.0, 2.0]), MOTORS)
    assert names == MOTORS and efforts.tolist() == [1.0, 2.0]
    names, efforts = commanded_efforts(JointState(name=ALL, effort=[NAN, NAN, 3.0, NAN]), MOTORS)
    assert names == ['right_shoulder'] and efforts.tolist() == [3.0]
    for bad in ([1.0], [1.0, 2.0, 3.0], []):
        with pytest.raises(StateError, match='efforts for'):
            commanded_efforts(JointState(name=ALL, effort=bad), MOTORS)


def test_the_simulator_is_hardware_for_ros2_control(ros):
    """States go out for every joint; commands hold the five-bar where it would fall."""
    robot = ccd.load('five_bar')
    q = ccd.assemble(robot)
    zero = np.zeros(robot.nv)
    held = ccd.inverse_dynamics(robot, q, zero, zero).tau_A
    ros.start('simulator_node', {'model': 'five_bar', 'start_paused': True, 'torque_timeout': 0.0})
    states = ros.listen(JointState, 'joint_states')
    commands = ros.publisher(JointState, 'joint_commands')
    ros.wait_for_reader(commands)
    ros.make_known('simulator_node')
    commands.publish(JointState(name=ALL, effort=[NAN] * 2))  # no controller is there yet
    commands.publish(JointState(name=ALL, effort=held.tolist()))
    ros.until_taken('simulator_node')
    for _ in range(200):
        assert ros.call(Trigger, 'step', once='simulator_node').success
    last = ros.wait(lambda: states and states[-1].header.stamp.nanosec >= 190_000_000, 'steps')
    assert last and set(states[-1].name) == set(ALL)
    effort = dict(zip(states[-1].name, states[-1].effort))
    np.testing.assert_allclose([effort[name] for name in MOTORS], held, rtol=1e-12)
    assert np.abs(states[-1].velocity).max() < 1e-9
    commands.publish(JointState(name=ALL, effort=[0.0, 0.0]))
    ros.until_taken('simulator_node')
    for _ in range(50):
        assert ros.call(Trigger, 'step', once='simulator_node').success
    ros.wait(lambda: np.abs(states[-1].velocity).max() > 0.05, 'a five-bar that falls')


def test_a_frame_with_the_prefix_of_a_robot_is_its_link(ros):
    """Two robots in one graph: each torque_node carries the wrench of its own foot only."""
    robot = ccd.load('exo_leg')
    q = ccd.assemble(robot, {'hip': 0.2, 'knee': 0.3}, start=np.zeros(robot.nq))
    zero = np.zeros(robot.nv)
    motors = robot.actuator_names
    places = [robot.joint_slices(name)[0].start for name in motors]
    torques, states = {}, {}
    for side in ('left', 'right'):
        ros.start(
            'torque_node',
            {
                'model': 'exo_leg',
                'mode': 'gravity_compensation',
                'frame_prefix': f'{side}/',
                'wrench_links': ['foot'],
                'wrench_timeout': 5.0,
                'state_timeout': 2.0,
            },
            {'__ns': f'/{side}', 'external_wrench': '/external_wrench'},
        )
        torques[side] = ros.listen(JointState, f'/{side}/actuator_torques')
        states[side] = ros.publisher(JointState, f'/{side}/joint_states')
        ros.wait_for_reader(states[side])
    wrenches = ros.publisher(WrenchStamped, '/external_wrench')
    ros.wait(lambda: wrenches.get_subscription_count() == 2, 'two readers')
    R = ccd.link_placement(robot, q, 'foot')[:3, :3]
    loaded = {'foot': np.concatenate([R @ [0.0, 0.0, 50.0], np.zeros(3)])}
    expected = {
        'left': ccd.inverse_dynamics(robot, q, zero, zero, wrenches=loaded).tau_A,
        'right': ccd.inverse_dynamics(robot, q, zero, zero).tau_A,
    }
    push = WrenchStamped()
    push.header.frame_id, push.wrench.force.z = 'left/foot', 50.0

    def come():
        wrenches.publish(push)
        for side, publisher in states.items():
            state = JointState(name=motors, position=q[places].tolist(), velocity=[0.0] * 4)
            state.header.stamp = ros.node.get_clock().now().to_msg()
            publisher.publish(state)
        ros.spin(0.01)
        return all(
            torques[side] and np.allclose(torques[side][-1].effort, expected[side], atol=1e-6)
            for side in states
        )

    ros.wait(come, 'both sides')


def test_torques_that_no_motor_has_do_not_stop_the_simulation(ros):
    """A motor gives its effort limit, and time goes on."""
    ros.start('simulator_node', {'model': 'five_bar', 'lockstep': 'off'})
    states = ros.listen(JointState, 'joint_states', 10)
    torques = ros.publisher(JointState, 'actuator_torques')
    ros.wait_for_reader(torques)
    robot = ccd.load('five_bar')
    motors, effort = list(robot.actuator_names), robot.model.actuators['effort']

    def push():
        torques.publish(JointState(name=motors, effort=[1e6, -1e6]))
        ros.spin(0.02)
        return states and dict(zip(states[-1].name, states[-1].effort)).get(motors[0])

    assert ros.wait(push, 'efforts of motors') == effort[0]
    begun, _ = newest(states)
    ros.wait(lambda: push() and newest(states)[0] > begun + 0.5, 'time that goes on')
    assert np.isfinite(states[-1].position).all() and np.isfinite(states[-1].velocity).all()
