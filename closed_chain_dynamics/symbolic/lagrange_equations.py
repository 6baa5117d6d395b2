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
Lagrange's equations of a model of lists (Winter, Eqs. (8.5) to (8.9), (8.23) to (8.34)).

Symbol     Meaning                                                         Equation
KE, PE     kinetic and potential energy, L = KE - PE                       (8.5), (8.23), (8.25)
DE         Rayleigh's dissipation, its force is -dDE/dq'                   (8.30), (8.31)
Q          generalized forces of frc and trq                               (8.6), (8.34)
Phi        constraints, and lambda the forces that keep them               (8.7), (8.9)
M, bias    d/dt dL/dq' - dL/dq = M q'' + bias                              (8.8)
gamma      what remains of d^2 Phi/dt^2 = Phi_q q'' + gamma
"""

import sympy

from closed_chain_dynamics.errors import DescriptionError
from closed_chain_dynamics.symbolic.equations import Equations, StageProgress
from closed_chain_dynamics.symbolic.list_elements import velocity
from closed_chain_dynamics.symbolic.list_kinematics import Kinematics, kinematics, rate
from closed_chain_dynamics.symbolic.list_terms import ListTerms, terms_of
from closed_chain_dynamics.symbolic.lists import Lists
from closed_chain_dynamics.symbolic.size import LONGEST_DERIVATION

__all__ = ['estimate', 'lagrange']

# Derivatives take about this long for each node of the energies and each coordinate; measured on
# chains of 2 to 14 bodies in the plane and 1 to 5 in space, good to a factor of about three.
SECONDS_PER_NODE = 4.5e-4


def lagrange(
    lists: Lists, *, progress: StageProgress | None = None, longest: float = LONGEST_DERIVATION
) -> Equations:
    """
    Return the Equations of a model.

    `progress(done, total, what)` is called before each step. A model that would take longer than
    `longest` seconds is refused before the work starts; nothing is written, so an interrupt
    leaves nothing behind.
    """
    motion, terms = _prepare(lists)
    seconds = _seconds(lists, terms)
    if seconds > longest:
        raise DescriptionError(
            f'its {len(lists.coordinates)} coordinates would take about {_readable(seconds)}',
            where=lists.name,
            file=lists.file,
            repair='Measure angles from 0 and break the model up at joints, which makes the '
            'equations shorter, or allow more with longest=.',
        )
    return _Derivation(lists, terms, progress or (lambda *step: None)).equations(motion)


def estimate(lists: Lists) -> float:
    """Return about how many seconds `lagrange` would take."""
    return _seconds(lists, _prepare(lists)[1])


def _prepare(lists: Lists) -> tuple[Kinematics, ListTerms]:
    motion = kinematics(lists)
    return motion, terms_of(lists, motion)


def _seconds(lists: Lists, terms: ListTerms) -> float:
    nodes = _size(terms.kinetic + terms.potential, {})
    return SECONDS_PER_NODE * nodes * len(lists.coordinates)


def _size(expression: sympy.Basic, known: dict[sympy.Basic, int]) -> int:
    """Return the number of nodes of an expression; shared parts are looked at once."""
    size = known.get(expression)
    if size is None:
        size = known[expression] = 1 + sum(_size(each, known) for each in expression.args)
    return size


def _readable(seconds: float) -> str:
    for unit, length in (('days', 86400), ('hours', 3600), ('minutes', 60)):
        if seconds >= 2 * length:
            return f'{seconds / length:.0f} {unit}'
    return f'{seconds:.0f} seconds'


class _Derivation:
    """The derivatives that make equations of the terms."""

    def __init__(self, lists: Lists, terms: ListTerms, progress: StageProgress) -> None:
        self.lists, self.terms, self.progress = lists, terms, progress
        self.q = [sympy.Symbol(name) for name in lists.coordinates]
        self.v = [velocity(name) for name in lists.coordinates]

    def equations(self, motion: Kinematics) -> Equations:
        lists, terms = self.lists, self.terms
        n, m = len(self.q), len(terms.constraints)
        if m > n:
            raise DescriptionError(
                f'{m} constraint equations act on only {n} coordinates',
                repair='Remove redundant ones, or add coordinates.',
                **lists.place('constraint'),
            )
        M, bias = sympy.zeros(n, n), sympy.zeros(n, 1)
        for i, name in enumerate(lists.coordinates):
            self.progress(i, n + 1, f'coordinate {name}')
            self._add_row(i, M, bias)
        self.progress(n, n + 1, 'constraints')
        Phi = sympy.Matrix(m, 1, list(terms.constraints.values()))
        Phi_q = Phi.jacobian(self.q) if m else sympy.zeros(0, n)
        self._check_mass(M, Phi_q)
        result = Equations(
            lists=lists,
            motion=motion,
            kinetic=terms.kinetic,
            potential=terms.potential,
            dissipation=terms.dissipation,
            M=M,
            bias=bias,
            generalized_forces=terms.forces,
            damping_forces=sympy.Matrix([-sympy.diff(terms.dissipation, v) for v in self.v]),
            Phi=Phi,
            Phi_q=Phi_q,
            gamma=self._gamma(Phi),
            multipliers=tuple(sympy.Symbol(f'lambda_{name}') for name in terms.constraints),
        )
        self.progress(n + 1, n + 1, 'done')
        return result

    def _add_row(self, i: int, M: sympy.Matrix, bias: sympy.Matrix) -> None:
        """d/dt dL/dq_i' - dL/dq_i, with the factors of q'' kept apart, Eq. (8.8)."""
        momentum = sympy.diff(self.terms.kinetic, self.v[i])
        for j in range(i + 1):
            M[i, j] = M[j, i] = sympy.diff(momentum, self.v[j])
        lagrangian = self.terms.kinetic - self.terms.potential
        bias[i] = rate(momentum, self.lists.coordinates) - sympy.diff(lagrangian, self.q[i])

    def _gamma(self, Phi: sympy.Matrix) -> sympy.Matrix:
        def twice(phi: sympy.Expr) -> sympy.Expr:
            return rate(rate(phi, self.lists.coordinates), self.lists.coordinates)

        return Phi.applyfunc(twice) if len(Phi) else Phi

    def _check_mass(self, M: sympy.Matrix, Phi_q: sympy.Matrix) -> None:
        for i, name in enumerate(self.lists.coordinates):
            if M[:, i].is_zero_matrix and (not len(Phi_q) or Phi_q[:, i].is_zero_matrix):
                raise DescriptionError(
                    'it moves no mass and no constraint',
                    repair='Remove it, or give a segment that moves with it.',
                    **self.lists.place('coordinates', name),
                )
