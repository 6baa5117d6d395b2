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

"""Least squares on the manifold of closed poses: Levenberg and Marquardt over theta_G."""

from collections.abc import Callable

import numpy as np

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.assembly.search import assemble
from closed_chain_dynamics.dynamics.generalized_coordinates import coordinates
from closed_chain_dynamics.dynamics.tree import integrate
from closed_chain_dynamics.errors import AssemblyError
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['closed', 'fit_closed']

Residuals = Callable[[Array], tuple[Array, Array]]  # of a pose: (rows,), and by v, (rows, nv)

FIT_ITERATIONS = 100
SETTLED_FIT = (
    1e-10  # a step below this changes nothing that matters: loops close to as much [rad or m]
)
FIT_DAMPING_TRIALS = 25  # times that damping may grow fourfold before a step counts as impossible
FIRST_DAMPING = 1e-6  # of the largest curvature


def closed(robot: Mechanism, q: Array) -> Array:
    """Return the closed pose near one whose loops are open a little."""
    return assemble(robot, {}, start=q, limits=False) if robot.loop_gaps(q) else q


def fit_closed(robot: Mechanism, q: Array, residuals: Residuals) -> Array:
    """
    Return the closed pose with the least sum of squares of residuals, near a closed pose q.

    A step is taken along an orthonormal basis of what the loops allow, so that it does not matter
    which coordinates are theta_G; then the loops are closed again.
    """
    r, J = residuals(q)
    damping = FIRST_DAMPING
    for _ in range(FIT_ITERATIONS):
        basis = np.linalg.qr(coordinates(robot, q).W)[0]
        A = J @ basis
        curvature, slope = A.T @ A, A.T @ r
        largest = max(float(np.trace(curvature)), np.finfo(float).tiny)
        for _ in range(FIT_DAMPING_TRIALS):
            system = curvature + damping * largest * np.eye(len(slope))
            step = basis @ np.linalg.solve(system, -slope)
            if np.abs(step).max(initial=0.0) < SETTLED_FIT:
                return q
            try:
                tried = closed(robot, integrate(robot, q, step))
            except AssemblyError:  # too far: there the loops do not close
                damping *= 4.0
                continue
            found = residuals(tried)
            if found[0] @ found[0] < r @ r:
                q, (r, J), damping = tried, found, max(damping / 10.0, 1e-15)
                break
            damping *= 4.0
        else:
            return q
    return q
