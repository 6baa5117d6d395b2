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

"""What binds and drives the bodies of an MJCF file: equalities, tendons and motors."""

import math
from typing import Any

from lxml import etree

from closed_chain_dynamics.description.elements import (
    Coupling,
    Description,
    LoopJoint,
    LoopType,
    Pose,
    Waypoint,
)
from closed_chain_dynamics.description.left_out import LeftOut
from closed_chain_dynamics.description.loops import held_points
from closed_chain_dynamics.description.names import Names
from closed_chain_dynamics.description.rotations import quaternion_of
from closed_chain_dynamics.description.xml_elements import number_text

__all__ = ['add_laws']

# As stiff as MuJoCo's solver takes at its usual step: errors decay in 4 ms, 0.01 percent give.
STIFF_SOLVER: dict[str, Any] = {'solref': '0.004 1', 'solimp': '0.9999 0.9999 0.001 0.5 2'}


def add_laws(
    root: Any,
    description: Description,
    bodies: dict[str, Any],
    joints: dict[str, Any],
    left_out: LeftOut,
) -> None:
    """Add <tendon>, <equality> and <actuator>."""
    tendons, equalities = etree.Element('tendon'), etree.Element('equality')
    names = Names()
    for loop in description.loops:
        _add_loop(equalities, loop, bodies, names, left_out)
    for coupling in description.couplings:
        _add_coupling(equalities, tendons, coupling, left_out)
    for spring in description.springs:
        if spring.type in ('torsional', 'spherical'):
            if spring.joint not in joints:
                left_out.add('springs on loop joints', spring.name)
            continue
        tendon = etree.SubElement(
            tendons,
            'fixed' if spring.terms else 'spatial',
            name=spring.name,
            stiffness=number_text(spring.stiffness),
            damping=number_text(spring.damping),
            springlength=number_text((spring.rest, spring.rest + spring.slack)),
            armature=number_text(spring.armature),
        )
        for term in spring.terms:
            coef = number_text(term.coefficients[0])
            etree.SubElement(tendon, 'joint', joint=term.joint, coef=coef)
        path = spring.path
        if spring.type == 'linear':
            ends = (spring.from_link, spring.from_xyz), (spring.to_link, spring.to_xyz)
            path = tuple(Waypoint(link, Pose(xyz)) for link, xyz in ends)
        for point in path:
            _add_waypoint(tendon, point, bodies, names)
    for group in (tendons, equalities, _motors(description, joints, left_out)):
        if len(group):
            root.append(group)


def _add_waypoint(tendon: Any, point: Waypoint, bodies: dict[str, Any], names: Names) -> None:
    """Add a site to the path of a tendon, or a geom without mass that it wraps around."""
    if point.begins:
        etree.SubElement(tendon, 'pulley', divisor=number_text(point.divisor))
    wanted = tendon.get('name')
    if not point.shape:
        site = _site(bodies[point.link], names, wanted, point.origin)
        etree.SubElement(tendon, 'site', site=site)
        return
    geom = names.fresh(wanted)
    etree.SubElement(
        bodies[point.link],
        'geom',
        name=geom,
        type=point.shape,
        size=number_text((point.radius, point.radius)),
        pos=number_text(point.origin.xyz),
        quat=number_text(quaternion_of(point.origin.rotation)),
        mass='0',
        contype='0',
        conaffinity='0',
    )
    wrapped = etree.SubElement(tendon, 'geom', geom=geom)
    if point.side:
        link, xyz = point.side
        wrapped.set('sidesite', _site(bodies[link], names, wanted, Pose(xyz)))


def _site(body: Any, names: Names, wanted: str, pose: Pose) -> str:
    name = names.fresh(wanted)
    etree.SubElement(
        body,
        'site',
        name=name,
        pos=number_text(pose.xyz),
        quat=number_text(quaternion_of(pose.rotation)),
    )
    return name


def _add_loop(
    equalities: Any, loop: LoopJoint, bodies: dict[str, Any], names: Names, left_out: LeftOut
) -> None:
    tag = {
        LoopType.FIXED: 'weld',
        LoopType.SPHERICAL: 'connect',
        LoopType.REVOLUTE: 'connect',
    }.get(loop.type)
    if tag is None:
        left_out.add(f'{loop.type.value} loops, which MJCF does not have', loop.name)
        return
    if not loop.only_closes:
        left_out.add('laws, limits, rotors and motors of loop joints', loop.name)
    for count, poses in enumerate(held_points(loop)):
        sites = [
            _site(bodies[link], names, loop.name, pose)
            for link, pose in zip((loop.parent, loop.child), poses)
        ]
        etree.SubElement(
            equalities,
            tag,
            name=loop.name if count == 0 else f'{loop.name}_axis',
            site1=sites[0],
            site2=sites[1],
            active='true' if loop.active else 'false',
            **STIFF_SOLVER,
        )


def _add_coupling(equalities: Any, tendons: Any, coupling: Coupling, left_out: LeftOut) -> None:
    """Write a polynomial of one joint over another, or a sum of joints as a held tendon."""
    common: dict[str, Any] = {
        'name': coupling.name,
        'active': 'true' if coupling.active else 'false',
        **STIFF_SOLVER,
    }
    straight = [term for term in coupling.terms if len(term.coefficients) == 1]
    curved = [term for term in coupling.terms if len(term.coefficients) > 1]
    if len(coupling.terms) <= 2 and straight:
        first = straight[0]
        others = [term for term in coupling.terms if term is not first]
        scale = -1.0 / first.coefficients[0]
        powers = [each * scale for each in others[0].coefficients] if others else [0.0]
        values = [coupling.constant * scale, *powers, 0.0, 0.0, 0.0, 0.0][:5]
        element = etree.SubElement(
            equalities, 'joint', joint1=first.joint, polycoef=number_text(values), **common
        )
        if others:
            element.set('joint2', others[0].joint)
    elif not curved:
        tendon = etree.SubElement(tendons, 'fixed', name=coupling.name)
        for term in straight:
            etree.SubElement(
                tendon, 'joint', joint=term.joint, coef=number_text(term.coefficients[0])
            )
        values = [-coupling.constant, 0.0, 0.0, 0.0, 0.0]
        etree.SubElement(
            equalities, 'tendon', tendon1=coupling.name, polycoef=number_text(values), **common
        )
    else:
        left_out.add('couplings of several curved terms', coupling.name)


def _motors(description: Description, joints: dict[str, Any], left_out: LeftOut) -> Any:
    group = etree.Element('actuator')
    efforts = {joint.name: joint.limit.effort for joint in description.joints}
    for actuator in description.actuators:
        if actuator.joint not in joints:
            continue  # told with its loop
        if joints[actuator.joint].get('type') not in ('hinge', 'slide'):
            left_out.add('motors of joints with several coordinates', actuator.joint)
            continue
        motor = etree.SubElement(group, 'motor', name=actuator.joint, joint=actuator.joint)
        effort = efforts[actuator.joint]
        if math.isfinite(effort):
            motor.set('ctrlrange', number_text((-effort, effort)))
    return group
