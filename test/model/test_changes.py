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

"""Connecting and cutting through the one service, and what it refuses."""

import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.errors import NameNotFound, StructureError
from closed_chain_dynamics.model import changes

CLOSED = 1e-9  # what a connection leaves of the gap of a coupling [rad]
SAME = 1e-12  # the same state, written in other coordinates and back [rad, rad/s]
LINK = """<link name="{}"><inertial><mass value="1"/><origin xyz="0.2 0 0"/>
  <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
# two pendulums, the second of which turns twice as far
GEARED = f"""<robot name="geared"><link name="base"/>{LINK.format('a')}{LINK.format('b')}
  <joint name="first" type="continuous"><parent link="base"/><child link="a"/>
    <axis xyz="0 0 1"/></joint>
  <joint name="second" type="continuous"><parent link="base"/><child link="b"/>
    <origin xyz="1 0 0"/><axis xyz="0 0 1"/><mimic joint="first" multiplier="2"/></joint>
</robot>"""


def four_bar():
    robot = ccd.load('four_bar')
    q = ccd.assemble(robot, {'crank': 1.0})
    return robot, q, ccd.complete_velocity(robot, q, {'crank': 2.0})


# --- one joint -----------------------------------------------------------------------------------
@pytest.mark.parametrize('name', ['coupler_rocker', 'coupler'])
def test_one_name_cuts_and_connects_a_loop_joint_or_a_tree_joint(name):
    robot, q, v = four_bar()
    assert robot.is_connected(name) and not changes.is_cut(robot, name)
    apart = changes.cut(robot, name, q, v)
    assert changes.is_cut(robot, name) and not robot.is_connected(name)
    assert changes.open_or_closed(robot)[name] is False
    q_again, v_again = changes.connect(robot, name, *apart)
    assert np.abs(q_again - q).max() < SAME and np.abs(v_again - v).max() < SAME
    assert changes.open_or_closed(robot) == {'coupler_rocker': True}


def test_whole_turns_of_a_cut_joint_come_back():
    robot = ccd.load('pendulum')
    (joint,) = robot.joint_names
    q = np.array([7.0])  # more than a turn
    apart = changes.cut(robot, joint, q, np.zeros(1))
    assert changes.connect(robot, joint, *apart)[0] == pytest.approx(q, abs=SAME)


@pytest.mark.parametrize('change', [changes.cut, changes.connect])
def test_an_unknown_name_is_told_with_both_kinds_of_joints(change):
    robot, q, v = four_bar()
    with pytest.raises(NameNotFound, match="'coupler_rocker', 'coupler' or 'rocker'"):
        change(robot, 'coupler_rokcer', q, v)
    with pytest.raises(NameNotFound):
        robot.is_connected('coupler_rokcer')


@pytest.mark.parametrize('change', [changes.cut, changes.connect])
def test_without_a_pose_a_loop_joint_can_be_switched_and_a_tree_joint_not(change):
    robot, _, _ = four_bar()
    if change is changes.connect:
        robot.cut('coupler_rocker')
    assert change(robot, 'coupler_rocker') == (None, None)
    with pytest.raises(StructureError, match='the pose is not known yet'):
        change(robot, 'coupler')


@pytest.mark.parametrize('name', ['coupler_rocker', 'coupler'])
def test_a_gap_is_refused_in_the_same_words_and_nothing_changes(name):
    robot, q, v = four_bar()
    q, v = changes.cut(robot, name, q, v)
    q = q.copy()
    q[robot.joint_slices('coupler')[0].start] += 0.1
    before, names = robot.connections(), list(robot.coordinate_names)
    with pytest.raises(StructureError, match=f"joint '{name}' is .* apart, more than the 0.02 m"):
        changes.connect(robot, name, q, v)
    assert robot.connections() == before and robot.coordinate_names == names
    changes.connect(robot, name, q, v, gap=1.0, angle=1.0)
    assert robot.is_connected(name)


# --- a coupling that uses the joint --------------------------------------------------------------
def unwound(turn):
    """Return the geared pendulums, the second cut while the first turned on alone."""
    sim = ccd.Simulation(ccd.load(GEARED, gravity=(0.0, 0.0, 0.0)), q=[0.3, 0.6], dt=1e-3)
    sim.cut('second')
    shift(sim, 'first', turn)
    return sim


def shift(sim, joint, step):
    """Move the first coordinate of a joint."""
    q = sim.q.copy()
    q[sim.robot.joint_slices(joint)[0].start] += step
    sim.q = q


def test_a_joint_is_not_joined_where_its_coupling_does_not_fit():
    """It was joined, and everything jumped until the coupling fitted: by 0.81 rad here."""
    sim = unwound(1.0)
    before = sim.q.copy()
    with pytest.raises(StructureError, match=r"coupling '.*' is 0 m and 2 rad apart"):
        sim.connect('second')
    assert np.array_equal(sim.q, before) and not sim.robot.is_connected('second')


def test_a_joint_whose_coupling_fits_is_joined_and_hardly_moves():
    sim = unwound(0.01)
    sim.connect('second')
    assert np.abs(sim.q - [0.31, 0.6]).max() < 0.02
    assert max(map(max, sim.robot.loop_gaps(sim.q).values())) < CLOSED


def test_a_wide_gap_of_a_coupling_is_closed_where_it_is_allowed():
    sim = unwound(1.0)
    sim.connect('second', angle=3.0)
    assert max(map(max, sim.robot.loop_gaps(sim.q).values())) < CLOSED


# --- all at once ---------------------------------------------------------------------------------
def test_a_mechanism_follows_what_is_closed_elsewhere():
    robot, q, v = four_bar()
    wanted = {'coupler_rocker': False, 'coupler': False, 'nothing': True}
    there = changes.follow(robot, wanted, q, v)
    assert there.changed and there.refused == ("four_bar has no joint 'nothing'",)
    assert changes.open_or_closed(robot) == {'coupler_rocker': False, 'coupler': False}
    assert there.q.shape == (robot.nq,) and there.v.shape == (robot.nv,)
    assert not changes.follow(robot, wanted, there.q, there.v).changed
    # a tree joint that is not named is whole, a loop joint stays as it is
    back = changes.follow(robot, {}, there.q, there.v)
    assert back.changed and changes.open_or_closed(robot) == {'coupler_rocker': False}
    assert np.abs(back.q - q).max() < SAME and np.abs(back.v - v).max() < SAME


def test_a_mechanism_follows_with_no_pose_known():
    robot, _, _ = four_bar()
    there = changes.follow(robot, {'coupler': False})
    assert there.changed and robot.nv == 8
    assert there.v.shape == (8,) and not there.v.any()


def test_a_refused_event_leaves_the_turns_of_all_its_joints_as_they_were():
    """The first joint was joined already when the second is refused."""
    robot = ccd.load(GEARED.replace('<mimic joint="first" multiplier="2"/>', ''))
    sim = ccd.Simulation(robot, q=[7.0, -8.0], dt=1e-3)
    sim.cut('first', 'second')
    shift(sim, 'second', 1.0)  # a metre off
    with pytest.raises(StructureError, match="'second' is 1 m"):
        sim.connect('first', 'second')
    shift(sim, 'second', -1.0)
    sim.connect('first', 'second')
    assert sim.q == pytest.approx([7.0, -8.0], abs=1e-9)
