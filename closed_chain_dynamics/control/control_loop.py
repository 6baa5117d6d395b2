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
One turn of torque control after the other: state in, torques out, and safe ones when in doubt.

Every joint state that is good gives torques at once. One that is not - repeated, out of order,
too old, not finite, not continuous - is refused, counted and named, and the last torques stand
until `state_timeout` is over; from then on the fallback is given (fallback.py), until good states
come again. Nothing has to be reset for that. A fault (state_watch.py) gives the fallback until
`clear` is called and its cause is gone; the reference is forgotten then. `safety` says which.
What was never driven may fall faster, or lie further, than its limits allow: that is no fault. The
fallback is given meanwhile, and a trajectory that comes then waits until it is over.

Times of states are those of their stamps, so that a replay or a slow simulation gives the same
torques; timeouts and rate limits are in the time of the machine that runs this.
"""

from collections.abc import Mapping, Sequence
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics.control.asked_motion import AskedMotion
from closed_chain_dynamics.control.blending import Blend
from closed_chain_dynamics.control.fallback import fallback_torques
from closed_chain_dynamics.control.followed import Followed
from closed_chain_dynamics.control.joint_limits import JointLimits
from closed_chain_dynamics.control.law import Command, TorqueController
from closed_chain_dynamics.control.loop_state import LoopState
from closed_chain_dynamics.control.reference import Reference
from closed_chain_dynamics.control.safety_state import (
    ACTIVE,
    DEGRADED,
    READY,
    OnChange,
    SafetyState,
)
from closed_chain_dynamics.control.sensed import NOTHING, Sensors
from closed_chain_dynamics.control.shortcomings import Shortcomings
from closed_chain_dynamics.control.soft_limits import soft_limit_torques
from closed_chain_dynamics.control.state_tracking import OnRefusal, StateTracker
from closed_chain_dynamics.control.state_watch import StateWatch
from closed_chain_dynamics.control.torque_guard import TorqueGuard
from closed_chain_dynamics.control.turn_length import TurnLength
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.model.changes import CONNECT_ANGLE, CONNECT_GAP
from closed_chain_dynamics.model.mechanism import Vector

__all__ = ['ControlLoop']


class ControlLoop:
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
        self._sensed, self._followed = NOTHING, Followed()
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

    # --- turns -----------------------------------------------------------------------------------
    def take_state(
        self,
        names: Sequence[str],
        position: ArrayLike,
        velocity: ArrayLike | None,
        *,
        stamp: float,
        now: float,
        age: float = 0.0,
    ) -> Vector | None:
        """
        Take a joint state; return the torques, (actuators,), or None where it is refused.

        `names`: joints of the tree, all of `position` as in q; `stamp`: its time [s], `now`: the
        time of arrival on a clock that never goes back [s], `age`: the clock's time minus stamp.
        """
        self._stamp, self._is_new = stamp, False
        doubt = self.watcher.refuses(names, velocity)
        if doubt:
            self.tracker.refuse('speed', doubt)
            return self._in_doubt(now)
        good = self.tracker.take(names, position, velocity, stamp=stamp, age=age)
        state = self.state
        if not good or state is None:
            return None
        q, v = state.known_q, state.v
        doubt = self.watcher.judge(q, v, state.jumps)
        if doubt and not self.safety.is_fault:
            self.tracker.refuse('limit', doubt)
            return self._in_doubt(now)
        if self._reshaped:
            self.reference.restructured(q, v)
            self._reshaped = False
        if self.tracker.restarted:
            self.reference.rebase(stamp)
        self._arrived = now
        self.turns.take(stamp, age, stood=not self.reason)
        if self.safety.is_fault:
            return self.fall_back(now, self.safety.text)
        self.asked.go_on(stamp, self.reference_timeout)
        return self._turn(q, v, stamp, now)

    def _in_doubt(self, now: float) -> Vector | None:
        """Return the fallback where states that are wrong have insisted, else None."""
        if self.safety.is_fault:
            return self.fall_back(now, self.safety.text)
        cause, text = self.watcher.doubt
        if not cause:
            return None
        self._doubted = now
        return self.fall_back(now, self.asked.while_waiting(text), cause)

    def turn_again(self, stamp: float, now: float) -> Vector:
        """
        Return torques for the state that was taken last: the same, or others where more is asked.

        However often the same is asked, nothing here goes on by it.
        """
        state = self.state
        if state is None:
            return self.fall_back(now, 'no joint states yet')
        if not self._is_new:
            return self.guard.tau
        self._is_new = False
        if self.safety.is_fault:
            return self.fall_back(now, self.safety.text)
        cause = self.watcher.doubt[0]
        if cause:
            return self.fall_back(now, self.reason, cause)
        return self._turn(state.known_q, state.v, stamp, now)

    def look_ahead(self) -> None:
        """Do what the next turn would have to do of the reference, after torques were sent."""
        if not self.reason:
            self.reference.look_ahead()

    def restart(self, stamp: float) -> None:
        """Forget the past, because time has started anew at a stamp: hold the pose till told."""
        self.tracker.stamps.last, self.tracker.state = -math.inf, None
        self.reference.rebase(stamp)
        self.guard.restart()
        self.watcher.begin_anew()

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
            limits, effort = self.watcher.limits, self.guard.effort
            pushed = soft_limit_torques(limits, effort, (q, v), target, turn)
            source = self.controller, sensed.sources, self._followed.is_on
            wanted = self.blend.smooth(self.command.tau_A, stamp, source, effort)
            wanted = wanted if pushed is None else wanted + pushed
            speeds = self._motor_speeds(v) if self.guard.bounds_power else None
            tau = self.guard.limit(wanted, now, speeds)
        except (ClosedChainError, np.linalg.LinAlgError) as error:
            self.tracker.refuse('torque', str(error))
            return self.fall_back(now, str(error))
        self.reason, self.watcher.driven = '', True
        self._note_active(now)
        return tau

    def _motor_speeds(self, v: Vector) -> Vector:
        """Return the speeds of the actuators on the tree; those on loop joints count as still."""
        actuators = self.robot.structure.actuators
        on_tree = (actuators['on_loop'] == 0) & (actuators['dof'] >= 0)
        speeds: Vector = np.where(on_tree, v[np.where(on_tree, actuators['dof'], 0)], 0.0)
        return speeds

    def _why_none(self, missing: str, v: Vector) -> tuple[str, str]:
        """Return why nothing is followed, in words, and the cause."""
        if not self.reference and self.asked.waiting:
            return self.asked.while_waiting(self.watcher.limits.too_fast(v)), 'speed'
        if not self.reference and self.asked.refused:
            return f'the reference was refused: {self.asked.refused}', 'reference'
        return missing, ''

    def _note_active(self, now: float) -> None:
        """Note that torques of the law are sent, and what is not as it should be."""
        assert self.command is not None  # what is sent
        short = self._shortcomings.of(self.command, self.guard, now, self.turns)
        problem = self.asked.problem
        if problem:
            self.safety.enter(DEGRADED, 'reference', f'the reference was refused: {problem}')
        elif self._sensed.stale:
            self.safety.enter(DEGRADED, 'sensors', self._sensed.stale)
        elif short is not None:
            self.safety.enter(DEGRADED, *short)
        else:
            self.safety.enter(ACTIVE)

    def clear(self, now: float) -> str:
        """Clear a fault whose cause is gone; return why not, in words, or nothing."""
        if not self.safety.is_fault:
            return ''
        state = self.tracker.state
        if self.is_stale(now) or state is None or state.q is None:
            return 'no good joint state within the timeout'
        present = self.watcher.present(state.q, state.v)
        if present:
            return present
        self.asked.forget()
        self.watcher.begin_anew()
        self.watcher.driven, self._is_new = False, True
        self.watcher.judge(state.q, state.v, state.jumps)
        self.safety.clear()
        return ''

    def stale_in(self, now: float) -> float:
        """Return how long the last good state is within the timeout still [s]; negative: stale."""
        return self.state_timeout - (now - self._arrived)

    def is_stale(self, now: float) -> bool:
        """Return whether the last good state is older than the timeout."""
        return self.stale_in(now) < 0.0

    def watch(self, now: float) -> Vector | None:
        """Return the fallback where states have stayed away too long, else None."""
        if not self.is_stale(now):
            return None
        self._is_new = True
        if self.safety.is_fault:
            return self.fall_back(now, self.safety.text)
        if self.watcher.doubt[0] and now - self._doubted <= self.state_timeout:
            return None
        seen = math.isfinite(max(self._arrived, self._doubted))
        return self.fall_back(
            now, 'no good joint state within the timeout' if seen else 'no joint states yet'
        )

    def fall_back(self, now: float, reason: str, cause: str = '') -> Vector:
        """Return safe torques, see fallback.py; `cause`: where the reason has numbers in it."""
        self.reason, self.command = reason, None
        self._followed.forget()
        self.blend.forget()
        waits = reason in ('no joint states yet', 'no reference yet')
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
                if tau is not None:
                    return self.guard.limit(tau, now)
            except (ClosedChainError, np.linalg.LinAlgError) as error:
                self.tracker.refuse('torque', str(error))
        return self.guard.release(now)

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
        self._is_new = True

    def set_timeouts(self, state: float, reference: float) -> None:
        """Change how old states and references may be [s]."""
        self.state_timeout = self.tracker.stamps.timeout = state
        self.reference_timeout = reference

    # --- what comes seldom ---------------------------------------------------------------------
    def take_reference(
        self,
        names: Sequence[str],
        times: ArrayLike,
        positions: ArrayLike,
        velocities: ArrayLike | None = None,
        accelerations: ArrayLike | None = None,
        *,
        start: float | None = None,
    ) -> bool:
        """
        Follow a trajectory from a stamp, or from now; return whether it was accepted.

        It may have to wait, see asked_motion.py.
        """
        self._is_new = True
        return self.asked.take(
            {
                'names': names,
                'times': times,
                'positions': positions,
                'velocities': velocities,
                'accelerations': accelerations,
                'start': start,
            },
            self._stamp,
        )

    def connect(
        self, name: str, *, gap: float = CONNECT_GAP, angle: float = CONNECT_ANGLE
    ) -> None:
        """Close a loop joint, or join a cut one, see StateTracker; raise where it is refused."""
        self.tracker.connect(name, gap=gap, angle=angle)
        self._restructured()

    def cut(self, name: str) -> None:
        """Open a loop joint, or cut a joint of the tree; raise where it is refused."""
        self.tracker.cut(name)
        self._restructured()

    def follow(self, closed: Mapping[str, bool]) -> bool:
        """Make the structure what its owner says, see StateTracker; return whether it changed."""
        changed = self.tracker.follow(closed)
        if changed:
            self._restructured()
        return changed

    def _restructured(self) -> None:
        self.controller.restructured()
        self.watcher.limits.restructured()
        self._followed.forget()
        self._reshaped = self._is_new = True  # the reference too, as soon as there is a pose
