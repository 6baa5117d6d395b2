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

from collections.abc import Iterator, Mapping
import json
from pathlib import Path as File
import tempfile
from typing import Any

import numpy as np

from closed_chain_dynamics.description.elements import JointType
from closed_chain_dynamics.description.writer import to_xml
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.recording.bag_messages import (
    MessageMaker,
    SegmentMotion,
    quaternions_of,
)
from closed_chain_dynamics.recording.log import Log
from closed_chain_dynamics.recording.log_files import (
    Path,
    check_folder,
    event_record,
    events_by_sample,
    writing,
)

__all__ = ['check_mcap', 'write_mcap']


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
    make = MessageMaker(types)
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
                            quaternions_of(joint.origin.rotation),
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
        motion = SegmentMotion(segment, dict(zip(torques, rows[samples].T)), make)
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
