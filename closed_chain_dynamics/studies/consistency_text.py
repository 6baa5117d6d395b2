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

"""What ``closed-chain study consistency`` says about a record: text, and one HTML file."""

from closed_chain_dynamics.recording.html import Table, shown
from closed_chain_dynamics.recording.log_files import Path
from closed_chain_dynamics.recording.page import write_page
from closed_chain_dynamics.recording.terminal import (
    Report,
    Style,
    closing_sections,
    number,
    sections,
    table,
)
from closed_chain_dynamics.studies.consistency import Consistency
from closed_chain_dynamics.studies.consistency_figure import plot_consistency
from closed_chain_dynamics.studies.consistency_report import QUESTIONS

__all__ = ['render', 'write_html']


def render(report: Report, style: Style) -> str:
    """Return a report as text."""
    verdicts = [
        [QUESTIONS[name], ('yes', 'green') if good else ('no', 'red')]
        for name, good in report['verdicts'].items()
    ]
    loops = [
        [
            each['name'],
            number(each['metres'], 3),
            number(each['radians'], 3),
            f'{number(each["time"])} s',
            number(each['rms'], 3),
        ]
        for each in report['loops']
    ]
    suspects = [
        [
            (each['joint'], 'red' if each['joint'] == report['culprit'] else ''),
            f'{number(100.0 * each["remaining"], 2)} %',
            number(each['offset']),
            number(each['spread'], 2),
        ]
        for each in report['suspects']
    ]
    forces = [
        [
            each['name'],
            number(each['peak']),
            number(each['rms']),
            '' if each['share'] is None else f'{number(100.0 * each["share"], 3)} %',
        ]
        for each in report['residual']
    ]
    about = (
        f'{report["samples"]} samples in {number(report["duration"])} s, '
        f'{len(report["measured"])} joints measured'
    )
    return sections(
        [
            ('', [f'{style.paint(report["name"], "bold")}  {style.paint(about, "dim")}']),
            ('Can this motion be one of the model?', table(['', ''], verdicts, style)[1:]),
            ('Gaps of the record', table(['loop', '[m]', '[rad]', 'at', 'rms'], loops, style)),
            (
                'If a joint were left out',
                table(['joint', 'gap left', 'loops want', 'give or take'], suspects, style),
            ),
            ('Markers [mm]', _marker_lines(report, style)),
            ('Ground', _ground_lines(report)),
            ('The nearest motion that is possible', _nearest_lines(report)),
            (
                'Forces that nothing provides [N m or N]',
                table(['coordinate', 'peak', 'rms', 'of what is needed'], forces, style),
            ),
            *closing_sections(report, style),
        ],
        style,
    )


def _marker_lines(report: Report, style: Style) -> list[str]:
    if report['markers'] is None:
        return []
    rows = [
        [each['name'], each['link'], number(1e3 * each['rms'], 3), number(1e3 * each['worst'], 3),
         f'{number(each["time"])} s', each['missing'] or '']
        for each in report['markers']['markers']
    ]  # fmt: skip
    return table(['marker', 'link', 'rms', 'worst', 'at', 'frames not seen'], rows, style)


def _ground_lines(report: Report) -> list[str]:
    ground = report['ground']
    if ground is None:
        return []
    lines = [
        f'largest force {number(ground["largest"])} N, weight {number(ground["weight"])} N',
        f'not met {number(100.0 * ground["unmet"], 3)} % of the weight at most',
    ]
    if ground['friction'] is not None:
        lines.append(f'friction asked for {number(ground["friction"], 3)} at most')
    if ground['margin'] is not None:
        side = 'within' if ground['margin'] >= 0.0 else 'outside'
        lines.append(
            f'zero-moment point {number(abs(ground["margin"]), 3)} m {side} the feet at worst'
        )
    return lines


def _nearest_lines(report: Report) -> list[str]:
    if report['nearest'] is None:
        return []
    found = report['nearest']
    return [
        f'{number(found["moved"], 3)} rad or m away at most, at {number(found["time"])} s; '
        f'{number(found["rms"], 3)} rms'
    ]


def write_html(found: Consistency, report: Report, path: Path) -> None:
    """Write one HTML file: verdicts, tables and the figure."""
    facts: list[tuple[str, object]] = [
        *((QUESTIONS[name], 'yes' if good else 'no') for name, good in found.verdicts.items()),
        ('samples', f'{report["samples"]} in {number(report["duration"])} s'),
        ('measured', ', '.join(report['measured'])),
        *(('', line) for line in (*_ground_lines(report), *_nearest_lines(report))),
    ]
    loops = [(e['name'], number(e['metres'], 3), number(e['radians'], 3)) for e in report['loops']]
    breaks = [
        (number(e['begin']), number(e['end']), e['reason'], f'{100.0 * e["share"]:.3g} %')
        for e in (report['ground'] or {'breaks': []})['breaks']
    ]
    markers = [
        (e['name'], e['link'], number(1e3 * e['rms'], 3), number(1e3 * e['worst'], 3))
        for e in (report['markers'] or {'markers': []})['markers']
    ]
    tables: list[Table] = [
        ('Frames where it breaks', ('from [s]', 'to [s]', 'why', 'of the weight'), breaks),
        ('Gaps of the loops', ('loop', '[m]', '[rad]'), loops),
        ('Markers', ('marker', 'link', 'rms [mm]', 'worst [mm]'), markers),
        ('Attention', ('',), [(each,) for each in report['warnings']]),
    ]
    title = f'Consistency of a record with {report["name"]}'
    write_page(path, title, shown(title, facts, tables), [('Over time', plot_consistency(found))])
