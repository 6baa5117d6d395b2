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
At and near singular poses: what comes free there, and what is done about it.

At a singular pose J_C loses rank: constraints that were independent are so no longer, and a motion
comes free that the poses around it do not have. Which motion depends on the branch that the
mechanism is on. Near the pose, accelerations may grow without bound, and rounding decides. The
policies:

damp     the constraints that cannot be told apart are dropped; the motion that came free counts
         as a generalized coordinate for this instant. Nothing grows beyond the rank tolerance.
hold     the motion that came free is held: the mechanism keeps to the branch of its velocity.
refuse   an error that names the joints that come free.
"""

from typing import TYPE_CHECKING, NoReturn

import numpy as np

from closed_chain_dynamics.arrays import Matrix, Vector
from closed_chain_dynamics.dynamics.constraints import allowed_motions, constraint_jacobian
from closed_chain_dynamics.dynamics.rank import close_from
from closed_chain_dynamics.dynamics.tree import integrate, mass_matrix
from closed_chain_dynamics.errors import SingularityError, StateError
from closed_chain_dynamics.model.mechanism import Mechanism

if TYPE_CHECKING:
    from closed_chain_dynamics.dynamics.generalized_coordinates import Coordinates

__all__ = ['SINGULARITY_POLICIES']

SINGULARITY_POLICIES = ('damp', 'hold', 'refuse')
STEP_ASIDE = 1e-3  # how far to look for the branch [rad, or typical lengths]
DROPPED = 1e-6  # share of the largest singular value below which a constraint is dropped
TAKES_PART = 0.1  # of a unit motion: coordinates that move less are not named


def check_policy(robot: Mechanism, policy: str) -> None:
    """Refuse an unknown policy."""
    if policy not in SINGULARITY_POLICIES:
        raise StateError(
            f'unknown policy {policy!r} for singularities',
            where=robot.name,
            repair=f'Choose one of {", ".join(SINGULARITY_POLICIES)}.',
        )


def refuse(robot: Mechanism, c: 'Coordinates') -> NoReturn:
    """Raise the error that names what comes free at a singular pose."""
    share = np.abs(c.singular_direction)
    names = [robot.coordinate_names[j] for j in np.argsort(-share)[:4] if share[j] > TAKES_PART]
    raise SingularityError(
        f'the pose is singular: the loops lose {c.lost_rank} of {c.full_rank} constraints, and '
        f'{", ".join(names)} can move in addition to what nearby poses allow',
        where=robot.name,
        repair="Move away from it, or choose the policy 'damp' or 'hold'.",
    )


def branch_tangent(robot: Mechanism, q: Vector, v: Vector, W: Matrix) -> Matrix:
    """
    Return the motions of the branch that the velocity v is on, (nv, n), orthonormal.

    They are those of a closed pose a little further along v, as far as the singular pose has them:
    W, (nv, mobility).
    """
    size = np.abs(v).max(initial=0.0)
    direction = v / size if size > 0.0 else W @ np.ones(W.shape[1])
    other = robot.copy()
    ahead = close_from(other, integrate(other, q, STEP_ASIDE * direction))
    free = np.linalg.qr(W)[0]
    tangent: Matrix = np.linalg.qr(free @ (free.T @ allowed_motions(other, ahead)))[0]
    return tangent


def lost_motion(robot: Mechanism, q: Vector, W: Matrix) -> Vector:
    """Return the motion that a singular pose has and the poses around it have not, (nv,)."""
    tangent = branch_tangent(robot, q, np.zeros(robot.nv), W)
    free = np.linalg.qr(W)[0]
    lost: Vector = np.linalg.svd(free - tangent @ (tangent.T @ free))[0][:, 0]
    return lost


def hold_forward(robot: Mechanism, q: Vector, v: Vector, W: Matrix, force: Vector) -> Vector:
    """
    Return accelerations with the motion that came free held, (nv,).

    `W`: the motions of the pose; `force`: what drives the tree, tau - h, (nv,).
    """
    W = branch_tangent(robot, q, v, W)
    J_C, _, bias = constraint_jacobian(robot, q, v)
    rest = -np.linalg.lstsq(J_C, bias, rcond=DROPPED)[0]
    M = mass_matrix(robot, q)
    held: Vector = W @ np.linalg.solve(W.T @ M @ W, W.T @ (force - M @ rest)) + rest
    return held
