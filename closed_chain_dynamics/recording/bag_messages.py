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

"""Messages of a bag: made of plain values, and the motion of a segment sample by sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.description.elements import Joint, JointType
from closed_chain_dynamics.description.rotations import rotation_to
from closed_chain_dynamics.recording.segments import LogSegment
from closed_chain_dynamics.recording.tracks import link_tracks

__all__ = ['MessageMaker', 'SegmentMotion', 'quaternions_of']


Frame = tuple[str, str, Array, Array]  # parent, child, quaternion and position


def quaternions_of(rotations: Array) -> Array:
    """Return quaternions x y z w of rotation matrices, (..., 3, 3)."""
    from scipy.spatial.transform import Rotation  # slow to import

    quaternions: Array = Rotation.from_matrix(rotations.reshape(-1, 3, 3)).as_quat()
    return quaternions.reshape(*rotations.shape[:-2], 4)


class SegmentMotion:
    """The joints and the moving links of one segment, sample by sample."""

    def __init__(
        self, segment: LogSegment, torques: Mapping[str, Array], make: MessageMaker
    ) -> None:
        robot, q, v = segment.mechanism(), segment.get('q'), segment.get('v')
        self.make = make
        widths = {name: robot.joint_slices(name) for name in robot.joint_names}
        self.single = [name for name, (_, in_v) in widths.items() if in_v.stop - in_v.start == 1]
        self.position = q[:, [widths[name][0].start for name in self.single]]
        self.rate = v[:, [widths[name][1].start for name in self.single]]
        none = np.zeros(len(q))
        self.effort = np.array([torques.get(name, none) for name in self.single]).T
        tracks = link_tracks(robot, q)
        self.moving: list[Frame] = []  # parent, child, quaternions and positions in the parent
        # joint: quaternions and positions in its frame, twists
        self.several: dict[str, tuple[Array, Array, Array]] = {}
        for joint in robot.description.joints:
            if joint.type is JointType.FIXED:
                continue
            (R_parent, p_parent), (R_child, p_child) = tracks[joint.parent], tracks[joint.child]
            to_parent = R_parent.transpose(0, 2, 1)
            R, p = to_parent @ R_child, (to_parent @ (p_child - p_parent)[..., None])[..., 0]
            self.moving.append((joint.parent, joint.child, quaternions_of(R), p))
            if joint.type.nv > 1 and joint.name in widths:
                R_joint = joint.origin.rotation
                self.several[joint.name] = (
                    quaternions_of(R_joint.T @ R),
                    (p - joint.origin.position) @ R_joint,
                    _twists(joint, v[:, widths[joint.name][1]]),
                )

    def states(self, k: int, stamp: int) -> Iterator[tuple[str, Any]]:
        """Yield topic and message of the states of the joints."""
        if self.single:
            yield (
                '/joint_states',
                self.make.joint_state(
                    stamp, self.single, self.position[k], self.rate[k], self.effort[k]
                ),
            )
        if self.several:
            yield (
                '/multi_dof_joint_states',
                self.make.multi_dof_joint_state(
                    stamp,
                    list(self.several),
                    [[each[k] for each in arrays] for arrays in self.several.values()],
                ),
            )

    def frames(self, k: int) -> list[Frame]:
        """Return parent, child, quaternion and position of every moving link."""
        return [
            (parent, child, quaternions[k], positions[k])
            for parent, child, quaternions, positions in self.moving
        ]


def _twists(joint: Joint, v: Array) -> Array:
    """Return linear and angular velocity, (samples, 6), in the axes of the child."""
    if joint.type is JointType.FLOATING:
        return v
    none = np.zeros_like(v)
    if joint.type is JointType.SPHERICAL:
        return np.hstack([none, v])
    R_axis = rotation_to(joint.axis)  # a planar joint moves across its axis
    none[:, :2] = v[:, :2]
    return np.hstack([none @ R_axis.T, v[:, 2:] * R_axis[:, 2]])


class MessageMaker:
    """Makes messages of plain values."""

    def __init__(self, types: Mapping[str, Any]) -> None:
        names = {
            'builtin_interfaces': ('Time',),
            'std_msgs': ('Header', 'String', 'Float64'),
            'geometry_msgs': ('Quaternion', 'Vector3', 'Transform', 'TransformStamped', 'Twist'),
            'sensor_msgs': ('JointState', 'MultiDOFJointState'),
            'tf2_msgs': ('TFMessage',),
        }
        self.types = {
            kind: types[f'{package}/msg/{kind}']
            for package, kinds in names.items()
            for kind in kinds
        }

    def text(self, text: str) -> Any:
        """Return a String."""
        return self.types['String'](data=text)

    def number(self, value: float) -> Any:
        """Return a Float64."""
        return self.types['Float64'](data=value)

    def header(self, stamp: int, frame: str = '') -> Any:
        """Return a Header; `stamp` in ns."""
        time = self.types['Time'](sec=stamp // 10**9, nanosec=stamp % 10**9)
        return self.types['Header'](stamp=time, frame_id=frame)

    def joint_state(
        self, stamp: int, names: Sequence[str], position: Array, velocity: Array, effort: Array
    ) -> Any:
        """Return a JointState."""
        position, velocity, effort = map(np.ascontiguousarray, (position, velocity, effort))
        return self.types['JointState'](
            header=self.header(stamp),
            name=names,
            position=position,
            velocity=velocity,
            effort=effort,
        )

    def multi_dof_joint_state(
        self, stamp: int, names: Sequence[str], parts: Sequence[Sequence[Array]]
    ) -> Any:
        """Return a MultiDOFJointState; `parts`: quaternion, position and twist of each joint."""
        return self.types['MultiDOFJointState'](
            header=self.header(stamp),
            joint_names=names,
            wrench=[],
            transforms=[self.transform(quaternion, p) for quaternion, p, _ in parts],
            twist=[
                self.types['Twist'](linear=self.vector(twist[:3]), angular=self.vector(twist[3:]))
                for _, _, twist in parts
            ],
        )

    def transforms(self, stamp: int, frames: Sequence[Frame]) -> Any:
        """Return a TFMessage."""
        return self.types['TFMessage'](
            transforms=[
                self.types['TransformStamped'](
                    header=self.header(stamp, parent),
                    child_frame_id=child,
                    transform=self.transform(quaternion, p),
                )
                for parent, child, quaternion, p in frames
            ]
        )

    def transform(self, quaternion: Array, p: Array) -> Any:
        """Return a Transform."""
        x, y, z, w = map(float, quaternion)
        return self.types['Transform'](
            translation=self.vector(p), rotation=self.types['Quaternion'](x=x, y=y, z=z, w=w)
        )

    def vector(self, values: Array) -> Any:
        """Return a Vector3."""
        x, y, z = map(float, values)
        return self.types['Vector3'](x=x, y=y, z=z)
