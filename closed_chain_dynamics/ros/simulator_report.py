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

"""What simulator_node says of itself: how time passes, and what it takes."""

from typing import TYPE_CHECKING, Any

from rclpy.clock import Clock, ClockType

from closed_chain_dynamics.ros.messages.diagnostics import REPORT_EVERY

if TYPE_CHECKING:
    from closed_chain_dynamics.ros.nodes.simulator_node import SimulatorNode

__all__ = ['SimulatorReport']


class SimulatorReport:
    """Publishes the diagnostics of a simulator_node; `status` is also what its services answer."""

    def __init__(self, node: 'SimulatorNode') -> None:
        self._node = node
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.begin()

    def begin(self) -> None:
        """Count from now on."""
        self._last = self._steady.now()

    def publish_if_due(self) -> None:
        """Report once in a while."""
        now = self._steady.now()
        if (now - self._last).nanoseconds <= REPORT_EVERY * 1e9:
            return
        self._last = now
        node, driven = self._node, self._node.driven
        node.diagnostics.publish(
            *self.status(), self._values(), driven.robot.name if driven else ''
        )
        if driven and node.passing.paused:  # for those who come later
            node.messages.publish_state(driven)

    def status(self) -> tuple[str, str]:
        """Return level and message."""
        node, driven, passing = self._node, self._node.driven, self._node.passing
        if not driven:
            return 'warning', node.source.problem if node.source else 'not configured'
        if driven.failure:
            return 'error', f'time stands still until reset: {driven.failure}'
        counts = ', '.join(f'{count} {what}' for what, count in driven.taken.items())
        when = f't = {driven.sim.time:.9g} s, taken: {counts}'
        if passing.paused:
            return 'ok', f'paused at {when}'
        if passing.is_in_step() and passing.lockstep.waited > REPORT_EVERY:
            return 'warning', f'waiting for the torques of this state, {when}'
        if driven.taken['torques'] and driven.are_stale():
            return 'warning', f'torques are stale and count as zero, {when}'
        if node.parameters.publish_clock and node.count_publishers('/clock') > 1:
            return 'warning', (
                f'another node publishes /clock too, {when}: remap /clock in the nodes of each '
                'robot, or set publish_clock to false, and give each its own frame_prefix'
            )
        if node.source and node.source.problem:
            return 'warning', f'another model was refused, {when}: {node.source.problem}'
        return 'ok', f'running, {when}'

    def _values(self) -> dict[str, Any]:
        node, driven, passing = self._node, self._node.driven, self._node.passing
        if not driven:
            return node.rejected.values()
        sim = driven.sim
        energy = sim.energy()
        return {
            'simulated time [s]': sim.time,
            'real-time factor': passing.pace.real_time_factor(sim.time),
            'overruns': passing.pace.overruns,
            'lockstep': 'on' if passing.is_in_step() else 'off',
            'periods without an answer': passing.lockstep.missed,
            'loop error [m or rad]': sim.loop_error(),
            'kinetic energy [J]': energy.kinetic,
            'potential energy [J]': energy.potential,
            'energy balance [J]': energy.balance,
            **node.rejected.values(),
        }
