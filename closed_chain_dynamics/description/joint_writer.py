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

"""Joints, loops, couplings and springs in the own spelling; the rest is in writer.py."""

from dataclasses import astuple
import math
from typing import Any

from closed_chain_dynamics.description.elements import (
    Contact,
    Coupling,
    Description,
    Joint,
    JointType,
    Limit,
    LoopJoint,
    Spring,
    Waypoint,
)
from closed_chain_dynamics.description.fields import UNLIMITED
from closed_chain_dynamics.description.loops import LOOPS_WITH_AXIS
from closed_chain_dynamics.description.urdf import JOINTS_WITH_AXIS
from closed_chain_dynamics.description.xml_elements import add, add_pose

__all__ = ['leading_mimics', 'write_coupling', 'write_joint', 'write_loop', 'write_spring']

# attributes of a contact that are written where they are not the usual ones
CONTACT_EXTRAS = (
    'mu_static',
    'surface',
    'radius',
    'ball',
    'wheel',
    'restitution',
    'stiffness',
    'damping',
)


def write_joint(root: Any, joint: Joint, mimic: Coupling | None) -> None:
    """Write a joint of the tree, with the coupling that makes it a mimic."""
    spherical = joint.type is JointType.SPHERICAL
    element = add(
        root,
        'joint',
        name=joint.name,
        type='floating' if spherical else joint.type.value,
        cc_type='spherical' if spherical else None,
        cc_role=joint.role or None,
        independent=joint.independent,
    )
    add_pose(element, 'origin', joint.origin)
    add(element, 'parent', link=joint.parent)
    add(element, 'child', link=joint.child)
    if joint.type in JOINTS_WITH_AXIS:
        add(element, 'axis', xyz=joint.axis)
    # urdfdom refuses a revolute or prismatic joint without <limit>.
    _write_behaviour(
        element, joint, needs_limit=joint.type in (JointType.REVOLUTE, JointType.PRISMATIC)
    )
    if mimic is not None:
        leader = mimic.terms[1]
        add(
            element,
            'mimic',
            joint=leader.joint,
            multiplier=0.0 - leader.coefficients[0],
            offset=0.0 - mimic.constant,
        )


def _write_behaviour(element: Any, joint: Joint | LoopJoint, *, needs_limit: bool = False) -> None:
    """Write what tree joints and loop joints have in common: limit, dynamics, limit moment."""
    limit = joint.limit
    if needs_limit or limit != Limit():
        add(
            element,
            'limit',
            lower=_finite(limit.lower),
            upper=_finite(limit.upper),
            effort=min(limit.effort, UNLIMITED),
            velocity=min(limit.velocity, UNLIMITED),
            cc_restitution=limit.restitution or None,
        )
    damping, friction, armature = astuple(joint.dynamics)
    if damping or friction:
        add(element, 'dynamics', damping=damping, friction=friction)
    if armature:
        add(element, 'cc:rotor', inertia=armature)
    moment = joint.limit_moment
    if moment is not None:
        add(
            element,
            'cc:limit_moment',
            model=moment.model,
            stiffness=moment.stiffness,
            damping=moment.damping,
            transition=moment.transition,
        )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def write_loop(root: Any, loop: LoopJoint) -> None:
    """Write a joint that closes a loop."""
    element = add(
        root,
        'constraint',
        name=loop.name,
        type=loop.type.value,
        active=loop.active,
        cc_role=loop.role or None,
    )
    for side in ('parent', 'child'):
        add(element, side, link=getattr(loop, side))
        add_pose(element, f'{side}_origin', getattr(loop, f'{side}_origin'))
        if loop.type in LOOPS_WITH_AXIS:
            add(element, f'{side}_axis', xyz=getattr(loop, f'{side}_axis'))
    _write_behaviour(element, loop)
    if loop.contact is not None:
        contact = loop.contact
        extras = {
            name: getattr(contact, name)
            for name in CONTACT_EXTRAS
            if getattr(contact, name) != getattr(Contact, name)
        }
        add(
            element,
            'cc:contact',
            normal=contact.normal,
            unilateral=contact.unilateral,
            mu=contact.mu,
            **extras,
        )


def leading_mimics(description: Description) -> dict[str, Coupling]:
    """
    Return the couplings to write as <mimic>, by joint.

    Reading lists mimics first, in the order of the joints; only couplings that already stand so
    come back in their place.
    """
    order = {joint.name: index for index, joint in enumerate(description.joints)}
    mimics: dict[str, Coupling] = {}
    last = -1
    for coupling in description.couplings:
        follower = coupling.terms[0].joint if coupling.terms else ''
        if not (
            len(coupling.terms) == 2
            and coupling.name == f'{follower}_mimic'
            and coupling.terms[0].coefficients == (1.0,)
            and len(coupling.terms[1].coefficients) == 1
            and coupling.terms[1].joint != follower
            and coupling.active
            and not coupling.successor
            and order.get(follower, -1) > last
        ):
            break
        mimics[follower], last = coupling, order[follower]
    return mimics


def write_coupling(root: Any, coupling: Coupling) -> None:
    """Write a coupling that is no mimic."""
    element = add(root, 'coupling', name=coupling.name, active=None if coupling.active else False)
    if coupling.successor:
        for tag in ('predecessor', 'successor', 'carrier'):
            add(element, tag, link=getattr(coupling, tag))
        add(element, 'ratio', value=coupling.ratio)
        add(element, 'offset', value=coupling.offset)
        return
    for term in coupling.terms:
        add(element, 'cc:term', joint=term.joint, coefficients=term.coefficients)
    add(element, 'offset', value=0.0 - coupling.constant)


def write_spring(root: Any, spring: Spring) -> None:
    """Write a spring."""
    linear = spring.type == 'linear'
    element = add(
        root, 'cc:spring', name=spring.name, type=spring.type, joint=spring.joint or None
    )
    if linear:
        add(element, 'cc:from', link=spring.from_link, xyz=spring.from_xyz)
        add(element, 'cc:to', link=spring.to_link, xyz=spring.to_xyz)
    for term in spring.terms:
        add(element, 'cc:term', joint=term.joint, coefficients=term.coefficients)
    for point in spring.path:
        if point.begins:
            add(element, 'cc:pulley', divisor=point.divisor)
        _write_waypoint(element, point)
    if spring.type == 'spherical':
        rest: dict[str, Any] = {'rest_turn': spring.rest_turn}
    else:
        rest = {'rest_angle' if spring.joint else 'rest_length': spring.rest}
    add(
        element,
        'cc:law',
        stiffness=spring.stiffness,
        damping=spring.damping,
        **rest,
        slack=spring.slack or None,
        armature=spring.armature or None,
    )


def _write_waypoint(spring: Any, point: Waypoint) -> None:
    """Write a point of a path, or a shape that it may wrap around."""
    xyz, rpy = point.origin.xyz, point.origin.rpy
    if not point.shape:
        add(spring, 'cc:point', link=point.link, xyz=xyz)
        return
    element = add(
        spring,
        'cc:wrap',
        link=point.link,
        shape=point.shape,
        radius=point.radius,
        xyz=xyz,
        rpy=rpy,
    )
    if point.side:
        add(element, 'cc:side', link=point.side[0], xyz=point.side[1])
