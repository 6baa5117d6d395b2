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
Files of the equations of a model of lists: LaTeX, C99, and Python that numba compiles.

Each term of M q'' = rhs + Phi_q^T lambda, Phi_q q'' + gamma = 0 becomes a function of the time t,
coordinates q, velocities v and, where there are any, inputs u. Matrices lie row by row.
"""

from collections.abc import Iterable, Sequence
import re

import sympy
from sympy.printing.c import C99CodePrinter
from sympy.printing.codeprinter import CodePrinter
from sympy.printing.pycode import PythonCodePrinter

from closed_chain_dynamics.symbolic.code import NamedStep, Routine, c_file, identifier, python_file
from closed_chain_dynamics.symbolic.equations import Equations
from closed_chain_dynamics.symbolic.latex import LATEX_HEAD, equation, text
from closed_chain_dynamics.symbolic.list_elements import TIME

__all__ = ['list_c_source', 'list_latex_source', 'list_python_source']

LIST_TERMS = {
    'M': 'mass matrix',
    'rhs': "force that M q'' equals while no constraint pushes",
    'Phi_q': 'derivatives of the constraints by the coordinates',
    'gamma': "part of d^2 Phi/dt^2 that does not hold q''",
    'Phi': 'constraints, zero where they hold',
}
LIST_MATRICES = ('M', 'Phi_q')


def list_latex_source(equations: Equations) -> str:
    """Return a LaTeX document with the equations, and the numbers of their parameters."""
    parts = [LATEX_HEAD, rf'\section*{{Equations of motion of {text(equations.lists.name)}}}']
    columns = {
        'Coordinates': ('q', equations.coordinates),
        'Inputs': ('u', map(sympy.Symbol, equations.lists.inputs)),
        'Multipliers of the constraints': (r'\lambda', equations.multipliers),
    }
    for meaning, (letter, symbols) in columns.items():
        if column := ', '.join(map(sympy.latex, symbols)):
            parts.append(rf'{meaning}: ${letter} = \left( {column} \right)^\top$.' + '\n')
    parts += [equation(*line.split(' &= ')) for line in equations.latex().split(' \\\\\n')]
    known = [
        (name, value) for name, value in equations.lists.parameters.items() if value is not None
    ]
    if known:
        listed = [f'${sympy.latex(sympy.Symbol(name))} = {value!r}$' for name, value in known]
        parts += [r'\section*{Parameters}', '\\raggedright', ',\\quad\n'.join(listed)]
    return '\n'.join([*parts, r'\end{document}', ''])


def list_c_source(equations: Equations) -> str:
    """Return a C99 file with one function for each term and the numbers of the parameters."""
    numbers = equations.numbers()
    values = ', '.join(map(repr, numbers.values()))
    table = f'/* {", ".join(numbers)} */\nstatic const double p[{len(numbers)}] = {{{values}}};'
    return c_file(
        _about(equations),
        _routines(equations, _C()),
        prefix=identifier(equations.lists.name),
        before=table if numbers else '',
    )


def list_python_source(equations: Equations) -> str:
    """Return a Python module with one numba-compiled function for each term."""
    numbers = equations.numbers()
    table = f'# {", ".join(numbers)}\np = np.array({list(numbers.values())})'
    printer = PythonCodePrinter({'fully_qualified_modules': False})
    routines = _routines(equations, printer)
    return python_file(
        _about(equations),
        routines,
        functions=printer.module_imports.get('math', ()),
        before=table if numbers else '',
    )


class _C(C99CodePrinter):  # type: ignore[misc]  # SymPy has no types
    def __init__(self) -> None:
        super().__init__({'math_macros': {}})  # macros such as M_PI are no part of C99

    def _print_Pow(self, power: sympy.Pow) -> str:
        """Print a square as a product, which is faster than pow and exact."""
        text = self._print(power.base)
        return f'(({text})*({text}))' if power.exp == 2 else str(super()._print_Pow(power))


def _about(equations: Equations) -> list[str]:
    """Return lines that say what the file is about."""
    lists = equations.lists
    name = re.sub(r'[^\w .-]', '_', lists.name)  # nothing that could end a comment
    lines = [
        f'Equations of motion of {name}, derived by Lagrange.',
        '',
        f'q = ({", ".join(lists.coordinates)}), and v its rates.',
    ]
    if lists.inputs:
        lines += [f'u = ({", ".join(lists.inputs)}), the inputs.']
    if equations.multipliers:
        lines += [
            "M q'' = rhs + Phi_q^T lambda, Phi_q q'' + gamma = 0, with",
            f'lambda = ({", ".join(map(str, equations.multipliers))}).',
        ]
    else:
        lines += ["M q'' = rhs."]
    return lines


def _routines(equations: Equations, printer: CodePrinter) -> list[Routine]:
    """Return a function for each term that there is."""
    sizes = {'t': 0, **{name: len(each) for name, each in _vectors(equations).items()}}
    routines = []
    for term, meaning in LIST_TERMS.items():
        matrix = getattr(equations, term)
        if len(matrix):
            shape = matrix.shape if term in LIST_MATRICES else matrix.shape[:1]
            routines.append(
                Routine(term, meaning, sizes, *_steps(equations, term, printer), shape)
            )
    return routines


def _vectors(equations: Equations) -> dict[str, tuple[sympy.Symbol, ...]]:
    vectors = {
        'q': equations.coordinates,
        'v': equations.velocities,
        'u': tuple(map(sympy.Symbol, equations.lists.inputs)),
    }
    return {name: symbols for name, symbols in vectors.items() if symbols}


def _steps(
    equations: Equations, term: str, printer: CodePrinter
) -> tuple[list[NamedStep], list[str]]:
    """Return the common parts of a term, and its entries."""
    vectors = {**_vectors(equations), 'p': tuple(map(sympy.Symbol, equations.lists.parameters))}
    # No name of the user reaches the code: symbols become places in arrays.
    places = {
        symbol: sympy.Symbol(f'{vector}[{k}]')
        for vector, symbols in vectors.items()
        for k, symbol in enumerate(symbols)
    }
    places[TIME] = sympy.Symbol('t')
    entries = [each.xreplace(places) for each in getattr(equations, term)]
    constants = set().union(*(each.atoms(sympy.NumberSymbol) for each in entries))
    steps, results = sympy.cse(
        [each.xreplace({each: each.evalf(17) for each in constants}) for each in entries],
        symbols=sympy.numbered_symbols('x', start=1),
    )
    return (
        [(str(name), printer.doprint(value)) for name, value in _used(steps, results)],
        [printer.doprint(each) for each in results],
    )


def _used(
    steps: Sequence[tuple[sympy.Symbol, sympy.Expr]], results: Iterable[sympy.Expr]
) -> list[tuple[sympy.Symbol, sympy.Expr]]:
    """Return the steps that lead to a result; `sympy.cse` leaves a few that do not."""
    kept: list[tuple[sympy.Symbol, sympy.Expr]] = []
    wanted: set[sympy.Symbol] = set().union(*(each.free_symbols for each in results))
    for name, value in reversed(steps):
        if name in wanted:
            wanted |= value.free_symbols
            kept.insert(0, (name, value))
    return kept
