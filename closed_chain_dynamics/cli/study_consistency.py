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

"""``closed-chain study consistency``: can a recorded motion be one of this model?"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from closed_chain_dynamics.cli.arguments import add_assignments, positive
from closed_chain_dynamics.cli.motion_arguments import add_files, write_files
from closed_chain_dynamics.recording.terminal import Bar

if TYPE_CHECKING:
    from closed_chain_dynamics.cli.arguments import Answer, Study
    from closed_chain_dynamics.model.mechanism import Mechanism

SUMMARY = 'can a recorded motion be one of this model?'
DETAILS = """\
A record of joint positions, with offsets and noise, need not fit the model. The report says how
far every loop is open in it, which joint would explain that if its record were left out, where
joints leave their range or are too fast, and which forces the motion would need that no actuator
gives (of a model that flies freely: the forces at its root). Joints that were not measured are
found from the loops.
"""
EXAMPLES = """\
examples:
  closed-chain study consistency four_bar --trajectory record.csv --plot gaps.png
      record.csv has the columns time, crank, coupler and rocker, or some of them
  closed-chain study consistency four_bar --trajectory record.csv --smooth 10 --csv closed.csv
      without what is faster than 10 Hz; the nearest motion that closes the loops goes into a file
"""


def set_up(parser: argparse.ArgumentParser) -> Study:
    """Add the arguments; return what answers."""
    record = parser.add_argument_group('record')
    record.add_argument(
        '--trajectory',
        metavar='FILE',
        required=True,
        help='CSV with a column time and one for each joint that was measured',
    )
    record.add_argument(
        '--rate',
        metavar='HZ',
        type=positive,
        help='samples per second, from a spline (default: those of the file)',
    )
    record.add_argument(
        '--smooth',
        metavar='HZ',
        type=positive,
        help='take out what is faster: Butterworth, fourth order, without delay',
    )
    add_assignments(record, {'--q': 'pose near the begin, for joints that were not measured'})
    parser.add_argument(
        '--tolerance',
        metavar='X',
        type=positive,
        default=1e-3,
        help='gap of a loop that is tolerated [m or rad] (default: %(default)g)',
    )
    add_files(parser, 'files to write', 'table of the nearest motion that closes the loops')

    def study(robot: Mechanism, args: argparse.Namespace) -> Answer:
        import closed_chain_dynamics as ccd
        from closed_chain_dynamics.studies.consistency import smoothed, study_consistency
        from closed_chain_dynamics.studies.consistency_report import (
            QUESTIONS,
            consistency_report,
            render,
        )
        from closed_chain_dynamics.studies.figures import plot_consistency
        from closed_chain_dynamics.studies.motion.reading import read_trajectory

        tracks = read_trajectory(robot, args.trajectory, args.rate)
        if args.smooth:
            tracks = smoothed(tracks, args.smooth)
        start = ccd.assemble(robot, dict(args.q), limits=False)
        with Bar('comparing', sys.stderr) as bar:
            found = study_consistency(
                robot, tracks, start=start, tolerance=args.tolerance, progress=bar
            )
        report = consistency_report(found)
        write_files(
            report, args, {'plot': lambda path: plot_consistency(found, path), 'csv': found.to_csv}
        )
        failed = [QUESTIONS[name] for name, good in found.verdicts.items() if not good]
        verdict = f'the record does not fit {robot.name}: {" ".join(failed)} No.'
        return report, render, verdict if failed else ''

    return study
