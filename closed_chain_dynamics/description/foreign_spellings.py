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
Loops in the spellings of other tools, inside a URDF.

onshape-to-robot leaves pairs of frames `closing_<name>_1` and `closing_<name>_2`, and for a hinge
a second pair `..._1_z` and `..._2_z` further along its axis. Isaac Sim has <loop_joint> with the
two links and where the joint is on each. Drake has <drake:ball_constraint>, <drake:mimic>,
<drake:linear_spring_damper>, <drake:joint> for balls, and rotors inside <transmission>.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from closed_chain_dynamics.description.elements import (
    Joint,
    Link,
    LoopJoint,
    LoopType,
    Pose,
    Spring,
)
from closed_chain_dynamics.description.fields import Reader, shown_tag
from closed_chain_dynamics.description.loops import LOOPS_WITH_AXIS, read_loop_type
from closed_chain_dynamics.description.names import Names

__all__ = [
    'FOREIGN_TAGS',
    'closing_frames',
    'drake_child',
    'drake_joints',
    'drake_springs',
    'foreign_loops',
    'with_drake_rotors',
]

FOREIGN_TAGS = {'loop_joint', 'drake:ball_constraint', 'drake:joint', 'drake:linear_spring_damper'}
CLOSING = 'closing_'
SPELLED_JOINTS = ('joint', 'drake:joint')


def closing_frames(
    reader: Reader, links: Iterable[Link], loops: Iterable[LoopJoint]
) -> tuple[LoopJoint, ...]:
    """Return the loops that pairs of closing frames mean, unless the file itself joins them."""
    names = {link.name for link in links}
    joined = {frozenset((loop.parent, loop.child)) for loop in loops}
    taken, found, points = Names(loop.name for loop in loops), [], []
    for first in sorted(names):
        second = f'{first[:-2]}_2'
        if not (first.startswith(CLOSING) and first.endswith('_1')):
            continue
        if second not in names:
            reader.note(
                f'The frame {first!r} has no partner {second!r}: the loop that they would close '
                'stays open.'
            )
            continue
        if frozenset((first, second)) in joined:
            continue
        hinge = {f'{first}_z', f'{second}_z'} <= names
        kind = LoopType.REVOLUTE if hinge else LoopType.SPHERICAL
        name = taken.fresh(first[:-2])
        found.append(LoopJoint(name, kind, first, second))
        if not hinge:
            points.append(name)
    if points:
        reader.note(
            'Frames that close a loop do not say how; these are taken as ball joints: '
            f'{", ".join(points)}. A <constraint> between the two frames says it.'
        )
    return tuple(found)


def foreign_loops(reader: Reader, root: Any) -> tuple[LoopJoint, ...]:
    """Return the loops of <loop_joint> and <drake:ball_constraint>."""
    taken = Names(element.get('name', '') for element in root.iter('joint', 'constraint', 'loop'))
    found = [_loop_joint(reader, each) for each in root.findall('loop_joint')]
    for element in _drake(root, 'ball_constraint'):
        ends = [
            _drake_value(reader, element, 'ball_constraint', end, 'name')
            for end in ('body_A', 'body_B')
        ]
        points = [
            reader.numbers(
                _drake_part(reader, element, 'ball_constraint', point), 'value', count=3
            )
            for point in ('p_AP', 'p_BQ')
        ]
        name = taken.fresh(f'{ends[0]}_{ends[1]}')
        reader.remember('loop', name, element)
        found.append(
            LoopJoint(name, LoopType.SPHERICAL, ends[0], ends[1], Pose(points[0]), Pose(points[1]))
        )
    return tuple(found)


def _loop_joint(reader: Reader, element: Any) -> LoopJoint:
    """Read Isaac's <loop_joint>; its own page writes <link1> for both links."""
    name = reader.text(element, 'name')
    reader.remember('loop', name, element)
    kind = read_loop_type(reader, element)
    ends = [*element.iterchildren('link1', 'link2')]
    if len(ends) != 2:
        raise reader.error(
            element,
            f'a loop joint has two links, not {len(ends)}',
            'Write <link1 link="..." xyz="0 0 0" rpy="0 0 0"/> and <link2 .../>.',
        )
    if kind in LOOPS_WITH_AXIS:
        reader.note(
            f'The {kind.value} loop joint at {reader.place(element)} has no axis; '
            'z of both loop frames is taken.'
        )
    first, second = (reader.text(end, 'link') for end in ends)
    return LoopJoint(name, kind, first, second, reader.pose(ends[0]), reader.pose(ends[1]))


def drake_springs(reader: Reader, root: Any) -> tuple[Spring, ...]:
    """Return the springs of <drake:linear_spring_damper>."""
    tag, found, taken = 'linear_spring_damper', [], Names()
    for element in _drake(root, tag):
        ends = [_drake_value(reader, element, tag, end, 'name') for end in ('body_A', 'body_B')]
        points = [
            reader.numbers(_drake_part(reader, element, tag, point), 'value', count=3)
            for point in ('p_AP', 'p_BQ')
        ]
        rest, stiffness, damping = (
            reader.number(_drake_part(reader, element, tag, part), 'value', least=0.0)
            for part in ('free_length', 'stiffness', 'damping')
        )
        name = taken.fresh(f'{ends[0]}_{ends[1]}_spring')
        reader.remember('spring', name, element)
        found.append(
            Spring(
                name,
                'linear',
                stiffness,
                damping,
                rest,
                from_link=ends[0],
                from_xyz=points[0],
                to_link=ends[1],
                to_xyz=points[1],
            )
        )
    return tuple(found)


def with_drake_rotors(reader: Reader, root: Any, joints: Iterable[Joint]) -> tuple[Joint, ...]:
    """Return the joints with the rotors that <transmission> gives them in Drake's spelling."""
    armature: dict[str, float] = {}
    for transmission in root.findall('transmission'):
        for actuator in transmission.findall('actuator'):
            rotor, ratio = (drake_child(actuator, tag) for tag in ('rotor_inertia', 'gear_ratio'))
            if rotor is None:
                continue
            turns = 1.0 if ratio is None else reader.number(ratio, 'value')
            inertia = reader.number(rotor, 'value', least=0.0) * turns**2
            for joint in transmission.findall('joint'):
                armature[joint.get('name', '')] = inertia
    return tuple(
        replace(joint, dynamics=replace(joint.dynamics, armature=armature[joint.name]))
        if joint.name in armature and not joint.dynamics.armature
        else joint
        for joint in joints
    )


def drake_joints(root: Any) -> list[Any]:
    """Return <joint> and <drake:joint>, in the order of the file."""
    return [each for each in root.iterchildren('{*}*') if shown_tag(each) in SPELLED_JOINTS]


def drake_child(element: Any, tag: str) -> Any:
    """Return the first child <drake:tag>, or None."""
    return next(iter(_drake(element, tag)), None)


def _drake(element: Any, tag: str) -> list[Any]:
    return [each for each in element.iterchildren('{*}*') if shown_tag(each) == f'drake:{tag}']


def _drake_part(reader: Reader, element: Any, tag: str, part: str) -> Any:
    found = drake_child(element, f'{tag}_{part}')
    if found is None:
        raise reader.error(element, f'it has no <drake:{tag}_{part}>', 'Add it.')
    return found


def _drake_value(reader: Reader, element: Any, tag: str, part: str, attribute: str) -> str:
    return reader.text(_drake_part(reader, element, tag, part), attribute)
