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
Checks of the whole: names, one tree, ends that exist, and bodies that can exist.

Every check reports where the culprit stands when the description was read from a file, and works
as well on one that was built by hand.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
import math
from typing import Any

from closed_chain_dynamics.description.elements import (
    Description,
    Joint,
    JointType,
    LoopType,
    Numbers,
)
from closed_chain_dynamics.description.fields import Reader, some_of
from closed_chain_dynamics.description.inertia_checks import settle_inertias
from closed_chain_dynamics.description.tree import ONE_DOF, Tree
from closed_chain_dynamics.errors import DescriptionError, NameNotFound

__all__ = ['check', 'check_references', 'check_structure']

ONE_DOF_LOOPS = (LoopType.REVOLUTE, LoopType.PRISMATIC)
WITHOUT_AXIS = (LoopType.FIXED, LoopType.SURFACE, LoopType.FREE)
POSITIONS = {
    JointType.SPHERICAL: 'four numbers (quaternion x y z w)',
    JointType.FLOATING: 'seven numbers (position, then quaternion x y z w)',
    JointType.PLANAR: 'four numbers (x y cos sin)',
}
NEUTRAL = {JointType.SPHERICAL: '0001', JointType.FLOATING: '0000001', JointType.PLANAR: '0010'}
UNIT_LENGTH = 1e-2  # a hint is a start: a rotation written with few digits is brought to length
LOOP_OF_JOINT = {JointType.CONTINUOUS: 'revolute', JointType.FLOATING: 'free'}


def check(description: Description) -> tuple[str, ...]:
    """Refuse a description that no mechanism can be built from; return notes on the rest."""
    reader = Reader(description.file)
    check_structure(description, reader)
    check_references(description, reader)
    settle_inertias(description, reader)
    return tuple(reader.notes)


def check_structure(description: Description, reader: Reader, coming: Sequence[str] = ()) -> None:
    """Names are unique, ends exist, joints form one tree; loops may end on links that come yet."""
    if not description.links:
        raise DescriptionError(
            'it has no <link>',
            file=reader.label,
            where='<robot>',
            repair='Add at least one <link name="..."/>.',
        )
    _check_unique(reader, (('link', description.links),))
    _check_unique(reader, (('joint', description.joints), ('loop', description.loops)))
    links = dict.fromkeys(link.name for link in description.links)
    for kind, group in (('joint', description.joints), ('loop', description.loops)):
        if kind == 'loop':
            links |= dict.fromkeys(coming)
        for each in group:
            for end in (each.parent, each.child):
                if end not in links:
                    raise NameNotFound(
                        'link', end, links, file=reader.label, where=reader.where(kind, each.name)
                    )
            if each.parent == each.child:
                raise DescriptionError(
                    f'it joins the link {each.child!r} with itself',
                    file=reader.label,
                    where=reader.where(kind, each.name),
                    repair='Name two different links.',
                )
    _check_one_parent(description, reader)
    _check_one_root(description, reader)


def check_references(description: Description, reader: Reader) -> None:
    """Couplings, springs, assemblies and actuators name joints and links that fit."""
    _check_unique(
        reader,
        (
            ('joint', description.joints),
            ('loop', description.loops),
            ('coupling', description.couplings),
        ),
    )
    _check_unique(reader, (('spring', description.springs),))
    _check_unique(reader, (('assembly', description.assemblies),))
    tree_joints = {joint.name: joint.type for joint in description.joints}
    everything = tree_joints | {loop.name: loop.type for loop in description.loops}
    links = dict.fromkeys(link.name for link in description.links)
    _check_rotors(description, reader)
    for coupling in description.couplings:
        where = reader.where('coupling', coupling.name)
        for term in coupling.terms:
            _need_one_dof(reader, term.joint, everything, where)
    for spring in description.springs:
        where = reader.where('spring', spring.name)
        if spring.type == 'torsional':
            _need_one_dof(reader, spring.joint, everything, where)
            continue
        if spring.type == 'spherical':
            _need_ball(reader, spring.joint, tree_joints, where)
        for term in spring.terms:
            _need_one_dof(reader, term.joint, tree_joints, where)
        for end in spring.links:
            if end not in links:
                raise NameNotFound('link', end, links, file=reader.label, where=where)
        if spring.type == 'linear' and spring.from_link == spring.to_link:
            raise DescriptionError(
                f'both ends are on the link {spring.to_link!r}',
                file=reader.label,
                where=where,
                repair='Name two different links.',
            )
    for assembly in description.assemblies:
        where = reader.where('assembly', assembly.name)
        for joint, value in assembly.positions:
            _need_position(reader, joint, value, tree_joints, where)
    for actuator in description.actuators:
        if actuator.joint not in everything:
            raise NameNotFound('joint', actuator.joint, everything, file=reader.label)
    free = [
        joint.name
        for joint in description.joints
        if joint.type in (JointType.REVOLUTE, JointType.PRISMATIC)
        and joint.limit.lower == -joint.limit.upper == float('-inf')
    ]
    if free:
        reader.note(
            f'These joints have no position limits in the file and get none: {some_of(free)}.'
        )


def _check_unique(reader: Reader, groups: tuple[tuple[str, Iterable[Any]], ...]) -> None:
    names = Counter(each.name for _, group in groups for each in group)
    for name, count in names.items():
        if not name:
            raise DescriptionError(
                f'a {groups[0][0]} has an empty name', file=reader.label, repair='Name it.'
            )
        if count > 1:
            places = [
                where for kind, group in groups for where in reader.places.get((kind, name), [])
            ]
            kinds = ' or '.join(kind for kind, _ in groups)
            raise DescriptionError(
                f'the name {name!r} is used {count} times for a {kinds}'
                + (f' (also at {places[0]})' if len(places) > 1 else ''),
                file=reader.label,
                where=places[-1] if places else f'<{groups[0][0]} name="{name}">',
                repair='Give each its own name.',
            )


def _check_one_parent(description: Description, reader: Reader) -> None:
    """Refuse a second parent, and write the constraint that says the same."""
    first: dict[str, Joint] = {}
    seen: Counter[str] = Counter()
    for joint in description.joints:
        which, seen[joint.name] = seen[joint.name], seen[joint.name] + 1
        other = first.setdefault(joint.child, joint)
        if other is not joint:
            raise DescriptionError(
                f'the link {joint.child!r} has two parents, through the joints {other.name!r} and '
                f'{joint.name!r}, which closes a loop',
                file=reader.label,
                where=reader.where('joint', joint.name, which),
                repair='Replace this joint by the loop joint ' + _as_constraint(joint),
            )


def _as_constraint(joint: Joint) -> str:
    kind = LOOP_OF_JOINT.get(joint.type, joint.type.value)
    axis = _spaced(joint.axis)
    return (
        f'<constraint name="{joint.name}" type="{kind}"> <parent link="{joint.parent}"/> '
        f'<parent_origin xyz="{_spaced(joint.origin.xyz)}" '
        f'rpy="{_spaced(joint.origin.rpy)}"/> <parent_axis xyz="{axis}"/> '
        f'<child link="{joint.child}"/> <child_origin xyz="0 0 0" rpy="0 0 0"/> '
        f'<child_axis xyz="{axis}"/> </constraint>'
    )


def _spaced(values: Iterable[float]) -> str:
    return ' '.join(f'{value:.17g}' for value in values)


def _check_one_root(description: Description, reader: Reader) -> None:
    above = Tree(description.joints).joint_above
    cyclic: list[str] = []
    rooted: set[str] = set()
    for link in description.links:
        walked: dict[str, None] = {}
        name = link.name
        while name in above and name not in rooted and name not in walked:
            walked[name] = None
            name = above[name].parent
        if name in walked:
            cyclic = list(walked)
            cyclic = cyclic[cyclic.index(name) :]
            break
        rooted.update(walked)
    if cyclic:
        closing = above[cyclic[0]]
        chain = ' -> '.join([*reversed(cyclic), cyclic[-1]])
        raise DescriptionError(
            f'the joints form a cycle, {chain}, which no root is connected to',
            file=reader.label,
            where=reader.where('joint', closing.name),
            repair='Turn one joint of the cycle into a <constraint>, and connect the rest to the '
            'root.',
        )
    roots = [link.name for link in description.links if link.name not in above]
    if len(roots) > 1:
        shown = some_of([repr(root) for root in roots])
        raise DescriptionError(
            f'there are {len(roots)} roots, links that no joint carries: {shown}',
            file=reader.label,
            where=reader.where('link', roots[1]),
            repair='Join them to one root, for example by a joint of type "fixed" or "floating".',
        )


def _check_rotors(description: Description, reader: Reader) -> None:
    """Rotors sit on loop joints with an axis; others would have nothing to turn them."""
    for loop in description.loops:
        if loop.dynamics.armature and loop.type in WITHOUT_AXIS:
            raise DescriptionError(
                f'a loop joint of type {loop.type.value!r} has no axis that turns a rotor',
                file=reader.label,
                where=reader.where('loop', loop.name),
                repair='Put <cc:rotor> on a joint that a motor drives.',
            )


def _need_one_dof(
    reader: Reader, name: str, types: Mapping[str, JointType | LoopType], where: str
) -> None:
    if name not in types:
        raise NameNotFound('joint', name, types, file=reader.label, where=where)
    if types[name] not in (*ONE_DOF, *ONE_DOF_LOOPS):
        raise DescriptionError(
            f'the joint {name!r} is {types[name].value} and has no single coordinate',
            file=reader.label,
            where=where,
            repair='Name a revolute, continuous or prismatic joint.',
        )


def _need_ball(reader: Reader, name: str, types: Mapping[str, JointType], where: str) -> None:
    if name not in types:
        raise NameNotFound('joint', name, types, file=reader.label, where=where)
    if types[name] not in (JointType.SPHERICAL, JointType.FLOATING):
        raise DescriptionError(
            f'the joint {name!r} is {types[name].value} and does not turn about all axes',
            file=reader.label,
            where=where,
            repair='Name a ball or a floating joint, or write type="torsional".',
        )


def _need_position(
    reader: Reader, name: str, value: float | Numbers, types: Mapping[str, JointType], where: str
) -> None:
    """Refuse a hint that is no position of its joint: too few numbers, or no rotation."""
    if name not in types:
        raise NameNotFound('joint', name, types, file=reader.label, where=where)
    kind, values = types[name], value if isinstance(value, tuple) else (value,)
    if kind is JointType.FIXED:
        raise DescriptionError(
            f'the joint {name!r} is fixed and has no position',
            file=reader.label,
            where=where,
            repair='Leave it out.',
        )
    if len(values) != kind.nq:
        raise DescriptionError(
            f'the joint {name!r} is {kind.value} and has {POSITIONS.get(kind, "one number")}, but '
            f'{len(values)} are given',
            file=reader.label,
            where=where,
            repair=f'Write value="{" ".join(NEUTRAL.get(kind, "0"))}", or its actual position.',
        )
    if kind in POSITIONS:
        length = math.hypot(*values[2:] if kind is JointType.PLANAR else values[-4:])
        if abs(length - 1.0) > UNIT_LENGTH:
            raise DescriptionError(
                f'the orientation of the joint {name!r} has length {length:.6g} instead of 1',
                file=reader.label,
                where=where,
                repair='Write a unit quaternion x y z w (of a planar joint: cos sin).',
            )
