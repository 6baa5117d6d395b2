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
What a person feels: impedance, transparent and assist, against Pinocchio and closed forms.

Torques are proved by virtual work: whatever motion the loops allow, actuators do in it what the
forces on the tree would. Allowed motions and the forces of the tree are Pinocchio's.
"""

import math
import re

from helpers.controlled_runs import ControlledRun
from helpers.felt_leg import EXACT, IMPEDANCE, Leg
from hypothesis import given, settings, strategies as st
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.control.feel import Feel
from closed_chain_dynamics.control.law import TorqueController
from closed_chain_dynamics.control.projection import Projection
from closed_chain_dynamics.control.sensed import Sensed, Sensors
from closed_chain_dynamics.kernels.passive import FRICTION_SPEED
from closed_chain_dynamics.model import library

HELD_TORQUES = 2e-3  # torques stand for a turn of 1 ms: of a motion, relative
FRICTION, DAMPING = 2.0, 0.5  # of the pendulum [N m, N m s/rad]
MASS, ARM, SPIN, ROTOR = 2.0, 0.4, 0.1, 0.05
INERTIA = SPIN + MASS * ARM**2 + ROTOR  # about the hinge [kg m^2]
PENDULUM = f"""<robot name="lone" xmlns:cc="urn:closed_chain_dynamics"><link name="base"/>
  <link name="arm"><inertial><origin xyz="0 0 {-ARM}"/><mass value="{MASS}"/>
    <inertia ixx="{SPIN}" iyy="{SPIN}" izz="{SPIN}" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="hinge" type="continuous" cc:role="actuated"><parent link="base"/>
    <child link="arm"/><axis xyz="0 1 0"/><limit effort="1000" velocity="100"/>
    <dynamics damping="{DAMPING}" friction="{FRICTION}"/><cc:rotor inertia="{ROTOR}"/></joint>
  </robot>"""


@pytest.fixture
def lone(tmp_path):
    """Return the file of a pendulum with friction, damping and a rotor."""
    path = tmp_path / 'lone.urdf'
    path.write_text(PENDULUM)
    return path


def towards(leg, **pose):
    """Return a complete reference of the leg, in motion."""
    q_d = ccd.assemble(leg.robot, pose, start=leg.q)
    v_d = ccd.complete_velocity(leg.robot, q_d, {'hip': 0.2, 'knee': 0.1})
    a_d = ccd.complete_acceleration(leg.robot, q_d, v_d, {'hip': 1.0, 'ankle_pitch': -2.0})
    return q_d, v_d, a_d


# --- impedance -----------------------------------------------------------------------------------
def test_an_impedance_in_passive_joints_does_the_work_that_pinocchio_says():
    """Springs at ankle and rear bar, whose motors are elsewhere; rnea of the tree, and damping."""
    leg = Leg()
    q_d, v_d, a_d = towards(leg, hip=0.35, knee=0.45, ankle_pitch=0.25, ankle_roll=0.05)
    command = leg.controller(friction_share=0.6).torques(leg.q, leg.v, (q_d, v_d, a_d))
    c = ccd.coordinates(leg.robot, leg.q)
    places = [leg.robot.coordinate_names.index(name) for name in c.independent]
    wanted = {name: a_d[place] for name, place in zip(c.independent, places)}
    a = ccd.complete_acceleration(leg.robot, leg.q, leg.v, wanted)
    force = leg.needed(a, 0.6)
    for name, (k, d) in IMPEDANCE.items():
        place = leg.robot.joint_slices(name)[1].start
        force[place] += k * (q_d[place] - leg.q[place]) + d * (v_d[place] - leg.v[place])
    leg.prove(command.tau_A, force)
    assert command.held == 1.0 and command.error == 0.0 and not command.residual


def test_in_actuator_space_every_motor_is_its_own_spring():
    """The difference of two stiffnesses is K e + D e' of that motor alone."""
    leg = Leg()
    reference = towards(leg, hip=0.35, knee=0.45, ankle_pitch=0.25, ankle_roll=0.05)
    soft, stiff = (
        TorqueController(
            leg.robot,
            mode='impedance',
            feel=Feel({'left_crank': (k, d), 'hip': (10.0, 1.0)}, space='actuator'),
        ).torques(leg.q, leg.v, reference)
        for k, d in ((0.0, 0.0), (30.0, 0.1))
    )
    place = leg.robot.joint_slices('left_crank')[1].start
    e, rate = reference[0][place] - leg.q[place], reference[1][place] - leg.v[place]
    expected = np.zeros(4)
    expected[leg.robot.actuator_names.index('left_crank')] = 30.0 * e + 0.1 * rate
    np.testing.assert_allclose(stiff.tau_A - soft.tau_A, expected, atol=EXACT)


def test_a_spring_on_a_loop_joint_acts_as_on_a_joint_of_the_tree():
    """The four-bar's pin is a loop joint; crank + coupler - rocker tells its angle."""
    robot = ccd.load('four_bar', actuated=['crank'])
    loop = robot.loop_coordinate_names[0]
    q = ccd.assemble(robot, {'crank': 1.0})
    q_d = ccd.assemble(robot, {'crank': 1.1}, start=q)
    zero = np.zeros(robot.nv)
    tau = [
        TorqueController(robot, mode='impedance', feel=Feel({loop: (k, 0.0)}))
        .torques(q, zero, (q_d, zero, zero))
        .tau_A[0]
        for k in (0.0, 7.0)
    ]
    h = 1e-6  # the angle of the pin by the crank, by finite differences
    angles = [
        ccd.loop_positions(robot, ccd.assemble(robot, {'crank': 1.0 + s}, start=q))[loop]
        for s in (-h, h)
    ]
    now, wanted = (ccd.loop_positions(robot, each)[loop] for each in (q, q_d))
    slope = (angles[1] - angles[0]) / (2.0 * h)
    assert tau[1] - tau[0] == pytest.approx(7.0 * (wanted - now) * slope, rel=1e-6)


def smooth(path):
    """Return the pendulum without friction, whose motion is a closed form."""
    path.write_text(PENDULUM.replace(f'friction="{FRICTION}"', ''))
    return path


def test_a_deviation_swings_as_spring_damper_and_inertia_say(lone):
    """The closed form of I e'' + d e' + k e = 0, about the pose where the mode was switched on."""
    k, d = 30.0, 2.0
    feel = Feel({'hinge': (k, d)}, friction_share=1.0)
    run = ControlledRun(
        smooth(lone),
        start={'hinge': 0.3},
        mode='impedance',
        feel=feel,
        guard={'rate_limit': 1e5},
        loop={'tracking_bound': 0.1},  # that a person pushes the leg away is no fault
    )
    run.run(0.01)  # the guard begins at zero
    assert run.loop.safety.state == 'active' and not run.loop.reference
    centre = run.loop._followed._pose[0]
    run.sim.q = run.sim.q + 0.2
    run.turn()
    e_0, rate, t_0 = run.position('hinge') - centre, float(run.sim.v[0]), run.sim.time
    decay = d / (2.0 * INERTIA)
    w = math.sqrt(k / INERTIA - decay**2)
    for _ in range(500):
        run.turn()
        t = run.sim.time - t_0
        swing = e_0 * math.cos(w * t) + (rate + decay * e_0) / w * math.sin(w * t)
        deviation = run.position('hinge') - centre
        assert abs(deviation - math.exp(-decay * t) * swing) < 3.0 * HELD_TORQUES * e_0
    assert run.loop.safety.state == 'active' and not run.refused


def test_what_control_cannot_hold_is_weakened(lone):
    """A stiffness beyond k T^2 / m would shake the leg: it stays still, and is told."""
    feel = Feel({'hinge': (1e9, 1e7)})
    run = ControlledRun(
        lone, start={'hinge': 0.3}, mode='impedance', feel=feel, guard={'rate_limit': 1e5}
    )
    run.run(0.01)
    run.sim.q = run.sim.q + 1e-4
    speeds = run.run(0.3, lambda run: abs(float(run.sim.v[0])))
    assert max(speeds[100:]) < 1e-3
    assert run.loop.command.held < 1e-3
    assert run.loop.describe()['share of the impedance that is held'] == run.loop.command.held


# --- transparent ---------------------------------------------------------------------------------
def test_a_transparent_leg_needs_what_pinocchio_says_and_its_share_of_damping():
    """Gravity and Coriolis forces in full, damping as the share says, no acceleration."""
    leg = Leg()
    feel = Feel(friction_share=0.7)
    command = TorqueController(leg.robot, mode='transparent', feel=feel).torques(leg.q, leg.v)
    coasting = ccd.complete_acceleration(
        leg.robot, leg.q, leg.v, dict.fromkeys(ccd.coordinates(leg.robot, leg.q).independent, 0.0)
    )
    leg.prove(command.tau_A, leg.needed(coasting, 0.7))


@pytest.mark.parametrize('inertia_share', [0.0, 0.6])
def test_a_hand_feels_only_what_is_left_of_the_device(lone, inertia_share):
    """A constant moment: (1 - s) I a = tau - (1 - c) (d v + f), whatever the angle."""
    share, moment = 0.75, 3.0
    feel = Feel(friction_share=share, friction_speed=0.01, inertia_share=inertia_share)
    run = ControlledRun(lone, mode='transparent', feel=feel, guard={'rate_limit': 1e5})
    run.loop.sensors = Sensors(run.loop.robot, cutoff=50.0)
    run.sim.apply_wrench('arm', [0, 0, 0, 0, moment, 0])
    run.run(0.4)
    v_0, t_0 = float(run.sim.v[0]), run.sim.time
    run.run(0.4)
    inertia = (1.0 - inertia_share) * INERTIA
    left_f, left_d = (1.0 - share) * FRICTION, (1.0 - share) * DAMPING
    end = (moment - left_f) / left_d  # speed that the moment would reach
    expected = end + (v_0 - end) * math.exp(-left_d / inertia * (run.sim.time - t_0))
    assert v_0 > 0.5
    assert float(run.sim.v[0]) == pytest.approx(expected, rel=5.0 * HELD_TORQUES)


@given(rate=st.floats(-20.0, 20.0), share=st.floats(0.0, 1.0), speed=st.floats(1e-3, 1.0))
@settings(max_examples=60, deadline=None)
def test_compensated_friction_never_drives(rate, share, speed):
    """Its power is never more than what friction takes, and never of the other sign."""
    robot = lone_robot()
    q, v = robot.neutral(), np.array([rate])
    none, some = (
        TorqueController(
            robot, mode='transparent', feel=Feel(friction_share=c, friction_speed=speed)
        )
        .torques(q, v)
        .tau_A[0]
        for c in (0.0, share)
    )
    taken = FRICTION * math.tanh(rate / FRICTION_SPEED) * rate + DAMPING * rate * rate
    power = (some - none) * rate
    assert -1e-12 <= power <= taken * (1.0 + 1e-12) + 1e-12


_robots = []


def lone_robot():
    """Return the pendulum, loaded once."""
    if not _robots:
        _robots.append(ccd.load(PENDULUM))
    return _robots[0]


def test_a_transparent_leg_that_is_let_go_comes_to_rest_and_stays(lone):
    """All of the friction compensated: the energy of a motion never rises."""
    feel = Feel(friction_share=1.0, friction_speed=0.05)
    run = ControlledRun(lone, mode='transparent', feel=feel, guard={'rate_limit': 1e5})
    run.run(0.01)
    run.sim.v = [0.08]
    speeds = run.run(2.0, lambda run: abs(float(run.sim.v[0])))
    assert (np.diff(speeds[1:]) < 1e-9).all()
    assert speeds[-1] < 0.5 * speeds[0]


def test_friction_of_passive_and_loop_joints_is_compensated_too():
    """By power: tau_A theta_A' = share sum f |rate|, rates of the loop joint by differences."""
    robot = friction_four_bar()
    q = ccd.assemble(robot, {'crank': 1.0})
    v = ccd.complete_velocity(robot, q, {'crank': 2.0})
    tau = [
        TorqueController(
            robot, mode='transparent', feel=Feel(friction_share=c, friction_speed=1e-3)
        )
        .torques(q, v)
        .tau_A[0]
        for c in (0.0, 0.5)
    ]
    h = 1e-6
    ahead, before = (ccd.integrate(robot, q, s * v) for s in (h, -h))
    loop = robot.loop_coordinate_names[0]
    rate = (ccd.loop_positions(robot, ahead)[loop] - ccd.loop_positions(robot, before)[loop]) / (
        2.0 * h
    )
    expected = 0.5 * (0.3 * np.abs(v).sum() + 0.4 * abs(rate))
    assert (tau[1] - tau[0]) * 2.0 == pytest.approx(expected, rel=1e-6)


def friction_four_bar():
    """Return the four-bar with friction 0.3 in its joints and 0.4 in its pin, and no damping."""
    text = (library.share_folder() / 'urdf' / 'four_bar.urdf').read_text()
    head, tail = re.sub('<dynamics .*?/>', '<dynamics friction="0.3"/>', text).split('<constraint')
    tail = tail.replace('friction="0.3"', 'friction="0.4"')
    return ccd.load(f'{head}<constraint{tail}', actuated=['crank'])


# --- assist --------------------------------------------------------------------------------------
def test_assistance_does_a_share_of_the_work_of_the_person():
    """Torques of a person on passive joints: in every motion the motors do their share."""
    leg = Leg()
    human = np.zeros(leg.robot.nv)
    for name, torque in (('ankle_pitch', 5.0), ('knee_rear', -3.0), ('hip', 2.0)):
        human[leg.robot.joint_slices(name)[1]] = torque
    none, some = (
        TorqueController(leg.robot, mode='assist', feel=Feel(assist_share=share))
        .torques(leg.q, leg.v, None, Sensed(human=human))
        .tau_A
        for share in (0.0, 0.4)
    )
    leg.prove(some - none, 0.4 * human)
    transparent = TorqueController(leg.robot, mode='transparent').torques(leg.q, leg.v).tau_A
    np.testing.assert_allclose(none, transparent, atol=EXACT)


def test_assistance_with_all_of_the_reference_is_its_inverse_dynamics():
    """Nobody measures the person: at share 1 on the reference, motors do what it needs."""
    leg = Leg()
    q_d, v_d, a_d = towards(leg, hip=0.35, knee=0.45, ankle_pitch=0.25, ankle_roll=0.05)
    all_of_it, none = (
        TorqueController(leg.robot, mode='assist', feel=Feel(assist_share=share))
        .torques(q_d, v_d, (q_d, v_d, a_d))
        .tau_A
        for share in (1.0, 0.0)
    )
    expected = ccd.inverse_dynamics(leg.robot, q_d, v_d, a_d).tau_A
    np.testing.assert_allclose(all_of_it, expected, rtol=EXACT, atol=EXACT)
    transparent = TorqueController(leg.robot, mode='transparent').torques(q_d, v_d).tau_A
    np.testing.assert_allclose(none, transparent, atol=EXACT)


def test_torques_that_only_change_places_are_those_of_the_general_way():
    """All of theta_G has motors: as least squares says, and with limits that leave no choice."""
    leg = Leg()
    c, force = ccd.coordinates(leg.robot, leg.q), np.random.default_rng(4).normal(size=12)
    quick, general = (
        Projection(leg.robot, {'policy': policy, 'weights': None, 'preload': None})
        .command(leg.q, leg.v, force)
        .tau_A
        for policy in ('minimum_norm', 'within_limits')
    )
    expected = np.linalg.lstsq(c.S.T, c.W.T @ force, rcond=None)[0]
    np.testing.assert_allclose(quick, expected, atol=EXACT)
    np.testing.assert_allclose(general, expected, atol=EXACT)
