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
Expressions of CasADi as assignments: the common ground of code, LaTeX and cost.

CasADi finds common subexpressions; what is used more than once gets a name here, and the rest is
written where it is used, the way `sympy.cse` returns expressions. For readers the result is
SymPy's; code is text at once, because SymPy needs a millisecond for every operation.
"""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import casadi as ca
import sympy

from closed_chain_dynamics.codegen.expressions import SX

__all__ = ['Assigned', 'Text', 'assigned', 'assignments']

Assigned = tuple[list[tuple[sympy.Symbol, sympy.Expr]], sympy.Matrix]  # assignments, result

LONGEST_ASSIGNMENT = 10  # operations written in one expression
LARGEST_DENOMINATOR = 4  # of a number that is written as a fraction
SUM, SIGN, PRODUCT, DIVISOR, ATOM = range(5)  # how tightly an expression holds together


class Text:
    """An expression that C and Python share, with parentheses where they are needed."""

    __slots__ = ('rank', 'text')

    def __init__(self, text: str, rank: int = ATOM) -> None:
        self.text, self.rank = text, rank

    @classmethod
    def number(cls, value: float) -> 'Text':
        """Return a number."""
        return cls(repr(value), SIGN if value < 0 else ATOM)

    def __str__(self) -> str:
        return self.text

    def _at(self, rank: int) -> str:
        return self.text if self.rank >= rank else f'({self.text})'

    def __add__(self, other: 'Text') -> 'Text':
        return Text(f'{self._at(SUM)} + {other._at(PRODUCT)}', SUM)

    def __sub__(self, other: 'Text') -> 'Text':
        return Text(f'{self._at(SUM)} - {other._at(PRODUCT)}', SUM)

    def __mul__(self, other: 'Text') -> 'Text':
        return Text(f'{self._at(PRODUCT)}*{other._at(DIVISOR)}', PRODUCT)

    def __truediv__(self, other: 'Text') -> 'Text':
        return Text(f'{self._at(PRODUCT)}/{other._at(DIVISOR)}', PRODUCT)

    def __neg__(self) -> 'Text':
        return Text(f'-{self._at(PRODUCT)}', SIGN)


def _function(name: str, of_sympy: Callable[..., sympy.Expr]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        if isinstance(args[0], Text):
            listed = ', '.join(map(str, args))
            return Text(f'{name}({listed})' if name != 'copysign' else f'copysign(1.0, {listed})')
        return of_sympy(*args)

    return call


OPERATIONS: dict[int, Callable[..., Any]] = {
    ca.OP_ADD: lambda a, b: a + b,
    ca.OP_SUB: lambda a, b: a - b,
    ca.OP_MUL: lambda a, b: a * b,
    ca.OP_DIV: lambda a, b: a / b,
    ca.OP_NEG: lambda a: -a,
    ca.OP_SQ: lambda a: a * a,
    ca.OP_TWICE: lambda a: a + a,
    ca.OP_FABS: _function('fabs', sympy.Abs),
    ca.OP_SIGN: _function('copysign', sympy.sign),
    ca.OP_SQRT: _function('sqrt', sympy.sqrt),
    ca.OP_SIN: _function('sin', sympy.sin),
    ca.OP_COS: _function('cos', sympy.cos),
    ca.OP_ATAN2: _function('atan2', sympy.atan2),
}
TWICE_WRITTEN = (ca.OP_SQ, ca.OP_TWICE)  # what they are of has to have a name
DIVISIONS = (ca.OP_DIV, ca.OP_INV)


def assigned(term: SX, *, longest: int = LONGEST_ASSIGNMENT, smallest: int = 1) -> Assigned:
    """Return an SX matrix as SymPy, (assignments, Matrix); see `assignments`."""
    steps, entries = assignments(
        term, sympy.Symbol, _number, longest=longest, smallest=smallest, letter='u_'
    )
    return steps, sympy.Matrix(*reversed(term.shape), entries).T


def assignments(
    term: SX,
    symbol: Callable[[str], Any],
    number: Callable[[float], Any],
    *,
    longest: int = LONGEST_ASSIGNMENT,
    smallest: int = 1,
    letter: str,
) -> tuple[list[tuple[Any, Any]], list[Any]]:
    """
    Return the assignments that lead to an SX matrix, and its entries, columns first.

    `symbol` and `number` write an input or a name, and a constant; `longest`: operations written
    in one expression, 0: any number; `smallest`: operations that are worth a name where they are
    used more than once.
    """
    names = [x.name() for x in ca.symvar(term)]
    nodes, outputs, uses = _instructions(term)
    divided = Counter(args[-1] for op, args, _ in nodes if op in DIVISIONS)
    steps: list[tuple[Any, Any]] = []
    known: list[Any] = []
    inverses: dict[int, Any] = {}  # one division where several have the same divisor
    sizes: list[int] = []

    def named(value: Any) -> Any:
        steps.append((symbol(f'{letter}{len(steps) + 1}'), value))
        return steps[-1][0]

    for key, (op, args, value) in enumerate(nodes):
        operands = [known[arg] for arg in args]
        size = 1 + sum(sizes[arg] for arg in args)
        if op == ca.OP_CONST:
            size, expression = 0, number(value)
        elif op == ca.OP_INPUT:
            size, expression = 0, symbol(names[int(value)])
        elif op in DIVISIONS and divided[args[-1]] > 1 and smallest == 1:
            if args[-1] not in inverses:
                inverses[args[-1]] = named(number(1.0) / operands[-1])
            expression = inverses[args[-1]]
            size, expression = (
                (0, expression) if op == ca.OP_INV else (size, operands[0] * expression)
            )
        elif op == ca.OP_INV:
            expression = number(1.0) / operands[0]
        else:
            expression = OPERATIONS[op](*operands)
        shared = uses[key] > 1 and size >= smallest and op != ca.OP_NEG
        if size and (shared or (longest and size > longest)):
            size, expression = 0, named(expression)
        known.append(expression)
        sizes.append(size)
    return steps, [known[key] for key in outputs]


def _number(value: float) -> sympy.Number:
    """Return a number, simple fractions as such."""
    fraction = Fraction(value).limit_denominator(LARGEST_DENOMINATOR)
    if float(fraction) == value:
        return sympy.Rational(fraction.numerator, fraction.denominator)
    return sympy.Float(value)


def _instructions(term: SX) -> tuple[list[tuple[int, list[int], float]], list[int], list[int]]:
    """
    Return what computes an SX matrix, common subexpressions once; its entries; and all uses.

    An instruction is (operation, numbers of the instructions it takes, number of the input or
    value of the constant).
    """
    symbols = ca.symvar(term)
    given = [ca.vertcat(*symbols)] if symbols else []
    function = ca.Function('term', given, [ca.vec(ca.densify(term))], {'cse': True})
    made: list[tuple[int, list[int], float]] = []
    outputs = [0] * function.nnz_out(0)
    held: dict[int, int] = {}  # place in CasADi's work vector -> instruction
    uses: list[int] = []
    for k in range(function.n_instructions()):
        op, into = function.instruction_id(k), function.instruction_output(k)
        of = function.instruction_input(k)
        if op == ca.OP_OUTPUT:
            outputs[into[1]] = held[of[0]]
            uses[held[of[0]]] += 1
            continue
        args, value = [], 0.0
        if op == ca.OP_CONST:
            value = function.instruction_constant(k)
        elif op == ca.OP_INPUT:
            value = of[1]
        else:
            args = [held[place] for place in of]
        for arg in args:
            uses[arg] += 2 if op in TWICE_WRITTEN else 1
        held[into[0]] = len(made)
        made.append((op, args, value))
        uses.append(0)
    return made, outputs, uses
