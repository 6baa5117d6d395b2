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
A description as SDF, for Gazebo and others.

SDF is a graph: loops are joints like those of the tree, and stand behind them, so that reading
cuts them again. Joints count from the pose in which the links are written, which closes the loops:
ranges and rest positions are shifted by it. Links without mass that are fixed to another become
frames, and what the world carries alone a static model. What SDF has no word for is told in the
report.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from lxml import etree

from closed_chain_dynamics.description.elements import (
    WORLD_LINK,
    Coupling,
    Description,
    Joint,
    JointType,
    Link,
    Pose,
    Shape,
)
from closed_chain_dynamics.description.left_out import LeftOut
from closed_chain_dynamics.description.names import Names
from closed_chain_dynamics.description.reference_pose import Positions, check_positions, placements
from closed_chain_dynamics.description.rotations import pose_of
from closed_chain_dynamics.description.sdf_frames import chained, relative
from closed_chain_dynamics.description.sdf_gear_writer import write_gears
from closed_chain_dynamics.description.sdf_joint_writer import SdfJointWriter, add_text
from closed_chain_dynamics.description.sdf_shapes import write_shapes
from closed_chain_dynamics.description.straight_couplings import as_mimics
from closed_chain_dynamics.description.tree import ONE_DOF
from closed_chain_dynamics.description.xml_elements import xml_text
from closed_chain_dynamics.errors import DescriptionError

__all__ = ['to_sdf']

SDF_VERSION, SDF_WITH_MIMIC = '1.9', '1.11'  # <mimic> came late; older readers take older files

LEVEL = 1e-12  # an angle that is rounding [rad]


def to_sdf(
    description: Description, gravity: Iterable[float], positions: Positions
) -> tuple[str, LeftOut]:
    """Return the XML text with the links as the joint positions place them, and what it lacks."""
    return _SdfWriter(description, positions).write(tuple(gravity))


class _SdfWriter:
    def __init__(self, description: Description, positions: Positions) -> None:
        self.description, self.positions = description, positions
        self.left_out = LeftOut()
        check_positions(description, positions)
        self.places = placements(description, positions)
        self.above = {joint.child: joint for joint in description.joints}
        self.carrier = self._carriers()
        self.names = Names([WORLD_LINK, *self.carrier])

    def _carriers(self) -> dict[str, str]:
        """Return by link what it is part of: itself, or what a massless one is fixed to."""
        top = self.description.root
        weightless = {link.name for link in self.description.links if link.inertia is None}
        carrier = {top: WORLD_LINK if top == WORLD_LINK or top in weightless else top}
        for name in list(self.places)[1:]:  # each after those that carry it
            joint = self.above[name]
            inside = joint.type is JointType.FIXED and name in weightless
            carrier[name] = carrier[joint.parent] if inside else name
        for joint in self.description.joints:  # a joint that stands away from its link
            between, name = joint.parent, joint.child
            if joint.type is not JointType.FIXED or carrier.get(between) != between:
                continue
            mover = self.above.get(between)
            if between not in weightless or carrier[name] != name or mover is None:
                continue
            # balls count in the axes of their link
            level = max(abs(each) for each in joint.origin.rpy) < LEVEL
            if mover.type in ONE_DOF or (mover.type is JointType.SPHERICAL and level):
                carrier = {
                    each: name if held == between else held for each, held in carrier.items()
                }
        return carrier

    def write(self, gravity: tuple[float, ...]) -> tuple[str, LeftOut]:
        description = self.description
        mimics, others = as_mimics(description)
        root = etree.Element('sdf', version=SDF_WITH_MIMIC if mimics else SDF_VERSION)
        try:
            world = etree.SubElement(root, 'world', name=f'{description.name}_world')
            add_text(world, 'gravity', gravity)
            model = etree.SubElement(world, 'model', name=description.name)
            for link in description.links:
                self._link(model, link)
            self._scenery(world)
            joints = SdfJointWriter(
                description,
                self.positions,
                self.places,
                self.carrier,
                self.names,
                self.left_out,
                model,
            )
            if self.carrier[description.root] != WORLD_LINK:
                joints.element(
                    self.names.fresh('root_joint'), 'fixed', WORLD_LINK, description.root
                )
            for joint in description.joints:
                if self.carrier[joint.child] != self.carrier[joint.parent]:  # else one is a frame
                    joints.joint(joint, mimics.get(joint.name))
            joints.loops()
            others = write_gears(joints, description, others, self.places)
        except ValueError as error:  # control characters have no spelling in XML
            raise DescriptionError(
                f'a name cannot be written as XML: {error}',
                repair='Remove control characters from the names.',
            ) from None
        self._tell(others)
        return xml_text(root), self.left_out

    def _link(self, model: Any, link: Link) -> None:
        carrier = self.carrier[link.name]
        if carrier == WORLD_LINK:
            if link.name != WORLD_LINK:
                self.left_out.change(
                    'links without mass that stand still are the world', link.name
                )
            return
        element = etree.SubElement(model, 'link' if carrier == link.name else 'frame')
        element.set('name', link.name)
        base = self._base(link.name) if carrier == link.name else carrier
        place = self.places[link.name]
        pose = pose_of(*(relative(self.places[base], place) if base else place))
        at = add_text(element, 'pose', (*pose.xyz, *pose.rpy))
        if base:
            at.set('relative_to', base)
        if carrier != link.name:
            element.set('attached_to', carrier)
            self.left_out.change(
                'links without mass are frames of what they are fixed to', link.name
            )
            return
        if link.gravcomp == 1.0:
            add_text(element, 'gravity', False)
        elif link.gravcomp:
            self.left_out.add('that a part of a weight is carried', link.name, 'all of it pulls')
        self._inertial(element, link)
        for tag in ('visual', 'collision'):
            write_shapes(element, tag, self._shapes(link.name, tag))

    def _inertial(self, element: Any, link: Link) -> None:
        """Write <inertial>, also of nothing: SDF takes a link without one as 1 kg."""
        moments: tuple[float, ...] = (0.0,) * 6
        origin, mass = Pose(), 0.0
        if link.inertia is not None:
            origin, mass, moments = link.inertia.origin, link.inertia.mass, link.inertia.moments
        if not mass:
            self.left_out.change('these links weigh nothing, which Gazebo refuses', link.name)
        inertial = etree.SubElement(element, 'inertial')
        add_text(inertial, 'pose', (*origin.xyz, *origin.rpy))
        add_text(inertial, 'mass', mass)
        tensor = etree.SubElement(inertial, 'inertia')
        for tag, value in zip(('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'), moments):
            add_text(tensor, tag, value)

    def _base(self, link: str) -> str:
        """Return the link that the pose of a link counts from; none means the model."""
        joint = self.above.get(link)
        while joint is not None and self.carrier[joint.parent] == link:
            joint = self.above.get(joint.parent)
        if joint is None or joint.type is JointType.FLOATING:
            return ''
        above = self.carrier[joint.parent]
        return '' if above == WORLD_LINK else above

    def _shapes(self, carrier: str, tag: str) -> list[Shape]:
        """Return the shapes of a link and of massless ones that are part of it, in its axes."""
        found: list[Shape] = []
        for link in self.description.links:
            if self.carrier[link.name] != carrier:
                continue
            for shape in link.visuals if tag == 'visual' else link.collisions:
                if link.name != carrier:
                    at = self.places[link.name]
                    at = relative(self.places[carrier], at) if carrier != WORLD_LINK else at
                    origin = (shape.origin.rotation, shape.origin.position)
                    shape = replace(shape, origin=pose_of(*chained(at, origin)))
                found.append(shape)
        return found

    def _scenery(self, world: Any) -> None:
        """Write what the world carries as a model that never moves."""
        groups = {tag: self._shapes(WORLD_LINK, tag) for tag in ('visual', 'collision')}
        if not any(groups.values()):
            return
        model = etree.SubElement(world, 'model', name=f'{self.description.name}_scenery')
        add_text(model, 'static', True)
        link = etree.SubElement(model, 'link', name='scenery')
        for tag, shapes in groups.items():
            write_shapes(link, tag, shapes)
        self.left_out.change('shapes of what stands still are a static model of their own', '')

    def _tell(self, couplings: list[Coupling]) -> None:
        """Report what SDF has no word for."""
        add, description = self.left_out.add, self.description
        for coupling in couplings:
            add('couplings that are no mimic or gearbox', coupling.name, 'the joints move freely')
        for spring in description.springs:
            if spring.type == 'linear':
                add('springs between points', spring.name, 'they pull no more')
            elif spring.type == 'tendon':
                add('springs along tendons', spring.name, 'they pull no more')
        for joint in description.all_joints:
            if joint.dynamics.armature:
                add('rotors', joint.name, 'the joints are lighter')
            if joint.limit_moment is not None:
                add('moments near limits', joint.name, 'hard stops are left')
            if joint.limit.restitution:
                add('restitution of stops', joint.name, 'the simulator decides how they bounce')
            if isinstance(joint, Joint) and joint.independent is not None:
                add('preferences for independent joints', joint.name)
        for actuator in description.actuators:
            named = 'name them with actuated=[...] or --actuated'
            add('which joints have motors', actuator.joint, named)
        for assembly in description.assemblies:
            add('named poses', assembly.name)
        if self.positions:
            self.left_out.change('joints count from the pose that the file shows', '')
