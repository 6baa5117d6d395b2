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

import json
from pathlib import Path
import tempfile

import numpy as np

from closed_chain_dynamics.description.elements import JointType
from closed_chain_dynamics.description.writer import to_xml
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.model.bodies import rotation_to
from closed_chain_dynamics.recording.log_files import (
    check_folder,
    event_record,
    events_by_sample,
    writing,
)
from closed_chain_dynamics.recording.tracks import link_tracks

__all__ = ['check_mcap', 'write_mcap']

SUFFIX = '.mcap'
SERIES = {
    '/energy/kinetic': 'kinetic',
    '/energy/potential': 'potential',
    '/energy/work': 'work',
    '/energy/dissipated': 'dissipated',
    '/energy/lost': 'lost',
    '/energy/balance': 'balance',
    '/loop_error': 'loop_error',
}
BAG_VERSION = 8  # of the metadata: what all rosbag2 since Iron reads


def check_mcap(path):
    """Refuse, before any work, a path that cannot be written to or a library that is missing."""
    _library()
    check_folder(path)
    if Path(path).suffix != SUFFIX and Path(path).exists():
        raise ClosedChainError(
            'this bag is there already',
            file=path,
            repair=f'Remove it, choose another name, or write one file: '
            f'{Path(path).name}{SUFFIX}.',
        )


def write_mcap(log, path):
    """Write one MCAP file where the path ends in .mcap, else a folder as rosbag2 makes it."""
    check_mcap(path)
    path = Path(path)
    with writing(path):
        if path.suffix != SUFFIX:
            _write_bag(log, path)
            return
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f'.{path.stem}-') as folder:
            _write_bag(log, Path(folder) / 'bag')
            (Path(folder) / 'bag' / f'bag{SUFFIX}').replace(path)


def _library():
    try:
        from rosbags import rosbag2, typesys
    except ImportError:
        raise ClosedChainError(
            'writing MCAP needs the library rosbags', repair='Install it: pip install rosbags.'
        ) from None
    return rosbag2, typesys


def _write_bag(log, folder):
    rosbag2, typesys = _library()
    store = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
    with rosbag2.Writer(
        folder, version=BAG_VERSION, storage_plugin=rosbag2.StoragePlugin.MCAP
    ) as bag:
        bag = _Topics(bag, store)
        for stamp, topic, message in _messages(log, store.types):
            bag.write(topic, stamp, message)


class _Topics:
    """A bag whose topics are made when the first message comes."""

    def __init__(self, bag, store):
        self.bag, self.store, self.of = bag, store, {}

    def write(self, topic, stamp, message):
        kind = message.__msgtype__
        if topic not in self.of:
            latched = topic in ('/tf_static', '/robot_description')
            self.of[topic] = self.bag.add_connection(
                topic, kind, typestore=self.store, offered_qos_profiles=[_qos(latched)]
            )
        self.bag.write(self.of[topic], stamp, self.store.serialize_cdr(message, kind))


def _qos(latched):
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


def _messages(log, types):
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
                            joint.origin.xyz,
                        )
                        for joint in fixed
                    ],
                ),
            )
    series = [(topic, getattr(log, name).tolist()) for topic, name in SERIES.items()]
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


def _quaternions(rotations):
    """Return quaternions x y z w of rotation matrices, (..., 3, 3)."""
    from scipy.spatial.transform import Rotation  # slow to import

    return (
        Rotation.from_matrix(rotations.reshape(-1, 3, 3))
        .as_quat()
        .reshape(*rotations.shape[:-2], 4)
    )


class _Motion:
    """The joints and the moving links of one segment, sample by sample."""

    def __init__(self, segment, torques, make):
        robot, q, v = segment.mechanism(), segment.get('q'), segment.get('v')
        self.make = make
        widths = {name: robot.joint_slices(name) for name in robot.joint_names}
        self.single = [name for name, (_, in_v) in widths.items() if in_v.stop - in_v.start == 1]
        self.position = q[:, [widths[name][0].start for name in self.single]]
        self.rate = v[:, [widths[name][1].start for name in self.single]]
        none = np.zeros(len(q))
        self.effort = np.array([torques.get(name, none) for name in self.single]).T
        tracks = link_tracks(robot, q)
        self.moving = []  # parent, child, quaternions and positions in the parent
        self.several = {}  # joint: quaternions and positions in its frame, twists
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

    def states(self, k, stamp):
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

    def frames(self, k):
        """Return parent, child, quaternion and position of every moving link."""
        return [
            (parent, child, quaternions[k], positions[k])
            for parent, child, quaternions, positions in self.moving
        ]


def _twists(joint, v):
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

    def __init__(self, types):
        names = {
            'builtin_interfaces': ('Time',),
            'std_msgs': ('Header', 'String', 'Float64'),
            'geometry_msgs': ('Quaternion', 'Vector3', 'Transform', 'TransformStamped', 'Twist'),
            'sensor_msgs': ('JointState', 'MultiDOFJointState'),
            'tf2_msgs': ('TFMessage',),
        }
        for package, kinds in names.items():
            for kind in kinds:
                setattr(self, kind, types[f'{package}/msg/{kind}'])

    def text(self, text):
        return self.String(data=text)

    def number(self, value):
        return self.Float64(data=value)

    def header(self, stamp, frame=''):
        time = self.Time(sec=stamp // 10**9, nanosec=stamp % 10**9)
        return self.Header(stamp=time, frame_id=frame)

    def joint_state(self, stamp, names, position, velocity, effort):
        position, velocity, effort = map(np.ascontiguousarray, (position, velocity, effort))
        return self.JointState(
            header=self.header(stamp),
            name=names,
            position=position,
            velocity=velocity,
            effort=effort,
        )

    def multi_dof_joint_state(self, stamp, names, parts):
        return self.MultiDOFJointState(
            header=self.header(stamp),
            joint_names=names,
            wrench=[],
            transforms=[self.transform(quaternion, p) for quaternion, p, _ in parts],
            twist=[
                self.Twist(linear=self.vector(twist[:3]), angular=self.vector(twist[3:]))
                for _, _, twist in parts
            ],
        )

    def transforms(self, stamp, frames):
        return self.TFMessage(
            transforms=[
                self.TransformStamped(
                    header=self.header(stamp, parent),
                    child_frame_id=child,
                    transform=self.transform(quaternion, p),
                )
                for parent, child, quaternion, p in frames
            ]
        )

    def transform(self, quaternion, p):
        x, y, z, w = map(float, quaternion)
        return self.Transform(
            translation=self.vector(p), rotation=self.Quaternion(x=x, y=y, z=z, w=w)
        )

    def vector(self, values):
        x, y, z = map(float, values)
        return self.Vector3(x=x, y=y, z=z)
