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

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.dynamics.constraints import Matrix
from closed_chain_dynamics.model.mechanism import Mechanism, Vector

__all__ = ['Levers', 'find_levers', 'no_lever']


@dataclass(frozen=True, eq=False)
class Levers:
    """S without the levers that are none, (actuators, mobility), and what they leave over."""

    S: Matrix
    rank: int
    preloads: Matrix  # (actuators, k): torques that move nothing, orthonormal
    unmoved: Matrix  # (mobility, k): rates of theta_G that no actuator feels
    # of the actuators; R, with |R x| the length of the motion W x; the least lever that counts
    units: tuple[Vector, Matrix, float]

    @property
    def kind(self) -> str:
        """Return how actuators and mobility compare: square, redundant, deficient or mixed."""
        actuators, mobility = self.S.shape
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


def find_levers(robot: Mechanism, S: Matrix, W: Matrix | None = None) -> Levers:
    """
    Return the Levers of S, (actuators, mobility).

    `W`: the motions, (nv, mobility), that its columns belong to; None where they are not known:
    then those of theta_G, as far as the actuators feel them.
    """
    unit = _actuator_units(robot)
    R = _lengths(robot, S / unit[:, None]) if W is None else _triangle(robot, W)
    return _cut(S, unit, R, no_lever(robot))


def _cut(S: Matrix, unit: Vector, R: Matrix, least: float) -> Levers:
    """Return the Levers of S with all below the least taken out of it."""
    U, sigma, Vt = np.linalg.svd(np.linalg.solve(R.T, (S / unit[:, None]).T).T)
    rank = int(np.sum(sigma > least))
    if rank < len(sigma):
        S = unit[:, None] * (U[:, :rank] * sigma[:rank]) @ Vt[:rank] @ R
    return Levers(
        S,
        rank,
        np.linalg.qr(U[:, rank:] / unit[:, None])[0],
        np.linalg.solve(R, Vt[rank:].T),
        (unit, R, least),
    )


def _actuator_units(robot: Mechanism) -> Vector:
    """Return the unit of every actuator's rate: 1, or the typical length, (actuators,)."""
    units = np.ones(len(robot.actuator_names))
    for k, actuator in enumerate(robot.structure.actuators):
        if actuator['dof'] >= 0:  # else its joint has been cut
            table = robot.model.loop_dofs if actuator['on_loop'] else robot.structure.dofs
            units[k] = table['scale'][actuator['dof']]
    return units


def _triangle(robot: Mechanism, W: Matrix) -> Matrix:
    """Return R with |R x| the length of the motion W x."""
    return np.asarray(np.linalg.qr(W / robot.structure.dofs['scale'][:, None])[1])


def _lengths(robot: Mechanism, S: Matrix) -> Matrix:
    """Return R for motions that are known only by theta_G and by what the actuators feel."""
    theta_G = robot.structure.dofs[robot.structure.dofs['dependent'] == 0]
    unit = theta_G['scale'] if len(theta_G) == S.shape[1] else np.ones(S.shape[1])
    return np.diag(np.sqrt(unit**-2.0 + np.sum(S**2, axis=0)))
