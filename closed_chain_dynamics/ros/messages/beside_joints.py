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
What torque_node hears beside the joints: wrenches on links, and what a person does to joints.

A stamp tells the age of a message and its order; one that is zero means now. What is old, out of
order, unknown or not finite is refused, counted and named; how long the last good one counts is
decided by control/sensed.py.
"""

from typing import Any

from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState

from closed_chain_dynamics.control.sensed import Sensors
from closed_chain_dynamics.control.state_tracking import StampCheck
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.ros.messages.bounded import read_bounded
from closed_chain_dynamics.ros.messages.measured_states import seconds
from closed_chain_dynamics.ros.messages.qos import STREAM

__all__ = ['BesideJoints']


class BesideJoints:
    """
    Listens for a node, and hands on to the Sensors of its ControlLoop.

    The node has `active`, `loop`, `rejected`, `now()`, `is_simulated`, and parameters
    `other_clock` and `frame_prefix`.
    """

    def __init__(self, node: Any) -> None:
        self._node = node
        self._stamps: dict[str, StampCheck] = {}
        node.create_subscription(
            WrenchStamped, 'external_wrench', self._on_wrench, STREAM, raw=True
        )
        node.create_subscription(JointState, 'human_torques', self._on_human, STREAM, raw=True)

    @property
    def _sensors(self) -> Sensors | None:
        """Return what takes messages now, if anything."""
        node = self._node
        return node.loop.sensors if node.active and node.loop else None

    def _on_wrench(self, raw: bytes) -> None:
        sensors = self._sensors
        if sensors is None or not sensors.links:
            return
        message = read_bounded(raw, WrenchStamped, 'external_wrench', self._node.rejected)
        if message is None:
            return
        each, link = message.wrench, message.header.frame_id
        link = link.removeprefix(self._node.parameters.frame_prefix)
        if link not in sensors.links:
            return  # of somebody else: a push for a simulator
        if not self._is_new('external_wrench', link, message.header.stamp, sensors.wrench_timeout):
            return
        wrench = [*_numbers(each.force), *_numbers(each.torque)]
        try:
            sensors.take_wrench(link, wrench, self._node.now())
        except ClosedChainError as error:
            self._node.rejected('external_wrench', str(error))

    def _on_human(self, raw: bytes) -> None:
        sensors = self._sensors
        if sensors is None:
            return
        message = read_bounded(raw, JointState, 'human_torques', self._node.rejected)
        if message is None or not self._is_new(
            'human_torques', '', message.header.stamp, sensors.human_timeout
        ):
            return
        try:
            sensors.take_human(list(message.name), message.effort, self._node.now())
        except ClosedChainError as error:
            self._node.rejected('human_torques', str(error))

    def _is_new(self, topic: str, which: str, stamp: Any, timeout: float) -> bool:
        """Return whether a message is newer than the last of its kind, and not old."""
        when = seconds(stamp)
        if when == 0.0:
            return True
        check = self._stamps.setdefault(f'{topic} {which}', StampCheck(timeout))
        check.timeout, check.other_clock = timeout, self._node.parameters.other_clock
        check.simulated = self._node.is_simulated
        refusal = check.refuse(when, 1e-9 * self._node.get_clock().now().nanoseconds - when)
        if refusal:
            self._node.rejected(topic, f'{topic} {which}: {refusal[1]}')
        return refusal is None


def _numbers(vector: Any) -> tuple[float, float, float]:
    return vector.x, vector.y, vector.z
