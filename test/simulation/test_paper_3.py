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
The tables of Li, Nishiguchi, Minami, Matsuno and Yanou: manipulators on a surface with friction.

Their arms move in the y-z plane with the tip held on z = 0. The tables below are the trajectory of
their equations integrated tightly; the digits that they print are compared as well.
"""

from helpers.planar_arm import FOLDED, TENT, PlanarArm, arm
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.dynamics.contacts import contact_forces, contact_wrenches

STEP = 2e-3
TABLE = 2e-6  # tables print seven decimals; RK4 with this step is good to about 1e-9
NEAR_BALANCE = 1e-5  # the three links start near an unstable balance, which magnifies errors
PRINTED = 5e-4  # half a unit of the paper's last digit
PRINTED_THREE = 0.03  # theirs have a fixed step and drift: same trajectory, 0.01 s later
ON_SURFACE = 1e-10  # [m]
EXACT = 1e-10  # identities between two ways to one number, of sizes up to 50
TWO_START, TWO_TAU = (-7.0 * np.pi / 12.0, np.pi / 6.0), (0.0, -1.225)
# t: q, q', f_n, f_t, f_1 (y, z), f_2 (y, z), a_1 (y, z), a_2 (y, z)
TWO_LINKS = {
    0.10: (
        (-1.8443872, 0.5471817),
        (-0.148105, 0.296210),
        9.3241742,
        0.0932417,
        ((-0.1292899, 10.2521901), (-0.1202778, 0.4640079)),
        ((-0.0090120, -0.0118179), (-0.0270361, -0.0118179)),
    ),
    4.85: (
        (-2.3525907, 1.5635887),
        (-0.0644854, 0.1289707),
        9.5327407,
        0.0953274,
        ((-0.0875820, 10.0741110), (-0.0895184, 0.2706852)),
        ((0.0019363, 0.0034259), (0.0058090, 0.0034259)),
    ),
    10.0: (
        (-2.5384186, 1.9352446),
        (-0.0168297, 0.0336594),
        9.7130432,
        0.0971304,
        ((-0.0934632, 9.8883918), (-0.0943800, 0.0876743)),
        ((0.0009168, 0.0007175), (0.0027504, 0.0007175)),
    ),
    30.0: (
        (-2.5979184, 2.0542442),
        (-0.0000557, 0.0001113),
        9.7996850,
        0.0979968,
        ((-0.0979832, 9.8003192), (-0.0979866, 0.0003171)),
        ((0.0000034, 0.0000021), (0.0000103, 0.0000021)),
    ),
}
THREE_START = (-0.05, -np.pi / 2.0 + 0.05, -np.pi / 2.0 + 0.05)
# t: q, q', f_n, f_t, f_1, f_2, f_3 (y, z)
THREE_LINKS = {
    1.0: (
        (-0.0855451, -1.4916258, -1.4226611),
        (-0.061819, 0.0444388, 0.1777758),
        13.8752660,
        -0.1387527,
        ((0.2657713, 15.4952997), (0.2483693, 5.6977509), (0.2137034, -4.0875319)),
    ),
    2.0: (
        (-0.2064652, -1.4211986, -1.1161532),
        (-0.2114988, 0.1147923, 0.4578812),
        12.5479424,
        -0.1254794,
        ((0.4600005, 16.6988836), (0.3988096, 6.9231256), (0.2803693, -2.8002874)),
    ),
    3.01: (
        (-0.6070491, -1.171912, -0.4538031),
        (-0.6391506, 0.4512341, 0.883241),
        11.7617294,
        -0.1176173,
        ((0.3811493, 16.9605016), (0.3186268, 7.3282700), (0.2033120, -2.1328455)),
    ),
    3.95: (
        (-1.4468425, -0.479225, 0.5814012),
        (-1.0457559, 0.9625778, 1.2280409),
        12.6306626,
        0.1263066,
        ((-1.7733114, 16.8186628), (-1.4993832, 7.0313999), (-0.9682833, -2.7932628)),
    ),
    10.0: (
        (-3.0925264, 1.5205924, 1.5604564),
        (-0.0284238, 0.0298579, -0.0049278),
        14.9084696,
        0.1490847,
        ((-0.1218719, 14.4924728), (-0.1274815, 4.6919951), (-0.1386995, -5.1084761)),
    ),
    15.0: (
        (-3.1261515, 1.555348, 1.555834),
        (-0.0003889, 0.0003953, -0.0000328),
        14.7025672,
        0.1470257,
        ((-0.1466047, 14.6974353), (-0.1466901, 4.8974340), (-0.1468609, -4.9025673)),
    ),
}
# what the paper prints: f_1, f_2 and, of three links, f_3; f_n; accelerations of the centres
PRINTED_TWO_LINKS = {
    0.10: (
        ((-0.129, 10.252), (-0.120, 0.464)),
        9.324,
        0.093,
        ((-0.009, -0.012), (-0.027, -0.012)),
    ),
    4.85: (((-0.088, 10.074), (-0.090, 0.271)), 9.533, 0.095, ((0.002, 0.003), (0.006, 0.003))),
}
PRINTED_THREE_LINKS = {
    3.01: (((0.368, 16.952), (0.308, 7.322), (0.197, -2.134)), 11.760),
    3.95: (((-1.772, 16.826), None, None), 12.658),
}


def forces_in_joints(robot, q, v, tau):
    """Return f_n, f_t along y, the forces of all joints and accelerations of links, in y, z."""
    a = ccd.forward_dynamics(robot, q, v, tau).acceleration
    ((normal, drag),) = contact_forces(robot, q, v, tau).values()
    on_links = contact_wrenches(robot, q, v, tau)
    joints = ccd.joint_wrenches(robot, q, v, a, wrenches=on_links)
    centres = []
    for joint in robot.joint_names:
        link = joint.replace('joint', 'link')
        J = ccd.jacobian(robot, q, link, point=(0.0, 0.0, 0.25))
        bias = ccd.jacobian_bias(robot, q, v, link, point=(0.0, 0.0, 0.25))
        centres.append((J @ a + bias)[1:3])
    return normal, drag[1], np.array([joints[name][1:3] for name in robot.joint_names]), centres


@pytest.fixture(scope='module')
def two_links():
    """Return simulation states of Tables I and II at the times of the table."""
    sim, states = ccd.Simulation(arm('two'), q=np.array(TWO_START), dt=STEP), {}
    for t in (0.1, 4.85, 10.0, 30.0):
        if abs(round((t - sim.time) / STEP) * STEP - (t - sim.time)) > 1e-9:
            raise AssertionError('the table needs a step that divides its times')
        sim.run(t - sim.time, TWO_TAU)
        states[t] = sim.q.copy(), sim.v.copy()
    return sim, states


@pytest.fixture(scope='module')
def three_links():
    """Return simulation states of Tables III and IV at the times of the table."""
    sim, states = ccd.Simulation(arm('three'), q=np.array(THREE_START), dt=STEP), {}
    for t in THREE_LINKS:
        sim.run(t - sim.time)
        states[t] = sim.q.copy(), sim.v.copy()
    return sim, states


@pytest.mark.parametrize('t', TWO_LINKS)
def test_two_links_slide_as_in_tables_1_and_2(two_links, t):
    sim, states = two_links
    q, v, f_n, f_t, forces, centres = TWO_LINKS[t]
    assert np.abs(states[t][0] - q).max() < TABLE
    assert np.abs(states[t][1] - v).max() < TABLE
    normal, drag, joints, accelerations = forces_in_joints(sim.robot, *states[t], TWO_TAU)
    assert normal == pytest.approx(f_n, abs=TABLE)
    assert drag == pytest.approx(f_t, abs=TABLE)
    assert np.abs(joints - forces).max() < TABLE
    assert np.abs(np.array(accelerations) - centres).max() < TABLE


def test_reactions_of_the_motion_alone_are_the_forces_of_the_tables(two_links, three_links):
    """From q, q', q'' and the torques: normal force, friction and all joints, with one call."""
    for (sim, states), table, tau, near in (
        (two_links, TWO_LINKS, TWO_TAU, TABLE),
        (three_links, THREE_LINKS, None, NEAR_BALANCE),
    ):
        robot = sim.robot.copy()
        for t, (q, v) in states.items():
            a = ccd.forward_dynamics(robot, q, v, tau).acceleration
            robot.workspace.frames[:] = 0.0  # what forward dynamics left is not looked at
            tau_A = np.zeros(len(robot.actuator_names)) if tau is None else np.array(tau)
            w = ccd.reactions(robot, q, v, a, tau_A)
            _, _, f_n, f_t, forces, *_ = table[t]
            assert np.abs(w['tip_on_floor'].wrench - [0, f_t, f_n, 0, 0, 0]).max() < near
            for name, force in zip(robot.joint_names, forces):
                assert np.abs(w[name].force[1:] - force).max() < near
            assert max(w.check().values()) < EXACT
            assert abs(abs(w['tip_on_floor'].force[1]) - 0.01 * w['tip_on_floor'].force[2]) < EXACT


@pytest.mark.parametrize(
    'links, start, K', [('two', FOLDED, 0.2), ('three', TENT, 0.2), ('two', FOLDED, 0.6)]
)
def test_the_torques_that_inverse_dynamics_finds_move_the_arm_as_asked(links, start, K):
    """Against the arm's own equations: motion, normal force and friction of these torques."""
    robot, n = arm(links, K), {'two': 2, 'three': 3}[links]
    q = np.array(start)
    v = ccd.complete_velocity(robot, q, {'joint_1': -0.7})
    a = ccd.complete_acceleration(robot, q, v, {'joint_1': 1.3})
    r = ccd.inverse_dynamics(robot, q, v, a)
    peer = PlanarArm(n, K, lambda t: r.tau_A)
    found, f_n, _, _ = peer.solve(0.0, q, v, np.sign(peer.speed(np.r_[q, v])))
    assert np.abs(found - a).max() < EXACT
    assert max(r.check().values()) < EXACT
    w = ccd.reactions(robot, q, v, a)
    assert w.tau_A == pytest.approx(r.tau_A, abs=EXACT)
    assert w['tip_on_floor'].force[2] == pytest.approx(f_n, abs=EXACT)
    smooth = ccd.inverse_dynamics(arm(links, 0.0), q, v, a).tau_A
    assert np.abs(smooth - r.tau_A).max() > 0.1  # the drag is felt


@pytest.mark.parametrize('t', PRINTED_TWO_LINKS)
def test_two_links_have_the_digits_that_the_paper_prints(two_links, t):
    sim, states = two_links
    forces, f_n, f_t, centres = PRINTED_TWO_LINKS[t]
    normal, drag, joints, accelerations = forces_in_joints(sim.robot, *states[t], TWO_TAU)
    assert np.abs(joints - forces).max() < PRINTED
    assert abs(normal - f_n) < PRINTED and abs(drag - f_t) < PRINTED
    assert np.abs(np.array(accelerations) - centres).max() < PRINTED


@pytest.mark.parametrize('t', THREE_LINKS)
def test_three_links_slide_as_in_tables_3_and_4(three_links, t):
    sim, states = three_links
    q, v, f_n, f_t, forces = THREE_LINKS[t]
    assert np.abs(states[t][0] - q).max() < NEAR_BALANCE
    assert np.abs(states[t][1] - v).max() < NEAR_BALANCE
    normal, drag, joints, _ = forces_in_joints(sim.robot, *states[t], None)
    assert normal == pytest.approx(f_n, abs=NEAR_BALANCE)
    assert drag == pytest.approx(f_t, abs=NEAR_BALANCE)
    assert np.abs(joints - forces).max() < NEAR_BALANCE


@pytest.mark.parametrize('t', PRINTED_THREE_LINKS)
def test_three_links_are_near_what_the_paper_prints(three_links, t):
    sim, states = three_links
    forces, f_n = PRINTED_THREE_LINKS[t]
    normal, _, joints, _ = forces_in_joints(sim.robot, *states[t], None)
    assert abs(normal - f_n) < PRINTED_THREE
    for actual, printed in zip(joints, forces):
        assert printed is None or np.abs(actual - printed).max() < PRINTED_THREE


def test_the_tip_of_three_links_turns_round_at_an_instant(three_links):
    sim, _ = three_links
    (turn,) = [event for event in sim.events if event.time < 9.0]
    assert (turn.kind, turn.name) == ('slip', 'tip_on_floor')
    assert turn.time == pytest.approx(3.882045, abs=1e-5)
    q = sim.log.q[np.argmin(np.abs(np.array(sim.log.time) - turn.time))]
    assert np.abs(q - [-1.3757014, -0.5441730, 0.4977976]).max() < NEAR_BALANCE


def test_the_tip_stays_on_the_surface_in_every_sample(two_links, three_links):
    for sim, _ in (two_links, three_links):
        assert np.max(sim.log.loop_error) < ON_SURFACE


@pytest.mark.parametrize(
    ('links', 'start', 'tau', 'rest', 'f_n', 'f_z'),
    [
        ('two', TWO_START, TWO_TAU, (-5.0 * np.pi / 6.0, 2.0 * np.pi / 3.0), 9.8, (9.8, 0.0)),
        ('three', THREE_START, None, (-np.pi, np.pi / 2.0, np.pi / 2.0), 14.7, (14.7, 4.9, -4.9)),
    ],
)
def test_without_friction_the_arms_come_to_rest_where_tables_2_and_4_say(
    links, start, tau, rest, f_n, f_z
):
    sim = ccd.Simulation(arm(links, 0.0), q=np.array(start), dt=5e-3, log_every=0)
    sim.run(80.0, tau)
    normal, _, joints, _ = forces_in_joints(sim.robot, sim.q, sim.v, tau)
    assert np.abs(sim.q - rest).max() < TABLE
    assert normal == pytest.approx(f_n, abs=TABLE)
    assert np.abs(joints[:, 1] - f_z).max() < TABLE
    assert np.abs(joints[:, 0]).max() < TABLE


def test_with_friction_three_links_come_to_rest_beside_it():
    sim = ccd.Simulation(arm('three'), q=np.array(THREE_START), dt=5e-3, log_every=0)
    sim.run(60.0)
    normal, _, joints, _ = forces_in_joints(sim.robot, sim.q, sim.v, None)
    assert np.abs(sim.q - [-3.12659378, 1.55579745, 1.55579745]).max() < NEAR_BALANCE
    assert normal == pytest.approx(14.7, abs=NEAR_BALANCE)
    assert np.abs(joints[:, 0] + 0.147).max() < NEAR_BALANCE


def inverse(robot, q, v, a, f_n, K, direction):
    """Return INV(q, q', q'', g, f_n, K), Eqs. (2) to (9): joint torques with forces on the tip."""
    link = robot.link_names[-1]
    X = ccd.link_placement(robot, q, link)
    force = f_n * np.array([0.0, 0.0, 1.0]) - K * f_n * direction
    arm_of_force = X[:3, :3] @ [0.0, 0.0, 0.5]
    wrench = np.concatenate([force, np.cross(arm_of_force, force)])
    return ccd.newton_euler(robot, q, v, a, wrenches={link: wrench})


@pytest.mark.parametrize(
    ('links', 'start', 'tau'), [('two', TWO_START, TWO_TAU), ('three', TENT, (1.0, -0.5, 0.3))]
)
def test_forward_dynamics_satisfies_the_papers_equations_10_to_21(links, start, tau):
    rng = np.random.default_rng(3)
    for K in (0.01, 0.2, 0.35):
        robot = arm(links, K)
        weightless = robot.copy()
        weightless.gravity = (0.0, 0.0, 0.0)
        q = np.array(start)
        n = robot.nv
        v = ccd.complete_velocity(
            robot,
            q,
            {'joint_1': -0.4, 'joint_3': rng.normal()}
            if n == 3
            else {'joint_1': 0.3 * rng.normal()},
        )
        J = ccd.jacobian(robot, q, robot.link_names[-1], point=(0.0, 0.0, 0.5))[:3]
        direction = J @ v / np.linalg.norm(J @ v)
        zero = np.zeros(n)
        # Eqs. (33) to (35), with the direction of the actual motion
        j_c = inverse(weightless, q, zero, zero, -1.0, 0.0, direction)
        j_t = j_c - inverse(weightless, q, zero, zero, -1.0, 1.0, direction)
        assert np.abs(j_c - J[2]).max() < EXACT
        assert np.abs(j_t - J.T @ direction).max() < EXACT
        M = np.column_stack(
            [inverse(weightless, q, zero, e, 0.0, 0.0, direction) for e in np.eye(n)]
        )
        b = inverse(robot, q, v, zero, 0.0, 0.0, direction)
        d = np.linalg.solve(M, j_c)
        A = d @ j_c - K * d @ j_t  # (20)
        bias = ccd.jacobian_bias(robot, q, v, robot.link_names[-1], point=(0.0, 0.0, 0.5))[2]
        f_n = (d @ b - bias - d @ tau) / A  # (18), (21)
        a = ccd.forward_dynamics(robot, q, v, tau).acceleration
        assert f_n > 0.0
        found = contact_forces(robot, q, v, tau)['tip_on_floor'][0]
        assert found == pytest.approx(f_n, abs=EXACT)
        assert np.abs(M @ a + b - (j_c - K * j_t) * f_n - tau).max() < EXACT  # (10)
        assert np.abs(inverse(robot, q, v, a, f_n, K, direction) - tau).max() < EXACT


def test_a_contact_that_pulls_drags_against_the_motion_too():
    robot = arm('two', 0.2)
    q = np.array(TWO_START)
    v = ccd.complete_velocity(robot, q, {'joint_1': -0.5})
    oracle = PlanarArm(2, -0.2, lambda t: (0.0, 60.0))  # K |f_n| with f_n < 0
    side = np.sign(oracle.speed(np.concatenate([q, v])))
    expected, f_n, _, _ = oracle.solve(0.0, q, v, side)
    assert f_n < 0.0
    a = ccd.forward_dynamics(robot, q, v, (0.0, 60.0)).acceleration
    normal, drag = contact_forces(robot, q, v, (0.0, 60.0))['tip_on_floor']
    assert normal == pytest.approx(f_n, abs=EXACT)
    assert drag[1] * side < 0.0
    assert np.abs(a - expected).max() < EXACT * 100  # accelerations of about 100
