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
Bytes in, a safe XML tree out: the one place that opens description files.

Files come from strangers, so entities, DTDs and network access are refused, and size is bounded.
"""

from collections.abc import Mapping
import difflib
import os
from pathlib import Path
import re
from typing import Any

from lxml import etree

from closed_chain_dynamics.description.xacro_packages import packages_around
from closed_chain_dynamics.errors import DescriptionError, alternatives

__all__ = [
    'CC',
    'ROBOT_SUFFIXES',
    'SIZE_LIMIT',
    'Document',
    'open_document',
    'parse',
    'read_bytes',
    'stem_of',
]

SIZE_LIMIT = 64 * 2**20  # bytes; the largest humanoid descriptions are below 1 MiB
CC = 'urn:closed_chain_dynamics'
TEXT_LABEL = 'XML text'  # what errors call a description that was not read from a file
COMMENT = re.compile(rb'<!--.*?-->', re.DOTALL)
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
    text = source.lstrip('\ufeff \t\r\n') if isinstance(source, str) else ''
    if isinstance(source, str) and text.startswith('<'):
        if not text.startswith('<?xml'):  # a declaration must be the very first thing
            text = source.lstrip('\ufeff')  # else keep the lines as the user counts them
        # Already decoded, so whatever encoding the text declares is no longer true.
        root = parse(text.encode('utf-8', 'surrogatepass'), TEXT_LABEL, encoding='utf-8')
        if _uses_xacro(root):
            raise DescriptionError(
                'the text holds xacro macros',
                file=TEXT_LABEL,
                repair='Give the path of the .xacro file, or expand it first.',
            )
        path, label = None, TEXT_LABEL
    else:
        path = _existing_file(source)
        label = str(path)
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
    _check_size(data, path)
    if not data.strip():
        raise DescriptionError(
            'the file is empty', file=path, repair='Write a <robot> element with links and joints.'
        )
    return data


def _check_size(data: bytes, label: str | Path) -> None:
    if len(data) > SIZE_LIMIT:
        raise DescriptionError(
            f'it is larger than the limit of {SIZE_LIMIT // 2**20} MiB',
            file=label,
            repair='Keep meshes and other data outside the description.',
        )


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


def parse(data: bytes, label: str, *, encoding: str | None = None) -> Any:
    """Parse bytes without entities, DTD or network, and return the root element."""
    _check_size(data, label)  # of a text, or of what macros grew to
    settings: dict[str, Any] = {
        'resolve_entities': False,
        'no_network': True,
        'load_dtd': False,
        'dtd_validation': False,
        'huge_tree': False,
        'remove_comments': True,
        'remove_pis': True,
        'encoding': encoding,
    }
    try:
        try:
            root = _parse_strictly(data, settings)
        except etree.XMLSyntaxError:
            plain = _without_comments(data)
            if plain == data:
                raise
            root = _parse_strictly(plain, settings)
    except (etree.XMLSyntaxError, ValueError) as error:
        # A bomb may stop the parser before the DOCTYPE can be seen in the tree.
        if b'<!DOCTYPE' in data or b'<!ENTITY' in data:
            raise _doctype_refused(label) from None
        raise _malformed(error, label) from None
    if root.getroottree().docinfo.internalDTD is not None:
        raise _doctype_refused(label)
    for element in root.iter(etree.Element):
        # Some tools put the whole file into a default namespace; URDF itself has none.
        if element.prefix is None and etree.QName(element).namespace not in (None, CC):
            element.tag = etree.QName(element).localname
    return root


def _parse_strictly(data: bytes, settings: dict[str, Any]) -> Any:
    """Return the root element; prefixes that nobody has declared are all that may be wrong."""
    parser = etree.XMLParser(**settings)
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError:
        if not _is_only_undeclared(parser.error_log):
            raise
        root = etree.fromstring(data, etree.XMLParser(recover=True, **settings))
        if root is None or (':' in root.tag and not root.tag.startswith('{')):
            raise  # there would be nothing left
        _drop_undeclared(root)
        return root


def _without_comments(data: bytes) -> bytes:
    """
    Return the text without comments and what stands before the declaration, lines kept.

    Gazebo and MuJoCo read comments with two hyphens inside, and a declaration behind a comment.
    """
    if b'<!DOCTYPE' in data or b'<!ENTITY' in data:
        return data
    data = COMMENT.sub(lambda found: b'\n' * found[0].count(b'\n'), data)
    before, declaration, rest = data.partition(b'<?xml ')
    if not declaration or before.strip():
        return data
    return before + rest.partition(b'?>')[2]


def _is_only_undeclared(log: Any) -> bool:
    """Return whether all that is wrong are prefixes of others, which robot tools do not check."""
    undeclared = etree.ErrorTypes.NS_ERR_UNDEFINED_NAMESPACE
    return len(log) > 0 and all(
        each.type == undeclared and not each.message.startswith('Namespace prefix cc ')
        for each in log
    )


def _drop_undeclared(root: Any) -> None:
    """Remove elements and attributes whose prefix nothing declares."""
    for element in list(root.iter(etree.Element)):
        for name in [each for each in element.attrib if ':' in each and each[0] != '{']:
            del element.attrib[name]
        if ':' in element.tag and element.tag[0] != '{' and element.getparent() is not None:
            element.getparent().remove(element)


def _doctype_refused(label: str) -> DescriptionError:
    return DescriptionError(
        'a DOCTYPE or entity declaration is refused, because entities can read other files or '
        'grow without bound',
        file=label,
        repair='Remove the <!DOCTYPE ...> block and write the values out, or use xacro.',
    )


def _malformed(error: Exception, label: str) -> DescriptionError:
    line, column = getattr(error, 'position', None) or (0, 0)
    why = str(getattr(error, 'msg', '') or error).split(', line ')[0]
    if why.startswith('Namespace prefix cc '):
        repair = f'Declare it: <robot name="..." xmlns:cc="{CC}">.'
    else:
        repair = 'Check that every tag is closed and every attribute value is quoted.'
    return DescriptionError(
        f'the XML is malformed: {why}',
        file=label,
        where=f'line {line}, column {column}',
        repair=repair,
    )


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
