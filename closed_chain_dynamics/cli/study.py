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

"""
``closed-chain study``: internal validity, what-if, consistency of a record, identification.

The arguments of each are in a module of their own; `closed_chain_dynamics.studies` computes and
reports.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from closed_chain_dynamics.cli import (
    study_consistency,
    study_excite,
    study_identify,
    study_map,
    study_validity,
    study_what_if,
)
from closed_chain_dynamics.cli.arguments import (
    add_gravity,
    add_model_arguments,
    complain,
    load_model,
    print_report,
)
from closed_chain_dynamics.cli.motion_arguments import check_files

if TYPE_CHECKING:
    from closed_chain_dynamics.cli.arguments import Study

SUMMARY = 'validate a model, vary its parameters, or test a recorded motion against it'
DETAILS = """\
Answers questions that take more than one computation.

validity     do the torques computed for a motion reproduce it?
what-if      the same run with other masses, springs, damping, friction or gravity
consistency  can this model perform a recorded motion, and which joint contradicts it?
excite       a motion from which parameters can be identified
identify     masses, inertias and friction from a record of motion and torques
map          workspace, assembly modes and singularities over one or two joints

validity and consistency exit with code 1 if the answer is no.
"""
EXAMPLES = """\
examples:
  closed-chain study validity four_bar --q crank=1 --sine crank=0.5,1
      torques of a swinging crank, then the motion that they give
  closed-chain study what-if pendulum --q swing=0.5 --vary mass:arm=x0.5,x2 gravity=1.62
      half and twice the mass, on the Moon
  closed-chain study consistency four_bar --trajectory record.csv --csv closed.csv
      is the loop closed in the record? closed.csv is the nearest motion that closes it

'closed-chain study STUDY --help' describes one of them.
"""

STUDIES = {
    'validity': study_validity,
    'what-if': study_what_if,
    'consistency': study_consistency,
    'excite': study_excite,
    'identify': study_identify,
    'map': study_map,
}


def set_up(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], int]:
    """Add the studies; return what runs."""
    studies = parser.add_subparsers(title='studies', metavar='STUDY', required=True)
    for name, module in STUDIES.items():
        child = studies.add_parser(
            name,
            help=module.SUMMARY,
            description=module.DETAILS,
            epilog=module.EXAMPLES,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        child.add_argument(
            '--json',
            action='store_true',
            default=argparse.SUPPRESS,
            help='write JSON, for use in programs',
        )
        add_model_arguments(child)
        add_gravity(child)
        child.set_defaults(study=module.set_up(child), parser=child)

    def run(args: argparse.Namespace) -> int:
        check_files(args)
        study: Study = args.study
        report, render, verdict = study(load_model(args), args)
        print_report(report, args, render)
        return complain(verdict) if verdict else 0

    return run
