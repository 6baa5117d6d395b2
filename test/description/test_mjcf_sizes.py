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

"""What would take all memory is refused before MuJoCo begins: it does not recover from that."""

import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.errors import DescriptionError

pytest.importorskip('mujoco')

MODEL = """<mujoco><asset>{asset}</asset><worldbody>
  <body name="arm"><joint name="swing" axis="0 1 0"/><geom size="0.1" pos="0.1 0 0"/></body>
</worldbody></mujoco>"""


@pytest.mark.parametrize(
    'asset',
    [
        '<hfield name="h" nrow="100000" ncol="100000" size="1 1 1 1"/>',
        '<texture name="t" type="2d" builtin="flat" width="100000" height="100000"/>',
    ],
)
def test_a_grid_that_needs_all_memory_is_refused_and_other_files_are_still_read(asset):
    with pytest.raises(DescriptionError, match='1e\\+10 cells, at most 10000000'):
        ccd.load(MODEL.format(asset=asset))
    assert ccd.load(MODEL.format(asset='')).joint_names == ['swing']


def test_a_grid_of_a_usual_size_is_no_reason_to_refuse():
    asset = '<hfield name="h" nrow="300" ncol="300" size="1 1 1 1"/>'
    assert ccd.load(MODEL.format(asset=asset)).joint_names == ['swing']
