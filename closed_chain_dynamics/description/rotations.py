"""Rotations in and out of the ways that files write them."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.description.elements import Pose

__all__ = ['Matrix', 'pose_of', 'quaternion_of', 'rotation', 'turn', 'upper_triangle', 'xyzw']

Matrix = NDArray[np.float64]
STRAIGHT_UP = 1e-9  # cosine of the pitch below which roll and yaw turn about one axis


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
    if level > STRAIGHT_UP:
        roll, yaw = math.atan2(R[2, 1], R[2, 2]), math.atan2(R[1, 0], R[0, 0])
    else:  # only the sum or the difference of roll and yaw counts
        roll, yaw = math.atan2(-R[1, 2], R[1, 1]), 0.0
    return Pose(tuple(float(each) + 0.0 for each in p), (roll + 0.0, pitch + 0.0, yaw + 0.0))


def upper_triangle(tensor: Matrix) -> tuple[float, ...]:
    """Return ixx, ixy, ixz, iyy, iyz, izz."""
    return tuple(float(tensor[pair]) for pair in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)))
