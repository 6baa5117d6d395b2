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

"""Hints for joints with several numbers."""

from dataclasses import replace
import math

from helpers.figures import NAMES, load
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import Assembly, JointType, check, read, write
from closed_chain_dynamics.errors import DescriptionError, NameNotFound

Z_UP = (0.0, 0.0, 0.0, 1.0)


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


def test_a_hint_of_several_numbers_is_written_and_read_again(tmp_path, name):
    description = ccd.load(name).description
    write(description, tmp_path / 'again.urdf')
    again = read(tmp_path / 'again.urdf')
    assert again == description
    (hint,) = again.assemblies
    joints = {joint.name: joint.type for joint in description.joints}
    assert {joint for joint, _ in hint.positions} == set(joints)
    for joint, value in hint.positions:
        assert np.size(value) == joints[joint].nq
        assert isinstance(value, tuple) == (joints[joint].nq > 1)


def hinted(**positions):
    """Return the figure with another hint."""
    figure = ccd.load('figure').description
    return replace(figure, assemblies=(Assembly('start', tuple(positions.items())),))


def test_a_hint_with_few_digits_is_brought_to_unit_length():
    robot = ccd.Mechanism(hinted(left_hip=(0.0, 0.7071, 0.0, 0.7071), left_knee=0.5))
    q = ccd.assemble(robot, {})
    assert q[robot.joint_slices('left_hip')[0]] == pytest.approx(
        [0, 0.5**0.5, 0, 0.5**0.5], abs=1e-15
    )
    assert q[robot.joint_slices('left_knee')[0]] == [0.5]
    held = ccd.assemble(robot, {'left_knee': 0.2, 'left_hip': Z_UP})
    assert held[robot.joint_slices('left_knee')[0]] == [0.2]
    assert tuple(held[robot.joint_slices('left_hip')[0]]) == Z_UP


def test_joints_outside_of_all_loops_take_the_first_hint_too():
    robot, q = load('swing')
    for joint in ('left_knee', 'right_knee'):
        assert q[robot.joint_slices(joint)[0]] == [math.pi / 2]
    for loop in robot.loop_names:
        robot.cut(loop)
    assert np.array_equal(ccd.assemble(robot, {}), q)
    start = robot.neutral()
    assert np.array_equal(ccd.assemble(robot, {}, start=start), start)  # a start is a start
    assert ccd.find_assembly(load('swing')[0]).branch.startswith('start ')


@pytest.mark.parametrize(
    'positions, says, offers',
    [
        ({'left_hip': 0.3}, "'left_hip' is spherical and has four numbers", '0 0 0 1'),
        (
            {'root': (0.0, 0.0, 0.0, 1.0)},
            "'root' is floating and has seven numbers",
            '0 0 0 0 0 0 1',
        ),
        ({'left_knee': (0.0, 0.0, 0.0, 1.0)}, "'left_knee' is revolute and has one number", '"0"'),
        ({'left_hip': (0.0, 0.0, 0.0, 2.0)}, "'left_hip' has length 2 instead of 1", 'unit'),
        ({'root': (0.0, 0.0, 9.0, 0.0, 0.0, 0.0, 0.0)}, "'root' has length 0", 'unit'),
    ],
)
def test_a_hint_that_is_no_position_of_its_joint_is_refused(positions, says, offers):
    with pytest.raises(DescriptionError) as caught:
        check(hinted(**positions))
    assert says in str(caught.value) and offers in str(caught.value)


def test_a_hint_for_an_unknown_or_a_fixed_joint_is_refused():
    with pytest.raises(NameNotFound, match='left_knee'):
        check(hinted(left_kne=0.1))
    figure = hinted(left_knee=0.1)
    stiff = replace(
        figure,
        joints=tuple(
            replace(joint, type=JointType.FIXED, role='') if joint.name == 'left_knee' else joint
            for joint in figure.joints
        ),
        actuators=(),
    )
    with pytest.raises(DescriptionError, match='fixed and has no position'):
        check(stiff)
