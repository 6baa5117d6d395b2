"""
Masses and inertias that a rigid body can have.

The principal moments A <= B <= C of any body satisfy A >= 0 and C <= A + B. Published robots break
the second rule in two ways that a user can live with, and get a note: planar models, where the
wrong moment never enters the dynamics, and moments that were identified or rounded and miss the
rule by a little. Anything else is an error.
"""

import numpy as np

from closed_chain_dynamics.description.elements import JointType
from closed_chain_dynamics.description.fields import some_of
from closed_chain_dynamics.description.tree import PARALLEL, Tree, turning_axis
from closed_chain_dynamics.errors import DescriptionError

__all__ = ['check_inertias']

PURE_TURNING = (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.SPHERICAL)
TRIANGLE_TOLERANCE = 1e-6  # relative; files round to six or seven digits
TRIANGLE_LIMIT = 0.3  # what identified moments of real robots were seen to miss it by
NEGATIVE_TOLERANCE = 1e-9  # of the largest moment; what an eigenvalue solver may leave


def check_inertias(description, reader):
    """Refuse what no body can have, and moving leaves without mass."""
    tree = Tree(description.joints)
    harmless, inexact = [], []
    for link in description.links:
        verdict = _check_moments(link, tree, reader) if link.inertia is not None else ''
        if verdict:
            (harmless if verdict == 'harmless' else inexact).append(link.name)
    if inexact:
        reader.note(
            'The largest principal moment of inertia of these links exceeds the sum of '
            f'the other two, by less than {TRIANGLE_LIMIT:.0%}, which no rigid body '
            f'has; taken as it is: {some_of(inexact)}.'
        )
    if harmless:
        reader.note(
            'No rigid body has the moments of inertia of these links, but they turn '
            'about one axis only, so that the wrong ones never count: '
            f'{some_of(harmless)}.'
        )
    _check_massless(description, tree, reader)
    _say_what_no_kernel_has(description, reader)


def _say_what_no_kernel_has(description, reader):
    """Note what is described and not computed with."""
    rotors = [
        joint for joint in (*description.joints, *description.loops) if joint.dynamics.armature
    ]
    if rotors:
        largest = max(rotors, key=lambda joint: joint.dynamics.armature)
        reader.note(
            f'Armature (inertia of rotors) is read but does not count: '
            f'{largest.dynamics.armature:.4g} kg m^2 or kg at {largest.name!r}, the largest of '
            f'{len(rotors)}.'
        )
    relieved = [link for link in description.links if link.gravcomp and link.inertia]
    if relieved:
        lifted = sum(link.gravcomp * link.inertia.mass for link in relieved)
        reader.note(
            f'Gravity compensation of single links is read but does not count: the weight of '
            f'{lifted:.4g} kg is too much ({some_of([link.name for link in relieved])}).'
        )


def _check_moments(link, tree, reader):
    """Return '' for possible moments, 'harmless' or 'inexact' for those that get a note."""
    where = reader.where('link', link.name)
    if link.inertia.mass < 0.0:
        raise DescriptionError(
            f'the mass is negative ({link.inertia.mass:g} kg)',
            where=where,
            file=reader.label,
            repair='Write a mass of zero or more.',
        )
    ixx, ixy, ixz, iyy, iyz, izz = link.inertia.moments
    moments, axes = np.linalg.eigh([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
    smallest, middle, largest = moments
    if smallest < -NEGATIVE_TOLERANCE * max(abs(smallest), abs(largest)):
        raise DescriptionError(
            f'the inertia has a negative principal moment, {smallest:.6g} kg m^2 (all: '
            f'{_listed(moments)})',
            file=reader.label,
            where=where,
            repair='Check the signs and the order of ixx ixy ixz iyy iyz izz.',
        )
    if largest <= (smallest + middle) * (1.0 + TRIANGLE_TOLERANCE):
        return ''
    turning = turning_axis(tree, link.name)
    if turning is not None:
        about = link.inertia.origin.rotation @ axes[:, 2]
        only_one = smallest == 0.0 and middle == 0.0
        if only_one or abs(turning @ about) <= PARALLEL:
            return 'harmless'
    if largest <= (smallest + middle) * (1.0 + TRIANGLE_LIMIT):
        return 'inexact'
    raise DescriptionError(
        'no rigid body has this inertia: the largest principal moment exceeds the sum of the '
        f'other two, {largest:.6g} > {smallest:.6g} + {middle:.6g} kg m^2',
        file=reader.label,
        where=where,
        repair='Give it about the centre of mass, in the axes of the inertial '
        '<origin>, in kg m^2.',
    )


def _listed(moments):
    return ', '.join(f'{value:.6g}' for value in moments)


def _check_massless(description, tree, reader):
    """Refuse a joint that moves no mass at all: its acceleration would be unbounded."""
    mass = {link.name: link.inertia.mass if link.inertia else 0.0 for link in description.links}
    rotary = {
        link.name: any(link.inertia.moments) if link.inertia else False
        for link in description.links
    }
    # Geared rotors are often written as pure rotary inertia, their mass counted elsewhere.
    rotors = [name for name in mass if rotary[name] and not mass[name]]
    if rotors:
        reader.note(f'These links have a moment of inertia but no mass: {some_of(rotors)}.')
    for joint in reversed(tree.outward(description.root)):  # from the leaves to the root
        mass[joint.parent] += mass[joint.child]
        rotary[joint.parent] |= rotary[joint.child]
    for joint in description.joints:
        if (
            joint.type is JointType.FIXED
            or mass[joint.child]
            or (joint.type in PURE_TURNING and rotary[joint.child])
        ):
            continue
        where = reader.where('joint', joint.name)
        raise DescriptionError(
            f'the joint {joint.name!r} moves the link {joint.child!r}, which has no mass, nor '
            'has anything on it',
            file=reader.label,
            where=where,
            repair=f'Give {joint.child!r} an <inertial> with a mass, or make the joint fixed.',
        )
