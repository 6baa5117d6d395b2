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

"""The one place that opens description files; xml_parsing.py makes safe trees of their bytes."""

from collections.abc import Mapping
import difflib
import os
from pathlib import Path
from typing import Any

from lxml import etree

from closed_chain_dynamics.description.xacro_packages import packages_around
from closed_chain_dynamics.description.xml_parsing import SIZE_LIMIT, check_size, parse
from closed_chain_dynamics.errors import DescriptionError, alternatives

__all__ = ['BEFORE_XML', 'ROBOT_SUFFIXES', 'Document', 'open_document', 'read_bytes', 'stem_of']

TEXT_LABEL = 'XML text'  # what errors call a description that was not read from a file
BEFORE_XML = '\ufeff \t\r\n'  # what may stand in a text before its first element
YAML_SUFFIXES = ('.yaml', '.yml')
ROBOT_SUFFIXES = ('.urdf', '.xacro', '.xml', '.sdf')


class Document:
    """A parsed file: its root element, what errors call it, and where it lies."""

    def __init__(self, root: Any, label: str, path: Path | None) -> None:
        self.root = root
        self.label = label
        self.path = path  # None for a text


def open_document(
    source: str | os.PathLike[str], *, xacro_args: Mapping[str, Any] | None = None
) -> Document:
    """Open a path or an XML text and return its Document; xacro is expanded."""
    text = source.lstrip(BEFORE_XML) if isinstance(source, str) else ''
    if isinstance(source, str) and text.startswith('<'):
        if not text.startswith('<?xml'):  # a declaration must be the very first thing
            text = source.lstrip('\ufeff')  # else keep the lines as the user counts them
        # Already decoded, so whatever encoding the text declares is no longer true.
        root = parse(text.encode('utf-8', 'surrogatepass'), TEXT_LABEL, encoding='utf-8')
        if _uses_xacro(root):
            raise DescriptionError(
                'the text holds xacro macros',
                file=TEXT_LABEL,
                repair='Expand it first with xacro, or load the .xacro file by its path.',
            )
        path, label = None, TEXT_LABEL
    else:
        path = _existing_file(source)
        label = str(path)
        if path.suffix.lower() in YAML_SUFFIXES:
            raise DescriptionError(
                'a YAML file holds the loops of an Extended URDF, not its links and joints',
                file=label,
                repair=f'Give the file beside it, {path.with_suffix(".urdf").name}; the loops are '
                'read with it.',
            )
        root = parse(read_bytes(path), label)
        if path.suffix.lower() == '.xacro' or _uses_xacro(root):
            label = f'{path} (expanded by xacro)'
            root = parse(_expand_xacro(path, xacro_args), label)
        elif xacro_args:
            raise DescriptionError(
                f'it has no xacro macros, and takes no arguments ({", ".join(xacro_args)})',
                file=label,
                repair='Leave them out, or give the .xacro file.',
            )
    if etree.QName(root).localname not in ('robot', 'mujoco', 'sdf'):
        raise DescriptionError(
            f'the root element is <{etree.QName(root).localname}>, not <robot>',
            file=label,
            where=f'line {root.sourceline}',
            repair='Give a URDF, xacro, URDF+, SDF or MJCF file.',
        )
    return Document(root, label, path)


def stem_of(path: Path) -> str:
    """Return the file name without .xacro, .urdf and .xml."""
    stem = path.name
    for suffix in ('.xacro', '.urdf', '.xml'):
        if stem.lower().endswith(suffix):
            stem = stem[: -len(suffix)]
    return stem


def read_bytes(path: Path) -> bytes:
    """Read a file that is not empty and not above SIZE_LIMIT."""
    try:
        with open(path, 'rb') as file:
            data = file.read(SIZE_LIMIT + 1)
    except OSError as error:
        raise DescriptionError(
            f'the file cannot be read: {error.strerror or error}',
            file=path,
            repair='Check its permissions.',
        ) from None
    check_size(data, path)
    if not data.strip():
        raise DescriptionError(
            'the file is empty', file=path, repair='Write a <robot> element with links and joints.'
        )
    return data


def _existing_file(source: str | os.PathLike[str]) -> Path:
    """Return the path of a file that exists, or say what is near it."""
    try:
        path = Path(os.fspath(source))
        is_folder, exists = path.is_dir(), path.exists()
    except (TypeError, ValueError, OSError) as error:
        raise DescriptionError(
            f'{str(source)[:80]!r} is neither a path nor an XML text ({error})',
            repair="Give a path, or a text that starts with '<'.",
        ) from None
    if is_folder:
        inside = [
            each.name
            for each in sorted(path.iterdir())
            if each.name.lower().endswith(ROBOT_SUFFIXES)
        ]
        raise DescriptionError(
            'this is a folder, not a file',
            file=path,
            repair=f'Give a file in it: {", ".join(inside[:8])}.'
            if inside
            else 'It holds no .urdf, .xacro or .xml file.',
        )
    if not exists:
        folder = path.parent
        names = [each.name for each in sorted(folder.iterdir())] if folder.is_dir() else []
        near = difflib.get_close_matches(path.name, names, n=3, cutoff=0.5)
        near = near or [name for name in names if name.lower().endswith(ROBOT_SUFFIXES)][:5]
        if near:
            repair = f'Did you mean {alternatives(near)}?'
        elif folder.is_dir():
            repair = 'Its folder holds no description; check the path.'
        else:
            repair = f'There is no folder {str(folder)!r} either; check the path.'
        raise DescriptionError('there is no such file', file=path, repair=repair)
    return path


def _uses_xacro(root: Any) -> bool:
    """Tell whether any element is a macro; a bare namespace declaration does not count."""
    return any(
        isinstance(element.tag, str) and element.prefix == 'xacro' for element in root.iter()
    )


def _expand_xacro(path: Path, xacro_args: Mapping[str, Any] | None) -> bytes:
    import xacro  # slow to import, and only this one case needs it

    mappings = {str(key): str(value) for key, value in (xacro_args or {}).items()}
    try:
        # The same text as the `xacro` command prints, so that line numbers are of use.
        with packages_around(path):
            expanded = xacro.process_file(str(path), mappings=mappings)
        return bytes(expanded.toprettyxml(indent='  ', encoding='utf-8'))
    except Exception as error:  # xacro evaluates user expressions: any exception can come out
        why = ' '.join(str(error).split()) or type(error).__name__
        raise DescriptionError(
            f'xacro failed: {type(error).__name__}: {why}',
            file=path,
            repair='Run `xacro` on the file to see the macro, and check its '
            'arguments and includes.',
        ) from None
