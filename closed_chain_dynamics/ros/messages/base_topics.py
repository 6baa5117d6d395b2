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
The base of a floating robot: sensor_msgs/Imu on `imu`, or nav_msgs/Odometry on `odom`.

One of them is the source, as parameter `base_source` says; what follows from it is in
control/base_state.py. Stamps are checked as those of joint states are.
"""

from importlib import import_module
from typing import Any

from sensor_msgs.msg import Imu

from closed_chain_dynamics.control.base_state import BaseState
from closed_chain_dynamics.control.state_tracking import StampCheck
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.ros.messages.bounded import read_bounded
from closed_chain_dynamics.ros.messages.measured_states import State, seconds
from closed_chain_dynamics.ros.messages.qos import LATEST

__all__ = ['SOURCES', 'BaseTopics', 'odometry_message']

SOURCES = ('multi_dof_joint_states', 'imu', 'odometry')
NOT_MEASURED = -1.0  # first number of a covariance: there is no such measurement


def odometry_message() -> Any:
    """Return the type nav_msgs/Odometry, or say that there is none."""
    try:
        return import_module('nav_msgs.msg').Odometry
    except ImportError:
        raise ClosedChainError(
            'odometry needs nav_msgs, which is not installed',
            where="parameter 'base_source'",
            repair='Install nav_msgs of your ROS distribution, or publish the base on '
            'multi_dof_joint_states.',
        ) from None


class BaseTopics:
    """
    Listens for a node, and joins the base to its joint states.

    The node has `active`, `rejected`, `is_simulated`, and parameters `base_source`,
    `other_clock` and `frame_prefix`.
    """

    def __init__(self, node: Any) -> None:
        self._node = node
        self.base: BaseState | None = None
        self._stamps = StampCheck(0.0)
        source = node.parameters.base_source
        if source == 'imu':
            node.create_subscription(Imu, 'imu', self._on_imu, LATEST, raw=True)
        elif source == 'odometry':
            self._odometry = odometry_message()
            node.create_subscription(self._odometry, 'odom', self._on_odometry, LATEST, raw=True)

    def _on_imu(self, raw: bytes) -> None:
        message = self._read(raw, Imu, 'imu')
        if message is None or self.base is None:
            return
        if message.orientation_covariance[0] == NOT_MEASURED:
            self._node.rejected('imu', 'imu: it has no orientation, and none is estimated here')
            return
        turned, rate = message.orientation, message.angular_velocity
        self._take(
            'imu',
            self.base.take_imu,
            [turned.x, turned.y, turned.z, turned.w],
            [rate.x, rate.y, rate.z],
            stamp=seconds(message.header.stamp),
            link=message.header.frame_id.removeprefix(self._node.parameters.frame_prefix),
        )

    def _on_odometry(self, raw: bytes) -> None:
        message = self._read(raw, self._odometry, 'odom')
        if message is None or self.base is None:
            return
        at, turned = message.pose.pose.position, message.pose.pose.orientation
        linear, angular = message.twist.twist.linear, message.twist.twist.angular
        self._take(
            'odom',
            self.base.take_pose,
            [at.x, at.y, at.z, turned.x, turned.y, turned.z, turned.w],
            [linear.x, linear.y, linear.z, angular.x, angular.y, angular.z],
            stamp=seconds(message.header.stamp),
            link=message.child_frame_id.removeprefix(self._node.parameters.frame_prefix),
        )

    def _read(self, raw: bytes, kind: Any, topic: str) -> Any:
        """Return a message that is new, or None."""
        if not self._node.active or self.base is None:
            return None
        message = read_bounded(raw, kind, topic, self._node.rejected)
        if message is None:
            return None
        check, when = self._stamps, seconds(message.header.stamp)
        check.timeout, check.other_clock = self.base.timeout, self._node.parameters.other_clock
        check.simulated = self._node.is_simulated
        refusal = check.refuse(when, 1e-9 * self._node.get_clock().now().nanoseconds - when)
        if refusal:
            self._node.rejected(topic, f'{topic}: {refusal[1]}')
        return None if refusal else message

    def _take(self, topic: str, take: Any, *numbers: Any, **options: Any) -> None:
        try:
            take(*numbers, **options)
        except ClosedChainError as error:
            self._node.rejected(topic, str(error))

    def join(self, state: State) -> State | None:
        """Return a state of joints with the base, None where that is silent."""
        if self.base is None:
            return state
        stamp, names, position, velocity = state
        try:
            joined = self.base.join(names, position, velocity, stamp=seconds(stamp))
        except ClosedChainError as error:
            self._node.rejected('base', str(error))
            return None
        return stamp, *joined
