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
A mechanism in motion: its state, time and energy books, and the compiled calls that ask for them.

The arrays here are written in place, step by step: nobody outside the simulation gets to see them.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics import kernels
from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.dynamics.impacts import Impact, impact
from closed_chain_dynamics.dynamics.outside_forces import loads_of
from closed_chain_dynamics.dynamics.rank import learn_rank
from closed_chain_dynamics.errors import StateError, StructureError
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.kernels.step import STAGES
from closed_chain_dynamics.model.friction_lock import locked_error
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.model.workspace import NO_LOADS
from closed_chain_dynamics.recording.events import Event
from closed_chain_dynamics.simulation.energy import Energy
from closed_chain_dynamics.simulation.stiffness import stiffest

__all__ = ['MovingMechanism']

ALMOST = 10.0  # times the closing tolerance: open by the digits of a file, not by a wrong pose


class MovingMechanism:
    """
    State of a mechanism at a time, forces from outside, and energy that was put in and lost.

    `dt`: the step that it is moved by [s]; `books`: work of motors and external forces, and what
    damping and friction took [J]; `lost`: what connections and impacts took [J].
    """

    def __init__(self, robot: Mechanism, q: Vector, v: Vector, dt: float) -> None:
        self.robot, self.dt, self.time, self.lost = robot, dt, 0.0, 0.0
        self.books = np.zeros(2)
        self.torques = np.zeros(len(robot.actuator_names))
        self.wrenches: dict[str, Vector] = {}
        self.loads = NO_LOADS
        self.place(q, v)

    def place(self, q: Vector, v: Vector) -> None:
        """Put the mechanism into a state, whatever it was in; after a change of structure too."""
        self.q, self.v = q.copy(), v.copy()
        room = max(self.robot.nq, 2 * self.robot.nv + 2)
        self.work: NDArray[np.float64] = np.zeros((STAGES, room))

    # --- forces from outside -------------------------------------------------------------------
    def set_wrenches(self, wrenches: Mapping[str, Vector]) -> None:
        """Let external wrenches act, {link: (6,)} in world axes at the link's origin."""
        self.loads = loads_of(self.robot, wrenches)
        self.wrenches = dict(wrenches)

    @contextmanager
    def forces(self) -> Iterator[None]:
        """Let torques and wrenches act on what is computed within, and no wrench after it."""
        self.robot.workspace.torques[:] = self.torques  # every other computation sets its own
        if not self.wrenches:
            yield
            return
        self.robot.set_loads(self.loads)
        try:
            yield
        finally:
            self.robot.set_loads(NO_LOADS)

    # --- what it is like -----------------------------------------------------------------------
    def row(self) -> Vector:
        """Return time, energies, books and loop error, a row of the log, (6,)."""
        row = np.empty(6)
        kernels.record(self.robot.handle, self.q, self.v, self.time, self.books, row)
        return row

    def energy(self) -> Energy:
        """Return kinetic plus potential energy, with the books beside it."""
        row = self.row()
        return Energy(row[1], row[2], row[3], row[4], self.lost)

    def mobility(self) -> int:
        """Return the mobility of the present structure in the present pose."""
        W = np.empty((self.robot.nv, self.robot.nv))
        kernels.compute_coordinates(self.robot.handle, self.q, W)
        return int(self.robot.structure.shape['mobility'])

    def no_events(self) -> NDArray[np.float64]:
        """Return signs that tell of no event: of contacts, then of joints, (loops + holds, 2)."""
        count = len(self.robot.loop_names) + len(self.robot.structure.holds)
        return np.ones((max(count, 1), 2))

    def signs(self) -> NDArray[np.float64]:
        """Compute the present motion; return the signs of contacts and joints, (n, 2)."""
        signs = self.no_events()
        with self.forces():
            status = kernels.compute_signs(self.robot.handle, self.q, self.v, self.work, signs)
        if status:
            self.refuse(status)
        return signs

    def accelerations(self) -> Vector:
        """Compute the present motion; return theta_O'', (nv,)."""
        a = np.empty(self.robot.nv)
        with self.forces():
            status = kernels.forward_dynamics(self.robot.handle, self.q, self.v, a)
        if status:
            self.refuse(status)
        return a

    @property
    def acceleration(self) -> Vector:
        """Return theta_O'', (nv,), as `signs` has found it."""
        return self.work[3, : self.robot.nv]

    def event(
        self, kind: str, name: str, lost: float = 0.0, impact: Impact | None = None
    ) -> Event:
        """Return an Event of a contact at this instant."""
        mobility = self.mobility()
        if impact is None:
            return Event(self.time, kind, name, mobility, mobility, lost)
        change = impact.momentum_after - impact.momentum_before
        return Event(
            self.time, kind, name, mobility, mobility, lost, impact.impulse_of(name), change
        )

    # --- staying closed ------------------------------------------------------------------------
    def _learn_rank(self) -> bool:
        """
        Learn the rank of loops that are all but closed, if it is not known; return whether so.

        The digits of a file may make redundant rows contradict each other: without knowing that,
        closing them would lead far away, or nowhere.
        """
        gap = max(map(max, self.robot.loop_gaps(self.q).values()), default=0.0)
        almost = gap <= ALMOST * self.robot.structure.world['closing_tolerance']
        if self.robot.structure.rank_known or not almost:
            return False
        learn_rank(self.robot, self.q)
        return True

    def close(self, *, at_start: bool = False) -> None:
        """Close the loops of the present state to rounding, or say which cannot be closed."""
        if at_start:
            self._learn_rank()
        q, v = self.q.copy(), self.v.copy()
        status = kernels.close_loops(self.robot.handle, q, v, self.work)
        if status and self._learn_rank():
            q, v = self.q.copy(), self.v.copy()
            status = kernels.close_loops(self.robot.handle, q, v, self.work)
        if status:
            self.robot.raise_for(status, self.q, self.v)
        self.q, self.v = q, v

    def catch(self) -> None:
        """
        Close the loops, and take what they do not allow of the motion by impulses.

        That never gives energy. To hold theta_G, as `close` does, would where a motion hardly
        moves what is closed: there a trace of speed of that is much of the others.
        """
        v = self.v
        self.close()
        self.v = impact(self.robot, self.q, v).v_after

    def lock(self) -> StructureError:
        """Return the error that no finite force fits the present motion."""
        return locked_error(self.robot, f' at t = {self.time:.6g} s')

    def refuse(self, status: int) -> None:
        """Say why a step failed; the state is the last good one."""
        robot, when = self.robot, f'at t = {self.time:.6g} s'
        if status == at.LOCKED:
            raise self.lock()
        if status == at.TOO_STIFF:
            raise StateError(
                f'the step is too long for the stiff parts {when}: {stiffest(robot, self.q)}',
                where=robot.name,
                repair=f'Use a step smaller than dt = {self.dt:g} s or the adaptive integrator, '
                'make it softer, or give its joint a rotor (cc:rotor).',
            )
        if status == at.LOOP_OPEN:
            raise StateError(
                f'the loops cannot be closed again after a step {when}',
                where=robot.name,
                repair=f'The motion is too fast for dt = {self.dt:g} s, or the '
                'mechanism reached a pose that does not exist: take a '
                'smaller step, or look at the pose before it.',
            )
        if status == at.NOT_POSITIVE and self._moves():
            status = at.NOT_FINITE  # the masses are good; it is the step that left all bounds
        if status == at.NOT_FINITE:
            raise StateError(
                f'the motion grew beyond all bounds {when}',
                where=robot.name,
                repair=f'Take a step smaller than dt = {self.dt:g} s.',
            )
        robot.raise_for(status, self.q, self.v)

    def _moves(self) -> bool:
        """Return whether the present state has an acceleration."""
        a = np.empty(self.robot.nv)
        with self.forces():
            return not kernels.forward_dynamics(self.robot.handle, self.q, self.v, a)
