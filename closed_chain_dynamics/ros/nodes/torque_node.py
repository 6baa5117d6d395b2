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
safety_state                  std_msgs/String, latched         JSON: state, cause and text; states
                                                               are those of safety_state.py
diagnostics                   diagnostic_msgs/DiagnosticArray  once a second, and on a fallback

Service clear_fault (std_srvs/Trigger) ends a fault whose cause is gone.

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
import json
import sys
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rclpy.clock import Clock, ClockType
from rclpy.timer import Timer
from sensor_msgs.msg import JointState, MultiDOFJointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from closed_chain_dynamics.control.base_state import BaseState
from closed_chain_dynamics.control.control_loop import ControlLoop
from closed_chain_dynamics.control.safety_state import ACTIVE, DEGRADED, FAULT, SafetyState
from closed_chain_dynamics.errors import NameNotFound
from closed_chain_dynamics.model.mechanism import Mechanism, Vector
from closed_chain_dynamics.ros.managed_node import ManagedNode
from closed_chain_dynamics.ros.messages.base_topics import BaseTopics
from closed_chain_dynamics.ros.messages.beside_joints import BesideJoints
from closed_chain_dynamics.ros.messages.bounded import read_trajectory
from closed_chain_dynamics.ros.messages.contacts import Contacts
from closed_chain_dynamics.ros.messages.measured_states import MeasuredStates, State, seconds
from closed_chain_dynamics.ros.messages.qos import COMMAND, LATCHED, LATEST, PUBLISHED_STATE
from closed_chain_dynamics.ros.messages.raw_states import RawMessage
from closed_chain_dynamics.ros.parameters import Parameters
from closed_chain_dynamics.ros.references_ahead import ReferencesAhead
from closed_chain_dynamics.ros.running import run
from closed_chain_dynamics.ros.torque_settings import (
    SETTINGS,
    base_of,
    law,
    required_joints,
    sensors,
)
from closed_chain_dynamics.ros.turn_times import TurnTimes
from closed_chain_dynamics.ros.watchdog import Watchdog

__all__ = ['TorqueNode', 'main']

REPORT_EVERY = 1.0  # diagnostics [s]
CHANGE_EVERY = 0.1  # and sooner when torques fall back, or cease to [s]
LOG_EVERY = 1.0  # of one cause in the log [s]
LOOKS = 10  # for states that stay away, within a timeout
LOOK_AGAIN = 0.005  # at the latest, where a state may be waiting in front of this process [s]
JUST_AFTER = 1e-5  # the moment at which a state turns stale [s]


class _Prepared(NamedTuple):
    """What takes turns with a model."""

    loop: ControlLoop
    base: BaseState | None  # what joins the base to joint states
    order: NDArray[np.intp]  # of the actuators in commands


class TorqueNode(ManagedNode):
    """See the top of this file."""

    def __init__(self, **options: Any) -> None:
        self.loop: ControlLoop | None = None
        self.measured: MeasuredStates | None = None
        super().__init__(
            'torque_node', SETTINGS, check=self._check, changed=self._on_change, **options
        )
        self._times, self._due = TurnTimes(), False
        self._fell_back: str | None = None
        self._last_turn = self._reported = self._heard = -np.inf
        self._ahead, self._missing = ReferencesAhead(), False
        self._logged: dict[str, float] = {}  # when a cause was written last
        self._watchdog: Watchdog | None = None
        self._torques = self.create_publisher(JointState, 'actuator_torques', PUBLISHED_STATE)
        self._commands = self.create_publisher(
            Float64MultiArray, 'effort_controller/commands', COMMAND
        )
        self.create_subscription(
            JointState, 'joint_states', self._on_joint_states, LATEST, raw=True
        )
        self.create_subscription(
            MultiDOFJointState, 'multi_dof_joint_states', self._on_multi_dof, LATEST, raw=True
        )
        self.create_subscription(
            JointTrajectory, 'reference', self._on_reference, COMMAND, raw=True
        )
        self._safety = self.create_publisher(String, 'safety_state', LATCHED)
        self.create_service(Trigger, 'clear_fault', self._on_clear)
        self.contacts = Contacts(self, self._restructured)
        self.beside, self.base = BesideJoints(self), BaseTopics(self)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._watch_timer = self.create_timer(self._look_every, self._watch, clock=steady)
        self._clock_timer = self.create_timer(
            self.parameters.state_timeout, self._watch_clock, clock=self.get_clock()
        )
        self.create_timer(REPORT_EVERY, self._on_report_due, clock=steady)
        self.start()

    @property
    def _look_every(self) -> float:
        """Return how often states that stay away are looked for at least [s]."""
        p = self.parameters
        shortest = min(p.state_timeout, p.wall_timeout) if self._is_simulated else p.state_timeout
        return float(shortest) / LOOKS

    # --- life ------------------------------------------------------------------------------------
    def prepare_model(self, robot: Mechanism) -> _Prepared:
        """Return what takes turns with a model, with its kernels loaded, or raise."""
        p, names = self.parameters, robot.actuator_names
        controller, guard, limits = law(p, robot)
        sensors(p, robot)
        loop = ControlLoop(
            controller, guard, limits=limits, on_refusal=self.rejected, on_change=self._on_safety
        )
        order = p.command_order or names
        for name in order:
            if name not in names:
                raise NameNotFound('actuator', name, names, where="parameter 'command_order'")
        base = base_of(p, loop)
        loop.warm_up()
        return _Prepared(loop, base, np.array([names.index(name) for name in order]))

    def use_model(self, made: _Prepared) -> None:
        """Take a new model, and make its messages once."""
        if self.loop and self.active:  # the next model may have other actuators
            self._publish(self.loop.guard.release(time.monotonic()))
        self.loop, self.base.base, self._order = made
        loop, names = made.loop, made.loop.robot.actuator_names
        if loop.guard.unlimited:
            self.get_logger().warning(
                f'no effort limit in the model: {", ".join(loop.guard.unlimited)} may give '
                f'{self.parameters.default_effort:g} N m or N, see parameter default_effort'
            )
        self._apply()
        self._torque_message = RawMessage(JointState(name=names), 'effort', len(names))
        self._command_message = RawMessage(Float64MultiArray(), 'data', len(made.order))
        self._set_watchdog(len(made.order))
        self.contacts.use(loop)
        self._on_safety(loop.safety)

    def _set_watchdog(self, count: int) -> None:
        """Start the process that sends zero where this one cannot."""
        self._end_watchdog()
        if self.parameters.watchdog and self.loop:
            self._watchdog = Watchdog(
                self.context.get_domain_id(),
                self._torques.topic_name,
                self._commands.topic_name,
                list(self.loop.robot.actuator_names),
                count,
            )
            if self.active:
                self._arm()

    def _end_watchdog(self) -> None:
        if self._watchdog:
            self._watchdog.close()
            self._watchdog = None

    def _arm(self) -> None:
        p = self.parameters
        if self._watchdog:
            self._watchdog.arm(p.wall_timeout if self._is_simulated else p.state_timeout)

    def _check(self, parameters: Parameters) -> None:
        """Refuse parameters that do not fit the model."""
        if self.loop:
            self._new_law = law(parameters, self.loop.robot)
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
            _ring(self._watch_timer, self._look_every)
            _ring(self._clock_timer, self.parameters.state_timeout)

    def _apply(self) -> None:
        assert self.loop is not None  # there is a model
        p, robot = self.parameters, self.loop.robot
        self.loop.set_timeouts(p.state_timeout, p.reference_timeout)
        self.loop.fallback, self.loop.damping = p.fallback, p.damping
        self.loop.reference.clip = p.beyond_limits == 'clip'
        self.loop.watcher.tracking_bound = p.tracking_bound
        self.loop.tracker.stamps.other_clock = p.other_clock
        heard, self.loop.sensors = self.loop.sensors, sensors(p, robot)
        self.loop.sensors.resume(heard)
        self.loop.blend.duration = p.blend
        if self.base.base:
            self.base.base.timeout = p.base_timeout
        self._shortest = 0.8 / p.rate
        self.measured = MeasuredStates(
            robot,
            self.rejected,
            wanted=required_joints(p, robot),
            merge_within=p.state_timeout,
            on_frame=self.contacts.take_frame,
            join=self.base.join if self.base.base else None,
        )

    def _restructured(self) -> None:
        assert self.measured is not None  # there is a model
        self.measured.restructured()

    def begin(self) -> None:
        """Publish safe torques until there is more to say."""
        self._fell_back = None
        if self.loop:
            self._arm()
            self._publish(self.loop.fall_back(time.monotonic(), 'no joint states yet'))

    def end(self) -> None:
        """Make zero the last command."""
        if self.loop:
            self._publish(self.loop.guard.release(time.monotonic()))
        if self._watchdog:
            self._watchdog.disarm()

    def stop(self) -> None:
        """Send the last commands; end the watchdog."""
        super().stop()
        self._end_watchdog()

    def destroy_node(self) -> None:
        """Leave no process behind."""
        self._end_watchdog()
        super().destroy_node()

    def forget(self) -> None:
        """Give up the model."""
        self.loop = self.measured = None
        self._end_watchdog()
        self.contacts.use(None)

    # --- safety ----------------------------------------------------------------------------------
    def _on_safety(self, safety: SafetyState) -> None:
        """Publish a change of the safety state, and write it down in words."""
        told = {'state': safety.state, 'cause': safety.cause, 'text': safety.text}
        self._safety.publish(String(data=json.dumps(told)))
        now = time.monotonic()
        if now - self._logged.get(safety.cause, -np.inf) < LOG_EVERY and safety.state != FAULT:
            return
        self._logged[safety.cause] = now
        log = self.get_logger()
        # rclpy wants one level at one line of code
        if safety.state == FAULT:
            log.error(str(safety))
        elif safety.state == 'degraded':
            log.warning(str(safety))
        else:
            log.info(str(safety))

    def _on_clear(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if not self.loop:
            response.success, response.message = False, 'there is no model yet'
            return response
        why = self.loop.clear(self._now(time.monotonic()))
        self._ahead.clear()
        response.success, response.message = not why, why or str(self.loop.safety)
        return response

    def _now(self, wall: float) -> float:
        """Return the time that timeouts count in [s]."""
        return 1e-9 * self.get_clock().now().nanoseconds if self._is_simulated else wall

    def now(self) -> float:
        """Return the time that timeouts count in, now [s]."""
        return self._now(time.monotonic())

    # --- what comes in ---------------------------------------------------------------------------
    def _on_joint_states(self, raw: bytes) -> None:
        if self.active and self.loop and self.measured:
            began = self._heard = time.monotonic()
            self._take(self.measured.joint_states(raw), began)

    def _on_multi_dof(self, raw: bytes) -> None:
        if self.active and self.loop and self.measured:
            began = time.monotonic()
            self._take(self.measured.multi_dof(raw), began)

    def _take(self, state: State | None, began: float) -> None:
        """Answer a state with torques."""
        if state is None:
            return
        loop, measured = self.loop, self.measured
        assert loop is not None and measured is not None  # there is a model
        stamp, names, position, velocity = state
        when, in_step = seconds(stamp), measured.is_in_step
        if not in_step and 0.0 < when - self._last_turn < self._shortest:
            return
        if in_step and when < self._last_turn:
            loop.restart(when)
            self._ahead.clear()
        now = when if self._is_simulated else began
        # In step, nothing of a turn may depend on how fast messages travel, as this age does.
        age = 0.0 if in_step else 1e-9 * self.get_clock().now().nanoseconds - when
        self._ahead.hand_over(loop, when)
        if in_step and when == self._last_turn:  # asked again: the answer may have been lost
            tau: Vector | None = loop.turn_again(when, now)
        else:
            tau = loop.take_state(names, position, velocity, stamp=when, now=now, age=age)
            if loop.tracker.restarted:
                self._ahead.clear()  # their stamps come again
            if tau is None and in_step:
                tau = loop.guard.tau
        if tau is not None:
            self._last_turn, self._missing = when, False
            self._publish(tau, stamp)
            self._times.add(began, time.monotonic())
        if self._watchdog:
            self._watchdog.alive()
        if self._due:
            self._report()
        self._note_change()

    @property
    def _is_simulated(self) -> bool:
        """Return whether time is what /clock says."""
        return bool(self.get_clock().ros_time_is_active)

    def _on_reference(self, raw: bytes) -> None:
        if self.active and self.loop:
            message = read_trajectory(raw, self.rejected)
            if message is None:
                return
            refusal = self._ahead.take(message, self.loop, self._last_turn)
            if refusal:
                self.rejected('reference', refusal)

    # --- what goes out ---------------------------------------------------------------------------
    def _publish(self, tau: Vector, stamp: tuple[int, int] | None = None) -> None:
        torques, commands = self._torque_message, self._command_message
        torques.numbers[:] = tau
        commands.numbers[:] = tau[self._order]
        if stamp is None:  # no state is answered, and none shall seem to be
            simulated = self._is_simulated
            stamp = (0, 0) if simulated else self.get_clock().now().seconds_nanoseconds()
        torques.stamp(*stamp)
        self._torques.publish(bytes(torques))
        self._commands.publish(bytes(commands))

    def _watch(self) -> None:
        """Publish the fallback when states stay away; look again when the last turns stale."""
        if self._watchdog:
            self._watchdog.alive()
        again = self._look_every
        if self.active and self.loop:
            wall, simulated = time.monotonic(), self._is_simulated
            now = self._now(wall)
            silent = simulated and wall - self._heard > self.parameters.wall_timeout
            # With simulated time a state may be waiting in front of this process: look once more.
            missing, self._missing = self._missing, silent or self.loop.is_stale(now)
            if not simulated or (missing and self._missing):
                self._fall_back(now, silent)
            elif self._missing:
                again = min(again, LOOK_AGAIN)
            left = self.loop.stale_in(now)
            if not simulated and left >= 0.0:
                again = min(again, left + JUST_AFTER)
        _ring(self._watch_timer, again)

    def _watch_clock(self) -> None:
        """Look when the last good state turns stale in simulated time, however fast that runs."""
        again = self.parameters.state_timeout
        if self.active and self.loop and self._is_simulated:
            left = self.loop.stale_in(self.now())
            if left >= 0.0:
                again = left + JUST_AFTER
            elif not self._missing:  # else the next look is near, and not to be put off
                self._watch()
        _ring(self._clock_timer, again)

    def _fall_back(self, now: float, silent: bool) -> None:
        """Publish the fallback where states have stayed away too long."""
        assert self.loop is not None  # there is a model
        tau = self.loop.watch(now)
        if tau is None and silent:
            tau = self._in_silence(now)
        if tau is not None:
            self._publish(tau)
            self._note_change()

    def _in_silence(self, now: float) -> Vector:
        """Return what is safe while a simulator says nothing."""
        assert self.loop is not None and self.measured is not None  # there is a model
        text = 'no joint states within wall_timeout'
        if not self.measured.is_in_step:
            return self.loop.fall_back(now, text)
        # No simulated time passes meanwhile: the next state goes on as if nothing had been.
        self.loop.safety.enter(DEGRADED, text, text)
        return np.zeros_like(self.loop.guard.tau)

    def _note_change(self) -> None:
        """Report at once when torques begin or cease to be the fallback."""
        assert self.loop is not None  # whose torques these are
        reason = self.loop.reason
        if reason != self._fell_back and time.monotonic() > self._reported + CHANGE_EVERY:
            self._fell_back = reason
            self._report()

    def _on_report_due(self) -> None:
        """Report right after the next turn, which is the time with the least to do."""
        if self._due or not self.loop or self.loop.reason or not self.active:
            self._report()
        else:
            self._due = True

    def _report(self) -> None:
        self._reported, self._due = time.monotonic(), False
        if not self.loop:
            self.diagnostics.publish(
                'warning',
                getattr(self.source, 'problem', 'not configured'),
                self.rejected.values(),
            )
            return
        reason = self.loop.reason if self.active else 'not active'
        p, name, safety = self.parameters, self.loop.robot.name, self.loop.safety
        quiet = not self.active
        more = f', {safety}' if safety.state != ACTIVE else ''
        self.diagnostics.publish(
            {ACTIVE: 'ok', FAULT: 'error'}.get(safety.state, 'warning')
            if not quiet
            else 'warning',
            f'fallback {p.fallback}: {reason}' if reason else f'{p.mode} of {name}{more}',
            {
                'mode': p.mode,
                **self.loop.describe(),
                **self.contacts.values(),
                **self._times.values(),
                **self.rejected.values(),
            },
            name,
        )


def _ring(timer: Timer, after: float) -> None:
    """Let a timer go off after a time from now [s], of its own clock."""
    timer.timer_period_ns = int(1e9 * after)
    timer.reset()


def main(args: Sequence[str] | None = None) -> int:
    """Run the node; return the exit code."""
    return run(TorqueNode, args=args)


if __name__ == '__main__':
    sys.exit(main())
