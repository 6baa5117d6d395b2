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

"""Complete states from partial ones: exact, through dead points and singular poses, and lost."""

from helpers.folding_linkages import four_bar, parallel_pose, parallelogram
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.control.loop_state import LoopState

CLOSED = 1e-9  # loops of a published state [m or rad]
EXACT = 1e-8  # positions and velocities of joints that were not measured
AT_DEAD_POINT = 5e-3  # where the measured joint stands still, the others coast [rad]


def moving(robot, q, rates, **options):
    """Return a simulation that moves with some rates."""
    v = ccd.complete_velocity(robot, q, rates)
    return ccd.Simulation(robot, q=q, v=v, log_every=0, **options)


def follow(sim, names, steps, *, with_velocity=True, noise=0.0, start=None):
    """Measure named joints of a simulation; return the state, and errors of q and v by step."""
    robot = sim.robot
    state = LoopState(robot.copy(), names, start=sim.q if start is None else start)
    q_places, v_places = (
        [
            place
            for name in names
            for place in range(robot.joint_slices(name)[k].start, robot.joint_slices(name)[k].stop)
        ]
        for k in (0, 1)
    )
    rng, errors = np.random.default_rng(0), []
    for _ in range(steps):
        measured = sim.q[q_places] + noise * rng.normal(size=len(q_places))
        state.update(sim.time, measured, sim.v[v_places] if with_velocity else None)
        errors.append(
            (np.abs(ccd.difference(robot, state.q, sim.q)).max(), np.abs(state.v - sim.v).max())
        )
        assert max(max(gap) for gap in robot.loop_gaps(state.q).values()) < CLOSED
        sim.step()
    return state, np.array(errors)


@pytest.mark.parametrize(
    'model, names, rates',
    [
        ('four_bar', ['crank'], {'crank': 6.0}),
        ('four_bar', ['coupler'], {'crank': 6.0}),
        ('five_bar', ['left_shoulder', 'right_shoulder'], {'left_shoulder': 0.5}),
        ('five_bar', ['left_shoulder', 'right_elbow', 'right_shoulder'], {'right_shoulder': 0.5}),
        (
            'swing',
            [
                'left_ceiling',
                'left_hip',
                'left_knee',
                'right_knee',
                'left_shoulder',
                'right_shoulder',
                'right_hip',
                'left_elbow',
                'right_elbow',
            ],
            {'left_knee': 0.5},
        ),
    ],
)
def test_joints_that_are_not_measured_follow_from_the_loops(model, names, rates):
    """Position and velocity, as the simulation has them; loops closed at every step."""
    robot = ccd.load(model)
    # from 190 steps on the five-bar nears a dead point of its shoulders, where errors grow
    state, errors = follow(moving(robot, ccd.assemble(robot), rates), names, 180)
    assert errors.max() < EXACT
    assert state.status == 'tracking' and state.unobserved == 0 and state.residual < EXACT


def test_velocities_follow_from_positions_where_none_are_measured():
    """By differences, which lag by half a step."""
    robot = ccd.load('four_bar')
    sim = moving(robot, ccd.assemble(robot, {'crank': 1.0}), {'crank': 6.0})
    state, errors = follow(sim, ['crank'], 200, with_velocity=False)
    assert errors[:, 0].max() < EXACT
    assert errors[1:, 1].max() < 0.2  # half a step at accelerations of up to 300 rad/s^2


@pytest.mark.parametrize('speed', [1.0, 3.3, 2.0 * np.pi])
def test_a_parallelogram_keeps_its_branch_through_both_change_points(speed):
    """All bars in line, twice a turn, met exactly or passed by: the coupler does not turn."""
    robot = parallelogram()
    sim = ccd.Simulation(
        robot, q=parallel_pose(robot, -0.4), v=parallel_pose(robot, speed), log_every=0
    )
    sim.robot.gravity = (0.0, 0.0, 0.0)
    state, errors = follow(sim, ['crank'], round(5.0 / speed * 1e3))
    assert sim.q[robot.joint_slices('crank')[0]][0] > 4.0
    assert errors[:, 0].max() < EXACT and state.jumps == 0


def test_a_pose_exactly_at_a_change_point_is_passed():
    """J_C loses rank there, and the crank alone tells nothing about the coupler."""
    robot = parallelogram()
    state = LoopState(robot, ['crank'], start=parallel_pose(robot, -0.01))
    for k in range(-10, 11):
        assert state.update(1e-3 * k, [1e-3 * k], [1.0])
        np.testing.assert_allclose(state.q, parallel_pose(robot, 1e-3 * k), atol=EXACT)


def test_a_kite_keeps_its_branch_where_it_folds():
    """Its joints do not move evenly, so that the prediction is not exact."""
    robot = four_bar(1.0, 1.0, 2.0, 2.0)
    sim = moving(robot, ccd.assemble(robot, {'crank': 1.0}), {'crank': 3.0})
    state, errors = follow(sim, ['crank'], 2500)
    assert errors[:, 0].max() < 1e-7 and state.jumps == 0


def test_a_rocker_at_its_turning_point_carries_the_crank_past_it():
    """There the measured rocker stands still, and says nothing about the crank."""
    robot = ccd.load('four_bar')
    sim = moving(robot, ccd.assemble(robot, {'crank': 1.0}), {'crank': 6.0})
    _, errors = follow(sim, ['rocker'], 600)
    assert 1e-6 < errors[:, 0].max() < AT_DEAD_POINT  # the dead point was met
    assert errors[-50:].max() < 1e-6


def test_sensors_that_contradict_each_other_meet_in_least_squares():
    """All joints with noise: the fit is nearer to the truth than what was measured."""
    robot = ccd.load('five_bar')
    sim = moving(robot, ccd.assemble(robot), {'left_shoulder': 0.3})
    noise = 1e-3
    state, errors = follow(sim, robot.joint_names, 150, noise=noise)
    assert 0.05 * noise < state.residual < 4.0 * noise and state.worst_name in robot.joint_names
    assert np.sqrt((errors[:, 0] ** 2).mean()) < 2.0 * noise


def test_motions_that_nothing_measures_stay_and_are_counted():
    """The joints of the figure do not tell how far the swing has swung."""
    robot = ccd.load('swing')
    names = [name for name in robot.joint_names if name not in ('root', 'left_ceiling')]
    sim = ccd.Simulation(robot, log_every=0)
    state, _ = follow(sim, names, 20)
    assert state.unobserved == 1


def test_a_jump_is_refused_until_it_insists():
    """One wrong reading changes nothing; three in a row do."""
    robot = ccd.load('five_bar')
    q = ccd.assemble(robot)
    state = LoopState(robot, ['left_shoulder', 'right_shoulder'], start=q)
    good, wrong = q[[0, 2]], q[[0, 2]] + [0.5, 0.0]
    assert state.update(0.000, good, [0.0, 0.0])
    assert not state.update(0.001, wrong, [0.0, 0.0])
    assert state.status == 'lost'
    np.testing.assert_allclose(state.q, q, atol=EXACT)
    assert state.update(0.002, good, [0.0, 0.0]) and state.status == 'tracking'
    for k in range(2):
        assert not state.update(0.003 + 1e-3 * k, wrong, [0.0, 0.0])
    assert state.update(0.005, wrong, [0.0, 0.0]) and state.jumps == 1
    np.testing.assert_allclose(state.q[[0, 2]], wrong, atol=EXACT)


def test_a_pose_that_does_not_exist_is_lost_and_found_again():
    """Shoulders so far apart that the lower bars do not meet."""
    robot = ccd.load('five_bar')
    q = ccd.assemble(robot)
    state = LoopState(robot, ['left_shoulder', 'right_shoulder'], start=q)
    state.update(0.0, q[[0, 2]], [0.0, 0.0])
    for k in range(1, 6):
        assert not state.update(1e-3 * k, [3.14, 0.0], [0.0, 0.0]) and state.status == 'lost'
    assert state.update(0.006, q[[0, 2]], [0.0, 0.0])
    np.testing.assert_allclose(state.q, q, atol=EXACT)


def test_numbers_that_are_not_finite_are_named():
    """And change nothing."""
    robot = ccd.load('five_bar')
    state = LoopState(robot, ['left_shoulder', 'right_shoulder'])
    with pytest.raises(ccd.StateError, match="'right_shoulder' is nan"):
        state.update(0.0, [2.1, np.nan])
    assert state.q is None


def test_the_structure_may_change_between_updates():
    """A hand lets go: more joints move, and the state goes on without a jump."""
    robot = ccd.load('swing')
    sim = ccd.Simulation(robot, log_every=0)
    state = LoopState(robot, robot.joint_names, start=sim.q)
    for cut in (False, True):
        if cut:
            sim.cut('left_hand')
            robot.cut('left_hand')
            state.restructured()
        for _ in range(30):
            assert state.update(sim.time, sim.q, sim.v)
            np.testing.assert_allclose(state.q, sim.q, atol=EXACT)
            sim.step()
    assert state.jumps == 0


GEAR = """<robot name="geared_parallelogram" xmlns:cc="urn:closed_chain_dynamics">
  <link name="base"/> {links}
  <joint name="hand" type="continuous"> <parent link="base"/> <child link="hand_link"/>
    <origin xyz="0.1 0 0"/> <axis xyz="0 1 0"/> </joint>
  <joint name="arm" type="continuous"> <parent link="base"/> <child link="arm_link"/>
    <axis xyz="0 1 0"/> </joint>
  <joint name="rod" type="continuous"> <parent link="arm_link"/> <child link="rod_link"/>
    <origin xyz="0 0 0.04"/> <axis xyz="0 1 0"/> </joint>
  <joint name="motor" type="continuous" cc:role="actuated"> <parent link="base"/>
    <child link="rotor"/> <axis xyz="0 1 0"/> </joint>
  <constraint name="pin" type="revolute">
    <parent link="rod_link"/> <parent_origin xyz="0.1 0 0"/> <parent_axis xyz="0 1 0"/>
    <child link="hand_link"/> <child_origin xyz="0 0 0.04"/> <child_axis xyz="0 1 0"/>
  </constraint>
  <coupling name="gear"> <predecessor link="arm_link"/> <successor link="rotor"/>
    <ratio value="-30"/> </coupling>
</robot>"""


def test_a_rotor_that_turns_as_its_gear_says_is_no_other_branch():
    """Behind a gear of 30, an unnamed rotor changes its speed 30 times as much as the hand."""
    links = ''.join(
        f'<link name="{name}"> <inertial> <mass value="1"/> <inertia ixx="0.01" ixy="0" ixz="0" '
        'iyy="0.01" iyz="0" izz="0.01"/> </inertial> </link>'
        for name in ('hand_link', 'arm_link', 'rod_link', 'rotor')
    )
    robot = ccd.load(GEAR.format(links=links))
    q = ccd.assemble(robot, {'hand': 0.0})
    state = LoopState(robot, ['hand'], start=q, measured=False)
    state.restructured(q, np.zeros(robot.nv))
    state.time, place = 0.0, robot.joint_slices('motor')[0].start
    for t in np.arange(0.01, 4.0, 0.01):
        hand, rate = 0.3 * np.sin(np.pi * t), 0.3 * np.pi * np.cos(np.pi * t)
        assert state.update(t, [hand], [rate]) and state.status == 'tracking', t
        assert state.q[place] == pytest.approx(-30.0 * hand, abs=EXACT)
