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
The log of a simulation: samples in arrays, events beside them.

Samples are kept in segments of one structure each. Within a segment q and v have one width, and
its mechanism can be had again, connected as it was, for whatever is computed afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.dynamics.wording import plural
from closed_chain_dynamics.errors import NameNotFound
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.recording.camera import FILM_SIZE
from closed_chain_dynamics.recording.events import Event
from closed_chain_dynamics.recording.segments import (
    LogSegment,
    WrenchesByLink,
    joint_part,
    joint_width,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from closed_chain_dynamics.dynamics.reaction_values import Reaction
    from closed_chain_dynamics.recording.camera import View
    from closed_chain_dynamics.recording.log_files import Path
    from closed_chain_dynamics.recording.terminal import Progress

__all__ = ['COLUMNS', 'DRIFT_WORTH_A_WARNING', 'Log']


DRIFT_WORTH_A_WARNING = 1e-3  # of the energy balance, share of what was exchanged
COLUMNS = ('time', 'kinetic', 'potential', 'work', 'dissipated', 'loop_error')
WIDTHS: dict[str, Callable[[Mechanism], int]] = {
    'q': lambda robot: robot.nq,
    'v': lambda robot: robot.nv,
    'tau': lambda robot: len(robot.actuator_names),
}


def _column(name: str, about: str) -> property:
    return property(lambda log: log._joined('rows')[:, COLUMNS.index(name)].copy(), doc=about)


class Log:
    """
    Samples of a run: time, q, v, torques, energies, loop error; and the events.

    Every attribute is an array with one row per sample. At an event there are two samples of the
    same time: before and after. Where cutting a joint of the tree has changed the number of
    coordinates, `q`, `v` and `tau` are lists of arrays, one per stretch of equal width;
    `joint`, `velocity`, `table` and all files cover the whole run in either case.
    """

    time = _column('time', 'Time of every sample [s].')
    kinetic = _column('kinetic', 'Kinetic energy of every sample [J].')
    potential = _column('potential', 'Potential energy: gravity, springs and limits [J].')
    work = _column('work', 'Work that motors and external forces have put in [J].')
    dissipated = _column('dissipated', 'Energy that damping and friction have taken [J].')
    loop_error = _column('loop_error', 'Largest error of all closed loops [m or rad].')

    def __init__(self, robot: Mechanism) -> None:
        self.robot = robot
        self.events: list[Event] = []
        self.segments: list[LogSegment] = []
        self._reactions: dict[tuple[str, int, int], list[dict[str, Reaction]]] = {}

    def append(
        self,
        rows: Array,
        q: Array,
        v: Array,
        lost: float,
        tau: Sequence[float] | Array | None = None,
        wrenches: WrenchesByLink | None = None,
    ) -> None:
        """
        Add samples: rows as the kernels write them, configurations, velocities, energy lost.

        `tau` (actuators,) are the torques of the step that led here; None, where there was none,
        borrows those of the step that follows. `wrenches`: the external ones, {link: (6,)}.
        """
        count = len(rows)
        torques = np.full((count, len(self.robot.actuator_names)), np.nan if tau is None else tau)
        self._segment(wrenches or {}).add(
            rows=np.array(rows),
            q=np.array(q),
            v=np.array(v),
            lost=np.full(count, lost),
            tau=torques,
        )

    def _segment(self, wrenches: WrenchesByLink) -> LogSegment:
        """Return the segment for the present structure: the last one, or a new one."""
        robot, structure = self.robot, self.robot.connections()
        last = self.segments[-1] if self.segments else None
        if last is not None and last.template.model is not robot.model:
            last = None
        if (
            last is not None
            and last.structure == structure
            and _same_wrenches(last.wrenches, wrenches)
        ):
            return last
        # One copy serves all structures: events may be very many.
        template = last.template if last is not None else robot.copy()
        kept = {link: np.array(wrench) for link, wrench in wrenches.items()}
        self.segments.append(LogSegment(template, structure, kept))
        return self.segments[-1]

    def __repr__(self) -> str:
        return f'Log({self.robot.name}, {self.extent()}, {plural(len(self.events), "event")})'

    def extent(self) -> str:
        """Return how many samples there are, and of which times, in words."""
        time = self.time
        return f'{len(time)} samples' + (f', {time[0]:g} to {time[-1]:g} s' if len(time) else '')

    def _repr_html_(self) -> str:
        from closed_chain_dynamics.recording.log_shown import shown_log

        return shown_log(self)

    def __len__(self) -> int:
        return sum(map(len, self.segments))

    def _joined(self, name: str) -> Array:
        """Return what has the same width in every segment, as one array."""
        shape = (0, len(COLUMNS)) if name == 'rows' else (0,)
        return np.concatenate([np.zeros(shape), *(segment.get(name) for segment in self.segments)])

    def _stretches(self, what: str) -> list[Array]:
        """Return q, v or tau as a list of arrays, one per stretch of equal width."""
        groups: list[list[Array]] = []
        for segment in self.segments:
            values = segment.get(what)
            if groups and groups[-1][-1].shape[1] == values.shape[1]:
                groups[-1].append(values)
            else:
                groups.append([values])
        return [np.concatenate(group) for group in groups]

    def _array(self, what: str) -> Array | list[Array]:
        empty: Array = np.zeros((0, WIDTHS[what](self.robot)))
        arrays = self._stretches(what) or [empty]
        arrays = [_held(each) for each in arrays] if what == 'tau' else arrays
        return arrays[0] if len(arrays) == 1 else arrays

    @property
    def q(self) -> Array | list[Array]:
        """Return the configuration of every sample, (samples, nq), or a list of such arrays."""
        return self._array('q')

    @property
    def v(self) -> Array | list[Array]:
        """Return the velocities of every sample, (samples, nv), or a list of such arrays."""
        return self._array('v')

    @property
    def tau(self) -> Array | list[Array]:
        """Return the torques of the step to each sample, (samples, actuators), or a list."""
        return self._array('tau')

    @property
    def lost(self) -> Array:
        """Return the energy lost at connections [J]."""
        return self._joined('lost')

    @property
    def energy(self) -> Array:
        """Return kinetic plus potential energy of every sample [J]."""
        energy: Array = self.kinetic + self.potential
        return energy

    @property
    def balance(self) -> Array:
        """Return what stays constant: energy + dissipated + lost - work [J]."""
        balance: Array = self.energy + self.dissipated + self.lost - self.work
        return balance

    # --- by name -------------------------------------------------------------------------------
    def table(self, what: str) -> tuple[list[str], Array]:
        """Return names and one array (samples, names) of 'q', 'v' or 'tau'; NaN: not there."""
        names = list(
            dict.fromkeys(name for segment in self.segments for name in segment.names(what))
        )
        values = np.full((len(self), len(names)), np.nan)
        rows = self.rows(what)
        for segment, samples in self.spans():
            places = [names.index(name) for name in segment.names(what)]
            values[samples, places] = [next(rows) for _ in range(len(segment))]
        return names, values

    def rows(self, what: str) -> Iterator[Array]:
        """Yield 'q', 'v' or 'tau' of one sample after the other, each as wide as it is then."""
        arrays = self._array(what)
        return chain.from_iterable(arrays if isinstance(arrays, list) else [arrays])

    def spans(self) -> Iterator[tuple[LogSegment, slice]]:
        """Yield each segment and the slice of samples that it holds."""
        start = 0
        for segment in self.segments:
            yield segment, slice(start, start + len(segment))
            start += len(segment)

    def joint(self, name: str) -> Array:
        """
        Return the positions of a joint, tree or loop, over time [rad or m].

        (samples,) for a joint of one coordinate, else (samples, numbers of the joint in q); NaN
        while a joint of the tree is cut.
        """
        return self._of_joint(name, 0)

    def velocity(self, name: str) -> Array:
        """Return the velocities of a joint over time [rad/s or m/s], as `joint` does."""
        return self._of_joint(name, 1)

    def _of_joint(self, name: str, place: int) -> Array:
        """Return the joint's part of q (place 0) or of v (1)."""
        width = joint_width(self.robot, name, place)
        values = np.full((len(self), width), np.nan)
        for segment, samples in self.spans():
            found = joint_part(segment, name, place)
            if found.shape[1] == width:  # a joint that is cut has the coordinates of a free one
                values[samples] = found
        return values[:, 0] if width == 1 else values

    def reactions(self, joint: str, *, frame: str = 'world', every: int = 1) -> Array:
        """
        Return force and moment in a joint, tree or loop, over time, (samples, 6) [N, N m].

        On the child, as `ccd.reactions` gives them, with the torques and wrenches of the log;
        zero in a joint that is cut. They are computed when first asked for; `every` takes every
        so many-th sample only.
        """
        model = self.robot.description
        known = [each.name for each in model.all_joints]
        if joint not in known:
            raise NameNotFound('joint', joint, known, where=self.robot.name)
        from closed_chain_dynamics.recording.log_reactions import logged_reactions

        key = (frame, every, len(self))
        if key not in self._reactions:
            self._reactions = {key: logged_reactions(self, frame, every)}
        return np.array([sample[joint].wrench for sample in self._reactions[key]])

    # --- files -----------------------------------------------------------------------------------
    def to_csv(self, path: Path) -> None:
        """Write one line per sample: time, energies, loop error, q, v, torques and events."""
        from closed_chain_dynamics.recording.log_files import write_csv

        write_csv(self, path)

    def to_npz(self, path: Path) -> None:
        """Write all arrays, their names and the events for `numpy.load`."""
        from closed_chain_dynamics.recording.log_files import write_npz

        write_npz(self, path)

    def to_mcap(self, path: Path) -> None:
        """Write ROS 2 messages: one MCAP file where the path ends so, else a rosbag2 folder."""
        from closed_chain_dynamics.recording.mcap import write_mcap

        write_mcap(self, path)

    def plot(self, path: Path | None = None) -> Figure:
        """
        Return a figure of motion, energies, loop error and events, which a notebook shows.

        Where a path is given (.png, .svg, .pdf) it is written as well.
        """
        from closed_chain_dynamics.recording.plots import plot_log

        figure: Figure = plot_log(self, path)
        return figure

    def record(
        self,
        path: Path,
        *,
        fps: float = 25,
        size: tuple[int, int] = FILM_SIZE,
        view: View = None,
        speed: float = 1.0,
        progress: Progress | None = None,
    ) -> list[str]:
        """
        Write an animation (.gif, .mp4); return notes on what could not be drawn.

        `fps`: pictures per second; `size` [pixels]; `view`: 'front', 'side', 'top', 'corner', or
        azimuth and elevation [deg]; `speed`: below 1 is slow motion; `progress(share)`.
        """
        from closed_chain_dynamics.recording.animation import record

        return record(self, path, fps=fps, size=size, view=view, speed=speed, progress=progress)


def _same_wrenches(one: WrenchesByLink, other: WrenchesByLink) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[k], other[k]) for k in one)


def _held(tau: Array) -> Array:
    """Fill samples without a step: from the next step, else the last one, else zero."""
    unknown = np.isnan(tau).any(axis=1)
    steps = np.flatnonzero(~unknown)
    if steps.size and unknown.any():
        tau[unknown] = tau[
            steps[np.searchsorted(steps, np.flatnonzero(unknown)).clip(max=steps.size - 1)]
        ]
    return np.nan_to_num(tau)
