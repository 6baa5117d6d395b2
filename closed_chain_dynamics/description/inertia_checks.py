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
Masses and inertias that a rigid body can have.

The principal moments A <= B <= C of any body satisfy A >= 0 and C <= A + B. Published robots break
the second rule in three ways that a user can live with, and get a note: by the last digits that
were written; in planar models, where the wrong moment never enters the dynamics; and in moments
that were identified and miss the rule by a little. All these are taken as they are, as other tools
take them. A moment that misses zero by its last digits is repaired. Anything else is an error,
unless the caller asks to repair it or to trust it.
"""

from dataclasses import replace
from decimal import Decimal

import numpy as np

from closed_chain_dynamics.description.elements import (
    Description,
    Inertia,
    Joint,
    JointType,
    Link,
    Pose,
)
from closed_chain_dynamics.description.fields import Reader, some_of
from closed_chain_dynamics.description.rotations import upper_triangle
from closed_chain_dynamics.description.tree import PARALLEL, Tree, turning_axis
from closed_chain_dynamics.errors import DescriptionError

__all__ = ['POLICIES', 'settle_inertias']

POLICIES = ('check', 'repair', 'trust')
PURE_TURNING = (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.SPHERICAL)
TRIANGLE_TOLERANCE = 1e-6  # relative; files round to six or seven digits
ROUNDING = 1e-4  # relative; files that round to four digits are repaired
LAST_DIGITS = 1.5  # half a unit of the last written digit for each of the three moments
NEGLIGIBLE = 1e-15  # moments of a speck of dust [kg m^2]; less is noise of a computation
TRIANGLE_LIMIT = 0.3  # what identified moments of real robots were seen to miss it by
NEGATIVE_TOLERANCE = 1e-9  # of the largest moment; what an eigenvalue solver may leave
NOTES = {
    'rounded': 'A moment of inertia of these links is below zero by its last digits; repaired: ',
    'repaired': 'No rigid body has the moments of inertia of these links; repaired as was asked: ',
    'trusted': 'No rigid body has the moments of inertia of these links; trusted as was asked: ',
    'inexact': 'The largest principal moment of inertia of these links exceeds the sum of '
    f'the other two, by less than {TRIANGLE_LIMIT:.0%} or by their last digits, which no rigid '
    'body has; taken as it is: ',
    'harmless': 'No rigid body has the moments of inertia of these links, but they turn about '
    'one axis only, so that the wrong ones never count: ',
}


def settle_inertias(
    description: Description, reader: Reader, policy: str = 'check'
) -> Description:
    """
    Return the description with inertias that bodies can have, and every joint moving some mass.

    `policy` says what is done with what no body can have: 'check' refuses it, 'repair' puts the
    nearest that one can have in its place, 'trust' takes it as it is.
    """
    if policy not in POLICIES:
        raise DescriptionError(
            f'inertia is {policy!r}', repair=f'Write one of {", ".join(map(repr, POLICIES))}.'
        )
    tree, links = Tree(description.joints), []
    verdicts: dict[str, list[str]] = {kind: [] for kind in NOTES}
    for link in description.links:
        verdict = _verdict(link, tree, reader, policy) if link.inertia is not None else ''
        if verdict:
            verdicts[verdict].append(link.name)
        if link.inertia is not None and verdict in ('rounded', 'repaired'):
            link = replace(link, inertia=_repaired(link.inertia))
        links.append(link)
    for kind, names in verdicts.items():
        if names:
            reader.note(f'{NOTES[kind]}{some_of(names)}.')
    description = replace(description, links=tuple(links))
    return _settle_massless(description, tree, reader, policy)


def _repaired(inertia: Inertia) -> Inertia:
    """
    Return the nearest inertia that a body can have.

    The second moments of mass about the principal planes, half the trace less each principal
    moment, must not be negative; those that are become zero.
    """
    moments, axes = np.linalg.eigh(inertia.tensor)
    spread = np.maximum(0.5 * moments.sum() - moments, 0.0)
    tensor = axes @ np.diag(spread.sum() - spread) @ axes.T
    return Inertia(inertia.mass, Pose(inertia.origin.xyz), upper_triangle(tensor))


def _verdict(link: Link, tree: Tree, reader: Reader, policy: str) -> str:
    """Return '' for possible moments, or the kind of note that they get."""
    inertia = link.inertia
    assert inertia is not None
    where = reader.where('link', link.name)
    if inertia.mass < 0.0:
        raise DescriptionError(
            f'the mass is negative ({inertia.mass:g} kg)',
            where=where,
            file=reader.label,
            repair='Write a mass of zero or more.',
        )
    # in the axes of the file, where zeros are exact
    moments, axes = np.linalg.eigh(replace(inertia, origin=Pose()).tensor)
    smallest, middle, largest = (float(each) for each in moments)
    size, slack = max(abs(smallest), abs(largest)), _slack(inertia)
    if smallest < -NEGATIVE_TOLERANCE * size:
        if policy == 'trust':
            return 'trusted'
        if smallest >= -max(ROUNDING * size, slack):
            return 'rounded'
        if policy == 'repair':
            return 'repaired'
        raise DescriptionError(
            f'the inertia has a negative principal moment, {smallest:.6g} kg m^2 (all: '
            f'{", ".join(f"{value:.6g}" for value in moments)})',
            file=reader.label,
            where=where,
            repair='Check the signs and the order of ixx ixy ixz iyy iyz izz, or load it with '
            "inertia='repair' or inertia='trust'.",
        )
    if largest <= (smallest + middle) * (1.0 + TRIANGLE_TOLERANCE):
        return ''
    turning = turning_axis(tree, link.name)
    if turning is not None:
        only_one = smallest == 0.0 and middle == 0.0
        if only_one or abs(turning @ inertia.origin.rotation @ axes[:, 2]) <= PARALLEL:
            return 'harmless'
    if policy == 'trust':
        return 'trusted'
    if policy == 'repair':
        return 'repaired'
    if largest <= (smallest + middle) + max(TRIANGLE_LIMIT * (smallest + middle), slack):
        return 'inexact'
    raise DescriptionError(
        'no rigid body has this inertia: the largest principal moment exceeds the sum of the '
        f'other two, {largest:.6g} > {smallest:.6g} + {middle:.6g} kg m^2',
        file=reader.label,
        where=where,
        repair='Give it about the centre of mass, in the axes of the inertial '
        "<origin>, in kg m^2, or load it with inertia='repair' or inertia='trust'.",
    )


def _slack(inertia: Inertia) -> float:
    """Return what rounding to the digits that were written may change of moments [kg m^2]."""
    written = [Decimal(repr(each)).normalize() for each in inertia.moments if each]
    last = min((int(each.as_tuple().exponent) for each in written), default=0)
    size = max(map(abs, inertia.moments))
    return max(min(LAST_DIGITS * 10.0**last, TRIANGLE_LIMIT * size), NEGLIGIBLE)


def _settle_massless(
    description: Description, tree: Tree, reader: Reader, policy: str
) -> Description:
    """
    Refuse a joint that moves no mass at all: its acceleration would be unbounded.

    Loops and couplings bind such a joint to others that do, and so does a rotor. To repair one is
    to make it fixed.
    """
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
    coupled = {term.joint for coupling in description.couplings for term in coupling.terms}
    idle = [
        joint
        for joint in description.joints
        if joint.type is not JointType.FIXED
        and not mass[joint.child]
        and not (joint.type in PURE_TURNING and rotary[joint.child])
        and joint.child not in bound
        and joint.name not in coupled
        and not joint.dynamics.armature
    ]
    if not idle or policy == 'trust':
        return description
    if policy == 'repair':
        names = [joint.name for joint in idle]
        reader.note(f'These joints move no mass and are fixed: {some_of(names)}.')
        return _with_fixed(description, set(names))
    joint = idle[0]
    raise DescriptionError(
        f'the joint {joint.name!r} moves the link {joint.child!r}, which has no mass, nor '
        'has anything on it',
        file=reader.label,
        where=reader.where('joint', joint.name),
        repair=f'Give {joint.child!r} an <inertial> with a mass, or make the joint fixed, or load '
        "it with inertia='repair', which does that.",
    )


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
