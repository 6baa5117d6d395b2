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
How tau_O of the tree changes with every coordinate, in columns: recursions instead of traces.

Moving one joint carries all that hangs on it along with S, the motion subspace. Seen from what is
carried, only the ground moves differently: its velocity changes by psi' = V_up x S, its
acceleration by psi'' = A_up x S + V_up x psi', V_up and A_up of the body that carries the joint.
The force of a body changes by I psi'' + B psi', B x = I (x x V) + x x* (I V) + V x* (I x), which
needs only omega of x: with l the momentum and G = int r' r^T dm, the moment of velocities,

    B x = (-2 l x omega, 2 (tr(G) 1 - G) omega).

Mass m, first and second moments h and J = int r r^T dm, l, G and the force F of all that hangs on
a joint are sums. So tau_k = S_k F_k changes with q_j by S_k P_j, P = I psi'' + B psi' + S x* F,
where joint k carries joint j, and by U_k psi''_j + Z_k psi'_j where j carries k, U_k = I_k S_k and
Z_k = B_k^T S_k; with v_j by the same of upsilon_j = psi'_j + V_j x S_j and S_j.
"""

from dataclasses import dataclass

import casadi as ca

from closed_chain_dynamics.codegen.expressions import SX
from closed_chain_dynamics.codegen.source import Source, SourceBody
from closed_chain_dynamics.codegen.tree import TracedFrames, TracedMotion, cross_motion

__all__ = ['COLUMN_WIDTHS', 'Columns', 'slope_columns']

# what is said of every velocity, one after the other; Z has a turning part only
COLUMN_WIDTHS = {'S': 6, 'PSI_D': 6, 'PSI_DD': 6, 'UPSILON': 6, 'U': 6, 'P_Q': 6, 'P_V': 6, 'Z': 3}


@dataclass
class _Heap:
    """Mass, moments h and J, momentum l, G, and force F of all that hangs on a joint."""

    m: SX
    h: SX
    J: SX
    l: SX
    G: SX
    F: SX

    def __add__(self, other: '_Heap') -> '_Heap':
        return _Heap(
            self.m + other.m,
            self.h + other.h,
            self.J + other.J,
            self.l + other.l,
            self.G + other.G,
            self.F + other.F,
        )

    def inertia(self, x: SX) -> SX:
        """Return I x of a motion."""
        u, o = x[:3], x[3:]
        turn = ca.trace(self.J) * o - self.J @ o
        return ca.vertcat(self.m * u + ca.cross(o, self.h), ca.cross(self.h, u) + turn)

    def moved(self, o: SX) -> SX:
        """Return B x of a motion that turns with o."""
        return ca.vertcat(2 * ca.cross(o, self.l), 2 * (ca.trace(self.G) * o - self.G @ o))

    def moved_transposed(self, y: SX) -> SX:
        """Return the turning part of B^T y; the other is zero."""
        u, o = y[:3], y[3:]
        return 2 * (ca.cross(self.l, u) + ca.trace(self.G) * o - self.G.T @ o)


def _axial(P: SX) -> SX:
    return ca.vertcat(P[2, 1] - P[1, 2], P[0, 2] - P[2, 0], P[1, 0] - P[0, 1])


def _own(body: SourceBody, frames: TracedFrames, moving: TracedMotion, i: int) -> _Heap:
    """Return what a body is and does by itself, about the common point."""
    R, c = frames.R[i], frames.c[i]
    tensor = ca.SX(body.inertia)
    h = body.mass * c
    J = R @ (0.5 * ca.trace(tensor) * ca.SX.eye(3) - tensor) @ R.T + h @ c.T
    V, A = moving.V[i], moving.A[i]
    o, turn = V[3:], ca.skew(V[3:])
    a = A[:3] + ca.cross(o, V[:3])
    K = ca.skew(A[3:]) + turn @ turn
    F = ca.vertcat(body.mass * a + K @ h, ca.cross(h, a) + _axial(K @ J))
    momentum = body.mass * V[:3] + ca.cross(o, h)
    return _Heap(ca.SX(body.mass), h, J, momentum, V[:3] @ h.T + turn @ J, F)


def _cross_force(x: SX, f: SX) -> SX:
    """Return the spatial cross product x x* f of a motion and a force."""
    return ca.vertcat(ca.cross(x[3:], f[:3]), ca.cross(x[3:], f[3:]) + ca.cross(x[:3], f[:3]))


@dataclass
class Columns:
    """Columns of all velocities, (45, nv), and what the motion needs, S_k F_k, (nv,)."""

    table: SX
    needed: list[SX]


def slope_columns(source: Source, frames: TracedFrames, moving: TracedMotion) -> Columns:
    """Return for every velocity what the slopes of tau_O are made of; see `COLUMN_WIDTHS`."""
    zero = ca.SX.zeros(3)
    nothing = _Heap(ca.SX(0), zero, ca.SX.zeros(3, 3), zero, ca.SX.zeros(3, 3), ca.SX.zeros(6))
    heaps = [nothing] + [
        _own(body, frames, moving, i) for i, body in enumerate(source.bodies[1:], start=1)
    ]
    for i in range(len(source.bodies) - 1, 0, -1):
        heaps[source.bodies[i].parent] += heaps[i]
    columns, needed = [], []
    for i, body in enumerate(source.bodies[1:], start=1):
        heap, up = heaps[i], body.parent
        for j in range(body.iv, body.iv + body.nv):
            S = frames.S[j]
            psi_d = cross_motion(moving.V[up], S)
            psi_dd = cross_motion(moving.A[up], S) + cross_motion(moving.V[up], psi_d)
            upsilon = psi_d + cross_motion(moving.V[i], S)
            P_q = heap.inertia(psi_dd) + heap.moved(psi_d[3:]) + _cross_force(S, heap.F)
            P_v = heap.inertia(upsilon) + heap.moved(S[3:])
            Z = heap.moved_transposed(S)
            columns.append(ca.vertcat(S, psi_d, psi_dd, upsilon, heap.inertia(S), P_q, P_v, Z))
            needed.append(ca.dot(S, heap.F))
    return Columns(ca.horzcat(*columns), needed)
