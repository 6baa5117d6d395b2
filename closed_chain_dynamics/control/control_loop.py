"""
One turn of torque control after the other: state in, torques out, and safe ones when in doubt.

Every joint state that is good gives torques at once. One that is not - repeated, out of order,
too old, not finite, not continuous - is refused, counted and named, and the last torques stand
until `state_timeout` is over; from then on the fallback is given, zero torques or those that hold
the last pose against gravity, until good states come again. Nothing has to be reset for that.

Times of states are those of their stamps, so that a replay or a slow simulation gives the same
torques; timeouts and rate limits are in the time of the machine that runs this.
"""

from collections.abc import Mapping, Sequence
import math
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics.assembly.search import assemble
from closed_chain_dynamics.control.law import Command, TorqueController
from closed_chain_dynamics.control.loop_state import LoopState
from closed_chain_dynamics.control.state_tracking import OnRefusal, StateTracker
from closed_chain_dynamics.control.torque_guard import TorqueGuard
from closed_chain_dynamics.control.trajectory import Reference
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.model.changes import CONNECT_ANGLE, CONNECT_GAP
from closed_chain_dynamics.model.mechanism import Vector

__all__ = ['FALLBACKS', 'ControlLoop']

FALLBACKS = ('zero', 'gravity')


class _Points(TypedDict):
    """A trajectory that waits for the first state, see `take_reference`."""

    names: Sequence[str]
    times: ArrayLike
    positions: ArrayLike
    velocities: ArrayLike | None
    accelerations: ArrayLike | None
    start: float | None


class ControlLoop:
    """
    Keeps state, reference and limits together around a TorqueController.

    `guard`: a TorqueGuard; `fallback`: 'zero' or 'gravity'; `reference_timeout`: how long a
    point of a stream is followed [s]; `on_refusal(name, text)` is told of everything refused.
    """

    def __init__(
        self,
        controller: TorqueController,
        guard: TorqueGuard,
        *,
        state_timeout: float = 0.05,
        reference_timeout: float = 0.5,
        fallback: str = 'zero',
        on_refusal: OnRefusal = None,
    ) -> None:
        self.robot, self.controller, self.guard = controller.robot, controller, guard
        self.tracker = StateTracker(self.robot, on_refusal=on_refusal)
        self.reference, self.fallback = Reference(self.robot), fallback
        self.command: Command | None = None
        self.reason = 'no joint states yet'
        self._arrived, self._reshaped = -math.inf, False
        self._waiting: _Points | None = None
        self.set_timeouts(state_timeout, reference_timeout)

    @property
    def state(self) -> LoopState | None:
        """Return the LoopState, None before the first good joint state."""
        return self.tracker.state

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
        good = self.tracker.take(names, position, velocity, stamp=stamp, age=age)
        state = self.state
        if not good or state is None:
            return None
        q, v = state.known_q, state.v
        if self._reshaped:
            self.reference.restructured(q, v)
            self._reshaped = False
        if self.tracker.restarted:
            self.reference.rebase(stamp)
        self._arrived = now
        if self._waiting:
            self.take_reference(**self._waiting)
        return self._turn(q, v, stamp, now)

    def turn_again(self, stamp: float, now: float) -> Vector:
        """Return torques for the state that was taken last, as what is asked for may be new."""
        state = self.state
        if state is None:
            return self.fall_back(now, 'no joint states yet')
        return self._turn(state.known_q, state.v, stamp, now)

    def restart(self, stamp: float) -> None:
        """Forget the past, because time has started anew at a stamp: hold the pose till told."""
        self.tracker.stamps.last, self.tracker.state = -math.inf, None
        self.reference.rebase(stamp)
        self.guard.restart()

    def _turn(self, q: Vector, v: Vector, stamp: float, now: float) -> Vector:
        """Return torques for the present state; the fallback where there are none."""
        mode = self.controller.mode
        reference = None
        try:
            if mode != 'gravity_compensation':
                if not self.reference:
                    return self.fall_back(now, 'no reference yet')
                if (
                    self.reference.is_stream
                    and stamp - self.reference.received > self.reference_timeout
                ):
                    return self.fall_back(now, 'the stream of references has ended')
                reference = self.reference.at(stamp)
                if self.reference.is_lost:
                    self.tracker.refuse(
                        'reference lost',
                        'the reference jumped, or asks for a '
                        'pose that does not exist: the last one is held',
                    )
            self.command = self.controller.torques(q, v, reference)
            tau = self.guard.limit(self.command.tau_A, now)
        except (ClosedChainError, np.linalg.LinAlgError) as error:
            self.tracker.refuse('torque', str(error))
            return self.fall_back(now, str(error))
        self.reason = ''
        return tau

    def is_stale(self, now: float) -> bool:
        """Return whether the last good state is older than the timeout."""
        return now - self._arrived > self.state_timeout

    def watch(self, now: float) -> Vector | None:
        """Return the fallback where states have stayed away too long, else None."""
        if not self.is_stale(now):
            return None
        seen = math.isfinite(self._arrived)
        return self.fall_back(
            now, 'no good joint state within the timeout' if seen else 'no joint states yet'
        )

    def fall_back(self, now: float, reason: str) -> Vector:
        """Return safe torques: zero, or those that hold the last pose."""
        self.reason, self.command = reason, None
        state = self.tracker.state
        if self.fallback == 'gravity' and state is not None and state.q is not None:
            try:
                return self.guard.limit(self.controller.gravity(state.q).tau_A, now)
            except (ClosedChainError, np.linalg.LinAlgError) as error:
                self.tracker.refuse('torque', str(error))
        return self.guard.release(now)

    def describe(self) -> dict[str, Any]:
        """Return what a person has to know about the last turn, by name."""
        command = self.command
        state = self.tracker.state
        shown = state.describe() if state is not None and state.q is not None else {}
        if command is not None:
            shown |= {
                'tracking error [rad or m]': command.error,
                'singular': command.singular,
                'saturated': ', '.join(self.guard.saturated) or 'none',
                'rate-limited': ', '.join(self.guard.rate_limited) or 'none',
            }
            shown |= {
                f'residual: {name} [N m or N]': value for name, value in command.residual.items()
            }
        if self.reference:
            shown['reference: contradiction [rad or lengths]'] = self.reference.residual
        return shown

    def set_timeouts(self, state: float, reference: float) -> None:
        """Change how old states and references may be [s]."""
        self.state_timeout = self.tracker.stamps.timeout = state
        self.reference_timeout = reference

    def warm_up(self) -> None:
        """Take a few turns on a copy, so that every kernel is loaded before it counts."""
        self.tracker.warm_up()
        robot = self.robot.copy()
        controller = self.controller.for_copy(robot)
        trial = ControlLoop(controller, TorqueGuard(robot), fallback='gravity')
        try:
            q = assemble(robot, limits=False)
        except ClosedChainError:  # it may be closed later, by an event
            return
        single = [
            name
            for name in robot.joint_names
            if robot.joint_slices(name)[1].stop - robot.joint_slices(name)[1].start == 1
        ]
        for now in (0.0, 1e-3, 2e-3):  # without a reference, then with one
            trial.take_state(robot.joint_names, q, np.zeros(robot.nv), stamp=now, now=now)
            if single:
                trial.take_reference(single[:1], [1.0], [q[robot.joint_slices(single[0])[0]]])

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

        One that comes before the first state waits for it.
        """
        state = self.tracker.state
        if state is None or state.q is None:
            self._waiting = {
                'names': names,
                'times': times,
                'positions': positions,
                'velocities': velocities,
                'accelerations': accelerations,
                'start': start,
            }
            return True
        self._waiting = None
        try:
            self.reference.take(
                names,
                times,
                positions,
                velocities,
                accelerations,
                time=state.time,
                q=state.q,
                v=state.v,
                start=start,
            )
        except ClosedChainError as error:
            self.tracker.refuse('reference', str(error))
            return False
        return True

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
        self._reshaped = True  # the reference too, as soon as there is a pose
