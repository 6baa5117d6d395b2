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

"""Files of a log that need nothing but NumPy: CSV for tables, NPZ for arrays, `log_reading`."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
import csv
from os import PathLike
from pathlib import Path as File
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.description import to_xml
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.recording.events import Event
from closed_chain_dynamics.recording.log import COLUMNS, Log

__all__ = [
    'LOG_SERIES',
    'ROWS_OF_STICKING',
    'Path',
    'check_folder',
    'event_record',
    'events_by_sample',
    'write_columns',
    'write_csv',
    'write_npz',
    'writing',
]

Path = str | PathLike[str]

LOG_SERIES = (*COLUMNS, 'lost')
ROWS_OF_STICKING = 3


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what the operating system says about a file into an error that names it."""
    try:
        yield
    except OSError as error:
        raise ClosedChainError(
            f'the file cannot be written: {error.strerror or error}',
            file=path,
            repair='Check the folder and its permissions.',
        ) from None


def check_folder(path: Path) -> None:
    """Refuse a path whose folder does not exist, before any work is spent on its content."""
    folder = File(path).parent
    if not folder.is_dir():
        raise ClosedChainError(
            f'there is no folder {str(folder)!r} to write to',
            file=path,
            repair='Create the folder first.',
        )


def write_columns(path: Path, columns: Sequence[tuple[str, Sequence[float] | Array]]) -> None:
    """Write a table of (name, values); a cell that is NaN stays empty."""
    with writing(path), open(path, 'w', newline='', encoding='utf-8') as file:
        writer = csv.writer(file)
        writer.writerow([name for name, _ in columns])
        for row in np.column_stack([values for _, values in columns]).tolist():
            writer.writerow(['' if value != value else value for value in row])


def write_csv(log: Log, path: Path) -> None:
    """
    Write one line per sample.

    Columns: time, energies and loop error, `q:`, `v:` and `tau:` with the names, and the events
    that led to the sample, as 'cut left_grip'. Numbers read back exactly; a cell is empty where
    a coordinate is not part of the mechanism.
    """
    tables = {what: log.table(what) for what in ('q', 'v', 'tau')}
    heads = [
        *LOG_SERIES,
        *(f'{what}:{name}' for what, (names, _) in tables.items() for name in names),
        'event',
    ]
    numbers = np.column_stack(
        [*(getattr(log, name) for name in LOG_SERIES), *(values for _, values in tables.values())]
    )
    events = {
        number: '; '.join(f'{event.kind} {event.name}' for event in happened)
        for number, happened in events_by_sample(log).items()
    }
    with writing(path), open(path, 'w', newline='', encoding='utf-8') as file:
        writer = csv.writer(file)
        writer.writerow(heads)
        for number, row in enumerate(numbers.tolist()):
            cells = ['' if value != value else value for value in row]
            writer.writerow([*cells, events.get(number, '')])


def events_by_sample(log: Log) -> dict[int, list[Event]]:
    """Return the events by the sample that follows them, {number: [Event]}."""
    events: dict[int, list[Event]] = {}
    time = log.time
    for event in log.events:
        # Of the samples of this instant the last one is after all its events.
        number = int(np.searchsorted(time, event.time, side='right')) - 1
        events.setdefault(number, []).append(event)
    return events


def event_record(event: Event) -> dict[str, Any]:
    """Return an event as plain values, fit for JSON."""
    return {
        'time': event.time,
        'kind': event.kind,
        'name': event.name,
        'mobility_before': event.mobility_before,
        'mobility_after': event.mobility_after,
        'energy_lost': float(event.energy_lost),
        'energy_of_gap': float(event.energy_of_gap),
        'impulse': [float(each) for each in event.impulse],
    }


def write_npz(log: Log, path: Path) -> None:
    """
    Write arrays for `numpy.load`: every series by its name, q, v, tau and their names.

    `q_names`, `v_names`, `tau_names` name the columns; `event_time`, `event_kind`, `event_name`,
    `event_energy_lost`, `event_energy_of_gap`, `event_mobility` (before, after) have one entry per
    event. The model goes with them, as XML, and the structure of each stretch, so that `read_npz`
    has it all again.
    """
    arrays = {name: getattr(log, name) for name in LOG_SERIES}
    for what in ('q', 'v', 'tau'):
        names, arrays[what] = log.table(what)
        arrays[f'{what}_names'] = np.array(names, dtype=str)
    events = log.events
    arrays.update(
        event_time=np.array([event.time for event in events]),
        event_kind=np.array([event.kind for event in events], dtype=str),
        event_name=np.array([event.name for event in events], dtype=str),
        event_energy_lost=np.array([event.energy_lost for event in events]),
        event_energy_of_gap=np.array([event.energy_of_gap for event in events]),
        event_mobility=np.array(
            [(event.mobility_before, event.mobility_after) for event in events], dtype=int
        ).reshape(-1, 2),
    )
    arrays.update(_model_arrays(log))
    with writing(path), open(path, 'wb') as file:
        np.savez_compressed(file, **arrays)


def _model_arrays(log: Log) -> dict[str, NDArray[Any]]:
    """Return the mechanism, and how it was connected in each segment of a log, as arrays."""
    robot, segments = log.robot, log.segments
    wrenches = np.zeros((len(segments), len(robot.link_names), 6))
    for row, segment in zip(wrenches, segments):
        for link, wrench in segment.wrenches.items():
            row[robot.link_names.index(link)] = wrench
    return {
        'model': np.array(to_xml(robot.description)),
        'model_file': np.array(robot.description.file),
        'gravity': robot.gravity,
        'segment_samples': np.array([len(each) for each in segments], dtype=int),
        'segment_loops': np.array([each.structure.loops for each in segments], dtype=int),
        'segment_free': np.array(
            [each.structure.free(len(robot.model.bodies)) for each in segments], dtype=bool
        ),
        'segment_wrenches': wrenches,
    }
