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
What a simulation in generated code is made of: slopes of a stage, closing the loops, a look.

Within a step friction acts as it was noted, and whole turns of joints that close loops are
counted: both are inputs here, `slide` and `seen`, so that neither makes the code another one.
"""

from dataclasses import replace
from typing import Any

import casadi as ca

from closed_chain_dynamics.codegen.elimination import solve_constraints, with_sparse_choice
from closed_chain_dynamics.codegen.expressions import SX, Symbols
from closed_chain_dynamics.codegen.forward import forward_dynamics, spread
from closed_chain_dynamics.codegen.loop_joints import loop_coordinates
from closed_chain_dynamics.codegen.loops import flip_margins
from closed_chain_dynamics.codegen.manifold import integrate
from closed_chain_dynamics.codegen.passive import passive_energy
from closed_chain_dynamics.codegen.source import Source, counted_loops
from closed_chain_dynamics.codegen.tendons import tendon_energy
from closed_chain_dynamics.codegen.tree import motion, place, point_velocity

__all__ = ['RUN_TRACES']


def _in_a_step(source: Source) -> tuple[Source, SX, SX]:
    """Return the source with symbols for what is noted between steps, and these."""
    rubbing = [w for w in source.watched if w.rubs]
    counted = counted_loops(source)
    slide, seen = ca.SX.sym('slide', len(rubbing)), ca.SX.sym('seen', len(counted))
    bodies, loops = list(source.bodies), list(source.loops)
    for n, k in enumerate(counted):
        loops[k] = replace(loops[k], seen=seen[n])
    for n, w in enumerate(rubbing):
        if w.loop < 0:
            i = next(
                i
                for i, b in enumerate(bodies)
                if 0 <= w.coordinate - b.iv < b.nv and b.parent >= 0
            )
            bodies[i] = replace(
                bodies[i], laws=_with(bodies[i].laws, w.coordinate - bodies[i].iv, slide[n])
            )
        else:
            loop = loops[w.loop]
            loops[w.loop] = replace(loop, laws=_with(loop.laws, w.coordinate, slide[n]))
    return replace(source, bodies=tuple(bodies), loops=tuple(loops)), slide, seen


def _with(laws: tuple[Any, ...], k: int, slide: SX) -> tuple[Any, ...]:
    return tuple(replace(law, slide=slide) if n == k else law for n, law in enumerate(laws))


def _column(items: list[SX]) -> SX:
    return ca.densify(ca.vertcat(*items)) if items else ca.SX.zeros(0, 1)


def _slopes(source: Source) -> tuple[Symbols, Symbols]:
    """Accelerations, and the power of motors and of what is lost."""
    source, slide, seen = _in_a_step(source)
    q, v = ca.SX.sym('q', source.nq), ca.SX.sym('v', source.nv)
    tau = ca.SX.sym('tau', len(source.motors))
    answer = forward_dynamics(with_sparse_choice(source), q, v, tau)
    return {'q': q, 'v': v, 'tau': tau, 'slide': slide, 'seen': seen}, {
        'acceleration': answer.acceleration,
        'powers': ca.vertcat(answer.power, answer.dissipation),
        'margin': _column(answer.margins),
    }


def _closing(source: Source) -> tuple[Symbols, Symbols]:
    """Errors of loops and couplings, the velocity that they allow, and Newton's step."""
    q, v = ca.SX.sym('q', source.nq), ca.SX.sym('v', source.nv)
    frames = place(source, q)
    solved = solve_constraints(source, frames, q)
    step = spread(solved.closing, source.nv)
    given = {g: v[g] for g in source.independent}
    for s, row in solved.H.items():
        given[s] = sum((h * given[g] for g, h in row.items()), ca.SX(0))
    return {'q': q, 'v': v}, {
        'v_next': spread(given, source.nv),
        'q_next': integrate(source, q, step) if source.rows else q,
        'newton': step,
        'errors': _column(_loops_first(source, solved.errors)),
        'flips': _column(flip_margins(source, frames)),
        'margin': _column(solved.margins),
    }


def _loops_first(source: Source, errors: list[SX]) -> list[SX]:
    """Return errors of all clusters, those of couplings last."""
    loops, couplings, at = [], [], 0
    for cluster in source.clusters:
        rows = sum(source.loops[k].kind.rows for k in cluster.loops)
        loops += errors[at : at + rows]
        couplings += errors[at + rows : at + rows + len(cluster.couplings)]
        at += rows + len(cluster.couplings)
    return loops + couplings


def _look(source: Source) -> tuple[Symbols, Symbols]:
    """Energies: kinetic, of gravity, stored; positions and rates of what is watched."""
    source, _, seen = _in_a_step(source)
    q, v = ca.SX.sym('q', source.nq), ca.SX.sym('v', source.nv)
    frames = place(source, q)
    moving = motion(source, frames, v, None, gravity=False)
    kinetic, gravity = ca.SX(0), ca.SX(0)
    height = ca.dot(source.gravity, frames.origin)  # of the common point, along gravity
    for i, body in enumerate(source.bodies[1:], start=1):
        velocity = point_velocity(moving.V[i], frames.c[i])
        omega = frames.R[i].T @ moving.V[i][3:]
        turning = ca.dot(omega, ca.SX(body.inertia) @ omega)
        kinetic = kinetic + 0.5 * (body.mass * ca.sumsqr(velocity) + turning)
        gravity = gravity - body.mass * (ca.dot(frames.gravity, frames.c[i]) + height)
        if body.lift:
            at = frames.p[i] + frames.R[i] @ ca.DM(body.lift_com)
            gravity = gravity + body.lift * (ca.dot(frames.gravity, at) + height)
        for j, law in enumerate(body.laws, start=body.iv):
            kinetic = kinetic + 0.5 * law.armature * v[j] ** 2
    for loop in source.loops:
        relative = moving.V[loop.body_2] - moving.V[loop.body_1]
        for law, covector in zip(loop.laws, loop_coordinates(loop, frames)[0]):
            kinetic = kinetic + 0.5 * law.armature * ca.dot(covector, relative) ** 2
    for spring in source.springs:
        if spring.armature:
            kinetic = kinetic + tendon_energy(source, spring, frames, moving)
    positions, rates = [], []
    for w in source.watched:
        if w.loop < 0:
            positions.append(q[w.iq])
            rates.append(v[w.coordinate])
        else:
            loop = source.loops[w.loop]
            covectors, position = loop_coordinates(loop, frames)
            positions.append(position)
            relative = moving.V[loop.body_2] - moving.V[loop.body_1]
            rates.append(ca.dot(covectors[w.coordinate], relative))
    given = {'q': q, 'v': v, 'seen': seen}
    if source.symbols:
        given['p'] = source.symbols[0]
    return given, {
        'energies': ca.vertcat(kinetic, gravity, passive_energy(source, frames, q)),
        'positions': _column(positions),
        'rates': _column(rates),
    }


RUN_TRACES = {'slopes': _slopes, 'closing': _closing, 'look': _look}
