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
Where runs are computed: processes of this machine, or the workers of a Dask cluster.

Both take tasks of some runs each and give rows back, in whatever order they are done. A worker
that dies costs nothing but time: its runs are given to another. A run whose worker dies when it
is alone is a row that says so.
"""

from collections import deque
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache
import math
import multiprocessing
import os
import pickle
import signal
import threading
import time
from typing import Any

from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.studies.experiment import Experiment, Row
from closed_chain_dynamics.studies.runs import Runs

__all__ = ['rows']

Task = list[tuple[int, tuple[float, ...]]]  # runs and their values

TASK_TIME = 0.5  # what a task should take: short enough to be stopped, long enough to be sent [s]
MOST_OF_A_TASK = 500  # runs
TASKS_AHEAD = 2  # tasks per worker that are given out, so that none waits for work
CONNECT_WITHIN = 10.0  # to the scheduler of a cluster [s]
LIVES = 2  # of a run that is alone when its worker dies


def compute(packed: bytes, task: Task) -> tuple[list[Row], float]:
    """Return the rows of some runs, and the time that they took [s]."""
    begun = time.perf_counter()
    found = _unpacked(packed).rows(task)
    return found, time.perf_counter() - begun


@lru_cache(maxsize=2)
def _unpacked(packed: bytes) -> Runs:
    return Runs(pickle.loads(packed))


def _attend() -> None:
    """Leave Ctrl-C to the process that gives out the tasks, and end when that one has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Wait for the end of the parent: killed, it would leave this process waiting for tasks."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


class _Local:
    """Processes of this machine."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.pool: Executor = self._pool()

    def _pool(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context('forkserver')
        context.set_forkserver_preload([__name__])  # the imports are made once
        return ProcessPoolExecutor(self.count, context, initializer=_attend)

    def renew(self) -> None:
        """Replace processes, one of which has died: the others of its pool end as well."""
        self.pool.shutdown(wait=False, cancel_futures=True)
        self.pool = self._pool()

    def close(self) -> None:
        """End the processes, without the tasks that wait."""
        self.pool.shutdown(wait=True, cancel_futures=True)


class _Cluster:
    """Workers of a Dask cluster; it gives a task to another worker when one is lost."""

    def __init__(self, scheduler: str) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise ClosedChainError(
                'a cluster needs the library distributed',
                repair="Install it: pip install 'closed_chain_dynamics[study]'.",
            ) from None
        try:
            self.client = Client(scheduler, timeout=CONNECT_WITHIN, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise ClosedChainError(
                f'there is no Dask scheduler at {scheduler!r} ({type(error).__name__})',
                repair='Start one with dask scheduler, workers with dask worker ADDRESS, and '
                'give its address, as tcp://10.0.0.1:8786.',
            ) from None
        self.pool: Executor = self.client.get_executor(pure=False)

    @property
    def count(self) -> int:
        """Return how many tasks the workers take at a time, at present."""
        return max(1, int(sum(self.client.nthreads().values())))

    def renew(self) -> None:
        """Do nothing: the cluster looks after its workers."""

    def close(self) -> None:
        """Leave the cluster as it was."""
        self.client.close()


def rows(
    experiment: Experiment,
    runs: Iterable[int],
    *,
    workers: int | None = None,
    scheduler: str | None = None,
) -> Generator[list[Row], None, None]:
    """
    Yield the rows of runs as they are done, some at a time.

    `workers`: processes of this machine (default: one per core); `scheduler`: address of a Dask
    cluster to use instead.
    """
    place = _Cluster(scheduler) if scheduler else _Local(workers or len(os.sched_getaffinity(0)))
    try:
        yield from _done(place, experiment, runs)
    finally:
        place.close()


def _done(
    place: _Local | _Cluster, experiment: Experiment, runs: Iterable[int]
) -> Generator[list[Row], None, None]:
    packed, design, left = pickle.dumps(experiment), experiment.design, iter(runs)
    lost: deque[tuple[Task, int]] = deque()  # runs whose worker died, and how often when alone
    running: dict[Future[Any], tuple[Task, int, bool]] = {}  # with deaths, and whether alone
    per_run = math.inf  # longest mean time so far that a run took [s]
    is_broken = False  # processes, one of which has died

    def submit(task: Task, deaths: int = 0, *, alone: bool = False) -> None:
        nonlocal is_broken
        try:
            running[place.pool.submit(compute, packed, task)] = task, deaths, alone
        except BrokenProcessPool:  # before the results of what was running said so
            is_broken = True
            lost.extend(([each], deaths) for each in task)

    while True:
        if is_broken and not running:
            place.renew()
            is_broken = False
        while not lost and len(running) < TASKS_AHEAD * place.count:
            size = max(1, min(MOST_OF_A_TASK, int(TASK_TIME / per_run)))
            task = [(run, tuple(design[run].tolist())) for _, run in zip(range(size), left)]
            if not task:
                break
            submit(task)
        if lost and not running and not is_broken:
            submit(*lost.popleft(), alone=True)  # if its worker dies again, it is the culprit
        if not running and not lost:
            return
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            task, deaths, alone = running.pop(future)
            error = future.exception()
            if error is None:
                found, took = future.result()
                per_run = took / len(found)
                yield found
            elif not _is_death(error):
                raise _lost_cluster(error) from error
            elif alone and deaths + 1 >= LIVES:
                is_broken = True
                yield [_died(experiment, *task[0])]
            else:
                is_broken = True
                lost.extend(([each], deaths + alone) for each in task)


def _is_death(error: BaseException) -> bool:
    return type(error).__name__ in ('BrokenProcessPool', 'KilledWorker')


def _died(experiment: Experiment, run: int, values: Sequence[float]) -> Row:
    nothing = (math.nan,) * len(experiment.responses)
    return Row(run, tuple(values), nothing, 'the process that computed it died')


def _lost_cluster(error: BaseException) -> ClosedChainError:
    return ClosedChainError(
        f'the connection to the cluster is lost ({type(error).__name__}: {error})',
        repair='What is finished is kept: start the cluster and the same command again.',
    )
