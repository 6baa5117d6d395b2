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

"""What simulator_node listens to: torques, wrenches, connections and cuts; see its contract."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.ros.messages.bounded import subscribe
from closed_chain_dynamics.ros.messages.joint_commands import commanded_efforts
from closed_chain_dynamics.ros.messages.qos import COMMAND, STREAM
from closed_chain_dynamics.simulation.driven_simulation import DrivenSimulation

if TYPE_CHECKING:
    from closed_chain_dynamics.ros.nodes.simulator_node import SimulatorNode

__all__ = ['SimulatorInputs']


class SimulatorInputs:
    """Hands the messages of a simulator_node on to its simulation, which takes them when due."""

    def __init__(self, node: 'SimulatorNode') -> None:
        self._node = node
        listen = partial(subscribe, node, node.rejected)
        listen(JointState, 'actuator_torques', self._on_torques, STREAM)
        listen(JointState, 'joint_commands', self._on_commands, COMMAND)
        listen(WrenchStamped, 'external_wrench', self._on_wrench, COMMAND)
        for kind in ('connect', 'cut'):
            listen(String, f'contact/{kind}', partial(self._on_contact, kind), COMMAND)

    def _take(self, topic: str, hand_on: Callable[[DrivenSimulation], None]) -> None:
        """Hand an input on to the simulation, or count why not."""
        node = self._node
        if not (node.active and node.driven):
            return
        try:
            hand_on(node.driven)
        except ClosedChainError as error:
            node.rejected(topic, str(error))
            node.get_logger().warning(str(error), throttle_duration_sec=1.0)

    def _on_torques(self, message: JointState) -> None:
        passing, stamp = self._node.passing, message.header.stamp
        if passing.is_in_step() and not passing.lockstep.answer((stamp.sec, stamp.nanosec)):
            return
        self._take(
            'actuator_torques', lambda driven: driven.set_torques(message.name, message.effort)
        )
        if passing.is_in_step():
            passing.go_on()  # at once, where time has to catch up

    def _on_commands(self, message: JointState) -> None:
        """Take efforts of a hardware interface; no state waits for their answer."""
        self._take(
            'joint_commands',
            lambda driven: driven.set_torques(
                *commanded_efforts(message, driven.robot.actuator_names)
            ),
        )

    def _on_wrench(self, message: WrenchStamped) -> None:
        force, torque = message.wrench.force, message.wrench.torque
        wrench = force.x, force.y, force.z, torque.x, torque.y, torque.z
        link = message.header.frame_id.removeprefix(self._node.parameters.frame_prefix)
        self._take('external_wrench', lambda driven: driven.push(link, wrench))

    def _on_contact(self, kind: str, message: String) -> None:
        self._take(f'contact/{kind}', lambda driven: driven.ask(kind, message.data))
