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
The nearest motion that is possible: loops closed, and every force given by a motor or a contact.

It minimises the sum over all samples and coordinates of the squared change (rad and m count
alike), plus FEET times the squared change of where contacts stand, subject to

    Z^T W^T (tau_O(q, v, a) - sum J_i^T f_i) = 0 with f_i in its friction cone

at every sample but the first and the last, velocities and accelerations being central differences.
That is a nonlinear program; each step solves its linearisation, a sparse quadratic program, over
theta_G of all samples and the forces together, and closes the loops again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.dynamics.generalized_coordinates import coordinates
from closed_chain_dynamics.dynamics.inverse import inverse_dynamics
from closed_chain_dynamics.dynamics.tree import difference, integrate, jacobian, mass_matrix
from closed_chain_dynamics.errors import StateError
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.recording.terminal import Progress
from closed_chain_dynamics.studies.ground import ContactPoint, Ground
from closed_chain_dynamics.studies.ground_forces import passive_directions, pyramid, weight_of
from closed_chain_dynamics.studies.motion.closed_fit import closed
from closed_chain_dynamics.studies.motion.moving import Motion
from closed_chain_dynamics.studies.quadratic_program import Blocks, least_quadratic

__all__ = ['FEET', 'NearestMotion', 'nearest_motion']

FEET = 100.0  # what a change of a contact's place counts, beside that of a joint
NEAREST_ITERATIONS = 20
SETTLED_NEAREST = 1e-8  # a step below this changes nothing that matters [rad or m]
NEAREST_FORCE_COST = 1e-9  # what forces count, so that they are unique
COARSE_CONE_EDGES = 8  # of the pyramid in a friction cone
PROBE = 1e-6  # of differences [rad, m, and their rates]


@dataclass(frozen=True, eq=False)
class NearestMotion:
    """The motion, forces of contacts (samples, contacts, 3) [N], and how it came about."""

    motion: Motion
    forces: Array
    moved: Array  # largest change of each sample, (samples,) [rad or m]
    iterations: int


@dataclass(frozen=True)
class _Sample:
    """Linearisation at one sample: r + R_q dq + R_v dv + R_a da - B f."""

    r: Array
    R_q: Array
    R_v: Array
    R_a: Array
    B: Array


def nearest_motion(
    robot: Mechanism,
    motion: Motion,
    ground: Ground,
    touches: NDArray[np.bool_],
    *,
    progress: Progress | None = None,
) -> NearestMotion:
    """Return the NearestMotion of one whose loops are closed; `touches`: (samples, contacts)."""
    time, count = motion.time, len(ground.contacts)
    h = float(np.mean(np.diff(time)))
    if np.ptp(np.diff(time)) > 1e-3 * h:
        raise StateError(
            'the samples are not evenly spaced, and central differences need them to be',
            where=robot.name,
            repair='Resample it evenly with --rate.',
        )
    record, poses = motion.q, motion.q.copy()
    stand = [
        [ground.contacts[i] for i in np.flatnonzero(each)] if 0 < k < len(time) - 1 else []
        for k, each in enumerate(touches)
    ]
    edges = pyramid(ground.contacts, COARSE_CONE_EDGES)
    forces = np.zeros((len(time), count, 3))
    directions: list[Array | None] = [None] * len(time)
    for turn in range(NEAREST_ITERATIONS):
        samples: dict[int, _Sample] = {}
        for k in range(1, len(time) - 1):
            v, a = _rates(robot, poses, k, h)
            directions[k] = passive_directions(robot, poses[k], directions[k])
            samples[k] = _linear(
                robot, poses[k], v, a, directions[k], stand[k], forces[k][touches[k]]
            )
        step, forces = _step(robot, record, poses, h, samples, stand, touches, edges)
        poses = np.array([closed(robot, integrate(robot, *each)) for each in zip(poses, step)])
        if progress:
            progress((turn + 1) / NEAREST_ITERATIONS)
        if np.abs(step).max() < SETTLED_NEAREST:
            break
    rates = [_rates(robot, poses, k, h) for k in range(1, len(time) - 1)]
    v, a = (np.array([rates[0][i], *(each[i] for each in rates), rates[-1][i]]) for i in range(2))
    moved = np.array([np.abs(difference(robot, *each)).max() for each in zip(record, poses)])
    found = Motion(time, poses, v, a, motion.notes)
    return NearestMotion(found, weight_of(robot) * forces, moved, turn + 1)


def _rates(robot: Mechanism, poses: Array, k: int, h: float) -> tuple[Array, Array]:
    """Return velocity and acceleration at a sample, by central differences on the manifold."""
    ahead, behind = (difference(robot, poses[k], poses[k + side]) for side in (1, -1))
    return (ahead - behind) / (2.0 * h), (ahead + behind) / h**2


def _linear(
    robot: Mechanism,
    q: Array,
    v: Array,
    a: Array,
    directions: Array | None,
    contacts: Sequence[ContactPoint],
    forces: Array,
) -> _Sample:
    """Return what is not met at a sample with these forces, and its derivatives."""
    scale = weight_of(robot) * float(robot.structure.world['length'])

    def force(q: Array, v: Array) -> Array:
        tau: Array = inverse_dynamics(robot, q, v, a).tau_O.copy()
        for each, f in zip(contacts, weight_of(robot) * forces):
            tau -= jacobian(robot, q, each.link, point=each.xyz)[:3].T @ f
        return np.asarray(tau / scale)

    Z = passive_directions(robot, q, directions)
    basis = np.linalg.qr(coordinates(robot, q).W)[0]
    here = force(q, v)
    R_q, R_v = np.zeros((2, Z.shape[1], robot.nv))
    for column in basis.T:
        sides = []
        for side in (PROBE, -PROBE):
            tried = closed(robot, integrate(robot, q, side * column))
            sides.append(passive_directions(robot, tried, directions).T @ force(tried, v))
        R_q += np.outer((sides[0] - sides[1]) / (2.0 * PROBE), column)
    for i, unit in enumerate(np.eye(robot.nv)):
        ahead, behind = (force(q, v + side * PROBE * unit) for side in (1.0, -1.0))
        R_v[:, i] = Z.T @ (ahead - behind) / (2.0 * PROBE)
    J = [jacobian(robot, q, each.link, point=each.xyz)[:3] for each in contacts]
    B = weight_of(robot) / scale * Z.T @ np.vstack([np.zeros((0, robot.nv)), *J]).T
    return _Sample(
        Z.T @ here + B @ forces.ravel(), R_q, R_v, Z.T @ mass_matrix(robot, q) / scale, B
    )


def _step(
    robot: Mechanism,
    record: Array,
    poses: Array,
    h: float,
    samples: Mapping[int, _Sample],
    stand: Sequence[Sequence[ContactPoint]],
    touches: NDArray[np.bool_],
    edges: Array,
) -> tuple[Array, Array]:
    """Return the step of all poses, (samples, nv), and the forces over the weight."""
    n = len(poses)
    W = [np.linalg.qr(coordinates(robot, q).W)[0] for q in poses]
    first = np.concatenate([[0], np.cumsum([each.shape[1] for each in W])])
    total, row = int(first[-1]), 0
    P, E, wanted, slope = Blocks(), Blocks(), [], []
    for k, (q, basis) in enumerate(zip(poses, W)):
        metric = np.eye(robot.nv)
        for each in stand[k]:
            J = jacobian(robot, q, each.link, point=each.xyz)[:3]
            metric += FEET * J.T @ J
        P.add(first[k], first[k], basis.T @ metric @ basis)
        slope.append(basis.T @ metric @ difference(robot, record[k], q))
    column, spread = total, {k: _spread(edges[each]) for k, each in enumerate(touches)}
    for k, sample in samples.items():
        for side, part in (
            (-1, sample.R_a / h**2 - sample.R_v / (2.0 * h)),
            (0, sample.R_q - 2.0 * sample.R_a / h**2),
            (1, sample.R_a / h**2 + sample.R_v / (2.0 * h)),
        ):
            E.add(row, first[k + side], part @ W[k + side])
        E.add(row, column, -sample.B @ spread[k])
        row, column = row + len(sample.r), column + spread[k].shape[1]
        wanted.append(-sample.r)
    count = column - total
    P.diagonal(total, np.full(count, NEAREST_FORCE_COST))
    bounded = np.arange(column) >= total
    x = least_quadratic(
        P.matrix(column, column),
        np.append(np.concatenate(slope), np.zeros(count)),
        E.matrix(row, column),
        np.concatenate(wanted),
        bounded,
    )
    step = np.array([W[k] @ x[first[k] : first[k + 1]] for k in range(n)])
    forces, at = np.zeros((n, touches.shape[1], 3)), total
    for k in samples:
        width = spread[k].shape[1]
        forces[k][touches[k]] = (spread[k] @ x[at : at + width]).reshape(-1, 3)
        at += width
    return step, forces


def _spread(edges: Array) -> Array:
    """Return the matrix from shares of edges to forces, (3 contacts, edges of all)."""
    count, width = len(edges), edges.shape[2]
    spread: Array = np.zeros((3 * count, width * count))
    for i, each in enumerate(edges):
        spread[3 * i : 3 * i + 3, width * i : width * (i + 1)] = each
    return spread
