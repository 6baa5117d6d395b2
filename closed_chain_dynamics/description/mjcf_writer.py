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
A description as MJCF, for MuJoCo.

A massless link between two joints becomes a further joint of the body behind it, as MuJoCo writes
it. Loops are equalities, soft as all of MuJoCo's are but set stiff; a hinge is held at two points.
What MJCF has no place for is told in the report.
"""

from collections.abc import Iterable
import math
from typing import Any

from lxml import etree
import numpy as np

from closed_chain_dynamics.arrays import Matrix
from closed_chain_dynamics.description.elements import Description, Joint, JointType, Link, Pose
from closed_chain_dynamics.description.left_out import LeftOut
from closed_chain_dynamics.description.mjcf_inertias import mjcf_inertias
from closed_chain_dynamics.description.mjcf_laws import add_laws
from closed_chain_dynamics.description.rotations import quaternion_of
from closed_chain_dynamics.description.sdf_frames import Offset, chained, relative
from closed_chain_dynamics.description.xml_elements import number_text
from closed_chain_dynamics.errors import DescriptionError

__all__ = ['to_mjcf']

MJCF_KINDS = {
    JointType.REVOLUTE: 'hinge',
    JointType.CONTINUOUS: 'hinge',
    JointType.PRISMATIC: 'slide',
    JointType.SPHERICAL: 'ball',
    JointType.FLOATING: 'free',
}
MJCF_SHAPES = {'box': 'box', 'sphere': 'sphere', 'capsule': 'capsule', 'cylinder': 'cylinder'}


def to_mjcf(description: Description, gravity: Iterable[float]) -> tuple[str, LeftOut]:
    """Return the XML text, and what is not in it."""
    return _MjcfWriter(description).write(tuple(gravity))


class _MjcfWriter:
    def __init__(self, description: Description) -> None:
        self.description, self.left_out = description, LeftOut()
        self.links = {link.name: link for link in description.links}
        self.below: dict[str, list[Joint]] = {}
        for joint in description.joints:
            self.below.setdefault(joint.parent, []).append(joint)
        self.bodies: dict[str, Any] = {}
        self.inertias = mjcf_inertias(description, self.left_out)
        self.at_rest: dict[str, Offset] = {description.root: (np.eye(3), np.zeros(3))}
        self.joints: dict[str, Any] = {}
        self.springs = {
            name: [each for each in description.springs if each.joint == name]
            for name in {each.joint for each in description.springs if each.joint}
        }
        # links that something is fastened to are bodies of their own
        self.held = {end for loop in description.loops for end in (loop.parent, loop.child)}
        self.held |= {
            end for each in description.springs for end in (each.from_link, each.to_link)
        }

    def write(self, gravity: tuple[float, ...]) -> tuple[str, LeftOut]:
        root = etree.Element('mujoco', {'model': self.description.name})
        etree.SubElement(
            root, 'compiler', angle='radian', autolimits='true', inertiafromgeom='auto'
        )
        etree.SubElement(root, 'option', gravity=number_text(gravity))
        world = self.world = etree.SubElement(root, 'worldbody')
        top = self.description.root
        if top == 'world':
            self.bodies[top] = world
            self._shapes(world, self.links[top])
        else:
            self._body(world, top, (np.eye(3), np.zeros(3)), [])
        # walk without recursion: chains of a thousand links are long, not deep
        todo = [top]
        while todo:
            parent = todo.pop()
            for joint in self.below.get(parent, []):
                todo.append(self._hang(joint))
        add_laws(root, self.description, self.bodies, self.joints, self.left_out)
        self._keys(root)
        etree.indent(root, '  ')
        return etree.tostring(root, encoding='unicode') + '\n', self.left_out

    def _hang(self, joint: Joint) -> str:
        """Add the body behind a joint, with all joints that lead to it, and return its link."""
        chain, place = [(joint, _origin(joint))], _origin(joint)
        while self._is_between(chain[-1][0].child):
            (following,) = self.below[chain[-1][0].child]
            place = chained(place, _origin(following))
            chain.append((following, place))
        steps = [(each, relative(place, at)) for each, at in chain]
        end, above = chain[-1][0].child, self.bodies[joint.parent]
        if joint.parent in self.at_rest and joint.type in (JointType.FIXED, JointType.FLOATING):
            place = chained(self.at_rest[joint.parent], place)
            above = self.world
            if joint.type is JointType.FLOATING and joint.origin != Pose():
                # MuJoCo's free joints hang on the world and count from it
                self.left_out.add('origins of free joints, which count from the world', joint.name)
        if joint.parent in self.at_rest and all(each.type is JointType.FIXED for each, _ in chain):
            self.at_rest[end] = place
        self._body(above, end, place, steps)
        return end

    def _is_between(self, name: str) -> bool:
        link, below = self.links[name], self.below.get(name, [])
        return (
            link.inertia is None
            and not link.visuals
            and not link.collisions
            and len(below) == 1
            and below[0].type is not JointType.FLOATING
            and name not in self.held
        )

    def _body(
        self, parent: Any, name: str, place: Offset, steps: list[tuple[Joint, Offset]]
    ) -> None:
        body = etree.SubElement(
            parent,
            'body',
            name=name,
            pos=number_text(place[1]),
            quat=number_text(quaternion_of(place[0])),
        )
        link = self.links[name]
        if link.gravcomp:
            body.set('gravcomp', number_text(link.gravcomp))
        self.bodies[name] = body
        inertia = self.inertias.get(name)
        if inertia is not None:
            I = inertia.tensor
            full = (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])
            etree.SubElement(
                body,
                'inertial',
                pos=number_text(inertia.origin.xyz),
                mass=number_text(inertia.mass),
                fullinertia=number_text(full),
            )
        for joint, at in steps:
            self._joint(body, joint, at)
        self._shapes(body, link)

    def _joint(self, body: Any, joint: Joint, at: Offset) -> None:
        """Add a joint that stands at a placement in the body, all joints at zero."""
        if joint.type is JointType.FIXED:
            return
        if joint.type not in MJCF_KINDS or (
            joint.type is JointType.FLOATING and body.getparent().tag != 'worldbody'
        ):
            raise DescriptionError(
                f'MJCF has no {joint.type.value} joint here',
                where=f'joint {joint.name!r}',
                file=self.description.file,
                repair='Write it as joints of one coordinate, or keep the format.',
            )
        element = etree.SubElement(body, 'joint', name=joint.name, type=MJCF_KINDS[joint.type])
        self.joints[joint.name] = element
        if joint.type is JointType.FLOATING:
            return
        element.set('pos', number_text(at[1]))
        if joint.type.nv == 1:
            element.set('axis', number_text(at[0] @ np.array(joint.axis)))
            _limits(element, joint)
            springs = self.springs.get(joint.name, [])
            stiffness = sum(each.stiffness for each in springs)
            if stiffness:
                rest = sum(each.stiffness * each.rest for each in springs) / stiffness
                element.set('stiffness', number_text(stiffness))
                element.set('springref', number_text(rest))
        damping = sum(each.damping for each in self.springs.get(joint.name, []))
        for name, value in (
            ('damping', joint.dynamics.damping + damping),
            ('frictionloss', joint.dynamics.friction),
            ('armature', joint.dynamics.armature),
        ):
            if value:
                element.set(name, number_text(value))
        if joint.limit_moment is not None:
            self.left_out.add('limit moments', joint.name)

    def _shapes(self, body: Any, link: Link) -> None:
        for shape in link.visuals:
            kind, size = shape.geometry.kind, shape.geometry.size
            if kind not in MJCF_SHAPES:
                self.left_out.add('meshes', link.name)
                continue
            halves = tuple(0.5 * each for each in size)
            geom = etree.SubElement(
                body,
                'geom',
                type=kind,
                size=number_text(halves if kind == 'box' else (size[0], *halves[1:])),
                pos=number_text(shape.origin.xyz),
                quat=number_text(quaternion_of(shape.origin.rotation)),
                mass='0',
                contype='0',
                conaffinity='0',
            )
            if shape.rgba:
                geom.set('rgba', number_text(shape.rgba))

    def _keys(self, root: Any) -> None:
        """Write the assemblies that give every position; MuJoCo's order is that of its bodies."""
        keys = etree.Element('keyframe')
        types = {joint.name: joint.type for joint in self.description.joints}
        order = [str(each.get('name')) for each in root.iter('joint') if each.get('type')]
        for assembly in self.description.assemblies:
            given = dict(assembly.positions)
            if assembly.name == 'qpos0' or not all(name in given for name in order):
                continue
            qpos: list[float] = []
            for name in order:
                held = given[name]
                value = held if isinstance(held, tuple) else (held,)
                if types[name] in (JointType.SPHERICAL, JointType.FLOATING):
                    value = (*value[:-4], value[-1], *value[-4:-1])  # w comes first
                qpos += value
            etree.SubElement(keys, 'key', name=assembly.name, qpos=number_text(qpos))
        if len(keys):
            root.append(keys)


def _limits(element: Any, joint: Joint) -> None:
    lower, upper = joint.limit.lower, joint.limit.upper
    if math.isfinite(lower) or math.isfinite(upper):
        far = 1e6  # MuJoCo has both ends or none
        element.set('range', number_text((max(lower, -far), min(upper, far))))
    if math.isfinite(joint.limit.effort):
        effort = joint.limit.effort
        element.set('actuatorfrcrange', number_text((-effort, effort)))


def _origin(joint: Joint) -> tuple[Matrix, Matrix]:
    return joint.origin.rotation, joint.origin.position
