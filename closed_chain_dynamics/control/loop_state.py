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
The whole state of a mechanism from a part of it, instant by instant.

Some joints are measured (or asked for, in a reference); the loops give the others. Each update
starts from where the last velocity leads, so that the branch is kept where poses of several
branches meet, and moves along W until the named joints fit best; loops are then closed to
rounding. Where names do not fix a motion for a moment, at a dead point or a singular pose, it
goes on as it was; a motion that they never fix stays where it is. Names that contradict each
other meet in least squares, and `residual` says by how much they are off.

A pose that is not continuous with the last one means that the branch was lost or that a sensor
lied: the state says 'lost' and stays, until several updates in a row agree that the joints are
elsewhere; then the pose is assembled anew. References (`measured=False`) are continued only: what
cannot be reached by small motions from the last pose is not looked for elsewhere.
"""

from collections.abc import Sequence
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closed_chain_dynamics import kernels
from closed_chain_dynamics.assembly.search import assemble
from closed_chain_dynamics.dynamics.closing import Closure
from closed_chain_dynamics.dynamics.generalized_coordinates import coordinates
from closed_chain_dynamics.dynamics.rank import learn_rank
from closed_chain_dynamics.errors import AssemblyError, StateError, StructureError
from closed_chain_dynamics.kernels import following as how, records as at
from closed_chain_dynamics.kernels.tangent import compute_tangent
from closed_chain_dynamics.model.mechanism import Mechanism, Vector

__all__ = ['LoopState']

AT_REST = 1e-3  # speeds below this tell nothing about branches [rad/s, or lengths/s]
FLIP = 0.3  # share of the speed by which unnamed joints may jump when named ones do not
NEAR = 0.05  # distance to a singular pose within which branches can be mixed up
COASTS = 20  # updates that a state coasts past a singular pose before it counts as lost
ATTEMPTS = 6  # starts for assembling a pose anew: it must not take long
LONGEST_PATIENCE = 500  # updates between two attempts to find a pose that was not found
LONGEST_GAP = 0.1  # time over which a velocity still foretells a pose [s]
WIDTHS_IN_V = {1: 1, 4: 3, 7: 6}  # of joints, by their width in q
STAGES = 7  # rows of room that closing loops needs, see kernels/step.py
UNSEEN = 1e-6  # share that named joints have in a motion below which they tell nothing of it
CLOSED = 1e-12  # gap of loops that are closed near singular poses [m or rad]


class LoopState:
    """
    A state that is kept complete: `q`, `v`, `time`, and how sure it is.

    `names`: joints of the tree whose positions will be given; `start`: a pose to find the first
    one near, (nq,). `jump`: distance from the foreseen pose that counts as lost [rad, or typical
    lengths]; `confirm`: updates in a row that must agree before a jump is believed. `measured`:
    whether jumps are believed at all, and whether angles of joints without limits may wrap, as
    encoders do. `q` is None until there is a pose; each update gives `q` and `v` new arrays.
    """

    q: Vector | None
    v: Vector
    time: float

    def __init__(
        self,
        robot: Mechanism,
        names: Sequence[str],
        *,
        start: Vector | None = None,
        jump: float = 0.3,
        confirm: int = 3,
        measured: bool = True,
    ) -> None:
        self.robot, self.names, self._measured = robot, list(names), measured
        self._widths = [self._width(name) for name in self.names]
        self._jump, self._confirm, self._start = float(jump), confirm, start
        self.q, self.v, self.time = None, np.zeros(robot.nv), 0.0
        self.status, self.jumps = 'unknown', 0
        self.restructured()

    def __repr__(self) -> str:
        return f'<LoopState of {self.robot.name!r} from {", ".join(self.names)}: {self.status}>'

    def _width(self, name: str) -> int:
        in_q = self.robot.joint_slices(name)[0]
        return int(in_q.stop - in_q.start)

    def restructured(self, q: Vector | None = None, v: Vector | None = None) -> None:
        """Take note that joints were connected or cut; give the state where its size changed."""
        robot, first = self.robot, [0, 0]
        # each in q and in v
        keep: tuple[list[int], list[int]] = ([], [])
        places: tuple[list[int], list[int]] = ([], [])
        single: list[tuple[int, int]] = []
        endless: list[int] = []
        for name, width in zip(self.names, self._widths):
            slices, widths = robot.joint_slices(name), (width, WIDTHS_IN_V[width])
            if width == 1 and slices[0].stop - slices[0].start == 1:
                single.append((len(keep[0]), len(keep[1])))
                if self._is_endless(slices[1].start):
                    endless.append(len(keep[0]))
            for k in (0, 1):
                if slices[0].stop - slices[0].start == width:  # else cut: it moves in other ways
                    keep[k].extend(range(first[k], first[k] + widths[k]))
                    places[k].extend(range(slices[k].start, slices[k].stop))
                first[k] += widths[k]
        self._sizes = first
        self._keep = [np.array(each, dtype=np.int64) for each in keep]
        self._q_places, self._v_places = (np.array(each, dtype=np.int64) for each in places)
        self._single = np.array(single, dtype=np.int64).reshape(-1, 2)
        self._endless = np.array(endless, dtype=np.int64)
        self._missed_at: Vector | None = None
        nv, named = robot.nv, len(self._v_places)
        self._fit = how.Fit(
            W=np.empty((nv, nv)),
            drift=np.empty(nv),
            R=np.empty((nv, nv)),
            gain=np.empty((nv, named)),
            sigma=np.empty(nv),
            work=np.zeros((STAGES, max(robot.nq, 2 * nv + 2))),
        )
        self._unknown, self._zero = np.full(named, np.nan), np.zeros(nv)
        self._facts, self._usually_free = np.zeros(1, how.FACTS), nv
        self._misses, self._coasts, self._patience = 0, 0, self._confirm
        if q is not None and v is not None:
            self.q, self.v = q.copy(), v.copy()
        if self.q is not None and not self._close(self.q):  # a connection closes a small gap
            self.q, self.status = None, 'lost'
        if self.q is not None:
            learn_rank(robot, self.q)  # here, and not in the next turn of a control loop
            self.v = self._allowed(self.q, self.v)

    def _is_endless(self, dof: int) -> bool:
        """Return whether a joint of one coordinate turns without end."""
        law = self.robot.structure.dofs[dof]
        turns = self.robot.structure.bodies['joint'][law['body']] == at.REVOLUTE
        return bool(turns and np.isinf(law['lower']) and np.isinf(law['upper']))

    def forget(self) -> None:
        """Look for the pose anew with the next update, near the present one."""
        self._start, self.q = self.q, None

    # --- one update ----------------------------------------------------------------------------
    def update(self, time: float, position: ArrayLike, velocity: ArrayLike | None = None) -> bool:
        """
        Take positions of the named joints, in their order and as in q; return whether it holds.

        `velocity` is in the order of the same joints' velocities; without it, or where it is
        nan, velocities follow from the positions. False: the state is lost, q is the last good.
        """
        places = self._checked(position, 0, 'position')
        rates = self._unknown if velocity is None else self._checked(velocity, 1, 'velocity')
        if self.q is None:
            return self._begin(time, places, velocity)
        dt = float(time - self.time)
        dt = dt if 0.0 < dt <= LONGEST_GAP else 0.0
        if self._measured:
            places, rates = self._as_sensors_mean(self.q, places, rates, dt)
        done, found = self._follow(self.q, self.v, (places, rates), dt, self._jump)
        fact = self._fact
        if done == how.BAD:
            self._target(found.ahead, places)  # says what is bad
        if done != how.FOLLOWED or max(fact['distance'], fact['misfit']) > self._jump:
            coasted = done == how.HARD and self._coast(found.ahead, time)
            return coasted or self._missed(time, places, velocity)
        if self._flipped():
            return self._coast(found.ahead, time) or self._missed(time, places, velocity)
        self._usually_free = min(int(fact['free']), self._usually_free)
        self._misses = self._coasts = 0
        self._missed_at = None
        self.q, self.v, self.time, self.status = found.q, found.v, time, 'tracking'
        return True

    def _begin(self, time: float, places: Vector, velocity: ArrayLike | None) -> bool:
        """Assemble the pose of checked positions; return True."""
        rates = self._unknown if velocity is None else self._checked(velocity, 1, 'velocity')
        self.q = self._find(places)
        learn_rank(self.robot, self.q)
        self.time, self.status = time, 'tracking'
        self._misses, self._missed_at = 0, None
        self.v = self._velocity(self.q, np.where(np.isnan(rates), 0.0, rates))
        return True

    @property
    def _fact(self) -> np.void:
        """Return what is known of the last update, a record of kernels.following."""
        record: np.void = self._facts[0]
        return record

    def _follow(
        self, q: Vector, v: Vector, named: tuple[Vector, Vector], dt: float, jump: float
    ) -> tuple[int, how.Found]:
        """Follow named positions and rates from a state; return what happened, and the result."""
        fact, nq, nv = self._fact, self.robot.nq, self.robot.nv
        fact['dt'], fact['jump'], fact['usually_free'] = dt, jump, self._usually_free
        found = how.Found(ahead=np.empty(nq), q=np.empty(nq), v=np.empty(nv))
        names = how.Named(*named, self._q_places, self._v_places)
        done = how.compute_follow(self.robot.handle, q, v, names, self._fit, self._facts, found)
        return done, found

    def _checked(self, values: ArrayLike, k: int, what: str) -> Vector:
        """Return finite numbers of the joints that count; nan is allowed for velocities."""
        kept: Vector = self.robot.vector(values, self._sizes[k], what)[self._keep[k]]
        # a finite sum of squares has no other terms, and takes a tenth of the time of looking
        if isfinite(kept.dot(kept)):
            return kept
        if not np.isfinite(kept).all() and (k == 0 or np.isinf(kept).any()):
            bad = int(np.flatnonzero(~np.isfinite(kept))[0])
            places = [
                name
                for name, width in zip(self.names, self._widths)
                for _ in range((width, WIDTHS_IN_V[width])[k])
            ]
            raise StateError(
                f'the {what} of {places[self._keep[k][bad]]!r} is {kept[bad]}',
                where=self.robot.name,
                repair='Give finite numbers only.',
            )
        return kept

    def _is_near_singular(self) -> bool:
        return self.q is not None and coordinates(self.robot, self.q).distance < NEAR

    def _coast(self, ahead: Vector, time: float) -> bool:
        """Go on as before, for a while: past a pose where branches meet."""
        self._coasts += 1
        if not self._is_near_singular() or self._coasts > COASTS or not self._close(ahead):
            return False
        self.q, self.time, self.status = ahead, time, 'coasting'
        return True

    def _flipped(self) -> bool:
        """Return whether unnamed joints changed their speed as only another branch would."""
        fact = self._fact
        speed, allowed = fact['speed'], FLIP * fact['speed'] + 10.0 * fact['named_change']
        return bool(
            speed > AT_REST and fact['unnamed_change'] > allowed and self._is_near_singular()
        )

    def _as_sensors_mean(
        self, q: Vector, places: Vector, rates: Vector, dt: float
    ) -> tuple[Vector, Vector]:
        """Return positions freed of the wrap of encoders, and rates where only some are given."""
        if self._endless.size:
            turns = (q[self._q_places[self._endless]] - places[self._endless]) / (2.0 * np.pi)
            if np.abs(turns).max() > 0.5:
                places = places.copy()
                places[self._endless] += 2.0 * np.pi * np.round(turns)
        if isfinite(rates.dot(rates)):
            return places, rates
        unknown = np.isnan(rates)
        if dt > 0.0 and unknown.any() and not unknown.all():
            in_q, in_v = self._single[unknown[self._single[:, 1]]].T
            rates = rates.copy()
            rates[in_v] = (places[in_q] - q[self._q_places[in_q]]) / dt
        return places, rates

    def _missed(self, time: float, places: Vector, velocity: ArrayLike | None) -> bool:
        """Say that the state is lost; believe the joints when they insist."""
        self.status = 'lost'
        if not self._measured:
            return False
        before, self._missed_at = self._missed_at, places
        agrees = before is not None and np.abs(places - before).max(initial=0.0) <= self._jump
        self._misses = self._misses + 1 if agrees else 1
        if self._misses < self._patience:
            return False
        self.jumps += 1
        self.forget()
        try:
            found = self._begin(time, places, velocity)
            self._patience = self._confirm
            return found
        except AssemblyError:  # searching takes its time: not with every state
            self.q, self.time, self._misses = self._start, time, 0
            self._patience, self.status = min(2 * self._patience, LONGEST_PATIENCE), 'lost'
            self.v = np.zeros(self.robot.nv)
            return False

    def _target(self, q: Vector, position: Vector) -> Vector:
        """Return q with the named joints where they are said to be."""
        target: Vector = q.copy()
        target[self._q_places] = position
        status = kernels.check_state(self.robot.handle, target, self._zero, self._zero)
        if status:
            self.robot.raise_for(status, target)
        return target

    def _find(self, position: Vector) -> Vector:
        """Assemble the pose, holding as many of the named joints as agree with the loops."""
        robot, target = self.robot, self._target(self.robot.neutral(), position)
        held = {
            name: target[robot.joint_slices(name)[0]]
            for name, width in zip(self.names, self._widths)
            if self._width(name) == width
        }
        try:
            q: Vector = assemble(robot, held, start=self._start, limits=False, attempts=ATTEMPTS)
        except AssemblyError:  # they contradict each other a little, as sensors do
            start = self._start if self._start is not None else assemble(robot, limits=False)
            near = self._target(start, position)
            q = assemble(robot, {}, start=near, limits=False, attempts=ATTEMPTS)
            done, found = self._follow(q, self._zero, (position, self._unknown), 0.0, np.inf)
            q = found.q if done == how.FOLLOWED else q
        away = np.empty(robot.nv)
        kernels.difference(robot.handle, q, self._target(q, position), away)
        off = np.abs(away / robot.structure.dofs['scale'])[self._v_places]
        self._fact['misfit'] = off.max(initial=0.0)
        self._fact['worst'] = off.argmax() if off.size else 0
        if self.residual > self._jump:
            raise AssemblyError(
                f'the joints contradict the loops by {self.residual:.3g}, most of '
                f'all {self.worst_name!r}',
                where=robot.name,
                repair='Check names, signs and offsets of the sensors.',
            )
        return q

    def _close(self, q: Vector) -> bool:
        """Close the loops of q in place; near singular poses by the smallest motion."""
        robot = self.robot
        kept, away = q.copy(), np.empty(robot.nv)
        if (
            not kernels.close_loops(robot.handle, q, self._zero.copy(), self._fit.work)
            and how.distance(robot.handle, kept, q, away) <= 0.1 * self._jump
        ):
            return True
        q[:] = kept
        for cluster in range(len(robot.structure.clusters)):
            closure = Closure(robot, cluster, np.zeros(robot.nv, dtype=bool), False)
            if closure.units.size:
                q[:] = closure.close(q, CLOSED)[0]
        gaps = robot.loop_gaps(q).values()
        return bool(max(map(max, gaps), default=0.0) < robot.structure.world['closing_tolerance'])

    # --- rates ---------------------------------------------------------------------------------
    def _velocity(self, q: Vector, rates: Vector) -> Vector:
        """Return the velocity that the loops allow and that fits the named rates best."""
        robot = self.robot
        wanted, v = np.zeros(robot.nv), np.empty(robot.nv)
        wanted[self._v_places] = rates
        self._fact['usually_free'] = robot.nv
        how.compute_velocity(robot.handle, q, wanted, self._v_places, self._fit, self._facts, v)
        return v

    def _allowed(self, q: Vector, v: Vector) -> Vector:
        """Return the velocity nearest to v that the loops allow."""
        nv = self.robot.nv
        fit = self._fit._replace(R=np.empty((nv, nv)), gain=np.empty((nv, nv)))
        self._fit_at(q, np.arange(nv), fit)
        mobility = self._mobility
        allowed: Vector = fit.W[:, :mobility] @ (fit.gain[:mobility] @ v)
        return allowed

    @property
    def _mobility(self) -> int:
        return int(self.robot.structure.shape['mobility'])

    def _fit_at(self, q: Vector, places: NDArray[np.int64], fit: how.Fit) -> None:
        """Write how theta_G' follows from velocities at some places, in a pose."""
        compute_tangent(self.robot.handle, q, self._zero, fit.W, fit.drift)
        how.compute_fit(self.robot.handle, places, fit)

    def acceleration(self, named: ArrayLike) -> Vector:
        """Return the acceleration that the loops allow and that fits the named ones, (nv,)."""
        robot, places, fit, q = self.robot, self._v_places, self._fit, self.known_q
        wanted = self._checked(named, 1, 'acceleration')
        compute_tangent(robot.handle, q, self.v, fit.W, fit.drift)
        if how.is_theta_G(robot.handle, places):
            all_wanted, a = np.zeros(robot.nv), np.zeros(robot.nv)
            all_wanted[places] = wanted
            how.velocity_of_theta_G(robot.handle, fit.W, all_wanted, a)
        else:
            how.compute_fit(robot.handle, places, fit)
            theta_G = fit.gain[: self._mobility] @ (wanted - fit.drift[places])
            a = fit.W[:, : self._mobility] @ theta_G
        completed: Vector = a + fit.drift
        return completed

    @property
    def known_q(self) -> Vector:
        """Return q where there is a pose, else say that there is none."""
        if self.q is None:
            raise StructureError(
                'the pose is not known yet',
                where=self.robot.name,
                repair='Give positions of the named joints first: update(time, position).',
            )
        return self.q

    # --- how sure it is ------------------------------------------------------------------------
    @property
    def residual(self) -> float:
        """Return by how much the named joints contradict the loops [rad, or typical lengths]."""
        return float(self._fact['misfit'])

    @property
    def rate_residual(self) -> float:
        """Return by how much the named rates contradict the loops [rad/s or m/s]."""
        return float(self._fact['rate_misfit'])

    def describe(self) -> dict[str, Any]:
        """Return what a person has to know about the state, by name."""
        return {
            'state': self.status,
            'jumps': self.jumps,
            'contradiction [rad or lengths]': self.residual,
            'fits least': self.worst_name,
            'contradiction of rates': self.rate_residual,
            'motions not measured': self.unobserved,
        }

    @property
    def worst_name(self) -> str:
        """Return the coordinate whose value fits least into the loops."""
        if not self._v_places.size:
            return ''
        return self.robot.coordinate_names[int(self._v_places[int(self._fact['worst'])])]

    @property
    def unobserved(self) -> int:
        """Return how many motions the named joints do not tell anything about."""
        self._fit_at(self.known_q, self._v_places, self._fit)
        return int((self._fit.sigma[: self._mobility] <= UNSEEN).sum())
