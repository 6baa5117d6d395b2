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

"""``closed-chain study map``: workspace and singularities over one or two coordinates."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from closed_chain_dynamics.cli.arguments import add_pose, seed, whole
from closed_chain_dynamics.cli.motion_arguments import add_files, write_files
from closed_chain_dynamics.recording.terminal import Bar

if TYPE_CHECKING:
    from closed_chain_dynamics.cli.arguments import Answer, Study
    from closed_chain_dynamics.model.mechanism import Mechanism

SUMMARY = 'what is reachable, in how many ways, and how far from singular'
DETAILS = """\
Maps the poses over one or two tree or loop joints: at every point of a grid the joints are held
and the loops are closed from several starts. For each pose, --csv has one line with its branch
(counted as in the report), its mobility, its condition, its distance to a singularity (0 where the
joints of the map do not determine the others) and the largest torque that holds it against
gravity. --plot draws a line for each branch over one joint, the best branch over two.
"""
EXAMPLES = """\
examples:
  closed-chain study map four_bar --over 'crank=range(0,6.28,100)' --plot map.png
  closed-chain study map five_bar --over 'left_shoulder=range(0.6,3.6,40)' \\
      'right_shoulder=range(-0.4,2.6,40)' --plot map.png --csv map.csv
"""


def axis(text: str) -> tuple[str, tuple[float, ...]]:
    """Read 'joint=range(first,last,count)' or 'joint=values'."""
    from closed_chain_dynamics.studies.sampling import read_variation

    try:
        found = read_variation(f'q:{text}')
        if not found.values or found.scale:
            raise ValueError
    except ValueError:
        raise argparse.ArgumentTypeError(
            f'{text!r} is not of the form joint=range(first,last,count) or joint=values'
        ) from None
    return found.name, found.values


def set_up(parser: argparse.ArgumentParser) -> Study:
    """Add the arguments; return what answers."""
    parser.add_argument(
        '--over',
        metavar='JOINT=VALUES',
        nargs='+',
        type=axis,
        required=True,
        help='one or two joints and their values, as in crank=range(0,6.28,100)',
    )
    add_pose(parser, {'--q': 'further joints to hold [rad or m]'})
    parser.add_argument(
        '--starts',
        metavar='N',
        type=whole,
        default=4,
        help='random starts at every point; more starts find more assembly modes (default: '
        '%(default)d)',
    )
    parser.add_argument(
        '--seed', metavar='N', type=seed, default=0, help='seed of the random starts'
    )
    add_files(parser, 'files to write', 'table, one line per pose')

    def study(robot: Mechanism, args: argparse.Namespace) -> Answer:
        from closed_chain_dynamics.errors import NameNotFound
        from closed_chain_dynamics.studies.map_report import (
            map_report,
            plot_map,
            render,
            write_map,
        )
        from closed_chain_dynamics.studies.maps import study_map

        known = [*robot.joint_names, *robot.loop_coordinate_names]
        for name, _ in args.over:
            if name not in known:
                raise NameNotFound('joint', name, known, where=robot.name)
        with Bar('mapping', sys.stderr) as bar:
            found = study_map(
                robot,
                dict(args.over),
                held=dict(args.q),
                limits=args.limits,
                starts=args.starts,
                seed=args.seed,
                progress=bar,
            )
        report = map_report(found)
        write_files(
            report,
            args,
            {
                'plot': lambda path: plot_map(found, path),
                'csv': lambda path: write_map(found, path),
            },
        )
        return report, render, ''

    return study
