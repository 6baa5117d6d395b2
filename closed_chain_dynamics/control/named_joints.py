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

"""Joints that are named, by a sensor or a trajectory: where their numbers stand in q and in v."""

from collections.abc import Sequence
from math import isfinite

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closed_chain_dynamics.arrays import FLOAT, Vector
from closed_chain_dynamics.errors import StateError
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['NamedJoints']

WIDTHS_IN_V = {1: 1, 4: 3, 7: 6}  # of joints, by their width in q


class NamedJoints:
    """
    Some joints of the tree, in an order of their own.

    `q_places`, `v_places`: where the numbers that count stand in q and in v. A joint that was cut
    moves in other ways than it did when it was named: its numbers do not count till it is whole.
    """

    def __init__(self, robot: Mechanism, names: Sequence[str]) -> None:
        self.robot, self.names = robot, list(names)
        self._widths = [self._width(name) for name in self.names]
        self._tree = b''
        self.restructured()

    def _width(self, name: str) -> int:
        in_q = self.robot.joint_slices(name)[0]
        return int(in_q.stop - in_q.start)

    def restructured(self) -> None:
        """Take note that joints were connected or cut."""
        before, self._tree = self._tree, self.robot.structure.tree
        if self._tree == before:  # only loops were
            return
        first = [0, 0]
        # each in q and in v
        keep: tuple[list[int], list[int]] = ([], [])
        places: tuple[list[int], list[int]] = ([], [])
        single: list[tuple[int, int]] = []
        endless: list[int] = []
        for name, width in zip(self.names, self._widths):
            slices, widths = self.robot.joint_slices(name), (width, WIDTHS_IN_V[width])
            if width == 1 and slices[0].stop - slices[0].start == 1:
                single.append((len(keep[0]), len(keep[1])))
                if self._is_endless(slices[1].start):
                    endless.append(len(keep[0]))
            for k in (0, 1):
                if slices[0].stop - slices[0].start == width:  # else cut
                    keep[k].extend(range(first[k], first[k] + widths[k]))
                    places[k].extend(range(slices[k].start, slices[k].stop))
                first[k] += widths[k]
        self._sizes = first
        self._keep = [np.array(each, dtype=np.int64) for each in keep]
        self.q_places, self.v_places = (np.array(each, dtype=np.int64) for each in places)
        self._single = np.array(single, dtype=np.int64).reshape(-1, 2)
        self._endless = np.array(endless, dtype=np.int64)
        self.is_whole = all(each.size == size for each, size in zip(self._keep, first))

    def _is_endless(self, dof: int) -> bool:
        """Return whether a joint of one coordinate turns without end."""
        law = self.robot.structure.dofs[dof]
        turns = self.robot.structure.bodies['joint'][law['body']] == at.REVOLUTE
        return bool(turns and np.isinf(law['lower']) and np.isinf(law['upper']))

    def fits(self, values: object, k: int) -> bool:
        """Return whether values are as many numbers as there are, in q (k = 0) or in v (1)."""
        return (
            type(values) is np.ndarray
            and values.dtype == FLOAT
            and values.ndim == 1
            and len(values) == self._sizes[k]
        )

    def checked(self, values: ArrayLike, k: int, what: str) -> Vector:
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

    def held(self, pose: Vector) -> dict[str, Vector]:
        """Return the joints that count, as they stand in a pose."""
        return {
            name: pose[self.robot.joint_slices(name)[0]]
            for name, width in zip(self.names, self._widths)
            if self._width(name) == width
        }

    def as_sensors_mean(
        self, q: Vector, places: Vector, rates: Vector, dt: float
    ) -> tuple[Vector, Vector]:
        """Return positions freed of the wrap of encoders, and rates where only some are given."""
        if self._endless.size:
            turns = (q[self.q_places[self._endless]] - places[self._endless]) / (2.0 * np.pi)
            if np.abs(turns).max() > 0.5:
                places = places.copy()
                places[self._endless] += 2.0 * np.pi * np.round(turns)
        if isfinite(rates.dot(rates)):
            return places, rates
        unknown: NDArray[np.bool_] = np.isnan(rates)
        if dt > 0.0 and unknown.any() and not unknown.all():
            in_q, in_v = self._single[unknown[self._single[:, 1]]].T
            rates = rates.copy()
            rates[in_v] = (places[in_q] - q[self.q_places[in_q]]) / dt
        return places, rates
