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

"""``closed-chain convert``: a model in another format."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from closed_chain_dynamics.cli.arguments import (
    add_model_arguments,
    load_model,
    print_report,
    refuse,
)
from closed_chain_dynamics.errors import DescriptionError
from closed_chain_dynamics.recording.terminal import Report, Style

if TYPE_CHECKING:
    from closed_chain_dynamics.model.mechanism import Mechanism

FORMAT_NAMES = (
    'drake',
    'extended',
    'mjcf',
    'sdf',
    'urdf',
    'urdf+',
)  # as description.conversion names them
CLOSED_AT_ZERO = 1e-12  # how far a loop may be open at zero [m or rad]
SUMMARY = 'write a model in another format'
DETAILS = """\
Reads a model in any format and writes it in the format given by the suffix of OUT:

  .urdf  URDF with the tags of this package
  .xml   MJCF for MuJoCo
  .yaml  Extended URDF: the tree in a .urdf file, its loops in a .yaml file next to it
  .sdf   SDF for Gazebo, in a pose that closes the loops

--to selects among formats with the same suffix: urdf+, or drake with Drake's tags for loops. The
report says what the new format cannot express, and what is expressed differently.
"""
EXAMPLES = """\
examples:
  closed-chain convert four_bar four_bar.xml              for MuJoCo
  closed-chain convert cassie.xml cassie.urdf             from MuJoCo
  closed-chain convert four_bar plus.urdf --to urdf+      loops as URDF+ writes them
  closed-chain convert four_bar drake.urdf --to drake     loops as Drake reads them
  closed-chain convert four_bar four_bar.sdf              for Gazebo
  closed-chain convert exo exo.yaml                       Extended URDF: exo.urdf and exo.yaml
"""


def set_up(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], None]:
    """Add the arguments; return what runs."""
    add_model_arguments(parser)
    parser.add_argument('out', metavar='OUT', help='the file to write')
    parser.add_argument(
        '--to', choices=FORMAT_NAMES, default='', help='the format (default: from the suffix)'
    )
    return run


def run(args: argparse.Namespace) -> None:
    """Write the model, and say what is lost."""
    from closed_chain_dynamics.description.conversion import convert, format_of

    try:
        format_of(Path(args.out), args.to)
    except DescriptionError as error:
        refuse(args, str(error))
    robot = load_model(args)
    is_sdf = args.to == 'sdf' or args.out.lower().endswith('.sdf')
    pose = _closed_pose(robot) if is_sdf else None
    files, told = convert(robot.description, args.out, robot.gravity, to=args.to, pose=pose)
    changed = [each for each in told if each.startswith('Changed')]
    lost = [each for each in told if each not in changed]
    report: dict[str, Any] = {
        'model': robot.name,
        'files': [str(each) for each in files],
        'left_out': lost,
        'changed': changed,
        'notes': list(robot.description.notes),
    }

    print_report(report, args, render)


def render(report: Report, style: Style) -> str:
    """Return for people what was written, and what was lost."""
    lines = [f'{report["model"]} is written to {" and ".join(report["files"])}.']
    return '\n'.join(
        [*lines, *(report['left_out'] or ['Nothing is left out.']), *report['changed']]
    )


def _closed_pose(robot: 'Mechanism') -> dict[str, tuple[float, ...]]:
    """Return joint positions that close the loops; none where zero does it."""
    from closed_chain_dynamics.assembly.search import assemble

    q = robot.neutral()
    if all(max(gap) < CLOSED_AT_ZERO for gap in robot.loop_gaps(q).values()):
        return {}
    q = assemble(robot)
    return {
        name: tuple(float(each) for each in q[robot.joint_slices(name)[0]])
        for name in robot.joint_names
    }
