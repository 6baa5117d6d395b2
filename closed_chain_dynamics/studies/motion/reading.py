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
Motions of a closed chain over time, given for some joints and completed for the others.

Positions of joints come from a table or from sines; a cubic spline through a table gives rates
and accelerations. At every sample the loops are closed, and velocities and accelerations completed
(`assembly`, `completion`), so that what comes out obeys the loops. Joints that the motion leaves
free keep still.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
import csv
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.assembly.completion import complete_acceleration, complete_velocity
from closed_chain_dynamics.assembly.search import assemble
from closed_chain_dynamics.dynamics.constraints import loop_jacobian
from closed_chain_dynamics.dynamics.explanation import listed
from closed_chain_dynamics.dynamics.generalized_coordinates import coordinates
from closed_chain_dynamics.errors import AssemblyError, ClosedChainError, StateError
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.recording.segments import position_names

__all__ = ['Motion', 'Tracks', 'move', 'read_trajectory', 'sines', 'steady_motion']

Array = NDArray[np.float64]
Path = str | PathLike[str]
Progress = Callable[[float], object]  # is told the share that is done

FEWEST = 4  # samples that a cubic spline without conditions at its ends needs
WORTH_TELLING = 1e-6  # gaps above this are worth telling: files have six digits or more [m or rad]


@dataclass
class Tracks:
    """How some joints move: arrays over time, positions as in q, the others as in v."""

    time: Array  # (samples,) [s]
    # joint: (positions, rates, accelerations)
    joints: dict[str, tuple[Array, Array, Array]] = field(default_factory=dict)


@dataclass
class Motion:
    """A motion that obeys the loops: one row per sample."""

    time: Array
    q: Array
    v: Array
    a: Array
    notes: list[str] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)  # sentences on what nobody said


def steady_motion(
    robot: Mechanism,
    q: Array,
    rates: Mapping[str, float | Sequence[float]],
    accelerations: Mapping[str, float | Sequence[float]],
) -> Motion:
    """
    Return the Motion of one sample with the named rates and accelerations.

    Who names a rate and no acceleration means a joint that turns steadily: zero is assumed for it,
    as far as the loops leave that open, and the Motion says so.
    """
    v = complete_velocity(robot, q, rates)
    wanted: dict[str, Any] = dict(accelerations)
    steady: list[str] = []
    for name, rate in rates.items():
        zero = {name: np.zeros(np.size(rate))} if np.size(rate) > 1 else {name: 0.0}
        try:
            complete_acceleration(robot, q, v, {**wanted, **zero})
        except StateError:
            continue  # given as part of another, or the loops ask for another value
        if name not in accelerations:
            wanted.update(zero)
            steady.append(name)
    a = complete_acceleration(robot, q, v, wanted)
    assumed = [f'zero acceleration of {listed(steady)}; --a gives another'] if steady else []
    left = coordinates(robot, q).mobility - _known(robot, q, rates)
    if rates and left:
        ways = 'way to move' if left == 1 else 'ways to move'
        assumed.append(f'the smallest velocities in {left} {ways} that --v leaves open')
    return Motion(np.zeros(1), q[None], v[None], a[None], assumed=assumed)


def _known(robot: Mechanism, q: Array, names: Iterable[str]) -> int:
    """Return in how many ways to move the named joints and coordinates say how fast."""
    W, rows = coordinates(robot, q).W, [np.zeros((0, robot.nv))]
    for name in names:
        if name in robot.joint_names:
            rows.append(np.eye(robot.nv)[robot.joint_slices(name)[1]])
        elif name in robot.coordinate_names:
            rows.append(np.eye(robot.nv)[[robot.coordinate_names.index(name)]])
        else:
            rows.append(loop_jacobian(robot, q)[[robot.loop_coordinate_names.index(name)]])
    return int(np.linalg.matrix_rank(np.vstack(rows) @ W))


def sines(robot: Mechanism, q: Array, waves: Mapping[str, Sequence[float]], time: Array) -> Tracks:
    """Return Tracks of joints that swing about the pose q: {joint: (size, frequency [Hz])}."""
    tracks = Tracks(time)
    for joint, (size, frequency) in waves.items():
        place, velocity = robot.joint_slices(joint)
        if velocity.stop - velocity.start != 1:
            raise StateError(
                f'the joint {joint!r} has more than one coordinate, and a sine moves one',
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


def read_trajectory(robot: Mechanism, path: Path, rate: float | None = None) -> Tracks:
    """
    Return Tracks from a table with the columns `time` and those of joints, named as in `--csv`.

    A column is named like its joint, or like a number of a joint (base:x, base:qw), with or
    without 'q:' before it. `rate`: samples per second to take from the spline; without it those of
    the file.
    """
    from scipy.interpolate import CubicSpline

    time, columns = _read(robot, path)
    wanted = time
    if rate:
        wanted = time[0] + np.arange(int((time[-1] - time[0]) * rate + 1e-9) + 1) / rate
    tracks = Tracks(wanted)
    names = position_names(robot)
    for joint in robot.joint_names:
        mine = names[robot.joint_slices(joint)[0]]
        given = [name for name in mine if name in columns]
        if not given:
            continue
        if len(given) < len(mine):
            missing = ', '.join(name for name in mine if name not in columns)
            raise ClosedChainError(
                f'the joint {joint!r} needs the columns {", ".join(mine)}; '
                f'without {missing} its position is not known',
                file=path,
                repair='Add the columns, or leave the joint out.',
            )
        values = np.column_stack([columns[name] for name in mine])
        if len(mine) > 1:
            values = _same_side(values, path, joint)
        try:
            with np.errstate(over='ignore', invalid='ignore'):
                spline = CubicSpline(time, values)
        except ValueError:  # what is in between is beyond any number
            raise ClosedChainError(
                f'the joint {joint!r} moves too far in too short a time for a spline',
                file=path,
                repair='Give positions in rad or m, and times in s.',
            ) from None
        tracks.joints[joint] = _rates(spline(wanted), spline(wanted, 1), spline(wanted, 2))
    return tracks


def _read(robot: Mechanism, path: Path) -> tuple[Array, dict[str, Array]]:
    """Return the times and {name: positions} of a table."""
    try:
        with open(path, newline='', encoding='utf-8-sig') as file:
            rows = [row for row in csv.reader(file) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = getattr(error, 'strerror', None) or error
        raise ClosedChainError(
            f'the trajectory cannot be read: {why}', file=path, repair='Give a CSV file.'
        ) from None
    heads = [head.strip() for head in rows[0]] if rows else []
    known = position_names(robot)
    places = {
        head.removeprefix('q:'): k
        for k, head in enumerate(heads)
        if head.removeprefix('q:') in known
    }
    repair = f'The first line names the columns: time, and some of {", ".join(known[:8])}.'
    if 'time' not in heads:
        raise ClosedChainError("there is no column 'time'", file=path, repair=repair)
    if not places:
        raise ClosedChainError(
            f'no column is named like a joint of {robot.name}', file=path, repair=repair
        )
    places['time'] = heads.index('time')
    columns = {
        name: np.array(
            [_number(path, line, row, k, heads) for line, row in enumerate(rows[1:], start=2)]
        )
        for name, k in places.items()
    }
    time = columns.pop('time')
    # A log has two samples at an event: the later one counts.
    kept = np.append(np.diff(time) != 0.0, True)[: len(time)]
    time, columns = time[kept], {name: values[kept] for name, values in columns.items()}
    if len(time) < FEWEST or np.any(np.diff(time) <= 0.0):
        raise ClosedChainError(
            f'a trajectory needs {FEWEST} lines or more, and times that grow',
            file=path,
            repair='Sort it, and take out what is there twice.',
        )
    return time, columns


def _number(path: Path, line: int, row: list[str], k: int, heads: list[str]) -> float:
    text = row[k] if k < len(row) else ''
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise ClosedChainError(
            f'line {line} has {text!r} in the column {heads[k]!r}',
            file=path,
            repair='Give finite numbers only.',
        )
    return value


def _same_side(values: Array, path: Path, joint: str) -> Array:
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


def move(
    robot: Mechanism, tracks: Tracks, q: Array, *, progress: Progress | None = None
) -> Motion:
    """Return the Motion along Tracks from a pose q near their begin, loops closed throughout."""
    poses, velocities, accelerations = [], [], []
    notes: list[str] = []
    everything = len(tracks.joints) == len(robot.joint_names)
    still: dict[str, Array] = {}
    widest = 0.0
    v: Any
    a: Any
    for k, time in enumerate(tracks.time):
        parts = [
            {joint: track[order][k] for joint, track in tracks.joints.items()}
            for order in range(3)
        ]
        try:
            if everything:
                q, v, a = (_joined(robot, part, order) for order, part in enumerate(parts))
                widest = max([widest, *map(max, robot.loop_gaps(q).values())])
                q = assemble(robot, {}, start=q, limits=False)
            else:
                q = assemble(robot, {**parts[0], **still}, start=q, limits=False)
                if k == 0:
                    still = _kept_still(robot, q, [*tracks.joints], notes)
                rest = {joint: np.zeros(_width(robot, joint)) for joint in still}
                v, a = ({**part, **rest} for part in parts[1:])
        except AssemblyError as error:
            raise AssemblyError(
                f'at t = {time:.6g} s {error.why}', where=error.where, repair=error.repair
            ) from None
        poses.append(q)  # where all is given, v and a are the nearest that the loops allow
        velocities.append(complete_velocity(robot, q, v))
        accelerations.append(complete_acceleration(robot, q, velocities[-1], a))
        if progress:
            progress((k + 1) / len(tracks.time))
    if widest > WORTH_TELLING:
        notes.append(
            f'The loops are open in the trajectory, by up to {widest:.2g} m or '
            'rad; the nearest motion that closes them was taken.'
        )
    q, v, a = map(np.array, (poses, velocities, accelerations))
    return Motion(tracks.time, q, v, a, notes)


def _width(robot: Mechanism, joint: str) -> int:
    """Return how many coordinates a joint has."""
    places = robot.joint_slices(joint)[1]
    return int(places.stop - places.start)


def _joined(robot: Mechanism, parts: Mapping[str, Array], order: int) -> Array:
    """Return q (order 0) or an array as v, from the parts of all joints."""
    array = np.empty(robot.nv if order else robot.nq)
    for joint, part in parts.items():
        array[robot.joint_slices(joint)[min(order, 1)]] = part
    return array


def _kept_still(
    robot: Mechanism, q: Array, moving: Iterable[str], notes: list[str]
) -> dict[str, Array]:
    """Return {joint: position} of joints that settle what `moving` leaves open; add notes."""
    c = coordinates(robot, q)
    rows = np.vstack([c.W[robot.joint_slices(joint)[1]] for joint in moving])
    rank, still = np.linalg.matrix_rank(rows), {}
    for name in (*c.independent, *c.dependent):  # those that stand for the motion come first
        joint = name if name in robot.joint_names else name.rpartition(':')[0]
        more = np.vstack([rows, c.W[robot.joint_slices(joint)[1]]])
        if rank < c.mobility and np.linalg.matrix_rank(more) == rank + _width(robot, joint):
            rows, rank = more, np.linalg.matrix_rank(more)
            still[joint] = q[robot.joint_slices(joint)[0]]
    if still:
        keep = 'it keeps' if len(still) == 1 else 'they keep'
        notes.append(f'The motion leaves {", ".join(still)} open: {keep} still.')
    if rank < c.mobility:
        notes.append(
            f'{c.mobility - rank} of {c.mobility} ways to move are not given by the '
            'motion; there the velocities are the smallest that the loops allow.'
        )
    return still
