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

"""``closed-chain up``: the ROS 2 nodes of a simulated system, without ros2 launch."""

from __future__ import annotations

import argparse
from collections.abc import Callable
import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

from closed_chain_dynamics.cli.arguments import (
    add_assignments,
    add_host,
    add_model_arguments,
    load_model,
    port,
    positive,
    print_report,
)
from closed_chain_dynamics.cli.up_programs import (
    check_parameters,
    check_ros,
    check_start,
    programs,
)
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.recording.terminal import Style, bullets, number, table

if TYPE_CHECKING:  # a command that is not run loads nothing
    from closed_chain_dynamics.ros.monitor import Monitor
    from closed_chain_dynamics.ros.supervision import Family

SUMMARY = 'start the ROS 2 nodes: simulator, controller and view'
DETAILS = """\
Starts the nodes of a simulated system as processes of their own, the same that
'ros2 launch closed_chain_dynamics simulation.launch.py' starts: simulator_node, torque_node and,
with --viewer, viewer_node. With --hold or --follow, reference_node sends the controller a
reference, and simulated time starts once the controller follows it. Without them, the motors give
no torque until a message arrives on the topic reference, or a slider in the view is moved.

A node that crashes is started again. Ctrl-C stops all nodes, and so does --seconds after a given
time. At the end a summary of rates, loop error, real-time factor and events is printed.

The topics are standard ROS 2 topics: joint_states, tf, actuator_torques, contact/events and more.
Unless ROS_AUTOMATIC_DISCOVERY_RANGE says otherwise, they are visible on this computer only.
"""
EXAMPLES = """\
examples:
  closed-chain up four_bar --no-controller --v crank=6      let it run by itself
  closed-chain up five_bar --viewer                         look at it in the browser
  closed-chain up exo_leg --hold --viewer                   hold the pose; sliders move it
  closed-chain up five_bar --follow motion.csv --repeat     follow a file, again and again
  closed-chain up exo_leg --mode transparent                a device that can be pushed around
  closed-chain up exo_leg --torque rate_limit=200           a parameter of torque_node
  closed-chain up swing --demo                              the figure swings, waves and grips
  closed-chain up swing --demo --seconds 10 --json
"""

MODE_NAMES = (  # as control.law names them
    'computed_torque',
    'feedforward',
    'gravity_compensation',
    'impedance',
    'transparent',
    'assist',
)
SCHEMA = 'closed-chain-up/1'  # a key that is added keeps it, one that changes ends it
LONGEST_START = 120.0  # kernels may have to be compiled [s]


def _domain(text: str) -> int:
    if not (text.isdigit() and int(text) <= 232):
        raise argparse.ArgumentTypeError(f'{text!r} is not a whole number from 0 to 232')
    return int(text)


def _factor(text: str) -> float:
    return 0.0 if text in ('0', '0.0') else positive(text)


def _parameter(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition('=')
    if not (name and sign):
        raise argparse.ArgumentTypeError(f'{text!r} is not of the form NAME=VALUE')
    try:
        return name, json.loads(value)
    except ValueError:  # a word
        return name, value


def set_up(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], None]:
    """Add the arguments; return what runs."""
    add_model_arguments(parser)
    parts = parser.add_argument_group('parts')
    parts.add_argument(
        '--controller',
        action=argparse.BooleanOptionalAction,
        default=True,
        help='start torque_node (default: yes, if the model has actuators)',
    )
    parts.add_argument(
        '--viewer',
        action=argparse.BooleanOptionalAction,
        default=None,
        help='start viewer_node (default: with --demo only)',
    )
    parts.add_argument(
        '--demo',
        action='store_true',
        help='move the figure on the swing; for the model swing only',
    )
    motors = parser.add_argument_group('what the motors do')
    wanted = motors.add_mutually_exclusive_group()
    wanted.add_argument(
        '--hold', action='store_true', help='hold the initial pose from the first instant'
    )
    wanted.add_argument(
        '--follow',
        metavar='FILE',
        help='follow a CSV: a column time [s], and columns named like joints [rad or m]',
    )
    motors.add_argument(
        '--repeat', action='store_true', help='with --follow: start again at the end of the file'
    )
    motors.add_argument(
        '--mode',
        metavar='MODE',
        choices=MODE_NAMES,
        help=f'control mode of torque_node: {", ".join(MODE_NAMES)} (default: {MODE_NAMES[0]})',
    )
    run = parser.add_argument_group('run')
    add_assignments(
        run,
        {
            '--q': 'initial positions; loops determine the rest [rad or m]',
            '--v': 'initial velocities [rad/s or m/s]',
        },
    )
    run.add_argument(
        '--seconds',
        metavar='S',
        type=positive,
        help='stop after this much real time, counted from the start of simulated time',
    )
    run.add_argument(
        '--rate',
        metavar='HZ',
        type=positive,
        help='joint states and torques per second (default: 1000; 250 with --demo)',
    )
    run.add_argument(
        '--factor',
        metavar='X',
        type=_factor,
        default=1.0,
        help='simulated seconds per second (default: 1; 0: as fast as possible)',
    )
    run.add_argument(
        '--torque',
        metavar='NAME=VALUE',
        type=_parameter,
        action='append',
        default=[],
        help='set a parameter of torque_node, lists as JSON; may be repeated',
    )
    run.add_argument(
        '--domain', metavar='N', type=_domain, help='ROS domain (default: ROS_DOMAIN_ID, or 0)'
    )
    run.add_argument(
        '--port',
        type=port,
        default=8080,
        help='port of the view (default: %(default)s, or the next that is free)',
    )
    add_host(run)

    def run_up(args: argparse.Namespace) -> None:
        report = up(args)
        print_report(report, args, render)

    return run_up


def up(args: argparse.Namespace) -> dict[str, Any]:
    """Start the nodes, wait for the end, and return the summary."""
    robot = load_model(args)  # what is wrong with it is told at once, and by one
    if args.xacro_args or args.inertia != 'check':
        raise argparse.ArgumentTypeError(
            'the nodes read the file themselves, and accept neither xacro arguments nor inertia '
            "repairs. Write it first: 'closed-chain convert' takes the same arguments."
        )
    started = programs(args, robot)
    if args.q or args.v:
        check_start(robot, args)
    check_ros()
    check_parameters(args)
    from closed_chain_dynamics.ros.supervision import Family
    from closed_chain_dynamics.ros.transport import use_safe_transport

    if args.domain is not None:
        os.environ['ROS_DOMAIN_ID'] = str(args.domain)
    use_safe_transport(default_range='LOCALHOST')  # this process listens, too
    family = Family(started)
    monitor, elapsed = _run(family, args)
    if family.problem:
        raise ClosedChainError(family.problem, where=robot.name)
    return {
        'schema': SCHEMA,
        'name': robot.name,
        'file': robot.description.file,
        'seconds': elapsed,
        'domain': int(os.environ.get('ROS_DOMAIN_ID') or 0),
        'nodes': family.report(),
        **monitor,
        'view': _address(family) or None,
    }


def _address(family: Family) -> str:
    """Return where the view is, as the viewer has said it."""
    line = family.said('viewer_node', 'http://')
    return line[line.find('http://') :].split()[0] if line else ''


def _run(family: Family, args: argparse.Namespace) -> tuple[dict[str, Any], float]:
    """Start and look after the nodes until the end; return what was counted, and how long [s]."""
    from closed_chain_dynamics.ros.composition import enclave
    from closed_chain_dynamics.ros.monitor import Monitor
    from closed_chain_dynamics.ros.running import run

    monitors: list[Monitor] = []
    next_look, told = 0.0, False

    def make() -> Monitor:
        monitors.append(Monitor())
        return monitors[0]

    def is_over() -> bool:
        nonlocal next_look, told
        now = time.monotonic()
        if now < next_look:
            return False
        next_look, began = now + 0.1, monitors[0].began
        if not told and _address(family):
            told = True
            print(f'Look at it: {_address(family)}', file=sys.stderr)
        if began is None and now - start > LONGEST_START:
            refused = family.said('torque_node', 'refused, reference: ')
            why = f': {refused.partition("refused, reference: ")[2]}' if refused else ''
            family.problem = f'no simulated time has passed within {LONGEST_START:g} s{why}'
        elif began is not None and args.seconds and now - began > args.seconds:
            return True
        return not family.look_after() or bool(family.problem)

    start = time.monotonic()
    try:
        family.start()
        _announce(family)
        run(make, args=['--ros-args', '--enclave', enclave('monitor')], until=is_over)
        return monitors[0].summary(), time.monotonic() - start
    finally:
        family.end()


def _announce(family: Family) -> None:
    rows = [
        [each['node'], str(each['pid']), member.program.about]
        for each, member in zip(family.report(), family.members)
    ]
    print(
        *table(['node', 'process', 'what it does'], rows, Style.of(sys.stderr)),
        'Ctrl-C ends all of it.',
        sep='\n',
        file=sys.stderr,
    )


def render(report: dict[str, Any], style: Style) -> str:
    """Return a summary as text."""
    rates, factor = report['rates'], report['real_time_factor']
    counts = ', '.join(f'{count} {kind}' for kind, count in report['event_counts'].items())
    rows = [
        ['simulated', f'{number(report["simulated"], 3)} s'],
        ['domain', str(report['domain'])],
        *([f'{topic}', f'{number(rate, 4)} per second'] for topic, rate in rates.items()),
        ['real-time factor', number(factor, 4) if factor else 'time did not pass'],
        ['loop error', f'at most {number(report["loop_error"], 2)} m or rad'],
        ['events', counts or 'none'],
    ]
    nodes = [
        [each['node'], str(each['restarts']), report['diagnostics'].get(each['node'], '')]
        for each in report['nodes']
    ]
    refused = [
        f'{each["wanted"]} {each["name"]} was refused: {each["reason"]}'
        for each in report['events']
        if each['kind'] == 'refused'
    ]
    blocks = [
        [style.paint(report['name'], 'bold')],
        table(['', ''], rows, style)[1:],
        table(['node', 'crashes', 'last said'], nodes, style),
        bullets(refused[:5], style),
    ]
    return '\n\n'.join('\n'.join(block) for block in blocks if block)
