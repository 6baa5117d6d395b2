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
Adaptive integration by SciPy, on local coordinates that start anew at every step.

A step's unknowns are u (see kernels/step.py), the velocities and the energy books. Loops are
closed again after every accepted step, so that its dense output spans two closed states. Events of
contacts are found on the dense output.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics import kernels
from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.errors import StructureError
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.recording.events import Event
from closed_chain_dynamics.simulation.event_handling import EventHandling
from closed_chain_dynamics.simulation.moving_mechanism import MovingMechanism

__all__ = ['adaptive_run']

SHORTEST_STEP = 1e-6  # share of dt below which a step that leaves the loops open is an error
SMALLER = 1e-3  # absolute tolerance, as a share of the relative one


def adaptive_run(
    motion: MovingMechanism,
    handling: EventHandling,
    end: float,
    tolerance: float,
    decide: Callable[[Callable[[], list[Event]]], None],
    stepped_over: Callable[[float], bool],
) -> None:
    """
    Move on to a time, with steps as the tolerance asks for.

    `decide` lets events happen; `stepped_over` goes on where they pile up, and says whether.
    """
    first = motion.dt
    while motion.time < end:
        if stepped_over(end - motion.time):
            continue
        step = _Step(motion, end, tolerance)
        try:
            with motion.forces():
                if handling.watching:  # friction of contacts that are slow does not turn in a step
                    kernels.aim_slow(
                        motion.robot.handle,
                        motion.q,
                        motion.v,
                        min(first, end - motion.time),
                        motion.work[3, : motion.robot.nv],
                    )
                late = step.take(first)
        except StructureError as lock:
            kernels.forget_slow(motion.robot.handle)
            locked = lock
            decide(lambda: handling.unlock(locked))
            first = motion.dt
            continue
        signs = step.signs(late) if handling.watching else np.ones((1, 2))
        if signs.min() < 0.0:
            late, signs = step.find_event(late)
            kernels.forget_slow(motion.robot.handle)
            decide(lambda: handling.handle(signs))
        elif handling.watching:
            handling.note()
        first = step.next(late)
    if handling.watching:
        kernels.forget_slow(motion.robot.handle)
    motion.time = end


class _Step:
    """One step of the adaptive method."""

    def __init__(self, motion: MovingMechanism, end: float, tolerance: float) -> None:
        self.motion, self.end, self.tolerance = motion, end, tolerance
        self._start, nv = motion.q.copy(), motion.robot.nv
        self._a, self._rate, self._q = np.empty(nv), np.empty(nv), np.empty(motion.robot.nq)
        self._locked = False

    def take(self, first: float) -> float:
        """Take a step that begins with a size; return the time that the loops allowed."""
        from scipy.integrate import DOP853  # slow to import

        motion, nv = self.motion, self.motion.robot.nv
        self._solver = solver = DOP853(
            self._slope,
            motion.time,
            np.concatenate([np.zeros(nv), motion.v, motion.books]),
            self.end,
            rtol=self.tolerance,
            atol=SMALLER * self.tolerance,
            first_step=min(first, self.end - motion.time),
        )
        with np.errstate(all='ignore'):  # what is not finite ends the run with an error of our own
            solver.step()
        if solver.status == 'failed':
            motion.refuse(at.LOCKED if self._locked else at.NOT_FINITE)
        self._dense, late, state = solver.dense_output(), float(solver.t), solver.y
        # where loops are hardly independent, only a small error can be taken out of them again
        while status := self._close(late, state):
            if late - solver.t_old <= SHORTEST_STEP * motion.dt:
                motion.refuse(status)
            late = 0.5 * (solver.t_old + late)
            state = self._dense(late)
        return late

    def _slope(self, _: float, x: Vector) -> Vector:
        """Return the rates of local coordinates, velocities and books."""
        robot = self.motion.robot
        u, v = x[: robot.nv].copy(), x[robot.nv : 2 * robot.nv].copy()
        if not np.all(np.isfinite(x)):
            return np.full(x.size, np.nan)
        kernels.advance(robot.handle, self._start, u, self._q)
        status = kernels.forward_dynamics(robot.handle, self._q, v, self._a)
        if status == at.LOCKED:  # a step too far ahead: the method takes a shorter one
            self._locked = True
            return np.full(x.size, np.nan)
        if status:
            self.motion.refuse(status)
        kernels.local_rate(robot.handle, self._q, v, u, self._rate)
        totals = robot.workspace.totals
        return np.concatenate([self._rate, self._a, [totals['power'], totals['dissipation']]])

    def _close(self, t: float, x: Vector) -> int:
        """Put the mechanism into a state of this step, its loops closed; return a status."""
        motion, nv = self.motion, self.motion.robot.nv
        q, v = np.empty(motion.robot.nq), x[nv : 2 * nv].copy()
        kernels.advance(motion.robot.handle, self._start, x[:nv].copy(), q)
        status = int(kernels.close_loops(motion.robot.handle, q, v, motion.work))
        if not status:
            motion.q, motion.v, motion.books, motion.time = q, v, x[2 * nv :].copy(), t
        return status

    def signs(self, t: float) -> NDArray[np.float64]:
        """Go to a time of this step; return the signs of the contacts there."""
        status = self._close(t, self._solver.y if t == self._solver.t else self._dense(t))
        if status:
            self.motion.refuse(status)
        return self.motion.signs()

    def find_event(self, late: float) -> tuple[float, NDArray[np.float64]]:
        """Go to the instant of an event before `late`, found by halving; return time and signs."""
        early = float(self._solver.t_old)
        while late - early > kernels.EVENT_TIME + 4.0 * np.spacing(late):
            middle = 0.5 * (early + late)
            if self.signs(middle).min() < 0.0:
                late = middle
            else:
                early = middle
        return late, self.signs(late)

    def next(self, late: float) -> float:
        """Return the size of the next step: as proposed, unless the loops asked for less."""
        solver = self._solver
        return float(solver.h_abs if late == solver.t else late - solver.t_old)
