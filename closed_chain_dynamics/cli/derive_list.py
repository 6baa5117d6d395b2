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

"""``closed-chain derive`` of a list file: equations of motion by Lagrange's method."""

import argparse
from pathlib import Path
import sys
import textwrap
from typing import TYPE_CHECKING

from closed_chain_dynamics.cli.written_files import write_files
from closed_chain_dynamics.errors import NameNotFound
from closed_chain_dynamics.model import library
from closed_chain_dynamics.recording.terminal import (
    Bar,
    Report,
    Style,
    closing_sections,
    number,
    sections,
    table,
)

if TYPE_CHECKING:  # SymPy is slow to import
    from closed_chain_dynamics.symbolic.equations import StageProgress

__all__ = ['derive_list', 'list_file', 'render_list']

SCHEMA = 'closed-chain-derive-list/1'  # a key that is added keeps it, one that changes ends it
FOR_MODELS = (
    'actuated',
    'root_joint',
    'inertia',
    'method',
    'what',
    'q',
    'gravity',
    'cost',
    'speed',
)


def list_file(name: str) -> Path | None:
    """
    Return the list file that MODEL means, or None where it means a mechanism.

    Where both are shipped under one name, as four_bar, the suffix .yaml asks for the list file.
    """
    path, known = Path(name).expanduser(), library.shipped_lists()
    if path.suffix in ('.yaml', '.yml'):
        return path if path.is_file() else known.get(name.removesuffix('.yaml'), path)
    if path.exists() or path.suffix or path.name != name or name in library.shipped():
        return None
    if name not in known:
        raise NameNotFound('file, shipped model or list file', name, [*library.shipped(), *known])
    return known[name]


def derive_list(path: Path, args: argparse.Namespace) -> Report:
    """Derive the equations of a list file; return the report."""
    from closed_chain_dynamics.symbolic.lagrange_equations import lagrange
    from closed_chain_dynamics.symbolic.list_code import (
        list_c_source,
        list_latex_source,
        list_python_source,
    )
    from closed_chain_dynamics.symbolic.list_files import read_lists

    for name in FOR_MODELS:
        if getattr(args, name) != args.parser.get_default(name):
            args.parser.error(
                f'--{name.replace("_", "-")} is for mechanisms, and {args.model} is a list file'
            )
    lists = read_lists(path)
    with Bar('deriving', sys.stderr) as bar:
        equations = lagrange(lists, progress=_steps(bar), longest=args.longest)
    with Bar('simplifying', sys.stderr) as bar:
        simple = equations.simplified(progress=_steps(bar))
    report: Report = {
        'schema': SCHEMA,
        'name': lists.name,
        'file': str(path),
        'coordinates': list(lists.coordinates),
        'inputs': list(lists.inputs),
        'multipliers': [str(each) for each in equations.multipliers],
        'degrees_of_freedom': equations.degrees_of_freedom,
        'parameters': dict(lists.parameters),
        'kinetic_energy': str(equations.kinetic),
        'potential_energy': str(equations.potential),
        'equations': [f'{each.lhs} = {each.rhs}' for each in simple.equations],
        'files': {},
        'warnings': [],
    }
    report['files'] = write_files(
        args,
        {
            'latex': lambda: list_latex_source(simple),
            'python': lambda: list_python_source(equations),
            'c': lambda: list_c_source(equations),
        },
    )
    return report


def _steps(bar: Bar | None) -> 'StageProgress | None':
    return None if bar is None else (lambda done, total, what: bar(done / total))


def render_list(report: Report, style: Style) -> str:
    """Return a report as text."""
    parameters = ', '.join(
        name if value is None else f'{name} = {number(value, 6)}'
        for name, value in report['parameters'].items()
    )
    about = [
        ['coordinates', ', '.join(report['coordinates'])],
        ['inputs', ', '.join(report['inputs']) or 'none'],
        ['multipliers', ', '.join(report['multipliers']) or 'none'],
        ['degrees of freedom', str(report['degrees_of_freedom'])],
        ['parameters', parameters or 'none'],
    ]
    lines: list[str] = []
    for equation in report['equations']:
        lines += (
            textwrap.wrap(
                equation, style.width - 4, subsequent_indent='    ', break_long_words=False
            )
            if style.width > 24
            else [equation]
        )
    return sections(
        [
            ('', [style.paint(report['name'], 'bold')]),
            ('Model', table(['', ''], about, style)[1:]),
            ('Equations of motion', lines),
            *closing_sections(report, style),
        ],
        style,
    )
