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

"""``closed-chain study what-if --results``: runs without number, on all cores or on a cluster."""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING, Any

from closed_chain_dynamics.cli.arguments import add_assignments, seed, whole
from closed_chain_dynamics.recording.terminal import Bar

if TYPE_CHECKING:
    from closed_chain_dynamics.cli.arguments import Answer
    from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['add_experiment', 'run_study', 'wrong_experiment']

HOLDING_OPTIONS = {
    '--kp': 'position gains of a feedback that holds the motors [N m/rad or N/m]',
    '--kd': 'velocity gains of that feedback [N m s/rad or N s/m]',
    '--target': 'where it holds them (default: the initial position) [rad or m]',
    '--connect': 'joints to connect, and when [s]',
    '--cut': 'joints to cut, and when [s]',
}
ONLY_WITH_RESULTS = (
    'response', 'study_file', 'samples', 'design', 'workers', 'scheduler', 'compiled',
)  # fmt: skip


def add_experiment(parser: argparse.ArgumentParser) -> None:
    """Add what many runs take."""
    group = parser.add_argument_group('many runs')
    group.add_argument(
        '--results',
        metavar='FOLDER',
        help='run at scale, and write table and report to this folder',
    )
    group.add_argument(
        '--study',
        dest='study_file',
        metavar='FILE',
        help='YAML file that says what to vary and what to keep',
    )
    group.add_argument(
        '--response',
        metavar='NAME=EXPRESSION',
        nargs='+',
        action='extend',
        default=[],
        help="what to keep of a run, as in 'peak=max(abs(v.crank))' or 'last(dissipated)'",
    )
    group.add_argument(
        '--samples', metavar='N', type=whole, help='number of runs to sample (default: a grid)'
    )
    group.add_argument(
        '--design',
        choices=['grid', 'latin', 'sobol', 'random', 'saltelli'],
        help='how samples are distributed (default: latin); saltelli, for Sobol indices, makes '
        'N x (parameters + 2) runs',
    )
    group.add_argument('--seed', metavar='N', type=seed, help='seed of the samples (default: 0)')
    group.add_argument(
        '--minimise',
        metavar='NAME',
        nargs='+',
        default=[],
        help='responses to minimise in a trade-off',
    )
    group.add_argument(
        '--maximise',
        metavar='NAME',
        nargs='+',
        default=[],
        help='responses to maximise in a trade-off',
    )
    group.add_argument(
        '--workers', metavar='N', type=whole, help='processes (default: one per core)'
    )
    group.add_argument(
        '--scheduler',
        metavar='ADDRESS',
        help='address of a Dask cluster to run on, as in tcp://host:8786',
    )
    group.add_argument(
        '--compiled',
        action='store_true',
        help='run in generated code, many runs at once over vector lanes where no event can '
        'occur; lengths, friction and gravity may not vary',
    )
    add_assignments(group, HOLDING_OPTIONS)


def wrong_experiment(args: argparse.Namespace) -> str:
    """Return what is wrong with arguments that are fine one by one, or nothing."""
    if args.results:
        if args.plot or args.csv:
            return '--plot and --csv are not for --results: report and table go to its folder'
        return '' if args.vary or args.study_file else 'vary what? Give --vary or --study'
    extra = [name for name in ONLY_WITH_RESULTS if getattr(args, name)]
    extra += [option[2:] for option in HOLDING_OPTIONS if getattr(args, option[2:])]
    if extra:
        option = extra[0].removesuffix('_file')
        return f'--{option} needs --results: the folder that table and report go to'
    if any(each.distribution for each in args.vary):
        return 'a distribution needs --samples and --results, the folder of the table'
    return '' if args.vary else 'vary what? Give --vary'


def run_study(robot: Mechanism, args: argparse.Namespace) -> Answer:
    """Run an experiment; write table and report into the folder."""
    from closed_chain_dynamics.errors import NameNotFound
    from closed_chain_dynamics.studies.experiment import Experiment
    from closed_chain_dynamics.studies.experiment_report import (
        experiment_report,
        render,
        write_html,
    )
    from closed_chain_dynamics.studies.results import run_experiment

    experiment = Experiment(robot, **_arguments(args))
    names = [each.name for each in experiment.responses]
    for name in (*args.minimise, *args.maximise):
        if name not in names:
            raise NameNotFound('response', name, names, where=robot.name)
    with Bar('running', sys.stderr) as bar:
        progress = _Progress(bar)
        try:
            results = run_experiment(
                experiment,
                args.results,
                workers=args.workers,
                scheduler=args.scheduler,
                progress=progress,
            )
        except KeyboardInterrupt:
            print(progress.stopped(args.results), file=sys.stderr)
            raise
    report = experiment_report(results, args.minimise, args.maximise)
    if results.parquet.exists():
        report['files']['parquet'] = str(results.parquet)
    write_html(results, report, results.folder / 'report.html')
    report['files']['html'] = str(results.folder / 'report.html')
    return report, render, ''


def _arguments(args: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of an Experiment: those of the file, then those of the command."""
    from closed_chain_dynamics.studies.responses import read_response
    from closed_chain_dynamics.studies.study_file import read_study

    given = read_study(args.study_file) if args.study_file else {}
    given['variations'] = (*given.get('variations', ()), *args.vary)
    given['responses'] = (*given.get('responses', ()), *map(read_response, args.response))
    for name in ('q', 'v', 'tau', *(option[2:] for option in HOLDING_OPTIONS)):
        given[name] = {**given.get(name, {}), **dict(getattr(args, name))}
    for name, value in (('samples', args.samples), ('seed', args.seed), ('kind', args.design)):
        if value is not None:
            given[name] = value
    given.setdefault('kind', 'latin' if given.get('samples') else 'grid')
    for name, value in (('duration', args.time), ('dt', args.dt)):
        if value is not None:
            given[name] = value
    return {**given, 'limits': args.limits, 'compiled': args.compiled}


class _Progress:
    """Tells a bar, where there is one, how far it is, and how fast."""

    def __init__(self, bar: Bar | None) -> None:
        self.bar, self.begun, self.first = bar, 0.0, -1
        self.done, self.runs = 0, 0

    def stopped(self, folder: str) -> str:
        """Return what is said when somebody has stopped it."""
        kept = f'{self.done} of {self.runs} runs are kept' if self.runs else 'No run has ended'
        return f'\nStopped. {kept} in {folder}; the same command continues there.'

    def __call__(self, done: int, runs: int) -> None:
        self.done, self.runs = done, runs
        if self.bar is None:
            return
        now = time.monotonic()
        if self.first < 0:  # what a run before this one has done says nothing about the rate
            self.begun, self.first = now, done
        rate = (done - self.first) / max(now - self.begun, 1e-3)
        left = f', {(runs - done) / rate:.0f} s left' if rate else ''
        self.bar(done / runs, f', {done} of {runs} runs, {rate:.1f}/s{left}')
