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

"""Visuals and collisions of an SDF link."""

from collections.abc import Iterable
from typing import Any

from lxml import etree

from closed_chain_dynamics.description.elements import Geometry, Shape
from closed_chain_dynamics.description.fields import Reader
from closed_chain_dynamics.description.names import Names
from closed_chain_dynamics.description.rotations import pose_of
from closed_chain_dynamics.description.sdf_frames import read_pose
from closed_chain_dynamics.description.xml_elements import number_text

__all__ = ['read_shapes', 'write_shapes']

# kind -> the elements that make up Geometry.size, with what SDF means where one is not there
SIZES: dict[str, tuple[tuple[str, tuple[float, ...]], ...]] = {
    'box': (('size', (1.0, 1.0, 1.0)),),
    'cylinder': (('radius', (1.0,)), ('length', (1.0,))),
    'capsule': (('radius', (0.5,)), ('length', (1.0,))),
    'sphere': (('radius', (1.0,)),),
}


def read_shapes(reader: Reader, link: Any) -> tuple[tuple[Shape, ...], tuple[Shape, ...]]:
    """Return what is seen and what collides; planes and terrains are left out."""
    visuals, collisions = (
        tuple(
            shape
            for element in link.findall(tag)
            if (shape := _shape(reader, element)) is not None
        )
        for tag in ('visual', 'collision')
    )
    return visuals, collisions


def _shape(reader: Reader, element: Any) -> Shape | None:
    geometry = _geometry(reader, element)
    if geometry is None:
        return None
    diffuse = element.find('material/diffuse')
    rgba: tuple[float, ...] = ()
    if diffuse is not None and (diffuse.text or '').strip():
        values = reader.content(diffuse, most=4)
        if len(values) < len('rgb'):
            values = reader.content(diffuse, count=3)  # which says what is missing
        rgba = (*values, 1.0)[:4]
    origin = pose_of(*read_pose(reader, element.find('pose')))
    return Shape(geometry, origin, rgba, name=element.get('name', ''))


def _geometry(reader: Reader, element: Any) -> Geometry | None:
    for kind, parts in SIZES.items():
        found = element.find(f'geometry/{kind}')
        if found is not None:
            size: list[float] = []
            for tag, default in parts:
                part = reader.child(found, tag)
                size += default if part is None else reader.content(part, count=len(default))
            reader.check_size(found, size)
            return Geometry(kind, tuple(size))
    mesh = element.find('geometry/mesh')
    if mesh is None:
        return None
    scale = mesh.find('scale')
    return Geometry(
        'mesh',
        (),
        (mesh.findtext('uri') or '').strip(),
        (1.0, 1.0, 1.0) if scale is None else reader.content(scale, count=3),
    )


def write_shapes(link: Any, tag: str, shapes: Iterable[Shape]) -> None:
    """Add each shape as a <visual> or <collision>, with a name of its own."""
    names = Names()
    for shape in shapes:
        group = etree.SubElement(link, tag, name=names.fresh(shape.name or tag))
        _child(group, 'pose', (*shape.origin.xyz, *shape.origin.rpy))
        kind, size = shape.geometry.kind, shape.geometry.size
        form = etree.SubElement(etree.SubElement(group, 'geometry'), kind)
        if kind == 'mesh':
            _child(form, 'uri', shape.geometry.filename)
            _child(form, 'scale', shape.geometry.scale)
        for part, default in SIZES.get(kind, ()):
            _child(form, part, size[: len(default)])
            size = size[len(default) :]
        if shape.rgba and tag == 'visual':
            material = etree.SubElement(group, 'material')
            for light in ('ambient', 'diffuse'):
                _child(material, light, shape.rgba)


def _child(parent: Any, tag: str, value: Any) -> None:
    etree.SubElement(parent, tag).text = number_text(value)
