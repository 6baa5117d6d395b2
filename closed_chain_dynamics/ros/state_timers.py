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
Looks for joint states that stay away, so that the fallback comes when the last one turns stale.

A timer of the machine looks a few milliseconds apart. With simulated time every tick of that time
is looked at too, however fast it runs, and the timer is for a simulator that says nothing at all.

The timer is never set anew: where one timer of rclpy's executor in C++ is reset while another is
due, the other goes off twice, and after a pause of the process its queue could grow for ever.
"""

import time
from typing import TYPE_CHECKING

import numpy as np
from rclpy.clock import Clock, ClockType, JumpThreshold, TimeJump
from rclpy.duration import Duration

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.control.safety_state import DEGRADED

if TYPE_CHECKING:
    from closed_chain_dynamics.ros.nodes.torque_node import TorqueNode

__all__ = ['StateTimers']

LOOKS_PER_TIMEOUT = 10  # for states that stay away, within a timeout
SHORTEST_BETWEEN_LOOKS, LONGEST_BETWEEN_LOOKS = 5e-4, 1e-2  # between two looks [s]


class StateTimers:
    """Has a torque_node publish the fallback in time; `heard`: when a state came last [s]."""

    def __init__(self, node: 'TorqueNode') -> None:
        self._node, self.heard, self.is_missing = node, -np.inf, False
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = node.create_timer(self._look_every, self._watch, clock=self._steady)
        # No timer of simulated time: rclpy's executor in C++ lets those go off hundreds of times.
        self._ticks = node.get_clock().create_jump_callback(
            JumpThreshold(
                min_forward=Duration(nanoseconds=1), min_backward=None, on_clock_change=False
            ),
            post_callback=self._on_clock,
        )

    @property
    def _look_every(self) -> float:
        """Return how often states that stay away are looked for at least [s]."""
        p = self._node.parameters
        simulated = self._node.is_simulated
        shortest = min(p.state_timeout, p.wall_timeout) if simulated else p.state_timeout
        return min(
            max(float(shortest) / LOOKS_PER_TIMEOUT, SHORTEST_BETWEEN_LOOKS), LONGEST_BETWEEN_LOOKS
        )

    def restart(self) -> None:
        """Take other timeouts."""
        self._node.destroy_timer(self._timer)
        self._timer = self._node.create_timer(self._look_every, self._watch, clock=self._steady)

    def _watch(self) -> None:
        """Publish the fallback when states stay away."""
        node = self._node
        node.output.alive()
        node.contacts.look()  # where no turns are taken
        if node.action:
            node.action.look_for_cancel()
        if node.active and node.loop:
            wall, simulated = time.monotonic(), node.is_simulated
            now = node.now()
            silent = simulated and wall - self.heard > node.parameters.wall_timeout
            # With simulated time a state may be waiting in front of this process: look once more.
            missing, self.is_missing = self.is_missing, silent or node.loop.is_stale(now)
            if not simulated or (missing and self.is_missing):
                self._fall_back(now, silent)

    def _on_clock(self, jump: TimeJump) -> None:
        """Look at once when the last good state turns stale in simulated time."""
        node = self._node
        if self.is_missing or not (node.active and node.loop and node.is_simulated):
            return
        if node.loop.is_stale(node.now()):
            self._watch()

    def _fall_back(self, now: float, silent: bool) -> None:
        """Publish the fallback where states have stayed away too long."""
        assert self._node.loop is not None  # there is a model
        tau = self._node.loop.watch(now, self._node.inputs.refused)
        if tau is None and silent:
            tau = self._in_silence(now)
        if tau is not None:
            self._node.output.publish(tau)
            self._node.report.after_turn()

    def _in_silence(self, now: float) -> Vector:
        """Return what is safe while a simulator says nothing."""
        loop, measured = self._node.loop, self._node.inputs.measured
        assert loop is not None and measured is not None  # there is a model
        text = 'no joint states within wall_timeout'
        if not measured.is_in_step:
            return loop.fall_back(now, text)
        # No simulated time passes meanwhile: the next state goes on as if nothing had been.
        loop.safety.enter(DEGRADED, text, text)
        return np.zeros_like(loop.guard.tau)
