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

"""Internal validity and what-if against closed forms and published numbers."""

from dataclasses import replace
import math

from helpers.recorded_motions import pendulum, recorded
import numpy as np
import pytest
from scipy.integrate import solve_ivp, trapezoid
from scipy.interpolate import CubicSpline

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import Spring
from closed_chain_dynamics.studies.motion.moving import move
from closed_chain_dynamics.studies.motion.tracks import Tracks, sines
from closed_chain_dynamics.studies.validity import _two_torques, growth, study_validity
from closed_chain_dynamics.studies.what_if import Variation, varied, what_if

SPLINE = 2e-4  # of velocities and torques from samples 1 ms apart, after 0.5 s [rad]
SMALL_ANGLE = 1e-5  # relative: a swing of 0.01 rad is slower than a smaller one by 6e-6
ONE_STEP = 1e-9  # relative: RK4 in steps of 1 ms, and books that add them up
# Standing figure of paper 4, section 8.6: foot that slides, and relative angles.
SEGMENT = """<link name="{0}"> <inertial> <origin xyz="{2} 0 0"/> <mass value="{3}"/>
  <inertia ixx="0.01" iyy="{4}" izz="{4}" ixy="0" ixz="0" iyz="0"/> </inertial> </link>
  <joint name="{0}" type="continuous" cc:role="actuated"> <parent link="{1}"/> <child link="{0}"/>
  <origin xyz="{5} 0 0"/> <axis xyz="0 -1 0"/> </joint>"""
STANDING = (
    """<robot name="standing" xmlns:cc="urn:closed_chain_dynamics"> <link name="world"/>
  <link name="foot"/> <joint name="slide" type="prismatic" cc:role="actuated">
  <parent link="world"/> <child link="foot"/> <axis xyz="1 0 0"/> <limit effort="1e4"
  lower="-9" upper="9" velocity="99"/> </joint> """
    + ''.join(
        SEGMENT.format(*each)
        for each in (
            ('leg', 'foot', 0.25, 7, 0.10, 0),
            ('thigh', 'leg', 0.25, 15, 0.25, 0.44),
            ('trunk', 'thigh', 0.32, 50, 3.4, 0.44),
        )
    )
    + '</robot>'
)
# A block on a floor: it slides along x, and the contact carries it.
BLOCK = """<robot name="block" xmlns:cc="urn:closed_chain_dynamics"> <link name="floor"/>
  <link name="lift"> <inertial> <mass value="1e-6"/> <inertia ixx="1e-6" iyy="1e-6" izz="1e-6"
  ixy="0" ixz="0" iyz="0"/> </inertial> </link>
  <link name="block"> <inertial> <mass value="2"/> <inertia ixx="1" iyy="1" izz="1" ixy="0"
  ixz="0" iyz="0"/> </inertial> </link>
  <joint name="up" type="prismatic"> <parent link="floor"/> <child link="lift"/>
  <axis xyz="0 0 1"/> <limit effort="9" lower="-9" upper="9" velocity="99"/> </joint>
  <joint name="along" type="prismatic"> <parent link="lift"/> <child link="block"/>
  <axis xyz="1 0 0"/> <limit effort="9" lower="-9" upper="9" velocity="99"/> </joint>
  <constraint name="stand" type="surface"> <parent link="floor"/> <child link="block"/>
  <cc:contact normal="0 0 1" mu="0.1" mu_static="0.2"/> </constraint> </robot>"""


def heavier(robot, link, factor):
    """Return a mechanism with another mass, and the inertia about its centre as it was."""
    links = tuple(
        replace(each, inertia=replace(each.inertia, mass=factor * each.inertia.mass))
        if each.name == link
        else each
        for each in robot.description.links
    )
    return ccd.Mechanism(replace(robot.description, links=links), gravity=robot.gravity)


@pytest.fixture(scope='module')
def record():
    return recorded()


# --- internal validity --------------------------------------------------------------------------
def test_the_motion_of_a_simulation_comes_back(record):
    robot, tracks = record
    motion = move(robot, tracks, ccd.assemble(robot, {'crank': 1.0}))
    found = study_validity(robot, motion)
    assert found.valid and found.worst.max() < SPLINE and found.until == pytest.approx(0.5)
    assert np.isfinite(found.worst).all() and found.worst.max() > 0.0
    heavy = study_validity(robot, motion, forward=heavier(robot, 'coupler_link', 1.05))
    assert not heavy.valid and heavy.worst.max() > 20.0 * SPLINE
    assert 0.0 < heavy.until < 0.5


def test_finer_samples_bring_it_back_better():
    robot, *_ = pendulum()
    errors = []
    for count in (51, 101):
        motion = move(
            robot,
            sines(robot, np.zeros(1), {'swing': (0.5, 1.0)}, np.linspace(0.0, 1.0, count)),
            np.zeros(1),
        )
        errors.append(study_validity(robot, motion).worst[-1])
    assert 12.0 < errors[0] / errors[1] < 24.0  # a cubic spline is of fourth order


def test_two_constant_torques_stand_for_one_that_changes_to_fourth_order():
    robot, inertia, mgl = pendulum()

    def torque(t):
        return np.array([5.0 * math.sin(9.0 * t)])

    exact = solve_ivp(
        lambda t, x: (x[1], (torque(t)[0] - mgl * math.sin(x[0])) / inertia),
        (0.0, 0.8),
        (0.3, 0.0),
        method='DOP853',
        rtol=1e-13,
        atol=1e-13,
    ).y[0, -1]
    errors = []
    for pairs in (8, 16):
        sim = ccd.Simulation(robot, q=np.array([0.3]), dt=0.4 / pairs)
        for k in range(pairs):
            for tau in _two_torques(torque, k * 0.8 / pairs, sim.dt):
                sim.step(tau)
        errors.append(abs(sim.q[0] - exact))
    assert 12.0 < errors[0] / errors[1] < 24.0


def test_the_error_of_an_inverted_pendulum_grows_as_its_closed_form():
    robot, inertia, mgl = pendulum()
    up = np.array([math.pi])
    motion = move(robot, sines(robot, up, {'swing': (0.01, 0.5)}, np.linspace(0.0, 6.0, 601)), up)
    found = study_validity(robot, motion)
    # The swing itself takes cos(0.01) off the rate, 5e-5, and errors up to 0.01 no more.
    assert found.rate == pytest.approx(math.sqrt(mgl / inertia), rel=1e-4)
    assert not found.valid and 3.0 < found.until < 6.0
    assert np.all(found.worst[motion.time <= found.until] <= found.tolerance)


def test_growth_is_exponential_or_it_is_none():
    time = np.linspace(0.0, 2.0, 200)
    assert growth(time, 1e-9 * np.exp(5.0 * time)) == pytest.approx(5.0)
    assert growth(time, 1e-4 * time**2) is None and growth(time, 1e-4 * time**4) is None
    assert growth(time, 1e-4 * np.abs(np.sin(time))) is None and growth(time, 0.0 * time) is None
    assert growth(time, np.ones(200)) is None  # never small


def test_the_standing_figure_passes_and_fails_as_published():
    robot = ccd.load(STANDING, gravity=(0.0, 0.0, -9.81))
    time = np.arange(401) / 1000.0
    a, b = np.array((0.0, 1.55, 1.62, 1.50)), np.array((0.03, 0.10, -0.18, 0.14))
    w, p = 2.0 * np.pi * np.array((1.0, 0.9, 1.1, 0.7)), np.array((0.0, 0.3, -0.2, 0.5))
    phase = np.outer(time, w) + p
    orders = (a + b * np.sin(phase), b * w * np.cos(phase), -b * w**2 * np.sin(phase))
    relative = [
        np.column_stack([x[:, 0], x[:, 1], x[:, 2] - x[:, 1], x[:, 3] - x[:, 2]]) for x in orders
    ]
    tracks = Tracks(
        time,
        {joint: tuple(x[:, [k]] for x in relative) for k, joint in enumerate(robot.joint_names)},
    )
    motion = move(robot, tracks, relative[0][0])
    found = study_validity(robot, motion)
    F, T1, T2, T3 = 96.591153361, -49.2724582201, -47.0693502191, -30.0682781516
    hip, both = F * 0.44 * math.sin(orders[0][0, 2]), F * 0.44 * math.sin(orders[0][0, 1])
    # the published force pushes the hip, the motor of this model the foot: Q is the same
    assert found.torques.tau_A[0] == pytest.approx((F, T1 - both - hip, T2 - hip, T3), rel=1e-9)
    # with a force at the hip, a spline of 1 kHz and an exact integration: 2.5e-7 at 0.4 s, and
    # where the mass of the trunk is wrong by 1 %, 0.13 at 0.3 s; the force at the foot is wilder
    assert found.valid and found.worst[300] < 1e-6 and found.worst[400] < 1e-5
    wrong = study_validity(robot, motion, forward=heavier(robot, 'trunk', 1.01))
    assert wrong.worst[300] == pytest.approx(0.13, rel=0.3) and not wrong.valid
    assert 20.0 < found.rate < 40.4  # slower than the fastest way to fall at the start


@pytest.mark.parametrize('link', ['crank_link', 'coupler_link', 'rocker_link'])
def test_a_mass_that_is_five_percent_off_fails_and_its_segment_is_named(link):
    robot = ccd.load('four_bar')
    q = ccd.assemble(robot, {'crank': 1.0})
    motion = move(robot, sines(robot, q, {'crank': (0.3, 1.0)}, np.linspace(0.0, 0.5, 51)), q)
    found = study_validity(robot, motion, forward=heavier(robot, link, 1.05))
    assert not found.valid and found.wrong_mass.link == link
    assert found.wrong_mass.factor == pytest.approx(1.05, abs=1e-9)
    assert study_validity(robot, motion, forward=robot.copy()).wrong_mass is None


def test_a_motion_without_the_motors_for_it_does_not_come_back():
    robot = ccd.load('five_bar', actuated=['left_shoulder'])
    q = ccd.assemble(robot, {})
    motion = move(
        robot, sines(robot, q, {'right_shoulder': (0.2, 1.0)}, np.linspace(0.0, 1.0, 101)), q
    )
    found = study_validity(robot, motion)
    assert not found.valid and found.torques.unmet


# --- what if ------------------------------------------------------------------------------------
def period(run, joint='swing'):
    """Return the time between two crossings of zero in the same direction."""
    x, t = run.series[joint], run.time
    k = np.flatnonzero((x[:-1] < 0.0) & (x[1:] >= 0.0))[:2]
    first, second = t[k] - x[k] * (t[k + 1] - t[k]) / (x[k + 1] - x[k])
    return second - first


def test_the_period_of_a_pendulum_is_that_of_the_closed_form():
    robot, inertia, mgl = pendulum()
    runs = what_if(
        robot,
        [Variation('mass', 'arm', (0.5, 2.0), True), Variation('gravity', '', (1.62, 9.80665))],
        q=np.array([0.01]),
        duration=6.5,
        watch=['swing'],
    )
    assert [tuple(run.values.values()) for run in runs] == [
        (),
        (0.5, 1.62),
        (0.5, 9.80665),
        (2.0, 1.62),
        (2.0, 9.80665),
    ]
    for run in runs:  # inertia grows with the mass: it does not matter
        pull = mgl * run.values.get('gravity', 9.80665) / 9.80665
        assert period(run) == pytest.approx(
            2.0 * math.pi * math.sqrt(inertia / pull), rel=SMALL_ANGLE
        )
        assert run.energy['drift'] < ONE_STEP * mgl and not run.events and not run.stopped


def test_a_spring_makes_it_swing_faster():
    robot, inertia, mgl = pendulum()
    spring = Spring('back', 'torsional', 5.0, joint='swing')
    robot = ccd.Mechanism(replace(robot.description, springs=(spring,)))
    runs = what_if(
        robot,
        [Variation('stiffness', 'back', (20.0,))],
        q=np.array([0.01]),
        duration=3.0,
        watch=['swing'],
    )
    for run, stiffness in zip(runs, (5.0, 20.0)):
        assert period(run) == pytest.approx(
            2.0 * math.pi * math.sqrt(inertia / (mgl + stiffness)), rel=SMALL_ANGLE
        )


def test_damping_takes_what_the_speed_says_and_the_rest_stays():
    robot, inertia, mgl = pendulum()
    runs = what_if(
        robot,
        [Variation('damping', 'swing', (0.0, 0.1))],
        q=np.array([1.0]),
        duration=3.0,
        watch=['swing'],
    )
    for run, damping in zip(runs, (0.0, 0.0, 0.1)):
        rate = CubicSpline(run.time, run.series['swing']).derivative()(run.time)
        taken = trapezoid(damping * rate**2, run.time)
        assert run.energy['dissipated'] == pytest.approx(taken, rel=1e-6, abs=1e-12)
        left = 0.5 * inertia * rate[-1] ** 2 - mgl * math.cos(run.series['swing'][-1])
        assert left + run.energy['dissipated'] == pytest.approx(-mgl * math.cos(1.0), rel=1e-6)
    mass = mgl / 9.80665 / 0.467934596
    fastest = math.sqrt(2.0 * mgl * (1.0 - math.cos(1.0)) / inertia)
    peak = mass * 9.80665 + mass * 0.467934596 * fastest**2
    assert runs[0].watched['swing']['speed'] == pytest.approx(fastest, rel=1e-5)
    assert runs[0].watched['swing']['force'] == pytest.approx(peak, rel=1e-5)
    assert runs[2].watched['swing']['force'] < peak


def test_friction_stops_a_wheel_after_the_time_of_the_closed_form():
    robot, inertia, _ = pendulum()
    robot.gravity = (0.0, 0.0, 0.0)
    runs = what_if(
        robot,
        [Variation('friction', 'swing', (0.2,))],
        q=np.zeros(1),
        v=np.array([2.0]),
        duration=1.0,
        watch=['swing'],
    )
    assert runs[0].final['swing'] == pytest.approx(2.0, rel=ONE_STEP)
    # friction is smoothed near standstill only: at this speed it is the whole of it
    assert runs[1].final['swing'] == pytest.approx(2.0 - 0.1 / inertia, rel=1e-4)


def test_a_block_slides_as_far_as_its_friction_lets_it():
    robot = ccd.load(BLOCK)
    variation = Variation('mu', 'stand', (0.3,))
    assert varied(robot, variation, 0.3).description.loops[0].contact.mu_static == pytest.approx(
        0.6
    )
    runs = what_if(robot, [variation], q=np.zeros(2), v=np.array([0.0, 2.0]), duration=0.8)
    stop = 2.0 / (0.3 * 9.80665)
    assert runs[0].final['along'] == pytest.approx(1.6 - 0.1 * 9.80665 * 0.32, rel=1e-6)
    assert runs[1].final['along'] == pytest.approx(stop, rel=1e-6)  # 2 m/s, half of it on average
    assert runs[0].events == []
    (event,) = runs[1].events
    assert (event['kind'], event['name']) == ('stick', 'stand')
    assert event['time'] == pytest.approx(stop, abs=1e-6)
    assert runs[1].energy['dissipated'] == pytest.approx(4.0, rel=1e-5)  # all of m v^2 / 2


def test_a_run_that_stops_says_so_and_the_others_go_on():
    robot, *_ = pendulum()
    runs = what_if(
        robot,
        [Variation('mass', 'arm', (1e-300, 2.0))],
        q=np.zeros(1),
        tau={'swing': 1.0},
        duration=0.1,
        watch=['swing'],
    )
    assert [bool(run.stopped) for run in runs] == [False, True, False]
