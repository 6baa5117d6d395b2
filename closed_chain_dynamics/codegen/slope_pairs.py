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
How what acts between two bodies changes with their motion: loops, springs, motors on cut joints.

Only where one body stands on the other counts, so it is enough to move body 2: by a twist S of its
place, with its velocity and acceleration. Every pair gives tables that a wrench w on body 2, and
every row of a loop, are multiplied with: their slopes along q_j are T_0 S_j + T_1 psi'_j + T_2
psi''_j, and along v_j T_1 S_j + T_2 upsilon_j (see `slope_columns`).
"""

from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from closed_chain_dynamics.codegen.clusters import path_signs
from closed_chain_dynamics.codegen.expressions import SX
from closed_chain_dynamics.codegen.loop_joints import loop_coordinates
from closed_chain_dynamics.codegen.loops import loop_rows
from closed_chain_dynamics.codegen.passive import add_motors, add_passive
from closed_chain_dynamics.codegen.source import Motor, Source, SourceBody
from closed_chain_dynamics.codegen.tree import TracedFrames, TracedMotion
from closed_chain_dynamics.description.elements import JointType

__all__ = ['Pair', 'pairs_of']

ONE, TWO = 1, 2  # the bodies of a pair, when nothing else is there


@dataclass
class Pair:
    """
    Two bodies and what acts between them, as expressions.

    `wrench` (114,): w on body 2 that motors and passive forces exert, then T_0, T_1, T_2 of it row
    by row; empty where nothing does. `rows` (n, 54): covector, T_0 and T_1 of every row of a loop
    (T_2 is the covector), and how the covector changes with a twist of body 2, (6, 6).
    """

    signs: dict[int, float]  # of velocities on the way, +1 towards body 2
    loop: int  # -1 where it is none
    wrench: SX
    rows: SX
    motors: list[int]
    covectors: SX  # of its motors, (n, 6)


def pairs_of(source: Source, frames: TracedFrames, moving: TracedMotion, tau: SX) -> list[Pair]:
    """Return all pairs of bodies with something between them."""
    found = []
    for k, loop in enumerate(source.loops):
        motors = [n for n, motor in enumerate(source.motors) if motor.loop and motor.loop[0] == k]
        springs = tuple(replace(s, loop=0) for s in source.springs if s.loop == k)
        own = replace(source, loops=(replace(loop, body_1=ONE, body_2=TWO),), springs=springs)
        own = replace(
            own,
            motors=tuple(
                Motor(source.motors[n].name, loop=(0, _place(source, n))) for n in motors
            ),
        )
        at = loop.body_1, loop.body_2
        found.append(_pair(source, own, at, frames, moving, motors, tau, k))
    for spring in source.springs:
        if spring.ends is not None:
            (one, p_1), (two, p_2) = spring.ends
            ends = replace(spring, ends=((ONE, p_1), (TWO, p_2)))
            own = replace(source, loops=(), springs=(ends,), motors=())
            found.append(_pair(source, own, (one, two), frames, moving, [], tau))
    for i, body in enumerate(source.bodies):
        if body.lift:
            own = replace(source, loops=(), springs=(), motors=())
            found.append(_pair(source, own, (0, i), frames, moving, [], tau, lifted=body))
    return [pair for pair in found if pair.signs]


def _place(source: Source, n: int) -> int:
    found = source.motors[n].loop
    assert found is not None
    return found[1]


def _ad(V: SX) -> SX:
    """Return the matrix of x -> V x x."""
    turn, slide = ca.skew(V[3:]), ca.skew(V[:3])
    return ca.blockcat([[turn, slide], [ca.SX.zeros(3, 3), turn]])


def _alone(source: Source) -> Source:
    """Return a source of two free bodies: a velocity of each is a part of its twist."""
    world = source.bodies[0]
    bodies = tuple(
        SourceBody(
            str(n), 0, JointType.FLOATING, 0, 6 * (n - 1), 6, np.eye(3), np.zeros(3), 0.0,
            np.zeros(3), np.zeros((3, 3)), 0.0, np.zeros(3), (),
        )
        for n in (ONE, TWO)
    )  # fmt: skip
    return replace(source, bodies=(world, *bodies), nv=12)


def _pair(
    source: Source,
    own: Source,
    at: tuple[int, int],
    frames: TracedFrames,
    moving: TracedMotion,
    motors: list[int],
    tau: SX,
    loop: int = -1,
    lifted: SourceBody | None = None,
) -> Pair:
    """Return a pair: its slopes once over symbols, then with what the two bodies do."""
    own = _alone(own)
    R = [ca.SX.sym(f'R{n}', 3, 3) for n in at]
    p = [ca.SX.sym(f'p{n}', 3) for n in at]
    V, A = [ca.SX.sym(f'V{n}', 6) for n in at], [ca.SX.sym(f'A{n}', 6) for n in at]
    gravity, torques = ca.SX.sym('g', 3), ca.SX.sym('tau', len(motors))
    twist, dV, dA = (ca.SX.sym(name, 6) for name in ('twist', 'dV', 'dA'))
    R_2 = R[1] + ca.skew(twist[3:]) @ R[1]
    p_2 = p[1] + twist[:3] + ca.cross(twist[3:], p[1])
    zero = ca.SX.zeros(3)
    units = [ca.SX(ca.DM.eye(6)[:, n]) for n in range(6)] * 2
    there = TracedFrames(
        ca.SX.eye(3), zero, gravity, [ca.SX.eye(3), R[0], R_2], [zero, p[0], p_2], [], units
    )
    doing = TracedMotion([ca.SX.zeros(6), V[0], V[1] + dV], [ca.SX.zeros(6), A[0], A[1] + dA])
    w = _wrench(own, there, doing, torques, lifted)
    covectors, bias = [], []
    for each in own.loops:
        for row in loop_rows(own, each, there, doing, turns_as_in_core=True):
            covectors.append(ca.vertcat(*(row.entries[6 + n] for n in range(6))) * row.unit)
            bias.append(row.bias * row.unit)
    moves = ca.vertcat(twist, dV, dA)

    def still(x: SX) -> SX:
        return ca.substitute(x, moves, ca.SX.zeros(18))

    def tables(x: SX) -> list[SX]:
        G = still(ca.jacobian(x, moves))
        by_place, by_V, by_A = G[:, :6], G[:, 6:12], G[:, 12:]
        T_1 = by_V - by_A @ _ad(V[1])
        return [by_place - by_V @ _ad(V[1]) - by_A @ _ad(A[1]), T_1, by_A]

    acts = not w.is_zero()
    wrench = ca.vertcat(still(w), *(ca.vec(T.T) for T in tables(w))) if acts else ca.SX(0, 1)
    rows = []
    for c, r in zip(covectors, bias):
        T_0, T_1, _ = tables(r)
        turning = still(ca.jacobian(c, twist))
        rows.append(ca.horzcat(still(c).T, T_0, T_1, ca.vec(turning.T).T))
    levers = [ca.SX(loop_coordinates(own.loops[0], there)[0][_place(source, n)]).T for n in motors]
    given = [*R, *p, *V, *A, gravity, torques]
    asked = [wrench, ca.vertcat(ca.SX(0, 54), *rows), still(ca.vertcat(ca.SX(0, 6), *levers))]
    function = ca.Function('pair', given, [ca.densify(x) for x in asked])
    bodies = [[quantity[n] for n in at] for quantity in (frames.R, frames.p, moving.V, moving.A)]
    flat = [x for each in bodies for x in each]
    pushed = ca.vertcat(*(tau[n] for n in motors)) if motors else ca.SX(0, 1)
    wrench, table, arms = function(*flat, frames.gravity, pushed)
    return Pair(path_signs(source.bodies, *at), loop, wrench, table, motors, arms)


def _wrench(
    own: Source, frames: TracedFrames, moving: TracedMotion, tau: SX, lifted: SourceBody | None
) -> SX:
    """Return the wrench that motors, passive forces and a carried weight exert on body 2."""
    forces, none = [ca.SX.zeros(6)] * 3, [ca.SX(0)] * own.nv
    q = v = ca.SX.zeros(12)
    add_passive(own, frames, moving, q, v, none, forces)
    add_motors(own, frames, moving, v, tau, none, forces)
    w = -forces[TWO]
    if lifted is not None:
        force = -lifted.lift * frames.gravity
        at = frames.p[TWO] + frames.R[TWO] @ ca.SX(lifted.lift_com)
        w = w + ca.vertcat(force, ca.cross(at, force))
    return ca.densify(w)
