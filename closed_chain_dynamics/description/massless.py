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
Joints that move no mass.

Nothing resists them, so that their acceleration has no bounds. Where a link at the end of a chain
has no mass, nor any force on it, the rest moves as if it were fixed there: such joints become
fixed, with a note. Loops, couplings and rotors bind a joint to what has mass. A joint that is
driven, or that a spring pulls, or that is all that the file has, is an error.
"""

from dataclasses import replace

from closed_chain_dynamics.description.elements import Description, Joint, JointType
from closed_chain_dynamics.description.fields import Reader, some_of
from closed_chain_dynamics.description.tree import Tree
from closed_chain_dynamics.errors import DescriptionError

__all__ = ['settle_massless']

PURE_TURNING = (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.SPHERICAL)


def settle_massless(
    description: Description, tree: Tree, reader: Reader, policy: str
) -> Description:
    """Return the description with joints that move no mass fixed, or refuse one that matters."""
    idle = _idle(description, tree, reader)
    if not idle or policy == 'trust':
        return description
    names = [joint.name for joint in idle]
    movable = [joint for joint in description.joints if joint.type is not JointType.FIXED]
    wanted = [joint for joint in idle if _has_force(joint, description, tree)]
    if policy != 'repair' and (wanted or len(idle) == len(movable)):
        joint = (wanted or idle)[0]
        raise DescriptionError(
            f'the joint {joint.name!r} moves the link {joint.child!r}, which has no mass and '
            'carries none',
            file=reader.label,
            where=reader.where('joint', joint.name),
            repair=f'Give {joint.child!r} an <inertial> with a mass, or make the joint fixed, or '
            "load it with inertia='repair', which does that.",
        )
    reader.note(
        f'These joints move no mass and were made fixed: {some_of(names)}. No other motion '
        "changes by this; inertia='trust' keeps them."
    )
    return _with_fixed(description, set(names))


def _has_force(joint: Joint, description: Description, tree: Tree) -> bool:
    """Return whether a motor or a spring acts on a joint, or on anything that it carries."""
    carried = [joint, *tree.outward(joint.child)]
    links = {each.child for each in carried}
    names = {each.name for each in carried}
    return any(each.joint in names for each in description.actuators) or any(
        not names.isdisjoint((spring.joint, *(term.joint for term in spring.terms)))
        or not links.isdisjoint(spring.links)
        for spring in description.springs
    )


def _idle(description: Description, tree: Tree, reader: Reader) -> list[Joint]:
    """Return the joints that move no mass and that nothing binds to others which do."""
    mass = {link.name: link.inertia.mass if link.inertia else 0.0 for link in description.links}
    rotary = {
        link.name: any(link.inertia.moments) if link.inertia else False
        for link in description.links
    }
    # Geared rotors are often written as pure rotary inertia, their mass counted elsewhere.
    rotors = [name for name in mass if rotary[name] and not mass[name]]
    if rotors:
        reader.note(f'These links have a moment of inertia but no mass: {some_of(rotors)}.')
    bound = {end for loop in description.loops for end in (loop.parent, loop.child)}
    for joint in reversed(tree.outward(description.root)):  # from the leaves to the root
        mass[joint.parent] += mass[joint.child]
        rotary[joint.parent] |= rotary[joint.child]
        if joint.child in bound:
            bound.add(joint.parent)
    idle = {
        joint.name
        for joint in description.joints
        if joint.type is not JointType.FIXED
        and not mass[joint.child]
        and not (joint.type in PURE_TURNING and rotary[joint.child])
        and joint.child not in bound
        and not joint.dynamics.armature
    }
    groups = [{term.joint for term in coupling.terms} for coupling in description.couplings]
    while tied := next((each for each in groups if idle & each and not each <= idle), None):
        idle -= tied  # something in the group has mass
    return [joint for joint in description.joints if joint.name in idle]


def _with_fixed(description: Description, names: set[str]) -> Description:
    """Return the description with some joints fixed, and nothing left that speaks of them."""
    return replace(
        description,
        joints=tuple(
            Joint(joint.name, JointType.FIXED, joint.parent, joint.child, joint.origin)
            if joint.name in names
            else joint
            for joint in description.joints
        ),
        couplings=tuple(
            coupling
            for coupling in description.couplings
            if names.isdisjoint(term.joint for term in coupling.terms)
        ),
        springs=tuple(
            spring
            for spring in description.springs
            if names.isdisjoint((spring.joint, *(term.joint for term in spring.terms)))
        ),
        actuators=tuple(each for each in description.actuators if each.joint not in names),
        assemblies=tuple(
            replace(
                assembly,
                positions=tuple(pair for pair in assembly.positions if pair[0] not in names),
            )
            for assembly in description.assemblies
        ),
    )
