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

"""``closed-chain study validity``: do the torques of a motion reproduce it?"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from closed_chain_dynamics.cli.arguments import add_pose, positive, refuse
from closed_chain_dynamics.cli.motion_arguments import (
    add_files,
    add_motion,
    given_motion,
    write_files,
    wrong_motion,
)
from closed_chain_dynamics.recording.terminal import Bar

if TYPE_CHECKING:
    from closed_chain_dynamics.cli.arguments import Answer, Study
    from closed_chain_dynamics.model.mechanism import Mechanism

SUMMARY = 'do the torques of a motion reproduce it?'
DETAILS = """\
Inverse dynamics gives the torques of a motion. The model, started from the first state of the
motion and driven by these torques alone, must reproduce the motion. The report says how far every
joint is off, for how long the motion stays within --tolerance, and how fast the error grows. If
the motion is unstable, the error of any model grows exponentially: look at the doubling time.
"""
EXAMPLES = """\
examples:
  closed-chain simulate four_bar --v crank=3 --time 1 --csv run.csv
  closed-chain study validity four_bar --trajectory run.csv --plot validity.png
      is the motion of a simulation reproduced?
  closed-chain study validity pendulum --q swing=3.1416 --sine swing=0.05,0.5 --time 6
      an inverted pendulum: reproduced for a while, then it falls
"""


def set_up(parser: argparse.ArgumentParser) -> Study:
    """Add the arguments; return what answers."""
    pose = parser.add_argument_group('motion')
    add_pose(pose, {'--q': 'pose to swing about, or close to the start of the file'})
    add_motion(pose)
    parser.add_argument(
        '--tolerance',
        metavar='X',
        type=positive,
        default=1e-3,
        help='largest joint error that counts as reproduced [rad or m] (default: %(default)g)',
    )
    parser.add_argument(
        '--dt',
        metavar='S',
        type=positive,
        help='longest step of the simulation (default: a quarter of the time '
        'between samples, at most 1 ms)',
    )
    parser.add_argument(
        '--forward',
        metavar='MODEL',
        help='apply the torques to another model, to find out which segment differs',
    )
    add_files(parser, 'files to write', 'table of torques and errors, one line per sample')

    def study(robot: Mechanism, args: argparse.Namespace) -> Answer:
        from closed_chain_dynamics.model.mechanism import load
        from closed_chain_dynamics.studies.figures import plot_validity
        from closed_chain_dynamics.studies.validity import study_validity
        from closed_chain_dynamics.studies.validity_report import render, validity_report

        moves = args.trajectory or args.sine
        unknown = 'which motion? Give one with --trajectory or --sine'
        refuse(args, wrong_motion(args) if moves else unknown)
        motion = given_motion(robot, args)
        other = None
        if args.forward:
            other = load(args.forward, actuated=robot.actuator_names, gravity=robot.gravity)
        with Bar('simulating', sys.stderr) as bar:
            found = study_validity(
                robot, motion, forward=other, tolerance=args.tolerance, dt=args.dt, progress=bar
            )
        report = validity_report(found)
        write_files(
            report, args, {'plot': lambda path: plot_validity(found, path), 'csv': found.to_csv}
        )
        verdict = (
            ''
            if found.valid
            else f'the motion is not reproduced: {robot.name} is off by up to '
            f'{report["error"]:.3g} rad or m, and {args.tolerance:g} is tolerated'
        )
        return report, render, verdict

    return study
