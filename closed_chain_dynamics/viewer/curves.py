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

"""The tab with plots: curves that are slower than the picture."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from viser import uplot

from closed_chain_dynamics.arrays import Vector

__all__ = ['Curves']

MOST_CURVES = 8  # in one plot
SMALLEST_ERROR = 1e-17  # errors below are drawn there, since a logarithm needs one
CURVES = ('#4078c0', '#e88c30', '#4c9e6e', '#b85478', '#7866ac', '#8c7854', '#389aa6', '#80899a')


class Curves:
    """The curves of one view: torques, energies, and the loop error."""

    # `source` and `gui` are Any as in panel.py
    def __init__(self, gui: Any, source: Any, do: Callable[..., None]) -> None:
        self.gui, self._source = gui, source
        self._level: float | None = None  # of the potential energy, when it was first seen
        names = self._source.robot.actuator_names
        groups = [names[k : k + MOST_CURVES] for k in range(0, len(names), MOST_CURVES)]
        self._torques = {f'{group[0]} to {group[-1]}': group for group in groups}
        self.group = None
        if len(groups) > 1:
            self.group = self.gui.add_dropdown('torques of', list(self._torques))
            self.group.on_update(lambda _: do(self._regroup))
        self.shown = {}
        if names:
            self.shown['torques'] = self._plot(
                'torques of the motors [N m or N]', self._shown_torques()
            )
        self.shown['energy'] = self._plot(
            'energy, potential from the start on [J]', ('kinetic', 'potential', 'sum')
        )
        self.shown['error'] = self._plot('loop error, power of ten [m or rad]', ('error',))

    def _plot(self, title: str, names: Sequence[str]) -> Any:
        return self.gui.add_uplot(
            tuple(np.zeros(1) for _ in range(len(names) + 1)),
            _series(names),
            title=title,
            aspect=1.7,
            scales={'x': uplot.Scale(time=False)},
            legend=uplot.Legend(show=True),
        )

    def _shown_torques(self) -> list[str]:
        names: list[str] = self._torques[
            self.group.value if self.group else next(iter(self._torques))
        ]
        return names

    def _regroup(self) -> None:
        self.shown['torques'].series = _series(self._shown_torques())
        self._source.version += 1

    def update(self, table: Vector) -> None:
        """Draw samples, one row each: see History."""
        if not len(table):
            return
        if self._level is None:
            self._level = table[0, 2]
        time, kinetic, potential, error = table[:, :4].T
        potential = potential - self._level
        self.shown['energy'].data = _columns(time, kinetic, potential, kinetic + potential)
        self.shown['error'].data = _columns(time, np.log10(np.maximum(error, SMALLEST_ERROR)))
        if 'torques' in self.shown:
            names = self._source.robot.actuator_names
            chosen = [names.index(name) + 4 for name in self._shown_torques()]
            self.shown['torques'].data = _columns(time, *table[:, chosen].T)


def _columns(*arrays: Vector) -> tuple[Vector, ...]:
    return tuple(np.ascontiguousarray(array, dtype=float) for array in arrays)


def _series(names: Iterable[str]) -> tuple[Any, ...]:
    return (
        uplot.Series(label='t'),
        *(uplot.Series(label=name, stroke=colour, width=2) for name, colour in zip(names, CURVES)),
    )
