"""
The rank of J_C at closed poses around a given one, which tells a singular pose from others.

The kernels remember the largest rank they have met in a structure, and the first pose may be a
singular one. So the rank is learnt once per structure, best where the structure changes and a pose
is known; a computation at the first pose learns it otherwise.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics.dynamics.closing import Closure
from closed_chain_dynamics.dynamics.constraints import allowed_motions
from closed_chain_dynamics.model.mechanism import Mechanism, Vector

__all__ = ['close_from', 'learn_rank', 'poses_nearby']

POSES = 3  # poses nearby that are looked at
CLOSED = 1e-12  # gap at which to stop, one more step follows [m or rad]


def learn_rank(robot: Mechanism, q: ArrayLike) -> None:
    """Find the rank of J_C at closed poses around a closed pose, once per structure."""
    if robot.rank_known:
        return
    q, other = robot.vector(q, robot.nq, 'q'), robot.copy()
    allowed_motions(other, q)
    rank = other.structure.clusters['rank'].copy()
    for pose in poses_nearby(other, q):
        other.build()  # forget the choice that was made at the pose
        allowed_motions(other, pose)
        rank = np.maximum(rank, other.structure.clusters['rank'])
    own = robot.structure.clusters
    if (rank > own['full_rank']).any():
        own['full_rank'] = np.maximum(own['full_rank'], rank)
        robot.structure.shape['full_rank'] = own['full_rank'].sum()
        robot.structure.changed()
    robot.rank_known = True  # not before: what raises has taught nothing


def poses_nearby(robot: Mechanism, q: Vector) -> Iterator[Vector]:
    """
    Yield a few closed poses around a closed one.

    Moves a little along random directions that the loops allow and closes the loops again. A
    rank above that of the pose itself means that the pose is singular.
    """
    rng = np.random.default_rng(0)
    for _ in range(POSES):
        other = q.copy()
        for closure in _closures(robot):
            found = closure.nearby(other, rng)
            other = other if found is None else found
        yield other


def close_from(robot: Mechanism, q: Vector) -> Vector:
    """Return the closed pose that is found from one that is almost closed; no joint is held."""
    for closure in _closures(robot):
        q = closure.close(q, CLOSED)[0]
    return q


def _closures(robot: Mechanism) -> list[Closure]:
    """Return the closing problems of all clusters with loops or couplings."""
    nobody = np.zeros(robot.nv, dtype=bool)
    closures = (Closure(robot, c, nobody, False) for c in range(len(robot.structure.clusters)))
    return [closure for closure in closures if closure.units.size]
