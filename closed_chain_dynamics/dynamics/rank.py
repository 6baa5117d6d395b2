"""
The rank of J_C at closed poses around a given one, which tells a singular pose from others.

The kernels remember the largest rank they have met in a structure, and the first pose may be a
singular one. So the rank is learnt once per structure, best where the structure changes and a pose
is known; a computation at the first pose learns it otherwise.
"""

import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics.dynamics.closing import Closure
from closed_chain_dynamics.dynamics.constraints import allowed_motions
from closed_chain_dynamics.model.mechanism import Mechanism, Vector

__all__ = ['close_from', 'learn_rank']

POSES = 3  # poses nearby that are looked at
CLOSED = 1e-12  # gap at which to stop, one more step follows [m or rad]


def learn_rank(robot: Mechanism, q: ArrayLike) -> None:
    """Find the rank of J_C at closed poses around a closed pose, once per structure."""
    if robot.rank_known:
        return
    rank = _nearby_rank(robot.copy(), robot.vector(q, robot.nq, 'q'))
    shape = robot.structure.shape
    if rank > shape['full_rank']:
        shape['full_rank'] = rank
        robot.structure.changed()
    robot.rank_known = True  # not before: what raises has taught nothing


def _nearby_rank(robot: Mechanism, q: Vector) -> int:
    """
    Return the largest rank of J_C at a closed pose and a few others nearby.

    Moves a little along random directions that the loops allow and closes the loops again. A
    rank above that of the pose itself means that the pose is singular.
    """
    allowed_motions(robot, q)
    rank, rng = int(robot.structure.shape['rank']), np.random.default_rng(0)
    for _ in range(POSES):
        other = q.copy()
        for closure in _closures(robot):
            found = closure.nearby(other, rng)
            other = other if found is None else found
        robot.build()  # forget the choice that was made at the pose
        allowed_motions(robot, other)
        rank = max(rank, int(robot.structure.shape['rank']))
    return rank


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
