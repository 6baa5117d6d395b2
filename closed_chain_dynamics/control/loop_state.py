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

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.control.named_joints import NamedJoints
from closed_chain_dynamics.control.pose_search import close, find_pose, misfits, with_named
from closed_chain_dynamics.description.elements import Coupling
from closed_chain_dynamics.dynamics.generalized_coordinates import coordinates
from closed_chain_dynamics.dynamics.rank import learn_rank
from closed_chain_dynamics.errors import AssemblyError, StructureError
from closed_chain_dynamics.kernels import following as how
from closed_chain_dynamics.kernels.control_turn import Joints
from closed_chain_dynamics.kernels.fitting import UNSEEN, Fit, compute_fit, compute_velocity
from closed_chain_dynamics.kernels.step import STAGES
from closed_chain_dynamics.kernels.tangent import compute_tangent
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['LoopState']

AT_REST = 1e-3  # speeds below this tell nothing about branches [rad/s, or lengths/s]
FLIP = 0.3  # share of the speed by which unnamed joints may jump when named ones do not
NEAR_SINGULAR = 0.05  # distance to a singular pose within which branches can be mixed up
COASTS = 20  # updates that a state coasts past a singular pose before it counts as lost
LONGEST_PATIENCE = 500  # updates between two attempts to find a pose that was not found
LONGEST_FORESIGHT = 0.1  # time over which a velocity still foretells a pose [s]
NONE = np.zeros(0)


def _largest_ratio(couplings: Iterable[Coupling]) -> float:
    """Return the largest ratio of gears, 1 or more: how much faster than others a rotor turns."""
    first = [[abs(term.coefficients[0]) for term in each.terms] for each in couplings]
    ratios = [max(each) / min(each) for each in first if each and min(each) > 0.0]
    return max([1.0, *ratios])


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
    a: Vector  # of the last update that named accelerations
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
        self.robot, self._measured = robot, measured
        self._named = NamedJoints(robot, names)
        self.names = self._named.names
        self._jump, self._confirm, self._start = float(jump), confirm, start
        self.q, self.v, self.a, self.time = None, np.zeros(robot.nv), np.zeros(robot.nv), 0.0
        self.status, self.jumps = 'unknown', 0
        self._gearing = _largest_ratio(robot.description.couplings)
        self.restructured()

    def __repr__(self) -> str:
        return f'<LoopState of {self.robot.name!r} from {", ".join(self.names)}: {self.status}>'

    def restructured(self, q: Vector | None = None, v: Vector | None = None) -> None:
        """Take note that joints were connected or cut; give the state where its size changed."""
        robot, nv = self.robot, self.robot.nv
        self._named.restructured()
        self._missed_at: Vector | None = None
        count = self._named.v_places.size
        self._fit = Fit(
            W=np.empty((nv, nv)),
            drift=np.empty(nv),
            R=np.empty((nv, nv)),
            gain=np.empty((nv, count)),
            sigma=np.empty(nv),
            work=np.zeros((STAGES, max(robot.nq, 2 * nv + 2))),
        )
        self._unknown, self._zero = np.full(count, np.nan), np.zeros(nv)
        self.facts, self._usually_free = np.zeros(1, how.FACTS), nv
        # views: quicker to write than fields of a record
        self._dt, self._far = self.facts['dt'], self.facts['jump']
        self._free = self.facts['usually_free']
        # what a turn in one call is given: its numbers are written here
        places = self._named.q_places, self._named.v_places
        self._given = how.Named(np.empty(places[0].size), np.empty(count), NONE, *places)
        self._prepared: how.Found | None = None
        self._misses, self._coasts, self._patience = 0, 0, self._confirm
        if q is not None and v is not None:
            self.q, self.v = np.array(q, dtype=float), np.array(v, dtype=float)
        if self.q is not None and not self._close(self.q):  # a connection closes a small gap
            self.q, self.status = None, 'lost'
        if self.q is not None:
            learn_rank(robot, self.q)  # here, and not in the next turn of a control loop
            if self.v.any():
                self.v = self._allowed(self.q, self.v)

    def forget(self) -> None:
        """Look for the pose anew with the next update, near the present one."""
        self._start, self.q = self.q, None

    # --- one update ----------------------------------------------------------------------------
    def update(
        self,
        time: float,
        position: ArrayLike,
        velocity: ArrayLike | None = None,
        acceleration: ArrayLike | None = None,
    ) -> bool:
        """
        Take positions of the named joints, in their order and as in q; return whether it holds.

        `velocity` is in the order of the same joints' velocities; without it, or where it is
        nan, velocities follow from the positions. With `acceleration`, `a` is what the loops allow
        and fits it best. False: the state is lost, q is the last good.
        """
        named = self._named
        places = named.checked(position, 0, 'position')
        rates = self._unknown if velocity is None else named.checked(velocity, 1, 'velocity')
        more = NONE if acceleration is None else named.checked(acceleration, 1, 'acceleration')
        if self.q is None:
            return self._begin(time, places, velocity)
        dt = self._since(time)
        if self._measured:
            places, rates = named.as_sensors_mean(self.q, places, rates, dt)
        done, found = self._follow(self.q, self.v, (places, rates, more), dt, self._jump)
        fact = self._fact
        if done == how.BAD:
            with_named(named, found.ahead, places)  # says what is bad
        if done != how.FOLLOWED or max(fact['distance'], fact['misfit']) > self._jump:
            coasted = done == how.HARD and self._coast(found.ahead, time)
            return coasted or self._missed(time, places, velocity)
        if self._flipped():
            return self._coast(found.ahead, time) or self._missed(time, places, velocity)
        self.accept(time, found)
        return True

    def accept(self, time: float, found: how.Found) -> None:
        """Take what was found at a time, nothing being wrong with it."""
        self._usually_free = min(int(self.facts['free'][0]), self._usually_free)
        self._misses = self._coasts = 0
        self._missed_at = None
        self.q, self.v, self.a, self.time = found.q, found.v, found.a, time
        self.status, self._prepared = 'tracking', None

    def in_one_turn(self, time: float, position: object, velocity: object) -> Joints | None:
        """Return what a turn in one compiled call needs; None where it takes more than that."""
        named = self._named
        if self.status != 'tracking' or self.q is None or not named.is_whole:
            return None
        if not (named.fits(position, 0) and named.fits(velocity, 1)):
            return None
        given, found = self._given, self._prepared or self._room(0.0, self._jump)
        given.position[:], given.rates[:], self._dt[0] = position, velocity, self._since(time)
        return Joints(self.q, self.v, given, self._fit, found)

    def prepare(self) -> None:
        """Make room for what the next turn in one call finds, while there is time."""
        if self._prepared is None:
            self._prepared = self._room(0.0, self._jump)

    def _since(self, time: float) -> float:
        """Return the time over which the last velocity foretells a pose [s]."""
        dt = float(time - self.time)
        return dt if 0.0 < dt <= LONGEST_FORESIGHT else 0.0

    def _begin(self, time: float, places: Vector, velocity: ArrayLike | None) -> bool:
        """Assemble the pose of checked positions; return True."""
        named = self._named
        rates = self._unknown if velocity is None else named.checked(velocity, 1, 'velocity')
        self.q = self._find(places)
        learn_rank(self.robot, self.q)
        self.time, self.status = time, 'tracking'
        self._misses, self._missed_at = 0, None
        self.v = self._velocity(self.q, np.where(np.isnan(rates), 0.0, rates))
        return True

    @property
    def _fact(self) -> np.void:
        """Return what is known of the last update, a record of kernels.following."""
        record: np.void = self.facts[0]
        return record

    def _room(self, dt: float, jump: float) -> how.Found:
        """Return room for what is found a time later; set the bounds of the search."""
        self._prepared = None  # its bounds may have been others
        nq, nv = self.robot.nq, self.robot.nv
        self._dt[0], self._far[0], self._free[0] = dt, jump, self._usually_free
        return how.Found(np.empty(nq), np.empty(nq), np.empty(nv), np.zeros(nv))

    def _follow(
        self, q: Vector, v: Vector, given: tuple[Vector, Vector, Vector], dt: float, jump: float
    ) -> tuple[int, how.Found]:
        """Follow positions, rates and accelerations; return what happened, and the result."""
        found = self._room(dt, jump)
        names = how.Named(*given, self._named.q_places, self._named.v_places)
        done = how.compute_follow(self.robot.handle, q, v, names, self._fit, self.facts, found)
        return done, found

    def _is_near_singular(self) -> bool:
        return self.q is not None and coordinates(self.robot, self.q).distance < NEAR_SINGULAR

    def _coast(self, ahead: Vector, time: float) -> bool:
        """Go on as before, for a while: past a pose where branches meet."""
        self._coasts += 1
        if not self._is_near_singular() or self._coasts > COASTS or not self._close(ahead):
            return False
        self.q, self.time, self.status = ahead, time, 'coasting'
        self.a = self._zero
        return True

    def _flipped(self) -> bool:
        """Return whether unnamed joints changed their speed as only another branch would."""
        fact = self._fact
        change = self._gearing * fact['named_change']  # which a rotor shows as it should
        speed, allowed = fact['speed'], FLIP * fact['speed'] + 10.0 * change
        return bool(
            speed > AT_REST and fact['unnamed_change'] > allowed and self._is_near_singular()
        )

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

    def _find(self, position: Vector) -> Vector:
        """Assemble the pose of named joints, and note how well they fit into the loops."""

        def fit(q: Vector) -> Vector:
            given = position, self._unknown, NONE
            done, found = self._follow(q, self._zero, given, 0.0, np.inf)
            return found.q if done == how.FOLLOWED else q

        q = find_pose(self._named, position, self._start, fit)
        off = misfits(self._named, q, position)
        self._fact['misfit'] = off.max(initial=0.0)
        self._fact['worst'] = off.argmax() if off.size else 0
        if self.residual > self._jump:
            raise AssemblyError(
                f'the joints contradict the loops by {self.residual:.3g}, most of '
                f'all {self.worst_name!r}',
                where=self.robot.name,
                repair='Check names, signs and offsets of the sensors.',
            )
        return q

    def _close(self, q: Vector) -> bool:
        return close(self.robot, q, 0.1 * self._jump)

    # --- rates ---------------------------------------------------------------------------------
    def _velocity(self, q: Vector, rates: Vector) -> Vector:
        """Return the velocity that the loops allow and that fits the named rates best."""
        robot = self.robot
        wanted, v = np.zeros(robot.nv), np.empty(robot.nv)
        wanted[self._named.v_places] = rates
        self._free[0], self._prepared = robot.nv, None
        places = self._named.v_places
        compute_velocity(robot.handle, q, wanted, places, self._fit, self.facts, v)
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

    def _fit_at(self, q: Vector, places: NDArray[np.int64], fit: Fit) -> None:
        """Write how theta_G' follows from velocities at some places, in a pose."""
        compute_tangent(self.robot.handle, q, self._zero, fit.W, fit.drift)
        compute_fit(self.robot.handle, places, fit)

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
        if not self._named.v_places.size:
            return ''
        return self.robot.coordinate_names[int(self._named.v_places[int(self._fact['worst'])])]

    @property
    def unobserved(self) -> int:
        """Return how many motions the named joints do not tell anything about."""
        self._fit_at(self.known_q, self._named.v_places, self._fit)
        return int((self._fit.sigma[: self._mobility] <= UNSEEN).sum())
