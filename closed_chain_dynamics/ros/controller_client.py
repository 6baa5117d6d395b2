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

"""What a node asks of torque_node: that a joint goes somewhere."""

from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from closed_chain_dynamics.ros.messages.qos import COMMAND
from closed_chain_dynamics.ros.messages.trajectories import pose_trajectory

__all__ = ['ControllerClient']


class ControllerClient:
    """Publishes on topic reference."""

    def __init__(self, node: Node) -> None:
        self._reference = node.create_publisher(JointTrajectory, 'reference', COMMAND)

    def is_ready(self) -> bool:
        """Return whether anybody reads references."""
        return bool(self._reference.get_subscription_count())

    def go_to(self, joint: str, value: float, within: float) -> None:
        """Ask for a position of a joint [rad or m] within a time [s]; the others stay."""
        self._reference.publish(pose_trajectory({joint: value}, within))
