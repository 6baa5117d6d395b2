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

"""What loop_state_node says of itself."""

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from rclpy.clock import Clock, ClockType

from closed_chain_dynamics.ros.messages.diagnostics import REPORT_EVERY

if TYPE_CHECKING:
    from closed_chain_dynamics.ros.nodes.loop_state_node import LoopStateNode

__all__ = ['LoopStateReport']


class LoopStateReport:
    """Publishes the diagnostics of a loop_state_node, when due and when its status changes."""

    def __init__(self, node: 'LoopStateNode') -> None:
        self._node, self._came = node, -np.inf
        self._said: str | None = None
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(REPORT_EVERY, self.publish, clock=steady)

    def take_good(self, now: float) -> None:
        """Note that a good state came [s]."""
        self._came = now

    def after_state(self, state: Any) -> None:
        """Report at once where the status is another than the one that was told."""
        if state and state.status != self._said:
            self.publish()

    def publish(self) -> None:
        """Publish the diagnostics, with what was connected or cut while no states came."""
        self._node.contacts.look()
        node, p = self._node, self._node.parameters
        tracker = node.tracker
        if not tracker:
            problem = getattr(node.source, 'problem', 'not configured')
            node.diagnostics.publish('warning', problem, node.rejected.values())
            return
        state = tracker.state
        self._said = state.status if state else None
        shown = state.describe() if state and tracker.is_known else {}
        if state is None or time.monotonic() - self._came > p.state_timeout:
            level, message = 'stale', 'no good measured_joint_states'
        elif state.status == 'lost':
            level, message = 'error', 'lost: the joints are not where they can have moved to'
        elif state.residual > p.contradiction:
            level, message = 'warning', f'{state.worst_name} contradicts the loops'
        else:
            level, message = 'ok', state.status
        node.diagnostics.publish(
            level,
            message,
            {**shown, **node.contacts.values(), **node.rejected.values()},
            tracker.robot.name,
        )
