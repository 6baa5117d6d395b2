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

"""Joints of an SDF file, those of the tree and those that close loops, with what acts in them."""

from dataclasses import dataclass, replace
import math
from typing import Any

from lxml import etree
import numpy as np

from closed_chain_dynamics.description.elements import (
    WORLD_LINK,
    Coupling,
    Description,
    Dynamics,
    Joint,
    JointType,
    LoopJoint,
    LoopType,
)
from closed_chain_dynamics.description.left_out import LeftOut
from closed_chain_dynamics.description.names import Names
from closed_chain_dynamics.description.reference_pose import (
    Positions,
    loop_coordinate,
    refuse_open_loops,
)
from closed_chain_dynamics.description.sdf_frames import Offset
from closed_chain_dynamics.description.tree import ONE_DOF
from closed_chain_dynamics.description.xml_elements import number_text
from closed_chain_dynamics.errors import DescriptionError

__all__ = ['SdfJointWriter', 'add_text']

SDF_KINDS = {
    JointType.FIXED: 'fixed',
    JointType.REVOLUTE: 'revolute',
    JointType.CONTINUOUS: 'continuous',
    JointType.PRISMATIC: 'prismatic',
    JointType.SPHERICAL: 'ball',
}
LOOPS_TO_SDF = {
    LoopType.FIXED: 'fixed',
    LoopType.REVOLUTE: 'revolute',
    LoopType.PRISMATIC: 'prismatic',
    LoopType.SPHERICAL: 'ball',
    LoopType.UNIVERSAL: 'universal',
}


@dataclass
class SdfJointWriter:
    """Adds joints to a <model>; `carrier` says which link each link is part of."""

    description: Description
    positions: Positions
    places: dict[str, Offset]
    carrier: dict[str, str]
    names: Names
    left_out: LeftOut
    model: Any

    def __post_init__(self) -> None:
        """Find names that no link has, as SDF wants them."""
        joints = self.description.all_joints
        self.renamed = {each.name: self.names.fresh(each.name) for each in joints}
        for before, after in self.renamed.items():
            if before != after:
                self.left_out.change(
                    'joints named as a link is are renamed, because SDF forbids it', after
                )

    def element(self, name: str, kind: str, parent: str, child: str) -> Any:
        """Add a <joint> between two links."""
        joint = etree.SubElement(self.model, 'joint', name=name, type=kind)
        add_text(joint, 'parent', self.carrier.get(parent, parent))
        add_text(joint, 'child', self.carrier.get(child, child))
        return joint

    def joint(self, joint: Joint, mimic: Coupling | None) -> None:
        """Add a joint of the tree, whose frame is that of its child."""
        if joint.type is JointType.FLOATING:
            self.left_out.change(
                'floating joints are links that nothing holds, to be loaded with '
                "root_joint='floating'",
                joint.name,
            )
            return
        if joint.type not in SDF_KINDS:
            raise DescriptionError(
                f'SDF has no {joint.type.value} joint',
                where=f'joint {joint.name!r}',
                file=self.description.file,
                repair='Write it as joints of one coordinate, or keep the format.',
            )
        element = self.element(
            self.renamed[joint.name], SDF_KINDS[joint.type], joint.parent, joint.child
        )
        if self.carrier[joint.child] != joint.child:
            add_text(element, 'pose', (0.0,) * 6).set('relative_to', joint.child)
        if joint.type not in ONE_DOF:
            self._tell_lawless(joint)
            return
        axis = self._axis(element, joint, joint.axis, self._zero(joint.name))
        if mimic is not None:
            leader, ratio = mimic.terms[1].joint, 0.0 - mimic.terms[1].coefficients[0]
            follows = etree.SubElement(axis, 'mimic', joint=self.renamed[leader])
            shift = ratio * self._zero(leader) - self._zero(joint.name)
            for tag, value in (
                ('multiplier', ratio),
                ('offset', shift - mimic.constant),
                ('reference', 0.0),
            ):
                add_text(follows, tag, value)

    def loops(self) -> None:
        """Add the loops, behind the tree."""
        written = []
        for loop in self.description.loops:
            if loop.type not in LOOPS_TO_SDF:
                self.left_out.add(
                    f'{loop.type.value} loops, which SDF does not have',
                    loop.name,
                    'nothing holds there',
                )
            elif not loop.active:
                self.left_out.add('loops that are open', loop.name, 'nothing can close them')
            else:
                written.append(loop)
        refuse_open_loops(self.description, tuple(written), self.places, self.left_out)
        for loop in written:
            self._loop(loop)

    def _loop(self, loop: LoopJoint) -> None:
        """Add a loop joint; its one frame is the child's, which is never the world."""
        zero = loop_coordinate(loop, self.places)
        if self.carrier[loop.child] == WORLD_LINK:
            loop = _turned(loop)
        element = self.element(
            self.renamed[loop.name], LOOPS_TO_SDF[loop.type], loop.parent, loop.child
        )
        origin = loop.child_origin
        at = add_text(element, 'pose', (*origin.xyz, *origin.rpy))
        at.set('relative_to', loop.child)
        if loop.type is LoopType.UNIVERSAL:
            still = self.carrier[loop.parent] == WORLD_LINK
            R = self.places[loop.parent][0] if still else np.eye(3)
            first = R @ loop.parent_origin.rotation @ np.array(loop.parent_axis)
            for tag, vector in (('axis', first), ('axis2', loop.child_axis)):
                add_text(etree.SubElement(element, tag), 'xyz', vector)
            element.find('axis/xyz').set('expressed_in', '__model__' if still else loop.parent)
        if loop.type in (LoopType.REVOLUTE, LoopType.PRISMATIC):
            self._axis(element, loop, loop.child_axis, zero)
        else:
            self._tell_lawless(loop)

    def _zero(self, name: str) -> float:
        """Return where a joint with one coordinate stands in the pose of the file."""
        return float(np.ravel(self.positions.get(name, 0.0))[0])

    def _axis(self, element: Any, joint: Joint | LoopJoint, xyz: Any, zero: float) -> Any:
        """Add <axis> of a joint that stands at `zero` in the pose of the file."""
        axis = etree.SubElement(element, 'axis')
        add_text(axis, 'xyz', xyz)
        ranged = joint.type is not JointType.CONTINUOUS
        limits = {
            'lower': joint.limit.lower - zero if ranged else -math.inf,
            'upper': joint.limit.upper - zero if ranged else math.inf,
            'effort': joint.limit.effort,
            'velocity': joint.limit.velocity,
        }
        finite = {tag: value for tag, value in limits.items() if math.isfinite(value)}
        springs = [each for each in self.description.springs if each.joint == joint.name]
        stiffness = sum(each.stiffness for each in springs)
        moment = sum(each.stiffness * each.rest for each in springs)
        laws = {
            'damping': joint.dynamics.damping + sum(each.damping for each in springs),
            'friction': joint.dynamics.friction,
            'spring_reference': moment / stiffness - zero if stiffness else 0.0,
            'spring_stiffness': stiffness,
        }
        for tag, values in (('limit', finite), ('dynamics', laws if any(laws.values()) else {})):
            if values:
                group = etree.SubElement(axis, tag)
                for name, value in values.items():
                    add_text(group, name, value)
        return axis

    def _tell_lawless(self, joint: Joint | LoopJoint) -> None:
        if replace(joint.dynamics, armature=0.0) != Dynamics():
            self.left_out.add(
                'damping and friction of joints without one axis', joint.name, 'they turn freely'
            )
        if math.isfinite(joint.limit.effort) or math.isfinite(joint.limit.velocity):
            self.left_out.add('limits of joints without one axis', joint.name)


def _turned(loop: LoopJoint) -> LoopJoint:
    """Return the loop with its ends exchanged, and the same coordinate."""
    sign = 1.0 if loop.type is LoopType.UNIVERSAL else -1.0
    parent_axis, child_axis = (
        tuple(sign * each for each in axis) for axis in (loop.child_axis, loop.parent_axis)
    )
    return replace(
        loop,
        parent=loop.child,
        child=loop.parent,
        parent_origin=loop.child_origin,
        child_origin=loop.parent_origin,
        parent_axis=parent_axis,
        child_axis=child_axis,
    )


def add_text(parent: Any, tag: str, value: Any) -> Any:
    """Add an element that holds a name or numbers."""
    element = etree.SubElement(parent, tag)
    element.text = number_text(value)
    return element
