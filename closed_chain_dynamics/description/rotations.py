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

"""Rotations in and out of the ways that files write them."""

import math
from typing import Any

import numpy as np

from closed_chain_dynamics.arrays import Matrix
from closed_chain_dynamics.description.elements import Pose

__all__ = ['pose_of', 'quaternion_of', 'rotation', 'rotation_to', 'turn', 'upper_triangle', 'xyzw']

STRAIGHT_UP = 1e-14  # cosine of the pitch below which roll and yaw turn about one axis


def turn(axis: Any, angle: float) -> Matrix:
    """Return the rotation about a unit vector, (3, 3)."""
    x, y, z = axis
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + math.sin(angle) * K + (1.0 - math.cos(angle)) * K @ K)


def rotation(wxyz: Any) -> Matrix:
    """Return the rotation matrix of a quaternion that starts with w, (3, 3)."""
    x, y, z, w = xyzw(wxyz)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def rotation_to(axis: Any) -> Matrix:
    """Return the smallest rotation that takes z to a unit vector, (3, 3)."""
    x, y, z = axis
    if z >= 0.0:
        k = 1.0 / (1.0 + z)
    elif x * x + y * y == 0.0:
        return np.diag([1.0, -1.0, -1.0])
    else:  # the same number; 1 + z has lost its digits when the axis is close to -z
        k = (1.0 - z) / (x * x + y * y)
    return np.array(
        [[1.0 - k * x * x, -k * x * y, x], [-k * x * y, 1.0 - k * y * y, y], [-x, -y, z]]
    )


def xyzw(wxyz: Any) -> tuple[float, ...]:
    """Return a quaternion that starts with w as x y z w of length one."""
    w, x, y, z = np.asarray(wxyz, dtype=float) / np.linalg.norm(wxyz)
    return float(x), float(y), float(z), float(w)


def quaternion_of(R: Matrix) -> tuple[float, ...]:
    """Return w x y z of a rotation."""
    from scipy.spatial.transform import Rotation

    x, y, z, w = Rotation.from_matrix(R).as_quat()
    return float(w), float(x), float(y), float(z)


def pose_of(R: Any, p: Any) -> Pose:
    """Return the Pose of a rotation and a position."""
    level = math.hypot(R[0, 0], R[1, 0])
    pitch = math.atan2(-R[2, 0], level)
    # near straight up only the sum or the difference of roll and yaw counts: whatever rounding
    # made of the yaw, the roll is what is left of the rotation behind it
    yaw = math.atan2(R[1, 0], R[0, 0]) if level > STRAIGHT_UP else 0.0
    sine, cosine = math.sin(yaw), math.cos(yaw)
    roll = math.atan2(sine * R[0, 2] - cosine * R[1, 2], cosine * R[1, 1] - sine * R[0, 1])
    return Pose(tuple(float(each) + 0.0 for each in p), (roll + 0.0, pitch + 0.0, yaw + 0.0))


def upper_triangle(tensor: Matrix) -> tuple[float, ...]:
    """Return ixx, ixy, ixz, iyy, iyz, izz."""
    return tuple(float(tensor[pair]) for pair in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)))
