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

"""Reading and writing descriptions: every tag, other parsers as oracles, and the round trip."""

import logging
import math
from pathlib import Path

from hypothesis import HealthCheck, given, settings, strategies as st
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
    Inertia,
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
    check,
    read,
    to_xml,
    write,
)
from closed_chain_dynamics.errors import ClosedChainError, DescriptionError

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = sorted((ROOT / 'urdf').glob('*.urdf'))
SHARED_FOLDER = ROOT.parent / 'shared' / 'models'
SHARED = sorted(SHARED_FOLDER.glob('urdfplus/*.urdf')) + sorted(
    SHARED_FOLDER.glob('extended_urdf/*/robot.urdf')
)
# Axes are normalised here and not by the other parser; files write eight digits or more.
AXIS_DIGITS = 1e-7
# Total mass is a sum of a few dozen doubles.
MASS_ROUNDING = 1e-12

needs_shared = pytest.mark.skipif(not SHARED, reason='the shared models are not on this machine')
all_files = pytest.mark.parametrize(
    'file', SHIPPED + SHARED, ids=lambda file: '/'.join(file.parts[-2:])
)

EVERYTHING = """
<robot name="all" xmlns:cc="urn:closed_chain_dynamics">
  <material name="red"> <color rgba="1 0 0 1"/> </material>
  <link name="base">
    <visual name="plate"> <geometry> <box size="1 2 3"/> </geometry> <material name="red"/>
    </visual>
    <visual> <origin xyz="1 0 0" rpy="0 0 1"/>
      <geometry> <mesh filename="package://a/b.stl" scale="0.1 0.1 0.1"/> </geometry>
      <material name="blue"> <color rgba="0 0 1 0.5"/> </material> </visual>
    <collision> <geometry> <cylinder radius="0.1" length="2"/> </geometry> </collision>
    <collision> <geometry> <capsule radius="0.2" length="3"/> </geometry> </collision>
    <collision> <geometry> <sphere radius="0.5"/> </geometry> </collision>
  </link>
  <link name="a"> <inertial> <origin xyz="0.1 0 0" rpy="0 0.2 0"/> <mass value="2"/>
    <inertia ixx="1" ixy="0.1" ixz="0.2" iyy="1.5" iyz="0.3" izz="2"/> </inertial> </link>
  <link name="b"> <inertial> <mass value="1"/> <inertia ixx="1" iyy="1" izz="1"/> </inertial>
  </link>
  <link name="c"> <inertial> <mass value="1"/> <inertia ixx="1" iyy="1" izz="1"/> </inertial>
  </link>
  <link name="d"> <inertial> <mass value="1"/> <inertia ixx="1" iyy="1" izz="1"/> </inertial>
  </link>
  <joint name="knee" type="revolute" cc:role="actuated" independent="true">
    <origin xyz="1 2 3" rpy="0.1 0.2 0.3"/> <parent link="base"/> <child link="a"/>
    <axis xyz="0 0 2"/> <limit lower="-1" upper="2" effort="30" velocity="4"/>
    <dynamics damping="0.1" friction="0.2"/>
    <cc:limit_moment model="linear" stiffness="200" damping="1" transition="0.05"/> </joint>
  <joint name="shoulder" type="floating" cc:type="spherical">
    <parent link="a"/> <child link="b"/> </joint>
  <joint name="slide" type="prismatic" cc:role="passive">
    <parent link="base"/> <child link="c"/> <axis xyz="0 3 4"/> <limit lower="0" upper="1"/>
  </joint>
  <joint name="wheel" type="continuous" independent="false">
    <parent link="c"/> <child link="d"/> <axis xyz="0 1 0"/> <limit effort="5" velocity="6"/>
    <mimic joint="knee" multiplier="-2" offset="0.5"/> </joint>
  <constraint name="grip" type="hinge" active="false" cc:role="actuated">
    <parent link="b"/> <parent_origin xyz="1 0 0" rpy="0 0 0.5"/> <parent_axis xyz="0 2 0"/>
    <child link="d"/> <child_origin xyz="0.5 0 0"/> <child_axis xyz="3 0 0"/>
    <limit lower="-3" upper="3" effort="7" velocity="8"/>
    <dynamics damping="0.3" friction="0.4"/>
    <cc:limit_moment stiffness="10"/>
    <cc:contact normal="0 0 5" unilateral="false" mu="0.8"/>
  </constraint>
  <coupling name="gear"> <predecessor link="a"/> <successor link="d"/> <ratio value="6"/>
    <offset value="0.25"/> <carrier link="base"/> </coupling>
  <coupling name="sum" active="false"> <cc:term joint="knee"/>
    <cc:term joint="wheel" coefficients="-2 0.1"/> <offset value="0.75"/> </coupling>
  <cc:spring name="s" type="linear"> <cc:from link="base" xyz="1 2 3"/> <cc:to link="b"/>
    <cc:law stiffness="100" damping="2" rest_length="0.3"/> </cc:spring>
  <cc:spring name="t" type="torsional" joint="knee">
    <cc:law stiffness="50" rest_angle="-0.1"/> </cc:spring>
  <cc:assembly name="up"> <cc:joint name="knee" value="1"/> <cc:joint name="slide" value="0.5"/>
  </cc:assembly>
</robot>
"""


@pytest.fixture
def everything():
    return read(EVERYTHING)


def by_name(group):
    return {each.name: each for each in group}


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
    assert 'No position limits' in notes and 'knee' in notes
    assert 'point mass' in notes
    assert read(text).joints[0].limit == Limit()


# ---- inertias that are allowed ----


def arm(moments, axis='0 0 1', upper_axis='0 0 1', upper='revolute', origin='', inertial=''):
    return f"""<robot name="r"> <link name="base"/> <link name="upper"/>
      <link name="arm"> <inertial> <origin {inertial}/> <mass value="1"/> <inertia {moments}/>
      </inertial> </link>
      <joint name="first" type="{upper}"> <origin rpy="0.3 0.2 0.1"/> <parent link="base"/>
        <child link="upper"/> <axis xyz="{upper_axis}"/> </joint>
      <joint name="second" type="revolute"> <origin {origin}/> <parent link="upper"/>
        <child link="arm"/> <axis xyz="{axis}"/> </joint> </robot>"""


ONE_MOMENT = 'ixx="0" iyy="0" izz="1"'
ACROSS = 'ixx="0.1" iyy="1" izz="0.1"'
ALONG = 'ixx="0.1" iyy="0.1" izz="1"'


@pytest.mark.parametrize(
    'values',
    [
        {'moments': ONE_MOMENT},
        {'moments': ACROSS},
        {'moments': ACROSS, 'upper_axis': '0 0 -1'},
        {'moments': ACROSS, 'upper_axis': '1 2 3', 'upper': 'prismatic'},
        {'moments': ACROSS, 'upper': 'fixed'},
        # z of the arm lies at an angle of half a radian in the axes of the upper link
        {
            'moments': ACROSS,
            'origin': 'rpy="0.5 0 0"',
            'upper_axis': f'0 {-math.sin(0.5)} {math.cos(0.5)}',
        },
        {'moments': ALONG, 'inertial': f'rpy="{math.pi / 2} 0 0"'},
    ],
)
def test_impossible_moments_that_never_count_are_noted(values):
    assert any('arm' in note and 'never count' in note for note in read(arm(**values)).notes)


@pytest.mark.parametrize(
    'values',
    [
        {'moments': ALONG},
        {'moments': ACROSS, 'inertial': f'rpy="{math.pi / 2} 0 0"'},
        {'moments': ACROSS, 'upper_axis': '0 1 0'},
        {'moments': ONE_MOMENT, 'upper_axis': '0 1 0'},
        {'moments': ONE_MOMENT, 'upper': 'spherical'},
        {'moments': ACROSS, 'axis': '0 0.01 1', 'upper_axis': '0 0.01 1'},
    ],
)
def test_impossible_moments_that_count_are_kept_with_a_warning(values):
    notes = read(arm(**values)).notes
    assert any('No rigid body' in note and 'arm (1 > ' in note for note in notes)


@pytest.mark.parametrize(
    'moments',
    [
        'ixx="0" iyy="1" izz="1"',
        'ixx="0.5" iyy="0.5" izz="1.0000004"',
        'ixx="0" iyy="0" izz="0"',
        'ixx="1" iyy="1" izz="0" ixy="1e-17"',
    ],
)
def test_rods_discs_and_points_are_bodies(moments):
    assert not any('rigid' in note for note in read(arm(moments, upper_axis='0 1 0')).notes)


def test_a_massless_link_that_carries_mass_is_allowed():
    assert read(arm('ixx="1" iyy="1" izz="1"')).links[1].inertia is None


def test_a_rotor_of_pure_rotary_inertia_is_allowed_and_noted():
    text = arm('ixx="1" iyy="1" izz="1"').replace('mass value="1"', 'mass value="0"')
    assert any('no mass: arm' in note for note in read(text).notes)


# ---- floating root ----


def test_a_floating_root_stands_on_a_new_world(everything):
    free = read(EVERYTHING, root_joint='floating')
    assert free.root == 'world'
    assert free.joints[0] == Joint('root_joint', JointType.FLOATING, 'world', 'base')
    assert (free.links[1:], free.joints[1:]) == (everything.links, everything.joints)
    assert free.couplings == everything.couplings
    assert read(to_xml(free)) == free


# ---- other parsers as oracles ----


@all_files
def test_links_and_joints_agree_with_urdf_parser_py(file, capfd):
    ours, theirs = read(file), URDF.from_xml_file(str(file))
    links = by_name(ours.links)
    for link in theirs.links:
        mine = links[link.name].inertia
        if link.inertial is None:
            assert mine is None
            continue
        tensor = link.inertial.inertia
        assert mine.mass == link.inertial.mass, link.name
        assert mine.moments == tuple(
            float(getattr(tensor, key)) for key in ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
        ), link.name
        if link.inertial.origin is not None:
            assert mine.origin == pose(link.inertial.origin), link.name
        for shapes, other in (
            (links[link.name].visuals, link.visuals),
            (links[link.name].collisions, link.collisions),
        ):
            assert len(shapes) == len(other), link.name
    joints = by_name(ours.joints)
    compared = 0
    for joint in theirs.joints:
        mine = joints.get(joint.name)
        if mine is None or mine.type.value != joint.type:
            continue  # re-typed by the YAML beside the file, or by cc:type
        assert (mine.parent, mine.child) == (joint.parent, joint.child)
        assert mine.origin == pose(joint.origin), joint.name
        if mine.type.nv == 1:
            axis = np.array(joint.axis or [1.0, 0.0, 0.0])
            assert mine.axis == pytest.approx(axis / np.linalg.norm(axis), abs=AXIS_DIGITS)
        if joint.limit is not None and 'upper=' in limit_text(file, joint.name):
            assert mine.limit.lower == joint.limit.lower, joint.name
            assert mine.limit.upper == joint.limit.upper, joint.name
            assert mine.limit.effort == joint.limit.effort, joint.name
        compared += 1
    assert compared > 0


def pose(origin):
    if origin is None:
        return Pose()
    return Pose(
        tuple(map(float, origin.xyz or (0, 0, 0))), tuple(map(float, origin.rpy or (0, 0, 0)))
    )


def limit_text(file, joint):
    """Return the text of a joint, because the other parser turns 'not given' into zero."""
    text = file.read_text().split(f'name="{joint}"')
    return max((part.split('</joint>')[0] for part in text[1:]), key=len)


@all_files
def test_total_mass_agrees_with_pinocchio(file):
    # A free root makes pinocchio count the mass of the root link as well.
    theirs = pin.buildModelFromUrdf(str(file), pin.JointModelFreeFlyer())
    total = sum(link.inertia.mass for link in read(file).links if link.inertia)
    assert total == pytest.approx(pin.computeTotalMass(theirs), rel=MASS_ROUNDING)


@all_files
def test_files_survive_a_save_and_stay_plain_urdf(file, tmp_path, capfd):
    first = read(file)
    write(first, tmp_path / 'saved.urdf')
    assert read(tmp_path / 'saved.urdf') == first
    theirs = pin.buildModelFromUrdf(str(tmp_path / 'saved.urdf'), pin.JointModelFreeFlyer())
    total = sum(link.inertia.mass for link in first.links if link.inertia)
    assert total == pytest.approx(pin.computeTotalMass(theirs), rel=MASS_ROUNDING)
    parsed = URDF.from_xml_file(str(tmp_path / 'saved.urdf'))
    assert [joint.name for joint in parsed.joints] == [joint.name for joint in first.joints]


@needs_shared
def test_all_kinds_of_shared_models_are_there():
    assert len(SHARED) >= 6


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


# ---- descriptions built by hand, at random ----

numbers = st.floats(-1e6, 1e6)
not_negative = st.floats(0.0, 1e6)
vectors = st.tuples(numbers, numbers, numbers)
poses = st.builds(Pose, vectors, vectors)
# Unit vectors as a file would hold them.
units = st.sampled_from(
    [
        (1.0, 0.0, 0.0),
        (0.0, -1.0, 0.0),
        (0.0, 0.6, 0.8),
        (1 / math.sqrt(3),) * 3,
        (0.0, 1 / math.sqrt(2), -1 / math.sqrt(2)),
    ]
)
words = st.text(
    st.characters(codec='utf-8', exclude_categories=('C', 'Z')), min_size=1, max_size=4
)
efforts = st.one_of(st.just(math.inf), st.floats(0.0, 1e20))


@st.composite
def limits(draw, ranged=True):
    lower, upper = -math.inf, math.inf
    if ranged and draw(st.booleans()):
        lower, upper = sorted(draw(st.tuples(numbers, numbers)))
    return Limit(lower, upper, draw(efforts), draw(efforts))


@st.composite
def inertias(draw):
    # The moments of a box satisfy the triangle inequality.
    x, y, z = draw(st.tuples(*3 * [st.floats(0.01, 10.0)]))
    mass = draw(st.floats(0.001, 1e3))
    moments = [mass * (a * a + b * b) for a, b in ((y, z), (x, z), (x, y))]
    return Inertia(mass, draw(poses), (moments[0], 0.0, 0.0, moments[1], 0.0, moments[2]))


@st.composite
def shapes(draw):
    kind = draw(st.sampled_from(['box', 'sphere', 'cylinder', 'capsule', 'mesh']))
    count = {'box': 3, 'sphere': 1, 'mesh': 0}.get(kind, 2)
    geometry = Geometry(kind, tuple(draw(not_negative) for _ in range(count)))
    if kind == 'mesh':
        geometry = Geometry(kind, (), draw(words), draw(vectors))
    rgba = draw(st.one_of(st.just(()), st.tuples(*4 * [st.floats(0.0, 1.0)])))
    return Shape(
        geometry,
        draw(poses),
        rgba,
        draw(words) if rgba else '',
        draw(st.one_of(st.just(''), words)),
    )


@st.composite
def descriptions(draw):
    count = draw(st.integers(1, 5))
    links = tuple(
        Link(
            f'{draw(words)} {i}',
            draw(inertias()),
            tuple(draw(st.lists(shapes(), max_size=2))),
            tuple(draw(st.lists(shapes(), max_size=1))),
        )
        for i in range(count)
    )
    joints = []
    for i in range(1, count):
        kind = draw(st.sampled_from(JointType))
        has_axis = kind.nv == 1 or kind is JointType.PLANAR
        joints.append(
            Joint(
                f'{draw(words)} joint {i}',
                kind,
                links[draw(st.integers(0, i - 1))].name,
                links[i].name,
                draw(poses),
                draw(units) if has_axis else (1.0, 0.0, 0.0),
                draw(limits(ranged=kind is not JointType.CONTINUOUS)),
                Dynamics(draw(not_negative), draw(not_negative)),
                draw(
                    st.none()
                    | st.builds(
                        LimitMoment, st.just('linear'), not_negative, not_negative, not_negative
                    )
                ),
                draw(st.sampled_from(['', 'passive'] + ['actuated'] * (kind.nv > 0))),
                draw(st.none() | st.booleans()),
            )
        )
    loops = draw(loop_joints(links)) if count > 1 else ()
    hinges = [joint.name for joint in joints if joint.type.nv == 1]
    couplings = draw(explicit_couplings(hinges)) if len(hinges) > 1 else ()
    springs = []
    if count > 1:
        springs.append(
            Spring(
                's',
                'linear',
                draw(not_negative),
                draw(not_negative),
                draw(not_negative),
                links[0].name,
                draw(vectors),
                links[1].name,
                draw(vectors),
            )
        )
    springs += [
        Spring(
            f't{i}', 'torsional', draw(not_negative), draw(not_negative), draw(numbers), joint=name
        )
        for i, name in enumerate(hinges)
    ]
    return Description(
        draw(words),
        links,
        tuple(joints),
        loops,
        couplings,
        tuple(springs),
        tuple(Actuator(each.name) for each in (*joints, *loops) if each.role == 'actuated'),
        (Assembly('up', tuple((name, draw(numbers)) for name in hinges)),),
    )


@st.composite
def loop_joints(draw, links):
    loops = []
    for i in range(draw(st.integers(0, 2))):
        kind = draw(st.sampled_from(LoopType))
        axes = (
            {}
            if kind in (LoopType.FIXED, LoopType.SPHERICAL, LoopType.FREE)
            else {'parent_axis': draw(units), 'child_axis': draw(units)}
        )
        loops.append(
            LoopJoint(
                f'loop {i}',
                kind,
                links[0].name,
                links[-1].name,
                draw(poses),
                draw(poses),
                active=draw(st.booleans()),
                limit=draw(limits()),
                dynamics=Dynamics(draw(not_negative), draw(not_negative)),
                role=draw(st.sampled_from(['', 'passive'] + ['actuated'] * (kind.rows < 6))),
                contact=draw(st.none() | st.builds(Contact, units, st.booleans(), not_negative)),
                **axes,
            )
        )
    return tuple(loops)


@st.composite
def explicit_couplings(draw, hinges):
    first, second = draw(st.permutations(hinges))[:2]
    coefficients = st.lists(numbers, min_size=1, max_size=4).map(tuple)
    mimics = [
        Coupling(
            f'{one}_mimic',
            (CouplingTerm(one, (1.0,)), CouplingTerm(other, (draw(numbers),))),
            draw(numbers),
            active=draw(st.booleans()),
        )
        for one, other in ((first, second), (second, first))
    ]
    other = Coupling(
        'polynomial',
        (CouplingTerm(first, draw(coefficients)), CouplingTerm(second, draw(coefficients))),
        draw(numbers),
        active=draw(st.booleans()),
    )
    return tuple(draw(st.permutations([*mimics, other])))


@given(
    st.integers(0, len(EVERYTHING) - 1),
    st.integers(0, 30),
    st.sampled_from(
        [
            '',
            '"',
            '<',
            '>',
            '/',
            '-',
            'nan',
            '1e999',
            '0',
            'x',
            ' ',
            '<cc:law/>',
            '<axis xyz="0 0 0"/>',
            '&#0;',
            '&x;',
            '\0',
            'é',
            'cc:',
        ]
    ),
)
@settings(max_examples=400, deadline=None)
def test_a_spoiled_file_is_read_or_refused_but_never_crashes(start, length, put):
    try:
        read('<' + (EVERYTHING[:start] + put + EVERYTHING[start + length :]).lstrip('\n<'))
    except ClosedChainError as error:
        assert str(error)


@given(descriptions())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_is_written_is_read_as_the_same(description):
    check(description)
    assert read(to_xml(description)) == description
