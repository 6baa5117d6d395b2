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
Equations of motion as machine code, for numbers.

All expressions of a model become one function without branches, common parts computed once, which
numba compiles when it is called often.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
import math
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.lapack import dgesvx
import sympy
from sympy.printing.pycode import PythonCodePrinter

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.errors import NameNotFound, SingularityError, StateError
from closed_chain_dynamics.symbolic.list_elements import TIME

if TYPE_CHECKING:
    from closed_chain_dynamics.symbolic.equations import Equations

__all__ = ['ListDynamics']

Inputs = Mapping[str, float] | ArrayLike | None

# Beyond this condition number accelerations and multipliers have no correct digits left.
WORST_CONDITION = 1e13
CALLS_WORTH_COMPILING = 5000


class ListDynamics:
    """
    Compiled equations of a model with numbers for its parameters.

    q and v are in the order of the coordinates, inputs a dict by name (what is left out is zero)
    or a sequence in the order of the file. Who asks for thousands of states waits once, for a
    second or more, while the equations are compiled.
    """

    def __init__(self, equations: 'Equations', parameters: Mapping[str, float]) -> None:
        self.equations, self.parameters = equations, parameters
        n, m = len(equations.coordinates), len(equations.multipliers)
        self._at = np.cumsum([n * n, n, m * n, m, m])  # M, rhs, Phi_q, gamma, Phi, energies
        names = (*equations.lists.inputs, *parameters)
        self._function = _Evaluation(
            [TIME, *equations.coordinates, *equations.velocities, *map(sympy.Symbol, names)],
            [
                *equations.M,
                *equations.rhs,
                *equations.Phi_q,
                *equations.gamma,
                *equations.Phi,
                equations.kinetic,
                equations.potential,
            ],
        )

    def __repr__(self) -> str:
        return f'<ListDynamics of {self.equations.lists.name!r}>'

    def __call__(
        self, q: ArrayLike, v: ArrayLike, inputs: Inputs = None, t: float = 0.0
    ) -> tuple[Array, Array]:
        """Return M (n, n) and the right-hand side (n,) that M q'' equals without constraints."""
        M, rhs = self._evaluate(q, v, inputs, t)[:2]
        return M, rhs

    def accelerations(
        self, q: ArrayLike, v: ArrayLike, inputs: Inputs = None, t: float = 0.0
    ) -> tuple[Array, Array]:
        """Return q'' (n,) and the multipliers lambda (m,)."""
        M, rhs, Phi_q, gamma, _, _ = self._evaluate(q, v, inputs, t)
        n, m = len(rhs), len(gamma)
        K = np.zeros((n + m, n + m))
        K[:n, :n], K[:n, n:], K[n:, :n] = M, -Phi_q.T, Phi_q
        # 'E' scales rows and columns first: masses, lengths and angles differ in size.
        *_, solution, rcond, _, _, _ = dgesvx(K, np.concatenate([rhs, -gamma]), fact='E')
        if not rcond * WORST_CONDITION > 1.0:
            raise SingularityError(
                'accelerations and constraint forces are not determined here',
                where=self.equations.lists.name,
                repair='Remove redundant constraints, give every coordinate a mass, use a '
                'quaternion where Euler angles fail, or leave this pose.',
            )
        solution = solution.ravel()
        return solution[:n], solution[n:]

    def constraints(self, q: ArrayLike, t: float = 0.0) -> Array:
        """Return Phi (m,), zero where the constraints hold."""
        return self._evaluate(q, np.zeros(len(self.equations.coordinates)), None, t)[4]

    def energy(
        self, q: ArrayLike, v: ArrayLike, inputs: Inputs = None, t: float = 0.0
    ) -> tuple[float, float]:
        """Return kinetic and potential energy [J]."""
        kinetic, potential = self._evaluate(q, v, inputs, t)[5]
        return kinetic, potential

    def _evaluate(
        self, q: ArrayLike, v: ArrayLike, inputs: Inputs, t: float
    ) -> tuple[Array, Array, Array, Array, Array, Array]:
        n = len(self.equations.coordinates)
        q, v = self._numbers('q', q), self._numbers('v', v)
        for what, values in (('q', q), ('v', v)):
            if values.shape != (n,):
                raise StateError(
                    f'{what} has shape {values.shape}, but there are {n} coordinates',
                    where=self.equations.lists.name,
                    repair=f'Give {", ".join(self.equations.lists.coordinates)}.',
                )
        out = np.empty(self._at[-1] + 2)
        self._function(
            np.array([t, *q, *v, *self._inputs(inputs), *self.parameters.values()], dtype=float),
            out,
        )
        if not np.isfinite(out).all():
            raise SingularityError(
                'a term of the equations is not finite here',
                where=self.equations.lists.name,
                repair='Look for a spring or damper of length zero, a division by zero, or a '
                'state that is no number.',
            )
        M, rhs, Phi_q, gamma, Phi, energies = np.split(out, self._at)
        return M.reshape(n, n), rhs, Phi_q.reshape(-1, n), gamma, Phi, energies

    def _numbers(self, what: str, values: Any) -> Array:
        try:
            return np.asarray(values, dtype=float)
        except (TypeError, ValueError):
            raise StateError(
                f'{what} must be numbers',
                where=self.equations.lists.name,
                repair='Give one number for each.',
            ) from None

    def _inputs(self, inputs: Inputs) -> Iterable[float]:
        known, where = self.equations.lists.inputs, self.equations.lists.name
        if inputs is None:
            return [0.0] * len(known)
        if isinstance(inputs, dict):
            for name in inputs:
                if name not in known:
                    raise NameNotFound('input', name, known, where=where)
            return self._numbers('inputs', [inputs.get(name, 0.0) for name in known])
        inputs = self._numbers('inputs', inputs)
        if inputs.shape != (len(known),):
            raise StateError(
                f'inputs have shape {inputs.shape}, but there are {len(known)}',
                where=where,
                repair=f'Give {", ".join(known)}, or a dict by name.',
            )
        return inputs


class _Evaluation:
    """
    A function (x, out) that puts the values of expressions into out.

    Compiling takes as long as thousands of calls of the same code in Python: who asks for a few
    numbers has them at once, and who integrates has machine code soon.
    """

    def __init__(self, symbols: Iterable[sympy.Symbol], expressions: Sequence[sympy.Expr]) -> None:
        # No name of the user reaches the code: symbols become places in x.
        places = {symbol: sympy.Symbol(f'x[{k}]') for k, symbol in enumerate(symbols)}
        steps, results = sympy.cse(
            [each.xreplace(places) for each in expressions], symbols=sympy.numbered_symbols('s')
        )
        write = PythonCodePrinter({'fully_qualified_modules': False}).doprint
        lines = [
            'def evaluate(x, out):',
            *(f'    {symbol} = {write(value)}' for symbol, value in steps),
            *(f'    out[{k}] = {write(value)}' for k, value in enumerate(results)),
        ]
        names: dict[str, Any] = {**vars(math), 'math': math, '__name__': __name__}
        exec('\n'.join(lines), names)
        self.interpreted: Callable[[list[float], Array], None] = names['evaluate']
        self.calls = 0

    @cached_property
    def compiled(self) -> Callable[[Array, Array], None]:
        """Return the machine code, which raises no exception."""
        function: Callable[[Array, Array], None] = numba.njit(
            self.interpreted, error_model='numpy'
        )
        return function

    def __call__(self, x: Array, out: Array) -> None:
        self.calls += 1
        if self.calls <= CALLS_WORTH_COMPILING:
            try:
                return self.interpreted(x.tolist(), out)
            except (ArithmeticError, TypeError, ValueError):
                pass  # machine code says which numbers are not finite
        return self.compiled(x, out)
