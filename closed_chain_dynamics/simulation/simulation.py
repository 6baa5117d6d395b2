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
Simulation of chains whose structure changes while they move.

The method is that of Nakamura and Yamane, sections V to VII. A step is one compiled call: forward
dynamics, integration on the manifold, and projection of position and velocity onto the loops, so
that they stay closed to rounding. Connecting catches the motion (see `structure_events`), cutting
sets it free; both are in the log.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.assembly.search import assemble
from closed_chain_dynamics.dynamics.actuation import Torques, actuator_vector
from closed_chain_dynamics.dynamics.wording import plural
from closed_chain_dynamics.model.changes import CONNECT_ANGLE, CONNECT_GAP
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.recording.events import Event
from closed_chain_dynamics.recording.html import shown
from closed_chain_dynamics.recording.log import Log
from closed_chain_dynamics.simulation import structure_events
from closed_chain_dynamics.simulation.energy import Energy
from closed_chain_dynamics.simulation.generated_steps import GeneratedSteps
from closed_chain_dynamics.simulation.moving_mechanism import MovingMechanism
from closed_chain_dynamics.simulation.options import (
    INTEGRATORS,
    check_duration,
    check_options,
    check_step,
)
from closed_chain_dynamics.simulation.stepping import Stepper

__all__ = ['INTEGRATORS', 'Simulation']

PROGRESS_PARTS = 100  # of a long run, after each of which its progress is told

Controller = Callable[['Simulation'], Torques]


class Simulation:
    """
    A mechanism in motion.

    The mechanism is copied: events here do not change the original.

    - `q`, `v`: the initial state (default: assembled, at rest).
    - `dt`: the step [s].
    - `integrator`: 'rk4', 'euler' (semi-implicit), 'implicit' (second order, for springs and
      dampers that are faster than the step) or 'adaptive' (SciPy's).
    - `tolerance`: for 'adaptive', the relative error of a step. For 'rk4', the share of the energy
      that a step may gain or lose: a step beyond it is split into up to 16384 parts, and if that
      does not help, an error is raised; `inf` never splits. Where only damping is too fast for the
      step, steps are implicit from then on, and the logger warns.
    - `log_every`: steps between samples of the log; 0 for no log.
    - `limits`: whether joints stop at the ends of their range.
    - `compiled`: whether plain steps run in generated code (see `generated`, and the page on
      generated code), which takes seconds to compile the first time.
    """

    def __init__(
        self,
        robot: Mechanism,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        *,
        dt: float = 1e-3,
        integrator: str = 'rk4',
        log_every: int = 1,
        tolerance: float = 1e-10,
        limits: bool = True,
        compiled: bool = False,
    ) -> None:
        check_options(robot, dt, integrator, log_every, tolerance, compiled)
        self.robot = robot = robot.copy()
        self.integrator, self.tolerance = integrator, float(tolerance)
        self.log_every, self.limits, self.compiled = int(log_every), bool(limits), bool(compiled)
        start = assemble(robot, {}) if q is None else robot.vector(q, robot.nq, 'q')
        moving = np.zeros(robot.nv) if v is None else robot.vector(v, robot.nv, 'v')
        self._start = start.copy(), moving.copy(), robot.connections()
        self._motion = MovingMechanism(robot, *self._start[:2], float(dt))
        self.reset()

    def reset(self) -> None:
        """Go back to the start: state, structure, time, energy account and log."""
        q, v, connections = self._start
        self.robot.restructure(connections)
        dt, wrenches = self._motion.dt, self._motion.wrenches
        self._motion = MovingMechanism(self.robot, q, v, dt)
        self._motion.set_wrenches(wrenches)
        self._motion.close(at_start=True)
        self._stepper = Stepper(
            self._motion,
            integrator=self.integrator,
            tolerance=self.tolerance,
            log_every=self.log_every,
            limits=self.limits,
            compiled=self.compiled,
            before=getattr(self, '_stepper', None),
        )

    def __repr__(self) -> str:
        return (
            f'<Simulation of {self.robot.name!r} at {self.time:g} s: {self.integrator}, '
            f'steps of {self.dt:g} s, {plural(len(self.events), "event")}>'
        )

    def _repr_html_(self) -> str:
        facts = [
            ('time', f'{self.time:g} s, steps of {self.dt:g} s by {self.integrator}'),
            ('mobility', self.mobility()),
            ('energy', f'{float(self.energy()):.4g} J'),
            ('loop error', f'{self.loop_error():.2g} m or rad'),
            ('events', len(self.events)),
        ]
        return shown(f'simulation of {self.robot.name}', facts)

    # --- what it is like now -------------------------------------------------------------------
    @property
    def q(self) -> Vector:
        """Return the configuration as it is now, (nq,), read-only; assign to change it."""
        return _snapshot(self._motion.q)

    @q.setter
    def q(self, values: ArrayLike) -> None:
        self._motion.q = self.robot.vector(values, self.robot.nq, 'q').copy()
        self._stepper.reconnected()

    @property
    def v(self) -> Vector:
        """Return the velocities as they are now, (nv,), read-only; assign to change them."""
        return _snapshot(self._motion.v)

    @v.setter
    def v(self, values: ArrayLike) -> None:
        self._motion.v = self.robot.vector(values, self.robot.nv, 'v').copy()
        self._stepper.reconnected()

    @property
    def time(self) -> float:
        """Return the time since the start [s]; may be assigned."""
        return self._motion.time

    @time.setter
    def time(self, value: float) -> None:
        self._motion.time = float(value)

    @property
    def dt(self) -> float:
        """Return the step [s]; may be assigned."""
        return self._motion.dt

    @dt.setter
    def dt(self, value: float) -> None:
        check_step(self.robot, value)
        self._motion.dt = float(value)

    @property
    def lost(self) -> float:
        """Return the energy lost at connections, cuts and impacts [J]; may be assigned."""
        return self._motion.lost

    @lost.setter
    def lost(self, value: float) -> None:
        self._motion.lost = float(value)

    @property
    def log(self) -> Log:
        """Return the log since the start."""
        return self._stepper.log

    @property
    def events(self) -> list[Event]:
        """Return the events since the start."""
        return self._stepper.events

    @property
    def generated(self) -> GeneratedSteps | None:
        """Return how many steps ran in generated code, and why others did not."""
        return self._stepper.generated

    def energy(self) -> Energy:
        """Return the Energy: kinetic plus potential as a float, its balance as attributes."""
        return self._motion.energy()

    def loop_error(self) -> float:
        """Return the largest error of all closed loops [m or rad]."""
        return float(self._motion.row()[5])

    def mobility(self) -> int:
        """Return the mobility of the present structure in the present pose."""
        return self._motion.mobility()

    # --- moving --------------------------------------------------------------------------------
    def apply_wrench(self, link: str, wrench: ArrayLike | None) -> None:
        """Apply an external wrench to a link, (6,) world axes at its origin; None removes it."""
        self.robot.link_frame(link)
        wrenches = dict(self._motion.wrenches)
        if wrench is None:
            wrenches.pop(link, None)
        else:
            wrenches[link] = self.robot.vector(wrench, 6, f'wrench on link {link!r}').copy()
        self._motion.set_wrenches(wrenches)

    def step(self, tau: Torques = None) -> None:
        """Advance by one step under actuator torques, by name or as an array; None is zero."""
        self._stepper.advance(actuator_vector(self.robot, tau, 'tau'), 1)

    def run(
        self,
        duration: float,
        tau: Torques | Controller = None,
        *,
        callback: Callable[[Simulation], object] | None = None,
        progress: Callable[[float], object] | None = None,
    ) -> None:
        """
        Advance by a duration [s]; the last step is shorter if it is not a multiple of the step.

        `tau` is constant torques, or a controller `tau(simulation)` that is asked every step.
        `callback(simulation)` is called after every step; returning True stops the run. Without
        either, all steps are taken in compiled code. `progress(share)` is called with the share of
        the duration that is done.
        """
        check_duration(self.robot, duration)
        steps, rest = self._stepper.divide(float(duration))
        stepwise = callable(tau) or callback is not None
        chunk = 1 if stepwise else max(1, steps // PROGRESS_PARTS if progress else steps)
        total, done = steps + (rest > 0.0), 0
        while done < total:
            count = min(chunk, steps - done)  # 0: the shorter one is left
            torques = actuator_vector(self.robot, tau(self) if callable(tau) else tau, 'tau')
            self._stepper.advance(torques, count, 0.0 if count else rest)
            if progress and (not stepwise or done % PROGRESS_PARTS == 0 or done + 1 == total):
                progress((done + max(count, 1)) / total)
            done += max(count, 1)
            if callback is not None and callback(self):
                return

    # --- changing the structure ----------------------------------------------------------------
    def connect(
        self, *names: str, gap: float = CONNECT_GAP, angle: float = CONNECT_ANGLE
    ) -> list[Event]:
        """
        Connect loop joints, or tree joints that were cut, all at the same instant.

        A gap of at most `gap` [m] and `angle` [rad] is closed; the velocities jump (Nakamura
        and Yamane, section V-C). Both keep the centre of mass and the momentum of free parts.
        A refused connection leaves the simulation unchanged. Returns the events.
        """
        self._stepper.let_go()
        events = structure_events.connect(self._motion, names, gap, angle)
        self._stepper.reconnected()
        self._stepper.happened(events)
        return events

    def cut(self, *names: str) -> list[Event]:
        """
        Cut loop joints or tree joints, all at the same instant; return the events.

        What a cut tree joint carried moves on freely, on a free joint of the same name.
        """
        self._stepper.let_go()
        events = structure_events.cut(self._motion, names)
        self._stepper.reconnected()
        self._stepper.happened(events)
        return events


def _snapshot(values: Vector) -> Vector:
    """Return a copy that refuses to be written to: writing would not move the mechanism."""
    snapshot: Vector = values.copy()
    snapshot.flags.writeable = False
    return snapshot
