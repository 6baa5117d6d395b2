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
Forward dynamics over symbols: A theta_G'' + b = tau_G, cluster by cluster (see kernels).

Each cluster projects its mass matrix, A = W^T M W, factors it and hands what it feels like from
outside, an articulated inertia, to the body that carries it.
"""

from dataclasses import dataclass

import casadi as ca

from closed_chain_dynamics.codegen.elimination import Solved, is_zero, solve_constraints
from closed_chain_dynamics.codegen.expressions import SX
from closed_chain_dynamics.codegen.loop_joints import loop_coordinates, loop_jacobian
from closed_chain_dynamics.codegen.loops import flip_margins
from closed_chain_dynamics.codegen.newton_euler import newton_euler
from closed_chain_dynamics.codegen.passive import add_motors, add_passive, has_rotor
from closed_chain_dynamics.codegen.source import Source, SourceCluster, SourceLoop
from closed_chain_dynamics.codegen.tendons import add_tendon_inertia, path_margins
from closed_chain_dynamics.codegen.tree import (
    TracedFrames,
    TracedMotion,
    motion,
    place,
    rigid_inertia,
    symmetric,
)
from closed_chain_dynamics.description.elements import JointType
from closed_chain_dynamics.kernels.closed_chain import INDEFINITE
from closed_chain_dynamics.kernels.kinematics import UNIT_TOLERANCE
from closed_chain_dynamics.model.packing import CLOSING_TOLERANCE

__all__ = [
    'Answer',
    'add_loop_rotors',
    'closing_margins',
    'forward_dynamics',
    'spread',
    'state_margins',
]

CLOSING_TOLERANCES = CLOSING_TOLERANCE, 1e-4  # the second for single precision [m or rad]


@dataclass
class Answer:
    """Accelerations, and margins that are positive where they count."""

    acceleration: SX
    margins: list[SX]
    closed: list[SX]  # these also ask that the loops are closed
    power: SX  # of the motors
    dissipation: SX  # what damping and friction take


def state_margins(source: Source, q: SX) -> list[SX]:
    """Return what is positive while orientations have unit length."""
    first = {JointType.PLANAR: 2, JointType.SPHERICAL: 0, JointType.FLOATING: 3}
    width = {JointType.PLANAR: 2, JointType.SPHERICAL: 4, JointType.FLOATING: 4}
    margins = []
    for body in source.bodies[1:]:
        if body.kind in first:
            k = body.iq + first[body.kind]
            square = ca.sumsqr(q[k : k + width[body.kind]])
            margins.append((2 * UNIT_TOLERANCE) ** 2 - (square - 1) ** 2)
    return margins


def closing_margins(source: Source, frames: TracedFrames, solved: Solved) -> list[SX]:
    """Return what is positive while every loop is closed, and not by half a turn."""
    tolerance = CLOSING_TOLERANCES[source.single] ** 2
    margins = [tolerance - error**2 for error in solved.errors if not error.is_constant()]
    return margins + flip_margins(source, frames)


def spread(values: dict[int, SX], n: int) -> SX:
    """Return a column of n entries with the given ones, zero elsewhere."""
    return ca.vertcat(*(values.get(j, ca.SX(0)) for j in range(n)))


def forward_dynamics(source: Source, q: SX, v: SX, tau_A: SX) -> Answer:
    """Return theta_O'' from the actuators' torques, Eq. (24) of Nakamura and Yamane."""
    frames = place(source, q)
    moving = motion(source, frames, v, None)
    solved = solve_constraints(source, frames, q, v, moving)
    drift = spread(solved.drift, source.nv)
    # what the drift and gravity need; only what clusters hand on is added to the bodies' forces
    needed = newton_euler(source, q, v, drift)
    tau, forces = [-needed[j] for j in range(source.nv)], [ca.SX.zeros(6)] * len(source.bodies)
    drifting = TracedMotion(moving.V, motion(source, frames, v, drift).A)
    dissipation = add_passive(source, frames, drifting, q, v, tau, forces)
    power = add_motors(source, frames, moving, v, tau_A, tau, forces)
    for body in source.bodies[1:]:  # rotors take part in the drift, as bodies do
        for j, law in enumerate(body.laws, start=body.iv):
            tau[j] = tau[j] - law.armature * drift[j]
    inertias = [ca.SX(6, 6)] + [
        ca.densify(rigid_inertia(source, frames, i)) for i in range(1, len(source.bodies))
    ]
    margins = solved.margins + path_margins(source, frames)
    folded = [
        _Folded(source, cluster, frames, solved, tau, forces, inertias, margins)
        for cluster in reversed(source.clusters)
    ]
    change = {0: ca.SX.zeros(6)}
    acceleration: dict[int, SX] = {}
    for each in reversed(folded):
        each.unfold(change, acceleration)
    return Answer(
        spread(acceleration, source.nv) + drift,
        margins,
        state_margins(source, q) + closing_margins(source, frames, solved),
        power,
        dissipation,
    )


def add_loop_rotors(
    source: Source, loop: SourceLoop, frames: TracedFrames, M: dict[tuple[int, int], SX]
) -> None:
    """Add I l^T l of the rotors of a loop joint to M."""
    if not any(has_rotor(law) for law in loop.laws):
        return
    for law, covector in zip(loop.laws, loop_coordinates(loop, frames)[0]):
        row = loop_jacobian(source, loop, frames, covector)
        for i, x in row.items():
            for j, y in row.items():
                M[i, j] = M.get((i, j), ca.SX(0)) + law.armature * x * y


class _Folded:
    """A cluster after folding: A in factors, and what is left of its forces."""

    def __init__(
        self,
        source: Source,
        cluster: SourceCluster,
        frames: TracedFrames,
        solved: Solved,
        tau: list[SX],
        forces: list[SX],
        inertias: list[SX],
        margins: list[SX],
    ) -> None:
        self.source, self.cluster, self.frames, self.solved = source, cluster, frames, solved
        # leaves first: then the factor of A has no more entries than A
        self.order = list(reversed(cluster.independent))
        U, M, force = self._gather(tau, forces, inertias)
        H = {s: solved.H.get(s, {}) for s in cluster.dependent}
        A, y = self._project(M, force, H)
        self.Z = (
            [
                U[g] + sum((H[s][g] * U[s] for s in H if g in H[s]), ca.SX.zeros(6))
                for g in self.order
            ]
            if cluster.parent > 0
            else []
        )
        self._factor(A, y, margins)
        if cluster.parent > 0:
            self._hand_on(forces, inertias)

    def _gather(
        self, tau: list[SX], forces: list[SX], inertias: list[SX]
    ) -> tuple[dict[int, SX], dict[tuple[int, int], SX], dict[int, SX]]:
        """Return momenta of the coordinates, M and forces left over, from the leaves inwards."""
        source, S = self.source, self.frames.S
        own = set(self.cluster.dofs)
        U, M, force = {}, {}, {}
        for i in reversed(self.cluster.bodies):
            body = source.bodies[i]
            for j in reversed(range(body.iv, body.iv + body.nv)):
                U[j] = inertias[i] @ S[j]
                force[j] = tau[j] - ca.dot(forces[i], S[j])
                above = list(range(body.iv, j + 1))
                up = body.parent
                while up > 0:
                    b = source.bodies[up]
                    above += [k for k in range(b.iv, b.iv + b.nv) if k in own]
                    up = b.parent
                for k in above:
                    M[j, k] = M[k, j] = ca.dot(S[k], U[j])
                M[j, j] += body.laws[j - body.iv].armature
            if body.parent > 0:
                inertias[body.parent] = symmetric(inertias[body.parent] + inertias[i])
            forces[body.parent] = forces[body.parent] + forces[i]
        for k in self.cluster.loops:
            add_loop_rotors(source, source.loops[k], self.frames, M)
        for k in self.cluster.tendons:
            add_tendon_inertia(source, source.springs[k], self.frames, M)
        return U, M, force

    def _project(
        self, M: dict[tuple[int, int], SX], force: dict[int, SX], H: dict[int, dict[int, SX]]
    ) -> tuple[list[list[SX]], list[SX]]:
        """Return A = W^T M W = M_GG + P + P^T with P = H^T (M_SG + M_SS H / 2), and W^T force."""
        zero = ca.SX(0)
        Y: dict[int, dict[int, SX]] = {}
        for s in H:
            Y[s] = {g: M[s, g] for g in self.order if (s, g) in M}
            for other, row in H.items():
                if (s, other) in M:
                    half = 0.5 * M[s, other]
                    for g, h in row.items():
                        Y[s][g] = Y[s].get(g, zero) + half * h
        n = len(self.order)
        P = [[zero] * n for _ in range(n)]
        for s, row in H.items():
            for a, g in enumerate(self.order):
                if g in row:
                    for b, k in enumerate(self.order):
                        if k in Y[s]:
                            P[a][b] = P[a][b] + row[g] * Y[s][k]
        A = [
            [M.get((g, k), zero) + P[a][b] + P[b][a] for b, k in enumerate(self.order)]
            for a, g in enumerate(self.order)
        ]
        y = [
            force[g] + sum((H[s][g] * force[s] for s in H if g in H[s]), zero) for g in self.order
        ]
        return A, y

    def _factor(self, A: list[list[SX]], y: list[SX], margins: list[SX]) -> None:
        """Factor A into L D L^T; y becomes L^-1 y, and Z L^-1 Z."""
        n = len(self.order)
        self.inverse: list[SX] = []
        self.L: list[dict[int, SX]] = [{} for _ in range(n)]  # by column
        self.y, diagonal = y, [A[j][j] for j in range(n)]
        for j in range(n):
            pivot = A[j][j]
            margins.append(pivot - INDEFINITE * diagonal[j])
            self.inverse.append(1 / pivot)
            below = [i for i in range(j + 1, n) if not is_zero(A[i][j])]
            for i in below:
                self.L[j][i] = A[i][j] * self.inverse[j]
            for i in below:
                for k in below:
                    if k >= i:
                        A[k][i] = A[k][i] - self.L[j][k] * A[i][j]
                y[i] = y[i] - self.L[j][i] * y[j]
                if self.Z:
                    self.Z[i] = self.Z[i] - self.L[j][i] * self.Z[j]

    def _hand_on(self, forces: list[SX], inertias: list[SX]) -> None:
        """Take U_G A^-1 U_G^T off the carrier's inertia, and add U_G A^-1 y to its force."""
        up = self.cluster.parent
        inertia = inertias[up]
        for z, d, y in zip(self.Z, self.inverse, self.y):
            scaled = d * z
            inertia = inertia - scaled @ z.T
            forces[up] = forces[up] + scaled * y
        inertias[up] = symmetric(inertia)

    def unfold(self, change: dict[int, SX], acceleration: dict[int, SX]) -> None:
        """Solve for the accelerations of the cluster, given that of its carrier."""
        n, up = len(self.order), change[self.cluster.parent]
        x = [
            self.inverse[j] * (self.y[j] - (ca.dot(self.Z[j], up) if self.Z else 0))
            for j in range(n)
        ]
        for j in reversed(range(n)):
            for i, factor in self.L[j].items():
                x[j] = x[j] - factor * x[i]
        acceleration.update(zip(self.order, x))
        for s in self.cluster.dependent:
            acceleration[s] = sum(
                (h * acceleration[g] for g, h in self.solved.H[s].items()), ca.SX(0)
            )
        for i in self.cluster.bodies:
            body, moved = self.source.bodies[i], change[self.source.bodies[i].parent]
            for j in range(body.iv, body.iv + body.nv):
                moved = moved + self.frames.S[j] * acceleration[j]
            change[i] = moved
