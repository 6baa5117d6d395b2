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

"""Links that MuJoCo refuses the inertia of go to MuJoCo all the same, with the same dynamics."""

from helpers.mjcf_comparison import disagreement
from helpers.urdf_parts import joint, robot
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import convert

TOLERANCE = 1e-9  # relative, of numbers that are written with all digits
UPPER = 'ixx="0.02" iyy="0.03" izz="0.04" ixy="0.001"'
ZERO = 'ixx="0" iyy="0" izz="0"'


def link(name, moments, mass=1.0, xyz='0.1 0 0.2', rpy='0.3 0.2 0.1'):
    return (
        f'<link name="{name}"><inertial><origin xyz="{xyz}" rpy="{rpy}"/><mass value="{mass}"/>'
        f'<inertia {moments}/></inertial></link>'
    )


def arm(lower, *tools, base=ZERO):
    """Return an arm with two hinges and tools that are fixed to its end."""
    fixed = [
        joint(f'to_{name}', 'lower', name, kind='fixed', origin='xyz="0 0.1 0.3"')
        for name, _ in tools
    ]
    return robot(
        link('base', base, mass=0.0),
        link('upper', UPPER),
        lower,
        *(text for _, text in tools),
        joint('first', 'base', 'upper'),
        joint('second', 'upper', 'lower', origin='xyz="0.5 0 0" rpy="0.4 0 0"'),
        *fixed,
    )


LOWER = link('lower', UPPER)
DISC = 'ixx="0.01" iyy="0.02" izz="0.03"'
CASES = {
    'a frame of no moment': (arm(LOWER, ('frame', link('frame', ZERO, 1e-9))), True),
    'a frame of no mass': (arm(LOWER, ('frame', link('frame', ZERO, 0))), True),
    'two point masses': (
        arm(link('lower', ZERO), ('one', link('one', ZERO, 2)), ('two', link('two', ZERO, 3))),
        True,
    ),
    'a disc': (arm(link('lower', DISC)), False),
    'the frame before the body': (
        arm('<link name="lower"/>', ('frame', link('frame', ZERO)), ('body', link('body', UPPER))),
        True,
    ),
}


@pytest.mark.parametrize('case', CASES)
def test_mujoco_takes_it_with_the_same_dynamics(case, tmp_path):
    text, summed = CASES[case]
    mechanism = ccd.load(text)
    (path,), told = convert(mechanism.description, tmp_path / 'arm.xml', mechanism.gravity)
    assert any('fixed to each other are summed' in each for each in told) == summed
    for kind, error in disagreement(mechanism, path).items():
        assert error < TOLERANCE, kind
    assert ccd.load(path).total_mass == pytest.approx(mechanism.total_mass, rel=TOLERANCE)


@pytest.mark.parametrize(
    'moments', ['ixx="0.1" iyy="0.2" izz="1"', ZERO], ids=['beyond the triangle', 'a point']
)
def test_what_mujoco_can_not_have_is_changed_and_told(moments, tmp_path):
    mechanism = ccd.load(arm(link('lower', moments)))
    (path,), told = convert(mechanism.description, tmp_path / 'arm.xml', mechanism.gravity)
    assert any('MuJoCo refuses are the nearest it takes (1: lower)' in each for each in told)
    assert ccd.load(path).joint_names == ['first', 'second']


def test_a_loop_that_its_digits_leave_open_is_written_as_sdf(tmp_path):
    four_bar = ccd.load('four_bar')
    q = ccd.assemble(four_bar, {})
    pose = {name: tuple(q[four_bar.joint_slices(name)[0]]) for name in four_bar.joint_names}
    first = four_bar.joint_names[0]
    for error, said in ((0.0, False), (1e-7, True)):
        turned = pose | {first: (pose[first][0] + error,)}
        _, told = convert(
            four_bar.description, tmp_path / 'bars.sdf', four_bar.gravity, pose=turned
        )
        assert any('are closed' in each for each in told) == said
    with pytest.raises(ccd.DescriptionError, match='the loop is open by'):
        convert(
            four_bar.description,
            tmp_path / 'bars.sdf',
            four_bar.gravity,
            pose=pose | {first: (pose[first][0] + 1e-4,)},
        )
