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

"""Equations of motion M q'' + bias = Q - dDE/dq' + Phi_q^T lambda, Phi = 0, as SymPy matrices."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import sympy

from closed_chain_dynamics.errors import NameNotFound, StateError
from closed_chain_dynamics.symbolic.list_dynamics import ListDynamics
from closed_chain_dynamics.symbolic.list_elements import acceleration, velocity
from closed_chain_dynamics.symbolic.list_kinematics import Kinematics
from closed_chain_dynamics.symbolic.lists import Lists

__all__ = ['Equations', 'StageProgress']

StageProgress = Callable[[int, int, str], object]  # (done, total, what comes now)


@dataclass(frozen=True, repr=False)
class Equations:
    """What Lagrange's method gives; every field is SymPy, rows in the order of coordinates."""

    lists: Lists
    motion: Kinematics
    kinetic: sympy.Expr
    potential: sympy.Expr
    dissipation: sympy.Expr
    M: sympy.Matrix  # (n, n)
    bias: sympy.Matrix  # (n, 1) velocity terms, gravity and springs
    generalized_forces: sympy.Matrix  # (n, 1) of frc and trq
    damping_forces: sympy.Matrix  # (n, 1) of the dissipation
    Phi: sympy.Matrix  # (m, 1)
    Phi_q: sympy.Matrix  # (m, n)
    gamma: sympy.Matrix  # (m, 1) d^2 Phi/dt^2 - Phi_q q''
    multipliers: tuple[sympy.Symbol, ...]  # (m,) symbols lambda_...

    def __repr__(self) -> str:
        """Say what they are of; the equations themselves can fill pages."""
        return (
            f'<Equations of {self.lists.name}: {len(self.coordinates)} coordinates, '
            f'{len(self.multipliers)} multipliers>'
        )

    @property
    def coordinates(self) -> tuple[sympy.Symbol, ...]:
        """Return the symbols of the generalized coordinates."""
        return tuple(map(sympy.Symbol, self.lists.coordinates))

    @property
    def velocities(self) -> tuple[sympy.Symbol, ...]:
        """Return the symbols of the generalized velocities, q1_dot and so on."""
        return tuple(map(velocity, self.lists.coordinates))

    @property
    def accelerations(self) -> tuple[sympy.Symbol, ...]:
        """Return the symbols of the generalized accelerations, q1_ddot and so on."""
        return tuple(map(acceleration, self.lists.coordinates))

    @property
    def lagrangian(self) -> sympy.Expr:
        """Return L = KE - PE."""
        return self.kinetic - self.potential

    @property
    def rhs(self) -> sympy.Matrix:
        """Return what M q'' equals while no constraint pushes: forces minus bias."""
        return self.generalized_forces + self.damping_forces - self.bias

    @property
    def degrees_of_freedom(self) -> int:
        """Return the coordinates minus the constraints, which must not be redundant, (8.2)."""
        return len(self.coordinates) - len(self.multipliers)

    @property
    def equations(self) -> tuple[sympy.Eq, ...]:
        """Return the equations, sympy.Eq: one for each coordinate, then the constraints."""
        left = self.M * sympy.Matrix(self.accelerations) + self.bias
        right = self.generalized_forces + self.damping_forces
        if self.multipliers:
            right += self.Phi_q.T * sympy.Matrix(self.multipliers)
        pairs = [*zip(left, right), *((phi, sympy.Integer(0)) for phi in self.Phi)]
        return tuple(sympy.Eq(*pair, evaluate=False) for pair in pairs)

    def simplified(self, *, progress: StageProgress | None = None) -> 'Equations':
        """Return the same equations with every entry simplified, for reading; may take long."""
        progress = progress or (lambda *step: None)
        names = ('M', 'bias', 'generalized_forces', 'damping_forces', 'Phi_q', 'gamma')
        total = sum(len(getattr(self, name)) for name in names)
        done = 0
        result: dict[str, sympy.Matrix] = {}
        for name in names:
            matrix = getattr(self, name).copy()
            for k, entry in enumerate(matrix):
                progress(done, total, f'{name}, entry {k + 1} of {len(matrix)}')
                matrix[k] = sympy.simplify(entry)
                done += 1
            result[name] = matrix
        progress(total, total, 'done')
        return replace(self, **result)

    def latex(self) -> str:
        """Return the equations as lines of LaTeX, for an align environment."""
        names = {}
        for dots, symbols in ((r'\dot', self.velocities), (r'\ddot', self.accelerations)):
            for q, symbol in zip(self.coordinates, symbols):
                base, _, index = sympy.latex(q).partition('_')
                names[symbol] = f'{dots}{{{base}}}' + (f'_{index}' if index else '')
        lines = [
            f'{sympy.latex(each.lhs, symbol_names=names)} &= '
            f'{sympy.latex(each.rhs, symbol_names=names)}'
            for each in self.equations
        ]
        return ' \\\\\n'.join(lines)

    def compile(self, parameters: Mapping[str, Any] | None = None) -> ListDynamics:
        """Return the Dynamics with numbers for all parameters: those given, else the file's."""
        return ListDynamics(self, self.numbers(parameters))

    def numbers(self, parameters: Mapping[str, Any] | None = None) -> dict[str, float]:
        """Return a number for each parameter, given or of the file; refuse what has none."""
        values = dict(self.lists.parameters)
        for name, value in (parameters or {}).items():
            if name not in values:
                raise NameNotFound('parameter', name, values, where=self.lists.name)
            try:
                values[name] = float(value)
            except (TypeError, ValueError):
                raise StateError(
                    f'the value of {name} must be a number, not {value!r}',
                    where=self.lists.name,
                    repair='Give a number.',
                ) from None
        missing = [name for name, value in values.items() if value is None]
        if missing:
            raise StateError(
                f'no value is given for {", ".join(missing)}',
                where=self.lists.name,
                repair=f'Write compile({{{missing[0]!r}: ...}}), or put it into the list file.',
            )
        return {name: value for name, value in values.items() if value is not None}
