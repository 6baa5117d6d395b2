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

"""The report of ``closed-chain derive`` as text for people."""

from collections.abc import Sequence

from closed_chain_dynamics.recording.terminal import (
    Cell,
    Report,
    Style,
    bullets,
    closing_sections,
    number,
    sections,
    table,
)

__all__ = ['render']


def render(report: Report, style: Style) -> str:
    """Return a report as text."""
    heads = ['term', '+-', '*', '/', 'sqrt', 'sin/cos', 'atan', ':=', 'weighted', 'derived in']
    terms = [[term, *_cells(each)] for term, each in report['terms'].items()]
    about = [
        ['method', report['method'].upper()],
        ['q_1', ', '.join(report['independent'])],
        ['q_2', ', '.join(report['dependent'])],
    ]
    branches = [f'{loop}: {branch}' for loop, branch in report['branches'].items()]
    return sections(
        [
            ('', [style.paint(report['name'], 'bold')]),
            ('Equations', table(['', ''], about, style)[1:]),
            ('Branches', branches),
            ('Operations', table(heads, terms, style)),
            ('Cost of the methods', _cost_lines(report['cost'], heads, style)),
            ('Speed of inverse dynamics', _speed_lines(report['speed'], style)),
            *closing_sections(report, style),
        ],
        style,
    )


def _cells(record: Report) -> list[str]:
    return [
        *map(str, record['operations'].values()),
        str(record['weighted']),
        _time(record['seconds']),
    ]


def _time(seconds: float) -> str:
    return f'{number(seconds / 3600, 2)} h' if seconds >= 600 else f'{number(seconds, 2)} s'


def _cost_lines(cost: Report | None, heads: Sequence[str], style: Style) -> list[str]:
    if not cost:
        return []
    weights = ['', 'weight', *map(str, cost['weights'].values()), '', '']
    rows: list[Sequence[Cell]] = [weights]
    for row in cost['rows']:
        rows.append([row['term'], row['method'].upper(), *_cells(row)])
        if 'paper' in row:
            rows.append(['', ('published', 'dim'), *_cells(row['paper'])])
    lines = table([heads[0], 'method', *heads[1:]], rows, style)
    return lines + bullets([cost['left_out']] if cost['left_out'] else [], style)


def _speed_lines(speed: Report | None, style: Style) -> list[str]:
    if not speed:
        return []
    names = {'core': 'numeric core', 'numba': 'generated, numba', 'c': 'generated, C'}
    return table(
        ['', 'per call', 'times as fast'],
        [
            [
                names[kind],
                f'{number(seconds * 1e6, 3)} us',
                number(speed['ratio_to_core'][kind], 3),
            ]
            for kind, seconds in speed['seconds'].items()
        ],
        style,
    )
