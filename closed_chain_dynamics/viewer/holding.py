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

"""Motors that hold a pose: so that a figure does not go limp while somebody looks at it."""

import numpy as np

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.dynamics.constraints import actuator_rows
from closed_chain_dynamics.dynamics.tree import difference, mass_matrix
from closed_chain_dynamics.errors import StateError
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['Holding']

RATE = 2.0 * np.pi * 6.0  # of the spring that each motor acts like, on its own inertia [rad/s]


class Holding:
    """
    Torques of critically damped springs about a pose, one per actuator.

    Each goes by the inertia that its motor feels when all other joints are free, 1 / (M^-1)_jj:
    the smallest there is, so that loops and loads only make the motion slower, never unstable.
    """

    def __init__(self, robot: Mechanism, q: Vector) -> None:
        self.robot, self.q = robot.copy(), q.copy()
        rows = actuator_rows(self.robot, q)
        try:
            M_inverse = np.linalg.inv(mass_matrix(self.robot, q))
        except np.linalg.LinAlgError:
            raise StateError(
                'a pose cannot be held where joints move no mass',
                where=robot.name,
                repair='Give every moving link an <inertial>.',
            ) from None
        mobility = np.einsum('ij,jk,ik->i', rows, M_inverse, rows)
        self.rows = rows
        self.inertia = np.divide(1.0, mobility, out=np.zeros_like(mobility), where=mobility > 0.0)

    def torques(self, q: Vector, v: Vector) -> dict[str, float]:
        """Return the torques [N m or N] at a state, by actuator."""
        away = self.rows @ difference(self.robot, self.q, q)
        rate = self.rows @ v
        tau = -self.inertia * (RATE**2 * away + 2.0 * RATE * rate)
        return dict(zip(self.robot.actuator_names, tau))
