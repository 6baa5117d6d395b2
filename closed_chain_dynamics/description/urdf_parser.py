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
Models of urdf_parser_py, in and out.

Its model holds links, joints, materials and transmissions of plain URDF; loops and springs have no
place in it, so that one taken out has the tree alone.
"""

from typing import Any

from lxml import etree

from closed_chain_dynamics.description.elements import Description
from closed_chain_dynamics.description.writer import to_element
from closed_chain_dynamics.errors import DescriptionError

__all__ = ['is_urdf_parser_robot', 'to_urdf_parser']

PLAIN_TAGS = ('link', 'joint', 'material', 'transmission')
GEOMETRIES = ('box', 'cylinder', 'sphere', 'mesh')


def is_urdf_parser_robot(source: object) -> bool:
    """Tell whether something is a parsed model of urdf_parser_py, without importing it."""
    kind = type(source)
    return kind.__module__.startswith('urdf_parser_py') and hasattr(source, 'to_xml_string')


def to_urdf_parser(description: Description) -> Any:
    """Return the tree of a description as a `urdf_parser_py.urdf.Robot`."""
    try:
        from urdf_parser_py.urdf import Robot
    except ImportError:
        raise DescriptionError(
            'the library urdf_parser_py is not installed',
            repair='Install it: pip install urdfdom-py.',
        ) from None
    root = to_element(description)
    for element in list(root.iter(etree.Element)):
        parent = element.getparent()
        if parent is not None and not _is_plain(element, parent is root):
            parent.remove(element)
        for name in [*element.attrib]:
            if name.startswith('{') or name == 'independent':
                del element.attrib[name]
    etree.cleanup_namespaces(root)
    return Robot.from_xml_string(etree.tostring(root, encoding='unicode'))


def _is_plain(element: Any, at_top: bool) -> bool:
    """Tell whether urdf_parser_py knows an element."""
    if element.tag in ('visual', 'collision'):
        return any(element.find(f'geometry/{kind}') is not None for kind in GEOMETRIES)
    return not element.tag.startswith('{') and (not at_top or element.tag in PLAIN_TAGS)
