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
Where the view gets its states from: a model, a running simulation, or a log.

All of them, and a live ROS system, are a `Source`. A source is used by one thread, that of the
view; what is asked of it and cannot be done is a ClosedChainError, which the view shows.
"""

from collections import deque
from collections.abc import Mapping, Sequence

import numpy as np

from closed_chain_dynamics.assembly.search import assemble
from closed_chain_dynamics.errors import ClosedChainError, StructureError
from closed_chain_dynamics.model.changes import CONNECT_ANGLE, CONNECT_GAP
from closed_chain_dynamics.model.mechanism import Mechanism, Vector
from closed_chain_dynamics.recording.log import Log
from closed_chain_dynamics.simulation.simulation import Simulation
from closed_chain_dynamics.viewer.holding import Holding
from closed_chain_dynamics.viewer.observation import Observation, Snapshot

__all__ = ['History', 'LogSource', 'ModelSource', 'SimulationSource', 'ViewSource']

KEPT = 300  # samples of a plot
PERIOD = 0.004  # how often motors that hold a pose are told their torques [s]
MOST_AT_ONCE = 0.1  # simulated time between two pictures, at most [s]


class History:
    """The last samples of what is plotted: time, kinetic, potential, loop error, torques."""

    def __init__(self) -> None:
        self._rows: deque[tuple[float, ...]] = deque(maxlen=KEPT)

    def add(self, seen: Observation) -> None:
        """Add a sample from an Observation."""
        self._rows.append(
            (seen.snapshot.time, seen.kinetic, seen.potential, seen.loop_error, *seen.torques)
        )

    def clear(self) -> None:
        """Forget everything."""
        self._rows.clear()

    def table(self) -> Vector:
        """Return the samples, one row each."""
        return np.array(self._rows)


class ViewSource:
    """
    What a view shows.

    `kind` is a word for the title; `can_drag`, `can_run`, `can_step`, `can_hold` and `duration`
    (of something recorded [s]) say which controls make sense. `gap` is what a connection closes
    at most [m]. `version` changes with the state; `notes` are sentences to show with it.
    """

    kind = ''
    can_drag = can_run = can_step = can_hold = can_switch = False
    duration: float | None = None
    gap: float | None = None
    notes: Sequence[str] = ()

    def __init__(self, robot: Mechanism) -> None:
        self.robot, self.version, self.history = robot, 0, History()
        self.paused, self.speed = False, 1.0

    def advance(self, elapsed: float) -> None:
        """Let time [s] pass, if the source has a time of its own."""

    def toggle(self) -> None:
        """Stop, or go on."""
        self.paused = not self.paused

    def snapshot(self) -> Snapshot:
        """Return the present Snapshot."""
        raise NotImplementedError

    def noticed(self, seen: Observation) -> None:
        """Keep an Observation for the plots."""
        self.history.add(seen)

    def samples(self) -> Vector:
        """Return what is plotted, one row per sample: see History."""
        return self.history.table()


class ModelSource(ViewSource):
    """A model at rest: it is moved by hand, along its loops."""

    kind = 'model'
    can_drag = can_switch = True

    def __init__(self, robot: Mechanism, q: Vector | None = None) -> None:
        super().__init__(robot.copy())
        self._first = assemble(self.robot, {}) if q is None else q, self.robot.connections()
        self.q, self._moves = self._first[0].copy(), 0

    def snapshot(self) -> Snapshot:
        """Return the pose; the time counts how often it was changed."""
        robot = self.robot.copy()
        return Snapshot(robot, self.q.copy(), np.zeros(robot.nv), time=float(self._moves))

    def _changed(self) -> None:
        self.version += 1
        self._moves += 1

    def drag(self, joint: str, value: float) -> None:
        """Put a joint somewhere [rad or m]; all others follow, or nothing moves at all."""
        self.q = dragged(self.robot, self.q, joint, value)
        self._changed()

    def cut(self, name: str) -> None:
        """Open a loop; the pose stays."""
        self.robot.cut(name)
        self._changed()

    def connect(self, name: str) -> None:
        """Close a loop, by moving everything as little as needed."""
        self.robot.connect(name)
        try:
            self.q = assemble(self.robot, {}, start=self.q)
        except ClosedChainError:
            self.robot.cut(name)
            raise
        self._changed()

    def reset(self) -> None:
        """Go back to the first pose and structure."""
        self.q = self._first[0].copy()
        self.robot.restructure(self._first[1])
        self.history.clear()
        self._changed()


def dragged(robot: Mechanism, q: Vector, joint: str, value: float) -> Vector:
    """Return the closed pose nearest to q with a joint at a value; refused where there is none."""
    # one start only: another one might close the loops in another branch, with a jump
    return assemble(robot, {joint: value}, start=q, attempts=1)


class SimulationSource(ViewSource):
    """A simulation that runs as fast as the clock, times a speed."""

    kind = 'simulation'
    can_drag = can_run = can_step = can_switch = True
    gap: float

    def __init__(self, sim: Simulation, tau: Mapping[str, float] | None = None) -> None:
        self.sim, self.tau = sim, tau or {}
        super().__init__(sim.robot)
        self._first = self._start()
        self._holding: Holding | None = None
        self._due = 0.0
        self.gap = CONNECT_GAP
        self.can_hold = bool(sim.robot.actuator_names)

    def _start(self) -> tuple[Mechanism, Vector, Vector, float]:
        """Return what a simulation that begins here is made of."""
        sim = self.sim
        return sim.robot.copy(), sim.q.copy(), sim.v.copy(), sim.time

    def _begin(self, robot: Mechanism, q: Vector, v: Vector, time: float) -> None:
        self.sim = Simulation(
            robot,
            q,
            v,
            dt=self.sim.dt,
            integrator=self.sim.integrator,
            log_every=0,
            limits=self.sim.limits,
        )
        self.sim.time = time
        self.robot = self.sim.robot
        self.version += 1

    @property
    def hold(self) -> bool:
        """Tell whether the motors hold the pose they had when this was set."""
        return self._holding is not None

    @hold.setter
    def hold(self, wanted: bool) -> None:
        self._holding = Holding(self.sim.robot, self.sim.q) if wanted else None

    def _torques(self) -> dict[str, float]:
        """Return the torques of the motors, by name, for the next steps."""
        held = self._holding.torques(self.sim.q, self.sim.v) if self._holding else {}
        return {**held, **self.tau}

    def advance(self, elapsed: float) -> None:
        """Simulate for as long as the clock went on, or as the computer manages."""
        if self.paused:
            return
        self._due = min(self._due + elapsed * self.speed, MOST_AT_ONCE)
        steps = int(self._due / self.sim.dt)
        if steps:
            self._due -= steps * self.sim.dt
            self._run(steps)

    def step(self) -> None:
        """Take one step of the integrator."""
        self.paused = True
        self._run(1)

    def _run(self, steps: int) -> None:
        self.version += 1
        chunk = max(1, int(PERIOD / self.sim.dt)) if self.hold else steps
        try:
            for done in range(0, steps, chunk):
                self.sim.run(min(chunk, steps - done) * self.sim.dt, self._torques())
        except ClosedChainError:
            self.paused = True  # the state is the last good one
            raise

    def snapshot(self) -> Snapshot:
        """Return the present state."""
        sim, robot = self.sim, self.sim.robot.copy()
        named, energy = self._torques(), sim.energy()
        tau = np.array([named.get(name, 0.0) for name in robot.actuator_names])
        return Snapshot(
            robot, sim.q.copy(), sim.v.copy(), tau, sim.time, (energy.kinetic, energy.potential)
        )

    def drag(self, joint: str, value: float) -> None:
        """Stop, and put a joint somewhere; all others follow. It stands still there."""
        self.paused = True
        robot, q, v, time = self._start()
        self._begin(robot, dragged(robot, q, joint, value), 0.0 * v, time)

    def cut(self, name: str) -> None:
        """Open a loop while everything moves."""
        self.sim.cut(name)
        self.version += 1

    def connect(self, name: str) -> None:
        """Close a loop whose ends are near each other; the velocities jump."""
        self.sim.connect(name, gap=self.gap, angle=max(CONNECT_ANGLE, self.gap))
        self.version += 1

    def reset(self) -> None:
        """Go back to the start."""
        robot, q, v, time = self._first
        self._begin(robot.copy(), q.copy(), v.copy(), time)
        self.history.clear()


class LogSource(ViewSource):
    """A log that is played, or scrubbed through."""

    kind = 'log'
    can_run = can_step = True
    duration: float

    def __init__(self, log: Log) -> None:
        if not len(log):
            raise StructureError(
                'there is nothing to show: the log has no samples', where=log.robot.name
            )
        super().__init__(log.robot)
        self.times, self._sample = log.time, 0
        self.duration = float(self.times[-1] - self.times[0])
        self._spans = list(log.spans())
        self._robots = [segment.mechanism() for segment, _ in self._spans]
        self._table = np.column_stack(
            [log.time, log.kinetic, log.potential, log.loop_error, log.table('tau')[1]]
        )
        self.position = 0.0

    def advance(self, elapsed: float) -> None:
        """Play on, and stop at the end."""
        if not self.paused:
            self.seek(min(self.position + elapsed * self.speed, self.duration))
            self.paused = self.position >= self.duration

    def toggle(self) -> None:
        """Stop, or go on: from the start where the end is reached."""
        super().toggle()
        if self.position >= self.duration:
            self.reset()

    def seek(self, position: float) -> None:
        """Go to a time after the start of the log [s]."""
        self.position = float(position)
        place = np.searchsorted(self.times, self.times[0] + position + 1e-9, side='right')
        self._go(int(place) - 1)

    def step(self) -> None:
        """Go to the next sample."""
        self.paused = True
        self._go(min(self._sample + 1, len(self.times) - 1))
        self.position = float(self.times[self._sample] - self.times[0])

    def reset(self) -> None:
        """Go back to the first sample."""
        self.seek(0.0)

    def _go(self, sample: int) -> None:
        self.version += sample != self._sample
        self._sample = sample

    def snapshot(self) -> Snapshot:
        """Return the state of the sample that is shown."""
        k = self._sample
        place = next(n for n, (_, span) in enumerate(self._spans) if k < span.stop)
        segment, span = self._spans[place]
        q, v = (segment.get(what)[k - span.start].copy() for what in 'qv')
        time, kinetic, potential, _, *tau = self._table[k]
        return Snapshot(
            self._robots[place].copy(),
            q,
            v,
            np.array(tau),
            float(time),
            (kinetic, potential),
            segment.wrenches,
        )

    def noticed(self, seen: Observation) -> None:
        """Keep nothing: it is all in the log."""

    def samples(self) -> Vector:
        """Return the samples up to the one that is shown, thinned out."""
        every = max(1, (self._sample + 1) // KEPT)
        return self._table[self._sample :: -every][::-1]
