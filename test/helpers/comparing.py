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

"""How closed forms are compared."""

import numpy as np

import closed_chain_dynamics as ccd

ROUNDING = 1e-12  # of positions, rates and forces of a few units, through a few linear solves


def close(actual, expected, tolerance=ROUNDING):
    """Return whether numbers agree, relative to the largest of them or to one."""
    actual, expected = np.asarray(actual, dtype=float), np.asarray(expected, dtype=float)
    return np.abs(actual - expected).max() <= tolerance * max(1.0, np.abs(expected).max())


def link_angle_rate(robot, q, v, link):
    """Return the angular velocity of a link about z."""
    return ccd.link_velocities(robot, q, v)[link][5]
