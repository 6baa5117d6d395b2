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

"""Reading and writing descriptions: every tag, defaults, notes, and what is written."""

import logging

from helpers.written_descriptions import EVERYTHING, arm, by_name
import numpy as np
import pinocchio as pin
import pytest
from urdf_parser_py.urdf import URDF

from closed_chain_dynamics.description import (
    Actuator,
    Assembly,
    Contact,
    Coupling,
    CouplingTerm,
    Description,
    Dynamics,
    Geometry,
    Joint,
    JointType,
    Limit,
    LimitMoment,
    Link,
    LoopJoint,
    LoopType,
    Pose,
    Shape,
    Spring,
    read,
    to_xml,
    write,
)
from closed_chain_dynamics.errors import DescriptionError, NameNotFound

WHEEL = '<cc:contact wheel="0.3"/>'
ROUND = 'ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"'


@pytest.fixture
def everything():
    return read(EVERYTHING)


def test_a_tree_joint_has_all_that_was_written(everything):
    assert everything.joints[0] == Joint(
        'knee',
        JointType.REVOLUTE,
        'base',
        'a',
        Pose((1.0, 2.0, 3.0), (0.1, 0.2, 0.3)),
        (0.0, 0.0, 1.0),
        Limit(-1.0, 2.0, 30.0, 4.0),
        Dynamics(0.1, 0.2),
        LimitMoment('linear', 200.0, 1.0, 0.05),
        'actuated',
        True,
    )


def test_types_roles_and_limits_of_joints(everything):
    joints = by_name(everything.joints)
    assert joints['shoulder'].type is JointType.SPHERICAL
    assert joints['slide'].axis == pytest.approx((0.0, 0.6, 0.8), abs=1e-16)
    assert (joints['slide'].role, joints['slide'].independent) == ('passive', None)
    assert joints['slide'].limit == Limit(0.0, 1.0)
    assert joints['wheel'].limit == Limit(effort=5.0, velocity=6.0)
    assert joints['wheel'].independent is False


def test_a_loop_joint_has_all_that_was_written(everything):
    assert everything.loops == (
        LoopJoint(
            'grip',
            LoopType.REVOLUTE,
            'b',
            'd',
            Pose((1.0, 0.0, 0.0), (0.0, 0.0, 0.5)),
            Pose((0.5, 0.0, 0.0)),
            (0.0, 1.0, 0.0),
            (1.0, 0.0, 0.0),
            False,
            Limit(-3.0, 3.0, 7.0, 8.0),
            Dynamics(0.3, 0.4),
            LimitMoment(stiffness=10.0),
            'actuated',
            Contact((0.0, 0.0, 1.0), False, 0.8),
        ),
    )


def test_couplings_springs_and_hints_have_all_that_was_written(everything):
    mimic, gear, total = everything.couplings
    assert mimic == Coupling(
        'wheel_mimic', (CouplingTerm('wheel', (1.0,)), CouplingTerm('knee', (2.0,))), constant=-0.5
    )
    assert gear.terms == (CouplingTerm('wheel', (1.0,)), CouplingTerm('knee', (-6.0,)))
    assert (gear.predecessor, gear.successor, gear.carrier) == ('a', 'd', 'base')
    assert (gear.ratio, gear.offset, gear.constant) == (6.0, 0.25, -0.25)
    assert total == Coupling(
        'sum',
        (CouplingTerm('knee', (1.0,)), CouplingTerm('wheel', (-2.0, 0.1))),
        constant=-0.75,
        active=False,
    )
    assert everything.springs == (
        Spring('s', 'linear', 100.0, 2.0, 0.3, 'base', (1.0, 2.0, 3.0), 'b'),
        Spring('t', 'torsional', 50.0, 0.0, -0.1, joint='knee'),
    )
    assert everything.assemblies == (Assembly('up', (('knee', 1.0), ('slide', 0.5))),)
    assert everything.actuators == (Actuator('knee'), Actuator('grip'))


def test_shapes_have_geometry_colour_and_place(everything):
    base = everything.links[0]
    assert base.visuals == (
        Shape(
            Geometry('box', (1.0, 2.0, 3.0)),
            rgba=(1.0, 0.0, 0.0, 1.0),
            material='red',
            name='plate',
        ),
        Shape(
            Geometry('mesh', (), 'package://a/b.stl', (0.1, 0.1, 0.1)),
            Pose((1.0, 0.0, 0.0), (0.0, 0.0, 1.0)),
            (0.0, 0.0, 1.0, 0.5),
            'blue',
        ),
    )
    assert [shape.geometry for shape in base.collisions] == [
        Geometry('cylinder', (0.1, 2.0)),
        Geometry('capsule', (0.2, 3.0)),
        Geometry('sphere', (0.5,)),
    ]


def test_everything_survives_a_save(everything, tmp_path):
    write(everything, tmp_path / 'saved.urdf')
    assert read(tmp_path / 'saved.urdf') == everything
    assert read(to_xml(everything)) == everything


@pytest.mark.parametrize(
    'text, kind',
    [
        ('fixed', 'fixed'),
        ('link', 'fixed'),
        ('weld', 'fixed'),
        ('6d', 'fixed'),
        ('6D', 'fixed'),
        ('revolute', 'revolute'),
        ('continuous', 'revolute'),
        ('hinge', 'revolute'),
        ('prismatic', 'prismatic'),
        ('cylindrical', 'cylindrical'),
        ('universal', 'universal'),
        ('spherical', 'spherical'),
        ('ball', 'spherical'),
        ('3d', 'spherical'),
        ('connect', 'spherical'),
        ('planar', 'planar'),
        ('surface', 'surface'),
        ('point_on_plane', 'surface'),
        ('point on plane', 'surface'),
        ('free', 'free'),
    ],
)
def test_every_loop_type_and_alias_is_read(text, kind):
    (loop,) = read(
        EVERYTHING.replace('type="hinge"', f'type="{text}"').replace('cc:role="actuated"', '')
    ).loops
    assert loop.type.value == kind


def test_an_axis_that_is_given_once_holds_for_both_sides():
    (loop,) = read(EVERYTHING.replace('<child_axis xyz="3 0 0"/>', '')).loops
    assert loop.parent_axis == loop.child_axis == (0.0, 1.0, 0.0)


def test_a_plain_spherical_type_is_read_too(everything):
    assert read(EVERYTHING.replace('"floating" cc:type="spherical"', '"spherical"')) == everything


def test_a_file_in_a_default_namespace_is_the_same(everything):
    assert read(EVERYTHING.replace('<robot ', '<robot xmlns="http://example.org" ')) == everything


def test_a_text_with_byte_order_mark_and_declared_encoding_is_read(everything):
    declared = '\ufeff<?xml version="1.0" encoding="latin-1"?>' + EVERYTHING.strip()
    assert read(declared.replace('"up"', '"über"')).assemblies[0].name == 'über'


def test_a_continuous_joint_has_no_range():
    wheel = read(
        EVERYTHING.replace('<limit effort="5"', '<limit lower="-1" upper="1" effort="5"')
    ).joints[3]
    assert wheel.limit == Limit(effort=5.0, velocity=6.0)


# ---- axes ----
@pytest.mark.parametrize('axis', ['1 2 3', '1e-5 0 0', '1e300 1e300 0', '0.7071 0.7071 0'])
def test_an_axis_becomes_a_unit_vector_and_stays_the_same_when_read_again(axis):
    knee = read(EVERYTHING.replace('xyz="0 0 2"', f'xyz="{axis}"')).joints[0]
    numbers = np.array([float(part) for part in axis.split()])
    expected = numbers / np.max(numbers)
    assert knee.axis == pytest.approx(expected / np.linalg.norm(expected), abs=1e-15)
    again = read(EVERYTHING.replace('xyz="0 0 2"', f'xyz="{" ".join(map(repr, knee.axis))}"'))
    assert again.joints[0].axis == knee.axis


def test_the_default_axis_is_x_as_in_urdf():
    assert read(EVERYTHING.replace('<axis xyz="0 0 2"/>', '')).joints[0].axis == (1.0, 0.0, 0.0)


# ---- notes ----
def test_an_unknown_tag_gives_one_log_line_and_one_note(caplog):
    with caplog.at_level(logging.INFO, logger='closed_chain_dynamics'):
        notes = read(EVERYTHING.replace('<link ', '<gazebo/><gazebo/> <link ')).notes
    assert [record.getMessage() for record in caplog.records] == [
        'XML text, line 4, <gazebo>: unknown tag <gazebo> is ignored'
    ]
    assert len([note for note in notes if '<gazebo>' in note]) == 1


def test_a_good_file_gives_no_note(everything, caplog):
    assert len(everything.notes) == 5 and all('normalised' in note for note in everything.notes)
    assert read(to_xml(everything)).notes == ()
    assert not caplog.records


def test_what_was_assumed_is_noted():
    text = EVERYTHING.replace('<limit lower="-1" upper="2" effort="30" velocity="4"/>', '')
    text = text.replace('<mass value="2"/>', '<mass value="2"/><!--').replace('izz="2"/>', '-->')
    notes = ' '.join(read(text).notes)
    assert 'no position limits' in notes and 'knee' in notes
    assert 'point mass' in notes
    assert read(text).joints[0].limit == Limit()


@pytest.mark.parametrize(('contact', 'told'), [('', 1), ('<cc:contact/>', 0), (WHEEL, 1)])
def test_an_axis_that_is_missing_is_noted_only_where_it_counts(contact, told):
    """A contact has a normal; of its wheel the axis counts."""
    foot = f"""<constraint name="foot" type="surface"> <parent link="base"/> <child link="arm"/>
      {contact} </constraint> </robot>"""
    notes = read(
        arm(ROUND)
        .replace('</robot>', foot)
        .replace('<robot', '<robot xmlns:cc="urn:closed_chain_dynamics"')
    ).notes
    assert sum('has no axis' in note for note in notes) == told


# ---- floating root ----
def test_a_floating_root_stands_on_a_new_world(everything):
    free = read(EVERYTHING, root_joint='floating')
    assert free.root == 'world'
    assert free.joints[0] == Joint('root_joint', JointType.FLOATING, 'world', 'base')
    assert (free.links[1:], free.joints[1:]) == (everything.links, everything.joints)
    assert free.couplings == everything.couplings
    assert read(to_xml(free)) == free


def test_a_foot_may_stand_on_the_world_that_a_floating_root_adds():
    foot = '<constraint name="foot" type="spherical"><parent link="world"/><child link="arm"/>'
    text = arm('ixx="1" iyy="1" izz="1"').replace('</robot>', f'{foot}</constraint></robot>')
    free = read(text, root_joint='floating')
    assert (free.root, free.loops[0].parent) == ('world', 'world')
    assert read(to_xml(free)) == free
    with pytest.raises(NameNotFound, match="no link named 'world'"):
        read(text)


# ---- writing ----
def test_a_mimic_is_written_as_plain_urdf(everything):
    # The other parser does not know capsules.
    theirs = URDF.from_xml_string(to_xml(everything).replace('capsule', 'cylinder').encode())
    (mimic,) = [joint.mimic for joint in theirs.joints if joint.mimic is not None]
    assert (mimic.joint, mimic.multiplier, mimic.offset) == ('knee', -2.0, 0.5)


def test_a_joint_without_limits_is_written_so_that_pinocchio_reads_it():
    text = to_xml(read(arm('ixx="1" iyy="1" izz="1"')))
    assert list(pin.buildModelFromXML(text).names) == ['universe', 'first', 'second']
    assert read(text).joints[0].limit == Limit()


def test_a_place_that_cannot_be_written_is_named(everything, tmp_path):
    with pytest.raises(DescriptionError, match='absent/x.urdf.*Check the folder'):
        write(everything, tmp_path / 'absent' / 'x.urdf')


def test_a_name_that_xml_cannot_hold_is_refused():
    with pytest.raises(DescriptionError, match='control characters'):
        to_xml(Description('r', (Link('a\0b'),), ()))
