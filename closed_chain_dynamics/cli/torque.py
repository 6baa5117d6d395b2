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
``closed-chain torque``: what the actuators have to do for a motion.

Here are its arguments, and the motion that they stand for; `torque_report` says what comes of it.
Heavy imports stay inside, so that help is instant.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from closed_chain_dynamics.cli.arguments import (
    add_assignments,
    add_gravity,
    add_model_arguments,
    add_pose,
    closed_pose,
    load_model,
    print_report,
    refuse,
)
from closed_chain_dynamics.cli.motion_arguments import (
    add_files,
    add_motion,
    check_files,
    given_motion,
    write_files,
    wrong_motion,
)
from closed_chain_dynamics.recording.terminal import Report

if TYPE_CHECKING:
    from closed_chain_dynamics.model.mechanism import Mechanism
    from closed_chain_dynamics.studies.motion.moving import Motion

SUMMARY = 'compute the actuator torques that a motion needs'
DETAILS = """\
Inverse dynamics of the closed chain: the torques tau_A that the actuators need for a motion.
Name positions, velocities and accelerations of as many joints as you like; the loops determine the
others. Without a motion, this is for one pose, at rest unless --v and --a say otherwise. A joint
named by --v but not by --a keeps its velocity. The report says what was assumed.

A motion comes from a file (--trajectory), or some joints swing about the pose (--sine).
The report lists every actuator with its torque and the share of its effort limit, what no actuator
provides (the residual), exceeded limits, and singular poses.
"""
EXAMPLES = """\
examples:
  closed-chain torque four_bar --q crank=1
      hold the crank still at 1 rad: the torque against gravity
  closed-chain torque four_bar --q crank=1 --v crank=2 --a crank=0.5
      the same in motion; coupler and rocker follow from the loop
  closed-chain torque five_bar --sine left_shoulder=0.3,0.5 right_shoulder=0.2,1 --plot torque.png
      shoulders swing by 0.3 and 0.2 rad, 0.5 and 1 times a second
  closed-chain torque four_bar --trajectory motion.csv --csv torques.csv
      motion.csv has the columns time and crank; 'simulate --csv' writes such files
  closed-chain torque four_bar --q crank=1 --actuated crank,rocker --preload rocker=2
      two motors for one degree of freedom: of all solutions the one nearest to 2 N m at the rocker

Values with several numbers have commas: --q base=0,0,1,0,0,0,1 (position, then quaternion xyzw).
"""


def set_up(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], None]:
    """Add the arguments; return what runs."""
    add_model_arguments(parser)
    pose = parser.add_argument_group('pose')
    add_pose(
        pose,
        {
            '--q': 'positions; loops determine the rest [rad or m]',
            '--v': 'velocities; loops determine the rest [rad/s or m/s]',
            '--a': 'accelerations; loops determine the rest [rad/s^2 or m/s^2]',
        },
    )
    add_gravity(pose)
    add_motion(parser.add_argument_group('motion, instead of one pose'))
    choice = parser.add_argument_group('choice of torques, if they are not unique or do not exist')
    choice.add_argument(
        '--policy',
        choices=['minimum_norm', 'weighted', 'within_limits'],
        default='minimum_norm',
        help='if there are more actuators than needed: the smallest torques, the smallest '
        'weighted by --weights, or torques within the effort limits (default: %(default)s)',
    )
    add_assignments(
        choice,
        {
            '--weights': 'with --policy weighted: a large weight keeps a torque small '
            '(default: 1)',
            '--preload': 'torques to stay close to, instead of zero [N m or N]',
        },
        'ACTUATOR=VALUE',
    )
    choice.add_argument(
        '--singularity',
        choices=['damp', 'hold', 'refuse'],
        default='damp',
        help='what to do in a singular pose: drop the constraints that coincide, hold the motion '
        'that becomes free, or stop (default: '
        '%(default)s)',
    )
    add_files(parser, 'files to write, for a motion', 'table with one line per sample')
    return run


def run(args: argparse.Namespace) -> None:
    """Compute the torques and print the report."""
    from closed_chain_dynamics.studies.motion.report import render

    refuse(args, wrong_usage(args))
    print_report(compute(load_model(args), args), args, render)


def wrong_usage(args: argparse.Namespace) -> str:
    """Return what is wrong with arguments that are fine one by one, or nothing."""
    moves = bool(args.sine or args.trajectory)
    if args.plot and not moves:
        return '--plot draws a motion: give one with --trajectory or --sine'
    if moves and (args.v or args.a):
        return '--v and --a are for one pose; a motion has its own velocities and accelerations'
    if args.weights and args.policy != 'weighted':
        return '--weights need --policy weighted'
    return wrong_motion(args)


def compute(robot: Mechanism, args: argparse.Namespace) -> Report:
    """Compute the torques that the arguments ask for, write the files, return the report."""
    from closed_chain_dynamics.studies.motion.plot import plot_torques
    from closed_chain_dynamics.studies.motion.report import torque_report
    from closed_chain_dynamics.studies.motion.torques import motion_torques

    check_files(args)
    motion = _motion(robot, args)
    found = motion_torques(
        robot,
        motion,
        policy=args.policy,
        singularity=args.singularity,
        weights=dict(args.weights) or None,
        preload=dict(args.preload) or None,
    )
    report = torque_report(
        found, 'trajectory' if args.trajectory else 'sine' if args.sine else 'pose'
    )
    write_files(
        report, args, {'plot': lambda path: plot_torques(found, path), 'csv': found.to_csv}
    )
    return report


def _motion(robot: Mechanism, args: argparse.Namespace) -> Motion:
    """Return the Motion that the arguments ask for; a pose is a motion of one sample."""
    if args.trajectory or args.sine:
        return given_motion(robot, args)
    from closed_chain_dynamics.studies.motion.moving import steady_motion

    return steady_motion(robot, closed_pose(robot, args), dict(args.v), dict(args.a))
