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
Forces of what holds joints, shared so that no stop pulls and no friction is exceeded.

Where more is held than can move, as when friction holds all four joints of a four-bar linkage, the
forces are not unique: to one solution, forces in balance may be added. What matters is whether any
of them stays within the bounds. Beginning with the solution of least norm, the force furthest
beyond its bound is brought to it by the smallest forces in balance, which then are used up, and so
on. With one motion left this is exact.
"""

import numpy as np

from . import records as at
from .compiling import kernel
from .constraint_rows import constraint_matrix
from .holds import hold_law
from .linear_algebra import axpy, copy_to, normalise, take_off

UNCHANGED = 1e-9  # share of a force below which forces in balance do not change it


@kernel
def _particular(J, cluster, order, residual, forces, balanced):
    """Write forces in the rows that carry the residual, least norm, and those in balance."""
    n, n_rows, rank = cluster.n_dofs, cluster.n_rows, cluster.rank
    for i in range(n_rows):
        forces[i] = 0.0
        for s in range(rank):
            forces[i] += J[s, n + 1 + i] * residual[order[cluster.first_dof + s]]
    for r in range(n_rows - rank):
        for i in range(n_rows):
            balanced[r, i] = J[rank + r, n + 1 + i]
        for s in range(r):
            take_off(balanced[r], balanced[s])
        normalise(balanced[r])
        take_off(forces, balanced[r])


@kernel
def _share(forces, balanced, lower, upper):
    """Bring forces into their bounds, one after the other, by forces in balance."""
    n, left = forces.size, balanced.shape[0]
    way, fixed = np.empty(n), np.zeros(n, np.bool_)
    for _ in range(n):
        worst, k = 0.0, -1
        for i in range(n):
            beyond = max(lower[i] - forces[i], forces[i] - upper[i])
            if beyond > worst and not fixed[i]:
                worst, k = beyond, i
        if k < 0:
            return
        for i in range(n):
            way[i] = 0.0
        for r in range(left):
            axpy(way, balanced[r], balanced[r, k], 0, n)
        fixed[k] = True
        if not way[k] > UNCHANGED:
            continue
        bound = upper[k] if forces[k] > upper[k] else lower[k]
        axpy(forces, way, (bound - forces[k]) / way[k], 0, n)
        normalise(way)
        kept = 0
        for r in range(left):  # what is left in balance leaves this force alone
            copy_to(balanced[kept], balanced[r])
            take_off(balanced[kept], way)
            for s in range(kept):
                take_off(balanced[kept], balanced[s])
            if normalise(balanced[kept]) > UNCHANGED:
                kept += 1
        left = kept


@kernel
def hold_forces(m, residual):
    """Write the force of everything that holds a joint, of all that carry the residual."""
    hold = at.holds(m)
    for c in range(at.shape(m).n_clusters):
        own, count = at.clusters(m)[c], 0
        for h in range(hold.size):
            count += hold[h].active and hold[h].cluster == c
        if count == 0:
            continue
        n_rows, i = own.n_rows, own.n_rows - count  # their rows come last
        forces, balanced = np.empty(n_rows), np.zeros((n_rows - own.rank, n_rows))
        _particular(constraint_matrix(m, own), own, at.cluster_dofs(m), residual, forces, balanced)
        lower, upper = np.full(n_rows, -np.inf), np.full(n_rows, np.inf)
        for h in range(hold.size):
            if hold[h].active and hold[h].cluster == c:
                friction = hold_law(m, hold[h]).friction
                if hold[h].mode == at.STUCK:
                    lower[i], upper[i] = -friction, friction
                elif hold[h].mode == at.AT_LOWER:
                    lower[i] = -friction
                elif hold[h].mode == at.AT_UPPER:
                    upper[i] = friction
                i += 1
        if n_rows > own.rank:
            _share(forces, balanced, lower, upper)
        i = n_rows - count
        for h in range(hold.size):
            if hold[h].active and hold[h].cluster == c:
                hold[h].force = forces[i]
                i += 1
