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
Three ways to eliminate the constraints of loops and gears (Schappler et al.).

'te'  trigonometric elimination: sines and cosines of q_2 as functions of q_1, Eq. (3), and W by
      differentiating them, Eq. (4);
'de'  direct elimination: the same with q_2 = f(q_1) by arctangents, Eq. (2);
'ic'  implicit constraints: W = [E; -J_2^-1 J_1], Eqs. (13) to (15). The terms take all of q,
      closed, because q_2 is not solved for; joints of any kind.

Their terms leave dampers out; here these are tau_1d.
"""

from collections.abc import Callable
from typing import Any

import casadi as ca
from numpy.typing import ArrayLike

from closed_chain_dynamics.assembly.search import assemble
from closed_chain_dynamics.codegen.expressions import SX
from closed_chain_dynamics.codegen.manifold import tangent_map
from closed_chain_dynamics.description.tree import Tree
from closed_chain_dynamics.errors import NameNotFound, StructureError
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.symbolic import tree_dynamics
from closed_chain_dynamics.symbolic.angles import Angle
from closed_chain_dynamics.symbolic.closed_form import ClosedForm
from closed_chain_dynamics.symbolic.constraints import (
    blocks_of,
    constraint_rows,
    independent_rows,
    solution,
)
from closed_chain_dynamics.symbolic.reduced_equations import REDUCED_TERMS, ReducedEquations
from closed_chain_dynamics.symbolic.tree import number

__all__ = ['METHODS', 'Explicit', 'Implicit', 'OpenTree', 'derive']

METHODS = ('te', 'de', 'ic')


def derive(
    robot: Mechanism,
    method: str = 'te',
    q: ArrayLike | None = None,
    *,
    progress: Callable[[int], object] | None = None,
) -> ReducedEquations:
    """
    Return the ReducedEquations of a mechanism.

    `method`: 'te', 'de' or 'ic'; `q`: a closed pose that decides the branch of every loop and the
    independent coordinates; default: what `assemble` finds. `progress`, if given, is called with
    the number of operations after every term.
    """
    if method not in METHODS:
        raise NameNotFound('method', method, METHODS, where=robot.name)
    kind: type[ReducedEquations] = Implicit if method == 'ic' else Explicit
    return kind(robot, assemble(robot) if q is None else q, method, progress)


class Explicit(ReducedEquations):
    """Elimination by a closed form of the dependent coordinates."""

    position = 'q_1'
    term_names = tuple(REDUCED_TERMS)

    def _close(self) -> None:
        for joint in self.robot.description.joints:
            if joint.type.nv > 1:
                raise StructureError(
                    f'joint {joint.name!r} is {joint.type.value} and has {joint.type.nv} '
                    'coordinates',
                    where=self.robot.name,
                    repair="Pass method='ic' (implicit constraints), which takes any joint.",
                )
        bodies = self.tree.bodies
        moved = {body.given.iv: i for i, body in enumerate(bodies) if i}
        owners = [moved[place] for place in self._first]
        symbols = [ca.SX.sym(f'q_{name}') for name in self.independent]
        self.inputs = ca.vertcat(*symbols) if symbols else ca.SX.zeros(0)
        form = ClosedForm(
            self.tree,
            dict(zip(owners, symbols)),
            {i: float(self.pose[b.given.iq]) for i, b in enumerate(bodies) if i},
            self._outward(),
            explicit=self.method == 'de',
        )
        self.branches = form.branches
        state = [ca.SX(0), *(form.state[i] for i in range(1, len(bodies)))]
        self.pose_of_bodies = self.tree.pose(state)
        rows = [self._rate(i, state[i], owners) for i in range(1, len(bodies))]
        by_place = dict(zip((body.given.iv for body in bodies[1:]), rows))
        self.W = ca.vertcat(*(by_place[j] for j in range(self.source.nv)))
        self.form = form

    def _outward(self) -> list[int]:
        """Return the bodies in the order of the file's tree, those near the root first."""
        description = self.robot.description
        numbers = {body.joint: i for i, body in enumerate(self.tree.bodies) if i}
        joints = Tree(description.joints).outward(description.root)
        return [numbers[joint.name] for joint in joints if joint.name in numbers]

    @property
    def q(self) -> SX:  # type: ignore[override]  # arctangents only where they are asked for
        """Return the positions of all joints."""
        order = sorted(range(1, len(self.tree.bodies)), key=lambda i: self.tree.bodies[i].given.iq)
        return ca.vertcat(*(self.form.value(i) for i in order))

    def _rate(self, i: int, entry: Any, owners: list[int]) -> SX:
        """Return a row of W = dq/dq_1, Eq. (4)."""
        if i in owners:
            return ca.SX(ca.DM.eye(len(owners)))[owners.index(i), :]
        if isinstance(entry, Angle) and entry.value is None:
            cos, sin = ca.jacobian(entry.cos, self.inputs), ca.jacobian(entry.sin, self.inputs)
            return entry.cos * sin - entry.sin * cos
        value: SX = entry.value if isinstance(entry, Angle) else entry
        return ca.jacobian(value, self.inputs)

    def _along(self, x: SX) -> SX:
        return ca.jtimes(x, self.inputs, self.v_1)

    def _drift(self) -> SX:
        return self._along(self._v)

    def _slope(self, energy: SX) -> SX:
        return ca.gradient(energy, self.inputs)

    def _g_1(self) -> SX:
        """Return the gradient of the potential: backward through the closed form, without W."""
        return self._slope(tree_dynamics.gravity_potential(self.tree, self.pose_of_bodies))


class Implicit(ReducedEquations):
    """W from the derivatives J of the constraints; q is closed before."""

    position = 'q'
    term_names = tuple(name for name in REDUCED_TERMS if name != 'q')

    def _close(self) -> None:
        self.q = self.inputs = ca.vertcat(*(ca.SX.sym(f'q_{x}') for x in self.position_names))
        self.pose_of_bodies = self.tree.pose(self.tree.state(self.q))
        first = self._first
        self._second = [j for j in range(self.source.nv) if j not in first]
        J = constraint_rows(self.tree, self.pose_of_bodies, self.q)
        at_pose = number(self.tree.numbers(J)[0], self.q, self.pose)
        self.J = independent_rows(J, at_pose, self._second)
        self._blocks = blocks_of(self.J, self._second)
        H = self._solved(-self.J[:, first])
        unit = ca.SX(ca.DM.eye(len(first)))
        self.W = ca.vertcat(
            *(H[j] if j in H else unit[first.index(j), :] for j in range(self.source.nv))
        )

    def _solved(self, right: SX) -> dict[int, SX]:
        return solution(self.tree, self.J, self._blocks, right, self.q)

    def _along(self, x: SX) -> SX:
        return ca.jtimes(x, self.q, tangent_map(self.source, self.q, self._v))

    def _drift(self) -> SX:
        """Return (0, -J_2^-1 J' v)."""
        rates = ca.SX.sym('v', self.source.nv)
        (change,) = ca.substitute([self.change_of_J(rates)], [rates], [self._v])
        x = self._solved(-change)
        zero = ca.SX(0)
        return ca.vertcat(*(x.get(j, zero) for j in range(self.source.nv)))

    def _slope(self, energy: SX) -> SX:
        rates = ca.SX.sym('v', self.source.nv)
        N = ca.jacobian(tangent_map(self.source, self.q, rates), rates)
        return self.W.T @ (N.T @ ca.gradient(energy, self.q))

    def change_of_J(self, rates: SX) -> SX:
        """Return J' v, at rates v of all coordinates."""
        return ca.jtimes(self.J @ rates, self.q, tangent_map(self.source, self.q, rates))


class OpenTree(Implicit):
    """The tree with nothing closed: W is the unit matrix, all coordinates are independent."""

    def _close(self) -> None:
        self.v_1, self.a_1 = (
            ca.vertcat(*(ca.SX.sym(f'{letter}_{name}') for name in self.robot.coordinate_names))
            for letter in 'va'
        )
        super()._close()
        self.W = ca.SX(ca.DM.eye(self.source.nv))

    def _drift(self) -> SX:
        return ca.SX.zeros(self.source.nv)
