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
Efforts out of what topic_based_ros2_control sends to hardware: sensor_msgs/JointState.

It names every joint of its `<ros2_control>` section, and gives an effort only for those with such
a command interface, in that order: passive joints, which have state interfaces only, are named and
have none. An effort that no controller has set yet is nan.
"""

from collections.abc import Collection
from typing import Any

import numpy as np

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.errors import StateError

__all__ = ['commanded_efforts']


def commanded_efforts(message: Any, actuators: Collection[str]) -> tuple[list[str], Vector]:
    """Return names and efforts of a JointState that are set; raise where they do not match."""
    names, efforts = list(message.name), np.array(message.effort, dtype=float)
    if len(efforts) != len(names):
        names = [name for name in names if name in actuators]
    if len(efforts) != len(names) or not names:
        raise StateError(
            f'{len(efforts)} efforts for {len(names)} actuators among {len(message.name)} names',
            where='joint_commands',
            repair='Give motors a command interface effort, and passive joints none.',
        )
    given = ~np.isnan(efforts)
    return [name for name, is_set in zip(names, given) if is_set], efforts[given]
