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
Constraint forces: J_C^T lambda = tau_O - tau, what keeps the loops closed.

The right side is what the motion of the tree needs and neither actuators nor passive forces give.
Where rows of J_C are redundant, lambda is not unique; the one of least norm is given, and the null
space of J_C^T with it.

A contact that slides drags with K f_n, and f_n is one of the lambda: where a motion is given, both
are found together, as Eqs. (20) and (21) of Li et al. do where the motion is not.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closed_chain_dynamics import kernels
from closed_chain_dynamics.arrays import Matrix, Vector
from closed_chain_dynamics.dynamics.contact_problem import REST_SPEED
from closed_chain_dynamics.dynamics.generalized_coordinates import Coordinates
from closed_chain_dynamics.dynamics.outside_forces import acting
from closed_chain_dynamics.dynamics.tree import jacobian, link_placement
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.model.friction_lock import locked_error
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['drag', 'solve_multipliers', 'tree_force']

DRAGGED = 1e-12  # share of the largest drag to which all are found
MOST_ROUNDS = 10  # one is enough unless actuators come to their limits


def tree_force(
    robot: Mechanism,
    q: Vector,
    v: Vector,
    a: Vector,
    *,
    wrenches: Mapping[str, ArrayLike] | None = None,
) -> Vector:
    """Return tau_O, (nv,), of any motion, whether the loops allow it or not; without drag."""
    out = np.empty(robot.n_forces)
    with acting(robot, wrenches):
        status = kernels.compute_inverse_dynamics(robot.handle, q, v, a, out)
    if status and status not in (at.UNSOLVED, at.SINGULAR):
        robot.raise_for(status, q, v, a)
    return np.array(out[1 : 1 + robot.nv])


def drag(
    robot: Mechanism, q: Vector, v: Vector, normal_forces: Callable[[Vector], Vector]
) -> tuple[Vector, dict[str, Vector]]:
    """
    Return the friction of sliding contacts: on the tree, (nv,), and on each child, {loop: (3,)}.

    `normal_forces(force)`: lambda, (rows,), when friction puts that force on the tree.
    """
    all_loops = robot.structure.loops
    slide = (all_loops['active'] != 0) & (all_loops['mode'] == at.SLIDE) & (all_loops['mu'] > 0.0)
    rough = np.flatnonzero(slide).tolist()
    if not rough:
        return np.zeros(robot.nv), {}
    loops, K = all_loops[rough], all_loops['mu'][rough]
    ways = [_sliding(robot, q, v, k) for k in rough]
    levers = -np.array([way @ _relative(robot, q, v, k) for k, way in zip(rough, ways)])
    rows, pulls = loops['row'], loops['contact'] != at.UNILATERAL  # that may be held on both sides
    size = find_drags(lambda size: normal_forces(size @ levers)[rows], K, pulls)
    if size is None:
        raise locked_error(robot)
    return size @ levers, {
        robot.loop_names[k]: -force * way for k, force, way in zip(rough, size, ways)
    }


def find_drags(
    normal_forces: Callable[[Vector], Vector], K: Vector, pulls: NDArray[np.bool_]
) -> Vector | None:
    """
    Return friction forces K |f_n| that go with the normal forces they make; None: there are none.

    `normal_forces(drags)`: f_n; `pulls`: which contacts may be held on both sides.
    """
    for side in _sides(normal_forces(np.zeros(len(K))), pulls):
        size = _drags(normal_forces, K, side, pulls)
        if size is not None:
            return size
    return None


def _sides(normal: Vector, pulls: NDArray[np.bool_]) -> Iterator[Vector]:
    """Yield on which side each contact may be held, 1 or -1: that without friction first."""
    first = np.where((normal < 0.0) & pulls, -1.0, 1.0)
    for flips in product((1.0, -1.0), repeat=int(pulls.sum())):
        side = first.copy()
        side[pulls] *= flips
        yield side


def _drags(
    normal_forces: Callable[[Vector], Vector], K: Vector, side: Vector, pulls: NDArray[np.bool_]
) -> Vector | None:
    """Return the friction forces K |f_n| of contacts held on these sides; None: there are none."""
    size = np.zeros(len(K))
    for _ in range(MOST_ROUNDS):
        normal = normal_forces(size)
        missing, least = K * side * normal - size, DRAGGED * max(np.abs(normal).max(), 1e-300)
        if np.abs(missing).max() <= least:
            held = (side * normal >= -least) | ~pulls
            return size if held.all() else None
        change = np.column_stack([normal_forces(size + unit) - normal for unit in np.eye(len(K))])
        try:
            size = size + np.linalg.solve(np.eye(len(K)) - (K * side)[:, None] * change, missing)
        except np.linalg.LinAlgError:
            return None
    return None


def _sliding(robot: Mechanism, q: Vector, v: Vector, k: int) -> Vector:
    """Return the unit direction in which a contact slides; standing, the one noted for it."""
    kernels.compute_loop_placement(robot.handle, q, v, k)
    frame, moving = robot.workspace.frames[k], robot.workspace.moving
    loop = robot.structure.loops[k]
    velocity, _ = kernels.sliding_velocity(frame, moving[loop['body_1']], moving[loop['body_2']])
    way = np.array(velocity)
    speed = np.linalg.norm(way)
    return way / speed if speed > REST_SPEED else np.asarray(frame['R_1'] @ loop['direction'])


def _relative(robot: Mechanism, q: Vector, v: Vector, k: int) -> Matrix:
    """Return the Jacobian of a contact's point on the child against the parent, (3, nv), world."""
    kernels.compute_loop_placement(robot.handle, q, v, k)
    loop = robot.description.loops[k]
    point = robot.workspace.frames[k]['point'] + robot.workspace.totals['origin']
    rows = []
    for link in (loop.child, loop.parent):
        X = link_placement(robot, q, link)
        rows.append(jacobian(robot, q, link, point=X[:3, :3].T @ (point - X[:3, 3]))[:3])
    return rows[0] - rows[1]


def solve_multipliers(c: Coordinates, force: Vector) -> tuple[Vector, list[Matrix]]:
    """
    Return lambda of least norm, (rows,), and N cluster by cluster, a list of (rows, k).

    Loops that share no joint have no column of J_C in common: one small problem per cluster.
    """
    rows = len(c.J_C)
    solution, null, free = np.zeros(rows), [], np.ones(rows, dtype=bool)
    for own in c.clusters:
        m = own.rank
        U, sigma, V = np.linalg.svd(c.J_C[np.ix_(own.rows, own.dofs)])
        solution[own.rows] = U[:, :m] @ ((V[:m] @ force[own.dofs]) / sigma[:m])
        block = np.zeros((rows, len(own.rows) - m))
        block[own.rows] = U[:, m:]
        null.append(block)
        free[own.rows] = False
    null.append(np.eye(rows)[:, free])  # a loop from a body to itself: no joint feels its rows
    return solution, [block for block in null if block.shape[1]]
