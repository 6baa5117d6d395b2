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

At every sample the loops are closed, and velocities and accelerations completed (`assembly`,
`completion`), so that what comes out obeys the loops. Joints that the motion leaves free keep
still.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.assembly.completion import complete_acceleration, complete_velocity
from closed_chain_dynamics.assembly.search import assemble
from closed_chain_dynamics.dynamics.constraints import loop_jacobian
from closed_chain_dynamics.dynamics.generalized_coordinates import coordinates
from closed_chain_dynamics.dynamics.wording import listed
from closed_chain_dynamics.errors import AssemblyError, StateError
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.recording.terminal import Progress
from closed_chain_dynamics.studies.motion.tracks import Tracks

__all__ = ['Motion', 'move', 'steady_motion', 'undecided']

WORTH_TELLING = 1e-6  # gaps above this are worth telling: files have six digits or more [m or rad]


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
    assumed = (
        [f'constant velocity of {listed(steady)}; --a sets an acceleration'] if steady else []
    )
    left = coordinates(robot, q).mobility - _known(robot, q, rates)
    if rates and left:
        degrees = 'degree' if left == 1 else 'degrees'
        assumed.append(
            f'the smallest velocities for {left} {degrees} of freedom that --v leaves open'
        )
    return Motion(np.zeros(1), q[None], v[None], a[None], assumed=assumed)


def _known(robot: Mechanism, q: Array, names: Iterable[str]) -> int:
    """Return for how many degrees of freedom the named joints and coordinates give the rate."""
    return int(np.linalg.matrix_rank(_rates_of(robot, q, names)))


def _rates_of(robot: Mechanism, q: Array, names: Iterable[str]) -> Array:
    """Return the rates of the named joints and coordinates over those of theta_G."""
    W, rows = coordinates(robot, q).W, [np.zeros((0, robot.nv))]
    for name in names:
        if name in robot.joint_names:
            rows.append(np.eye(robot.nv)[robot.joint_slices(name)[1]])
        elif name in robot.coordinate_names:
            rows.append(np.eye(robot.nv)[[robot.coordinate_names.index(name)]])
        else:
            rows.append(loop_jacobian(robot, q)[[robot.loop_coordinate_names.index(name)]])
    return np.asarray(np.vstack(rows) @ W)


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


def undecided(robot: Mechanism, q: Array, given: Iterable[str]) -> list[str]:
    """Return joints that settle the motions which the given joints and coordinates leave open."""
    c, rows, found = coordinates(robot, q), _rates_of(robot, q, given), []
    rank = np.linalg.matrix_rank(rows)
    for name in (*c.independent, *c.dependent):  # those that stand for the motion come first
        joint = name if name in robot.joint_names else name.rpartition(':')[0]
        more = np.vstack([rows, c.W[robot.joint_slices(joint)[1]]])
        if rank < c.mobility and np.linalg.matrix_rank(more) == rank + _width(robot, joint):
            rows, rank = more, np.linalg.matrix_rank(more)
            found.append(joint)
    return found


def _kept_still(
    robot: Mechanism, q: Array, moving: Iterable[str], notes: list[str]
) -> dict[str, Array]:
    """Return {joint: position} of joints that settle what `moving` leaves open; add notes."""
    names = undecided(robot, q, moving)
    still = {joint: q[robot.joint_slices(joint)[0]] for joint in names}
    mobility, rank = coordinates(robot, q).mobility, _known(robot, q, [*moving, *names])
    if still:
        stay = 'it stays' if len(still) == 1 else 'they stay'
        notes.append(
            f'The motion does not determine {listed(still)}: {stay} still. If you mean another '
            'motion, give more joints one (an amplitude of 0 holds a joint).'
        )
    if rank < mobility:
        notes.append(
            f'{mobility - rank} of {mobility} degrees of freedom are not given by the '
            'motion; their velocities are the smallest that the loops allow.'
        )
    return still
