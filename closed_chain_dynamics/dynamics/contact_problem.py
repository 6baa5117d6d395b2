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

Stops and friction that hold joints are part of it, so that all that may open, slip or give way at
an instant is decided together: each is one more contact, its normal along the coordinate, without
t_1 and t_2, and its force within bounds.

Projection finds which contacts open, stick and slide; where it does not, what they do is changed
one by one, or all that they could do is tried. Newton's method on the equations that these make
gives p to rounding (`coulomb_law.py`).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics import kernels
from closed_chain_dynamics.arrays import Matrix, Vector
from closed_chain_dynamics.dynamics.constraints import allowed_motions, constraint_jacobian
from closed_chain_dynamics.dynamics.coulomb_law import (
    EXACT,
    LOWER,
    MOST_TRIED,
    SLIDES,
    STICKS,
    UPPER,
    CoulombLaw,
)
from closed_chain_dynamics.dynamics.tree import mass_matrix
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.kernels.cone_solver import CONE, DRAG, GIVEN
from closed_chain_dynamics.model.friction_lock import locked_error
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = [
    'REST_SPEED',
    'ContactProblem',
    'Coulomb',
    'Held',
    'contact_problem',
    'contacts_as',
    'free_acceleration',
    'solve_contacts',
]

REST_SPEED = 1e-7  # below this a contact stands still [m/s]
NO_CONTACT_FORCE = 1e-9  # share of the largest force below which a contact carries none
NO_MOTION = 1e-9  # share of the largest acceleration or speed below which a point stands
WELL_WITHIN = 1e-3  # share of the friction that a contact that slides cannot have left
SWEPT = 1e-6  # share of the largest force or speed by which projection may miss Coulomb's law
NO_RESPONSE = 1e-12  # share of the largest response below which a coordinate cannot move


@dataclass(frozen=True, eq=False)
class Held:
    """Coordinates that stops or friction may hold: rows, R' theta_O' and bounds of the forces."""

    rows: Matrix  # (n, nv)
    bias: Vector  # (n,)
    bounds: Matrix  # (n, 2)

    @classmethod
    def nothing(cls, nv: int) -> 'Held':
        """Return no coordinates of so many."""
        return cls(np.zeros((0, nv)), np.zeros(0), np.zeros((0, 2)))


@dataclass(frozen=True, eq=False)
class ContactProblem:
    """
    The contacts of a state: J, G and the frames (n, t_1, t_2) of the contacts, world axes.

    What holds joints comes behind the contacts, and counts as one in every shape.
    """

    loops: tuple[int, ...]
    J: Matrix
    G: Matrix
    response: Matrix  # theta_O' per p, (nv, 3 contacts)
    frames: NDArray[np.float64]  # (contacts, 3, 3), rows n, t_1, t_2
    turns: NDArray[np.float64]  # (contacts, 3, 3), R_1: axes of the rows of a sticking contact
    moving: NDArray[np.bool_]  # (contacts,): slides, along t_1
    bias: Vector  # J' theta_O'
    bounds: Matrix  # (held, 2): of the forces that hold joints


@dataclass(frozen=True, eq=False)
class Coulomb:
    """A solution: p and u, (contacts, 3), and what each contact does."""

    p: Matrix
    u: Matrix
    modes: NDArray[np.int64]

    @property
    def opens(self) -> NDArray[np.bool_]:
        """Return which contacts open, or which joints leave what holds them."""
        return np.asarray(self.modes >= LOWER)

    @property
    def slides(self) -> NDArray[np.bool_]:
        """Return which contacts slide."""
        return np.asarray(self.modes == SLIDES)


@contextmanager
def contacts_as(robot: Mechanism, loops: Sequence[int], mode: int, active: int) -> Iterator[None]:
    """Let contacts stick, slide or be open for a while; whatever they were comes back."""
    table = robot.structure.loops
    kept = {name: table[name].copy() for name in ('mode', 'active', 'n_rows')}
    for k in loops:
        table['mode'][k], table['active'][k] = mode, active
        table['n_rows'][k] = 3 if mode == at.STICK else 1
    robot.regroup()
    try:
        yield
    finally:
        for name, values in kept.items():
            table[name] = values
        robot.regroup()


def _axes(normal: Vector, velocity: Vector, moves: bool) -> Matrix:
    """Return n, t_1, t_2 as rows; t_1 along the sliding."""
    way = velocity if moves else np.eye(3)[np.argmin(np.abs(normal))]
    way = way - (way @ normal) * normal
    t_1 = way / np.linalg.norm(way)
    return np.array([normal, t_1, np.cross(normal, t_1)])


def contact_problem(
    robot: Mechanism, q: Vector, v: Vector, loops: Sequence[int], held: Held | None = None
) -> ContactProblem:
    """
    Return the ContactProblem of some contacts, closed or open ones that touch.

    `held`: joints that may be held as well, and are not in the present structure.
    """
    held = Held.nothing(robot.nv) if held is None else held
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
    count = len(held.rows)
    more, more_bias = np.zeros((3 * count, robot.nv)), np.zeros(3 * count)
    more[::3], more_bias[::3] = held.rows, held.bias
    J, bias = np.vstack([J, more]), np.concatenate([bias, more_bias])
    frames += [np.eye(3)] * count
    turns += [np.eye(3)] * count
    moving += [False] * count
    reduced, G = np.zeros((W.shape[1], len(J))), np.zeros((len(J), len(J)))
    acting, first = np.flatnonzero(J.any(axis=1)), 3 * len(loops)
    if W.shape[1]:  # a joint that is held has no friction: two rows of three are zero
        JW = J[acting] @ W
        reduced[:, acting] = np.linalg.solve(W.T @ M @ W, JW.T)
        G[np.ix_(acting, acting)] = JW @ reduced[:, acting]
    gains = np.diag(G)[first:]
    rigid = first + np.flatnonzero(gains < NO_RESPONSE * gains.max(initial=0.0))
    G[rigid], G[:, rigid], reduced[:, rigid] = 0.0, 0.0, 0.0
    return ContactProblem(
        tuple(loops),
        J,
        G,
        W @ reduced,
        np.array(frames).reshape(-1, 3, 3),
        np.array(turns).reshape(-1, 3, 3),
        np.array(moving, dtype=bool),
        bias,
        held.bounds,
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
    nearly: bool = False,
) -> Coulomb:
    """
    Return the p of Coulomb's law with u = G p + c.

    `drags`: contacts that move have friction along t_1, as they do under forces; an impact decides
    it anew. `held`: places of those that do not open. `given`: impulses along the normal that are
    known beforehand, (contacts,), not a number where they are not. `nearly`: where no p is found
    that obeys the law to rounding, one that nearly does will do.
    """
    table, n = robot.structure.loops, len(problem.loops)
    bounds = np.concatenate([np.tile([0.0, np.inf], (n, 1)), problem.bounds])
    for i, k in enumerate(problem.loops):
        if table['contact'][k] != at.UNILATERAL:
            bounds[i] = -np.inf, np.inf
    bounds[list(held)] = -np.inf, np.inf
    mu = np.concatenate([mu, np.zeros(len(problem.bounds))])
    drag = problem.moving & drags
    kind, p = np.where(drag, DRAG, CONE).astype(np.int64), np.zeros(3 * len(mu))
    if given is not None:
        known = np.isfinite(given)
        kind[known], p[::3] = GIVEN, np.where(known, given, 0.0)
    swept = kernels.solve_cones(problem.G, np.ascontiguousarray(c), mu, kind, bounds, p)
    law = CoulombLaw(problem.G, c, mu, bounds, drag)
    if given is not None:
        return _judge(law, p)
    found = _judge(law, p)
    polished = law.polish(p, found.modes)
    if swept >= 0 and not jams and polished is not None and law.agrees(polished, EXACT):
        return _judge(law, polished)
    # where a motion hardly moves the points, projection ends before they do what they should
    tried = None if jams else law.by_doubting(p, found.modes)
    if tried is None and not jams:
        tried = law.by_changing(p, found.modes)
    best = p if polished is None else polished
    if tried is None and (
        swept < 0 or jams or not (law.agrees(p, SWEPT) or law.agrees(best, SWEPT))
    ):
        tried = law.by_trying()
        if tried is None and not nearly and (swept < 0 or len(mu) <= MOST_TRIED):
            raise locked_error(robot)
    return _judge(law, best if tried is None else tried)  # so many contacts: nearly right


def _judge(law: CoulombLaw, p: Vector) -> Coulomb:
    """
    Say which contacts open and which slide.

    One whose force is well within its cone sticks, though projection may leave it some motion.
    """
    u, f, c = (law.G @ p + law.c).reshape(-1, 3), p.reshape(-1, 3), law.c
    speed = NO_MOTION * max(float(np.abs(c).max(initial=0.0)), 1e-300)
    force = NO_CONTACT_FORCE * max(float(np.abs(p).max(initial=0.0)), 1e-300)
    friction, most = np.linalg.norm(f[:, 1:], axis=1), law.mu * np.abs(f[:, 0])
    moves = np.linalg.norm(u[:, 1:], axis=1) > 1e2 * speed
    within = friction < (1.0 - WELL_WITHIN) * most - force
    modes = np.where(law.drag | (moves & ~within), SLIDES, STICKS)
    modes[(u[:, 0] > 1e2 * speed) & (f[:, 0] <= law.bounds[:, 0] + force)] = LOWER
    modes[(u[:, 0] < -1e2 * speed) & (f[:, 0] >= law.bounds[:, 1] - force)] = UPPER
    return Coulomb(f, u, modes.astype(np.int64))
