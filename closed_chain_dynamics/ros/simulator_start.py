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

"""Starts a simulator that waits at time zero, once torque_node has what it needs to drive."""

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from std_srvs.srv import SetBool

from closed_chain_dynamics.ros.messages.qos import COMMAND, LATEST

__all__ = ['BEGINNING', 'SimulatorStart']

BEGINNING = 1e-6  # a simulator whose time is below this waits for a start [s]
CONTROLLER = 'torque_node'


class SimulatorStart:
    """`time`: what /clock says [s]; `is_driven`: whether torque_node says that all is well."""

    def __init__(self, node: Node) -> None:
        self.time: float | None = None
        self.is_driven = False
        self._pause = node.create_client(SetBool, 'pause')
        node.create_subscription(Clock, '/clock', self._on_clock, LATEST)
        node.create_subscription(DiagnosticArray, 'diagnostics', self._on_diagnostics, COMMAND)

    def _on_clock(self, message: Clock) -> None:
        self.time = message.clock.sec + 1e-9 * message.clock.nanosec

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name.rpartition('/')[2] == CONTROLLER:
                self.is_driven = status.level == DiagnosticStatus.OK

    def start_if_waiting(self) -> None:
        """Let time pass where it has not begun to, and the controller drives."""
        waits = self.time is not None and self.time < BEGINNING
        if waits and self.is_driven and self._pause.service_is_ready():
            self.pause(False)

    def pause(self, paused: bool) -> None:
        """Stop time, or let it go on."""
        self._pause.call_async(SetBool.Request(data=paused))
