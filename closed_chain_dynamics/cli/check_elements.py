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

"""Elements of a description as ``closed-chain check`` reports them: plain values."""

from collections.abc import Set
import math

from closed_chain_dynamics.description.elements import (
    Coupling,
    Description,
    Joint,
    Link,
    LoopJoint,
    Spring,
    Waypoint,
)
from closed_chain_dynamics.description.inertia_checks import is_possible
from closed_chain_dynamics.recording.terminal import Report, number

__all__ = ['coupling_record', 'joint_record', 'link_record', 'loop_record', 'spring_record']

OPTIONAL = ('slack', 'armature')  # what few springs have


def link_record(link: Link, model: Description) -> Report:
    """Return a link."""
    inertia = link.inertia
    return {
        'name': link.name,
        'parent_joint': next(
            (joint.name for joint in model.joints if joint.child == link.name), None
        ),
        'mass': inertia.mass if inertia else 0.0,
        'center_of_mass': list(inertia.origin.xyz) if inertia else None,
        # about the centre of mass, in the axes of the link
        'inertia': inertia.tensor.tolist() if inertia else None,
        'possible': inertia is None or is_possible(inertia),  # for a rigid body
    }


def joint_record(joint: Joint, actuated: Set[str]) -> Report:
    """Return a joint of the tree."""
    return {
        'name': joint.name,
        'type': joint.type.value,
        'parent': joint.parent,
        'child': joint.child,
        'nv': joint.type.nv,
        'axis': list(joint.axis),
        'role': _role(joint, actuated),
        'independent': joint.independent,
        **_passive_properties(joint),
    }


def loop_record(loop: LoopJoint, actuated: Set[str]) -> Report:
    """Return a joint that closes a loop."""
    contact = loop.contact
    return {
        'name': loop.name,
        'type': loop.type.value,
        'rows': loop.type.rows,
        'active': loop.active,
        'parent': loop.parent,
        'child': loop.child,
        'role': _role(loop, actuated),
        **_passive_properties(loop),
        'contact': contact
        and {'normal': list(contact.normal), 'unilateral': contact.unilateral, 'mu': contact.mu},
    }


def _role(joint: Joint | LoopJoint, actuated: Set[str]) -> str:
    return 'actuated' if joint.name in actuated else 'passive'


def _passive_properties(joint: Joint | LoopJoint) -> Report:
    """Return limits, damping, friction and limit moment of a tree or loop joint."""
    limit, moment = joint.limit, joint.limit_moment
    return {
        # JSON knows no infinity: null is "no limit"
        'limit': {
            key: value if math.isfinite(value) else None for key, value in vars(limit).items()
        },
        'dynamics': dict(vars(joint.dynamics)),
        'limit_moment': moment and dict(vars(moment)),
        'end_of_range': _end_of_range(joint),
    }


def _end_of_range(joint: Joint | LoopJoint) -> str | None:
    """Return what a joint meets at the ends of its range in a simulation, or None."""
    limit, moment = joint.limit, joint.limit_moment
    if not (math.isfinite(limit.lower) or math.isfinite(limit.upper)):
        return None
    return 'limit moment' if moment and (moment.stiffness or moment.damping) else 'stop'


def coupling_record(coupling: Coupling) -> Report:
    """Return a coupling, with its equation."""
    return {
        'name': coupling.name,
        'rows': 1,
        'active': coupling.active,
        'terms': [
            {'joint': term.joint, 'coefficients': list(term.coefficients)}
            for term in coupling.terms
        ],
        'constant': coupling.constant,
        'equation': _equation(coupling),
        'predecessor': coupling.predecessor or None,
        'successor': coupling.successor or None,
        'carrier': coupling.carrier or None,
    }


def _equation(coupling: Coupling) -> str:
    """Write a coupling as people do, for instance 'rotor - 6 crank + 0.1 = 0'."""
    parts = [
        (value, term.joint if power == 1 else f'{term.joint}^{power}')
        for term in coupling.terms
        for power, value in enumerate(term.coefficients, start=1)
        if value
    ]
    parts += [(coupling.constant, '')] if coupling.constant or not parts else []
    text = ''
    for value, name in parts:
        size = '' if abs(value) == 1 and name else number(abs(value))
        sign = ('-' if value < 0 else '') if not text else (' - ' if value < 0 else ' + ')
        text += sign + ' '.join(filter(None, (size, name)))
    return f'{text} = 0'


def spring_record(spring: Spring) -> Report:
    """Return a spring."""
    ends: Report = {
        'from': {'link': spring.from_link, 'xyz': list(spring.from_xyz)},
        'to': {'link': spring.to_link, 'xyz': list(spring.to_xyz)},
    }
    if spring.joint:
        ends = {'joint': spring.joint}
        if spring.type == 'spherical':
            ends['rest_turn'] = list(spring.rest_turn)
    elif spring.path:
        ends = {'path': list(map(_waypoint_record, spring.path))}
    elif spring.terms:
        ends = {'terms': {term.joint: term.coefficients[0] for term in spring.terms}}
    return {
        'name': spring.name,
        'type': spring.type,
        'stiffness': spring.stiffness,
        'damping': spring.damping,
        'rest': spring.rest,
        **{key: value for key in OPTIONAL if (value := getattr(spring, key))},
        **ends,
    }


def _waypoint_record(point: Waypoint) -> Report:
    """Return a point of a path, or a shape that it may wrap around."""
    record: Report = {'link': point.link, 'xyz': list(point.origin.xyz)}
    if point.shape:
        record |= {'shape': point.shape, 'radius': point.radius}
    if point.divisor != 1.0:
        record['divisor'] = point.divisor
    return record
