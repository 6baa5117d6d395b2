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
The ``closed-chain`` command.

Each sub-command is one module of this room: its SUMMARY, DETAILS and EXAMPLES are its help, and
its `set_up` is given a parser, adds its arguments and returns what to run. Heavy imports stay
inside, so that help and completion are instant. Exit codes: 0 done, 1 the model or the data is
bad or a verdict is no (one paragraph on standard error), 2 wrong usage, 130 stopped by Ctrl-C.
"""

import argparse
import atexit
from collections.abc import Sequence
from importlib import import_module
import json
import os
import re
import sys
from typing import Any, NoReturn

from closed_chain_dynamics.cli.advice import as_options, options_of
from closed_chain_dynamics.cli.arguments import complain
from closed_chain_dynamics.cli.completion import offer_completions
from closed_chain_dynamics.errors import ClosedChainError, nearest_names
from closed_chain_dynamics.recording.terminal import Style
from closed_chain_dynamics.starting import INTERRUPTED, interrupts_raised

__all__ = ['main']

COMMANDS = (
    'models',
    'check',
    'torque',
    'simulate',
    'derive',
    'export',
    'study',
    'convert',
    'zoo',
    'view',
    'up',
    'bench',
    'doctor',
    'completion',
)

XACRO_ARGUMENT = re.compile(r'[A-Za-z_]\w*:=')  # as the xacro command takes them

DESCRIPTION = """\
Kinematics and dynamics of mechanisms with closed loops.

You add each loop to a URDF file with one tag, <constraint>. From that file this command finds
out how the mechanism can move, computes the torques of its motors, and simulates it, also while
loops open and close.

Where a command takes a MODEL, this is a file (.urdf, .xacro, .sdf, MJCF .xml) or the name of a
model that comes with the package; 'closed-chain models' lists them. Arguments of a xacro file
follow it as key:=value.
"""

EXAMPLES = """\
examples:
  closed-chain models                                list the models that can be tried at once
  closed-chain check four_bar                        how does it move, and what is missing?
  closed-chain torque four_bar --q crank=1 --v crank=6      which torque does the motor need?
  closed-chain simulate four_bar --record run.gif    simulate it, and record an animation

'closed-chain COMMAND --help' describes a command, with examples. Units are SI and radians. Every
command takes --json, for use in programs. Exit codes: 0 done, 1 the model or the data is bad or a
verdict is no, 2 wrong usage, 130 stopped by Ctrl-C. Colours appear in terminals only; NO_COLOR=1
switches them off. 'closed-chain completion --help' explains completion with the Tab key. If
something is missing on this machine, 'closed-chain doctor' says what, and how to get it.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    argv = sys.argv[1:] if argv is None else list(argv)
    # Names in a model may not fit the encoding of a pipe: show them escaped, do not fail.
    if hasattr(sys.stdout, 'reconfigure'):
        sys.stdout.reconfigure(errors='backslashreplace')
    parser = _parser()
    offer_completions(parser)
    if not argv:
        parser.print_help(sys.stderr)
        return 2
    _refuse_beginning(parser, argv)
    macros = [each for each in argv if XACRO_ARGUMENT.match(each)]
    args, unknown = parser.parse_known_args([each for each in argv if each not in macros])
    if macros and 'model' not in args:
        unknown = [*unknown, *macros]
    if unknown:
        _refuse_unknown(args.parser, unknown)
    if macros:
        args.xacro_args = dict(each.split(':=', 1) for each in macros)
    try:
        with interrupts_raised():
            code: int | None = args.run(args)
            sys.stdout.flush()
    except argparse.ArgumentTypeError as error:  # arguments that do not go together
        args.parser.error(str(error))
    except ClosedChainError as error:
        return _fail(error, args)
    except BrokenPipeError:
        # The reader has gone, as in `| head`; keep the interpreter from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        _forget_colours()
    return code or 0


def _forget_colours() -> None:
    """Undo that Numba, where colorama is installed, resets colours at the end of a program."""
    if initialise := sys.modules.get('colorama.initialise'):
        atexit.unregister(initialise.reset_all)  # a plain terminal has none


def _refuse_beginning(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    """Refuse a line that begins with something else than a command, --help or --version."""
    known = next(
        (each for each in parser._actions if isinstance(each, argparse._SubParsersAction)), None
    )
    if known is None or not argv or argv[0] in ('-h', '--help', '--version'):
        return
    first = argv[0]
    if first in known.choices or first in options_of(parser):
        # what follows: a command may have kinds of its own
        _refuse_beginning(known.choices.get(first, parser), argv[1:])
        return
    what = str(known.metavar).lower()
    if not first.startswith('-'):
        parser.error(f'there is no {what} {first!r}. {nearest_names(first, known.choices)}')
    command = next((each for each in argv if each in known.choices), None)
    if command:
        parser.error(
            f'{first!r} comes before the {what}: options go after it, as in '
            f"'{parser.prog} {command} ... {first}'."
        )
    _refuse_unknown(parser, [first])


def _refuse_unknown(parser: argparse.ArgumentParser, unknown: Sequence[str]) -> NoReturn:
    """Refuse what a command does not take, and offer what was probably meant."""
    options = [each.partition('=')[0] for each in unknown if each.startswith('-')]
    if options:
        parser.error(
            f'there is no option {options[0]!r}. '
            f'{nearest_names(options[0], options_of(parser), most=1)}'
        )
    parser.error(f'{unknown[0]!r} is one argument too many.')


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are short, and say where more is to be had."""

    def error(self, message: str) -> NoReturn:
        """Write one paragraph and exit with code 2."""
        if 'are required: MODEL' in message:
            message = "which MODEL? Name a file, or one of those that 'closed-chain models' lists."
        if 'are required: STUDY' in message:
            message = 'which STUDY? Name validity, what-if, consistency, excite, identify or map.'
        if 'are required: SHELL' in message:
            message = 'which SHELL? Name bash, zsh or fish.'
        brand = Style.of(sys.stderr).paint(f'{self.prog}:', 'red', 'bold')
        self.exit(2, f"{brand} {message}\nSee '{self.prog} --help'.\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog='closed-chain',
        description=DESCRIPTION,
        epilog=EXAMPLES,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage='%(prog)s COMMAND [options]',
    )
    parser.add_argument('--version', action=_Version, help='show the version and exit')
    commands = parser.add_subparsers(
        title='commands', metavar='COMMAND', required=True, prog='closed-chain'
    )
    for name in COMMANDS:
        module = import_module(f'closed_chain_dynamics.cli.{name}')
        child = commands.add_parser(
            name,
            help=module.SUMMARY,
            description=getattr(module, 'DETAILS', module.SUMMARY),
            epilog=module.EXAMPLES,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        child.add_argument('--json', action='store_true', help='write JSON, for use in programs')
        child.set_defaults(run=module.set_up(child), parser=child)
        _put_positions_first(child)
    return parser


def _put_positions_first(parser: argparse.ArgumentParser) -> None:
    """Write the usage: an option that takes several values would swallow what stands after it."""
    actions = parser._get_positional_actions()
    names = [
        f'[{each.metavar}]' if each.nargs == '?' else str(each.metavar or each.dest.upper())
        for each in actions
    ]
    parser.usage = ' '.join(['%(prog)s', *names, '[options]'])
    for action in actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                _put_positions_first(child)


class _Version(argparse.Action):
    """Prints the version, looked up only when asked for."""

    def __init__(self, option_strings: Sequence[str], dest: str, **options: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **options)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from closed_chain_dynamics import __version__

        parser.exit(message=f'closed-chain {__version__}\n')


def _fail(error: ClosedChainError, args: argparse.Namespace) -> int:
    """Say what is wrong in one paragraph, and to programs in JSON too."""
    options = options_of(args.parser)
    if args.json:
        parts = {
            'type': type(error).__name__,
            'file': error.file,
            'where': error.where,
            'why': error.why,
            'repair': as_options(error.repair, options),
        }
        print(json.dumps({'error': parts}, indent=2))
    return complain(as_options(str(error), options))
