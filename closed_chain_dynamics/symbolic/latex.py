"""Equations as SymPy, and as LaTeX that compiles by itself."""

from collections.abc import Callable, Mapping, Sequence

import sympy

from closed_chain_dynamics.symbolic.expression_graph import needed
from closed_chain_dynamics.symbolic.program import Program, flat
from closed_chain_dynamics.symbolic.reduced_equations import TERMS, ReducedEquations

__all__ = ['Assigned', 'equation', 'latex_source', 'sympy_of']

Assigned = tuple[list[tuple[sympy.Symbol, sympy.Expr]], sympy.Matrix]  # assignments, result

HEAD = r"""\documentclass[a4paper,landscape]{article}
\usepackage[margin=15mm]{geometry}
\usepackage{amsmath,breqn}
\begin{document}
"""
SYMBOLS = {
    'M_1': 'M_1',
    'c_1': 'c_1',
    'g_1': 'g_1',
    'tau_1s': r'\tau_{1\mathrm{s}}',
    'tau_1d': r'\tau_{1\mathrm{d}}',
    'tau_1': r'\tau_1',
    'W': 'W',
    'q': 'q',
}
OPERATIONS: Mapping[str, Callable[..., sympy.Expr]] = {
    'add': lambda a, b: a + b,
    'sub': lambda a, b: a - b,
    'mul': lambda a, b: a * b,
    'div': lambda a, b: a / b,
    'neg': lambda a: -a,
    'sqrt': sympy.sqrt,
    'sin': sympy.sin,
    'cos': sympy.cos,
    'atan2': sympy.atan2,
}


def sympy_of(equations: ReducedEquations, term: str) -> Assigned:
    """
    Return a term as SymPy: (assignments, Matrix), the way `sympy.cse` returns them.

    Inputs and parameters are symbols of their names; `equations.parameters(term)` has the values.
    """
    entries = equations.term(term)
    program = Program(flat(entries), fold=False)
    named = {node.number for node in program.named}
    known: dict[int, sympy.Expr] = {}
    assignments: list[tuple[sympy.Symbol, sympy.Expr]] = []
    for node in needed(program.outputs):
        if node.op == 'number':
            known[node.number] = (
                sympy.nsimplify(node.value)
                if node.value == round(node.value, 6)
                else sympy.Float(node.value)
            )
        elif not node.args:
            known[node.number] = sympy.Symbol(node.name)
        else:
            known[node.number] = OPERATIONS[node.op](*[known[arg.number] for arg in node.args])
            if node.number in named:
                symbol = sympy.Symbol(f'u_{len(assignments) + 1}')
                assignments.append((symbol, known[node.number]))
                known[node.number] = symbol
    rows = entries if isinstance(entries[0], list) else [[node] for node in entries]
    return assignments, sympy.Matrix([[known[node.number] for node in row] for row in rows])


def latex_source(equations: ReducedEquations, terms: Sequence[str]) -> str:
    """Return a LaTeX document with all assignments, terms and parameters."""
    from closed_chain_dynamics.symbolic.code import about

    parts = [HEAD]
    parts += [
        rf'\noindent\verb|{line.replace("|", "/")}|\\' for line in about(equations, terms) if line
    ]
    parameters: dict[str, float] = {}
    for term in terms:
        assignments, matrix = sympy_of(equations, term)
        parts.append(rf'\section*{{${SYMBOLS[term]}$: {TERMS[term]}}}')
        for symbol, expression in assignments:
            parts.append(equation(sympy.latex(symbol), sympy.latex(expression)))
        for (row, column), entry in _entries(matrix):
            place = f'{row + 1}' + f'{column + 1}' * (matrix.cols > 1)
            parts.append(
                equation(rf'\left({SYMBOLS[term]}\right)_{{{place}}}', sympy.latex(entry))
            )
        parameters.update(equations.parameters(term))
    parts.append(r'\section*{Parameters}')
    parts += [
        equation(sympy.latex(sympy.Symbol(name)), f'{value!r}')
        for name, value in sorted(parameters.items())
    ]
    return '\n'.join([*parts, r'\end{document}', ''])


def equation(left: str, right: str) -> str:
    """Return a displayed equation that breaks its lines by itself."""
    return rf'\begin{{dmath*}} {left} = {right} \end{{dmath*}}'


def _entries(matrix: sympy.Matrix) -> list[tuple[tuple[int, int], sympy.Expr]]:
    """Return the entries of a matrix with their places; of a symmetric one the lower half."""
    symmetric = matrix.cols > 1 and matrix.is_square and matrix == matrix.T
    return [
        ((i, j), matrix[i, j])
        for i in range(matrix.rows)
        for j in range(matrix.cols)
        if not symmetric or j <= i
    ]
