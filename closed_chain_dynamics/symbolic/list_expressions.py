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
Text to SymPy without running any of it: sums, products, powers, and functions of a closed set.

A list file comes from a stranger, so nothing is evaluated: Python's grammar splits the text, and
only numbers, known names, arithmetic and the functions named here come through.
"""

import ast
from collections.abc import Callable, Mapping
import math
from typing import Any

import sympy

from closed_chain_dynamics.errors import DescriptionError, nearest_names

__all__ = ['FORCE_FUNCTIONS', 'LIST_FUNCTIONS', 'parse_expression']

Functions = Mapping[str, Callable[..., sympy.Expr]]
# What Lagrange's equations can differentiate.
LIST_FUNCTIONS: Functions = {
    'sin': sympy.sin,
    'cos': sympy.cos,
    'tan': sympy.tan,
    'asin': sympy.asin,
    'acos': sympy.acos,
    'atan': sympy.atan,
    'atan2': sympy.atan2,
    'sqrt': sympy.sqrt,
    'exp': sympy.exp,
    'log': sympy.log,
    'sinh': sympy.sinh,
    'cosh': sympy.cosh,
    'tanh': sympy.tanh,
}
# Forces and torques are never differentiated, so they may have corners: the ground only pushes.
FORCE_FUNCTIONS: Functions = {
    **LIST_FUNCTIONS,
    'abs': sympy.Abs,
    'sign': sympy.sign,
    'max': sympy.Max,
    'min': sympy.Min,
}
TWO_OR_MORE = {'max', 'min'}
LONGEST_TEXT = 2000  # characters; a longer text is not something a person wrote
LARGEST_POWER = 64  # of numbers, so that 9**9**9 stays an error and not an afternoon
LIST_OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], sympy.Expr]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: a**b,
}


def parse_expression(
    text: object,
    symbols: Mapping[str, sympy.Symbol],
    *,
    functions: Functions = LIST_FUNCTIONS,
    **place: str,
) -> sympy.Expr:
    """
    Return a SymPy expression in the given symbols, {name: Symbol}.

    Decimals become exact fractions, `^` is a power. `place` is what an error shall name: `where`
    and `file`.
    """
    text = str(text).strip()
    if len(text) > LONGEST_TEXT:
        raise DescriptionError(
            f'an expression of {len(text)} characters is too long',
            repair='Give parts of it a name among the parameters.',
            **place,
        )
    try:
        tree = ast.parse(text.replace('^', '**'), mode='eval').body
        result = _Translation(text, symbols, functions, place).translate(tree)
    except (SyntaxError, ValueError):
        torn = text.count('(') != text.count(')')
        raise DescriptionError(
            f'{text!r} is not an expression',
            repair='Put an expression with a comma into quotes, and close every bracket.'
            if torn
            else 'Write e.g. l1*cos(q1) + 0.5.',
            **place,
        ) from None
    except (RecursionError, MemoryError):
        raise DescriptionError(
            'the expression is nested too deep', repair='Give parts of it a name.', **place
        ) from None
    if result.has(sympy.zoo, sympy.nan, sympy.oo, -sympy.oo, sympy.I) or result.is_real is False:
        raise DescriptionError(
            f'{text!r} is not finite',
            **place,
            repair='It divides by zero, or takes a root or an inverse function outside its '
            'domain.',
        )
    return result


class _Translation:
    """One text on its way to SymPy, and what its errors name."""

    def __init__(
        self,
        text: str,
        symbols: Mapping[str, sympy.Symbol],
        functions: Functions,
        place: Mapping[str, str],
    ) -> None:
        self.text, self.symbols, self.functions, self.place = text, symbols, functions, place

    def translate(self, node: ast.expr) -> sympy.Expr:
        if isinstance(node, ast.Constant):
            return self._number(node.value)
        if isinstance(node, ast.Name):
            return self._name(node.id)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.UAdd, ast.USub)):
            value = self.translate(node.operand)
            return -value if isinstance(node.op, ast.USub) else value
        if isinstance(node, ast.BinOp) and type(node.op) in LIST_OPERATORS:
            return self._operation(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return self._call(node, node.func.id)
        raise self._error(
            'contains more than sums, products, powers and functions',
            f'Functions are {", ".join(self.functions)}.',
        )

    def _error(self, why: str, repair: str) -> DescriptionError:
        return DescriptionError(f'{self.text!r} {why}', repair=repair, **self.place)

    def _number(self, value: object) -> sympy.Expr:
        if isinstance(value, int) and not isinstance(value, bool):
            return sympy.Integer(value)
        if isinstance(value, float) and math.isfinite(value):
            return sympy.Rational(repr(value))
        raise self._error(
            f'contains {value!r}, which is not a finite number', 'Write numbers and names.'
        )

    def _name(self, name: str) -> sympy.Expr:
        if name == 'pi':
            return sympy.pi
        if name in self.functions:
            raise self._error(
                f'uses the function {name} without an argument', f'Write {name}(...).'
            )
        if name not in self.symbols:
            raise self._error(
                f'uses {name!r}, which is not known here', nearest_names(name, self.symbols)
            )
        return self.symbols[name]

    def _operation(self, node: ast.BinOp) -> sympy.Expr:
        left, right = self.translate(node.left), self.translate(node.right)
        if isinstance(node.op, ast.Pow) and right.is_number and not abs(right) <= LARGEST_POWER:
            raise self._error(f'has a power above {LARGEST_POWER}', 'Write a smaller exponent.')
        return LIST_OPERATORS[type(node.op)](left, right)

    def _call(self, node: ast.Call, name: str) -> sympy.Expr:
        if name not in self.functions:
            raise self._error(
                f'calls {name!r}, which is not a function here',
                nearest_names(name, self.functions),
            )
        if node.keywords or any(isinstance(each, ast.Starred) for each in node.args):
            raise self._error(
                f'calls {name} with more than plain arguments', f'Write {name}(...).'
            )
        count = len(node.args)
        wanted = 2 if name == 'atan2' or name in TWO_OR_MORE else 1
        if count < wanted or (count > wanted and name not in TWO_OR_MORE):
            raise self._error(
                f'gives {name} {count} arguments, but it takes {wanted}',
                f'Write {name}({", ".join("ab"[:wanted])}).',
            )
        return self.functions[name](*map(self.translate, node.args))
