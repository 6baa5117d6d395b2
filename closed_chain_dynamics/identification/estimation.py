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
Estimates from measured torques: weighted least squares, intervals, and bodies that can exist.

Base parameters are estimated first. Then inertias are sought that fit as well and that some body
can have: the pseudo-inertia of every link is U U^T with U upper triangular and a positive diagonal
(log-Cholesky, Rucker and Wensing 2022), and damping, friction and armature are not negative. What
the torques do not tell stays near the model.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.errors import StateError
from closed_chain_dynamics.identification.base_parameters import BaseParameters, base_parameters
from closed_chain_dynamics.identification.parameters import OF_LINK, Parameter
from closed_chain_dynamics.identification.regressor import Regressor

__all__ = [
    'Consistent',
    'Estimate',
    'consistent',
    'consistent_estimate',
    'estimate',
    'pseudo_inertia',
]


HELD_BACK = 0.25  # of the samples: the last ones, for the check
PRIOR = 1e-2  # weight of the model against torques in units of their noise
UPPER_TRIANGLE = np.triu_indices(4)
TENSOR_ROWS, TENSOR_COLUMNS = np.triu_indices(3)  # of a tensor
MOST_ESTIMATION_STEPS = 100  # of the search for consistent parameters
# what a flat or pointed link, which is at the edge of what bodies can be, is given at least
THIN_SHARE, LEAST_MOMENT = 1e-9, 1e-15  # of its size, and [kg m^2]


@dataclass(frozen=True)
class Estimate:
    """
    What torques say.

    `beta` (base,), `lower`, `upper`: base parameters and bounds of their interval of `confidence`;
    `covariance`; `noise` of every actuator [N m or N]; `fit`, `held_back`: rms error relative to
    the rms torque, on the samples used and on those held back; `freedom`: torques used, without
    one per base parameter.
    """

    base: BaseParameters
    beta: Array
    lower: Array
    upper: Array
    covariance: Array
    confidence: float
    noise: dict[str, float]
    fit: float
    held_back: float
    used: int  # samples
    root: Array  # (base, base): root^T root is the inverse of the covariance
    freedom: int

    def contains(self, beta: Array) -> bool:
        """Return whether base parameters are, all together, within the region of `confidence`."""
        from scipy.special import fdtri  # all of scipy.stats takes a second to import

        distance = ((self.root @ (beta - self.beta)) ** 2).sum()
        return bool(distance / len(beta) <= fdtri(len(beta), self.freedom, self.confidence))


@dataclass(frozen=True)
class Consistent:
    """Parameters pi that bodies can have, and their relative rms error on samples held back."""

    pi: Array
    held_back: float


def estimate(
    measured: Regressor,
    tau: Array,
    *,
    base: BaseParameters | None = None,
    confidence: float = 0.95,
    held_back: float = HELD_BACK,
) -> Estimate:
    """
    Return the Estimate from torques (samples, actuators) and the Regressor of the same states.

    `base`: base parameters, where they are known from richer states already.
    """
    from scipy.special import stdtrit

    actuators = len(measured.actuators)
    samples = len(tau)
    used = samples - round(held_back * samples)
    base = base or base_parameters(measured.Y, measured.parameters)
    Y_1 = measured.Y[:, list(base.independent)]
    y = np.asarray(tau).ravel() - measured.known
    freedom = used * actuators - Y_1.shape[1]
    if freedom < 1:
        raise StateError(
            f'{used} samples are too few for {Y_1.shape[1]} base parameters',
            repair='Give a longer record.',
        )
    cut = used * actuators
    noise: Array = np.ones(actuators)
    for _ in range(3):  # weights from residuals, residuals from weights
        weight = np.tile(1.0 / noise, used)
        A, b = Y_1[:cut] * weight[:, None], y[:cut] * weight
        scale = np.linalg.norm(A, axis=0)
        beta = np.linalg.lstsq(A / scale, b, rcond=None)[0] / scale
        rest = (y[:cut] - Y_1[:cut] @ beta).reshape(-1, actuators)
        dof = max(used - Y_1.shape[1] / actuators, 1.0)
        noise = np.maximum(np.sqrt((rest**2).sum(axis=0) / dof), 1e-12)
    weight = np.tile(1.0 / noise, used)
    A = Y_1[:cut] * weight[:, None] / scale
    triangle: Array = np.asarray(np.linalg.qr(A, mode='r'))
    half = np.linalg.inv(triangle)  # A^T A would square its condition
    covariance = half @ half.T / np.outer(scale, scale)
    margin = stdtrit(freedom, 0.5 + confidence / 2.0) * np.sqrt(np.diag(covariance))
    return Estimate(
        base,
        beta,
        beta - margin,
        beta + margin,
        covariance,
        confidence,
        dict(zip(measured.actuators, noise.tolist())),
        _error(Y_1[:cut] @ beta, y[:cut]),
        _error(Y_1[cut:] @ beta, y[cut:]),
        used,
        triangle * scale,
        freedom,
    )


def consistent_estimate(
    measured: Regressor, tau: Array, estimate: Estimate, prior: Array
) -> Consistent:
    """Return parameters that bodies can have, near those of the model where torques are silent."""
    y = np.asarray(tau).ravel() - measured.known
    weight = np.tile(1.0 / np.array([*estimate.noise.values()]), estimate.used)
    cut = len(weight)
    pi = consistent(
        measured.Y[:cut] * weight[:, None], y[:cut] * weight, measured.parameters, prior
    )
    return Consistent(pi, _error(measured.Y[cut:] @ pi, y[cut:]))


def _error(found: Array, y: Array) -> float:
    size = float(np.sqrt((y**2).mean())) if len(y) else 0.0
    return float(np.sqrt(((found - y) ** 2).mean())) / size if size else 0.0


def pseudo_inertia(ten: Array) -> Array:
    """Return the pseudo-inertia of ten parameters, (4, 4): positive definite for any body."""
    m, c, tensor = ten[0], ten[1:4], np.zeros((3, 3))
    tensor[np.triu_indices(3)] = ten[4:]
    tensor += np.triu(tensor, 1).T
    P = np.empty((4, 4))
    P[:3, :3] = 0.5 * np.trace(tensor) * np.eye(3) - tensor
    P[:3, 3] = P[3, :3] = c
    P[3, 3] = m
    return P


def _ten(P: Array) -> Array:
    """Return the ten parameters of pseudo-inertias, (..., 4, 4) to (..., 10)."""
    sigma = P[..., :3, :3]
    size = np.trace(sigma, axis1=-2, axis2=-1)[..., None, None]
    tensor = (size * np.eye(3) - sigma)[..., TENSOR_ROWS, TENSOR_COLUMNS]
    return np.concatenate([P[..., 3, 3:], P[..., :3, 3], tensor], axis=-1)


def _factor(ten: Array) -> Array:
    """Return the ten numbers of U, logarithms on the diagonal, with U U^T the pseudo-inertia."""
    P = pseudo_inertia(ten)
    short = THIN_SHARE * np.trace(P) + LEAST_MOMENT - np.linalg.eigvalsh(P)[0]
    P = P + max(0.0, short) * np.eye(4)
    U = np.linalg.cholesky(P[::-1, ::-1])[::-1, ::-1]  # upper triangular
    U[np.diag_indices(4)] = np.log(np.diag(U))
    return np.asarray(U[UPPER_TRIANGLE])


def _unfactor(theta: Array) -> Array:
    U = np.zeros((4, 4))
    U[UPPER_TRIANGLE] = theta
    U[np.diag_indices(4)] = np.exp(np.diag(U))
    return _ten(U @ U.T)


def _slope(theta: Array) -> Array:
    """Return d ten / d theta, (10, 10)."""
    U = np.zeros((4, 4))
    U[UPPER_TRIANGLE] = theta
    U[np.diag_indices(4)] = np.exp(np.diag(U))
    i, j = UPPER_TRIANGLE
    dU = np.zeros((10, 4, 4))
    dU[np.arange(10), i, j] = np.where(i == j, U[i, j], 1.0)
    half = dU @ U.T
    return np.asarray(_ten(half + half.transpose(0, 2, 1)).T)


def consistent(Y: Array, y: Array, parameters: Sequence[Parameter], prior: Array) -> Array:
    """Return the parameters that fit y = Y pi best among those that bodies and joints can have."""
    from scipy.optimize import least_squares

    links = [k for k, each in enumerate(parameters) if each.kind == OF_LINK[0]]
    joints = [k for k, each in enumerate(parameters) if each.kind not in OF_LINK]
    # what many samples say is in as many rows as there are parameters
    R: Array = np.asarray(np.linalg.qr(np.column_stack([Y, y]), mode='r'))
    Y, y = R[:, :-1], R[:, -1]
    # joints have squares: x = s^2 is never negative
    worth = np.maximum(prior[joints], 0.1 * max(float(prior[joints].max(initial=0.0)), 1e-2))
    roots = np.sqrt(np.maximum(prior[joints], 0.01 * worth))
    start = np.concatenate([*(_factor(prior[k : k + 10]) for k in links), roots])
    # off the diagonal of U a length times the root of a mass; what a typical one of a link is
    size = np.ones(len(start))
    for n, k in enumerate(links):
        P = np.trace(pseudo_inertia(prior[k : k + 10]))
        size[10 * n : 10 * n + 10] = np.where(
            UPPER_TRIANGLE[0] == UPPER_TRIANGLE[1], 1.0, np.sqrt(P)
        )
    size[10 * len(links) :] = np.sqrt(worth)

    def pi_of(theta: Array) -> Array:
        pi: Array = np.empty(len(parameters))
        for n, k in enumerate(links):
            pi[k : k + 10] = _unfactor(theta[10 * n : 10 * n + 10])
        pi[joints] = theta[10 * len(links) :] ** 2
        return pi

    def errors(theta: Array) -> Array:
        return np.concatenate([Y @ pi_of(theta) - y, PRIOR * (theta - start) / size])

    def slopes(theta: Array) -> Array:
        D = np.zeros((len(parameters), len(theta)))
        for n, k in enumerate(links):
            D[k : k + 10, 10 * n : 10 * n + 10] = _slope(theta[10 * n : 10 * n + 10])
        for n, k in enumerate(joints, start=10 * len(links)):
            D[k, n] = 2.0 * theta[n]
        return np.vstack([Y @ D, np.diag(PRIOR / size)])

    # a trial step that is far too long overflows exp; its error is not finite, and it is rejected
    with np.errstate(over='ignore', invalid='ignore'):
        found = least_squares(
            errors, start, slopes, method='lm', x_scale=size, max_nfev=MOST_ESTIMATION_STEPS
        )
    return pi_of(found.x)
