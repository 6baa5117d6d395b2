"""``closed-chain bench``: the speed, side by side with other engines."""

import sys

from closed_chain_dynamics.commands.arguments import print_report
from closed_chain_dynamics.terminal import Style

SUMMARY = 'measure the speed, side by side with Pinocchio and MuJoCo'
DETAILS = """\
Builds a four-bar (M1), the figure on the swing (M2), a humanoid on a bar (M3) and ladders of
four-bars (M4_k) for each engine from the same numbers, checks that the answers agree, and times
calls from Python that take turns. A ratio above 1 means that this package is faster; ratios stay
the same from machine to machine, times do not. An engine that is not installed is left out.
"""
EXAMPLES = """\
examples:
  closed-chain bench                      a few minutes
  closed-chain bench --quick              well under a minute
  closed-chain bench --quick --json > bench.json
"""


def set_up(parser):
    """Add the arguments; return what runs."""
    parser.add_argument('--quick', action='store_true',
                        help='measure for a shorter time; medians scatter a little more')
    return run


def run(args):
    """Measure, and print the report."""
    from closed_chain_dynamics.bench.side_by_side import bench_report, render
    report = bench_report(quick=args.quick, tell=lambda text: print(text, file=sys.stderr))
    print_report(report, args, lambda: render(report, Style.of(sys.stdout)))
