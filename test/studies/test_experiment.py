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

"""Experiments: parameters, tables that do not depend on who computed them, what goes wrong."""

from concurrent.futures import Future, wait
from concurrent.futures.process import BrokenProcessPool
import csv
import json
import math
import os
from pathlib import Path
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.errors import ClosedChainError, NameNotFound
from closed_chain_dynamics.studies import workers
from closed_chain_dynamics.studies.experiment import Experiment
from closed_chain_dynamics.studies.experiment_checks import check_experiment
from closed_chain_dynamics.studies.experiment_report import experiment_report, write_html
from closed_chain_dynamics.studies.responses import Response, read_response
from closed_chain_dynamics.studies.results import run_experiment
from closed_chain_dynamics.studies.runs import Runs
from closed_chain_dynamics.studies.sampling import read_variation

ROOT = Path(__file__).resolve().parents[2]
STEP = 1e-9  # relative: RK4 in steps of 1 ms against a closed form
SMALL = 1e-5  # relative: a swing of 0.01 rad is slower than a smaller one by 6e-6
SHORT = {'duration': 0.02, 'dt': 1e-3}
VARY = (
    'mass:coupler_link=xuniform(0.5,1)',
    'q:crank=norm(1,0.1)',
    'length:rocker_link=x0.98,x1.02',
)
RESPONSES = ('peak=max(abs(v.crank))', 'last(energy)')
PATIENCE = 300.0  # only what is broken takes as long, on a machine however busy [s]


def experiment(*, vary=VARY, responses=RESPONSES, model='four_bar', **options):
    options = {'kind': 'latin', 'samples': 40, 'seed': 3, **SHORT, **options}
    return Experiment(
        ccd.load(model),
        tuple(map(read_variation, vary)),
        tuple(map(read_response, responses)),
        **options,
    )


@pytest.fixture(scope='module')
def alone(tmp_path_factory):
    """Return the folder of a study that one process has run."""
    folder = tmp_path_factory.mktemp('study') / 'alone'
    run_experiment(experiment(), folder, workers=1)
    return folder


def table(folder):
    return (folder / 'runs.csv').read_bytes()


# --- parameters ---------------------------------------------------------------------------------
def test_a_longer_pendulum_swings_as_the_closed_form_says(tmp_path):
    """T = 2 pi sqrt(I / m g l): quarter of it after a start at rest."""
    robot = ccd.load('pendulum')
    inertia = next(each.inertia for each in robot.description.links if each.name == 'arm')
    study = Experiment(
        robot,
        tuple(
            map(read_variation, ('inertia:arm=x0.5,x3', 'gravity=1.62,9.81', 'damping:swing=0'))
        ),
        (Response('quarter', 'when(q.swing < 0)'),),
        q={'swing': 0.01},
        duration=3.0,
        dt=1e-3,
    )
    arm = -inertia.origin.xyz[2]
    for k, (factor, g, _) in enumerate(study.design):
        row = Runs(study).row(k, study.design[k])
        whole = factor * inertia.moments[3] + inertia.mass * arm**2
        expected = math.pi / 2 * math.sqrt(whole / (inertia.mass * g * arm))
        assert row.responses[0] == pytest.approx(expected, abs=1e-3)  # a sample


def test_a_longer_link_closes_the_loop_with_its_new_length():
    study = experiment(
        vary=('length:rocker_link=x1.02',),
        responses=('max(loop_error)', 'first(q.rocker)'),
        kind='grid',
    )
    start = study.start
    model = study.model(study.variations, [1.02])
    assert max(max(each) for each in study.robot.loop_gaps(start).values()) < 1e-9
    assert max(max(each) for each in model.loop_gaps(start).values()) > 1e-3
    error, rocker = Runs(study).row(0, [1.02]).responses
    assert error < 1e-9
    assert abs(rocker - start[study.robot.joint_slices('rocker')[0]][0]) > 1e-3


def test_gains_hold_a_joint_and_an_event_happens_at_its_time():
    study = experiment(
        vary=('kp:crank=0,400', 'cut:coupler_rocker=0.05'),
        responses=('fall=last(q.crank)', "when=time_of('cut', 'coupler_rocker')"),
        q={'crank': 1.0}, kd={'crank': 2.0}, target={'crank': 1.0}, duration=0.3, kind='grid',
    )  # fmt: skip
    check_experiment(study)
    falling, held = (Runs(study).row(k, values).responses for k, values in enumerate(study.design))
    assert abs(held[0] - 1.0) < 0.2 * abs(falling[0] - 1.0)
    assert held[1] == falling[1] == 0.05


# --- who computes, and what is left --------------------------------------------------------------
def test_processes_give_the_table_of_one(alone, tmp_path):
    several = run_experiment(experiment(), tmp_path / 'two', workers=2)
    assert table(tmp_path / 'two') == table(alone)
    assert (tmp_path / 'two' / 'runs.parquet').read_bytes() == (
        alone / 'runs.parquet'
    ).read_bytes()
    parquet = pytest.importorskip('pyarrow.parquet').read_table(several.parquet)
    about = json.loads(parquet.schema.metadata[b'closed_chain_study'])
    assert about['model_hash'] and about['seed'] == 3 and about['versions']['numpy']
    for name, values in several.columns().items():
        if name != 'failed':
            assert np.array_equal(parquet[name].to_numpy(), values)
    assert not (tmp_path / 'two' / 'unsorted.csv').exists()


def test_a_study_that_was_stopped_goes_on_where_it_was(alone, tmp_path, monkeypatch):
    folder, asked = tmp_path / 'part', []

    def stop(done, runs):
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_experiment(experiment(), folder, workers=1, progress=stop)
    kept = (folder / 'unsorted.csv').read_bytes()
    assert 0 < kept.count(b'\n') < 40
    (folder / 'unsorted.csv').write_bytes(kept + b'39,0.7')  # the machine went down in a line
    real = workers.rows

    def noted(study, left, **options):
        asked.extend(left := list(left))
        return real(study, left, **options)

    monkeypatch.setattr('closed_chain_dynamics.studies.results.rows', noted)
    run_experiment(experiment(), folder, workers=1)
    done = {int(line.split(b',')[0]) for line in kept.splitlines()}
    assert sorted(asked) == sorted(set(range(40)) - done)  # nothing twice
    assert table(folder) == table(alone)
    asked.clear()
    run_experiment(experiment(), folder, workers=1)
    assert not asked  # all is done


def test_another_study_is_not_mixed_into_a_folder(alone):
    with pytest.raises(ClosedChainError, match='another study'):
        run_experiment(experiment(seed=4), alone)


def test_a_run_that_fails_is_a_row_with_its_reason(tmp_path):
    study = experiment(
        vary=('q:crank=0.5,1', 'length:rocker_link=x1,x0.02'),
        responses=('peak=max(abs(v.crank))', 'late=when(v.crank > 1e3)', 'root=sqrt(-max(time))'),
        kind='grid',
    )
    columns = run_experiment(study, tmp_path / 'some', workers=1).columns()
    reasons = columns['failed']
    assert all('late: the condition' in each and 'root is nan' in each for each in reasons[::2])
    assert np.isfinite(columns['peak'][::2]).all() and np.isnan(columns['late']).all()
    assert all(reasons[1::2]) and np.isnan(columns['peak'][1::2]).all()


def test_a_misspelt_name_is_refused_before_any_run(tmp_path):
    for vary, near in (
        ('maas:arm=1', 'mass'), ('mass:coupler_lnk=1', 'coupler_link'), ('tau:crnk=1', 'crank'),
        ('length:rocker=1', 'rocker_link'), ('mass:coupler_link=nrom(1,1)', 'norm'),
        ('cut:coupler_roker=1', 'coupler_rocker'),
    ):  # fmt: skip
        with pytest.raises(NameNotFound, match=near):
            run_experiment(experiment(vary=(vary,)), tmp_path / 'none')
    assert not (tmp_path / 'none').exists()


def test_the_report_is_one_file_with_its_figures(alone):
    results = run_experiment(experiment(), alone)
    report = experiment_report(results, minimise=['peak'], maximise=['last(energy)'])
    assert report['failed']['count'] == 0 and report['pareto']['runs']
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    write_html(results, report, alone / 'report.html')
    text = (alone / 'report.html').read_text()
    assert text.count('data:image/png;base64,') == 3  # too few runs for indices
    assert report['model_hash'] in text and 'http' not in text


# --- what may go wrong outside ------------------------------------------------------------------
KILL = """
import os, sys
import closed_chain_dynamics.studies.runs as module
real = module.Runs.row
def row(self, run, values):
    mark = os.environ['MARK']
    if run == 7 and (os.environ['ALWAYS'] or not os.path.exists(mark)):
        open(mark, 'w').close()
        os.kill(os.getpid(), 9)
    return real(self, run, values)
module.Runs.row = row
"""


@pytest.mark.parametrize('always', ['', 'yes'])
def test_a_worker_that_dies_costs_nothing_but_its_run(alone, tmp_path, always):
    """The culprit is computed elsewhere; where it kills again and again, its row says so."""
    (tmp_path / 'sitecustomize.py').write_text(KILL)
    script = (
        'import sys; from test_experiment import *\n'
        'if __name__ == "__main__":\n'
        '    run_experiment(experiment(), Path(sys.argv[1]), workers=2)\n'
    )
    (tmp_path / 'script.py').write_text(script)
    paths = map(str, (tmp_path, ROOT, ROOT / 'test', ROOT / 'test' / 'studies'))
    environment = os.environ | {
        'PYTHONPATH': os.pathsep.join(paths), 'MARK': str(tmp_path / 'mark'), 'ALWAYS': always
    }  # fmt: skip
    folder = tmp_path / 'out'
    subprocess.run(
        [sys.executable, tmp_path / 'script.py', folder],
        env=environment,
        check=True,
        timeout=PATIENCE,
    )
    assert (tmp_path / 'mark').exists()
    if not always:
        assert table(folder) == table(alone)
        return
    rows, good = (
        list(csv.reader(table(each).decode().splitlines()[1:])) for each in (folder, alone)
    )
    assert rows[8][-1] == 'the process that computed it died'
    assert rows[:8] + rows[9:] == good[:8] + good[9:]


class Breaking:
    """A place of two processes that compute at once; run 7 kills the one that computes it."""

    count = 2

    def __init__(self):
        self.pool, self.is_broken, self.renewed = self, False, 0

    def submit(self, function, packed, task):
        """Return what is done already, or has failed already."""
        if self.is_broken:
            raise BrokenProcessPool
        future = Future()
        if any(run == 7 for run, _ in task):
            future.set_exception(BrokenProcessPool())
        else:
            future.set_result(function(packed, task))
        return future

    def renew(self):
        """Replace them."""
        self.is_broken, self.renewed = False, self.renewed + 1


@pytest.mark.parametrize('dead_first', [True, False])
def test_a_death_is_seen_in_whatever_order_results_come(monkeypatch, dead_first):
    """Processes cannot be made to die at a moment of choice: a result may come just before."""

    def in_order(futures, return_when):
        done = sorted(
            wait(futures, return_when=return_when).done,
            key=lambda each: (each.exception() is None) == dead_first,
        )
        place.is_broken |= any(each.exception() for each in done)
        return SimpleNamespace(done=done)

    monkeypatch.setattr(workers, 'wait', in_order)
    monkeypatch.setattr(workers, 'TASK_TIME', 0.0)  # one run at a time
    place = Breaking()
    found = {
        row.run: row for part in workers._done(place, experiment(), range(40)) for row in part
    }
    assert sorted(found) == list(range(40)) and place.renewed >= workers.LIVES
    assert [run for run, row in found.items() if row.failed] == [7]


def test_workers_end_with_a_process_that_is_killed(tmp_path):
    script = (
        'import os, sys; from test_experiment import *\n'
        'def progress(done, runs):\n'
        '    if done:\n'
        '        import psutil\n'
        '        mine = psutil.Process().children(recursive=True)\n'
        '        print(*(each.pid for each in mine), flush=True)\n'
        '        os.kill(os.getpid(), 9)\n'
        'if __name__ == "__main__":\n'
        '    run_experiment(experiment(), Path(sys.argv[1]), workers=2, progress=progress)\n'
    )
    (tmp_path / 'script.py').write_text(script)
    psutil = pytest.importorskip('psutil')
    paths = map(str, (ROOT, ROOT / 'test', ROOT / 'test' / 'studies'))
    done = subprocess.run(
        [sys.executable, tmp_path / 'script.py', tmp_path / 'out'],
        env=os.environ | {'PYTHONPATH': os.pathsep.join(paths)},
        stdout=subprocess.PIPE, text=True, timeout=PATIENCE,
    )  # fmt: skip
    left = [int(each) for each in done.stdout.split()]
    assert done.returncode == -signal.SIGKILL and len(left) >= 3
    end = time.monotonic() + PATIENCE
    while any(map(psutil.pid_exists, left)):
        assert time.monotonic() < end, f'still there: {left}'
        time.sleep(0.1)


def test_a_full_disk_is_told_and_loses_nothing(alone, tmp_path):
    """A limit on the size of files fails writes as a full disk does."""
    folder, size = tmp_path / 'full', 1024
    script = (
        'import resource, sys; from test_experiment import *\n'
        'if __name__ == "__main__":\n'
        f'    resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))\n'
        '    try: run_experiment(experiment(), Path(sys.argv[1]), workers=1)\n'
        '    except ClosedChainError as error: print(error)\n'
    )
    (tmp_path / 'script.py').write_text(script)
    paths = map(str, (ROOT, ROOT / 'test', ROOT / 'test' / 'studies'))
    done = subprocess.run(
        [sys.executable, tmp_path / 'script.py', folder],
        env=os.environ | {'PYTHONPATH': os.pathsep.join(paths)},
        capture_output=True, text=True, timeout=PATIENCE, check=True,
    )  # fmt: skip
    assert 'unsorted.csv: the file cannot be written' in done.stdout, done.stderr
    kept = (folder / 'unsorted.csv').read_bytes()
    assert kept.count(b'\n') >= 5
    run_experiment(experiment(), folder, workers=1)
    assert table(folder) == table(alone)


def address_in(file):
    """Return the address in the file of a scheduler; None while it is not there, or not whole."""
    try:
        return json.loads(file.read_text())['address']
    except (FileNotFoundError, ValueError):
        return None


def test_a_cluster_gives_the_table_of_one_process(alone, tmp_path, monkeypatch):
    """A real scheduler and two workers; one is killed while it runs, and replaced."""
    pytest.importorskip('distributed')
    paths = os.pathsep.join(map(str, (ROOT, ROOT / 'test')))
    environment = os.environ | {
        'PYTHONPATH': paths,
        'DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES': '10',
    }
    address = tmp_path / 'scheduler.json'
    monkeypatch.setattr(workers, 'CONNECT_WITHIN', PATIENCE)

    def start(*arguments):
        return subprocess.Popen(
            [sys.executable, '-m', 'distributed.cli.' + arguments[0], *arguments[1:]],
            env=environment, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def worker():
        return start(
            'dask_worker', '--scheduler-file', str(address), '--nthreads', '1', '--no-nanny',
            '--no-dashboard',
        )  # fmt: skip

    running = [
        start('dask_scheduler', '--scheduler-file', str(address), '--port', '0', '--no-dashboard')
    ]
    try:
        end = time.monotonic() + PATIENCE
        while not (scheduler := address_in(address)):
            assert time.monotonic() < end, 'no scheduler'
            time.sleep(0.1)
        running += [worker(), worker()]
        told = []

        def progress(done, runs):
            told.append(done)
            if done >= 10 and len(running) == 3:
                running[1].send_signal(signal.SIGKILL)
                running.append(worker())

        study = experiment(duration=0.02)
        run_experiment(study, tmp_path / 'cluster', scheduler=scheduler, progress=progress)
        assert table(tmp_path / 'cluster') == table(alone)
        assert told[-1] == 40 and len(running) == 4
    finally:
        for each in running:
            each.kill()
            each.wait()
