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

"""The report of ``closed-chain check`` as text for people."""

from collections import defaultdict
from collections.abc import Sequence
import textwrap

from closed_chain_dynamics.recording.terminal import (
    Cell,
    Report,
    Style,
    bullets,
    count,
    number,
    sections,
    table,
)

__all__ = ['render']


def render(report: Report, style: Style = Style()) -> str:
    """Return a report as text."""
    return sections(
        [
            ('', [_headline(report, style)]),
            ('Tree', _tree(report, style)),
            ('Joints', _joint_table(report, style)),
            ('Loops', _loop_table(report, style)),
            ('Couplings', _coupling_table(report, style)),
            ('Springs', _spring_table(report, style)),
            ('Actuators', _actuator_table(report, style)),
            ('Masses', _mass_table(report, style)),
            ('Assembly hints', _assembly_lines(report)),
            ('Mobility', _mobility_lines(report, style)),
            ('Missing', bullets(report['missing'], style)),
            ('Warnings', bullets(report['warnings'], style)),
        ],
        style,
    )


def _headline(report: Report, style: Style) -> str:
    rows = sum(each['rows'] for each in report['loops'] + report['couplings'] if each['active'])
    counts = [count(report['links'], 'link'), count(report['joints'], 'joint')]
    counts += [
        count(report[key], key[:-1]) for key in ('loops', 'couplings', 'springs') if report[key]
    ]
    sizes = [
        count(report['actuators'], 'actuated joint'),
        f'nq {report["nq"]}',
        f'nv {report["nv"]}',
        f'{rows} constraint row{"s" * (rows != 1)}',
        f'{number(report["total_mass"])} kg',
    ]
    return (
        f'{style.paint(report["name"], "bold")}  {style.paint(report["file"], "dim")}\n'
        f'{", ".join(counts)}; {", ".join(sizes)}'
    )


def _tree(report: Report, style: Style) -> list[str]:
    """Draw the tree; a link also shows, in brackets, the loops that end at it."""
    children: defaultdict[str, list[Report]] = defaultdict(list)
    loops: defaultdict[str, list[str]] = defaultdict(list)
    for joint in report['joints']:
        children[joint['parent']].append(joint)
    for loop in report['loops']:
        for end in (loop['parent'], loop['child']):
            loops[end].append(loop['name'])

    def label(link: str) -> str:
        names = ''.join(f' [{name}]' for name in loops[link])
        return style.paint(link, 'bold') + style.paint(names, 'cyan')

    tee, corner, bar = ('├─ ', '└─ ', '│  ') if style.lines else ('|- ', '`- ', '|  ')
    rows = [label(report['root_link'])]
    # A stack, not recursion: a chain may be longer than Python's stack is deep.
    stack = [
        ('', joint, joint is children[report['root_link']][-1])
        for joint in reversed(children[report['root_link']])
    ]
    while stack:
        lead, joint, last = stack.pop()
        motor = style.paint(', actuated', 'green') if joint['role'] == 'actuated' else ''
        rows.append(
            f'{lead}{corner if last else tee}{label(joint["child"])}  '
            f'{style.paint(joint["name"], "dim")} ({joint["type"]}{motor})'
        )
        below = children[joint['child']]
        stack += [
            (lead + ('   ' if last else bar), each, each is below[-1]) for each in reversed(below)
        ]
    return rows


def _joint_table(report: Report, style: Style) -> list[str]:
    rows = []
    for joint in report['joints']:
        if joint['type'] == 'fixed':
            continue
        unit = 'm' if joint['type'] == 'prismatic' else 'rad'
        has_axis = joint['type'] in ('revolute', 'continuous', 'prismatic', 'planar')
        one = joint['nv'] == 1
        rows.append(
            [
                joint['name'],
                joint['type'],
                _axis(joint['axis']) if has_axis else '',
                _range(joint['limit'], unit) if one else '',
                joint['end_of_range'] or '' if one else '',
                _limit(joint['limit']['effort'], 'N' if unit == 'm' else 'N m'),
                _limit(joint['limit']['velocity'], f'{unit}/s'),
                _role(joint),
            ]
        )
    heads = ['joint', 'type', 'axis', 'range', 'at its ends', 'effort', 'speed', 'role']
    return table(heads, rows, style)


def _loop_table(report: Report, style: Style) -> list[str]:
    rows = []
    for loop in report['loops']:
        contact = loop['contact']
        note = (
            ''
            if not contact
            else (
                f'contact, {"one-sided" if contact["unilateral"] else "two-sided"}, '
                f'mu {number(contact["mu"])}'
            )
        )
        rows.append(
            [
                (loop['name'], 'cyan'),
                loop['type'],
                loop['rows'],
                _state(loop),
                loop['parent'],
                loop['child'],
                *_loop_limits(loop),
                _role(loop),
                note,
            ]
        )
    heads = ['loop', 'type', 'rows', 'state', 'parent', 'child', 'range', 'effort', 'speed']
    return table([*heads, 'role', ''], rows, style)


def _loop_limits(loop: Report) -> list[str]:
    """Return range, effort and speed of a loop joint, where it has them."""
    limit, unit = loop['limit'], 'm' if loop['type'] == 'prismatic' else 'rad'
    bounded = limit['lower'] is not None or limit['upper'] is not None
    return [
        _range(limit, unit) if bounded else '',
        _limit(limit['effort'], 'N' if unit == 'm' else 'N m'),
        _limit(limit['velocity'], f'{unit}/s'),
    ]


def _coupling_table(report: Report, style: Style) -> list[str]:
    rows = [
        [
            coupling['name'],
            coupling['rows'],
            _state(coupling),
            coupling['equation'],
            f'relative to {coupling["carrier"]}' if coupling['carrier'] else '',
        ]
        for coupling in report['couplings']
    ]
    return table(['coupling', 'rows', 'state', 'equation', ''], rows, style)


def _spring_table(report: Report, style: Style) -> list[str]:
    rows = []
    for spring in report['springs']:
        turning = 'joint' in spring
        unit, rate = ('N m/rad', 'N m s/rad') if turning else ('N/m', 'N s/m')
        if turning:
            ends = f'on joint {spring["joint"]}'
        elif 'terms' in spring:
            ends = f'over joints {", ".join(spring["terms"])}'
        elif 'path' in spring:
            ends = ' to '.join(dict.fromkeys(point['link'] for point in spring['path']))
        else:
            ends = f'{spring["from"]["link"]} to {spring["to"]["link"]}'
        rows.append(
            [
                spring['name'],
                spring['type'],
                ends,
                f'{number(spring["stiffness"])} {unit}',
                f'{number(spring["damping"])} {rate}',
                f'{number(spring["rest"])} {"rad" if turning else "m"}',
            ]
        )
    return table(['spring', 'type', 'between', 'stiffness', 'damping', 'rest'], rows, style)


def _actuator_table(report: Report, style: Style) -> list[str]:
    rows = [[(each['joint'], 'green'), each['source']] for each in report['actuators']]
    return table(['joint', 'declared by'], rows, style)


def _mass_table(report: Report, style: Style) -> list[str]:
    rows = [
        [
            link['name'],
            f'{number(link["mass"])} kg',
            '  '.join(number(x) for x in link['center_of_mass']),
            '  '.join(number(link['inertia'][i][i], 3) for i in range(3)),
            '' if link['possible'] else ('no rigid body has it', 'red'),
        ]
        for link in report['links']
        if link['mass']
    ]
    rows.append(['total', f'{number(report["total_mass"])} kg', '', '', ''])
    return table(['link', 'mass', 'centre of mass [m]', 'Ixx Iyy Izz [kg m^2]', ''], rows, style)


def _assembly_lines(report: Report) -> list[str]:
    return [
        f'{each["name"]}: '
        + ', '.join(f'{name} {_position(value)}' for name, value in each['positions'].items())
        for each in report['assemblies']
    ]


def _position(value: float | Sequence[float]) -> str:
    return number(value) if isinstance(value, (int, float)) else ' '.join(map(number, value))


def _mobility_lines(report: Report, style: Style) -> list[str]:
    section = report['mobility']
    if not section['assembled']:
        return [style.paint('unknown: no pose was found in which all loops are closed', 'yellow')]
    rows: list[str] = []
    for line in section['explanation'].splitlines():
        rows += (
            textwrap.wrap(line, style.width - 4, subsequent_indent='  ')
            if style.width > 24
            else [line]
        )
    return rows


def _role(joint: Report) -> Cell:
    return (joint['role'], 'green' if joint['role'] == 'actuated' else '')


def _state(item: Report) -> Cell:
    return 'closed' if item['active'] else ('open', 'yellow')


def _axis(axis: Sequence[float]) -> str:
    """Write +x, -z and the like where the axis is one of the frame's."""
    for i, letter in enumerate('xyz'):
        if abs(axis[i]) == 1:
            return ('+' if axis[i] > 0 else '-') + letter
    return ' '.join(number(x, 3) for x in axis)


def _range(limit: Report, unit: str) -> str:
    lower, upper = limit['lower'], limit['upper']
    if lower is None and upper is None:
        return 'unlimited'
    ends = ['-inf' if lower is None else number(lower), 'inf' if upper is None else number(upper)]
    return f'{" to ".join(ends)} {unit}'


def _limit(value: float | None, unit: str) -> str:
    return '' if value is None else f'{number(value)} {unit}'
