"""Files of a log that need nothing but NumPy: CSV for tables, NPZ for arrays."""

from contextlib import contextmanager
import csv
from pathlib import Path

import numpy as np

from .errors import ClosedChainError
from .recording import COLUMNS

__all__ = ['check_folder', 'event_record', 'events_by_sample', 'write_csv', 'write_npz', 'writing']

SERIES = (*COLUMNS, 'lost')


@contextmanager
def writing(path):
    """Turn what the operating system says about a file into an error that names it."""
    try:
        yield
    except OSError as error:
        raise ClosedChainError(f'the file cannot be written: {error.strerror or error}',
                               file=path, repair='Check the folder and its permissions.') from None


def check_folder(path):
    """Refuse a path whose folder does not exist, before any work is spent on its content."""
    folder = Path(path).parent
    if not folder.is_dir():
        raise ClosedChainError(f'there is no folder {str(folder)!r} to write to', file=path,
                               repair='Make the folder first.')


def write_csv(log, path):
    """
    Write one line per sample.

    Columns: time, energies and loop error, `q:`, `v:` and `tau:` with the names, and the events
    that led to the sample, as 'cut left_grip'. Numbers read back exactly; a cell is empty where
    a coordinate is not part of the mechanism.
    """
    tables = {what: log.table(what) for what in ('q', 'v', 'tau')}
    heads = [*SERIES, *(f'{what}:{name}' for what, (names, _) in tables.items()
                        for name in names), 'event']
    numbers = np.column_stack([*(getattr(log, name) for name in SERIES),
                               *(values for _, values in tables.values())])
    events = {number: '; '.join(f'{event.kind} {event.name}' for event in happened)
              for number, happened in events_by_sample(log).items()}
    with writing(path), open(path, 'w', newline='', encoding='utf-8') as file:
        writer = csv.writer(file)
        writer.writerow(heads)
        for number, row in enumerate(numbers.tolist()):
            cells = ['' if value != value else value for value in row]
            writer.writerow([*cells, events.get(number, '')])


def events_by_sample(log):
    """Return the events by the sample that follows them, {number: [Event]}."""
    events, time = {}, log.time
    for event in log.events:
        # Of the samples of this instant the last one is after all its events.
        number = int(np.searchsorted(time, event.time, side='right')) - 1
        events.setdefault(number, []).append(event)
    return events


def event_record(event):
    """Return an event as plain values, fit for JSON."""
    return {'time': event.time, 'kind': event.kind, 'name': event.name,
            'mobility_before': event.mobility_before, 'mobility_after': event.mobility_after,
            'energy_lost': float(event.energy_lost),
            'energy_of_gap': float(event.energy_of_gap),
            'impulse': [float(each) for each in event.impulse]}


def write_npz(log, path):
    """
    Write arrays for `numpy.load`: every series by its name, q, v, tau and their names.

    `q_names`, `v_names`, `tau_names` name the columns; `event_time`, `event_kind`, `event_name`,
    `event_energy_lost`, `event_mobility` (before, after) have one entry per event.
    """
    arrays = {name: getattr(log, name) for name in SERIES}
    for what in ('q', 'v', 'tau'):
        names, arrays[what] = log.table(what)
        arrays[f'{what}_names'] = np.array(names, dtype=str)
    events = log.events
    arrays.update(
        event_time=np.array([event.time for event in events]),
        event_kind=np.array([event.kind for event in events], dtype=str),
        event_name=np.array([event.name for event in events], dtype=str),
        event_energy_lost=np.array([event.energy_lost for event in events]),
        event_mobility=np.array([(event.mobility_before, event.mobility_after)
                                 for event in events], dtype=int).reshape(-1, 2))
    with writing(path), open(path, 'wb') as file:
        np.savez_compressed(file, **arrays)
