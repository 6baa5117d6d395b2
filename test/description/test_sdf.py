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

"""SDF models: trees against Drake, loops against closed forms and against the same in URDF."""

from helpers.sdf_models import Drake, inertial, joint, link, sdf
import numpy as np
import pinocchio as pin
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import JointType, LoopType, read

# Two libraries place and add the same bodies in doubles.
TOLERANCE = 1e-10
DOWN = (0.0, 0.0, -9.81)  # Drake's gravity

TREES = {
    'poses everywhere': sdf(
        link('a', '0.1 0 1 0 0.2 0'),
        link('b', '0.5 0 0 0.3 0 0', relative_to='a'),
        joint('w', 'revolute', 'world', 'a', '0 1 0', pose='0.1 0 0.2 0.4 0 0'),
        joint('j', 'prismatic', 'a', 'b', '1 2 0', pose='-0.2 0 0 0 0 0.5'),
        model_pose='1 2 3 0.1 0.2 0.3',
    ),
    'a frame to hang from': sdf(
        link('a', '0 0 1 0 0 0'),
        '<frame name="f" attached_to="a"><pose>0.3 0 0 0 0.5 0</pose></frame>',
        link('b', '0 0.1 0 0 0 0', relative_to='f'),
        joint('w', 'continuous', 'world', 'a', '0 1 0'),
        joint('j', 'revolute', 'f', 'b', '<axis><xyz expressed_in="f">0 0 1</xyz></axis>'),
    ),
    'fixed in between': sdf(
        link('a', '0 0 1 0 0 0'),
        link('b', '0.3 0 1 0 0.5 0'),
        joint('w', 'revolute', 'world', 'a', '0 1 0'),
        joint('j', 'fixed', 'a', 'b'),
    ),
    'universal': sdf(
        link('a', '0 0 1 0 0 0'),
        link('b', '1 0 1 0 0.3 0'),
        joint('w', 'revolute', 'world', 'a', '0 1 0'),
        joint('u', 'universal', 'a', 'b', '1 0 0', '0 1 0', pose='-0.5 0 0 0 0 0'),
    ),
}


def state(robot, rng):
    return rng.normal(size=robot.nv), rng.normal(size=robot.nv)


@pytest.mark.parametrize('tree', TREES)
def test_trees_are_those_of_drake(tree):
    pytest.importorskip('pydrake', reason='Drake is the peer here')
    robot = ccd.load(TREES[tree], gravity=DOWN)
    peer, rng = Drake(TREES[tree], robot.joint_names), np.random.default_rng(1)
    for _ in range(5):
        q, v = state(robot, rng)
        peer.set(q, v)
        M = peer.mass_matrix()
        assert np.allclose(ccd.mass_matrix(robot, q), M, atol=TOLERANCE * np.abs(M).max())
        own = ccd.newton_euler(robot, q, v, np.zeros(robot.nv))
        assert np.allclose(own, peer.bias(), atol=TOLERANCE * np.abs(peer.bias()).max())
        for name in ('a', 'b'):
            placement = ccd.link_placement(robot, q, name)
            assert np.allclose(placement, peer.placement(name), atol=TOLERANCE)


# ---- loops -------------------------------------------------------------------------------------

# The parallelogram of Gazebo's tutorial: two cranks of 0.3 m, 1 m apart.
PARALLELOGRAM = [
    link('left', '0 0 0 0 0 0'),
    link('right', '1 0 0 0 0 0'),
    link('rod', '0 0 0.3 0 0 0'),
    joint('A', 'revolute', 'world', 'left', '0 1 0'),
    joint('B', 'revolute', 'left', 'rod', '0 1 0'),
    joint('C', 'revolute', 'rod', 'right', '0 1 0', pose='0 0 0.3 0 0 0'),
    joint('D', 'revolute', 'world', 'right', '0 1 0'),
]


@pytest.mark.parametrize('cut', ['A', 'B', 'C', 'D', ''])
def test_a_parallelogram_moves_alike_wherever_it_is_cut(cut):
    robot = ccd.load(sdf(*PARALLELOGRAM), cut=[cut] if cut else ())
    assert robot.loop_names == [cut or 'D']
    assert any('is cut' in note for note in robot.description.notes)
    lead = 'B' if cut == 'A' else 'A'
    q = ccd.assemble(robot, {lead: 0.3})
    assert ccd.coordinates(robot, q).mobility == 1
    # with both cranks parallel the rod keeps its direction
    assert np.allclose(ccd.link_placement(robot, q, 'rod')[:3, :3], np.eye(3), atol=1e-9)
    left, right = (ccd.link_placement(robot, q, name)[:3, :3] for name in ('left', 'right'))
    assert np.allclose(left, right, atol=1e-9)


def test_the_acceleration_does_not_depend_on_the_cut():
    found = []
    for cut in 'ABCD':
        robot = ccd.load(sdf(*PARALLELOGRAM), cut=cut)
        names = [name for name in 'ABCD' if name != cut]
        lead = names[0]
        angle = {'A': 0.3, 'B': -0.3}[lead]  # the rod does not turn: B undoes A
        q = ccd.assemble(robot, {lead: angle})
        v = ccd.complete_velocity(robot, q, {lead: 2.0 if lead == 'A' else -2.0})
        a = ccd.forward_dynamics(robot, q, v, {}).acceleration
        by_name = dict(zip(robot.coordinate_names, a))
        found.append(by_name.get('A', -by_name.get('B', np.nan)))
    assert found == pytest.approx([found[0]] * 4, rel=1e-9)


def test_a_joint_told_to_be_cut_must_exist():
    with pytest.raises(ccd.NameNotFound, match="'E'"):
        ccd.load(sdf(*PARALLELOGRAM), cut=['E'])


def test_a_ball_that_is_cut_closes_where_both_links_meet():
    parts = [
        each.replace('revolute', 'ball') if 'name="C"' in each else each for each in PARALLELOGRAM
    ]
    robot = ccd.load(sdf(*parts), cut='C')
    (loop,) = robot.description.loops
    assert loop.type is LoopType.SPHERICAL
    q = ccd.assemble(robot, {'A': 0.3})
    rod = ccd.link_placement(robot, q, 'rod')
    assert np.allclose(
        ccd.link_placement(robot, q, 'right')[:3] @ [0, 0, 0.3, 1],
        (rod @ [1, 0, 0, 1])[:3],
        atol=1e-9,
    )


def test_a_screw_stays_in_the_tree_wherever_it_stands_in_the_file():
    pitch = '<screw_thread_pitch>0.01</screw_thread_pitch>'
    parts = [
        link('left'),
        link('right'),
        joint('A', 'prismatic', 'world', 'left', '0 0 1'),
        joint('D', 'revolute', 'world', 'right', '0 0 1'),
        joint('S', 'screw', 'left', 'right', '0 0 1', inside=pitch),
    ]
    robot = ccd.load(sdf(*parts))
    assert robot.loop_names == ['D']
    q = ccd.assemble(robot, {'A': 0.01})
    # the nut goes up as the screw turns once, since the screw itself cannot
    assert abs(q[robot.joint_slices('S')[0]][0]) == pytest.approx(2.0 * np.pi, abs=1e-6)


def test_a_joint_may_have_the_name_of_its_link():
    text = sdf(link('wheel', '0 0 1 0 0 0'), joint('wheel', 'revolute', 'world', 'wheel', '0 1 0'))
    robot = ccd.load(text)
    assert ccd.link_placement(robot, robot.neutral(), 'wheel')[2, 3] == 1.0


# ---- joints with laws of their own -------------------------------------------------------------


def test_a_screw_slides_by_its_pitch_in_each_turn():
    pitch = '<screw_thread_pitch>0.01</screw_thread_pitch>'
    text = sdf(link('nut'), joint('s', 'screw', 'world', 'nut', '0 0 1', inside=pitch))
    robot = ccd.load(text)
    q = ccd.assemble(robot, {'s': 2.0 * np.pi})
    assert ccd.link_placement(robot, q, 'nut')[2, 3] == pytest.approx(0.01, abs=1e-9)


def test_a_gearbox_turns_its_links_by_the_ratio():
    ratio = '<gearbox_ratio>3</gearbox_ratio><gearbox_reference_body>base</gearbox_reference_body>'
    text = sdf(
        link('base'),
        link('a'),
        link('b', '0.3 0 0 0 0 0'),
        joint('w', 'fixed', 'world', 'base'),
        joint('ja', 'revolute', 'base', 'a', '0 0 1'),
        joint('jb', 'revolute', 'base', 'b', '0 0 -1'),
        joint('g', 'gearbox', 'a', 'b', '0 0 1', '0 0 1', inside=ratio),
    )
    robot = ccd.load(text)
    q = ccd.assemble(robot, {'ja': 0.6})
    values = {name: q[robot.joint_slices(name)[0]][0] for name in ('ja', 'jb')}
    # theta_1 = -3 theta_2; the second joint counts against the second axis
    assert values['jb'] == pytest.approx(0.2)


def test_two_turns_about_oblique_axes():
    text = sdf(link('a'), joint('r', 'revolute2', 'world', 'a', '0 0 1', '0 1 1'))
    robot = ccd.load(text)
    assert robot.joint_names == ['r_1', 'r_2']
    a, b = 0.4, 0.9
    axis = np.array([0.0, 1.0, 1.0]) / np.sqrt(2.0)
    expected = pin.exp3(np.array([0.0, 0.0, a])) @ pin.exp3(b * axis)
    placement = ccd.link_placement(robot, np.array([a, b]), 'a')
    assert np.allclose(placement[:3, :3], expected, atol=1e-12)


def test_limits_dampers_springs_and_mimics():
    axis = (
        '<axis><xyz>0 0 1</xyz><limit><lower>-1</lower><upper>1e16</upper><effort>-1</effort>'
        '<velocity>3</velocity></limit><dynamics><damping>0.5</damping><friction>0.1</friction>'
        '<spring_stiffness>20</spring_stiffness><spring_reference>0.3</spring_reference>'
        '</dynamics>{}</axis>'
    )
    mimic = (
        '<mimic joint="a"><multiplier>2</multiplier><offset>0.1</offset>'
        '<reference>0.5</reference></mimic>'
    )
    described = read(
        sdf(
            link('x'),
            link('y'),
            joint('a', 'revolute', 'world', 'x', axis.format('')),
            joint('b', 'revolute', 'x', 'y', axis.format(mimic)),
        )
    )
    first = described.joints[0]
    assert (first.limit.lower, first.limit.upper) == (-1.0, np.inf)
    assert (first.limit.effort, first.limit.velocity) == (np.inf, 3.0)
    assert (first.dynamics.damping, first.dynamics.friction) == (0.5, 0.1)
    assert [(each.stiffness, each.rest) for each in described.springs] == [(20.0, 0.3)] * 2
    robot = ccd.Mechanism(described)
    q = ccd.assemble(robot, {'a': 0.6})
    assert q == pytest.approx([0.6, 2.0 * (0.6 - 0.5) + 0.1], abs=1e-9)


def test_a_model_without_joint_to_the_world_stands_or_flies():
    text = sdf(link('a', '1 0 2 0 0.5 0'), model_pose='0 0 1 0 0 0')
    standing = ccd.load(text)
    assert standing.nv == 0
    flying = ccd.load(text, root_joint='floating')
    assert flying.joint_names == ['root_joint']
    for robot in (standing, flying):
        placement = ccd.link_placement(robot, robot.neutral(), 'a')
        assert np.allclose(placement[:3, 3], [1.0, 0.0, 3.0])


def test_the_world_gives_gravity_and_scenery_does_not_count():
    ground = '<model name="ground"><static>true</static><link name="plane"/></model>'
    model = sdf(link('a'), joint('w', 'revolute', 'world', 'a', '0 1 0'))
    inner = model[model.index('<model') : -len('</sdf>')]
    inside = f'<gravity>0 0 -3.7</gravity>{ground}{inner}'
    world = f'<sdf version="1.9"><world name="w">{inside}</world></sdf>'
    robot = ccd.load(world)
    assert np.array_equal(robot.gravity, [0.0, 0.0, -3.7])
    assert 'plane' not in robot.link_names


def test_what_is_not_written_is_what_sdf_means():
    described = read(sdf(link('a', inside=''), joint('w', 'revolute', 'world', 'a', '0 1 0')))
    body = described.links[1].inertia
    assert body.mass == 1.0 and body.moments == (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)
    assert any('1 kg and 1 kg m^2' in note for note in described.notes)
    assert described.joints[0].type is JointType.CONTINUOUS


# ---- joints inside <gazebo> ----


def test_a_joint_inside_gazebo_closes_the_loop_of_a_urdf():
    moments = '<inertia ixx="0.1" iyy="0.1" izz="0.1"/>'
    body = f'<inertial><mass value="1"/>{moments}</inertial>'
    tree = ''.join(f'<link name="{name}">{body}</link>' for name in ('base', 'l', 'r', 'rod'))
    for name, parent, child, xyz in (
        ('A', 'base', 'l', '0 0 0'),
        ('B', 'l', 'rod', '0 0 0.3'),
        ('D', 'base', 'r', '1 0 0'),
    ):
        tree += (
            f'<joint name="{name}" type="continuous"><origin xyz="{xyz}"/><axis xyz="0 1 0"/>'
            f'<parent link="{parent}"/><child link="{child}"/></joint>'
        )
    blob = joint('C', 'revolute', 'rod', 'r', '0 1 0', pose='0 0 0.3 0 0 0')
    robot = ccd.load(f'<robot name="g">{tree}<gazebo>{blob}</gazebo></robot>')
    assert robot.loop_names == ['C']
    q = ccd.assemble(robot, {'A': 0.3})
    assert ccd.coordinates(robot, q).mobility == 1
    assert np.allclose(ccd.link_placement(robot, q, 'rod')[:3, :3], np.eye(3), atol=1e-9)


def test_masses_and_inertias_of_a_full_tensor():
    body = inertial(3.0, '0 0 0 0.3 0.2 0.1', (0.3, 0.4, 0.5), (0.01, 0.02, 0.03))
    described = read(sdf(link('a', inside=body)))
    assert described.links[1].inertia.moments == (0.3, 0.01, 0.02, 0.4, 0.03, 0.5)


def test_two_joints_of_one_name_are_told():
    twice = joint('u', 'revolute', 'world', 'a', '1 0 0')
    with pytest.raises(ccd.DescriptionError, match="'u' is used 2 times"):
        read(sdf(link('a'), twice, twice))
