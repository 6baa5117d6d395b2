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
Assignments for readers: a length that a whole step is multiplied by moves to where it cancels.

Closed forms of loops are written without divisions as long as possible, which is what code needs.
On paper, u = y^3 (a + b) and cos q = u / y^4 are u = a + b and cos q = u / y.
"""

import sympy

from closed_chain_dynamics.symbolic.assignments import Assigned

__all__ = ['with_factors_moved']


def with_factors_moved(
    steps: list[tuple[sympy.Symbol, sympy.Expr]], matrix: sympy.Matrix
) -> Assigned:
    """Return the same assignments and result, with the symbols that multiply a step moved on."""
    moved: dict[sympy.Symbol, sympy.Expr] = {}
    kept = []
    for name, value in steps:
        factors = sympy.Mul.make_args(sympy.factor_terms(value.xreplace(moved)))
        outside = [each for each in factors if each.as_base_exp()[0].is_Symbol]
        rest = sympy.Mul(*(each for each in factors if each not in outside))
        if rest.is_number:  # nothing worth a name is left
            moved[name] = sympy.Mul(*factors)
            continue
        moved[name] = sympy.Mul(*outside) * name
        kept.append((name, rest))
    return kept, matrix.xreplace(moved).applyfunc(sympy.factor_terms)
