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

"""Dialects of one description: URDF+, Extended-URDF YAML, xacro, and the sources of motors."""

from helpers.geared_legs import geared_legs
from helpers.own_robots import own_file
from helpers.urdf_parts import joint, link, robot
import numpy as np
import pinocchio as pin
import pytest
from urdf_parser_py.urdf import URDF
import yaml

from closed_chain_dynamics.description import (
    CouplingTerm,
    JointType,
    LoopJoint,
    LoopType,
    Pose,
    read,
    to_xml,
    write,
)
from closed_chain_dynamics.errors import DescriptionError

# Rotations of a chain of four joints, each a product of doubles.
ANGLE_ROUNDING = 1e-12


def coupling(predecessor, successor, *, carrier='', ratio=2):
    carrier = f'<carrier link="{carrier}"/>' if carrier else ''
    return (
        f'<coupling name="gear"><predecessor link="{predecessor}"/>'
        f'<successor link="{successor}"/><ratio value="{ratio}"/>{carrier}</coupling>'
    )


def terms(*pairs):
    return tuple(CouplingTerm(name, (float(value),)) for name, value in pairs)


# ---- URDF+ -------------------------------------------------------------------------------------

FOUR_BAR = [link(name) for name in ('base', 'crank', 'coupler', 'rocker')] + [
    joint('a', 'base', 'crank', attributes='independent="True"'),
    joint('b', 'crank', 'coupler'),
    joint('c', 'base', 'rocker', attributes='independent="false"'),
]


def test_a_loop_of_urdf_plus_is_a_constraint_with_one_axis_in_both_frames():
    loop = (
        '<loop name="l" type="revolute"><predecessor link="coupler">'
        '<origin xyz="1 0 0" rpy="0 0 1"/></predecessor><successor link="rocker">'
        '<origin xyz="0.5 0 0"/></successor><axis xyz="0 3 4"/></loop>'
    )
    description = read(robot(*FOUR_BAR, loop))
    (read_loop,) = description.loops
    assert read_loop == LoopJoint(
        'l',
        LoopType.REVOLUTE,
        'coupler',
        'rocker',
        Pose((1.0, 0.0, 0.0), (0.0, 0.0, 1.0)),
        Pose((0.5, 0.0, 0.0)),
        (0.0, 0.6, 0.8),
        (0.0, 0.6, 0.8),
    )
    assert [each.independent for each in description.joints] == [True, None, False]
    own = (
        '<constraint name="l" type="revolute"><parent link="coupler"/>'
        '<parent_origin xyz="1 0 0" rpy="0 0 1"/><parent_axis xyz="0 0.6 0.8"/>'
        '<child link="rocker"/><child_origin xyz="0.5 0 0"/></constraint>'
    )
    assert read(robot(*FOUR_BAR, own)) == description


def test_independent_is_never_a_motor():
    assert read(robot(*FOUR_BAR)).actuators == ()


def test_couplings_sum_the_joints_below_the_common_ancestor():
    gears = {each.name: each for each in read(geared_legs()).couplings}
    assert len(gears) == 10
    ankle = gears['right_ankle_gear']
    assert ankle.carrier == 'right_hip_y_link'
    assert ankle.terms == terms(
        ('right_ankle_rotor', 1), ('right_knee', -12), ('right_ankle', -12)
    )


# ---- couplings and their carriers ----

CHAIN = [link(name) for name in ('base', 'arm', 'planet', 'sun')]
EPICYCLIC = [
    *CHAIN,
    joint('turn', 'base', 'arm'),
    joint('spin', 'arm', 'planet'),
    joint('drive', 'base', 'sun'),
]


def test_the_default_carrier_is_the_nearest_common_ancestor():
    (gear,) = read(robot(*EPICYCLIC, coupling('sun', 'planet'))).couplings
    assert gear.carrier == 'base'
    assert gear.terms == terms(('turn', 1), ('spin', 1), ('drive', -2))


def test_turns_relative_to_a_moving_carrier_count_its_own_turn_backwards():
    (gear,) = read(robot(*EPICYCLIC, coupling('sun', 'planet', carrier='arm'))).couplings
    # q_planet - q_arm = 2 (q_sun - q_arm)
    assert gear.terms == terms(('spin', 1), ('turn', 2), ('drive', -2))


def test_a_joint_on_both_ways_is_counted_once():
    (gear,) = read(robot(*EPICYCLIC, coupling('arm', 'planet', carrier='base'))).couplings
    assert gear.terms == terms(('turn', 1 - 2), ('spin', 1))


def test_an_axis_against_the_last_one_counts_negative():
    parts = [
        *CHAIN,
        joint('turn', 'base', 'arm', axis='0 0 -1'),
        joint('spin', 'arm', 'planet', axis='0 1 0', origin='rpy="1.5707963267948966 0 0"'),
        joint('drive', 'base', 'sun'),
    ]
    # A quarter turn about x brings y to z: spin turns about z of the base, turn about -z.
    (gear,) = read(robot(*parts, coupling('sun', 'planet'))).couplings
    assert gear.terms == terms(('turn', -1), ('spin', 1), ('drive', -2))


def test_the_signed_sum_is_the_angle_that_pinocchio_finds(tmp_path):
    parts = [
        *CHAIN,
        link('tip'),
        joint('p', 'base', 'arm', axis='0 0 1', origin='rpy="0.3 0.2 0.1"'),
        joint('q', 'arm', 'planet', axis='0 -1 0', origin='rpy="1.5707963267948966 0 0"'),
        joint('s', 'planet', 'tip', axis='0 1 0', kind='continuous'),
        joint('drive', 'base', 'sun'),
    ]
    text = robot(*parts, coupling('sun', 'tip', ratio=1))
    (gear,) = read(text).couplings
    signs = {term.joint: term.coefficients[0] for term in gear.terms}
    model = pin.buildModelFromXML(robot(*parts))
    data, angles = model.createData(), {'p': 0.3, 'q': 0.5, 's': 0.9}

    def tip(values):
        q = pin.neutral(model)
        for name, value in values.items():
            start = model.joints[model.getJointId(name)].idx_q
            q[start : start + 2] = np.cos(value), np.sin(value)
        pin.framesForwardKinematics(model, data, q)
        return data.oMf[model.getFrameId('tip')].rotation.copy()

    turn = pin.log3(tip({}).T @ tip(angles))
    expected = sum(signs[name] * value for name, value in angles.items())
    # The axis of the last joint, y of the tip, is the direction that counts as positive.
    assert turn == pytest.approx([0.0, expected, 0.0], abs=ANGLE_ROUNDING)


def test_axes_that_are_not_parallel_are_summed_and_noted():
    parts = [
        *CHAIN,
        joint('turn', 'base', 'arm', axis='0 1 0'),
        joint('spin', 'arm', 'planet'),
        joint('drive', 'base', 'sun'),
    ]
    description = read(robot(*parts, coupling('sun', 'planet')))
    assert description.couplings[0].terms == terms(('turn', 1), ('spin', 1), ('drive', -2))
    assert any("'gear'" in note and 'not parallel' in note for note in description.notes)


def test_a_rack_and_pinion_couples_a_slide_with_a_turn():
    parts = [
        *CHAIN,
        joint('turn', 'base', 'arm'),
        joint('rack', 'base', 'sun', kind='prismatic'),
        joint('fix', 'arm', 'planet', kind='fixed'),
    ]
    (gear,) = read(robot(*parts, coupling('planet', 'sun', ratio=0.05))).couplings
    assert gear.terms == terms(('rack', 1), ('turn', -0.05))


def test_a_slide_on_the_way_does_not_turn():
    parts = [
        *CHAIN,
        joint('slide', 'base', 'arm', kind='prismatic'),
        joint('spin', 'arm', 'planet'),
        joint('drive', 'base', 'sun'),
    ]
    (gear,) = read(robot(*parts, coupling('sun', 'planet'))).couplings
    assert gear.terms == terms(('spin', 1), ('drive', -2))


# ---- motors ----

CONTROL = (
    '<ros2_control name="h" type="system">'
    '<joint name="a"><command_interface name="effort"/><state_interface name="position"/>'
    '</joint><joint name="b"><state_interface name="position"/></joint>'
    '<joint name="c"><command_interface name="position"/></joint></ros2_control>'
)
BOUNDED = (
    '<ros2_control name="h" type="system"><joint name="a"><command_interface name="effort">'
    '<param name="min">-5</param><param name="max">{}</param></command_interface></joint>'
    '</ros2_control>'
)
TRANSMISSION = (
    '<transmission name="t"><type>simple</type><joint name="b"/>'
    '<actuator name="m"/></transmission>'
)


def arm(roles, *extra):
    names = ('base', 'one', 'two', 'three')
    joints = [
        joint(
            name,
            parent,
            child,
            origin='xyz="1 2 3"',
            attributes=f'cc:role="{roles[name]}"' if name in roles else '',
        )
        for name, parent, child in zip('abc', names, names[1:])
    ]
    return robot(*map(link, names), *joints, *extra)


def test_a_motor_of_ros2_control_gives_what_its_interface_allows():
    """The smaller of both bounds, and not more than the joint's own limit."""
    joints = read(arm({}, BOUNDED.format('7'))).joints
    assert [each.limit.effort for each in joints[:1]] == [5.0]
    assert read(arm({'b': 'actuated'}, BOUNDED.format('3'))).joints[0].limit.effort == 3.0
    with pytest.raises(DescriptionError, match="the bound 'max' of an effort is 'much'"):
        read(arm({}, BOUNDED.format('much')))


def test_a_position_interface_is_no_motor():
    found = read(arm({}, CONTROL))
    assert [each.joint for each in found.actuators] == ['a']
    assert any("'c'" in note and 'no effort' in note for note in found.notes)


@pytest.mark.parametrize(
    'roles, extra, argument, expected, source',
    [
        ({}, (), None, '', ''),
        ({}, (TRANSMISSION,), None, 'b', 'transmission'),
        ({}, (TRANSMISSION, CONTROL), None, 'a', 'ros2_control'),
        ({'b': 'actuated'}, (TRANSMISSION, CONTROL), None, 'b', 'cc:role'),
        ({'b': 'actuated'}, (TRANSMISSION, CONTROL), ['c', 'a'], 'ac', 'argument'),
        ({'b': 'actuated'}, (CONTROL,), [], '', ''),
        ({}, (), 'c', 'c', 'argument'),
        ({'a': 'passive'}, (CONTROL,), None, '', 'ros2_control'),
        ({'b': 'passive'}, (TRANSMISSION,), None, '', ''),
        ({'a': 'passive'}, (), ['a'], 'a', 'argument'),
    ],
)
def test_the_first_source_that_names_a_motor_decides(roles, extra, argument, expected, source):
    description = read(arm(roles, *extra), actuated=argument)
    assert ''.join(each.joint for each in description.actuators) == expected
    assert {each.source for each in description.actuators} == ({source} if expected else set())
    settled = {each.name for each in description.joints if each.role == 'actuated'}
    assert settled == set(expected)
    assert read(to_xml(description)) == description


def test_a_cut_joint_can_have_the_motor():
    loop = '<constraint name="l" type="hinge"><parent link="base"/><child link="three"/>{}'
    text = arm({}, loop.format('<parent_axis xyz="0 0 1"/></constraint>'))
    description = read(text, actuated=['l', 'a'])
    assert [each.joint for each in description.actuators] == ['a', 'l']
    assert description.loops[0].role == 'actuated'


# ---- Extended URDF ----


def extended(tmp_path, **content):
    (tmp_path / 'robot.urdf').write_text(
        arm({}, CONTROL, joint('d', 'three', 'tip', kind='fixed'), link('tip'))
    )
    (tmp_path / 'robot.yaml').write_text(yaml.safe_dump(content))
    return read(tmp_path / 'robot.urdf')


def test_loops_join_links_or_the_links_of_joints(tmp_path):
    loops = extended(
        tmp_path, closed_loop=[['base', 'tip'], ['one', 'd']], type=['3d', '6D']
    ).loops
    assert loops == (
        LoopJoint('base_tip', LoopType.SPHERICAL, 'base', 'tip'),
        LoopJoint('one_d', LoopType.FIXED, 'one', 'tip'),
    )


def test_without_types_loops_are_rigid(tmp_path):
    assert extended(tmp_path, closed_loop=[['base', 'tip']]).loops[0].type is LoopType.FIXED


def test_motors_of_the_yaml_come_before_ros2_control(tmp_path):
    actuators = extended(tmp_path, closed_loop=[], name_mot=['b']).actuators
    assert [(each.joint, each.source) for each in actuators] == [('b', 'name_mot')]


def test_joints_are_re_typed(tmp_path):
    joints = {
        each.name: each
        for each in extended(
            tmp_path,
            closed_loop=[],
            name_mot=['a'],
            joint_name=['b', 'c'],
            joint_type=['SPHERICAL', 'FIXED'],
        ).joints
    }
    assert joints['b'].type is JointType.SPHERICAL
    assert joints['c'].type is JointType.FIXED
    assert joints['a'].type is JointType.CONTINUOUS


def test_a_joint_that_is_not_there_is_told_and_passed_over(tmp_path):
    description = extended(
        tmp_path, closed_loop=[], joint_name=['bb', 'c'], joint_type=['SPHERICAL', 'FIXED']
    )
    joints = {each.name: each.type for each in description.joints}
    assert joints['b'] is not JointType.SPHERICAL and joints['c'] is JointType.FIXED
    (note,) = [each for each in description.notes if 'joint_name' in each]
    assert "no joint named 'bb'" in note and "'b'" in note.partition('dialect.')[2]


def test_a_universal_joint_becomes_two_turns_about_axes_of_its_frame(tmp_path):
    description = extended(
        tmp_path, closed_loop=[], name_mot=['a'], joint_name=['b'], joint_type=['UJOINT_YZ']
    )
    joints = {each.name: each for each in description.joints}
    assert 'b' not in joints
    first, second = joints['b_Y'], joints['b_Z']
    assert (first.parent, second.child) == ('one', 'two')
    assert first.child == second.parent == 'b_cross'
    assert (first.axis, second.axis) == ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    assert (first.origin, second.origin) == (Pose((1.0, 2.0, 3.0)), Pose())
    assert {each.name: each for each in description.links}['b_cross'].inertia is None


@pytest.mark.parametrize(
    'content', ['', 'ros__parameters: {rate: 10}', '[not, a, mapping]', 'unreadable: [']
)
def test_another_yaml_beside_the_file_is_left_alone(tmp_path, content):
    (tmp_path / 'robot.urdf').write_text(arm({}))
    (tmp_path / 'robot.yaml').write_text(content)
    assert read(tmp_path / 'robot.urdf').loops == ()


def test_a_save_beside_such_a_yaml_is_refused(tmp_path):
    description = extended(tmp_path, closed_loop=[['base', 'tip']])
    before = (tmp_path / 'robot.urdf').read_text()
    with pytest.raises(DescriptionError, match='robot.yaml beside it.*another file name'):
        write(description, tmp_path / 'robot.urdf')
    assert (tmp_path / 'robot.urdf').read_text() == before
    write(description, tmp_path / 'saved.urdf')
    assert read(tmp_path / 'saved.urdf') == description


def test_legs_with_rods_have_their_loops_motors_and_types(tmp_path):
    file = own_file('rod_legs', tmp_path)
    description = read(file)
    content = yaml.safe_load(file.with_suffix('.yaml').read_text())
    joints = {each.name: each for each in description.joints}
    kinds = dict(zip(content['joint_name'], content['joint_type']))
    for name, kind in kinds.items():
        if kind == 'SPHERICAL':
            assert joints[name].type is JointType.SPHERICAL
        else:
            assert joints[f'{name}_X'].axis == (1.0, 0.0, 0.0)
            assert joints[f'{name}_Y'].axis == (0.0, 1.0, 0.0)
    assert [(loop.parent, loop.child) for loop in description.loops] == [
        tuple(pair) for pair in content['closed_loop']
    ]
    assert {loop.type for loop in description.loops} == {LoopType.FIXED}
    assert {each.joint for each in description.actuators} == set(content['name_mot'])
    plain = URDF.from_xml_file(str(file))
    hinges = sum(each.type == 'revolute' for each in plain.joints)
    more = {'SPHERICAL': 2, 'UJOINT_XY': 1}  # velocities that a hinge has not
    assert sum(each.type.nv for each in description.joints) == hinges + sum(
        more[kind] for kind in kinds.values()
    )


# ---- xacro ----

XACRO = """<robot name="r" xmlns:xacro="http://ros.org/wiki/xacro"
       xmlns:cc="urn:closed_chain_dynamics">
  <xacro:arg name="length" default="1"/>
  <xacro:macro name="bar" params="name parent">
    <link name="${name}"> <inertial> <mass value="${2 * 0.5}"/>
      <inertia ixx="1" iyy="1" izz="1"/> </inertial> </link>
    <joint name="to_${name}" type="continuous" cc:role="actuated"> <parent link="${parent}"/>
      <child link="${name}"/> <origin xyz="$(arg length) 0 0"/> </joint>
  </xacro:macro>
  <link name="base"/>
  <xacro:bar name="first" parent="base"/>
  <xacro:bar name="second" parent="first"/>
  <cc:spring name="s" type="torsional" joint="to_first"> <cc:law stiffness="${1 + 1}"/>
  </cc:spring>
</robot>"""


@pytest.mark.parametrize('name', ['arm.xacro', 'arm.urdf.xacro', 'arm.urdf', 'arm.xml'])
def test_macros_arguments_and_own_tags_are_expanded(tmp_path, name):
    (tmp_path / name).write_text(XACRO)
    description = read(tmp_path / name, xacro_args={'length': 2.5})
    assert [each.name for each in description.joints] == ['to_first', 'to_second']
    assert description.joints[0].origin.xyz == (2.5, 0.0, 0.0)
    assert [each.joint for each in description.actuators] == ['to_first', 'to_second']
    assert description.springs[0].stiffness == 2.0
    assert read(tmp_path / name).joints[0].origin.xyz == (1.0, 0.0, 0.0)
    assert description.file == str(tmp_path / name)


def test_a_yaml_beside_a_xacro_is_read_with_it(tmp_path):
    (tmp_path / 'arm.urdf.xacro').write_text(XACRO)
    (tmp_path / 'arm.yaml').write_text('closed_loop: [[base, second]]')
    assert [loop.name for loop in read(tmp_path / 'arm.urdf.xacro').loops] == ['base_second']
