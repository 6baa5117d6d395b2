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

"""Whether a trajectory fits a mechanism: its names, limits, speeds, and jumps of a stream."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.control.joint_limits import JointLimits
from closed_chain_dynamics.control.trajectory import Trajectory
from closed_chain_dynamics.errors import NameNotFound, StateError
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['check_names', 'refused', 'scales', 'within_limits']

FARTHEST_JUMP = np.pi  # of a stream [rad, or typical lengths]


def refused(
    why: str, repair: str = 'The last pose is held; ask for another motion.'
) -> StateError:
    """Return the error that refuses a trajectory."""
    return StateError(why, where='trajectory', repair=repair)


def check_names(robot: Mechanism, names: Sequence[str]) -> None:
    """Raise where a name is no joint of one coordinate."""
    for name in names:
        in_q = robot.joint_slices(name)[0] if name in robot.joint_names else None
        if in_q is None:
            raise NameNotFound('joint', name, robot.joint_names, where='trajectory')
        if in_q.stop - in_q.start != 1:
            raise StateError(
                f'joint {name!r} has several coordinates',
                where='trajectory',
                repair='Name joints of one coordinate; the others stay.',
            )


def scales(robot: Mechanism, names: Sequence[str]) -> Vector:
    """Return the unit of each named joint: 1, or the typical length."""
    places = [robot.joint_slices(name)[1].start for name in names]
    scale: Vector = robot.structure.dofs['scale'][np.array(places, int)]
    return scale


def within_limits(
    limits: JointLimits,
    asked: Trajectory,
    given: tuple[ArrayLike, ArrayLike, ArrayLike | None, ArrayLike | None],
    begin: tuple[Vector, Vector],
    clip: bool,
) -> tuple[Trajectory, str]:
    """
    Return a trajectory whose points are within limits, and what was clipped in words, or raise.

    `given`: its times, positions, velocities and accelerations; `begin`: where it starts, and how
    fast; `clip`: whether points beyond limits are brought back.
    """
    times, positions, velocities, accelerations = given
    t, p = np.array(times, dtype=float), np.array(positions, dtype=float)
    lower, upper, _ = limits.of(asked.names)
    beyond = limits.beyond(asked.names, p) if clip else None
    if clip and (np.clip(p, lower, upper) != p).any():
        inside = (lower <= p) & (p <= upper)
        more = [
            None if each is None else np.where(inside, np.array(each, dtype=float), 0.0)
            for each in (velocities, accelerations)
        ]
        p = np.clip(p, lower, upper)
        asked = Trajectory(asked.names, t, p, *more, start=begin)
    if t[0] > 0.0:
        since = np.clip(begin[0], lower, upper)  # where it is, a little beyond or not
        t, p = np.append(0.0, t), np.vstack([since, p])
    limits.refuse_points(asked.names, t, p)
    if velocities is not None:
        limits.refuse_rates(asked.names, np.array(velocities, dtype=float))
    if asked.is_stream:
        far = np.abs((p[0] - begin[0]) / scales(limits.robot, asked.names))
        if far.max() > FARTHEST_JUMP:
            raise refused(f'{asked.names[int(far.argmax())]!r} jumps by {far.max():.3g}')
    return asked, beyond.why if beyond else ''
