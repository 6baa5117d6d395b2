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
What stands in the lists of a model (Winter, sections 8.2.6 to 8.5), and the symbols of motion.

Positions, angles and forces are SymPy expressions; references are names of other entries.
"""

from dataclasses import dataclass

import sympy

__all__ = [
    'AXIS_LETTERS',
    'GRS',
    'REFERENCES',
    'TIME',
    'Force',
    'LinearSpring',
    'ListJoint',
    'Point',
    'ReferenceSystem',
    'Segment',
    'Torque',
    'TorsionalSpring',
    'acceleration',
    'velocity',
]

GRS = '0'
TIME = sympy.Symbol('t')
AXIS_LETTERS = 'XYZ'


def velocity(coordinate: str) -> sympy.Symbol:
    """Return the symbol of a generalized velocity: q1 -> q1_dot."""
    return sympy.Symbol(f'{coordinate}_dot')


def acceleration(coordinate: str) -> sympy.Symbol:
    """Return the symbol of a generalized acceleration: q1 -> q1_ddot."""
    return sympy.Symbol(f'{coordinate}_ddot')


@dataclass(frozen=True)
class Point:
    """pt = [LRS, x, y, z], Eq. (8.10); the components may be functions of the coordinates."""

    frame: str
    position: tuple[sympy.Expr, ...]


@dataclass(frozen=True)
class ReferenceSystem:
    """LRS = [pt, angles or quaternion xyzw, LRS they are counted from], Eq. (8.11)."""

    origin: str
    # one angle in the plane; three, or four of a quaternion, in space
    orientation: tuple[sympy.Expr, ...]
    relative_to: str = GRS


@dataclass(frozen=True)
class Segment:
    """seg = [pt, M, I...], Eq. (8.26): inertia about that point, the centre of mass."""

    center: str
    mass: sympy.Expr
    # () a particle; I; Ixx Iyy Izz; or Ixx Iyy Izz Ixy Ixz Iyz
    inertia: tuple[sympy.Expr, ...] = ()


@dataclass(frozen=True)
class LinearSpring:
    """spl = [pt, pt, k_l, c_l, l_s], Eq. (8.28): spring and damper between two points."""

    first: str
    second: str
    stiffness: sympy.Expr
    damping: sympy.Expr
    rest_length: sympy.Expr


@dataclass(frozen=True)
class TorsionalSpring:
    """spt = [LRS, LRS, k_t, c_t, theta_s], Eq. (8.29): about a common axis."""

    first: str
    second: str
    stiffness: sympy.Expr
    damping: sympy.Expr
    rest_angle: sympy.Expr


@dataclass(frozen=True)
class Force:
    """frc = [pt, F...], Eq. (8.32), in axes of the GRS; `reaction` is the other end, if any."""

    point: str
    components: tuple[sympy.Expr, ...]
    reaction: str | None = None  # the point that the opposite force acts on


@dataclass(frozen=True)
class Torque:
    """trq = [LRS, LRS, tau...], Eq. (8.33): on the second, its opposite on the first."""

    first: str
    second: str
    # in the plane one; in space three, along the axes of the second
    components: tuple[sympy.Expr, ...]


@dataclass(frozen=True)
class ListJoint:
    """Two points that coincide, section 8.5; the multipliers are the force on the second."""

    first: str
    second: str


# What an entry refers to: field -> the section that must hold it.
REFERENCES = {
    'pt': {'frame': 'LRS'},
    'LRS': {'origin': 'pt', 'relative_to': 'LRS'},
    'seg': {'center': 'pt'},
    'spl': {'first': 'pt', 'second': 'pt'},
    'spt': {'first': 'LRS', 'second': 'LRS'},
    'frc': {'point': 'pt', 'reaction': 'pt'},
    'trq': {'first': 'LRS', 'second': 'LRS'},
    'joint': {'first': 'pt', 'second': 'pt'},
}
