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

from helpers.controlled_runs import FIVE_BAR, PERIOD, ControlledRun
from helpers.random_mechanisms import pinocchio_model
from hypothesis import given, settings, strategies as st
import numpy as np
import pinocchio as pin
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.control.blending import STEEPEST, Blend
from closed_chain_dynamics.control.feel import Feel
from closed_chain_dynamics.control.law import MODES, TorqueController
from closed_chain_dynamics.control.projection import Projection
from closed_chain_dynamics.control.sensed import Sensed, Sensors
from closed_chain_dynamics.kernels.passive import FRICTION_SPEED
from closed_chain_dynamics.model import library

EXACT = 1e-9  # of torques, relative to the largest
HELD_TORQUES = 2e-3  # torques stand for a turn of 1 ms: of a motion, relative
FRICTION, DAMPING = 2.0, 0.5  # of the pendulum [N m, N m s/rad]
MASS, ARM, SPIN, ROTOR = 2.0, 0.4, 0.1, 0.05
INERTIA = SPIN + MASS * ARM**2 + ROTOR  # about the hinge [kg m^2]
IMPEDANCE = {'ankle_pitch': (80.0, 0.6), 'ankle_roll': (40.0, 0.2), 'knee_rear': (60.0, 4.0)}
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


class Leg:
    """The leg of an exoskeleton in a pose, and what Pinocchio says of it."""

    def __init__(self, pitch=0.2, roll=0.1):
        self.robot = ccd.load('exo_leg')
        self.start = np.zeros(self.robot.nq)
        pose = {'hip': 0.3, 'knee': 0.4, 'ankle_pitch': pitch, 'ankle_roll': roll}
        self.q = ccd.assemble(self.robot, pose, start=self.start)
        self.model = pinocchio_model(self.robot.description)
        self.data = self.model.createData()
        rates = {'hip': 0.5, 'knee': -0.8, 'ankle_pitch': 0.3, 'ankle_roll': -0.2}
        self.v = ccd.complete_velocity(self.robot, self.q, rates)
        self.damping = np.array(
            [
                next(j for j in self.robot.description.joints if j.name == name).dynamics.damping
                for name in self.robot.joint_names
            ]
        )

    def motions(self):
        """Return a basis of the motions that the loops allow, (nv, mobility), of Pinocchio."""
        model, data, rows = self.model, self.data, []
        pin.computeJointJacobians(model, data, self.q)
        for loop in self.robot.description.loops:
            ends = []
            for link, origin in (
                (loop.parent, loop.parent_origin),
                (loop.child, loop.child_origin),
            ):
                frame = model.frames[model.getFrameId(link)]
                X = frame.placement * pin.SE3(origin.rotation, origin.position)
                local = pin.getJointJacobian(model, data, frame.parentJoint, pin.LOCAL)
                R = data.oMi[frame.parentJoint].rotation @ X.rotation
                at_point = X.inverse().action @ local
                ends.append(np.vstack([R @ at_point[:3], R @ at_point[3:]]))
            rows.append((ends[1] - ends[0])[:3])  # all axes of the knee are parallel: points do
        _, sigma, Vt = np.linalg.svd(np.vstack(rows))
        rank = int((sigma > 1e-8).sum())
        assert Vt.shape[1] - rank == 4
        return Vt[rank:].T

    def needed(self, acceleration, friction_share):
        """Return what the tree needs by Pinocchio, with a share of the damping."""
        tau = pin.rnea(self.model, self.model.createData(), self.q, self.v, acceleration)
        return tau + friction_share * self.damping * self.v

    def controller(self, **feel):
        """Return a controller in the mode impedance."""
        return TorqueController(self.robot, mode='impedance', feel=Feel(IMPEDANCE, **feel))

    def prove(self, tau_A, force):
        """Check that actuators do what forces on the tree would, in every allowed motion."""
        motors = [self.robot.joint_slices(name)[1].start for name in self.robot.actuator_names]
        N = self.motions()
        expected = N.T @ force
        error = np.abs(N[motors].T @ tau_A - expected).max()
        assert error < EXACT * max(np.abs(expected).max(), 1.0)


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


# --- what is measured beside the joints ----------------------------------------------------------
@pytest.mark.parametrize('mode', MODES)
def test_a_wrench_from_outside_is_carried_in_every_mode(mode):
    """Virtual work by Pinocchio's Jacobian of the foot; the wrench in its own axes."""
    leg = Leg()
    wrench = np.array([10.0, -20.0, 300.0, 1.0, 2.0, -3.0])
    sensors = Sensors(leg.robot, links=['foot'])
    assert sensors.take_wrench('foot', wrench, 5.0) and not sensors.take_wrench('thigh', wrench, 5)
    controller = TorqueController(leg.robot, mode=mode, feel=Feel(IMPEDANCE))
    # the law of accelerations is in the measured pose: so is the reference, for feedforward too
    reference = leg.q, leg.v, np.zeros(leg.robot.nv)
    with_it, without = (
        controller.torques(leg.q, leg.v, reference, sensors.at(leg.q, leg.v, now, now)).tau_A
        for now in (5.05, 9.0)
    )
    pin.computeJointJacobians(leg.model, leg.data, leg.q)
    frame = leg.model.getFrameId('foot')
    pin.updateFramePlacements(leg.model, leg.data)
    J = pin.getFrameJacobian(leg.model, leg.data, frame, pin.LOCAL)
    leg.prove(with_it - without, -J.T @ wrench)


def test_what_stays_away_is_left_out_and_told():
    """Each has a timeout of its own; it counts again as soon as it comes."""
    leg = Leg()
    sensors = Sensors(leg.robot, links=['foot'], wrench_timeout=0.1, human_timeout=0.3)
    assert "the wrench on 'foot'" in sensors.at(leg.q, leg.v, 0.0, 0.0).stale
    sensors.take_wrench('foot', np.ones(6), 1.0)
    sensors.take_human(['hip'], [2.0], 1.0)
    both = sensors.at(leg.q, leg.v, 1.09, 1.09)
    assert both.sources == {'foot', 'human torques'} and not both.stale
    one = sensors.at(leg.q, leg.v, 1.2, 1.2)
    assert one.sources == {'human torques'} and 'foot' in one.stale
    none = sensors.at(leg.q, leg.v, 1.4, 1.4)
    assert not none.sources and 'human torques' in none.stale
    assert not sensors.at(leg.q, leg.v, 0.1, 0.1).sources  # a clock that started anew


def test_a_control_loop_is_degraded_while_a_sensor_is_silent():
    """And goes on with the law, without the wrench, not with the fallback."""
    run = ControlledRun('exo_leg', mode='transparent')
    run.loop.sensors = Sensors(run.loop.robot, links=['foot'])
    run.run(0.01)
    assert (run.loop.safety.state, run.loop.safety.cause) == ('degraded', 'sensors')
    assert not run.loop.reason and np.any(run.tau)
    run.loop.sensors.take_wrench('foot', np.zeros(6), run.sim.time)
    run.run(0.01)
    assert run.loop.safety.state == 'active'
    assert run.loop.describe()['beside the joints'] == 'foot'


# --- no steps ------------------------------------------------------------------------------------
@given(
    st.lists(st.tuples(st.floats(-100.0, 100.0), st.integers(1, 300)), min_size=2, max_size=8),
    st.floats(0.01, 0.5),
)
@settings(max_examples=100, deadline=None)
def test_a_change_of_law_never_steps(laws, duration):
    """However soon one follows another: no turn changes more than the steepest of all fades."""
    blend, most = Blend(duration), np.full(1, 1e3)
    time, last = 0.0, None
    for k, (level, turns) in enumerate(laws):
        before = last
        for _ in range(turns):
            tau = blend.smooth(np.array([level]), time, k, most)
            if before is not None:
                steepest = STEEPEST * abs(before - level) * PERIOD / duration
                assert abs(tau - last) <= steepest + 1e-9
            last, time = tau, time + PERIOD
        if turns * PERIOD > duration + 2 * PERIOD:
            assert last == pytest.approx(level)


CHANGES = (
    {'mode': 'transparent'},
    {'mode': 'impedance', 'feel': Feel({'left_shoulder': (20.0, 1.0)})},
    {'mode': 'impedance', 'feel': Feel({'left_shoulder': (5.0, 1.0), 'left_elbow': (9.0, 0.1)})},
    {'mode': 'assist', 'feel': Feel(assist_share=0.8)},
    {'mode': 'computed_torque', 'kp': 900.0, 'kd': 60.0},
    {'mode': 'computed_torque'},
    {'mode': 'gravity_compensation'},
)


@pytest.mark.parametrize('blend', [0.2, 0.0])
def test_modes_and_gains_change_in_motion_without_a_step(blend):
    """A five-bar on its way, its mode changed every 60 ms; without a blend the guard is needed."""
    run = ControlledRun('five_bar', guard={'rate_limit': 1e5}, loop={'tracking_bound': 10.0})
    run.loop.blend = Blend(blend)
    run.follow_sines(FIVE_BAR, 2.0)
    run.run(0.1)
    rng, steps = np.random.default_rng(3), []
    for _ in range(12):
        run.loop.controller = TorqueController(run.loop.robot, **CHANGES[rng.integers(7)])
        for _ in range(60):
            before = run.tau
            run.turn()
            steps.append(np.abs(run.tau - before).max())
        assert not run.loop.reason and run.loop.safety.state == 'active'
    limit = run.loop.guard.effort.max()
    if blend:
        assert max(steps) < 0.02 * limit
    else:
        assert max(steps) > 0.05 * limit


def test_the_guard_still_bounds_every_turn_of_a_change():
    """With a slow guard no change is faster than it allows."""
    run = ControlledRun('exo_leg', mode='transparent', guard={'rate_limit': 2.0})
    run.run(0.3)
    run.loop.controller = TorqueController(
        run.loop.robot, mode='impedance', feel=Feel({'hip': (500.0, 5.0)})
    )
    effort = run.loop.guard.effort
    for _ in range(200):
        before = run.tau
        run.turn()
        assert (np.abs(run.tau - before) <= 2.0 * effort * PERIOD * (1.0 + 1e-9)).all()


def test_a_reference_is_caught_up_with_after_a_mode_without_one():
    """From where the joints are: a leg that a person has moved does not jump back."""
    run = ControlledRun('exo_leg', guard={'rate_limit': 1e3})
    run.turn()
    run.loop.take_reference(['hip'], [0.5], [[0.0]])
    run.run(0.6)
    run.loop.controller = TorqueController(run.loop.robot, mode='transparent')
    run.sim.apply_wrench('thigh', [0, 0, 0, 0, -8.0, 0])
    run.run(0.5)
    run.sim.apply_wrench('thigh', None)
    moved = run.position('hip')
    assert abs(moved) > 0.1
    run.loop.controller = TorqueController(run.loop.robot)
    speeds = run.run(2.0, lambda run: abs(run.sim.v[run.sim.robot.joint_slices('hip')[1]][0]))
    assert abs(run.position('hip')) < 1e-3 and max(speeds) < 4.0
    assert run.loop.safety.state == 'active'
