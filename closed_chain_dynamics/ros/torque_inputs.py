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

"""What torque_node listens to: joint states, which it answers, references, and `clear_fault`."""

from collections.abc import Callable
import time
from typing import TYPE_CHECKING

from sensor_msgs.msg import JointState, MultiDOFJointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from closed_chain_dynamics.control.control_loop import ControlLoop
from closed_chain_dynamics.ros.messages.bounded import read_trajectory
from closed_chain_dynamics.ros.messages.measured_states import MeasuredStates, State
from closed_chain_dynamics.ros.messages.qos import COMMAND, LATEST
from closed_chain_dynamics.ros.torque_setup import required_joints

if TYPE_CHECKING:
    from closed_chain_dynamics.ros.nodes.torque_node import TorqueNode

__all__ = ['TorqueInputs']


class TorqueInputs:
    """
    Hands the messages of a torque_node on to its turns; `measured`: what reads joint states.

    `refused`: why the last joint state was, in words; nothing where it was good.
    """

    def __init__(self, node: 'TorqueNode') -> None:
        self._node, self.refused = node, ''
        self.measured: MeasuredStates | None = None
        for kind, topic, callback, quality in (
            (JointState, 'joint_states', self._on_joint_states, LATEST),
            (MultiDOFJointState, 'multi_dof_joint_states', self._on_multi_dof, LATEST),
            (JointTrajectory, 'reference', self._on_reference, COMMAND),
        ):
            node.create_subscription(kind, topic, callback, quality, raw=True)
        node.create_service(Trigger, 'clear_fault', self._on_clear)

    def use(self, loop: ControlLoop) -> None:
        """Read states for a loop from now on, as the parameters say."""
        node, p, self.refused = self._node, self._node.parameters, ''
        self.measured = MeasuredStates(
            loop.robot,
            node.rejected,
            wanted=required_joints(p, loop.robot),
            merge_within=p.state_timeout,
            on_frame=node.contacts.take_frame,
            join=node.base.join if node.base.base else None,
        )

    def restructured(self) -> None:
        """Take note that joints were connected or cut."""
        assert self.measured is not None  # there is a model
        self.measured.restructured()

    def _on_joint_states(self, raw: bytes) -> None:
        if self._node.active and self.measured:
            began = self._node.state_timers.heard = time.monotonic()
            self._answer(self.measured.joint_states, raw, began)

    def _on_multi_dof(self, raw: bytes) -> None:
        if self._node.active and self.measured:
            began = time.monotonic()
            self._answer(self.measured.multi_dof, raw, began)

    def _answer(self, read: Callable[[bytes], State | None], raw: bytes, began: float) -> None:
        assert self.measured is not None  # what reads
        node, before = self._node, self._node.rejected.total
        state = read(raw)
        # Whatever a message says of itself: the age of a state counts, unless its clock has none.
        in_step = self.measured.is_in_step and (node.is_simulated or node.parameters.other_clock)
        if state is not None and node.turns.take(state, began, in_step=in_step):
            self.refused = ''
        elif node.rejected.total > before:
            self.refused = node.rejected.last

    def _on_reference(self, raw: bytes) -> None:
        node = self._node
        if node.active and node.loop:
            message = read_trajectory(raw, node.rejected)
            if message is None:
                return
            refusal = node.turns.ahead.take(message, node.loop, node.turns.last)
            if refusal:
                node.rejected('reference', refusal)

    def _on_clear(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        node = self._node
        if not node.loop:
            response.success, response.message = False, 'there is no model yet'
            return response
        why = node.loop.clear(node.now(), self.refused)
        node.turns.ahead.clear()
        response.success, response.message = not why, why or str(node.loop.safety)
        return response
