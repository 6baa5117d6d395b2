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

"""``closed-chain doctor``: what is there of all that is of use, and how to get the rest."""

import argparse
from collections.abc import Callable

from closed_chain_dynamics.cli.arguments import print_report
from closed_chain_dynamics.recording.terminal import Report, Style, sections, table

SUMMARY = 'report what is installed on this machine, and how to get what is missing'
DETAILS = """\
Looks for everything that the package can use: the core and its compiled kernels, ROS 2, the
browser view, the file formats it can write, and the engines it is compared with. For whatever is
missing it prints the command that installs it. Only the core is required: the exit code is 1 if it
cannot work, and 0 otherwise.
"""
EXAMPLES = """\
examples:
  closed-chain doctor
  closed-chain doctor --json | python3 -m json.tool
"""

SCHEMA = 'closed-chain-doctor/1'  # a key that is added keeps it, one that changes ends it
GROUPS = {
    'core': 'Core',
    'ros': 'ROS 2',
    'viewer': 'Browser view',
    'files': 'Files',
    'peers': 'Comparison and symbolic models',
}
FINDING_COLOURS = {'ok': 'green', 'missing': 'yellow', 'broken': 'red'}


def set_up(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], int]:
    """Return what runs; there is nothing to ask."""
    return run


def run(args: argparse.Namespace) -> int:
    """Print what was found; return the exit code, 1 when the core cannot work."""
    from dataclasses import asdict

    from closed_chain_dynamics.cli.doctor_checks import findings

    found = findings()
    works = all(
        each.state == 'ok'
        for each in found
        if each.group == 'core' and each.name not in ('compiler', 'kernels')
    )
    report = {'schema': SCHEMA, 'works': works, 'findings': [asdict(each) for each in found]}
    print_report(report, args, render)
    return 0 if works else 1


def render(report: Report, style: Style) -> str:
    """Return a report as text."""
    parts = []
    for group, title in GROUPS.items():
        rows = [
            [
                each['name'],
                (each['state'], FINDING_COLOURS[each['state']]),
                each['version'],
                each['about'],
            ]
            for each in report['findings']
            if each['group'] == group
        ]
        parts.append((title, table(['', '', '', ''], rows, style)[1:]))
    remedies = [[each['name'], each['remedy']] for each in report['findings'] if each['remedy']]
    parts.append(('How to get what is missing', table(['', ''], remedies, style)[1:]))
    verdict = 'The core works.' if report['works'] else 'The core cannot work: see above.'
    parts.append(('', [style.paint(verdict, 'bold', 'green' if report['works'] else 'red')]))
    return sections(parts, style)
