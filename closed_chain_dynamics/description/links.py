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

"""Rigid bodies as they are written: placement, inertia and shapes of a link."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ['WORLD_LINK', 'Geometry', 'Inertia', 'Link', 'Numbers', 'Pose', 'Shape']

WORLD_LINK = 'world'  # the root of many files, which never moves
Numbers = tuple[float, ...]


@dataclass(frozen=True)
class Pose:
    """A placement as URDF writes it: position [m] and roll, pitch, yaw about fixed axes [rad]."""

    xyz: Numbers = (0.0, 0.0, 0.0)
    rpy: Numbers = (0.0, 0.0, 0.0)

    @property
    def rotation(self) -> NDArray[np.float64]:
        """Return the rotation matrix, (3, 3)."""
        (cr, cp, cy), (sr, sp, sy) = np.cos(self.rpy), np.sin(self.rpy)
        return np.array(
            [
                [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
                [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
                [-sp, cp * sr, cp * cr],
            ]
        )

    @property
    def position(self) -> NDArray[np.float64]:
        """Return the position, (3,) [m]."""
        return np.array(self.xyz, dtype=float)


@dataclass(frozen=True)
class Inertia:
    """Mass [kg], centre of mass in the link frame, and inertia about it [kg m^2]."""

    mass: float
    origin: Pose = Pose()
    # ixx, ixy, ixz, iyy, iyz, izz about the centre of mass, in the axes of `origin`
    moments: Numbers = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

    @property
    def tensor(self) -> NDArray[np.float64]:
        """Return the inertia about the centre of mass in the link's axes, (3, 3)."""
        ixx, ixy, ixz, iyy, iyz, izz = self.moments
        R = self.origin.rotation
        tensor = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
        return np.asarray(R @ tensor @ R.T)


@dataclass(frozen=True)
class Geometry:
    """
    A primitive or a mesh.

    `size`: x y z of a box; radius, length of a cylinder or capsule; radius of a sphere.
    """

    kind: str
    size: Numbers = ()
    filename: str = ''
    scale: Numbers = (1.0, 1.0, 1.0)


@dataclass(frozen=True)
class Shape:
    """A visual or a collision shape of a link."""

    geometry: Geometry
    origin: Pose = Pose()
    rgba: Numbers = ()
    material: str = ''
    name: str = ''


@dataclass(frozen=True)
class Link:
    """
    A rigid body; `inertia` is None where the file gives none.

    `gravcomp` is the share of its weight that something outside the mechanism carries.
    """

    name: str
    inertia: Inertia | None = None
    visuals: tuple[Shape, ...] = ()
    collisions: tuple[Shape, ...] = ()
    gravcomp: float = 0.0
