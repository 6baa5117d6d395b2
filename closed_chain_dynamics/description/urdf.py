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

"""Standard URDF: links with inertia and shapes, and the joints of the tree."""

import math
from typing import Any

from closed_chain_dynamics.description.elements import (
    Dynamics,
    Geometry,
    Inertia,
    Joint,
    JointType,
    Limit,
    LimitMoment,
    Link,
    Numbers,
    Shape,
)
from closed_chain_dynamics.description.fields import UNLIMITED, Reader, shown_tag
from closed_chain_dynamics.errors import nearest_names

__all__ = [
    'materials',
    'read_dynamics',
    'read_joint',
    'read_limit',
    'read_limit_moment',
    'read_link',
    'read_role',
]

LIMIT_MOMENT_MODELS = ('linear',)
JOINTS_WITH_AXIS = (
    JointType.REVOLUTE,
    JointType.CONTINUOUS,
    JointType.PRISMATIC,
    JointType.PLANAR,
)
LINK_TAGS = {'inertial', 'visual', 'collision'}
SHAPE_TAGS = {'origin', 'geometry', 'material'}
JOINT_TAGS = {
    'parent',
    'child',
    'origin',
    'axis',
    'limit',
    'dynamics',
    'mimic',
    'drake:mimic',
    'calibration',
    'safety_controller',
    'cc:limit_moment',
    'cc:rotor',
}
# geometry tag -> attributes that make up Geometry.size, with the count of numbers of each
PRIMITIVES = {
    'box': (('size', 3),),
    'cylinder': (('radius', 1), ('length', 1)),
    'capsule': (('radius', 1), ('length', 1)),
    'sphere': (('radius', 1),),
}


def materials(reader: Reader, root: Any) -> dict[str, Numbers]:
    """Return the colours of all named materials: those of the robot first, then of the shapes."""
    named: dict[str, Numbers] = {}
    for element in [
        *root.findall('material'),
        *root.iterfind('link/visual/material'),
        *root.iterfind('link/collision/material'),
    ]:
        color = element.find('color')
        if color is not None and element.get('name'):
            named.setdefault(element.get('name'), _rgba(reader, color))
    return named


def _rgba(reader: Reader, color: Any) -> Numbers:
    """Return the four numbers, or none where the attribute is empty or missing."""
    return reader.numbers(color, 'rgba', count=4) if color.get('rgba', '').strip() else ()


def read_link(reader: Reader, element: Any, colors: dict[str, Numbers]) -> Link:
    """Read a <link>."""
    name = reader.text(element, 'name')
    reader.remember('link', name, element)
    reader.ignore_unknown(element, LINK_TAGS)
    inertial = reader.child(element, 'inertial')
    return Link(
        name,
        inertia=None if inertial is None else _read_inertia(reader, inertial),
        visuals=_read_shapes(reader, element, 'visual', colors),
        collisions=_read_shapes(reader, element, 'collision', colors),
        gravcomp=reader.number(element, 'cc:gravcomp', 0.0),
    )


def _read_inertia(reader: Reader, inertial: Any) -> Inertia:
    reader.ignore_unknown(inertial, {'origin', 'mass', 'inertia'})
    mass = reader.child(inertial, 'mass', required=True, example='<mass value="1.0"/>')
    inertia = reader.child(inertial, 'inertia')
    if inertia is None:
        moments: Numbers = (0.0,) * 6
        reader.note(
            f'The inertia of {reader.place(inertial)} is missing and taken as zero (a point mass).'
        )
    else:
        moments = tuple(
            reader.number(inertia, key, None if key in ('ixx', 'iyy', 'izz') else 0.0)
            for key in ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
        )
    return Inertia(
        reader.number(mass, 'value'), reader.pose(reader.child(inertial, 'origin')), moments
    )


def _read_shapes(
    reader: Reader, link: Any, tag: str, colors: dict[str, Numbers]
) -> tuple[Shape, ...]:
    shapes = []
    for element in reader.children(link, tag):
        reader.ignore_unknown(element, SHAPE_TAGS)
        geometry = _read_geometry(reader, element)
        if geometry is None:
            continue
        material = reader.child(element, 'material')
        name = ''
        rgba: Numbers = ()
        if material is not None:
            reader.ignore_unknown(material, {'color'})
            name = material.get('name', '')
            color = reader.child(material, 'color')
            rgba = colors.get(name, ()) if color is None else _rgba(reader, color)
        shapes.append(
            Shape(
                geometry,
                reader.pose(reader.child(element, 'origin')),
                rgba,
                name,
                element.get('name', ''),
            )
        )
    return tuple(shapes)


def _read_geometry(reader: Reader, shape: Any) -> Geometry | None:
    """Return the Geometry, or None (and a note) for one that is unknown."""
    geometry = reader.child(
        shape, 'geometry', required=True, example='<geometry><box size="1 1 1"/></geometry>'
    )
    reader.ignore_unknown(geometry, {*PRIMITIVES, 'mesh'})
    for kind, attributes in PRIMITIVES.items():
        element = reader.child(geometry, kind)
        if element is None:
            continue
        size = tuple(
            value
            for attribute, count in attributes
            for value in reader.numbers(element, attribute, count=count)
        )
        reader.check_size(element, size)
        return Geometry(kind, size)
    mesh = reader.child(geometry, 'mesh')
    if mesh is None:
        if len(geometry) == 0:
            raise reader.error(
                geometry, 'it is empty', 'Add <box>, <cylinder>, <sphere>, <capsule> or <mesh>.'
            )
        return None
    single = len(mesh.get('scale', '').split()) == 1  # Drake takes one for all three directions
    scale = reader.numbers(mesh, 'scale', (1.0, 1.0, 1.0), count=1 if single else 3)
    return Geometry('mesh', (), reader.text(mesh, 'filename'), scale * 3 if single else scale)


def read_joint(reader: Reader, element: Any) -> Joint:
    """Read a <joint> of the tree."""
    name = reader.text(element, 'name')
    reader.remember('joint', name, element)
    reader.ignore_unknown(element, JOINT_TAGS)
    kind = _joint_type(reader, element)
    parent = reader.child(element, 'parent', required=True, example='<parent link="..."/>')
    child = reader.child(element, 'child', required=True, example='<child link="..."/>')
    values = {}
    if kind in JOINTS_WITH_AXIS:
        axis = reader.child(element, 'axis')
        if axis is not None:
            values['axis'] = reader.axis(axis, default=(1.0, 0.0, 0.0))
    return Joint(
        name,
        kind,
        reader.text(parent, 'link'),
        reader.text(child, 'link'),
        origin=reader.pose(reader.child(element, 'origin')),
        limit=read_limit(reader, element, ranged=kind is not JointType.CONTINUOUS),
        dynamics=read_dynamics(reader, element),
        limit_moment=read_limit_moment(reader, element),
        role=read_role(reader, element),
        independent=reader.boolean(element, 'independent', None),
        **values,
    )


def _joint_type(reader: Reader, element: Any) -> JointType:
    text = reader.text(element, 'type')
    of_drake = shown_tag(element) == 'drake:joint'
    known = ['ball'] if of_drake else [each.value for each in JointType]
    if text not in known:
        raise reader.error(element, f'{text!r} is not a type of joint', nearest_names(text, known))
    if of_drake:
        return JointType.SPHERICAL
    own = reader.text(element, 'cc:type', '', choices=('spherical',))
    if own and text not in ('floating', 'spherical'):
        raise reader.error(
            element,
            f'cc:type="spherical" stands on a {text} joint',
            'Write type="floating" cc:type="spherical".',
        )
    return JointType(own or text)


def read_limit(reader: Reader, element: Any, *, ranged: bool = True) -> Limit:
    """Read <limit>; what is not given is infinite."""
    limit = reader.child(element, 'limit')
    if limit is None:
        return Limit()
    lower = reader.number(limit, 'lower', -math.inf) if ranged else -math.inf
    upper = reader.number(limit, 'upper', math.inf) if ranged else math.inf
    if lower > upper:
        raise reader.error(limit, f'lower ({lower:g}) is above upper ({upper:g})', 'Swap them.')
    effort, velocity = (
        reader.number(limit, key, math.inf, least=0.0) for key in ('effort', 'velocity')
    )
    restitution = reader.number(limit, 'cc:restitution', 0.0, least=0.0)
    if restitution > 1.0:
        raise reader.error(
            limit, f'cc:restitution is {restitution:g}, which would create energy', 'Give 0 to 1.'
        )
    return Limit(
        lower,
        upper,
        math.inf if effort >= UNLIMITED else effort,
        math.inf if velocity >= UNLIMITED else velocity,
        restitution,
    )


def read_dynamics(reader: Reader, element: Any) -> Dynamics:
    """Read <dynamics> and <cc:rotor>, whose inertia counts with the square of its ratio."""
    dynamics, rotor = reader.child(element, 'dynamics'), reader.child(element, 'cc:rotor')
    values = {}
    if dynamics is not None:
        values['damping'] = reader.number(dynamics, 'damping', 0.0, least=0.0)
        values['friction'] = reader.number(dynamics, 'friction', 0.0, least=0.0)
    if rotor is not None:
        inertia = reader.number(rotor, 'inertia', least=0.0)
        values['armature'] = inertia * reader.number(rotor, 'ratio', 1.0) ** 2
    return Dynamics(**values)


def read_limit_moment(reader: Reader, element: Any) -> LimitMoment | None:
    """Read <cc:limit_moment>, or return None."""
    moment = reader.child(element, 'cc:limit_moment')
    if moment is None:
        return None
    return LimitMoment(
        reader.text(moment, 'model', 'linear', choices=LIMIT_MOMENT_MODELS),
        *(
            reader.number(moment, key, 0.0, least=0.0)
            for key in ('stiffness', 'damping', 'transition')
        ),
    )


def read_role(reader: Reader, element: Any) -> str:
    """Read cc:role: '', 'actuated' or 'passive'."""
    return reader.text(element, 'cc:role', '', choices=('actuated', 'passive'))
