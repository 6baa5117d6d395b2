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

"""Energies, dissipation, forces and constraints of a model of lists, Eqs. (8.23) to (8.34)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import sympy

from closed_chain_dynamics.errors import DescriptionError
from closed_chain_dynamics.symbolic.list_elements import (
    AXIS_LETTERS,
    LinearSpring,
    Segment,
    Torque,
    TorsionalSpring,
    velocity,
)
from closed_chain_dynamics.symbolic.list_kinematics import Kinematics, rate
from closed_chain_dynamics.symbolic.lists import Lists

__all__ = ['ListTerms', 'terms_of']


@dataclass
class ListTerms:
    """The sums over all lists that Lagrange's equations are made of."""

    kinetic: sympy.Expr = sympy.Integer(0)
    potential: sympy.Expr = sympy.Integer(0)
    dissipation: sympy.Expr = sympy.Integer(0)
    forces: sympy.Matrix = None
    constraints: dict[str, sympy.Expr] = field(default_factory=dict)  # name -> Phi


def terms_of(lists: Lists, motion: Kinematics) -> ListTerms:
    """Return the sums of a model that moves as its kinematics say."""
    terms = ListTerms(forces=sympy.zeros(len(lists.coordinates), 1))
    for segment in lists.seg.values():
        terms.kinetic += _kinetic(lists, motion, segment)
        terms.potential -= segment.mass * sympy.Matrix(lists.gravity).dot(
            motion.disp[segment.center]
        )
    for linear in lists.spl.values():
        _add_linear_spring(terms, motion, linear)
    for name, torsional in lists.spt.items():
        _add_torsional_spring(terms, lists, motion, name, torsional)
    places = motion.place_values()
    speeds = sympy.Matrix([velocity(name) for name in lists.coordinates])
    for force in lists.frc.values():
        value = sympy.Matrix(force.components).subs(places)
        velo = motion.velo[force.point]
        if force.reaction is not None:
            velo = velo - motion.velo[force.reaction]
        terms.forces += velo.jacobian(speeds).T * value
    for torque in lists.trq.values():
        value = sympy.Matrix(torque.components).subs(places)
        terms.forces += _relative_turning(lists, motion, torque).jacobian(speeds).T * value
    _add_constraints(terms, lists, motion, places)
    return terms


def _kinetic(lists: Lists, motion: Kinematics, segment: Segment) -> sympy.Expr:
    """KE of a segment, (8.23) with the centre of mass as the point, so its middle term is zero."""
    V = motion.velo[segment.center]
    energy = segment.mass * V.dot(V) / 2
    if segment.inertia:
        omega = motion.omga[lists.pt[segment.center].frame]
        energy += (omega.T * _inertia(segment.inertia) * omega)[0] / 2
    return energy


def _inertia(values: Sequence[sympy.Expr]) -> sympy.Matrix:
    """Return [J] of Eq. (8.24), whose products of inertia carry a minus sign."""
    if len(values) == 1:
        return sympy.Matrix([values])
    xx, yy, zz, xy, xz, yz = (*values, 0, 0, 0)[:6]
    return sympy.Matrix([[xx, -xy, -xz], [-xy, yy, -yz], [-xz, -yz, zz]])


def _add_linear_spring(terms: ListTerms, motion: Kinematics, spring: LinearSpring) -> None:
    """PE = k/2 (l - l_s)^2 and DE = c/2 l'^2, Eqs. (8.27), (8.30)."""
    r = motion.disp[spring.second] - motion.disp[spring.first]
    v = motion.velo[spring.second] - motion.velo[spring.first]
    squared = r.dot(r)
    # A spring of no free length needs no root, which has no derivative at length zero.
    stretch = (
        squared if spring.rest_length == 0 else (sympy.sqrt(squared) - spring.rest_length) ** 2
    )
    terms.potential += spring.stiffness * stretch / 2
    if spring.damping != 0:
        terms.dissipation += spring.damping * r.dot(v) ** 2 / squared / 2


def _add_torsional_spring(
    terms: ListTerms, lists: Lists, motion: Kinematics, name: str, spring: TorsionalSpring
) -> None:
    """PE = k/2 (theta - theta_s)^2 and DE = c/2 theta'^2 about the common axis."""
    angle = _angle_between(lists, motion, name, spring)
    terms.potential += spring.stiffness * (angle - spring.rest_angle) ** 2 / 2
    terms.dissipation += spring.damping * rate(angle, lists.coordinates) ** 2 / 2


def _angle_between(
    lists: Lists, motion: Kinematics, name: str, spring: TorsionalSpring
) -> sympy.Expr:
    if lists.dimension == 2:
        return motion.angle[spring.second] - motion.angle[spring.first]
    entry = lists.LRS.get(spring.second)
    turns = [] if entry is None else [each for each in entry.orientation if each != 0]
    if (
        entry is None
        or entry.relative_to != spring.first
        or len(entry.orientation) == 4
        or len(turns) > 1
    ):
        raise DescriptionError(
            f'LRS {spring.first} and {spring.second} have no common axis',
            repair=f'Define LRS {spring.second} relative to {spring.first} and let two of its '
            'angles be '
            '0.',
            **lists.place('spt', name),
        )
    return sum(turns, sympy.Integer(0))


def _relative_turning(lists: Lists, motion: Kinematics, torque: Torque) -> sympy.Matrix:
    """Return the angular velocity of the second LRS against the first, in axes of the second."""
    omega, other = motion.omga[torque.second], motion.omga[torque.first]
    if lists.dimension == 3:
        other = motion.phi[torque.second].T * motion.phi[torque.first] * other
    return omega - other


def _add_constraints(
    terms: ListTerms, lists: Lists, motion: Kinematics, places: Mapping[sympy.Symbol, sympy.Expr]
) -> None:
    for name, joint in lists.joint.items():
        gap = motion.disp[joint.second] - motion.disp[joint.first]
        for axis, Phi in zip(AXIS_LETTERS.lower(), gap):
            terms.constraints[f'{name}_{axis}'] = Phi
    for name, Phi in lists.constraint.items():
        terms.constraints[name] = sympy.sympify(Phi).subs(places)
    for name, Phi in motion.unit_norms.items():
        terms.constraints[f'norm_{name}'] = Phi
