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

"""Logs that were written as NPZ, read again with their mechanism; whatever the bytes are."""

from collections.abc import Mapping
from dataclasses import replace
import math
import tokenize
from typing import Any
import zipfile
import zlib

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.description import read
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.model.structure import Connections
from closed_chain_dynamics.recording.events import Event
from closed_chain_dynamics.recording.log import COLUMNS, Log
from closed_chain_dynamics.recording.log_files import LOG_SERIES, ROWS_OF_STICKING, Path
from closed_chain_dynamics.recording.segments import LogSegment

__all__ = ['read_npz']


MOST_LOG_BYTES = 16 * 2**30  # of a log, unpacked: days of a humanoid
# what NumPy and zipfile raise when they read bytes that are none of theirs
BROKEN = (
    *(AssertionError, EOFError, IndexError, KeyError, NotImplementedError, OverflowError),
    *(RuntimeError, SyntaxError, TypeError, ValueError, UnicodeError, tokenize.TokenError),
    *(zipfile.BadZipFile, zlib.error),
)


def read_npz(path: Path) -> Log:
    """Return the Log that `write_npz` wrote, with its mechanism; events come without impulses."""
    try:
        _check_archive(path)
        with np.load(path) as file:
            arrays = dict(file)
        return _log_of(arrays)
    except OSError as error:
        raise ClosedChainError(
            f'the log cannot be read: {error.strerror or error}',
            file=path,
            repair='Check the name and the permissions.',
        ) from None
    except BROKEN as error:
        repair = 'Write one: closed-chain simulate MODEL --npz FILE.'
        raise ClosedChainError(
            f'this is not a log of a simulation ({error})', file=path, repair=repair
        ) from None


def _check_archive(path: Path) -> None:
    """Refuse what would take more memory than any log, before it is unpacked."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if sum(each.file_size for each in members) > MOST_LOG_BYTES:
            raise ValueError(f'it holds more than {MOST_LOG_BYTES // 2**30} GiB')
        for member in members:
            with archive.open(member) as file:
                version = np.lib.format.read_magic(file)
                read_head = np.lib.format.read_array_header_1_0
                if version != (1, 0):
                    read_head = np.lib.format.read_array_header_2_0
                shape, _, kind = read_head(file)
            # a head may promise more than is there, and memory is taken for what it promises
            if any(n < 0 for n in shape) or math.prod(shape) * kind.itemsize > member.file_size:
                raise ValueError(f'the array {member.filename} does not hold what its head says')


def _log_of(arrays: Mapping[str, NDArray[Any]]) -> Log:
    model = replace(read(str(arrays['model'])), file=str(arrays['model_file']))
    robot = Mechanism(model, gravity=arrays['gravity'])
    log, start = Log(robot), 0
    rows = np.column_stack([arrays[name] for name in COLUMNS])
    _check_shapes(robot, arrays, len(rows))
    for count, loops, free, wrenches in zip(
        *(arrays[f'segment_{name}'] for name in ('samples', 'loops', 'free', 'wrenches'))
    ):
        acting = {
            link: wrench for link, wrench in zip(robot.link_names, wrenches) if np.any(wrench)
        }
        _check_loops(robot, loops)
        connections = Connections(
            tuple(map(tuple, loops.tolist())), tuple(np.flatnonzero(free).tolist())
        )
        segment, samples = LogSegment(robot, connections, acting), slice(start, start + count)
        columns = {
            what: [list(arrays[f'{what}_names']).index(name) for name in segment.names(what)]
            for what in ('q', 'v', 'tau')
        }
        segment.add(
            rows=rows[samples],
            lost=arrays['lost'][samples],
            **{what: arrays[what][samples][:, places] for what, places in columns.items()},
        )
        log.segments.append(segment)
        start += count
    log.events = [
        Event(
            float(time),
            str(kind),
            str(name),
            int(mobility[0]),
            int(mobility[1]),
            float(lost),
            energy_of_gap=float(gap),
        )
        for time, kind, name, mobility, lost, gap in zip(
            *(
                arrays[f'event_{part}']
                for part in ('time', 'kind', 'name', 'mobility', 'energy_lost', 'energy_of_gap')
            )
        )
    ]
    return log


def _check_shapes(robot: Mechanism, arrays: Mapping[str, NDArray[Any]], n: int) -> None:
    """Refuse arrays of other sizes than a log has: nothing behind looks at them again."""
    segments = len(arrays['segment_samples'])
    wanted: dict[str, tuple[int, ...]] = dict.fromkeys(LOG_SERIES, (n,))
    wanted |= {what: (n, len(arrays[f'{what}_names'])) for what in ('q', 'v', 'tau')}
    wanted |= {
        'segment_samples': (segments,),
        'segment_free': (segments, len(robot.model.bodies)),
        'segment_wrenches': (segments, len(robot.link_names), 6),
        'gravity': (3,),
    }
    if len(robot.model.loops):
        wanted['segment_loops'] = (segments, len(robot.model.loops), 3)
    for name, shape in wanted.items():
        if arrays[name].shape != shape or arrays[name].dtype.kind not in 'biuf':
            raise ValueError(f'{name} is no array of {shape} numbers')
    counts = arrays['segment_samples']
    if counts.dtype.kind not in 'iu' or (counts < 0).any() or counts.sum() != n:
        raise ValueError('its stretches do not have as many samples as there are')


def _check_loops(robot: Mechanism, loops: NDArray[Any]) -> None:
    """Refuse states that no loop of this model can have: kernels trust them."""
    for known, (active, mode, rows) in zip(robot.model.loops, loops.tolist()):
        usual = (int(known['mode']), int(known['n_rows']))
        sticks = usual[0] == at.SLIDE and (mode, rows) == (at.STICK, ROWS_OF_STICKING)
        if active not in (0, 1) or not (sticks or (mode, rows) == usual):
            raise ValueError(f'no loop of {robot.name} can be {active, mode, rows}')
