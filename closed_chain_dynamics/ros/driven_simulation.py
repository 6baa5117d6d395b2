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
A simulation that takes its inputs between periods, as a running node gets them; needs no ROS.

Torques hold until newer ones come or they are stale, a push lasts for a while, and connections
and cuts wait in a queue for the next period. Ages count in simulated time, so that the same inputs
between the same periods give the same bits, however long anybody took.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.assembly.completion import complete_velocity
from closed_chain_dynamics.assembly.search import assemble
from closed_chain_dynamics.description.assignments import assignments
from closed_chain_dynamics.dynamics.tree import link_placement
from closed_chain_dynamics.errors import ClosedChainError, NameNotFound, StateError
from closed_chain_dynamics.kernels import compile_at_once
from closed_chain_dynamics.model.changes import open_or_closed
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.recording.log_files import event_record
from closed_chain_dynamics.ros.wishes import NOW, read_wish
from closed_chain_dynamics.simulation.simulation import Simulation

__all__ = ['DrivenSimulation']

STRONGEST_MOTOR = 1e4  # torque of motors without an effort limit in the model [N m or N]
MOST_WAITING = 1000  # connections and cuts between two periods; more is somebody's mistake


class DrivenSimulation:
    """
    A Simulation with torques, pushes, connections and cuts from outside.

    `settings`, any namespace, has initial_positions, initial_velocities, dt, integrator,
    torque_timeout, push_duration, connect_gap and connect_angle. Whatever happens at `advance` is
    left in `records`, dicts fit for JSON; a step that fails leaves its reason in `failure`, and
    nothing moves until `reset`.
    """

    def __init__(self, robot: Mechanism, settings: Any, dt: float) -> None:
        self.settings = settings
        self.wrenches: dict[str, Vector] = {}  # of the last period, {link: (6,)} in world axes
        q = assemble(robot, assignments(settings.initial_positions, 'initial_positions'))
        v = complete_velocity(
            robot, q, assignments(settings.initial_velocities, 'initial_velocities')
        )
        self.sim = Simulation(
            robot, q, v, dt=dt, integrator=settings.integrator, log_every=0, limits=settings.limits
        )
        self.robot = self.sim.robot
        self._names: list[str] = []  # of the last torques
        self._places: NDArray[np.int_] = np.zeros(0, dtype=int)
        self.reset()

    def reset(self) -> None:
        """Go back to the start; inputs that were given are forgotten."""
        self.sim.reset()
        count = len(self.robot.actuator_names)
        self._torques, self._given = np.zeros(count), np.full(count, -np.inf)
        self._fresh = np.zeros(count, dtype=bool)
        self.torques = np.zeros(count)  # of the last period
        for link in self.wrenches:
            self.sim.apply_wrench(link, None)
        self.wrenches = {}
        self._pushes: dict[str, tuple[Vector, float | None]] = {}  # wrench, and begin of each
        self._waiting: list[tuple[float, str, str]] = []  # wishes: simulated time, kind, name
        self.records: list[dict[str, Any]] = []
        self.failure = ''
        # A motor gives what it can, whatever it is asked for.
        effort = self.robot.model.actuators['effort']
        self._effort = np.where(np.isfinite(effort) & (effort > 0.0), effort, STRONGEST_MOTOR)
        self.taken = {'torques': 0, 'pushes': 0, 'events': 0}

    # --- inputs ----------------------------------------------------------------------------------
    def set_torques(self, names: Sequence[str], efforts: ArrayLike) -> None:
        """Take torques by actuator [N m or N]; all of them or, with the reason, none."""
        if names != self._names:
            self._places, self._names = self._find(names), list(names)
        given = np.array(efforts, dtype=float)
        if len(names) != len(given):
            raise StateError(
                f'{len(names)} names with {len(given)} efforts',
                where='torques',
                repair='Give one effort per name.',
            )
        if not np.isfinite(given).all():
            bad = int(np.flatnonzero(~np.isfinite(given))[0])
            raise StateError(
                f'the effort of {names[bad]!r} is {given[bad]}',
                where='torques',
                repair='Give finite numbers only.',
            )
        self._torques[self._places], self._fresh[self._places] = given, True
        self.taken['torques'] += 1

    def _find(self, names: Sequence[str]) -> NDArray[np.int_]:
        """Return the places of actuators; it is done once for messages with the same names."""
        known = self.robot.actuator_names
        for k, name in enumerate(names):
            if name not in known:
                raise NameNotFound('actuator', name, known, where='torques')
            if name in names[:k]:
                raise StateError(
                    f'{name!r} is named twice', where='torques', repair='Name each actuator once.'
                )
        return np.array([known.index(name) for name in names], dtype=int)

    def push(self, link: str, wrench: ArrayLike) -> None:
        """Take a force and moment on a link, (6,) in its own axes at its origin."""
        self.robot.link_frame(link)
        given = np.array(wrench, dtype=float)
        if not np.all(np.isfinite(given)):
            raise StateError(f'the wrench on link {link!r} is not finite', where='push')
        self._pushes[link] = given, None  # its time begins with the next period
        self.taken['pushes'] += 1

    def ask(self, kind: str, name: str) -> None:
        """
        Let a joint 'connect' or 'cut' at the next period, in the order of asking.

        `name@time`: in the period that begins at this simulated time [s] or right after it, so
        that the motion does not depend on when the wish came. The same wish counts once.
        """
        if len(self._waiting) >= MOST_WAITING:
            raise StateError(f'{MOST_WAITING} connections and cuts are waiting', where=name)
        name, when = read_wish(name, {*self.robot.loop_names, *self.robot.joint_names})
        wish = when, kind, name
        if when > NOW and wish in self._waiting:
            return
        self._waiting.append(wish)
        self.taken['events'] += 1

    # --- time ------------------------------------------------------------------------------------
    def advance(self, steps: int) -> None:
        """Take what was asked, then steps in one compiled call unless something happens."""
        self._change_structure()
        self._apply_pushes()
        try:
            self.torques = self._present_torques()
            self.sim.run(steps * self.sim.dt, self.torques)
        except ClosedChainError as error:
            self.failure = str(error)
        self._note(self.sim.events)

    def _present_torques(self) -> Vector:
        self._given[self._fresh], self._fresh[:] = self.sim.time, False
        tau = np.where(self._stale(), 0.0, self._torques)
        return np.clip(tau, -self._effort, self._effort)

    def _stale(self) -> NDArray[np.bool_]:
        limit = self.settings.torque_timeout or np.inf
        return ~(self.sim.time - self._given <= limit)  # what was never given is infinitely old

    def are_stale(self) -> bool:
        """Return whether there is a motor without a torque that is new enough."""
        return bool(np.any(self._stale() & ~self._fresh))

    def _change_structure(self) -> None:
        limits = {'gap': self.settings.connect_gap, 'angle': self.settings.connect_angle}
        now = self.sim.time + 0.5 * self.sim.dt
        due = [wish for wish in self._waiting if wish[0] <= now]
        self._waiting = [wish for wish in self._waiting if wish[0] > now]
        for _, kind, name in sorted(due, key=lambda wish: wish[0]):
            try:
                if kind == 'connect':
                    self.sim.connect(name, **limits)
                else:
                    self.sim.cut(name)
            except ClosedChainError as error:
                self._note(self.sim.events)  # what came before stands before it
                self.records.append(
                    {
                        'time': self.sim.time,
                        'kind': 'refused',
                        'name': name,
                        'wanted': kind,
                        'reason': str(error),
                    }
                )
        self._note(self.sim.events)

    def _apply_pushes(self) -> None:
        for link, (wrench, begun) in list(self._pushes.items()):
            start = self.sim.time if begun is None else begun
            self._pushes[link] = wrench, start
            if self.sim.time - start > self.settings.push_duration - 0.5 * self.sim.dt:
                del self._pushes[link]
                if self.wrenches.pop(link, None) is not None:
                    self.sim.apply_wrench(link, None)
            else:
                R = link_placement(self.robot, self.sim.q, link)[:3, :3]
                self.wrenches[link] = np.concatenate([R @ wrench[:3], R @ wrench[3:]])
                self.sim.apply_wrench(link, self.wrenches[link])

    def _note(self, events: Iterable[Any]) -> None:
        """Keep events as records; the lists of the simulation would grow for ever."""
        self.records += map(event_record, events)
        self.sim.events.clear()
        self.sim.log.events.clear()

    # --- what it is like ---------------------------------------------------------------------
    def connections(self) -> dict[str, bool]:
        """Return {name: closed?} of all loop joints, and of tree joints that are cut."""
        return open_or_closed(self.robot)

    def warm_up(self) -> None:
        """Load every kernel that a period may need, so that none is late."""
        compile_at_once()
        trial = Simulation(
            self.robot,
            self.sim.q,
            self.sim.v,
            dt=self.sim.dt,
            integrator=self.sim.integrator,
            log_every=0,
            limits=self.sim.limits,
        )
        trial.step()
        for name in self.robot.loop_names[:1]:
            changes = (trial.cut, trial.connect)
            for change in changes if trial.robot.is_connected(name) else reversed(changes):
                try:
                    change(name)
                    trial.step()
                except ClosedChainError:
                    pass  # a loop that is open too far, or cannot be opened, loads less
