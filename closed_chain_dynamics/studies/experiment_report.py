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

"""What an experiment says: a dict for ``--json``, text, and one HTML file with figures."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.recording.html import shown
from closed_chain_dynamics.recording.log_files import Path
from closed_chain_dynamics.recording.page import write_page
from closed_chain_dynamics.recording.panels import LINE_COLOURS, draw_grid
from closed_chain_dynamics.recording.terminal import (
    Report,
    Style,
    closing_sections,
    number,
    sections,
    table,
)
from closed_chain_dynamics.studies.results import Results
from closed_chain_dynamics.studies.sensitivity import (
    Indices,
    main_effect,
    pareto_front,
    sobol_indices,
)

__all__ = ['experiment_report', 'render', 'write_html']


SCHEMA = 'closed-chain-study-experiment/1'  # a key that is added keeps it
MOST_SCATTERED = 3000  # of a scatter: more cannot be told apart
MOST_FAILURES = 20  # rows that are listed; the table has all


def experiment_report(
    results: Results, minimise: Sequence[str] = (), maximise: Sequence[str] = ()
) -> Report:
    """Return what Results say, as plain values; `minimise`, `maximise`: responses to trade off."""
    experiment, columns = results.experiment, results.columns()
    labels = [each.label for each in experiment.variations]
    names = [each.name for each in experiment.responses]
    X = np.column_stack([columns[label] for label in labels])
    failed = np.flatnonzero(columns['failed'] != '')
    senses = [(each, 1.0) for each in minimise] + [(each, -1.0) for each in maximise]
    if not senses and len(names) > 1:
        senses = [(each, 1.0) for each in names[:2]]
    front: Sequence[int] = (
        pareto_front([sign * columns[name] for name, sign in senses]).tolist() if senses else []
    )
    return {
        'schema': SCHEMA,
        'fingerprint': experiment.fingerprint,
        **experiment.identity,
        'runs': results.runs,
        'failed': {
            'count': len(failed),
            'first': [
                {'run': int(k), 'reason': columns['failed'][k]} for k in failed[:MOST_FAILURES]
            ],
        },
        'statistics': {name: _statistics(columns[name]) for name in names},
        'main_effects': {
            name: {label: main_effect(columns[label], columns[name]).share for label in labels}
            for name in names
        },
        'sobol_indices': {
            name: _listed(
                sobol_indices(X, columns[name], experiment.kind, experiment.seed), labels
            )
            for name in names
        },
        'pareto': {
            'minimised': [name for name, sign in senses if sign > 0],
            'maximised': [name for name, sign in senses if sign < 0],
            'runs': [int(each) for each in front],
        },
        'files': {'folder': str(results.folder), 'csv': str(results.table)},
        'warnings': list(results.notes),
    }


def _statistics(values: Array) -> dict[str, float | int] | None:
    values = values[np.isfinite(values)]
    if not len(values):
        return None
    low, middle, high = np.quantile(values, (0.05, 0.5, 0.95))
    numbers = {
        'mean': values.mean(),
        'deviation': values.std(),
        'least': values.min(),
        'quantile_05': low,
        'median': middle,
        'quantile_95': high,
        'largest': values.max(),
    }
    return {'count': len(values), **{name: float(each) for name, each in numbers.items()}}


def _listed(indices: Indices | None, labels: Sequence[str]) -> dict[str, Any] | None:
    if indices is None:
        return None
    found: dict[str, Any] = {'method': indices.method}
    for k, label in enumerate(labels):
        found[label] = {
            'first': float(indices.first[k]), 'first_bound': float(indices.first_bound[k])
        }  # fmt: skip
        if indices.total is not None and indices.total_bound is not None:
            found[label]['total'] = float(indices.total[k])
            found[label]['total_bound'] = float(indices.total_bound[k])
    return found


def render(report: Report, style: Style) -> str:
    """Return a report as text."""
    heads = ['', 'mean', 'deviation', '5 %', 'median', '95 %', 'runs']
    keys = ('mean', 'deviation', 'quantile_05', 'median', 'quantile_95')
    responses = [
        [name, *(number(found[key]) for key in keys), found['count']]
        for name, found in report['statistics'].items()
        if found
    ]
    labels = list(report['varied'])
    effects = [
        [name, *(f'{100 * share:.0f} %' for share in found.values())]
        for name, found in report['main_effects'].items()
    ]
    indices = [
        [name, kind, *(f'{found[label].get(kind, np.nan):.3f}' for label in labels)]
        for name, found in report['sobol_indices'].items()
        if found
        for kind in ('first', 'total')
        if kind in found[labels[0]]
    ]
    failed = report['failed']
    about = f'{report["runs"]} runs, {failed["count"]} failed'
    pareto = report['pareto']
    best = []
    if pareto['runs']:
        less, more = (', '.join(pareto[key]) for key in ('minimised', 'maximised'))
        said = [f'least {less}'] * bool(less) + [f'most {more}'] * bool(more)
        best = [f'{len(pareto["runs"])} runs that no other beats: {", ".join(said)}']
    reasons = [[each['run'], each['reason']] for each in failed['first']]
    return sections(
        [
            ('', [f'{style.paint(report["model"], "bold")}  {style.paint(about, "dim")}']),
            ('Responses', table(heads, responses, style)),
            (
                'Share of the variance that one parameter explains',
                table(['', *labels], effects, style),
            ),
            ("Sobol's indices", table(['', '', *labels], indices, style)),
            ('Pareto front', best),
            ('Failed', table(['run', 'reason'], reasons, style)),
            *closing_sections(report, style),
        ],
        style,
    )


def write_html(results: Results, report: Report, path: Path) -> None:
    """Write one HTML file: what was run, figures of responses, effects, indices and trade-offs."""
    facts = [
        ('runs', report['runs']),
        ('failed', report['failed']['count']),
        ('design', f'{report["kind"]}, seed {report["seed"]}'),
        ('model', f'{report["model"]}, SHA-256 {report["model_hash"]}'),
        ('versions', ', '.join(f'{k} {v}' for k, v in report['versions'].items())),
        *((f'varied: {label}', values[:200]) for label, values in report['varied'].items()),
        *((f'response: {name}', text) for name, text in report['responses'].items()),
    ]
    first = [(each['run'], each['reason']) for each in report['failed']['first']]
    tables = [('Failed runs', ('run', 'reason'), first)]
    write_page(
        path,
        f'{report["model"]}: what if',
        shown(f'What if: {report["model"]}', facts, tables),
        [
            (title, draw_grid(None, panels))
            for title, panels in _figures(results, report)
            if panels
        ],
    )


def _figures(results: Results, report: Report) -> list[tuple[str, list[Any]]]:
    """Return (title, panels), each panel a function that draws into axes."""
    columns = results.columns()
    labels, names = list(report['varied']), [
        name for name, found in report['statistics'].items() if found
    ]  # fmt: skip
    effects = [
        partial(_draw_effect, x=columns[label], y=columns[name], label=label, name=name)
        for name in names
        for label in labels
    ]
    indices = [
        partial(_draw_indices, found=report['sobol_indices'][name], labels=labels, name=name)
        for name in names
        if report['sobol_indices'][name]
    ]
    pareto = report['pareto']
    traded = [*pareto['minimised'], *pareto['maximised']][:2]
    front = [partial(_draw_front, columns=columns, traded=traded, runs=pareto['runs'])]
    return [
        (
            'Responses',
            [partial(_draw_response, values=columns[each], name=each) for each in names],
        ),
        ('Main effects', effects),
        ("Sobol's indices", indices),
        ('Pareto front', front if len(traded) == 2 and pareto['runs'] else []),
    ]


def _draw_response(ax: Any, values: Array, name: str) -> None:
    ax.hist(values[np.isfinite(values)], bins='sqrt' if len(values) < 2500 else 50)
    ax.set_title(name)
    ax.set_ylabel('runs')


def _draw_effect(ax: Any, x: Array, y: Array, label: str, name: str) -> None:
    stride = -(-len(x) // MOST_SCATTERED)
    ax.plot(x[::stride], y[::stride], '.', markersize=2, alpha=0.4, color=LINE_COLOURS[0])
    effect = main_effect(x, y)
    ax.errorbar(effect.levels, effect.means, effect.deviations, color=LINE_COLOURS[1], capsize=2)
    ax.set_xlabel(label)
    ax.set_title(f'{name}: {100 * effect.share:.0f} %')


def _draw_indices(ax: Any, found: dict[str, Any], labels: Sequence[str], name: str) -> None:
    places = np.arange(len(labels))
    kinds = [kind for kind in ('first', 'total') if kind in found[labels[0]]]
    for k, kind in enumerate(kinds):
        heights = [found[label][kind] for label in labels]
        bounds = [found[label][f'{kind}_bound'] for label in labels]
        ax.bar(places + 0.4 * k, heights, 0.38, yerr=bounds, label=kind, color=LINE_COLOURS[k])
    ax.set_xticks(places + 0.2 * (len(kinds) - 1), labels, rotation=20, ha='right')
    ax.set_title(name)
    ax.legend()


def _draw_front(ax: Any, columns: Any, traded: Sequence[str], runs: Sequence[int]) -> None:
    x, y = (columns[name] for name in traded)
    stride = -(-len(x) // MOST_SCATTERED)
    ax.plot(x[::stride], y[::stride], '.', markersize=3, alpha=0.4, color=LINE_COLOURS[0])
    order = np.array(runs)[np.argsort(x[runs], kind='stable')]
    ax.plot(x[order], y[order], 'o-', markersize=4, color=LINE_COLOURS[1])
    ax.set_xlabel(traded[0])
    ax.set_ylabel(traded[1])
