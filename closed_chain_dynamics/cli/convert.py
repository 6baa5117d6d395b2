"""``closed-chain convert``: a model in another format."""

import argparse
from collections.abc import Callable
from typing import Any

from closed_chain_dynamics.cli.arguments import add_model_arguments, load_model, print_report

FORMATS = ('extended', 'mjcf', 'urdf', 'urdf+')  # as description.conversion names them
SUMMARY = 'write a model in another format'
DETAILS = """\
Reads a model in any format and writes it in the one that the suffix of OUT means: .urdf the own
spelling of URDF, .xml MJCF for MuJoCo, .yaml Extended URDF, a tree in .urdf with its loops in a
.yaml beside it. --to chooses among formats with the same suffix. At the end it says what the new
format has no place for.
"""
EXAMPLES = """\
examples:
  closed-chain convert four_bar four_bar.xml              for MuJoCo
  closed-chain convert cassie.xml cassie.urdf             from MuJoCo
  closed-chain convert four_bar plus.urdf --to urdf+      loops as URDF+ writes them
  closed-chain convert exo exo.yaml                       Extended URDF: exo.urdf and exo.yaml
"""


def set_up(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], None]:
    """Add the arguments; return what runs."""
    add_model_arguments(parser)
    parser.add_argument('out', metavar='OUT', help='the file to write')
    parser.add_argument(
        '--to', choices=FORMATS, default='', help='the format (default: by the suffix)'
    )
    return run


def run(args: argparse.Namespace) -> None:
    """Write the model, and say what is lost."""
    from closed_chain_dynamics.description.conversion import convert

    robot = load_model(args)
    files, lost = convert(robot.description, args.out, robot.gravity, to=args.to)
    report: dict[str, Any] = {
        'model': robot.name,
        'files': [str(each) for each in files],
        'left_out': lost,
        'notes': list(robot.description.notes),
    }

    def text() -> str:
        written = ' and '.join(report['files'])
        lines = [f'{robot.name} is written to {written}.', *lost]
        return '\n'.join(lines if lost else [*lines, 'Nothing is left out.'])

    print_report(report, args, text)
