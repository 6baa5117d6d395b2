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
Forces or impulses of contacts with Coulomb friction, by projection contact after contact.

With p = (n, t_1, t_2) of every contact and u = G p + c, its acceleration or its velocity after an
impact: n >= 0, u_n >= 0, n u_n = 0, |t| <= mu n, and where u_t is not zero t = -mu n u_t / |u_t|.
What holds a joint, a stop or its friction, is the same without t, its force between two bounds.
"""

import numpy as np

from .compiling import kernel
from .linear_algebra import copy_to, dot

# kinds: free direction, the force along the normal given, or the direction given along t_1
CONE, GIVEN, DRAG = range(3)
MOST_CONE_SWEEPS = 20000
SETTLED_SWEEP = 1e-14  # share of the largest force by which a sweep still changes one


@kernel
def _normal(G, c, mu, kind, bounds, p, k):
    """Set the force along the normal of one contact; return whether it is possible."""
    n = 3 * k
    if kind[k] == GIVEN:
        return True
    u, gain = c[n] + dot(G[n], p, 0, p.size), G[n, n]
    if kind[k] == DRAG:
        side = -1.0 if p[n] < 0.0 else 1.0
        gain -= side * mu[k] * G[n, n + 1]
    if not gain > 1e-12 * G[n, n]:
        return G[n, n] <= 0.0
    p[n] = min(max(p[n] - u / gain, bounds[k, 0]), bounds[k, 1])
    if kind[k] == DRAG:
        p[n + 1], p[n + 2] = -mu[k] * abs(p[n]), 0.0
    return True


@kernel
def _tangent(G, c, mu, p, k):
    """Set the friction force of one contact: what would stop it, as far as its disc reaches."""
    n = 3 * k
    a, b, d = G[n + 1, n + 1], G[n + 1, n + 2], G[n + 2, n + 2]
    gain = 0.5 * (a + d) + np.sqrt(0.25 * (a - d) * (a - d) + b * b)
    if not gain > 0.0:
        return
    x = p[n + 1] - (c[n + 1] + dot(G[n + 1], p, 0, p.size)) / gain
    y = p[n + 2] - (c[n + 2] + dot(G[n + 2], p, 0, p.size)) / gain
    size, most = np.hypot(x, y), mu[k] * abs(p[n])
    share = most / size if size > most else 1.0
    p[n + 1], p[n + 2] = share * x, share * y


@kernel
def solve_cones(G, c, mu, kind, bounds, p):
    """
    Improve p (3 contacts,) in place; return sweeps, or -1 where friction locks.

    `bounds`: least and largest n of every contact, (contacts, 2).
    """
    before = np.empty(p.size)
    for sweep in range(MOST_CONE_SWEEPS):
        copy_to(before, p)
        for k in range(mu.size):
            if not _normal(G, c, mu, kind, bounds, p, k):
                return -1
            if kind[k] != DRAG:
                _tangent(G, c, mu, p, k)
        change = size = 0.0
        for i in range(p.size):
            change, size = max(change, abs(p[i] - before[i])), max(size, abs(p[i]))
        if change <= SETTLED_SWEEP * size:
            return sweep
    return MOST_CONE_SWEEPS
