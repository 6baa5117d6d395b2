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

"""List files: what they say becomes objects, and what is wrong is named, with a repair."""

from dataclasses import replace
import math
import subprocess
import sys

from helpers.bad_lists import (
    BAD,
    DERIVED,
    NO_EXPRESSIONS,
    PENDULUM,
    changed,
    stopped_pendulum,
    without_sympy,
)
from hypothesis import given, strategies as st
import pytest
import sympy

from closed_chain_dynamics import symbolic
from closed_chain_dynamics.errors import (
    ClosedChainError,
    DescriptionError,
    NameNotFound,
    SingularityError,
    StateError,
)
from closed_chain_dynamics.symbolic.list_expressions import FORCE_FUNCTIONS, parse_expression

# ---- what a file says --------------------------------------------------------------------------


def test_a_file_becomes_objects_with_exact_expressions():
    lists = symbolic.parse_lists(changed('[rod, l, 0]', '[rod, 0.1*l^2 + sin(q)/3, -.5e1]'))
    l, q = sympy.symbols('l q')
    assert lists.pt['tip'] == symbolic.Point(
        'rod', (l**2 / 10 + sympy.sin(q) / 3, sympy.Integer(-5))
    )
    assert lists.LRS['rod'] == symbolic.ReferenceSystem('0', (q,))
    assert lists.parameters == {'m': 2.0, 'l': 0.5, 'g': None}
    assert lists.name == 'model' and lists.inputs == ('T',)


def test_the_same_model_can_be_built_in_python():
    q, m, l, g, T = sympy.symbols('q m l g T')
    built = symbolic.Lists(
        'model',
        2,
        ('q',),
        (0, -g),
        parameters={'m': 2.0, 'l': 0.5, 'g': None},
        inputs=('T',),
        LRS={'rod': symbolic.ReferenceSystem('0', (q,))},
        pt={'tip': symbolic.Point('rod', (l, 0))},
        seg={'bob': symbolic.Segment('tip', m)},
        trq={'hand': symbolic.Torque('0', 'rod', (T,))},
    )
    assert built == symbolic.parse_lists(PENDULUM)
    assert symbolic.lagrange(built).M[0].equals(m * l**2)


@pytest.mark.parametrize('name', symbolic.shipped_lists())
def test_every_shipped_list_reads_by_name_and_by_path(name):
    path = symbolic.shipped_lists()[name]
    assert symbolic.read_lists(name) == symbolic.read_lists(path)
    assert path.read_text().startswith('# ')


def test_words_that_yaml_takes_for_truth_stay_names():
    lists = symbolic.parse_lists(PENDULUM.replace('rod', 'no').replace('tip', 'on'))
    assert lists.pt['on'].frame == 'no'


def test_latex_has_dots_and_indices():
    eq = symbolic.lagrange(symbolic.parse_lists(PENDULUM.replace('q]', 'q_1]')))
    assert repr(eq) == '<Equations of model: 1 coordinates, 0 multipliers>'
    assert r'\ddot{q}_{1}' in eq.simplified().latex() and '&= T' in eq.latex()


def test_the_core_does_not_load_sympy():
    script = 'import sys, closed_chain_dynamics; sys.exit("sympy" in sys.modules)'
    assert subprocess.run([sys.executable, '-c', script]).returncode == 0


def test_without_sympy_the_error_says_what_to_install(tmp_path):
    with pytest.raises(ClosedChainError, match='pip install sympy'):
        without_sympy(tmp_path)
    assert symbolic.read_lists('sliding_blocks')


# ---- expressions -------------------------------------------------------------------------------

NUMBERS = st.one_of(st.integers(0, 50).map(str), st.sampled_from(['0.25', '1e-3', '.5', 'x', 'y']))
TEXTS = st.recursive(
    NUMBERS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(['+', '-', '*']), inner).map(
            lambda parts: f'({parts[0]} {parts[1]} {parts[2]})'
        ),
        inner.map(lambda text: f'-{text}'),
        inner.map(lambda text: f'cos({text})'),
    ),
    max_leaves=8,
)


@given(TEXTS, st.floats(-2, 2), st.floats(-2, 2))
def test_an_expression_means_what_python_would_make_of_it(text, x, y):
    symbols = {name: sympy.Symbol(name) for name in 'xy'}
    value = parse_expression(text, symbols).subs({'x': x, 'y': y}).evalf(30)
    assert float(value) == pytest.approx(
        eval(text, {'cos': math.cos, 'x': x, 'y': y}), rel=1e-9, abs=1e-7
    )


@pytest.mark.parametrize('text', NO_EXPRESSIONS)
def test_anything_but_arithmetic_is_refused(text):
    with pytest.raises(DescriptionError, match='the file, line 1: '):
        parse_expression(
            text,
            {'x': sympy.Symbol('x')},
            functions=FORCE_FUNCTIONS,
            where='line 1',
            file='the file',
        )


# ---- what can be wrong -------------------------------------------------------------------------


@pytest.mark.parametrize('what', BAD)
def test_a_bad_list_is_named_with_its_repair(what, tmp_path):
    text, told = BAD[what]
    path = tmp_path / 'bad.yaml'
    path.write_text(text or ' # nothing\n')
    with pytest.raises(ClosedChainError) as caught:
        symbolic.read_lists(path)
    for part in (str(path), *told):
        assert part in str(caught.value)
    assert caught.value.repair


@pytest.mark.parametrize('what', DERIVED)
def test_a_model_without_equations_is_named(what):
    text, told = DERIVED[what]
    with pytest.raises(DescriptionError, match=told):
        symbolic.lagrange(symbolic.parse_lists(text))


def test_objects_of_python_are_checked_as_files_are():
    lists = symbolic.parse_lists(PENDULUM)
    with pytest.raises(NameNotFound, match="pt tip: there is no quantity named 'L'"):
        replace(lists, pt={'tip': symbolic.Point('rod', (sympy.Symbol('L'), 0))}, places={})


def test_an_unknown_list_file_offers_the_shipped_ones():
    with pytest.raises(DescriptionError, match="Did you mean 'standing_figure'"):
        symbolic.read_lists('standing_figur')


# ---- numbers -----------------------------------------------------------------------------------


def test_a_parameter_without_a_value_is_asked_for():
    with pytest.raises(StateError, match="no value is given for g.*compile.*'g'"):
        stopped_pendulum().compile()
    with pytest.raises(NameNotFound, match="'mass'"):
        stopped_pendulum().compile({'mass': 1})


def test_wrong_states_and_inputs_are_named():
    dynamics = stopped_pendulum().compile({'g': 9.81, 'l': 0.5})
    for arguments in (
        ([1, 2], [0]),
        ([1], [0, 0]),
        (1, [0]),
        ([1], [0], [1, 2]),
        (['up'], [0]),
        ([1], [0], {'T': 'much'}),
    ):
        with pytest.raises(StateError):
            dynamics(*arguments)
    with pytest.raises(NameNotFound, match="input named 'TT'.*'T'"):
        dynamics([0], [0], {'TT': 1})
    with pytest.raises(SingularityError, match='not finite'):
        dynamics([float('nan')], [0])
    with pytest.raises(SingularityError, match='redundant'):
        dynamics.accelerations([1.0], [0.0])  # the slope of the constraint vanishes here
    with pytest.raises(SingularityError, match='damper of length zero'):
        stopped_pendulum().compile({'g': 9.81, 'l': 1}).accelerations([0.0], [0.0])
    assert dynamics.constraints([0.5]) == pytest.approx([0.125])
