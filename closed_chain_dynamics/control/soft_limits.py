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
Bounds of torques near the limits of joints: the last word, whatever a law asks for.

For every joint that is near a limit, of tree or loops, driven or passive, the force with which the
motors push it outwards has a largest value; it may be negative, so that they push it back. What a
law asks for beyond that is taken away by all motors that move the joint. A force f on joint j is
tau_G = W_j^T f in generalized coordinates, and S^T tau_A = tau_G at the actuators; torques push
the joint like f = m_j W_j A^-1 S^T tau_A, with the inertia m_j = 1 / (W_j A^-1 W_j^T) it feels.

in the zone   from all that motors can give at its begin to as much against it at its end, like a
              spring about its middle, as stiff as turns of control can hold (held_gains.py), with
              a critical damper
before it     less where the joint is too fast to stop at the limit with half of what motors can
              give, after the time in which torques can turn round
too fast      from all at 0.9 of the speed limit to as much against it at the limit; in a light
              joint already before, where a turn of control would make it that fast

What a reference within the limits asks for is not disturbed: the zone begins at the reference
where that is further in it, and only what is faster than the reference is too fast.
"""

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.arrays import Matrix, Vector
from closed_chain_dynamics.control.held_gains import LEAD, STIFFEST, STRONGEST_DAMPING
from closed_chain_dynamics.control.joint_limits import JointLimits
from closed_chain_dynamics.dynamics.constraints import actuator_rows, allowed_motions
from closed_chain_dynamics.dynamics.tree import mass_matrix
from closed_chain_dynamics.kernels.limit_checks import BRAKED_WITHIN, FAST

__all__ = ['soft_limit_torques']

LEAST_LEVER = 1e-9  # share of the best lever below which nothing drives a joint
BRAKING = 0.5  # share of what motors can give that is counted on to stop a joint


def soft_limit_torques(
    limits: JointLimits,
    wanted: Vector,
    effort: Vector,
    state: tuple[Vector, Vector],
    target: tuple[Vector, Vector] | None,
    times: tuple[float, float],
) -> Vector:
    """
    Return torques in place of those `wanted`, (actuators,), for a state (q, v).

    `target`: (q_d, v_d) of a reference; `effort`: of the actuators, finite; `times`: how long
    turns of control are, and how long torques take from one end of their range to the other [s].
    """
    q, v = state
    robot = limits.robot
    x, rows, ends = limits.all_joints(q)
    motion = x, rows @ v, *_asked(limits, x, target)
    acting = _acting(ends, x, motion[1], target is None)
    W = allowed_motions(robot, q)
    S = actuator_rows(robot, q) @ W
    if not acting.size or not S.size:
        return wanted
    A = W.T @ mass_matrix(robot, q) @ W
    to_actuators = np.linalg.pinv(S.T, rcond=LEAST_LEVER)
    tau, is_bounded = np.clip(wanted, -effort, effort), False
    R = rows @ W
    speeds = np.linalg.solve(A, R.T).T  # that a unit of force gives in a unit of time
    for j in acting:
        W_j, to_speed = R[j], speeds[j]
        lever = to_actuators @ W_j
        size = np.abs(lever).max(initial=0.0)
        if size < LEAST_LEVER or W_j @ W_j < LEAST_LEVER**2:
            continue
        m = 1.0 / float(W_j @ to_speed)
        most = float((effort / np.maximum(np.abs(lever), LEAST_LEVER * size)).min())
        strength = m, most, *times
        for side, bound in _bounds(ends[:, j], strength, [float(each[j]) for each in motion]):
            excess = side * m * float(to_speed @ (S.T @ tau)) - max(bound, -most)
            if excess > 0.0:
                tau, is_bounded = tau - side * excess * lever, True
    return tau if is_bounded else wanted


def _asked(
    limits: JointLimits, x: Vector, target: tuple[Vector, Vector] | None
) -> tuple[Vector, Vector]:
    """Return positions and speeds that a reference asks for; nan, 0 without one."""
    if target is None:
        return np.full(x.size, np.nan), np.zeros(x.size)
    x_d, rows, _ = limits.all_joints(target[0])
    return x_d, rows @ target[1]


def _acting(ends: Matrix, x: Vector, rate: Vector, is_free: bool) -> NDArray[np.int64]:
    """Return which joints may be bounded: near an end, soon there, or fast; all if `is_free`."""
    if is_free:
        return np.arange(x.size)
    lower, upper, zone, speed = ends
    soon = x + BRAKED_WITHIN * rate
    near = (np.maximum(x, soon) > upper - zone) | (np.minimum(x, soon) < lower + zone)
    return np.flatnonzero(near | (np.abs(rate) > FAST * speed))


def _bounds(
    ends: Vector, strength: tuple[float, float, float, float], motion: list[float]
) -> list[tuple[float, float]]:
    """Return (side, largest force to that side) of a joint that feels like an inertia m."""
    (lower, upper, zone, speed), (x, rate, x_d, rate_d) = ends, motion
    m, most, T, reversal = strength
    strongest, bounds = STRONGEST_DAMPING * m / T, []
    for side, end in ((1.0, upper), (-1.0, lower)):
        outwards, room = side * rate, side * (end - x)
        begin = zone if np.isnan(x_d) else min(zone, side * (end - x_d))
        deep = begin - room
        if deep > 0.0:
            k = min(2.0 * most / zone, STIFFEST * m / T**2)
            d = min(max(2.0 * np.sqrt(k * m), LEAD * T * k), strongest)
            faster = outwards - (side * rate_d if begin < zone else 0.0)
            bounds.append((side, k * (0.5 * zone - deep) - d * max(faster, 0.0)))
        left = max(room - (reversal + T) * outwards, 0.0)
        stoppable = max(np.sqrt(2.0 * BRAKING * most / m * left), side * rate_d)
        if outwards > stoppable:
            bounds.append((side, most - strongest * (outwards - stoppable)))
        over = outwards - max(FAST * speed, side * rate_d)
        if over > 0.0 or np.isnan(x_d):
            d = min(2.0 * most / ((1.0 - FAST) * speed), strongest)
            bounds.append((side, d * (0.5 * (1.0 - FAST) * speed - over)))
    return bounds
