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
A node that answers joint states with zero torques and computes nothing.

What it takes is what DDS, executor and Python take: `torque_node.py` measures both in turns, and
the difference is what torque_node adds. With `commands` it sends as many messages as torque_node
does, with `halves` it also waits for as many: for both halves of a state.
"""

from functools import partial
from pathlib import Path
import struct
import sys

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rclpy.node import Node
from sensor_msgs.msg import JointState, MultiDOFJointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from closed_chain_dynamics.ros.messages.qos import COMMAND, LATEST, PUBLISHED_STATE
from closed_chain_dynamics.ros.running import run


class EchoNode(Node):
    """Publishes as many zeros as its first argument says, with the stamp of each state."""

    def __init__(self):
        super().__init__('echo_node')
        count, halves = int(sys.argv[1]), {'joint_states': JointState}
        self._message = JointState(name=[f'motor_{k}' for k in range(count)], effort=[0.0] * count)
        self._publisher = self.create_publisher(JointState, 'actuator_torques', PUBLISHED_STATE)
        self._commands, self._zeros = None, Float64MultiArray(data=[0.0] * count)
        if 'halves' in sys.argv[2:]:
            halves['multi_dof_joint_states'] = MultiDOFJointState
        if 'commands' in sys.argv[2:]:
            self._commands = self.create_publisher(
                Float64MultiArray, 'effort_controller/commands', COMMAND
            )
        self._stamps = dict.fromkeys(halves)
        for topic, kind in halves.items():
            self.create_subscription(kind, topic, partial(self._answer, topic), LATEST, raw=True)
        self.create_subscription(JointTrajectory, 'reference', lambda _: None, COMMAND)

    def _answer(self, topic, raw):
        self._stamps[topic] = struct.unpack_from('<iI', raw, 4)  # the header comes first
        if len(set(self._stamps.values())) > 1:  # the other half is still to come
            return
        stamp = self._message.header.stamp
        stamp.sec, stamp.nanosec = self._stamps[topic]
        self._publisher.publish(self._message)
        if self._commands is not None:
            self._commands.publish(self._zeros)


if __name__ == '__main__':
    raise SystemExit(run(EchoNode))
