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

"""What torque_node says of itself: its safety state, and diagnostics when there is time."""

import json
import time
from typing import TYPE_CHECKING

import numpy as np
from rclpy.clock import Clock, ClockType
from std_msgs.msg import String

from closed_chain_dynamics.control.safety_state import ACTIVE, DEGRADED, FAULT, SafetyState
from closed_chain_dynamics.control.torque_guard import TorqueGuard
from closed_chain_dynamics.ros.messages.diagnostics import REPORT_EVERY
from closed_chain_dynamics.ros.messages.qos import LATCHED
from closed_chain_dynamics.ros.turn_times import TurnTimes

if TYPE_CHECKING:
    from closed_chain_dynamics.ros.nodes.torque_node import TorqueNode

__all__ = ['TorqueReport']

CHANGE_EVERY = 0.1  # where the safety state changes [s]
LOG_EVERY = 1.0  # of one cause in the log [s]


class TorqueReport:
    """Publishes `safety_state` and the diagnostics of a torque_node; `times`: of its turns."""

    def __init__(self, node: 'TorqueNode') -> None:
        self._node, self.times, self._is_due = node, TurnTimes(), False
        self._shown: tuple[str, str] | None = None  # the state and cause that were reported last
        self._reported = -np.inf
        self._logged: dict[str, float] = {}  # when a cause was written last
        self._unsaid: tuple[str, str, str] | None = None  # what came too soon after that
        self._safety = node.create_publisher(String, 'safety_state', LATCHED)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(REPORT_EVERY, self._on_due, clock=steady)

    def begin(self) -> None:
        """Report with the next torques."""
        self._shown = None

    def take_limits(self, guard: TorqueGuard) -> None:
        """Warn of actuators that have no effort limit in a new model."""
        if guard.unlimited:
            self._node.get_logger().warning(
                f'no effort limit in the model: {", ".join(guard.unlimited)} may give '
                f'{self._node.parameters.default_effort:g} N m or N, see parameter default_effort'
            )

    def take_safety(self, safety: SafetyState) -> None:
        """Publish a change of the safety state, and write it down in words."""
        told = {'state': safety.state, 'cause': safety.cause, 'text': safety.text}
        self._safety.publish(String(data=json.dumps(told)))
        self._write(safety.state, safety.cause, str(safety))

    def _write(self, state: str, cause: str, text: str) -> None:
        """Write a change into the log; where its cause was written a moment ago, later."""
        now = time.monotonic()
        if now - self._logged.get(cause, -np.inf) < LOG_EVERY and state != FAULT:
            self._unsaid = state, cause, text
            return
        self._unsaid, self._logged[cause] = None, now
        log = self._node.get_logger()
        # rclpy wants one level at one line of code
        if state == FAULT:
            log.error(text)
        elif state == DEGRADED:
            log.warning(text)
        else:
            log.info(text)

    def after_turn(self) -> None:
        """Report where it is due; at once where the safety state is another, or its cause."""
        if self._is_due:
            self.publish()
        assert self._node.loop is not None  # whose torques these are
        safety = self._node.loop.safety
        now = safety.state, safety.cause
        if now != self._shown and time.monotonic() > self._reported + CHANGE_EVERY:
            self._shown = now
            self.publish()

    def _on_due(self) -> None:
        """Report right after the next turn, which is the time with the least to do."""
        loop = self._node.loop
        if self._is_due or not loop or loop.reason or not self._node.active:
            self.publish()
        else:
            self._is_due = True

    def publish(self) -> None:
        """Publish the diagnostics, and write into the log what had to wait."""
        if self._unsaid:
            self._write(*self._unsaid)
        self._reported, self._is_due = time.monotonic(), False
        node, loop = self._node, self._node.loop
        if not loop:
            problem = getattr(node.source, 'problem', '') or 'not configured'
            node.diagnostics.publish('warning', problem, node.rejected.values())
            return
        p, name, safety = node.parameters, loop.robot.name, loop.safety
        reason = loop.reason if node.active else 'not active'
        problem = node.source.problem if node.source else ''  # of a description that came later
        level = 'warning' if problem or safety.state != ACTIVE else 'ok'
        level = 'error' if safety.state == FAULT else level
        more = f', {safety}' if safety.state != ACTIVE else ''
        more += f'; another model was refused: {problem}' if problem else ''
        node.diagnostics.publish(
            level if node.active else 'warning',
            f'fallback {p.fallback}: {reason}' if reason else f'{p.mode} of {name}{more}',
            {
                'mode': p.mode,
                **loop.describe(),
                **node.contacts.values(),
                **self.times.values(),
                **node.rejected.values(),
            },
            name,
        )
