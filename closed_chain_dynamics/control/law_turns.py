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
Torques for a state that is good: by the law along a reference, or safe ones where there is none.

A turn in which everything goes on as it did is one compiled call (kernels/control_turn.py): joint
state, limits, law and guard. Where anything is out of the way, nothing of that call is kept and
the turn is taken step by step: what is sensed beside the joints, the reference, the law, soft
limits, a change of the law that fades in, the guard. What cannot be computed gives the fallback.
"""

from collections.abc import Callable, Sequence
import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.control.asked_motion import AskedMotion
from closed_chain_dynamics.control.blending import Blend
from closed_chain_dynamics.control.fallback import fallback_torques
from closed_chain_dynamics.control.followed import Followed
from closed_chain_dynamics.control.joint_limits import JointLimits
from closed_chain_dynamics.control.law import Command, TorqueController
from closed_chain_dynamics.control.loop_state import AT_REST, FLIP, LoopState
from closed_chain_dynamics.control.reference import Reference
from closed_chain_dynamics.control.safety_state import (
    ACTIVE,
    DEGRADED,
    READY,
    REFUSED_REFERENCE,
    OnChange,
    SafetyState,
)
from closed_chain_dynamics.control.sensed import NOTHING_SENSED, Sensors
from closed_chain_dynamics.control.shortcomings import Shortcomings
from closed_chain_dynamics.control.soft_limits import soft_limit_torques
from closed_chain_dynamics.control.state_tracking import OnRefusal, StateTracker
from closed_chain_dynamics.control.state_watch import TOO_FAST, StateWatch
from closed_chain_dynamics.control.torque_guard import TorqueGuard
from closed_chain_dynamics.control.turn_length import TurnLength
from closed_chain_dynamics.dynamics.constraints import actuator_rows
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.kernels.control_turn import Bounds, Guard, Law, compute_turn
from closed_chain_dynamics.kernels.limit_checks import TORQUE_NOT_FINITE
from closed_chain_dynamics.kernels.torque_law import Target

__all__ = ['NOT_ACTIVE', 'LawTurns', 'Send']

NOT_ACTIVE = 'not active'  # why nothing is driven: nobody wants it to be
BOUNDS = Bounds(TOO_FAST, FLIP, AT_REST)  # of what a turn in one go may see

Send: TypeAlias = Callable[[Vector], object] | None  # takes torques as soon as they are known


class LawTurns:
    """
    Keeps state, reference and limits together around a TorqueController.

    `guard`: a TorqueGuard; `limits`: of the joints, those of the file where not given; `fallback`:
    see fallback.py, with `damping` [N m s/rad or N s/m]; `clip`: bring references beyond limits
    back, instead of refusing them; `tracking_bound`: error that is a fault [rad or m];
    `reference_timeout`: how long a point of a stream is followed [s]; `on_refusal(name, text)` is
    told of everything refused, `on_change(safety)` of every change of the safety state.
    """

    def __init__(
        self,
        controller: TorqueController,
        guard: TorqueGuard,
        *,
        limits: JointLimits | None = None,
        state_timeout: float = 0.05,
        reference_timeout: float = 0.5,
        fallback: str = 'zero',
        damping: float = 2.0,
        clip: bool = False,
        tracking_bound: float = 0.5,
        on_refusal: OnRefusal = None,
        on_change: OnChange = None,
    ) -> None:
        self.robot, self.controller, self.guard = controller.robot, controller, guard
        self.tracker = StateTracker(self.robot, on_refusal=on_refusal)
        limits = limits or JointLimits(self.robot)
        self.reference = Reference(self.robot, limits, clip=clip)
        self.use_singularity_policy()
        self.safety = SafetyState(on_change)
        self.watcher = StateWatch(limits, self.safety, tracking_bound)
        self.fallback, self.damping = fallback, damping
        self.sensors, self.blend = Sensors(self.robot), Blend()
        self._sensed, self._followed = NOTHING_SENSED, Followed()
        self.turns = TurnLength()
        self.command: Command | None = None
        self.reason = 'no joint states yet'
        self._arrived = self._doubted = -math.inf
        self.asked = AskedMotion(self.reference, self.tracker, self.watcher)
        self._shortcomings, self._stamp = Shortcomings(), math.nan  # of the last state [s]
        self._reshaped = False
        self._is_new = False  # whether something else was asked since the last turn
        self.set_timeouts(state_timeout, reference_timeout)

    @property
    def state(self) -> LoopState | None:
        """Return the LoopState, None before the first good joint state."""
        return self.tracker.state

    @property
    def is_asked(self) -> bool:
        """Return whether there is a reference, or one that waits for a state."""
        return bool(self.reference) or self.asked.waiting is not None

    def _turn(self, q: Vector, v: Vector, stamp: float, now: float) -> Vector:
        """Return torques for the present state; the fallback where there are none."""
        turn = self.turns.now
        try:
            self._sensed = sensed = self.sensors.at(q, v, stamp, now)
            reference, missing = self._followed.at(
                (q, stamp),
                self.controller,
                self.reference,
                sensed,
                anew=bool(self.reason),
                timeout=self.reference_timeout,
            )
            if missing:
                return self.fall_back(now, *self._why_none(missing, v))
            self.asked.tell_problem()
            self.command = self.controller.torques(q, v, reference, sensed, turn=turn)
            self.watcher.take_error(self.command.error)
            if self.safety.is_fault:
                return self.fall_back(now, self.safety.text)
            target = None if reference is None else reference[:2]
            effort = self.guard.effort
            wanted = self.blend.smooth(self.command.tau_A, stamp, self._source, effort)
            if self.watcher.is_near or (target is None and sensed.sources):
                times, limits = (turn, self.guard.reversal), self.watcher.limits
                wanted = soft_limit_torques(limits, wanted, effort, (q, v), target, times)
            tau = self.guard.limit(wanted, now, self._motor_speeds(q, v))
        except (ClosedChainError, np.linalg.LinAlgError) as error:
            self.tracker.refuse('torque', str(error))
            return self.fall_back(now, str(error))
        self.reason, self.watcher.driven = '', True
        self._note_active(now)
        return tau

    def _whole_turn(
        self,
        names: Sequence[str],
        given: tuple[ArrayLike, ArrayLike | None],
        stamp: float,
        now: float,
        age: float,
        send: Send,
    ) -> Vector | None:
        """
        Return torques by one compiled call, where everything goes on as it did; else None.

        They are sent at once, and what they mean is noted then. Where it is None nothing has
        changed, and the turn is taken step by step.
        """
        state, guard, reference = self.tracker.state, self.guard, self.reference
        if state is None or (state.names is not names and state.names != names):
            return None
        if self.reason or self._reshaped or self.asked.waiting or self.asked.problem:
            return None
        law = self.controller.whole_law(self.turns.after(stamp, age, stood=True), state.q)
        limits = self.watcher.limits
        if law is None or guard.bounds_power or limits.on_loops or not self._senses_nothing:
            return None
        if not self.tracker.stamps.is_next(stamp, age) or not self.blend.goes_on(self._source):
            return None
        joints = state.in_one_turn(stamp, *given)
        if joints is None or not self._followed.goes_on(reference, stamp, self.reference_timeout):
            return None
        target, (gains, a, out, held) = Target(*reference.at(stamp)), law
        if reference.problem:
            return None
        bounds = Guard(guard.effort, guard.reach(now), guard.tau, np.empty(guard.tau.size))
        rules = limits.table, BOUNDS, Law(target, gains, a, out), bounds
        done = compute_turn(self.robot.handle, joints, state.facts, *rules)
        if not 0 <= done < TORQUE_NOT_FINITE or not out[-1] <= self.watcher.tracking_bound:
            return None
        if send:
            send(bounds.safe)
        self.tracker.go_on(stamp, age, joints.found)
        self.watcher.take_good()
        self._arrived, self.command = now, self.controller.command_of(out, held)
        self.watcher.take_error(self.command.error)
        self.turns.take(stamp, age, stood=True)
        self.blend.keep(self.command.tau_A, guard.effort)
        tau = guard.passed(self.command.tau_A, guard.effort, bounds.safe, done, now)
        self._note_active(now)
        return tau

    @property
    def _senses_nothing(self) -> bool:
        """Return whether nothing is measured beside the joints, nor was in the last turn."""
        last = self._sensed
        return self.sensors.is_idle and not (last.stale or last.sources)

    @property
    def _source(self) -> object:
        """Return what torques come from; they are blended where it changes."""
        return self.controller, self._sensed.sources, self._followed.is_on

    def _motor_speeds(self, q: Vector, v: Vector) -> Vector | None:
        """Return the speeds of the actuators; None where nothing depends on them."""
        return actuator_rows(self.robot, q) @ v if self.guard.bounds_power else None

    def _why_none(self, missing: str, v: Vector) -> tuple[str, str]:
        """Return why nothing is followed, in words, and the cause."""
        if not self.reference and self.asked.waiting:
            return self.asked.while_waiting(self.watcher.limits.too_fast(v)), 'speed'
        if not self.reference and self.asked.refused:
            return f'the reference was refused: {self.asked.refused}', REFUSED_REFERENCE
        return missing, ''

    def _note_active(self, now: float) -> None:
        """Note that torques of the law are sent, and what is not as it should be."""
        assert self.command is not None  # what is sent
        short = self._shortcomings.of(self.command, self.guard, now, self.turns)
        problem = self.asked.problem
        if problem:
            text = f'the reference was refused: {problem}'
            self.safety.enter(DEGRADED, REFUSED_REFERENCE, text)
        elif self._sensed.stale:
            self.safety.enter(DEGRADED, 'sensors', self._sensed.stale)
        elif short is not None:
            self.safety.enter(DEGRADED, *short)
        else:
            self.safety.enter(ACTIVE)

    def look_ahead(self) -> None:
        """Do what the next turn would have to do of the reference, after torques were sent."""
        if not self.reason:
            self.reference.look_ahead()
            if self.state is not None:
                self.state.prepare()

    def fall_back(self, now: float, reason: str, cause: str = '') -> Vector:
        """Return safe torques, see fallback.py; `cause`: where the reason has numbers in it."""
        self.reason, self.command = reason, None
        self._followed.forget()
        self.blend.forget()
        waits = reason in ('no joint states yet', 'no reference yet', NOT_ACTIVE)
        self.safety.enter(READY if waits else DEGRADED, cause or reason, reason)
        state = self.tracker.state
        if state is not None:
            try:
                tau = fallback_torques(
                    self.fallback,
                    self.controller,
                    (state.q, state.v),
                    self.damping,
                    not self.is_stale(now),
                    self.turns.now,
                )
                if tau is not None and state.q is not None:
                    return self.guard.limit(tau, now, self._motor_speeds(state.q, state.v))
            except (ClosedChainError, np.linalg.LinAlgError) as error:
                self.tracker.refuse('torque', str(error))
        return self.guard.release(now)

    def go_on_from_zero(self, now: float) -> None:
        """Take note that somebody else has sent zero torques, while no turn was taken."""
        self.fall_back(now, 'zero torques were sent while no turn was taken')
        self.guard.release(now)

    def is_stale(self, now: float) -> bool:
        """Return whether the last good state is older than the timeout."""
        return now - self._arrived > self.state_timeout

    def describe(self) -> dict[str, Any]:
        """Return what a person has to know about the last turn, by name."""
        command = self.command
        state = self.tracker.state
        shown: dict[str, Any] = {'safety': self.safety.state}
        shown |= state.describe() if state is not None and state.q is not None else {}
        if command is not None:
            shown |= {
                'tracking error [rad or m]': command.error,
                'singular': command.singular,
                'saturated': ', '.join(self.guard.saturated) or 'none',
                'rate-limited': ', '.join(self.guard.rate_limited) or 'none',
                'beside the joints': ', '.join(sorted(self._sensed.sources)) or 'none',
                'share of the impedance that is held': command.held,
                'longest turn lately [s]': self.turns.now,
            }
            generated = self.controller.generated
            if generated is not None:
                shown['torques by'] = (
                    'generated code'
                    if self.controller.by_code
                    else f'generic kernels: {generated.reason or "the code does not hold here"}'
                )
            shown |= {
                f'residual: {name} [N m or N]': value for name, value in command.residual.items()
            }
        if self.reference:
            shown['reference: contradiction [rad or lengths]'] = self.reference.residual
        return shown

    def use_singularity_policy(self) -> None:
        """Keep references away from singular poses, where the controller's policy says so."""
        self.reference.check = self.controller.singularity_guard()
        self.reference.foresee = self.controller.singularity == 'refuse'

    def use_limits(self, limits: JointLimits) -> None:
        """Take other limits of the joints."""
        self.reference.limits = self.watcher.limits = limits
        self._is_new = self.watcher.is_near = True

    def set_timeouts(self, state: float, reference: float) -> None:
        """Change how old states and references may be [s]."""
        self.state_timeout = self.tracker.stamps.timeout = state
        self.reference_timeout = reference
