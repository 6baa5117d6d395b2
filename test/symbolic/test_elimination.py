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

"""Three ways to eliminate constraints (paper 5) against each other and the numeric core."""

from dataclasses import replace

from helpers.eliminated import SPATIAL, TERMS, chain, core_terms, derived, random_motion
from helpers.random_mechanisms import random_description, random_loops, random_state
import numpy as np
import pytest
import sympy
from sympy.physics.mechanics import LagrangesMethod, dynamicsymbols

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import JointType, LoopType
from closed_chain_dynamics.errors import NameNotFound, StateError, StructureError
from closed_chain_dynamics.model import library
from closed_chain_dynamics.symbolic.constraints import CRAMER
from closed_chain_dynamics.symbolic.elimination import METHODS, derive

AGREE = 1e-10  # what four computations of forces of up to 50 N m have to agree to
MANY = {'exo': 200, 'slider_crank': 200, 'six_bar': 200, 'four_bar': 50, 'five_bar': 50}


@pytest.fixture(scope='module', params=MANY)
def poses(request):
    """Return a robot and many states of it: q_1, v_1, a_1, q, and the core's terms."""
    robot = ccd.load(request.param)
    q_1, v_1, a_1 = random_motion(request.param, MANY[request.param])
    # The core refuses poses whose loops are open, so that this checks the closed form as well.
    q = derive(robot, 'te').evaluate('q', q_1)
    core = [core_terms(robot, *state) for state in zip(q, v_1, a_1)]
    return (
        robot,
        q_1,
        v_1,
        a_1,
        q,
        {term: np.array([each[term] for each in core]) for term in TERMS},
    )


def assert_agrees(robot, equations, q, rng):
    """Compare all terms with the core at one pose."""
    v_1, a_1 = rng.normal(size=(2, len(equations.independent)))
    core = core_terms(robot, q, v_1, a_1)
    places = [robot.coordinate_names.index(name) for name in equations.independent]
    position = q if equations.method == 'ic' else q[places]
    for term in TERMS:
        scale = max(1.0, abs(core[term]).max())
        np.testing.assert_allclose(
            equations.evaluate(term, position, v_1, a_1),
            core[term],
            rtol=0,
            atol=AGREE * scale,
            err_msg=term,
        )


@pytest.mark.parametrize('method', METHODS)
def test_all_terms_agree_with_the_numeric_core(poses, method):
    robot, q_1, v_1, a_1, q, core = poses
    equations = derive(robot, method)
    for term in TERMS:
        numbers = equations.evaluate(term, q if method == 'ic' else q_1, v_1, a_1)
        np.testing.assert_allclose(numbers, core[term], rtol=0, atol=AGREE, err_msg=term)


@pytest.mark.parametrize('method', METHODS)
def test_the_sum_of_all_terms_is_inverse_dynamics(method):
    robot, equations = derived('exo', method)
    q_1, v_1, a_1 = random_motion('exo', 20, seed=3)
    at = derive(robot, 'te').evaluate('q', q_1) if method == 'ic' else q_1
    parts = np.einsum('kij,kj->ki', equations.evaluate('M_1', at), a_1)
    for term in ('c_1', 'g_1', 'tau_1s', 'tau_1d'):
        parts = parts + equations.evaluate(term, at, v_1)
    np.testing.assert_allclose(parts, equations.evaluate('tau_1', at, v_1, a_1), atol=AGREE)
    assert abs(equations.evaluate('tau_1s', at)).max() > 1.0
    assert abs(equations.evaluate('tau_1d', at, v_1)).max() > 1e-2


@pytest.mark.parametrize('method', ['te', 'de'])
def test_closed_form_finds_what_assembly_finds(method):
    robot, equations = derived('exo', method)
    for q_1 in random_motion('exo', 12, seed=5)[0]:
        q = ccd.assemble(robot, dict(zip(equations.independent, q_1)), start=equations.pose)
        turns = (equations.evaluate('q', q_1) - q) / (2 * np.pi)
        np.testing.assert_allclose(turns, np.round(turns), atol=1e-12)


def test_branches_are_named_as_the_paper_draws_them():
    assert derived('exo', 'te')[1].branches == {
        'B': 'eta4 right of the line from eta3 to B',
        'E': 'eta2 right of the line from rho3 to E',
        'A': 'L_s beyond the foot of the perpendicular on its line',
    }


def test_a_pose_on_the_other_side_gives_the_other_branch():
    robot = ccd.load('four_bar')
    crank = 1.0
    names = {}
    for hint in ('elbow_up', 'elbow_down'):
        q = ccd.assemble(robot, {'crank': crank}, hint=hint)
        equations = derive(robot, 'te', q)
        names[hint] = equations.branches['coupler_rocker'].split()[1]
        found = equations.evaluate('q', np.array([crank]))
        np.testing.assert_allclose(np.exp(1j * found), np.exp(1j * q), atol=1e-12)
    assert names == {'elbow_up': 'left', 'elbow_down': 'right'}


WHEEL = """<link name="wheel_link"> <inertial> <origin xyz="0.02 0.01 0.03"/> <mass value="0.4"/>
    <inertia ixx="0.001" iyy="0.002" izz="0.001" ixy="0" ixz="0" iyz="0"/> </inertial> </link>
  <joint name="wheel" type="continuous"> <parent link="base"/> <child link="wheel_link"/>
    <axis xyz="0 -1 0"/> </joint>
  <coupling name="gear"> <cc:term joint="wheel" coefficients="1"/>
    <cc:term joint="rocker" coefficients="-2.5 0.3"/> <offset value="0.1"/> </coupling> </robot>"""


@pytest.mark.parametrize('method', METHODS)
def test_tilted_planes_mirrored_axes_and_gears_on_solved_angles(method):
    """A four-bar that lies askew, with an axis the other way and a gear on its rocker."""
    urdf = library.find('four_bar').read_text()
    ahead, rocker = urdf.split('<joint name="rocker"')
    urdf = f'{ahead}<joint name="rocker"' + rocker.replace('"0 -1 0"', '"0 1 0"', 1)
    urdf = urdf.replace('<origin xyz="0 0 0"/>', '<origin xyz="0.1 0 0.2" rpy="0.3 0.5 0.2"/>', 1)
    robot = ccd.load(urdf.replace('</robot>', WHEEL))
    rng = np.random.default_rng(3)
    start = ccd.assemble(robot, {'crank': 1.0})
    equations = derive(robot, method, start)
    assert ('wheel' in equations.dependent) and len(equations.independent) == 1
    for crank in (0.8, 1.0, 1.3):
        q = ccd.assemble(robot, {'crank': crank}, start=start)
        assert_agrees(robot, equations, q, rng)


def test_slider_crank_has_its_textbook_form():
    robot, equations = derived('slider_crank', 'te')
    theta = np.linspace(-3, 3, 25)
    q = equations.evaluate('q', theta[:, None])
    slide = 0.1 * np.cos(theta) + np.sqrt(0.3**2 - (0.1 * np.sin(theta) - 0.02) ** 2)
    np.testing.assert_allclose(q[:, robot.coordinate_names.index('slider')], slide, atol=1e-15)


def test_W_is_the_derivative_of_the_closed_form():
    robot, equations = derived('exo', 'te')
    q_1 = random_motion('exo', 1, seed=9)[0][0]
    W, step = equations.evaluate('W', q_1), 1e-6
    for column in range(5):
        change = step * np.eye(5)[column]
        slope = (equations.evaluate('q', q_1 + change) - equations.evaluate('q', q_1 - change)) / (
            2 * step
        )
        np.testing.assert_allclose(W[:, column], slope, atol=1e-8)


def test_sympy_s_own_lagrange_equations_agree_on_an_open_chain():
    urdf = (
        '<robot name="double"><link name="base"/>'
        + ''.join(
            f'<link name="l{k}"><inertial><origin xyz="{c} 0 0"/><mass value="{m}"/>'
            f'<inertia ixx="1" iyy="{i}" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="q{k}" type="continuous"><parent link="{parent}"/><child link="l{k}"/>'
            f'<origin xyz="{x} 0 0"/><axis xyz="0 -1 0"/></joint>'
            for k, parent, x, m, c, i in (
                (1, 'base', 0, 2.0, 0.3, 0.5),
                (2, 'l1', 0.7, 1.5, 0.2, 0.4),
            )
        )
        + '</robot>'
    )
    equations = derive(ccd.load(urdf, gravity=(0, 0, -9.81)))
    q1, q2 = dynamicsymbols('q1 q2')
    t = dynamicsymbols._t
    v1, v2 = q1.diff(t), q2.diff(t)
    x1 = sympy.Matrix([0.3 * sympy.cos(q1), 0.3 * sympy.sin(q1)])
    x2 = sympy.Matrix(
        [
            0.7 * sympy.cos(q1) + 0.2 * sympy.cos(q1 + q2),
            0.7 * sympy.sin(q1) + 0.2 * sympy.sin(q1 + q2),
        ]
    )
    kinetic = (
        2.0 * x1.diff(t).dot(x1.diff(t))
        + 1.5 * x2.diff(t).dot(x2.diff(t))
        + 0.5 * v1**2
        + 0.4 * (v1 + v2) ** 2
    ) / 2
    method = LagrangesMethod(kinetic - 9.81 * (2.0 * x1[1] + 1.5 * x2[1]), [q1, q2])
    method.form_lagranges_equations()
    at = {v1: 1.1, v2: -0.6, q1: 0.4, q2: 0.9}
    M = np.array(method.mass_matrix.subs(at), dtype=float)
    bias = -np.array(method.forcing.subs(at), dtype=float).ravel()
    state = np.array([0.4, 0.9]), np.array([1.1, -0.6])
    np.testing.assert_allclose(equations.evaluate('M_1', state[0]), M, atol=1e-13)
    np.testing.assert_allclose(
        equations.evaluate('c_1', *state) + equations.evaluate('g_1', state[0]), bias, atol=1e-12
    )


@pytest.mark.parametrize('term', ['M_1', 'g_1', 'q'])
def test_terms_as_sympy_have_the_same_values(term):
    _, equations = derived('slider_crank', 'de')
    assignments, matrix = equations.sympy(term)
    values = {sympy.Symbol(name): value for name, value in equations.parameters(term).items()}
    values[sympy.Symbol('q_crank')] = 0.8
    for symbol, expression in assignments:
        values[symbol] = float(expression.subs(values))
    numbers = np.array(matrix.subs(values), dtype=float).reshape(-1)
    np.testing.assert_allclose(
        numbers, equations.evaluate(term, np.array([0.8])).ravel(), atol=1e-12
    )


# --- implicit constraints beyond the plane --------------------------------------------------
def test_implicit_constraints_take_a_spatial_loop():
    robot = ccd.load(SPATIAL)
    start = ccd.assemble(robot, {'crank': 0.2})
    equations = derive(robot, 'ic', start)
    rng = np.random.default_rng(2)
    for crank in (0.1, 0.2, 0.3):
        q = ccd.assemble(robot, {'crank': crank}, start=start)
        assert_agrees(robot, equations, q, rng)


@pytest.mark.parametrize(
    'kind',
    [kind for kind in LoopType if kind is not LoopType.SURFACE],
    ids=lambda kind: kind.value,
)
def test_implicit_constraints_take_every_type_of_loop(kind):
    rng = np.random.default_rng(len(kind.value))
    description = random_description(
        rng,
        8,
        shares={JointType.REVOLUTE: 3, JointType.FIXED: 1, JointType.PRISMATIC: 1},
        branching=0.4,
    )
    q = random_state(rng, description)[0]
    robot = ccd.Mechanism(random_loops(rng, description, q, 1, kinds=(kind,)))
    assert_agrees(robot, derive(robot, 'ic', q), q, rng)


def test_implicit_constraints_take_a_point_on_a_plane_and_tell_what_they_leave_out():
    robot = ccd.load('three_link')
    q = ccd.assemble(robot)
    equations = derive(robot, 'ic', q)
    assert equations.notes == ['The equations leave out Coulomb friction of tip_on_floor.']
    (tip,) = robot.description.loops
    smooth = replace(tip, contact=replace(tip.contact, mu=0.0))
    robot = ccd.Mechanism(replace(robot.description, loops=(smooth,)))
    assert_agrees(robot, equations, q, np.random.default_rng(4))


def test_implicit_constraints_take_a_block_that_is_too_large_for_determinants():
    rng = np.random.default_rng(11)
    description = random_description(rng, 9, shares={JointType.REVOLUTE: 1}, branching=0.0)
    q = random_state(rng, description)[0]
    tip = (
        {joint.child for joint in description.joints}
        - {joint.parent for joint in description.joints}
    ).pop()
    robot = ccd.Mechanism(
        random_loops(
            rng, description, q, 1, kinds=(LoopType.FIXED,), pairs=[(description.root, tip)]
        )
    )
    equations = derive(robot, 'ic', q)
    assert [len(bodies) for _, bodies in equations._blocks] == [6] and CRAMER < 6
    assert_agrees(robot, equations, q, rng)


# --- what is refused ------------------------------------------------------------------------
@pytest.mark.parametrize('method', ['te', 'de'])
def test_a_spatial_loop_is_refused_by_name_with_the_way_out(method):
    robot = ccd.load(SPATIAL)
    with pytest.raises(StructureError, match=r"loop 'ball'.*not planar.*'ic'"):
        derive(robot, method, ccd.assemble(robot, {'crank': 0.2}))


def test_a_joint_with_several_coordinates_is_refused_by_name():
    with pytest.raises(StructureError, match="'root' is floating and has 6 coordinates.*'ic'"):
        derive(ccd.load('figure'))


def test_a_loop_that_no_pin_closes_is_refused():
    with pytest.raises(StructureError, match="'tip_on_floor'.*surface joint, not by a pin"):
        derive(ccd.load('two_link'))


def test_a_loop_with_three_unknown_joints_is_refused():
    """With its output independent, no loop of the six-bar is a triangle."""
    robot = ccd.load('six_bar', actuated=['output'])
    with pytest.raises(StructureError, match='3 of its joints are still unknown'):
        derive(robot, 'te', ccd.assemble(robot))
    derive(robot, 'ic', ccd.assemble(robot)).term('M_1')


def test_unknown_methods_and_terms_are_told():
    robot = ccd.load('pendulum')
    with pytest.raises(NameNotFound, match="no method named 'tee'. Did you mean 'te'"):
        derive(robot, 'tee')
    with pytest.raises(NameNotFound, match="no term named 'M_2'"):
        derive(robot).term('M_2')
    with pytest.raises(NameNotFound, match="no term named 'q'"):
        derive(robot, 'ic').term('q')


def test_numbers_that_do_not_fit_are_told():
    equations = derived('exo', 'te')[1]
    with pytest.raises(StateError, match=r'q_1 has shape \(13,\) and must end in 5.*q_rho7'):
        equations.evaluate('g_1', np.zeros(13))
    with pytest.raises(StateError, match='v_1 has shape'):
        equations.evaluate('c_1', np.zeros(5))


def test_an_open_chain_needs_no_loop():
    robot = ccd.load(chain(5))
    q, v, a = np.random.default_rng(1).normal(size=(3, 5))
    for method in METHODS:
        np.testing.assert_allclose(
            derive(robot, method).evaluate('tau_1', q, v, a),
            ccd.newton_euler(robot, q, v, a),
            atol=1e-11,
        )
