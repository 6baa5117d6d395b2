"""
`demo_node`: tells the figure on the swing what to do in the demonstration.

Takes: /clock (rosgraph_msgs/Clock), contact/state (std_msgs/String, latched), actuator_torques
(sensor_msgs/JointState).
Gives: reference (trajectory_msgs/JointTrajectory), a round of the programme, every second again;
contact/connect and contact/cut (std_msgs/String) until contact/state is what it should be.

All is a function of the simulated time: whoever is started anew finds into it. A simulator that
waits at time zero is started by service `pause` as soon as somebody answers with torques. A
figure that has been without torques, and cannot reach the rod any more, starts over by `reset`.
"""

import json
import sys

import numpy as np
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.ros.demo_programme import (
    JOINTS,
    OPEN,
    ROUND,
    wanted_closed,
    wanted_motion,
)
from closed_chain_dynamics.ros.messages.qos import COMMAND, LATCHED, LATEST
from closed_chain_dynamics.ros.messages.state_messages import set_stamp
from closed_chain_dynamics.ros.running import run

__all__ = ['DemoNode', 'main']

SAMPLES = 0.05  # between two points of the reference [s]
LOOK_EVERY, TELL_EVERY = 0.02, 0.5  # at the hands; at the reference [s]
BEGINNING = 1e-6  # a simulator whose time is below this waits for a start [s]
ASK_AGAIN, LOST = 0.3, 2.0  # when a hand did not do what it was told; for good [s]


class DemoNode(Node):
    """See the top of this file."""

    def __init__(self, **options):
        super().__init__('demo_node', **options)
        self._time, self._closed, self._asked, self._answered = None, None, {}, False
        self._reference = self.create_publisher(JointTrajectory, 'reference', COMMAND)
        self._contact = {
            kind: self.create_publisher(String, f'contact/{kind}', COMMAND)
            for kind in ('connect', 'cut')
        }
        self._pause, self._reset = (
            self.create_client(kind, name)
            for kind, name in ((SetBool, 'pause'), (Trigger, 'reset'))
        )
        self.create_subscription(ClockMessage, '/clock', self._on_clock, LATEST)
        self.create_subscription(String, 'contact/state', self._on_state, LATCHED)
        self.create_subscription(
            JointState, 'actuator_torques', self._on_torques, LATEST, raw=True
        )  # that they come is all that matters
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(LOOK_EVERY, self._look, clock=steady)
        self.create_timer(TELL_EVERY, self._tell, clock=steady)

    def _on_clock(self, message):
        self._time = message.clock.sec + 1e-9 * message.clock.nanosec

    def _on_state(self, message):
        self._closed = json.loads(message.data)
        missing = [name for name in OPEN if name not in self._closed]
        if missing:
            raise ClosedChainError(
                f'this model has no loop joint {missing[0]!r}',
                where='demo',
                repair='The demonstration is for the model swing.',
            )

    def _on_torques(self, raw):
        self._answered = True

    def _look(self):
        """Let go and grip where the hands are not as they should be."""
        if self._time is None or self._closed is None:
            return
        for name, closed in wanted_closed(self._time).items():
            if closed == self._closed[name]:
                self._asked.pop(name, None)
                continue
            first, last = self._asked.get(name, (self._time, -ROUND))
            if abs(self._time - last) > ASK_AGAIN:
                self._asked[name] = min(first, self._time), self._time
                self._contact['connect' if closed else 'cut'].publish(String(data=name))
            elif self._time - first > LOST:
                self._start_over()
                return

    def _start_over(self):
        if self._pause.service_is_ready() and self._reset.service_is_ready():
            self.get_logger().info('the figure cannot grip any more: it starts over')
            self._asked, self._answered = {}, False
            self._pause.call_async(SetBool.Request(data=True))
            self._reset.call_async(Trigger.Request())

    def _tell(self):
        """Publish the present round, and start what waits for a start."""
        if self._time is None:
            return
        start = ROUND * (self._time // ROUND)
        message = JointTrajectory(joint_names=JOINTS)
        set_stamp(message.header.stamp, start)
        for time in np.arange(0.0, ROUND + 0.5 * SAMPLES, SAMPLES):
            p, v, a = wanted_motion(time)
            point = JointTrajectoryPoint(positions=p, velocities=v, accelerations=a)
            point.time_from_start.sec = int(time)
            point.time_from_start.nanosec = round((time % 1.0) * 1e9)
            message.points.append(point)
        self._reference.publish(message)
        if self._time < BEGINNING and self._answered and self._pause.service_is_ready():
            self._pause.call_async(SetBool.Request(data=False))


def main(args=None):
    """Run the node; return the exit code."""
    return run(DemoNode, args=args)


if __name__ == '__main__':
    sys.exit(main())
