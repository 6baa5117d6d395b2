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
Lagrange's equations of lists: chapter 8 of Winter, term by term.

Right forms are written down here by hand; what the derivation gives must differ from them by
exactly zero, and from the misprints of the chapter by something else.
"""

from dataclasses import replace

from helpers.derived_lists import INPUTS, STATE, compiled, derived, fall, taken_apart, zero
import numpy as np
import pytest
import sympy
from sympy import Rational, Symbol, cos, sin, symbols

from closed_chain_dynamics import symbolic
from closed_chain_dynamics.symbolic.list_elements import acceleration, velocity

# Doubles through a solve of at most 14 unknowns; entries up to about 1e3.
ROUNDING = 1e-10
# Numbers quoted to 12 digits.
QUOTED = 1e-11
# Two forms of one motion, each integrated with rtol 1e-11; errors of an upright figure grow.
SAME_WAY = 1e-8

F, T1, T2, T3, g = symbols('F T1 T2 T3 g')
m1, m2, m3, l1, l2, r1, r2, r3, I1, I2, I3 = symbols('m1 m2 m3 l1 l2 r1 r2 r3 I1 I2 I3')
q1, q2, q3, q4 = symbols('q1 q2 q3 q4')
w1, w2, w3, w4 = map(velocity, ('q1', 'q2', 'q3', 'q4'))
a1, a2, a3, a4 = map(acceleration, ('q1', 'q2', 'q3', 'q4'))
d1, d2, theta = symbols('d1 d2 theta')
k2, k3, k4 = m1 * r1 + (m2 + m3) * l1, m2 * r2 + m3 * l2, m3 * r3


def balance(equation):
    """Return left minus right, expanded."""
    return sympy.expand(equation.lhs - equation.rhs)


# ---- the standing figure, section 8.6 ----------------------------------------------------------

# Each equation (a) to (d) as {term: factor}; everything on the side of M q''.
FIGURE = {
    'a': {
        a1: m1 + m2 + m3,
        a2: -k2 * sin(q2),
        a3: -k3 * sin(q3),
        a4: -k4 * sin(q4),
        w2**2: -k2 * cos(q2),
        w3**2: -k3 * cos(q3),
        w4**2: -k4 * cos(q4),
        F: -1,
    },
    'b': {
        a1: -k2 * sin(q2),
        a2: I1 + m1 * r1**2 + (m2 + m3) * l1**2,
        a3: l1 * k3 * cos(q3 - q2),
        a4: l1 * k4 * cos(q4 - q2),
        w3**2: -l1 * k3 * sin(q3 - q2),
        w4**2: -l1 * k4 * sin(q4 - q2),
        g: k2 * cos(q2),
        T1: -1,
        T2: 1,
        F: l1 * sin(q2),
    },
    'c': {
        a1: -k3 * sin(q3),
        a2: l1 * k3 * cos(q3 - q2),
        a3: I2 + m2 * r2**2 + m3 * l2**2,
        a4: l2 * k4 * cos(q4 - q3),
        w2**2: l1 * k3 * sin(q3 - q2),
        w4**2: -l2 * k4 * sin(q4 - q3),
        g: k3 * cos(q3),
        T2: -1,
        T3: 1,
        F: l2 * sin(q3),
    },
    'd': {
        a1: -k4 * sin(q4),
        a2: l1 * k4 * cos(q4 - q2),
        a3: l2 * k4 * cos(q4 - q3),
        a4: I3 + m3 * r3**2,
        w2**2: l1 * k4 * sin(q4 - q2),
        w3**2: l2 * k4 * sin(q4 - q3),
        g: k4 * cos(q4),
        T3: -1,
    },
}


def factor(row, term):
    """Return the factor of a term in one of the equations (a) to (d), as derived."""
    equation = balance(derived('standing_figure').equations['abcd'.index(row)])
    base, power = term.as_base_exp()
    return equation.coeff(base, power)


@pytest.mark.parametrize('row', FIGURE)
def test_every_term_of_the_standing_figure_is_that_of_section_8_6(row):
    rest = balance(derived('standing_figure').equations['abcd'.index(row)])
    for term, right in FIGURE[row].items():
        assert zero(factor(row, term) - right), term
        rest -= term * right
    assert zero(rest)  # and there is no other term


def test_the_figure_moves_by_the_quoted_numbers():
    M, rhs = compiled('standing_figure')(*STATE, INPUTS)
    assert M[0] == pytest.approx([72, -30.1288392780, -25.5353688692, -15.7671956798], rel=QUOTED)
    assert M[3] == pytest.approx([-15.7671956798, 7.03120183318, 6.72556888344, 8.52], rel=QUOTED)
    Q = np.array([30, 41.8961885183, -63.0899754980, 15])
    b = np.array([0.935644895836, 33.6635074644, -31.2051003630, 24.8662011166])
    assert rhs == pytest.approx(Q - b, rel=QUOTED)
    acceleration, _ = compiled('standing_figure').accelerations(*STATE, INPUTS)
    assert acceleration == pytest.approx(
        [14.7890744262, 51.5172261130, -19.8131278340, -0.664017530305], rel=QUOTED
    )
    assert compiled('standing_figure').energy(*STATE) == pytest.approx(
        (2.50356113471, 700.742071542), rel=QUOTED
    )


def test_a_prescribed_foot_gives_the_force_of_the_ground():
    t = Symbol('t')
    moved = replace(
        derived('standing_figure').lists,
        constraint={'ground': q1 - (Rational(1, 20) + t / 5 + Rational(3, 4) * t**2)},
    )  # x'' = 1.5
    acceleration, force = symbolic.lagrange(moved).compile().accelerations(*STATE, INPUTS)
    assert acceleration == pytest.approx(
        [1.5, 22.9812004688, -23.2426055971, 0.999868369983], rel=QUOTED
    )
    assert force == pytest.approx([-35.7178632855], rel=QUOTED)


# ---- misprints: what stands in the chapter, what is right, what is derived ---------------------


def planar(name, what):
    return getattr(derived(name).motion, what)


def work(name, coordinate):
    eq = derived(name)
    return eq.generalized_forces[eq.lists.coordinates.index(coordinate)]


def slope(expression):
    """Return an expression on the slope of 45 degrees of the sliding blocks."""
    return sympy.sympify(expression).subs(theta, sympy.pi / 4)


def blocks(what):
    return slope(getattr(derived('sliding_blocks'), what))


def euler_phi():
    return derived('heavy_top').motion.phi['top'].T  # (8.19) maps global to local


def euler_omega(i, j):
    return derived('heavy_top').motion.omga['top'].jacobian(derived('heavy_top').velocities)[i, j]


c = 1 / sympy.sqrt(2)
e1, e2, e3 = symbols('precession nutation spin')
# Place: (derived, right, printed).
MISPRINTS = {
    '8.12f, KE': lambda: (
        blocks('kinetic'),
        m1 * w1**2 / 2 + m2 * ((w1 - c * (w2 + w3)) ** 2 + (c * (w3 - w2)) ** 2) / 2,
        m1 * w1**2 / 2 + m2 * ((q1 - c * (w2 + w3)) ** 2 + (c * (w3 - w2)) ** 2) / 2,
    ),
    '8.12f, L': lambda: (
        blocks('lagrangian'),
        (m1 + m2) * w1**2 / 2
        + m2 * (w2**2 + w3**2 - 2 * c * w1 * (w2 + w3)) / 2
        - c * m2 * g * (d1 + q3 - q2),
        (m1 + m2) * w1**2 / 2
        + m2 * (w2**2 + w3**2 - 2 * c * w1 * (w2 + w2)) / 2
        - c * m2 * g * (d1 + q3 - q2),
    ),
    '8.12g': lambda: (derived('sliding_blocks').Phi_q[0, 2], 1, 0),
    '8.12, equation for q3': lambda: (
        slope(derived('sliding_blocks').equations[2].lhs),
        -c * m2 * a1 + m2 * a3 + c * m2 * g,
        -c * m2 * a1 + m2 * a2 + c * m2 * g,
    ),
    '8.19 (1,2)': lambda: (
        euler_phi()[0, 1],
        sin(e1) * cos(e3) + cos(e1) * cos(e2) * sin(e3),
        -cos(e3) * sin(e1) + cos(e1) * cos(e2) * cos(e3),
    ),
    '8.19 (2,1)': lambda: (
        euler_phi()[1, 0],
        -cos(e1) * sin(e3) - sin(e1) * cos(e2) * cos(e3),
        sin(e1) * sin(e3) + cos(e1) * cos(e2) * sin(e3),
    ),
    '8.19 (2,3)': lambda: (euler_phi()[1, 2], sin(e2) * cos(e3), cos(e3) * cos(e2)),
    '8.19 (3,1)': lambda: (euler_phi()[2, 0], sin(e1) * sin(e2), sin(e2) * sin(e3)),
    '8.20 (3,1)': lambda: (euler_omega(2, 0), cos(e2), cos(e3)),
    '8.22 (1,1)': lambda: (euler_omega(0, 0), sin(e2) * sin(e3), sin(e2) * sin(e2)),
    '8.22 (1,3)': lambda: (
        work('heavy_top', 'precession'),
        Symbol('tau') * cos(e2),
        Symbol('tau') * cos(e3),
    ),
    '8.6, velo(4)': lambda: (
        planar('standing_figure', 'velo')['4'][0],
        w1 - l1 * w2 * sin(q2) - r2 * w3 * sin(q3),
        w1 - l1 * w2 * sin(q2) - r1 * w3 * sin(q3),
    ),
    "8.6, L, q1' q4'": lambda: (
        sympy.expand(derived('standing_figure').lagrangian).coeff(w1).coeff(w4),
        -m3 * r3 * sin(q4),
        -m3 * r3,
    ),
    '8.6, L, m2 g': lambda: (
        sympy.expand(derived('standing_figure').lagrangian).coeff(g).coeff(m2),
        -l1 * sin(q2) - r2 * sin(q3),
        -l1 * sin(q2) - l2 * sin(q3),
    ),
    '8.6, W, T2': lambda: (work('standing_figure', 'q3').coeff(T2), 1, -1),
    '8.6 (a), m2 l1': lambda: (
        factor('a', a2),
        -k2 * sin(q2),
        -(m1 * r1 + m2 * l2 + m3 * l1) * sin(q2),
    ),
    "8.6 (a), q4''": lambda: (factor('a', a4), -m3 * r3 * sin(q4), -m3 * r3),
    "8.6 (a), q4'^2": lambda: (factor('a', w4**2), -m3 * r3 * cos(q4), 0),
    "8.6 (b), q3'^2": lambda: (
        factor('b', w3**2),
        -l1 * k3 * sin(q3 - q2),
        l1 * k3 * sin(q3 - q2),
    ),
    "8.6 (b), q4'^2": lambda: (
        factor('b', w4**2),
        -l1 * k4 * sin(q4 - q2),
        l1 * k4 * sin(q4 - q2),
    ),
    "8.6 (c), q2'^2": lambda: (factor('c', w2**2), l1 * k3 * sin(q3 - q2), 0),
    "8.6 (c), q2''^2": lambda: (factor('c', a2**2), 0, -l1 * k3 * sin(q3 - q2)),
    "8.6 (d), q3'^2": lambda: (factor('d', w3**2), l2 * k4 * sin(q4 - q3), 0),
    "8.6 (d), q3''^2": lambda: (factor('d', a3**2), 0, l2 * k4 * sin(q4 - q3)),
}


@pytest.mark.parametrize('place', MISPRINTS)
def test_misprint_is_told_from_the_right_form(place):
    is_derived, right, printed = MISPRINTS[place]()
    assert zero(is_derived - right)
    assert not zero(is_derived - printed)


def test_the_printed_equations_move_otherwise():
    """The printed (a) to (d), brackets repaired and squares of q'' read as q', as a control."""
    eq = derived('standing_figure')
    wrong = {
        ('a', a2): -(m1 * r1 + m2 * l2 + m3 * l1) * sin(q2),
        ('a', a4): -m3 * r3,
        ('a', w2**2): -(m1 * r1 + m2 * l2 + m3 * l1) * cos(q2),
        ('a', w4**2): 0,
        ('b', w3**2): l1 * k3 * sin(q3 - q2),
        ('b', w4**2): l1 * k4 * sin(q4 - q2),
        ('c', w2**2): -l1 * k3 * sin(q3 - q2),
    }
    rows = [
        sum(term * wrong.get((row, term), right) for term, right in FIGURE[row].items())
        for row in 'abcd'
    ]
    numbers = dict(zip((*eq.coordinates, *eq.velocities), (*STATE[0], *STATE[1])))
    numbers |= {Symbol(name): value for name, value in {**eq.lists.parameters, **INPUTS}.items()}
    solution = sympy.solve([row.subs(numbers) for row in rows], eq.accelerations)
    assert [float(solution[each]) for each in eq.accelerations] == pytest.approx(
        [11.2539351946, 40.7573089678, -17.2682058453, -0.335394408382], rel=1e-9
    )


# ---- the sliding blocks, (8.12) ----------------------------------------------------------------


def test_the_equations_of_the_sliding_blocks_are_8_12():
    push = Symbol('lambda_contact')
    right = [
        (m1 + m2) * a1 - c * m2 * a2 - c * m2 * a3,
        -c * m2 * a1 + m2 * a2 - c * m2 * g,
        -c * m2 * a1 + m2 * a3 + c * m2 * g - push,
        q3 - d2,
    ]
    for equation, each in zip(derived('sliding_blocks').equations, right, strict=True):
        assert zero(slope(balance(equation)) - each)


def test_the_slope_pushes_the_block_by_the_closed_form():
    eq = derived('sliding_blocks')
    rows = [balance(each) for each in eq.equations[:3]]
    (push,) = eq.multipliers
    solution = sympy.solve([*rows, a3], [a1, a2, a3, push], dict=True)[0]
    below = m1 + m2 * sin(theta) ** 2
    assert zero(solution[a1] - m2 * g * sin(theta) * cos(theta) / below)
    assert zero(solution[a2] - g * (m1 + m2) * sin(theta) / below)
    assert zero(solution[push] - m1 * m2 * g * cos(theta) / below)
    acceleration, force = compiled('sliding_blocks').accelerations((0, 0, 0.1), (0, 0, 0))
    assert acceleration == pytest.approx([1.635, 8.092837111, 0], rel=1e-9)
    assert force == pytest.approx([11.56119587], rel=1e-9)


# ---- joints as constraints, section 8.5 --------------------------------------------------------


def test_joints_as_constraints_move_as_common_points_and_tell_their_forces():
    acceleration, force = compiled('standing_figure_joints').accelerations(
        *taken_apart(*STATE), INPUTS
    )
    whole, _ = compiled('standing_figure').accelerations(*STATE, INPUTS)
    assert acceleration[[0, 2, 5, 8]] == pytest.approx(whole, rel=ROUNDING)
    quoted = {
        'lambda_floor': 924.608200848,
        'lambda_knee_x': -13.9494198954,
        'lambda_knee_y': 845.699665303,
        'lambda_hip_x': 57.9654914459,
        'lambda_hip_y': 653.374895045,
    }
    names = map(str, derived('standing_figure_joints').multipliers)
    assert dict(zip(names, force)) == pytest.approx(quoted, rel=QUOTED)


def test_both_forms_of_the_figure_walk_the_same_way():
    """0.2 s of falling; the broken-up form keeps its joints without stabilisation."""
    whole = fall('standing_figure', *STATE, 0.2)
    apart = fall('standing_figure_joints', *taken_apart(*STATE), 0.2)
    there = taken_apart(*np.split(whole, 2))
    assert np.abs(apart - there.ravel()).max() < SAME_WAY
    assert np.abs(compiled('standing_figure_joints').constraints(apart[:9])).max() < SAME_WAY
