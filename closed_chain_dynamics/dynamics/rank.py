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
The rank of J_C at closed poses around a given one, which tells a singular pose from others.

The kernels remember the largest rank they have met in a structure, and the first pose may be a
singular one. So the rank is learnt once per structure, best where the structure changes and a pose
is known; a computation at the first pose learns it otherwise.

A file has so many digits. Where a mechanism moves only because its axes meet, rounding them gives
J_C small singular values instead of zeros, and by these it would not move at all. So the gap in
the spectrum decides: values below it are rounding if the mechanism does move when they are left
out, with its loops closed as well as at the pose itself and the gap still there. In a pose beside
a singular one they grow on the way, or the loops do not close again, and are what they seem. That
is asked of each cluster by itself, along the very motions that the small values would allow: what
another cluster can do says nothing.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics import kernels
from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.dynamics.closing import NEARBY, Closure
from closed_chain_dynamics.dynamics.constraints import allowed_motions
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['close_from', 'learn_rank', 'poses_nearby']

POSES_NEARBY = 3  # poses nearby that are looked at
CLOSED_NEARBY = 1e-12  # gap at which to stop, one more step follows [m or rad]
ROUNDED_VALUES = (
    1e-4  # share of the largest singular value below which one may be rounding of a file
)
CLEAR_GAP = 100.0  # between singular values that count and those that are rounding
ABOVE = 30.0  # the rank tolerance over the largest singular value that is rounding
OTHER_POSES = 10.0  # what cannot be closed in other poses, over what cannot in one
ROUNDING_REACH = 0.05  # how far rounding is looked at [rad, or typical lengths]
THERE = 0.5  # share of the way that is left when the loops are closed again, else it was none
SLOPE = 2e-4  # by which a singular value that is none may grow on that way


def learn_rank(robot: Mechanism, q: ArrayLike) -> None:
    """Find the rank of J_C at closed poses around a closed pose, once per structure."""
    if robot.rank_known:
        return
    q = robot.vector(q, robot.nq, 'q')
    _learn_rounding(robot, q)
    other = robot.copy()
    allowed_motions(other, q)
    rank = other.structure.clusters['rank'].copy()
    for pose in poses_nearby(other, q):
        other.structure.clusters['chosen'] = 0  # forget the choice that was made at the pose
        allowed_motions(other, pose)
        rank = np.maximum(rank, other.structure.clusters['rank'])
    own = robot.structure.clusters
    if (rank > own['full_rank']).any():
        own['full_rank'] = np.maximum(own['full_rank'], rank)
        robot.structure.shape['full_rank'] = own['full_rank'].sum()
        robot.structure.changed()
    robot.rank_known = True  # not before: what raises has taught nothing


def _learn_rounding(robot: Mechanism, q: Vector) -> None:
    """Raise the tolerances of the structure where small singular values are rounding."""
    tolerance = float(robot.structure.world['rank_tolerance'])
    rounding, counts = 0.0, np.inf  # the largest that is rounding, the least that counts
    closed = 0.0
    for closure in _closures(robot):
        sigma = _shares(closure, q)
        rank = int(np.sum(sigma >= ROUNDED_VALUES))
        largest, found = float(sigma[rank:].max(initial=0.0)), 0.0
        if tolerance < ABOVE * largest and sigma[rank - 1] >= CLEAR_GAP * largest:
            found = _largest_on_the_way(robot, closure.cluster, q, rank, largest)
        rounding = max(rounding, found)
        if found:
            closed = max(closed, _closed(robot, closure.cluster, q))
        kept = sigma[:rank] if found else sigma[sigma > tolerance]
        counts = min(counts, kept.min(initial=1.0))
    if rounding:
        _raise_tolerance(robot, min(ABOVE * rounding, float(np.sqrt(rounding * counts))))
        robot.structure.world['closing_tolerance'] = closed


def _shares(closure: Closure, q: Vector) -> Vector:
    """Return the singular values of J_C of a cluster over the largest of them."""
    sigma = np.linalg.svd(closure.evaluate(q)[1], compute_uv=False)
    return np.asarray(sigma / sigma.max(initial=1e-300))


def _largest_on_the_way(
    robot: Mechanism, cluster: int, q: Vector, rank: int, largest: float
) -> float:
    """
    Return the largest of the small singular values along the motions that they would allow.

    It is zero where they count: the loops do not close on the way, or the values grow.
    """
    other = robot.copy()
    closed = _closed(other, cluster, q)
    _raise_tolerance(other, ABOVE * largest)
    closure = _closure(other, cluster)
    _, sigma, Vt = np.linalg.svd(closure.evaluate(q)[1])
    most = max(3.0 * largest, SLOPE * ROUNDING_REACH)
    for way in Vt[rank : len(sigma)]:
        for side in (1.0, -1.0):
            step = side * ROUNDING_REACH * way / np.abs(way).max()
            pose, gap, _ = closure.close(closure.move(q, step), CLOSED_NEARBY)
            there, away = _shares(closure, pose), np.empty(robot.nv)
            kernels.difference(other.handle, q, pose, away)
            went = float(step @ (away[closure.dofs] / closure.scale)) / float(step @ step)
            largest = max(largest, float(there[rank]))
            grew = largest > most or there[rank - 1] < CLEAR_GAP * largest
            if grew or gap > closed or went < THERE:
                return 0.0
    return largest


def _raise_tolerance(robot: Mechanism, tolerance: float) -> None:
    """Decide rank by another tolerance, and forget what was decided."""
    structure = robot.structure
    structure.world['rank_tolerance'] = tolerance
    structure.clusters['chosen'] = structure.clusters['full_rank'] = 0
    structure.shape['full_rank'] = 0
    structure.changed()


def _closed(robot: Mechanism, cluster: int, q: Vector) -> float:
    """Return the gap up to which loops of a cluster that is closed at q count as closed."""
    closure = _closure(robot, cluster)
    gap = closure.gap(closure.evaluate(q)[0])
    return max(OTHER_POSES * gap, float(robot.structure.world['closing_tolerance']))


def _closure(robot: Mechanism, cluster: int) -> Closure:
    """Return the closing problem of a cluster, all its joints free."""
    return Closure(robot, cluster, np.zeros(robot.nv, dtype=bool), False)


def poses_nearby(robot: Mechanism, q: Vector, step: float = NEARBY) -> Iterator[Vector]:
    """
    Yield a few closed poses around a closed one.

    Moves a little along random directions that the loops allow and closes the loops again. A
    rank above that of the pose itself means that the pose is singular.
    """
    rng = np.random.default_rng(0)
    for _ in range(POSES_NEARBY):
        other = q.copy()
        for closure in _closures(robot):
            found = closure.nearby(other, rng, step)
            other = other if found is None else found
        yield other


def close_from(robot: Mechanism, q: Vector) -> Vector:
    """Return the closed pose that is found from one that is almost closed; no joint is held."""
    for closure in _closures(robot):
        q = closure.close(q, CLOSED_NEARBY)[0]
    return q


def _closures(robot: Mechanism) -> list[Closure]:
    """Return the closing problems of all clusters with loops or couplings."""
    closures = (_closure(robot, c) for c in range(len(robot.structure.clusters)))
    return [closure for closure in closures if closure.units.size]
