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
What a controller follows: a trajectory of some joints, and all others as the loops ask.

Points beyond limits are refused, or clipped. A trajectory is rehearsed ahead of the motion
(rehearsal.py); what it asks for is then reached by small motions from the last pose, on its branch
and within limits and speeds of every joint. Where that is not possible the last pose is held, and
`problem` says why. A reference that is away from the joints - a jump in a stream, the end of a
fallback - is caught up with at a share of the speed limits.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.control.asked_points import check_names, refused, scales, within_limits
from closed_chain_dynamics.control.joint_limits import JointLimits
from closed_chain_dynamics.control.loop_state import LONGEST_FORESIGHT, LoopState
from closed_chain_dynamics.control.rehearsal import (
    LARGEST_MISFIT,
    PoseCheck,
    Rehearsal,
    unreachable,
)
from closed_chain_dynamics.control.trajectory import Trajectory
from closed_chain_dynamics.kernels import integrate
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['Reference']

FIRST_POSES = 20  # of a rehearsal, when a trajectory comes
AHEAD = 0.5  # how long before it would come something impossible stops the motion [s]
POSES = 4  # in a turn: 80 ms of most motions
STOPPING = 0.1  # time in which joints come to rest after a reference that stops [s]
CATCH_UP = 0.5  # share of the speed limits
PICK_UP = 20.0  # acceleration of catching up [rad/s^2, or typical lengths/s^2]
SAME_TURN = 0.25  # share of its length by which a turn may come at another time than foreseen
SAME_INSTANT = 1e-9  # stamps of messages have no finer digits [s]
FARTHEST_STEP = 0.2  # of a named joint in a turn [rad, or typical lengths]

Reached: TypeAlias = tuple[Vector, Vector, Vector]  # q_d, v_d, a_d


class Reference:
    """
    A trajectory and the complete pose that it asks for; None yet where it is false.

    `limits`: those of the file where not given; `clip`: whether points beyond limits are brought
    back instead of refused; `check(before, after, more)`: what else is wrong with a step between
    two poses, and `foresee`: whether trajectories are refused for it, or held before it. Joints
    that neither the trajectory names nor the loops move stay where they were when it came.
    """

    def __init__(
        self,
        robot: Mechanism,
        limits: JointLimits | None = None,
        *,
        clip: bool = False,
        check: PoseCheck = None,
        foresee: bool = True,
    ) -> None:
        self.robot, self.limits = robot, limits or JointLimits(robot)
        self.clip, self.check, self.foresee = clip, check, foresee
        self.drop()

    def drop(self) -> None:
        """Forget it."""
        self._start, self.received, self.problem, self.clipped = 0.0, -np.inf, '', ''
        self._rate = 0.0  # of catching up
        self._has_looked = False  # ahead, since the last turn
        self._last_time = np.inf  # of the turn before
        # when the next turn is thought to be, what is reached then, and what was before
        self._ahead: tuple[float, Reached, tuple[Any, tuple[Vector, float]]] | None = None
        self._reached: tuple[float, Reached] | None = None  # the last time, and what was then
        self._given_up: tuple[Trajectory, float] | None = None  # what is held for now, its begin
        self._state: LoopState | None = None
        self._trajectory: Trajectory | None = None
        self._rehearsal: Rehearsal | None = None

    def __bool__(self) -> bool:
        return self._state is not None

    @property
    def is_stream(self) -> bool:
        """Return whether points come one by one, so that their staying away means something."""
        return self._trajectory is not None and self._trajectory.is_stream

    @property
    def followed(self) -> tuple[Trajectory | None, float]:
        """Return the trajectory that was asked for last, and the time of its begin [s]."""
        return self._given_up or (self._trajectory, self._start)

    # --- a new one -------------------------------------------------------------------------------
    def take(
        self,
        names: Sequence[str],
        times: ArrayLike,
        positions: ArrayLike,
        velocities: ArrayLike | None = None,
        accelerations: ArrayLike | None = None,
        *,
        time: float,
        q: Vector,
        v: Vector,
        start: float | None = None,
    ) -> None:
        """
        Follow a trajectory from a time on; refuse it, and keep the old one, if it does not fit.

        `time` is now and `q`, `v` the state; `start` is when the trajectory begins, now if None.
        """
        check_names(self.robot, names)
        self._step_back()
        start = time if start is None else start
        begin = self._begin(names, max(time, start), q, v)
        with np.errstate(over='ignore', invalid='ignore'):  # what overflows is refused below
            asked = Trajectory(names, times, positions, velocities, accelerations, start=begin)
        given = times, positions, velocities, accelerations
        asked, clipped = within_limits(self.limits, asked, given, begin, self.clip)
        same = self._trajectory is not None and asked.names == self._trajectory.names
        pose = self._state.known_q if same and self._state is not None else q
        rehearsal = None
        if not asked.is_stream:
            since = max(time - start, 0.0)
            rehearsal = self._rehearsal_of(asked, pose, since)
            problem = rehearsal.go(FIRST_POSES, since + AHEAD)
            if problem:
                raise refused(f'the motion is not possible: {problem}')
        if not same:
            state = LoopState(self.robot, names, start=q, measured=False)
            state.restructured(q, np.zeros(self.robot.nv))
            state.time = time
            self._state = state
        self._trajectory, self._start, self.received = asked, start, time
        self._rehearsal, self._position, self.problem = rehearsal, begin[0], ''
        self.clipped = clipped
        self._reached = self._given_up = None
        self._last_time = np.inf
        self._note_places(asked.names)

    def _rehearsal_of(self, trajectory: Trajectory, q: Vector, since: float) -> Rehearsal:
        check = self.check if self.foresee else None
        return Rehearsal(trajectory, self.limits, q, begin=since, check=check)

    def _begin(
        self, names: Sequence[str], time: float, q: Vector, v: Vector
    ) -> tuple[Vector, Vector]:
        """Return where the named joints start: the present reference, else the measured state."""
        places = [self.robot.joint_slices(name) for name in names]
        if self._trajectory is not None and list(names) == self._trajectory.names:
            if self.is_stream and self._state is not None:
                reached = self._state.known_q
                return np.array([reached[in_q][0] for in_q, _ in places]), np.zeros(len(names))
            position, velocity, _ = self._trajectory.sample(time - self._start)
            return position, velocity
        return (
            np.array([q[in_q][0] for in_q, _ in places]),
            np.array([v[in_v][0] for _, in_v in places]),
        )

    def _note_places(self, names: Sequence[str]) -> None:
        """Note where the named joints stand; those that were cut since are left alone."""
        self._kept = self.limits.kept(names)
        names = [names[k] for k in self._kept]
        self._in_q = np.array([self.robot.joint_slices(name)[0].start for name in names], int)
        self._lower, self._upper, self._speed = self.limits.of(names)
        self._farthest = FARTHEST_STEP * scales(self.robot, names)

    # --- what happens to it ----------------------------------------------------------------------
    def restructured(self, q: Vector, v: Vector) -> None:
        """
        Take note of joints that were connected or cut: what is not named stays as it is now.

        A trajectory that was given up because it was not possible may be possible now; one whose
        end has passed is not begun again.
        """
        self._step_back()
        if self._state is not None and self._trajectory is not None:
            resumed, now, self._reached = False, self._state.time, None
            if self._given_up is not None:
                trajectory, start = self._given_up
                resumed, self._given_up = now < start + trajectory.duration, None
                if resumed:
                    self._trajectory, self._start = trajectory, start
            self._state.restructured(q, np.zeros_like(v))
            self._note_places(self._trajectory.names)
            if resumed or self._rehearsal is not None:
                since = now - self._start
                self._rehearsal = self._rehearsal_of(self._trajectory, q, since)

    def rebase(self, time: float) -> None:
        """Hold the pose of the last sample from now on: time has started anew."""
        self._step_back()
        if self._state is not None and self._trajectory is not None:
            self._hold(self._position, time)
            self._given_up = None

    def resume(self, q: Vector, time: float) -> None:
        """Go on from a measured pose: nothing was followed for a while."""
        self._ahead = None
        if self._state is not None:
            self._state.q, self._state.v = q.copy(), np.zeros(self.robot.nv)
            self._state.time, self._state.status = time, 'tracking'
            self._reached = None

    def _hold(self, position: Vector, time: float) -> None:
        state, trajectory = self._following()
        self._given_up, self._reached = (trajectory, self._start), None
        self._trajectory = Trajectory(trajectory.names, [0.0, 1e-3], [position, position])
        self._start, state.time, self._rehearsal = time, time, None

    # --- one instant -----------------------------------------------------------------------------
    def at(self, time: float) -> Reached:
        """
        Return q_d, v_d, a_d at a time, complete and in accord with loops and limits.

        Asked again for the same time it is the same: nothing goes on by being asked.
        """
        if self._reached is None or self._reached[0] != time:
            self._reached = time, self._foreseen(time) or self._next(time)
        return self._reached[1]

    def look_ahead(self) -> None:
        """
        Do now what the next turn would have to do, which has less to do then.

        That is to rehearse what comes, and to reach the next pose, if turns are as long as the
        last one was.
        """
        if self._reached is None or self._has_looked:
            return
        now, before = self._reached[0], self._last_time
        self._rehearse(now)
        self._has_looked, self._last_time = True, now
        if self._reached is None or self.problem or not 0.0 < now - before <= LONGEST_FORESIGHT:
            return
        state, kept = self._following()[0], (self._position, self._rate)
        past = state.q, state.v, state.time
        then = now + (now - before)
        reached = self._next(then)
        self._has_looked = True
        self._ahead = then, reached, (past, kept)
        if self.problem:  # it is told when it comes
            self._step_back()
            self.problem = ''

    def _step_back(self) -> None:
        """Be where the last turn was, not where the next one is thought to be."""
        if self._ahead is not None and self._state is not None:
            (q, v, time), (self._position, self._rate) = self._ahead[2]
            self._state.q, self._state.v, self._state.time = q, v, time
            self._state.status, self._ahead = 'tracking', None

    def _foreseen(self, time: float) -> Reached | None:
        """Return what was reached ahead, moved by the little that the time is another."""
        if self._ahead is None:
            return None
        then, (q, v, a), (past, _) = self._ahead
        dt = time - then
        if not abs(dt) <= SAME_TURN * (then - past[2]):
            self._step_back()
            return None
        self._ahead, self._has_looked = None, False
        if abs(dt) < SAME_INSTANT:
            return q, v, a
        moved = np.empty_like(q)
        integrate(self.robot.handle, q, dt * (v + 0.5 * dt * a), moved)
        return moved, v + dt * a, a

    def _next(self, time: float) -> Reached:
        """Go on to a time."""
        if not self._has_looked:
            self._rehearse(time)
        self._has_looked = False
        state, trajectory = self._following()
        position, velocity, acceleration = trajectory.sample(time - self._start)
        q, zero, kept = state.known_q, np.zeros(self.robot.nv), self._kept
        position, velocity = position.copy(), velocity.copy()
        if self.clip:  # a spline may pass between points what they do not
            wanted = position[kept]
            position[kept] = np.clip(wanted, self._lower, self._upper)
            velocity[kept] = np.where(position[kept] == wanted, velocity[kept], 0.0)
        self._position = position.copy()
        now = q[self._in_q]
        dt = min(max(time - state.time, 0.0), LONGEST_FORESIGHT)
        gap = position[kept] - now
        reach = np.minimum(self._speed * dt, self._farthest) + 1e-9
        share = max((np.abs(gap) / reach).tolist(), default=0.0)  # quicker than NumPy's
        if share > 1.0:
            gap *= self._caught_up(gap, share, dt)
            position[kept], acceleration = now + gap, np.zeros_like(acceleration)
            velocity[:] = 0.0
            velocity[kept] = gap / dt if dt > 0.0 else 0.0
        else:
            self._rate = 0.0
        held = self._moved(state, time, (position, velocity, acceleration))
        if held:
            state.q, state.v, state.time = q, zero, time
            self._rate = 0.0
            if not self.problem:
                self.problem = held
            return q, zero, zero
        if share <= 1.0 and (self._rehearsal is not None or self.is_stream):
            self.problem = ''  # it is followed again
        return state.known_q, state.v, state.a

    def _caught_up(self, gap: Vector, share: float, dt: float) -> float:
        """Return the share of a gap to close in a turn: gently at begin and end."""
        far = float((np.abs(gap) / self._farthest).max()) * FARTHEST_STEP
        self._rate = min(self._rate + PICK_UP * dt, np.sqrt(PICK_UP * far))
        return min(self._rate * dt / far, CATCH_UP / share)

    def _moved(self, state: LoopState, time: float, asked: Reached) -> str:
        """Move the reference; return why it has to be held, in words, or nothing."""
        before, dt, position = state.known_q, time - state.time, asked[0]
        if not state.update(time, *asked) or state.residual > LARGEST_MISFIT:
            return unreachable(state.names, position)
        beyond, fast, _ = self.limits.look(state.known_q, state.v, zones=0.0, since=before)
        problem = beyond or fast
        if problem or not self.check:
            return problem
        return self.check(before, state.known_q, STOPPING / dt if dt > 0.0 else 1.0)

    def _rehearse(self, time: float) -> None:
        """Look further ahead; hold the pose where what comes is not possible."""
        if self._rehearsal is None or self._rehearsal.is_done:
            return
        problem = self._rehearsal.go(POSES, time - self._start + AHEAD)
        if problem:
            position = self._position.copy()
            position[self._kept] = self._following()[0].known_q[self._in_q]
            self._hold(position, time)
            self.problem = problem

    def _following(self) -> tuple[LoopState, Trajectory]:
        """Return the state and the trajectory that are followed."""
        if self._state is None or self._trajectory is None:
            raise refused('there is no reference', 'Give one first: take(names, times, ...).')
        return self._state, self._trajectory

    @property
    def residual(self) -> float:
        """Return by how much the named joints contradict the loops [rad, or typical lengths]."""
        return self._following()[0].residual
