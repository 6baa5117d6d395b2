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

"""The human figure of papers 1 and 2 in its mechanisms, and what is counted of it."""

from helpers.posed_figures import GRAVITY

import closed_chain_dynamics as ccd

NAMES = ['figure', 'high_bar', 'swing']
THIGHS, HANDS = ('left_thigh', 'right_thigh'), ('left_hand', 'right_hand')


def load(name, *cuts):
    """Return a figure with some loops cut, and its posture."""
    robot = ccd.load(name, gravity=GRAVITY)
    q = ccd.assemble(robot, {})
    for each in cuts:
        robot.cut(each)
    return robot, q


def counts(robot, q):
    """Return N_J with the joints that close loops, rank m with them, and mobility N_F."""
    c = ccd.coordinates(robot, q)
    closing = sum(robot.is_connected(name.split(':')[0]) for name in robot.loop_coordinate_names)
    return robot.nv + closing, c.rank + closing, c.mobility
