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
`torque_node`: torques for closed chains, computed with every joint state that arrives.

Takes                         Type                             What
joint_states                  sensor_msgs/JointState           best effort; actuated joints suffice
multi_dof_joint_states        sensor_msgs/MultiDOFJointState   joints of several degrees, if any
reference                     trajectory_msgs/JointTrajectory  points, or a stream of single ones
imu, or odom                  sensor_msgs/Imu, nav_msgs/Odom.  the base, as `base_source` says
external_wrench               geometry_msgs/WrenchStamped      on a link of `wrench_links`
human_torques                 sensor_msgs/JointState           name and effort, for mode assist
contact/state                 std_msgs/String, latched         JSON {joint: closed?}, of the owner
contact/connect, contact/cut  std_msgs/String                  the name of a joint: contacts.py

Gives                         Type                             When
actuator_torques              sensor_msgs/JointState           efforts [N m, N], stamp of the state
effort_controller/commands    std_msgs/Float64MultiArray       the same, as `command_order` says
<joint>_effort_controller/commands   (the same type)           one number, with `joint_commands`
safety_state                  std_msgs/String, latched         JSON: see control/safety_state.py
diagnostics                   diagnostic_msgs/DiagnosticArray  once a second, and on a fallback

Service clear_fault (std_srvs/Trigger) ends a fault whose cause is gone. Parameters and bounds:
torque_settings.py; turns: torque_turns.py; references: references_ahead.py, trajectory_action.py.

No torque leaves that is not finite, beyond the effort limits of the model or beyond `rate_limit`.
States that are old, repeated, out of order, not finite, incomplete or not continuous are refused,
counted and named. After `state_timeout` without a good one, without a reference, or
`reference_timeout` after the end of a stream, torques are those of `fallback`; good input ends
that. References beyond limits or to poses that this branch does not have are refused, or clipped.
A measured joint beyond its limits, a change of branch or an error beyond `tracking_bound` is a
fault until it is cleared. An impossible contact command changes nothing. The last command is zero.
"""

from collections.abc import Sequence
import sys
from typing import Any

from closed_chain_dynamics.control.control_loop import ControlLoop
from closed_chain_dynamics.control.safety_state import SafetyState
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.ros.managed_node import ManagedNode
from closed_chain_dynamics.ros.messages.base_topics import BaseTopics
from closed_chain_dynamics.ros.messages.beside_joints import BesideJoints
from closed_chain_dynamics.ros.messages.contacts import Contacts
from closed_chain_dynamics.ros.real_time import ask_for_real_time
from closed_chain_dynamics.ros.running import run
from closed_chain_dynamics.ros.state_timers import StateTimers
from closed_chain_dynamics.ros.torque_inputs import TorqueInputs
from closed_chain_dynamics.ros.torque_output import TorqueOutput
from closed_chain_dynamics.ros.torque_report import TorqueReport
from closed_chain_dynamics.ros.torque_settings import SETTINGS
from closed_chain_dynamics.ros.torque_setup import Prepared, prepare
from closed_chain_dynamics.ros.torque_tuning import TorqueTuning
from closed_chain_dynamics.ros.torque_turns import TorqueTurns
from closed_chain_dynamics.ros.trajectory_action import TrajectoryAction

__all__ = ['TorqueNode', 'main']


class TorqueNode(ManagedNode):
    """See the top of this file."""

    def __init__(self, **options: Any) -> None:
        self.loop: ControlLoop | None = None
        self._safety = SafetyState()  # of the last model: a fault outlives it
        self._tuning = tune = TorqueTuning(self)
        super().__init__('torque_node', SETTINGS, check=tune.check, changed=tune.take, **options)
        p = self.parameters
        for text in ask_for_real_time(
            priority=p.priority, lock_memory=p.lock_memory, cores=p.cores
        ):
            self.get_logger().warning(text)
        self.output, self.report = TorqueOutput(self), TorqueReport(self)
        self.turns, self.inputs = TorqueTurns(self), TorqueInputs(self)
        self.contacts = Contacts(self, self.inputs.restructured)
        self.beside, self.base = BesideJoints(self), BaseTopics(self)
        self.state_timers = StateTimers(self)
        self.action = TrajectoryAction(self) if p.trajectory_action else None
        self.start()

    def prepare_model(self, robot: Mechanism) -> Prepared:
        """Return what takes turns with a model, with its kernels loaded, or raise."""
        return prepare(self.parameters, robot, self.rejected, self.report.take_safety)

    def use_model(self, made: Prepared) -> None:
        """Take a new model, and make its messages once."""
        if self.loop and self.active:  # the next model may have other actuators
            self.output.publish(self.loop.guard.release(self.now()))
        self.loop, self.base.base, order = made
        self.report.take_limits(self.loop.guard)
        self._tuning.apply()
        names, p = self.loop.robot.actuator_names, self.parameters
        self.output.use(names, order, singles=p.joint_commands, watched=p.watchdog)
        if self.active:
            self._tuning.arm()
        self.contacts.use(self.loop)
        self._safety = self.loop.safety.after(self._safety)
        self.report.take_safety(self._safety)

    def begin(self) -> None:
        """Publish safe torques until there is more to say."""
        self.report.begin()
        if self.loop:
            self._tuning.arm()
            self.output.publish(self.loop.fall_back(self.now(), 'no joint states yet'))

    def end(self) -> None:
        """Make zero the last command."""
        if self.action:
            self.action.give_up('the node is active no longer')
        self.turns.end()
        self.output.disarm()

    def stop(self) -> None:
        """Send the last commands; end the watchdog."""
        super().stop()
        self.output.close_when_taken()

    def destroy_node(self) -> None:
        """Leave no process behind."""
        self.output.close()
        super().destroy_node()

    def forget(self) -> None:
        """Give up the model."""
        self.loop = self.inputs.measured = None
        self.output.close()
        self.contacts.use(None)


def main(args: Sequence[str] | None = None) -> int:
    """Run the node; return the exit code."""
    return run(TorqueNode, args=args)


if __name__ == '__main__':
    sys.exit(main())
