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
How far a pose is from singular ones, cluster by cluster, in units of the mechanism.

Three things can go wrong in a cluster of loops, and each has a number that falls to zero there:

loops      the smallest over the largest singular value of its rows of J_C: at zero a motion comes
           free that the poses nearby do not have.
actuators  the smallest singular value of its rows of S: at zero the motors hold and drive one
           motion less than nearby.
links      the smallest singular value of the motion of a link against what carries the cluster: at
           zero the link can do one motion less than nearby. Where a crank and its rod align, what
           they drive stands still while they turn.

Velocities are counted in radians and typical lengths, and motions W in an orthonormal basis Q of
those, so that no number depends on the choice of theta_G. How many singular values there are
nearby is what was seen so far: see `dynamics/distances.py`.
"""

import numpy as np

from . import records as at
from .cluster_inertia import cluster_matrices
from .compiling import kernel
from .constraint_rows import check_closed, constraint_matrix, fill_constraints
from .coordinates import solve_constraints
from .kinematics import check_state, placements
from .linear_algebra import axpy, dot, singular_values
from .loop_joints import loop_coordinates
from .vectors import angular, inner_spatial, put_spatial, times, velocity_at

# of a cluster: the three numbers, infinity where there is nothing to lose, and the link that is
# nearest to standing still, as a body
DISTANCE = np.dtype(
    [('body', np.int64)] + [(name, np.float64) for name in ('loops', 'actuators', 'links')]
)
SEEN = 1e-5  # a singular value above this counts as one that is there nearby


@kernel
def _motions(m, cluster, Q):
    """Write an orthonormal basis of the motions that a cluster allows, row by row; uses H."""
    dof, rank = at.dofs(m), cluster.rank
    n = cluster.n_dofs
    order, H = at.cluster_dofs(m)[cluster.first_dof :], constraint_matrix(m, cluster)
    for g in range(n - rank):
        own = Q[g]
        for j in range(n):
            own[j] = 0.0
        for s in range(rank):
            own[s] = H[s, rank + g] / dof[order[s]].scale
        own[rank + g] = 1.0 / dof[order[rank + g]].scale
        for _ in range(2):  # twice is enough
            for k in range(g):
                axpy(own, Q[k], -dot(own, Q[k], 0, n), 0, n)
            size = 1.0 / np.sqrt(dot(own, own, 0, n))
            for j in range(n):
                own[j] *= size


@kernel
def _twists(m, cluster, Q, twist):
    """Write the velocity of every body of a cluster in every motion of Q, (bodies, motions, 6)."""
    body, dof, column, members = at.bodies(m), at.dofs(m), at.columns(m), at.cluster_bodies(m)
    for i in members[cluster.first_body : cluster.first_body + cluster.n_bodies]:
        up = body[i].parent
        for g in range(cluster.n_dofs - cluster.rank):
            own = twist[i, g]
            for k in range(6):
                own[k] = twist[up, g, k] if up != cluster.parent else 0.0
            for j in range(body[i].iv, body[i].iv + body[i].n_dof):
                axpy(own, column[j].s, Q[g, dof[j].local] * dof[j].scale, 0, 6)


@kernel
def _nearest_link(m, cluster, twist, A, sigma, out):
    """Write the body that is nearest to losing a motion, and how near it is."""
    body, move, members = at.bodies(m), at.moving(m), at.cluster_bodies(m)
    unit, n_motions = 1.0 / at.world(m).length, cluster.n_dofs - cluster.rank
    for i in members[cluster.first_body : cluster.first_body + cluster.n_bodies]:
        for g in range(n_motions):  # at the body's own joint, where its length is its own
            own = twist[i, g]
            put_spatial(A[g], times(unit, velocity_at(own, move[i].p)), angular(own))
        singular_values(A, n_motions, 6, sigma)
        ways = 0
        while ways < min(n_motions, 6) and sigma[ways] > SEEN:
            ways += 1
        if cluster.rank == cluster.full_rank:  # else a motion has come free, only here
            body[i].ways = max(body[i].ways, ways)
        last = body[i].ways - 1
        if 0 <= last < n_motions and sigma[last] < out.links:
            out.links, out.body = sigma[last], i


@kernel
def _actuated(m, cluster, number, Q, twist, A):
    """Write the rate of every actuator of a cluster in every motion of Q; return their number."""
    actuator, dof, loop, count = at.actuators(m), at.dofs(m), at.loops(m), 0
    n_motions = cluster.n_dofs - cluster.rank
    for own in actuator:
        if own.on_loop:
            for k in range(loop.size):
                if loop[k].cluster == number and 0 <= own.dof - loop[k].dof < loop[k].n_dofs:
                    loop_coordinates(m, k)
                    f, unit = at.loop_columns(m)[own.dof].f, 1.0 / at.loop_dofs(m)[own.dof].scale
                    for g in range(n_motions):
                        A[count, g] = 0.0
                        if loop[k].body_2 != cluster.parent:
                            A[count, g] += unit * inner_spatial(f, twist[loop[k].body_2, g])
                        if loop[k].body_1 != cluster.parent:
                            A[count, g] -= unit * inner_spatial(f, twist[loop[k].body_1, g])
                    count += 1
        elif own.dof >= 0 and at.bodies(m)[dof[own.dof].body].cluster == number:
            for g in range(n_motions):
                A[count, g] = Q[g, dof[own.dof].local]
            count += 1
    return count


@kernel
def _distance(m, number, q, out):
    """Write the numbers of one cluster, after `solve_constraints`; uses up its matrices."""
    cluster, dof = at.clusters(m)[number], at.dofs(m)
    order, n_motions = at.cluster_dofs(m)[cluster.first_dof :], cluster.n_dofs - cluster.rank
    out.loops = out.actuators = out.links = np.inf
    out.body = 0
    most = max(cluster.n_rows, cluster.n_dofs, at.actuators(m).size)
    A, sigma = np.empty((most, max(cluster.n_dofs, 6))), np.empty(most)
    if n_motions:
        Q, twist = cluster_matrices(m, cluster)[0], np.empty((at.bodies(m).size, n_motions, 6))
        _motions(m, cluster, Q)
        _twists(m, cluster, Q, twist)
        _nearest_link(m, cluster, twist, A, sigma, out)
        count = _actuated(m, cluster, number, Q, twist, A)
        singular_values(A, count, n_motions, sigma)
        rank = 0
        while rank < min(count, n_motions) and sigma[rank] > SEEN:
            rank += 1
        if cluster.rank == cluster.full_rank:
            cluster.levers = max(cluster.levers, rank)
        if 0 < cluster.levers <= min(count, n_motions):
            out.actuators = sigma[cluster.levers - 1]
    J = fill_constraints(m, cluster, q, at.zeros(m), False)
    for j in range(cluster.n_dofs):
        for i in range(cluster.n_rows):
            A[i, j] = J[i, j] * dof[order[j]].scale
    singular_values(A, cluster.n_rows, cluster.n_dofs, sigma)
    if cluster.full_rank:
        out.loops = sigma[cluster.full_rank - 1] / sigma[0]


@kernel
def compute_distances(m, q, out):
    """Write how far every cluster is from singular poses, DISTANCE records, (clusters,)."""
    if q.size != at.shape(m).nq or out.size < at.shape(m).n_clusters:
        return at.WRONG_SIZE
    status = check_state(m, q, q, q)
    if status != at.OK:
        return status
    placements(m, q)
    solve_constraints(m, q, at.zeros(m), False)
    status = check_closed(m)
    for c in range(at.shape(m).n_clusters):
        if at.clusters(m)[c].n_rows:
            _distance(m, c, q, out[c])
    return status
