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
Torques for when those of the law may not be sent.

zero      none
gravity   what holds the last pose against gravity and springs
damping   tau_O = -D v, projected to the actuators so that they only take energy:
          tau_A = -(S K^-1 S^T)^-1 theta_A' with K = W^T D W, which is S^-T W^T tau_O where
          actuators and motions are as many. It needs a fresh velocity: without, zero.
"""

import numpy as np

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.control.held_gains import STRONGEST_DAMPING
from closed_chain_dynamics.control.law import TorqueController
from closed_chain_dynamics.dynamics.generalized_coordinates import coordinates
from closed_chain_dynamics.dynamics.tree import mass_matrix
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['FALLBACKS', 'damping_torques', 'fallback_torques']

FALLBACKS = ('zero', 'gravity', 'damping')
LEAST_EIGENVALUE = 1e-9  # share of the largest below which an eigenvalue is rounding


def fallback_torques(
    kind: str,
    controller: TorqueController,
    state: tuple[Vector | None, Vector],
    damping: float,
    is_fresh: bool,
    turn: float,
) -> Vector | None:
    """Return torques for a state (q, v), (actuators,); None: zero."""
    q, v = state
    if q is None or kind == 'zero' or (kind == 'damping' and not is_fresh):
        return None
    if kind == 'gravity':
        return controller.gravity(q).tau_A
    return damping_torques(controller.robot, q, v, damping, turn)


def damping_torques(robot: Mechanism, q: Vector, v: Vector, damping: float, turn: float) -> Vector:
    """
    Return torques that brake a motion, (actuators,); `damping` [N m s/rad or N s/m].

    `turn`: how long turns of control are [s]; what they cannot hold is weakened.
    """
    c = coordinates(robot, q)
    if not c.mobility or not c.S.size:
        return np.zeros(len(robot.actuator_names))
    K = damping * c.W.T @ c.W
    A = c.W.T @ mass_matrix(robot, q) @ c.W
    fastest = float(np.abs(np.linalg.eigvals(np.linalg.solve(A, K))).max())
    K *= min(1.0, STRONGEST_DAMPING / max(turn * fastest, 1e-300))
    rates = c.S @ (np.linalg.pinv(c.W, rcond=LEAST_EIGENVALUE) @ v)
    tau: Vector = -np.linalg.pinv(c.S @ np.linalg.solve(K, c.S.T), rcond=LEAST_EIGENVALUE) @ rates
    return tau
