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
Where a motion reaches the stops of its joints.

There the stop pushes as well as the motors, and an impact may last no time at all: torques that
explain such a motion say little about the model.
"""

import numpy as np

from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.studies.motion.moving import Motion

__all__ = ['reached_stops']

END_OF_RANGE = 1e-6  # of a joint's range: files have six digits or more [rad or m]


def reached_stops(robot: Mechanism, motion: Motion) -> dict[str, float]:
    """Return {joint: when it first is at an end of its range}, of joints that end at a stop."""
    found: dict[str, float] = {}
    for joint in robot.description.joints:
        moment = joint.limit_moment
        if joint.name not in robot.joint_names or joint.type.nq != 1:
            continue
        if moment and (moment.stiffness or moment.damping):
            continue  # no stop: the model has the moment, and so have the torques
        q = motion.q[:, robot.joint_slices(joint.name)[0].start]
        there = (q <= joint.limit.lower + END_OF_RANGE) | (q >= joint.limit.upper - END_OF_RANGE)
        if there.any():
            found[joint.name] = float(motion.time[np.argmax(there)])
    return found
