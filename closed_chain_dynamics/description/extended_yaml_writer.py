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
A description as Extended URDF: a tree in robot.urdf, its loops and motors in robot.yaml.

Each end of a loop becomes a frame, a link without mass on a fixed joint; a hinge is held at two
points of its axis. What the dialect has no place for is told in the report.
"""

from dataclasses import replace

from closed_chain_dynamics.description.elements import (
    Description,
    Joint,
    JointType,
    Link,
    LoopType,
)
from closed_chain_dynamics.description.left_out import LeftOut
from closed_chain_dynamics.description.loops import held_points
from closed_chain_dynamics.description.names import Names
from closed_chain_dynamics.description.writer import to_xml

__all__ = ['to_extended']


def to_extended(description: Description) -> tuple[str, str, LeftOut]:
    """Return the text of the URDF, that of the YAML, and what is not in them."""
    import yaml  # only this dialect needs it

    left_out, links, joints = LeftOut(), list(description.links), list(description.joints)
    link_names = Names(link.name for link in links)
    joint_names = Names(joint.name for joint in joints)
    pairs: list[list[str]] = []
    types: list[str] = []
    for loop in description.loops:
        if loop.type not in (LoopType.FIXED, LoopType.SPHERICAL, LoopType.REVOLUTE):
            left_out.add(f'{loop.type.value} loops, which Extended URDF has not', loop.name)
            continue
        if not loop.active:
            left_out.add('loops that are open', loop.name)
            continue
        if not loop.only_closes:
            left_out.add('laws, limits, rotors and motors of loop joints', loop.name)
        if loop.type is LoopType.REVOLUTE:
            left_out.change('hinges of loops are two points on their axis', loop.name)
        for poses in held_points(loop):
            pair = []
            for end, link, place in zip('AB', (loop.parent, loop.child), poses):
                name = link_names.fresh(f'{loop.name}_{end}')
                links.append(Link(name))
                joints.append(
                    Joint(joint_names.fresh(f'{name}_frame'), JointType.FIXED, link, name, place)
                )
                pair.append(name)
            pairs.append(pair)
            types.append('6d' if loop.type is LoopType.FIXED else '3d')
    springs = []
    for spring in description.springs:
        if spring.joint and spring.joint not in joint_names.taken:
            left_out.add('springs on loop joints', spring.name)
        else:
            springs.append(spring)
    spherical = [joint.name for joint in joints if joint.type is JointType.SPHERICAL]
    motors = [actuator.joint for actuator in description.actuators]
    content = {
        'closed_loop': pairs,
        'type': types,
        'name_mot': [motor for motor in motors if motor in joint_names.taken],
        'joint_name': spherical,
        'joint_type': ['SPHERICAL'] * len(spherical),
    }
    tree = replace(
        description, links=tuple(links), joints=tuple(joints), loops=(), springs=tuple(springs)
    )
    return to_xml(tree), yaml.safe_dump(content, sort_keys=False), left_out
