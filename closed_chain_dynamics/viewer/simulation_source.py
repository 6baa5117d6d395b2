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

"""A simulation as a view shows it: it runs with the clock, and hands reach into it."""

from collections.abc import Mapping

import numpy as np

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.model.changes import CONNECT_ANGLE, CONNECT_GAP
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.simulation.simulation import Simulation
from closed_chain_dynamics.viewer.holding import Holding
from closed_chain_dynamics.viewer.observation import Snapshot
from closed_chain_dynamics.viewer.sources import ViewSource, dragged

__all__ = ['SimulationSource']

PERIOD = 0.004  # how often motors that hold a pose are told their torques [s]
MOST_AT_ONCE = 0.1  # simulated time between two pictures, at most [s]


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
