"""
`torque_node`: torques for closed chains, computed with every joint state that arrives.

Takes                         Type                             What
joint_states                  sensor_msgs/JointState           best effort; actuated joints suffice
multi_dof_joint_states        sensor_msgs/MultiDOFJointState   joints of several degrees, if any
reference                     trajectory_msgs/JointTrajectory  points to be joined, or a stream of
                                                               single points at time 0
contact/state                 std_msgs/String, latched         JSON {joint: closed?}, of the owner
contact/connect, contact/cut  std_msgs/String                  the name of a loop or tree joint;
                                                               see contacts.py for who decides

Gives                         Type                             When
actuator_torques              sensor_msgs/JointState           name and effort [N m, N], with the
                                                               stamp of the state it answers
effort_controller/commands    std_msgs/Float64MultiArray       the same, as `command_order` says
diagnostics                   diagnostic_msgs/DiagnosticArray  once a second, and on a fallback

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
reference, or `reference_timeout` after the last point of a stream, torques are zero or, with
`fallback` gravity, hold the last pose; good input ends that by itself. An impossible contact
command changes nothing. The last command before the end is zero.
"""

from collections.abc import Sequence
import sys
import time
from typing import Any

import numpy as np
from rclpy.clock import Clock, ClockType
from sensor_msgs.msg import JointState, MultiDOFJointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from closed_chain_dynamics.control.control_loop import ControlLoop
from closed_chain_dynamics.control.state_tracking import OTHER_CLOCK
from closed_chain_dynamics.errors import NameNotFound
from closed_chain_dynamics.model.mechanism import Mechanism, Vector
from closed_chain_dynamics.ros.managed_node import ManagedNode
from closed_chain_dynamics.ros.messages.contacts import Contacts
from closed_chain_dynamics.ros.messages.measured_states import MeasuredStates, State, seconds
from closed_chain_dynamics.ros.messages.qos import COMMAND, LATEST, PUBLISHED_STATE
from closed_chain_dynamics.ros.messages.raw_states import RawMessage
from closed_chain_dynamics.ros.parameters import Parameters
from closed_chain_dynamics.ros.references_ahead import ReferencesAhead
from closed_chain_dynamics.ros.running import run
from closed_chain_dynamics.ros.torque_settings import SETTINGS, law, required_joints
from closed_chain_dynamics.ros.turn_times import TurnTimes

__all__ = ['TorqueNode', 'main']

REPORT_EVERY = 1.0  # diagnostics [s]
CHANGE_EVERY = 0.1  # and sooner when torques fall back, or cease to [s]


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
        self.create_subscription(JointTrajectory, 'reference', self._on_reference, COMMAND)
        self.contacts = Contacts(self, self._restructured)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._watch_timer = self.create_timer(
            0.5 * self.parameters.state_timeout, self._watch, clock=steady
        )
        self.create_timer(REPORT_EVERY, self._on_report_due, clock=steady)
        self.start()

    # --- life ------------------------------------------------------------------------------------
    def use_model(self, robot: Mechanism) -> None:
        """Take a new model, and make its messages once."""
        loop = ControlLoop(*law(self.parameters, robot), on_refusal=self.rejected)
        names = robot.actuator_names
        order = self.parameters.command_order or names
        for name in order:
            if name not in names:
                raise NameNotFound('actuator', name, names, where="parameter 'command_order'")
        loop.warm_up()
        self.loop, self._order = loop, np.array([names.index(name) for name in order])
        self._apply()
        self._torque_message = RawMessage(JointState(name=names), 'effort', len(names))
        self._command_message = RawMessage(Float64MultiArray(), 'data', len(order))
        self.contacts.use(loop)

    def _check(self, parameters: Parameters) -> None:
        """Refuse parameters that do not fit the model."""
        if self.loop:
            self._new_law = law(parameters, self.loop.robot)

    def _on_change(self, names: set[str]) -> None:
        if self.loop:
            controller, guard = self._new_law
            guard.resume(self.loop.guard)
            self.loop.controller, self.loop.guard = controller, guard
            self._apply()
        if 'state_timeout' in names:
            self._watch_timer.timer_period_ns = int(0.5e9 * self.parameters.state_timeout)

    def _apply(self) -> None:
        assert self.loop is not None  # there is a model
        p, robot = self.parameters, self.loop.robot
        self.loop.set_timeouts(p.state_timeout, p.reference_timeout)
        self.loop.fallback, self._shortest = p.fallback, 0.8 / p.rate
        self.measured = MeasuredStates(
            robot,
            self.rejected,
            wanted=required_joints(p, robot),
            on_frame=self.contacts.take_frame,
        )

    def _restructured(self) -> None:
        assert self.measured is not None  # there is a model
        self.measured.restructured()

    def begin(self) -> None:
        """Publish safe torques until there is more to say."""
        self._fell_back = None
        if self.loop:
            self._publish(self.loop.fall_back(time.monotonic(), 'no joint states yet'))

    def end(self) -> None:
        """Make zero the last command."""
        if self.loop:
            self._publish(self.loop.guard.release(time.monotonic()))

    def forget(self) -> None:
        """Give up the model."""
        self.loop = self.measured = None
        self.contacts.use(None)

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
        age = min(1e-9 * self.get_clock().now().nanoseconds - when, OTHER_CLOCK)
        self._ahead.hand_over(loop, when)
        if in_step and when == self._last_turn:  # asked again: the answer may have been lost
            tau: Vector | None = loop.turn_again(when, now)
        else:
            tau = loop.take_state(names, position, velocity, stamp=when, now=now, age=age)
            if tau is None and in_step:
                tau = loop.guard.tau
        if tau is not None:
            self._last_turn = when
            self._publish(tau, stamp)
            self._times.add(began, time.monotonic())
        if self._due:
            self._report()
        self._note_change()

    @property
    def _is_simulated(self) -> bool:
        """Return whether time is what /clock says."""
        return bool(self.get_clock().ros_time_is_active)

    def _on_reference(self, message: JointTrajectory) -> None:
        if self.active and self.loop:
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
        """Publish the fallback when states stay away."""
        if not (self.active and self.loop):
            return
        wall, simulated = time.monotonic(), self._is_simulated
        now = 1e-9 * self.get_clock().now().nanoseconds if simulated else wall
        silent = simulated and wall - self._heard > self.parameters.wall_timeout
        # With simulated time a state may be waiting in front of this process: look once more.
        missing, self._missing = self._missing, silent or self.loop.is_stale(now)
        if simulated and not (missing and self._missing):
            return
        tau = self.loop.watch(now)
        if tau is None and silent:
            tau = self.loop.fall_back(now, 'no joint states within wall_timeout')
        if tau is not None:
            self._publish(tau)
            self._note_change()

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
        p, name = self.parameters, self.loop.robot.name
        self.diagnostics.publish(
            'warning' if reason else 'ok',
            f'fallback {p.fallback}: {reason}' if reason else f'{p.mode} of {name}',
            {
                'mode': p.mode,
                **self.loop.describe(),
                **self.contacts.values(),
                **self._times.values(),
                **self.rejected.values(),
            },
            name,
        )


def main(args: Sequence[str] | None = None) -> int:
    """Run the node; return the exit code."""
    return run(TorqueNode, args=args)


if __name__ == '__main__':
    sys.exit(main())
