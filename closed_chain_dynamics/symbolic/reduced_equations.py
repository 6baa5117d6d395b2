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
Terms of the equations of motion in independent coordinates, over CasADi's symbols.

    M_1 q_1'' + c_1 + g_1 + tau_1s + tau_1d = tau_1                                       Eq. (9)

All ways of eliminating constraints give the placements of the bodies, W, and how W changes; from
there on they are the same: the equations of the tree, projected with W. A term is an SX matrix,
derived when it is asked for.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
import time
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.codegen.expressions import SX
from closed_chain_dynamics.codegen.gathering import gather
from closed_chain_dynamics.codegen.source import SourceSpring
from closed_chain_dynamics.errors import NameNotFound, StateError
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.symbolic import tree_dynamics
from closed_chain_dynamics.symbolic.constraints import LoopGeometry
from closed_chain_dynamics.symbolic.coverage import left_out_of, refuse_what_is_not_covered
from closed_chain_dynamics.symbolic.tree import SymbolicPose, SymbolicTree

if TYPE_CHECKING:
    from closed_chain_dynamics.symbolic.assignments import Assigned

__all__ = ['REDUCED_TERMS', 'ReducedEquations']

REDUCED_TERMS = {
    'M_1': 'inertia matrix',
    'c_1': 'centrifugal and Coriolis forces',
    'g_1': 'weight',
    'tau_1s': 'forces of springs',
    'tau_1d': 'forces of dampers',
    'tau_1': 'inverse dynamics, the sum of all terms',
    'W': 'rates of all joints per independent rate',
    'q': 'positions of all joints',
}
REDUCED_MATRICES = ('M_1', 'W')


class ReducedEquations(ABC):
    """
    Equations of motion in independent coordinates; terms are derived when they are asked for.

    `independent`, `dependent`: names of the rates v_1 and of the others; `inputs`: symbols of
    q_1, or of q ('ic'); `branches`: {loop: which solution}; `notes`: what the equations leave out;
    `seconds`: {term: time it took to derive}.
    """

    position: str  # name of the argument that `inputs` stand for
    term_names: tuple[str, ...]
    inputs: SX
    W: SX  # (nv, independent)
    pose_of_bodies: SymbolicPose
    q: SX  # positions of all joints

    def __init__(
        self,
        robot: Mechanism,
        q: ArrayLike,
        method: str,
        progress: Callable[[int], object] | None = None,
    ) -> None:
        self.robot, self.method = robot, method
        self.pose = robot.vector(q, robot.nq, 'q')
        refuse_what_is_not_covered(robot)
        self.source = gather(robot, self.pose, contacts=True)
        self.tree = SymbolicTree(self.source)
        self.independent = self.source.independent_names
        self.dependent = [name for name in robot.coordinate_names if name not in self.independent]
        self.position_names = self.tree.position_names
        self.notes = left_out_of(robot)
        self.seconds: dict[str, float] = {}
        self.branches: dict[str, str] = {}
        self._progress = progress
        self._terms: dict[str, SX] = {}
        self.v_1, self.a_1 = (
            ca.vertcat(*(ca.SX.sym(f'{letter}_{name}') for name in self.independent))
            if self.independent
            else ca.SX.zeros(0)
            for letter in 'va'
        )
        self._first = list(self.source.independent)
        begun = time.perf_counter()
        self._close()
        self._preparation = time.perf_counter() - begun

    def __repr__(self) -> str:
        names = ', '.join(self.independent)
        return f'<Equations of {self.robot.name!r} by {self.method}: q_1 {names}>'

    def term(self, name: str) -> SX:
        """Return a term as a matrix or a column over symbols."""
        if name not in self.term_names:
            raise NameNotFound('term', name, self.term_names, where=self.robot.name)
        if name not in self._terms:
            begun = time.perf_counter()
            derivations: dict[str, Callable[[], SX]] = {
                'M_1': self._M_1,
                'c_1': self._c_1,
                'g_1': self._g_1,
                'tau_1s': self._tau_1s,
                'tau_1d': self._tau_1d,
                'tau_1': self._tau_1,
                'W': lambda: self.W,
                'q': lambda: self.q,
            }
            self._terms[name] = ca.densify(derivations[name]())
            self.seconds[name] = self._preparation + time.perf_counter() - begun
            if self._progress:
                self._progress(ca.n_nodes(ca.vertcat(*map(ca.vec, self._terms.values()))))
        return self._terms[name]

    def arguments(self, name: str) -> dict[str, SX]:
        """Return the vectors that a term is a function of, {name: symbols}."""
        first = {self.position: self.inputs}
        if name in ('c_1', 'tau_1d', 'tau_1'):
            first['v_1'] = self.v_1
        if name == 'tau_1':
            first['a_1'] = self.a_1
        return first

    def with_numbers(self, name: str) -> SX:
        """Return a term with numbers in place of its parameters."""
        return self.tree.numbers(self.term(name))[0]

    def evaluate(
        self, name: str, q: ArrayLike, v_1: ArrayLike | None = None, a_1: ArrayLike | None = None
    ) -> Array:
        """
        Return a term as numbers; leading axes of q, v_1 and a_1 count poses.

        `q`: the independent coordinates ('te', 'de'), or all of them ('ic').
        """
        arguments = self.arguments(name)
        given: list[Array] = []
        for (argument, symbols), values in zip(arguments.items(), (q, v_1, a_1)):
            numbers = np.asarray(() if values is None else values, dtype=float)
            if numbers.shape[-1:] != (symbols.shape[0],):
                names = ', '.join(symbols[k].name() for k in range(symbols.shape[0]))
                raise StateError(
                    f'{argument} has shape {numbers.shape} and must end in {symbols.shape[0]}',
                    where=f'{self.robot.name}, {name}',
                    repair=f'One number each for {names}.',
                )
            given.append(numbers)
        shape = np.broadcast_shapes(*(numbers.shape[:-1] for numbers in given))
        poses = [
            np.broadcast_to(numbers, (*shape, numbers.shape[-1])).reshape(-1, numbers.shape[-1])
            for numbers in given
        ]
        function = self._functions.get(name)
        if function is None:
            term = ca.vec(self.with_numbers(name).T)  # row by row
            function = ca.Function(name, list(arguments.values()), [term], {'cse': True})
            self._functions[name] = function
        found = function.map(len(poses[0]))(*(each.T for each in poses)).full().T
        entries = self.term(name).shape if name in REDUCED_MATRICES else self.term(name).shape[:1]
        answer: Array = found.reshape(*shape, *entries)
        return answer

    @cached_property
    def _functions(self) -> dict[str, Any]:
        return {}

    def parameters(self, name: str) -> dict[str, float]:
        """Return the parameters that a term contains, {name: value}."""
        there = [symbol.name() for symbol in ca.symvar(self.term(name))]
        return {each: self.tree.parameters[each] for each in there if each in self.tree.parameters}

    def sympy(self, name: str) -> 'Assigned':
        """Return a term as SymPy, (assignments, Matrix) the way `sympy.cse` returns them."""
        from closed_chain_dynamics.symbolic.assignments import assigned

        return assigned(self.term(name))

    def compiled(self, name: str) -> Callable[..., Array]:
        """Return the numba-compiled function of a term; its first call compiles."""
        from closed_chain_dynamics.symbolic.code import compiled

        return compiled(self, name)

    # --- what each way does in its own manner -------------------------------------------------
    @abstractmethod
    def _close(self) -> None:
        """Eliminate the constraints: set `inputs`, `q`, `pose_of_bodies` and `W`."""

    @abstractmethod
    def _along(self, x: SX) -> SX:
        """Return the derivative in time of what depends on positions alone."""

    @abstractmethod
    def _drift(self) -> SX:
        """Return W' v_1, all accelerations while the independent ones are zero."""

    @abstractmethod
    def _slope(self, energy: SX) -> SX:
        """Return the derivative of what depends on positions, per independent rate."""

    # --- what all ways share ------------------------------------------------------------------
    @property
    def _v(self) -> SX:
        return self.W @ self.v_1

    def _M_1(self) -> SX:
        M = tree_dynamics.mass_matrix(self.tree, self.pose_of_bodies)
        M_1 = self.W.T @ (M @ self.W)
        for inertia, row in self._loop_rotors():
            M_1 = M_1 + inertia * row.T @ row
        return ca.triu2symm(ca.triu(ca.densify(M_1)))

    def _loop_rotors(self) -> list[tuple[float, SX]]:
        """Return inertia and rate by v_1 of every rotor on a loop joint."""
        return [
            (loop.laws[0].armature, rate @ self.W)
            for k, loop in enumerate(self.source.loops)
            if loop.laws and loop.laws[0].armature
            for rate in self._loop(k).coordinates()
        ]

    def _turn_loop_rotors(self, a_1: SX) -> SX:
        """Return what rotors on loop joints need, per independent rate."""
        force = ca.SX.zeros(self.v_1.shape[0])
        for inertia, row in self._loop_rotors():
            force = force + inertia * row.T @ (row @ a_1 + self._along(row) @ self.v_1)
        return force

    def _c_1(self) -> SX:
        tau = tree_dynamics.newton_euler(
            self.tree, self.pose_of_bodies, self._v, self._drift(), gravity=False
        )
        return self.W.T @ tau + self._turn_loop_rotors(ca.SX.zeros(self.v_1.shape[0]))

    def _g_1(self) -> SX:
        return self.W.T @ tree_dynamics.gravity_forces(self.tree, self.pose_of_bodies)

    def _tau_1(self) -> SX:
        tau = tree_dynamics.newton_euler(
            self.tree,
            self.pose_of_bodies,
            self._v,
            self.W @ self.a_1 + self._drift(),
            gravity=True,
        )
        tau_1 = self.W.T @ tau + self._turn_loop_rotors(self.a_1)
        return tau_1 + self.term('tau_1s') + self.term('tau_1d')

    def _tau_1s(self) -> SX:
        energy = ca.SX(0)
        forces = ca.SX.zeros(1, self.source.nv)
        for spring in self.source.springs:
            k = self.tree.parameter(f'k_{spring.name}', spring.stiffness)
            if spring.loop is None:
                energy = energy + 0.5 * k * self._stretch(spring) ** 2
            else:
                loop = self._loop(spring.loop)
                (rate,) = loop.coordinates()
                forces = forces + k * (loop.position() - self._rest(spring)) * rate
        return self._slope(energy) + self.W.T @ forces.T

    def _tau_1d(self) -> SX:
        """Return the gradient of Rayleigh's function with respect to v_1."""
        v, power = self._v, ca.SX(0)
        for body in self.source.bodies:
            for place, law in enumerate(body.laws, start=body.iv):
                d = self.tree.parameter(f'd_{body.name}', law.damping)
                power = power + 0.5 * d * v[place] ** 2
        for number, loop in enumerate(self.source.loops):
            damping = sum(x.damping for x in self.source.springs if x.loop == number)
            damping += loop.laws[0].damping if loop.laws else 0.0
            d = self.tree.parameter(f'd_{loop.name}', damping)
            for rate in self._loop(number).coordinates() if damping else ():
                power = power + 0.5 * d * (rate @ v) ** 2
        for spring in self.source.springs:
            if spring.damping and spring.loop is None:
                d = self.tree.parameter(f'd_{spring.name}', spring.damping)
                power = power + 0.5 * d * self._along(self._stretch(spring)) ** 2
        return ca.gradient(power, self.v_1)

    def _rest(self, spring: SourceSpring) -> SX:
        return self.tree.parameter(f'l_{spring.name}', spring.rest)

    def _loop(self, k: int) -> LoopGeometry:
        return LoopGeometry(self.tree, self.source.loops[k], self.pose_of_bodies)

    def _stretch(self, spring: SourceSpring) -> SX:
        """Return how far a spring of the tree is stretched."""
        if spring.joint is not None:
            return self.q[spring.joint[1]] - self._rest(spring)
        if spring.terms:
            return spring.length(self.q) - self._rest(spring)
        assert spring.ends is not None
        pose, ends = self.pose_of_bodies, []
        top = self.tree.common_ancestor(*(body for body, _ in spring.ends))
        for (body, at), end in zip(spring.ends, ('from', 'to')):
            point = self.tree.vector(f'{spring.name}_{end}', at)
            while body != top:
                point = pose.r[body] + pose.E[body] @ point
                body = self.tree.bodies[body].parent
            ends.append(point)
        way = ends[1] - ends[0]
        return ca.sqrt(ca.dot(way, way)) - self._rest(spring)
