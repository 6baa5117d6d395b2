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

"""The services of simulator_node: `pause`, `step` and `reset`."""

from typing import TYPE_CHECKING, Any

from std_srvs.srv import SetBool, Trigger

if TYPE_CHECKING:
    from closed_chain_dynamics.ros.nodes.simulator_node import SimulatorNode

__all__ = ['SimulatorServices']


class SimulatorServices:
    """Answers those who want the time of a simulator_node to stop, to step or to begin again."""

    def __init__(self, node: 'SimulatorNode') -> None:
        self._node = node
        node.create_service(SetBool, 'pause', self._on_pause)
        node.create_service(Trigger, 'step', self._on_step)
        node.create_service(Trigger, 'reset', self._on_reset)

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        node = self._node
        node.passing.paused = request.data
        node.passing.resume()
        return self._answer(response, not (node.driven and node.driven.failure))

    def _on_step(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        passing = self._node.passing
        driven = passing.moving() if passing.paused else None
        if driven and passing.is_in_step() and not passing.lockstep.is_ready():
            return self._answer(response, False, 'the torques of this state have not come: ')
        if driven:
            passing.advance(driven, 1)
            self._node.messages.publish_scene(driven)
        return self._answer(
            response, driven is not None, 'a step is for a simulation that is paused: '
        )

    def _on_reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        node, driven = self._node, self._node.driven
        if node.active and driven:
            driven.reset()
            node.passing.resume()
            node.messages.restructured(driven)
            node.passing.lockstep.ask(node.messages.stamp)
            node.messages.publish_scene(driven)
        return self._answer(response, node.active and driven is not None)

    def _answer(self, response: Any, success: bool, otherwise: str = '') -> Any:
        response.success = success
        response.message = ('' if success else otherwise) + self._node.report.status()[1]
        return response
