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
"""Turns that take longer than their period are counted, and diagnostics has the number."""

from diagnostic_msgs.msg import DiagnosticArray
from helpers.ros_helpers import ros  # skips this file where there is no rclpy
from helpers.torque_benches import SHOULDERS, newest
from sensor_msgs.msg import JointState

import closed_chain_dynamics as ccd
from closed_chain_dynamics.ros.turn_times import LENGTH, TurnTimes

__all__ = ['ros']  # a fixture: pytest finds it by its name here

FASTEST, SLOWEST = 10000.0, 1.0  # rates that may be asked for [Hz]
SEVERAL = 5
TIMEOUT = 5.0  # of states; more than a turn of the slowest takes [s]


def test_late_turns_are_counted_of_all_and_times_are_those_of_the_last():
    times = TurnTimes(1e-3)
    for k in range(2 * LENGTH):
        times.add(1e-2 * k, 1e-2 * k + (2e-3 if k % 4 == 0 else 0.5e-3))
    told = times.values()
    assert told['turns'] == 2 * LENGTH and told['late turns'] == LENGTH // 2
    assert abs(told['turn median [us]'] - 500.0) < 1.0
    assert abs(told['turn p99 [us]'] - 2000.0) < 1.0
    assert abs(told['rate [Hz]'] - 100.0) < 1e-3
    times.period = 1e-4  # a parameter that changes: what was late stays late
    times.add(20.0, 20.0005)
    assert times.values()['late turns'] == LENGTH // 2 + 1


def test_a_node_publishes_how_many_of_its_turns_were_late(ros):
    """At 10 kHz, where a turn over DDS has 0.1 ms, many are; at 1 Hz hardly any."""
    robot = ccd.load('five_bar')
    q = ccd.assemble(robot)[[0, 2]].tolist()
    for rate, enough in ((FASTEST, lambda late: late >= SEVERAL), (SLOWEST, lambda late: True)):
        given = {'model': 'five_bar', 'rate': rate, 'mode': 'gravity_compensation'}
        node = ros.start('torque_node', {**given, 'state_timeout': TIMEOUT})
        said = ros.listen(DiagnosticArray, 'diagnostics')
        states = ros.publisher(JointState, 'joint_states')
        ros.wait_for_reader(states)

        def told(key, states=states, said=said):
            message = JointState(name=SHOULDERS, position=q, velocity=[0.0, 0.0])
            message.header.stamp = ros.node.get_clock().now().to_msg()
            states.publish(message)
            ros.spin(0.01)
            return int(newest(said, key) or 0)

        ros.wait(lambda: told('turns') >= SEVERAL, 'turns')
        ros.wait(lambda enough=enough: enough(told('late turns')), 'late turns')
        assert told('late turns') <= told('turns')
        assert node.end() == 0, node.output()
        if rate == SLOWEST:  # but for one in which the machine stood still
            assert int(newest(said, 'late turns')) < SEVERAL <= int(newest(said, 'turns'))
