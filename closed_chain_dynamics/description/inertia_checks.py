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
Masses and inertias that a rigid body can have, and what is done with others.

The principal moments A <= B <= C of any body satisfy A >= 0 and C <= A + B. What breaks the second
rule still has a positive definite mass matrix, and so has what breaks the first as long as the
links that it is fixed to make up for it, or as long as it never turns about that axis. Published
robots do both, and other tools take them without a word: here they keep their numbers, and a note
says which links, by how much, and what follows. A moment that misses zero by its last digits is
repaired. Any other negative moment would let a mass matrix lose its sign, and is an error, unless
the caller asks to repair it or to trust it.
"""

from dataclasses import replace
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.description.bodies import grow
from closed_chain_dynamics.description.elements import Description, Inertia, Link, Pose
from closed_chain_dynamics.description.fields import Reader, some_of
from closed_chain_dynamics.description.massless import settle_massless
from closed_chain_dynamics.description.rotations import upper_triangle
from closed_chain_dynamics.description.tree import PARALLEL, Tree, turning_axis
from closed_chain_dynamics.errors import DescriptionError

__all__ = ['INERTIA_POLICIES', 'is_possible', 'repaired', 'settle_inertias']

INERTIA_POLICIES = ('check', 'repair', 'trust')
TRIANGLE_TOLERANCE = 1e-6  # relative; files round to six or seven digits
DIGITS_OF_FILES = 1e-4  # relative; files that round to four digits are repaired
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
    'one axis only, or never, so that the wrong ones never count: ',
    'carried': 'A principal moment of inertia of these links is below zero, which no rigid body '
    'has, but what they are fixed to makes up for it; taken as it is: ',
    'impossible': 'No rigid body has the inertias of some links: the largest principal moment '
    'exceeds the sum of the other two [kg m^2]. They are kept, as in other tools, because the '
    'mass matrix stays positive definite, but no real robot has these torques and accelerations. '
    "Correct the file, or load it with inertia='repair'. The links: ",
}


def settle_inertias(
    description: Description, reader: Reader, policy: str = 'check'
) -> Description:
    """
    Return the description with inertias that can be computed with, and joints that move mass.

    `policy` says what is done with what no body can have: 'check' keeps what leaves the mass
    matrix positive definite, with a note, and refuses the rest; 'repair' puts the nearest that a
    body can have in its place, 'trust' takes it as it is.
    """
    if policy not in INERTIA_POLICIES:
        raise DescriptionError(
            f'inertia is {policy!r}',
            repair=f'Write one of {", ".join(map(repr, INERTIA_POLICIES))}.',
        )
    tree, links = Tree(description.joints), []
    verdicts: dict[str, list[str]] = {kind: [] for kind in NOTES}
    for link in description.links:
        verdict = ''
        if link.inertia is not None:
            verdict = _verdict(link, link.inertia, description, tree, reader, policy)
        if verdict:
            verdicts[verdict].append(_described(link) if verdict == 'impossible' else link.name)
        if link.inertia is not None and verdict in ('rounded', 'repaired'):
            link = replace(link, inertia=repaired(link.inertia))
        links.append(link)
    for kind, names in verdicts.items():
        if names:
            reader.note(f'{NOTES[kind]}{some_of(names)}.')
    return settle_massless(replace(description, links=tuple(links)), tree, reader, policy)


def is_possible(inertia: Inertia) -> bool:
    """Return whether a rigid body can have these moments of inertia, to their last digits."""
    smallest, middle, largest = _principal(inertia)[0]
    slack = _slack(inertia)
    return smallest >= -slack and largest <= (smallest + middle) * (1 + TRIANGLE_TOLERANCE) + slack


def _principal(inertia: Inertia) -> tuple[list[float], NDArray[np.float64]]:
    """Return the principal moments, and their axes (3, 3) in those of the file."""
    moments, axes = np.linalg.eigh(replace(inertia, origin=Pose()).tensor)  # its zeros are exact
    return [float(each) for each in moments], axes


def _described(link: Link) -> str:
    assert link.inertia is not None
    smallest, middle, largest = _principal(link.inertia)[0]
    return f'{link.name} ({largest:.3g} > {smallest:.3g} + {middle:.3g})'


def repaired(inertia: Inertia) -> Inertia:
    """
    Return the nearest inertia that a body can have.

    The second moments of mass about the principal planes, half the trace less each principal
    moment, must not be negative; those that are become zero.
    """
    moments, axes = np.linalg.eigh(inertia.tensor)
    spread = np.maximum(0.5 * moments.sum() - moments, 0.0)
    tensor = axes @ np.diag(spread.sum() - spread) @ axes.T
    return Inertia(inertia.mass, Pose(inertia.origin.xyz), upper_triangle(tensor))


def _verdict(
    link: Link, inertia: Inertia, description: Description, tree: Tree, reader: Reader, policy: str
) -> str:
    """Return '' for possible moments, or the kind of note that they get."""
    where = reader.where('link', link.name)
    if inertia.mass < 0.0:
        raise DescriptionError(
            f'the mass is negative ({inertia.mass:g} kg)',
            where=where,
            file=reader.label,
            repair='Write a mass of zero or more.',
        )
    moments, axes = _principal(inertia)
    smallest, middle, largest = moments
    size, slack = max(abs(smallest), abs(largest)), _slack(inertia)
    if smallest < -NEGATIVE_TOLERANCE * size:
        if policy == 'trust':
            return 'trusted'
        if smallest >= -max(DIGITS_OF_FILES * size, slack):
            return 'rounded'
        if policy == 'repair':
            return 'repaired'
        if bearable := _bearable(link, description, tree):
            return bearable
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
    return 'impossible'


def _bearable(link: Link, description: Description, tree: Tree) -> str:
    """
    Return why a negative moment leaves every mass matrix positive definite, or ''.

    A sum over bodies whose inertias are positive is positive; so is one over bodies that turn
    about one axis only, when their moments about that are. A body is all links that are fixed to
    each other.
    """
    bodies, places = grow(description)
    number, R, _ = places[link.name]
    if not number:  # it is fixed to the world
        return 'harmless'
    _, _, tensor = bodies[number].inertia_about_com()
    axis = turning_axis(tree, link.name)
    if axis is not None and float(R @ axis @ tensor @ R @ axis) >= 0.0:
        return 'harmless'
    return 'carried' if np.linalg.eigvalsh(tensor)[0] >= 0.0 else ''


def _slack(inertia: Inertia) -> float:
    """Return what rounding to the digits that were written may change of moments [kg m^2]."""
    written = [Decimal(repr(each)).normalize() for each in inertia.moments if each]
    last = min((int(each.as_tuple().exponent) for each in written), default=0)
    size = max(map(abs, inertia.moments))
    return max(min(LAST_DIGITS * 10.0**last, TRIANGLE_LIMIT * size), NEGLIGIBLE)
