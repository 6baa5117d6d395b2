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
What an MJCF asks MuJoCo for, looked at before MuJoCo does it: files to open, copies to make, room.

MuJoCo reads includes, meshes, textures and other models wherever they are; a description from a
stranger shall have it read those of its own folder alone (`own_files`).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lxml import etree

from closed_chain_dynamics.description.document import Document, read_bytes
from closed_chain_dynamics.description.fields import Reader
from closed_chain_dynamics.description.own_files import MODEL_PATH, is_own
from closed_chain_dynamics.description.xml_parsing import parse
from closed_chain_dynamics.errors import DescriptionError

__all__ = ['check_files']

FOLDERS = ('meshdir', 'texturedir', 'assetdir')
HOLD_MJCF = ('include', 'model')
MOST_COPIES = 10_000
GRIDS = {'hfield': ('nrow', 'ncol'), 'texture': ('width', 'height')}
MOST_CELLS = 10_000_000  # of a grid; MuJoCo needs up to 12 bytes for one


def check_files(reader: Reader, document: Document) -> None:
    """Refuse a document that names a file outside the folder of its model."""
    _check_counts(reader, document.root)
    if document.path is None:
        for element, attribute, name in _named(document.root):
            raise _refused(reader, element, attribute, name, 'a text has no folder of its own')
        return
    folder = document.path.parent
    seen: set[Path] = set()
    pending = [(document.root, folder)]
    while pending:
        root, beside = pending.pop()
        named = [*_named(root)]
        folders = [Path(name) for _, attribute, name in named if attribute in FOLDERS]
        for element, attribute, name in named:
            inside = [] if attribute in FOLDERS else folders
            # MuJoCo starts from the main file; one that is included may look beside itself
            places = [
                start / each / name for start in (folder, beside) for each in (Path(), *inside)
            ]
            if not _are_own(places, document.path):
                why = 'it lies outside the folder of the model'
                raise _refused(reader, element, attribute, name, why)
            for path in places:
                if element.tag in HOLD_MJCF and _is_new(path, seen):
                    seen.add(path.resolve())
                    part = parse(read_bytes(path), str(path))
                    _check_counts(reader, part)
                    pending.append((part, path.parent))


def _is_new(path: Path, seen: set[Path]) -> bool:
    """Tell whether a file is there that has not been looked at."""
    try:
        return path.is_file() and path.resolve() not in seen
    except OSError:  # no file can have such a name
        return False


def _check_counts(reader: Reader, root: Any) -> None:
    """
    Refuse copies of copies of bodies, and grids, that would take MuJoCo hours, and all memory.

    Where MuJoCo finds no memory, whatever it compiles next in the same process never ends.
    """
    copies: dict[Any, float] = {}
    for element in root.iter(etree.Element):
        cells = 1.0
        for name in GRIDS.get(element.tag, ()):
            word = element.get(name, '').strip()
            cells *= float(word) if word.isdecimal() else 1.0
        if cells > MOST_CELLS:
            raise reader.error(element, f'{cells:g} cells, at most {MOST_CELLS}', 'Take fewer.')
        made = copies.get(element.getparent(), 1.0)
        for word in element.get('count', '').split():
            made *= float(word) if word.isdecimal() else 1.0  # what is no number MuJoCo refuses
        copies[element] = made
        if made > MOST_COPIES:
            raise reader.error(
                element, f'it makes {made:g} copies, at most {MOST_COPIES}', 'Make fewer.'
            )


def _named(root: Any) -> Iterator[tuple[Any, str, str]]:
    """Yield what names files: (element, attribute, name)."""
    for element in root.iter(etree.Element):
        for attribute, name in element.attrib.items():
            if attribute in FOLDERS or attribute.startswith('file'):
                yield element, attribute, name


def _are_own(places: list[Path], model: Path) -> bool:
    """Tell whether what is found at one of these places can only be a file of the model."""
    try:
        own = [is_own(each, model) for each in places]
        if all(own):
            return True
        there = [each.exists() for each in places]
    except (OSError, ValueError, RuntimeError):  # no file can have such a name
        return False
    # a place outside is never looked at where it is empty and another one is not
    return any(there) and all(mine for mine, found in zip(own, there) if found)


def _refused(
    reader: Reader, element: Any, attribute: str, name: str, why: str
) -> DescriptionError:
    return reader.error(
        element,
        f'{attribute}="{name[:200]}" is not read: {why}',
        f'Put it beside the model, or name its folder in {MODEL_PATH}.',
    )
