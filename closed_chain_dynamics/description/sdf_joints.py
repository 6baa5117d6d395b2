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
Joints of an SDF model, and those inside <gazebo>: as joints of a tree, or as loops where cut.

A universal joint and a revolute2 are two turns about axes of their own, a screw a turn and a slide
that are coupled, a gearbox an equation between two turns.
"""

from dataclasses import dataclass, replace
import math
from typing import Any

import numpy as np

from closed_chain_dynamics.description.elements import (
    Coupling,
    CouplingTerm,
    Dynamics,
    Joint,
    JointType,
    Limit,
    Link,
    LoopJoint,
    LoopType,
    Spring,
)
from closed_chain_dynamics.description.fields import Reader, unit_vector
from closed_chain_dynamics.description.names import Names
from closed_chain_dynamics.description.rotations import pose_of
from closed_chain_dynamics.description.sdf_frames import Offset, SdfFrames, child_name, relative
from closed_chain_dynamics.errors import nearest_names

__all__ = ['Hung', 'SdfAxis', 'SdfJoint', 'as_loop', 'hang', 'read_sdf_joint']

UNBOUNDED = 1e15  # SDF writes 1e16 for a limit that is none
TYPES = (
    'revolute',
    'continuous',
    'prismatic',
    'ball',
    'fixed',
    'universal',
    'revolute2',
    'screw',
    'gearbox',
)
LOOPS_FROM_SDF = {
    'revolute': LoopType.REVOLUTE,
    'continuous': LoopType.REVOLUTE,
    'prismatic': LoopType.PRISMATIC,
    'ball': LoopType.SPHERICAL,
    'fixed': LoopType.FIXED,
    'universal': LoopType.UNIVERSAL,
}


@dataclass(frozen=True, eq=False)
class SdfAxis:
    """One axis of a joint: a direction in the world at zero, and what acts along it."""

    direction: np.ndarray
    limit: Limit = Limit()
    dynamics: Dynamics = Dynamics()
    stiffness: float = 0.0
    rest: float = 0.0


@dataclass(frozen=True, eq=False)  # arrays have no single truth: one joint is itself alone
class SdfJoint:
    """A joint between two links, in the world at zero."""

    name: str
    kind: str
    parent: str
    child: str
    place: Offset
    axes: tuple[SdfAxis, ...]
    element: Any

    def value(self, reader: Reader, tag: str, default: float) -> float:
        """Return the number that a child element holds."""
        found = self.element.find(tag)
        return default if found is None else float(reader.content(found, count=1)[0])


@dataclass
class Hung:
    """What a joint of the tree becomes."""

    joints: list[Joint]
    links: list[Link]
    springs: list[Spring]
    couplings: list[Coupling]


def read_sdf_joint(reader: Reader, element: Any, frames: SdfFrames) -> SdfJoint:
    """Read a <joint>."""
    name, kind = reader.text(element, 'name'), reader.text(element, 'type')
    reader.remember('joint', name, element)
    if kind not in TYPES:
        raise reader.error(element, f'{kind!r} is not a type of joint', nearest_names(kind, TYPES))
    parent, child = (
        frames.link_of(child_name(reader, element, tag), element) for tag in ('parent', 'child')
    )
    place = frames.of_element(element)
    axes = [
        _axis(reader, each, frames, place, parent, element)
        for each in (element.find('axis'), element.find('axis2'))
        if each is not None
    ]
    needed = {'universal': 2, 'revolute2': 2, 'gearbox': 2, 'ball': 0, 'fixed': 0}.get(kind, 1)
    if needed == 1 and not axes:
        reader.note(f'The {kind} joint {name!r} has no axis; SDF means z.')
        axes = [SdfAxis(place[0][:, 2])]
    if len(axes) < needed:
        raise reader.error(
            element,
            f'a {kind} joint has {needed} axes, but {len(axes)} are given',
            'Write <axis><xyz>0 0 1</xyz></axis>, and <axis2> for a second.',
        )
    return SdfJoint(name, kind, parent, child, place, tuple(axes[:needed]), element)


def _axis(
    reader: Reader, axis: Any, frames: SdfFrames, place: Offset, parent: str, joint: Any
) -> SdfAxis:
    xyz = axis.find('xyz')
    raw = (0.0, 0.0, 1.0) if xyz is None else reader.content(xyz, count=3)
    direction = unit_vector(raw)
    if direction is None:
        raise reader.error(axis, 'xyz is a zero vector, which has no direction', 'Correct xyz.')
    R = place[0]
    if xyz is not None and xyz.get('expressed_in'):
        R = frames.of(xyz.get('expressed_in'), joint)[0]
    elif (axis.findtext('use_parent_model_frame') or '').strip() in ('1', 'true'):
        R = frames.of('__model__', joint)[0]
    limit, dynamics = axis.find('limit'), axis.find('dynamics')

    def number(group: Any, tag: str, default: float) -> float:
        found = None if group is None else group.find(tag)
        if found is None or (found.text or '').strip().lstrip('+-') == 'inf':
            return default
        return float(reader.content(found, count=1)[0])

    lower, upper = number(limit, 'lower', -math.inf), number(limit, 'upper', math.inf)
    effort, velocity = (number(limit, tag, math.inf) for tag in ('effort', 'velocity'))
    return SdfAxis(
        R @ np.array(direction),
        Limit(
            lower if lower > -UNBOUNDED else -math.inf,
            upper if upper < UNBOUNDED else math.inf,
            effort if 0.0 <= effort < UNBOUNDED else math.inf,  # negative means none
            velocity if 0.0 <= velocity < UNBOUNDED else math.inf,
        ),
        Dynamics(number(dynamics, 'damping', 0.0), number(dynamics, 'friction', 0.0)),
        number(dynamics, 'spring_stiffness', 0.0),
        number(dynamics, 'spring_reference', 0.0),
    )


def hang(
    reader: Reader, joint: SdfJoint, frames: SdfFrames, names: tuple[Names, Names], *, turned: bool
) -> Hung:
    """
    Return a joint as one or several of the tree; `names` are those of links and of joints.

    A joint that is `turned` carries its parent, and its axes count the other way.
    """
    parent, child = (joint.child, joint.parent) if turned else (joint.parent, joint.child)
    link_names, joint_names = names
    steps: list[tuple[str, JointType, SdfAxis | None]] = []
    axes = list(reversed(joint.axes)) if turned else list(joint.axes)
    if joint.kind in ('ball', 'fixed'):
        kind = JointType.SPHERICAL if joint.kind == 'ball' else JointType.FIXED
        steps.append((joint.name, kind, None))
    elif joint.kind == 'screw':
        steps.append((joint.name, JointType.CONTINUOUS, axes[0]))
        slide = SdfAxis(axes[0].direction)
        steps.append((joint_names.fresh(f'{joint.name}_slide'), JointType.PRISMATIC, slide))
    elif joint.kind == 'prismatic':
        steps.append((joint.name, JointType.PRISMATIC, axes[0]))
    else:
        for number, each in enumerate(axes, start=1):
            name = joint.name if len(axes) == 1 else joint_names.fresh(f'{joint.name}_{number}')
            steps.append((name, JointType.REVOLUTE, each))
    hung = Hung([], [], [], [])
    R_child, p_child = frames.of(child, joint.element)
    here: Offset = frames.of(parent, joint.element)
    anchor: Offset = (R_child, joint.place[1])  # the child's axes, at the joint
    away = bool(np.any(np.abs(joint.place[1] - p_child) > 0.0)) and steps[-1][1] is not (
        JointType.FIXED
    )
    for count, (name, kind, axis) in enumerate(steps, start=1):
        last = count == len(steps)
        end = child if last and not away else link_names.fresh(f'{name}_frame')
        if end != child:
            hung.links.append(Link(end))
        place = (R_child, p_child) if kind is JointType.FIXED else anchor
        made = Joint(name, kind, parent, end, pose_of(*relative(here, place)))
        if axis is not None:
            made = _along(made, axis, R_child, turned)
            if axis.stiffness:
                hung.springs.append(
                    Spring(
                        f'{name}_spring', 'torsional', axis.stiffness, joint=name, rest=axis.rest
                    )
                )
        hung.joints.append(made)
        parent, here = end, anchor
    if away:
        fixed = joint_names.fresh(f'{child}_fixed')
        offset = pose_of(*relative(anchor, (R_child, p_child)))
        hung.joints.append(Joint(fixed, JointType.FIXED, parent, child, offset))
    if joint.kind == 'screw':
        hung.couplings.append(_thread(reader, joint, steps, joint_names))
    return hung


def _along(joint: Joint, axis: SdfAxis, R_child: np.ndarray, turned: bool) -> Joint:
    """Return the joint with its axis in its own frame, and what acts along it."""
    direction = R_child.T @ axis.direction * (-1.0 if turned else 1.0)
    free = not math.isfinite(axis.limit.lower) and not math.isfinite(axis.limit.upper)
    if joint.type is JointType.REVOLUTE and free:
        joint = replace(joint, type=JointType.CONTINUOUS)
    vector = tuple(float(each) + 0.0 for each in direction)
    return replace(joint, axis=vector, limit=axis.limit, dynamics=axis.dynamics)


def _thread(
    reader: Reader, joint: SdfJoint, steps: list[tuple[str, JointType, Any]], names: Names
) -> Coupling:
    """Return slide = pitch / (2 pi) turn; the older tag counts turns per metre, negative."""
    pitch = joint.value(reader, 'screw_thread_pitch', 0.0)
    old = joint.value(reader, 'thread_pitch', 0.0)
    if not pitch and not old:
        reader.note(f'The screw {joint.name!r} has no pitch; SDF means 1 m per turn.')
        pitch = 1.0
    per_radian = pitch / (2.0 * math.pi) if pitch else -1.0 / old
    return Coupling(
        names.fresh(f'{joint.name}_thread'),
        (CouplingTerm(steps[1][0], (1.0,)), CouplingTerm(steps[0][0], (-per_radian,))),
    )


def as_loop(reader: Reader, joint: SdfJoint, frames: SdfFrames) -> LoopJoint:
    """Return a joint that is cut as a loop joint, closed at zero."""
    kind = LOOPS_FROM_SDF.get(joint.kind)
    if joint.kind == 'revolute2' and abs(joint.axes[0].direction @ joint.axes[1].direction) < 1e-9:
        kind = LoopType.UNIVERSAL  # of which the axes are at right angles
    if kind is None:
        raise reader.error(
            joint.element,
            f'a {joint.kind} joint cannot close a loop',
            'Name another joint of the loop with cut=[...].',
        )
    ends = [
        pose_of(*relative(frames.of(link, joint.element), joint.place))
        for link in (joint.parent, joint.child)
    ]
    axes = [joint.place[0].T @ axis.direction for axis in joint.axes] or [np.array([0.0, 0, 1])]
    vectors = [tuple(float(each) + 0.0 for each in axis) for axis in (axes[0], axes[-1])]
    single = joint.axes[0] if len(joint.axes) == 1 else SdfAxis(axes[0])
    return LoopJoint(
        joint.name,
        kind,
        joint.parent,
        joint.child,
        ends[0],
        ends[1],
        vectors[0],
        vectors[1],
        limit=single.limit,
        dynamics=single.dynamics,
    )
