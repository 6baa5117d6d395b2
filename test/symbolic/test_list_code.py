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

"""Files of list models: C and Python agree with the compiled equations, LaTeX has them all."""

import ctypes
import importlib.util

from helpers.derived_lists import INPUTS, STATE, compiled, derived
import numpy as np
import pytest

from closed_chain_dynamics import symbolic
from closed_chain_dynamics.cli.main import main
from closed_chain_dynamics.errors import StateError
from closed_chain_dynamics.symbolic import list_code, speed

SAME = 1e-12  # the same expressions, in another order
needs_compiler = pytest.mark.skipif(
    not speed.has_compiler(), reason='there is no C compiler named cc'
)


def random_state(name, seed=3):
    """Return t, q, v, u of a model, away from poses where angles fail."""
    lists = derived(name).lists
    rng = np.random.default_rng(seed)
    sizes = [each for each in (len(lists.coordinates),) * 2 + (len(lists.inputs),) if each]
    return 0.3, *(rng.uniform(0.2, 0.9, size) for size in sizes)


def expected(name, state):
    """Return the terms by name, as the compiled dynamics has them."""
    t, q, v, *u = state
    values = compiled(name)._evaluate(q, v, u[0] if u else None, t)
    return {
        term: value
        for term, value in zip(('M', 'rhs', 'Phi_q', 'gamma', 'Phi'), values)
        if value.size
    }


def module_of(name, folder):
    """Return the generated Python module, imported from a file."""
    path = folder / f'{name}.py'
    path.write_text(list_code.list_python_source(derived(name)))
    spec = importlib.util.spec_from_file_location(f'generated_{name}', path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize('name', symbolic.shipped_lists())
def test_generated_python_agrees(name, tmp_path):
    module, state = module_of(name, tmp_path), random_state(name)
    for term, value in expected(name, state).items():
        computed = getattr(module, term).py_func(*state)
        assert computed.shape == value.shape
        np.testing.assert_allclose(computed, value, rtol=SAME, atol=SAME, err_msg=term)


def test_generated_python_compiles_and_moves_by_the_quoted_number(tmp_path):
    module = module_of('standing_figure', tmp_path)
    state = (0.0, *map(np.array, STATE), np.array(list(INPUTS.values()), dtype=float))
    acceleration = np.linalg.solve(module.M(*state), module.rhs(*state))
    assert abs(acceleration[0] - 14.7890744262) < 1e-9


def test_machine_code_gives_what_python_gives_and_says_what_is_not_finite():
    function = derived('standing_figure').compile()._function
    x = np.random.default_rng(1).uniform(0.2, 0.9, 50)
    interpreted, compiled_ = np.full((2, 200), np.nan)
    function(x, interpreted)
    function.compiled(x, compiled_)
    np.testing.assert_allclose(interpreted, compiled_, rtol=SAME, atol=SAME)
    assert np.isfinite(interpreted).sum() > 20
    x[:] = np.inf  # the sine of which Python refuses
    function(x, interpreted)
    function.compiled(x, compiled_)
    np.testing.assert_array_equal(interpreted, compiled_)
    function.calls = 10**6
    function(np.ones(50), interpreted)
    function.interpreted([1.0] * 50, compiled_)
    np.testing.assert_allclose(interpreted, compiled_, rtol=SAME, atol=SAME)


@needs_compiler
@pytest.mark.parametrize('name', symbolic.shipped_lists())
def test_generated_c_compiles_without_warnings_and_agrees(name):
    library = speed.compile_c(list_code.list_c_source(derived(name)), options=('-O1',))
    t, *vectors = random_state(name)
    for term, value in expected(name, (t, *vectors)).items():
        out = np.full(value.shape, np.nan)
        getattr(library, f'{name}_{term}')(
            ctypes.c_double(t),
            *(each.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for each in (*vectors, out)),
        )
        np.testing.assert_allclose(out, value, rtol=SAME, atol=SAME, err_msg=term)


@needs_compiler
def test_names_of_the_user_do_no_harm_in_c():
    source = list_code.list_c_source(
        symbolic.lagrange(
            symbolic.parse_lists(
                """
dimension: 2
coordinates: [double]
parameters: {int: 2, out: 0.5}
LRS: {1: [0, double + pi/3 + exp(1)]}
pt: {1: [1, out, 0]}
seg: {1: [1, int]}
gravity: [0, -9.81]
""",
                name='while */ 1',
            )
        )
    )
    library = speed.compile_c(source)
    out = (ctypes.c_double * 1)()
    getattr(library, 'while____1_M')(
        ctypes.c_double(0), (ctypes.c_double * 1)(), (ctypes.c_double * 1)(), out
    )
    assert abs(out[0] - 2 * 0.5**2) < SAME


def test_latex_has_every_equation_and_parameter():
    equations = derived('sliding_blocks')
    source = list_code.list_latex_source(equations)
    assert source.count(r'\begin{dmath*}') == source.count(r'\end{dmath*}') == 4
    assert source.endswith('\\end{document}\n') and r'\ddot{q}_{1}' in source
    assert source.count(' = ') >= 4 + 6 and r'$\theta = 0.785' in source
    for line in equations.latex().split(' \\\\\n'):
        assert line.replace('&=', '=') in source


def test_a_parameter_without_a_number_is_refused_in_code_and_left_open_in_latex():
    equations = symbolic.lagrange(
        symbolic.parse_lists(
            'dimension: 2\ncoordinates: [q]\nparameters: {m: }\ngravity: [0, 0]\n'
            'pt: {1: [0, q, 0]}\nseg: {1: [1, m]}'
        )
    )
    for source in (list_code.list_c_source, list_code.list_python_source):
        with pytest.raises(StateError, match='no value is given for m'):
            source(equations)
    assert 'Parameters' not in list_code.list_latex_source(equations)


def test_options_for_mechanisms_are_wrong_usage(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(['derive', 'sliding_blocks', '--method', 'ic'])
    assert stopped.value.code == 2
    assert '--method is for mechanisms, and sliding_blocks is' in capsys.readouterr().err


def test_a_name_of_both_kinds_is_the_mechanism_unless_it_ends_in_yaml(capsys):
    assert main(['derive', 'four_bar', '--what', 'g']) == 0
    assert 'method  TE' in capsys.readouterr().out
    assert main(['derive', 'four_bar.yaml']) == 0
    assert 'lambda_pin_x, lambda_pin_y' in capsys.readouterr().out


def test_a_misspelt_list_gets_a_suggestion(capsys):
    assert main(['derive', 'standing_figur']) == 1
    assert "Did you mean 'standing_figure'" in capsys.readouterr().err


def test_the_report_has_the_equations_and_the_files(capsys, tmp_path):
    target = tmp_path / 'blocks.tex'
    assert main(['derive', 'sliding_blocks', '--latex', str(target)]) == 0
    shown = capsys.readouterr().out
    assert 'lambda_contact' in shown and '-d2 + q3 = 0' in shown and str(target) in shown
    assert r'\lambda_{contact}' in target.read_text()
