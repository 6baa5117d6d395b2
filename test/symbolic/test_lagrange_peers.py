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

"""Lagrange's equations of lists against SymPy's own methods and the numeric core."""

from helpers.derived_lists import STATE, compiled, taken_apart, zero_matrix
import numpy as np
import pytest
import sympy
from sympy import Symbol
from sympy.physics import mechanics

import closed_chain_dynamics as ccd
from closed_chain_dynamics import symbolic
from closed_chain_dynamics.symbolic.list_elements import velocity

# Doubles through a solve of at most 14 unknowns; entries up to about 1e3.
ROUNDING = 1e-10
# Loops closed to 1e-10 by Newton's method, accelerations up to about 1e3.
CLOSED = 1e-8


# ---- the numeric core --------------------------------------------------------------------------


def link(name, mass, center, inertia):
    return (
        f'<link name="{name}"><inertial><origin xyz="{center} 0 0"/><mass value="{mass}"/>'
        f'<inertia ixx="1" iyy="{inertia}" izz="{inertia}"/></inertial></link>'
    )


def joint(name, kind, parent, child, origin, axis):
    limit = '<limit effort="1000" velocity="10" lower="-5" upper="5"/>'
    return (
        f'<joint name="{name}" type="{kind}"><origin xyz="{origin} 0 0"/>'
        f'<parent link="{parent}"/><child link="{child}"/><axis xyz="{axis}"/>{limit}</joint>'
    )


@pytest.fixture(scope='module')
def figure():
    """Return the standing figure as a mechanism of the core, in the x-y plane."""
    parts = [
        '<link name="world"/><link name="foot"/>',
        link('leg', 7, 0.25, 0.10),
        link('thigh', 15, 0.25, 0.25),
        link('trunk', 50, 0.32, 3.4),
        joint('slide', 'prismatic', 'world', 'foot', 0, '1 0 0'),
        joint('ankle', 'continuous', 'foot', 'leg', 0, '0 0 1'),
        joint('knee', 'continuous', 'leg', 'thigh', 0.44, '0 0 1'),
        joint('hip', 'continuous', 'thigh', 'trunk', 0.44, '0 0 1'),
    ]
    return ccd.load(f'<robot name="figure">{"".join(parts)}</robot>', gravity=(0, -9.81, 0))


# Joint angles of the core from segment angles of the chapter.
JOINT_ANGLES = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, -1, 1, 0], [0, 0, -1, 1]], dtype=float)


def core_configuration(robot, angles):
    """Return q of the core: continuous joints are cosine and sine there, or plain angles."""
    return ccd.integrate(robot, robot.neutral(), angles)


def test_the_core_agrees_on_mass_matrix_and_forces_of_the_figure(figure):
    rng = np.random.default_rng(4)
    for _ in range(20):
        q, v, a = rng.uniform(-2, 2, (3, 4))
        M, rhs = compiled('standing_figure')(q, v)
        there = core_configuration(figure, JOINT_ANGLES @ q)
        core = ccd.mass_matrix(figure, there)
        assert JOINT_ANGLES.T @ core @ JOINT_ANGLES == pytest.approx(M, rel=ROUNDING, abs=ROUNDING)
        tau = ccd.newton_euler(figure, there, JOINT_ANGLES @ v, JOINT_ANGLES @ a)
        assert JOINT_ANGLES.T @ tau == pytest.approx(M @ a - rhs, rel=ROUNDING, abs=ROUNDING)


def test_multipliers_are_the_reactions_of_the_core(figure):
    q, v = map(np.array, STATE)
    a, force = compiled('standing_figure_joints').accelerations(*taken_apart(q, v))
    there = core_configuration(figure, JOINT_ANGLES @ q)
    reactions = ccd.reactions(figure, there, JOINT_ANGLES @ v, JOINT_ANGLES @ a[[0, 2, 5, 8]])
    assert reactions['knee'].force[:2] == pytest.approx(force[:2], rel=ROUNDING)
    assert reactions['hip'].force[:2] == pytest.approx(force[2:4], rel=ROUNDING)
    assert reactions['ankle'].force[1] == pytest.approx(force[4], rel=ROUNDING)


THREE_LINK = """
dimension: 2
coordinates: [q1, q2, q3]
parameters: {m: 1, l: 0.5, I: 1/12, c: 3, g: 9.8}
gravity: [0, -g]
LRS: {1: [0, q1], 2: [a, q2, 1], 3: [b, q3, 2]}
pt: {1: [1, 0, l/2], a: [1, 0, l], 2: [2, 0, l/2], b: [2, 0, l], 3: [3, 0, l/2]}
seg: {1: [1, m, I], 2: [2, m, I], 3: [3, m, I]}
spt: {1: [0, 1, 0, c, 0], 2: [1, 2, 0, c, 0], 3: [2, 3, 0, c, 0]}
"""


def test_the_core_agrees_on_the_shipped_three_link_arm_with_joint_angles_and_dampers():
    robot = ccd.load('three_link', gravity=(0, 0, -9.8))
    for loop in robot.loop_names:
        robot.cut(loop)
    dynamics = symbolic.lagrange(symbolic.parse_lists(THREE_LINK)).compile()
    rng = np.random.default_rng(5)
    for _ in range(20):
        q, v = rng.uniform(-1, 1, (2, 3))
        assert ccd.mass_matrix(robot, q) == pytest.approx(dynamics(q, v)[0], rel=ROUNDING)
        a = ccd.forward_dynamics(robot, q, v, {}).acceleration
        assert a == pytest.approx(dynamics.accelerations(q, v)[0], rel=ROUNDING, abs=ROUNDING)


def test_the_core_agrees_on_the_shipped_four_bar_a_closed_chain():
    robot, dynamics = ccd.load('four_bar'), compiled('four_bar')
    for crank, speed in ((0.3, 2.0), (1.2, -3.0), (2.5, 1.0), (4.0, 5.0)):
        q = ccd.assemble(robot, {'crank': crank})
        v = ccd.complete_velocity(robot, q, {'crank': speed})
        angles = ccd.difference(robot, robot.neutral(), q)
        assert dynamics.constraints(angles) == pytest.approx(0, abs=ROUNDING)
        a, force = dynamics.accelerations(angles, v, {'T': 1.5})
        core = ccd.forward_dynamics(robot, q, v, {'crank': 1.5}).acceleration
        assert a == pytest.approx(core, rel=CLOSED, abs=CLOSED)
        reaction = ccd.reactions(robot, q, v, core)['coupler_rocker']
        assert force == pytest.approx(reaction.force[[0, 2]], rel=CLOSED, abs=CLOSED)


# ---- SymPy's own methods -----------------------------------------------------------------------

DOUBLE_PENDULUM = """
dimension: 2
coordinates: [q1, q2]
inputs: [T, F]
parameters: {m1: , m2: , l1: , r1: , r2: , I1: , I2: , g: }
gravity: [g, 0]                     # hangs along x
LRS: {1: [0, q1], 2: [elbow, q2, 1]}
pt: {c1: [1, r1, 0], elbow: [1, l1, 0], c2: [2, r2, 0]}
seg: {1: [c1, m1, I1], 2: [c2, m2, I2]}
trq: {elbow: [1, 2, T]}
frc: {push: [c2, 0, F]}
"""


def in_time(eq):
    """Return {symbol of the lists: function of time} for coordinates and velocities."""
    functions = mechanics.dynamicsymbols(' '.join(eq.lists.coordinates))
    t = mechanics.dynamicsymbols._t
    return dict(
        zip((*eq.coordinates, *eq.velocities), (*functions, *(each.diff(t) for each in functions)))
    )


def test_sympy_derives_the_same_double_pendulum():
    eq = symbolic.lagrange(symbolic.parse_lists(DOUBLE_PENDULUM))
    at = in_time(eq)
    q1, q2 = (at[each] for each in eq.coordinates)
    m1, m2, l1, r1, r2, I1, I2, g, T, F = sympy.symbols('m1 m2 l1 r1 r2 I1 I2 g T F')
    N = mechanics.ReferenceFrame('N')
    A = N.orientnew('A', 'Axis', (q1, N.z))
    B = A.orientnew('B', 'Axis', (q2, A.z))
    O = mechanics.Point('O')  # noqa: E741
    O.set_vel(N, 0)
    elbow, c1 = O.locatenew('elbow', l1 * A.x), O.locatenew('c1', r1 * A.x)
    c2 = elbow.locatenew('c2', r2 * B.x)
    bodies = []
    for point, frame, m, inertia in ((c1, A, m1, I1), (c2, B, m2, I2)):
        point.vel(N)
        body = mechanics.RigidBody(
            str(point), point, frame, m, (mechanics.inertia(frame, 0, 0, inertia), point)
        )
        body.potential_energy = -m * g * point.pos_from(O).dot(N.x)
        bodies.append(body)
    method = mechanics.LagrangesMethod(
        mechanics.Lagrangian(N, *bodies),
        [q1, q2],
        frame=N,
        forcelist=[(c2, F * N.y), (B, T * N.z), (A, -T * N.z)],
    )
    method.form_lagranges_equations()
    assert zero_matrix(method.mass_matrix - eq.M.subs(at))
    assert zero_matrix(method.forcing - eq.rhs.subs(at))


SPATIAL_BODY = """
dimension: 3
euler: zyx
coordinates: [a, b, c]
inputs: [Tx, Ty, Tz, Fx, Fy, Fz]
parameters: {m: , A: , B: , C: , D: , E: , H: , rx: , ry: , rz: , g: }
gravity: [0, 0, -g]
LRS: {body: [0, a, b, c]}
pt: {center: [body, rx, ry, rz], hook: [body, 0, 1, 0]}
seg: {body: [center, m, A, B, C, D, E, H]}
trq: {motor: [0, body, Tx, Ty, Tz]}
frc: {pull: [hook, Fx, Fy, Fz]}
"""


def kane_of_a_body():
    """Return mass matrix and forcing of SPATIAL_BODY by Kane's method, in symbols."""
    q, u = mechanics.dynamicsymbols('a b c'), mechanics.dynamicsymbols('u v w')
    s = symbolic.parse_lists(SPATIAL_BODY).symbols('frc')
    N = mechanics.ReferenceFrame('N')
    body = N.orientnew('body', 'Body', q, 'ZYX')
    kinematic = [each.diff() - speed for each, speed in zip(q, u)]
    body.set_ang_vel(N, body.ang_vel_in(N).subs({each.diff(): speed for each, speed in zip(q, u)}))
    pivot = mechanics.Point('pivot')
    pivot.set_vel(N, 0)
    center = pivot.locatenew('center', s['rx'] * body.x + s['ry'] * body.y + s['rz'] * body.z)
    hook = pivot.locatenew('hook', body.y)
    for point in (center, hook):
        point.v2pt_theory(pivot, N, body)
    # The chapter writes products of inertia with a minus sign, (8.24); SymPy without.
    tensor = mechanics.inertia(body, s['A'], s['B'], s['C'], -s['D'], -s['H'], -s['E'])
    rigid = mechanics.RigidBody('rigid', center, body, s['m'], (tensor, center))
    forces = [
        (center, -s['m'] * s['g'] * N.z),
        (hook, s['Fx'] * N.x + s['Fy'] * N.y + s['Fz'] * N.z),
        (body, s['Tx'] * body.x + s['Ty'] * body.y + s['Tz'] * body.z),
    ]
    method = mechanics.KanesMethod(N, q, u, kd_eqs=kinematic)
    method.kanes_equations([rigid], forces)
    names = dict(zip((*u, *q), (*map(velocity, 'abc'), *map(Symbol, 'abc'))))
    return method.mass_matrix.subs(names), method.forcing.subs(names)


def test_kane_derives_the_same_body_in_space_with_products_of_inertia():
    eq = symbolic.lagrange(symbolic.parse_lists(SPATIAL_BODY))
    M, forcing = kane_of_a_body()
    names = sorted(eq.M.free_symbols | eq.rhs.free_symbols, key=str)
    assert M.free_symbols | forcing.free_symbols == set(names)
    both = sympy.lambdify(names, [*(eq.M - M), *(eq.rhs - forcing)], 'math', cse=True)
    rng = np.random.default_rng(2)
    for _ in range(20):
        assert np.abs(both(*rng.uniform(-2, 2, len(names)))).max() < ROUNDING
