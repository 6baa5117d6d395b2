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

"""``closed-chain view``: a model, a simulation or a log in the browser."""

from __future__ import annotations

import argparse
from collections.abc import Callable
import json
import sys
import time
from typing import Any

from closed_chain_dynamics.cli.arguments import (
    add_gravity,
    add_host,
    add_model_arguments,
    add_pose,
    closed_pose,
    load_model,
    not_negative,
    port,
    positive,
)
from closed_chain_dynamics.recording.terminal import Style

SUMMARY = 'show a model, a simulation or a log in the browser, and move it by hand'
DETAILS = """\
Shows a mechanism in the browser: its shapes, its loops coloured by their state (green closed, red
open, orange sliding, blue sticking), springs, forces and the centre of mass. Drag a joint, and all
others follow along the loops. Buttons cut and connect every loop, also during motion. Plots show
torques, energy and loop error. Another tab explains the choice of coordinates.

MODEL is shown at rest, with the torques that hold it. With --simulate it moves, as soon as a
browser has connected. MODEL may also be a log written by 'closed-chain simulate --npz', which can
be played and scrubbed through.
The page is available on this computer only; with --host, also to anyone who has the token in its
address. It loads nothing from other hosts. Ctrl-C ends it.
"""
EXAMPLES = """\
examples:
  closed-chain view four_bar                       drag the crank
  closed-chain view swing --simulate --hold        a figure that holds its pose; cut a hand loose
  closed-chain view four_bar --simulate --q crank=1 --v crank=6
  closed-chain simulate four_bar --npz run.npz; closed-chain view run.npz
"""


def set_up(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], None]:
    """Add the arguments; return what runs."""
    add_model_arguments(parser, also='log .npz')
    parser.add_argument('--simulate', action='store_true', help='simulate it')
    parser.add_argument(
        '--hold',
        action='store_true',
        help='let the motors hold the initial pose (with --simulate)',
    )
    add_pose(
        parser,
        {
            '--q': 'initial positions; loops determine the rest [rad or m]',
            '--v': 'initial velocities, with --simulate [rad/s or m/s]',
            '--tau': 'constant actuator torques, with --simulate [N m or N]',
        },
    )
    add_gravity(parser)
    parser.add_argument(
        '--dt',
        metavar='S',
        type=positive,
        default=1e-3,
        help='integrator step (default: %(default)g s)',
    )
    page = parser.add_argument_group('page')
    page.add_argument(
        '--port',
        type=port,
        default=8080,
        help='where to serve it (default: %(default)s, or the next that is free)',
    )
    add_host(page)
    page.add_argument('--open', action='store_true', help='open the browser as well')
    page.add_argument('--time', metavar='S', type=not_negative, help='stop after this time')

    def run(args: argparse.Namespace) -> None:
        moving = [
            name
            for name, given in (('--hold', args.hold), ('--v', args.v), ('--tau', args.tau))
            if given
        ]
        if moving and not args.simulate:
            parser.error(f'{moving[0]} needs --simulate: a model at rest does not move')
        if args.simulate and args.model.endswith('.npz'):
            parser.error('a log is played, not simulated: leave --simulate out')
        show(args)

    return run


def show(args: argparse.Namespace) -> None:
    """Open the view, say where it is, and wait until somebody ends it."""
    from closed_chain_dynamics import viewer

    source = source_of(args)
    view = viewer.open_view(source, port=args.port, host=args.host)
    try:
        if args.json:
            print(
                json.dumps(
                    {'name': source.robot.name, 'kind': source.kind, 'address': view.address}
                ),
                flush=True,
            )
        else:
            where = Style.of(sys.stdout).paint(view.address, 'bold')
            print(
                f'The {source.kind} {source.robot.name} is at {where} (Ctrl-C ends it).',
                flush=True,
            )
        if args.open:
            import webbrowser

            webbrowser.open(view.address)
        end = float('inf') if args.time is None else time.monotonic() + args.time
        while time.monotonic() < end:
            time.sleep(min(1.0, max(0.0, end - time.monotonic())))
    finally:
        view.stop()


def source_of(args: argparse.Namespace) -> Any:
    """Return the source that the arguments name."""
    import closed_chain_dynamics as ccd
    from closed_chain_dynamics import viewer
    from closed_chain_dynamics.recording.log_reading import read_npz

    if args.model.endswith('.npz'):
        return viewer.LogSource(read_npz(args.model))
    robot = load_model(args)
    q = closed_pose(robot, args)
    if not args.simulate:
        return viewer.ModelSource(robot, q)
    v = ccd.complete_velocity(robot, q, dict(args.v)) if args.v else None
    sim = ccd.Simulation(robot, q, v, dt=args.dt, log_every=0, limits=args.limits)
    source = viewer.SimulationSource(sim, dict(args.tau))
    source.hold = args.hold
    return source
