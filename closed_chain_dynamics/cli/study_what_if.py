"""``closed-chain study what-if``: the same run with other numbers."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from closed_chain_dynamics.cli.arguments import add_pose, closed_pose, positive
from closed_chain_dynamics.cli.motion_arguments import add_files, write_files
from closed_chain_dynamics.recording.terminal import Bar

if TYPE_CHECKING:
    from closed_chain_dynamics.cli.arguments import Answer, Study
    from closed_chain_dynamics.model.mechanism import Mechanism

SUMMARY = 'the same run with other numbers'
DETAILS = """\
Every run starts from the same state under the same torques; only what is varied differs. A value
with x before it is a factor of what the model says. Several --vary make a grid of all
combinations, up to 200 runs. The model as it is comes first.

  mass:LINK  stiffness:SPRING  damping:JOINT  friction:JOINT  mu:CONTACT  gravity
  [kg]       [N/m, N m/rad]    [N s/m, ...]   [N, N m]                    [m/s^2]

The inertia of a link grows with its mass; gravity keeps its direction.
"""
EXAMPLES = """\
examples:
  closed-chain study what-if four_bar --q crank=1 --vary mass:coupler_link=x0.5,x2 --plot runs.png
      the motion of the crank with a light and a heavy coupler
  closed-chain study what-if four_bar --vary damping:crank=0,0.05 gravity=1.62,9.81 --watch rocker
      a grid of four runs, and the force in the joint of the rocker
  closed-chain study what-if two_link --vary mu:tip_on_floor=0.2,0.8 --json
      friction of a contact, for a program
"""


def variation(text: str) -> tuple[str, str, tuple[float, ...], bool]:
    """Read 'parameter:name=values', with x before values that are factors."""
    label, _, values = text.rpartition('=')
    parameter, _, name = label.partition(':')
    parts = values.split(',')
    scale = all(each.startswith('x') for each in parts)
    try:
        numbers = [float(each.removeprefix('x') if scale else each) for each in parts]
    except ValueError:
        numbers = []
    if not (label and numbers) or (parameter == 'gravity' and name):
        raise argparse.ArgumentTypeError(
            f'{text!r} is not of the form parameter:name=values, as '
            'mass:arm=x0.5,x2 or gravity=1.62'
        )
    return parameter, name, tuple(numbers), scale


def set_up(parser: argparse.ArgumentParser) -> Study:
    """Add the arguments; return what answers."""
    parser.add_argument(
        '--vary',
        metavar='PARAMETER=VALUES',
        nargs='+',
        action='extend',
        type=variation,
        required=True,
        help='what to vary, as mass:arm=1,2 or mass:arm=x0.5,x2',
    )
    parser.add_argument(
        '--watch',
        metavar='JOINT',
        nargs='+',
        default=[],
        help='joints, of tree or loop, to report on and to draw (default: the '
        'first that has a motor, else the first)',
    )
    start = parser.add_argument_group('start, forces and run')
    add_pose(
        start,
        {
            '--q': 'positions at the start; loops decide the rest [rad or m]',
            '--v': 'velocities at the start; loops decide the rest [rad/s or m/s]',
            '--tau': 'constant torques of actuators [N m or N]',
        },
    )
    start.add_argument(
        '--time',
        metavar='S',
        type=positive,
        default=2.0,
        help='how long each run is (default: %(default)g s)',
    )
    start.add_argument(
        '--dt', metavar='S', type=positive, default=1e-3, help='step (default: %(default)g s)'
    )
    add_files(parser, 'files to write', 'table of outcomes, one line per run')

    def study(robot: Mechanism, args: argparse.Namespace) -> Answer:
        import closed_chain_dynamics as ccd
        from closed_chain_dynamics.studies.figures import plot_what_if
        from closed_chain_dynamics.studies.what_if import Variation, what_if
        from closed_chain_dynamics.studies.what_if_report import render, what_if_report, write_runs

        q = closed_pose(robot, args)
        v = ccd.complete_velocity(robot, q, dict(args.v)) if args.v else None
        joints = [
            each
            for each in (*robot.actuator_names, *robot.joint_names)
            if each in (*robot.joint_names, *robot.loop_names)
        ]
        variations = [Variation(*each) for each in args.vary]
        with Bar('simulating', sys.stderr) as bar:
            runs = what_if(
                robot,
                variations,
                q=q,
                v=v,
                tau=dict(args.tau),
                duration=args.time,
                dt=args.dt,
                watch=args.watch or joints[:1],
                progress=bar,
            )
        report = what_if_report(robot, variations, runs, args.time)
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
