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
reference                     trajectory_msgs/JointTrajectory  points to be joined, or a stream of
                                                               single points at time 0
imu, or odom                  sensor_msgs/Imu, nav_msgs/Odom.  the base, as `base_source` says
external_wrench               geometry_msgs/WrenchStamped      on a link of `wrench_links`
human_torques                 sensor_msgs/JointState           name and effort, for mode assist
contact/state                 std_msgs/String, latched         JSON {joint: closed?}, of the owner
contact/connect, contact/cut  std_msgs/String                  the name of a loop or tree joint;
                                                               see contacts.py for who decides

Gives                         Type                             When
actuator_torques              sensor_msgs/JointState           name and effort [N m, N], with the
                                                               stamp of the state it answers
effort_controller/commands    std_msgs/Float64MultiArray       the same, as `command_order` says
<joint>_effort_controller/commands   (the same type)           one number, with `joint_commands`
safety_state                  std_msgs/String, latched         JSON: state, cause and text; states
                                                               are those of safety_state.py
diagnostics                   diagnostic_msgs/DiagnosticArray  once a second, and on a fallback

Service clear_fault (std_srvs/Trigger) ends a fault whose cause is gone. With `trajectory_action`
there is an action ~/follow_joint_trajectory, see ros/trajectory_action.py.

Each good state is answered at once, at most `rate` times a second; the law and its modes are in
control/law.py. Passive joints follow from the loops. A trajectory whose stamp is zero starts when
it arrives, else at its stamp, and the present one is followed until then; joints that it does not
name stay where they are.

With `use_sim_time`, timeouts and rate limits count in simulated time, and `wall_timeout` in that
of the machine. A simulator in step with this node (its states say so, see contacts.py) gets an
answer to every state: to one that is refused, the torques that stand.

No torque leaves that is not finite, beyond the effort limits of the model or beyond
`rate_limit`. States that are old, repeated, out of order, not finite, incomplete or not
continuous are refused, counted and named. After `state_timeout` without a good one, without a
reference, or `reference_timeout` after the last point of a stream, torques are those of
`fallback`; good input ends that by itself. References beyond limits, or that ask for poses that do
not exist on the present branch, are refused, or clipped. A measured joint beyond its limits, a
change of branch or an error beyond `tracking_bound` is a fault, which stays until it is cleared.
An impossible contact command changes nothing. The last command before the end is zero, also where
the node hangs or is killed: see ros/watchdog.py.
"""

from collections.abc import Sequence
import sys
import time
from typing import Any

import numpy as np
from rclpy.clock import Clock, ClockType
from sensor_msgs.msg import JointState, MultiDOFJointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from closed_chain_dynamics.control.control_loop import ControlLoop
from closed_chain_dynamics.model.mechanism import Mechanism, Vector
from closed_chain_dynamics.ros.managed_node import ManagedNode
from closed_chain_dynamics.ros.messages.base_topics import BaseTopics
from closed_chain_dynamics.ros.messages.beside_joints import BesideJoints
from closed_chain_dynamics.ros.messages.bounded import read_trajectory
from closed_chain_dynamics.ros.messages.contacts import Contacts
from closed_chain_dynamics.ros.messages.measured_states import MeasuredStates, State, seconds
from closed_chain_dynamics.ros.messages.qos import COMMAND, LATEST
from closed_chain_dynamics.ros.parameters import Parameters
from closed_chain_dynamics.ros.real_time import ask_for_real_time
from closed_chain_dynamics.ros.references_ahead import ReferencesAhead
from closed_chain_dynamics.ros.running import run
from closed_chain_dynamics.ros.state_timers import StateTimers
from closed_chain_dynamics.ros.torque_output import TorqueOutput
from closed_chain_dynamics.ros.torque_report import REPORT_EVERY, TorqueReport
from closed_chain_dynamics.ros.torque_settings import SETTINGS
from closed_chain_dynamics.ros.torque_setup import (
    Prepared,
    apply,
    law,
    prepare,
    required_joints,
    sensors,
)
from closed_chain_dynamics.ros.trajectory_action import TrajectoryAction

__all__ = ['TorqueNode', 'main']


class TorqueNode(ManagedNode):
    """See the top of this file."""

    def __init__(self, **options: Any) -> None:
        self.loop: ControlLoop | None = None
        self.measured: MeasuredStates | None = None
        super().__init__(
            'torque_node', SETTINGS, check=self._check, changed=self._on_change, **options
        )
        p = self.parameters
        for text in ask_for_real_time(
            priority=p.priority, lock_memory=p.lock_memory, cores=p.cores
        ):
            self.get_logger().warning(text)
        self.last_turn, self._ahead = -np.inf, ReferencesAhead()
        self.output, self.report = TorqueOutput(self), TorqueReport(self)
        for kind, topic, callback, quality in (
            (JointState, 'joint_states', self._on_joint_states, LATEST),
            (MultiDOFJointState, 'multi_dof_joint_states', self._on_multi_dof, LATEST),
            (JointTrajectory, 'reference', self._on_reference, COMMAND),
        ):
            self.create_subscription(kind, topic, callback, quality, raw=True)
        self.create_service(Trigger, 'clear_fault', self._on_clear)
        self.contacts = Contacts(self, self._restructured)
        self.beside, self.base = BesideJoints(self), BaseTopics(self)
        self.state_timers = StateTimers(self)
        self.action = TrajectoryAction(self) if p.trajectory_action else None
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(REPORT_EVERY, self.report.on_due, clock=steady)
        self.start()

    # --- life ------------------------------------------------------------------------------------
    def prepare_model(self, robot: Mechanism) -> Prepared:
        """Return what takes turns with a model, with its kernels loaded, or raise."""
        return prepare(self.parameters, robot, self.rejected, self.report.take_safety)

    def use_model(self, made: Prepared) -> None:
        """Take a new model, and make its messages once."""
        if self.loop and self.active:  # the next model may have other actuators
            self.output.publish(self.loop.guard.release(self.now()))
        self.loop, self.base.base, order = made
        loop, p = made.loop, self.parameters
        if loop.guard.unlimited:
            self.get_logger().warning(
                f'no effort limit in the model: {", ".join(loop.guard.unlimited)} may give '
                f'{p.default_effort:g} N m or N, see parameter default_effort'
            )
        self._apply()
        self.output.use(
            loop.robot.actuator_names, order, singles=p.joint_commands, watched=p.watchdog
        )
        if self.active:
            self._arm()
        self.contacts.use(loop)
        self.report.take_safety(loop.safety)

    def _arm(self) -> None:
        p = self.parameters
        self.output.arm(p.wall_timeout if self.is_simulated else p.state_timeout)

    def _check(self, parameters: Parameters) -> None:
        """Refuse parameters that do not fit the model."""
        if self.loop:
            self._new_law = law(parameters, self.loop.robot, self.loop.controller.generated)
            sensors(parameters, self.loop.robot)

    def _on_change(self, names: set[str]) -> None:
        if self.loop:
            controller, guard, limits = self._new_law
            guard.resume(self.loop.guard)
            self.loop.controller, self.loop.guard = controller, guard
            self.loop.use_limits(limits)
            self.loop.use_singularity_policy()
            self._apply()
            if self.active:
                self._arm()
        if names & {'state_timeout', 'wall_timeout'}:
            self.state_timers.restart()

    def _apply(self) -> None:
        assert self.loop is not None  # there is a model
        p, loop = self.parameters, self.loop
        apply(p, loop)
        if self.base.base:
            self.base.base.timeout = p.base_timeout
        self._shortest, self.report.times.period = 0.8 / p.rate, 1.0 / p.rate
        self.measured = MeasuredStates(
            loop.robot,
            self.rejected,
            wanted=required_joints(p, loop.robot),
            merge_within=p.state_timeout,
            on_frame=self.contacts.take_frame,
            join=self.base.join if self.base.base else None,
        )

    def _restructured(self) -> None:
        assert self.measured is not None  # there is a model
        self.measured.restructured()

    def begin(self) -> None:
        """Publish safe torques until there is more to say."""
        self.report.begin()
        if self.loop:
            self._arm()
            self.output.publish(self.loop.fall_back(self.now(), 'no joint states yet'))

    def end(self) -> None:
        """Make zero the last command."""
        if self.action:
            self.action.give_up('the node is active no longer')
        if self.loop:
            self.output.publish(self.loop.guard.release(self.now()))
        self.output.disarm()

    def stop(self) -> None:
        """Send the last commands; end the watchdog."""
        super().stop()
        self.output.close()

    def destroy_node(self) -> None:
        """Leave no process behind."""
        self.output.close()
        super().destroy_node()

    def forget(self) -> None:
        """Give up the model."""
        self.loop = self.measured = None
        self.output.close()
        self.contacts.use(None)

    # --- time ------------------------------------------------------------------------------------
    @property
    def is_simulated(self) -> bool:
        """Return whether time is what /clock says."""
        return bool(self.get_clock().ros_time_is_active)

    def now(self) -> float:
        """Return the time that timeouts count in, now [s]."""
        if self.is_simulated:
            return float(1e-9 * self.get_clock().now().nanoseconds)
        return time.monotonic()

    # --- what comes in ---------------------------------------------------------------------------
    def _on_joint_states(self, raw: bytes) -> None:
        if self.active and self.loop and self.measured:
            began = self.state_timers.heard = time.monotonic()
            self._take(self.measured.joint_states(raw), began)

    def _on_multi_dof(self, raw: bytes) -> None:
        if self.active and self.loop and self.measured:
            began = time.monotonic()
            self._take(self.measured.multi_dof(raw), began)

    def _on_reference(self, raw: bytes) -> None:
        if self.active and self.loop:
            message = read_trajectory(raw, self.rejected)
            if message is None:
                return
            refusal = self._ahead.take(message, self.loop, self.last_turn)
            if refusal:
                self.rejected('reference', refusal)

    def forget_references(self) -> None:
        """Forget trajectories that wait for their begin."""
        self._ahead.clear()

    def _on_clear(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if not self.loop:
            response.success, response.message = False, 'there is no model yet'
            return response
        why = self.loop.clear(self.now())
        self._ahead.clear()
        response.success, response.message = not why, why or str(self.loop.safety)
        return response

    # --- one turn --------------------------------------------------------------------------------
    def _take(self, state: State | None, began: float) -> None:
        """Answer a state with torques."""
        if state is None:
            return
        loop, measured = self.loop, self.measured
        assert loop is not None and measured is not None  # there is a model
        stamp, names, position, velocity = state
        when, in_step = seconds(stamp), measured.is_in_step
        if not in_step and 0.0 < when - self.last_turn < self._shortest:
            return
        if in_step and when < self.last_turn:
            loop.restart(when)
            self._ahead.clear()
        elif in_step and self.last_turn == -np.inf:
            loop.guard.restart()  # from no time: a fallback may have left at any before
        now = when if self.is_simulated else began
        # In step, nothing of a turn may depend on how fast messages travel, as this age does.
        age = 0.0 if in_step else 1e-9 * self.get_clock().now().nanoseconds - when
        self._ahead.hand_over(loop, when)
        if in_step and when == self.last_turn:  # asked again: the answer may have been lost
            tau: Vector | None = loop.turn_again(when, now)
        else:
            tau = loop.take_state(names, position, velocity, stamp=when, now=now, age=age)
            if loop.tracker.restarted:
                self._ahead.clear()  # their stamps come again
            if tau is None and in_step:
                tau = loop.guard.tau
        if tau is not None:
            self.last_turn, self.state_timers.is_missing = when, False
            self.output.publish(tau, stamp)
            self.report.times.add(began, time.monotonic())
            if self.action:
                self.action.after_turn(when)
            loop.look_ahead()  # in the time that is left
        self.output.alive()
        self.report.after_turn()


def main(args: Sequence[str] | None = None) -> int:
    """Run the node; return the exit code."""
    return run(TorqueNode, args=args)


if __name__ == '__main__':
    sys.exit(main())
