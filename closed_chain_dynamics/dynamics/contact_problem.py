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
What contacts can do to a mechanism in one state: u = G p + c, and the p of Coulomb's law.

Symbol      Meaning                                                     Shape
J           velocity of the contact points = J theta_O'                 (3 contacts, nv)
G           J W (W^T M W)^-1 W^T J^T, of all loops but the contacts     (3 contacts, 3 contacts)
p           forces, or impulses: along n, t_1, t_2 of each contact      (3 contacts,)
u           accelerations, or velocities, of the points along the same  (3 contacts,)

Projection finds which contacts open, stick and slide; where it does not, all that they could do is
tried. Newton's method on the equations that these make gives p to rounding (`coulomb_law.py`).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics import kernels
from closed_chain_dynamics.dynamics.constraints import Matrix, allowed_motions, constraint_jacobian
from closed_chain_dynamics.dynamics.coulomb_law import MOST_TRIED, Law
from closed_chain_dynamics.dynamics.tree import mass_matrix
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.kernels.cone_solver import (
    BOTH_SIDES,
    CONE,
    DRAG,
    DRAG_BOTH_SIDES,
    GIVEN,
)
from closed_chain_dynamics.model.friction_lock import locked_error
from closed_chain_dynamics.model.mechanism import Mechanism, Vector

__all__ = [
    'REST_SPEED',
    'ContactProblem',
    'Coulomb',
    'contact_problem',
    'contacts_as',
    'free_acceleration',
    'solve_contacts',
]

REST_SPEED = 1e-7  # below this a contact stands still [m/s]
NO_FORCE = 1e-9  # share of the largest force below which a contact carries none
NO_MOTION = 1e-9  # share of the largest acceleration or speed below which a point stands
WELL_WITHIN = 1e-3  # share of the friction that a contact that slides cannot have left
SWEPT = 1e-6  # share of the largest force or speed by which projection may miss Coulomb's law


@dataclass(frozen=True, eq=False)
class ContactProblem:
    """The contacts of a state: J, G and the frames (n, t_1, t_2) of the contacts, world axes."""

    loops: tuple[int, ...]
    J: Matrix
    G: Matrix
    response: Matrix  # theta_O' per p, (nv, 3 contacts)
    frames: NDArray[np.float64]  # (contacts, 3, 3), rows n, t_1, t_2
    turns: NDArray[np.float64]  # (contacts, 3, 3), R_1: axes of the rows of a sticking contact
    moving: NDArray[np.bool_]  # (contacts,): slides, along t_1
    bias: Vector  # J' theta_O'


@dataclass(frozen=True, eq=False)
class Coulomb:
    """A solution: p and u, (contacts, 3), and what each contact does."""

    p: Matrix
    u: Matrix
    opens: NDArray[np.bool_]
    slides: NDArray[np.bool_]


@contextmanager
def contacts_as(robot: Mechanism, loops: Sequence[int], mode: int, active: int) -> Iterator[None]:
    """Let contacts stick, slide or be open for a while; whatever they were comes back."""
    table = robot.structure.loops
    kept = {name: table[name].copy() for name in ('mode', 'active', 'n_rows')}
    for k in loops:
        table['mode'][k], table['active'][k] = mode, active
        table['n_rows'][k] = 3 if mode == at.STICK else 1
    robot.build()
    try:
        yield
    finally:
        for name, values in kept.items():
            table[name] = values
        robot.build()


def _axes(normal: Vector, velocity: Vector, moves: bool) -> Matrix:
    """Return n, t_1, t_2 as rows; t_1 along the sliding."""
    way = velocity if moves else np.eye(3)[np.argmin(np.abs(normal))]
    way = way - (way @ normal) * normal
    t_1 = way / np.linalg.norm(way)
    return np.array([normal, t_1, np.cross(normal, t_1)])


def contact_problem(
    robot: Mechanism, q: Vector, v: Vector, loops: Sequence[int]
) -> ContactProblem:
    """Return the ContactProblem of some contacts, closed or open ones that touch."""
    frames, moving, turns = [], [], []
    for k in loops:
        kernels.compute_loop_placement(robot.handle, q, v, k)
        loop, frame = robot.structure.loops[k], robot.workspace.frames[k]
        move = robot.workspace.moving
        velocity, _ = kernels.sliding_velocity(frame, move[loop['body_1']], move[loop['body_2']])
        moves = bool(np.linalg.norm(velocity) > REST_SPEED)
        frames.append(_axes(frame['normal'].copy(), np.array(velocity), moves))
        turns.append(frame['R_1'].copy())
        moving.append(moves)
    turn = np.zeros((3 * len(loops), 3 * len(loops)))
    for i, (frame, R_1) in enumerate(zip(frames, turns)):
        turn[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] = frame @ R_1
    with contacts_as(robot, loops, at.STICK, 1):
        J_C, _, full_bias = constraint_jacobian(robot, q, v)
        rows = [robot.structure.loops[k]['row'] + i for k in loops for i in range(3)]
    J, bias = turn @ J_C[rows], turn @ full_bias[rows]
    with contacts_as(robot, loops, at.SLIDE, 1):  # along the normal the surface may be curved
        _, _, full_bias = constraint_jacobian(robot, q, v)
        bias[::3] = full_bias[[robot.structure.loops[k]['row'] for k in loops]]
    with contacts_as(robot, loops, at.SLIDE, 0):
        W, M = allowed_motions(robot, q), mass_matrix(robot, q)
    JW = J @ W
    reduced = np.linalg.solve(W.T @ M @ W, JW.T) if W.shape[1] else np.zeros(JW.T.shape)
    return ContactProblem(
        tuple(loops),
        J,
        JW @ reduced,
        W @ reduced,
        np.array(frames).reshape(-1, 3, 3),
        np.array(turns).reshape(-1, 3, 3),
        np.array(moving, dtype=bool),
        bias,
    )


def free_acceleration(robot: Mechanism, q: Vector, v: Vector, loops: Sequence[int]) -> Vector:
    """Return theta_O'' under the forces in the workspace if these contacts did nothing, (nv,)."""
    a = np.empty(robot.nv)
    with contacts_as(robot, loops, at.SLIDE, 0):
        status = kernels.forward_dynamics(robot.handle, q, v, a)
        if status:
            robot.raise_for(status, q, v)
    return a


def solve_contacts(
    robot: Mechanism,
    problem: ContactProblem,
    c: Vector,
    mu: Vector,
    *,
    drags: bool,
    held: Sequence[int] = (),
    given: Vector | None = None,
    jams: bool = False,
) -> Coulomb:
    """
    Return the p of Coulomb's law with u = G p + c.

    `drags`: contacts that move have friction along t_1, as they do under forces; an impact decides
    it anew. `held`: contacts that do not open. `given`: impulses along the normal that are known
    beforehand, (contacts,), not a number where they are not.
    """
    table, n = robot.structure.loops, len(problem.loops)
    both = np.array([table['contact'][k] != at.UNILATERAL or k in held for k in problem.loops])
    drag = problem.moving & drags
    kind = np.where(
        drag, np.where(both, DRAG_BOTH_SIDES, DRAG), np.where(both, BOTH_SIDES, CONE)
    ).astype(np.int64)
    p = np.zeros(3 * n)
    if given is not None:
        known = np.isfinite(given)
        kind[known], p[::3] = GIVEN, np.where(known, given, 0.0)
    swept = kernels.solve_cones(problem.G, np.ascontiguousarray(c), mu, kind, p)
    if given is not None:
        return _judge(problem.G, c, p, mu, both, drag)
    law, found = Law(problem.G, c, mu, both, drag), _judge(problem.G, c, p, mu, both, drag)
    polished = law.polish(p, found.opens, found.slides)
    best = p if polished is None else polished
    if swept < 0 or jams or not (law.agrees(p, SWEPT) or law.agrees(best, SWEPT)):
        tried = law.by_trying()
        if tried is None and (swept < 0 or len(mu) <= MOST_TRIED):
            raise locked_error(robot)
        best = best if tried is None else tried  # so many contacts: nearly right
    return _judge(problem.G, c, best, mu, both, drag)


def _judge(
    G: Matrix, c: Vector, p: Vector, mu: Vector, both: NDArray[np.bool_], drag: NDArray[np.bool_]
) -> Coulomb:
    """
    Say which contacts open and which slide.

    One whose force is well within its cone sticks, though projection may leave it some motion.
    """
    u, f = (G @ p + c).reshape(-1, 3), p.reshape(-1, 3)
    speed = NO_MOTION * max(float(np.abs(c).max(initial=0.0)), 1e-300)
    force = NO_FORCE * max(float(np.abs(p).max(initial=0.0)), 1e-300)
    opens = (u[:, 0] > 1e2 * speed) & (f[:, 0] <= force) & ~both
    moves = np.linalg.norm(u[:, 1:], axis=1) > 1e2 * speed
    within = np.linalg.norm(f[:, 1:], axis=1) < (1.0 - WELL_WITHIN) * mu * np.abs(f[:, 0]) - force
    slides = ~opens & (drag | (moves & ~within))
    return Coulomb(f, u, opens, slides)
