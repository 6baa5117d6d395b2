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
A log as ROS 2 messages in MCAP, for PlotJuggler, Foxglove, RViz and `ros2 bag`; needs no ROS.

Topic                          Type                            What
/joint_states                  sensor_msgs/JointState          joints of one coordinate, torques
/multi_dof_joint_states        sensor_msgs/MultiDOFJointState  the other joints, if there are any
/tf, /tf_static                tf2_msgs/TFMessage              every link in its parent link
/robot_description             std_msgs/String                 the model
/contact/events                std_msgs/String                 connections and cuts, as JSON
/energy/..., /loop_error       std_msgs/Float64                energies [J]; error [m or rad]

Stamps are the time of the simulation.
"""

from collections.abc import Iterator, Mapping, Sequence
import json
from pathlib import Path as File
import tempfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.description.elements import Joint, JointType
from closed_chain_dynamics.description.rotations import rotation_to
from closed_chain_dynamics.description.writer import to_xml
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.recording.log import Log
from closed_chain_dynamics.recording.log_files import (
    Path,
    check_folder,
    event_record,
    events_by_sample,
    writing,
)
from closed_chain_dynamics.recording.segments import Segment
from closed_chain_dynamics.recording.tracks import link_tracks

__all__ = ['check_mcap', 'write_mcap']

Array = NDArray[np.float64]
Frame = tuple[str, str, Array, Array]  # parent, child, quaternion and position

SUFFIX = '.mcap'
TOPICS = {
    '/energy/kinetic': 'kinetic',
    '/energy/potential': 'potential',
    '/energy/work': 'work',
    '/energy/dissipated': 'dissipated',
    '/energy/lost': 'lost',
    '/energy/balance': 'balance',
    '/loop_error': 'loop_error',
}
BAG_VERSION = 8  # of the metadata: what all rosbag2 since Iron reads


def check_mcap(path: Path) -> None:
    """Refuse, before any work, a path that cannot be written to or a library that is missing."""
    _library()
    check_folder(path)
    if File(path).suffix != SUFFIX and File(path).exists():
        raise ClosedChainError(
            'this bag already exists',
            file=path,
            repair=f'Remove it, choose another name, or write one file: '
            f'{File(path).name}{SUFFIX}.',
        )


def write_mcap(log: Log, path: Path) -> None:
    """Write one MCAP file where the path ends in .mcap, else a folder as rosbag2 makes it."""
    check_mcap(path)
    wanted = File(path)
    with writing(path):
        if wanted.suffix != SUFFIX:
            _write_bag(log, wanted)
            return
        with tempfile.TemporaryDirectory(dir=wanted.parent, prefix=f'.{wanted.stem}-') as folder:
            _write_bag(log, File(folder) / 'bag')
            (File(folder) / 'bag' / f'bag{SUFFIX}').replace(wanted)


def _library() -> tuple[Any, Any]:
    try:
        from rosbags import rosbag2, typesys
    except ImportError:
        raise ClosedChainError(
            'writing MCAP needs the library rosbags', repair='Install it: pip install rosbags.'
        ) from None
    return rosbag2, typesys


def _write_bag(log: Log, folder: File) -> None:
    rosbag2, typesys = _library()
    store = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
    with rosbag2.Writer(
        folder, version=BAG_VERSION, storage_plugin=rosbag2.StoragePlugin.MCAP
    ) as file:
        bag = _Topics(file, store)
        for stamp, topic, message in _messages(log, store.types):
            bag.write(topic, stamp, message)


class _Topics:
    """A bag whose topics are made when the first message comes."""

    def __init__(self, bag: Any, store: Any) -> None:
        self.bag, self.store = bag, store
        self.of: dict[str, Any] = {}

    def write(self, topic: str, stamp: int, message: Any) -> None:
        kind = message.__msgtype__
        if topic not in self.of:
            latched = topic in ('/tf_static', '/robot_description')
            self.of[topic] = self.bag.add_connection(
                topic, kind, typestore=self.store, offered_qos_profiles=[_qos(latched)]
            )
        self.bag.write(self.of[topic], stamp, self.store.serialize_cdr(message, kind))


def _qos(latched: bool) -> Any:
    """Return the quality of service: who comes late still gets what is latched."""
    from rosbags.interfaces import (
        Qos,
        QosDurability,
        QosHistory,
        QosLiveliness,
        QosReliability,
        QosTime,
    )

    durability = QosDurability.TRANSIENT_LOCAL if latched else QosDurability.VOLATILE
    forever = QosTime(9223372036, 854775807)
    return Qos(
        QosHistory.KEEP_LAST,
        1 if latched else 100,
        QosReliability.RELIABLE,
        durability,
        forever,
        forever,
        QosLiveliness.AUTOMATIC,
        forever,
        False,
    )


def _messages(log: Log, types: Mapping[str, Any]) -> Iterator[tuple[int, str, Any]]:
    """Yield stamp [ns], topic and message in the order of time."""
    make = _Messages(types)
    stamps = np.round(log.time * 1e9).astype(np.int64).tolist()
    model = log.robot.description
    if stamps:
        yield stamps[0], '/robot_description', make.text(to_xml(model))
        fixed = [joint for joint in model.joints if joint.type is JointType.FIXED]
        if fixed:
            yield (
                stamps[0],
                '/tf_static',
                make.transforms(
                    stamps[0],
                    [
                        (
                            joint.parent,
                            joint.child,
                            _quaternions(joint.origin.rotation),
                            joint.origin.position,
                        )
                        for joint in fixed
                    ],
                ),
            )
    series = [(topic, getattr(log, name).tolist()) for topic, name in TOPICS.items()]
    events = events_by_sample(log)
    torques, rows = log.table('tau')
    for segment, samples in log.spans():
        motion = _Motion(segment, dict(zip(torques, rows[samples].T)), make)
        for k, number in enumerate(range(samples.start, samples.stop)):
            stamp = stamps[number]
            for event in events.get(number, ()):
                yield stamp, '/contact/events', make.text(json.dumps(event_record(event)))
            for topic, values in series:
                yield stamp, topic, make.number(values[number])
            for topic, message in motion.states(k, stamp):
                yield stamp, topic, message
            # tf wants one transform per instant: at an event, that after it
            if number + 1 == len(stamps) or stamps[number + 1] > stamp:
                yield stamp, '/tf', make.transforms(stamp, motion.frames(k))


def _quaternions(rotations: Array) -> Array:
    """Return quaternions x y z w of rotation matrices, (..., 3, 3)."""
    from scipy.spatial.transform import Rotation  # slow to import

    quaternions: Array = Rotation.from_matrix(rotations.reshape(-1, 3, 3)).as_quat()
    return quaternions.reshape(*rotations.shape[:-2], 4)


class _Motion:
    """The joints and the moving links of one segment, sample by sample."""

    def __init__(self, segment: Segment, torques: Mapping[str, Array], make: '_Messages') -> None:
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
            self.moving.append((joint.parent, joint.child, _quaternions(R), p))
            if joint.type.nv > 1 and joint.name in widths:
                R_joint = joint.origin.rotation
                self.several[joint.name] = (
                    _quaternions(R_joint.T @ R),
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


class _Messages:
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
        return self.types['String'](data=text)

    def number(self, value: float) -> Any:
        return self.types['Float64'](data=value)

    def header(self, stamp: int, frame: str = '') -> Any:
        time = self.types['Time'](sec=stamp // 10**9, nanosec=stamp % 10**9)
        return self.types['Header'](stamp=time, frame_id=frame)

    def joint_state(
        self, stamp: int, names: Sequence[str], position: Array, velocity: Array, effort: Array
    ) -> Any:
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
        x, y, z, w = map(float, quaternion)
        return self.types['Transform'](
            translation=self.vector(p), rotation=self.types['Quaternion'](x=x, y=y, z=z, w=w)
        )

    def vector(self, values: Array) -> Any:
        x, y, z = map(float, values)
        return self.types['Vector3'](x=x, y=y, z=z)
