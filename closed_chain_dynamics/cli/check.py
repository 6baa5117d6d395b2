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

"""``closed-chain check``: what a model is made of, and what it lacks."""

import argparse
from collections.abc import Callable

from closed_chain_dynamics.cli.advice import as_options, options_of
from closed_chain_dynamics.cli.arguments import (
    add_model_arguments,
    complain,
    load_model,
    print_report,
    unheard,
)

SUMMARY = 'report what a model contains, how it moves and what is missing'
DETAILS = """\
Reads a model, closes its loops and reports what it is made of: the tree of links, joints, loops
and couplings, springs, motors and where they are declared, masses. Then how it can move:
mobility (the number of independent motions), the generalized coordinates and why these, redundant
constraints, the distance to the nearest singular pose, and whether the motors suffice. Finally,
what is missing and what looks wrong. For a file that cannot be read it reports the place and the
repair. The exit code is 1 in that case, and when the loops cannot be closed.
"""
EXAMPLES = """\
examples:
  closed-chain check four_bar                            a model that comes with the package
  closed-chain check robot.urdf                          one of your own
  closed-chain check five_bar --actuated left_shoulder   what if there were one motor only?
  closed-chain check robot.urdf --root-joint floating    a robot whose base moves freely
  closed-chain check four_bar --json | python3 -m json.tool
"""


def set_up(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], int]:
    """Add the arguments; return what runs."""
    add_model_arguments(parser)
    return run


def run(args: argparse.Namespace) -> int:
    """Print the report; the exit code is 1 when the loops cannot be closed."""
    from closed_chain_dynamics.cli.check_report import check_report
    from closed_chain_dynamics.cli.check_text import render

    with unheard():  # warnings about the file are in the report
        robot = load_model(args)
    report = check_report(robot)
    print_report(report, args, render)
    if report['mobility']['assembled']:
        return 0
    why = as_options(report['mobility']['explanation'], options_of(args.parser))
    return complain(f'the loops cannot be closed: {why}')
