"""
What all ways of eliminating constraints share: names, terms, springs, dampers and outputs.

A term is a matrix (nested lists of nodes) or a vector (a list of nodes); it is derived when it is
asked for.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics.description import LoopType
from closed_chain_dynamics.description.elements import Joint, LoopJoint, Spring
from closed_chain_dynamics.dynamics.generalized_coordinates import coordinates
from closed_chain_dynamics.errors import NameNotFound, StateError
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.symbolic.expression_graph import Node, evaluate, gradient, needed, total
from closed_chain_dynamics.symbolic.from_mechanism import (
    Array,
    Rows,
    SymbolicTree,
    Vector,
    dot,
    plus,
)
from closed_chain_dynamics.symbolic.implicit_constraints import LoopGeometry
from closed_chain_dynamics.symbolic.planar_loops import closed_loops
from closed_chain_dynamics.symbolic.program import Term, flat

if TYPE_CHECKING:
    from closed_chain_dynamics.symbolic.latex import Assigned

__all__ = ['TERMS', 'ReducedEquations']

TERMS = {
    'M_1': 'inertia matrix',
    'c_1': 'centrifugal and Coriolis forces',
    'g_1': 'weight',
    'tau_1s': 'forces of springs',
    'tau_1d': 'forces of dampers',
    'tau_1': 'inverse dynamics, the sum of all terms',
    'W': 'rates of all joints per independent rate',
    'q': 'positions of all joints',
}


class ReducedEquations(ABC):
    """
    Equations of motion in independent coordinates; terms are derived when they are asked for.

    `independent`, `dependent`: names of q_1 and q_2; `inputs`: nodes of q_1, or of q ('ic');
    `branches`: {loop: which solution}; `notes`: what the equations leave out; `seconds`: {term:
    time it took to derive}.
    """

    position: str  # name of the argument that `inputs` stand for
    term_names: tuple[str, ...]
    inputs: list[Node]
    state: list[Any]  # see `from_mechanism.State`

    def __init__(
        self,
        robot: Mechanism,
        q: ArrayLike,
        method: str,
        progress: Callable[[int], object] | None = None,
    ) -> None:
        self.robot, self.method = robot, method
        self.pose = robot.vector(q, robot.nq, 'q')
        self.tree = SymbolicTree(robot)
        self.tree.graph.progress = progress
        chosen = coordinates(robot, self.pose)
        self.independent, self.dependent = chosen.independent, chosen.dependent
        self.notes: list[str] = []
        self.seconds: dict[str, float] = {}
        self.branches: dict[str, str] = {}
        self._terms: dict[str, Term] = {}
        graph, names = self.tree.graph, self.tree.names
        self.v_1 = [graph.input(f'v_{name}') for name in self.independent]
        self.a_1 = [graph.input(f'a_{name}') for name in self.independent]
        self._first = [names.index(name) for name in self.independent]
        at = dict(zip(robot.coordinate_names, self.pose.tolist()))
        self._pose = {i: at[name] for i, name in enumerate(names)}
        begun = time.perf_counter()
        self._close()
        self._preparation = time.perf_counter() - begun
        self._note_what_is_left_out()

    def term(self, name: str) -> Term:
        """Return a term as nested lists of nodes: rows of a matrix, or a vector."""
        if name not in self.term_names:
            raise NameNotFound('term', name, self.term_names, where=self.robot.name)
        if name not in self._terms:
            begun = time.perf_counter()
            self._terms[name] = self._derivations()[name]()
            self.seconds[name] = self._preparation + time.perf_counter() - begun
        return self._terms[name]

    def _derivations(self) -> dict[str, Callable[[], Term]]:
        """Return what derives each term."""
        return {
            'M_1': self._M_1,
            'c_1': self._c_1,
            'g_1': self._g_1,
            'tau_1s': self._tau_1s,
            'tau_1d': self._tau_1d,
            'tau_1': self._tau_1,
            'W': self._W,
        }

    def arguments(self, name: str) -> dict[str, list[Node]]:
        """Return the vectors that a term is a function of, {name: input nodes}."""
        first = {self.position: self.inputs}
        if name in ('c_1', 'tau_1d', 'tau_1'):
            first['v_1'] = self.v_1
        if name == 'tau_1':
            first['a_1'] = self.a_1
        return first

    def evaluate(
        self, name: str, q: ArrayLike, v_1: ArrayLike | None = None, a_1: ArrayLike | None = None
    ) -> Array:
        """
        Return a term as numbers; leading axes of q, v_1 and a_1 count poses.

        `q`: the independent coordinates ('te', 'de'), or all of them ('ic').
        """
        values: dict[Node, Array] = {}
        for (argument, nodes), given in zip(self.arguments(name).items(), (q, v_1, a_1)):
            numbers = np.asarray(() if given is None else given, dtype=float)
            if numbers.shape[-1:] != (len(nodes),):
                raise StateError(
                    f'{argument} has shape {numbers.shape} and must end in {len(nodes)}',
                    where=f'{self.robot.name}, {name}',
                    repair=f'One number each for {", ".join(node.name for node in nodes)}.',
                )
            values.update(zip(nodes, np.moveaxis(numbers, -1, 0)))
        term = self.term(name)
        numbers = evaluate(flat(term), values)
        if isinstance(term[0], list):
            numbers = numbers.reshape(*numbers.shape[:-1], len(term), -1)
        return numbers

    def parameters(self, name: str) -> dict[str, float]:
        """Return the parameters that a term contains, {name: value}."""
        return {
            node.name: node.value
            for node in needed(flat(self.term(name)))
            if node.op == 'parameter'
        }

    def sympy(self, name: str) -> 'Assigned':
        """Return a term as SymPy, (assignments, Matrix) the way `sympy.cse` returns them."""
        from closed_chain_dynamics.symbolic.latex import sympy_of

        return sympy_of(self, name)

    def compiled(self, name: str) -> Callable[..., Array]:
        """Return the numba-compiled function of a term; its first call compiles."""
        from closed_chain_dynamics.symbolic.code import compiled

        return compiled(self, name)

    # --- what each way does in its own manner -------------------------------------------------
    @abstractmethod
    def _close(self) -> None:
        """Eliminate the constraints: set `inputs`, `state` and, if there are any, `branches`."""

    @abstractmethod
    def _value(self, i: int) -> Node:
        """Return the coordinate q of a body."""

    @abstractmethod
    def _by_body(self) -> Rows:
        """Return W = dq/dq_1, one row per body."""

    @abstractmethod
    def _along(self, node: Node, rates: Vector) -> Node:
        """Return the derivative of a node in time, given the rates of all bodies."""

    @abstractmethod
    def _M_1(self) -> Term: ...

    @abstractmethod
    def _c_1(self) -> Term: ...

    @abstractmethod
    def _g_1(self) -> Term: ...

    @abstractmethod
    def _tau_1s(self) -> Term: ...

    @abstractmethod
    def _tau_1(self) -> Term: ...

    # --- what both ways share -----------------------------------------------------------------
    def _rates(self) -> list[Node]:
        """Return q' = W q_1', one node per body."""
        W = self._by_body()
        return [dot(row, self.v_1) for row in W]

    def _W(self) -> Term:
        W = self._by_body()
        return [W[i] for i in self.tree.order]

    def _lengths(self) -> list[tuple[Spring, Node]]:
        """Return (spring, how far it is stretched) for all springs."""
        stretches: list[tuple[Spring, Node]] = []
        for spring in self.robot.description.springs:
            if spring.type == 'torsional':
                if spring.joint in self.tree.names:
                    value = self._value(self.tree.names.index(spring.joint))
                    stretches.append((spring, value - spring.rest))
                continue
            ends = [
                self.tree.point(link, xyz, f'{spring.name}_{end}')
                for link, xyz, end in (
                    (spring.from_link, spring.from_xyz, 'from'),
                    (spring.to_link, spring.to_xyz, 'to'),
                )
            ]
            way = self._difference(*ends)
            length = self.tree.graph.function('sqrt', dot(way, way))
            stretches.append((spring, length - spring.rest))
        return stretches

    def _difference(self, one: tuple[int, Vector], two: tuple[int, Vector]) -> list[Node]:
        """Return the way from one point to another, in the frame of the body that carries both."""
        top = self.tree.common_ancestor(one[0], two[0])
        ends = []
        for body, point in (one, two):
            while body != top:
                point = plus(
                    self.tree.origin(body, self.state),
                    self.tree.to_parent(body, point, self.state),
                )
                body = self.tree.bodies[body].parent
            ends.append(point)
        return [b - a for a, b in zip(*ends)]

    def _spring_energy(self) -> Node:
        return total(
            self.tree.graph,
            [stretch * stretch * (0.5 * spring.stiffness) for spring, stretch in self._lengths()],
        )

    def _tau_1d(self) -> list[Node]:
        """Return the gradient of Rayleigh's function with respect to q_1'."""
        rates = self._rates()
        terms = [
            speed * speed * (0.5 * body.damping) for body, speed in zip(self.tree.bodies, rates)
        ]
        for loop in closed_loops(self.robot):
            if loop.dynamics.damping and loop.type is LoopType.REVOLUTE:
                speed = LoopGeometry(self.tree, loop, self.state).turning_rate(rates)
                terms.append(speed * speed * (0.5 * loop.dynamics.damping))
        damped = [(spring, stretch) for spring, stretch in self._lengths() if spring.damping]
        for spring, stretch in damped:
            speed = self._along(stretch, rates)
            terms.append(speed * speed * (0.5 * spring.damping))
        return gradient(total(self.tree.graph, terms), self.v_1)

    def _note_what_is_left_out(self) -> None:
        description = self.robot.description
        loops = closed_loops(self.robot)
        everything: list[Joint | LoopJoint] = [*description.joints, *loops]
        frictional = [each.name for each in everything if each.dynamics.friction]
        frictional += [loop.name for loop in loops if loop.contact and loop.contact.mu]
        stops = [each.name for each in everything if each.limit_moment]
        springs = [
            spring.name
            for spring in description.springs
            if spring.type == 'torsional' and spring.joint not in self.tree.names
        ]
        damped = [
            loop.name
            for loop in loops
            if loop.dynamics.damping and loop.type is not LoopType.REVOLUTE
        ]
        soft = [
            loop.name
            for loop in description.loops
            if self.robot.is_connected(loop.name) and loop not in loops
        ]
        for what, names in (
            ('Coulomb friction of', frictional),
            ('limit moments of', stops),
            ('springs on loop joints:', springs),
            ('damping of the loop joints', damped),
            ('soft contacts:', soft),
        ):
            if names:
                self.notes.append(f'The equations leave out {what} {", ".join(names)}.')
