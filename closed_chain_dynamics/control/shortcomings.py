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

"""What is not as it should be while torques of the law are sent: it is told, and nothing more."""

import math

from closed_chain_dynamics.control.law import Command
from closed_chain_dynamics.control.torque_guard import TorqueGuard
from closed_chain_dynamics.control.turn_length import TurnLength

__all__ = ['Shortcomings']

SATURATED_LONG = 0.5  # a motor at its limit for this long is told [s]
TOLD_BELOW = 0.5  # share of stiffness and damping below which it is told


class Shortcomings:
    """Looks at turns of a law, and remembers since when motors are at their limits."""

    def __init__(self) -> None:
        self._saturated_since = math.inf

    def of(
        self, command: Command, guard: TorqueGuard, now: float, turns: TurnLength
    ) -> tuple[str, str] | None:
        """Return the cause and a text, or None."""
        since = min(self._saturated_since, now) if guard.saturated else math.inf
        self._saturated_since = since
        if now - since >= SATURATED_LONG:
            return 'saturated', f'at the limit of effort: {", ".join(guard.saturated)}'
        if command.held < TOLD_BELOW and turns.is_known:
            return 'slow turns', (
                f'states come {1e3 * turns.now:.3g} ms apart or late: '
                f'{command.held:.0%} of stiffness and damping can be held'
            )
        return None
