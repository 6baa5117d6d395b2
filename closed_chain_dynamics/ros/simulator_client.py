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

"""What a node asks of simulator_node: its services, its speed, and pushes."""

from contextlib import suppress
from typing import Any

from geometry_msgs.msg import WrenchStamped
import numpy as np
from numpy.typing import NDArray
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from closed_chain_dynamics.ros.messages.qos import COMMAND

__all__ = ['SimulatorClient']

SIMULATOR = 'simulator_node'
FACTOR = 'real-time factor'  # as simulator_node calls it in diagnostics


class SimulatorClient:
    """Asks, and keeps what diagnostics says: `paused`, and the real-time factor it reaches."""

    def __init__(self, node: Node) -> None:
        self.paused = False
        self.factor: float | None = None
        self._pause = node.create_client(SetBool, 'pause')
        self._step, self._reset = (node.create_client(Trigger, name) for name in ('step', 'reset'))
        self._set = node.create_client(SetParameters, f'{SIMULATOR}/set_parameters')
        self._wrench = node.create_publisher(WrenchStamped, 'external_wrench', COMMAND)

    def take(self, status: Any) -> None:
        """Take a DiagnosticStatus, if it is the simulator's."""
        if status.name.rpartition('/')[2] == SIMULATOR:
            self.paused = status.message.startswith('paused')
            for each in status.values:
                if each.key == FACTOR:
                    with suppress(ValueError):  # somebody else's words
                        self.factor = float(each.value)

    def is_ready(self) -> bool:
        """Return whether a simulator offers its services."""
        return bool(self._pause.service_is_ready())

    def pause(self, paused: bool) -> None:
        """Stop time, or let it go on."""
        self._pause.call_async(SetBool.Request(data=paused))
        self.paused = paused

    def step(self) -> None:
        """Let a period pass."""
        self._step.call_async(Trigger.Request())

    def reset(self) -> None:
        """Go back to the start."""
        self._reset.call_async(Trigger.Request())

    def set_speed(self, factor: float) -> None:
        """Let time pass at a factor of real time."""
        value = ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=factor)
        wanted = Parameter(name='real_time_factor', value=value)
        self._set.call_async(SetParameters.Request(parameters=[wanted]))

    def push(self, link: str, force: NDArray[np.float64]) -> None:
        """Push a link at its origin with a force in its own axes, (3,) [N]."""
        message = WrenchStamped()
        message.header.frame_id = link
        wrench = message.wrench
        wrench.force.x, wrench.force.y, wrench.force.z = map(float, force)
        self._wrench.publish(message)
