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
Motions that excite parameters: sums of sines whose regressor is well conditioned.

Every actuated joint swings about a pose as a Fourier series (Swevers et al. 1997). The search
makes the condition number of the base regressor small; a motion that leaves limits of position,
speed or effort, or a pose that the loops do not allow, is scaled down until it fits.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.description.elements import Limit
from closed_chain_dynamics.dynamics.constraints import loop_kinematics, loop_limits
from closed_chain_dynamics.dynamics.generalized_coordinates import coordinates
from closed_chain_dynamics.dynamics.inverse import inverse_dynamics
from closed_chain_dynamics.errors import AssemblyError, SingularityError, StateError
from closed_chain_dynamics.identification.base_parameters import BaseParameters, base_parameters
from closed_chain_dynamics.identification.regressor import Regressor, stacked
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.recording.terminal import Progress
from closed_chain_dynamics.studies.motion.moving import Motion, move
from closed_chain_dynamics.studies.motion.tracks import Tracks

__all__ = ['Excitation', 'excite', 'fourier']


JUDGED_SAMPLES = 60  # of a period, at which a candidate is judged
SHRINK = 0.7  # what a motion that does not fit is scaled by
MOST_SHRINKS = 12
AMPLITUDE = 0.6  # of a joint without limits [rad or m]
WORST_POSE = 1e3  # condition of S beyond which the pose counts as singular


@dataclass(frozen=True)
class Excitation:
    """A motion of one period, its Regressor, base parameters and condition number."""

    motion: Motion
    joints: tuple[str, ...]
    places: tuple[int, ...]  # of these joints in q
    regressor: Regressor
    base: BaseParameters
    condition: float
    first_condition: float  # of the first motion that revealed all of the base parameters
    period: float


def fourier(coefficients: Array, period: float, time: Array) -> tuple[Array, Array, Array]:
    """
    Return series about zero with their first two derivatives, (samples, joints) each.

    `coefficients` (joints, harmonics, 2): sizes of sine and cosine; the cosines add to zero at
    the start, where the motion begins and ends.
    """
    harmonics = np.arange(1, coefficients.shape[1] + 1)
    omega = 2.0 * np.pi * harmonics / period
    sine, cosine = np.sin(np.outer(time, omega)), np.cos(np.outer(time, omega))
    s, c = coefficients[..., 0].T, coefficients[..., 1].T
    o = omega[:, None]
    return (
        sine @ s + (cosine - 1.0) @ c,
        cosine @ (o * s) - sine @ (o * c),
        -(sine @ (o**2 * s)) - cosine @ (o**2 * c),
    )


def excite(
    robot: Mechanism,
    q: Array,
    *,
    period: float = 5.0,
    harmonics: int = 3,
    samples: int = 200,
    candidates: int = 12,
    improvements: int = 30,
    seed: int = 0,
    progress: Progress | None = None,
) -> Excitation:
    """
    Return the Excitation found about a pose q, within limits and loops.

    `candidates` random series are tried, then the best is changed `improvements` times, and a
    change that conditions the regressor better is kept.
    """
    joints = tuple(each for each in robot.actuator_names if each in robot.joint_names)
    room = _room(robot, q, joints)
    rng = np.random.default_rng(seed)
    shape = (len(joints), harmonics, 2)
    total, tried = candidates + improvements, 0
    base: BaseParameters | None = None
    best, best_condition, first = None, np.inf, np.inf
    for tried in range(total):
        if tried < candidates or best is None:
            series = rng.normal(size=shape) * room[:, None, None] / np.sqrt(2.0 * harmonics)
        else:
            step = 0.5 * (1.0 - (tried - candidates) / max(improvements, 1)) + 0.05
            series = best + step * rng.normal(size=shape) * np.abs(best).mean()
        fitted = _fitted(robot, q, joints, series, period, JUDGED_SAMPLES)
        if fitted is not None:
            series, motion = fitted
            found = stacked(robot, motion.q, motion.v, motion.a)
            new = base_parameters(found.Y, found.parameters)
            if base is None or len(new.names) > len(base.names):
                # richer than all before: conditions of fewer parameters do not compare
                base, best_condition, first = new, np.inf, np.inf
            condition = condition_of(found.Y, base)
            first = condition if not np.isfinite(first) else first
            if condition < best_condition:
                best, best_condition = series, condition
        if progress:
            progress((tried + 1) / total)
    if best is None or base is None:
        raise StateError(
            'no motion about this pose stays within limits and loops',
            where=robot.name,
            repair='Start from a pose that is away from limits and singularities, and that motors '
            'can hold.',
        )
    fitted = _fitted(robot, q, joints, best, period, samples)
    assert fitted is not None  # finer samples of a motion that fits, scaled where they do not
    motion = fitted[1]
    found = stacked(robot, motion.q, motion.v, motion.a)
    places = tuple(robot.joint_slices(joint)[0].start for joint in joints)
    return Excitation(
        motion, joints, places, found, base, condition_of(found.Y, base), first, period
    )


def condition_of(Y: Array, base: BaseParameters) -> float:
    """Return the condition number of the base regressor with columns of equal size."""
    Y_1 = Y[:, list(base.independent)]
    sizes = np.linalg.norm(Y_1, axis=0)
    if not sizes.all():
        return np.inf
    return float(np.linalg.cond(Y_1 / sizes))


def _room(robot: Mechanism, q: Array, joints: tuple[str, ...]) -> Array:
    """Return how far each joint may swing about the pose."""
    limits = {each.name: each.limit for each in robot.description.joints}
    places = [robot.joint_slices(joint)[0].start for joint in joints]
    room = [
        min(AMPLITUDE, q[k] - limits[joint].lower, limits[joint].upper - q[k])
        for joint, k in zip(joints, places)
    ]
    return np.asarray(np.maximum(room, 0.05))


def _fitted(
    robot: Mechanism, q: Array, joints: tuple[str, ...], series: Array, period: float, samples: int
) -> tuple[Array, Motion] | None:
    """Return the series, scaled down until its motion fits limits and loops, and the motion."""
    time = period * np.arange(samples) / samples
    start = np.array([q[robot.joint_slices(joint)[0].start] for joint in joints])
    for _ in range(MOST_SHRINKS):
        x, dx, ddx = fourier(series, period, time)
        tracks = Tracks(
            time,
            {
                joint: (start[k] + x[:, [k]], dx[:, [k]], ddx[:, [k]])
                for k, joint in enumerate(joints)
            },
        )
        try:
            motion = move(robot, tracks, q)
            if all(fits(robot, motion) for fits in CHECKS):
                return series, motion
        except (AssemblyError, SingularityError, StateError):
            pass
        series = SHRINK * series
    return None


def _within_limits(robot: Mechanism, motion: Motion) -> bool:
    """Return whether joints, of tree and loops, keep to their limits of position and speed."""
    joints = [each for each in robot.description.joints if each.name in robot.joint_names]
    for joint in joints:
        if joint.type.nv == 1:
            place, rate = robot.joint_slices(joint.name)
            if not _within(joint.limit, motion.q[:, place.start], motion.v[:, rate.start]):
                return False
    bounded = loop_limits(robot)
    if not bounded:
        return True
    moved = [loop_kinematics(robot, q) for q in motion.q]
    x = np.array([positions for _, positions in moved])
    dx = np.array([L @ v for (L, _), v in zip(moved, motion.v)])
    places = [robot.loop_coordinate_names.index(name) for name in bounded]
    return all(_within(limit, x[:, k], dx[:, k]) for limit, k in zip(bounded.values(), places))


def _within(limit: Limit, x: Array, dx: Array) -> bool:
    inside = limit.lower <= x.min() and x.max() <= limit.upper
    return bool(inside and np.abs(dx).max() <= limit.velocity)


def _within_efforts(robot: Mechanism, motion: Motion) -> bool:
    """Return whether the motors of the model can give the torques of a motion."""
    limits = {each.name: each.limit.effort for each in robot.description.all_joints}
    # many files give a motor an effort of 0 and mean none
    most = np.array([limits.get(name) or np.inf for name in robot.actuator_names])
    return all(
        (np.abs(inverse_dynamics(robot, *state).tau_A) <= most).all()
        for state in zip(motion.q, motion.v, motion.a)
    )


def _away_from_singularities(robot: Mechanism, motion: Motion) -> bool:
    stride = max(1, len(motion.q) // 20)
    conditions: list[float] = []
    measure: Callable[[Array], float] = np.linalg.cond
    for q in motion.q[::stride]:
        conditions.append(float(measure(coordinates(robot, q).S)))
    return max(conditions) < WORST_POSE


CHECKS = (_within_limits, _away_from_singularities, _within_efforts)
