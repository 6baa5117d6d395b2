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

"""SDF models inside SDF models: the same mechanism as written flat."""

import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import read

INERTIAL = (
    '<inertial><pose>0.1 0.02 -0.3 0.2 0 0.1</pose><mass>{mass}</mass><inertia><ixx>0.02</ixx>'
    '<iyy>0.03</iyy><izz>0.04</izz><ixy>0.001</ixy></inertia></inertial>'
)
HINGE = '<axis><xyz{frame}>0 0.6 0.8</xyz></axis>'
# an arm with a hinge whose pose and axis are in frames of its own
ARM = """
<model name="{name}"{more}>
  {pose}
  <frame name="wrist" attached_to="upper"><pose>0.1 0 0.4 0 0.5 0</pose></frame>
  <link name="upper"><pose>0 0.1 0 0.3 0 0</pose>{one}</link>
  <link name="lower"><pose relative_to="wrist">0 0 0.2 0 0 0.7</pose>{two}</link>
  <joint name="elbow" type="revolute"><pose relative_to="wrist"/>
    <parent>upper</parent><child>lower</child>{hinge}</joint>
</model>"""
FLAT = """
<sdf version="1.9"><model name="whole">
  <link name="base">{base}</link>
  <frame name="arm_frame"><pose relative_to="base">0.2 0 0.5 0 0 1.2</pose></frame>
  <frame name="wrist" attached_to="arm::upper"><pose>0.1 0 0.4 0 0.5 0</pose></frame>
  <link name="arm::upper"><pose relative_to="arm_frame">0 0.1 0 0.3 0 0</pose>{one}</link>
  <link name="arm::lower"><pose relative_to="wrist">0 0 0.2 0 0 0.7</pose>{two}</link>
  <joint name="arm::elbow" type="revolute"><pose relative_to="wrist"/>
    <parent>arm::upper</parent><child>arm::lower</child>
    <axis><xyz expressed_in="arm_frame">0 0.6 0.8</xyz></axis></joint>
  <joint name="shoulder" type="revolute"><parent>base</parent><child>arm::upper</child>
    <axis><xyz>1 0 0</xyz></axis></joint>
</model></sdf>"""
WHOLE = """
<sdf version="1.9"><model name="whole"><link name="base">{base}</link>{arm}
  <joint name="shoulder" type="revolute"><parent>base</parent><child>{child}</child>
    <axis><xyz>1 0 0</xyz></axis></joint>
</model></sdf>"""
PARTS = {key: INERTIAL.format(mass=mass) for key, mass in (('base', 3), ('one', 2), ('two', 1))}
POSE = '<pose relative_to="base">0.2 0 0.5 0 0 1.2</pose>'


def arm(pose='', more='', name='arm'):
    hinge = HINGE.format(frame=' expressed_in="__model__"')
    return ARM.format(pose=pose, more=more, name=name, hinge=hinge, **PARTS)


def numbers(robot, names):
    """Return M, bias and where links stand, in the order of these joints."""
    q = np.zeros(robot.nq)
    order = [robot.coordinate_names.index(name) for name in names]
    q[order] = 0.4, -0.7
    v = q + 0.3
    M = ccd.mass_matrix(robot, q)[np.ix_(order, order)]
    return M, ccd.newton_euler(robot, q, v, 0.0 * v)[order]


@pytest.mark.parametrize('child', ['arm::upper', 'arm', 'arm::__model__'])
def test_a_nested_model_is_what_it_is_flat(child):
    flat = ccd.load(FLAT.format(**PARTS))
    nested = ccd.load(WHOLE.format(arm=arm(POSE), child=child, **PARTS))
    names = ['shoulder', 'arm::elbow']
    for one, two in zip(numbers(flat, names), numbers(nested, names)):
        np.testing.assert_allclose(two, one, rtol=1e-12)


def test_an_included_model_has_the_name_and_pose_of_the_include(tmp_path):
    (tmp_path / 'parts' / 'limb').mkdir(parents=True)
    (tmp_path / 'parts' / 'limb' / 'model.sdf').write_text(
        f'<sdf version="1.9">{arm("<pose>9 9 9 0 0 0</pose>", name="limb")}</sdf>'
    )
    include = f'<include><uri>model://parts/limb</uri><name>arm</name>{POSE}</include>'
    file = tmp_path / 'robot.sdf'
    file.write_text(WHOLE.format(arm=include, child='arm::upper', **PARTS))
    flat, names = ccd.load(FLAT.format(**PARTS)), ['shoulder', 'arm::elbow']
    for one, two in zip(numbers(flat, names), numbers(ccd.load(str(file)), names)):
        np.testing.assert_allclose(two, one, rtol=1e-12)


def test_a_merged_model_keeps_its_names_and_may_stand_by_another_frame(tmp_path):
    limb = arm(name='limb').replace('<model ', '<model placement_frame="upper" ')
    (tmp_path / 'limb.sdf').write_text(f'<sdf version="1.9">{limb}</sdf>')
    # where `upper` stands in FLAT: 0 0.1 0 of the arm, turned by 0.3 about its x
    x, y = 0.2 - 0.1 * np.sin(1.2), 0.1 * np.cos(1.2)
    pose = f'<pose relative_to="base">{x!r} {y!r} 0.5 0.3 0 1.2</pose>'
    pose = pose.replace('np.float64(', '').replace(')', '')
    include = f'<include merge="true"><uri>limb.sdf</uri>{pose}</include>'
    file = tmp_path / 'robot.sdf'
    file.write_text(WHOLE.format(arm=include, child='upper', **PARTS))
    flat = numbers(ccd.load(FLAT.format(**PARTS)), ['shoulder', 'arm::elbow'])
    merged = numbers(ccd.load(str(file)), ['shoulder', 'elbow'])
    for one, two in zip(flat, merged):
        np.testing.assert_allclose(two, one, rtol=1e-12)


def test_what_cannot_be_included_is_told_and_a_circle_ends(tmp_path):
    file = tmp_path / 'robot.sdf'
    for uri, why in (('model://gone', 'is not found'), ('robot.sdf', 'includes itself')):
        include = f'<include><uri>{uri}</uri></include>'
        file.write_text(WHOLE.format(arm=include, child='world', **PARTS))
        (note,) = [each for each in read(str(file)).notes if 'LINKS MAY BE MISSING' in each]
        assert why in note and uri in note


def test_what_sdf_leaves_out_has_its_default():
    text = FLAT.format(**PARTS).replace('<axis><xyz>1 0 0</xyz></axis>', '')
    text = text.replace('<sdf version="1.9">', '<sdf version="1.9"><odd:thing/>')
    description = read(text)  # an undeclared prefix is of no concern
    shoulder = next(each for each in description.joints if each.name == 'shoulder')
    assert any("'shoulder' has no axis; SDF means z" in note for note in description.notes)
    np.testing.assert_allclose(shoulder.axis, (0.0, 0.0, 1.0), atol=1e-15)
    screw = FLAT.format(**PARTS).replace(
        'name="shoulder" type="revolute"', 'name="s" type="screw"'
    )
    (coupling,) = read(screw).couplings
    assert coupling.terms[1].coefficients[0] == pytest.approx(-1.0 / (2.0 * np.pi))


WORLD = """
<sdf version="1.9"><world name="hall"><gravity>0 0 -3</gravity>
  <model name="floor"><static>true</static><link name="slab"/></model>
  {one}{two}
  <joint name="tie" type="revolute"><parent>left::lower</parent><child>right::upper</child>
    <axis><xyz>1 0 0</xyz></axis></joint>
</world></sdf>"""


def test_several_models_in_a_world_move_together(tmp_path):
    pose = '<pose>0.2 0 0.5 0 0 1.2</pose>'
    tied = WORLD.format(one=arm(name='left'), two=arm(pose, name='right'))
    apart = ccd.load(tied[: tied.index('<joint name="tie"')] + '</world></sdf>')
    assert apart.joint_names == ['left::elbow', 'right::elbow']
    assert any('2 models' in note and 'left, right' in note for note in apart.description.notes)
    for name, place in (('left', ''), ('right', pose)):
        alone = ccd.load(f'<sdf version="1.9">{arm(place)}</sdf>', gravity=(0, 0, -3))
        q, v = np.array([0.4]), np.array([0.7])
        at = apart.coordinate_names.index(f'{name}::elbow')
        both = np.zeros(2), np.zeros(2)
        both[0][at], both[1][at] = q[0], v[0]
        M, bias = ccd.mass_matrix(apart, both[0]), ccd.newton_euler(apart, *both, np.zeros(2))
        assert M[at, at] == pytest.approx(ccd.mass_matrix(alone, q)[0, 0], rel=1e-12)
        assert bias[at] == pytest.approx(ccd.newton_euler(alone, q, v, 0 * v)[0], rel=1e-12)
        assert M[0, 1] == 0.0
        np.testing.assert_allclose(
            ccd.link_placement(apart, both[0], f'{name}::lower'),
            ccd.link_placement(alone, q, 'lower'),
            atol=1e-12,
        )
    # a static model is there where others refer to it
    slab = tied.replace('<pose>0.2', '<pose relative_to="floor">0.2', 1)
    slab = slab.replace('<static>', '<pose>0 0 -1 0 0 0</pose><static>')
    lower = ccd.link_placement(ccd.load(slab), np.zeros(3), 'right::lower')
    joints = {each.name: each for each in read(slab).joints}
    assert joints['floor_static'].child == 'floor::slab'
    np.testing.assert_allclose(
        lower[:3, 3],
        ccd.link_placement(ccd.load(tied), np.zeros(3), 'right::lower')[:3, 3] - [0, 0, 1],
        atol=1e-12,
    )
    # a joint of the world ties them
    assert ccd.load(tied).joint_names == ['left::elbow', 'tie', 'right::elbow']
    free = ccd.load(tied, root_joint='floating')
    assert free.nv == 6 + 3
