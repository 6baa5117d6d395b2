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

"""``closed-chain study excite``: a motion from which parameters can be identified."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from closed_chain_dynamics.cli.arguments import add_pose, closed_pose, positive, seed, whole
from closed_chain_dynamics.cli.motion_arguments import add_files, write_files
from closed_chain_dynamics.recording.terminal import Bar

if TYPE_CHECKING:
    from closed_chain_dynamics.cli.arguments import Answer, Study
    from closed_chain_dynamics.model.mechanism import Mechanism

SUMMARY = 'a motion from which parameters can be identified'
DETAILS = """\
Finds a motion from which parameters can be identified. Every motor swings about a pose as a sum of
sines. The search minimises the condition number of the regressor, within the limits of position
and speed and with closed loops. The report lists the base parameters, and the parameters that no
torque reveals.
"""
EXAMPLES = """\
examples:
  closed-chain study excite five_bar --csv excitation.csv
      a period of 5 s, for the trajectory controller of a robot
"""


def set_up(parser: argparse.ArgumentParser) -> Study:
    """Add the arguments; return what answers."""
    add_pose(parser, {'--q': 'pose to swing about; loops determine the rest [rad or m]'})
    parser.add_argument(
        '--period',
        metavar='S',
        type=positive,
        default=5.0,
        help='period of the motion (default: %(default)g s)',
    )
    parser.add_argument(
        '--harmonics',
        metavar='N',
        type=whole,
        default=3,
        help='sines per motor (default: %(default)d)',
    )
    parser.add_argument(
        '--tries',
        metavar='N',
        type=whole,
        default=40,
        help='motions to try (default: %(default)d)',
    )
    parser.add_argument('--seed', metavar='N', type=seed, default=0, help='seed of the search')
    add_files(parser, 'files to write', 'positions of the motors over one period')

    def study(robot: Mechanism, args: argparse.Namespace) -> Answer:
        from closed_chain_dynamics.identification.excitation import excite
        from closed_chain_dynamics.identification.report import (
            excitation_report,
            render_excitation,
            write_excitation,
        )

        if args.plot:
            parser.error('this study draws no figure: plot the trajectory that --csv writes')
        candidates = max(1, args.tries // 3)
        with Bar('searching', sys.stderr) as bar:
            found = excite(
                robot,
                closed_pose(robot, args),
                period=args.period,
                harmonics=args.harmonics,
                candidates=candidates,
                improvements=args.tries - candidates,
                seed=args.seed,
                progress=bar,
            )
        report = excitation_report(robot, found)
        write_files(report, args, {'csv': lambda path: write_excitation(found, path)})
        return report, render_excitation, ''

    return study
