"""``closed-chain check``: what a model is made of, and what it lacks."""

import sys

from closed_chain_dynamics.commands.arguments import add_model_arguments, load_model, print_report
from closed_chain_dynamics.terminal import Style

SUMMARY = 'say what a model is made of, and what it lacks'
DETAILS = """\
Reads a model and reports the tree of links, joints, loops and couplings, springs, actuators and
who stated them, masses, what is missing and what looks wrong.
"""
EXAMPLES = """\
examples:
  closed-chain check four_bar
  closed-chain check exo.urdf --actuated hip,knee
  closed-chain check humanoid.urdf --root-joint floating
  closed-chain check robot.urdf --json | python3 -m json.tool
"""


def set_up(parser):
    """Add the arguments; return what runs."""
    add_model_arguments(parser)
    return run


def run(args):
    """Print the report."""
    from closed_chain_dynamics.report import check_report
    from closed_chain_dynamics.report_text import render
    report = check_report(load_model(args))
    print_report(report, args, lambda: render(report, Style.of(sys.stdout)))
