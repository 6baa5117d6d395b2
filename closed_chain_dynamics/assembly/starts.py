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

"""Poses to start closing a cluster from, and how far one is from another."""

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics import kernels
from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.description import Assembly
from closed_chain_dynamics.dynamics.closing import Closure
from closed_chain_dynamics.kernels.loop_joints import WHOLE_TURN
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['distance', 'into_range', 'middle', 'put_hint', 'random_pose', 'shake', 'unwind']

SLIDER_REACH = 2.0  # how far sliders are thrown that have no range [typical lengths]


def put_hint(robot: Mechanism, q: Vector, assembly: Assembly) -> Vector:
    """Return q with the joints of a cc:assembly where it says; rotations come to unit length."""
    q = q.copy()
    for joint, value in assembly.positions:
        q[robot.joint_slices(joint)[0]] = value
    kernels.integrate(robot.handle, q, np.zeros(robot.nv), q)
    return q


def into_range(closure: Closure, q: Vector) -> Vector:
    """Bring limited joints of the cluster into their range, by whole turns where these help."""
    for j in closure.limited[closure.turns[closure.limited]]:
        k, lower, upper = closure.places[j], closure.lower[j], closure.upper[j]
        if not lower <= q[k] <= upper:
            middle = (
                0.5 * (lower + upper)
                if np.isfinite(lower + upper)
                else lower
                if np.isfinite(lower)
                else upper
            )
            q[k] += WHOLE_TURN * np.round((middle - q[k]) / WHOLE_TURN)
    return closure.clamp(q)


def unwind(closure: Closure, q: Vector, reference: Vector) -> Vector:
    """Take whole turns off joints without a range, so that they end near the reference."""
    k = closure.places[closure.endless & ~closure.held]
    q[k] -= WHOLE_TURN * np.round((q[k] - reference[k]) / WHOLE_TURN)
    return q


def distance(closure: Closure, q_from: Vector, q_to: Vector) -> float:
    """Return how far the cluster moves between two poses, turns counted the short way."""
    step = np.empty(closure.robot.nv)
    kernels.difference(closure.robot.handle, q_from, q_to, step)
    step = step[closure.dofs] / closure.scale
    step[closure.turns] = np.remainder(step[closure.turns] + np.pi, WHOLE_TURN) - np.pi
    return float(np.linalg.norm(step))


def shake(closure: Closure, q: Vector, size: float, rng: np.random.Generator) -> Vector:
    """Return q moved a little in every direction."""
    return closure.move(q, np.where(closure.held, 0.0, size * rng.normal(size=closure.dofs.size)))


def _with_two_limits(closure: Closure) -> NDArray[np.int64]:
    return np.flatnonzero(np.isfinite(closure.lower) & np.isfinite(closure.upper))


def middle(closure: Closure, q: Vector) -> Vector:
    """Return q with every joint of the cluster that has a range in the middle of it."""
    q = q.copy()
    both = _with_two_limits(closure)
    q[closure.places[both]] = 0.5 * (closure.lower[both] + closure.upper[both])
    return q


def random_pose(closure: Closure, q: Vector, rng: np.random.Generator) -> Vector:
    """Return a random pose of the cluster: anywhere in range, or anywhere within reach."""
    turning = closure.scale == 1.0
    step = np.where(
        turning,
        rng.uniform(-np.pi, np.pi, closure.dofs.size),
        rng.uniform(-SLIDER_REACH, SLIDER_REACH, closure.dofs.size),
    )
    out = closure.move(q, np.where(closure.held, 0.0, step))
    both = _with_two_limits(closure)
    out[closure.places[both]] = rng.uniform(closure.lower[both], closure.upper[both])
    return out
