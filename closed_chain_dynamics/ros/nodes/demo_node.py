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
`demo_node`: tells the figure on the swing what to do in the demonstration.

Takes: /clock (rosgraph_msgs/Clock), contact/state (std_msgs/String, latched), diagnostics
(diagnostic_msgs/DiagnosticArray) of torque_node.
Gives: reference (trajectory_msgs/JointTrajectory), contact/connect and contact/cut
(std_msgs/String, name@time): the present round of the programme and the next ones, every second
again, so that it does not matter when a message arrives. A hand that is not where it should be is
asked again.

All is a function of the simulated time: whoever is started anew finds into it. A simulator that
waits at time zero is started by service `pause` as soon as torque_node follows the reference. A
figure that has been without torques, and cannot reach the rod any more, starts over by `reset`.
"""

from collections.abc import Sequence
import sys
import time
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from std_msgs.msg import String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.ros.demo_programme import (
    JOINTS,
    OPEN_HANDS,
    ROUND,
    changes,
    round_motion,
    wanted_closed,
)
from closed_chain_dynamics.ros.messages.contacts import read_state
from closed_chain_dynamics.ros.messages.qos import COMMAND, LATCHED
from closed_chain_dynamics.ros.messages.state_messages import set_stamp
from closed_chain_dynamics.ros.messages.trajectories import trajectory
from closed_chain_dynamics.ros.running import run
from closed_chain_dynamics.ros.simulator_start import SimulatorStart

__all__ = ['DemoNode', 'main']

HANDS_LOOK_EVERY, TELL_EVERY = 0.1, 1.0  # at the hands; of the programme [s]
ROUNDS_TOLD = 3  # rounds that are told
ASK_AGAIN, LOST = 0.3, 2.0  # when a hand did not do what it was told; for good [s]


class DemoNode(Node):
    """See the top of this file."""

    def __init__(self, **options: Any) -> None:
        super().__init__('demo_node', **options)
        self._closed: dict[str, bool] | None = None
        # first and last time of asking, and the last on the clock of the machine, by hand
        self._asked: dict[str, tuple[float, float, float]] = {}
        self._round = trajectory(JOINTS, *round_motion())
        self._reference = self.create_publisher(JointTrajectory, 'reference', COMMAND)
        self._contact = {
            kind: self.create_publisher(String, f'contact/{kind}', COMMAND)
            for kind in ('connect', 'cut')
        }
        self._simulator = SimulatorStart(self)
        self._reset = self.create_client(Trigger, 'reset')
        self.create_subscription(String, 'contact/state', self._on_state, LATCHED)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(HANDS_LOOK_EVERY, self._look, clock=steady)
        self.create_timer(TELL_EVERY, self._tell, clock=steady)

    def _on_state(self, message: String) -> None:
        closed = read_state(message.data)
        if closed is None:  # of nobody that knows what it is
            self.get_logger().warning(
                'contact/state is not JSON {name: true or false}', throttle_duration_sec=1.0
            )
            return
        self._closed = closed
        missing = [name for name in OPEN_HANDS if name not in closed]
        if missing:
            raise ClosedChainError(
                f'this model has no loop joint {missing[0]!r}',
                where='demo',
                repair='The demonstration is for the model swing.',
            )

    def _look(self) -> None:
        """Ask again where a hand is for some time not as it should be."""
        if self._simulator.time is None or self._closed is None:
            return
        now, wall = self._simulator.time, time.monotonic()
        for name, closed in wanted_closed(now).items():
            if closed == self._closed[name]:
                self._asked.pop(name, None)
                continue
            first, last, asked = self._asked.setdefault(name, (now, now, wall))
            if now < last:  # time has started anew
                del self._asked[name]
            elif now - first > LOST:
                self._start_over()
                return
            elif min(now - last, wall - asked) > ASK_AGAIN:
                self._asked[name] = first, now, wall
                self._contact['connect' if closed else 'cut'].publish(String(data=name))

    def _start_over(self) -> None:
        if self._reset.service_is_ready():
            self.get_logger().info('the figure cannot grip any more: it starts over')
            self._asked, self._simulator.is_driven = {}, False
            self._simulator.pause(True)
            self._reset.call_async(Trigger.Request())

    def _tell(self) -> None:
        """Publish the present and the next rounds, and start what waits for a start."""
        now = self._simulator.time
        if now is None:
            return
        this = int(now // ROUND)
        for number in range(this, this + ROUNDS_TOLD):
            set_stamp(self._round.header.stamp, ROUND * number)
            self._reference.publish(self._round)
            for when, kind, name in changes(number):
                if when > now:
                    self._contact[kind].publish(String(data=f'{name}@{when!r}'))
        self._simulator.start_if_waiting()


def main(args: Sequence[str] | None = None) -> int:
    """Run the node; return the exit code."""
    return run(DemoNode, args=args)


if __name__ == '__main__':
    sys.exit(main())
