"""
Velocity boundary condition after links are connected (paper 2, section V-C).

Symbol      Meaning                                                     Equation
v, v_after  velocities of the tree before and after                     theta' and theta' + Delta
J_C         rows of the connections that hold after                     J_1 - J_2 of (36)
impulse     J_C^T impulse = M (v_after - v), of least norm              F of (25), on the child
"""

from dataclasses import dataclass, field

import numpy as np

from . import kernels
from .coordinates import constraint_jacobian, row_owners
from .tree_dynamics import energy, mass_matrix, momentum

__all__ = ['Impact', 'impact']


@dataclass
class Impact:
    """A jump of velocities, and what passed through the joints in that instant."""

    v: np.ndarray = field(repr=False)
    v_after: np.ndarray
    impulse: np.ndarray          # in the rows of J_C, on the child against the parent [N s, N m s]
    energy_before: float         # kinetic [J]
    energy_after: float
    momentum_before: np.ndarray  # linear, and angular about the centre of mass, (6,)
    momentum_after: np.ndarray
    owners: list = field(repr=False, default_factory=list)

    @property
    def energy_lost(self):
        """Return the kinetic energy that the connection took [J]; never negative."""
        return self.energy_before - self.energy_after

    def impulse_of(self, loop):
        """Return the impulse in the rows of one loop."""
        return self.impulse[[row for row, name in enumerate(self.owners) if name == loop]]


def impact(robot, q, v, *, restitution=0.0):
    """
    Return the Impact of the loops that are connected now on a motion that may violate them.

    With `restitution` e the relative speed of what is caught turns round: e times as fast, which
    has a meaning for a single unilateral contact.
    """
    q, v = robot.vector(q, robot.nq, 'q'), robot.vector(v, robot.nv, 'v')
    v_after = np.empty(robot.nv)
    status = kernels.compute_impact(robot.mi, robot.mf, robot.w, q, v, v_after)
    if status:
        robot.raise_for(status, q, v)
    v_after = v_after + restitution * (v_after - v)
    J_C, _, _ = constraint_jacobian(robot, q)
    jump = mass_matrix(robot, q) @ (v_after - v)
    impulse = np.linalg.lstsq(J_C.T, jump, rcond=1e-10)[0] if len(J_C) else np.zeros(0)
    return Impact(v.copy(), v_after, impulse, energy(robot, q, v)[0], energy(robot, q, v_after)[0],
                  momentum(robot, q, v), momentum(robot, q, v_after), row_owners(robot))
