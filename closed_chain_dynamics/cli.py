"""
The ``closed-chain`` command.

Each sub-command is one function under ``@command``: it is given a parser, adds its arguments,
and returns what to run. Heavy imports stay inside, so that help is instant. Exit codes: 0 done,
1 the model or the data is bad (one paragraph on standard error), 2 wrong usage.
"""

import argparse
import json
import os
import sys

from closed_chain_dynamics import models
from closed_chain_dynamics.errors import ClosedChainError, nearest_names
from closed_chain_dynamics.terminal import Style

__all__ = ['main']

COMMANDS = {}

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


def command(name, summary, *, details='', examples=''):
    """Register a sub-command; the decorated function sets up its parser and returns its run."""
    def register(set_up):
        COMMANDS[name] = (set_up, summary, details, examples)
        return set_up
    return register


@command('check', 'say what a model is made of, and what it lacks', details="""\
Reads a model and reports the tree of links, joints, loops and couplings, springs, actuators and
who stated them, masses, what is missing and what looks wrong.
""", examples="""\
examples:
  closed-chain check four_bar
  closed-chain check exo.urdf --actuated hip,knee
  closed-chain check humanoid.urdf --root-joint floating
  closed-chain check robot.urdf --json | python3 -m json.tool
""")
def check(parser):
    """Set up `check`."""
    _add_model_arguments(parser)

    def run(args):
        from closed_chain_dynamics.report import check_report
        from closed_chain_dynamics.report_text import render
        report = check_report(_load(args))
        _print(report, args, lambda: render(report, Style.of(sys.stdout)))
    return run


@command('models', 'list the models that come with the package', examples="""\
examples:
  closed-chain models
  closed-chain check four_bar
""")
def list_models(parser):
    """Set up `models`."""
    def run(args):
        shipped = models.shipped()
        report = {'models': [{'name': name, 'file': str(path), 'about': models.about(path)}
                             for name, path in shipped.items()]}
        style, width = Style.of(sys.stdout), max(map(len, shipped))
        _print(report, args, lambda: '\n'.join(
            f'{style.paint(each["name"].ljust(width), "bold")}  {each["about"]}'
            for each in report['models']))
    return run


@command('simulate', 'let a model move, connect and cut it, and see what happens', details="""\
Simulates a model from an assembled pose, under gravity, springs and constant torques. Joints named
with --connect and --cut are connected and cut while it moves. The report says how fast the run
was, how well the loops held, where the energy went and what happened; a log of everything can be
written as figure, animation, table, arrays or ROS 2 bag.
""", examples="""\
examples:
  closed-chain simulate pendulum
  closed-chain simulate four_bar --q crank=1 --tau crank=0.5 --plot run.png
  closed-chain simulate four_bar --v crank=6 --cut coupler_rocker@1.5 --time 3 --record run.gif
  closed-chain simulate four_bar --dt 1e-4 --integrator adaptive --csv run.csv --mcap run.mcap
  closed-chain simulate four_bar --gravity 0 0 -1.62 --json | python3 -m json.tool

Values with several numbers have commas: --q base=0,0,1,0,0,0,1 (position, then quaternion xyzw).
""")
def simulate(parser):
    """Set up `simulate`."""
    from closed_chain_dynamics import cli_simulate
    _add_model_arguments(parser)
    cli_simulate.add_arguments(parser)

    def run(args):
        wrong = cli_simulate.wrong_usage(args)
        if wrong:
            parser.error(wrong)
        report = cli_simulate.simulate(_load(args), args)
        _print(report, args, lambda: cli_simulate.render(report, Style.of(sys.stdout)))
    return run


@command('bench', 'measure the speed, side by side with Pinocchio and MuJoCo', details="""\
Builds a four-bar (M1), the figure on the swing (M2), a humanoid on a bar (M3) and ladders of
four-bars (M4_k) for each engine from the same numbers, checks that the answers agree, and times
calls from Python that take turns. A ratio above 1 means that this package is faster; ratios stay
the same from machine to machine, times do not. An engine that is not installed is left out.
""", examples="""\
examples:
  closed-chain bench                      a few minutes
  closed-chain bench --quick              well under a minute
  closed-chain bench --quick --json > bench.json
""")
def bench(parser):
    """Set up `bench`."""
    parser.add_argument('--quick', action='store_true',
                        help='measure for a shorter time; medians scatter a little more')

    def run(args):
        from closed_chain_dynamics.bench import bench_report, render
        report = bench_report(quick=args.quick, tell=lambda text: print(text, file=sys.stderr))
        _print(report, args, lambda: render(report, Style.of(sys.stdout)))
    return run


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
    for name, (set_up, summary, details, examples) in COMMANDS.items():
        child = commands.add_parser(
            name, help=summary, description=details or f'{summary[0].upper()}{summary[1:]}.',
            epilog=examples, allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter)
        child.add_argument('--json', action='store_true', help='write JSON, for programs')
        child.set_defaults(run=set_up(child))
    return parser


class _Version(argparse.Action):
    """Prints the version, looked up only when asked for."""

    def __init__(self, option_strings, dest, **options):
        super().__init__(option_strings, dest, nargs=0, **options)

    def __call__(self, parser, namespace, values, option_string=None):
        from closed_chain_dynamics import __version__
        parser.exit(message=f'closed-chain {__version__}\n')


def _add_model_arguments(parser):
    """Add what every command that loads a model takes."""
    parser.add_argument('model', metavar='MODEL', help='a file, or the name of a shipped model')
    parser.add_argument('--actuated', metavar='JOINTS', type=lambda text: text.split(','),
                        help='the actuated joints, with commas between them; default: as the '
                             'model says')
    parser.add_argument('--root-joint', choices=['fixed', 'floating'], default='fixed',
                        help='how the root link is held by the world (default: %(default)s)')


def _load(args):
    """Load the model that the arguments name."""
    import closed_chain_dynamics as ccd
    return ccd.load(models.find(args.model), root_joint=args.root_joint, actuated=args.actuated)


def _print(report, args, text):
    """Print a report as JSON, or as text, which is made only when wanted."""
    print(json.dumps(report, indent=2, allow_nan=False) if args.json else text())


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
