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
The motors' torques over symbols: tau_A of least norm with S^T tau_A = tau_G.

Actuated theta_G have unit rows in S, other motors rows B: torques x and z with x + B_a^T z = tau_a
where theta_G is actuated, and B_p^T z = tau_p where it is passive (see kernels/inverse.py). Which
columns of B_p span its range is decided once, in the pose of the source; margins watch it. Where
all theta_G have motors of their own and there are others, S has full rank in any pose, and tau_A
is the same whatever theta_G is: then theta_G is one with a sparse H, and B_p has full rank.
"""

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.codegen.elimination import Solved
from closed_chain_dynamics.codegen.expressions import SX
from closed_chain_dynamics.codegen.forward import spread
from closed_chain_dynamics.codegen.loop_joints import loop_coordinates, loop_jacobian
from closed_chain_dynamics.codegen.source import Source, SourceCluster
from closed_chain_dynamics.codegen.tree import TracedFrames
from closed_chain_dynamics.kernels.inverse import NO_LEVER, WEAK_LEVER

__all__ = ['NEVER', 'actuate', 'is_redundant', 'motor_matrix', 'motor_row', 'other_motors']

NO_LEVERS = NO_LEVER, 1e-4
WEAK_LEVERS = WEAK_LEVER, 1e-2
NEVER = -1.0  # the margin of what this pose does not decide


def motor_row(source: Source, k: int, frames: TracedFrames, solved: Solved) -> dict[int, SX]:
    """Return the row of S of a motor, by theta_G."""
    motor = source.motors[k]
    if motor.dof is not None:
        entries = {motor.dof: ca.SX(1)}
    elif motor.loop is not None:
        loop = source.loops[motor.loop[0]]
        covector = loop_coordinates(loop, frames)[0][motor.loop[1]]
        entries = loop_jacobian(source, loop, frames, covector)
    else:
        entries = {}
    row: dict[int, SX] = {}
    for j, x in entries.items():
        for g, h in solved.H.get(j, {j: ca.SX(1)}).items():
            row[g] = row[g] + x * h if g in row else x * h
    return row


def motor_matrix(source: Source, frames: TracedFrames, solved: Solved) -> SX:
    """Return S = d theta_A / d theta_G, (motors, mobility)."""
    S = ca.SX.zeros(len(source.motors), len(source.independent))
    for k in range(len(source.motors)):
        for g, x in motor_row(source, k, frames, solved).items():
            S[k, source.independent.index(g)] = x
    return S


def _own_motors(source: Source, cluster: SourceCluster) -> dict[int, int]:
    """Return the motors on theta_G of a cluster, by theta_G."""
    moved = {m.dof: k for k, m in enumerate(source.motors) if m.dof is not None}
    return {g: moved[g] for g in cluster.independent if g in moved}


def other_motors(source: Source, cluster: SourceCluster) -> list[int]:
    """Return the motors on theta_S and on loops of a cluster."""
    return [
        k
        for k, m in enumerate(source.motors)
        if m.dof in cluster.dependent or (m.loop and m.loop[0] in cluster.loops)
    ]


def is_redundant(source: Source, cluster: SourceCluster) -> bool:
    """Return whether all theta_G have motors of their own, and there are others."""
    is_moved = len(_own_motors(source, cluster)) == len(cluster.independent) > 0
    return is_moved and bool(other_motors(source, cluster))


def actuate(
    source: Source,
    cluster: SourceCluster,
    rows: list[dict[int, SX]],
    tau_G: dict[int, SX],
    margins: list[SX],
    reached: bool,
) -> tuple[dict[int, SX], dict[int, SX]]:
    """
    Return torques by motor, and what they leave of tau_G by theta_G, in one cluster.

    `rows`: of S, by theta_G, of the motors that do not move theta_G themselves; `reached`: whether
    motors are known to reach every theta_G in any pose.
    """
    G = list(cluster.independent)
    unit, others = _own_motors(source, cluster), other_motors(source, cluster)
    torques: dict[int, SX] = {}
    tau = ca.vertcat(*(tau_G[g] for g in G))
    if others and G:
        B = ca.vertcat(*(ca.horzcat(*(row.get(g, ca.SX(0)) for g in G)) for row in rows))
        actuated = [g in unit for g in G]
        if reached:
            z, tau = _solve_reached(B, actuated, tau, margins, source.single)
        else:
            columns = [source.independent.index(g) for g in G]
            numbers = (source.motor_rows @ source.W)[np.ix_(others, columns)]
            z, tau = _solve(B, numbers, actuated, tau, margins, source.single)
        torques.update((k, z[n]) for n, k in enumerate(others))
    torques.update((unit[g], tau[n]) for n, g in enumerate(G) if g in unit)
    return torques, {g: ca.SX(0) if g in unit else tau[n] for n, g in enumerate(G)}


def _solve_reached(
    B: SX, actuated: list[bool], tau: SX, margins: list[SX], single: bool
) -> tuple[SX, SX]:
    """
    Return the torques z of motors with rows B, and what they leave of tau; B_p has full rank.

    |z|^2 + |tau_a - B_a^T z|^2 is least with B_p^T z = tau_p where N z = B_a tau_a + B_p mu,
    N = E + B_a B_a^T. N is as sparse as B_a, which forming B_p's basis first would not leave so.
    """
    passive = [n for n, own in enumerate(actuated) if not own]
    moved = [n for n, own in enumerate(actuated) if own]
    B_a, tau_a, tau_p, p = B[:, moved], _part(tau, moved), _part(tau, passive), len(passive)
    L, inverse = _factor(ca.SX.eye(B.shape[0]) + B_a @ B_a.T)
    Y = _forward(L, ca.horzcat(B[:, passive], B_a @ tau_a))
    Z = ca.diag(inverse) @ Y
    K = Z[:, :p].T @ Y[:, :p]
    L_K, inverse_K = _factor(K)
    for j in range(p):
        margins.append(1 - WEAK_LEVERS[single] * K[j, j] * inverse_K[j])
    mu = _backward(L_K, inverse_K * _forward(L_K, tau_p - Z[:, :p].T @ Y[:, p]))
    z = _backward(L, Z[:, p] + Z[:, :p] @ mu)
    left = tau_a - B_a.T @ z
    return z, spread({n: left[k] for k, n in enumerate(moved)}, len(actuated))


def _solve(
    B: SX,
    numbers: NDArray[np.float64],
    actuated: list[bool],
    tau: SX,
    margins: list[SX],
    single: bool,
) -> tuple[SX, SX]:
    """Return the torques z of motors with rows B, and what they leave of tau."""
    nd = B.shape[0]
    passive = [n for n, own in enumerate(actuated) if not own]
    moved = [n for n, own in enumerate(actuated) if own]
    chosen = _range(numbers, passive)
    if chosen is None:
        margins.append(ca.SX(NEVER))
        chosen = []
    Q: list[SX] = []
    size = ca.SX(1)
    for n in chosen:
        column = _across(B[:, n], Q)
        square = ca.sumsqr(column)
        size = size + square if not Q else size
        margins.append(square - WEAK_LEVERS[single] ** 2 * size)
        Q.append(column / ca.sqrt(square))
    z = ca.SX.zeros(nd)
    if Q:
        basis = ca.horzcat(*Q)
        X = basis.T @ B[:, passive]
        z = basis @ _solve_positive(X @ X.T, X @ tau[passive])
        tau = tau - B.T @ z
    if len(Q) < nd:
        left = [_across(B[:, n], Q) for n in passive if n not in chosen]
        missed = ca.SX(sum((ca.sumsqr(each) for each in left), ca.SX(0)))
        if not missed.is_constant():
            margins.append(NO_LEVERS[single] ** 2 * size - missed)
        if moved:  # what is open is used to make the torques small
            B_a = ca.horzcat(*(_across(B[:, n], Q) for n in moved))
            u = _solve_positive(ca.SX.eye(nd) + B_a @ B_a.T, B_a @ tau[moved])
            z = z + u
            tau[moved] = tau[moved] - B_a.T @ u
    return z, tau


def _part(x: SX, places: list[int]) -> SX:
    """Return some entries of a column, which may be none."""
    return ca.vertcat(ca.SX(0, 1), *(x[n] for n in places))


def _across(column: SX, Q: list[SX]) -> SX:
    """Return the part of a column at right angles to an orthonormal basis; twice is enough."""
    for _ in range(2 if Q else 0):
        for each in Q:
            column = column - ca.dot(each, column) * each
    return column


def _range(numbers: NDArray[np.float64], passive: list[int]) -> list[int] | None:
    """Return columns that span the range of B_p in the pose of the source; None where unclear."""
    chosen: list[int] = []
    left, largest = numbers[:, passive].copy(), 1.0
    while len(chosen) < min(left.shape):
        norms = np.linalg.norm(left, axis=0)
        best = int(np.argmax(norms))
        largest = max(largest, norms[best])
        if norms[best] <= NO_LEVERS[0] * largest:
            break
        if norms[best] < 2.0 * WEAK_LEVERS[0] * largest:
            return None
        chosen.append(passive[best])
        direction = left[:, best] / norms[best]
        for _ in range(2):
            left -= np.outer(direction, direction @ left)
    return chosen


def _solve_positive(K: SX, b: SX) -> SX:
    """Return K^-1 b of a positive definite K."""
    L, inverse = _factor(K)
    return _backward(L, inverse * _forward(L, b))


def _factor(K: SX) -> tuple[SX, SX]:
    """Return L and D^-1 of a positive definite K = L D L^T; L has units on its diagonal."""
    n = K.shape[0]
    K, inverse = ca.SX(ca.densify(K)), ca.SX.zeros(n)
    L = ca.SX.eye(n)
    for j in range(n):
        inverse[j] = 1 / K[j, j]
        for i in range(j + 1, n):
            L[i, j] = K[i, j] * inverse[j]
            for k in range(j + 1, i + 1):
                K[i, k] = K[i, k] - L[i, j] * K[k, j]
    return L, inverse


def _forward(L: SX, X: SX) -> SX:
    """Return L^-1 X."""
    X = ca.SX(ca.densify(X))
    for j in range(L.shape[0]):
        for i in range(j + 1, L.shape[0]):
            X[i, :] = X[i, :] - L[i, j] * X[j, :]
    return X


def _backward(L: SX, x: SX) -> SX:
    """Return L^-T x."""
    x = ca.SX(ca.densify(x))
    for j in reversed(range(L.shape[0])):
        for i in range(j + 1, L.shape[0]):
            x[j] = x[j] - L[i, j] * x[i]
    return x
