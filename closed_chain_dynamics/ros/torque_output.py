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

"""Where torques leave: messages made once, and a watchdog that sends zero where they cannot."""

from collections.abc import Sequence
import time

import numpy as np
from numpy.typing import NDArray
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.ros.messages.qos import COMMAND, PUBLISHED_STATE
from closed_chain_dynamics.ros.messages.raw_states import RawMessage
from closed_chain_dynamics.ros.watchdog import Watchdog

__all__ = ['TorqueOutput', 'single_topic']

LAST_TORQUES = 2.0  # for the last ones to reach who listens, before their writer is gone [s]


def single_topic(actuator: str) -> str:
    """Return the topic of an actuator by itself; names of coordinates have a colon in them."""
    return f'{actuator.replace(":", "_")}_effort_controller/commands'


class TorqueOutput:
    """
    Publishes `actuator_torques` and `effort_controller/commands` for a node.

    For a chain of controllers that each forward to one joint, also a topic for each.
    """

    def __init__(self, node: Node) -> None:
        self._node, self._watchdog = node, None
        self._singles: list[tuple[Publisher, RawMessage]] = []
        self._torques = node.create_publisher(JointState, 'actuator_torques', PUBLISHED_STATE)
        self._commands = node.create_publisher(
            Float64MultiArray, 'effort_controller/commands', COMMAND
        )

    _watchdog: Watchdog | None

    def use(
        self, names: Sequence[str], order: NDArray[np.intp], *, singles: bool, watched: bool
    ) -> None:
        """
        Make the messages of some actuators; `order`: theirs in commands.

        `singles`: whether each has a topic of its own; `watched`: whether zero is sent for the
        node where it cannot.
        """
        self._order = order
        self._torque_message = RawMessage(JointState(name=names), 'effort', len(names))
        self._command_message = RawMessage(Float64MultiArray(), 'data', len(order))
        for publisher, _ in self._singles:
            self._node.destroy_publisher(publisher)
        self._singles = [
            (
                self._node.create_publisher(Float64MultiArray, single_topic(name), COMMAND),
                RawMessage(Float64MultiArray(), 'data', 1),
            )
            for name in (names if singles else ())
        ]
        self.close()
        if watched:
            self._watchdog = Watchdog(
                self._node.context.get_domain_id(),
                _enclave(self._node),
                self._torques.topic_name,
                {
                    self._commands.topic_name: len(order),
                    **{publisher.topic_name: 1 for publisher, _ in self._singles},
                },
                list(names),
            )

    def publish(self, tau: Vector, stamp: tuple[int, int] | None = None) -> None:
        """Send torques, with the stamp of the state that they answer."""
        torques, commands = self._torque_message, self._command_message
        torques.numbers[:] = tau
        if stamp is None:  # no state is answered, and none shall seem to be
            clock = self._node.get_clock()
            simulated = clock.ros_time_is_active
            stamp = (0, 0) if simulated else clock.now().seconds_nanoseconds()
        torques.stamp(*stamp)
        self._torques.publish(bytes(torques))
        commands.numbers[:] = tau[self._order]
        self._commands.publish(bytes(commands))
        for (publisher, message), torque in zip(self._singles, tau.tolist()):
            message.numbers[0] = torque
            publisher.publish(bytes(message))

    # --- the watchdog ----------------------------------------------------------------------------
    def arm(self, timeout: float) -> None:
        """Have zero sent where nobody is alive for a time [s]."""
        if self._watchdog:
            self._watchdog.arm(timeout)

    def alive(self) -> None:
        """Say so."""
        if self._watchdog:
            self._watchdog.alive()

    def stood_in(self) -> bool:
        """Return whether the watchdog has sent zero since this was asked."""
        return self._watchdog is not None and self._watchdog.stood_in()

    def disarm(self) -> None:
        """Nothing is sent any more."""
        if self._watchdog:
            self._watchdog.disarm()

    def close_when_taken(self) -> None:
        """
        Wait a while for those who listen reliably to confirm the last torques, then close.

        They do when a heartbeat asks them: every three seconds by default, so that they may have
        them without saying so in time.
        """
        end = time.monotonic() + LAST_TORQUES
        for publisher in (self._torques, self._commands, *(each for each, _ in self._singles)):
            left = Duration(seconds=max(end - time.monotonic(), 0.0))
            publisher.wait_for_all_acked(left)
        self.close()

    def close(self) -> None:
        """End the watchdog."""
        if self._watchdog:
            self._watchdog.close()
            self._watchdog = None


def _enclave(node: Node) -> str:
    """Return the enclave of a node; rclpy knows it only as one of all nodes."""
    own = node.get_name(), node.get_namespace()
    known = node.get_node_names_and_namespaces_with_enclaves()
    return next((str(enclave) for *name, enclave in known if tuple(name) == own), '/')
