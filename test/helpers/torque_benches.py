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

"""What goes into torque_node and comes out of it, alone or with a simulator."""

from builtin_interfaces.msg import Duration  # noqa: I100
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

SHOULDERS = ['left_shoulder', 'right_shoulder']
PERIOD = 0.005  # of states that the test itself publishes [s]


def newest(diagnostics, key):
    """Return the last value by a name in diagnostics, or None."""
    return next(
        (
            pair.value
            for array in reversed(diagnostics)
            for pair in array.status[0].values
            if pair.key == key
        ),
        None,
    )


def trajectory(names, points):
    """Return a JointTrajectory of (time, positions)."""
    made = JointTrajectory(joint_names=names)
    for when, positions in points:
        made.points.append(
            JointTrajectoryPoint(
                positions=list(map(float, positions)),
                time_from_start=Duration(sec=int(when), nanosec=round(when % 1.0 * 1e9)),
            )
        )
    return made
