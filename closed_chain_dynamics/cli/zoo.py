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

"""``closed-chain zoo``: a whole folder of robots, judged."""

import argparse
from collections.abc import Callable
from pathlib import Path
import sys
from typing import TYPE_CHECKING

from closed_chain_dynamics.cli.arguments import complain, positive, print_report
from closed_chain_dynamics.recording.terminal import Bar, Report, Style, sections, table

if TYPE_CHECKING:
    from closed_chain_dynamics.recording.terminal import Cell

SUMMARY = 'test every robot in a folder: does it load, close, agree, simulate?'
DETAILS = """\
Tests every robot in a folder: does it load, do its loops close, how does it move, do its mass
matrix, forces and accelerations agree with the tool it was written for (MuJoCo for MJCF, Pinocchio
for URDF, if installed), can it be simulated for a second? Every file is tried in a process of its
own, so that a crash or an endless loop affects no other file. The exit code is 1 if anything is
wrong with a file that its own tool can read.
"""
EXAMPLES = """\
examples:
  closed-chain zoo mujoco_menagerie
  closed-chain zoo robots --json > zoo.json          for programs, and for CI
  closed-chain zoo robots --patience 20              give up after 20 s per file
"""
MARKS = {True: ('yes', 'green'), False: ('no', 'red'), None: ('-', 'dim')}


def set_up(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], int]:
    """Add the arguments; return what runs."""
    parser.add_argument('folder', metavar='DIR', type=Path, help='where the robots are')
    parser.add_argument(
        '--patience',
        metavar='S',
        type=positive,
        default=120.0,
        help='longest time for one file (default: %(default)g)',
    )
    return run


def run(args: argparse.Namespace) -> int:
    """Visit every robot, and print the table."""
    from closed_chain_dynamics.studies.zoo import robots_in, visit

    files, found = robots_in(args.folder), []
    with Bar('visiting', sys.stderr) as bar:
        for specimen in visit(files, patience=args.patience, folder=args.folder):
            found.append(specimen.as_dict())
            if bar is not None:
                bar(len(found) / len(files), f'{len(found)} of {len(files)}')
    report: Report = {'folder': str(args.folder), 'files': found, 'summary': _summary(found)}
    print_report(report, args, render)
    if not files:
        return complain(f'{args.folder}: there is no robot (.urdf, .xacro, .xml, .sdf) in it')
    wrong = sum(not each['good'] for each in found)
    if not wrong:
        return 0
    are = 'is not as it' if wrong == 1 else 'are not as they'
    return complain(f'{wrong} of {len(found)} files {are} should be')


def _summary(found: list[Report]) -> Report:
    readable = [each for each in found if each['engine_loads'] is not False]
    compared = [each for each in found if each['agrees'] is not None]
    return {
        'files': len(found),
        'readable': len(readable),  # by their own tools, where these are installed
        'load': sum(each['loads'] for each in readable),
        'trusted': sum(each['inertia'] == 'trust' for each in readable),  # among these
        'close': sum(each['closes'] is True for each in readable),
        'compared': len(compared),
        'agree': sum(each['agrees'] for each in compared),
        'simulate': sum(each['simulates'] is True for each in readable),
    }


def render(report: Report, style: Style) -> str:
    """Return the table as text."""
    root, rows = Path(report['folder']), []
    for each in report['files']:
        differences = each['differences'] or {}
        row: list[Cell] = [
            str(Path(each['file']).relative_to(root)),
            MARKS[each['loads']],
            MARKS[each['closes']],
            '' if each['mobility'] is None else each['mobility'],
            '' if each['redundant'] is None else each['redundant'],
            each['actuation'] or '',
            f'{max(differences.values()):.0e} {each["engine"]}' if differences else '',
            MARKS[each['simulates']],
            (each['why'], '' if each['good'] else 'red'),
        ]
        rows.append(row)
    heads = ['file', 'loads', 'closes', 'mobility', 'redundant', 'actuation']
    told = report['summary']
    lines = [
        f'{told["load"]} of {told["readable"]} files that their own tool reads load, '
        f'{told["close"]} close, {told["simulate"]} simulate; '
        f'{told["agree"]} of {told["compared"]} that could be compared agree.'
    ]
    if told['trusted']:
        lines.append(
            f'{told["trusted"]} have inertias or massless joints that are refused: compared with '
            "inertia='trust', simulated with inertia='repair'."
        )
    return sections(
        [('', table([*heads, 'differs', 'simulates', 'why'], rows, style)), ('', lines)], style
    )
