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

"""Where complete joint states leave: messages of all joints, tf of what others cannot place."""

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState, MultiDOFJointState

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.ros.messages.frames import Frames, joints_unknown_to_others
from closed_chain_dynamics.ros.messages.qos import PUBLISHED_STATE
from closed_chain_dynamics.ros.messages.state_messages import StateMessages

__all__ = ['CompletedStates']


class CompletedStates:
    """Publishes `joint_states`, `multi_dof_joint_states` and /tf for a node."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._frames: Frames | None = None
        self._single = node.create_publisher(JointState, 'joint_states', PUBLISHED_STATE)
        self._multi = node.create_publisher(
            MultiDOFJointState, 'multi_dof_joint_states', PUBLISHED_STATE
        )

    def use(self, robot: Mechanism, frame_prefix: str) -> None:
        """Make the messages of a mechanism in its present structure."""
        self._robot, self._messages = robot, StateMessages(robot)
        self._efforts = np.zeros(len(robot.actuator_names))
        if self._frames:
            self._frames.close()
        unknown = joints_unknown_to_others(robot)
        self._frames = Frames(self._node, unknown, self._messages.stamp, frame_prefix)

    def publish(self, stamp: float, q: Vector, v: Vector) -> None:
        """Send a state, with the stamp of what was measured [s]."""
        messages = self._messages
        messages.fill(stamp, q, v, self._efforts)
        self._single.publish(messages.joint_states)
        if messages.multi_dof and self._frames:
            self._multi.publish(messages.multi_dof)
            self._frames.publish(self._robot, q)
