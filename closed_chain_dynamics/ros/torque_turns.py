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
The turns of torque_node: a measured state comes in, and torques with its stamp go out.

Each good state is answered at once, at most `rate` times a second of the stamps. A simulator in
step with this node gets an answer to every state: to one that is refused, the torques that stand.
"""

from functools import partial
import time
from typing import TYPE_CHECKING

import numpy as np

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.ros.messages.measured_states import State, seconds
from closed_chain_dynamics.ros.messages.raw_states import Stamp
from closed_chain_dynamics.ros.references_ahead import ReferencesAhead

if TYPE_CHECKING:
    from closed_chain_dynamics.ros.nodes.torque_node import TorqueNode

__all__ = ['TorqueTurns']


class TorqueTurns:
    """
    Answers the states of a torque_node; `last`: the stamp of the last one answered [s].

    `shortest`: between two that are answered [s]; `ahead`: trajectories that begin later.
    """

    def __init__(self, node: 'TorqueNode') -> None:
        self._node, self.last, self.shortest = node, -np.inf, 0.0
        self.ahead = ReferencesAhead()

    def take(self, state: State, began: float, *, in_step: bool) -> bool:
        """
        Answer a state that came at a time of the machine [s]; return whether it is good.

        `in_step`: it is waited for.
        """
        stamp, names, position, velocity = state
        node, loop, when = self._node, self._node.loop, seconds(stamp)
        assert loop is not None  # there is a model
        if not in_step and 0.0 < when - self.last < self.shortest:
            return True
        if in_step and when < self.last:
            loop.restart(when)
            self.ahead.clear()
        elif in_step and self.last == -np.inf:
            loop.guard.restart()  # from no time: a fallback may have left at any before
        simulated = loop.tracker.stamps.simulated = node.is_simulated
        now = when if simulated else began
        # In step, nothing of a turn may depend on how fast messages travel, as this age does.
        age = 0.0 if in_step else node.clock_time(simulated) - when
        self.ahead.hand_over(loop, when)
        if node.output.stood_in() and not in_step:  # in step, only answers to states act
            loop.go_on_from_zero(now)
            if simulated:  # it waited meanwhile, and the clock, which waited too, does not tell
                return True
        send, tau = partial(self._send, stamp, began), None
        if in_step and when == self.last:  # asked again: the answer may have been lost
            tau = loop.turn_again(when, now)
            send(tau)
        else:
            tau = loop.take_state(
                names, position, velocity, stamp=when, now=now, age=age, send=send
            )
            if loop.tracker.restarted:
                self.ahead.clear()  # their stamps come again
            if tau is None and in_step:
                tau = loop.guard.tau
                send(tau)
        if tau is not None:
            self.last, node.state_timers.is_missing = when, False
            if node.action:
                node.action.after_turn(when)
            loop.look_ahead()  # in the time that is left
        node.contacts.look()
        node.output.alive()
        node.report.after_turn()
        return tau is not None

    def end(self) -> None:
        """Make zero the last command, and forget what was asked for."""
        self.ahead.clear()
        loop = self._node.loop
        if loop:
            self._node.output.publish(loop.rest(self._node.now()))

    def _send(self, stamp: Stamp, began: float, tau: Vector) -> None:
        """Publish the torques that answer a state, and note how long that took."""
        self._node.output.publish(tau, stamp)
        self._node.report.times.add(began, time.monotonic())
