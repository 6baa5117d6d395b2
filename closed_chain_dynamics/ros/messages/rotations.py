"""
Rotations as quaternions, x y z w, by the libraries that ROS users know.

tf_transformations where a ROS distribution has it; else transforms3d, on which it rests and which
PyPI has.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

try:
    import tf_transformations
except ImportError:
    tf_transformations = None

__all__ = ['quaternion_about', 'quaternion_of']

Array = NDArray[np.float64]


def quaternion_of(R: Array) -> Array:
    """Return the quaternion of a rotation matrix (3, 3)."""
    if tf_transformations is not None:
        matrix = np.identity(4)
        matrix[:3, :3] = R
        return np.asarray(tf_transformations.quaternion_from_matrix(matrix), dtype=float)
    return _from_wxyz(_quaternions().mat2quat(R))


def quaternion_about(axis: Array, angle: float) -> Array:
    """Return the quaternion of a rotation about an axis (3,) of unit length [rad]."""
    if tf_transformations is not None:
        return np.asarray(tf_transformations.quaternion_about_axis(angle, axis), dtype=float)
    return _from_wxyz(_quaternions().axangle2quat(axis, angle, is_normalized=True))


def _quaternions() -> Any:
    from transforms3d import quaternions

    return quaternions


def _from_wxyz(quaternion: Array) -> Array:
    return np.roll(np.asarray(quaternion, dtype=float), -1)
