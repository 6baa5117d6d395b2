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

"""LaTeX of derived equations: a real TeX compiles it, its matrices have the right numbers."""

import re
import shutil
import subprocess

import casadi as ca
from helpers.derived_lists import derived as derived_lists
from helpers.eliminated import derived
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.symbolic.angles import Angle
from closed_chain_dynamics.symbolic.assignments import assigned
from closed_chain_dynamics.symbolic.elimination import OpenTree, derive
from closed_chain_dynamics.symbolic.latex import latex_source, text
from closed_chain_dynamics.symbolic.list_code import list_latex_source
from closed_chain_dynamics.symbolic.shared_factors import with_factors_moved

ALL = ['M_1', 'c_1', 'g_1', 'tau_1s', 'tau_1d', 'tau_1']
SAME = 1e-12  # the same terms, projected before or after
BREQN = (
    shutil.which('kpsewhich')
    and subprocess.run(['kpsewhich', 'breqn.sty'], capture_output=True).returncode == 0
)
needs_tex = pytest.mark.skipif(
    not (BREQN and shutil.which('pdflatex')),
    reason='there is no TeX with breqn: apt-get install texlive-latex-recommended',
)


def stewart():
    robot = ccd.load('stewart')
    return latex_source(derive(robot, 'ic'), ['g_1'])


SOURCES = {
    'four_bar': lambda: latex_source(derived('four_bar', 'te')[1], ALL),
    'slider_crank': lambda: latex_source(derived('slider_crank', 'de')[1], ALL),
    'stewart': stewart,
    'list': lambda: list_latex_source(derived_lists('sliding_blocks')),
}


@needs_tex
@pytest.mark.parametrize('name', SOURCES)
def test_a_real_tex_compiles_it_within_the_margins(name, tmp_path):
    (tmp_path / 'a.tex').write_text(SOURCES[name]())
    command = ['pdflatex', '-interaction=nonstopmode', '-halt-on-error', 'a.tex']
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / 'a.pdf').stat().st_size > 10_000
    if name != 'stewart':  # quaternions of 6 legs
        widths = map(float, re.findall(r'Overfull .hbox .([\d.]+)pt too wide', done.stdout))
        assert max(widths, default=0.0) < 10.0  # pt


def test_few_symbols_and_matrices():
    source = latex_source(derived('four_bar', 'te')[1], ALL)
    assert len(set(re.findall(r'u_\{\d+\}|u_\d', source))) <= 6  # code has 200 assignments
    assert r'M_1 = W^\top M W' in source and r'c_{\mathrm{crank}}' in source
    assert r'\begin{pmatrix}' in source and r'\dot q_{\mathrm{crank}}' in source


def test_a_name_has_one_meaning_in_a_document():
    named = re.findall(r'\\begin\{dmath\*\} (u_\S+) = ', stewart())
    assert len(named) > 20 and len(set(named)) == len(named)


def test_lengths_cancel_in_what_is_printed():
    """Code multiplies by a length as long as it can; on paper no length stands to the fourth."""
    for name in ('four_bar', 'slider_crank'):
        source = latex_source(derived(name, 'te')[1], ALL)
        assert not re.search(r'\}\^\{[34]\}', source)


def test_assignments_with_factors_moved_have_the_same_values():
    _, equations = derived('slider_crank', 'te')
    state = equations.form.state
    values = ca.vertcat(
        *(
            each
            for angle in state.values()
            if isinstance(angle, Angle)
            for each in (angle.cos, angle.sin)
        )
    )
    plain = assigned(values, longest=0, smallest=6)
    moved = with_factors_moved(*plain)
    rng = np.random.default_rng(2)
    numbers = {
        x: rng.uniform(1.0, 2.0)
        for _, each in [*plain[0], (0, plain[1])]
        for x in sorted(each.free_symbols, key=str)
        if not x.name.startswith('u_')
    }

    def worked_out(steps, matrix):
        known = dict(numbers)
        for name, value in steps:
            known[name] = complex(value.subs(known))
        return np.array(matrix.subs(known).tolist(), dtype=complex)

    np.testing.assert_allclose(worked_out(*moved), worked_out(*plain), rtol=1e-12)


def test_lists_are_introduced_in_signs_of_mathematics():
    """A page of a paper: no line of a file's comment, such as M q'' = rhs."""
    source = list_latex_source(derived_lists('sliding_blocks'))
    assert r'\section*{Equations of motion of sliding\_blocks}' in source
    assert r'Coordinates: $q = \left( ' in source and 'rhs' not in source


@pytest.mark.parametrize('name', ['four_bar', 'slider_crank', 'exo'])
def test_the_matrices_of_the_tree_projected_are_the_terms(name):
    robot, equations = derived(name, 'ic')
    q = equations.pose
    tree = OpenTree(robot, q, 'ic')
    c = ccd.coordinates(robot, q)
    rng = np.random.default_rng(1)
    v_1 = rng.normal(size=c.mobility)
    v = c.W @ v_1
    zero = dict.fromkeys(c.independent, 0.0)
    drift = ccd.complete_acceleration(robot, q, v, zero)
    M, W = tree.evaluate('M_1', q), c.W
    expected = {
        'M_1': W.T @ M @ W,
        'c_1': W.T @ (tree.evaluate('c_1', q, v) + M @ drift),
        'g_1': W.T @ tree.evaluate('g_1', q),
        'tau_1s': W.T @ tree.evaluate('tau_1s', q),
        'tau_1d': W.T @ tree.evaluate('tau_1d', q, v),
    }
    for term, value in expected.items():
        found = equations.evaluate(term, q, v_1)
        np.testing.assert_allclose(found, value, rtol=0, atol=SAME * max(1.0, abs(value).max()))


def test_names_with_signs_of_tex_do_no_harm():
    assert text(r'50% of a_b & c#1 {x} $') == r'50\% of a\_b \& c\#1 \{x\} \$'
