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
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.model.library import share_folder

__all__ = ['Gait', 'GaitSample', 'read_gait']

Array = NDArray[np.float64]
PARTS = ('q', 'v', 'a', 'tau', 'force')  # how the names of columns begin, before a colon


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
        k = int(np.searchsorted(self.time, time, side='right')) - 1
        if k >= len(self.time) - 1:
            k = len(self.time) - 2
        h, s = self.time[k + 1] - self.time[k], time - self.time[k]
        share = s / h
        row = {name: each[k] + share * (each[k + 1] - each[k]) for name, each in self.values.items()}
        a, jerk = self.values['a'][k], (self.values['a'][k + 1] - self.values['a'][k]) / h
        v = self.values['v'][k] + s * a + s * s / 2.0 * jerk
        q = self.values['q'][k] + s * self.values['v'][k] + s * s / 2.0 * a + s**3 / 6.0 * jerk
        acceleration = row['a']
        if late:
            q, acceleration = q + late * v, np.zeros_like(v)
        return GaitSample(
            q,
            v,
            acceleration,
            row['tau'],
            row['force'].reshape(-1, 2),
            self.phases[self.phase[k]],
        )


def read_gait(path: str | os.PathLike[str] | None = None) -> Gait:
    """Return the gait in a CSV file; by default that of the shipped model walker."""
    file = Path(path) if path is not None else share_folder() / 'urdf/gaits/walker.csv'
    lines = [line for line in file.read_text(encoding='utf-8').splitlines() if line[:1] != '#']
    head = lines[0].split(',')
    try:
        table = np.array([[float(x) for x in line.split(',')[2:]] for line in lines[1:]])
        time = np.array([float(line.split(',')[0]) for line in lines[1:]])
    except ValueError as error:
        raise ClosedChainError(
            f'this is no gait: {error}',
            where=str(file),
            repair="Give a CSV file like 'urdf/gaits/walker.csv'.",
        ) from None
    words = [line.split(',')[1] for line in lines[1:]]
    order = list(dict.fromkeys(words))
    columns = {part: [i for i, x in enumerate(head[2:]) if x.startswith(f'{part}:')] for part in PARTS}
    names = {
        part: tuple(dict.fromkeys(head[2 + i].split(':')[1] for i in columns[part])) for part in PARTS
    }
    return Gait(
        time,
        np.array([order.index(word) for word in words]),
        {part: table[:, columns[part]] for part in PARTS},
        names,
        tuple(frozenset(word.split('+')) for word in order),
    )
