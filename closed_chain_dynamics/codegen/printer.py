"""
A CasADi function as straight-line C over a type `real`, whatever that is.

CasADi has done the work: the expression graph, common subexpressions and the sharing of
variables. What is printed here is its list of instructions, in a form that fits double and single
precision and vectors of several states alike; `real.h` says what each operation means there.
"""

from typing import Any

import casadi as ca

from closed_chain_dynamics.codegen.traces import Trace

__all__ = ['operations', 'print_function']

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


def operations(function: Any) -> int:
    """Return how many operations a function takes, constants and copies not counted."""
    silent = {ca.OP_CONST, ca.OP_INPUT, ca.OP_OUTPUT}
    return sum(function.instruction_id(k) not in silent for k in range(function.n_instructions()))


def print_function(traced: Trace) -> str:
    """Return a C function of one array of inputs, one after the other, and one of outputs."""
    f = traced.function
    into = _starts([f.nnz_in(k) for k in range(f.n_in())])
    out = _starts([f.nnz_out(k) for k in range(f.n_out())])
    lines, seen = [], set()
    for k in range(f.n_instructions()):
        what, to, of = f.instruction_id(k), f.instruction_output(k), f.instruction_input(k)
        if what == ca.OP_OUTPUT:
            lines.append(f'  y[{out[to[0]] + to[1]}] = a{of[0]};')
            continue
        seen.add(to[0])
        if what == ca.OP_CONST:
            value = f'real_constant({f.instruction_constant(k)!r})'
        elif what == ca.OP_INPUT:
            value = f'x[{into[of[0]] + of[1]}]'
        elif what in UNARY:
            value = UNARY[what].format(f'a{of[0]}')
        else:
            value = BINARY[what].format(f'a{of[0]}', f'a{of[1]}')
        lines.append(f'  a{to[0]} = {value};')
    names = [f'a{n}' for n in sorted(seen)]
    declared = [f'  real {", ".join(names[k : k + 12])};' for k in range(0, len(names), 12)]
    head = f'static void {traced.name}(const real *restrict x, real *restrict y)'
    body = '\n'.join(
        [*declared, *lines, *([] if f.n_out() and lines else ['  (void)x;', '  (void)y;'])]
    )
    return f'{head} {{\n{body}\n}}\n'


def _starts(widths: list[int]) -> list[int]:
    starts = [0]
    for width in widths:
        starts.append(starts[-1] + width)
    return starts
