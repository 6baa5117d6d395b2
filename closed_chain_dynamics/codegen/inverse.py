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
Inverse dynamics over symbols: tau_O by Newton-Euler, tau_G = W^T tau_O, and tau_A of least norm.

Where tau_A does not depend on theta_G, the motors' torques are sought with a theta_G that has a
sparse H, and tau_G follows from that of this choice: on the humanoid of the benchmarks that takes
a third of the operations less.
"""

from dataclasses import dataclass

import casadi as ca

from closed_chain_dynamics.codegen.actuation import NEVER, actuate, is_redundant
from closed_chain_dynamics.codegen.elimination import (
    GROWTH,
    Solved,
    eliminate,
    numbers_in_pose,
    solve_constraints,
    with_sparse_choice,
)
from closed_chain_dynamics.codegen.expressions import SX
from closed_chain_dynamics.codegen.forward import closing_margins, spread, state_margins
from closed_chain_dynamics.codegen.loops import ConstraintRow
from closed_chain_dynamics.codegen.newton_euler import newton_euler
from closed_chain_dynamics.codegen.passive import add_passive
from closed_chain_dynamics.codegen.source import Source, SourceCluster
from closed_chain_dynamics.codegen.tree import TracedFrames, motion, place
from closed_chain_dynamics.description.elements import LoopType

__all__ = ['TracedTorques', 'basis', 'inverse_dynamics', 'project', 'tree_forces']


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
    redundant = [is_redundant(source, cluster) for cluster in source.clusters]
    chosen = with_sparse_choice(source, redundant) if any(redundant) else source
    solved = solve_constraints(chosen, frames, q)
    margins = list(solved.margins)
    tau_O = tree_forces(source, frames, q, v, a)
    tau = project(chosen, solved, tau_O)
    torques: dict[int, SX] = {}
    left: dict[int, SX] = {}
    tau_G: dict[int, SX] = {}
    for given, cluster, reached in zip(source.clusters, chosen.clusters, redundant):
        found, rest = actuate(chosen, cluster, frames, solved, tau, margins, reached)
        torques.update(found)
        left.update(rest)
        tau_G.update(_in_coordinates(source, given, cluster, solved, tau, q, margins))
    if any(m.loop and source.loops[m.loop[0]].kind is LoopType.FREE for m in source.motors):
        margins.append(ca.SX(NEVER))  # such a motor pulls on several clusters at once
    return TracedTorques(
        spread(tau_O, source.nv),
        ca.vertcat(*(tau_G[g] for g in source.independent)),
        spread(torques, len(source.motors)),
        ca.vertcat(*(left.get(g, ca.SX(0)) for g in source.independent)),
        margins,
        state_margins(source, q) + closing_margins(source, frames, solved),
    )


def _in_coordinates(
    source: Source,
    given: SourceCluster,
    chosen: SourceCluster,
    solved: Solved,
    tau: dict[int, SX],
    q: SX,
    margins: list[SX],
) -> dict[int, SX]:
    """
    Return tau_G by the theta_G of a cluster that is given, from that of the chosen one.

    Power is the same: with theta_P only given, theta_D only chosen and theta_C common to both,
    H_PD^T tau_P = tau_D and tau_C of the given ones is tau_C - H_PC^T tau_P.
    """
    P = [g for g in given.independent if g not in chosen.independent]
    D = [g for g in chosen.independent if g not in given.independent]
    rows = [
        ConstraintRow(
            {p: solved.H[p][d] for p in P if d in solved.H[p]}, ca.SX(0), -tau[d], 1.0, ca.SX(0)
        )
        for d in D
    ]
    found = Solved()
    if rows:  # a pivot this small is an H of theta_D by theta_P that is too large
        eliminate(source, rows, numbers_in_pose(rows, q, source), P, found, 1 / GROWTH)
    margins += found.margins
    tau_G = {g: tau[g] for g in given.independent if g not in P}
    for p, force in found.drift.items():
        for g, h in solved.H[p].items():
            if g in tau_G:
                tau_G[g] = tau_G[g] - h * force
    return {**tau_G, **found.drift}


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


def basis(source: Source, solved: Solved) -> SX:
    """Return W = d theta_O / d theta_G: unit rows for theta_G, rows of H for theta_S."""
    W = ca.SX.zeros(source.nv, len(source.independent))
    for column, g in enumerate(source.independent):
        W[g, column] = 1
        for s, row in solved.H.items():
            if g in row:
                W[s, column] = row[g]
    return W
