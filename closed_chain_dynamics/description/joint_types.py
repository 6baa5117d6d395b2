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

"""The types of joints in the tree and in loops, and how a file may spell them."""

from enum import Enum

__all__ = ['LOOP_TYPE_ALIASES', 'JointType', 'LoopType']


class JointType(Enum):
    """Types of tree joints; the value is the spelling in a file."""

    FIXED = 'fixed'
    REVOLUTE = 'revolute'
    CONTINUOUS = 'continuous'
    PRISMATIC = 'prismatic'
    PLANAR = 'planar'
    SPHERICAL = 'spherical'
    FLOATING = 'floating'

    @property
    def nv(self) -> int:
        """Return the number of velocities of the joint."""
        return {
            'fixed': 0,
            'revolute': 1,
            'continuous': 1,
            'prismatic': 1,
            'planar': 3,
            'spherical': 3,
            'floating': 6,
        }[self.value]

    @property
    def nq(self) -> int:
        """Return the number of position values (a planar joint: x, y, cos, sin)."""
        return {
            'fixed': 0,
            'revolute': 1,
            'continuous': 1,
            'prismatic': 1,
            'planar': 4,
            'spherical': 4,
            'floating': 7,
        }[self.value]


class LoopType(Enum):
    """Types of loop joints; the value is the spelling in a file."""

    FIXED = 'fixed'
    REVOLUTE = 'revolute'
    PRISMATIC = 'prismatic'
    CYLINDRICAL = 'cylindrical'
    UNIVERSAL = 'universal'
    SPHERICAL = 'spherical'
    PLANAR = 'planar'
    SURFACE = 'surface'
    FREE = 'free'

    @property
    def rows(self) -> int:
        """Return the number of constraint rows."""
        return {
            'fixed': 6,
            'revolute': 5,
            'prismatic': 5,
            'cylindrical': 4,
            'universal': 4,
            'spherical': 3,
            'planar': 3,
            'surface': 1,
            'free': 0,
        }[self.value]


LOOP_TYPE_ALIASES = {
    'link': 'fixed',
    'weld': 'fixed',
    '6d': 'fixed',
    'continuous': 'revolute',
    'hinge': 'revolute',
    'ball': 'spherical',
    '3d': 'spherical',
    'connect': 'spherical',
    'point_on_plane': 'surface',
    'point on plane': 'surface',
    'floating': 'free',
}
