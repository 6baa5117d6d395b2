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

"""What ``closed-chain study map`` says: a dict for ``--json``, text, a table and a figure."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.dynamics.wording import listed
from closed_chain_dynamics.recording.log_files import Path, write_columns
from closed_chain_dynamics.recording.panels import LINE_COLOURS, draw_grid
from closed_chain_dynamics.recording.terminal import (
    Report,
    Style,
    closing_sections,
    number,
    sections,
    table,
)
from closed_chain_dynamics.studies.maps import WorkspaceMap

__all__ = ['map_report', 'plot_map', 'render', 'write_map']

SCHEMA = 'closed-chain-study-map/1'  # a key that is added keeps it, one that changes ends it
PANELS = {
    'modes': 'Assembly modes',
    'distance': 'Distance to a singularity',
    'condition': 'Condition of the loops',
    'torque': 'Torque against gravity [N m or N]',
}


def map_report(found: WorkspaceMap) -> Report:
    """Return what a WorkspaceMap says, as plain values."""
    modes, poses = found.modes, [row for row in found.rows if row.q is not None]
    nearest = min(poses, key=lambda row: row.distance, default=None)
    return {
        'schema': SCHEMA,
        'name': found.robot.name,
        'file': found.robot.description.file,
        'axes': {name: values.tolist() for name, values in found.axes.items()},
        'points': int(modes.size),
        'reachable': int((modes > 0).sum()),
        'modes': {str(n): int((modes == n).sum()) for n in np.unique(modes)},
        'branches': {each: sum(row.branch == each for row in poses) for each in found.branches},
        'mobility': sorted({row.mobility for row in poses}),
        'nearest_singularity': nearest
        and {
            'at': dict(zip(found.axes, nearest.values)),
            'branch': nearest.branch,
            'distance': nearest.distance,
        },
        'largest_torque': _largest([row.torque for row in poses]),
        'files': {},
        'warnings': _warnings(found),
    }


def _warnings(found: WorkspaceMap) -> list[str]:
    loose = found.open_joints
    if not any(row.q is not None for row in found.rows):
        return ['No point of the map is reachable.']
    if not loose:
        return []
    example = ' '.join(f'{joint}=0' for joint in loose)
    return [
        f'The joints of the map do not determine {listed(loose)}, so poses that differ only in '
        f'these count as assembly modes. Hold them, for example with --q {example}.'
    ]


def _largest(torques: list[float]) -> float | None:
    good = [each for each in torques if each == each]
    return max(good) if good else None


def render(report: Report, style: Style) -> str:
    """Return a report as text."""
    near = report['nearest_singularity']
    modes = [f'{k} at {v} point{"s" * (v != 1)}' for k, v in report['modes'].items()]
    facts = [
        ['reachable', f'{report["reachable"]} of {report["points"]} points'],
        ['assembly modes', ', '.join(modes)],
        ['branches', ', '.join(f'{k}: {v} poses' for k, v in report['branches'].items())],
        ['mobility', ', '.join(map(str, report['mobility']))],
    ]
    if near:
        at = ', '.join(f'{name} {number(value)}' for name, value in near['at'].items())
        facts.append(['nearest to a singularity', f'{number(near["distance"])} at {at}'])
    if report['largest_torque'] is not None:
        facts.append(['largest torque against gravity', number(report['largest_torque'])])
    return sections(
        [
            ('', [style.paint(report['name'], 'bold')]),
            (f'Map over {", ".join(report["axes"])}', table(['', ''], facts, style)[1:]),
            *closing_sections(report, style),
        ],
        style,
    )


def write_map(found: WorkspaceMap, path: Path) -> None:
    """
    Write one line per pose; a point without one has no numbers, and mode and branch 0.

    `branch` counts the branches in the order of the report: one number is one assembly mode.
    """
    names = [f'q:{each}' for each in found.robot.coordinate_names]
    nothing = np.full(found.robot.nq, np.nan)
    modes: dict[tuple[int, ...], int] = {}
    numbers = []
    for row in found.rows:
        modes[row.point] = modes.get(row.point, 0) + (row.q is not None)
        numbers.append(modes[row.point])
    rows = found.rows
    columns: list[tuple[str, Any]] = [
        (name, np.array([row.values[k] for row in rows])) for k, name in enumerate(found.axes)
    ]
    places = {branch: float(k + 1) for k, branch in enumerate(found.branches)}
    columns.append(('mode', np.array(numbers, dtype=float)))
    columns.append(('branch', np.array([places.get(row.branch, 0.0) for row in rows])))
    for what in ('mobility', 'condition', 'distance', 'torque'):
        columns.append((what, np.array([float(getattr(row, what)) for row in rows])))
    if found.robot.nq == len(names):
        q = np.array([nothing if row.q is None else row.q for row in rows])
        columns += list(zip(names, q.T))
    write_columns(path, columns)


def plot_map(found: WorkspaceMap, path: Path | None = None) -> Any:
    """
    Return a figure of a WorkspaceMap; write it where a path is given.

    Over one coordinate there is a line for each branch; over two, the best branch at each point.
    """
    panels = [partial(_draw, found=found, what=what) for what in PANELS]
    return draw_grid(path, panels, across=2, size=(4.4, 3.4), title=found.robot.name)


def _draw(ax: Any, found: WorkspaceMap, what: str) -> None:
    names, title = list(found.axes), PANELS[what]
    ax.set_title(f'{title} (log10)' if what == 'condition' else title)
    ax.set_xlabel(names[0])
    if len(names) == 1:
        _draw_lines(ax, found, what)
        return
    ax.grid(False)
    values = _values(found, what)
    mesh = ax.pcolormesh(*found.axes.values(), values.T, shading='nearest', rasterized=True)
    bar = ax.figure.colorbar(mesh, ax=ax)
    if what == 'modes':  # a number of poses
        bar.set_ticks(np.unique(values).tolist())
    ax.set_ylabel(names[1])


def _draw_lines(ax: Any, found: WorkspaceMap, what: str) -> None:
    """Draw what happens along one coordinate: branches cross, and none is mixed with another."""
    (points,) = found.axes.values()
    if what == 'modes':
        ax.plot(points, found.modes, '.-', markersize=3, color=LINE_COLOURS[0])
        ax.set_yticks(range(found.modes.max() + 2))
        return
    for k, branch in enumerate(found.branches):
        values = _values(found, what, branch)
        colour = LINE_COLOURS[k % len(LINE_COLOURS)]
        ax.plot(points, values, '.-', markersize=3, color=colour, label=branch)
    if len(found.branches) > 1:
        ax.legend(title='branch', fontsize='small', title_fontsize='small')


def _values(found: WorkspaceMap, what: str, branch: str | None = None) -> NDArray[np.float64]:
    if what == 'modes':
        return found.modes.astype(float)
    values = found.best(what, branch)
    return np.log10(values) if what == 'condition' else values
