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

"""A figure of a log: how it moved, where the energy went, how well the loops held."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.recording.colours import EVENT_COLOURS, INK, Colour, web
from closed_chain_dynamics.recording.events import Event
from closed_chain_dynamics.recording.log import Log
from closed_chain_dynamics.recording.log_files import Path
from closed_chain_dynamics.recording.panels import (
    LINE_COLOURS,
    Column,
    add_legend,
    draw_line,
    draw_lines,
    draw_panels,
)

__all__ = ['plot_log']


LOWEST_ERROR = 1e-18  # below this an error is nothing
MOST_LABELS = 12  # event names that fit side by side
LABEL_SLANT = 30.0  # [deg]
LABEL_LETTER, LABEL_LINE = 2.2, 9.0  # height of a letter of a slanting label, of a line [points]
LABELS_APART = 0.045  # share of the run that a line of a slanting label takes


def plot_log(
    log: Log, path: Path | None = None, *, size: tuple[float, float] = (9.0, 9.5), dpi: int = 130
) -> Any:
    """
    Return one figure of a log, and write it where a path is given: .png, .svg or .pdf.

    Panels: positions that turn, positions that slide, energies, the change of their balance, and
    the loop error; events are vertical lines with their names. `size` in inches.
    """

    def finish(axes: Sequence[Any]) -> None:
        for ax in axes:
            _mark_events(ax, log.events)
        _name_events(axes[0], log)

    return draw_panels(
        path,
        [(partial(draw, log=log), height) for draw, height in _panels(log)],
        log.time,
        log.robot.name,
        size=size,
        dpi=dpi,
        finish=finish,
    )


def _panels(log: Log) -> list[tuple[Callable[..., object], float]]:
    """Return the panels that this log has something for: a drawing function and its height."""
    groups = (('angle [rad]', 'Joint angles'), ('position [m]', 'Joint positions'))
    panels: list[tuple[Callable[..., object], float]] = [
        (partial(_positions, columns=columns, unit=unit, title=title), 3)
        for columns, (unit, title) in zip(_grouped(log), groups)
        if columns
    ]
    panels += [(_energies, 3), (_balance, 1.6)]
    if np.any(log.loop_error > 0.0):
        panels.append((_loop_error, 1.6))
    return panels


def _grouped(log: Log) -> tuple[list[Column], list[Column]]:
    """Return (label, values) of positions that turn and of those that slide."""
    names, values = log.table('q')
    turning: list[Column] = []
    sliding: list[Column] = []
    slides = {
        joint.name for joint in log.robot.description.joints if joint.type.value == 'prismatic'
    }
    for name, column in zip(names, values.T):
        joint, _, part = name.rpartition(':')
        if joint in log.robot.joint_names and part in ('qx', 'qy', 'qz', 'qw', 'cos', 'sin'):
            if part in ('qw', 'cos'):
                turning.append((f'{joint}, turned by', _turned(joint, names, values)))
        elif name in slides or (joint in log.robot.joint_names and part in ('x', 'y', 'z')):
            sliding.append((name, column))
        else:
            turning.append((name, column))
    return turning, sliding


def _turned(joint: str, names: list[str], values: Array) -> Array:
    """Return the angle between an orientation and the neutral one, over time [rad]."""

    def part(suffix: str) -> Array:
        return values[:, names.index(f'{joint}:{suffix}')]

    if f'{joint}:cos' in names:
        return np.unwrap(np.arctan2(part('sin'), part('cos')))
    axis = np.sqrt(sum(part(each) ** 2 for each in ('qx', 'qy', 'qz')))
    return 2.0 * np.arctan2(axis, np.abs(part('qw')))


def _positions(ax: Any, log: Log, columns: Sequence[Column], unit: str, title: str) -> None:
    draw_lines(ax, log.time, columns, unit, title)


def _energies(ax: Any, log: Log) -> None:
    lowest = log.potential.min()  # its zero is arbitrary, and may be far from what moves
    series = [
        ('kinetic', log.kinetic),
        ('potential', log.potential - lowest),
        ('total', log.energy - lowest),
        ('work put in', log.work),
        ('dissipated', log.dissipated),
        ('lost at events', log.lost),
    ]
    colours = dict(
        zip(
            (name for name, _ in series),
            (LINE_COLOURS[0], LINE_COLOURS[1], web(INK), *LINE_COLOURS[2:]),
        )
    )
    for name, values in series:
        if name in ('kinetic', 'potential', 'total') or np.any(values != 0.0):
            draw_line(
                ax,
                log.time,
                values,
                label=name,
                color=colours[name],
                linestyle='-' if name in ('kinetic', 'potential', 'total') else '--',
            )
    ax.set_ylabel('energy [J]')
    ax.set_title('Energies (potential above its lowest)')
    add_legend(ax)


def _balance(ax: Any, log: Log) -> None:
    balance = log.balance
    draw_line(ax, log.time, balance - balance[:1], color=LINE_COLOURS[3])
    ax.set_ylabel('drift [J]')
    ax.set_title('Energy balance (energy + dissipated + lost - work), change since the start')
    ax.ticklabel_format(axis='y', style='sci', scilimits=(-2, 3))


def _loop_error(ax: Any, log: Log) -> None:
    # Rounding has no course in time: dots, not a line.
    error = np.where(log.loop_error > 0.0, log.loop_error, np.nan)  # zero has no logarithm
    draw_line(
        ax,
        log.time,
        error,
        color=LINE_COLOURS[4],
        linestyle='',
        marker='.',
        markersize=2,
        markeredgewidth=0,
        rasterized=True,
    )
    ax.set_yscale('log')
    ax.set_ylim(bottom=LOWEST_ERROR)
    ax.set_ylabel('[m or rad]')
    ax.set_title('Largest loop error')


def _mark_events(ax: Any, events: Iterable[Event]) -> None:
    for event in events:
        ax.axvline(
            event.time,
            color=web(EVENT_COLOURS.get(event.kind, INK)),
            linewidth=0.9,
            linestyle=(0, (4, 2)),
            zorder=1,
        )


def _name_events(ax: Any, log: Log) -> None:
    """Write the names above the panel, clear of its curves; lines close together share a label."""
    groups: list[tuple[float, dict[str, Colour]]] = []
    time = log.time
    line = LABELS_APART * (time[-1] - time[0]) if len(time) else 0.0
    for event in sorted(log.events, key=lambda event: event.time):
        name = f'{event.kind.replace("_", " ")} {event.name}'
        if groups and event.time - groups[-1][0] <= line * len(groups[-1][1]):
            _, names = groups.pop()
        else:
            names = {}
        names[name] = EVENT_COLOURS.get(event.kind, INK)
        groups.append((event.time, names))
    if len(groups) > MOST_LABELS:
        return
    for when, names in groups:
        colours = set(names.values())
        ax.annotate(
            '\n'.join(names),
            (when, 1.0),
            xycoords=('data', 'axes fraction'),
            xytext=(0, 3),
            textcoords='offset points',
            fontsize=7.5,
            va='bottom',
            rotation=LABEL_SLANT,
            rotation_mode='anchor',
            color=web(colours.pop() if len(colours) == 1 else INK),
        )
    if groups:
        letters = max(len(name) for _, names in groups for name in names)
        lines = max(len(names) for _, names in groups)
        ax.set_title(
            ax.get_title(loc='left'), pad=LABEL_LETTER * letters + LABEL_LINE * lines + 3.0
        )
