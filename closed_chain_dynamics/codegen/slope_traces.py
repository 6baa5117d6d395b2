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
What derivatives of forward dynamics are made of, by the theorem of implicit functions.

Accelerations a make two residuals vanish, whatever q and v are: of the motion,
g = W^T (tau_O(q, v, a) - motors), and of the loops, e = H a_G + drift - a_S. Both are slopes of
inverse dynamics, a third of the operations of forward dynamics and without any factor of A; what
is left is linear: A da_G = -dg - W^T M de with de in the rows of theta_S, and da = W da_G + de.
"""

import casadi as ca

from closed_chain_dynamics.codegen.actuation import motor_matrix
from closed_chain_dynamics.codegen.elimination import solve_constraints, with_sparse_choice
from closed_chain_dynamics.codegen.expressions import SX, Symbols
from closed_chain_dynamics.codegen.forward import add_loop_rotors, spread
from closed_chain_dynamics.codegen.inverse import basis, project, tree_forces
from closed_chain_dynamics.codegen.manifold import tangent_map
from closed_chain_dynamics.codegen.passive import add_motors
from closed_chain_dynamics.codegen.source import Source
from closed_chain_dynamics.codegen.tendons import add_tendon_inertia, path_margins
from closed_chain_dynamics.codegen.tree import (
    TracedFrames,
    motion,
    place,
    rigid_inertia,
    symmetric,
)

__all__ = ['SLOPE_TRACES']


def _residual_slope(source: Source) -> tuple[Symbols, Symbols]:
    """How g by theta_G, then e by velocity, change along a direction of q (tangent) and v."""
    source = with_sparse_choice(source)
    nv = source.nv
    q, v, a = ca.SX.sym('q', source.nq), ca.SX.sym('v', nv), ca.SX.sym('a', nv)
    tau = ca.SX.sym('tau', len(source.motors))
    frames = place(source, q)
    moving = motion(source, frames, v, None, gravity=False)
    solved = solve_constraints(source, frames, q, v, moving)
    tau_O = tree_forces(source, frames, q, v, a)
    pushed, forces = [ca.SX(0)] * nv, [ca.SX.zeros(6)] * len(source.bodies)
    add_motors(source, frames, moving, v, tau, pushed, forces)
    for i in range(len(source.bodies) - 1, 0, -1):
        body = source.bodies[i]
        for j in range(body.iv, body.iv + body.nv):
            tau_O[j] = tau_O[j] - pushed[j] + ca.dot(frames.S[j], forces[i])
        forces[body.parent] = forces[body.parent] + forces[i]
    tau_G = project(source, solved, tau_O)
    g = [tau_G[j] for j in source.independent]
    e = {
        s: sum((h * a[j] for j, h in row.items()), solved.drift[s]) - a[s]
        for s, row in solved.H.items()
    }
    dq, dv = ca.SX.sym('dq', nv), ca.SX.sym('dv', nv)
    direction = ca.vertcat(tangent_map(source, q, dq), dv)
    slope = ca.jtimes(ca.vertcat(*g, spread(e, nv)), ca.vertcat(q, v), direction)
    given = {'q': q, 'v': v, 'tau': tau, 'a': a, 'dq': dq, 'dv': dv}
    margins = solved.margins + path_margins(source, frames)
    return given, {'slope': slope, 'margin': ca.vertcat(*margins)}


def _linear_part(source: Source) -> tuple[Symbols, Symbols]:
    """M of the tree, and W and S in the theta_G of derivatives."""
    source = with_sparse_choice(source)
    q = ca.SX.sym('q', source.nq)
    frames = place(source, q)
    solved = solve_constraints(source, frames, q)
    return {'q': q}, {
        'M': mass_matrix(source, frames),
        'W': basis(source, solved),
        'S': motor_matrix(source, frames, solved),
        'margin': ca.vertcat(*solved.margins),
    }


def mass_matrix(source: Source, frames: TracedFrames) -> SX:
    """Return M of the tree by composite inertias, (nv, nv)."""
    inertias = [ca.SX(6, 6)] + [
        ca.densify(rigid_inertia(source, frames, i)) for i in range(1, len(source.bodies))
    ]
    M: dict[tuple[int, int], SX] = {}
    for i in range(len(source.bodies) - 1, 0, -1):
        body = source.bodies[i]
        for j in range(body.iv, body.iv + body.nv):
            momentum = inertias[i] @ frames.S[j]
            above, up = list(range(body.iv, j + 1)), body.parent
            while up > 0:
                carrier = source.bodies[up]
                above += range(carrier.iv, carrier.iv + carrier.nv)
                up = carrier.parent
            for k in above:
                M[j, k] = M[k, j] = ca.dot(frames.S[k], momentum)
            M[j, j] += body.laws[j - body.iv].armature
        if body.parent > 0:
            inertias[body.parent] = symmetric(inertias[body.parent] + inertias[i])
    for loop in source.loops:
        add_loop_rotors(source, loop, frames, M)
    for spring in source.springs:
        if spring.armature:
            add_tendon_inertia(source, spring, frames, M)
    rows = range(source.nv)
    return ca.horzcat(
        *(spread({i: M[i, j] for i in rows if (i, j) in M}, source.nv) for j in rows)
    )


SLOPE_TRACES = {'residual_slope': _residual_slope, 'linear_part': _linear_part}
