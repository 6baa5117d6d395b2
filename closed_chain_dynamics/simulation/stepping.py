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
Steps of a simulation: on their grid, up to the instants of events, and into the log.

A run of steps is one compiled call; it comes back early only where a contact has something to
decide.
"""

from collections.abc import Callable
import logging

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics import kernels
from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.codegen.runner import Asked
from closed_chain_dynamics.errors import StateError, StructureError
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.kernels.run import LOG_ROW
from closed_chain_dynamics.model.friction_lock import LOCKS
from closed_chain_dynamics.recording.events import Event
from closed_chain_dynamics.recording.log import Log
from closed_chain_dynamics.simulation.adaptive import adaptive_run
from closed_chain_dynamics.simulation.event_handling import EventHandling
from closed_chain_dynamics.simulation.event_rates import EventRates
from closed_chain_dynamics.simulation.generated_steps import GeneratedSteps
from closed_chain_dynamics.simulation.moving_mechanism import MovingMechanism
from closed_chain_dynamics.simulation.options import INTEGRATORS
from closed_chain_dynamics.simulation.pile_ups import INSTANT, PileUp
from closed_chain_dynamics.simulation.step_grid import StepGrid
from closed_chain_dynamics.simulation.stiffness import (
    EASED,
    ease_massless,
    is_fast_but_damped,
    stiffest,
)

__all__ = ['Stepper']

LOGGER = logging.getLogger('closed_chain_dynamics')
# shares of the energy that a step may gain or lose without a word; implicit ones are second order
ROUGH_STEP, ROUGH_IMPLICIT_STEP = 1e-6, 1e-4
MOST_RK4_PARTS = 1000.0  # of a step by RK4; where damping asks for more, steps are implicit
CAUGHT_BY_FRICTION = 1e-3  # share of a step in which friction stops what it is about to jam
MOST_EVENTS = 1000  # in one step; more means that it never comes to rest
MOST_A_SECOND = 2000  # events of one contact; more are told of, once


class Stepper:
    """
    Moves a mechanism on, step by step, and logs where it was.

    `events` grows as they happen; the arguments: see Simulation. `generated`: the steps that
    generated code takes, None where none was asked for.
    """

    def __init__(
        self,
        motion: MovingMechanism,
        *,
        integrator: str,
        tolerance: float,
        log_every: int,
        limits: bool,
        compiled: bool = False,
        before: 'Stepper | None' = None,
    ) -> None:
        self.motion, self.integrator, self.tolerance = motion, integrator, tolerance
        self.log_every, self.log = log_every, Log(motion.robot)
        self.events: list[Event] = []
        self._rates = EventRates(motion.robot.name, MOST_A_SECOND)
        self._grid, self._task = StepGrid(motion.dt), np.zeros(1, kernels.RUN)
        self._handling, self._begun, self._last = EventHandling(motion, limits), False, ''
        self._pile = PileUp(motion.dt)  # of events, in the present step
        self._looked = False  # whether it has been looked at what is stiff
        self._rough = False  # whether it has been said that energy was gained or lost
        contacts = bool(self._handling.modes.loops)
        known = before.generated if before is not None else None
        self.generated: GeneratedSteps | None = (
            GeneratedSteps(motion, contacts, known) if compiled else None
        )
        if integrator in ('rk4', 'implicit') and not np.isinf(tolerance):
            self._ease_massless()
        self.log_now()

    def _ease_massless(self) -> None:
        """Give joints without mass that damping holds a rotor, so that they accelerate; say so."""
        motion = self.motion
        names = ease_massless(motion.robot, motion.q, motion.dt)
        if names:
            LOGGER.warning(
                '%s: joint %s moves almost no mass, and only damping holds it. It is given a '
                'rotor with which damping stops it within %.2g s. A mass, or a rotor of its own '
                '(cc:rotor), is better.',
                *(motion.robot.name, ', '.join(map(repr, names)), EASED * motion.dt),
            )

    def _be_implicit_if_stiff(self, parts: float) -> bool:
        """Turn to implicit steps where RK4 needs more parts and nothing fast swings; say so."""
        motion = self.motion
        if self.integrator != 'rk4' or np.isinf(self.tolerance):
            return False
        if not is_fast_but_damped(motion.robot, motion.q, parts / motion.dt):
            return False
        self.integrator = 'implicit'
        LOGGER.warning(
            '%s: from t = %.6g s on, steps are implicit: %s, much shorter than dt = %g s. Motion '
            "that fast is not resolved. Choose integrator='implicit' to ask for this yourself, or "
            'tolerance=inf to keep RK4.',
            *(motion.robot.name, motion.time, stiffest(motion.robot, motion.q), motion.dt),
        )
        return True

    def log_now(self, torques: Vector | None = None) -> None:
        """Log the present state; `torques`: those of the step that led here."""
        if self.log_every:
            motion = self.motion
            row, q, v = motion.row()[None], motion.q[None], motion.v[None]
            self.log.append(row, q, v, motion.lost, torques, motion.wrenches)

    def happened(self, events: list[Event]) -> None:
        """Note events, and the state just after them."""
        self.events += events
        self.log.events += events
        self._rates.count(events)
        if events:
            self.log_now()

    def _decide(self, decide: Callable[[], list[Event]]) -> None:
        """Let an event happen; where no forces decide what follows, it is stepped over."""
        self._pile.count(self.motion.time)
        try:
            self.happened(decide())
        except StructureError as lock:
            if not (lock.why.startswith(LOCKS) and self._handling.one_sided):
                raise
            self._pile.lock()

    def _stepped_over(self, left: float) -> bool:
        """Go on at velocity level where events pile up; `left` of the step [s]; return whether."""
        if not (self._pile.is_high and self._handling.one_sided):
            return False
        self.happened(self._handling.step_over(self._pile.step(left)))
        return True

    def reconnected(self) -> None:
        """Let contacts and joints decide anew, before the next step, what holds and slides."""
        self._begun = False

    def let_go(self) -> None:
        """Let all joints that stops or friction hold go, and find them anew before a step."""
        self._handling.joints.release()
        self._begun = False

    def divide(self, duration: float) -> tuple[int, float]:
        """Return how many whole steps a duration has, and what is left of it [s]."""
        return self._aligned().divide(duration)

    def _aligned(self) -> StepGrid:
        """Return the grid; it starts here where somebody has set the time or the step."""
        if self._grid.dt != self.motion.dt or self.motion.time != self._grid.tick():
            self._grid = StepGrid(self.motion.dt, self.motion.time)
        return self._grid

    def advance(self, torques: Vector, steps: int, rest: float = 0.0) -> None:
        """Take steps under constant torques, then a shorter one of `rest` [s] if not zero."""
        motion, grid = self.motion, self._aligned()
        motion.torques = torques
        if not self._looked:
            self._looked = True
            self._be_implicit_if_stiff(MOST_RK4_PARTS)
        if self._handling.watching and not self._begun:
            self._begun = True
            self._decide(self._handling.begin)
            if not self._pile.is_high:
                self._pile = PileUp(motion.dt)
        if self.integrator == 'adaptive':
            for _ in range(steps):
                self._step_to(grid.tick(1))
        else:
            last = grid.taken + steps
            while grid.taken < last:
                steps = last - grid.taken
                if self.generated is not None and not self._pile.is_high:
                    steps = self._run_generated(self.generated, steps)
                if steps and not self._pile.is_high:
                    self._run_compiled(steps)
                if grid.taken < last and self._pile.has_events:  # goes on within the step
                    self._step_to(grid.tick(1))
        if rest:
            self._step_to(motion.time + rest)

    def _step_to(self, end: float) -> None:
        """Go on within one step, from one event to the next, to its end; count and log it."""
        motion, grid = self.motion, self._grid
        if self.integrator == 'adaptive':
            adaptive_run(
                *(motion, self._handling, end, self.tolerance, self._decide, self._stepped_over)
            )
        else:
            self._finish(end)
        motion.time = end
        self._pile = PileUp(motion.dt)
        if end == grid.tick(1):
            grid.take(1)
        else:
            grid.take_part(end)
        if self.log_every and grid.counted % self.log_every == 0:
            self.log_now(motion.torques)

    def _finish(self, end: float) -> None:
        for _ in range(MOST_EVENTS):
            left = end - self.motion.time
            if left < INSTANT:
                return
            if not self._stepped_over(left):
                self._run_compiled(1, left)
        raise StateError(
            f'the contacts do not come to rest at t = {self.motion.time:.6g} s: more than '
            f'{MOST_EVENTS} events in one step, the last of {self._last!r}',
            where=self.motion.robot.name,
            repair='Less restitution, or more friction, lets them settle.',
        )

    def _note_rough(self, share: float) -> None:
        """Say once that a step gained or lost more of the energy than it should."""
        implicit = self.integrator == 'implicit'
        if share <= (ROUGH_IMPLICIT_STEP if implicit else ROUGH_STEP) or self._rough:
            return
        motion, self._rough = self.motion, True
        if implicit:
            LOGGER.warning(
                '%s: up to t = %.6g s an implicit step changed the energy by a share of %.2g: %s, '
                "which is not resolved. integrator='rk4' or a smaller dt resolves it.",
                *(motion.robot.name, motion.time, share, stiffest(motion.robot, motion.q)),
            )
        else:
            fastest = motion.robot.coordinate_names[int(np.argmax(np.abs(motion.v)))]
            LOGGER.warning(
                '%s: up to t = %.6g s a step changed the energy by a share of %.2g, and splitting '
                'it did not help: the pose is close to singular, or a force jumps; %r moves '
                'fastest. Look at the pose, or take a smaller dt.',
                *(motion.robot.name, motion.time, share, fastest),
            )

    def _run_generated(self, generated: GeneratedSteps, steps: int) -> int:
        """Take steps in generated code; return how many the generic kernels are to take next."""
        motion, grid, robot = self.motion, self._grid, self.motion.robot
        stride = self.log_every
        log = np.empty((steps // stride + 1 if stride else 0, LOG_ROW + robot.nq + robot.nv))
        is_rk4 = self.integrator == 'rk4'
        asked = Asked(
            *(grid.start, grid.taken, grid.dt, steps, is_rk4, self.tolerance, stride),
            *(grid.counted, 0.0),
        )
        done, left = generated.run(asked, log)
        if done is not None:
            grid.take(done.taken)
            motion.time = grid.tick()
            self._log_rows(log[: done.logged])
        return left

    def _log_rows(self, log: NDArray[np.float64]) -> None:
        """Log states that a run has written."""
        if len(log):
            rows, states, motion = log[:, :LOG_ROW], log[:, LOG_ROW:], self.motion
            q, v = states[:, : motion.robot.nq], states[:, motion.robot.nq :]
            self.log.append(rows, q, v, motion.lost, motion.torques, motion.wrenches)

    def _run_compiled(self, steps: int, part: float = 0.0) -> None:
        """Take steps until an event: of the grid, or `part` [s] of one, which is not logged."""
        motion, grid, robot = self.motion, self._grid, self.motion.robot
        stride = 0 if part else self.log_every
        start, first, dt = (motion.time, 0, part) if part else (grid.start, grid.taken, grid.dt)
        method = INTEGRATORS.index(self.integrator)
        asked = (
            start,
            first,
            dt,
            steps,
            method,
            self.tolerance,
            stride,
            grid.counted,
            0,
            start,
            0,
            0.0,
        )
        task = self._task
        task[0] = asked
        samples = steps // stride + 1 if stride else 0
        log = np.empty((samples, LOG_ROW + robot.nq + robot.nv))
        signs = motion.no_events()
        with motion.forces():
            if self.integrator == 'implicit':  # its stages put forces of their own on the joints
                robot.set_extra(np.zeros(robot.nv))
            status = kernels.compute_run(
                robot.handle, motion.q, motion.v, task, motion.books, motion.work, log, signs
            )
            robot.set_extra(None)
        motion.time, logged = float(task['time'][0]), int(task['logged'][0])
        self._note_rough(float(task['rough'][0]))
        if not part:
            grid.take(int(task['taken'][0]))
            if self.generated is not None:
                self.generated.count_generic(int(task['taken'][0]))
        self._log_rows(log[:logged])
        if status == at.EVENT:
            self._last = self._handling.name_of(int(signs.min(axis=1).argmin()))
            self._decide(lambda: self._handling.handle(signs))
        elif status == at.LOCKED:
            self._last = 'friction'
            self._decide(lambda: self._handling.unlock(motion.lock()))
        elif status == at.TOO_STIFF and self._handling.jams(CAUGHT_BY_FRICTION * dt):
            self._pile.lock()
        elif status and not (status == at.TOO_STIFF and self._be_implicit_if_stiff(1.0)):
            motion.refuse(status)
