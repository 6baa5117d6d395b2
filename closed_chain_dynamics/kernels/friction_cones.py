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
Can friction hold? Forces of redundant contacts, shared so that all stay within their cones.

Where contacts are redundant the motion leaves their forces open by those that are in balance, the
rows of B: f = f_0 + B^T z. All that stick hold if any z has mu n_k >= |t_k| in every contact; that
is a cone program. It is solved as max s with mu n_k - |t_k| >= s by Newton's method on a
logarithmic barrier, whose distance from the best s is known at every stage: so the answer is yes
or no to HOLDS, and the forces are well within the cones wherever they can be.
"""

import numpy as np

from . import records as at
from .compiling import kernel
from .constraint_rows import constraint_matrix
from .linear_algebra import axpy, copy_to, dot, normalise, solve, take_off
from .vectors import add, inner, minus, norm, put, rotate, rotate_back, times

HOLDS = 1e-9  # share of the largest force to which the answer is found
SHARPER = 20.0  # each stage of the barrier is as many times nearer to the limit
MOST_STAGES, MOST_STEPS = 12, 60  # 3 and 20 in practice
CENTRED = 1e-6  # Newton's decrement at which a stage is done
RIDGE = 1e-14  # share of the curvature that keeps what no contact feels where it is
CARRIES_NONE = 1e-9  # part of a force in balance below which a contact has none


@kernel
def balanced_forces(m, cluster):
    """Return the forces in the rows of a cluster that are in balance, orthonormal, (k, rows)."""
    n, n_rows, rank = cluster.n_dofs, cluster.n_rows, cluster.rank
    B = constraint_matrix(m, cluster)[rank:, n + 1 : n + 1 + n_rows].copy()
    for r in range(n_rows - rank):  # Gram and Schmidt
        for s in range(r):
            take_off(B[r], B[s])
        normalise(B[r])
    return B


@kernel
def cone_margin(loop, frame):
    """Return how far the force of a sticking contact is within its cone; below zero, outside."""
    side = 1.0 if loop.contact == at.UNILATERAL else np.sign(frame.normal_force)
    return loop.mu_static * side * frame.normal_force - norm(frame.friction)


@kernel
def _is_fixed(loop):
    """Return whether the normal force of a contact is given by its drag, which moves things."""
    return loop.mode == at.SLIDE and loop.mu > 0.0


@kernel
def _without_drags(m, cluster, B):
    """Return forces in balance that leave the normal forces of dragging contacts as they are."""
    loop, i, count = at.loops(m), 0, B.shape[0]
    for k in at.cluster_loops(m)[cluster.first_loop : cluster.first_loop + cluster.n_loops]:
        if _is_fixed(loop[k]) and count > 0:
            best = 0
            for r in range(count):
                if abs(B[r, i]) > abs(B[best, i]):
                    best = r
            if abs(B[best, i]) > CARRIES_NONE:
                pivot = B[best] / B[best, i]
                B[best] = B[count - 1]
                count -= 1
                for r in range(count):
                    B[r] -= B[r, i] * pivot
        i += loop[k].n_rows
    return B[:count]


@kernel
def _barrier(cones, x, T, gradient, curvature):
    """
    Write gradient and curvature of -T s - sum log(h) at x = (z, s); return whether all h > 0.

    A row of `cones` is one contact: mu n and the vector f, each an affine function of z, stored as
    4 blocks of (z.., constant); h = (mu n - s)^2 - |t|^2, or n - s where there is no friction.
    """
    d = x.size - 1
    gradient[:], curvature[:, :] = 0.0, 0.0
    gradient[d] = -T
    slope = np.empty(d + 1)
    for cone in cones:
        a = cone[0, d] - x[d]
        for j in range(d):
            a += cone[0, j] * x[j]
        if not a > 0.0:
            return False
        h = a * a
        for j in range(d):
            slope[j] = 2.0 * a * cone[0, j]
        slope[d] = -2.0 * a
        for i in range(1, 4):
            t = cone[i, d]
            for j in range(d):
                t += cone[i, j] * x[j]
            h -= t * t
            for j in range(d):
                slope[j] -= 2.0 * t * cone[i, j]
        if not h > 0.0:
            return False
        axpy(gradient, slope, -1.0 / h, 0, d + 1)
        for i in range(d + 1):
            for j in range(d + 1):
                c = slope[i] * slope[j] / h
                a_i, a_j = (cone[0, i] if i < d else -1.0), (cone[0, j] if j < d else -1.0)
                c -= 2.0 * a_i * a_j
                if i < d and j < d:
                    for t in range(1, 4):
                        c += 2.0 * cone[t, i] * cone[t, j]
                curvature[i, j] += c / h
    return True


@kernel
def _widest(cones, x):
    """Move x = (z, s) towards the largest s; return how large it can be at most."""
    n, T = x.size, 1.0
    gradient, curvature, step, ahead = np.empty(n), np.empty((n, n)), np.empty(n), np.empty(n)
    for _ in range(MOST_STAGES):
        for _ in range(MOST_STEPS):
            if not _barrier(cones, x, T, gradient, curvature):
                return np.inf  # rounding: nothing more to be learned
            for j in range(n):
                curvature[j, j] *= 1.0 + RIDGE
                curvature[j, j] += RIDGE
            for j in range(n):
                step[j] = -gradient[j]
            solve(curvature, n, step)
            decrement = np.sqrt(max(-dot(step, gradient, 0, n), 0.0))
            if not decrement > CENTRED:
                break
            size = 1.0 if decrement < 0.25 else 1.0 / (1.0 + decrement)
            copy_to(ahead, x)
            axpy(ahead, step, size, 0, n)
            while not _barrier(cones, ahead, T, gradient, curvature) and size > 1e-12:
                size *= 0.5
                copy_to(ahead, x)
                axpy(ahead, step, size, 0, n)
            copy_to(x, ahead)
        gap = 2.0 * cones.shape[0] / T
        if x[n - 1] > 0.0 or x[n - 1] + gap < -HOLDS or gap < 0.1 * HOLDS:
            return x[n - 1] + gap
        T *= SHARPER
    return x[n - 1]


@kernel
def _share(m, cluster, load):
    """Share the forces of one cluster's contacts so that they hold, as far as they can."""
    loop, frame, unit = at.loops(m), at.frames(m), 1.0 / at.world(m).length
    own = at.cluster_loops(m)[cluster.first_loop : cluster.first_loop + cluster.n_loops]
    B = _without_drags(m, cluster, balanced_forces(m, cluster))
    d = B.shape[0]
    if d == 0:
        return
    B *= unit
    cones, x, count, i, least = np.zeros((own.size, 4, d + 1)), np.zeros(d + 1), 0, 0, 0.0
    for k in own:
        here = frame[k]
        sticks = loop[k].mode == at.STICK
        if sticks or (loop[k].mode == at.SLIDE and loop[k].contact == at.UNILATERAL):
            cone = cones[count]
            side = 1.0 if loop[k].contact == at.UNILATERAL else np.sign(here.normal_force)
            n = rotate_back(here.R_1, here.normal)
            if sticks:
                for j in range(d):
                    along = inner(n, B[j, i : i + 3])
                    cone[0, j] = side * loop[k].mu_static * along
                    for r in range(3):
                        cone[1 + r, j] = B[j, i + r] - along * n[r]
                held = rotate_back(here.R_1, here.friction)
                for r in range(3):
                    cone[1 + r, d] = held[r] / load
                cone[0, d] = side * loop[k].mu_static * here.normal_force / load
                least = min(least, cone_margin(loop[k], here) / load)
            else:
                cone[0, :d], cone[0, d] = B[:, i], here.normal_force / load
                least = min(least, here.normal_force / load)
            if not _is_fixed(loop[k]):
                count += 1
            else:
                cone[:, :] = 0.0
        i += loop[k].n_rows
    x[d] = 2.0 * least - 1.0
    _widest(cones[:count], x)
    i = 0
    for k in own:
        if loop[k].mode == at.STICK:
            f = (0.0, 0.0, 0.0)
            for j in range(d):
                z = load * x[j]
                f = add(f, (z * B[j, i], z * B[j, i + 1], z * B[j, i + 2]))
            f = rotate(frame[k].R_1, f)
            more = inner(f, frame[k].normal)
            frame[k].normal_force += more
            rest = minus(f, times(more, frame[k].normal))
            put(frame[k].friction, add(frame[k].friction, rest))
        elif loop[k].mode == at.SLIDE and not _is_fixed(loop[k]):
            for j in range(d):
                frame[k].normal_force += load * x[j] * B[j, i]
        i += loop[k].n_rows


@kernel
def share_forces(m, load):
    """Share the forces of redundant contacts anew wherever those of least norm do not hold."""
    loop, frame = at.loops(m), at.frames(m)
    for c in range(at.shape(m).n_clusters):
        own = at.clusters(m)[c]
        if own.width == own.n_dofs + 1 or own.n_rows == own.rank:
            continue
        for k in at.cluster_loops(m)[own.first_loop : own.first_loop + own.n_loops]:
            sticks, pulls = loop[k].mode == at.STICK, frame[k].normal_force < 0.0
            if (sticks and cone_margin(loop[k], frame[k]) < -HOLDS * load) or (
                loop[k].mode == at.SLIDE
                and loop[k].contact == at.UNILATERAL
                and pulls
                and not _is_fixed(loop[k])
            ):
                _share(m, own, load)
                break
