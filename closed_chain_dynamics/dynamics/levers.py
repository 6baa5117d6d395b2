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
What the actuators of a mechanism can move: the rank of S, by one rule for everybody.

A lever is a singular value of S, taken between motions of unit length and rates of actuators, both
counted in radians and typical lengths: it depends neither on the choice of theta_G nor on what
other actuators there are. A ram at the dead point of its crank has none. Beside the dead point the
torque that a motion needs grows as the inverse of the lever, and so does the error in it of a pose
that is known to a few digits less than a computer has. A lever below the rank tolerance of the
loops therefore counts as none: its actuators get no torque for it, and what they do not give is
the residual.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.arrays import Matrix, Vector
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['Levers', 'find_levers', 'no_lever']


@dataclass(frozen=True, eq=False)
class Levers:
    """
    S without the levers that are none, (actuators, mobility), and what they leave over.

    Each is computed when it is asked for: a turn of control needs only what nobody moves.
    """

    given: Matrix  # S with all levers
    sigma: Vector
    # of the actuators; R, with |R x| the length of the motion W x; the least lever that counts
    units: tuple[Vector, Matrix, float]
    # what the levers stand between: combinations of actuators, columns, and of motions, rows
    ends: tuple[Matrix, Matrix]

    @cached_property
    def rank(self) -> int:
        """Return how many levers count."""
        return int(np.sum(self.sigma > self.units[2]))

    @cached_property
    def S(self) -> Matrix:
        """Return S without the levers that are none."""
        (unit, R, _), (U, Vt), rank = self.units, self.ends, self.rank
        if rank == len(self.sigma):
            return self.given
        return np.asarray(unit[:, None] * (U[:, :rank] * self.sigma[:rank]) @ Vt[:rank] @ R)

    @cached_property
    def preloads(self) -> Matrix:
        """Return torques that move nothing, orthonormal, (actuators, k)."""
        return np.asarray(np.linalg.qr(self.ends[0][:, self.rank :] / self.units[0][:, None])[0])

    @cached_property
    def unmoved(self) -> Matrix:
        """Return rates of theta_G that no actuator feels, (mobility, k)."""
        return np.asarray(np.linalg.solve(self.units[1], self.ends[1][self.rank :].T))

    @property
    def kind(self) -> str:
        """Return how actuators and mobility compare: square, redundant, deficient or mixed."""
        actuators, mobility = self.given.shape
        if self.rank == mobility:
            return 'square' if actuators == mobility else 'redundant'
        return 'deficient' if self.rank == actuators else 'mixed'

    def of(self, chosen: NDArray[np.int64]) -> 'Levers':
        """Return the levers of some of the actuators alone."""
        unit, R, least = self.units
        return _cut(self.S[chosen], unit[chosen], R, least)


def no_lever(robot: Mechanism) -> float:
    """Return the size up to which a lever is none."""
    return float(robot.model.world['rank_tolerance'][0])


def find_levers(
    robot: Mechanism, S: Matrix, W: Matrix | None = None, least: float = 0.0
) -> Levers:
    """
    Return the Levers of S, (actuators, mobility).

    `W`: the motions, (nv, mobility), that its columns belong to; None where they are not known:
    then those of theta_G, as far as the actuators feel them. `least`: who wants more of a lever
    than that it is one says how much.
    """
    unit = _actuator_units(robot)
    R = _lengths(robot, S / unit[:, None]) if W is None else _triangle(robot, W)
    return _cut(S, unit, R, max(no_lever(robot), least))


def _cut(S: Matrix, unit: Vector, R: Matrix, least: float) -> Levers:
    """Return the Levers of S, of which all up to the least are none."""
    U, sigma, Vt = np.linalg.svd(np.linalg.solve(R.T, (S / unit[:, None]).T).T)
    return Levers(S, sigma, (unit, R, least), (U, Vt))


def _actuator_units(robot: Mechanism) -> Vector:
    """Return the unit of every actuator's rate: 1, or the typical length, (actuators,)."""
    actuators, tree = robot.structure.actuators, robot.structure.dofs['scale']
    scale = np.concatenate([tree, robot.model.loop_dofs['scale'], [1.0]])
    own = actuators['dof']  # -1 where its joint has been cut
    return np.asarray(scale[np.where(own < 0, -1, own + len(tree) * actuators['on_loop'])])


def _triangle(robot: Mechanism, W: Matrix) -> Matrix:
    """Return R with |R x| the length of the motion W x."""
    return np.asarray(np.linalg.qr(W / robot.structure.dofs['scale'][:, None])[1])


def _lengths(robot: Mechanism, S: Matrix) -> Matrix:
    """Return R for motions that are known only by theta_G and by what the actuators feel."""
    theta_G = robot.structure.dofs[robot.structure.dofs['dependent'] == 0]
    unit = theta_G['scale'] if len(theta_G) == S.shape[1] else np.ones(S.shape[1])
    return np.diag(np.sqrt(unit**-2.0 + np.sum(S**2, axis=0)))
