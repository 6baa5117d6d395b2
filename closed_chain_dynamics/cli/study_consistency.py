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
    import numpy as np
    from numpy.typing import NDArray

    from closed_chain_dynamics.cli.arguments import Answer, Study
    from closed_chain_dynamics.model.mechanism import Mechanism
    from closed_chain_dynamics.studies.ground import Ground
    from closed_chain_dynamics.studies.motion.marker_fit import MarkerFit
    from closed_chain_dynamics.studies.motion.tracks import Tracks

SUMMARY = 'can a recorded motion be one of this model?'
DETAILS = """\
A record of joint positions, with offsets and noise, need not fit the model. The report says how
far every loop is open, which joint would explain this if its record were left out, where joints
leave their range or are too fast, and which forces the motion would need that no actuator provides
(for a floating model: the forces at its root). Joints that were not measured are computed from the
loops.

Markers (TRC, C3D) and skeletons (BVH) are converted to joint positions by inverse kinematics with
closed loops. If contacts are known, from the model or from --setup, the ground may provide forces
too: the report has the zero-moment point, the friction, and the frames that neither motors nor
ground can explain. --nearest finds the nearest motion that is possible.
"""
EXAMPLES = """\
examples:
  closed-chain study consistency four_bar --trajectory record.csv --plot gaps.png
      record.csv has the columns time, crank, coupler and rocker, or some of them
  closed-chain study consistency four_bar --trajectory record.csv --smooth 10 --csv closed.csv
      without what is faster than 10 Hz; the nearest motion that closes the loops goes into a file
  closed-chain study consistency figure --markers walk.trc --setup walk.yaml --html walk.html
      walk.yaml says where markers sit and which points of the feet may stand on the ground
"""


def set_up(parser: argparse.ArgumentParser) -> Study:
    """Add the arguments; return what answers."""
    record = parser.add_argument_group('record')
    source = record.add_mutually_exclusive_group(required=True)
    source.add_argument(
        '--trajectory',
        metavar='FILE',
        help='CSV with a column time and one for each joint that was measured',
    )
    source.add_argument(
        '--markers', metavar='FILE', help='markers, .trc or .c3d, or a moving skeleton, .bvh'
    )
    record.add_argument(
        '--setup',
        metavar='FILE',
        help='YAML file with the positions of markers and the points that may touch the ground '
        '(default: markers named like links, contacts of the model)',
    )
    record.add_argument(
        '--up',
        choices=['y', 'z'],
        default='z',
        help='vertical axis of the marker file (default: z)',
    )
    record.add_argument(
        '--scale',
        metavar='X',
        type=positive,
        default=1.0,
        help='metres per unit of a BVH file, as in 0.01; a factor for other files (default: 1)',
    )
    record.add_argument(
        '--rate',
        metavar='HZ',
        type=positive,
        help='samples per second, from a spline (default: as in the file)',
    )
    record.add_argument(
        '--smooth',
        metavar='HZ',
        type=positive,
        help='low-pass filter: Butterworth, fourth order, without delay',
    )
    add_assignments(record, {'--q': 'pose close to the start, for joints that were not measured'})
    parser.add_argument(
        '--tolerance',
        metavar='X',
        type=positive,
        default=1e-3,
        help='largest loop gap that counts as closed [m or rad] (default: %(default)g)',
    )
    parser.add_argument(
        '--nearest',
        action='store_true',
        help='find the nearest motion that motors and ground allow',
    )
    add_files(
        parser,
        'files to write',
        'table of the nearest motion that closes the loops, or of --nearest',
    )
    parser.add_argument('--html', metavar='FILE', help='report with figures, in one file')

    def study(robot: Mechanism, args: argparse.Namespace) -> Answer:
        from closed_chain_dynamics.recording import log_files
        from closed_chain_dynamics.studies.consistency import study_consistency
        from closed_chain_dynamics.studies.consistency_figure import plot_consistency
        from closed_chain_dynamics.studies.consistency_report import QUESTIONS, consistency_report
        from closed_chain_dynamics.studies.consistency_text import render, write_html
        from closed_chain_dynamics.studies.motion.smoothing import smoothed

        if args.html:
            log_files.check_folder(args.html)
        tracks, start, fit, ground = _recorded(robot, args)
        if args.smooth:
            tracks = smoothed(tracks, args.smooth)
        with Bar('comparing', sys.stderr) as bar:
            found = study_consistency(
                robot,
                tracks,
                start=start,
                tolerance=args.tolerance,
                markers=fit,
                ground=ground,
                nearest=args.nearest,
                progress=bar,
            )
        report = consistency_report(found)
        write_files(
            report,
            args,
            {
                'plot': lambda path: plot_consistency(found, path),
                'csv': found.to_csv,
                'html': lambda path: write_html(found, report, path),
            },
        )
        failed = [QUESTIONS[name] for name, good in found.verdicts.items() if not good]
        verdict = f'the record does not fit {robot.name}: {" ".join(failed)} No.'
        return report, render, verdict if failed else ''

    return study


def _recorded(
    robot: Mechanism, args: argparse.Namespace
) -> tuple[Tracks, NDArray[np.float64], MarkerFit | None, Ground | None]:
    """Return how the joints moved, a pose near the begin, and what the setup says."""
    import closed_chain_dynamics as ccd
    from closed_chain_dynamics.studies.ground import ground_of_model
    from closed_chain_dynamics.studies.motion.marker_files import read_markers
    from closed_chain_dynamics.studies.motion.marker_fit import fit_markers
    from closed_chain_dynamics.studies.motion.reading import read_trajectory
    from closed_chain_dynamics.studies.motion.tracks import tracks_of_poses
    from closed_chain_dynamics.studies.motion_setup import read_setup

    markers, ground = read_setup(robot, args.setup) if args.setup else (None, None)
    ground = ground or ground_of_model(robot)
    start = ccd.assemble(robot, dict(args.q), limits=False)
    if args.trajectory:
        return read_trajectory(robot, args.trajectory, args.rate), start, None, ground
    record = read_markers(args.markers, up=args.up, scale=args.scale)
    with Bar('fitting', sys.stderr) as bar:
        fit = fit_markers(robot, record, start, markers, progress=bar)
    return tracks_of_poses(robot, record.time, fit.poses), fit.poses[0], fit, ground
