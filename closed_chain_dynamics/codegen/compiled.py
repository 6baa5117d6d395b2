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
A compiled mechanism: the calls of the core through generated code, one state or a batch of them.

Generated code holds for one structure and away from where its pivots fail. Where it does not
hold, the generic functions of the core answer instead, a warning says so, and the result is
marked `generic`. In a batch, states that the core refuses too are marked in `ok` and hold nan.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closed_chain_dynamics.assembly.completion import complete_acceleration, complete_velocity
from closed_chain_dynamics.assembly.search import assemble
from closed_chain_dynamics.codegen.batch import Function, Roller
from closed_chain_dynamics.codegen.build import find_compiler, require_casadi
from closed_chain_dynamics.codegen.derivatives import Derivatives, derivatives, linearise
from closed_chain_dynamics.codegen.source import Source, gather
from closed_chain_dynamics.dynamics.actuation import actuator_vector
from closed_chain_dynamics.dynamics.forward import forward_dynamics
from closed_chain_dynamics.dynamics.generalized_coordinates import coordinates
from closed_chain_dynamics.dynamics.inverse import inverse_dynamics
from closed_chain_dynamics.dynamics.tree import link_placements
from closed_chain_dynamics.errors import ClosedChainError, NameNotFound, StateError
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['CompiledMechanism', 'GeneratedCodeWarning', 'compile_mechanism']

Array = NDArray[np.float64]
INTEGRATORS = ('euler', 'rk4')  # as in Simulation: semi-implicit Euler
READY = ('forward_dynamics', 'inverse_dynamics')


class GeneratedCodeWarning(RuntimeWarning):
    """Generated code does not hold here, and the generic functions answer."""


class Forward(NamedTuple):
    """Accelerations theta_O'', (nv,) or (n, nv)."""

    acceleration: Array
    ok: Any  # True, or (n,) of bool
    generic: Any  # whether the core answered instead


class Inverse(NamedTuple):
    """Forces that a motion needs; each (width,) or (n, width)."""

    tau_O: Array
    tau_G: Array
    tau_A: Array
    residual: Array
    ok: Any
    generic: Any


class Completed(NamedTuple):
    """A velocity or acceleration that the loops allow."""

    values: Array
    ok: Any
    generic: Any


class Basis(NamedTuple):
    """W, S and J_C in the generalized coordinates `independent`."""

    W: Array
    S: Array
    J_C: Array
    independent: list[str]
    ok: Any
    generic: Any


class Rollout(NamedTuple):
    """States after every `every` steps, (n, kept, nq) and (n, kept, nv); steps that were done."""

    q: Array
    v: Array
    steps: Any  # (n,) of int
    ok: Any


def compile_mechanism(robot: Mechanism, q: ArrayLike | None = None) -> 'CompiledMechanism':
    """
    Return a mechanism compiled for its present structure and choice of theta_G.

    `q` is a closed pose in which pivots are chosen, by default an assembled one. The first time
    it takes seconds; later the compiled code comes from the user's cache folder.
    """
    require_casadi()
    find_compiler()
    pose = assemble(robot) if q is None else robot.vector(q, robot.nq, 'q')
    return CompiledMechanism(robot, gather(robot, np.array(pose, dtype=float)))


class CompiledMechanism:
    """
    A mechanism in generated code; q of shape (n, nq) is a batch of n states.

    `robot`: what was compiled; `independent`: theta_G; `fallbacks`: how often the generic
    functions answered, by reason; `threads`: how many a batch may use.
    """

    def __init__(self, robot: Mechanism, source: Source, *, threads: int | None = None) -> None:
        self.robot, self.source = robot, source
        self.independent = source.independent_names
        self.fallbacks: Counter[str] = Counter()
        self._threads = threads
        self._structure = robot.changes
        self._functions: dict[str, Function] = {}
        self._roller: Roller | None = None
        for name in READY:
            self._function(name)

    def __repr__(self) -> str:
        return f'<CompiledMechanism {self.source.name!r}: theta_G {", ".join(self.independent)}>'

    @property
    def is_current(self) -> bool:
        """Return whether the mechanism still is in the structure that was compiled."""
        return bool(self.robot.changes == self._structure)

    def _function(self, name: str) -> Function:
        if name not in self._functions:
            self._functions[name] = Function(self.source, name, self._threads)
        return self._functions[name]

    # --- the calls of the core ----------------------------------------------------------------
    def forward_dynamics(self, q: ArrayLike, v: ArrayLike, tau: Any = None) -> Forward:
        """Return the accelerations of the closed chain under actuator torques."""
        if type(tau) is not np.ndarray and (tau is None or isinstance(tau, Mapping)):
            n = np.shape(q)[:-1]
            tau = np.broadcast_to(self._torques(tau), (*n, len(self.source.motors)))
        values, ok, generic = self._call(
            'forward_dynamics',
            (q, v, tau),
            lambda q, v, tau: (forward_dynamics(self.robot, q, v, tau).acceleration,),
        )
        return Forward(values[0], ok, generic)

    def inverse_dynamics(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Inverse:
        """Return the forces that a motion of the closed chain needs."""

        def core(q: Array, v: Array, a: Array) -> tuple[Array, ...]:
            r = inverse_dynamics(self.robot, q, v, a)
            return r.tau_O, r.tau_G, r.tau_A, r.residual

        values, ok, generic = self._call('inverse_dynamics', (q, v, a), core)
        return Inverse._make((*values, ok, generic))

    def gravity_torques(self, q: ArrayLike) -> Inverse:
        """Return the forces that hold the mechanism at rest, springs included."""

        def core(q: Array) -> tuple[Array, ...]:
            rest = np.zeros(self.robot.nv)
            r = inverse_dynamics(self.robot, q, rest, rest)
            return r.tau_O, r.tau_G, r.tau_A, r.residual

        values, ok, generic = self._call('gravity_torques', (q,), core)
        return Inverse._make((*values, ok, generic))

    def coordinates(self, q: ArrayLike) -> Basis:
        """Return W, S and J_C in the generalized coordinates that were compiled."""

        def core(q: Array) -> tuple[Array, ...]:
            c = coordinates(self.robot, q)
            if c.independent != self.independent:
                raise StateError(
                    'theta_G has no good choice here in the coordinates that were compiled',
                    where=self.robot.name,
                    repair='Compile in a pose near by: robot.compile(q=q).',
                )
            return c.W, c.S, c.J_C

        values, ok, generic = self._call('coordinates', (q,), core)
        return Basis._make((*values, self.independent, ok, generic))

    def complete_velocity(self, q: ArrayLike, rates: Any) -> Completed:
        """
        Return the velocity that the loops allow, from rates of theta_G.

        `rates`: by name, for every coordinate in `independent`, or an array over them.
        """
        values, ok, generic = self._call(
            'complete_velocity',
            (q, self._rates(rates)),
            lambda q, rates: (complete_velocity(self.robot, q, self._named(rates)),),
        )
        return Completed(values[0], ok, generic)

    def complete_acceleration(self, q: ArrayLike, v: ArrayLike, accelerations: Any) -> Completed:
        """Return the acceleration that the loops allow at v, from those of theta_G."""
        values, ok, generic = self._call(
            'complete_acceleration',
            (q, v, self._rates(accelerations)),
            lambda q, v, rates: (complete_acceleration(self.robot, q, v, self._named(rates)),),
        )
        return Completed(values[0], ok, generic)

    def link_placements(self, q: ArrayLike) -> dict[str, Array]:
        """Return the placement of every link, {name: (4, 4)}, or (n, 4, 4) of a batch."""

        def core(q: Array) -> tuple[Array]:
            rows = [X[:3] for X in link_placements(self.robot, q).values()]
            return (np.array([np.concatenate([X[:, :3].ravel(), X[:, 3]]) for X in rows]),)

        (rows,), _, _ = self._call('placements', (q,), core)
        out = {}
        for number, link in enumerate(self.source.links):
            X = np.zeros((*rows.shape[:-2], 4, 4))
            X[..., :3, :3] = rows[..., number, :9].reshape(*rows.shape[:-2], 3, 3)
            X[..., :3, 3], X[..., 3, 3] = rows[..., number, 9:], 1.0
            out[link] = X
        return out

    def derivatives(self, q: ArrayLike, v: ArrayLike, tau: Any = None) -> Derivatives:
        """Return the derivatives of forward dynamics at one state; see `codegen.derivatives`."""
        basis = self.coordinates(q) if self.is_current else None
        if basis is not None and not basis.generic:
            pose: Array = self.robot.vector(q, self.source.nq, 'q')
            rate: Array = self.robot.vector(v, self.source.nv, 'v')
            found = linearise(self.source, self._slopes, basis.W, pose, rate, self._torques(tau))
            if found is not None:
                return found
        self._say('derivatives do not hold here in generated code')
        return derivatives(self.robot, q, v, tau)

    def _slopes(self, name: str, **given: Array) -> Array | None:
        function = self._function(name)
        flat, good = function.many(tuple(given[key] for key in function.inputs))
        return flat if good.all() else None

    # --- simulation ---------------------------------------------------------------------------
    def rollout(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: Any = None,
        *,
        steps: int,
        dt: float = 1e-3,
        integrator: str = 'rk4',
        every: int = 1,
    ) -> Rollout:
        """
        Simulate n states over a number of steps in one call, loops closed after every step.

        `tau`: (n, actuators) held, or (n, steps, actuators). A state whose pivots fail, or whose
        numbers run away, ends there: `steps` says when, and what follows is nan.
        """
        self._refuse_outdated()
        if integrator not in INTEGRATORS:
            raise NameNotFound('integrator', integrator, INTEGRATORS, where=self.robot.name)
        if steps < 1 or every < 1 or not dt > 0.0:
            raise StateError(
                'steps, every and dt must be positive',
                where=self.robot.name,
                repair='For example steps=1000, dt=1e-3.',
            )
        q, v = self._rows(q, self.source.nq, 'q'), self._rows(v, self.source.nv, 'v')
        if tau is None or isinstance(tau, Mapping):
            tau = np.broadcast_to(self._torques(tau), (len(q), len(self.source.motors)))
        tau = np.asarray(tau, dtype=float)
        self._same_count(q=q, v=v, tau=tau)
        if self._roller is None:
            self._roller = Roller(self.source, self._threads)
        found = self._roller.roll(q, v, tau, steps, every, dt, integrator == 'rk4')
        if found is None:
            raise StateError(
                f'tau has shape {np.shape(tau)}, which is neither (n, actuators) nor '
                '(n, steps, actuators)',
                where=self.robot.name,
                repair=f'Here ({len(q)}, {len(self.source.motors)}), or with {steps} between.',
            )
        return Rollout._make((*found, found[2] == steps))

    def step(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: Any = None,
        *,
        dt: float = 1e-3,
        integrator: str = 'rk4',
    ) -> tuple[Array, Array]:
        """Return q and v one step later, loops closed; raise where generated code has no step."""
        one = np.ndim(q) == 1
        given = tau if tau is None or isinstance(tau, Mapping) else np.atleast_2d(tau)
        rolled = self.rollout(
            np.atleast_2d(q), np.atleast_2d(v), given, steps=1, dt=dt, integrator=integrator
        )
        if one and not rolled.ok[0]:
            raise StateError(
                'generated code has no step from here: its pivots fail, or the state is not '
                'finite or not closed',
                where=self.robot.name,
                repair='Step with ccd.Simulation, which chooses coordinates anew.',
            )
        return (rolled.q[0, 0], rolled.v[0, 0]) if one else (rolled.q[:, 0], rolled.v[:, 0])

    # --- inside -------------------------------------------------------------------------------
    def _torques(self, tau: Any) -> Array:
        values: Array = actuator_vector(self.robot, tau, 'tau')
        return values

    def _rates(self, rates: Any) -> Any:
        if not isinstance(rates, Mapping):
            return rates
        missing = [name for name in self.independent if name not in rates]
        unknown = [name for name in rates if name not in self.independent]
        if missing or unknown:
            raise StateError(
                f'a compiled completion takes {", ".join(self.independent)}; '
                + (f'{missing[0]!r} is missing' if missing else f'{unknown[0]!r} is not one'),
                where=self.robot.name,
                repair='Name just these, or use the generic function.',
            )
        return np.stack([np.asarray(rates[name], dtype=float) for name in self.independent], -1)

    def _named(self, rates: Array) -> dict[str, float]:
        return dict(zip(self.independent, rates.tolist()))

    def _rows(self, values: ArrayLike, width: int, what: str) -> Array:
        """Return values as a contiguous batch of floats, or say what does not fit."""
        try:
            array = np.ascontiguousarray(values, dtype=float)
        except (TypeError, ValueError):
            raise StateError(f'{what} must be numbers', where=self.robot.name) from None
        if array.ndim != 2 or array.shape[1] != width:
            raise StateError(
                f'{what} has shape {array.shape} but a batch needs (n, {width})',
                where=self.robot.name,
                repair='One row for each state.',
            )
        return array

    def _same_count(self, **batch: Array) -> None:
        counts = {name: len(rows) for name, rows in batch.items()}
        if len(set(counts.values())) > 1:
            told = ', '.join(f'{name} {count}' for name, count in counts.items())
            raise StateError(
                f'the numbers of states differ: {told}',
                where=self.robot.name,
                repair='Give each array one row for each state.',
            )

    def _refuse_outdated(self) -> None:
        if not self.is_current:
            raise StateError(
                'the structure has changed since this was compiled',
                where=self.robot.name,
                repair='Compile again: robot.compile().',
            )

    def _say(self, reason: str) -> None:
        self.fallbacks[reason] += 1
        if self.fallbacks[reason] == 1:
            warnings.warn(
                f'{self.robot.name}: {reason}: the generic functions answer, slower.',
                GeneratedCodeWarning,
                stacklevel=4,
            )

    def _call(
        self, name: str, given: tuple[ArrayLike, ...], core: Callable[..., tuple[Any, ...]]
    ) -> tuple[tuple[Array, ...], Any, Any]:
        """Return outputs of a function, whether they count, and whether the core gave them."""
        function = self._functions.get(name) or self._function(name)
        reason = 'a pivot of the generated code fails, or the state is refused'
        q = given[0]
        if (q.ndim if type(q) is np.ndarray else np.ndim(q)) != 2:
            if self.robot.changes == self._structure:
                values = function.one(given)
                if values is not None:
                    return values, True, False
            else:
                reason = 'the structure has changed since this was compiled'
            answer = core(*(np.asarray(each, dtype=float) for each in given))
            self._say(reason)
            return answer, True, True
        rows = tuple(
            self._rows(each, width, what)
            for each, (what, width) in zip(given, function.inputs.items())
        )
        self._same_count(**dict(zip(function.inputs, rows)))
        if self.is_current:
            flat, good = function.many(rows)
        else:
            reason = 'the structure has changed since this was compiled'
            flat, good = function.empty(len(rows[0])), np.zeros(len(rows[0]), dtype=bool)
        ok, generic = good.copy(), ~good
        for i in np.flatnonzero(generic):
            try:
                flat[i] = np.concatenate([np.ravel(x) for x in core(*(each[i] for each in rows))])
                ok[i] = True
            except (ClosedChainError, ValueError):
                flat[i], generic[i] = np.nan, False
        if generic.any():
            self._say(reason)
        return function.split(flat), ok, generic
