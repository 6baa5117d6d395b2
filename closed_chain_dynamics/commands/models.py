"""``closed-chain models``: the models that come with the package."""

import sys

from closed_chain_dynamics import models
from closed_chain_dynamics.commands.arguments import print_report
from closed_chain_dynamics.terminal import Style

SUMMARY = 'list the models that come with the package'
DETAILS = """\
Lists the models that come with the package, each with what it says about itself. Every command
that wants a MODEL takes these names; --json tells where the files are, as a start for one of your
own.
"""
EXAMPLES = """\
examples:
  closed-chain models
  closed-chain models --json
  closed-chain check four_bar      more about one of them
"""


def set_up(parser):
    """Return what runs; there is nothing to ask."""
    return run


def run(args):
    """Print the list."""
    shipped = models.shipped()
    report = {'models': [{'name': name, 'file': str(path), 'about': models.about(path)}
                         for name, path in shipped.items()]}
    style, width = Style.of(sys.stdout), max(map(len, shipped))
    print_report(report, args, lambda: '\n'.join(
        f'{style.paint(each["name"].ljust(width), "bold")}  {each["about"]}'
        for each in report['models']))
