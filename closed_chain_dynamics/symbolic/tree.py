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
The tree of a mechanism over CasADi's symbols: parameters with names, and where bodies stand.

What is gathered for generated code is written down again with a symbol for every parameter. Zero
and one stay numbers, so that terms drop out. A body that turns is `Q Rz(theta)` in its parent's
frame, theta = q + delta: constant turns about its own axis are in delta, so that Q has only 0 and
1 in it wherever the axes allow it.
"""

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.codegen import clusters, source as given
from closed_chain_dynamics.codegen.expressions import SX
from closed_chain_dynamics.codegen.tree import quaternion_rotation
from closed_chain_dynamics.description import JointType
from closed_chain_dynamics.symbolic.angles import Angle

__all__ = ['SymbolicBody', 'SymbolicPose', 'SymbolicTree', 'number', 'rounded']

TreeState = list[Any]  # one per body: its Angle, or its positions

NUMBER_NOISE = 1e-13  # of a rotation's element or of a share of a vector: noise of the file
TURNS = (JointType.REVOLUTE, JointType.CONTINUOUS)


@dataclass
class SymbolicBody:
    """A rigid body with the joint that moves it; body 0 is the world."""

    given: given.SourceBody
    Q: SX  # constant rotation of the joint, (3, 3)
    p: SX  # and its origin, in the parent's frame
    delta: SX  # theta - q [rad]
    Q_value: Array
    delta_value: float
    mass: SX
    moment: SX  # mass times centre of mass, in body axes [kg m]
    inertia: SX  # about the body's origin [kg m^2]
    weight: SX  # what gravity pulls at: mass, and
    weight_moment: SX  # first moment, without what is carried from outside
    slide: SX  # velocity of the origin per rate, in body axes, (3, nv)
    turn: SX  # angular velocity per rate

    @property
    def joint(self) -> str:
        """Return the name of the joint."""
        return self.given.name

    @property
    def parent(self) -> int:
        """Return the number of the body that carries the joint."""
        return self.given.parent

    @property
    def rates(self) -> slice:
        """Return where the joint's rates stand in v."""
        return slice(self.given.iv, self.given.iv + self.given.nv)

    @property
    def slides(self) -> bool:
        """Return whether the joint slides along one axis."""
        return self.given.kind is JointType.PRISMATIC


@dataclass
class SymbolicPose:
    """Rotation E and origin r of every body in its parent's frame."""

    E: list[SX]
    r: list[SX]


class SymbolicTree:
    """Bodies of a mechanism over symbols; `parameters` has the numbers of those with a name."""

    def __init__(self, source: given.Source) -> None:
        self.source = source
        self.parameters: dict[str, float] = {}
        self._symbols: dict[str, SX] = {}
        self.bodies = [self._body(body) for body in source.bodies]
        self.gravity = self._named([f'g_{axis}' for axis in 'xyz'], source.gravity)

    def parameter(self, name: str, value: float) -> SX:
        """Return a named constant; zero and one stay numbers, signs stay outside."""
        if value in (0.0, 1.0, -1.0):
            return ca.SX(value)
        if self.parameters.setdefault(name, abs(value)) != abs(value):
            return self.parameter(f'{name}_', value)
        symbol = self._symbols.setdefault(name, ca.SX.sym(name))
        return -symbol if value < 0.0 else symbol

    def numbers(self, *expressions: SX) -> list[SX]:
        """Return expressions with numbers in place of the parameters."""
        symbols = list(self._symbols.values())
        if not symbols:
            return list(expressions)
        values = ca.SX(ca.DM(list(self.parameters.values())))
        found: list[SX] = ca.substitute(list(expressions), [ca.vertcat(*symbols)], [values])
        return found

    def _named(self, names: list[str], values: ArrayLike) -> SX:
        numbers = np.asarray(values, dtype=float).ravel().tolist()
        return ca.vertcat(*(self.parameter(*pair) for pair in zip(names, numbers)))

    def rotation(self, name: str, Q: Array) -> SX:
        """Return a rotation; equal elements share a parameter."""
        names: dict[float, str] = {}
        rows = [
            [
                self.parameter(
                    names.setdefault(abs(Q[i, j]), f'R{i + 1}{j + 1}_{name}'), float(Q[i, j])
                )
                for j in range(3)
            ]
            for i in range(3)
        ]
        return ca.blockcat(rows)

    def vector(self, name: str, values: Array) -> SX:
        """Return a constant vector."""
        values = rounded(values, max(abs(values).max(), 1e-3))
        return self._named([f'{axis}_{name}' for axis in 'xyz'], values)

    def _body(self, body: given.SourceBody) -> SymbolicBody:
        name, Q, delta = body.name, rounded(body.R_tree), 0.0
        if body.kind in TURNS:
            Q, delta = _without_own_turn(Q)
        c = body.com
        h = rounded(body.mass * c, max(abs(body.mass * c).max(), 1e-300))
        about_origin = body.inertia + body.mass * (c @ c * np.eye(3) - np.outer(c, c))
        about_origin = rounded(about_origin, max(abs(about_origin).max(), 1e-300))
        inertia = [
            [
                self.parameter(f'I{"xyz"[min(i, j)]}{"xyz"[max(i, j)]}_{name}', about_origin[i, j])
                for j in range(3)
            ]
            for i in range(3)
        ]
        lifted = [f'l{axis}_{name}' for axis in 'xyz']
        mass = self.parameter(f'm_{name}', body.mass)
        moment = self._named([f'h{axis}_{name}' for axis in 'xyz'], h)
        slide, turn = _subspace(body.kind)
        return SymbolicBody(
            body,
            self.rotation(name, Q),
            self.vector(name, body.p_tree),
            self.parameter(f'delta_{name}', delta),
            Q,
            delta,
            mass,
            moment,
            ca.blockcat(inertia),
            mass - self.parameter(f'l_{name}', body.lift),
            moment - self._named(lifted, body.lift * body.lift_com),
            slide,
            turn,
        )

    def pose(self, state: TreeState) -> SymbolicPose:
        """Return where every body stands in its parent's frame."""
        pose = SymbolicPose([], [])
        for body, x in zip(self.bodies, state):
            E, r, kind = body.Q, body.p, body.given.kind
            if isinstance(x, Angle):
                E = E @ _about_z(x.cos, x.sin)
            elif kind is JointType.PRISMATIC:
                r = r + E[:, 2] * x
            elif kind is JointType.SPHERICAL:
                E = E @ quaternion_rotation(x)
            elif kind is JointType.FLOATING:
                r, E = r + E @ x[:3], E @ quaternion_rotation(x[3:])
            elif kind is JointType.PLANAR:
                length = ca.sqrt(ca.sumsqr(x[2:]))
                r, E = r + E[:, :2] @ x[:2], E @ _about_z(x[2] / length, x[3] / length)
            pose.E.append(E)
            pose.r.append(r)
        return pose

    def state(self, q: SX) -> TreeState:
        """Return the state at positions q."""
        found: TreeState = []
        places = [body.given.iq for body in self.bodies[1:]] + [self.source.nq]
        for body, start, end in zip(self.bodies[1:], places, places[1:]):
            x = q[start:end]
            found.append(Angle.of(x + body.delta) if body.given.kind in TURNS else x)
        return [ca.SX(0), *found]

    @property
    def position_names(self) -> list[str]:
        """Return a name for every entry of q."""
        suffixes = {
            JointType.SPHERICAL: ('_x', '_y', '_z', '_w'),
            JointType.FLOATING: ('_px', '_py', '_pz', '_x', '_y', '_z', '_w'),
            JointType.PLANAR: ('_px', '_py', '_c', '_s'),
        }
        return [
            f'{body.joint}{suffix}'
            for body in sorted(self.bodies[1:], key=lambda body: body.given.iq)
            for suffix in suffixes.get(body.given.kind, ('',))
        ]

    def path(self, body: int, top: int = 0) -> list[int]:
        """Return the bodies from below `top` down to a body."""
        return clusters.path(self.source.bodies, body, top)[::-1]

    def common_ancestor(self, one: int, two: int) -> int:
        """Return the last body that carries both."""
        return clusters.common_ancestor(self.source.bodies, one, two)


def _about_z(c: SX, s: SX) -> SX:
    return ca.blockcat([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def _subspace(kind: JointType) -> tuple[SX, SX]:
    """Return how the origin moves and how the body turns per rate, in body axes, (3, nv)."""
    unit, none = np.eye(3), np.zeros((3, 3))
    slide, turn = {
        JointType.PRISMATIC: (unit[:, 2:], none[:, 2:]),
        JointType.SPHERICAL: (none, unit),
        JointType.FLOATING: (np.hstack([unit, none]), np.hstack([none, unit])),
        JointType.PLANAR: (np.diag([1.0, 1.0, 0.0]), np.diag([0.0, 0.0, 1.0])),
        JointType.FIXED: (none[:, :0], none[:, :0]),
    }.get(kind, (none[:, 2:], unit[:, 2:]))
    return ca.SX(ca.DM(slide)), ca.SX(ca.DM(turn))


def _without_own_turn(Q: Array) -> tuple[Array, float]:
    """Split a rotation into one of 0 and 1 and a turn about its own z, where that is possible."""
    if np.count_nonzero(Q[:, 2]) > 1:
        return Q, 0.0
    x = np.roll(abs(Q[:, 2]), 1)
    plain = np.column_stack([x, np.cross(Q[:, 2], x), Q[:, 2]])
    delta = float(np.arctan2(*(plain.T @ Q[:, 0])[1::-1]))
    quarter = round(delta / (np.pi / 2))
    c, s = (1, 0, -1, 0)[quarter % 4], (0, 1, 0, -1)[quarter % 4]
    plain = plain @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    delta -= quarter * np.pi / 2
    return plain, 0.0 if abs(delta) < NUMBER_NOISE else delta


def rounded(values: ArrayLike, scale: float = 1.0) -> Array:
    """Return values without the noise of rounding around 0, 1 and -1."""
    result = np.array(values, dtype=float)
    result[abs(result) < NUMBER_NOISE * scale] = 0.0
    for whole in (1.0, -1.0):
        result[abs(result - whole) < NUMBER_NOISE] = whole
    return result + 0.0


def number(expression: SX, symbols: SX, values: ArrayLike) -> Array:
    """Return an expression as numbers, those of its symbols given."""
    found: Array = ca.Function('f', [symbols], [expression])(np.asarray(values)).full()
    return found
