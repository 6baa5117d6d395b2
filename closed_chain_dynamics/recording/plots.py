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
from functools import cache, partial
import io
from pathlib import Path as File
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.recording.colours import EVENT_COLOURS, INK, Colour, web
from closed_chain_dynamics.recording.events import Event
from closed_chain_dynamics.recording.log import Log
from closed_chain_dynamics.recording.log_files import Path, check_folder, writing

__all__ = ['check_plot', 'draw_grid', 'draw_lines', 'draw_panels', 'plot_log']

Array = NDArray[np.float64]
Column = tuple[str, Array]  # label and values
Panel = tuple[Callable[[Any], object], float]  # what draws into axes, and its height

FIGURE_FORMATS = ('.png', '.svg', '.pdf')
MOST_LINES = 8  # lines of a panel that can still be told apart
MOST_POINTS = 4000  # more than a figure has pixels across
LOWEST_ERROR = 1e-18  # below this an error is nothing
MOST_LABELS = 12  # event names that fit side by side
LABEL_SLANT = 30.0  # [deg]
LABEL_LETTER, LABEL_LINE = 2.2, 9.0  # height of a letter of a slanting label, of a line [points]
LABELS_APART = 0.045  # share of the run that a line of a slanting label takes
LONG_LEGEND = 6  # entries; a longer one is set smaller, or it would squeeze its panel
COLOURS = ('#1f5fa8', '#e07b1a', '#2e8b57', '#b8336a', '#6a4fa3', '#8a6d3b', '#148f9e', '#5c6670')
STYLE = {
    'font.size': 9,
    'axes.titlesize': 10,
    'axes.titleweight': 'bold',
    'axes.titlelocation': 'left',
    'axes.edgecolor': '#8a919c',
    'axes.labelcolor': web(INK),
    'text.color': web(INK),
    'xtick.color': web(INK),
    'ytick.color': web(INK),
    'axes.spines.top': False,
    'axes.spines.right': False,
    'axes.grid': True,
    'grid.color': '#d9dde3',
    'grid.linewidth': 0.6,
    'lines.linewidth': 1.4,
    'legend.frameon': False,
    'legend.fontsize': 8,
    'svg.hashsalt': 'closed_chain_dynamics',
}


def check_plot(path: Path) -> None:
    """Refuse, before any work, a path that cannot be written to or a library that is missing."""
    _matplotlib()
    if File(path).suffix.lower() not in FIGURE_FORMATS:
        raise ClosedChainError(
            'a figure of this kind cannot be written',
            file=path,
            repair=f'End the name in {", ".join(FIGURE_FORMATS)}.',
        )
    check_folder(path)


def _matplotlib() -> Any:
    try:
        import matplotlib
        from matplotlib.backends import backend_agg, backend_pdf, backend_svg  # noqa: F401
    except ImportError:
        raise ClosedChainError(
            'plotting needs the library matplotlib', repair='Install it: pip install matplotlib.'
        ) from None
    return matplotlib


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


def draw_panels(
    path: Path | None,
    panels: Sequence[Panel],
    time: Array,
    title: str,
    *,
    size: tuple[float, float] = (9.0, 9.5),
    dpi: int = 130,
    finish: Callable[[Sequence[Any]], object] | None = None,
) -> Any:
    """
    Return a figure of panels over one time axis; write it where a path is given, its kind by name.

    `panels`: functions that draw into axes, each with its height; `finish(axes)` has the last
    word.
    """
    if path is not None:
        check_plot(path)
    with _matplotlib().rc_context(STYLE):
        figure = _figure_class()(figsize=size, layout='constrained')
        heights = [height for _, height in panels]
        axes = figure.subplots(
            len(panels), 1, sharex=True, squeeze=False, gridspec_kw={'height_ratios': heights}
        )[:, 0]
        for ax, (draw, _) in zip(axes, panels):
            draw(ax)
        if len(time) and time[-1] > time[0]:
            axes[-1].set_xlim(time[0], time[-1])
        axes[-1].set_xlabel('time [s]')
        figure.align_ylabels(axes)
        if finish:
            finish(axes)
        figure.suptitle(title, x=0.012, ha='left', fontweight='bold', fontsize=13)
        if path is not None:
            _save(figure, path, dpi)
    return figure


def _save(figure: Any, path: Path, dpi: int) -> None:
    # A date in the file would make equal runs give unequal files.
    dated = {'.svg': {'Date': None}, '.pdf': {'CreationDate': None}}
    suffix = File(path).suffix.lower()
    with writing(path):
        figure.savefig(path, dpi=dpi, format=suffix[1:], metadata=dated.get(suffix))


def draw_grid(
    path: Path | None,
    panels: Sequence[Callable[[Any], object]],
    *,
    across: int = 3,
    size: tuple[float, float] = (3.2, 2.5),
    title: str = '',
    dpi: int = 110,
) -> Any:
    """
    Return a figure of panels side by side, each with axes of its own; `size` of one in inches.

    Where a path is given it is written as well.
    """
    if path is not None:
        check_plot(path)
    with _matplotlib().rc_context(STYLE):
        across = min(across, len(panels))
        down = -(-len(panels) // across)
        figure = _figure_class()(figsize=(across * size[0], down * size[1]), layout='constrained')
        axes = figure.subplots(down, across, squeeze=False).ravel()
        for ax, draw in zip(axes, panels):
            draw(ax)
        for ax in axes[len(panels) :]:
            ax.set_visible(False)
        if title:
            figure.suptitle(title, x=0.012, ha='left', fontweight='bold', fontsize=12)
        if path is not None:
            _save(figure, path, dpi)
    return figure


@cache
def _figure_class() -> Any:
    """Return a figure that a notebook shows by itself; not of pyplot, which is global."""
    from matplotlib.figure import Figure

    class ShownFigure(Figure):
        def _repr_png_(self) -> bytes:
            picture = io.BytesIO()
            self.savefig(picture, format='png')
            return picture.getvalue()

    return ShownFigure


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


def _line(ax: Any, time: Array, values: Array, **looks: Any) -> None:
    """Draw a line with no more points than can be seen."""
    stride = max(1, -(-len(time) // MOST_POINTS))
    ax.plot(time[::stride], values[::stride], **looks)


def draw_lines(
    ax: Any,
    time: Array,
    columns: Sequence[Column],
    unit: str,
    title: str,
    hidden: str = 'with less motion',
) -> dict[str, str]:
    """Draw those of some (label, values) that change most; return {label: colour}."""
    spread = [
        np.nanmax(values) - np.nanmin(values) if len(values) else 0.0 for _, values in columns
    ]
    shown = sorted(np.argsort(spread, kind='stable')[::-1][:MOST_LINES])
    for place, number in enumerate(shown):
        label, values = columns[number]
        _line(ax, time, values, color=COLOURS[place], label=label)
    if len(columns) > len(shown):
        ax.plot([], [], ' ', label=f'and {len(columns) - len(shown)} {hidden}')
    ax.set_ylabel(unit)
    ax.set_title(title)
    _legend(ax)
    return {columns[number][0]: COLOURS[place] for place, number in enumerate(shown)}


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
        zip((name for name, _ in series), (COLOURS[0], COLOURS[1], web(INK), *COLOURS[2:]))
    )
    for name, values in series:
        if name in ('kinetic', 'potential', 'total') or np.any(values != 0.0):
            _line(
                ax,
                log.time,
                values,
                label=name,
                color=colours[name],
                linestyle='-' if name in ('kinetic', 'potential', 'total') else '--',
            )
    ax.set_ylabel('energy [J]')
    ax.set_title('Energies (potential above its lowest)')
    _legend(ax)


def _balance(ax: Any, log: Log) -> None:
    balance = log.balance
    _line(ax, log.time, balance - balance[:1], color=COLOURS[3])
    ax.set_ylabel('drift [J]')
    ax.set_title('Energy balance (energy + dissipated + lost - work), change since the start')
    ax.ticklabel_format(axis='y', style='sci', scilimits=(-2, 3))


def _loop_error(ax: Any, log: Log) -> None:
    # Rounding has no course in time: dots, not a line.
    error = np.where(log.loop_error > 0.0, log.loop_error, np.nan)  # zero has no logarithm
    _line(
        ax,
        log.time,
        error,
        color=COLOURS[4],
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


def _legend(ax: Any) -> None:
    looks = (
        {'fontsize': 7, 'labelspacing': 0.15}
        if len(ax.get_legend_handles_labels()[1]) > LONG_LEGEND
        else {}
    )
    ax.legend(loc='upper left', bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2, **looks)


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
