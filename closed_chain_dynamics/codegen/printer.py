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
A CasADi function as straight-line C over a type `real`, whatever that is.

CasADi has done the work: the expression graph, common subexpressions and the sharing of
variables. What is printed here is its list of instructions, in a form that fits double and single
precision and vectors of several states alike; `real.h` says what each operation means there.
"""

from collections.abc import Collection
from typing import Any

import casadi as ca

from closed_chain_dynamics.codegen.traces import Trace

__all__ = ['print_function']

MANY_TURNS = 8  # angles, from which on it pays to compute their sines several at a time
PART = 800  # instructions of a part; compilers and processors are about as fast from 400 to 1500

BINARY = {
    ca.OP_ADD: '{0} + {1}',
    ca.OP_SUB: '{0} - {1}',
    ca.OP_MUL: '{0} * {1}',
    ca.OP_DIV: '{0} / {1}',
    ca.OP_FMIN: 'real_min({0}, {1})',
    ca.OP_FMAX: 'real_max({0}, {1})',
    ca.OP_LT: 'real_less({0}, {1})',
    ca.OP_LE: 'real_not(real_less({1}, {0}))',
    ca.OP_EQ: 'real_equal({0}, {1})',
    ca.OP_NE: 'real_not(real_equal({0}, {1}))',
    ca.OP_AND: '{0} * {1}',
    ca.OP_OR: 'real_max({0}, {1})',
    ca.OP_ATAN2: 'real_atan2({0}, {1})',
    ca.OP_IF_ELSE_ZERO: 'real_if({0}, {1})',
}
UNARY = {
    ca.OP_ASSIGN: '{0}',
    ca.OP_NEG: '-{0}',
    ca.OP_SQ: '{0} * {0}',
    ca.OP_TWICE: '{0} + {0}',
    ca.OP_INV: 'real_one / {0}',
    ca.OP_SQRT: 'real_sqrt({0})',
    ca.OP_SIN: 'real_sin({0})',
    ca.OP_COS: 'real_cos({0})',
    ca.OP_TANH: 'real_tanh({0})',
    ca.OP_FABS: 'real_abs({0})',
    ca.OP_NOT: 'real_not({0})',
    ca.OP_SIGN: 'real_sign({0})',
}


def print_function(traced: Trace, part: int = PART, *, together: bool = False) -> str:
    """
    Return C of a function of one array of inputs, one after the other, and one of outputs.

    A compiler's time grows with the square of a function's length, so a long one is printed in
    parts of `part` instructions, which it calls one after the other. What one part leaves to
    another is in an array; most of it would not have been in registers so long anyway.

    `together`: sines and cosines of inputs come first, by `real_turns` several at a time.
    """
    values, angles = _values(traced.function, together)
    if len(angles) < MANY_TURNS:
        values, angles = _values(traced.function, False)
    head = f'static void {traced.name}(const real *restrict x, real *restrict y)'
    turns = _turns(angles)
    if len(values) <= part:
        names = {value: f'a{value}' for value in range(len(values))}
        body = [*_declared(values, range(len(values)), set()), *_lines(values, names)]
        quiet = [] if traced.function.n_out() and values else ['  (void)x;', '  (void)y;']
        return '\n'.join([f'{head} {{', *turns, *body, *quiet, '}\n'])
    given = 'const real *restrict x, real *restrict y, real *restrict w, const real *restrict t'
    places, room = _places(values, part)
    text, calls = [], []
    for first in range(0, len(values), part):
        own = range(first, min(first + part, len(values)))
        name = f'{traced.name}_{first // part}'
        names = {k: f'w[{places[k]}]' if k in places else f'a{k}' for k in range(own.stop)}
        text += [
            f'static OUT_OF_LINE void {name}({given}) {{',
            '  (void)x, (void)y, (void)w, (void)t;',
            *_declared(values, own, places.keys()),
            *_lines(values, names, own),
            '}',
        ]
        calls.append(f'  {name}(x, y, w, {"t" if angles else 0});')
    return '\n'.join([*text, f'{head} {{', *turns, f'  real w[{room}];', *calls, '}\n'])


PrintedValue = tuple[
    str, tuple[int, ...]
]  # C with a place for every value that it needs; '' for none


def _turns(angles: list[int]) -> list[str]:
    """Return lines that put sines and cosines of inputs into an array, one after the other."""
    if not angles:
        return []
    n = len(angles)
    places = ', '.join(map(str, angles))
    return [
        f'  static const int angles[{n}] = {{{places}}};',
        f'  real t[{2 * n}];',
        f'  real_turns({n}, angles, x, t);',
    ]


def _values(f: Any, together: bool) -> tuple[list[PrintedValue], list[int]]:
    """
    Return what a function computes, each value once, as CasADi's variables change theirs.

    And the inputs whose sines and cosines are to be computed `together`.
    """
    into = _starts([f.nnz_in(k) for k in range(f.n_in())])
    out = _starts([f.nnz_out(k) for k in range(f.n_out())])
    found: list[PrintedValue] = []
    holder: dict[int, int] = {}  # variable -> its present value
    inputs: dict[int, int] = {}  # variable -> the input that it is; a value once it is read
    angles: dict[int, int] = {}  # input -> the place of its sine among all, in pairs

    def read(variable: int) -> int:
        if variable not in holder:
            found.append((f'x[{inputs[variable]}]', ()))
            holder[variable] = len(found) - 1
        return holder[variable]

    for k in range(f.n_instructions()):
        what, to, of = f.instruction_id(k), f.instruction_output(k), f.instruction_input(k)
        if what == ca.OP_OUTPUT:
            found.append((f'y[{out[to[0]] + to[1]}] = {{0}};', (read(of[0]),)))
            continue
        if what == ca.OP_INPUT:
            inputs[to[0]] = into[of[0]] + of[1]
            holder.pop(to[0], None)
            continue
        if what == ca.OP_CONST:
            value: PrintedValue = f'real_constant({f.instruction_constant(k)!r})', ()
        elif together and what in (ca.OP_SIN, ca.OP_COS) and of[0] in inputs:
            at = angles.setdefault(inputs[of[0]], len(angles))
            name = 'cosine' if what == ca.OP_COS else 'sine'
            value = f'real_{name}_of({at}, {inputs[of[0]]})', ()
        elif what in UNARY:
            value = UNARY[what], (read(of[0]),)
        else:
            value = BINARY[what], (read(of[0]), read(of[1]))
        found.append(value)
        inputs.pop(to[0], None)
        holder[to[0]] = len(found) - 1
    return found, list(angles)


def _is_output(value: PrintedValue) -> bool:
    return value[0].endswith(';')


def _lines(
    values: list[PrintedValue], names: dict[int, str], own: range | None = None
) -> list[str]:
    lines = []
    for k in range(len(values)) if own is None else own:
        text = values[k][0].format(*(names[n] for n in values[k][1]))
        lines.append(f'  {text}' if _is_output(values[k]) else f'  {names[k]} = {text};')
    return lines


def _declared(values: list[PrintedValue], own: range, placed: Collection[int]) -> list[str]:
    names = [f'a{k}' for k in own if k not in placed and not _is_output(values[k])]
    return [f'  real {", ".join(names[k : k + 12])};' for k in range(0, len(names), 12)]


def _places(values: list[PrintedValue], part: int) -> tuple[dict[int, int], int]:
    """Return places in the array for values that later parts need, and its length."""
    last: dict[int, int] = {}  # value -> the last part that needs it
    for k, (_, needed) in enumerate(values):
        last.update(dict.fromkeys(needed, k // part))
    places: dict[int, int] = {}
    free: list[int] = []
    ending: dict[int, list[int]] = {}
    room = 0
    for k in range(len(values)):
        if k % part == 0:  # what the part before was the last to need makes room
            free += ending.pop(k // part - 1, [])
        if last.get(k, 0) > k // part:
            if not free:
                free.append(room)
                room += 1
            places[k] = free.pop()
            ending.setdefault(last[k], []).append(places[k])
    return places, max(room, 1)


def _starts(widths: list[int]) -> list[int]:
    starts = [0]
    for width in widths:
        starts.append(starts[-1] + width)
    return starts
