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

"""What simulator_node publishes of a simulation: its state, its events, and the scene."""

from collections.abc import Iterable
import json
from typing import Any

from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState, MultiDOFJointState
from std_msgs.msg import String

from closed_chain_dynamics.description.writer import to_xml
from closed_chain_dynamics.ros.messages.qos import EVENTS, LATCHED, PUBLISHED_STATE
from closed_chain_dynamics.ros.messages.scene_messages import SceneMessages
from closed_chain_dynamics.ros.messages.state_messages import StateMessages
from closed_chain_dynamics.simulation.driven_simulation import DrivenSimulation

__all__ = ['SimulationMessages']


class SimulationMessages:
    """
    The publishers of a node, and the messages of a `DrivenSimulation`, made once.

    `node`: any node whose `parameters` have `model`.
    """

    def __init__(self, node: Any) -> None:
        self._node, self.in_step, self._structure = node, False, ''
        self._states: StateMessages  # since the first model was shown
        self._scene: SceneMessages | None = None
        self._joint_states = node.create_publisher(JointState, 'joint_states', PUBLISHED_STATE)
        self._multi_dof = node.create_publisher(
            MultiDOFJointState, 'multi_dof_joint_states', PUBLISHED_STATE
        )
        self._clock = (
            node.create_publisher(Clock, '/clock', PUBLISHED_STATE)
            if node.parameters.publish_clock
            else None
        )
        self._connections = node.create_publisher(String, 'contact/state', LATCHED)
        self._events = node.create_publisher(String, 'contact/events', EVENTS)
        # A model that came by this topic is not sent back to it.
        self._description = (
            node.create_publisher(String, 'robot_description', LATCHED)
            if node.parameters.model
            else None
        )

    def show(self, driven: DrivenSimulation) -> None:
        """Publish a new model: what stays, and the present state."""
        if self._scene:
            self._scene.close()
        self._states = StateMessages(driven.robot)
        prefix = self._node.parameters.frame_prefix
        self._scene = SceneMessages(self._node, driven.robot, self._states.stamp, prefix)
        if self._description:
            self._description.publish(String(data=to_xml(driven.robot.description)))
        self.restructured(driven)
        self.publish_scene(driven)

    def restructured(self, driven: DrivenSimulation) -> None:
        """Publish the state after joints may have been connected or cut."""
        self._states = StateMessages(driven.robot, self._states.stamp)
        self._structure = json.dumps(driven.connections())
        self._connections.publish(String(data=self._structure))
        self.publish_state(driven)

    def publish_state(self, driven: DrivenSimulation) -> None:
        """Publish clock and joint states; in step with a controller, with what is closed."""
        sim, states = driven.sim, self._states
        states.fill(sim.time, sim.q, sim.v, driven.torques)
        states.joint_states.header.frame_id = self._structure if self.in_step else ''
        if self._clock:
            self._clock.publish(Clock(clock=states.stamp))
        self._joint_states.publish(states.joint_states)
        if states.multi_dof:
            self._multi_dof.publish(states.multi_dof)

    @property
    def stamp(self) -> tuple[int, int]:
        """Return the stamp of the last state, (sec, nanosec)."""
        return self._states.stamp.sec, self._states.stamp.nanosec

    def publish_events(self, records: Iterable[dict[str, Any]]) -> None:
        """Publish what happened and what was refused, in order."""
        for record in records:
            self._events.publish(String(data=json.dumps(record)))

    def publish_scene(self, driven: DrivenSimulation) -> None:
        """Publish tf and, for those who listen, markers and wrenches."""
        assert self._scene is not None  # a model is shown first
        sim = driven.sim
        # A copy: what is computed to be shown must not change the motion, not even its last bit.
        self._scene.publish(sim.robot.copy(), sim.q, sim.v, driven.torques, driven.wrenches)
