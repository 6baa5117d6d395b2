"""
The ``closed-chain`` command.

Each sub-command is one module of `commands`: its SUMMARY, DETAILS and EXAMPLES are its help, and
its `set_up` is given a parser, adds its arguments and returns what to run. Heavy imports stay
inside, so that help is instant. Exit codes: 0 done, 1 the model or the data is bad (one paragraph
on standard error), 2 wrong usage.
"""

import argparse
from importlib import import_module
import json
import os
import sys

from closed_chain_dynamics.errors import ClosedChainError, nearest_names
from closed_chain_dynamics.terminal import Style

__all__ = ['main']

COMMANDS = ('check', 'models', 'simulate', 'bench')

DESCRIPTION = """\
Closed kinematic chains: mechanisms with loops, held together and let go.

A MODEL is a file (.urdf, .xacro) or the name of a model that comes with the package;
'closed-chain models' lists those.
"""

EXAMPLES = """\
examples:
  closed-chain models                     what comes with the package
  closed-chain check four_bar             what a model is made of, and what it lacks
  closed-chain check robot.urdf --json    the same for programs
  closed-chain simulate four_bar --record run.gif   let it move
  closed-chain bench --quick              how fast it is here, and against other engines

'closed-chain COMMAND --help' says more about a command.
Every command exits with 0 when done, 1 when the model or data is bad, 2 when misused.
NO_COLOR=1 switches colours off.
"""


def main(argv=None):
    """Run the command line and return its exit code."""
    argv = sys.argv[1:] if argv is None else list(argv)
    # Names in a model may not fit the encoding of a pipe: show them escaped, do not fail.
    if hasattr(sys.stdout, 'reconfigure'):
        sys.stdout.reconfigure(errors='backslashreplace')
    parser = _parser()
    if not argv:
        parser.print_help(sys.stderr)
        return 2
    if not argv[0].startswith('-') and argv[0] not in COMMANDS:
        parser.error(f'there is no command {argv[0]!r}. {nearest_names(argv[0], COMMANDS)}')
    args = parser.parse_args(argv)
    try:
        args.run(args)
        sys.stdout.flush()
    except ClosedChainError as error:
        return _fail(error, args)
    except BrokenPipeError:
        # The reader has gone, as in `| head`; keep the interpreter from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    return 0


def _parser():
    parser = argparse.ArgumentParser(
        prog='closed-chain', description=DESCRIPTION, epilog=EXAMPLES, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--version', action=_Version, help='show the version and exit')
    commands = parser.add_subparsers(title='commands', metavar='COMMAND', required=True)
    for name in COMMANDS:
        module = import_module(f'closed_chain_dynamics.commands.{name}')
        child = commands.add_parser(
            name, help=module.SUMMARY, description=getattr(module, 'DETAILS', module.SUMMARY),
            epilog=module.EXAMPLES, allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter)
        child.add_argument('--json', action='store_true', help='write JSON, for programs')
        child.set_defaults(run=module.set_up(child))
    return parser


class _Version(argparse.Action):
    """Prints the version, looked up only when asked for."""

    def __init__(self, option_strings, dest, **options):
        super().__init__(option_strings, dest, nargs=0, **options)

    def __call__(self, parser, namespace, values, option_string=None):
        from closed_chain_dynamics import __version__
        parser.exit(message=f'closed-chain {__version__}\n')


def _fail(error, args):
    """Say what is wrong in one paragraph, and to programs in JSON too."""
    message = ' '.join(str(error).split())
    print(Style.of(sys.stderr).paint('closed-chain:', 'red', 'bold'), message, file=sys.stderr)
    if args.json:
        print(json.dumps({'error': {'type': type(error).__name__, 'file': error.file,
                                    'where': error.where, 'why': error.why,
                                    'repair': error.repair}}, indent=2))
    return 1


if __name__ == '__main__':
    sys.exit(main())
