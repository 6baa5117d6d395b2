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

"""Linkages with motors, their motion in closed form, and the torques that it needs."""

from helpers.bar_linkages import four_bar
from helpers.planar_linkages import moving_state

import closed_chain_dynamics as ccd
from closed_chain_dynamics.dynamics.constraints import actuator_rows

GRAVITY = (0.0, -9.81, 0.0)
POSE, RATES, SECONDS = (2.2, 1.0), (1.3, -0.7), (2.0, 3.0)


def mechanism(make, actuated, pose=POSE, **options):
    """Return a linkage with motors, and a motion of it in closed form."""
    description, positions = make(actuated=actuated, **options)
    robot = ccd.Mechanism(description, gravity=GRAVITY)
    n = 1 if make is four_bar else 2
    return (robot, *moving_state(robot, positions, pose[:n], RATES[:n], SECONDS[:n]))


def needed(robot, q, v, a):
    """Return S and tau_G from J_C and the tree alone."""
    c = ccd.coordinates(robot, q)
    return actuator_rows(robot, q) @ c.W, c.W.T @ ccd.newton_euler(robot, q, v, a)
