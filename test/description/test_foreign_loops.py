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

"""Loops in the spellings of other tools are read, or their loss is told."""

from helpers.urdf_parts import joint, link, robot
import numpy as np
import pinocchio as pin
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import CouplingTerm, LoopType, read

# A four-bar of two cranks: both frames stand on the same point when it is closed.
TREE = [
    link('base'),
    link('crank'),
    link('rod'),
    link('rocker'),
    joint('a', 'base', 'crank'),
    joint('b', 'crank', 'rod', origin='xyz="0.3 0 0"'),
    joint('c', 'base', 'rocker', origin='xyz="1 0 0"'),
]


def frame(name, parent, xyz):
    return f'<link name="{name}"/>' + joint(
        f'{name}_frame', parent, name, kind='fixed', origin=f'xyz="{xyz}"'
    )


POINTS = [frame('closing_pin_1', 'rod', '0.9 0 0'), frame('closing_pin_2', 'rocker', '0.5 0 0')]
AXIS = [
    frame('closing_pin_1_z', 'rod', '0.9 0 0.1'),
    frame('closing_pin_2_z', 'rocker', '0.5 0 0.1'),
]


def drake(*parts):
    return robot(*TREE, *parts).replace('<robot ', '<robot xmlns:drake="http://drake.mit.edu" ')


BALL = (
    '<drake:ball_constraint><drake:ball_constraint_body_A name="rod"/>'
    '<drake:ball_constraint_body_B name="rocker"/>'
    '<drake:ball_constraint_p_AP value="0.9 0 0"/>'
    '<drake:ball_constraint_p_BQ value="0.5 0 0"/></drake:ball_constraint>'
)
ISAAC = (
    '<loop_joint name="pin" type="spherical"><link1 link="rod" xyz="0.9 0 0" rpy="0 0 0"/>'
    '<{} link="rocker" xyz="0.5 0 0" rpy="0 0 0"/></loop_joint>'
)
SAME_POINT = {
    'closing frames': robot(*TREE, *POINTS),
    'closing frames of a hinge': robot(*TREE, *POINTS, *AXIS),
    'Isaac': robot(*TREE, ISAAC.format('link2')),
    'Isaac as its page has it': robot(*TREE, ISAAC.format('link1')),
    'Drake': drake(BALL),
}


@pytest.mark.parametrize('dialect', SAME_POINT)
def test_the_loop_is_closed_where_pinocchio_finds_both_points(dialect):
    mechanism = ccd.load(SAME_POINT[dialect])
    q = ccd.assemble(mechanism, {'a': 0.7})
    tree = pin.buildModelFromXML(robot(*TREE, *POINTS))
    data = tree.createData()
    values = {name: q[mechanism.joint_slices(name)[0]][0] for name in 'abc'}
    # Pinocchio has cosine and sine of a continuous joint
    pin.framesForwardKinematics(
        tree, data, np.ravel([(np.cos(values[name]), np.sin(values[name])) for name in 'abc'])
    )
    first, second = (data.oMf[tree.getFrameId(f'closing_pin_{end}')].translation for end in (1, 2))
    assert np.linalg.norm(first - second) < 1e-9
    assert ccd.coordinates(mechanism, q).mobility == 1


def test_a_second_pair_along_z_makes_a_hinge():
    (loop,) = read(SAME_POINT['closing frames of a hinge']).loops
    assert loop.type is LoopType.REVOLUTE and loop.name == 'closing_pin'
    described = read(SAME_POINT['closing frames'])
    assert described.loops[0].type is LoopType.SPHERICAL
    assert any('taken as ball joints: closing_pin' in note for note in described.notes)


def test_a_constraint_between_closing_frames_says_how():
    own = (
        '<constraint name="own" type="fixed"><parent link="closing_pin_1"/>'
        '<child link="closing_pin_2"/></constraint>'
    )
    (loop,) = read(robot(*TREE, *POINTS, own)).loops
    assert loop.name == 'own'


def test_a_closing_frame_without_partner_is_told():
    notes = read(robot(*TREE, POINTS[0])).notes
    assert any("'closing_pin_1' has no partner" in note for note in notes)


def test_springs_mimics_and_rotors_of_drake_are_read():
    spring = (
        '<drake:linear_spring_damper><drake:linear_spring_damper_body_A name="base"/>'
        '<drake:linear_spring_damper_p_AP value="1 2 3"/>'
        '<drake:linear_spring_damper_body_B name="rod"/>'
        '<drake:linear_spring_damper_p_BQ value="4 5 6"/>'
        '<drake:linear_spring_damper_free_length value="7"/>'
        '<drake:linear_spring_damper_stiffness value="8"/>'
        '<drake:linear_spring_damper_damping value="9"/></drake:linear_spring_damper>'
    )
    motor = (
        '<transmission><joint name="a"/><actuator name="m"><drake:rotor_inertia value="0.01"/>'
        '<drake:gear_ratio value="20"/></actuator></transmission>'
    )
    mimic = link('wheel') + joint(
        'd', 'rod', 'wheel', inside='<drake:mimic joint="b" multiplier="-2" offset="0.5"/>'
    )
    described = read(drake(spring, motor, mimic))
    (read_spring,) = described.springs
    assert (read_spring.stiffness, read_spring.damping, read_spring.rest) == (8.0, 9.0, 7.0)
    assert (read_spring.from_link, read_spring.from_xyz) == ('base', (1.0, 2.0, 3.0))
    assert (read_spring.to_link, read_spring.to_xyz) == ('rod', (4.0, 5.0, 6.0))
    assert described.joints[0].dynamics.armature == pytest.approx(4.0)
    (coupling,) = described.couplings
    assert coupling.terms == (CouplingTerm('d', (1.0,)), CouplingTerm('b', (2.0,)))
    assert coupling.constant == -0.5


@pytest.mark.parametrize(
    'text, said',
    [
        (drake(BALL.replace('name="rod"', 'name="rud"')), "no link named 'rud'"),
        (drake(BALL.replace('<drake:ball_constraint_p_AP value="0.9 0 0"/>', '')), '_p_AP'),
        (robot(*TREE, ISAAC.format('other')), 'two links, not 1'),
    ],
)
def test_what_is_wrong_is_named(text, said):
    with pytest.raises(ccd.ClosedChainError, match=said):
        read(text)


YAML = "closed_loop: [['rod', 'rocker']]\ntype: ['3d']\n"


def test_a_yaml_under_another_name_is_read_where_it_can_belong_to_no_other(tmp_path):
    (tmp_path / 'robot.urdf').write_text(robot(*TREE))
    (tmp_path / 'loops.yml').write_text(YAML)
    described = read(tmp_path / 'robot.urdf')
    assert [loop.name for loop in described.loops] == ['rod_rocker']
    assert any('loops.yml' in note for note in described.notes)


def test_a_yaml_that_may_belong_to_another_is_told_loudly(tmp_path):
    for name in ('robot.urdf', 'other.urdf'):
        (tmp_path / name).write_text(robot(*TREE))
    (tmp_path / 'loops.yaml').write_text(YAML)
    described = read(tmp_path / 'robot.urdf')
    assert described.loops == ()
    assert any('LOOPS MAY BE MISSING' in note for note in described.notes)


def test_a_yaml_of_another_urdf_is_its_own(tmp_path):
    for name in ('robot.urdf', 'other.urdf'):
        (tmp_path / name).write_text(robot(*TREE))
    (tmp_path / 'other.yaml').write_text(YAML)
    described = read(tmp_path / 'robot.urdf')
    assert described.loops == () and not any('yaml' in note for note in described.notes)


# a parallelogram that is closed with all joints at zero
CLOSED_AT_ZERO = [
    *(link(name) for name in ('base', 'crank', 'rod', 'rocker', 'dummy')),
    joint('a', 'base', 'crank'),
    joint('b', 'crank', 'rod', origin='xyz="0 0.5 0"'),
    joint('c', 'base', 'rocker', origin='xyz="1 0 0"'),
    joint('pin', 'rod', 'dummy', origin='xyz="1 0 0" rpy="0 0 0.4"'),
]
PLUGIN = """<gazebo><plugin filename="gz-sim-detachable-joint-system"
  name="gz::sim::systems::DetachableJoint"><parent_link>rocker</parent_link>
  <child_model>{}</child_model><child_link>{}</child_link></plugin></gazebo>"""


def test_a_joint_that_gazebo_may_detach_is_a_weld_where_it_stands_at_zero():
    text = robot(*CLOSED_AT_ZERO, PLUGIN.format('r', 'dummy'))
    mechanism = ccd.load(text)
    q = ccd.assemble(mechanism, {'a': 0.7})
    values = [q[mechanism.joint_slices(name)[0]][0] for name in ('b', 'c', 'pin')]
    np.testing.assert_allclose(values, [-0.7, 0.7, 0.7], atol=1e-9)
    assert ccd.coordinates(mechanism, q).mobility == 1
    assert any('is a weld' in note for note in mechanism.description.notes)


@pytest.mark.parametrize('other', [('box', 'dummy'), ('r', 'lid')])
def test_what_gazebo_attaches_to_another_model_stays_open(other):
    description = read(robot(*CLOSED_AT_ZERO, PLUGIN.format(*other)))
    assert not description.loops
    assert any('stays open' in note for note in description.notes)


def test_constraints_may_name_joints_as_a_fork_of_urdfdom_does():
    ends = '<parent link="rod"/><parent_origin xyz="1 0 0"/><child link="rocker"/>'
    loop = f'<constraint name="k" type="{{}}">{ends}<child_origin xyz="0 0.5 0"/></constraint>'
    own, fork = (
        read(robot(*CLOSED_AT_ZERO, loop.format(kind)))
        for kind in ('spherical', 'spherical_joint')
    )
    assert own.loops == fork.loops
