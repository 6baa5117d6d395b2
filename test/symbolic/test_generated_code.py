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

"""Generated C and Python: they compile, agree with the equations, and cost what is said."""

import ctypes
import importlib.util
import re

import casadi as ca
from helpers.eliminated import SPATIAL, chain, derived, random_motion
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.symbolic import code, speed
from closed_chain_dynamics.symbolic.cost import OPERATION_WEIGHTS, PAPER, Cost, cost, cost_table
from closed_chain_dynamics.symbolic.elimination import METHODS, derive
from closed_chain_dynamics.symbolic.size import refuse_too_large, size_estimate

SAME = 1e-12  # the same operations; a compiler may contract products and sums
ORDER = 10.0  # costs within this factor of the paper's
needs_compiler = pytest.mark.skipif(
    not speed.has_compiler(), reason='there is no C compiler named cc'
)
MODELS = [
    ('four_bar', 'te'),
    ('four_bar', 'ic'),
    ('slider_crank', 'de'),
    ('exo', 'te'),
    ('exo', 'ic'),
]


def states(equations, count=5):
    """Return arguments (position, v_1, a_1) of random states of a shipped model."""
    robot = equations.robot
    q_1, v_1, a_1 = random_motion(robot.name, count, seed=7)
    position = q_1 if equations.position == 'q_1' else derive(robot, 'te').evaluate('q', q_1)
    return [tuple(map(np.ascontiguousarray, state)) for state in zip(position, v_1, a_1)]


def called(library, equations, term, state):
    """Return what a C function writes."""
    function = getattr(library, f'{equations.robot.name}_{term}')
    shape = equations.evaluate(term, *state).shape
    out = np.full(shape, np.nan)
    arrays = [*state[: len(equations.arguments(term))], out]
    function(*[each.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for each in arrays])
    return out


@needs_compiler
@pytest.mark.parametrize('name, method', MODELS)
def test_c_compiles_without_warnings_and_agrees(name, method):
    _, equations = derived(name, method)
    terms = list(equations.term_names)
    library = speed.compile_c(code.c_source(equations, terms), options=('-O1',))
    for state in states(equations):
        for term in terms:
            np.testing.assert_allclose(
                called(library, equations, term, state),
                equations.evaluate(term, *state),
                rtol=SAME,
                atol=SAME * 50,
                err_msg=term,
            )


def test_c_needs_no_memory_and_no_library_but_math():
    source = code.c_source(derived('exo', 'te')[1], ['tau_1', 'q'])
    assert re.findall(r'#include\s+(\S+)', source) == ['<math.h>']
    body = source[source.index('#include') :]
    assert set(re.findall(r'\b([a-z]\w*)\(', body)) <= {
        'sin',
        'cos',
        'sqrt',
        'atan2',
        'exo_tau_1',
        'exo_q',
    }


@needs_compiler
def test_a_warning_of_the_compiler_is_an_error():
    with pytest.raises(ccd.ClosedChainError, match='refuses it.*unused'):
        speed.compile_c('void f(double x) { double y; }')


def test_without_a_compiler_that_is_told(monkeypatch):
    monkeypatch.setenv('PATH', '')
    with pytest.raises(ccd.ClosedChainError, match='no C compiler named cc'):
        speed.compile_c('')


@needs_compiler
def test_what_is_out_of_reach_is_not_a_number():
    _, equations = derived('exo', 'te')
    library = speed.compile_c(code.c_source(equations, ['q']), options=('-O1',))
    state = (np.radians([0.0, 0.0, 130.0, 0.0, 0.0]),)  # loops close up to 97 degrees
    assert np.isnan(called(library, equations, 'q', state)).any()


@pytest.mark.parametrize(
    'name, method, terms',
    [
        ('four_bar', 'te', ('M_1', 'g_1', 'tau_1', 'W')),
        ('exo', 'ic', ('g_1',)),
        ('exo', 'de', ('q',)),
    ],
)
def test_python_compiled_by_numba_agrees(name, method, terms):
    _, equations = derived(name, method)
    for term in terms:
        function = equations.compiled(term)
        for state in states(equations):
            found = function(*state[: len(equations.arguments(term))])
            np.testing.assert_allclose(
                found, equations.evaluate(term, *state), rtol=SAME, atol=SAME * 50, err_msg=term
            )


def test_a_written_python_module_can_be_imported(tmp_path):
    _, equations = derived('slider_crank', 'te')
    path = tmp_path / 'slider_crank.py'
    path.write_text(code.python_source(equations, ['g_1', 'q']))
    spec = importlib.util.spec_from_file_location('slider_crank', path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    state = np.array([0.7])
    np.testing.assert_allclose(module.g_1(state), equations.evaluate('g_1', state), rtol=SAME)
    assert 'slider beyond the foot' in module.__doc__


def test_names_that_no_language_takes_are_rewritten():
    robot = ccd.load(chain(2).replace('name="chain"', 'name="2 arms!"'))
    source = code.c_source(derive(robot), ['M_1'])
    assert 'void _2_arms__M_1(' in source


# --- cost -----------------------------------------------------------------------------------
@pytest.mark.parametrize('method', METHODS)
@pytest.mark.parametrize('term', ['g_1', 'M_1', 'c_1', 'W'])
def test_costs_are_the_operations_that_the_c_code_has(term, method):
    """Counted by letters in C; the table counts nodes of the Python program."""
    _, equations = derived('exo', method)
    source = code.c_source(equations, [term])
    body = source[source.index('{') :]
    counts = dict(zip(OPERATION_WEIGHTS, cost(equations, term).counts))
    assert counts[':='] == body.count(' = ')
    body = re.sub(r'const double |\(void\)\w+;|\[\d*\]', '', body)
    body = re.sub(r'(?<![\w.])-?\d+(\.\d+)?(e-?\d+)?', '1', body)  # signs of numbers cost nothing
    assert (body.count('*'), body.count('/')) == (counts['*'], counts['/'])
    assert len(re.findall(r'\bsqrt\(', body)) == counts['sqrt']
    assert len(re.findall(r'\b(sin|cos)\(', body)) == counts['sin/cos']
    assert body.count('atan2(') == counts['atan']
    assert len(re.findall('[+-]', body)) == counts['+-']


def test_the_paper_s_table_adds_up():
    sums = {key: Cost(counts).weighted for key, (counts, _) in PAPER.items()}
    assert sums == {
        ('g_1', 'te'): 2343,
        ('g_1', 'de'): 1975,
        ('g_1', 'ic'): 1804,
        ('M_1', 'te'): 3754,
        ('M_1', 'de'): 3899,
        ('M_1', 'ic'): 4001,
    }


def test_costs_are_of_the_order_of_the_paper_s():
    for key, found in cost_table(ccd.load('exo')).items():
        counts, seconds = PAPER[key]
        assert 1 / ORDER < found.weighted / Cost(counts).weighted < ORDER, key
        assert found.seconds < min(seconds, 60.0)
        # as many roots and arctangents: three loops, five angles
        assert (found.counts[3], found.counts[5]) == (counts[3], counts[5]), key


# --- size -----------------------------------------------------------------------------------
@pytest.mark.parametrize('method', METHODS)
@pytest.mark.parametrize('n', [6, 12])
def test_sizes_are_estimated_to_a_factor_of_four(n, method):
    robot = ccd.load(chain(n))
    terms = ('M_1', 'c_1', 'g_1')
    equations = derive(robot, method)
    for term in terms:
        equations.term(term)
    found = ca.n_nodes(ca.vertcat(*(ca.vec(equations.term(term)) for term in terms)))
    assert found / 4 < size_estimate(robot, method, terms).operations < found * 4


def test_a_size_that_would_take_hours_is_refused_at_once():
    robot = ccd.load(chain(200))
    size = size_estimate(robot, 'te', ('M_1',))
    assert size.seconds > 900
    with pytest.raises(ccd.StructureError, match='about .* operations and would take about'):
        refuse_too_large(robot, size)
    refuse_too_large(robot, size_estimate(robot, 'ic', ('tau_1',)))


def test_spatial_loops_get_code_by_implicit_constraints():
    robot = ccd.load(SPATIAL)
    q = ccd.assemble(robot, {'crank': 0.2})
    equations = derive(robot, 'ic', q)
    state = q, np.array([0.4]), np.array([-0.3])
    np.testing.assert_allclose(
        equations.compiled('tau_1')(*state), equations.evaluate('tau_1', *state), rtol=SAME
    )
