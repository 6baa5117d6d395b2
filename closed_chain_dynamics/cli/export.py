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

"""``closed-chain export``: C for firmware."""

import argparse
from collections.abc import Callable

from closed_chain_dynamics.cli.arguments import add_model_arguments, load_model, print_report
from closed_chain_dynamics.recording.terminal import Report, Style

SUMMARY = 'write the dynamics of a model as C code for firmware'
DETAILS = """\
Writes the dynamics of a model, with the loops as they are connected at load, as C99 code that
needs libm only: no allocation, no global state, bounded time, a status from every call. DIR
receives model.h, model.c, a CMakeLists.txt and control_loop.c, an example that holds the mechanism
still and prints how long each control cycle takes.

The code is for one structure. --connect and --cut choose another one than that at load; what hangs
on a joint of the tree that is cut flies freely in the code. A closed
contact slides, sticks or lifts off depending on its forces, which such code cannot decide: cut it,
and let your controller account for its forces.
"""
EXAMPLES = """\
examples:
  closed-chain export four_bar build/four_bar            double precision
  closed-chain export exo build/exo --single             float, for a small processor
  closed-chain export high_bar build/one_hand --cut left_grip
  cmake -S build/exo -B build/exo/build && cmake --build build/exo/build
  build/exo/build/control_loop
"""


def set_up(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], None]:
    """Add the arguments; return what runs."""
    add_model_arguments(parser)
    parser.add_argument(
        'folder', metavar='DIR', help='folder to write to; created if it does not exist'
    )
    parser.add_argument('--single', action='store_true', help='float instead of double')
    for option, what in (
        ('--connect', 'loop joint that is connected'),
        ('--cut', 'joint that is cut'),
    ):
        parser.add_argument(option, metavar='NAME', action='append', default=[], help=what)
    return run


def run(args: argparse.Namespace) -> None:
    """Write the files and report what they hold."""
    import numpy as np

    from closed_chain_dynamics.assembly.search import assemble
    from closed_chain_dynamics.codegen.firmware_export import FILES, export
    from closed_chain_dynamics.model import changes

    robot = load_model(args)
    torn = [name for name in args.cut if name in robot.joint_names]
    for name in args.cut:
        if name not in torn:
            robot.cut(name)
    for name in args.connect:
        robot.connect(name)
    q, v = (assemble(robot), np.zeros(robot.nv)) if torn else (None, None)
    for name in torn:  # what is cut off flies where it would be otherwise
        q, v = changes.cut(robot, name, q, v)
    operations = export(robot, args.folder, q=q, single=args.single)
    report = {
        'folder': args.folder,
        'files': list(FILES),
        'precision': 'single' if args.single else 'double',
        'operations': operations,
        'open': [name for name, closed in changes.open_or_closed(robot).items() if not closed],
    }
    print_report(report, args, render)


def render(report: Report, style: Style) -> str:
    """Return for people what was written."""
    files, folder = ', '.join(report['files']), report['folder']
    lines = [f'wrote {files} to {folder} ({report["precision"]} precision)']
    lines += [f'  {name:24} {count:7d} operations' for name, count in report['operations'].items()]
    if report['open']:
        lines.append(f'open in this code: {", ".join(report["open"])}')
    return '\n'.join(lines)
