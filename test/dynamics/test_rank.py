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

"""The rank of J_C where digits are rounded, and where couplings are geared far down."""

from helpers.folding_linkages import bar, four_bar, hinge, parallel_pose, parallelogram
import numpy as np
import pytest

import closed_chain_dynamics as ccd

TWISTS = np.radians([70.0, 40.0, 80.0, 60.0])  # between neighbouring axes of the spherical linkage
RADIUS = 0.1  # [m] of the sphere that its joints are on
CRANK = 2.2717948717948717  # where six digits close to 1e-6, and the rank would be full [rad]
USUAL = 1e-6  # the rank tolerance: singular values of rounded digits are above it


def turn(axis, angle):
    """Return a rotation about x or z."""
    c, s = np.cos(angle), np.sin(angle)
    if axis == 'x':
        return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def spherical_four_bar(digits):
    """
    Return a linkage of four hinges whose axes meet in one point, each on a sphere about it.

    It moves only because they meet: rank 2 of 5 rows over 3 joints. Written with few digits they
    do not, and the rank is 3.
    """
    sphere, twists = np.array([0.0, 0.0, RADIUS]), TWISTS

    def placed(twist):
        """Return the next joint's frame in that of the last: position and roll, rounded."""
        p = turn('x', twist) @ sphere - sphere
        return ' '.join(f'{x:.{digits}f}' for x in p), f'{twist:.{digits}f} 0 0'

    xml, carrier = '<robot name="sphere"><link name="base"/>', 'base'
    for name, twist in (('crank', 0.0), ('coupler', twists[0])):
        xyz, rpy = placed(twist)
        xml += (
            bar(f'{name}_bar', RADIUS)
            + f"""<joint name="{name}" type="continuous">
          <parent link="{carrier}"/><child link="{name}_bar"/>
          <origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="0 0 1"/></joint>"""
        )
        carrier = f'{name}_bar'
    xyz, rpy = placed(twists[3])
    xml += (
        bar('rocker_bar', RADIUS)
        + f"""<joint name="rocker" type="continuous">
      <parent link="base"/><child link="rocker_bar"/>
      <origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="0 0 1"/></joint>"""
    )
    (one, rpy_one), (two, rpy_two) = placed(twists[1]), placed(twists[2])
    xml += f"""<constraint name="pin" type="revolute">
      <parent link="coupler_bar"/><parent_origin xyz="{one}" rpy="{rpy_one}"/>
      <parent_axis xyz="0 0 1"/>
      <child link="rocker_bar"/><child_origin xyz="{two}" rpy="{rpy_two}"/>
      <child_axis xyz="0 0 1"/></constraint></robot>"""
    return ccd.load(xml, actuated=['crank'])


@pytest.fixture(scope='module')
def exact():
    robot = spherical_four_bar(17)
    q = ccd.assemble(robot, {'crank': 1.0})
    for crank in np.linspace(1.0, CRANK, 9):
        q = ccd.assemble(robot, {'crank': crank}, start=q)
    return robot, q


def test_axes_that_meet_to_all_digits_let_the_linkage_move(exact):
    robot, q = exact
    c = ccd.coordinates(robot, q)
    assert (c.mobility, c.rank, len(c.J_C)) == (1, 2, 5)
    kept, dropped = c.rank_gap
    assert kept > 0.1 and dropped < 1e-12


@pytest.mark.parametrize('digits', [6, 7, 9])
def test_rounded_digits_do_not_lock_a_linkage(exact, digits):
    """As many ways to move, and the same motion to as many digits as the file has."""
    robot = spherical_four_bar(digits)
    q = ccd.assemble(robot, {'crank': CRANK}, start=exact[1])
    c, c_exact = ccd.coordinates(robot, q), ccd.coordinates(*exact)
    assert c.mobility == 1 and not c.is_singular
    rounding = 10.0**-digits / RADIUS
    np.testing.assert_allclose(c.W, c_exact.W, atol=30.0 * rounding)
    kept, dropped = c.rank_gap
    assert kept > 0.1 and 1e-3 * rounding < dropped < 30.0 * rounding
    assert dropped > USUAL or digits > 6
    v = ccd.complete_velocity(robot, q, {'crank': 1.0})
    f = ccd.forward_dynamics(robot, q, v, {'crank': 0.3}).acceleration
    expected = ccd.forward_dynamics(*exact, ccd.complete_velocity(*exact, {'crank': 1.0}), [0.3])
    np.testing.assert_allclose(f, expected.acceleration, rtol=1e3 * rounding)


def test_check_says_how_clear_the_rank_is(exact):
    robot = spherical_four_bar(6)
    q = ccd.assemble(robot, {'crank': CRANK}, start=exact[1])
    text = str(ccd.coordinates(robot, q))
    assert 'rounding of the file' in text
    assert 'rounding of the file' not in str(ccd.coordinates(*exact))


@pytest.mark.parametrize('offset', [1e-3, 1e-4, 1e-5, 3e-6])
def test_a_pose_beside_a_singular_one_is_no_rounding(offset):
    """Small singular values that grow on the way hold: the rank is that of the poses around."""
    robot = parallelogram()
    c = ccd.coordinates(robot, parallel_pose(robot, offset))
    assert (c.mobility, c.full_rank) == (1, 2)
    assert robot.structure.world['rank_tolerance'] == robot.model.world['rank_tolerance'][0]


@pytest.mark.parametrize('height', [1e-5, 7e-6, 2e-6])
def test_what_another_loop_can_do_says_nothing_about_a_flat_truss(height):
    """
    Two bars that meet nearly in line with their hinges are stiff, however flat they are.

    The free crank beside them, in a loop of its own, moves all the same.
    """
    length = np.hypot(1.0, height)

    def pin(name, one, two, x_one, x_two):
        return f"""<constraint name="{name}" type="revolute"><parent link="{one}"/>
          <parent_origin xyz="{x_one} 0 0"/><parent_axis xyz="0 0 1"/><child link="{two}"/>
          <child_origin xyz="{x_two} 0 0"/><child_axis xyz="0 0 1"/></constraint>"""

    def at(name, x, y, child, parent='base'):
        return hinge(name, parent, child, x).replace(f'"{x} 0 0"', f'"{x} {y} 0"')

    robot = ccd.load(
        '<robot name="truss"><link name="base"/>'
        + bar('left', length)
        + bar('right', length)
        + ''.join(bar(f'{name}_bar', size) for name, size in (('a', 0.3), ('b', 0.9), ('c', 0.7)))
        + at('left_foot', 0.0, 0.0, 'left')
        + at('right_foot', 2.0, 0.0, 'right')
        + at('crank', 0.0, 3.0, 'a_bar')
        + hinge('coupler', 'a_bar', 'b_bar', 0.3)
        + at('rocker', 1.0, 3.0, 'c_bar')
        + pin('top', 'left', 'right', length, length)
        + pin('end', 'b_bar', 'c_bar', 0.9, 0.7)
        + '</robot>'
    )
    start = robot.neutral()
    start[robot.joint_slices('left_foot')[0]] = np.arctan(height)
    start[robot.joint_slices('right_foot')[0]] = np.pi - np.arctan(height)
    q = ccd.assemble(robot, {'crank': 0.5}, start=start)
    c = ccd.coordinates(robot, q)
    assert (c.mobility, c.full_rank) == (1, 4)


def test_a_raised_tolerance_ends_with_the_structure(exact):
    robot = spherical_four_bar(6)
    q = ccd.assemble(robot, {'crank': CRANK}, start=exact[1])
    usual = robot.model.world['rank_tolerance'][0]
    ccd.coordinates(robot, q)
    assert robot.structure.world['rank_tolerance'] > usual
    robot.cut('pin')
    assert robot.structure.world['rank_tolerance'] == usual
    robot.connect('pin')
    assert ccd.coordinates(robot, q).mobility == 1


# --- couplings -----------------------------------------------------------------------------------
def geared(*ratios):
    """Return two hinges with couplings jb = ratio ja."""
    parts = [bar('a', 1.0), bar('b', 1.0), hinge('ja', 'base', 'a'), hinge('jb', 'base', 'b')]
    parts += [
        f"""<coupling name="c{k}"><predecessor link="a"/><successor link="b"/>
        <ratio value="{ratio}"/></coupling>"""
        for k, ratio in enumerate(ratios)
    ]
    return ccd.load('<robot name="r"><link name="base"/>' + ''.join(parts) + '</robot>')


@pytest.mark.parametrize('ratio', [1e-3, 1e-5, 1e-6, 1e-7, 1e-8, 1e6])
def test_couplings_geared_far_down_all_count(ratio):
    robot = geared(ratio, 2.0 * ratio)  # both at once: nothing moves
    assert ccd.coordinates(robot, robot.neutral()).mobility == 0
    alone = geared(ratio)
    c = ccd.coordinates(alone, alone.neutral())
    assert c.mobility == 1 and c.W[1, 0] == pytest.approx(ratio * c.W[0, 0], rel=1e-12)
    same = geared(ratio, ratio)
    c = ccd.coordinates(same, same.neutral())
    assert c.mobility == 1 and len(c.redundant_rows) == 1


def test_the_rank_of_a_well_made_linkage_is_clear():
    robot = four_bar(1.0, 0.3, 0.9, 0.7)
    kept, dropped = ccd.coordinates(robot, ccd.assemble(robot, {'crank': 0.5})).rank_gap
    assert kept > 0.1 and dropped < 1e-14
