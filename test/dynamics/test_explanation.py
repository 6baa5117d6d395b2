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

"""What str(coordinates) and `closed-chain check` say in words, on mechanisms that are known."""

from dataclasses import replace
import json
from pathlib import Path

from helpers.explained import words
from helpers.geared_legs import geared_legs
from helpers.loaded_joints import actuated, inertia
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics import Mechanism
from closed_chain_dynamics.cli.check_report import closed_chain_section
from closed_chain_dynamics.cli.main import main
from closed_chain_dynamics.description import (
    Coupling,
    CouplingTerm,
    Description,
    Joint,
    JointType,
    Link,
    LoopJoint,
    LoopType,
    Pose,
)

ROOT = Path(__file__).resolve().parents[2]
Y = (0.0, -1.0, 0.0)
KEYS = {
    'mobility',
    'rank',
    'rank_gap',
    'rows',
    'independent',
    'dependent',
    'redundant_rows',
    'condition',
    'distance',
    'distances',
    'singular',
    'actuation',
    'explanation',
    'assembled',
}


def hinge(name, parent, child, xyz=(0.0, 0.0, 0.0), **more):
    return Joint(name, JointType.REVOLUTE, parent, child, Pose(xyz), Y, **more)


def four_bar(crank, coupler, rocker, base, prefix='', **more):
    """Return links, joints and the loop of a four-bar linkage that hangs on link `base_link`."""
    bars = [f'{prefix}{name}' for name in ('crank', 'coupler', 'rocker')]
    links = [Link(name, inertia(1.0, (0.1, 0.0, 0.0))) for name in bars]
    joints = [
        hinge(f'{prefix}drive', 'base', bars[0], **more),
        hinge(f'{prefix}pin', bars[0], bars[1], (crank, 0.0, 0.0)),
        hinge(f'{prefix}swing', 'base', bars[2], (base, 0.0, 0.0)),
    ]
    loop = LoopJoint(
        f'{prefix}close',
        LoopType.REVOLUTE,
        bars[1],
        bars[2],
        Pose((coupler, 0.0, 0.0)),
        Pose((rocker, 0.0, 0.0)),
        Y,
        Y,
    )
    return links, joints, loop


def linkage(*parts, couplings=()):
    return Description(
        'linkage',
        (Link('base'), *(link for part in parts for link in part[0])),
        tuple(joint for part in parts for joint in part[1]),
        tuple(part[2] for part in parts),
        couplings=tuple(couplings),
    )


def shipped(name, **options):
    robot = ccd.load(str(ROOT / 'urdf' / f'{name}.urdf'), **options)
    return str(ccd.coordinates(robot, ccd.assemble(robot, {})))


# --- mobility and choice -------------------------------------------------------------------------
def test_a_four_bar_is_explained_whole():
    text = shipped('four_bar')
    assert 'Mobility 1 = 3 joint velocities - rank 2 of 5 constraint rows.' in text
    assert 'Generalized coordinate: crank (actuated).' in text
    assert 'Dependent: coupler and rocker.' in text
    assert '3 rows are implied by the others, in coupler_rocker (3 of 5, a planar loop).' in text
    assert 'Condition ' in text and 'distance to the nearest singularity 0.' in text
    assert 'Actuation is square: 1 actuator for mobility 1.' in text
    for absent in ('Close to', 'At a', 'idle', 'clusters', 'No actuator'):
        assert absent not in text
    assert len(text.splitlines()) <= 6


CENTRED = """<robot name="centred"> <link name="base"/>
  <link name="crank"> <inertial> <mass value="1"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/> </inertial> </link>
  <link name="rod"> <inertial> <mass value="1"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/> </inertial> </link>
  <link name="slider"> <inertial> <mass value="1"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/> </inertial> </link>
  <joint name="motor" type="continuous"> <parent link="base"/> <child link="crank"/>
    <axis xyz="0 0 1"/> </joint>
  <joint name="pin" type="continuous"> <parent link="crank"/> <child link="rod"/>
    <origin xyz="0.1 0 0"/> <axis xyz="0 0 1"/> </joint>
  <joint name="rail" type="prismatic"> <parent link="base"/> <child link="slider"/>
    <axis xyz="1 0 0"/> <limit lower="0" upper="0.5" effort="0" velocity="5"/> </joint>
  <constraint name="end" type="revolute"> <parent link="rod"/> <parent_origin xyz="0.3 0 0"/>
    <child link="slider"/> <child_axis xyz="0 0 1"/> </constraint> </robot>"""


def test_a_distance_of_rounding_is_zero():
    """Crank and rod in line: the slider stands still, but for the last digits."""
    robot = ccd.load(CENTRED, actuated=['motor'])
    c = ccd.coordinates(robot, [1e-15, -1e-15, 0.4])
    assert 0.0 < c.distance < 1e-12
    assert 'nearest singularity 0. Nearest: end: 0; at 0, ' in str(c)


def test_a_five_bar_has_two_coordinates():
    text = shipped('five_bar')
    assert 'Mobility 2 = 4 joint velocities - rank 2' in text
    assert 'Generalized coordinates: left_shoulder and right_shoulder (actuated).' in text
    assert 'Actuation is square: 2 actuators for mobility 2.' in text


def test_reasons_are_told_apart():
    links, joints, loop = four_bar(0.2, 0.5, 0.4, 0.5)
    joints = [*joints[:2], replace(joints[2], independent=True), hinge('tail', 'rocker', 'fin')]
    model = Description(
        'm', (Link('base'), *links, Link('fin', inertia(1.0))), tuple(joints), (loop,)
    )
    robot = Mechanism(model)
    text = str(ccd.coordinates(robot, ccd.assemble(robot, {'drive': 1.0})))
    assert 'swing (marked independent)' in text and 'tail (on no loop)' in text
    plain = Mechanism(
        replace(model, joints=tuple(replace(joint, independent=None) for joint in joints))
    )
    assert '(chosen for good conditioning)' in str(
        ccd.coordinates(plain, ccd.assemble(plain, {'drive': 1.0}))
    )


def test_trees_have_nothing_to_choose():
    arm = Description(
        'arm',
        (Link('base'), Link('a', inertia(1.0)), Link('b', inertia(1.0))),
        (hinge('one', 'base', 'a'), hinge('two', 'a', 'b', (1.0, 0.0, 0.0))),
    )
    text = words(actuated(arm, 'one'), [0.0, 0.0])
    assert 'Mobility 2: 2 joint velocities, no loop or coupling.' in text
    assert 'Generalized coordinates: one and two.' in text
    assert 'Condition' not in text and 'Redundant' not in text
    assert 'Actuation is deficient by 1: 1 actuator for mobility 2.' in text
    assert 'No actuator decides how two moves.' in text


def test_open_loops_are_told():
    links, joints, loop = four_bar(0.2, 0.5, 0.4, 0.5)
    text = words(linkage((links, joints, replace(loop, active=False))), [0.3, 0.1, 0.2])
    assert 'Mobility 3: 3 joint velocities, all loops are open.' in text


def test_a_joint_with_several_coordinates_takes_one_word():
    flyer = Description(
        'flyer',
        (Link('world'), Link('body', inertia(1.0))),
        (Joint('fly', JointType.FLOATING, 'world', 'body'),),
    )
    text = words(flyer, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    assert 'Generalized coordinates: fly:vx..wz.' in text


def test_a_structure_does_not_move():
    links, joints, loop = four_bar(0.2, 0.5, 0.4, 0.5)
    model = linkage(
        (links, joints, loop), couplings=[Coupling('lock', (CouplingTerm('drive', (1.0,)),), -1.0)]
    )
    robot = Mechanism(model)
    q = ccd.assemble(robot, {})
    text = str(ccd.coordinates(robot, q))
    assert (
        'Mobility 0 = 3 joint velocities - rank 3 of 6 constraint rows: a structure, '
        'nothing moves.' in text
    )
    assert 'Generalized' not in text and 'Dependent' not in text
    driven = Mechanism(actuated(model, 'drive'))
    assert '1 actuator in a structure: torques only preload it.' in str(ccd.coordinates(driven, q))


def test_fixed_joints_alone_are_no_mechanism():
    model = Description(
        'post',
        (Link('base'), Link('post', inertia(1.0))),
        (Joint('weld', JointType.FIXED, 'base', 'post'),),
    )
    assert words(model, []) == 'Mobility 0: nothing moves, every joint is fixed.'


# --- redundancy and clusters ---------------------------------------------------------------------
def test_clusters_are_listed():
    model = linkage(four_bar(0.2, 0.5, 0.4, 0.5, 'left_'), four_bar(0.2, 0.5, 0.4, 0.5, 'right_'))
    robot = Mechanism(model)
    text = str(
        ccd.coordinates(robot, ccd.assemble(robot, {'left_drive': 1.0, 'right_drive': 1.0}))
    )
    assert (
        '2 clusters that share no joint, each solved on its own: left_close; right_close.' in text
    )
    assert (
        'Redundant: 6 rows are implied by the others, in left_close (3 of 5, a planar loop) '
        'and right_close (3 of 5, a planar loop).' in text
    )


def test_one_redundant_row_is_one_and_not_called_planar_without_reason():
    ball = LoopJoint(
        'upper', LoopType.SPHERICAL, 'frame', 'door', Pose((0.0, 0.0, 2.0)), Pose((0.0, 0.0, 2.0))
    )
    door = Description(
        'door',
        (Link('frame'), Link('door', inertia(30.0, (0.45, 0.0, 1.0)))),
        (Joint('lower', JointType.SPHERICAL, 'frame', 'door'),),
        (ball,),
    )
    text = words(door, [0.0, 0.0, 0.0, 1.0])
    assert 'Redundant: 1 row is implied by the others, in upper (1 of 3).' in text
    assert 'idle' not in text.lower()  # a door moves alone, and yet it is not idle


def test_axes_that_are_parallel_are_not_enough_for_a_plane():
    lift = Description(
        'lift',
        (Link('base'), Link('cage', inertia(1.0)), Link('table', inertia(1.0))),
        (
            Joint('up', JointType.PRISMATIC, 'base', 'cage', axis=(0.0, 0.0, 1.0)),
            Joint('turn', JointType.REVOLUTE, 'cage', 'table', axis=(0.0, 0.0, 1.0)),
        ),
        (LoopJoint('guide', LoopType.CYLINDRICAL, 'base', 'table'),),
    )
    assert 'Redundant: 4 rows are implied by the others, in guide (4 of 4).' in words(
        lift, [0.0, 0.0]
    )


# --- singularities -------------------------------------------------------------------------------
def parallelogram():
    return linkage(four_bar(0.3, 0.5, 0.3, 0.5))


def test_a_parallelogram_folded_flat_says_that_it_can_branch():
    text = words(actuated(parallelogram(), 'drive'), [0.0, 0.0, 0.0])
    assert 'Mobility 2' in text
    assert 'At a singularity, distance 0: pin, drive and swing can move in one way more' in text
    assert 'Condition' not in text  # the singular values that are left look well
    upright = words(actuated(parallelogram(), 'drive'), [1.0, -1.0, 1.0])
    assert 'singularity,' not in upright and 'Mobility 1' in upright


def test_a_joint_on_no_loop_has_no_part_in_a_singularity():
    links, joints, loop = four_bar(0.3, 0.5, 0.3, 0.5)
    model = linkage(
        ([*links, Link('fin', inertia(1.0))], [*joints, hinge('tail', 'rocker', 'fin')], loop)
    )
    line = words(model, [0.0, 0.0, 0.0, 0.5]).split('At a singularity')[1].splitlines()[0]
    assert 'swing' in line and 'tail' not in line


def test_the_report_of_a_singular_pose_does_not_look_well(monkeypatch):
    monkeypatch.setattr(
        'closed_chain_dynamics.cli.check_report.assemble', lambda robot, joints: np.zeros(3)
    )
    section = closed_chain_section(Mechanism(parallelogram()))
    assert (section['singular'], section['distance'], section['condition']) == (True, 0.0, None)


def test_close_to_a_singularity_the_joints_that_come_free_are_named():
    text = words(parallelogram(), [1e-5, -1e-5, 1e-5])
    assert 'Mobility 1' in text
    assert 'Close to a singularity, in which swing, pin and drive would be free to move.' in text


def test_joints_of_other_loops_do_not_come_free():
    robot = Mechanism(linkage(four_bar(0.3, 0.5, 0.3, 0.5), four_bar(0.2, 0.5, 0.4, 0.5, 'far_')))
    q = ccd.assemble(robot, {'far_drive': 1.0, 'drive': 1.0})
    names = [robot.joint_slices(name)[0] for name in ('drive', 'pin', 'swing')]
    for place, value in zip(names, (1e-5, -1e-5, 1e-5)):
        q[place] = value
    text = str(ccd.coordinates(robot, q))
    assert 'Close to a singularity, in which swing, pin and drive would be free to move.' in text


# --- actuation -----------------------------------------------------------------------------------
def test_without_actuators_the_way_to_have_one_is_told():
    text = shipped('four_bar', actuated=[])
    assert (
        'No joint is actuated: mark motors with cc:role="actuated", or load with '
        'actuated=[...].' in text
    )


def test_redundant_actuators_are_counted():
    text = shipped('four_bar', actuated=['crank', 'rocker', 'coupler_rocker'])
    assert 'Actuation is redundant by 2: 3 actuators for mobility 1' in text
    assert 'Actuated and yet dependent: ' in text and 'which follows from the others' in text


def test_mixed_actuation_is_counted_in_both_directions():
    one = four_bar(0.2, 0.5, 0.4, 0.5, 'left_')
    two = four_bar(0.2, 0.5, 0.4, 0.5, 'right_')
    robot = Mechanism(actuated(linkage(one, two), 'left_drive', 'left_swing'))
    q = ccd.assemble(robot, {'left_drive': 1.0, 'right_drive': 1.0})
    text = str(ccd.coordinates(robot, q))
    assert (
        'Actuation is mixed: 2 actuators for mobility 2 drive 1 of it, deficient by 1 and '
        'redundant by 1.' in text
    )
    assert 'No actuator decides how right_drive, right_pin and right_swing move.' in text


def test_a_robot_of_many_joints_is_explained_in_few_lines():
    robot = ccd.load(geared_legs())
    text = str(ccd.coordinates(robot, ccd.assemble(robot, {})))
    assert 'Mobility 16 = 26 joint velocities - rank 10 of 10 constraint rows.' in text
    assert 'world_to_base:vx..wz (on no loop)' in text
    assert 'clusters that share no joint' in text
    assert 'idle' not in text.lower()
    assert len(text.splitlines()) <= 8


# --- the report ----------------------------------------------------------------------------------
def test_check_reports_the_closed_chain(capsys):
    assert main(['check', 'five_bar', '--json']) == 0
    section = json.loads(capsys.readouterr().out)['mobility']
    assert set(section) == KEYS
    assert (section['mobility'], section['rank'], section['rows']) == (2, 2, 5)
    assert section['independent'] == ['left_shoulder', 'right_shoulder']
    assert sorted(section['dependent']) == ['left_elbow', 'right_elbow']
    assert section['redundant_rows'] == {'tip': 3}
    assert section['assembled'] is True and section['singular'] is False
    assert section['actuation'] == 'square'
    assert section['rank_gap'][0] > 0.1 and section['rank_gap'][1] < 1e-12
    numbers = section['distances']['tip']
    assert section['condition'] == pytest.approx(1.0 / numbers['loops'])
    assert section['distance'] == min(numbers[what] for what in ('loops', 'actuators', 'links'))
    assert main(['check', 'five_bar']) == 0
    shown = capsys.readouterr().out
    for line in section['explanation'].splitlines():
        assert f'  {line}\n' in shown


def test_check_says_when_loops_cannot_be_closed(tmp_path, capsys):
    links, joints, loop = four_bar(0.2, 0.2, 0.2, 5.0)  # too short to meet
    robot = Mechanism(linkage((links, joints, loop)))
    section = closed_chain_section(robot)
    assert section['assembled'] is False and section['mobility'] is None
    assert set(section) == KEYS
    robot.save(tmp_path / 'short.urdf')
    assert main(['check', str(tmp_path / 'short.urdf'), '--json']) == 1
    report = json.loads(capsys.readouterr().out)
    assert 'close' in ' '.join(report['warnings'])
    assert main(['check', str(tmp_path / 'short.urdf')]) == 1
    assert 'loops could not be closed' in capsys.readouterr().out


@pytest.mark.parametrize(
    'text, mobility',
    [
        ('<robot name="r"><link name="only"/></robot>', 0),
        (
            '<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/>'
            '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
            '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>'
            '</robot>',
            1,
        ),
    ],
)
def test_check_takes_mechanisms_without_loops(text, mobility):
    section = closed_chain_section(ccd.load(text))
    assert (section['mobility'], section['rank'], section['rows']) == (mobility, 0, 0)
    assert section['actuation'] == 'none' and section['condition'] == 1.0
    json.dumps(section, allow_nan=False)
