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
A step of a periodic gait as data: motion, joint moments and ground forces over its time.

The step begins when the left heel strikes, at x = 0, and ends when the right one does; what
follows is the same with left and right exchanged. Between two rows of one phase accelerations are
linear in time; where a phase ends and the next begins there are two rows of the same time.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.model.library import share_folder

__all__ = ['Gait', 'GaitSample', 'walking_gait']

COLUMN_PREFIXES = ('q', 'v', 'a', 'tau', 'force')  # how the names of columns begin, before a colon


@dataclass(frozen=True)
class GaitSample:
    """One instant of a step: coordinates, rates, moments [N m], forces (points, 2) [N]."""

    q: Array
    v: Array
    a: Array
    tau: Array
    force: Array
    closed: frozenset[str]


@dataclass(frozen=True)
class Gait:
    """
    A step: rows of time, phase and values; `phases` are the contacts closed in each.

    `names`: of coordinates, motors and contact points, as the columns have them; `force` has
    forward and upward components of every point.
    """

    time: Array
    phase: NDArray[np.int_]
    values: dict[str, Array]
    names: dict[str, tuple[str, ...]]
    phases: tuple[frozenset[str], ...]

    @property
    def duration(self) -> float:
        """Return how long a step takes [s]."""
        return float(self.time[-1])

    @property
    def length(self) -> float:
        """Return how far a step leads [m]."""
        return float(self.values['q'][-1, 0] - self.values['q'][0, 0])

    def begin(self, phase: int) -> float:
        """Return when a phase begins [s]."""
        return float(self.time[self.phase == phase][0])

    def sample(self, time: float) -> GaitSample:
        """Return the step at a time; beyond its end it goes on at constant rates."""
        late = max(time - self.duration, 0.0)
        time = min(max(time, 0.0), self.duration)
        k = min(int(np.searchsorted(self.time, time, side='right')), len(self.time) - 1) - 1
        h, s = self.time[k + 1] - self.time[k], time - self.time[k]
        row = {
            name: each[k] + s / h * (each[k + 1] - each[k]) for name, each in self.values.items()
        }
        q, v, a = (self.values[name][k] for name in 'qva')
        jerk = (self.values['a'][k + 1] - a) / h
        q = q + s * v + s**2 / 2.0 * a + s**3 / 6.0 * jerk
        v, a = v + s * a + s**2 / 2.0 * jerk, row['a']
        if late:
            q, a = q + late * v, np.zeros_like(a)
        return GaitSample(
            q, v, a, row['tau'], row['force'].reshape(-1, 2), self.phases[self.phase[k]]
        )


def walking_gait() -> Gait:
    """Return the gait that comes with the model walker, from ``urdf/gaits/walker.csv``."""
    text = (share_folder() / 'urdf/gaits/walker.csv').read_text(encoding='utf-8')
    head, *rows = [line.split(',') for line in text.splitlines() if line[:1] != '#']
    table = np.array([[float(x) for x in row[2:]] for row in rows])
    order = list(dict.fromkeys(row[1] for row in rows))
    names: dict[str, tuple[str, ...]] = {}
    values: dict[str, Array] = {}
    for part in COLUMN_PREFIXES:
        columns = [i for i, column in enumerate(head[2:]) if column.startswith(f'{part}:')]
        names[part] = tuple(dict.fromkeys(head[2 + i].split(':')[1] for i in columns))
        values[part] = table[:, columns]
    return Gait(
        np.array([float(row[0]) for row in rows]),
        np.array([order.index(row[1]) for row in rows]),
        values,
        names,
        tuple(frozenset(each.split('+')) for each in order),
    )
