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
How some joints move: positions over time, and their rates.

Positions come from a table, from poses or from sines; a cubic spline through samples gives rates
and accelerations, of quaternions those of the rotation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.errors import ClosedChainError, StateError
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.recording.log_files import Path

__all__ = ['Path', 'Tracks', 'sines', 'splined', 'tracks_of_poses']


@dataclass
class Tracks:
    """How some joints move: arrays over time, positions as in q, the others as in v."""

    time: Array  # (samples,) [s]
    # joint: (positions, rates, accelerations)
    joints: dict[str, tuple[Array, Array, Array]] = field(default_factory=dict)


def sines(robot: Mechanism, q: Array, waves: Mapping[str, Sequence[float]], time: Array) -> Tracks:
    """Return Tracks of joints that swing about the pose q: {joint: (size, frequency [Hz])}."""
    tracks = Tracks(time)
    for joint, (size, frequency) in waves.items():
        place, velocity = robot.joint_slices(joint)
        if velocity.stop - velocity.start != 1:
            raise StateError(
                f'the joint {joint!r} has more than one coordinate, and a sine moves only one',
                where=robot.name,
                repair='Write its motion into a trajectory.',
            )
        omega = 2.0 * np.pi * frequency
        sine, cosine = np.sin(omega * time), np.cos(omega * time)
        tracks.joints[joint] = (
            q[place] + size * sine[:, None],
            omega * size * cosine[:, None],
            -(omega**2) * size * sine[:, None],
        )
    return tracks


def tracks_of_poses(robot: Mechanism, time: Array, poses: Array) -> Tracks:
    """Return Tracks of all joints from poses, (samples, nq), by splines."""
    tracks = Tracks(time)
    for joint in robot.joint_names:
        values = poses[:, robot.joint_slices(joint)[0]]
        tracks.joints[joint] = splined(time, values, time, joint)
    return tracks


def splined(
    time: Array, values: Array, wanted: Array, joint: str, path: Path | None = None
) -> tuple[Array, Array, Array]:
    """Return positions, rates and accelerations of a joint at wanted times, by a cubic spline."""
    from scipy.interpolate import CubicSpline

    if values.shape[1] > 1:
        values = _same_side(values.copy(), path, joint)
    try:
        with np.errstate(over='ignore', invalid='ignore'):
            spline = CubicSpline(time, values)
    except ValueError:  # what is in between is beyond any number
        raise ClosedChainError(
            f'the joint {joint!r} moves too far in too short a time',
            file=path,
            repair='Give positions in rad or m, and times in s.',
        ) from None
    return _rates(spline(wanted), spline(wanted, 1), spline(wanted, 2))


def _same_side(values: Array, path: Path | None, joint: str) -> Array:
    """Return positions whose quaternions do not jump between the two that mean the same."""
    if values.shape[1] == 4 and np.any(np.abs(np.linalg.norm(values, axis=1) - 1.0) > 1e-3):
        raise ClosedChainError(
            f'the orientation of joint {joint!r} is not a unit quaternion, or '
            'the joint is planar, which a trajectory cannot move yet',
            file=path,
            repair='Leave the joint out.',
        )
    quaternions = values[:, -4:]
    turns = np.cumprod(np.append(1.0, np.sign((quaternions[1:] * quaternions[:-1]).sum(axis=1))))
    quaternions *= turns[:, None]
    return values


def _rates(x: Array, dx: Array, ddx: Array) -> tuple[Array, Array, Array]:
    """Return positions as in q, rates and accelerations as in v, from those of a spline."""
    if x.shape[1] == 1:
        return x, dx, ddx
    from scipy.spatial.transform import Rotation

    p, dp, ddp = x[:, -4:], dx[:, -4:], ddx[:, -4:]
    size = (p * p).sum(axis=1, keepdims=True)  # near 1: a spline leaves the sphere a little
    # omega = 2 Im(p* p') / |p|^2 in the axes of the child, and its derivative
    omega = 2.0 * _imaginary(p, dp) / size
    alpha = (
        2.0 * _imaginary(p, ddp) / size - 2.0 * (p * dp).sum(axis=1, keepdims=True) / size * omega
    )
    p = p / np.sqrt(size)
    if x.shape[1] == 4:
        return p, omega, alpha
    back = Rotation.from_quat(p).inv()
    v = back.apply(dx[:, :3])
    a = back.apply(ddx[:, :3]) - np.cross(omega, v)  # the axes turn as well
    return np.hstack([x[:, :3], p]), np.hstack([v, omega]), np.hstack([a, alpha])


def _imaginary(p: Array, r: Array) -> Array:
    """Return the imaginary part of p* r, quaternions xyzw, (samples, 3)."""
    return p[:, 3:] * r[:, :3] - r[:, 3:] * p[:, :3] - np.cross(p[:, :3], r[:, :3])
