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
What `differentiate.c` needs of a mechanism: one trace of numbers, and tables that never change.

The trace is as long as the mechanism is large, whatever the number of directions; who carries
whom, which velocities lie on the way around a loop and what is theta_S are tables of integers.
"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

import casadi as ca
import numpy as np

from closed_chain_dynamics.codegen.clusters import path
from closed_chain_dynamics.codegen.expressions import SX, Symbols
from closed_chain_dynamics.codegen.manifold import tangent_map
from closed_chain_dynamics.codegen.passive import add_motors, add_passive
from closed_chain_dynamics.codegen.slope_columns import COLUMN_WIDTHS, slope_columns
from closed_chain_dynamics.codegen.slope_pairs import pairs_of
from closed_chain_dynamics.codegen.source import Source, SourceCoupling
from closed_chain_dynamics.codegen.tree import TracedFrames, TracedMotion, motion, place

__all__ = ['Slopes']


class Slopes:
    """The quantities of a mechanism that slopes of forward dynamics are made of."""

    def __init__(self, source: Source) -> None:
        self.source, nv = source, source.nv
        self.q, self.v, self.a = (ca.SX.sym(x, n) for x, n in zip('qva', (source.nq, nv, nv)))
        self.tau = ca.SX.sym('tau', len(source.motors))
        frames = place(source, self.q)
        moving = motion(source, frames, self.v, self.a)
        self.columns = slope_columns(source, frames, moving)
        self.pairs = pairs_of(source, frames, moving, self.tau)
        self.rest = self._rest(frames, moving)
        self.by_q, self.by_v, self.by_a = self._joint_slopes(frames, moving)

    def numbers(self) -> tuple[Symbols, Symbols]:
        """Return the trace of all numbers at a state with accelerations a under torques tau."""
        pairs = [ca.vec(x.T) for p in self.pairs for x in (p.wrench, p.rows, p.covectors)]
        couplings = [self._coupling(each) for each in self.source.couplings]
        entries = [x[i, j] for x in (self.by_q, self.by_v, self.by_a) for i, j in _places(x)]
        flat = [ca.vec(self.columns.table), *self.rest, *pairs, *couplings, *entries]
        given = {'q': self.q, 'v': self.v, 'tau': self.tau, 'a': self.a}
        return given, {'numbers': ca.densify(ca.vertcat(*flat))}

    def _rest(self, frames: TracedFrames, moving: TracedMotion) -> list[SX]:
        """Return what the motion needs beyond motors and passive forces: J_C^T lambda."""
        source = self.source
        tau, forces = [ca.SX(0)] * source.nv, [ca.SX.zeros(6)] * len(source.bodies)
        add_passive(source, frames, moving, self.q, self.v, tau, forces)
        add_motors(source, frames, moving, self.v, self.tau, tau, forces)
        rest = list(self.columns.needed)
        for i in range(len(source.bodies) - 1, 0, -1):
            body = source.bodies[i]
            if body.lift:
                weight = body.lift * frames.gravity
                at = frames.p[i] + frames.R[i] @ ca.SX(body.lift_com)
                forces[i] = forces[i] + ca.vertcat(weight, ca.cross(at, weight))
            for j, law in enumerate(body.laws, start=body.iv):
                rotor = law.armature * self.a[j]
                rest[j] = rest[j] + ca.dot(frames.S[j], forces[i]) + rotor - tau[j]
            forces[body.parent] = forces[body.parent] + forces[i]
        return rest

    def _joint_slopes(self, frames: TracedFrames, moving: TracedMotion) -> tuple[SX, SX, SX]:
        """
        Return slopes of the passive forces of tree joints and tendons by q, v, a: sparse (nv, nv).

        A tendon pulls on all its bodies at once, so it is no pair.
        """
        source = self.source
        alone = tuple(each for each in source.springs if each.ends is None and each.loop is None)
        tau, forces = [ca.SX(0)] * source.nv, [ca.SX.zeros(6)] * len(source.bodies)
        own = replace(source, loops=(), springs=alone)
        add_passive(own, frames, moving, self.q, self.v, tau, forces)
        for i in range(len(source.bodies) - 1, 0, -1):
            body = source.bodies[i]
            for j in range(body.iv, body.iv + body.nv):
                tau[j] = tau[j] - ca.dot(frames.S[j], forces[i])
            forces[body.parent] = forces[body.parent] + forces[i]
        force, along = ca.vertcat(*tau), ca.SX.sym('along', source.nv)
        moved = ca.jacobian(tangent_map(source, self.q, along), along)
        by_q = ca.jacobian(force, self.q) @ moved
        by_v, by_a = ca.jacobian(force, self.v), ca.jacobian(force, self.a)
        return ca.sparsify(by_q), ca.sparsify(by_v), ca.sparsify(by_a)

    def _coupling(self, coupling: SourceCoupling) -> SX:
        """Return for every term: J, the slopes of the row by q and v, and that of J by q."""
        found = []
        for dof, iq, coefficients in coupling.terms:
            x, v, a = self.q[iq], self.v[dof], self.a[dof]
            value = sum((c * x**n for n, c in enumerate(coefficients, start=1)), ca.SX(0))
            first = ca.jacobian(value, x)
            second = ca.jacobian(first, x)
            by_q = second * a + ca.jacobian(second, x) * v**2
            found += [first, by_q, 2 * second * v, second]
        return ca.vertcat(*found)

    # --- tables -------------------------------------------------------------------------------
    def tables(self) -> str:
        """Return what never changes, as C."""
        return self._sizes() + self._tree_tables() + self._cluster_tables() + self._pair_tables()

    def _sizes(self) -> str:
        clusters = self.source.clusters
        ends = np.cumsum([0, *COLUMN_WIDTHS.values()]).tolist()
        sizes = {
            **{f'AT_{key}': at for key, at in zip(COLUMN_WIDTHS, ends)},
            'COLUMN': ends[-1],
            'NV': self.source.nv,
            'NG': len(self.source.independent),
            'NA': len(self.source.motors),
            'ROWS': self._rows()[0][-1],
            'CLUSTERS': len(clusters),
            'MOST_ROWS': max((b - a for a, b in pairwise(self._rows()[0])), default=0),
            'MOST_DOFS': max((len(c.dofs) for c in clusters), default=0),
            'PAIRS': len(self.pairs),
            'COUPLINGS': len(self.source.couplings),
            'BY_Q': self.by_q.nnz(),
            'BY_V': self.by_v.nnz(),
            'BY_A': self.by_a.nnz(),
        }
        return ''.join(f'#define {key} {value}\n' for key, value in sizes.items())

    def _tree_tables(self) -> str:
        bodies = self.source.bodies
        owners = [i for i, body in enumerate(bodies) for _ in range(body.nv)]
        own = [list(range(body.iv, body.iv + body.nv)) for body in bodies]
        carriers = [[k for b in path(bodies, i, 0)[1:] for k in own[b]] for i in owners]
        rotors = [law.armature for body in bodies[1:] for law in body.laws] or [0.0]
        motors = [-1 if motor.dof is None else motor.dof for motor in self.source.motors]
        text = _lists('carriers', carriers) + _lists('own', [own[i] for i in owners])
        text += _ints('tree_motor', motors)
        for name, x in (('by_q', self.by_q), ('by_v', self.by_v), ('by_a', self.by_a)):
            text += _ints(f'{name}_row', (i for i, _ in _places(x)))
            text += _ints(f'{name}_column', (j for _, j in _places(x)))
        return text + f'static const double rotor[] = {{{", ".join(map(repr, rotors))}}};\n'

    def _rows(self) -> tuple[list[int], dict[int, int], dict[int, int]]:
        """Return the first row of every cluster, and those of loops and couplings."""
        width = {pair.loop: pair.rows.shape[0] for pair in self.pairs}
        first, loops, couplings, row = [], {}, {}, 0
        for cluster in self.source.clusters:
            first.append(row)
            for k in cluster.loops:
                loops[k] = row
                row += width[k]
            for k in cluster.couplings:
                couplings[k] = row
                row += 1
        return [*first, row], loops, couplings

    def _cluster_tables(self) -> str:
        clusters, couplings = self.source.clusters, self.source.couplings
        dofs = [[*cluster.dependent, *cluster.independent] for cluster in clusters]
        local = {j: n for own in dofs for n, j in enumerate(own)}
        first, _, rows = self._rows()
        text = _ints('cluster_row', first) + _ints('rank', (len(c.dependent) for c in clusters))
        text += _ints('cluster_G', np.cumsum([0, *(len(c.independent) for c in clusters)]))
        text += _lists('dofs', dofs) + _ints('local', (local[j] for j in range(self.source.nv)))
        text += _ints('coupling_row', (rows[k] for k in range(len(couplings))))
        return text + _lists('terms', [[dof for dof, _, _ in each.terms] for each in couplings])

    def _pair_tables(self) -> str:
        _, rows, _ = self._rows()
        pairs = self.pairs
        text = _ints('pair_row', (rows.get(pair.loop, 0) for pair in pairs))
        text += _ints('pair_rows', (pair.rows.shape[0] for pair in pairs))
        text += _ints('pair_acts', (pair.wrench.shape[0] > 0 for pair in pairs))
        text += _lists('way', [list(pair.signs) for pair in pairs])
        text += _ints('way_sign', (sign for pair in pairs for sign in pair.signs.values()))
        text += _lists('pair_motors', [pair.motors for pair in pairs])
        return text + _ints('carried', self._carried())

    def _carried(self) -> list[int]:
        """Return for all two velocities of a way whether the second carries the first."""
        bodies = self.source.bodies
        owners = [i for i, body in enumerate(bodies) for _ in range(body.nv)]
        carriers = [set(path(bodies, i, 0)) for i in range(len(bodies))]
        return [
            int(owners[j] in carriers[owners[k]])
            for pair in self.pairs
            for k in pair.signs
            for j in pair.signs
        ]


def _places(x: SX) -> list[tuple[int, int]]:
    return list(zip(*x.sparsity().get_triplet()))


def _ints(name: str, values: Iterable[float]) -> str:
    numbers = ', '.join(str(int(x)) for x in values)
    return f'static const int {name}[] = {{{numbers or 0}}};\n'


def _lists(name: str, lists: list[list[int]]) -> str:
    """Return lists one behind the other, and where each begins."""
    begins = np.cumsum([0, *map(len, lists)])
    return _ints(f'{name}_from', begins) + _ints(name, [x for each in lists for x in each])
