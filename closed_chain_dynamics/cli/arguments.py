"""What several commands share: the arguments that name a model, and how a report is printed."""

import argparse
import json
import math

from closed_chain_dynamics.description.assignments import assignment
from closed_chain_dynamics.model import library

__all__ = [
    'add_assignments',
    'add_gravity',
    'add_model_arguments',
    'load_model',
    'port',
    'positive',
    'print_report',
    'real',
]


def add_model_arguments(parser, also=''):
    """Add what every command that loads a model takes; `also` is one more kind of file."""
    kinds = ', '.join(['.urdf', '.xacro', 'MJCF .xml', *[also] * bool(also)])
    parser.add_argument(
        'model',
        metavar='MODEL',
        help=f"a file ({kinds}), or the name of a model that 'closed-chain models' lists",
    )
    parser.add_argument(
        '--actuated',
        metavar='JOINTS',
        type=lambda text: text.split(','),
        help='the joints that have motors, as in --actuated hip,knee; loop joints '
        'may have one, too (default: as the model says)',
    )
    parser.add_argument(
        '--root-joint',
        choices=['fixed', 'floating'],
        default='fixed',
        help='floating lets the root link fly freely, as that of a humanoid '
        '(default: %(default)s)',
    )


def add_assignments(group, options, metavar='JOINT=VALUE'):
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


class _Assignments(argparse.Action):
    """Collects assignments, of which a joint has one."""

    def __call__(self, parser, namespace, values, option_string=None):
        known = [*getattr(namespace, self.dest), *values]
        for name, _ in known:
            if [each for each, _ in known].count(name) > 1:
                parser.error(f'argument {option_string}: {name!r} is given twice')
        setattr(namespace, self.dest, known)


def add_gravity(group):
    """Add --gravity."""
    group.add_argument(
        '--gravity',
        metavar=('X', 'Y', 'Z'),
        nargs=3,
        type=real,
        help='acceleration of gravity [m/s^2] (default: 0 0 -9.80665)',
    )


def load_model(args):
    """Load the model that the arguments name."""
    import closed_chain_dynamics as ccd

    return ccd.load(library.find(args.model), root_joint=args.root_joint, actuated=args.actuated)


def real(text):
    """Read a number."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f'{text!r} is not a number; numbers stand without unit'
        ) from None


def positive(text):
    """Read a number above zero."""
    value = real(text)
    if not 0.0 < value < math.inf:
        raise argparse.ArgumentTypeError(f'{text!r} is not a positive number')
    return value


def port(text):
    """Read the number of a port."""
    if not (text.isdecimal() and int(text) <= 65535):
        raise argparse.ArgumentTypeError(f'{text!r} is not a port, a whole number up to 65535')
    return int(text)


def print_report(report, args, text):
    """Print a report as JSON, or as text, which is made only when wanted."""
    print(json.dumps(report, indent=2, allow_nan=False) if args.json else text())
