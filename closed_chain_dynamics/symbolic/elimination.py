"""
Equations of motion in independent coordinates: three ways to eliminate the constraints (paper 5).

    M_1 q_1'' + c_1(q_1, q_1') + g_1(q_1) + tau_1s(q_1) + tau_1d(q_1, q_1') = tau_1      Eq. (9)

'te'  trigonometric elimination: sines and cosines of q_2 as functions of q_1, Eq. (3), go into
      energies, from which Lagrange's equations follow, Eqs. (5) to (8);
'de'  direct elimination: the same with q_2 = f(q_1) by arctangents, Eq. (2);
'ic'  implicit constraints: equations of the tree, projected with W = [E; -J_2^-1 J_1], Eqs. (13)
      to (15). They take all of q, closed, because q_2 is not solved for.

The paper leaves dampers out; here they are tau_1d.
"""

from collections.abc import Callable, Mapping

from numpy.typing import ArrayLike

from closed_chain_dynamics.assembly.search import assemble
from closed_chain_dynamics.errors import NameNotFound
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.symbolic import symbolic_dynamics as dynamics
from closed_chain_dynamics.symbolic.closed_form import ClosedForm
from closed_chain_dynamics.symbolic.expression_graph import Node, gradient, rate, total
from closed_chain_dynamics.symbolic.from_mechanism import Angle, Vector, dot, plus, times
from closed_chain_dynamics.symbolic.implicit_constraints import (
    blocks_of,
    constraint_rows,
    independent_rows,
    solution,
)
from closed_chain_dynamics.symbolic.program import Term
from closed_chain_dynamics.symbolic.reduced_equations import TERMS, ReducedEquations

__all__ = ['METHODS', 'derive']

METHODS = ('te', 'de', 'ic')


def derive(
    robot: Mechanism,
    method: str = 'te',
    q: ArrayLike | None = None,
    *,
    progress: Callable[[int], object] | None = None,
) -> ReducedEquations:
    """
    Return the ReducedEquations of a mechanism whose joints have one coordinate each.

    `method`: 'te', 'de' or 'ic'; `q`: a closed pose that decides the branch of every loop and the
    independent coordinates; default: what `assemble` finds. `progress`, if given, is called with
    the number of operations from time to time.
    """
    if method not in METHODS:
        raise NameNotFound('method', method, METHODS, where=robot.name)
    kind: type[ReducedEquations] = _Implicit if method == 'ic' else _Explicit
    return kind(robot, assemble(robot) if q is None else q, method, progress)


class _Explicit(ReducedEquations):
    """Elimination by a closed form of the dependent coordinates, then Lagrange's equations."""

    position = 'q_1'
    term_names = tuple(TERMS)

    def _close(self) -> None:
        graph = self.tree.graph
        self.inputs = [graph.input(f'q_{name}') for name in self.independent]
        form = ClosedForm(
            self.tree,
            dict(zip(self._first, self.inputs)),
            self._pose,
            explicit=self.method == 'de',
        )
        self._form, self.branches = form, form.branches
        self.state = [form.state[i] for i in range(len(self.tree.bodies))]
        self._projection: list[list[Node]] | None = None

    def _value(self, i: int) -> Node:
        return self._form.value(i)

    def _derivations(self) -> dict[str, Callable[[], Term]]:
        return {**super()._derivations(), 'q': self._q}

    def _q(self) -> list[Node]:
        return [self._value(i) for i in self.tree.order]

    def _by_body(self) -> list[list[Node]]:
        """Return dq/dq_1, one row per body, by differentiating the closed form."""
        if self._projection is None:
            graph = self.tree.graph
            columns = [self._moved({node: graph.node(1.0)}) for node in self.inputs]
            self._projection = [list(row) for row in zip(*columns)]
        return self._projection

    def _moved(self, seeds: Mapping[Node, Node]) -> list[Node]:
        """Return the rates of all coordinates along a direction of q_1, Eq. (4)."""
        rates: list[Node] = []
        for i, entry in enumerate(self.state):
            if i in self._first:
                rates.append(
                    seeds.get(self.inputs[self._first.index(i)], self.tree.graph.node(0.0))
                )
                continue
            value = entry.value if isinstance(entry, Angle) else entry
            if value is None:
                cos, sin = rate([entry.cos, entry.sin], seeds)
                rates.append(entry.cos * sin - entry.sin * cos)
            else:
                rates.extend(rate([value], seeds))
        return rates

    def _along(self, node: Node, _: Vector) -> Node:
        return rate([node], dict(zip(self.inputs, self.v_1)))[0]

    def _M_1(self) -> list[list[Node]]:
        return dynamics.projected_mass_matrix(self.tree, self.state, self._by_body())

    def _g_1(self) -> list[Node]:
        return gradient(dynamics.gravity_potential(self.tree, self.state), self.inputs)

    def _tau_1s(self) -> list[Node]:
        return gradient(self._spring_energy(), self.inputs)

    def _inertial(self, accelerations: Mapping[Node, Node]) -> list[Node]:
        """Return d/dt dT/dq_1' - dT/dq_1 along a motion."""
        T = dynamics.kinetic_energy(self.tree, self.state, self._rates())
        momenta = gradient(T, self.v_1)
        seeds = {**dict(zip(self.inputs, self.v_1)), **accelerations}
        return [
            change - slope for change, slope in zip(rate(momenta, seeds), gradient(T, self.inputs))
        ]

    def _c_1(self) -> list[Node]:
        return self._inertial({})

    def _tau_1(self) -> list[Node]:
        return plus(
            self._inertial(dict(zip(self.v_1, self.a_1))),
            self.term('g_1'),
            self.term('tau_1s'),
            self.term('tau_1d'),
        )


class _Implicit(ReducedEquations):
    """Projection of the tree's equations with W; q is closed before."""

    position = 'q'
    term_names = tuple(name for name in TERMS if name != 'q')

    def _close(self) -> None:
        graph, bodies = self.tree.graph, self.tree.bodies
        values = [graph.input(f'q_{body.joint}') for body in bodies]
        self.inputs = [values[i] for i in self.tree.order]
        self._values = values
        self.state = [
            value if body.slides else Angle.of(value + body.delta)
            for value, body in zip(values, bodies)
        ]
        self._second = [i for i in range(len(bodies)) if i not in self._first]
        at_pose = {value: self._pose[i] for i, value in enumerate(values)}
        rows = constraint_rows(self.tree, self.state, values)
        self._rows = independent_rows(rows, self._second, at_pose)
        self._blocks = blocks_of(self._rows, self._second)
        self._at_pose = at_pose
        zero = graph.node(0.0)
        right = {id(row): [-row.get(i, zero) for i in self._first] for row in self._rows}
        H = solution(self.tree, self._blocks, right, at_pose)
        self._projection = [
            H[i] if i in H else [graph.node(float(i == each)) for each in self._first]
            for i in range(len(bodies))
        ]

    def _value(self, i: int) -> Node:
        return self._values[i]

    def _by_body(self) -> list[list[Node]]:
        return self._projection

    def _along(self, node: Node, rates: Vector) -> Node:
        return rate([node], dict(zip(self._values, rates)))[0]

    def _projected(self, forces: Vector) -> list[Node]:
        """Return W^T tau, Eq. (15)."""
        return times([list(column) for column in zip(*self._projection)], forces)

    def _bias(self, rates: Vector) -> list[Node]:
        """Return q'' at q_1'' = 0: (0, -J_2^-1 J' q')."""
        seeds = dict(zip(self._values, rates))
        changes = [
            total(
                self.tree.graph,
                [change * rates[i] for i, change in zip(row, rate(list(row.values()), seeds))],
            )
            for row in self._rows
        ]
        right = {id(row): [-change] for row, change in zip(self._rows, changes)}
        x = solution(self.tree, self._blocks, right, self._at_pose)
        zero = self.tree.graph.node(0.0)
        return [x[i][0] if i in x else zero for i in range(len(self.tree.bodies))]

    def _M_1(self) -> list[list[Node]]:
        M, W = dynamics.mass_matrix(self.tree, self.state), self._projection
        columns = [times(M, [row[j] for row in W]) for j in range(len(self._first))]
        lower = [self._projected(column) for column in columns]
        n = len(lower)
        return [[lower[max(j, k)][min(j, k)] for k in range(n)] for j in range(n)]

    def _g_1(self) -> list[Node]:
        return self._projected(dynamics.gravity_forces(self.tree, self.state))

    def _tau_1s(self) -> list[Node]:
        return self._projected(gradient(self._spring_energy(), self._values))

    def _c_1(self) -> list[Node]:
        rates = self._rates()
        return self._projected(
            dynamics.newton_euler(self.tree, self.state, rates, self._bias(rates), gravity=False)
        )

    def _tau_1(self) -> list[Node]:
        rates = self._rates()
        accelerations = plus(self._bias(rates), [dot(row, self.a_1) for row in self._projection])
        tau = dynamics.newton_euler(self.tree, self.state, rates, accelerations, gravity=True)
        return plus(self._projected(tau), self.term('tau_1s'), self.term('tau_1d'))
