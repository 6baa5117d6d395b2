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
`reference_node`: tells torque_node what to follow: the pose at the start, or a file.

Takes         Type                             What
joint_states  sensor_msgs/JointState           best effort; the first one is the pose to hold
/clock        rosgraph_msgs/Clock              whether a simulator waits at time zero
diagnostics   diagnostic_msgs/DiagnosticArray  whether torque_node drives

Gives         Type                             When
reference     trajectory_msgs/JointTrajectory  once there is a reader, until torque_node drives;
                                               again for each new one, and with `repeat` at the
                                               end of the file

Without a `file`, every motor of one degree of freedom is told to stay where it is first seen;
where no such joint has a motor, every joint of one degree is. With a file (CSV: a column `time`
[s], columns named like joints [rad or m]), the first row is reached within `approach`, and the
others follow in their time. The first and last half second are played more slowly, so that the
motion starts from rest and comes to rest on the path of the file: an approach to a row in full
motion would need a run-up beyond it. Joints without a column stay where they are. torque_node
checks what the rows ask for against limits and loops.

A simulator that waits at time zero is started by its service `pause` as soon as torque_node
drives, so that nothing falls before it is held. A file that cannot be read ends the node with the
reason.
"""

from collections.abc import Sequence
import math
from pathlib import Path
import sys
import time
from typing import Any

from rclpy.clock import Clock, ClockType
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.ros.managed_node import ManagedNode
from closed_chain_dynamics.ros.messages.qos import COMMAND, LATEST
from closed_chain_dynamics.ros.messages.trajectories import file_trajectory, pose_trajectory
from closed_chain_dynamics.ros.parameters import Setting
from closed_chain_dynamics.ros.running import run
from closed_chain_dynamics.ros.simulator_start import SimulatorStart

__all__ = ['ReferenceNode', 'main']

SETTINGS = [
    Setting('file', '', 'CSV file to follow; empty: hold the pose at the start', fixed=True),
    Setting('repeat', False, 'start the file again when it has ended'),
    Setting('approach', 2.0, 'time to reach the first row of the file [s]', low=0.1, high=3600.0),
]
LISTENERS_LOOK_EVERY = 0.1  # at who listens, and whether the file has ended [s]
TELL_AGAIN = 1.0  # where torque_node does not drive yet [s]


class ReferenceNode(ManagedNode):
    """See the top of this file."""

    def __init__(self, **options: Any) -> None:
        self.robot: Mechanism | None = None
        self._message: JointTrajectory | None = None
        self._length, self._ends = 0.0, math.inf
        self._readers, self._taken, self._told = 0, False, -math.inf
        super().__init__('reference_node', SETTINGS, **options)
        self._reference = self.create_publisher(JointTrajectory, 'reference', COMMAND)
        self._simulator = SimulatorStart(self)
        self.create_subscription(JointState, 'joint_states', self._on_joint_states, LATEST)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(LISTENERS_LOOK_EVERY, self._look, clock=steady)
        self.start()

    def use_model(self, robot: Mechanism) -> None:
        """Read the file for a model, or wait for a state of it."""
        self.robot, self._message = robot, None
        if self.parameters.file:
            self._message, self._length = file_trajectory(
                robot, Path(self.parameters.file), approach=self.parameters.approach
            )

    def forget(self) -> None:
        """Give up the model."""
        self.robot = self._message = None

    def _on_joint_states(self, message: JointState) -> None:
        """Make the message that holds the first pose."""
        if self._message is not None or self.robot is None:
            return
        heard = {
            name: position
            for name, position in zip(message.name, message.position)
            if math.isfinite(position) and name in self.robot.joint_names
        }
        held = {name: heard[name] for name in self.robot.actuator_names if name in heard} or heard
        if held:
            self._message = pose_trajectory(held, self.parameters.approach)

    def _look(self) -> None:
        """Tell whoever has come, and begin again at the end."""
        if not self.active or self._message is None:
            return
        now = 1e-9 * self.get_clock().now().nanoseconds
        before, self._readers = self._readers, self._reference.get_subscription_count()
        is_over = self.parameters.repeat and now >= self._ends
        # A reader that has not found this node yet does not hear what it is told: tell it again.
        self._taken = (self._taken and self._readers <= before) or self._simulator.is_driven
        unheard = not self._taken and time.monotonic() > self._told + TELL_AGAIN
        if self._readers and (self._readers > before or is_over or unheard):
            self._told = time.monotonic()
            self._reference.publish(self._message)
            self._ends = now + self._length if self.parameters.file else math.inf
        self._simulator.start_if_waiting()


def main(args: Sequence[str] | None = None) -> int:
    """Run the node; return the exit code."""
    return run(ReferenceNode, args=args)


if __name__ == '__main__':
    sys.exit(main())
