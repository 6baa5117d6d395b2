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

"""What several commands share: the arguments that name a model, and how a report is printed."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
import json
import logging
import math
import sys
from typing import TYPE_CHECKING, Any

from closed_chain_dynamics.cli.advice import as_options, options_of
from closed_chain_dynamics.model import library
from closed_chain_dynamics.recording.terminal import Report, Style

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from closed_chain_dynamics.model.mechanism import Mechanism

    # a report, how it is written for people, and what is wrong where the verdict is no
    Answer = tuple[Report, Callable[[Report, Style], str], str]
    Study = Callable[[Mechanism, argparse.Namespace], Answer]

__all__ = [
    'Group',
    'add_assignments',
    'add_gravity',
    'add_host',
    'add_model_arguments',
    'add_pose',
    'assignment',
    'closed_pose',
    'complain',
    'load_model',
    'port',
    'positive',
    'print_report',
    'real',
    'refuse',
    'seed',
    'unheard',
    'whole',
]

Group = argparse.ArgumentParser | argparse._ArgumentGroup


def add_model_arguments(parser: argparse.ArgumentParser, also: str = '') -> None:
    """Add what every command that loads a model takes; `also` is one more kind of file."""
    kinds = ', '.join(['.urdf', '.xacro', '.sdf', 'MJCF .xml', *[also] * bool(also)])
    parser.add_argument(
        'model',
        metavar='MODEL',
        help=f"a file ({kinds}), or the name of a model that 'closed-chain models' lists",
    )
    parser.add_argument(
        '--actuated',
        metavar='JOINTS',
        type=lambda text: text.split(','),
        help='the joints that have motors, as in --actuated hip,knee; loop joints are allowed '
        'too (default: those marked in the model)',
    )
    parser.add_argument(
        '--root-joint',
        choices=['fixed', 'floating'],
        default='fixed',
        help='floating: the root link moves freely, as in a humanoid (default: %(default)s)',
    )
    parser.add_argument(
        '--inertia',
        choices=['check', 'repair', 'trust'],
        default='check',
        help='what to do with inertias that no rigid body can have, and with joints that move no '
        'mass: check warns, and rejects those that would make the motion wrong; repair replaces '
        'them by the nearest possible ones; trust keeps them as they are (default: %(default)s)',
    )
    parser.set_defaults(xacro_args={})  # key:=value, which main takes out of the line


def add_assignments(
    group: Group, options: Mapping[str, str], metavar: str = 'JOINT=VALUE'
) -> None:
    """Add options, {option: help}, that take one 'joint=value' or more."""
    for option, what in options.items():
        group.add_argument(
            option,
            metavar=metavar,
            nargs='+',
            action=_Assignments,
            type=assignment,
            default=[],
            help=what,
        )


def add_pose(group: Group, options: Mapping[str, str]) -> None:
    """Add --q and others that take joints and values, and --no-limits."""
    add_assignments(group, options)
    group.add_argument(
        '--no-limits',
        dest='limits',
        action='store_false',
        help='allow poses beyond the joint limits; no stops in a simulation',
    )


class _Assignments(argparse.Action):
    """Collects assignments, of which a joint has one."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        known = [*getattr(namespace, self.dest), *(values or ())]
        for name, _ in known:
            if [each for each, _ in known].count(name) > 1:
                parser.error(f'argument {option_string}: {name!r} is given twice')
        setattr(namespace, self.dest, known)


def assignment(text: str) -> tuple[str, float | list[float]]:
    """Read 'joint=value', with commas where a joint has several numbers."""
    from closed_chain_dynamics.description import assignments  # it loads NumPy, help needs none

    name, value = assignments.assignment(text)
    return name, value


def add_gravity(group: Group) -> None:
    """Add --gravity."""
    group.add_argument(
        '--gravity',
        metavar=('X', 'Y', 'Z'),
        nargs=3,
        type=real,
        help='gravitational acceleration [m/s^2] (default: as in the file, or 0 0 -9.80665)',
    )


def add_host(group: Group) -> None:
    """Add --host of a view."""
    group.add_argument(
        '--host',
        metavar='ADDRESS',
        default='127.0.0.1',
        help='network address to serve on, 0.0.0.0 for all; any other than %(default)s requires '
        'the token in the printed address',
    )


def load_model(args: argparse.Namespace) -> Mechanism:
    """Load the model that the arguments name, under the gravity that they name."""
    import closed_chain_dynamics as ccd

    robot: Mechanism = ccd.load(
        library.find(args.model),
        root_joint=args.root_joint,
        actuated=args.actuated,
        xacro_args=args.xacro_args,
        inertia=args.inertia,
    )
    if getattr(args, 'gravity', None):
        robot.gravity = args.gravity
    return robot


def closed_pose(robot: Mechanism, args: argparse.Namespace) -> NDArray[np.float64]:
    """Return the pose with all loops closed that --q names, within limits unless --no-limits."""
    import closed_chain_dynamics as ccd

    q: NDArray[np.float64] = ccd.assemble(robot, dict(args.q), limits=args.limits)
    return q


def real(text: str) -> float:
    """Read a number."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f'{text!r} is not a number; write it without a unit'
        ) from None


def positive(text: str) -> float:
    """Read a number above zero."""
    value = real(text)
    if not 0.0 < value < math.inf:
        raise argparse.ArgumentTypeError(f'{text!r} is not a positive number')
    return value


def not_negative(text: str) -> float:
    """Read a number from zero on."""
    value = real(text)
    if not 0.0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f'{text!r} is not a number of zero or more')
    return value


def whole(text: str) -> int:
    """Read a whole number above zero."""
    if not (text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f'{text!r} is not a whole number above zero')
    return int(text)


def seed(text: str) -> int:
    """Read the seed of random numbers."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f'{text!r} is not a seed, a whole number from 0')
    return int(text)


def port(text: str) -> int:
    """Read the number of a port."""
    if not (text.isdecimal() and int(text) <= 65535):
        raise argparse.ArgumentTypeError(f'{text!r} is not a port, a whole number up to 65535')
    return int(text)


def print_report(
    report: Report, args: argparse.Namespace, render: Callable[[Report, Style], str]
) -> None:
    """Print a report as JSON, or as text."""
    if 'warnings' in report:
        options = options_of(args.parser)
        report['warnings'] = [as_options(each, options) for each in report['warnings']]
    if args.json:
        print(json.dumps(report, indent=2, allow_nan=False))
    else:
        print(render(report, Style.of(sys.stdout)))


def refuse(args: argparse.Namespace, wrong: str) -> None:
    """End with the usage where arguments are fine one by one, but not together."""
    if wrong:
        args.parser.error(wrong)


def complain(message: str) -> int:
    """Say in one line on standard error what is wrong; return the exit code 1."""
    sys.stdout.flush()  # the line comes last where both go to one terminal
    brand = Style.of(sys.stderr).paint('closed-chain:', 'red', 'bold')
    print(brand, ' '.join(message.split()), file=sys.stderr)
    return 1


@contextmanager
def unheard() -> Iterator[None]:
    """Keep warnings off the terminal, where a report says the same."""
    logger = logging.getLogger('closed_chain_dynamics')
    logger.addFilter(_is_an_error)
    try:
        yield
    finally:
        logger.removeFilter(_is_an_error)


def _is_an_error(record: logging.LogRecord) -> bool:
    return record.levelno > logging.WARNING
