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
Figures of any numbers over time: panels, their looks, and the files that they are written to.

What a panel shows is decided by who draws into it: plots.py for a log, others for their studies.
"""

from collections.abc import Callable, Sequence
from functools import cache
import io
from pathlib import Path as File
from typing import Any

import numpy as np

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.recording.colours import INK, web
from closed_chain_dynamics.recording.log_files import Path, check_folder, writing

__all__ = [
    'LINE_COLOURS',
    'Column',
    'Panel',
    'add_legend',
    'check_plot',
    'draw_grid',
    'draw_line',
    'draw_lines',
    'draw_panels',
]

Column = tuple[str, Array]  # label and values
Panel = tuple[Callable[[Any], object], float]  # what draws into axes, and its height
FIGURE_FORMATS = ('.png', '.svg', '.pdf')
MOST_LINES = 8  # lines of a panel that can still be told apart
MOST_PLOTTED = 4000  # more than a figure has pixels across
LONG_LEGEND = 6  # entries; a longer one is set smaller, or it would squeeze its panel
LINE_COLOURS = (
    '#1f5fa8',
    '#e07b1a',
    '#2e8b57',
    '#b8336a',
    '#6a4fa3',
    '#8a6d3b',
    '#148f9e',
    '#5c6670',
)
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
        import matplotlib.figure  # which finds what writes a kind of file when one is written
    except ImportError:
        raise ClosedChainError(
            'plotting needs the library matplotlib', repair='Install it: pip install matplotlib.'
        ) from None
    return matplotlib


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


def draw_line(ax: Any, time: Array, values: Array, **looks: Any) -> None:
    """Draw a line with no more points than can be seen."""
    stride = max(1, -(-len(time) // MOST_PLOTTED))
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
        draw_line(ax, time, values, color=LINE_COLOURS[place], label=label)
    if len(columns) > len(shown):
        ax.plot([], [], ' ', label=f'and {len(columns) - len(shown)} {hidden}')
    ax.set_ylabel(unit)
    ax.set_title(title)
    add_legend(ax)
    return {columns[number][0]: LINE_COLOURS[place] for place, number in enumerate(shown)}


def add_legend(ax: Any) -> None:
    """Set the legend beside the panel, a long one smaller."""
    looks = (
        {'fontsize': 7, 'labelspacing': 0.15}
        if len(ax.get_legend_handles_labels()[1]) > LONG_LEGEND
        else {}
    )
    ax.legend(loc='upper left', bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2, **looks)
