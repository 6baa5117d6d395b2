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
The functions that are generated: each algorithm traced over symbols, inputs and outputs named.

Every function that rests on pivots also gives `margin`, and `closed` where it asks for closed
loops and unit quaternions: where an entry of these is not positive, the answer does not count.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca

from closed_chain_dynamics.codegen.actuation import motor_matrix
from closed_chain_dynamics.codegen.cache import DRIVE
from closed_chain_dynamics.codegen.elimination import Solved, solve_constraints, with_sparse_choice
from closed_chain_dynamics.codegen.expressions import SX, Symbols
from closed_chain_dynamics.codegen.forward import (
    closing_margins,
    forward_dynamics,
    spread,
    state_margins,
)
from closed_chain_dynamics.codegen.inverse import basis, inverse_dynamics, project, tree_forces
from closed_chain_dynamics.codegen.loops import cluster_rows
from closed_chain_dynamics.codegen.manifold import advance, integrate, local_rate, tangent_map
from closed_chain_dynamics.codegen.run_traces import RUN_TRACES
from closed_chain_dynamics.codegen.slope_traces import SLOPE_TRACES
from closed_chain_dynamics.codegen.source import Source
from closed_chain_dynamics.codegen.tree import motion, place

__all__ = [
    'TRACES',
    'Trace',
    'completed_acceleration',
    'completed_velocity',
    'generalized_forces',
    'trace',
    'traced',
]

CLOSED_BY_PROJECTION = (
    1e-10,
    2e-5,
)  # error of the loops after a projection, by precision [m or rad]


@dataclass(frozen=True)
class Trace:
    """A traced function: a CasADi Function, with shapes of what goes in and comes out."""

    name: str
    function: Any  # casadi.Function
    inputs: dict[str, int]
    outputs: dict[str, tuple[int, int]]


def _column(items: list[SX]) -> SX:
    return ca.densify(ca.vertcat(*items)) if items else ca.SX.zeros(0, 1)


def _placements(source: Source) -> tuple[Symbols, Symbols]:
    q = ca.SX.sym('q', source.nq)
    frames = place(source, q)
    rows = []
    for body, R, p in source.links.values():
        R_body, p_body = frames.axes @ frames.R[body], frames.axes @ frames.p[body]
        R_world, p_world = R_body @ ca.DM(R), p_body + R_body @ ca.DM(p) + frames.origin
        rows.append(ca.horzcat(ca.vec(R_world.T).T, p_world.T))
    return {'q': q}, {'placements': ca.vertcat(*rows), 'closed': _column(state_margins(source, q))}


def _coordinates(source: Source) -> tuple[Symbols, Symbols]:
    q = ca.SX.sym('q', source.nq)
    frames = place(source, q)
    solved = solve_constraints(source, frames, q)
    by_row: dict[tuple[int, int], SX] = {}
    for c in range(len(source.clusters)):
        for row in cluster_rows(source, c, frames, q, None, None, as_in_core=True):
            for j, x in row.entries.items():
                by_row[row.number, j] = x
    J = ca.SX.zeros(source.rows, source.nv)
    for (r, j), x in by_row.items():
        J[r, j] = x
    closed = state_margins(source, q) + closing_margins(source, frames, solved)
    return {'q': q}, {
        'W': basis(source, solved),
        'S': motor_matrix(source, frames, solved),
        'J_C': J,
        'margin': _column(solved.margins),
        'closed': _column(closed),
    }


def _forward(source: Source) -> tuple[Symbols, Symbols]:
    q, v = ca.SX.sym('q', source.nq), ca.SX.sym('v', source.nv)
    tau = ca.SX.sym('tau', len(source.motors))
    answer = forward_dynamics(with_sparse_choice(source), q, v, tau)
    if source.symbols:  # parameters come behind the torques: both differ from state to state
        tau = ca.vertcat(tau, source.symbols[0])
    return {'q': q, 'v': v, 'tau': tau}, {
        'acceleration': answer.acceleration,
        'margin': _column(answer.margins),
        'closed': _column(answer.closed),
    }


def _inverse(source: Source) -> tuple[Symbols, Symbols]:
    q, v = ca.SX.sym('q', source.nq), ca.SX.sym('v', source.nv)
    a = ca.SX.sym('a', source.nv)
    return {'q': q, 'v': v, 'a': a}, _torques(source, q, v, a)


def _gravity(source: Source) -> tuple[Symbols, Symbols]:
    q, rest = ca.SX.sym('q', source.nq), ca.SX.zeros(source.nv)
    return {'q': q}, _torques(source, q, rest, rest)


def _torques(source: Source, q: SX, v: SX, a: SX) -> Symbols:
    t = inverse_dynamics(source, q, v, a)
    return {
        'tau_O': t.tau_O,
        'tau_G': t.tau_G,
        'tau_A': t.tau_A,
        'residual': t.residual,
        'margin': _column(t.margins),
        'closed': _column(t.closed),
    }


def _drive(source: Source) -> tuple[Symbols, Symbols]:
    """Return the torques that give theta_G'': completion and inverse dynamics in one."""
    q, v = ca.SX.sym('q', source.nq), ca.SX.sym('v', source.nv)
    rates = ca.SX.sym('rates', len(source.independent))
    t = _torques(source, q, v, completed_acceleration(source, q, v, rates))
    return {'q': q, 'v': v, 'rates': rates}, {key: t[key] for key in ('tau_A', 'margin', 'closed')}


def _completed(source: Source, solved: Solved, rates: SX) -> SX:
    """Return W times rates of theta_G."""
    given = {g: rates[n] for n, g in enumerate(source.independent)}
    for s, row in solved.H.items():
        given[s] = sum((h * given[g] for g, h in row.items()), ca.SX(0))
    return spread(given, source.nv)


def _velocity(source: Source) -> tuple[Symbols, Symbols]:
    q, rates = ca.SX.sym('q', source.nq), ca.SX.sym('rates', len(source.independent))
    frames = place(source, q)
    solved = solve_constraints(source, frames, q)
    closed = state_margins(source, q) + closing_margins(source, frames, solved)
    return {'q': q, 'rates': rates}, {
        'v': _completed(source, solved, rates),
        'margin': _column(solved.margins),
        'closed': _column(closed),
    }


def _acceleration(source: Source) -> tuple[Symbols, Symbols]:
    q, v = ca.SX.sym('q', source.nq), ca.SX.sym('v', source.nv)
    rates = ca.SX.sym('rates', len(source.independent))
    frames = place(source, q)
    moving = motion(source, frames, v, None, gravity=False)
    solved = solve_constraints(source, frames, q, v, moving)
    closed = state_margins(source, q) + closing_margins(source, frames, solved)
    a = _completed(source, solved, rates) + spread(solved.drift, source.nv)
    return {'q': q, 'v': v, 'rates': rates}, {
        'a': a,
        'margin': _column(solved.margins),
        'closed': _column(closed),
    }


def completed_velocity(source: Source, q: SX, rates: SX) -> SX:
    """Return theta_O' = W theta_G', Eq. (4)."""
    return _completed(source, solve_constraints(source, place(source, q), q), rates)


def completed_acceleration(source: Source, q: SX, v: SX, rates: SX) -> SX:
    """Return theta_O'' = W theta_G'' + W' theta_G', Eq. (22) of Yamane and Nakamura."""
    frames = place(source, q)
    moving = motion(source, frames, v, None, gravity=False)
    solved = solve_constraints(source, frames, q, v, moving)
    return _completed(source, solved, rates) + spread(solved.drift, source.nv)


def generalized_forces(source: Source, q: SX, v: SX, a: SX) -> SX:
    """Return tau_G = W^T tau_O of a motion, Eq. (7)."""
    frames = place(source, q)
    tau_G = project(
        source, solve_constraints(source, frames, q), tree_forces(source, frames, q, v, a)
    )
    return ca.vertcat(*(tau_G[g] for g in source.independent))


def _newton(source: Source) -> tuple[Symbols, Symbols]:
    q = ca.SX.sym('q', source.nq)
    solved = solve_constraints(source, place(source, q), q)
    closer = integrate(source, q, spread(solved.closing, source.nv)) if source.clusters else q
    return {'q': q}, {'q_next': closer, 'margin': _column(solved.margins)}


def _settle(source: Source) -> tuple[Symbols, Symbols]:
    q, v = ca.SX.sym('q', source.nq), ca.SX.sym('v', source.nv)
    frames = place(source, q)
    solved = solve_constraints(source, frames, q)
    rates = ca.vertcat(*(v[g] for g in source.independent))
    closed = [
        CLOSED_BY_PROJECTION[source.single] ** 2 - error**2
        for error in solved.errors
        if not error.is_constant()
    ]
    flips = closing_margins(source, frames, solved)[len(closed) :]
    return {'q': q, 'v': v}, {
        'v_next': _completed(source, solved, rates),
        'margin': _column(solved.margins),
        'closed': _column(closed + flips),
    }


def _rate(source: Source) -> tuple[Symbols, Symbols]:
    q, v = ca.SX.sym('q', source.nq), ca.SX.sym('v', source.nv)
    u = ca.SX.sym('u', source.nv)
    return {'q': q, 'v': v, 'u': u}, {'rate': local_rate(source, q, v, u)}


def _advance(source: Source) -> tuple[Symbols, Symbols]:
    q, u = ca.SX.sym('q', source.nq), ca.SX.sym('u', source.nv)
    return {'q': q, 'u': u}, {'q_next': advance(source, q, u)}


def _tangent(source: Source) -> tuple[Symbols, Symbols]:
    """Forward dynamics and its derivative along one direction of q (tangent), v and tau."""
    given, answer = _forward(source)
    seeds = {f'd{name}': ca.SX.sym(f'd{name}', x.shape[0]) for name, x in given.items()}
    seeds['dq'] = ca.SX.sym('dq', source.nv)
    moved = tangent_map(source, given['q'], seeds['dq'])
    direction = ca.vertcat(moved, seeds['dv'], seeds['dtau'])
    slope = ca.jtimes(answer['acceleration'], ca.vertcat(*given.values()), direction)
    return {**given, **seeds}, {'slope': slope, 'margin': answer['margin']}


def _velocity_slope(source: Source) -> tuple[Symbols, Symbols]:
    """How the velocity that the loops allow changes along a tangent, rates of theta_G held."""
    given, answer = _velocity(source)
    dq = ca.SX.sym('dq', source.nv)
    slope = ca.jtimes(answer['v'], given['q'], tangent_map(source, given['q'], dq))
    return {**given, 'dq': dq}, {'slope': slope, 'margin': answer['margin']}


TRACES: dict[str, Callable[[Source], tuple[Symbols, Symbols]]] = {
    'placements': _placements,
    'coordinates': _coordinates,
    'forward_dynamics': _forward,
    'inverse_dynamics': _inverse,
    'gravity_torques': _gravity,
    DRIVE: _drive,
    'complete_velocity': _velocity,
    'complete_acceleration': _acceleration,
    'newton_step': _newton,
    'settle_velocity': _settle,
    'local_rate': _rate,
    'advance': _advance,
    'forward_tangent': _tangent,
    'velocity_tangent': _velocity_slope,
}
INNER = {**RUN_TRACES, **SLOPE_TRACES}  # of no use by themselves


def trace(source: Source, name: str) -> Trace:
    """Return one of the functions for a mechanism."""
    return traced(name, *(INNER[name] if name in INNER else TRACES[name])(source))


def traced(name: str, given: Symbols, answers: Symbols) -> Trace:
    """Return a function of what is given, common subexpressions shared."""
    answers = {key: ca.densify(x) for key, x in answers.items()}
    symbols, results = list(given.values()), list(answers.values())
    function = ca.Function(name, symbols, results, list(given), list(answers), {'cse': True})
    return Trace(
        name,
        function,
        {key: x.shape[0] for key, x in given.items()},
        {key: x.shape for key, x in answers.items()},
    )
