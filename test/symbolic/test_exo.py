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
The exoskeleton of paper 5: the shipped model against independently computed numbers.

The figures are those of an independent double-precision computation from the authors' table of
frames and lengths, printed with nine decimals; gravity is 9.81 m/s^2.
"""

import numpy as np
import pinocchio as pin
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.model import library

INDEPENDENT = ['rho1', 'rho2', 'rho4', 'rho5', 'rho7']
PRINTED = 1.01e-9  # nine decimals, rounded; some entries are sums of rounded ones
RATES = (0.3, -0.2, 0.5, -0.4, 0.6)
SPRING, DAMPER, REST = 1000.0, 40.0, 0.03

POSES = {
    'pose 1': {
        'q_1': (0, 0, 30, 30, 0),
        'q_2': {
            'rho3': 0.208343624,
            'rho6': 0,
            'eta2': -1.014012155,
            'eta3': -0.368252647,
            'eta4': -2.632116017,
            'eta5': 0.523598776,
            'eta7': -1.688629216,
            'L_s': 0.085016783,
        },
        'd_rho4': {
            'rho3': 1.389559072,
            'rho6': -1,
            'eta2': 1.431031006,
            'eta3': 1.236813704,
            'eta4': -0.572128047,
            'eta5': 1,
            'eta7': -1.775469522,
            'L_s': -0.146492134,
        },
        'd_rho5': {'rho6': 1, 'eta7': 1.775469522, 'L_s': 0.146492134},
        'M_1': [
            [0.964416278, 0.699879641, 0.214785595, 0.032064748, -0.001773538],
            [0.699879641, 0.648237624, -0.153305432, -0.107479548, 0.005438103],
            [0.214785595, -0.153305432, 2.366607429, 1.14025991, -0.031589861],
            [0.032064748, -0.107479548, 1.14025991, 0.939228388, -0.026804],
            [-0.001773538, 0.005438103, -0.031589861, -0.026804, 0.0038],
        ],
        'g_1': (0, -4.622472, 19.002394925, 14.105233568, -0.373061468),
        'tau_1s': (0, 0, -8.059525974, 8.059525974, 0),
        'c_1': (0.145857199, 0.319382371, -1.548738321, -0.605568823, 0.017163691),
        'tool': (0.516398056, -0.048, -0.274410976),
    },
    'pose 2': {
        'q_1': (-20, 15, 50, 40, 25),
        'q_2': {
            'rho3': 0.284548141,
            'rho6': -0.174532925,
            'eta2': -0.936670318,
            'eta3': -0.303801485,
            'eta4': -2.357871349,
            'eta5': 0.872664626,
            'eta7': -2.057468508,
            'L_s': 0.059985241,
        },
        'd_rho4': {
            'rho3': -0.670658532,
            'rho6': -1,
            'eta2': -0.671116319,
            'eta3': -0.538758162,
            'eta4': 1.690706974,
            'eta5': 1,
            'eta7': -2.578017171,
            'L_s': -0.136819691,
        },
        'd_rho5': {'rho6': 1, 'eta7': 2.578017171, 'L_s': 0.136819691},
        'M_1': [
            [1.095331373, 0.557668445, 0.070993562, -0.231640847, 0.015923581],
            [0.557668445, 0.377244287, 0.043711598, -0.10849397, 0.009185387],
            [0.070993562, 0.043711598, 0.241665622, -0.306153537, 0.007916504],
            [-0.231640847, -0.10849397, -0.306153537, 0.938699626, -0.02427147],
            [0.015923581, 0.009185387, 0.007916504, -0.02427147, 0.0038],
        ],
        'g_1': (0, -0.963651864, -5.810097828, 14.224937, -0.298519081),
        'tau_1s': (0, 0, -4.10257145, 4.10257145, 0),
        'c_1': (-0.191558925, -0.076686047, 0.404866058, -0.258948297, 0.002237016),
        'tool': (0.527137113, -0.179751872, -0.126928507),
    },
}


@pytest.fixture
def exo():
    return ccd.load('exo', gravity=(0.0, 0.0, -9.81))


@pytest.fixture(params=POSES)
def pose(request):
    return POSES[request.param]


def held(values):
    return dict(zip(INDEPENDENT, values))


def assembled(exo, degrees):
    return ccd.assemble(exo, held(np.radians(degrees)))


def test_structure_is_that_of_the_paper(exo):
    description = exo.description
    assert sum(link.inertia is not None for link in description.links) == 15
    assert (len(exo.loop_names), len(exo.coupling_names), len(description.springs)) == (3, 2, 1)
    assert exo.nv == 13
    c = ccd.coordinates(exo, ccd.assemble(exo))
    assert (c.mobility, c.rank) == (5, 8)
    assert c.independent == INDEPENDENT == exo.actuator_names
    # a pin between parallel axes repeats three of its five rows
    assert c.redundant_rows_by_loop == {'E': 3, 'B': 3, 'A': 3}
    assert description.notes == ()
    assert all(
        np.isfinite(joint.limit.effort)
        for joint in description.joints
        if joint.name in INDEPENDENT
    )


def test_other_engines_see_the_same_tree(exo):
    peer = pin.buildModelFromUrdf(str(library.find('exo')))
    q = assembled(exo, (-20, 15, 50, 40, 25))
    at_peer = pin.neutral(peer)
    for name, value in zip(exo.coordinate_names, q):
        joint = peer.joints[peer.getJointId(name)]
        at_peer[joint.idx_q : joint.idx_q + joint.nq] = (
            (np.cos(value), np.sin(value)) if joint.nq == 2 else value
        )
    order = [peer.joints[peer.getJointId(name)].idx_v for name in exo.coordinate_names]
    M = pin.crba(peer, peer.createData(), at_peer)
    M = np.triu(M) + np.triu(M, 1).T
    np.testing.assert_allclose(ccd.mass_matrix(exo, q), M[np.ix_(order, order)], atol=1e-13)


@pytest.mark.parametrize(
    'rho4, rho3',
    [
        (0, -18.67628),
        (15, -9.97242),
        (30, 11.93721),
        (45, 19.04063),
        (60, 8.31435),
        (75, -5.62095),
        (90, -18.25502),
    ],
)
def test_shoulder_follows_the_elbow(exo, rho4, rho3):
    q = ccd.assemble(exo, {'rho4': np.radians(rho4)})
    assert np.degrees(q[exo.coordinate_names.index('rho3')]) == pytest.approx(rho3, abs=5.1e-6)


def test_dependent_coordinates(exo, pose):
    q = assembled(exo, pose['q_1'])
    values = dict(zip(exo.coordinate_names, q))
    for name, value in pose['q_2'].items():
        assert values[name] == pytest.approx(value, abs=PRINTED), name
    W = ccd.coordinates(exo, q).W
    for column, rates in ((2, pose['d_rho4']), (3, pose['d_rho5'])):
        for name in pose['q_2']:
            assert W[exo.coordinate_names.index(name), column] == pytest.approx(
                rates.get(name, 0), abs=PRINTED
            ), name


def test_tool_is_where_the_chain_says(exo, pose):
    q = assembled(exo, pose['q_1'])
    back = ccd.link_placement(exo, q, 'back_plate')
    tool = ccd.link_placement(exo, q, 'tool')
    np.testing.assert_allclose(tool[:3, 3] - back[:3, 3], pose['tool'], atol=PRINTED)


def test_dynamics_in_independent_coordinates(exo, pose):
    q, still = assembled(exo, pose['q_1']), np.zeros(exo.nv)
    W = ccd.coordinates(exo, q).W
    np.testing.assert_allclose(W.T @ ccd.mass_matrix(exo, q) @ W, pose['M_1'], atol=PRINTED)
    g = ccd.newton_euler(exo, q, still, still)
    np.testing.assert_allclose(W.T @ g, pose['g_1'], atol=PRINTED)
    v = ccd.complete_velocity(exo, q, held(RATES))
    a = ccd.complete_acceleration(exo, q, v, dict.fromkeys(INDEPENDENT, 0.0))
    c_1 = W.T @ (ccd.newton_euler(exo, q, v, a) - g)
    np.testing.assert_allclose(c_1, pose['c_1'], atol=PRINTED)


def test_motors_carry_weight_spring_and_damper(exo, pose):
    q, still = assembled(exo, pose['q_1']), np.zeros(exo.nv)
    at_rest = ccd.inverse_dynamics(exo, q, still, still).tau_A
    np.testing.assert_allclose(at_rest, np.add(pose['g_1'], pose['tau_1s']), atol=2 * PRINTED)
    v = ccd.complete_velocity(exo, q, held(RATES))
    a = ccd.complete_acceleration(exo, q, v, held((1.0, -2.0, 3.0, -1.0, 2.0)))
    length_rate = ccd.coordinates(exo, q).W[exo.coordinate_names.index('L_s')]
    damping = DAMPER * length_rate * (length_rate @ RATES)
    expected = (
        np.dot(pose['M_1'], (1.0, -2.0, 3.0, -1.0, 2.0))
        + pose['c_1']
        + pose['g_1']
        + pose['tau_1s']
        + damping
    )
    # nine decimals of M_1, times accelerations, summed
    np.testing.assert_allclose(ccd.inverse_dynamics(exo, q, v, a).tau_A, expected, atol=1e-8)


def test_forward_dynamics_undoes_inverse_dynamics(exo):
    q = assembled(exo, (10, -5, 40, 50, 20))
    v = ccd.complete_velocity(exo, q, held(RATES))
    a = ccd.complete_acceleration(exo, q, v, held((1.0, -2.0, 3.0, -1.0, 2.0)))
    tau = ccd.inverse_dynamics(exo, q, v, a).tau_A
    np.testing.assert_allclose(ccd.forward_dynamics(exo, q, v, tau).acceleration, a, atol=1e-9)


def test_energy_is_accounted_for_while_it_moves(exo):
    q = assembled(exo, (-10, -20, 45, 45, 0))
    sim = ccd.Simulation(exo, q=q, dt=1e-3, integrator='rk4')
    hold = ccd.inverse_dynamics(exo, q, np.zeros(exo.nv), np.zeros(exo.nv)).tau_A
    for _ in range(300):
        sim.step(0.9 * hold)  # a little too weak: the arm sinks
    balance = sim.log.balance
    assert sim.energy().dissipated > 0.0
    assert sim.log.kinetic.max() > 0.1
    assert abs(balance - balance[0]).max() < 1e-6 * sim.log.kinetic.max()
    assert sim.loop_error() < 1e-12


def test_torque_control_follows_a_motion(exo):
    """Inverse dynamics with feedback, evaluated once per step."""
    start, amplitude = np.radians((0, -10, 40, 40, 0)), np.array((0.2, 0.2, 0.3, 0.3, 0.5))
    speed = 3.0

    def desired(t):
        s, c = np.sin(speed * t), np.cos(speed * t)
        return (start + amplitude * (1 - c), amplitude * speed * s, amplitude * speed**2 * c)

    sim = ccd.Simulation(exo, q=ccd.assemble(exo, held(start)), dt=1e-3, integrator='rk4')
    place = [exo.coordinate_names.index(name) for name in INDEPENDENT]
    worst = 0.0
    for _ in range(500):
        q_d, v_d, a_d = desired(sim.time)
        error, error_rate = q_d - sim.q[place], v_d - sim.v[place]
        worst = max(worst, abs(error).max())
        a = ccd.complete_acceleration(exo, sim.q, sim.v, held(a_d + 400 * error + 40 * error_rate))
        sim.step(ccd.inverse_dynamics(exo, sim.q, sim.v, a).tau_A)
    # a torque that is held over a step lags by half of it; the error is proportional to the step
    assert worst < 4e-3


def test_spring_law_is_the_tested_one(exo):
    spring = exo.description.springs[0]
    assert (spring.stiffness, spring.damping, spring.rest) == (SPRING, DAMPER, REST)
