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

"""Equations and compiled dynamics of shipped list files, derived once for all tests."""

from functools import cache

import numpy as np
from scipy.integrate import solve_ivp
import sympy

from closed_chain_dynamics import symbolic

# A state of the standing figure and its inputs, those of the quoted numbers.
STATE = (0.05, 1.45, 1.70, 1.40), (0.2, -0.6, 0.9, -0.4)
INPUTS = {'F': 30, 'T1': 20, 'T2': -35, 'T3': 15}


@cache
def derived(name):
    return symbolic.lagrange(symbolic.read_lists(name))


@cache
def compiled(name):
    return derived(name).compile()


def zero(expression):
    """Return whether an expression is zero: multiplied out, squares of sines by cosines."""
    expanded = sympy.expand(sympy.sympify(expression), trig=True)
    w, n = sympy.Wild('w'), sympy.Wild('n', properties=[lambda k: k.is_Integer and k > 1])

    def by_cosines(w, n):
        return (1 - sympy.cos(w) ** 2) ** (n // 2) * sympy.sin(w) ** (n % 2)

    if expanded:
        expanded = sympy.expand(expanded.replace(sympy.sin(w) ** n, by_cosines))
    return expanded == 0 or sympy.simplify(expanded) == 0  # which takes ten times as long


def zero_matrix(matrix):
    return all(zero(each) for each in matrix)


def taken_apart(q, v):
    """Return the state of the nine coordinates that a state of the four stands for."""
    eq = derived('standing_figure')
    motion = eq.motion
    numbers = dict(zip((*eq.coordinates, *eq.velocities), (*q, *v)))
    numbers |= {sympy.Symbol(name): value for name, value in eq.lists.parameters.items()}
    state = [], []
    for point, frame in (('1', '1'), ('3', '2'), ('5', '3')):
        for values, vector, turn in (
            (state[0], motion.disp[point], motion.angle[frame]),
            (state[1], motion.velo[point], motion.omga[frame][0]),
        ):
            values += [float(each.subs(numbers)) for each in (*vector, turn)]
    return np.array(state)


def fall(name, q, v, duration, inputs=None):
    """Return the state after a time, integrated by SciPy."""
    dynamics, n = compiled(name), len(q)

    def rate(t, x):
        return np.concatenate([x[n:], dynamics.accelerations(x[:n], x[n:], inputs, t)[0]])

    run = solve_ivp(
        rate, (0, duration), np.concatenate([q, v]), method='DOP853', rtol=1e-11, atol=1e-12
    )
    return run.y[:, -1]
