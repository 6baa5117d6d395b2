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
SDF: a graph of links and joints, in which loops are joints like any other.

Joints are taken into a tree in the order of the file, those that can close no loop first and those
that `cut` names last; one between links that hang together already closes a loop. A model without
a joint to the world stands on a joint `root_joint`.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from closed_chain_dynamics.description.actuators import resolve
from closed_chain_dynamics.description.checks import check_references, check_structure
from closed_chain_dynamics.description.document import Document
from closed_chain_dynamics.description.elements import (
    WORLD_LINK,
    Coupling,
    CouplingTerm,
    Description,
    Inertia,
    Joint,
    JointType,
    Link,
    LoopJoint,
    Spring,
)
from closed_chain_dynamics.description.fields import Reader
from closed_chain_dynamics.description.inertia_checks import settle_inertias
from closed_chain_dynamics.description.names import Names
from closed_chain_dynamics.description.rotations import pose_of
from closed_chain_dynamics.description.sdf_frames import SdfFrames, gazebo_frames, read_pose
from closed_chain_dynamics.description.sdf_joints import SdfJoint, as_loop, hang, read_sdf_joint
from closed_chain_dynamics.description.sdf_nesting import one_model
from closed_chain_dynamics.description.sdf_shapes import read_shapes
from closed_chain_dynamics.description.tree import ONE_DOF, Tree
from closed_chain_dynamics.errors import NameNotFound

__all__ = ['ROOT_JOINT', 'gazebo_loops', 'read_sdf']

ROOT_JOINT = 'root_joint'
MODEL_TAGS = {'link', 'joint', 'frame', 'pose', 'static', 'self_collide', 'allow_auto_disable'}


def read_sdf(
    reader: Reader,
    document: Document,
    *,
    actuated: str | Iterable[str] | None = None,
    root_joint: str = 'fixed',
    cut: Iterable[str] = (),
    inertia: str = 'check',
) -> Description:
    """Return the Description of an <sdf> document with one model."""
    model, world = one_model(reader, document)
    reader.ignore_unknown(model, MODEL_TAGS)
    frames, name = SdfFrames(reader, model), reader.text(model, 'name')
    links = [Link(WORLD_LINK), *(_read_link(reader, each) for each in model.findall('link'))]
    joints = [read_sdf_joint(reader, each, frames) for each in model.findall('joint')]
    graph = _Graph(reader, frames, links, joints)
    graph.grow(_wanted_cuts(reader, joints, cut), root_joint)
    tree_joints, loops = tuple(graph.joints), tuple(graph.loops)
    description = Description(name, tuple(graph.links), tree_joints, loops)
    check_structure(description, reader)
    couplings = [*graph.couplings, *(_gear(reader, each, graph) for each in graph.gears)]
    couplings += _mimics(reader, joints, graph)
    tree_joints, loops, actuators = resolve(
        reader, document.root, tree_joints, loops, argument=actuated
    )
    gravity = None if world is None else world.find('gravity')
    description = replace(
        description,
        joints=tree_joints,
        loops=loops,
        couplings=tuple(couplings),
        springs=tuple(graph.springs),
        actuators=actuators,
        gravity=None if gravity is None else reader.content(gravity, count=3),
        file=str(document.path or ''),
    )
    check_references(description, reader)
    return settle_inertias(description, reader, inertia)


def gazebo_loops(reader: Reader, root: Any, joints: Iterable[Joint]) -> tuple[LoopJoint, ...]:
    """Return the joints inside <gazebo> of a URDF, which Gazebo adds to the tree, as loops."""
    elements = root.findall('gazebo/joint')
    if not elements:
        return ()
    frames = gazebo_frames(reader, root, joints)
    return tuple(
        as_loop(reader, read_sdf_joint(reader, each, frames), frames) for each in elements
    )


def _read_link(reader: Reader, element: Any) -> Link:
    name = reader.text(element, 'name')
    reader.remember('link', name, element)
    inertial = element.find('inertial')
    if inertial is None:
        reader.note(f'The link {name!r} has no <inertial>; SDF means 1 kg and 1 kg m^2.')
    values = dict(zip(('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'), (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)))
    mass = None if inertial is None else inertial.find('mass')
    group = None if inertial is None else inertial.find('inertia')
    for tag in values:
        found = None if group is None else group.find(tag)
        if found is not None:
            values[tag] = float(reader.content(found, count=1)[0])
    R, p = read_pose(reader, None if inertial is None else inertial.find('pose'))
    weightless = (element.findtext('gravity') or 'true').strip() in ('0', 'false')
    visuals, collisions = read_shapes(reader, element)
    return Link(
        name,
        Inertia(
            1.0 if mass is None else float(reader.content(mass, count=1)[0]),
            pose_of(R, p),
            tuple(values.values()),
        ),
        visuals,
        collisions,
        gravcomp=1.0 if weightless else 0.0,
    )


def _wanted_cuts(reader: Reader, joints: list[SdfJoint], cut: Iterable[str]) -> set[str]:
    wanted, known = {cut} if isinstance(cut, str) else set(cut), [each.name for each in joints]
    for name in wanted:
        if name not in known:
            raise NameNotFound('joint', name, known, file=reader.label, where='cut')
    return wanted


class _Graph:
    """Links and joints, which grow into a tree with loops."""

    def __init__(
        self, reader: Reader, frames: SdfFrames, links: list[Link], joints: list[SdfJoint]
    ) -> None:
        self.reader, self.frames, self.links = reader, frames, list(links)
        self.names = (Names(link.name for link in links), Names(joint.name for joint in joints))
        self.gears = [joint for joint in joints if joint.kind == 'gearbox']
        self.open = [joint for joint in joints if joint.kind != 'gearbox']
        self.joints: list[Joint] = []
        self.loops: list[LoopJoint] = []
        self.springs: list[Spring] = []
        self.couplings: list[Coupling] = []

    def grow(self, cut: set[str], root_joint: str) -> None:
        """Hang every link on the tree, and make loops of the joints that are left."""
        closing = self._closing(cut)
        reached, all_links = {WORLD_LINK}, [link.name for link in self.links]
        while True:
            step = next(
                (
                    (joint, turned)
                    for turned in (False, True)
                    for joint in self.open
                    if joint not in closing
                    and (joint.child if turned else joint.parent) in reached
                    and (joint.parent if turned else joint.child) not in reached
                ),
                None,
            )
            if step is not None:
                self._hang(*step)
                reached |= {step[0].parent, step[0].child}
                continue
            rest = [name for name in all_links if name not in reached]
            if not rest:
                break
            self._root(self._best_root(rest), root_joint)
            reached.add(self._best_root(rest))
        self.loops = [as_loop(self.reader, joint, self.frames) for joint in closing]
        self.springs += [
            Spring(
                f'{joint.name}_spring',
                'torsional',
                axis.stiffness,
                joint=joint.name,
                rest=axis.rest,
            )
            for joint in closing
            if len(joint.axes) == 1 and (axis := joint.axes[0]).stiffness
        ]
        for loop in self.loops:
            self.reader.note(f'The joint {loop.name!r} closes a loop and is cut.')

    def _closing(self, cut: set[str]) -> list[SdfJoint]:
        """Return the joints between links that hang together already by those before them."""
        group = {link.name: {link.name} for link in self.links}
        closing = []
        for joint in sorted(
            self.open,
            key=lambda joint: (joint.name in cut, joint.kind not in ('screw', 'revolute2')),
        ):
            if group[joint.parent] is group[joint.child]:
                closing.append(joint)
                continue
            group[joint.parent] |= group[joint.child]
            for name in group[joint.parent]:
                group[name] = group[joint.parent]
        return [joint for joint in self.open if joint in closing]

    def _best_root(self, rest: list[str]) -> str:
        """Return the first link that no joint carries, or just the first."""
        carried = {joint.child for joint in self.open}
        return next((name for name in rest if name not in carried), rest[0])

    def _root(self, link: str, root_joint: str) -> None:
        kind = JointType.FLOATING if root_joint == 'floating' else JointType.FIXED
        origin = pose_of(*self.frames.of(link, None))
        name = self.names[1].fresh(ROOT_JOINT)
        self.joints.append(Joint(name, kind, WORLD_LINK, link, origin))

    def _hang(self, joint: SdfJoint, turned: bool) -> None:
        self.open.remove(joint)
        hung = hang(self.reader, joint, self.frames, self.names, turned=turned)
        self.joints += hung.joints
        self.links += hung.links
        self.springs += hung.springs
        self.couplings += hung.couplings


def _gear(reader: Reader, joint: SdfJoint, graph: _Graph) -> Coupling:
    """
    Return theta_1 = -ratio theta_2 of a gearbox.

    theta_1 turns the parent about the first axis, theta_2 the child about the second, both as
    seen from the reference body.
    """
    tree = Tree(graph.joints)
    reference = (joint.element.findtext('gearbox_reference_body') or '').strip() or WORLD_LINK
    reference = graph.frames.link_of(reference, joint.element)
    ratio = joint.value(reader, 'gearbox_ratio', 1.0)
    sums: dict[str, float] = {}
    for link, axis, factor in (
        (joint.parent, joint.axes[0], 1.0),
        (joint.child, joint.axes[1], ratio),
    ):
        for each, way in tree.path(reference, link):
            if each.type in ONE_DOF and each.type is not JointType.PRISMATIC:
                along = float(np.sign(tree.axis_in_root(each) @ axis.direction))
                sums[each.name] = sums.get(each.name, 0.0) + factor * way * along
    terms = tuple(CouplingTerm(name, (value,)) for name, value in sums.items() if value)
    if not terms:
        raise reader.error(
            joint.element,
            'its links do not turn relative to the reference body',
            'Name another <gearbox_reference_body>.',
        )
    return Coupling(joint.name, terms)


def _mimics(reader: Reader, joints: list[SdfJoint], graph: _Graph) -> list[Coupling]:
    """Return q = multiplier (leader - reference) + offset of <axis><mimic>."""
    found, known = [], {joint.name for joint in graph.joints}
    for joint in joints:
        mimic = joint.element.find('axis/mimic')
        if mimic is None:
            continue
        leader = reader.text(mimic, 'joint')
        if joint.name not in known or leader not in known:
            reader.note(f'The mimic of {joint.name!r} is left out: a joint of it is cut or lost.')
            continue
        multiplier, offset, reference = (
            default if (each := mimic.find(tag)) is None else reader.content(each, count=1)[0]
            for tag, default in (('multiplier', 1.0), ('offset', 0.0), ('reference', 0.0))
        )
        found.append(
            Coupling(
                graph.names[1].fresh(f'{joint.name}_mimic'),
                (CouplingTerm(joint.name, (1.0,)), CouplingTerm(leader, (-multiplier,))),
                constant=multiplier * reference - offset,
            )
        )
    return found
