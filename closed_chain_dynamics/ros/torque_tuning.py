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

"""Parameters of torque_node while it runs: checked against the model, then taken all at once."""

from typing import TYPE_CHECKING

from closed_chain_dynamics.ros.parameters import Parameters
from closed_chain_dynamics.ros.torque_setup import apply, law, sensors

if TYPE_CHECKING:
    from closed_chain_dynamics.ros.nodes.torque_node import TorqueNode

__all__ = ['TorqueTuning']


class TorqueTuning:
    """Lets a torque_node be as its parameters say."""

    def __init__(self, node: 'TorqueNode') -> None:
        self._node = node

    def check(self, parameters: Parameters) -> None:
        """Refuse parameters that do not fit the model."""
        loop = self._node.loop
        if loop:
            self._new_law = law(parameters, loop.robot, loop.controller.generated)
            sensors(parameters, loop.robot)

    def take(self, names: set[str]) -> None:
        """Take the law that was checked, and all that is not of the law."""
        node, loop = self._node, self._node.loop
        if loop:
            controller, guard, limits = self._new_law
            guard.resume(loop.guard)
            loop.controller, loop.guard = controller, guard
            loop.use_limits(limits)
            loop.use_singularity_policy()
            self.apply()
            if node.active:
                self.arm()
        if names & {'state_timeout', 'wall_timeout'}:
            node.state_timers.restart()

    def apply(self) -> None:
        """Take what is not of the law."""
        node, p, loop = self._node, self._node.parameters, self._node.loop
        assert loop is not None  # there is a model
        apply(p, loop)
        if node.base.base:
            node.base.base.timeout = p.base_timeout
        node.turns.shortest, node.report.times.period = 0.8 / p.rate, 1.0 / p.rate
        node.inputs.use(loop)

    def arm(self) -> None:
        """Have the watchdog send zero where nobody is alive for a timeout."""
        p = self._node.parameters
        self._node.output.arm(p.wall_timeout if self._node.is_simulated else p.state_timeout)
