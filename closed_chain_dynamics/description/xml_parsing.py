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
Bytes in, a safe XML tree out.

Files come from strangers, so entities, DTDs and network access are refused, and size is bounded.
"""

from pathlib import Path
import re
from typing import Any

from lxml import etree

from closed_chain_dynamics.errors import DescriptionError

__all__ = ['CC', 'SIZE_LIMIT', 'check_size', 'parse']

SIZE_LIMIT = 64 * 2**20  # bytes; the largest humanoid descriptions are below 1 MiB
CC = 'urn:closed_chain_dynamics'
COMMENT = re.compile(rb'<!--.*?-->', re.DOTALL)


def check_size(data: bytes, label: str | Path) -> None:
    """Refuse more bytes than any description has."""
    if len(data) > SIZE_LIMIT:
        raise DescriptionError(
            f'it is larger than the limit of {SIZE_LIMIT // 2**20} MiB',
            file=label,
            repair='Keep meshes and other data outside the description.',
        )


def parse(data: bytes, label: str, *, encoding: str | None = None) -> Any:
    """Parse bytes without entities, DTD or network, and return the root element."""
    check_size(data, label)  # of a text, or of what macros grew to
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
