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

"""Closing the loops again after a step: theta_G stays, theta_S follows by Newton's method."""

from . import records as at
from .cluster_inertia import cluster_matrices
from .compiling import kernel
from .constraint_rows import constraint_matrix
from .coordinates import may_solve_again, solve_again, solve_constraints
from .kinematics import placements
from .linear_algebra import copy_to, dot, largest
from .loops import loop_is_flipped
from .manifold import integrate
from .sharing import HANDLE, TABLE, VECTOR, shared_kernel

# loops count as closed in a simulation at this error; Newton's method gets there in one or two
CLOSED = 1e-13
CLOSING_STEPS = 8
ROUNDING = 1e2 * CLOSED  # error that a long chain may keep by rounding; more is in its digits
STANDSTILL = 1e-12  # a step of Newton's method that closes nothing any more [rad or m]


@kernel
def closing_step(m, u):
    """Write the step of Newton's method that closes the loops, theta_G held."""
    u[:] = 0.0
    for cluster in at.clusters(m)[: at.shape(m).n_clusters]:
        if cluster.rank:
            step = constraint_matrix(m, cluster)[:, cluster.n_dofs]
            for s in range(cluster.rank):
                u[at.cluster_dofs(m)[cluster.first_dof + s]] = step[s]


@kernel
def open_by(m):
    """Return the largest error of all constraints, after `solve_constraints`."""
    worst, row = 0.0, at.rows(m)
    for r in range(at.shape(m).n_rows):
        worst = max(worst, abs(row[r].error))
    return worst


@kernel
def follow_theta_G(m, v):
    """Write theta_S' = H theta_G' into a velocity, after `solve_constraints`."""
    dof = at.cluster_dofs(m)
    for cluster in at.clusters(m)[: at.shape(m).n_clusters]:
        if cluster.rank:
            H, first, rank = constraint_matrix(m, cluster), cluster.first_dof, cluster.rank
            theta_G, ng = cluster_matrices(m, cluster)[3][0], cluster.n_dofs - rank
            for g in range(ng):
                theta_G[g] = v[dof[first + rank + g]]
            for s in range(rank):
                v[dof[first + s]] = dot(H[s, rank:], theta_G, 0, ng)


@kernel
def nudge_loops(m, q, v, work):
    """
    Place the bodies, and nearly close the loops with the rows of J_C as they are.

    After RK4 they are those of its last stage, third order in the step away from its end: what
    a step of Newton's method leaves open is rounding, and `close_placed` eliminates once instead
    of twice. Small steps of RK4 hardly open the loops: then nothing is moved.
    """
    placements(m, q)
    size = at.shape(m)
    if size.n_rows == 0 or not may_solve_again(m):
        return
    solve_again(m, q, v, False)
    if open_by(m) > CLOSED:
        u = work[0, : size.nv]
        closing_step(m, u)
        _move(m, q, u, work)
        placements(m, q)


@shared_kernel(HANDLE, VECTOR, VECTOR, TABLE)
def close_loops(m, q, v, work):
    """
    Project q and v onto the loops: theta_G stays, theta_S follows by Newton's method.

    Returns LOOP_OPEN where it does not come to an end; then the loops cannot be closed from here.
    """
    placements(m, q)
    return close_placed(m, q, v, work)


@shared_kernel(HANDLE, VECTOR, VECTOR, TABLE)
def close_placed(m, q, v, work):
    """Do the same where the bodies are placed already."""
    size, world = at.shape(m), at.world(m)
    if size.n_rows == 0:
        return at.OK
    if world.rounded:
        return _close_rounded(m, q, v, work)
    u, worst = work[0, : size.nv], 0.0
    for attempt in range(CLOSING_STEPS):
        solve_constraints(m, q, v, False)
        worst = open_by(m)
        if worst <= CLOSED or (attempt == CLOSING_STEPS - 1 and worst <= ROUNDING):
            follow_theta_G(m, v)
            return at.LOOP_OPEN if _any_flipped(m) else at.OK
        closing_step(m, u)
        if (
            worst > ROUNDING
            and size.rank < size.n_rows
            and largest(work, 0, 1, 0, u.size) <= STANDSTILL
        ):
            return _close_rounded(m, q, v, work)
        _move(m, q, u, work)
        placements(m, q)
    if size.rank < size.n_rows and worst <= world.closing_tolerance:
        return _close_rounded(m, q, v, work)  # rows that contradict each other are kept in turns
    return at.LOOP_OPEN


@shared_kernel(HANDLE, VECTOR, VECTOR, TABLE)
def _close_rounded(m, q, v, work):
    """
    Close loops whose redundant rows contradict each other by the digits of their file.

    All rows share what cannot be closed, as in an assembled pose, from here on.
    """
    world, u = at.world(m), work[0, : at.shape(m).nv]
    known, world.rounded = world.rounded, 1
    for _ in range(CLOSING_STEPS):
        placements(m, q)
        solve_constraints(m, q, v, False)
        closing_step(m, u)
        if largest(work, 0, 1, 0, u.size) <= STANDSTILL:  # u is the first row of work
            if not open_by(m) <= world.closing_tolerance or _any_flipped(m):
                break
            follow_theta_G(m, v)
            return at.OK
        _move(m, q, u, work)
    world.rounded = known  # it is not digits that keep them open
    return at.LOOP_OPEN


@kernel
def _move(m, q, u, work):
    """Move q along u, in place."""
    moved = work[1, : at.shape(m).nq]
    integrate(m, q, u, moved)
    copy_to(q, moved)


@kernel
def _any_flipped(m):
    """Return whether any loop is closed the wrong way round."""
    loop = at.loops(m)
    for k in range(loop.size):
        if loop[k].active and loop_is_flipped(m, k):
            return True
    return False
