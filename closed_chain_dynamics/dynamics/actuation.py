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
Actuator torques from generalized forces: S^T tau_A = tau_G, Eq. (8) of Nakamura and Yamane.

Square: tau_A = S^-T tau_G. Redundant: infinitely many torques do the same, and a policy picks one
(Yamane and Nakamura refer to Nakamura and Ropponen); they differ by internal preload, the null
space of S^T.
Deficient: the nearest that the actuators can do, and the residual that they cannot. What the
actuators can move at all, `levers.py` decides, whatever the policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics.arrays import Matrix, Vector
from closed_chain_dynamics.dynamics.levers import Levers, find_levers
from closed_chain_dynamics.dynamics.values import constant
from closed_chain_dynamics.errors import ActuationError, StateError
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['ACTUATION_POLICIES', 'Actuation', 'actuator_torques']

ACTUATION_POLICIES = ('minimum_norm', 'weighted', 'within_limits')
Torques = Mapping[str, float] | ArrayLike | None  # by actuator, or over actuator_names; None: zero


@dataclass(frozen=True, eq=False)
class Actuation:
    """A solution of S^T tau_A = tau_G."""

    tau_A: Vector  # (actuators,) [N m or N]
    residual: Vector  # tau_G - S^T tau_A, (mobility,)
    kind: str  # 'square', 'redundant', 'deficient' or 'mixed'
    null_space: Matrix = field(repr=False)  # (actuators, k): torques that only preload


def actuator_torques(
    robot: Mechanism,
    S: Matrix,
    tau_G: Vector,
    *,
    W: Matrix | None = None,
    policy: str = 'minimum_norm',
    weights: Mapping[str, float] | ArrayLike | None = None,
    preload: Mapping[str, float] | ArrayLike | None = None,
) -> Actuation:
    """
    Return the Actuation that provides the generalized forces tau_G through S.

    `policy` 'minimum_norm' takes the smallest torques; 'weighted' the smallest sum of
    `weights` times torque squared, weights by actuator name or as an array; 'within_limits' keeps
    to the effort limits of the file, by bounded least squares. `preload`, by name or as an array,
    is the torque that the solution should be nearest to, instead of zero. `W`, (nv, mobility): the
    motions that S belongs to, which distinguish a short lever arm from none.
    """
    if policy not in ACTUATION_POLICIES:
        raise ActuationError(
            f'unknown policy {policy!r}',
            where=robot.name,
            repair=f'Choose one of {", ".join(ACTUATION_POLICIES)}.',
        )
    n = len(robot.actuator_names)
    wanted = actuator_vector(robot, preload, 'preload')
    weight = actuator_vector(robot, weights, 'weights', 1.0)
    if weights is not None and policy != 'weighted':
        raise ActuationError(
            f'the policy {policy!r} takes no weights',
            where=robot.name,
            repair="Choose policy='weighted'.",
        )
    if not np.all(weight > 0.0):
        raise ActuationError(
            'weights must be positive',
            where=robot.name,
            repair='A large weight keeps a torque small; zero has no meaning.',
        )
    unit = 1.0 / np.sqrt(weight) if policy == 'weighted' else np.ones(n)
    # substitute tau_A = wanted + unit x: then x of least norm is what the policy asks for
    found, rest = find_levers(robot, S, W), tau_G - S.T @ wanted
    if policy == 'within_limits':
        x = _bounded(robot, found, rest, wanted)
    else:
        x = _least_norm(found.S.T * unit, rest, found.rank)
    tau_A = wanted + unit * x
    if policy == 'within_limits':  # what the sum has lost of the last digit
        effort = robot.model.actuators['effort']
        tau_A = np.clip(tau_A, -effort, effort)
    return Actuation(tau_A, tau_G - S.T @ tau_A, found.kind, constant(found.preloads))


def _least_norm(lever: Matrix, rest: Vector, rank: int) -> Vector:
    """Return the smallest x with lever x as near to rest as it can be; lever has that rank."""
    U, sigma, Vt = np.linalg.svd(lever, full_matrices=False)
    return np.asarray(((U[:, :rank].T @ rest) / sigma[:rank]) @ Vt[:rank])


def _bounded(robot: Mechanism, found: Levers, rest: Vector, wanted: Vector) -> Vector:
    """Return the smallest x that solves lever x = rest as well as the effort limits allow."""
    effort, lever = robot.model.actuators['effort'], found.S.T
    lower, upper = -effort - wanted, effort - wanted
    if np.any(lower > upper) or np.any((lower > 0.0) | (upper < 0.0)):
        worst = int(np.argmax(np.maximum(lower, -upper)))
        raise ActuationError(
            f'the preload of actuator {robot.actuator_names[worst]!r} is beyond its effort limit '
            f'{effort[worst]:g}',
            where=robot.name,
            repair='Ask for less preload.',
        )
    exact = _least_norm(lever, rest, found.rank)
    if np.all((exact >= lower) & (exact <= upper)):
        return exact
    from scipy.optimize import lsq_linear  # a third of a second to import, seldom needed

    x, free = np.zeros(len(effort)), upper > lower  # an actuator without any effort is left out
    if not free.any():
        return x
    # meet the forces first; among equals take the smallest, by a weight that stays below rounding
    # of the forces; an active-set method says which actuators are at a limit
    small = 1e-6 * max(float(np.linalg.norm(lever, 2)), 1e-300)
    matrix = np.vstack([lever[:, free], small * np.eye(free.sum())])
    target = np.concatenate([rest, np.zeros(free.sum())])
    bounded = lsq_linear(
        matrix,
        target,
        bounds=(lower[free], upper[free]),
        method='bvls',
        tol=1e-15,
        max_iter=100 * len(effort),
    )
    # with those at their bounds known, the others follow exactly, free of the small weight
    x[free] = np.select(
        [bounded.active_mask < 0, bounded.active_mask > 0], [lower[free], upper[free]]
    )
    inside = np.flatnonzero(free)[bounded.active_mask == 0]
    left = found.of(inside)
    x[inside] = _least_norm(left.S.T, rest - lever @ x, left.rank)
    return np.clip(x, lower, upper)


def actuator_vector(
    robot: Mechanism,
    values: Mapping[str, float] | ArrayLike | None,
    what: str,
    default: float = 0.0,
) -> Vector:
    """Return values given by name, or as an array, as finite numbers over the actuators."""
    n = len(robot.actuator_names)
    if values is None:
        return np.full(n, default)
    if isinstance(values, Mapping):
        given = [default] * n
        for name, value in values.items():
            given[_place(robot, name)] = value
        values = given
    names = ', '.join(robot.actuator_names) or 'none'
    try:
        array = np.ascontiguousarray(values, dtype=float)
    except (TypeError, ValueError):
        raise StateError(
            f'{what} must be numbers', where=robot.name, repair=f'One for each actuator: {names}.'
        ) from None
    if array.shape != (n,):
        raise StateError(
            f'{what} has shape {array.shape} but the mechanism needs ({n},)',
            where=robot.name,
            repair=f'One number for each actuator: {names}.',
        )
    refuse_non_finite(robot, array, what)
    return array if array.flags.writeable else array.copy()


def refuse_non_finite(robot: Mechanism, array: Vector, what: str) -> None:
    """Refuse numbers over the actuators of which one is not finite, and name it."""
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        raise StateError(
            f'{what} of {robot.actuator_names[bad[0]]!r} is {array[bad[0]]}',
            where=robot.name,
            repair='Give finite numbers only.',
        )


def _place(robot: Mechanism, name: str) -> int:
    """Return the place of an actuator; a joint that is there but has none is told so."""
    if name not in robot.actuator_names and name in (
        *robot.joint_names,
        *robot.coordinate_names,
        *robot.loop_names,
        *robot.loop_coordinate_names,
    ):
        raise ActuationError(
            f'joint {name!r} is passive and takes no torque',
            where=robot.name,
            repair='Mark it cc:role="actuated", or load with actuated=[...].',
        )
    return robot.index('actuator', name)
