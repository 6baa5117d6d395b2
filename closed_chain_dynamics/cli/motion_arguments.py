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

"""What the commands that take a motion share: its arguments, the motion, the files to write."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
import math
import sys
from typing import TYPE_CHECKING

from closed_chain_dynamics.cli.arguments import assignment, closed_pose, positive
from closed_chain_dynamics.recording.terminal import Bar, Report

if TYPE_CHECKING:
    from closed_chain_dynamics.model.mechanism import Mechanism
    from closed_chain_dynamics.studies.motion.moving import Motion

__all__ = ['add_files', 'add_motion', 'check_files', 'given_motion', 'write_files', 'wrong_motion']

SINE_SAMPLES = 200  # of a period of the slowest sine


def _wave(text: str) -> tuple[str, list[float]]:
    """Read 'joint=size,frequency'."""
    name, values = assignment(text)
    if not (
        isinstance(values, list)
        and len(values) == 2
        and all(map(math.isfinite, values))
        and values[1] > 0.0
    ):
        raise argparse.ArgumentTypeError(
            f'{text!r} is not of the form joint=amplitude,frequency, such as crank=0.3,2 [rad, Hz]'
        )
    return name, values


def add_motion(group: argparse._ArgumentGroup) -> None:
    """Add --trajectory and --sine, of which one may be given, --time and --rate."""
    source = group.add_mutually_exclusive_group()
    source.add_argument(
        '--trajectory',
        metavar='FILE',
        help='CSV with a column time and one for each joint that is given; velocities and '
        'accelerations come from a spline',
    )
    source.add_argument(
        '--sine',
        metavar='JOINT=AMPLITUDE,HZ',
        nargs='+',
        type=_wave,
        help='joints that swing about the pose [rad or m, Hz]; an amplitude of 0 holds a joint. '
        'Independent joints that are not named stay still',
    )
    group.add_argument(
        '--time',
        metavar='S',
        type=positive,
        help='duration of the sines (default: one period of the slowest)',
    )
    group.add_argument(
        '--rate',
        metavar='HZ',
        type=positive,
        help=f'samples per second (default: as in the file; {SINE_SAMPLES} per period of a sine)',
    )


def wrong_motion(args: argparse.Namespace) -> str:
    """Return what is wrong with arguments of a motion that are fine one by one, or nothing."""
    if args.time and not args.sine:
        return '--time is for --sine; a trajectory lasts as long as its file says'
    if args.rate and not (args.sine or args.trajectory):
        return '--rate is for a motion: give one with --trajectory or --sine'
    return ''


def given_motion(robot: Mechanism, args: argparse.Namespace) -> Motion:
    """Return the Motion of a trajectory or of sines, about or from the pose --q."""
    import numpy as np

    import closed_chain_dynamics as ccd
    from closed_chain_dynamics.studies.motion.moving import move
    from closed_chain_dynamics.studies.motion.reading import read_trajectory
    from closed_chain_dynamics.studies.motion.tracks import sines

    if args.trajectory:
        tracks = read_trajectory(robot, args.trajectory, args.rate)
        q = ccd.assemble(robot, dict(args.q), limits=False)
    else:
        q = closed_pose(robot, args)
        slowest = min(frequency for _, (_, frequency) in args.sine)
        duration, rate = args.time or 1.0 / slowest, args.rate or SINE_SAMPLES * slowest
        tracks = sines(robot, q, dict(args.sine), np.arange(round(duration * rate) + 1) / rate)
    with Bar('moving', sys.stderr) as bar:
        return move(robot, tracks, q, progress=bar)


def add_files(parser: argparse.ArgumentParser, title: str, table: str) -> None:
    """Add --plot and --csv; `table` says what the table holds."""
    files = parser.add_argument_group(title)
    files.add_argument('--plot', metavar='FILE', help='figure: .png, .svg or .pdf')
    files.add_argument('--csv', metavar='FILE', help=table)


def check_files(args: argparse.Namespace) -> None:
    """Refuse bad file names before the work, not after it."""
    from closed_chain_dynamics.recording import log_files, panels

    for path, check in ((args.plot, panels.check_plot), (args.csv, log_files.check_folder)):
        if path:
            check(path)


def write_files(
    report: Report, args: argparse.Namespace, writers: Mapping[str, Callable[[str], object]]
) -> None:
    """Write what was asked for, {option: function of a path}, and note it in the report."""
    for option, write in writers.items():
        path = getattr(args, option)
        if path:
            write(path)
            report['files'][option] = path
