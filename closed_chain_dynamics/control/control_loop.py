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

Every joint state that is good gives torques at once (law_turns.py). One that is not - repeated,
out of order, too old, not finite, not continuous - is refused, counted and named, and the last
torques stand until `state_timeout` is over; from then on the fallback is given (fallback.py),
until good states come again. Nothing has to be reset for that. A fault (state_watch.py) gives the
fallback until `clear` is called and its cause is gone; the reference is forgotten then. `safety`
says which.

What was never driven may fall faster, or lie further, than its limits allow: that is no fault. The
fallback is given meanwhile, and a trajectory that comes then waits until it is over.

Times of states are those of their stamps, so that a replay or a slow simulation gives the same
torques; timeouts and rate limits are in the time of the machine that runs this.
"""

from collections.abc import Mapping, Sequence
import math

from numpy.typing import ArrayLike

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.control.law_turns import NOT_ACTIVE, LawTurns, Send
from closed_chain_dynamics.model.changes import CONNECT_ANGLE, CONNECT_GAP

__all__ = ['ControlLoop']

CLEAR_FIRST = 'there is a fault: clear it first (service clear_fault), then ask again'


class ControlLoop(LawTurns):
    """Takes states, references and changes of the structure; LawTurns has its options."""

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
        send: Send = None,
    ) -> Vector | None:
        """
        Take a joint state; return the torques, (actuators,), or None where it is refused.

        `names`: joints of the tree, all of `position` as in q; `stamp`: its time [s], `now`: the
        time of arrival on a clock that never goes back [s], `age`: the clock's time minus stamp.
        `send(torques)` is called as soon as there are any: what is noted of them can wait.
        """
        self._stamp, self._is_new = stamp, False
        tau = self._whole_turn(names, (position, velocity), stamp, now, age, send)
        if tau is None:
            tau = self._by_steps(names, (position, velocity), stamp, now, age)
            if send and tau is not None:
                send(tau)
        return tau

    def _by_steps(
        self,
        names: Sequence[str],
        given: tuple[ArrayLike, ArrayLike | None],
        stamp: float,
        now: float,
        age: float,
    ) -> Vector | None:
        """Return torques step by step, or None where the state is refused."""
        position, velocity = given
        doubt = self.watcher.refuses(names, velocity)
        if doubt:
            self.tracker.refuse('speed', doubt)
            return self._in_doubt(now)
        good = self.tracker.take(names, position, velocity, stamp=stamp, age=age)
        state = self.state
        if not good or state is None:
            return None
        q, v = state.known_q, state.v
        doubt = self.watcher.judge(q, v, state.jumps, acts=not self.reason)
        if doubt and not self.safety.is_fault:
            self.tracker.refuse('limit', doubt)
            return self._in_doubt(now)
        if self._reshaped:
            self.reference.restructured(q, v)
            self._reshaped = False
        if self.tracker.restarted:
            self.reference.rebase(stamp)
        self._arrived = now
        self.turns.take(stamp, age, stood=not (self.reason or self.tracker.restarted))
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

    def restart(self, stamp: float) -> None:
        """Forget the past, because time has started anew at a stamp: hold the pose till told."""
        self.tracker.stamps.last, self.tracker.state = -math.inf, None
        self.reference.rebase(stamp)
        self.guard.restart()
        self.watcher.begin_anew()

    def clear(self, now: float, refused: str = '') -> str:
        """
        Clear a fault whose cause is gone; return why not, in words, or nothing.

        `refused`: why the last state was, in words; nothing where none was.
        """
        if not self.safety.is_fault:
            return ''
        state = self.tracker.state
        if self.is_stale(now) or state is None or state.q is None:
            return _last_refused('no good joint state within the timeout', refused)
        present = self.watcher.present(state.q, state.v)
        if present:
            return present
        self.asked.forget()
        self.watcher.begin_anew()
        self.watcher.driven, self._is_new = False, True
        self.watcher.judge(state.q, state.v, state.jumps, acts=False)
        self.safety.clear()
        return ''

    def rest(self, now: float) -> Vector:
        """Return zero torques, and forget what was asked: nobody is to be driven any more."""
        self.asked.forget()
        self.watcher.begin_anew()
        self.fall_back(now, NOT_ACTIVE)
        self.watcher.driven = False
        return self.guard.release(now)

    def watch(self, now: float, refused: str = '') -> Vector | None:
        """
        Return the fallback where good states have stayed away too long, else None.

        `refused`: why the last one was, in words; nothing where none has come.
        """
        if not self.is_stale(now):
            return None
        self._is_new = True
        if self.safety.is_fault:
            return self.fall_back(now, self.safety.text)
        if self.watcher.doubt[0] and now - self._doubted <= self.state_timeout:
            return None
        seen = math.isfinite(max(self._arrived, self._doubted))
        cause = 'no good joint state within the timeout' if seen else 'no joint states yet'
        if not refused:
            return self.fall_back(now, cause)
        cause = cause if seen else 'no good joint state yet'
        return self.fall_back(now, _last_refused(cause, refused), cause)

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

        It may have to wait, see asked_motion.py. None is accepted during a fault: whoever clears
        it is not to see a motion begin that was asked for before.
        """
        self._is_new = True
        if self.safety.is_fault:
            return self.asked.refuse(CLEAR_FIRST)
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


def _last_refused(text: str, refused: str) -> str:
    return f'{text}: the last one was refused: {refused}' if refused else text
