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
`simulator_node`: the mechanism in motion, in real time, at a factor of it, or step by step.

Takes                         Type                            What
actuator_torques              sensor_msgs/JointState          name and effort, by actuator [N m, N]
joint_commands                sensor_msgs/JointState          the same from ros2_control, by
                                                              topic_based_ros2_control
contact/connect, contact/cut  std_msgs/String                 the name of a loop or tree joint, or
                                                              name@time [s of simulated time]
external_wrench               geometry_msgs/WrenchStamped     on link frame_id, in its axes

Gives                         Type                            When
joint_states                  sensor_msgs/JointState          every period; joints of one degree
multi_dof_joint_states        sensor_msgs/MultiDOFJointState  every period; the other joints
/clock                        rosgraph_msgs/Clock             every period
contact/state                 std_msgs/String, latched        JSON {joint: closed?}, on change
contact/events                std_msgs/String                 JSON, one per event or refusal
robot_description             std_msgs/String, latched        once, if parameter `model` is given
/tf, /tf_static               tf2_msgs/TFMessage              at `scene_rate`; latched
markers                       visualization_msgs/MarkerArray  at `scene_rate`, if anybody listens
joint_wrenches/<joint>        geometry_msgs/WrenchStamped     at `scene_rate`, if anybody listens
diagnostics                   diagnostic_msgs/DiagnosticArray once a second

Services: `pause` (std_srvs/SetBool), `step` (Trigger; one period of a simulation that is paused)
and `reset` (Trigger).

All stamps are simulated time, which begins at 0 (as a stamp 1 ns), also after `reset`. A joint of
several degrees is a transform in its joint frame and a twist in the child's axes; a tree joint
that is cut is the pose of its child in the world. An event is {time, kind, name, mobility_before,
mobility_after, energy_lost [J], impulse [N s]}, a refusal {time, kind: refused, name, wanted,
reason}. A wrench in a joint is what it passes on to its child, in the frame of the child link, or
`loop/<name>`.

In step with its controller (parameter `lockstep`; the default with real_time_factor 0) a period
begins only when torques with the stamp of its state have come: other torques are left out, and the
frame_id of joint_states has contact/state as it is with them, so that the same inputs give the
same motion however busy the machine is. After `lockstep_timeout` time goes on without an answer,
which is counted in diagnostics; the very first answer is waited for as long as it takes.

Torques that nobody renews for `torque_timeout` of simulated time become zero. Bad names, sizes and
numbers are refused as a whole, counted and named in diagnostics. Inputs act from the next period
on; an impossible event changes nothing. A step that fails stops time; `reset` recovers.
"""

from collections.abc import Callable, Sequence
import math
import sys
import time
from typing import Any

from geometry_msgs.msg import WrenchStamped
from rclpy.clock import Clock, ClockType
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.ros.driven_simulation import DrivenSimulation
from closed_chain_dynamics.ros.lockstep import Lockstep
from closed_chain_dynamics.ros.managed_node import ManagedNode
from closed_chain_dynamics.ros.messages.joint_commands import commanded_efforts
from closed_chain_dynamics.ros.messages.qos import COMMAND, STREAM
from closed_chain_dynamics.ros.messages.simulation_messages import SimulationMessages
from closed_chain_dynamics.ros.pacing import AT_A_STRETCH, Pace
from closed_chain_dynamics.ros.running import run
from closed_chain_dynamics.ros.simulator_settings import SETTINGS

__all__ = ['SimulatorNode', 'main']

REPORT_EVERY = 1.0  # diagnostics [s]


class SimulatorNode(ManagedNode):
    """See the top of this file."""

    def __init__(self, **options: Any) -> None:
        self.driven: DrivenSimulation | None = None
        self._timer: Any = None  # of rclpy, while the node is active
        super().__init__('simulator_node', SETTINGS, changed=self._on_change, **options)
        self.paused = self.parameters.start_paused
        self.pace = Pace(1.0 / self.parameters.rate)
        self.lockstep = Lockstep(self.parameters.lockstep_timeout)
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._messages = SimulationMessages(self)
        self.create_subscription(JointState, 'actuator_torques', self._on_torques, STREAM)
        self.create_subscription(JointState, 'joint_commands', self._on_commands, COMMAND)
        self.create_subscription(WrenchStamped, 'external_wrench', self._on_wrench, COMMAND)
        for kind in ('connect', 'cut'):
            topic = f'contact/{kind}'
            self.create_subscription(
                String,
                topic,
                lambda message, kind=kind, topic=topic: self._take(
                    topic, lambda driven: driven.ask(kind, message.data)
                ),
                COMMAND,
            )
        self.create_service(SetBool, 'pause', self._on_pause)
        self.create_service(Trigger, 'step', self._on_step)
        self.create_service(Trigger, 'reset', self._on_reset)
        self.start()

    # --- life ------------------------------------------------------------------------------------
    def use_model(self, robot: Mechanism) -> None:
        """Take a new model, from its start."""
        period = 1.0 / self.parameters.rate
        self._steps = math.ceil(period / self.parameters.dt - 1e-9)
        self.driven = DrivenSimulation(robot, self.parameters, period / self._steps)
        self.driven.warm_up()
        if self.active:
            self._show()

    def begin(self) -> None:
        """Show the model and let time pass."""
        if self.driven:
            self._show()
        self._restart_timer()

    def _show(self) -> None:
        assert self.driven is not None  # what is shown
        self._messages.in_step = self.is_in_step()
        self._messages.show(self.driven)
        self.lockstep.ask(self._messages.stamp)

    def end(self) -> None:
        """Let no time pass."""
        self.destroy_timer(self._timer)
        self._timer = None

    def forget(self) -> None:
        """Give up the model."""
        self.driven = None

    def _restart_timer(self) -> None:
        if self._timer:
            self.destroy_timer(self._timer)
        self._resume()
        # On steady time: ROS time is what this node makes.
        self._timer = self.create_timer(self.pace.wall_period, self._tick, clock=self._steady)
        self._last_report = self._steady.now()

    def _resume(self) -> None:
        self.pace.begin(
            self.driven.sim.time if self.driven else 0.0, self.parameters.real_time_factor
        )

    def _on_change(self, names: set[str]) -> None:
        self.lockstep.patience = self.parameters.lockstep_timeout
        if 'real_time_factor' in names and self.active:
            self._restart_timer()

    # --- what comes in ---------------------------------------------------------------------------
    def _take(self, topic: str, hand_on: Callable[[DrivenSimulation], None]) -> None:
        """Hand an input on to the simulation, or count why not."""
        if not (self.active and self.driven):
            return
        try:
            hand_on(self.driven)
        except ClosedChainError as error:
            self.rejected(topic, str(error))
            self.get_logger().warning(str(error), throttle_duration_sec=1.0)

    def _on_torques(self, message: JointState) -> None:
        stamp = message.header.stamp
        if self.is_in_step() and not self.lockstep.answer((stamp.sec, stamp.nanosec)):
            return
        self._take(
            'actuator_torques', lambda driven: driven.set_torques(message.name, message.effort)
        )
        if self.is_in_step():
            self._go_on()  # at once, where time has to catch up

    def _on_commands(self, message: JointState) -> None:
        """Take efforts of a hardware interface; no state waits for their answer."""
        self._take(
            'joint_commands',
            lambda driven: driven.set_torques(
                *commanded_efforts(message, driven.robot.actuator_names)
            ),
        )

    def _on_wrench(self, message: WrenchStamped) -> None:
        force, torque = message.wrench.force, message.wrench.torque
        wrench = force.x, force.y, force.z, torque.x, torque.y, torque.z
        link = message.header.frame_id.removeprefix(self.parameters.frame_prefix)
        self._take('external_wrench', lambda driven: driven.push(link, wrench))

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self.paused = request.data
        self._resume()
        return self._answer(response, not (self.driven and self.driven.failure))

    def _on_step(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        driven = self._moving() if self.paused else None
        if driven and self.is_in_step() and not self.lockstep.is_ready():
            return self._answer(response, False, 'the torques of this state have not come: ')
        if driven:
            self._advance(driven, 1)
            self._messages.publish_scene(driven)
        return self._answer(
            response, driven is not None, 'a step is for a simulation that is paused: '
        )

    def _on_reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if self.active and self.driven:
            self.driven.reset()
            self._resume()
            self._messages.restructured(self.driven)
            self.lockstep.ask(self._messages.stamp)
            self._messages.publish_scene(self.driven)
        return self._answer(response, self.active and self.driven is not None)

    def _answer(self, response: Any, success: bool, otherwise: str = '') -> Any:
        response.success = success
        response.message = ('' if success else otherwise) + self._report()[1]
        return response

    # --- what goes on ----------------------------------------------------------------------------
    def _moving(self) -> DrivenSimulation | None:
        """Return the simulation, if time can pass in it."""
        return self.driven if self.active and self.driven and not self.driven.failure else None

    def is_in_step(self) -> bool:
        """Return whether every period waits for the torques of its state."""
        wanted = self.parameters.lockstep
        if wanted == 'auto':
            return self.pace.is_free and bool(self.count_publishers('actuator_torques') > 0)
        return bool(wanted == 'on')

    def _tick(self) -> None:
        """Take the periods that are due, and report once in a while."""
        self._go_on()
        now = self._steady.now()
        if (now - self._last_report).nanoseconds > REPORT_EVERY * 1e9:
            self._last_report = now
            self.diagnostics.publish(
                *self._report(), self._values(), self.driven.robot.name if self.driven else ''
            )
            if self.driven and self.paused:  # for those who come later
                self._messages.publish_state(self.driven)

    def _go_on(self) -> None:
        """Let time pass as far as it is due and, in step with a controller, answered."""
        end = time.monotonic() + AT_A_STRETCH
        while (driven := self._moving()) and not self.paused:
            before, in_step = driven.sim.time, self.is_in_step()
            if in_step and not self.lockstep.is_ready():
                if self.lockstep.shall_say_again():
                    self._messages.publish_state(driven)
                return
            due = self.pace.due(before)
            if not due:
                return
            self._advance(driven, 1 if in_step else due)
            share = self.parameters.scene_rate
            if int(driven.sim.time * share) != int(before * share):
                self._messages.publish_scene(driven)
            if in_step or not self.pace.is_free or time.monotonic() > end:
                return

    def _advance(self, driven: DrivenSimulation, periods: int) -> None:
        driven.advance(periods * self._steps)
        self._messages.in_step = self.is_in_step()
        records, driven.records = driven.records, []
        if records:
            self._messages.restructured(driven)
            self._messages.publish_events(records)
        else:
            self._messages.publish_state(driven)
        self.lockstep.ask(self._messages.stamp)
        for record in records:
            if record['kind'] == 'refused':
                self.rejected(f'contact/{record["wanted"]}', record['reason'])
        if driven.failure:
            self.get_logger().error(f'{driven.failure} Time stands still until reset.')

    def _report(self) -> tuple[str, str]:
        """Return level and message of the diagnostics."""
        driven = self.driven
        if not driven:
            return 'warning', self.source.problem if self.source else 'not configured'
        if driven.failure:
            return 'error', f'time stands still until reset: {driven.failure}'
        counts = ', '.join(f'{count} {what}' for what, count in driven.taken.items())
        when = f't = {driven.sim.time:.9g} s, taken: {counts}'
        if self.paused:
            return 'ok', f'paused at {when}'
        if self.is_in_step() and self.lockstep.waited > REPORT_EVERY:
            return 'warning', f'waiting for the torques of this state, {when}'
        if driven.taken['torques'] and driven.are_stale():
            return 'warning', f'torques are stale and count as zero, {when}'
        return 'ok', f'running, {when}'

    def _values(self) -> dict[str, Any]:
        if not self.driven:
            return self.rejected.values()
        sim = self.driven.sim
        energy = sim.energy()
        return {
            'simulated time [s]': sim.time,
            'real-time factor': self.pace.real_time_factor(sim.time),
            'overruns': self.pace.overruns,
            'lockstep': 'on' if self.is_in_step() else 'off',
            'periods without an answer': self.lockstep.missed,
            'loop error [m or rad]': sim.loop_error(),
            'kinetic energy [J]': energy.kinetic,
            'potential energy [J]': energy.potential,
            'energy balance [J]': energy.balance,
            **self.rejected.values(),
        }


def main(args: Sequence[str] | None = None) -> int:
    """Run the node; return the exit code."""
    return run(SimulatorNode, args=args)


if __name__ == '__main__':
    sys.exit(main())
