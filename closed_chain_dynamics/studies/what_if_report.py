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

"""What ``closed-chain study what-if`` says about runs: a dict for ``--json``, text, a table."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.recording.log import DRIFT_WORTH_A_WARNING
from closed_chain_dynamics.recording.log_files import Path, write_columns
from closed_chain_dynamics.recording.terminal import (
    Report,
    Style,
    closing_sections,
    number,
    sections,
    table,
)
from closed_chain_dynamics.studies.what_if import Run, Variation

__all__ = ['render', 'run_label', 'what_if_report', 'write_runs']

SCHEMA = 'closed-chain-study-what-if/1'  # a key that is added keeps it, one that changes ends it


def what_if_report(
    robot: Mechanism, variations: Sequence[Variation], runs: Sequence[Run], duration: float
) -> Report:
    """Return what Runs say, as plain values."""
    return {
        'schema': SCHEMA,
        'name': robot.name,
        'file': robot.description.file,
        'time': duration,
        'varied': [
            {'parameter': each.label, 'values': list(each.values), 'scale': each.scale}
            for each in variations
        ],
        'runs': [
            {
                'values': run.values,
                'reached': float(run.time[-1]),
                'final': run.final,
                'watched': run.watched,
                'energy': run.energy,
                'events': run.events,
                'stopped': run.stopped or None,
            }
            for run in runs
        ],
        'files': {},
        'warnings': _warnings(variations, runs),
    }


def run_label(variations: Sequence[Variation], run: Run) -> str:
    """Return what a run is called: its values, or that it is the model itself."""
    scales = {each.label: 'x' * each.scale for each in variations}
    return (
        ', '.join(f'{label} {scales[label]}{number(value)}' for label, value in run.values.items())
        or 'as it is'
    )


def _warnings(variations: Sequence[Variation], runs: Sequence[Run]) -> list[str]:
    said = []
    for run in runs:
        name, energy = run_label(variations, run), run.energy
        if run.stopped:
            said.append(f'{name}: stopped at {number(run.time[-1])} s: {run.stopped}.')
        exchanged = max(
            abs(energy['work']), energy['dissipated'], energy['lost'], energy['exchanged']
        )
        if energy['drift'] > DRIFT_WORTH_A_WARNING * exchanged:
            said.append(
                f'{name}: the energy balance drifts by {number(energy["drift"], 2)} J: '
                'take a smaller --dt.'
            )
    return said


def render(report: Report, style: Style) -> str:
    """Return a report as text."""
    scales = {each['parameter']: 'x' * each['scale'] for each in report['varied']}
    runs = report['runs']
    labels = [
        [
            f'{scale}{number(run["values"][label])}' if run['values'] else 'as it is'
            for label, scale in scales.items()
        ]
        for run in runs
    ]
    joints = [
        (
            f'{name} [rad or m, N, N m]',
            table(
                [*scales, 'ends at', 'fastest', 'largest force', 'largest moment'],
                [[*label, *_cells(run['watched'][name])] for label, run in zip(labels, runs)],
                style,
            ),
        )
        for name in runs[0]['watched']
    ]
    energies = [
        [
            *label,
            *(
                number(run['energy'][what], beside=run['energy']['exchanged'])
                for what in ('work', 'dissipated', 'lost')
            ),
            str(len(run['events'])),
            ('stopped', 'red') if run['stopped'] else '',
        ]
        for label, run in zip(labels, runs)
    ]
    events = [
        [', '.join(label), f'{number(event["time"], 6)} s', event['kind'], event['name']]
        for label, run in zip(labels, runs)
        for event in run['events']
    ]
    about = f'{len(runs)} runs of {number(report["time"])} s'
    return sections(
        [
            ('', [f'{style.paint(report["name"], "bold")}  {style.paint(about, "dim")}']),
            *joints,
            (
                'Energy [J]',
                table(
                    [*scales, 'work put in', 'dissipated', 'lost at events', 'events', ''],
                    energies,
                    style,
                ),
            ),
            ('Events', table(['run', 'time', 'event', 'joint'], events, style)),
            *closing_sections(report, style),
        ],
        style,
    )


def _cells(peaks: Mapping[str, Any]) -> list[str]:
    """Return what is said of a joint: its end, of a ball several numbers, and its peaks."""
    return [
        ' '.join(number(x, beside=1.0) for x in np.atleast_1d(peaks['end'])),
        *(
            number(peaks[what], beside=max(peaks.get(each, 0.0) for each in ('speed', 'force')))
            for what in ('speed', 'force', 'moment')
        ),
    ]


def write_runs(runs: Sequence[Run], path: Path) -> None:
    """Write one line per run: values, final positions, peaks, energies, number of events."""
    labels = dict.fromkeys(label for run in runs for label in run.values)
    columns = [(label, [run.values.get(label, np.nan) for run in runs]) for label in labels]
    columns.append(('reached', [run.time[-1] for run in runs]))
    finals = dict.fromkeys(name for run in runs for name in run.final)
    columns += [(f'q:{name}', [run.final.get(name, np.nan) for run in runs]) for name in finals]
    columns += [
        (f'{what}:{name}', [run.watched[name][what] for run in runs])
        for name in runs[0].watched
        for what in ('speed', 'force', 'moment')
    ]
    columns += [
        (what, [run.energy[what] for run in runs])
        for what in ('work', 'dissipated', 'lost', 'drift')
    ]
    columns.append(('events', [len(run.events) for run in runs]))
    write_columns(path, columns)
