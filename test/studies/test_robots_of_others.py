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

"""
Robots that nobody here wrote, where a folder of them stands beside the repository.

Everything that these files need is tested with own models too (`helpers.own_robots`,
`helpers.rod_biped`): without them nothing goes untested.
"""

from pathlib import Path

import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.studies.other_engines import differences

FOLDER = Path(__file__).resolve().parents[3] / 'shared' / 'models'
SAME = 1e-9  # relative: rounding of two programs, in chains of up to forty joints
MOBILITY = {
    'urdfplus/four_bar.urdf': 1,
    'urdfplus/planar_leg_linkage.urdf': 2,
    'urdfplus/mit_humanoid.urdf': 24,
    'urdfplus/parallel_chain_Implicit_depth5_loop_size3.urdf': 9,
    'extended_urdf/digit_like_2legs/robot.urdf': 12,
    'extended_urdf/5bar_linkage_iso3d/robot.urdf': 2,
    'mjcf/agility_cassie/cassie.nomesh.xml': 22,
}


@pytest.mark.skipif(not FOLDER.is_dir(), reason='robots of other projects are not on this machine')
@pytest.mark.parametrize('name', MOBILITY)
def test_a_robot_of_others_closes_moves_and_weighs_as_it_does_elsewhere(name):
    robot = ccd.load(FOLDER / name)
    q = ccd.assemble(robot)
    assert max(max(gap) for gap in robot.loop_gaps(q).values()) < 1e-9
    assert ccd.coordinates(robot, q).mobility == MOBILITY[name]
    found = differences(robot, FOLDER / name, q)
    found.pop('doubt', None)
    assert found and max(found.values()) < SAME, found
