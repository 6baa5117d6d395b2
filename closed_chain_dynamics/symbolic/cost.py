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
What a term costs: operations by kind, weighted as in Schappler et al., Table 1.

Operations are those of the generated code, counted in what is printed there: common
subexpressions once, parameters as numbers, every line an assignment.
"""

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
import time

from numpy.typing import ArrayLike

from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.symbolic.code import python_source
from closed_chain_dynamics.symbolic.elimination import METHODS, derive
from closed_chain_dynamics.symbolic.reduced_equations import ReducedEquations

__all__ = ['OPERATION_WEIGHTS', 'PAPER', 'Cost', 'cost', 'cost_table']

# the columns of Table 1, and what one operation of each weighs
OPERATION_WEIGHTS = {'+-': 1, '*': 1, '/': 4, 'sqrt': 5, 'sin/cos': 10, 'atan': 15, ':=': 1}
COUNTED_FUNCTIONS = {
    'fabs': '+-',
    'copysign': '+-',
    'sqrt': 'sqrt',
    'sin': 'sin/cos',
    'cos': 'sin/cos',
    'atan2': 'atan',
}
# Table 1 in the same order. ':=' of DE, g_1 is printed as 358; with 272, the figure in the
# authors' generated code, the printed sum is right.
PAPER: Mapping[tuple[str, str], tuple[tuple[int, ...], float]] = {
    ('g_1', 'te'): ((710, 985, 12, 3, 22, 0, 365), 1.4 * 3600),
    ('g_1', 'de'): ((491, 646, 24, 3, 38, 5, 272), 0.4 * 3600),
    ('g_1', 'ic'): ((462, 554, 6, 0, 50, 0, 264), 2.0),
    ('M_1', 'te'): ((1138, 1671, 28, 3, 22, 0, 598), 2.0 * 3600),
    ('M_1', 'de'): ((1142, 1656, 25, 3, 32, 5, 591), 2.0 * 3600),
    ('M_1', 'ic'): ((1230, 1730, 6, 0, 48, 0, 537), 17.0),
}


@dataclass(frozen=True)
class Cost:
    """Operations by kind, as in OPERATION_WEIGHTS, and the time it took to generate them [s]."""

    counts: tuple[int, ...]
    seconds: float = 0.0

    @property
    def weighted(self) -> int:
        """Return the weighted sum."""
        return sum(
            count * weight for count, weight in zip(self.counts, OPERATION_WEIGHTS.values())
        )


def cost(equations: ReducedEquations, term: str) -> Cost:
    """Return the Cost of a term."""
    code = ast.parse(python_source(equations, [term]))
    counts = dict.fromkeys(OPERATION_WEIGHTS, 0)
    for node in ast.walk(code):
        kind = _kind(node)
        if kind:
            counts[kind] += 1
    counts[':='] -= 2  # the array of results, and its view
    return Cost(tuple(counts.values()), equations.seconds[term])


def _kind(node: ast.AST) -> str | None:
    """Return what a node of a program counts as."""
    if isinstance(node, ast.BinOp):
        return {ast.Mult: '*', ast.Div: '/'}.get(type(node.op), '+-')
    if isinstance(node, ast.UnaryOp):
        return None if isinstance(node.operand, ast.Constant) else '+-'
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return COUNTED_FUNCTIONS.get(node.func.id)
    return ':=' if isinstance(node, ast.Assign) else None


def cost_table(
    robot: Mechanism,
    q: ArrayLike | None = None,
    *,
    terms: Sequence[str] = ('g_1', 'M_1'),
    methods: Sequence[str] = METHODS,
    progress: Callable[[float], object] | None = None,
) -> dict[tuple[str, str], Cost]:
    """
    Return {(term, method): Cost}, each derived afresh so that the times compare.

    'te' and 'de' refuse loops that are not planar.
    """
    table: dict[tuple[str, str], Cost] = {}
    for k, (term, method) in enumerate((term, method) for term in terms for method in methods):
        begun = time.perf_counter()
        equations = derive(robot, method, q)
        counted = cost(equations, term)
        table[term, method] = Cost(counted.counts, time.perf_counter() - begun)
        if progress:
            progress((k + 1) / (len(terms) * len(methods)))
    return table
