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

"""``closed-chain study what-if``: the same run with other numbers."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from closed_chain_dynamics.cli.arguments import add_pose, closed_pose, positive, refuse
from closed_chain_dynamics.cli.motion_arguments import add_files, write_files
from closed_chain_dynamics.cli.study_experiment import add_experiment, run_study, wrong_experiment
from closed_chain_dynamics.recording.terminal import Bar

if TYPE_CHECKING:
    from closed_chain_dynamics.cli.arguments import Answer, Study
    from closed_chain_dynamics.model.mechanism import Mechanism
    from closed_chain_dynamics.studies.parameters import Variation

SUMMARY = 'the same run with other numbers'
DETAILS = """\
Every run starts from the same state under the same torques; only the varied parameters differ. A
value that starts with x is a factor on the value in the model. Several parameters make a grid of
all combinations, up to 200 runs. The first run is the model as it is.

  mass:LINK  inertia:LINK  stiffness:SPRING  rest:SPRING  damping:JOINT  friction:JOINT
  armature:JOINT  mu:CONTACT  gravity

The inertia of a link grows with its mass; gravity keeps its direction.

With --results FOLDER there may be millions of runs, on all cores or on a Dask cluster. Of each run
only the numbers named by --response are kept. Values may be range(first,last,count) or a
distribution of scipy.stats, as in norm(1,0.1), from which --samples are drawn. Further parameters
are then

  length:LINK  q:JOINT  v:JOINT  tau:MOTOR  kp:MOTOR  kd:MOTOR  target:MOTOR
  connect:JOINT  cut:JOINT (times)

The same command in the same folder continues where it was stopped.
"""
EXAMPLES = """\
examples:
  closed-chain study what-if four_bar --q crank=1 --vary mass:coupler_link=x0.5,x2 --plot runs.png
      the motion of the crank with a light and a heavy coupler
  closed-chain study what-if four_bar --vary damping:crank=0,0.05 gravity=1.62,9.81 --watch rocker
      a grid of four runs, and the force in the joint of the rocker
  closed-chain study what-if two_link --vary mu:tip_on_floor=0.2,0.8 --json
      friction of a contact, for a program
  closed-chain study what-if four_bar --q crank=1 --vary 'mass:coupler_link=xnorm(1,0.1)' \\
      --samples 1000 --response 'peak=max(abs(v.crank))' --results runs
      a thousand runs on all cores; runs/report.html has the figures
"""


def variation(text: str) -> Variation:
    """Read 'parameter:name=values'."""
    from closed_chain_dynamics.studies.sampling import read_variation

    try:
        return read_variation(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f'{text!r} is not of the form parameter:name=values, such as '
            'mass:arm=x0.5,x2, gravity=1.62 or mass:arm=norm(1,0.1)'
        ) from None


def set_up(parser: argparse.ArgumentParser) -> Study:
    """Add the arguments; return what answers."""
    parser.add_argument(
        '--vary',
        metavar='PARAMETER=VALUES',
        nargs='+',
        action='extend',
        type=variation,
        default=[],
        help='what to vary, as in mass:arm=1,2 or mass:arm=x0.5,x2',
    )
    parser.add_argument(
        '--watch',
        metavar='JOINT',
        nargs='+',
        default=[],
        help='tree or loop joints to report and to plot (default: the first with a motor, or the '
        'first)',
    )
    start = parser.add_argument_group('start, forces and run')
    add_pose(
        start,
        {
            '--q': 'initial positions; loops determine the rest [rad or m]',
            '--v': 'initial velocities; loops determine the rest [rad/s or m/s]',
            '--tau': 'constant actuator torques [N m or N]',
        },
    )
    start.add_argument(
        '--time', metavar='S', type=positive, help='duration of each run (default: 2 s)'
    )
    start.add_argument('--dt', metavar='S', type=positive, help='step (default: 0.001 s)')
    add_files(parser, 'files to write', 'table of outcomes, one line per run')
    add_experiment(parser)

    def study(robot: Mechanism, args: argparse.Namespace) -> Answer:
        refuse(args, wrong_experiment(args))
        if args.results:
            return run_study(robot, args)
        import closed_chain_dynamics as ccd
        from closed_chain_dynamics.studies.figures import plot_what_if
        from closed_chain_dynamics.studies.what_if import what_if
        from closed_chain_dynamics.studies.what_if_report import render, what_if_report, write_runs

        q = closed_pose(robot, args)
        v = ccd.complete_velocity(robot, q, dict(args.v)) if args.v else None
        joints = [
            each
            for each in (*robot.actuator_names, *robot.joint_names)
            if each in (*robot.joint_names, *robot.loop_names)
        ]
        variations, duration = args.vary, args.time or 2.0
        with Bar('simulating', sys.stderr) as bar:
            runs = what_if(
                robot,
                variations,
                q=q,
                v=v,
                tau=dict(args.tau),
                duration=duration,
                dt=args.dt or 1e-3,
                watch=args.watch or joints[:1],
                progress=bar,
            )
        report = what_if_report(robot, variations, runs, duration)
        write_files(
            report,
            args,
            {
                'plot': lambda path: plot_what_if(robot, variations, runs, path),
                'csv': lambda path: write_runs(runs, path),
            },
        )
        return report, render, ''

    return study
