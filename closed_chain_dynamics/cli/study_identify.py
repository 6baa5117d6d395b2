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

"""``closed-chain study identify``: masses, inertias and friction from a record."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from closed_chain_dynamics.cli.arguments import add_pose, positive
from closed_chain_dynamics.recording.terminal import Bar

if TYPE_CHECKING:
    from closed_chain_dynamics.cli.arguments import Answer, Study
    from closed_chain_dynamics.model.mechanism import Mechanism

SUMMARY = 'masses, inertias and friction from a record of motion and torques'
DETAILS = """\
The record contains the time, the positions of the motors (and of other joints, if measured) and
the torques as tau:NAME. It is a CSV as written by simulate, an MCAP file or a rosbag2 folder.
Torques are linear in masses, first moments, inertias, damping, friction and armature. The
combinations of these that the torques reveal, the base parameters, are estimated by weighted least
squares, with confidence intervals. The last quarter of the record is kept for validation. --urdf
writes a model with physically possible inertias that fits equally well; parameters that the
torques do not reveal stay close to the original model.
"""
EXAMPLES = """\
examples:
  closed-chain study identify five_bar --record run.csv --rate 50 --urdf identified.urdf
  closed-chain study identify exo --record bag_folder --smooth 10 --no-friction --json
"""


def set_up(parser: argparse.ArgumentParser) -> Study:
    """Add the arguments; return what answers."""
    parser.add_argument(
        '--record', metavar='FILE', required=True, help='CSV, MCAP, or a rosbag2 folder'
    )
    add_pose(parser, {'--q': 'pose close to the start of the record [rad or m]'})
    parser.add_argument(
        '--rate', metavar='HZ', type=positive, help='samples per second to use (default: all)'
    )
    parser.add_argument(
        '--smooth',
        metavar='HZ',
        type=positive,
        help='low-pass filter the record at this frequency',
    )
    parser.add_argument(
        '--confidence',
        metavar='P',
        type=positive,
        default=0.95,
        help='confidence level of the intervals (default: %(default)g)',
    )
    parser.add_argument(
        '--no-friction',
        dest='friction',
        action='store_false',
        help='do not identify damping, friction and armature; take them from the model',
    )
    parser.add_argument('--urdf', metavar='FILE', help='write the identified model to this file')
    parser.set_defaults(plot=None, csv=None)

    def study(robot: Mechanism, args: argparse.Namespace) -> Answer:
        import closed_chain_dynamics as ccd
        from closed_chain_dynamics.identification.estimation import consistent_estimate, estimate
        from closed_chain_dynamics.identification.parameters import (
            parameters_of,
            values_of,
            with_values,
        )
        from closed_chain_dynamics.identification.records import read_record
        from closed_chain_dynamics.identification.regressor import stacked
        from closed_chain_dynamics.identification.report import (
            identification_report,
            render_identification,
        )
        from closed_chain_dynamics.recording.log_files import check_folder

        if not args.confidence < 1.0:
            parser.error('--confidence must lie between 0 and 1, for example 0.95')
        if args.urdf:
            check_folder(args.urdf)
        q = ccd.assemble(robot, dict(args.q), limits=args.limits)
        with Bar('reading', sys.stderr) as bar:
            motion, tau = read_record(
                robot, args.record, q, rate=args.rate, cutoff=args.smooth, progress=bar
            )
        parameters = parameters_of(robot, args.friction)
        measured = stacked(robot, motion.q, motion.v, motion.a, parameters)
        found = estimate(measured, tau, confidence=args.confidence)
        prior = values_of(robot, parameters)
        bodies = consistent_estimate(measured, tau, found, prior)
        report = identification_report(robot, motion, measured, found, bodies, prior)
        if args.urdf:
            model = with_values(robot.description, parameters, bodies.pi)
            ccd.Mechanism(model).save(args.urdf)
            report['files']['urdf'] = args.urdf
        return report, render_identification, ''

    return study
