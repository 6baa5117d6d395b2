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

"""From one dialect to another: which writer a file name means, and what the new file lacks."""

from collections.abc import Callable, Iterable
from pathlib import Path

from closed_chain_dynamics.description.drake_writer import to_drake
from closed_chain_dynamics.description.elements import Description
from closed_chain_dynamics.description.extended_yaml_writer import to_extended
from closed_chain_dynamics.description.left_out import LeftOut
from closed_chain_dynamics.description.mjcf_writer import to_mjcf
from closed_chain_dynamics.description.reference_pose import Positions
from closed_chain_dynamics.description.sdf_writer import to_sdf
from closed_chain_dynamics.description.urdf_plus_writer import to_urdf_plus
from closed_chain_dynamics.description.writer import to_xml, write_files
from closed_chain_dynamics.errors import DescriptionError, nearest_names

__all__ = ['FORMATS', 'convert', 'format_of']

Texts = dict[str, str]  # suffix -> content
Gravity = Iterable[float]


def _own(description: Description, gravity: Gravity, pose: Positions) -> tuple[Texts, LeftOut]:
    return {'.urdf': to_xml(description)}, LeftOut()


def _urdf_plus(
    description: Description, gravity: Gravity, pose: Positions
) -> tuple[Texts, LeftOut]:
    text, left_out = to_urdf_plus(description)
    return {'.urdf': text}, left_out


def _extended(
    description: Description, gravity: Gravity, pose: Positions
) -> tuple[Texts, LeftOut]:
    tree, loops, left_out = to_extended(description)
    return {'.urdf': tree, '.yaml': loops}, left_out


def _mjcf(description: Description, gravity: Gravity, pose: Positions) -> tuple[Texts, LeftOut]:
    text, left_out = to_mjcf(description, gravity)
    return {'.xml': text}, left_out


def _sdf(description: Description, gravity: Gravity, pose: Positions) -> tuple[Texts, LeftOut]:
    text, left_out = to_sdf(description, gravity, pose)
    return {'.sdf': text}, left_out


def _drake(description: Description, gravity: Gravity, pose: Positions) -> tuple[Texts, LeftOut]:
    text, left_out = to_drake(description, gravity)
    return {'.urdf': text}, left_out


Writer = Callable[[Description, Gravity, Positions], tuple[Texts, LeftOut]]
FORMATS: dict[str, tuple[Writer, tuple[str, ...]]] = {
    'urdf': (_own, ('.urdf',)),
    'urdf+': (_urdf_plus, ('.urdf',)),
    'extended': (_extended, ('.yaml', '.yml', '.urdf')),
    'mjcf': (_mjcf, ('.xml', '.mjcf')),
    'sdf': (_sdf, ('.sdf',)),
    'drake': (_drake, ('.urdf',)),
}


def convert(
    description: Description,
    path: str | Path,
    gravity: Gravity,
    *,
    to: str = '',
    pose: Positions | None = None,
) -> tuple[list[Path], list[str]]:
    """
    Write a description in the format that `to` or the suffix of the path names.

    `pose`, joint positions by name as in an Assembly, is where an SDF shows the links: one that
    closes the loops. Return the files, and a sentence on each kind of thing that the format has no
    place for, or that is there in another form.
    """
    path = Path(path)
    kind = format_of(path, to)
    texts, left_out = FORMATS[kind][0](description, gravity, pose or {})
    files = {
        path if len(texts) == 1 else path.with_suffix(own): text for own, text in texts.items()
    }
    write_files(files)
    return list(files), left_out.sentences()


def format_of(path: Path, to: str = '') -> str:
    """Return the format that `to` or the suffix of a path names; refuse what is none."""
    if to and to not in FORMATS:
        raise DescriptionError(f'{to!r} is not a known format', repair=nearest_names(to, FORMATS))
    suffix = path.suffix.lower()
    kind = to or next((name for name, (_, own) in FORMATS.items() if suffix in own), '')
    if not kind or suffix not in FORMATS[kind][1]:
        known = ', '.join(f'{name} ({" ".join(own)})' for name, (_, own) in FORMATS.items())
        raise DescriptionError(
            f'the suffix {path.suffix!r} does not stand for a format that can be written',
            file=path,
            repair=f'Known: {known}.',
        )
    return kind
