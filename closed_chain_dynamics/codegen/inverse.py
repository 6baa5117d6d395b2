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
Inverse dynamics over symbols: tau_O by Newton-Euler, tau_G = W^T tau_O, tau_A of least norm.

Actuated theta_G have unit rows in S, other motors rows B: torques x and z with x + B_a^T z = tau_a
where theta_G is actuated, and B_p^T z = tau_p where it is passive (see kernels/inverse.py). Which
columns of B_p span its range is decided once, in the pose of the source; margins watch it.
"""

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.codegen.elimination import Solved, solve_constraints
from closed_chain_dynamics.codegen.expressions import SX
from closed_chain_dynamics.codegen.forward import closing_margins, spread, state_margins
from closed_chain_dynamics.codegen.loop_joints import loop_coordinates, loop_jacobian
from closed_chain_dynamics.codegen.newton_euler import newton_euler
from closed_chain_dynamics.codegen.passive import add_passive
from closed_chain_dynamics.codegen.source import Source, SourceCluster
from closed_chain_dynamics.codegen.tree import TracedFrames, motion, place
from closed_chain_dynamics.description.elements import LoopType
from closed_chain_dynamics.kernels.inverse import NO_LEVER, WEAK_LEVER

__all__ = ['TracedTorques', 'basis', 'inverse_dynamics', 'motor_matrix', 'project', 'tree_forces']

# the second for single precision, as the kernels' own leave no digits there
NO_LEVERS = NO_LEVER, 1e-4
WEAK_LEVERS = WEAK_LEVER, 1e-2
NEVER = -1.0  # the margin of what this pose does not decide


@dataclass
class TracedTorques:
    """Forces that a motion needs, and margins that are positive where they count."""

    tau_O: SX
    tau_G: SX
    tau_A: SX
    residual: SX
    margins: list[SX]
    closed: list[SX]  # these also ask that the loops are closed


def inverse_dynamics(source: Source, q: SX, v: SX, a: SX) -> TracedTorques:
    """Return tau_O, tau_G, tau_A and what no actuator gives (Yamane and Nakamura, (7) to (9))."""
    frames = place(source, q)
    solved = solve_constraints(source, frames, q)
    tau_O = tree_forces(source, frames, q, v, a)
    tau_G = project(source, solved, tau_O)
    margins = list(solved.margins)
    torques: dict[int, SX] = {}
    rest: dict[int, SX] = {}
    for cluster in source.clusters:
        _actuate(source, cluster, frames, solved, tau_G, torques, rest, margins)
    if any(m.loop and source.loops[m.loop[0]].kind is LoopType.FREE for m in source.motors):
        margins.append(ca.SX(NEVER))  # such a motor pulls on several clusters at once
    return TracedTorques(
        spread(tau_O, source.nv),
        ca.vertcat(*(tau_G[g] for g in source.independent)),
        spread(torques, len(source.motors)),
        ca.vertcat(*(rest[g] for g in source.independent)),
        margins,
        state_margins(source, q) + closing_margins(source, frames, solved),
    )


def tree_forces(source: Source, frames: TracedFrames, q: SX, v: SX, a: SX) -> dict[int, SX]:
    """Return tau_O by velocity: what the motion of the tree needs, passive forces taken off."""
    needed = newton_euler(source, q, v, a)
    passive, forces = [ca.SX(0)] * source.nv, [ca.SX.zeros(6)] * len(source.bodies)
    add_passive(source, frames, motion(source, frames, v, a), q, v, passive, forces)
    tau_O = {}
    for i in range(len(source.bodies) - 1, 0, -1):
        body = source.bodies[i]
        for j in range(body.iv, body.iv + body.nv):
            rotor = body.laws[j - body.iv].armature * a[j]
            tau_O[j] = needed[j] + ca.dot(frames.S[j], forces[i]) + rotor - passive[j]
        forces[body.parent] = forces[body.parent] + forces[i]
    return tau_O


def project(source: Source, solved: Solved, tau_O: dict[int, SX]) -> dict[int, SX]:
    """Return tau_G = W^T tau_O by theta_G, Eq. (7)."""
    tau_G = {g: tau_O[g] for g in source.independent}
    for s, row in solved.H.items():
        for g, h in row.items():
            tau_G[g] = tau_G[g] + h * tau_O[s]
    return tau_G


def _motor_row(source: Source, k: int, frames: TracedFrames, solved: Solved) -> dict[int, SX]:
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


def basis(source: Source, solved: Solved) -> SX:
    """Return W = d theta_O / d theta_G: unit rows for theta_G, rows of H for theta_S."""
    W = ca.SX.zeros(source.nv, len(source.independent))
    for column, g in enumerate(source.independent):
        W[g, column] = 1
        for s, row in solved.H.items():
            if g in row:
                W[s, column] = row[g]
    return W


def motor_matrix(source: Source, frames: TracedFrames, solved: Solved) -> SX:
    """Return S = d theta_A / d theta_G, (motors, mobility)."""
    S = ca.SX.zeros(len(source.motors), len(source.independent))
    for k in range(len(source.motors)):
        for g, x in _motor_row(source, k, frames, solved).items():
            S[k, source.independent.index(g)] = x
    return S


def _actuate(
    source: Source,
    cluster: SourceCluster,
    frames: TracedFrames,
    solved: Solved,
    tau_G: dict[int, SX],
    torques: dict[int, SX],
    rest: dict[int, SX],
    margins: list[SX],
) -> None:
    """Solve S^T tau_A = tau_G in one cluster."""
    G = list(cluster.independent)
    unit = {m.dof: k for k, m in enumerate(source.motors) if m.dof in G}
    others = [
        k
        for k, m in enumerate(source.motors)
        if m.dof in cluster.dependent or (m.loop and m.loop[0] in cluster.loops)
    ]
    tau = ca.vertcat(*(tau_G[g] for g in G))
    if others and G:
        rows = [_motor_row(source, k, frames, solved) for k in others]
        B = ca.vertcat(*(ca.horzcat(*(row.get(g, ca.SX(0)) for g in G)) for row in rows))
        columns = [source.independent.index(g) for g in G]
        numbers = (source.motor_rows @ source.W)[np.ix_(others, columns)]
        z, tau = _solve(B, numbers, [g in unit for g in G], tau, margins, source.single)
        torques.update((k, z[n]) for n, k in enumerate(others))
    for n, g in enumerate(G):
        rest[g] = ca.SX(0) if g in unit else tau[n]
        if g in unit:
            torques[unit[g]] = tau[n]


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
    """Return K^-1 b of a positive definite K, by L D L^T."""
    n = K.shape[0]
    K, x = ca.SX(ca.densify(K)), ca.SX(ca.densify(b))
    inverse = []
    for j in range(n):
        inverse.append(1 / K[j, j])
        for i in range(j + 1, n):
            factor = K[i, j] * inverse[j]
            for k in range(j + 1, i + 1):
                K[i, k] = K[i, k] - factor * K[k, j]
            x[i] = x[i] - factor * x[j]
    for j in reversed(range(n)):
        x[j] = x[j] * inverse[j]
        for i in range(j + 1, n):
            x[j] = x[j] - K[i, j] * inverse[j] * x[i]
    return x
