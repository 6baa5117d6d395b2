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

"""The chain rule through traced functions: values and slopes along directions, pushed on."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.codegen.gathering import gather
from closed_chain_dynamics.codegen.source import Source
from closed_chain_dynamics.errors import SingularityError
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['Pushed', 'TracedChain']

Pushed = tuple[Array, Array]  # a value, (n,), and its slopes along all directions, (n, directions)


class TracedChain:
    """The traced functions of one mechanism, pushing values and slopes through them."""

    def __init__(self, robot: Mechanism, q: Array, parameters: Sequence[str], n: int) -> None:
        import casadi as ca

        from closed_chain_dynamics.codegen.parameters import with_parameters

        self.name, self.ca = robot.name, ca
        self.plain: Source = gather(robot, q)
        self.source, self._p, values = with_parameters(robot, self.plain, list(parameters))
        slopes = np.zeros((len(values), n))
        slopes[:, n - len(values) :] = np.eye(len(values))
        self._given: Pushed = np.array(values), slopes
        self._functions: dict[str, Any] = {}

    def _function(self, name: str) -> Any:
        """Return a function of inputs and directions: outputs and slopes, margins last."""
        from closed_chain_dynamics.codegen.traces import TRACES

        ca = self.ca
        if name not in self._functions:
            given, answers = TRACES[name](self.source)
            margin = answers.pop('margin', ca.SX.zeros(0, 1))
            closed = answers.pop('closed', ca.SX.zeros(0, 1))
            if name != 'forward_dynamics':  # within a step loops are a little open
                margin = ca.vertcat(margin, closed)
            if 'tau' in given:  # parameters come behind the torques there, here by themselves
                given['tau'] = given['tau'][: len(self.source.motors)]
            given['p'] = self._p
            seeds = [ca.SX.sym(f'd{key}', x.shape[0]) for key, x in given.items()]
            inputs, direction = ca.vertcat(*given.values()), ca.vertcat(*seeds)
            values = [ca.densify(ca.vec(x)) for x in answers.values()]
            slopes = [ca.densify(ca.jtimes(x, inputs, direction)) for x in values]
            self._functions[name] = (
                list(given),
                list(answers),
                ca.Function(
                    name, [*given.values(), *seeds], [*values, *slopes, margin], {'cse': True}
                ),
            )
        return self._functions[name]

    def __call__(self, function: str, wanted: str, **given: Pushed) -> Pushed:
        """Return an output of a function, pushed."""
        inputs, outputs, run = self._function(function)
        pushed = [{**given, 'p': self._given}[key] for key in inputs]
        columns = max(pushed[0][1].shape[1], 1)
        found = run(
            *(np.repeat(value[:, None], columns, axis=1) for value, _ in pushed),
            *(slopes if slopes.shape[1] else np.zeros((len(slopes), 1)) for _, slopes in pushed),
        )
        if not np.all(np.asarray(found[-1]) > 0.0):
            raise SingularityError(
                'pivots that were chosen in this pose fail within the step, or loops stay open',
                where=self.name,
                repair='The pose is close to a singular one: take a smaller dt, or another pose.',
            )
        k = outputs.index(wanted)
        value, slopes = np.asarray(found[k]), np.asarray(found[k + len(outputs)])
        return value[:, 0], slopes[:, : pushed[0][1].shape[1]]

    def tangents(self, q: Array) -> Array:
        """Return the map from small motions to changes of the numbers of q, (nq, nv)."""
        from closed_chain_dynamics.codegen.manifold import tangent_map

        ca = self.ca
        x, u = ca.SX.sym('x', self.plain.nq), ca.SX.sym('u', self.plain.nv)
        moved = ca.Function('T', [x, u], [tangent_map(self.plain, x, u)])
        nv = self.plain.nv
        found = moved(np.repeat(q[:, None], nv, axis=1), np.eye(nv))
        return np.asarray(found)[:, :nv]  # CasADi would take no columns for one

    def closed(self, q: Array, v: Array, n: int) -> tuple[Pushed, Pushed]:
        """Return pose and velocity along motions of theta_G and its rate, from direction 0 on."""
        G = list(self.plain.independent)
        m = len(G)
        dq, dr = np.zeros((len(v), n)), np.zeros((m, n))
        dq[G, range(m)] = 1.0
        dr[:, m : 2 * m] = np.eye(m)
        pose = self('newton_step', 'q_next', q=(q, self.tangents(q) @ dq))
        return pose, self('complete_velocity', 'v', q=pose, rates=(v[G], dr))
