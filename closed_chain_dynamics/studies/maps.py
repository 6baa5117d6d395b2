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
Maps of a workspace over one or two coordinates: what is reachable, in how many ways, how well.

At every point of the grid the coordinates are held and the loops are closed from several starts.
Each pose that is found is a row. Its distance to a singularity is the smallest singular value of
J_C without the columns of the held coordinates, over the largest of J_C: zero where these do not
decide the motion of the rest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.assembly.search import Assembled, find_assembly
from closed_chain_dynamics.dynamics.constraints import constraint_jacobian
from closed_chain_dynamics.dynamics.generalized_coordinates import coordinates
from closed_chain_dynamics.dynamics.inverse import inverse_dynamics
from closed_chain_dynamics.dynamics.tree import difference
from closed_chain_dynamics.errors import AssemblyError, ClosedChainError, StateError
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.recording.terminal import Progress
from closed_chain_dynamics.studies.motion.moving import undecided

__all__ = ['MapRow', 'WorkspaceMap', 'study_map']


SAME_POSE = 1e-5  # two poses nearer than this are one [rad or m]
ATTEMPTS_PER_START = 4  # starts of the search behind each start that is given
MOST_MAP_POINTS = 10**6


@dataclass(frozen=True)
class MapRow:
    """
    A pose of the map, or a point without one (`q` is None).

    `point`: place in the grid; `branch`: its assembly mode, see `Assembled.branch`; `condition` of
    the loops; `distance` to a singularity of the held coordinates, 0 to 1; `torque`: largest of
    the actuators that hold the pose against gravity [N m or N], NaN where they cannot.
    """

    point: tuple[int, ...]
    values: tuple[float, ...]
    q: Array | None = None
    branch: str = ''
    mobility: int = 0
    condition: float = np.nan
    distance: float = np.nan
    torque: float = np.nan


@dataclass(frozen=True)
class WorkspaceMap:
    """
    The map of a mechanism over coordinates {joint: values}; poses in the order of points.

    `held`: further joints, and where they are held. Poses count as assembly modes where these and
    the coordinates of the map determine all others; `open_joints` names joints to hold else.
    """

    robot: Mechanism
    axes: dict[str, Array]
    rows: tuple[MapRow, ...]
    held: dict[str, float] = field(default_factory=dict)

    @property
    def open_joints(self) -> list[str]:
        """Return joints that would determine what the map and `held` leave open."""
        q = next((row.q for row in self.rows if row.q is not None), None)
        return [] if q is None else undecided(self.robot, q, [*self.axes, *self.held])

    @property
    def shape(self) -> tuple[int, ...]:
        """Return how many values each coordinate has."""
        return tuple(map(len, self.axes.values()))

    @property
    def modes(self) -> NDArray[np.int_]:
        """Return how many assembly modes were found at each point, of `shape`; 0: unreachable."""
        count = np.zeros(self.shape, dtype=int)
        for row in self.rows:
            count[row.point] += row.q is not None
        return count

    @property
    def branches(self) -> list[str]:
        """Return the assembly modes of all poses, see `Assembled.branch`."""
        return sorted({row.branch for row in self.rows if row.q is not None})

    def best(self, what: str, branch: str | None = None) -> Array:
        """
        Return 'condition', 'distance' or 'torque' of the pose farthest from a singularity.

        With a branch, of the poses of that branch; NaN where it has none.
        """
        values, distance = np.full(self.shape, np.nan), np.full(self.shape, -np.inf)
        for row in self.rows:
            counts = row.q is not None and branch in (None, row.branch)
            if counts and row.distance > distance[row.point]:
                distance[row.point], values[row.point] = row.distance, getattr(row, what)
        return values


def study_map(
    robot: Mechanism,
    axes: Mapping[str, Sequence[float] | Array],
    *,
    held: Mapping[str, float] | None = None,
    limits: bool = True,
    starts: int = 4,
    seed: int = 0,
    progress: Progress | None = None,
) -> WorkspaceMap:
    """
    Return the WorkspaceMap over one or two coordinates, {joint: values}.

    `held`: further joints at fixed positions; `starts`: random starts at every point, beside the
    poses of its neighbour: more find more assembly modes.
    """
    grid = {name: np.asarray(values, dtype=float) for name, values in axes.items()}
    if (
        len(grid) not in (1, 2)
        or not 0 < np.prod([len(v) for v in grid.values()]) <= MOST_MAP_POINTS
    ):
        raise StateError(
            f'a map is over one or two coordinates and up to {MOST_MAP_POINTS} points',
            where=robot.name,
            repair='Give for instance crank=range(0,6.28,100).',
        )
    rng = np.random.default_rng(seed)
    total = int(np.prod([len(values) for values in grid.values()]))
    rows: list[MapRow] = []
    near: list[Array] = []
    last: dict[tuple[int, ...], list[Array]] = {}
    for done, point in enumerate(product(*(range(len(v)) for v in grid.values()))):
        values = tuple(float(axis[k]) for axis, k in zip(grid.values(), point))
        before = (point[0] - 1, *point[1:])
        near = (last.get((*point[:-1], point[-1] - 1)) or []) + (last.get(before) or [])
        wanted = {**(held or {}), **dict(zip(grid, values))}
        tries: list[Array | None] = [None, *near]
        tries += [_random(robot, rng) for _ in range(starts)]
        poses = _poses(robot, wanted, tries, limits)
        last[point] = [each.q for each in poses]
        rows += [_row(robot, point, values, each, wanted) for each in poses] or [
            MapRow(point, values)
        ]
        if progress:
            progress((done + 1) / total)
    return WorkspaceMap(robot, grid, tuple(rows), dict(held or {}))


def _random(robot: Mechanism, rng: np.random.Generator) -> Array:
    """Return a pose with joints of one coordinate anywhere within their range."""
    q = robot.neutral()
    for joint in robot.description.joints:
        if joint.name in robot.joint_names and joint.type.nq == 1:
            low, high = max(joint.limit.lower, -np.pi), min(joint.limit.upper, np.pi)
            q[robot.joint_slices(joint.name)[0]] = rng.uniform(low, max(low, high))
    return q


def _poses(
    robot: Mechanism, wanted: Mapping[str, float], tries: Sequence[Array | None], limits: bool
) -> list[Assembled]:
    """Return the different closed poses that are found from several starts."""
    found: list[Assembled] = []
    for start in tries:
        try:
            one = find_assembly(
                robot, dict(wanted), start=start, limits=limits, attempts=ATTEMPTS_PER_START
            )
        except AssemblyError:
            if not found and start is None and len(tries) == 1:
                break
            continue
        new = all(np.abs(_turned(difference(robot, o.q, one.q))).max() > SAME_POSE for o in found)
        if new or not found:
            found.append(one)
    return sorted(found, key=lambda each: each.branch)


def _turned(change: Array) -> Array:
    """Return a change of coordinates without whole turns: these are the same pose."""
    return np.asarray((change + np.pi) % (2.0 * np.pi) - np.pi)


def _row(
    robot: Mechanism,
    point: tuple[int, ...],
    values: tuple[float, ...],
    pose: Assembled,
    wanted: Mapping[str, float],
) -> MapRow:
    q = np.asarray(pose.q)
    c = coordinates(robot, q)
    try:
        r = inverse_dynamics(robot, q, np.zeros(robot.nv), np.zeros(robot.nv))
        met = not r.residual_by_name and len(r.tau_A)
        torque = float(np.abs(r.tau_A).max()) if met else np.nan
    except ClosedChainError:  # a singular pose, where torques grow beyond bounds
        torque = np.nan
    return MapRow(
        point, values, q, pose.branch, c.mobility, float(c.condition),
        _distance(robot, q, wanted), torque,
    )  # fmt: skip


def _distance(robot: Mechanism, q: Array, wanted: Mapping[str, float]) -> float:
    J_C = constraint_jacobian(robot, q)[0]
    fixed = [robot.coordinate_names.index(n) for n in wanted if n in robot.coordinate_names]
    rest = np.delete(J_C, fixed, axis=1)
    if not rest.size:
        return 1.0
    largest = float(np.linalg.svd(J_C, compute_uv=False)[0])
    if not largest:
        return 1.0
    # as many as there are coordinates to decide: a missing one is a motion that nothing decides
    values = np.zeros(rest.shape[1])
    found = np.linalg.svd(rest, compute_uv=False)[: rest.shape[1]]
    values[: len(found)] = found
    return float(values[-1]) / largest
