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
Rotations as quaternions, x y z w, by the libraries that ROS users know.

tf_transformations where a ROS distribution has it; else transforms3d, on which it rests and which
PyPI has.
"""

from typing import Any

import numpy as np

from closed_chain_dynamics.arrays import Array

try:
    import tf_transformations
except ImportError:
    tf_transformations = None

__all__ = ['quaternion_about', 'quaternion_of']


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
