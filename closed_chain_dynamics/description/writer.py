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
from dataclasses import astuple
import math
from pathlib import Path
from typing import Any

from lxml import etree
import numpy as np

from closed_chain_dynamics.description.document import CC
from closed_chain_dynamics.description.elements import (
    Contact,
    Coupling,
    Description,
    Joint,
    JointType,
    Limit,
    Link,
    LoopJoint,
    Pose,
    Shape,
    Spring,
)
from closed_chain_dynamics.description.extended_yaml import find_yaml
from closed_chain_dynamics.description.fields import UNLIMITED
from closed_chain_dynamics.description.loops import LOOPS_WITH_AXIS
from closed_chain_dynamics.description.urdf import JOINTS_WITH_AXIS, PRIMITIVES
from closed_chain_dynamics.errors import DescriptionError

__all__ = ['number_text', 'to_element', 'to_xml', 'write', 'write_files', 'xml_text']

# attributes of a contact that are written where they are not the usual ones
CONTACT_EXTRAS = (
    'mu_static',
    'surface',
    'radius',
    'ball',
    'wheel',
    'restitution',
    'stiffness',
    'damping',
)


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


def xml_text(root: Any) -> str:
    """Return an element as indented text."""
    etree.indent(root, '  ')
    return str(etree.tostring(root, encoding='unicode')) + '\n'


def to_element(description: Description) -> Any:
    """Return a description as an XML element."""
    mimics = _leading_mimics(description)
    try:
        root = etree.Element('robot', {'name': description.name}, nsmap={'cc': CC})
        if description.gravity is not None:
            _add(root, 'cc:gravity', xyz=description.gravity)
        for link in description.links:
            _write_link(root, link)
        for joint in description.joints:
            _write_joint(root, joint, mimics.get(joint.name))
        for loop in description.loops:
            _write_loop(root, loop)
        for coupling in description.couplings[len(mimics) :]:
            _write_coupling(root, coupling)
        for spring in description.springs:
            _write_spring(root, spring)
        for assembly in description.assemblies:
            element = _add(root, 'cc:assembly', name=assembly.name)
            for name, value in assembly.positions:
                _add(element, 'cc:joint', name=name, value=value)
    except ValueError as error:  # control characters have no spelling in XML
        raise DescriptionError(
            f'a name cannot be written as XML: {error}',
            repair='Remove control characters from the names.',
        ) from None
    return root


def _add(parent: Any, tag: str, **attributes: Any) -> Any:
    """Append an element; None is left out, numbers are written exactly."""
    element = etree.SubElement(parent, _qualified(tag))
    for key, value in attributes.items():
        if value is not None:
            element.set(_qualified(key.replace('cc_', 'cc:')), number_text(value))
    return element


def _qualified(tag: str) -> str:
    return f'{{{CC}}}{tag[3:]}' if tag.startswith('cc:') else tag


def number_text(value: Any) -> str:
    """Return numbers as exact as they are in memory, separated by spaces."""
    if isinstance(value, bool):
        return 'true' if value else 'false'
    if isinstance(value, str):
        return value
    if isinstance(value, (tuple, list, np.ndarray)):
        return ' '.join(number_text(each) for each in value)
    return repr(float(value))


def _add_pose(parent: Any, tag: str, pose: Pose) -> None:
    if pose != Pose():
        _add(parent, tag, xyz=pose.xyz, rpy=pose.rpy)


def _write_link(root: Any, link: Link) -> None:
    element = _add(root, 'link', name=link.name, cc_gravcomp=link.gravcomp or None)
    if link.inertia is not None:
        inertial = _add(element, 'inertial')
        _add_pose(inertial, 'origin', link.inertia.origin)
        _add(inertial, 'mass', value=link.inertia.mass)
        _add(
            inertial,
            'inertia',
            **dict(zip(('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'), link.inertia.moments)),
        )
    for tag, shapes in (('visual', link.visuals), ('collision', link.collisions)):
        for shape in shapes:
            _write_shape(_add(element, tag, name=shape.name or None), shape)


def _write_shape(element: Any, shape: Shape) -> None:
    _add_pose(element, 'origin', shape.origin)
    geometry = _add(element, 'geometry')
    kind, size = shape.geometry.kind, shape.geometry.size
    if kind == 'mesh':
        _add(geometry, 'mesh', filename=shape.geometry.filename, scale=shape.geometry.scale)
    else:
        values, start = {}, 0
        for attribute, count in PRIMITIVES[kind]:
            values[attribute] = tuple(size[start : start + count])
            start += count
        _add(geometry, kind, **values)
    if shape.material or shape.rgba:
        material = _add(element, 'material', name=shape.material)
        if shape.rgba:
            _add(material, 'color', rgba=shape.rgba)


def _write_joint(root: Any, joint: Joint, mimic: Coupling | None) -> None:
    spherical = joint.type is JointType.SPHERICAL
    element = _add(
        root,
        'joint',
        name=joint.name,
        type='floating' if spherical else joint.type.value,
        cc_type='spherical' if spherical else None,
        cc_role=joint.role or None,
        independent=joint.independent,
    )
    _add_pose(element, 'origin', joint.origin)
    _add(element, 'parent', link=joint.parent)
    _add(element, 'child', link=joint.child)
    if joint.type in JOINTS_WITH_AXIS:
        _add(element, 'axis', xyz=joint.axis)
    # urdfdom refuses a revolute or prismatic joint without <limit>.
    _write_behaviour(
        element, joint, needs_limit=joint.type in (JointType.REVOLUTE, JointType.PRISMATIC)
    )
    if mimic is not None:
        leader = mimic.terms[1]
        _add(
            element,
            'mimic',
            joint=leader.joint,
            multiplier=0.0 - leader.coefficients[0],
            offset=0.0 - mimic.constant,
        )


def _write_behaviour(element: Any, joint: Joint | LoopJoint, *, needs_limit: bool = False) -> None:
    """Write what tree joints and loop joints have in common: limit, dynamics, limit moment."""
    limit = joint.limit
    if needs_limit or limit != Limit():
        _add(
            element,
            'limit',
            lower=_finite(limit.lower),
            upper=_finite(limit.upper),
            effort=min(limit.effort, UNLIMITED),
            velocity=min(limit.velocity, UNLIMITED),
            cc_restitution=limit.restitution or None,
        )
    damping, friction, armature = astuple(joint.dynamics)
    if damping or friction:
        _add(element, 'dynamics', damping=damping, friction=friction)
    if armature:
        _add(element, 'cc:rotor', inertia=armature)
    moment = joint.limit_moment
    if moment is not None:
        _add(
            element,
            'cc:limit_moment',
            model=moment.model,
            stiffness=moment.stiffness,
            damping=moment.damping,
            transition=moment.transition,
        )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _write_loop(root: Any, loop: LoopJoint) -> None:
    element = _add(
        root,
        'constraint',
        name=loop.name,
        type=loop.type.value,
        active=loop.active,
        cc_role=loop.role or None,
    )
    for side in ('parent', 'child'):
        _add(element, side, link=getattr(loop, side))
        _add_pose(element, f'{side}_origin', getattr(loop, f'{side}_origin'))
        if loop.type in LOOPS_WITH_AXIS:
            _add(element, f'{side}_axis', xyz=getattr(loop, f'{side}_axis'))
    _write_behaviour(element, loop)
    if loop.contact is not None:
        contact = loop.contact
        extras = {
            name: getattr(contact, name)
            for name in CONTACT_EXTRAS
            if getattr(contact, name) != getattr(Contact, name)
        }
        _add(
            element,
            'cc:contact',
            normal=contact.normal,
            unilateral=contact.unilateral,
            mu=contact.mu,
            **extras,
        )


def _leading_mimics(description: Description) -> dict[str, Coupling]:
    """
    Return the couplings to write as <mimic>, by joint.

    Reading lists mimics first, in the order of the joints; only couplings that already stand so
    come back in their place.
    """
    order = {joint.name: index for index, joint in enumerate(description.joints)}
    mimics: dict[str, Coupling] = {}
    last = -1
    for coupling in description.couplings:
        follower = coupling.terms[0].joint if coupling.terms else ''
        if not (
            len(coupling.terms) == 2
            and coupling.name == f'{follower}_mimic'
            and coupling.terms[0].coefficients == (1.0,)
            and len(coupling.terms[1].coefficients) == 1
            and coupling.terms[1].joint != follower
            and coupling.active
            and not coupling.successor
            and order.get(follower, -1) > last
        ):
            break
        mimics[follower], last = coupling, order[follower]
    return mimics


def _write_coupling(root: Any, coupling: Coupling) -> None:
    element = _add(root, 'coupling', name=coupling.name, active=None if coupling.active else False)
    if coupling.successor:
        for tag in ('predecessor', 'successor', 'carrier'):
            _add(element, tag, link=getattr(coupling, tag))
        _add(element, 'ratio', value=coupling.ratio)
        _add(element, 'offset', value=coupling.offset)
        return
    for term in coupling.terms:
        _add(element, 'cc:term', joint=term.joint, coefficients=term.coefficients)
    _add(element, 'offset', value=0.0 - coupling.constant)


def _write_spring(root: Any, spring: Spring) -> None:
    linear = spring.type == 'linear'
    element = _add(
        root, 'cc:spring', name=spring.name, type=spring.type, joint=spring.joint or None
    )
    if linear:
        _add(element, 'cc:from', link=spring.from_link, xyz=spring.from_xyz)
        _add(element, 'cc:to', link=spring.to_link, xyz=spring.to_xyz)
    for term in spring.terms:
        _add(element, 'cc:term', joint=term.joint, coefficients=term.coefficients)
    _add(
        element,
        'cc:law',
        stiffness=spring.stiffness,
        damping=spring.damping,
        **{'rest_angle' if spring.joint else 'rest_length': spring.rest},
    )
