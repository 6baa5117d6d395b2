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
Records of a motion and its torques: CSV as logs are written, MCAP files and rosbag2 folders.

Positions of the actuated joints suffice; those of others are taken where they are given. A cubic
spline gives velocities and accelerations, and the loops the rest.
"""

import csv
from pathlib import Path as File
from typing import Any

import numpy as np

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.recording.log_files import Path
from closed_chain_dynamics.recording.terminal import Progress
from closed_chain_dynamics.studies.motion.moving import Motion, move
from closed_chain_dynamics.studies.motion.reading import read_trajectory
from closed_chain_dynamics.studies.motion.smoothing import smoothed
from closed_chain_dynamics.studies.motion.tracks import Tracks

__all__ = ['read_record']


def read_record(
    robot: Mechanism,
    path: Path,
    q: Array,
    *,
    rate: float | None = None,
    cutoff: float | None = None,
    progress: Progress | None = None,
) -> tuple[Motion, Array]:
    """
    Return the Motion of a record and the torques at its samples, (samples, actuators).

    q: a closed pose near its begin; `rate`: samples per second to take (default: all);
    `cutoff`: frequency above which positions and torques are noise [Hz].
    """
    table = File(path)
    if table.is_dir() or table.suffix in ('.mcap', '.db3'):
        table = _table_of_bag(robot, table)
    try:
        tracks = read_trajectory(robot, table)
        time, tau = _torques(robot, table)
    finally:
        if table != File(path):
            table.unlink()
    if cutoff:
        tracks = smoothed(tracks, cutoff)
        columns = {str(k): (each[:, None],) * 3 for k, each in enumerate(tau.T)}
        both = smoothed(Tracks(time, columns), cutoff)  # what is done to one is done to the other
        tau = np.hstack([each[0] for each in both.joints.values()])
    if rate:
        stride = max(1, round(1.0 / (rate * float(np.median(np.diff(tracks.time))))))
        tracks.time = tracks.time[::stride]
        tracks.joints = {
            name: (x[::stride], dx[::stride], ddx[::stride])
            for name, (x, dx, ddx) in tracks.joints.items()
        }
    motion = move(robot, tracks, q, progress=progress)
    return motion, np.column_stack([np.interp(motion.time, time, each) for each in tau.T])


def _torques(robot: Mechanism, path: File) -> tuple[Array, Array]:
    """Return times and torques, columns tau:NAME."""
    with open(path, newline='', encoding='utf-8-sig') as file:
        rows = list(csv.DictReader(file))
    missing = [name for name in robot.actuator_names if f'tau:{name}' not in rows[0]]
    if missing:
        raise ClosedChainError(
            f'there is no column tau:{missing[0]}',
            file=path,
            repair='A record for identification has time, positions of joints, and torques as '
            'tau:NAME of every actuator.',
        )
    names = ['time', *(f'tau:{name}' for name in robot.actuator_names)]
    values = np.empty((len(rows), len(names)))
    for row, cells in zip(values, rows):
        for k, name in enumerate(names):
            try:
                row[k] = float(cells[name])
            except (TypeError, ValueError):
                row[k] = np.nan
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        line, column = bad[0]
        raise ClosedChainError(
            f'sample {line + 1} has {rows[line][names[column]]!r} in the column {names[column]!r}',
            file=path,
            repair='Give finite numbers only.',
        )
    return values[:, 0], values[:, 1:]


def _table_of_bag(robot: Mechanism, path: File) -> File:
    """Write the joint states of a bag as a table beside it; return its name."""
    try:
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_typestore
    except ImportError:
        raise ClosedChainError(
            'reading bags needs the library rosbags',
            file=path,
            repair='Install it: pip install rosbags.',
        ) from None
    import tempfile

    samples: dict[float, dict[str, float]] = {}
    try:
        bags = [path.parent if path.suffix == '.db3' else path]  # a database needs metadata.yaml
        with AnyReader(bags, default_typestore=get_typestore(Stores.ROS2_JAZZY)) as bag:
            states = [c for c in bag.connections if c.msgtype == 'sensor_msgs/msg/JointState']
            for connection, _, raw in bag.messages(connections=states):
                _note(samples, robot, bag.deserialize(raw, connection.msgtype))
    except Exception as error:  # of rosbags, which has many
        raise ClosedChainError(
            f'the bag cannot be read: {error}', file=path, repair='Give an MCAP file or a bag.'
        ) from None
    names = sorted({name for row in samples.values() for name in row})
    whole = [(time, row) for time, row in sorted(samples.items()) if len(row) == len(names)]
    with tempfile.NamedTemporaryFile(
        'w', suffix='.csv', delete=False, newline='', encoding='utf-8'
    ) as file:
        writer = csv.writer(file)
        writer.writerow(['time', *names])
        writer.writerows([time, *(row[name] for name in names)] for time, row in whole)
    return File(file.name)


def _note(samples: dict[float, dict[str, float]], robot: Mechanism, message: Any) -> None:
    """Note positions and efforts of a JointState at its time."""
    stamp = message.header.stamp
    row = samples.setdefault(stamp.sec + 1e-9 * stamp.nanosec, {})
    for name, value in zip(message.name, message.position):
        if name in robot.joint_names:
            row[name] = float(value)
    for name, value in zip(message.name, message.effort):
        if name in robot.actuator_names:
            row[f'tau:{name}'] = float(value)
