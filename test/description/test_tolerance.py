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

"""What published files get wrong by a little is repaired or noted, and never a traceback."""

from helpers.urdf_parts import joint, link, robot
import numpy as np
import pinocchio as pin
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.cli.check_report import check_report
from closed_chain_dynamics.cli.check_text import render
from closed_chain_dynamics.description import JointType, read

TRANSMISSION = '<transmission name="t"><joint name="{}"/></transmission>'
BALL = (
    '<joint name="j" type="floating" cc:type="spherical"><parent link="base"/><child link="b"/>'
    '</joint>'
)


def body(moments, mass=1):
    return robot(
        '<link name="base"/>',
        f'<link name="b"><inertial><mass value="{mass}"/><inertia {moments}/></inertial></link>',
        BALL,
    )


IMPOSSIBLE = body('ixx="0.1" iyy="0.2" izz="1"')
NEGATIVE = body('ixx="1" iyy="1" izz="1" ixy="1.5"')


def possible(inertia):
    """Tell whether Pinocchio finds second moments of mass that none is negative."""
    full = pin.Inertia(inertia.mass, inertia.origin.position, inertia.tensor)
    pseudo = pin.PseudoInertia.FromInertia(full).toMatrix()
    return np.linalg.eigvalsh(pseudo)[0] > -1e-12


@pytest.mark.parametrize(
    ('moments', 'all_six'),
    [
        ('ixx="0.1" iyy="0.2" izz="0.300009"', (0.1, 0.0, 0.0, 0.2, 0.0, 0.300009)),
        ('ixx="0.000003" iyy="0.000001" izz="0.000005"', (3e-6, 0.0, 0.0, 1e-6, 0.0, 5e-6)),
        ('ixx="2e-05" iyy="2e-05" izz="5e-05"', (2e-5, 0.0, 0.0, 2e-5, 0.0, 5e-5)),
    ],
)
def test_moments_that_miss_the_triangle_by_their_last_digits_stay_as_other_tools_take_them(
    moments, all_six
):
    described = read(body(moments))
    assert described.links[1].inertia.moments == all_six
    assert any('last digits' in note and 'taken as it is: b' in note for note in described.notes)
    mechanism = ccd.load(body(moments))
    # Pinocchio's parser wants all six
    peer = pin.buildModelFromXML(body(f'{moments} ixy="0" ixz="0" iyz="0"'))
    ball = ccd.mass_matrix(mechanism, mechanism.neutral())
    assert np.allclose(ball, peer.inertias[1].inertia, rtol=1e-12, atol=0.0)
    assert possible(read(body(moments), inertia='repair').links[1].inertia)


@pytest.mark.parametrize(
    'moments',
    [
        'ixx="0.00002" iyy="0.00002" izz="0.00002" ixy="0.000021"',  # -1e-6
        'ixx="0" iyy="0" izz="2.4e-35" ixy="1e-35"',  # noise
    ],
)
def test_moments_below_zero_by_their_last_digits_are_repaired(moments):
    described = read(body(moments))
    assert possible(described.links[1].inertia)
    assert any('last digits; repaired: b' in note for note in described.notes)


def test_moments_beyond_the_triangle_are_kept_with_a_warning():
    described = read(IMPOSSIBLE)
    assert described.links[1].inertia.moments == (0.1, 0.0, 0.0, 0.2, 0.0, 1.0)
    (note,) = described.notes
    assert 'No rigid body' in note and "inertia='repair'" in note
    assert note.endswith('b (1 > 0.1 + 0.2).')
    report = check_report(ccd.load(IMPOSSIBLE))
    assert note in report['warnings']
    assert [each['possible'] for each in report['links']] == [True, False]
    assert 'no rigid body has it' in render(report)
    assert 'no rigid body has it' not in render(check_report(ccd.load('four_bar')))


def test_negative_moments_are_refused_with_ways_round():
    with pytest.raises(ccd.DescriptionError, match="inertia='repair' or inertia='trust'"):
        read(NEGATIVE)


FIXED_TO = '<joint name="t" type="fixed"><parent link="b"/><child link="tip"/></joint></robot>'
TIP = (
    '<link name="tip"><inertial><origin xyz="0.3 0 0"/><mass value="2"/>'
    '<inertia ixx="{0}" iyy="{0}" izz="{0}" ixy="0"/></inertial></link>'
)


def test_a_negative_moment_is_kept_where_what_it_is_fixed_to_makes_up_for_it():
    enough, too_little = (
        NEGATIVE.replace('</robot>', TIP.format(value) + FIXED_TO) for value in (0.6, 0.1)
    )
    described = read(enough)
    assert any('makes up for it' in note and ': b' in note for note in described.notes)
    robot = ccd.load(enough)
    M = ccd.mass_matrix(robot, robot.neutral())
    assert np.linalg.eigvalsh(M)[0] > 0.0
    peer = pin.buildModelFromXML(enough.replace('<inertia ', '<inertia ixz="0" iyz="0" '))
    upper = np.triu(pin.crba(peer, peer.createData(), pin.neutral(peer))[3:, 3:])
    assert np.allclose(np.triu(M), upper, rtol=0.0, atol=1e-12)
    with pytest.raises(ccd.DescriptionError, match='negative principal moment'):
        read(too_little)


@pytest.mark.parametrize('kind', ['fixed', 'prismatic', 'revolute'])
def test_a_negative_moment_that_no_motion_turns_about_is_kept(kind):
    turning = BALL.replace('"floating" cc:type="spherical"', f'"{kind}"')
    text = body('ixx="-0.5" iyy="1" izz="1"').replace(BALL, turning)
    text = text.replace('<child link="b"/>', '<child link="b"/><axis xyz="0 0 1"/>')
    assert any('never count' in note for note in read(text).notes)
    text = text.replace('<axis xyz="0 0 1"/>', '<axis xyz="1 0 0"/>')
    if kind == 'revolute':
        with pytest.raises(ccd.DescriptionError, match='negative principal moment'):
            read(text)


@pytest.mark.parametrize('text', [IMPOSSIBLE, NEGATIVE])
def test_impossible_moments_are_repaired_or_trusted_where_asked(text):
    repaired = read(text, inertia='repair').links[1].inertia
    assert possible(repaired)
    trusted = ccd.load(text, inertia='trust').description
    assert not possible(trusted.links[1].inertia)
    assert any('trusted as was asked: b' in note for note in trusted.notes)


def test_a_repair_keeps_the_largest_moment_and_adds_the_least():
    moments = np.linalg.eigvalsh(read(IMPOSSIBLE, inertia='repair').links[1].inertia.tensor)
    # half the trace less the largest is -0.35: the smaller two grow by that
    assert moments == pytest.approx([0.45, 0.55, 1.0])


MASSLESS_END = [link('base'), link('arm'), '<link name="tool"/>', joint('swing', 'base', 'arm')]


def test_a_massless_end_link_has_a_way_out():
    text = robot(*MASSLESS_END, joint('turn', 'arm', 'tool', attributes='cc:role="actuated"'))
    with pytest.raises(ccd.DescriptionError, match="inertia='repair'"):
        read(text)
    mechanism = ccd.load(text, inertia='repair')
    assert mechanism.joint_names == ['swing'] and mechanism.actuator_names == []


def test_a_massless_end_that_nothing_drives_is_merged_and_the_rest_moves_as_before():
    text = robot(*MASSLESS_END, joint('turn', 'arm', 'tool'))
    mechanism, kept = ccd.load(text), ccd.load(text, inertia='trust')
    assert kept.joint_names == ['swing', 'turn']
    v = np.array([1.0, 2.0])
    M, bias = ccd.mass_matrix(kept, kept.neutral()), ccd.newton_euler(kept, v, v, v)
    assert ccd.mass_matrix(mechanism, mechanism.neutral()) == pytest.approx(M[:1, :1])
    assert ccd.newton_euler(mechanism, v[:1], v[:1], v[:1]) == pytest.approx(bias[:1])
    assert bias[1] == 0.0
    assert mechanism.joint_names == ['swing']
    assert any('made fixed: turn' in note for note in mechanism.description.notes)


def test_massless_ends_that_only_move_each_other_are_merged_together():
    mimic = '<mimic joint="turn" multiplier="2"/>'
    ends = [joint('turn', 'arm', 'tool'), '<link name="tip"/>']
    mechanism = ccd.load(robot(*MASSLESS_END, *ends, joint('nod', 'tool', 'tip', inside=mimic)))
    assert mechanism.joint_names == ['swing'] and not mechanism.description.couplings
    assert any('made fixed: turn, nod' in note for note in mechanism.description.notes)


def test_a_massless_link_that_a_loop_or_a_gear_binds_is_allowed():
    gear = '<mimic joint="swing" multiplier="2"/>'
    mechanism = ccd.load(robot(*MASSLESS_END, joint('turn', 'arm', 'tool', inside=gear)))
    q, v = mechanism.neutral(), np.zeros(2)
    q = ccd.assemble(mechanism, {'swing': 0.3})
    v = ccd.complete_velocity(mechanism, q, {'swing': 1.0})
    assert np.isfinite(ccd.forward_dynamics(mechanism, q, v, {}).acceleration).all()


@pytest.mark.parametrize(
    'extra, said',
    [
        (TRANSMISSION.format('tie'), "transmission of 'tie' is left out: the joint is fixed"),
        (
            TRANSMISSION.format('lost'),
            "transmission of 'lost' is left out: the joint does not exist",
        ),
        (
            link('w') + joint('w', 'arm', 'w', inside='<mimic joint="lost"/>'),
            "mimic of 'w' is left out: the joint 'lost' does not exist",
        ),
        (
            link('w') + joint('w', 'arm', 'w', inside='<mimic joint="tie"/>'),
            "mimic of 'w' is left out: the joint 'tie' is fixed",
        ),
    ],
)
def test_what_drives_no_joint_is_a_note(extra, said):
    tree = [link('base'), link('arm'), link('tip'), joint('swing', 'base', 'arm')]
    described = read(robot(*tree, joint('tie', 'arm', 'tip', kind='fixed'), extra))
    assert any(said in note for note in described.notes)
    assert described.actuators == () and described.couplings == ()


def test_an_empty_colour_is_none():
    described = read(
        robot(
            '<material name="m"><color rgba=""/></material>',
            '<link name="base"><visual><geometry><box size="1 1 1"/></geometry>'
            '<material name="m"><color/></material></visual></link>',
        )
    )
    assert described.links[0].visuals[0].rgba == ()


@pytest.mark.parametrize(
    ('scale', 'found'), [('0.5', (0.5, 0.5, 0.5)), ('1 2 3', (1.0, 2.0, 3.0))]
)
def test_one_scale_of_a_mesh_is_for_all_directions(scale, found):
    mesh = f'<geometry><mesh filename="a.stl" scale="{scale}"/></geometry>'
    (base,) = read(robot(f'<link name="base"><visual>{mesh}</visual></link>')).links
    assert base.visuals[0].geometry.scale == found


def test_xacro_arguments_reach_the_file(tmp_path):
    file = tmp_path / 'arm.urdf.xacro'
    text = robot('<xacro:arg name="kind" default="fixed"/>', *MASSLESS_END[:2])
    text = text.replace('<robot ', '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" ')
    file.write_text(
        text.replace('</robot>', joint('swing', 'base', 'arm', kind='$(arg kind)') + '</robot>')
    )
    assert read(file).joints[0].type is JointType.FIXED
    mechanism = ccd.load(file, xacro_args={'kind': 'continuous'})
    assert mechanism.description.joints[0].type is JointType.CONTINUOUS


def test_xacro_finds_packages_beside_the_file_that_nobody_has_built(tmp_path):
    for name, folder in (('arm_description', 'arm'), ('hand_description', 'more/hand')):
        (tmp_path / folder / 'urdf').mkdir(parents=True)
        (tmp_path / folder / 'package.xml').write_text(f'<package><name>{name}</name></package>')
    include = '<xacro:include filename="$(find {})/urdf/{}.xacro"/>'
    whole = robot(include.format('hand_description', 'hand'), *MASSLESS_END[:2])
    whole = whole.replace('</robot>', joint('swing', 'base', 'arm') + '</robot>')
    texts = {
        'arm/urdf/whole.xacro': whole,
        'more/hand/urdf/hand.xacro': robot(include.format('arm_description', 'extra')),
        'arm/urdf/extra.xacro': robot(link('tip'), joint('bend', 'arm', 'tip')),
    }
    for file, text in texts.items():
        xacro = '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" '
        (tmp_path / file).write_text(text.replace('<robot ', xacro))
    with pytest.raises(ccd.DescriptionError, match='xacro failed'):
        read(tmp_path / 'arm' / 'urdf' / 'whole.xacro')  # two folders further
    (tmp_path / 'more' / 'hand').rename(tmp_path / 'hand')
    described = read(tmp_path / 'arm' / 'urdf' / 'whole.xacro')
    assert {each.name for each in described.joints} == {'swing', 'bend'}


@pytest.mark.parametrize(
    'before',
    [
        '<!-- by -- hand -->',
        '\n<!-- a licence -->\n<?xml version="1.0"?>',
        '  <?xml version="1.0"?>',
    ],
)
def test_xml_that_only_robot_tools_read_is_read(before):
    text = before + body('ixx="1" iyy="1" izz="1"').replace('</robot>', '<!-- a--b -->\n</robot>')
    assert [each.name for each in read(text).links] == ['base', 'b']
    lines = text.count('\n', 0, text.index('<mass')) + 1
    with pytest.raises(ccd.DescriptionError, match=rf'line {lines}, .*negative'):
        read(text.replace('<mass value="1"/>', '<mass value="-1"/>'))
    with pytest.raises(ccd.DescriptionError, match='malformed'):
        read(text.replace('</robot>', '<!-- no end </robot>'))


def test_sizes_that_sdf_leaves_out_are_its_defaults():
    shapes = ('box', 'cylinder', 'capsule', 'sphere')
    visuals = ''.join(
        f'<visual name="{each}"><geometry><{each}/></geometry></visual>' for each in shapes
    )
    text = f'<sdf version="1.9"><model name="m"><link name="a">{visuals}</link></model></sdf>'
    found = [each.geometry.size for each in read(text).links[1].visuals]
    assert found == [(1.0, 1.0, 1.0), (1.0, 1.0), (0.5, 1.0), (1.0,)]
