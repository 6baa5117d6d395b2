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
Displacement, velocity and rotation of every point and reference system (Winter, 8.2.7).

Symbol   Meaning                                                              Equation
disp     position of a point, axes of the GRS                                 (8.13), (8.16)
velo     velocity of a point, axes of the GRS                                 (8.14), (8.17)
omga     angular velocity of an LRS, in its own axes                          (8.15), (8.20)
phi      rotation from axes of an LRS to axes of the GRS: the transpose of    (8.16'), (8.19)
         what (8.19) calls phi, as (8.16) and (8.17) need it

In the plane omga is one component and phi is 2 x 2.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import sympy

from closed_chain_dynamics.errors import DescriptionError
from closed_chain_dynamics.symbolic.list_elements import AXIS_LETTERS, GRS, TIME, velocity
from closed_chain_dynamics.symbolic.lists import Lists

__all__ = ['Kinematics', 'kinematics', 'rate']


@dataclass
class Kinematics:
    """What follows from pt and LRS alone; each dict is by name, '0' for the GRS."""

    disp: dict[str, sympy.Matrix] = field(default_factory=dict)
    velo: dict[str, sympy.Matrix] = field(default_factory=dict)
    phi: dict[str, sympy.Matrix] = field(default_factory=dict)
    omga: dict[str, sympy.Matrix] = field(default_factory=dict)
    # in the plane: from X to the axis x
    angle: dict[str, sympy.Expr] = field(default_factory=dict)
    # LRS -> x^2 + y^2 + z^2 + w^2 - 1
    unit_norms: dict[str, sympy.Expr] = field(default_factory=dict)

    def place_values(self) -> dict[sympy.Symbol, sympy.Expr]:
        """Return what X_hip, Y_hip, X_hip_dot and so on stand for, {Symbol: expression}."""
        values = {}
        for point, position in self.disp.items():
            for axis, x, v in zip(AXIS_LETTERS, position, self.velo[point]):
                values[sympy.Symbol(f'{axis}_{point}')] = x
                values[velocity(f'{axis}_{point}')] = v
        return values


def rate(expression: sympy.Expr, coordinates: Iterable[str]) -> sympy.Expr:
    """Return the total time derivative of a function of coordinates, velocities and t, (8.4)."""
    total = sympy.diff(expression, TIME)
    for name in coordinates:
        total += sympy.diff(expression, sympy.Symbol(name)) * velocity(name)
    return total


def kinematics(lists: Lists) -> Kinematics:
    """Return the Kinematics of a model: each point and LRS after those it hangs on."""
    result = Kinematics()
    result.disp[GRS] = result.velo[GRS] = sympy.zeros(lists.dimension, 1)
    result.phi[GRS] = sympy.eye(lists.dimension)
    result.angle[GRS] = sympy.Integer(0)
    result.omga[GRS] = sympy.zeros(1 if lists.dimension == 2 else 3, 1)
    for section, name in lists.hanging_order():
        if section == 'pt':
            _add_point(result, lists, name)
        elif lists.dimension == 2:
            _add_planar_system(result, lists, name)
        else:
            _add_spatial_system(result, lists, name)
    return result


def _add_point(result: Kinematics, lists: Lists, name: str) -> None:
    """R_a = R_i + phi r_ia and V_a = V_i + phi (v_ia + w~ r_ia), Eqs. (8.16), (8.17)."""
    frame = lists.pt[name].frame
    origin = GRS if frame == GRS else lists.LRS[frame].origin
    phi, omega = result.phi[frame], result.omga[frame]
    r = sympy.Matrix(lists.pt[name].position)
    v = r.applyfunc(lambda x: rate(x, lists.coordinates))
    turning = (
        sympy.Matrix([-omega[0] * r[1], omega[0] * r[0]])
        if lists.dimension == 2
        else omega.cross(r)
    )
    result.disp[name] = result.disp[origin] + phi * r
    result.velo[name] = result.velo[origin] + phi * (v + turning)


def _add_planar_system(result: Kinematics, lists: Lists, name: str) -> None:
    entry = lists.LRS[name]
    angle = result.angle[entry.relative_to] + entry.orientation[0]
    c, s = sympy.cos(angle), sympy.sin(angle)
    result.angle[name] = angle
    result.phi[name] = sympy.Matrix([[c, -s], [s, c]])
    result.omga[name] = sympy.Matrix([rate(angle, lists.coordinates)])


def _add_spatial_system(result: Kinematics, lists: Lists, name: str) -> None:
    entry = lists.LRS[name]
    values = sympy.Matrix(entry.orientation)
    rates = values.applyfunc(lambda x: rate(x, lists.coordinates))
    if len(values) == 4:
        result.unit_norms |= _unit_norm(lists, name, values)
        phi, omega = _quaternion(values, rates)
    else:
        phi, omega = _euler(lists.euler, values, rates)
    result.phi[name] = result.phi[entry.relative_to] * phi
    result.omga[name] = omega + phi.T * result.omga[entry.relative_to]


def _unit_norm(lists: Lists, name: str, quaternion: sympy.Matrix) -> dict[str, sympy.Expr]:
    """Return the constraint that a quaternion needs, {} where it has length 1 by itself."""
    norm = (quaternion.T * quaternion)[0] - 1
    if sympy.simplify(norm) == 0:
        return {}
    if not norm.free_symbols & set(map(sympy.Symbol, lists.coordinates)):
        raise DescriptionError(
            'the quaternion does not have length 1',
            repair='Divide its parts x, y, z, w by its length.',
            **lists.place('LRS', name),
        )
    return {name: norm}


def _euler(
    axes: str, angles: sympy.Matrix, rates: sympy.Matrix
) -> tuple[sympy.Matrix, sympy.Matrix]:
    """Return phi and omga of three turns, each about an axis of the system turned so far."""
    phi, omega = sympy.eye(3), sympy.zeros(3, 1)
    for axis, angle, speed in zip(axes, angles, rates):
        k = 'xyz'.index(axis)
        i, j = (k + 1) % 3, (k + 2) % 3
        turn = sympy.eye(3)
        turn[i, i] = turn[j, j] = sympy.cos(angle)
        turn[i, j], turn[j, i] = -sympy.sin(angle), sympy.sin(angle)
        phi = phi * turn
        omega = turn.T * omega
        omega[k] += speed
    return phi, omega


def _quaternion(values: sympy.Matrix, rates: sympy.Matrix) -> tuple[sympy.Matrix, sympy.Matrix]:
    """
    Return phi and omga of a unit quaternion xyzw, without a singular orientation.

    Off the unit sphere both are continued as polynomials; there the multiplier of the norm
    takes up whatever that adds, so motion and forces are not touched.
    """
    x, y, z, w = values
    phi = sympy.Matrix(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    body = sympy.Matrix([[w, z, -y, -x], [-z, w, x, -y], [y, -x, w, -z]])
    return phi, 2 * body * rates
