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

"""The joints of the tree as the kernels number them: their places in q, their names in v."""

from closed_chain_dynamics.description import JointType
from closed_chain_dynamics.kernels import records as at

__all__ = ['KERNEL_TYPES', 'VELOCITY_SUFFIXES', 'WIDTHS_IN_Q']

KERNEL_TYPES = {
    JointType.REVOLUTE: at.REVOLUTE,
    JointType.CONTINUOUS: at.REVOLUTE,
    JointType.PRISMATIC: at.PRISMATIC,
    JointType.PLANAR: at.PLANAR,
    JointType.SPHERICAL: at.SPHERICAL,
    JointType.FLOATING: at.FREE,
}
# by the joint types of the kernels: revolute, prismatic, planar, spherical, free
WIDTHS_IN_Q = (1, 1, 4, 4, 7)
VELOCITY_SUFFIXES = (
    ('',),
    ('',),
    (':vx', ':vy', ':wz'),
    (':wx', ':wy', ':wz'),
    (':vx', ':vy', ':vz', ':wx', ':wy', ':wz'),
)
