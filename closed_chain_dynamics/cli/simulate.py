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

"""
``closed-chain simulate``: let a model move, connect and cut it, and see what happens.

`simulate_report` makes one plain dict of what happened, and text of that.
Heavy imports stay inside, so that help is instant.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
import math
import sys
import time
from typing import TYPE_CHECKING, Any

from closed_chain_dynamics.cli.arguments import (
    add_gravity,
    add_model_arguments,
    add_pose,
    closed_pose,
    load_model,
    not_negative,
    positive,
    print_report,
    refuse,
    unheard,
)
from closed_chain_dynamics.errors import NameNotFound
from closed_chain_dynamics.recording.terminal import Bar, Report, number

if TYPE_CHECKING:
    from closed_chain_dynamics.model.mechanism import Mechanism
    from closed_chain_dynamics.recording.log import Log
    from closed_chain_dynamics.simulation.simulation import Simulation

SUMMARY = 'simulate a model while its joints connect and disconnect'
DETAILS = """\
Simulates a model from a pose with all loops closed, at rest unless --v says otherwise, under
gravity, springs and constant torques. Name as many joints as you like with --q and --v; the loops
determine the others. Joints named with --connect and --cut are connected and cut during the run.
Joints stop at the ends of their range, and friction brings them to rest.
The report gives the speed of the run, the loop error, the energy balance and the events. The log
can be written as a figure, an animation, a table, arrays or a ROS 2 bag.
"""
EXAMPLES = """\
examples:
  closed-chain simulate pendulum
      5 s from the pose of the file, under gravity alone
  closed-chain simulate four_bar --q crank=1 --tau crank=0.5 --plot run.png
      the motor pushes with 0.5 N m; a figure of angles, energies and errors
  closed-chain simulate four_bar --v crank=6 --cut coupler_rocker@1.5 --time 3 --record run.gif
      the crank starts at 6 rad/s, the loop breaks after 1.5 s; an animation
  closed-chain simulate swing --cut left_thigh@1 right_thigh@1 left_hand@1.8 --record swing.gif
      a figure on a swing loses its seat, then lets go with one hand
  closed-chain simulate four_bar --dt 1e-4 --integrator adaptive --csv run.csv --mcap run.mcap
      to 1e-9; a table for a spreadsheet, and a bag for PlotJuggler or RViz
  closed-chain simulate four_bar --gravity 0 0 -1.62 --json | python3 -m json.tool
      on the Moon, for a program

Values with several numbers have commas: --q base=0,0,1,0,0,0,1 (position, then quaternion xyzw).
"""


def _appointment(text: str) -> tuple[str, float]:
    """Read 'name@time'."""
    name, _, seconds = text.rpartition('@')
    try:
        when = float(seconds)
    except ValueError:
        when = math.nan
    if not (name and math.isfinite(when)):
        raise argparse.ArgumentTypeError(f'{text!r} is not of the form name@seconds')
    return name, when


def _size(text: str) -> tuple[int, int]:
    try:
        width, height = map(int, text.lower().split('x'))
        return width, height
    except ValueError:
        raise argparse.ArgumentTypeError(f'{text!r} is not a size such as 640x480') from None


def _view(text: str) -> tuple[float, float] | str:
    """Read 'azimuth,elevation', or take the name of a view as it is."""
    try:
        azimuth, elevation = map(float, text.split(','))
        return azimuth, elevation
    except ValueError:
        return text


def set_up(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], None]:
    """Add the arguments; return what runs."""
    add_model_arguments(parser)
    start = parser.add_argument_group('start and forces')
    add_pose(
        start,
        {
            '--q': 'initial positions; loops determine the rest [rad or m]',
            '--v': 'initial velocities; loops determine the rest [rad/s or m/s]',
            '--tau': 'constant actuator torques [N m or N]',
        },
    )
    add_gravity(start)
    course = parser.add_argument_group('run')
    course.add_argument(
        '--time',
        metavar='S',
        type=not_negative,
        default=5.0,
        help='duration of the simulation (default: %(default)g s)',
    )
    course.add_argument(
        '--dt',
        metavar='S',
        type=positive,
        default=1e-3,
        help='integrator step (default: %(default)g s)',
    )
    course.add_argument(
        '--integrator',
        choices=['rk4', 'euler', 'implicit', 'adaptive'],
        default='rk4',
        help='rk4: fourth order; euler: semi-implicit, the fastest; implicit: for strong '
        'damping; adaptive: steps as small as a tolerance of 1e-9 needs '
        '(default: %(default)s)',
    )
    course.add_argument(
        '--compiled',
        action='store_true',
        help='run steps in generated code: takes seconds to compile the first time, then runs '
        'faster; needs CasADi and a C compiler',
    )
    for option, what in (
        ('--connect', 'connect a loop joint at a time, rounded to a step'),
        ('--cut', 'cut a loop or tree joint at a time, before connections at the same time'),
    ):
        course.add_argument(
            option,
            metavar='NAME@S',
            nargs='+',
            action='extend',
            type=_appointment,
            default=[],
            help=what,
        )
    files = parser.add_argument_group('files to write')
    for option, what in (
        ('--plot', 'figure of the run: .png, .svg or .pdf'),
        ('--record', 'animation: .gif or .mp4'),
        ('--csv', 'table with one line per sample'),
        ('--npz', 'arrays for NumPy'),
        ('--mcap', 'ROS 2 messages: one file if it ends in .mcap, else a rosbag2 folder'),
    ):
        files.add_argument(option, metavar='FILE', help=what)
    look = parser.add_argument_group('appearance of the animation')
    look.add_argument(
        '--fps', metavar='HZ', type=positive, default=25, help='frames per second (default: 25)'
    )
    look.add_argument(
        '--size', metavar='WxH', type=_size, default=(640, 480), help='pixels (default: 640x480)'
    )
    look.add_argument(
        '--view',
        metavar='VIEW',
        type=_view,
        help='front, side, top, corner, or azimuth,elevation [deg] (default: '
        'across the widest side)',
    )
    look.add_argument(
        '--speed',
        metavar='X',
        type=positive,
        default=1.0,
        help='below 1: slow motion (default: 1)',
    )
    return run


def run(args: argparse.Namespace) -> None:
    """Run the simulation and print its report."""
    from closed_chain_dynamics.cli.simulate_report import render

    refuse(args, wrong_usage(args))
    print_report(simulate(load_model(args), args), args, render)


def wrong_usage(args: argparse.Namespace) -> str:
    """Return what is wrong with arguments that are fine one by one, or nothing."""
    late = [
        f'{name}@{when:g}'
        for name, when in (*args.connect, *args.cut)
        if not 0.0 <= when <= args.time
    ]
    if late and args.time >= 0.0:
        return f'{", ".join(late)}: not within the run, which is from 0 to {args.time:g} s'
    return ''


def simulate(robot: Mechanism, args: argparse.Namespace) -> Report:
    """Run a simulation as the arguments say, write its files, and return the report."""
    import closed_chain_dynamics as ccd
    from closed_chain_dynamics.cli.simulate_report import (
        below_surfaces,
        beyond_limits,
        simulate_report,
    )
    from closed_chain_dynamics.recording.log import DRIFT_WORTH_A_WARNING

    _check_files(args)
    known = [*robot.loop_names, *robot.joint_names]
    for name, _ in (*args.connect, *args.cut):  # before the run, not in the middle of it
        if name not in known:
            raise NameNotFound('joint', name, known, where=robot.name)
    q = closed_pose(robot, args)
    v = ccd.complete_velocity(robot, q, dict(args.v)) if args.v else None
    options = {'q': q, 'v': v, 'dt': args.dt, 'integrator': args.integrator, 'limits': args.limits}
    options['compiled'] = args.compiled
    tau = dict(args.tau)
    # What is compiled or loaded from a cache at the first step does not count as speed.
    with unheard():  # the run itself warns of the same
        ccd.Simulation(robot, **options, log_every=0).step(tau)
    sim = ccd.Simulation(robot, **options)
    before = sim.mobility()
    wall = _run(sim, args, tau)
    report = simulate_report(sim, before, wall)
    drift = report['energy']['relative_drift']
    if drift > DRIFT_WORTH_A_WARNING:
        report['warnings'].append(
            f'The energy balance drifts by {number(100.0 * drift, 2)} % of what was exchanged: '
            'take a smaller --dt, or --integrator adaptive.'
        )
    report['warnings'] += beyond_limits(sim) + below_surfaces(sim)
    report['files'] = _write(sim.log, args, report['warnings'])
    return report


def _check_files(args: argparse.Namespace) -> None:
    """Refuse bad file names before a long run, not after it."""
    from closed_chain_dynamics.recording import animation, log_files, mcap, panels

    for path, check in (
        (args.plot, panels.check_plot),
        (args.record, animation.check_animation),
        (args.csv, log_files.check_folder),
        (args.npz, log_files.check_folder),
        (args.mcap, mcap.check_mcap),
    ):
        if path:
            check(path)


def _run(sim: Simulation, args: argparse.Namespace, tau: Mapping[str, Any]) -> float:
    """Run from event to event; return how long the computation took [s]."""
    stops: dict[int, dict[str, list[str]]] = {}
    for kind, wanted in (('cut', args.cut), ('connect', args.connect)):
        for name, when in wanted:
            stops.setdefault(round(when / sim.dt), {}).setdefault(kind, []).append(name)
    if not 0.0 <= args.time < math.inf:
        sim.run(args.time)  # says what is wrong with it
    steps, wall, done = round(args.time / sim.dt), 0.0, 0
    with Bar('simulating', sys.stderr) as bar:
        for stop in sorted({*stops, steps}):
            count = stop - done
            start = time.perf_counter()
            sim.run(
                count * sim.dt,
                tau,
                progress=bar and (lambda share: bar((done + share * count) / max(steps, 1))),
            )
            wall += time.perf_counter() - start
            done = stop
            for kind, names in stops.get(stop, {}).items():
                (sim.cut if kind == 'cut' else sim.connect)(*names)
    return wall


def _write(log: Log, args: argparse.Namespace, warnings: list[str]) -> dict[str, str]:
    """Write the files that were asked for; return them by option."""
    files = {}
    for option, write in (
        ('plot', log.plot),
        ('csv', log.to_csv),
        ('npz', log.to_npz),
        ('mcap', log.to_mcap),
    ):
        path = getattr(args, option)
        if path:
            write(path)
            files[option] = path
    if args.record:
        with Bar('recording', sys.stderr) as bar:
            warnings += log.record(
                args.record,
                fps=args.fps,
                size=args.size,
                view=args.view,
                speed=args.speed,
                progress=bar,
            )
        files['record'] = args.record
    return files
