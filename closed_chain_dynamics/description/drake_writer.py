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
A description as URDF for Drake, with its tags for what URDF has not.

Drake closes loops with <drake:ball_constraint>, points that stay together: a ball is one, a hinge
two along its axis, or one where its links turn about that axis anyhow, a weld three. It welds
nothing to the ground unasked, so a root link that is not `world` is fixed to one. Motors are
transmissions and carry the rotors. What Drake has no tag for is told in the report.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from lxml import etree
import numpy as np

from closed_chain_dynamics.description.drake_loop_writer import DRAKE, add_parts, write_loop
from closed_chain_dynamics.description.elements import (
    WORLD_LINK,
    Coupling,
    Description,
    Dynamics,
    Joint,
    JointType,
    Link,
)
from closed_chain_dynamics.description.left_out import LeftOut
from closed_chain_dynamics.description.names import Names
from closed_chain_dynamics.description.straight_couplings import as_mimics
from closed_chain_dynamics.description.tree import ONE_DOF, Tree
from closed_chain_dynamics.description.writer import to_element
from closed_chain_dynamics.description.xml_elements import number_text, xml_text
from closed_chain_dynamics.errors import DescriptionError

__all__ = ['to_drake']

GRAVITY = (0.0, 0.0, -9.81)  # Drake's own, which a file cannot change


def to_drake(description: Description, gravity: Iterable[float]) -> tuple[str, LeftOut]:
    """Return the XML text, and what Drake will not see."""
    left_out = LeftOut()
    mimics, others = as_mimics(description)
    description = _on_ground(description, left_out)
    root = etree.Element('robot', {'name': description.name}, nsmap={'drake': DRAKE})
    root.extend(list(to_element(_plain(description, mimics))))
    etree.cleanup_namespaces(root, keep_ns_prefixes=['drake'])
    for element in root.findall('joint'):
        _retype(element, description)
    tree = Tree(description.joints)
    for loop in description.loops:
        write_loop(root, loop, tree, left_out)
    _write_springs(root, description, left_out)
    _write_motors(root, description, left_out)
    _tell(description, others, left_out)
    if not np.allclose(tuple(gravity), GRAVITY, rtol=0.0, atol=1e-12):
        left_out.add('the gravity', '', 'Drake takes 9.81 m/s^2 downwards')
    return xml_text(root), left_out


def _on_ground(description: Description, left_out: LeftOut) -> Description:
    """Return the description with loops and springs of the world on a link that is fixed to it."""
    held = [end for loop in description.loops for end in (loop.parent, loop.child)]
    held += [end for each in description.springs for end in (each.from_link, each.to_link)]
    if WORLD_LINK not in held:
        return description
    name = Names(link.name for link in description.links).fresh('ground')
    joint = Names(each.name for each in description.all_joints).fresh('ground_joint')
    left_out.change('parts of the world are attached to a link that is fixed to it', name)

    def end(link: str) -> str:
        return name if link == WORLD_LINK else link

    return replace(
        description,
        links=(*description.links, Link(name)),
        joints=(*description.joints, Joint(joint, JointType.FIXED, WORLD_LINK, name)),
        loops=tuple(
            replace(each, parent=end(each.parent), child=end(each.child))
            for each in description.loops
        ),
        springs=tuple(
            replace(each, from_link=end(each.from_link), to_link=end(each.to_link))
            for each in description.springs
        ),
    )


def _plain(description: Description, mimics: dict[str, Coupling]) -> Description:
    """Return what the writer of the own spelling writes as plain URDF."""
    damping: dict[str, float] = {}
    for spring in description.springs:
        if spring.type == 'torsional':
            damping[spring.joint] = damping.get(spring.joint, 0.0) + spring.damping
    joints = tuple(
        replace(
            joint,
            limit=replace(joint.limit, restitution=0.0),
            dynamics=Dynamics(joint.dynamics.damping + damping.get(joint.name, 0.0)),
            limit_moment=None,
            role='',
            independent=None,
        )
        for joint in description.joints
    )
    links = tuple(replace(link, gravcomp=0.0) for link in description.links)
    if description.root != WORLD_LINK:
        taken = Names(joint.name for joint in description.all_joints)
        base = Joint(taken.fresh('root_joint'), JointType.FIXED, WORLD_LINK, description.root)
        links, joints = (Link(WORLD_LINK), *links), (base, *joints)
    return Description(
        description.name,
        links,
        joints,
        couplings=tuple(mimics[joint.name] for joint in joints if joint.name in mimics),
    )


def _retype(element: Any, description: Description) -> None:
    """Write a ball joint, which URDF does not have, as Drake does."""
    kind = next(
        (each.type for each in description.joints if each.name == element.get('name')), None
    )
    if kind is JointType.PLANAR:
        raise DescriptionError(
            f'URDF for Drake has no {kind.value} joint',
            where=f'joint {element.get("name")!r}',
            file=description.file,
            repair='Write it as joints of one coordinate, or keep the format.',
        )
    if kind is JointType.SPHERICAL:
        for key in element.attrib:
            if key not in ('name', 'type'):
                del element.attrib[key]
        element.tag, element.attrib['type'] = f'{{{DRAKE}}}joint', 'ball'


def _write_springs(root: Any, description: Description, left_out: LeftOut) -> None:
    for spring in description.springs:
        if spring.type == 'torsional':
            if spring.stiffness:
                left_out.add('springs on joints', spring.name, 'they turn nothing back')
        elif spring.type == 'spherical':
            left_out.add('springs on ball joints', spring.name, 'they turn nothing back')
        elif spring.type in ('tendon', 'path'):
            left_out.add('springs along tendons', spring.name, 'they pull no more')
        elif spring.rest <= 0.0:
            left_out.add('springs without a length, which Drake refuses', spring.name)
        else:
            values = {
                'body_A': spring.from_link,
                'body_B': spring.to_link,
                'p_AP': spring.from_xyz,
                'p_BQ': spring.to_xyz,
                'free_length': spring.rest,
                'stiffness': spring.stiffness,
                'damping': spring.damping,
            }
            add_parts(root, 'linear_spring_damper', values)


def _write_motors(root: Any, description: Description, left_out: LeftOut) -> None:
    joints = {joint.name: joint for joint in description.joints}
    driven = set()
    for actuator in description.actuators:
        joint = joints.get(actuator.joint)
        if joint is None or joint.type not in ONE_DOF:
            left_out.add('motors of joints without one coordinate of the tree', actuator.joint)
            continue
        driven.add(joint.name)
        group = etree.SubElement(root, 'transmission', name=f'{joint.name}_transmission')
        etree.SubElement(group, 'type').text = 'transmission_interface/SimpleTransmission'
        etree.SubElement(group, 'joint', name=joint.name)
        motor = etree.SubElement(group, 'actuator', name=joint.name)
        if joint.dynamics.armature:
            for tag, value in (('rotor_inertia', joint.dynamics.armature), ('gear_ratio', 1.0)):
                etree.SubElement(motor, f'{{{DRAKE}}}{tag}', value=number_text(value))
    for each in description.all_joints:
        if each.dynamics.armature and each.name not in driven:
            left_out.add('rotors of joints without a motor', each.name, 'the joints are lighter')


def _tell(description: Description, couplings: list[Coupling], left_out: LeftOut) -> None:
    """Report what Drake has no tag for."""
    for coupling in couplings:
        left_out.add('couplings that are no <mimic>', coupling.name, 'the joints move freely')
    for joint in description.joints:
        if joint.dynamics.friction:
            left_out.add('friction of joints', joint.name, 'nothing rubs')
        if joint.limit_moment is not None:
            left_out.add('moments near limits', joint.name, 'stops are left')
        if joint.limit.restitution:
            left_out.add('restitution of stops', joint.name)
        if joint.independent is not None:
            left_out.add('preferences for independent joints', joint.name)
    for link in description.links:
        if link.gravcomp:
            left_out.add('that a weight is carried', link.name, 'all of it pulls')
    for assembly in description.assemblies:
        left_out.add('named poses', assembly.name)
