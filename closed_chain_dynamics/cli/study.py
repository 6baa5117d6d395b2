"""
``closed-chain study``: internal validity, what-if runs, and consistency of a recorded motion.

Here are the arguments of the three; `closed_chain_dynamics.studies` computes and reports. Heavy
imports stay inside, so that help is instant.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
import sys
from typing import TYPE_CHECKING

from closed_chain_dynamics.cli.arguments import (
    add_assignments,
    add_gravity,
    add_model_arguments,
    add_pose,
    closed_pose,
    complain,
    load_model,
    positive,
    print_report,
)
from closed_chain_dynamics.cli.motion_arguments import (
    add_files,
    add_motion,
    check_files,
    given_motion,
    write_files,
    wrong_motion,
)
from closed_chain_dynamics.recording.terminal import Bar, Report, Style

if TYPE_CHECKING:
    from closed_chain_dynamics.model.mechanism import Mechanism

    Render = Callable[[Report, Style], str]
    # a report, how it is written for people, and what is wrong where the verdict is no
    Answer = tuple[Report, Render, str]
    Study = Callable[[Mechanism, argparse.Namespace], Answer]

SUMMARY = 'ask a model more: is it valid, what if, does a record fit it'
DETAILS = """\
Three questions that take more than one computation.

validity     do the torques of a motion, given to the model, bring the motion back?
what-if      the same run with other masses, springs, damping, friction or gravity
consistency  can a recorded motion be one of this model, and which joint spoils it?

validity and consistency end with exit code 1 when the answer is no.
"""
EXAMPLES = """\
examples:
  closed-chain study validity four_bar --q crank=1 --sine crank=0.5,1
      torques of a swinging crank, then the motion that they give
  closed-chain study what-if pendulum --q swing=0.5 --vary mass:arm=x0.5,x2 gravity=1.62
      half and twice the mass, on the Moon
  closed-chain study consistency four_bar --trajectory record.csv --csv closed.csv
      is the loop closed in the record? closed.csv is the nearest motion that closes it

'closed-chain study STUDY --help' tells all about one of them.
"""

VALIDITY = """\
Inverse dynamics gives the torques of a motion; the model, started from the first state of the
motion and driven by these torques alone, must bring the motion back. The report says how far every
joint is off, for how long the motion stays within --tolerance, and how fast the error grows. Where
a motion is unstable the error grows exponentially, whatever the model: look at the doubling time.
"""
VALIDITY_EXAMPLES = """\
examples:
  closed-chain simulate four_bar --v crank=3 --time 1 --csv run.csv
  closed-chain study validity four_bar --trajectory run.csv --plot validity.png
      does the motion of a simulation come back?
  closed-chain study validity pendulum --q swing=3.1416 --sine swing=0.05,0.5 --time 6
      an inverted pendulum: reproduced for a while, then it falls
"""
WHAT_IF = """\
Every run starts from the same state under the same torques; only what is varied differs. A value
with x before it is a factor of what the model says. Several --vary make a grid of all
combinations, up to 200 runs. The model as it is comes first.

  mass:LINK  stiffness:SPRING  damping:JOINT  friction:JOINT  mu:CONTACT  gravity
  [kg]       [N/m, N m/rad]    [N s/m, ...]   [N, N m]                    [m/s^2]

The inertia of a link grows with its mass; gravity keeps its direction.
"""
WHAT_IF_EXAMPLES = """\
examples:
  closed-chain study what-if four_bar --q crank=1 --vary mass:coupler_link=x0.5,x2 --plot runs.png
      the motion of the crank with a light and a heavy coupler
  closed-chain study what-if four_bar --vary damping:crank=0,0.05 gravity=1.62,9.81 --watch rocker
      a grid of four runs, and the force in the joint of the rocker
  closed-chain study what-if two_link --vary mu:tip_on_floor=0.2,0.8 --json
      friction of a contact, for a program
"""
CONSISTENCY = """\
A record of joint positions, with offsets and noise, need not fit the model. The report says how
far every loop is open in it, which joint would explain that if its record were left out, where
joints leave their range or are too fast, and which forces the motion would need that no actuator
gives (of a model that flies freely: the forces at its root). Joints that were not measured are
found from the loops.
"""
CONSISTENCY_EXAMPLES = """\
examples:
  closed-chain study consistency four_bar --trajectory record.csv --plot gaps.png
      record.csv has the columns time, crank, coupler and rocker, or some of them
  closed-chain study consistency four_bar --trajectory record.csv --smooth 10 --csv closed.csv
      without what is faster than 10 Hz; the nearest motion that closes the loops goes into a file
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


def set_up(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], int]:
    """Add the three studies; return what runs."""
    studies = parser.add_subparsers(title='studies', metavar='STUDY', required=True)
    for name, about, details, examples, add in (
        (
            'validity',
            'do the torques of a motion bring it back?',
            VALIDITY,
            VALIDITY_EXAMPLES,
            _add_validity,
        ),
        ('what-if', 'the same run with other numbers', WHAT_IF, WHAT_IF_EXAMPLES, _add_what_if),
        (
            'consistency',
            'can a recorded motion be one of this model?',
            CONSISTENCY,
            CONSISTENCY_EXAMPLES,
            _add_consistency,
        ),
    ):
        child = studies.add_parser(
            name,
            help=about,
            description=details,
            epilog=examples,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        child.add_argument(
            '--json',
            action='store_true',
            default=argparse.SUPPRESS,
            help='write JSON, for programs',
        )
        add_model_arguments(child)
        add_gravity(child)
        child.set_defaults(study=add(child), parser=child)

    def run(args: argparse.Namespace) -> int:
        check_files(args)
        study: Study = args.study
        report, render, verdict = study(load_model(args), args)
        print_report(report, args, lambda: render(report, Style.of(sys.stdout)))
        return complain(verdict) if verdict else 0

    return run


def _add_validity(parser: argparse.ArgumentParser) -> Study:
    pose = parser.add_argument_group('motion')
    add_pose(pose, {'--q': 'pose to swing about, or near the begin of the file'})
    add_motion(pose)
    parser.add_argument(
        '--tolerance',
        metavar='X',
        type=positive,
        default=1e-3,
        help='error of a joint that is tolerated [rad or m] (default: %(default)g)',
    )
    parser.add_argument(
        '--dt',
        metavar='S',
        type=positive,
        help='longest step of the simulation (default: a quarter of the time '
        'between samples, at most 1 ms)',
    )
    add_files(parser, 'files to write', 'table of torques and errors, one line per sample')

    def study(robot: Mechanism, args: argparse.Namespace) -> Answer:
        from closed_chain_dynamics.studies.figures import plot_validity
        from closed_chain_dynamics.studies.validity import render, study_validity, validity_report

        moves = args.trajectory or args.sine
        wrong = (
            wrong_motion(args) if moves else 'which motion? Give one with --trajectory or --sine'
        )
        if wrong:
            parser.error(wrong)
        motion = given_motion(robot, args)
        with Bar('simulating', sys.stderr) as bar:
            found = study_validity(
                robot, motion, tolerance=args.tolerance, dt=args.dt, progress=bar
            )
        report = validity_report(found)
        write_files(
            report, args, {'plot': lambda path: plot_validity(found, path), 'csv': found.to_csv}
        )
        verdict = (
            ''
            if found.valid
            else f'the motion does not come back: {robot.name} is off by up to '
            f'{report["error"]:.3g} rad or m, and {args.tolerance:g} is tolerated'
        )
        return report, render, verdict

    return study


def _add_what_if(parser: argparse.ArgumentParser) -> Study:
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


def _add_consistency(parser: argparse.ArgumentParser) -> Study:
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
