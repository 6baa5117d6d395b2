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
The folder of an experiment: rows as they come, then the table in order.

study.json     what decides the table: model and its hash, numbers, seed, versions
unsorted.csv   rows in the order in which they were done; each is on disk before the next
runs.csv       all rows in order; its first line, a comment, has hash, versions and seed
runs.parquet   the same, with study.json in its metadata

Whoever starts the same experiment in the same folder goes on where it stopped. In memory there is
one bit of news per run, and its place in the file.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
import csv
import io
import json
import math
import os
from pathlib import Path as File
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.recording.log_files import Path, writing
from closed_chain_dynamics.studies.batches import Batch, why_alone
from closed_chain_dynamics.studies.experiment import Experiment, Row
from closed_chain_dynamics.studies.experiment_checks import check_experiment
from closed_chain_dynamics.studies.workers import rows

__all__ = ['Results', 'run_experiment']

RunProgress = Callable[[int, int], object]  # is told runs done and all runs

NOWHERE = -1
PARQUET_ROWS = 10000  # of a group: what is in memory at a time


class Results:
    """The folder of an experiment that has been run; `columns` loads the table by name."""

    def __init__(self, folder: Path, experiment: Experiment) -> None:
        self.folder, self.experiment = File(folder), experiment
        self.table, self.parquet = self.folder / 'runs.csv', self.folder / 'runs.parquet'
        self.unsorted, self.about = self.folder / 'unsorted.csv', self.folder / 'study.json'
        self.notes: list[str] = []

    def __repr__(self) -> str:
        return f'<Results in {str(self.folder)!r}>'

    @property
    def runs(self) -> int:
        """Return how many runs there are."""
        return len(self.experiment.design)

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the table, {name: array}: floats, NaN where there is none, and reasons."""
        names = self.experiment.columns
        numbers: NDArray[np.float64] = np.empty((self.runs, len(names) - 1))
        reasons: NDArray[Any] = np.full(self.runs, '', dtype=object)
        for k, cells in enumerate(_cells(self.table)):
            numbers[k] = [float(each) if each else math.nan for each in cells[:-1]]
            reasons[k] = cells[-1]
        return {**dict(zip(names, numbers.T)), 'failed': reasons}

    # --- while it runs -------------------------------------------------------------------------
    def open(self) -> None:
        """Make the folder, or recognise the experiment that is in it."""
        told = {'fingerprint': self.experiment.fingerprint, **self.experiment.identity}
        with writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            present = self.about.read_text(encoding='utf-8') if self.about.exists() else ''
            if not present:
                self.about.write_text(json.dumps(told, indent=2) + '\n', encoding='utf-8')
                return
        if _fingerprint(present) != told['fingerprint']:
            raise ClosedChainError(
                'the folder holds another study: model, values, responses or versions differ',
                file=self.about,
                repair='Name another folder, or remove this one.',
            )

    def places(self) -> NDArray[np.int64]:
        """Return where in the unsorted file each run is; cut off a line that was not finished."""
        places: NDArray[np.int64] = np.full(self.runs, NOWHERE, np.int64)
        if not self.unsorted.exists():
            return places
        whole = 0
        with writing(self.unsorted), open(self.unsorted, 'rb+') as file:
            for line in file:
                if not line.endswith(b'\n'):
                    break
                places[int(line.split(b',', 1)[0])] = whole
                whole += len(line)
            file.truncate(whole)
        return places

    def append(self, file: IO[bytes], found: Sequence[Row], places: NDArray[np.int64]) -> None:
        """Add rows to the unsorted file, and note where they are."""
        lines, start = [_line(row) for row in found], file.tell()
        with writing(self.unsorted):
            data = memoryview(b''.join(lines))
            while data:  # a disk that is nearly full takes a part
                data = data[file.write(data) :]
        for row, line in zip(found, lines):
            places[row.run] = start
            start += len(line)

    def finish(self, places: NDArray[np.int64]) -> None:
        """Write the table in order, then the Parquet file; the unsorted rows are then removed."""
        draft = self.folder / 'runs.csv.part'
        with writing(self.table), open(draft, 'w', newline='', encoding='utf-8') as out:
            out.write(f'# {json.dumps(self._brief())}\n')
            csv.writer(out).writerow(self.experiment.columns)
            with open(self.unsorted, newline='', encoding='utf-8') as source:
                for place in places.tolist():
                    source.seek(place)
                    out.write(source.readline())
            out.flush()
            os.fsync(out.fileno())
            os.replace(draft, self.table)
        with writing(self.parquet):
            self._write_parquet()
        self.unsorted.unlink()

    def _brief(self) -> dict[str, Any]:
        identity = self.experiment.identity
        brief = {name: identity[name] for name in ('model', 'model_hash', 'seed', 'versions')}
        return {'fingerprint': self.experiment.fingerprint, **brief}

    def _write_parquet(self) -> None:
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError:
            self.notes.append(
                'There is no runs.parquet: it needs pyarrow '
                "(pip install 'closed_chain_dynamics[study]')."
            )
            return
        names = self.experiment.columns
        kinds = [pyarrow.int64(), *[pyarrow.float64()] * (len(names) - 2), pyarrow.string()]
        schema = pyarrow.schema(
            list(zip(names, kinds)), metadata={'closed_chain_study': self.about.read_bytes()}
        )
        with parquet.ParquetWriter(self.parquet, schema) as out:
            for group in _groups(_cells(self.table), PARQUET_ROWS):
                run, *numbers, failed = zip(*group)
                values = [[float(each) if each else None for each in one] for one in numbers]
                out.write_table(
                    pyarrow.table([[int(each) for each in run], *values, list(failed)], schema)
                )


def run_experiment(
    experiment: Experiment,
    folder: Path,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: RunProgress | None = None,
) -> Results:
    """
    Run what is not yet done of an experiment; return its Results.

    `workers`: processes of this machine (default: one per core); `scheduler`: address of a Dask
    cluster; `progress(done, all)` is told how far it is.
    """
    check_experiment(experiment)
    results = Results(folder, experiment)
    results.open()
    if results.table.exists():
        return results
    places = results.places()
    done = int((places != NOWHERE).sum())
    if progress:
        progress(done, results.runs)
    if experiment.compiled:
        alone = why_alone(experiment)
        if alone:
            results.notes.append(f'Runs were taken one by one: {alone}.')
        elif done < results.runs:  # code is generated once, before the processes ask for it
            Batch(experiment).logs(experiment.design[:1].tolist())
    if done < results.runs:
        left = (int(run) for run in np.flatnonzero(places == NOWHERE))
        with writing(results.unsorted):
            file = open(results.unsorted, 'ab', buffering=0)
        with file, closing(rows(experiment, left, workers=workers, scheduler=scheduler)) as parts:
            for found in parts:
                results.append(file, found, places)
                done += len(found)
                if progress:
                    progress(done, results.runs)
    results.finish(places)
    return results


def _line(row: Row) -> bytes:
    """Return a row as a line of CSV; numbers read back exactly, NaN is empty."""
    text = io.StringIO()
    numbers = ['' if each != each else repr(each) for each in (*row.values, *row.responses)]
    # a reader that skips comments must not take a reason for one
    csv.writer(text).writerow([row.run, *numbers, row.failed.replace('#', ' ')])
    return text.getvalue().encode()


def _cells(table: File) -> Iterator[list[str]]:
    """Yield the cells of each row of a finished table."""
    with open(table, newline='', encoding='utf-8') as file:
        reader = csv.reader(each for each in file if not each.startswith('#'))
        next(reader)
        yield from reader


def _groups(cells: Iterator[list[str]], size: int) -> Iterator[list[list[str]]]:
    group: list[list[str]] = []
    for each in cells:
        group.append(each)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group


def _fingerprint(text: str) -> str:
    try:
        return str(json.loads(text)['fingerprint'])
    except (ValueError, TypeError, KeyError):
        return ''
