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
What pulls back and damps, as an implicit step sees it: rows L, stiffness and damping along each.

Tree joints have numbers of their own, which lie on the diagonal. A spring between two points, a
joint that closes a loop and a soft contact act between two bodies: row L gives their rate L v, and
stiffness k and damping d add L^T k L and L^T d L to K and D. A stretched spring resists across its
direction too, by its force over its length.
"""

from . import records as at
from .compiling import kernel
from .loop_frames import place_loop
from .loop_joints import loop_coordinates
from .passive import CREEP_SPEED, FRICTION_SPEED, NO_LENGTH, loop_joints_matter, spring_ends
from .structure import common_ancestor
from .surfaces import sliding_velocity, surface_distance, surface_normal
from .vectors import angular, cross, inner, linear, minus, norm, times

NO_DIRECTION = (1.0, 0.0, 0.0)  # of a spring without length, which resists in all


@kernel
def most_rows(m):
    """Return how many rows there may be, and slots: each row has one of its own at all times."""
    return at.loop_dofs(m).size + 3 * at.springs(m).size + 3 * at.loops(m).size


@kernel
def _number(slot, r, after, first):
    """Give rows r to `after` slots from `first` on."""
    for i in range(r, after):
        slot[i] = first + i - r
    return after


@kernel
def _is_near(law, position):
    """Return whether a position is in the zone of a limit."""
    t = law.stop_transition
    return position > law.upper - t or position < law.lower + t


@kernel
def _law(law, position, rate, limited):
    """Return stiffness and damping of a coordinate of a joint, limits included."""
    k, d = 0.0, law.damping
    if law.slip == at.SMOOTH and law.friction != 0.0:
        d += law.friction / max(abs(rate), FRICTION_SPEED)
    if limited and (law.stop_stiffness != 0.0 or law.stop_damping != 0.0):
        if _is_near(law, position):
            k, d = k + law.stop_stiffness, d + law.stop_damping
    return k, d


@kernel
def tree_laws(m, q, v, K, D):
    """Write stiffness and damping of every coordinate of the tree."""
    body, dof = at.bodies(m), at.dofs(m)
    for j in range(dof.size):
        own = body[dof[j].body]
        K[j], D[j] = _law(dof[j], q[own.iq], v[j], own.n_dof == 1)
    for spring in at.springs(m):
        if spring.type == at.ON_JOINT and spring.dof >= 0:
            K[spring.dof] += spring.stiffness
            D[spring.dof] += spring.damping


@kernel
def _add_path(m, b, top, n, turn, L):
    """Add n v + turn omega of a body by the coordinates below `top` to a row."""
    body, column = at.bodies(m), at.columns(m)
    while b != top:
        for j in range(body[b].iv, body[b].iv + body[b].n_dof):
            s = column[j].s
            L[j] += inner(n, linear(s)) + inner(turn, angular(s))
        b = body[b].parent


@kernel
def _between(m, one, two, n, p_1, p_2, L):
    """Write the rate at which a point of body two leaves one of body one, along n."""
    L[:] = 0.0
    top = common_ancestor(at.bodies(m), one, two)
    _add_path(m, one, top, times(-1.0, n), times(-1.0, cross(p_1, n)), L)
    _add_path(m, two, top, n, cross(p_2, n), L)


@kernel
def _across(n):
    """Return two unit vectors at right angles to n and to each other."""
    i = 0
    for k in range(1, 3):
        if abs(n[k]) < abs(n[i]):
            i = k
    e = (1.0 if i == 0 else 0.0, 1.0 if i == 1 else 0.0, 1.0 if i == 2 else 0.0)
    t = cross(n, e)
    t = times(1.0 / norm(t), t)
    return t, cross(n, t)


@kernel
def _point_spring(m, spring, r, L, K, D):
    """Write the rows of a spring between two points: along it, and across where stretched."""
    p_1, p_2 = spring_ends(m, spring)
    length, n = norm(minus(p_2, p_1)), NO_DIRECTION
    across = spring.stiffness if spring.rest <= 0.0 else 0.0
    if length > NO_LENGTH:
        n = times(1.0 / length, minus(p_2, p_1))
        across = spring.stiffness * max(1.0 - spring.rest / length, 0.0)
    _between(m, spring.body_1, spring.body_2, n, p_1, p_2, L[r])
    K[r], D[r] = spring.stiffness, spring.damping
    if across == 0.0:
        return r + 1
    for t in _across(n):
        r += 1
        _between(m, spring.body_1, spring.body_2, t, p_1, p_2, L[r])
        K[r], D[r] = across, 0.0
    return r + 1


@kernel
def _soft_contact(m, k, r, L, K, D):
    """Write the rows of a soft contact that pushes."""
    loop, frame = at.loops(m)[k], place_loop(m, k)
    surface_normal(loop, frame)
    v, _ = sliding_velocity(frame, at.moving(m)[loop.body_1], at.moving(m)[loop.body_2])
    depth = -surface_distance(loop, frame)
    if depth <= 0.0:
        return r
    p = frame.point
    _between(m, loop.body_1, loop.body_2, frame.normal, p, p, L[r])
    K[r], D[r] = loop.stiffness, loop.damping * depth
    if loop.mu == 0.0:
        return r + 1
    for t in _across(frame.normal):
        r += 1
        _between(m, loop.body_1, loop.body_2, t, p, p, L[r])
        K[r], D[r] = 0.0, loop.mu * loop.stiffness * depth / max(norm(v), CREEP_SPEED)
    return r + 1


@kernel
def stiff_rows(m, L, K, D, slot):
    """Write all rows with their stiffness and damping, after `motion`; return how many."""
    r, loop, column, law = 0, at.loops(m), at.loop_columns(m), at.loop_dofs(m)
    contacts, points = law.size, law.size + 3 * loop.size  # first slots
    for k in range(loop.size):
        own = loop[k]
        if own.active and own.mode == at.SOFT:
            r = _number(slot, r, _soft_contact(m, k, r, L, K, D), contacts + 3 * k)
        elif own.active and loop_joints_matter(m):
            loop_coordinates(m, k)
            for d in range(own.dof, own.dof + own.n_dofs):
                x = column[d]
                K[r], D[r] = _law(law[d], x.position, x.rate, own.n_dofs == 1)
                for spring in at.springs(m):
                    if spring.type == at.ON_LOOP and spring.dof == d:
                        K[r] += spring.stiffness
                        D[r] += spring.damping
                if K[r] != 0.0 or D[r] != 0.0:
                    L[r] = 0.0
                    top = common_ancestor(at.bodies(m), own.body_1, own.body_2)
                    n, turn = linear(x.f), angular(x.f)
                    _add_path(m, own.body_1, top, times(-1.0, n), times(-1.0, turn), L[r])
                    _add_path(m, own.body_2, top, n, turn, L[r])
                    r = _number(slot, r, r + 1, d)
    for s in range(at.springs(m).size):
        spring = at.springs(m)[s]
        if spring.type == at.BETWEEN_POINTS and (spring.stiffness != 0.0 or spring.damping != 0.0):
            r = _number(slot, r, _point_spring(m, spring, r, L, K, D), points + 3 * s)
    return r
