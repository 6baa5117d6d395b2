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
How far generated code and the core are from the truth: the same trace with forty digits.

A ladder of four-bars, each on the coupler of the one below, has an inertia matrix A whose
condition number grows with its height: 4e3 for 32 of them, 1e5 for 64. Solving with A in doubles
costs as many digits, whoever does it: the two agree to 1e-12 up to some thirty, to 1e-11 for 64.
"""

import casadi as ca
import mpmath
import numpy as np

from benchmarks.models import case
import closed_chain_dynamics as ccd
from closed_chain_dynamics.codegen.gathering import gather
from closed_chain_dynamics.codegen.traces import trace

DIGITS = 40
UNARY = {
    ca.OP_ASSIGN: lambda a: a,
    ca.OP_NEG: lambda a: -a,
    ca.OP_SQ: lambda a: a * a,
    ca.OP_TWICE: lambda a: a + a,
    ca.OP_INV: lambda a: 1 / a,
    ca.OP_SIN: mpmath.sin,
    ca.OP_COS: mpmath.cos,
}
BINARY = {
    ca.OP_ADD: lambda a, b: a + b,
    ca.OP_SUB: lambda a, b: a - b,
    ca.OP_MUL: lambda a, b: a * b,
    ca.OP_DIV: lambda a, b: a / b,
}


def evaluate(function, *given):
    """Return the first output of a CasADi function, every operation with forty digits."""
    values, out = {}, [mpmath.mpf(0)] * function.nnz_out(0)
    for k in range(function.n_instructions()):
        what = function.instruction_id(k)
        to, of = function.instruction_output(k), function.instruction_input(k)
        if what == ca.OP_OUTPUT:
            if to[0] == 0:
                out[to[1]] = values[of[0]]
        elif what == ca.OP_CONST:
            values[to[0]] = mpmath.mpf(function.instruction_constant(k))
        elif what == ca.OP_INPUT:
            values[to[0]] = mpmath.mpf(float(given[of[0]][of[1]]))
        elif what in UNARY:
            values[to[0]] = UNARY[what](values[of[0]])
        else:
            values[to[0]] = BINARY[what](values[of[0]], values[of[1]])
    return out


def test_both_lose_what_the_condition_of_A_takes_and_no_more():
    c = case('M4_32')
    function = trace(gather(c.robot, c.q), 'forward_dynamics').function
    generated = function(q=c.q, v=c.v, tau=c.tau_A)['acceleration'].full().ravel()
    core = ccd.forward_dynamics(c.robot, c.q, c.v, c.tau_A).acceleration
    with mpmath.workdps(DIGITS):
        exact = evaluate(function, c.q, c.v, c.tau_A)
        errors = [
            float(max(abs(float(x) - y) for x, y in zip(found, exact)))
            for found in (generated, core)
        ]
    W = ccd.coordinates(c.robot, c.q).W
    bound = np.linalg.cond(W.T @ ccd.mass_matrix(c.robot, c.q) @ W) * np.finfo(float).eps
    assert 1e-13 < bound < 2e-12  # three digits are at stake, and the exact ones tell which
    for error in errors:
        assert error < bound * np.abs(core).max()
