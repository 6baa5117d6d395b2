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
How simulated time passes in simulator_node: period after period, on time, or in step.

In step with its controller a period begins only when the torques of its state have come; else
periods are taken as the clock of the machine and `real_time_factor` say.
"""

import math
import time
from typing import TYPE_CHECKING

from closed_chain_dynamics.ros.lockstep import Lockstep
from closed_chain_dynamics.ros.pacing import AT_A_STRETCH, Pace
from closed_chain_dynamics.simulation.driven_simulation import DrivenSimulation

if TYPE_CHECKING:
    from closed_chain_dynamics.ros.nodes.simulator_node import SimulatorNode

__all__ = ['PassingTime']


class PassingTime:
    """Lets time pass for a simulator_node, unless it is `paused`, and publishes what happens."""

    def __init__(self, node: 'SimulatorNode') -> None:
        self._node, p = node, node.parameters
        self.paused = p.start_paused
        period = 1.0 / p.rate
        self.pace, self.lockstep = Pace(period), Lockstep(p.lockstep_timeout)
        self._steps = math.ceil(period / p.dt - 1e-9)
        self.dt = period / self._steps  # step of the integrator: a period is divided evenly [s]

    def resume(self) -> None:
        """Go on from the present simulated time, at the present factor."""
        driven = self._node.driven
        self.pace.begin(driven.sim.time if driven else 0.0, self._node.parameters.real_time_factor)

    def moving(self) -> DrivenSimulation | None:
        """Return the simulation, if time can pass in it."""
        driven = self._node.driven
        return driven if self._node.active and driven and not driven.failure else None

    def is_in_step(self) -> bool:
        """Return whether every period waits for the torques of its state."""
        wanted = self._node.parameters.lockstep
        if wanted == 'auto':
            return self.pace.is_free and bool(self._node.count_publishers('actuator_torques') > 0)
        return bool(wanted == 'on')

    def go_on(self) -> None:
        """Let time pass as far as it is due and, in step with a controller, answered."""
        end = time.monotonic() + AT_A_STRETCH
        while (driven := self.moving()) and not self.paused:
            before, in_step = driven.sim.time, self.is_in_step()
            if in_step and not self.lockstep.is_ready():
                if self.lockstep.shall_say_again():
                    self._node.messages.publish_state(driven)
                return
            due = self.pace.due(before)
            if not due:
                return
            self.advance(driven, 1 if in_step else due)
            share = self._node.parameters.scene_rate
            if int(driven.sim.time * share) != int(before * share):
                self._node.messages.publish_scene(driven)
            if in_step or not self.pace.is_free or time.monotonic() > end:
                return

    def advance(self, driven: DrivenSimulation, periods: int) -> None:
        """Take periods, and publish where they lead and what happened in them."""
        node, messages = self._node, self._node.messages
        driven.advance(periods * self._steps)
        messages.in_step = self.is_in_step()
        records, driven.records = driven.records, []
        if records:
            messages.restructured(driven)
            messages.publish_events(records)
        else:
            messages.publish_state(driven)
        self.lockstep.ask(messages.stamp)
        for record in records:
            if record['kind'] == 'refused':
                node.rejected(f'contact/{record["wanted"]}', record['reason'])
        if driven.failure:
            node.get_logger().error(f'{driven.failure} Simulated time stops until a reset.')
