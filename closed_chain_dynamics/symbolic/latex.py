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

r"""
Equations of a mechanism as LaTeX that compiles by itself, the way a paper prints them.

What code computes in hundreds of assignments is a few matrices for a reader: those of the tree,
in all coordinates, and W, which projects them, M_1 = W^T M W. Sines and cosines of joints are
letters, and only what is long and used more than once has a name of its own.
"""

from collections.abc import Iterable, Sequence
import re

import casadi as ca
import sympy
from sympy.printing.latex import LatexPrinter

from closed_chain_dynamics.codegen.expressions import SX
from closed_chain_dynamics.symbolic.angles import Angle
from closed_chain_dynamics.symbolic.assignments import Assigned, assigned
from closed_chain_dynamics.symbolic.elimination import Explicit, OpenTree
from closed_chain_dynamics.symbolic.reduced_equations import REDUCED_TERMS, ReducedEquations
from closed_chain_dynamics.symbolic.shared_factors import with_factors_moved

__all__ = ['LATEX_HEAD', 'Printer', 'equation', 'latex_source', 'parameter_list', 'text']

LATEX_HEAD = r"""\documentclass[a4paper]{article}
\usepackage[margin=20mm]{geometry}
\usepackage{amsmath,breqn}
\setlength{\parindent}{0pt}
\begin{document}
"""
WORTH_A_NAME = 6  # operations of what is written more than once
WIDEST = 100  # letters of a matrix that stands as one; of others the entries are listed
SIMPLIFIED = 150  # operations of a matrix that SymPy simplifies in a moment
GREEK = ('delta', 'lambda', 'tau')


def text(line: str) -> str:
    """Return a line of plain text as LaTeX."""
    return re.sub(r'([#$%&_{}])', r'\\\1', re.sub(r'[\\^~]', ' ', line))


def _letter(name: str) -> str:
    r"""Return a symbol: q_crank is q_{\mathrm{crank}}, v_ its rate, Ixx_crank has two indices."""
    base, _, index = name.partition('_')
    dots = {'v': r'\dot ', 'a': r'\ddot '}.get(base, '')
    base = 'q' if dots else base
    lead, more = (base, '') if base in GREEK else (base[:1], base[1:])
    lead = f'\\{lead}' if lead in GREEK else lead
    indices = [more] if more else []
    if index:
        indices.append(rf'\mathrm{{{text(index)}}}' if len(index) > 1 else index)
    return f'{dots}{lead}' + (f'_{{{",".join(indices)}}}' if indices else '')


class Printer(LatexPrinter):  # type: ignore[misc]  # SymPy has no types
    """Prints symbols by what they mean, sines and cosines of joints as letters."""

    def _print_Symbol(self, symbol: sympy.Symbol, **_: object) -> str:
        return _letter(symbol.name)

    def _turn(self, name: str, turn: sympy.Expr, power: str | None) -> str:
        (angle,) = turn.args
        if angle.is_Symbol and angle.name.startswith('q_'):
            short = _letter(f'{name[0]}_{angle.name[2:]}')
        else:
            short = rf'\{name}\left({self._print(angle)}\right)'
        return short if power is None else f'{{{short}}}^{{{power}}}'

    def _print_sin(self, turn: sympy.Expr, exp: str | None = None) -> str:
        return self._turn('sin', turn, exp)

    def _print_cos(self, turn: sympy.Expr, exp: str | None = None) -> str:
        return self._turn('cos', turn, exp)


PRINT = Printer({'mul_symbol': r' \, ', 'long_frac_ratio': 1}).doprint


def equation(left: str, right: str) -> str:
    """Return a displayed equation that breaks its lines by itself."""
    return rf'\begin{{dmath*}} {left} = {right} \end{{dmath*}}'


def parameter_list(values: Iterable[tuple[str, float]]) -> str:
    """Return the numbers of parameters as a paragraph."""
    listed = [f'${PRINT(sympy.Symbol(name))} = {value:.6g}$' for name, value in values]
    return '\\raggedright\n' + ',\\quad\n'.join(listed) + '\n'


class _Document:
    """Collects equations, and the parameters in them."""

    def __init__(self, equations: ReducedEquations) -> None:
        self.parts = [LATEX_HEAD]
        self.tree = OpenTree(equations.robot, equations.pose, 'ic')
        self.parameters: dict[str, float] = {}
        self._named = 0  # quantities that have a name, u_1 and so on

    def say(self, line: str) -> None:
        self.parts.append(f'{line}\n')

    def _assigned(self, value: SX, of: ReducedEquations) -> sympy.Matrix:
        """Print what is used more than once, and return the rest."""
        steps, matrix = self._numbered(
            *with_factors_moved(*assigned(value, longest=0, smallest=WORTH_A_NAME))
        )
        for x in ca.symvar(value):
            if x.name() in of.tree.parameters:
                self.parameters[x.name()] = of.tree.parameters[x.name()]
        for name, step in steps:
            self.parts.append(equation(PRINT(name), PRINT(step)))
        short = not steps and sympy.count_ops(matrix) < SIMPLIFIED
        return matrix.applyfunc(sympy.simplify) if short else matrix

    def _numbered(
        self, steps: list[tuple[sympy.Symbol, sympy.Expr]], matrix: sympy.Matrix
    ) -> Assigned:
        """Go on counting the names where the document is, so that each has one meaning in it."""
        own = {
            name: sympy.Symbol(f'u_{count}')
            for count, (name, _) in enumerate(steps, self._named + 1)
        }
        self._named += len(steps)
        return [(own[name], step.xreplace(own)) for name, step in steps], matrix.xreplace(own)

    def show_each(self, values: dict[str, SX], of: ReducedEquations) -> None:
        """Print quantities that share what they are made of, {left side: SX}."""
        if values:
            matrix = self._assigned(ca.vertcat(*values.values()), of)
            self.parts += [equation(*pair) for pair in zip(values, map(PRINT, matrix))]

    def show(self, symbol: str, value: SX) -> None:
        """Print an SX matrix or column of the tree: as one where it fits, else its entries."""
        matrix = self._assigned(value, self.tree)
        rows = [[PRINT(entry) for entry in matrix.row(i)] for i in range(matrix.rows)]
        width = sum(max(_width(row[k]) for row in rows) for k in range(matrix.cols)) if rows else 0
        if matrix.is_zero_matrix:
            self.say(rf'\[ {symbol} = 0 \]')
        elif matrix.shape == (1, 1):
            self.parts.append(equation(symbol, rows[0][0]))
        elif width <= WIDEST:
            body = r' \\ '.join(' & '.join(row) for row in rows)
            self.parts.append(rf'\[ {symbol} = \begin{{pmatrix}} {body} \end{{pmatrix}} \]')
        else:
            self._entries(symbol, matrix, rows)

    def _entries(self, symbol: str, matrix: sympy.Matrix, rows: list[list[str]]) -> None:
        symmetric = matrix.is_square and matrix.cols > 1 and matrix == matrix.T
        zeros = False
        for i, row in enumerate(rows):
            for j, entry in enumerate(row[: i + 1] if symmetric else row):
                if matrix[i, j] == 0:
                    zeros = True
                    continue
                place = f'{i + 1},{j + 1}' if matrix.cols > 1 else f'{i + 1}'
                self.parts.append(equation(rf'\left({symbol}\right)_{{{place}}}', entry))
        notes = [rf'${symbol}$ is symmetric'] * symmetric + [
            'entries that are missing are zero'
        ] * zeros
        if notes:
            self.say('; '.join(notes)[:1].upper() + '; '.join(notes)[1:] + '.')


def _width(latex: str) -> int:
    """Return about how many letters an expression takes."""
    return len(re.sub(r'\\mathrm|\\left|\\right|\\dot|\\[a-z]+|[{}_^\s\\,]', '', latex))


def latex_source(equations: ReducedEquations, terms: Sequence[str]) -> str:
    """Return a LaTeX document with the kinematics, the terms and their parameters."""
    document = _Document(equations)
    _introduce(document, equations, terms)
    if isinstance(equations, Explicit):
        _show_closed_form(document, equations)
    if equations.dependent:
        _show_projection(document, equations)
    wanted = [*terms, *(TREE_TERMS if 'tau_1' in terms else ())]
    for term, (reduced, of_tree, symbol) in TREE_TERMS.items():
        if term in wanted:
            document.say(rf'\section*{{${reduced.split(" =")[0]}$: {REDUCED_TERMS[term]}}}')
            if equations.dependent:
                document.say(rf'\[ {reduced} \]')
            document.show(symbol, document.tree.term(of_tree))
    if 'tau_1' in terms:
        document.say(rf'\section*{{$\tau_1$: {REDUCED_TERMS["tau_1"]}}}')
        document.say(
            r'\[ \tau_1 = M_1 \ddot q_1 + c_1 + g_1 + \tau_{1\mathrm{s}} + \tau_{1\mathrm{d}} \]'
        )
    document.say(r'\section*{Parameters}')
    document.say(parameter_list(sorted(document.parameters.items())))
    return '\n'.join([*document.parts, r'\end{document}', ''])


# how each term follows from one of the tree, that one, and its symbol
TREE_TERMS = {
    'M_1': (r'M_1 = W^\top M W', 'M_1', 'M'),
    'c_1': (r'c_1 = W^\top \left( c + M \dot W \dot q_1 \right)', 'c_1', 'c'),
    'g_1': (r'g_1 = W^\top g', 'g_1', 'g'),
    'tau_1s': (r'\tau_{1\mathrm{s}} = W^\top \tau_{\mathrm{s}}', 'tau_1s', r'\tau_{\mathrm{s}}'),
    'tau_1d': (r'\tau_{1\mathrm{d}} = W^\top \tau_{\mathrm{d}}', 'tau_1d', r'\tau_{\mathrm{d}}'),
}


def _column(names: Iterable[str], letter: str = 'q') -> str:
    listed = ', '.join(_letter(f'{letter}_{name}') for name in names)
    return rf'\left( {listed} \right)^\top'


def _introduce(document: _Document, equations: ReducedEquations, terms: Sequence[str]) -> None:
    name = text(equations.robot.name)
    document.say(rf'\section*{{Equations of motion of {name}}}')
    document.say(
        r'\[ M_1 \ddot q_1 + c_1 + g_1 + \tau_{1\mathrm{s}} + \tau_{1\mathrm{d}} = \tau_1 \]'
    )
    document.say(rf'Independent coordinates: $q_1 = {_column(equations.independent)}$.')
    if equations.dependent:
        document.say(rf'Dependent coordinates: $q_2 = {_column(equations.dependent)}$.')
    names = equations.robot.coordinate_names
    document.say(rf'Rows of the tree: $q = {_column(names)}$.')
    document.say(r'Short for sines and cosines: $s_i = \sin q_i$, $c_i = \cos q_i$.')
    for loop, branch in equations.branches.items():
        document.say(f'Loop {text(loop)}: {text(branch)}.')
    for note in equations.notes:
        document.say(text(note))


def _show_closed_form(document: _Document, equations: Explicit) -> None:
    """Print the dependent joints one after the other, each by those before it."""
    form, bodies = equations.form, equations.tree.bodies
    solved = [i for i in form.order if bodies[i].joint not in equations.independent]
    if solved:
        document.say(r'\section*{Closed form of the dependent coordinates}')
    values: dict[str, SX] = {}
    for i in solved:
        state, angle = form.state[i], _letter(f'q_{bodies[i].joint}')
        if not isinstance(state, Angle) or state.value is not None:
            values[angle] = form.value(i)
            continue
        if not bodies[i].delta.is_zero():
            angle = rf'\left({angle} + {_letter(f"delta_{bodies[i].joint}")}\right)'
        values[rf'\cos {angle}'], values[rf'\sin {angle}'] = state.cos, state.sin
    document.show_each(values, equations)


def _show_projection(document: _Document, equations: ReducedEquations) -> None:
    """Print W by the derivatives of the constraints, sorted into q_1 and q_2."""
    tree = document.tree
    names = list(equations.robot.coordinate_names)
    first, second = (
        [names.index(name) for name in each]
        for each in (equations.independent, equations.dependent)
    )
    document.say(r'\section*{$W$: ' + REDUCED_TERMS['W'] + '}')
    document.say(
        r'\[ \dot q = W \dot q_1, \qquad \begin{pmatrix} \dot q_1 \\ \dot q_2 \end{pmatrix} = '
        r'\begin{pmatrix} E \\ -J_2^{-1} J_1 \end{pmatrix} \dot q_1, \qquad '
        r'J_2 \ddot q_2 = -J_1 \ddot q_1 - \dot J \dot q \]'
    )
    document.show('J_1', tree.J[:, first])
    document.show('J_2', tree.J[:, second])
    document.show(r'\dot J \dot q', ca.densify(tree.change_of_J(tree.v_1)))
