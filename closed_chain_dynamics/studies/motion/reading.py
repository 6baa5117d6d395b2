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

"""Positions of joints from a table, with rates and accelerations by a spline."""

import csv
import difflib
import logging

import numpy as np

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.recording.log_files import Path
from closed_chain_dynamics.recording.segments import position_names
from closed_chain_dynamics.studies.motion.tracks import Tracks, splined

__all__ = ['FEWEST_SAMPLES', 'read_trajectory']

FEWEST_SAMPLES = 4  # samples that a cubic spline without conditions at its ends needs
LIKE = 0.8  # of a column to the name of a joint that has none: one is taken for a misspelt other
logger = logging.getLogger('closed_chain_dynamics')


def read_trajectory(
    robot: Mechanism, path: Path, rate: float | None = None, *, ease: float = 0.0
) -> Tracks:
    """
    Return Tracks from a table with the columns `time` and those of joints, named as in `--csv`.

    A column is named like its joint, or like a number of a joint (base:x, base:qw), with or
    without 'q:' before it. `rate`: samples per second to take from the spline; without it those of
    the file. `ease`: seconds at either end that are played more slowly, so that the motion begins
    and ends at rest; needs a rate.
    """
    time, columns = _read(robot, path)
    wanted, pace = time, None
    if rate:
        length = time[-1] - time[0]
        ease = min(ease, length)
        passed = np.arange(int((length + ease) * rate + 1e-9) + 1) / rate
        pace = _pace(passed, length, ease) if ease else None
        wanted = time[0] + (pace[0] if pace else passed)
    tracks = Tracks(time[0] + passed if pace else wanted)
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
        q, v, a = splined(time, values, wanted, joint, path)
        if pace:  # q(s(t)): v s', a s'^2 + v s''
            first, second = pace[1][:, None], pace[2][:, None]
            v, a = v * first, a * first**2 + v * second
        tracks.joints[joint] = (q, v, a)
    return tracks


def _pace(passed: Array, length: float, ease: float) -> tuple[Array, Array, Array]:
    """
    Return the time s of the table at the time t that has passed, s' and s''.

    s' rises from 0 to 1 within `ease` as x^2 (3 - 2 x), stays there, and falls again. So the table
    takes longer by `ease`, half of it at either end, and s'' is continuous.
    """
    left = length + ease - passed
    x = np.clip(np.minimum(passed, left) / ease, 0.0, 1.0)
    behind = ease * x**3 * (1.0 - 0.5 * x)  # the integral of s'
    s = np.where(passed < ease, behind, passed - 0.5 * ease)
    s = np.where(left < ease, length - behind, s)
    second = 6.0 * x * (1.0 - x) / ease
    return s, x**2 * (3.0 - 2.0 * x), np.where(left < passed, -second, second)


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
    _doubt(robot, path, heads, [name for name in known if name not in places])
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
    if len(time) < FEWEST_SAMPLES:
        raise ClosedChainError(
            f'a trajectory needs {FEWEST_SAMPLES} times or more, and has {len(time)}',
            file=path,
            repair='Add lines between them: a spline passes through all of them.',
        )
    late = np.flatnonzero(np.diff(time) <= 0.0)
    if len(late):
        raise ClosedChainError(
            f'time goes back from {time[late[0]]:g} to {time[late[0] + 1]:g} s',
            file=path,
            repair='Sort the lines by time.',
        )
    return time, columns


def _doubt(robot: Mechanism, path: Path, heads: list[str], missing: list[str]) -> None:
    """Warn of columns that are not read and look like joints that have none."""
    others = {'time', *position_names(robot), *robot.loop_coordinate_names}
    for name in [head.removeprefix('q:') for head in heads]:
        if name in others or ':' in name:  # v:knee, tau:knee and so on are of a log
            continue
        near = difflib.get_close_matches(name, missing, n=1, cutoff=LIKE)
        if near:
            logger.warning(
                '%s: the column %r is not read, because no joint of %s has that name. Did you '
                'mean %r?',
                *(path, name, robot.name, near[0]),
            )


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
