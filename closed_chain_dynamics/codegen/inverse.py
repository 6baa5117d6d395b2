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
a third of the operations less. Elsewhere, tau_G and S may be found that way, too, where it takes
fewer operations: on the figure on the swing a fifth less.
"""

from dataclasses import dataclass

import casadi as ca

from closed_chain_dynamics.codegen.actuation import (
    NEVER,
    actuate,
    is_redundant,
    motor_row,
    other_motors,
)
from closed_chain_dynamics.codegen.elimination import (
    GROWTH,
    Solved,
    eliminate,
    numbers_in_pose,
    solve_constraints,
    with_sparse_choice,
)
from closed_chain_dynamics.codegen.expressions import SX, operations
from closed_chain_dynamics.codegen.forward import closing_margins, spread, state_margins
from closed_chain_dynamics.codegen.loops import ConstraintRow
from closed_chain_dynamics.codegen.newton_euler import newton_euler
from closed_chain_dynamics.codegen.passive import add_passive
from closed_chain_dynamics.codegen.source import Source, SourceCluster
from closed_chain_dynamics.codegen.tendons import path_margins
from closed_chain_dynamics.codegen.tree import TracedFrames, motion, place
from closed_chain_dynamics.description.elements import LoopType

__all__ = [
    'TracedTorques',
    'basis',
    'inverse_dynamics',
    'project',
    'sought_torques',
    'tree_forces',
]


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
    tau_O = tree_forces(source, frames, q, v, a)
    redundant = [is_redundant(source, cluster) for cluster in source.clusters]
    choices = sorted({tuple(redundant), (True,) * len(redundant)})
    found = [sought_torques(source, frames, q, tau_O, redundant, sparse) for sparse in choices]
    return found[0] if len(found) == 1 else min(found, key=_cost)


def _cost(torques: TracedTorques) -> int:
    """Return how many operations the torques take."""
    forces = torques.tau_O, torques.tau_G, torques.tau_A, torques.residual
    everything = ca.vertcat(*forces, *torques.margins, *torques.closed)
    given = ca.vertcat(*ca.symvar(everything))
    return operations(ca.Function('torques', [given], [everything], {'cse': True}))


def sought_torques(
    source: Source,
    frames: TracedFrames,
    q: SX,
    tau_O: dict[int, SX],
    redundant: list[bool],
    sparse: tuple[bool, ...],
) -> TracedTorques:
    """Return the torques; in clusters that are `sparse` by way of a theta_G with a sparse H."""
    chosen = with_sparse_choice(source, list(sparse)) if any(sparse) else source
    solved = solve_constraints(chosen, frames, q)
    margins = solved.margins + path_margins(source, frames)
    tau = project(chosen, solved, tau_O)
    torques: dict[int, SX] = {}
    left: dict[int, SX] = {}
    tau_G: dict[int, SX] = {}
    for given, cluster, reached in zip(source.clusters, chosen.clusters, redundant):
        sought = cluster if reached else given  # in whose theta_G torques of motors are sought
        rows = [motor_row(source, k, frames, solved) for k in other_motors(source, sought)]
        moved = [] if reached else rows
        own, moved = _in_coordinates(source, given, cluster, solved, tau, moved, q, margins)
        tau_G.update(own)
        if reached:
            found, rest = actuate(source, sought, rows, tau, margins, reached)
        else:
            found, rest = actuate(source, sought, moved, own, margins, reached)
        torques.update(found)
        left.update(rest)
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
    motors: list[dict[int, SX]],
    q: SX,
    margins: list[SX],
) -> tuple[dict[int, SX], list[dict[int, SX]]]:
    """
    Return tau_G and rows of S by the theta_G of a cluster that is given, from those by the chosen.

    Power is the same: with theta_P only given, theta_D only chosen and theta_C common to both,
    H_PD^T tau_P = tau_D and tau_C of the given ones is tau_C - H_PC^T tau_P; so it is with a row
    of S.
    """
    P = [g for g in given.independent if g not in chosen.independent]
    D = [g for g in chosen.independent if g not in given.independent]
    if not P:
        return {g: tau[g] for g in given.independent}, motors
    places = [source.nv + n for n in range(len(motors))]  # columns beside those of velocities
    equations = []
    for d in D:
        entries = {p: solved.H[p][d] for p in P if d in solved.H[p]}
        entries.update((place, -row[d]) for place, row in zip(places, motors) if d in row)
        equations.append(ConstraintRow(entries, ca.SX(0), -tau[d], 1.0, ca.SX(0)))
    found = Solved()  # a pivot this small is an H of theta_D by theta_P that is too large
    eliminate(source, equations, numbers_in_pose(equations, q, source), P, found, 1 / GROWTH)
    margins += found.margins

    def moved(row: dict[int, SX], of_P: dict[int, SX]) -> dict[int, SX]:
        out = {g: row[g] for g in given.independent if g in row and g not in P}
        for p, share in of_P.items():
            for g, h in solved.H[p].items():
                if g in given.independent:
                    out[g] = out[g] - h * share if g in out else -h * share
        return {**out, **of_P}

    rows = [
        moved(row, {p: found.H[p][place] for p in P if place in found.H[p]})
        for place, row in zip(places, motors)
    ]
    return moved(tau, found.drift), rows


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
