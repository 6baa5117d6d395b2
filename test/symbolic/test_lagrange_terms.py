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

"""Each kind of list by its closed form: turning in space, springs, forces; and the size."""

from functools import cache
import time

from helpers.bad_lists import SPACE
from helpers.derived_lists import compiled, derived, fall, zero, zero_matrix
import numpy as np
import pytest
from scipy.spatial.transform import Rotation
import sympy
from sympy import Symbol

from closed_chain_dynamics import symbolic
from closed_chain_dynamics.errors import DescriptionError, SingularityError
from closed_chain_dynamics.symbolic.list_elements import velocity
from closed_chain_dynamics.symbolic.list_kinematics import rate

# Doubles through a solve of at most 11 unknowns.
ROUNDING = 1e-10
# 30 digits through some hundred operations.
MANY_DIGITS = 1e-24
# Energy along an integration with rtol 1e-11, relative.
ENERGY_DRIFT = 1e-9

# ---- space: Euler angles and quaternions -------------------------------------------------------

FREE_BODY = """
dimension: 3
coordinates: [x, y, z, ex, ey, ez, ew]
inputs: [Tx, Ty, Tz]
parameters: {m: 2, A: 3, B: 4, C: 5, D: 0.3, E: -0.2, H: 0.4, g: 9.81}
gravity: [0, 0, -g]
LRS: {body: [origin, [ex, ey, ez, ew]]}
pt: {origin: [0, x, y, z], center: [body, 0, 0, 0]}
seg: {body: [center, m, A, B, C, D, E, H]}
trq: {motor: [0, body, Tx, Ty, Tz]}
"""
J = np.array([[3, -0.3, 0.2], [-0.3, 4, -0.4], [0.2, -0.4, 5]])  # (8.24)


@cache
def free_body():
    return symbolic.lagrange(symbolic.parse_lists(FREE_BODY)).compile()


def body_rates(e):
    """Return G with omega = 2 G e' in axes of the body, for a unit quaternion xyzw."""
    x, y, z, w = e
    return np.array([[w, z, -y, -x], [-z, w, x, -y], [y, -x, w, -z]])


@pytest.mark.parametrize(
    'orientation',
    [
        Rotation.identity(),
        Rotation.from_euler('Z', 0.7),
        Rotation.from_euler('X', np.pi),
        Rotation.from_euler('ZXZ', [0.3, 1e-9, 0.4]),
        Rotation.from_euler('ZXZ', [0.3, 0.5, 0.7]),
    ],
    ids=['unturned', 'zxz singular', 'upside down', 'nearly singular', 'regular'],
)
def test_a_quaternion_obeys_eulers_equations_where_euler_angles_fail(orientation):
    e, omega, torque = orientation.as_quat(), np.array([1, -2, 3.0]), np.array([4, 5, -6.0])
    v = np.concatenate([[0.1, 0.2, 0.3], body_rates(e).T @ omega / 2])
    a, _ = free_body().accelerations(np.concatenate([[1, 2, 3], e]), v, torque)
    assert a[:3] == pytest.approx([0, 0, -9.81], abs=ROUNDING)
    # omega = 2 G(e) e' and G(e') e' = 0
    assert 2 * body_rates(e) @ a[3:] == pytest.approx(
        np.linalg.solve(J, torque - np.cross(omega, J @ omega)), abs=ROUNDING
    )


@pytest.mark.parametrize('axes', ['zxz', 'zyx', 'xyz', 'yzy'])
def test_three_angles_turn_as_scipy_turns(axes):
    angles = [0.3, 0.5, 0.7]
    phi = symbolic.kinematics(symbolic.parse_lists(SPACE + f'euler: {axes}')).phi['body']
    phi = np.array(phi.subs(dict(zip('abc', angles))), dtype=float)
    assert phi == pytest.approx(
        Rotation.from_euler(axes.upper(), angles).as_matrix(), abs=ROUNDING
    )


def test_a_quaternion_turns_as_scipy_turns():
    turn = Rotation.from_euler('ZXZ', [0.3, 0.5, 0.7])
    phi = symbolic.kinematics(symbolic.parse_lists(FREE_BODY)).phi['body']
    phi = np.array(phi.subs(dict(zip(('ex', 'ey', 'ez', 'ew'), turn.as_quat()))), dtype=float)
    assert phi == pytest.approx(turn.as_matrix(), abs=ROUNDING)


def test_euler_angles_fail_upright_and_the_quaternion_does_not():
    with pytest.raises(SingularityError, match='quaternion'):
        compiled('heavy_top').accelerations((0, 0, 0), (0, 0, 50))
    a, force = compiled('sleeping_top').accelerations(
        (0, 0, 0.08, 0, 0, 0, 1), (0, 0, 0, 0, 0, 25, 0)
    )
    assert a[:3] == pytest.approx(0, abs=ROUNDING)  # it sleeps
    assert force[:3] == pytest.approx([0, 0, 0.5 * 9.81])


def test_a_top_precesses_steadily_by_the_closed_form():
    m, l, A, C, g = (compiled('heavy_top').parameters[each] for each in ('m', 'l', 'A', 'C', 'g'))
    tilt, Omega = 0.6, 7.0
    # C w3 Omega - A_tip Omega^2 cos(tilt) = m g l, with w3 = spin' + Omega cos(tilt)
    w3 = (m * g * l + (A + m * l * l) * Omega**2 * np.cos(tilt)) / (C * Omega)
    a, _ = compiled('heavy_top').accelerations(
        (0.2, tilt, 0.3), (Omega, 0, w3 - Omega * np.cos(tilt))
    )
    assert a == pytest.approx(0, abs=1e-9)


def quaternion_state(angles, rates):
    """Return the state of sleeping_top for Euler angles and rates of heavy_top."""
    turn = Rotation.from_euler('ZXZ', angles)
    c3, s3, c2, s2 = np.cos(angles[2]), np.sin(angles[2]), np.cos(angles[1]), np.sin(angles[1])
    omega = np.array([[s2 * s3, c3, 0], [s2 * c3, -s3, 0], [c2, 0, 1]]) @ rates  # (8.20)
    r = np.array([0, 0, 0.08])
    e = turn.as_quat()
    return (
        np.concatenate([turn.apply(r), e]),
        np.concatenate([turn.apply(np.cross(omega, r)), body_rates(e).T @ omega / 2]),
    )


def test_angles_and_quaternion_describe_one_motion_and_energy_stays():
    angles, rates = np.array([0.1, 0.4, 0.2]), np.array([1.0, -2.0, 120.0])
    by_angles = fall('heavy_top', angles, rates, 0.5)
    start = quaternion_state(angles, rates)
    by_quaternion = fall('sleeping_top', *start, 0.5)
    there = np.concatenate(quaternion_state(by_angles[:3], by_angles[3:]))
    assert np.abs(np.abs(by_quaternion) - np.abs(there)).max() < 1e-6  # e and -e are one turn
    for name, first, last in (
        ('heavy_top', (angles, rates), by_angles),
        ('sleeping_top', start, by_quaternion),
    ):
        before = sum(compiled(name).energy(*first))
        assert sum(compiled(name).energy(*np.split(last, 2))) == pytest.approx(
            before, rel=ENERGY_DRIFT
        )


def test_kinetic_energy_is_8_23_with_the_inertia_about_the_tip():
    eq = derived('heavy_top')
    m, l, A, C = sympy.symbols('m l A C')
    J_tip = sympy.diag(A + m * l**2, A + m * l**2, C)
    omega = eq.motion.omga['top']
    difference = eq.kinetic - (omega.T * J_tip * omega)[0] / 2  # v_j = 0: the tip rests
    numbers = random_numbers(3, difference.free_symbols)
    assert abs(difference.subs(numbers).evalf(30)) < MANY_DIGITS


def random_numbers(seed, names):
    rng = np.random.default_rng(seed)
    return {
        symbol: sympy.Rational(int(rng.integers(-99, 99)), 70) for symbol in sorted(names, key=str)
    }


@pytest.mark.parametrize('name', ['standing_figure', 'heavy_top', 'viscoelastic_foot'])
def test_velocities_of_8_17_are_the_derivatives_of_displacements(name):
    eq = derived(name)
    for point, position in eq.motion.disp.items():
        for x, v in zip(position, eq.motion.velo[point]):
            difference = rate(x, eq.lists.coordinates) - v
            numbers = random_numbers(6, difference.free_symbols)
            assert abs(difference.subs(numbers).evalf(30)) < MANY_DIGITS


# ---- springs, dampers, forces -----------------------------------------------------------------


def lists_of(text, *, dimension=2):
    zeros = ', '.join('0' * dimension)
    return symbolic.parse_lists(f'dimension: {dimension}\ngravity: [{zeros}]\n{text}')


def test_a_spring_and_damper_pull_along_their_line():
    eq = symbolic.lagrange(
        lists_of("""
coordinates: [x]
parameters: {m: , k: , c: , s: }
pt: {1: [0, x, 0], wall: [0, -1, 0]}
seg: {1: [1, m]}
spl: {1: [wall, 1, k, c, s]}
""")
    )
    x, m, k, c, s = sympy.symbols('x m k c s', positive=True)
    v = velocity('x')
    positive = {Symbol(name): symbol for name, symbol in zip('xmkcs', (x, m, k, c, s))}
    assert sympy.Matrix([[Symbol('m')]]) == eq.M
    assert zero(eq.rhs[0].subs(positive) + k * (x + 1 - s) + c * v)
    assert zero(eq.dissipation.subs(positive) - c * v**2 / 2)


def test_a_damper_resists_a_change_of_length_and_no_turning():
    round_its_end = symbolic.lagrange(
        lists_of("""
coordinates: [q]
parameters: {m: 1, c: 1, l: 1}
LRS: {arm: [0, q]}
pt: {tip: [arm, l, 0]}
seg: {tip: [tip, m]}
spl: {damper: [0, tip, 0, c, 0]}
""")
    )
    assert zero(round_its_end.dissipation)  # the end moves, the length does not


TWO_IN_SPACE = """
coordinates: [a, b]
inputs: [Tx, Ty, Tz]
parameters: {J: , k: , c: , s: }
LRS: {1: [0, a, 0, 0], 2: [0, 0, b, 0, 1]}
pt: {1: [1, 0, 0, 0], 2: [2, 0, 0, 0]}
seg: {1: [1, 0, J, J, J], 2: [2, 0, J, J, J]}
"""


def test_a_torsional_spring_in_space_uses_the_common_axis():
    eq = symbolic.lagrange(lists_of(TWO_IN_SPACE + 'spt: {1: [1, 2, k, c, s]}', dimension=3))
    b, k, c, s = sympy.symbols('b k c s')
    assert zero_matrix(eq.rhs - sympy.Matrix([0, -k * (b - s) - c * velocity('b')]))


def test_a_torque_between_two_bodies_in_space_works_on_their_relative_turn_only():
    eq = symbolic.lagrange(lists_of(TWO_IN_SPACE + 'trq: {1: [1, 2, Tx, Ty, Tz]}', dimension=3))
    assert zero_matrix(eq.generalized_forces - sympy.Matrix([0, Symbol('Tx')]))


def test_a_force_between_two_points_and_a_torque_between_two_systems_act_on_both():
    eq = symbolic.lagrange(
        lists_of("""
coordinates: [x1, x2, a1, a2]
inputs: [F, T]
parameters: {m: 1, I: 1}
LRS: {1: [p1, a1], 2: [p2, a2]}
pt: {p1: [0, x1, 0], p2: [0, x2, 0], c1: [1, 0, 0], c2: [2, 0, 0]}
seg: {1: [c1, m, I], 2: [c2, m, I]}
frc: {1: [p1, p2, F, 0]}
trq: {1: [1, 2, T]}
""")
    )
    F, T = sympy.symbols('F T')
    assert list(eq.generalized_forces) == [F, -F, -T, T]


def test_power_of_forces_and_dampers_is_the_rate_of_energy():
    eq = derived('viscoelastic_foot')
    dynamics, inputs = compiled('viscoelastic_foot'), {'T_ankle': 20.0}
    names = (*eq.lists.inputs, *eq.lists.parameters)
    forces = sympy.lambdify(
        (*eq.coordinates, *eq.velocities, *map(Symbol, names)),
        [*(eq.generalized_forces + eq.damping_forces)],
        'math',
    )
    rng = np.random.default_rng(8)
    for _ in range(10):
        q = np.array([0, 0.069, 0, 1.5]) + rng.uniform(-0.01, 0.01, 4)
        v = rng.uniform(-0.3, 0.3, 4)
        a, _ = dynamics.accelerations(q, v, inputs)
        power = v @ forces(*q, *v, 20.0, *dynamics.parameters.values())
        h = 1e-6  # central difference of energies of about 1e3 J
        ahead = sum(dynamics.energy(q + h * v, v + h * a))
        behind = sum(dynamics.energy(q - h * v, v - h * a))
        assert (ahead - behind) / (2 * h) == pytest.approx(power, rel=1e-5, abs=1e-3)


def test_the_floor_only_pushes_and_only_below_it():
    eq = derived('viscoelastic_foot')
    push = eq.generalized_forces[1].subs(
        {Symbol(name): value for name, value in eq.lists.parameters.items()}
    )
    push = sympy.lambdify((*eq.coordinates, *eq.velocities), push, 'math')
    assert push(0, 0.08, 0, 1.5, 0, -1, 0, 0) == 0
    assert push(0, 0.069, 0, 1.5, 0, 0, 0, 0) == pytest.approx(2 * 60000 * 0.001)
    assert push(0, 0.069, 0, 1.5, 0, 5, 0, 0) == 0  # leaves faster than the dampers follow


# ---- size --------------------------------------------------------------------------------------


def spatial_chain(count):
    """Return a chain in space, each body turned by three angles against the one before."""
    names = [f'{letter}{i}' for i in range(1, count + 1) for letter in 'abc']
    LRS = [
        f'{i}: [{f"e{i - 1}" if i > 1 else 0}, a{i}, b{i}, c{i}, {i - 1}]'
        for i in range(1, count + 1)
    ]
    points = [f'c{i}: [{i}, 0, 0, l], e{i}: [{i}, 0, 0, l]' for i in range(1, count + 1)]
    bodies = [f'{i}: [c{i}, m, I, I, I]' for i in range(1, count + 1)]
    return symbolic.parse_lists(f"""
dimension: 3
coordinates: [{', '.join(names)}]
parameters: {{m: 1, I: 1, l: 1, g: 9.81}}
gravity: [0, 0, -g]
LRS: {{{', '.join(LRS)}}}
pt: {{{', '.join(points)}}}
seg: {{{', '.join(bodies)}}}
""")


def test_a_model_that_takes_hours_is_refused_before_the_work_starts():
    steps, start = [], time.process_time()
    with pytest.raises(DescriptionError, match='30 coordinates would take about .* days'):
        symbolic.lagrange(spatial_chain(10), progress=lambda *step: steps.append(step))
    assert not steps and time.process_time() - start < 20
    with pytest.raises(DescriptionError, match='longest='):
        symbolic.lagrange(spatial_chain(1), longest=1e-3)
    assert symbolic.estimate(spatial_chain(1)) < symbolic.estimate(spatial_chain(2))


def test_progress_is_told_and_an_interrupt_ends_the_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    steps = []
    symbolic.lagrange(spatial_chain(1), progress=lambda *step: steps.append(step))
    assert [done for done, _, _ in steps] == [0, 1, 2, 3, 4]
    assert steps[0] == (0, 4, 'coordinate a1') and steps[-1] == (4, 4, 'done')

    def interrupt(done, total, what):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        symbolic.lagrange(spatial_chain(1), progress=interrupt)
    assert not list(tmp_path.iterdir())
