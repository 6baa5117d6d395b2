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
the difference is what torque_node adds.
"""

from pathlib import Path
import struct
import sys

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rclpy.node import Node
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from closed_chain_dynamics.ros.messages.qos import COMMAND, LATEST, PUBLISHED_STATE
from closed_chain_dynamics.ros.running import run


class EchoNode(Node):
    """Publishes as many zeros as its first argument says, with the stamp of each state."""

    def __init__(self):
        super().__init__('echo_node')
        count = int(sys.argv[1])
        self._message = JointState(name=[f'motor_{k}' for k in range(count)], effort=[0.0] * count)
        self._publisher = self.create_publisher(JointState, 'actuator_torques', PUBLISHED_STATE)
        self.create_subscription(JointState, 'joint_states', self._answer, LATEST, raw=True)
        self.create_subscription(JointTrajectory, 'reference', lambda _: None, COMMAND)

    def _answer(self, raw):
        stamp = self._message.header.stamp
        stamp.sec, stamp.nanosec = struct.unpack_from('<iI', raw, 4)  # the header comes first
        self._publisher.publish(self._message)


if __name__ == '__main__':
    raise SystemExit(run(EchoNode))
