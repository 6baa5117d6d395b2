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

"""Names for the ways in which a mechanism can be assembled."""

import numpy as np

from closed_chain_dynamics.arrays import Matrix, Vector
from closed_chain_dynamics.assembly.starts import put_hint
from closed_chain_dynamics.dynamics.generalized_coordinates import coordinates
from closed_chain_dynamics.dynamics.rank import close_from
from closed_chain_dynamics.dynamics.tree import difference
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['name_branch']

INDEPENDENT = 1e-3  # share of a row's length that must be new for it to count as independent
NO_SIGN = 1e-12  # determinant below which it has no sign


def name_branch(robot: Mechanism, q: Vector) -> str:
    """Return the nearest hint and a sign per cluster with loops, such as 'elbow_up +'."""
    robot = robot.copy()
    signs = _signs(robot, q)
    nearest, hint = (False, -np.inf), ''
    for each in robot.description.assemblies:
        pose = close_from(robot, put_hint(robot, q, each))
        step = difference(robot, pose, q)
        around = robot.structure.dofs['scale'] == 1.0  # angles count once round
        step[around] = np.remainder(step[around] + np.pi, 2.0 * np.pi) - np.pi
        try:
            same = _signs(robot, pose) == signs
        except ClosedChainError:  # a hint that does not close names no branch, only a place
            same = False
        if (same, -np.linalg.norm(step)) > nearest:
            nearest, hint = (same, -np.linalg.norm(step)), each.name
    return ' '.join(part for part in (hint, signs) if part)


def _signs(robot: Mechanism, q: Vector) -> str:
    """
    Return the sign of det(J_S) of every cluster with loops, as text: '+', '-' or '0'.

    Of redundant rows the first independent ones count, and theta_S is taken in one order at all
    poses, joints that nobody prefers as generalized coordinates first: a choice that depended on
    the pose would make the signs of two poses mean different things.
    """
    c = coordinates(robot, q)
    preference, loops = robot.structure.dofs['preference'], robot.structure.loops
    signs = ''
    for own in c.clusters:
        if not np.any((loops['active'] != 0) & (loops['cluster'] == own.number)):
            continue
        dofs = sorted(own.dofs, key=lambda j: (preference[j], -j))
        J = c.J_C[np.ix_(own.rows, dofs)]
        J_S = J[:, _first_independent(J.T, own.rank)]
        J_S = J_S[_first_independent(J_S, J_S.shape[1])]
        det = np.linalg.det(J_S) if len(J_S) == own.rank else 0.0
        signs += '0' if abs(det) < NO_SIGN else '+' if det > 0.0 else '-'
    return signs


def _first_independent(rows: Matrix, count: int) -> list[int]:
    """Return the places of the first `count` rows that are each new beside those before."""
    chosen: list[int] = []
    basis: list[Vector] = []
    for place, row in enumerate(rows):
        rest, length = row.copy(), np.linalg.norm(row)
        for direction in basis:
            rest -= (rest @ direction) * direction
        if len(chosen) < count and np.linalg.norm(rest) > INDEPENDENT * length:
            basis.append(rest / np.linalg.norm(rest))
            chosen.append(place)
    return chosen
