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
Torques that push joints back before their limits, and brake those that are nearly too fast.

In the zone before a position limit a one-sided spring and damper act on the joint, of tree or
loops, driven or passive: a force f on joint j is tau_G = W_j^T f in generalized coordinates, and
S^T tau_A = tau_G at the actuators. The spring is as stiff as the actuators can be at the end of
the zone, and not stiffer than turns of control can hold (held_gains.py); the damper is critical,
by the inertia m_j = 1 / (W_j A^-1 W_j^T) that the joint feels. What a reference within the limits
asks for is not disturbed: the spring begins at the reference where that is further in the zone.
"""

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.control.held_gains import LEAD, STIFFEST, STRONGEST_DAMPING
from closed_chain_dynamics.control.joint_limits import JointLimits
from closed_chain_dynamics.dynamics.constraints import actuator_rows, allowed_motions
from closed_chain_dynamics.dynamics.tree import mass_matrix
from closed_chain_dynamics.kernels.limit_checks import FAST

__all__ = ['soft_limit_torques']

LEAST_LEVER = 1e-9  # share of the best lever below which nothing drives a joint


def soft_limit_torques(
    limits: JointLimits,
    effort: Vector,
    state: tuple[Vector, Vector],
    target: tuple[Vector, Vector] | None,
    turn: float,
) -> Vector | None:
    """
    Return torques for a state (q, v) and a reference (q_d, v_d), (actuators,); None: none needed.

    `effort`: of the actuators, finite; `turn`: how long turns of control are [s].
    """
    q, v = state
    deep, rate = _depths(limits, q, v, target)
    speed = v[limits.places]
    fast = np.maximum(np.abs(speed) - FAST * limits.speed, 0.0) * np.sign(speed)
    acting = np.flatnonzero((deep != 0.0) | (fast != 0.0))
    if not acting.size:
        return None
    robot = limits.robot
    W = allowed_motions(robot, q)
    S = actuator_rows(robot, q) @ W
    if not S.size:
        return None
    A = W.T @ mass_matrix(robot, q) @ W
    to_actuators = np.linalg.pinv(S.T, rcond=LEAST_LEVER)
    tau: Vector = np.zeros(len(robot.actuator_names))
    for j in acting:
        W_j = W[limits.places[j]]
        lever = to_actuators @ W_j
        size = np.abs(lever).max(initial=0.0)
        if size < LEAST_LEVER or W_j @ W_j < LEAST_LEVER**2:
            continue
        m = 1.0 / float(W_j @ np.linalg.solve(A, W_j))
        most = float((effort / np.maximum(np.abs(lever), LEAST_LEVER * size)).min())
        tau += lever * _force(limits, int(j), (m, most, turn), (deep[j], rate[j], fast[j]))
    return tau


def _force(
    limits: JointLimits,
    j: int,
    strength: tuple[float, float, float],
    motion: tuple[float, float, float],
) -> float:
    """Return the force on a joint of inertia m that actuators can push with `most`, in turns T."""
    (m, most, T), (deep, rate, fast) = strength, motion
    force = 0.0
    if deep:
        k = min(most / limits.zone[j], STIFFEST * m / T**2)
        d = min(max(2.0 * np.sqrt(k * m), LEAD * T * k), STRONGEST_DAMPING * m / T)
        outwards = max(rate * np.sign(deep), 0.0) * np.sign(deep)
        force -= k * deep + d * outwards
    if fast:
        d = min(most / ((1.0 - FAST) * limits.speed[j]), STRONGEST_DAMPING * m / T)
        force -= d * fast
    return float(np.clip(force, -most, most))


def _depths(
    limits: JointLimits, q: Vector, v: Vector, target: tuple[Vector, Vector] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how deep joints are in their zones, signed, and how fast beyond the reference."""
    x, rate = limits.positions(q), v[limits.places]
    low, high = limits.lower + limits.zone, limits.upper - limits.zone
    if target is not None:
        x_d, rate_d = limits.positions(target[0]), target[1][limits.places]
        asked = (x_d > high) | (x_d < low)
        low, high = np.minimum(low, x_d), np.maximum(high, x_d)
        rate = np.where(asked, rate - rate_d, rate)
    return np.maximum(x - high, 0.0) + np.minimum(x - low, 0.0), rate
