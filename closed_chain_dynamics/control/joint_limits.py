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
What the joints of a mechanism may do: positions and speeds, of its tree and of its loops.

Limits are those of the description. A joint without a speed limit gets `default_speed`, because
without any bound no speed could be called wrong. The zone before a position limit is where torques
push back (soft_limits.py); beyond the limit by more than the zone is a fault.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closed_chain_dynamics.arrays import Matrix, Vector
from closed_chain_dynamics.dynamics.closing import Places, has_position
from closed_chain_dynamics.dynamics.constraints import loop_coordinate_owner, loop_kinematics
from closed_chain_dynamics.errors import StateError
from closed_chain_dynamics.kernels.limit_checks import (
    LIMIT_ROUNDING,
    Limits,
    find_offenders,
    first_too_fast,
)
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['DEFAULT_SPEED', 'JointLimits']

DEFAULT_SPEED = 30.0  # of joints whose limit says nothing of speed [rad/s, or lengths/s]
LARGEST_SHARE = 0.1  # of its range that the zone of a joint takes at most


class JointLimits:
    """
    Positions and speeds of all joints with one coordinate, checked in one go.

    `soft_zone`: width of the zone before a limit [rad, or typical lengths], at most a tenth of the
    range; `default_speed` [rad/s, or lengths/s]. `names`, `lower`, `upper`, `zone`, `speed` and
    `places` (in v) are those of the joints of the tree. Of the joints that close loops, those
    count that have a limit and are connected.
    """

    def __init__(
        self, robot: Mechanism, *, soft_zone: float = 0.05, default_speed: float = DEFAULT_SPEED
    ) -> None:
        for value, what in ((soft_zone, 'soft_zone'), (default_speed, 'default_speed')):
            if not 0.0 < value < np.inf:
                raise StateError(f'{what} must be positive, not {value!r}', where=robot.name)
        self.robot, self._soft_zone, self._default_speed = robot, soft_zone, default_speed
        self._tree = b''
        self._loops = self._loops_with_limits()
        self.restructured()

    def restructured(self) -> None:
        """Take note that joints were connected or cut."""
        robot, dofs = self.robot, self.robot.structure.dofs
        before, self._tree = self._tree, robot.structure.tree
        if self._tree == before:  # only loops were
            return
        speeds = {
            joint.name: joint.limit.velocity
            for joint in robot.description.joints
            if joint.limit is not None
        }
        self.names: list[str] = []
        in_q, in_v, speed = [], [], []
        for name in robot.joint_names:
            q_slice, v_slice = robot.joint_slices(name)
            if q_slice.stop - q_slice.start == 1:
                self.names.append(name)
                in_q.append(q_slice.start)
                in_v.append(v_slice.start)
                speed.append(speeds.get(name, np.inf))
        self._q_places: Places = np.array(in_q, dtype=np.int64)
        self.places: Places = np.array(in_v, dtype=np.int64)
        own = dofs[self.places]
        self.lower, self.upper = own['lower'].copy(), own['upper'].copy()
        given = np.array(speed, dtype=float)
        known = np.isfinite(given) & (given > 0.0)
        self.speed: Vector = np.where(known, given, self._default_speed * own['scale'])
        self.zone: Vector = np.minimum(
            self._soft_zone * own['scale'], LARGEST_SHARE * (self.upper - self.lower)
        )
        self.table = Limits(
            np.array([self.lower, self.upper, self.zone, self.speed]),
            np.array([self._q_places, self.places]),
        )
        self._within = np.zeros(robot.nq)  # a pose that is not beyond
        self._within[self._q_places] = np.clip(0.0, self.lower, self.upper)
        self._numbers = {name: k for k, name in enumerate(self.names)}
        self._asked: tuple[Sequence[str], Places, Places, Vector] | None = None

    def _loops_with_limits(self) -> dict[int, Vector]:
        """Return lower, upper, zone and speed of loop joints, by number of their coordinate."""
        robot, found = self.robot, {}
        speeds = {
            loop.name: loop.limit.velocity
            for loop in robot.description.loops
            if loop.limit is not None
        }
        for d, (law, name) in enumerate(zip(robot.model.loop_dofs, robot.loop_coordinate_names)):
            ends = np.array([law['lower'], law['upper']], dtype=float)
            speed = speeds.get(name, np.inf)
            if not has_position(robot, d) or not np.isfinite([*ends, speed]).any():
                continue
            unit = float(law['scale'])
            speed = speed if 0.0 < speed < np.inf else self._default_speed * unit
            zone = min(self._soft_zone * unit, LARGEST_SHARE * (ends[1] - ends[0]))
            found[d] = np.array([*ends, zone, speed])
        return found

    def _connected(self) -> list[int]:
        """Return the coordinates of loop joints that have limits now."""
        loops = self.robot.structure.loops
        return [d for d in self._loops if loops[loop_coordinate_owner(self.robot, d)]['active']]

    def all_joints(self, q: Vector) -> tuple[Vector, Matrix, Matrix]:
        """
        Return positions of the joints of tree and loops, their rates by v, and their limits.

        (n,), (n, nv), and (4, n): lower, upper, zone and speed.
        """
        rows = np.zeros((self.places.size, self.robot.nv))
        rows[np.arange(self.places.size), self.places] = 1.0
        x, which = q[self._q_places], self._connected()
        if not which:
            return x, rows, self.table.table
        L, positions = loop_kinematics(self.robot, q)
        more = np.array([self._loops[d] for d in which]).T
        return (
            np.append(x, positions[which]),
            np.vstack([rows, L[which]]),
            np.hstack([self.table.table, more]),
        )

    # --- a complete state ------------------------------------------------------------------------
    @property
    def on_loops(self) -> bool:
        """Return whether joints of loops have limits too."""
        return bool(self._loops)

    def look(
        self,
        q: Vector,
        v: Vector,
        *,
        zones: float = 1.0,
        share: float = 1.0,
        since: Vector | None = None,
    ) -> tuple[str, str, bool]:
        """
        Return which joint is beyond its limits, and which is too fast, in words, or nothing.

        And whether one is near: in the zone before a limit, soon there, or nearly too fast.
        `zones`: how many of them beyond count; `share`: of speeds; `since`: a pose; what is not
        further beyond than there is left alone.
        """
        then = self._within if since is None else since
        k, j, near = find_offenders(self.table, q, v, then, zones, share)
        beyond = '' if k < 0 else self._beyond(k, q)
        fast = '' if j < 0 else self._fast(j, v[self.places[j]])
        if not self._loops:
            return beyond, fast, near
        of_loops = self._look_at_loops(q, v, zones, share, since)
        return beyond or of_loops[0], fast or of_loops[1], near or of_loops[2]

    def _beyond(self, k: int, q: Vector) -> str:
        return _beyond(self.names[k], q[self._q_places[k]], self.lower[k], self.upper[k])

    def _look_at_loops(
        self, q: Vector, v: Vector, zones: float, share: float, since: Vector | None
    ) -> tuple[str, str, bool]:
        """Return what `look` does, of the joints that close loops."""
        which = self._connected()
        if not which:
            return '', '', False
        L, x = loop_kinematics(self.robot, q)
        table = np.array([self._loops[d] for d in which]).T.copy()
        then = np.zeros(0) if since is None else loop_kinematics(self.robot, since)[1]
        within = np.clip(0.0, table[0], table[1]) if since is None else then[which]
        places = np.array([range(len(which))] * 2, dtype=np.int64)
        x, rates = x[which], L[which] @ v
        k, j, near = find_offenders(Limits(table, places), x, rates, within, zones, share)
        names = [self.robot.loop_coordinate_names[d] for d in which]
        beyond = '' if k < 0 else _beyond(names[k], x[k], table[0, k], table[1, k])
        return beyond, '' if j < 0 else _fast(names[j], rates[j], table[3, j]), near

    def too_fast(self, v: Vector) -> str:
        """Return which joint is faster than its limit, in words, or nothing."""
        k = first_too_fast(v, self.places, self.speed, 1.0)
        return '' if k < 0 else self._fast(k, v[self.places[k]])

    def _fast(self, number: int, rate: float) -> str:
        return _fast(self.names[number], rate, self.speed[number])

    # --- named joints, before they are believed --------------------------------------------------
    def measured_too_fast(
        self, names: Sequence[str], velocity: ArrayLike | None, share: float
    ) -> str:
        """Return which measured velocity is above a share of its limit; nan tells nothing."""
        if velocity is None:
            return ''
        if self._asked is None or self._asked[0] is not names:
            which, places = self._places_of(names)
            self._asked = names, which, places, self.speed[which]
        _, which, places, speed = self._asked
        rates = np.ascontiguousarray(velocity, dtype=float)
        if not places.size or rates.ndim != 1 or rates.size <= places[-1]:
            return ''
        k = first_too_fast(rates, places, speed, share)  # no nan is larger than a limit
        return '' if k < 0 else self._fast(which[k], rates[places[k]])

    def _places_of(self, names: Sequence[str]) -> tuple[Places, Places]:
        """Return which joints of one coordinate are named, and where their velocities stand."""
        which, places, first = [], [], 0
        for name in names:
            in_v = self.robot.joint_slices(name)[1]
            if name in self._numbers:
                which.append(self._numbers[name])
                places.append(first)
            first += in_v.stop - in_v.start
        return np.array(which, dtype=np.int64), np.array(places, dtype=np.int64)

    def kept(self, names: Sequence[str]) -> Places:
        """Return which of some names are joints with one coordinate: no others, and none cut."""
        return np.array([k for k, name in enumerate(names) if name in self._numbers], np.int64)

    def of(self, names: Sequence[str]) -> tuple[Vector, Vector, Vector]:
        """Return lower, upper and speed limits of named joints with one coordinate."""
        which = [self._numbers[name] for name in names]
        return self.lower[which], self.upper[which], self.speed[which]

    def beyond(self, names: Sequence[str], positions: NDArray[np.float64]) -> StateError | None:
        """Return what is wrong with the first point of a trajectory beyond limits, or None."""
        lower, upper, _ = self.of(names)
        over = np.maximum(positions - upper, lower - positions) > LIMIT_ROUNDING
        if not over.any():
            return None
        i, j = (int(each[0]) for each in np.nonzero(over))
        return StateError(
            f'{names[j]!r} is commanded to {positions[i, j]:.4g}, and its limits are '
            f'{lower[j]:g} to {upper[j]:g}',
            where='trajectory',
            repair='Stay within the limits, or set parameter beyond_limits to clip.',
        )

    def refuse_points(
        self, names: Sequence[str], times: Vector, positions: NDArray[np.float64]
    ) -> None:
        """Raise where points of a trajectory are beyond limits, or further apart than speeds."""
        beyond = self.beyond(names, positions)
        if beyond:
            raise beyond
        with np.errstate(over='ignore'):
            self.refuse_rates(names, np.diff(positions, axis=0) / np.diff(times)[:, None])

    def refuse_rates(self, names: Sequence[str], rates: NDArray[np.float64]) -> None:
        """Raise where a trajectory is faster than its joints."""
        speed = self.of(names)[2]
        fast = np.abs(rates) > speed * (1.0 + LIMIT_ROUNDING)
        if fast.any():
            i, j = (int(each[0]) for each in np.nonzero(fast))
            raise StateError(
                f'{names[j]!r} is commanded to move at {abs(rates[i, j]):.4g} rad/s or m/s, and '
                f'its limit is {speed[j]:g}',
                where='trajectory',
                repair='Give it more time.',
            )


def _beyond(name: str, x: float, lower: float, upper: float) -> str:
    limit = upper if x > upper else lower
    return f'{name!r} is at {x:.4g} rad or m, beyond its limit of {limit:g}'


def _fast(name: str, rate: float, limit: float) -> str:
    return f'{name!r} moves at {abs(rate):.4g} rad/s or m/s, faster than its limit of {limit:g}'
