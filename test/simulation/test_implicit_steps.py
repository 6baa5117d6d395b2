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

"""Implicit steps where springs and dampers act between bodies, against SciPy's Radau method."""

import logging

from helpers.single_joints import ARM, MASS, SPIN, pendulum
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import closed_chain_dynamics as ccd

G = 9.80665
FROM, TO = np.array([0.8, 0.3]), np.array([0.1, -1.2])  # ends of a spring, in x and z [m]
INERTIAL = """<inertial>{}<mass value="{}"/>
    <inertia ixx="{spin}" iyy="{spin}" izz="{spin}" ixy="0" ixz="0" iyz="0"/></inertial>"""
TIGHT = {'method': 'Radau', 'rtol': 1e-11, 'atol': 1e-13}


@pytest.fixture
def told(caplog, monkeypatch):
    """Return what is logged; other tests run programs that configure logging."""
    logger = logging.getLogger('closed_chain_dynamics')
    monkeypatch.setattr(logger, 'disabled', False)
    monkeypatch.setattr(logger, 'propagate', True)
    caplog.set_level(logging.WARNING, logger='closed_chain_dynamics')
    return caplog


def strut(stiffness, damping, rest, start, end):
    """Return a spring between the base and a link."""
    return f"""<cc:spring name="strut" type="linear"><cc:from link="base" xyz="{start}"/>
        <cc:to link="body" xyz="{end}"/><cc:law stiffness="{stiffness}" damping="{damping}"
        rest_length="{rest}"/></cc:spring>"""


def robot_of(inertial, joint, spring):
    """Return a body on a joint, with a spring to the base."""
    return ccd.load(f"""<robot name="tied" xmlns:cc="urn:closed_chain_dynamics">
        <link name="base"/><link name="body">{inertial}</link>
        <joint name="joint" type="{joint}"><parent link="base"/><child link="body"/>
        <axis xyz="0 1 0"/></joint>{spring}</robot>""")


def strutted_pendulum(stiffness, damping, rest):
    """Return a pendulum in x and z with a spring between two points."""
    inertial = INERTIAL.format(f'<origin xyz="0 0 {-ARM}"/>', MASS, spin=SPIN)
    spring = strut(stiffness, damping, rest, '0.8 0 0.3', '0.1 0 -1.2')
    return robot_of(inertial, 'continuous', spring)


def motion_of_it(stiffness, damping, rest, angle, speed, duration):
    """Return its angle, speed and dissipated energy after a while, by Radau's method."""

    def slope(_, state):
        turn, omega, _ = state
        c, s = np.cos(turn), np.sin(turn)
        p = np.array([c * TO[0] + s * TO[1], -s * TO[0] + c * TO[1]])
        n = (p - FROM) / np.linalg.norm(p - FROM)
        lever = n @ [p[1], -p[0]]
        rate = lever * omega
        force = -stiffness * (np.linalg.norm(p - FROM) - rest) - damping * rate
        moment = force * lever - MASS * G * ARM * np.sin(turn)
        return [omega, moment / (SPIN + MASS * ARM**2), damping * rate**2]

    return solve_ivp(slope, (0.0, duration), [angle, speed, 0.0], **TIGHT).y[:, -1]


@pytest.mark.parametrize(
    ('law', 'error'),
    [
        ((50.0, 3.0, 0.5), 3e-8),  # not stiff at all
        ((2e4, 3e4, 1.0), 2e-7),  # pulled in within 0.1 ms, then it creeps
        ((3e7, 1e6, 1.2), 1e-6),  # a spring that is strained by 0.5 m
        ((0.0, 1e6, 0.0), 1e-10),  # nothing but a damper
    ],
)
def test_a_strut_between_two_points_moves_as_radau_says_and_its_books_tell_their_error(law, error):
    exact = motion_of_it(*law, 0.4, 0.7, 0.2)
    for dt in (2e-3, 1e-3):
        sim = ccd.Simulation(
            strutted_pendulum(*law), q=[0.4], v=[0.7], dt=dt, integrator='implicit'
        )
        start = sim.energy()
        sim.run(0.2)
        wrong = sim.energy().dissipated - exact[2]
        assert abs(sim.q[0] - exact[0]) < error * (dt / 1e-3) ** 2
        assert abs(wrong) < 2e-3 * exact[2]
        # nothing is booked to make ends meet: what the dissipation is off by is in the balance
        truth = 1e-6 * (start.kinetic + abs(start.potential)) * (dt / 1e-3) ** 2
        assert abs(sim.energy().balance - start.balance - wrong) < truth


@pytest.mark.parametrize('spring', [(1e6, 0.0, 0.3), (1e6, 1e3, 0.3), (1e3, 1e5, 0.3)])
def test_a_hinge_that_closes_a_loop_moves_as_one_of_the_tree(spring):
    states = []
    for cut in (False, True):
        robot = pendulum(spring=spring, cut=cut)
        q = ccd.assemble(robot, {'hinge': 0.8})
        v = ccd.complete_velocity(robot, q, {'hinge': 1.0})
        sim = ccd.Simulation(robot, q=q, v=v, integrator='implicit')
        sim.run(0.1)
        angle = ccd.loop_positions(sim.robot, sim.q)['hinge'] if cut else sim.q[0]
        states.append([angle, *(sim.energy().dissipated, sim.energy().balance)])
    assert states[1] == pytest.approx(states[0], rel=1e-9)


def test_the_stiff_damper_of_a_hinge_that_closes_a_loop_is_found_before_the_first_step(told):
    robot = pendulum(spring=(0.0, 1e7, 0.0), cut=True)
    q = ccd.assemble(robot, {'hinge': 0.8})
    sim = ccd.Simulation(robot, q=q, v=ccd.complete_velocity(robot, q, {'hinge': 1.0}))
    start = sim.energy()
    sim.run(0.05)
    assert "steps are implicit: the damping of spring 'spring'" in told.text
    slow = MASS * G * ARM * np.sin(0.8) / 1e7  # its weight against the damper
    assert ccd.loop_positions(sim.robot, sim.q)['hinge'] == pytest.approx(0.8, abs=2.0 * slow)
    kinetic = 0.5 * (SPIN + MASS * ARM**2)
    assert sim.energy().dissipated == pytest.approx(kinetic, rel=1e-4)
    assert abs(sim.energy().balance - start.balance) < 1e-4 * kinetic


@pytest.mark.parametrize('damping', [0.0, 1e2, 1e4])
def test_a_light_bob_on_a_stiff_spring_swings_as_on_a_rod(damping):
    """3e7 N/m on 0.01 kg swing with 55 kHz; steps of 1 ms follow the pendulum that it is."""
    inertial = INERTIAL.format('', 0.01, spin=1e-6)
    robot = robot_of(inertial, 'floating', strut(3e7, damping, 0.5, '0 0 0', '0 0 0'))
    q = robot.neutral()
    q[:3] = 0.5 * np.sin(0.5), 0.0, -0.5 * np.cos(0.5)
    sim = ccd.Simulation(robot, q=q, dt=1e-3, integrator='implicit')
    start = sim.energy()
    sim.run(1.0)
    rod = solve_ivp(lambda _, y: [y[1], -G / 0.5 * np.sin(y[0])], (0.0, 1.0), [0.5, 0.0], **TIGHT)
    angle = rod.y[0, -1]
    assert sim.q[:3] == pytest.approx([0.5 * np.sin(angle), 0.0, -0.5 * np.cos(angle)], abs=6e-5)
    swung = 0.01 * G * 0.5 * (1.0 - np.cos(0.5))
    assert abs(sim.energy().balance - start.balance) < 3e-3 * swung
    assert sim.energy().dissipated < 3e-3 * swung  # its motion stretches it by a nanometre


def test_energy_that_is_not_followed_is_missed_in_the_books_and_told_of(told):
    inertial = INERTIAL.format('', 0.01, spin=1e-6)
    robot = robot_of(inertial, 'floating', strut(3e7, 0.0, 0.5, '0 0 0', '0 0 0'))
    q = robot.neutral()
    q[2] = -0.501
    sim = ccd.Simulation(robot, q=q, dt=1e-3, integrator='implicit')
    start = sim.energy()
    sim.run(0.1)
    assert "spring 'strut' oscillates at 5.48e+04 rad/s, which is not resolved" in told.text
    assert sim.energy().dissipated == 0.0
    assert sim.energy().balance - start.balance == pytest.approx(-15.0, rel=1e-3)  # k x^2 / 2
