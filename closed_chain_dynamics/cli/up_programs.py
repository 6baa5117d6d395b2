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

"""What ``closed-chain up`` starts, and what is refused before anything is started."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
import os
import sys
from typing import TYPE_CHECKING, Any

from closed_chain_dynamics.errors import ClosedChainError, nearest_names

if TYPE_CHECKING:  # a command that is not run loads nothing
    from closed_chain_dynamics.model.mechanism import Mechanism
    from closed_chain_dynamics.ros.composition import Program
    from closed_chain_dynamics.studies.motion.tracks import Tracks

LONGEST_AWAY = 60.0  # of a controller: one that crashes is started again meanwhile [s]


def check_start(robot: Mechanism, args: argparse.Namespace) -> None:
    """Refuse a start that the simulator would refuse, before anything is started."""
    import closed_chain_dynamics as ccd

    q = ccd.assemble(robot.copy(), dict(args.q))
    ccd.complete_velocity(robot.copy(), q, dict(args.v))


def check_parameters(args: argparse.Namespace) -> None:
    """Refuse parameters that torque_node does not have: ROS 2 itself says nothing of them."""
    from closed_chain_dynamics.ros.torque_settings import SETTINGS

    known = {each.name: each for each in SETTINGS}
    for name, value in torque_parameters(args):
        if name not in known:
            raise argparse.ArgumentTypeError(
                f'torque_node has no parameter {name!r}. {nearest_names(name, list(known))}'
            )
        try:
            known[name].read(value)
        except ValueError as error:
            raise argparse.ArgumentTypeError(
                f'argument --torque: parameter {name!r} {error}'
            ) from None


def programs(args: argparse.Namespace, robot: Mechanism) -> list[Program]:
    """Return what to start."""
    from closed_chain_dynamics.model import library
    from closed_chain_dynamics.ros import composition

    driven = args.controller and bool(robot.actuator_names)
    reference = reference_parameters(args, robot, driven)
    if args.controller and not driven:
        print('No joint is actuated: there is no torque_node.', file=sys.stderr)
    rate = args.rate or (250.0 if args.demo else 1000.0)
    simulator = {
        'rate': rate,
        'real_time_factor': args.factor,
        'root_joint': args.root_joint,
        'initial_positions': _texts(args.q),
        'initial_velocities': _texts(args.v),
        # nothing falls before it is held, and a busy machine is slow instead of wrong
        'lockstep': 'on' if driven else 'off',
        'lockstep_timeout': LONGEST_AWAY,
    }
    if args.actuated:
        simulator['actuated'] = args.actuated
    if args.demo:
        from closed_chain_dynamics.ros.demo_programme import OPEN_HANDS, START

        if not set(OPEN_HANDS) <= set(robot.loop_names):
            raise argparse.ArgumentTypeError(
                'the demonstration is for the model swing: closed-chain up swing --demo'
            )
        simulator |= {'start_paused': True, 'initial_velocities': _texts(args.v) or START}
    if reference is not None:
        simulator['start_paused'] = True
    simulator = {name: value for name, value in simulator.items() if value != []}
    return composition.simulation(
        str(library.find(args.model)),
        controller=driven,
        viewer=args.demo if args.viewer is None else args.viewer,
        port=args.port,
        host=args.host,
        demo=args.demo,
        simulator=simulator,
        # in step, and as patient as the simulator
        torque={'rate': rate, 'wall_timeout': LONGEST_AWAY, **dict(torque_parameters(args))},
        reference=reference,
    )


def torque_parameters(args: argparse.Namespace) -> list[tuple[str, Any]]:
    """Return the parameters of torque_node that were asked for."""
    return [*args.torque, *([('mode', args.mode)] if args.mode else [])]


def reference_parameters(
    args: argparse.Namespace, robot: Mechanism, driven: bool
) -> dict[str, Any] | None:
    """Return the parameters of reference_node, None where nothing is to be followed."""
    if args.repeat and not args.follow:
        raise argparse.ArgumentTypeError('--repeat needs a file to repeat: --follow FILE')
    if not (args.hold or args.follow):
        return None
    option = '--hold' if args.hold else '--follow'
    if args.demo:
        raise argparse.ArgumentTypeError(
            f'{option}: the demonstration has its own reference; leave one of them out'
        )
    if not args.controller:
        raise argparse.ArgumentTypeError(f'{option} needs a controller: leave out --no-controller')
    if not driven:
        raise ClosedChainError(
            'the model has no motors that could follow a reference',
            where=option,
            repair='Name the joints that have motors: --actuated JOINT.',
        )
    if args.hold:
        return {}
    from closed_chain_dynamics.studies.motion.reading import read_trajectory

    tracks = read_trajectory(robot, args.follow)  # what is wrong with it is told at once
    if dict(torque_parameters(args)).get('beyond_limits') != 'clip':
        _refuse_beyond_limits(robot, tracks, args.follow)
    return {'file': os.path.abspath(args.follow), 'repeat': args.repeat}


def _refuse_beyond_limits(robot: Mechanism, tracks: Tracks, file: str) -> None:
    """Refuse a motion that torque_node would refuse, and wait for another one."""
    import numpy as np

    for joint in robot.description.joints:
        if joint.name in tracks.joints and joint.type.nq == 1:
            x = tracks.joints[joint.name][0][:, 0]
            lower, upper = joint.limit.lower, joint.limit.upper
            beyond = np.flatnonzero((x < lower) | (x > upper))
            if beyond.size:
                raise ClosedChainError(
                    f'{joint.name!r} is commanded to {x[beyond[0]]:.4g} at '
                    f't = {tracks.time[beyond[0]]:.4g} s, and its limits are {lower:g} to '
                    f'{upper:g}',
                    where=file,
                    repair='Stay within the limits, or pass --torque beyond_limits=clip.',
                )


def _texts(assignments: Iterable[tuple[str, Any]]) -> list[str]:
    return [
        f'{name}={",".join(map(repr, value)) if isinstance(value, list) else value!r}'
        for name, value in assignments
    ]


def check_ros() -> None:
    """Refuse to start nodes where there is no ROS 2."""
    try:
        import rclpy  # noqa: F401
        import tf2_msgs  # noqa: F401
    except ImportError as error:
        raise ClosedChainError(
            f'the nodes need ROS 2, and {error.name} is not there',
            repair="Source a ROS 2 installation, or run 'make setup'; 'closed-chain doctor' says "
            'what is missing.',
        ) from None
