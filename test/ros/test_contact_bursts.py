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

"""What connects and cuts does not hold up torque_node, however often it comes."""

import time

from diagnostic_msgs.msg import DiagnosticArray
from helpers.ros_helpers import ros  # skips this file where there is no rclpy
from helpers.torque_benches import newest, trajectory
import numpy as np
from rclpy.duration import Duration
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState, MultiDOFJointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

import closed_chain_dynamics as ccd
from closed_chain_dynamics.ros.messages.state_messages import StateMessages

__all__ = ['ros']  # a fixture: pytest finds it by its name here

TIMEOUT = 10.0  # of states; the pauses of a busy machine are shorter [s]
BURST = 400  # commands in a row; each used to take the time of several turns
PERIOD = 0.005  # of states [s]
KNEES = ['left_knee', 'right_knee']
HAND = 'left_hand'


class Swing:
    """A figure on its swing that holds still, its torque_node, and what that says."""

    def __init__(self, ros):
        self.ros, robot = ros, ccd.load('swing')
        self.q, self.zero = ccd.assemble(robot), np.zeros(robot.nv)
        self._messages = StateMessages(robot)
        self._efforts = np.zeros(len(robot.actuator_names))
        self.node = ros.start('torque_node', {'model': 'swing', 'state_timeout': TIMEOUT})
        self._single = ros.publisher(JointState, 'joint_states')
        self._multi = ros.publisher(MultiDOFJointState, 'multi_dof_joint_states')
        self.references = ros.publisher(JointTrajectory, 'reference')
        deep = QoSProfile(depth=BURST)
        self.commands = {
            kind: ros.publisher(String, f'contact/{kind}', deep) for kind in ('connect', 'cut')
        }
        self.torques = ros.listen(JointState, 'actuator_torques', 1000)
        self.safety = ros.listen(String, 'safety_state', 100)
        self.diagnostics = ros.listen(DiagnosticArray, 'diagnostics')
        for each in (self._single, self._multi, self.references, *self.commands.values()):
            ros.wait_for_reader(each)
        knees = [self.q[robot.joint_slices(name)[0]][0] for name in KNEES]
        self.send()
        self.references.publish(trajectory(KNEES, [(1000.0, knees)]))

    def send(self):
        """Publish the state of now."""
        now = 1e-9 * self.ros.node.get_clock().now().nanoseconds
        self._messages.fill(now, self.q, self.zero, self._efforts)
        self._multi.publish(self._messages.multi_dof)
        self._single.publish(self._messages.joint_states)
        self.ros.spin(PERIOD)

    def stream(self, seconds):
        """Publish states for a while; return whether there are any torques."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.send()
        return bool(self.torques) and np.any(self.torques[-1].effort)

    def is_received(self):
        """Publish states for a while; return whether no command is on its way any more."""
        self.stream(0.1)
        at_once = Duration(nanoseconds=1)
        return all(each.wait_for_all_acked(at_once) for each in self.commands.values())


def test_a_burst_of_commands_takes_no_torque_away(ros):
    """No zero of the watchdog, no fallback, and the last command holds."""
    swing = Swing(ros)
    ros.wait(lambda: swing.stream(0.1), 'torques')
    swing.torques.clear(), swing.safety.clear()
    for k in range(BURST):
        swing.commands['connect' if k % 2 else 'cut'].publish(String(data=HAND))
        if k % 10 == 0:
            swing.send()
    swing.stream(0.5)
    # two topics may overtake each other, the more so where a message is sent again
    ros.wait(swing.is_received, 'the burst to be there')
    ros.until_taken('torque_node')
    swing.commands['cut'].publish(String(data=HAND))
    ros.wait(
        lambda: swing.stream(0.1) and newest(swing.diagnostics[-1:], 'open') == HAND,
        'the hand to be open',
    )
    ros.wait(lambda: swing.stream(0.1) and len(swing.torques) > 20, 'torques')
    assert all(np.any(each.effort) for each in swing.torques)
    assert not [each.data for each in swing.safety if 'timeout' in each.data]
    assert 'does not answer' not in swing.node.output()
