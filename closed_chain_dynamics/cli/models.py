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

"""``closed-chain models``: the models that come with the package."""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path

from closed_chain_dynamics.cli.arguments import print_report
from closed_chain_dynamics.model import library
from closed_chain_dynamics.recording.terminal import Report, Style

SUMMARY = 'list the models that come with the package'
DETAILS = """\
Lists the models that come with the package, each with a short description. Every command that
takes a MODEL accepts these names; --json shows where the files are, as a start for your own. List
files, at the end, describe a model by points and segments: 'closed-chain derive' takes them and
writes the equations of motion.
"""
EXAMPLES = """\
examples:
  closed-chain models
  closed-chain models --json
  closed-chain check four_bar      more about one of them
"""


def set_up(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], None]:
    """Return what runs; there is nothing to ask."""
    return run


def run(args: argparse.Namespace) -> None:
    """Print the list."""
    report = {'models': _entries(library.shipped()), 'lists': _entries(library.shipped_lists())}
    print_report(report, args, render)


def _entries(files: Mapping[str, Path]) -> list[dict[str, str]]:
    # With its suffix a list file is told from the model of the same name.
    return [
        {
            'name': path.name if path.suffix == '.yaml' else name,
            'file': str(path),
            'about': library.about(path),
        }
        for name, path in files.items()
    ]


def render(report: Report, style: Style) -> str:
    """Return the list as text."""
    width = max(len(each['name']) for entries in report.values() for each in entries)
    lines = {
        key: [
            f'{style.paint(each["name"].ljust(width), "bold")}  {each["about"]}'
            for each in entries
        ]
        for key, entries in report.items()
    }
    return '\n'.join(
        [*lines['models'], '', "List files, for 'closed-chain derive':", *lines['lists']]
    )
