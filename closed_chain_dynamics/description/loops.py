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

"""Loop joints: <constraint> of the own spelling and <loop> of URDF+."""

from typing import Any

import numpy as np

from closed_chain_dynamics.description.elements import Contact, LoopJoint, LoopType, Numbers, Pose
from closed_chain_dynamics.description.fields import Reader
from closed_chain_dynamics.description.joint_types import LOOP_TYPE_ALIASES
from closed_chain_dynamics.description.urdf import (
    read_dynamics,
    read_limit,
    read_limit_moment,
    read_role,
)
from closed_chain_dynamics.errors import nearest_names

__all__ = ['held_points', 'loop_type', 'read_loop', 'read_loop_type']

LOOPS_WITH_AXIS = (
    LoopType.REVOLUTE,
    LoopType.PRISMATIC,
    LoopType.CYLINDRICAL,
    LoopType.UNIVERSAL,
    LoopType.PLANAR,
    LoopType.SURFACE,
)
SECOND_POINT = 0.1  # how far along its axis a hinge is held a second time [m]
SURFACES = ('plane', 'sphere', 'cylinder')
COMMON_TAGS = {'limit', 'dynamics', 'cc:contact', 'cc:limit_moment', 'cc:rotor'}
CONSTRAINT_TAGS = {
    'parent',
    'parent_origin',
    'parent_axis',
    'child',
    'child_origin',
    'child_axis',
} | COMMON_TAGS
LOOP_TAGS = {'predecessor', 'successor', 'axis'} | COMMON_TAGS


def loop_type(text: str) -> LoopType | None:
    """Return the LoopType that a file means, or None; aliases and case do not matter."""
    text = text.strip().lower().removesuffix('_joint')  # as a fork of urdfdom writes them
    text = LOOP_TYPE_ALIASES.get(text, text)
    return next((each for each in LoopType if each.value == text), None)


def read_loop_type(reader: Reader, element: Any) -> LoopType:
    """Return the LoopType that the attribute `type` names."""
    text = reader.text(element, 'type')
    kind = loop_type(text)
    if kind is None:
        known = [each.value for each in LoopType] + sorted(LOOP_TYPE_ALIASES)
        raise reader.error(
            element, f'{text!r} is not a type of loop joint', nearest_names(text, known)
        )
    return kind


def read_loop(reader: Reader, element: Any) -> LoopJoint:
    """Read a <constraint> or a <loop>."""
    name = reader.text(element, 'name')
    reader.remember('loop', name, element)
    kind = read_loop_type(reader, element)
    ends = _ends_of_constraint if element.tag == 'constraint' else _ends_of_loop
    return LoopJoint(
        name,
        kind,
        **ends(reader, element, kind),
        active=reader.boolean(element, 'active', True),
        limit=read_limit(reader, element),
        dynamics=read_dynamics(reader, element),
        limit_moment=read_limit_moment(reader, element),
        role=read_role(reader, element),
        contact=_read_contact(reader, element),
    )


def _ends_of_constraint(reader: Reader, element: Any, kind: LoopType) -> dict[str, Any]:
    reader.ignore_unknown(element, CONSTRAINT_TAGS)
    ends: dict[str, Any] = {}
    axes: dict[str, Numbers] = {}
    for side in ('parent', 'child'):
        link = reader.child(element, side, required=True, example=f'<{side} link="..."/>')
        ends[side] = reader.text(link, 'link')
        ends[f'{side}_origin'] = reader.pose(reader.child(element, f'{side}_origin'))
        axis = reader.child(element, f'{side}_axis')
        if axis is not None and kind in LOOPS_WITH_AXIS:
            axes[f'{side}_axis'] = reader.axis(axis)
    return ends | _both_axes(reader, element, kind, axes)


def _ends_of_loop(reader: Reader, element: Any, kind: LoopType) -> dict[str, Any]:
    """Read the ends of a URDF+ loop; its one axis has the same numbers in both loop frames."""
    reader.ignore_unknown(element, LOOP_TAGS)
    ends: dict[str, Any] = {}
    axes: dict[str, Numbers] = {}
    for side, tag in (('parent', 'predecessor'), ('child', 'successor')):
        end = reader.child(element, tag, required=True, example=f'<{tag} link="..."/>')
        reader.ignore_unknown(end, {'origin'})
        ends[side] = reader.text(end, 'link')
        ends[f'{side}_origin'] = reader.pose(reader.child(end, 'origin'))
    axis = reader.child(element, 'axis')
    if axis is not None and kind in LOOPS_WITH_AXIS:
        axes['parent_axis'] = reader.axis(axis)
    return ends | _both_axes(reader, element, kind, axes)


def _both_axes(
    reader: Reader, element: Any, kind: LoopType, axes: dict[str, Numbers]
) -> dict[str, Numbers]:
    """Complete the axes: one that is not given has the numbers of the other."""
    if kind not in LOOPS_WITH_AXIS:
        return {}
    if kind is LoopType.UNIVERSAL and len(axes) < 2:
        raise reader.error(
            element,
            'a universal joint has two axes, one on each side',
            'Write a <constraint> with <parent_axis xyz="1 0 0"/> and <child_axis xyz="0 1 0"/>.',
        )
    contact = reader.child(element, 'cc:contact')  # it has a normal, only its wheel an axis
    if not axes and (contact is None or contact.get('wheel')):
        reader.note(
            f'The {kind.value} loop joint at {reader.place(element)} has no axis; '
            'z of both loop frames is taken.'
        )
    if not axes:
        return {}
    given = next(iter(axes.values()))
    return {'parent_axis': given, 'child_axis': given} | axes


def _read_contact(reader: Reader, element: Any) -> Contact | None:
    contact = reader.child(element, 'cc:contact')
    if contact is None:
        return None
    surface = contact.get('surface', 'plane')
    if surface not in SURFACES:
        raise reader.error(
            contact, f'surface is {surface!r}', f'Write one of {", ".join(SURFACES)}.'
        )
    values = {
        name: reader.number(contact, name, 0.0, least=0.0)
        for name in ('mu', 'radius', 'ball', 'wheel', 'restitution', 'stiffness', 'damping')
    }
    if surface != 'plane' and values['radius'] == 0.0:
        raise reader.error(contact, f'a {surface} needs a radius', 'Write radius="0.5".')
    if values['wheel'] > 0.0 and (surface != 'plane' or values['ball'] > 0.0):
        beside = surface if surface != 'plane' else 'ball'
        raise reader.error(
            contact,
            f'a wheel can only touch a plane, with its rim, and not a {beside}',
            'Write ball="0.1" for a sphere of that radius on any surface, or wheel="0.1" on a '
            'plane.',
        )
    if values['restitution'] > 1.0:
        raise reader.error(
            contact,
            f'restitution is {values["restitution"]:g}, which would create energy',
            'Write a number from 0 to 1.',
        )
    static = (
        None
        if contact.get('mu_static') is None
        else reader.number(contact, 'mu_static', least=0.0)
    )
    if static is not None and static < values['mu']:
        raise reader.error(
            contact,
            f'mu_static is {static:g}, less than mu = {values["mu"]:g}',
            'Static friction holds at least as much as sliding friction drags.',
        )
    return Contact(
        normal=reader.axis(contact, 'normal', (0.0, 0.0, 1.0)),
        unilateral=reader.boolean(contact, 'unilateral', True),
        mu_static=static,
        surface=surface,
        **values,
    )


def held_points(loop: LoopJoint) -> list[tuple[Pose, Pose]]:
    """
    Return frames of parent and child that coincide when the loop is closed.

    Formats that know points and welds alone hold a hinge at two points of its axis.
    """
    pairs = []
    for shift in (0.0, SECOND_POINT) if loop.type is LoopType.REVOLUTE else (0.0,):
        ends = []
        for pose, axis in (
            (loop.parent_origin, loop.parent_axis),
            (loop.child_origin, loop.child_axis),
        ):
            point = pose.position + shift * pose.rotation @ np.array(axis)
            ends.append(Pose(tuple(float(each) for each in point), pose.rpy))
        pairs.append((ends[0], ends[1]))
    return pairs
