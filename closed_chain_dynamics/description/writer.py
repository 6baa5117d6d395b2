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
A description in the own spelling, complete, with every number as exact as it is in memory.

Where plain URDF can say it, plain URDF is written (a <mimic>, a floating joint with
cc:type="spherical", a <limit> with the attributes that other parsers insist on), so that RViz
and robot_state_publisher read the file too.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lxml import etree

from closed_chain_dynamics.description.elements import Description, Link, Shape
from closed_chain_dynamics.description.extended_yaml import find_yaml
from closed_chain_dynamics.description.joint_writer import (
    leading_mimics,
    write_coupling,
    write_joint,
    write_loop,
    write_spring,
)
from closed_chain_dynamics.description.urdf import PRIMITIVES
from closed_chain_dynamics.description.xml_elements import add, add_pose, xml_text
from closed_chain_dynamics.description.xml_parsing import CC
from closed_chain_dynamics.errors import DescriptionError

__all__ = ['to_element', 'to_xml', 'write', 'write_files']


def write(description: Description, path: str | Path) -> None:
    """Write a description to a URDF file in the own spelling."""
    path = Path(path)
    beside = find_yaml(path)
    if beside is not None:
        raise DescriptionError(
            f'{beside.name} beside it describes loops and would be read again with it',
            file=path,
            repair='Choose another file name or folder.',
        )
    write_files({path: to_xml(description)})


def write_files(texts: Mapping[Path, str]) -> None:
    """Write each text into its file."""
    for path, text in texts.items():
        try:
            path.write_text(text, encoding='utf-8')
        except OSError as error:
            raise DescriptionError(
                f'the file cannot be written: {error.strerror or error}',
                file=path,
                repair='Check the folder and its permissions.',
            ) from None


def to_xml(description: Description) -> str:
    """Return a description as XML text, as a robot_description topic carries it."""
    return xml_text(to_element(description))


def to_element(description: Description) -> Any:
    """Return a description as an XML element."""
    mimics = leading_mimics(description)
    try:
        root = etree.Element('robot', {'name': description.name}, nsmap={'cc': CC})
        if description.gravity is not None:
            add(root, 'cc:gravity', xyz=description.gravity)
        for link in description.links:
            _write_link(root, link)
        for joint in description.joints:
            write_joint(root, joint, mimics.get(joint.name))
        for loop in description.loops:
            write_loop(root, loop)
        for coupling in description.couplings[len(mimics) :]:
            write_coupling(root, coupling)
        for spring in description.springs:
            write_spring(root, spring)
        for assembly in description.assemblies:
            element = add(root, 'cc:assembly', name=assembly.name)
            for name, value in assembly.positions:
                add(element, 'cc:joint', name=name, value=value)
    except ValueError as error:  # control characters have no spelling in XML
        raise DescriptionError(
            f'a name cannot be written as XML: {error}',
            repair='Remove control characters from the names.',
        ) from None
    return root


def _write_link(root: Any, link: Link) -> None:
    element = add(root, 'link', name=link.name, cc_gravcomp=link.gravcomp or None)
    if link.inertia is not None:
        inertial = add(element, 'inertial')
        add_pose(inertial, 'origin', link.inertia.origin)
        add(inertial, 'mass', value=link.inertia.mass)
        add(
            inertial,
            'inertia',
            **dict(zip(('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'), link.inertia.moments)),
        )
    for tag, shapes in (('visual', link.visuals), ('collision', link.collisions)):
        for shape in shapes:
            _write_shape(add(element, tag, name=shape.name or None), shape)


def _write_shape(element: Any, shape: Shape) -> None:
    add_pose(element, 'origin', shape.origin)
    geometry = add(element, 'geometry')
    kind, size = shape.geometry.kind, shape.geometry.size
    if kind == 'mesh':
        add(geometry, 'mesh', filename=shape.geometry.filename, scale=shape.geometry.scale)
    else:
        values, start = {}, 0
        for attribute, count in PRIMITIVES[kind]:
            values[attribute] = tuple(size[start : start + count])
            start += count
        add(geometry, kind, **values)
    if shape.material or shape.rgba:
        material = add(element, 'material', name=shape.material)
        if shape.rgba:
            add(material, 'color', rgba=shape.rgba)
