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
Recorded markers: points over time by name, from TRC, C3D or BVH files, in metres with z up.

A TRC file is a table with tabs: a line with the names of settings, one with their values, a line
with the names of the markers, one with X1 Y1 Z1 ..., then a line per frame. C3D is read by ezc3d.
"""

from collections.abc import Callable
from dataclasses import dataclass
from os import fspath
from typing import Any

import numpy as np

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.errors import ClosedChainError, NameNotFound
from closed_chain_dynamics.recording.log_files import Path
from closed_chain_dynamics.studies.motion.bvh import read_bvh
from closed_chain_dynamics.studies.motion.reading import FEWEST_SAMPLES

__all__ = ['MarkerRecord', 'read_markers']

UNITS = {'m': 1.0, 'meters': 1.0, 'metres': 1.0, 'dm': 0.1, 'cm': 1e-2, 'mm': 1e-3}
FILE_AXES = {  # from those of a file to x, y, z with z up; x stays
    'z': ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    'y': ((1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0)),
}


@dataclass(frozen=True, eq=False)
class MarkerRecord:
    """Points over time, (frames, markers, 3) [m], z up; NaN where a marker was not seen."""

    file: str
    time: Array
    names: tuple[str, ...]
    points: Array

    def __repr__(self) -> str:
        return f'MarkerRecord({self.file}, {len(self.time)} frames, {len(self.names)} markers)'


def read_markers(path: Path, *, up: str = 'z', scale: float = 1.0) -> MarkerRecord:
    """
    Return the MarkerRecord of a .trc, .c3d or .bvh file.

    `up`: the axis of the file that points up; x stays x. `scale`: metres per unit of a BVH file,
    which does not say it; factor of what the others say.
    """
    kind = fspath(path).rpartition('.')[2].lower()
    if kind not in READERS:
        raise NameNotFound('kind of marker file', kind, list(READERS), file=path)
    if up not in FILE_AXES:
        raise NameNotFound('axis that points up', up, list(FILE_AXES), file=path)
    turn: Array = np.array(FILE_AXES[up])
    time, names, points = READERS[kind](path, scale, turn)
    if len(time) < FEWEST_SAMPLES or np.any(np.diff(time) <= 0.0):
        raise ClosedChainError(
            f'a record needs {FEWEST_SAMPLES} frames or more, and increasing times; '
            f'it has {len(time)}',
            file=path,
            repair='Export it again, with the whole motion.',
        )
    twice = sorted({each for each in names if names.count(each) > 1})
    if twice:
        raise ClosedChainError(
            f'the marker {twice[0]!r} is given twice', file=path, repair='Rename one of them.'
        )
    return MarkerRecord(fspath(path), time, tuple(names), points)


def _metres(path: Path, unit: str) -> float:
    if unit.lower() not in UNITS:
        raise NameNotFound('unit of length', unit, list(UNITS), file=path)
    return UNITS[unit.lower()]


# --- TRC ----------------------------------------------------------------------------------------
def _read_trc(path: Path, scale: float, turn: Array) -> tuple[Array, list[str], Array]:
    """Return times, names and points of a TRC file."""
    try:
        with open(path, encoding='utf-8-sig') as file:
            lines = [line.rstrip('\n\r') for line in file]
    except (OSError, UnicodeDecodeError) as error:
        raise _unread(path, error) from None
    cells = [[each.strip() for each in line.split('\t')] for line in lines]
    if len(cells) < 6 or not cells[0][0].startswith('PathFileType'):
        raise _no_trc(path, 'it does not begin with PathFileType and five lines of headings')
    settings = dict(zip(cells[1], cells[2]))
    names = [each for each in cells[3][2:] if each]
    if [each.lower() for each in cells[3][:2]] != ['frame#', 'time'] or not names:
        raise _no_trc(path, 'its fourth line does not name Frame#, Time and the markers')
    width, rows = 2 + 3 * len(names), []
    for number, row in enumerate(cells[5:], start=6):
        if not any(row):
            continue
        row = row[:width] + [''] * (width - len(row))
        try:
            rows.append([float(each) if each else np.nan for each in row])
        except ValueError:
            raise _no_trc(path, f'line {number} has something that is no number') from None
        if not np.isfinite(rows[-1][1]):
            raise _no_trc(path, f'line {number} has no time')
    table = np.array(rows).reshape(-1, width)
    points = table[:, 2:].reshape(len(table), len(names), 3) @ turn.T
    return table[:, 1], names, scale * _metres(path, settings.get('Units', 'mm')) * points


def _no_trc(path: Path, why: str) -> ClosedChainError:
    return ClosedChainError(
        f'this is not a TRC file: {why}',
        file=path,
        repair='Export it again, with tabs between cells.',
    )


def _unread(path: Path, error: Exception) -> ClosedChainError:
    why = getattr(error, 'strerror', None) or error
    return ClosedChainError(
        f'the markers cannot be read: {why}', file=path, repair='Give a TRC, C3D or BVH file.'
    )


# --- C3D ----------------------------------------------------------------------------------------
def _read_c3d(path: Path, scale: float, turn: Array) -> tuple[Array, list[str], Array]:
    """Return times, names and points of a C3D file."""
    try:
        import ezc3d
    except ImportError:
        raise ClosedChainError(
            'C3D files need the library ezc3d', file=path, repair='Install it: pip install ezc3d.'
        ) from None
    try:
        open(path, 'rb').close()
        read: Any = ezc3d.c3d(fspath(path))
    except (OSError, RuntimeError, ValueError) as error:
        raise _unread(path, error) from None
    settings = read['parameters']['POINT']
    names = [str(each) for each in settings['LABELS']['value']]
    points = np.moveaxis(np.array(read['data']['points'][:3], dtype=float), 0, -1)
    seen = np.array(read['data']['meta_points']['residuals'][0]) >= 0.0  # below 0: not seen
    points[~seen] = np.nan
    rate = float(settings['RATE']['value'][0])
    unit = settings.get('UNITS', {'value': ['mm']})['value']
    points = np.swapaxes(points, 0, 1)[:, : len(names)] @ turn.T
    metres = scale * _metres(path, str(unit[0]) if unit else 'mm')
    return np.arange(len(points)) / rate, names, metres * points


def _read_joints(path: Path, scale: float, turn: Array) -> tuple[Array, list[str], Array]:
    """Return times, names and points of a BVH file: joints, ends, and points along their axes."""
    motion = read_bvh(path)
    return motion.time, *motion.markers(scale, turn)


READERS: dict[str, Callable[[Path, float, Array], tuple[Array, list[str], Array]]] = {
    'trc': _read_trc,
    'c3d': _read_c3d,
    'bvh': _read_joints,
}
