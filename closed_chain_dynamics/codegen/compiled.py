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

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.assembly.completion import complete_acceleration, complete_velocity
from closed_chain_dynamics.assembly.search import assemble
from closed_chain_dynamics.codegen.answers import Answers
from closed_chain_dynamics.codegen.batch import as_numbers
from closed_chain_dynamics.codegen.build import require_casadi
from closed_chain_dynamics.codegen.cache import DERIVATIVES
from closed_chain_dynamics.codegen.compiler import find_compiler
from closed_chain_dynamics.codegen.forward_derivatives import Derivatives, derivatives, linearise
from closed_chain_dynamics.codegen.gathering import gather
from closed_chain_dynamics.codegen.results import Basis, Completed, Forward, Inverse, Rollout
from closed_chain_dynamics.codegen.rollouts import Roller
from closed_chain_dynamics.codegen.source import Source
from closed_chain_dynamics.dynamics.actuation import actuator_vector
from closed_chain_dynamics.dynamics.forward import forward_dynamics
from closed_chain_dynamics.dynamics.generalized_coordinates import coordinates
from closed_chain_dynamics.dynamics.inverse import inverse_dynamics
from closed_chain_dynamics.dynamics.tree import link_placements
from closed_chain_dynamics.errors import StateError
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['CompiledMechanism', 'compile_mechanism']

_new = tuple.__new__  # half the time of calling a named tuple


def compile_mechanism(robot: Mechanism, q: ArrayLike | None = None) -> CompiledMechanism:
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

    `robot`: the mechanism that was compiled; `independent`: theta_G; `fallbacks`: how often the
    generic functions were used instead, by reason; `threads`: how many threads a batch may use.
    """

    def __init__(self, robot: Mechanism, source: Source, *, threads: int | None = None) -> None:
        self.robot, self.source = robot, source
        self.independent = source.independent_names
        self._threads = threads
        self._answers = answers = Answers(robot, source, threads)
        self.fallbacks = answers.fallbacks
        self._roller: Roller | None = None
        nv, motors = source.nv, len(source.motors)
        self._ends = nv, nv + len(self.independent), nv + len(self.independent) + motors
        self._forward = answers.function('forward_dynamics').answer
        self._inverse = answers.function('inverse_dynamics').answer
        widths = [answers.function(f'{kind}_dynamics').width for kind in ('forward', 'inverse')]
        self._forward_width, self._inverse_width = widths
        self._first = widths[0] - nv

    def __repr__(self) -> str:
        return f'<CompiledMechanism {self.source.name!r}: theta_G {", ".join(self.independent)}>'

    def __reduce__(self) -> tuple[Any, ...]:
        return _compiled_again, (self.robot, self.source, self._threads)

    @property
    def is_current(self) -> bool:
        """Return whether the mechanism has the structure that was compiled."""
        return self._answers.is_current

    # --- the calls of the core ----------------------------------------------------------------
    def forward_dynamics(self, q: ArrayLike, v: ArrayLike, tau: Any = None) -> Forward:
        """Return the accelerations of the closed chain under actuator torques."""
        robot = self.robot
        if robot.changes == self._answers.structure:
            flat = np.empty(self._forward_width)
            if self._forward(q, v, tau, flat):  # one state, in arrays as they should be
                kept = robot.kept_structure()
                return _new(Forward, (flat, self._first, True, False, robot.model, kept))
        if tau is None or isinstance(tau, Mapping):
            n = np.shape(q)[:-1]
            tau = np.broadcast_to(self._torques(tau), (*n, len(self.source.motors)))
        flat, ok, generic = self._answers.call(
            'forward_dynamics',
            (q, v, tau),
            lambda q, v, tau: (forward_dynamics(robot, q, v, tau).acceleration,),
        )
        first = flat.shape[-1] - robot.nv
        return Forward(flat, first, ok, generic, robot.model, robot.kept_structure())

    def inverse_dynamics(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Inverse:
        """Return the forces that a motion of the closed chain needs."""
        if self.robot.changes == self._answers.structure:
            flat = np.empty(self._inverse_width)
            if self._inverse(q, v, a, flat):
                return _new(Inverse, (flat, self._ends, True, False))
        return self._forces('inverse_dynamics', (q, v, a))

    def gravity_torques(self, q: ArrayLike) -> Inverse:
        """Return the forces that hold the mechanism at rest, springs included."""
        return self._forces('gravity_torques', (q,))

    def _forces(self, name: str, given: tuple[ArrayLike, ...]) -> Inverse:
        def core(q: Array, *motion: Array) -> tuple[Array, ...]:
            r = inverse_dynamics(self.robot, q, *(motion or [np.zeros(self.robot.nv)] * 2))
            return r.tau_O, r.tau_G, r.tau_A, r.residual

        flat, ok, generic = self._answers.call(name, given, core)
        return Inverse(flat, self._ends, ok, generic)

    def coordinates(self, q: ArrayLike) -> Basis:
        """Return W, S and J_C in the generalized coordinates that were compiled."""

        def core(q: Array) -> tuple[Array, ...]:
            c = coordinates(self.robot, q)
            if c.independent != self.independent:
                raise StateError(
                    'the compiled theta_G is a poor choice in this pose',
                    where=self.robot.name,
                    repair='Compile in a nearby pose: robot.compile(q=q).',
                )
            return c.W, c.S, c.J_C

        flat, ok, generic = self._answers.call('coordinates', (q,), core)
        W, S, J_C = self._answers.function('coordinates').split(flat)
        return Basis(W, S, J_C, self.independent, ok, generic)

    def complete_velocity(self, q: ArrayLike, rates: Any) -> Completed:
        """
        Return the velocity that the loops allow, from rates of theta_G.

        `rates`: by name, for every coordinate in `independent`, or an array over them.
        """
        return Completed._make(
            self._answers.call(
                'complete_velocity',
                (q, self._rates(q, rates)),
                lambda q, rates: (complete_velocity(self.robot, q, self._named(rates)),),
            )
        )

    def complete_acceleration(self, q: ArrayLike, v: ArrayLike, accelerations: Any) -> Completed:
        """Return the acceleration that the loops allow at v, from those of theta_G."""
        return Completed._make(
            self._answers.call(
                'complete_acceleration',
                (q, v, self._rates(q, accelerations)),
                lambda q, v, rates: (complete_acceleration(self.robot, q, v, self._named(rates)),),
            )
        )

    def link_placements(self, q: ArrayLike) -> dict[str, Array]:
        """Return the placement of every link, {name: (4, 4)}, or (n, 4, 4) of a batch."""

        def core(q: Array) -> tuple[Array]:
            rows = [X[:3] for X in link_placements(self.robot, q).values()]
            return (np.array([np.concatenate([X[:, :3].ravel(), X[:, 3]]) for X in rows]),)

        flat, _, _ = self._answers.call('placements', (q,), core)
        (rows,) = self._answers.function('placements').split(flat)
        out = {}
        for number, link in enumerate(self.source.links):
            X = np.zeros((*rows.shape[:-2], 4, 4))
            X[..., :3, :3] = rows[..., number, :9].reshape(*rows.shape[:-2], 3, 3)
            X[..., :3, 3], X[..., 3, 3] = rows[..., number, 9:], 1.0
            out[link] = X
        return out

    def derivatives(self, q: ArrayLike, v: ArrayLike, tau: Any = None) -> Derivatives:
        """Return the derivatives of forward dynamics at one state; see `codegen.derivatives`."""
        if np.ndim(q) > 1:
            raise StateError(
                f'derivatives are computed for one state, but q has shape {np.shape(q)}',
                where=self.robot.name,
                repair='Call it once per row.',
            )
        if self.is_current:
            given = self._torques(tau)
            f = self.forward_dynamics(q, v, given)
            if not f.generic:
                found = self._answers.function(DERIVATIVES).one((q, v, given, f.acceleration))
                if found is not None:
                    return self._derivatives(q, v, found)
        self._answers.say('derivatives do not hold here in generated code')
        return self._answers.core(derivatives, self.robot, q, v, tau)

    def _derivatives(self, q: ArrayLike, v: ArrayLike, found: Array) -> Derivatives:
        """Return slopes by q, v and torques, which lie beside W; A and B when they are asked."""
        nv, na = self.source.nv, len(self.source.motors)
        found = found.reshape(nv, 2 * nv + na + len(self.independent))
        wrt_q, wrt_v = found[:, :nv], found[:, nv : 2 * nv]
        wrt_tau, W = found[:, 2 * nv : 2 * nv + na], found[:, 2 * nv + na :]
        pose, rate = np.array(q, dtype=float), np.array(v, dtype=float)
        closed = partial(linearise, self, pose, rate, W, wrt_q, wrt_v, wrt_tau)
        return Derivatives(wrt_q, wrt_v, wrt_tau, self.independent, closed)

    def slopes(self, name: str, **given: Array) -> Array | None:
        """Return directional derivatives, one row per direction; None where they are not valid."""
        function = self._answers.function(name)
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

        `tau`: (n, actuators) held, or (n, steps, actuators). A state whose pivots fail or whose
        numbers diverge ends there: `steps` says when, and what follows is nan.
        """
        self._refuse_outdated()
        if tau is None or isinstance(tau, Mapping):
            shape = len(np.atleast_2d(q)), len(self.source.motors)
            tau = np.broadcast_to(self._torques(tau), shape)
        if self._roller is None:
            self._roller = Roller(self.source, self._threads)
        return self._roller.roll(q, v, tau, steps, every, dt, integrator)

    def step(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: Any = None,
        *,
        dt: float = 1e-3,
        integrator: str = 'rk4',
    ) -> tuple[Array, Array]:
        """Return q and v one step later, loops closed; raise where generated code cannot step."""
        one = np.ndim(q) == 1
        given = tau if tau is None or isinstance(tau, Mapping) else np.atleast_2d(tau)
        rolled = self.rollout(
            np.atleast_2d(q), np.atleast_2d(v), given, steps=1, dt=dt, integrator=integrator
        )
        if one and not rolled.ok[0]:
            raise StateError(
                'generated code cannot step from here: its pivots fail, the state is not finite, '
                'or a loop is open',
                where=self.robot.name,
                repair='Step with ccd.Simulation, which chooses coordinates anew.',
            )
        return (rolled.q[0, 0], rolled.v[0, 0]) if one else (rolled.q[:, 0], rolled.v[:, 0])

    # --- inside -------------------------------------------------------------------------------
    def _torques(self, tau: Any) -> Array:
        values: Array = actuator_vector(self.robot, tau, 'tau')
        return values

    def _rates(self, q: ArrayLike, rates: Any) -> Any:
        if not isinstance(rates, Mapping):
            given = np.shape(rates)
            if given[-1:] != (len(self.independent),):
                raise StateError(
                    f'rates have shape {given} but there are {len(self.independent)} theta_G',
                    where=self.robot.name,
                    repair=f'Give one for each of {", ".join(self.independent)}.',
                )
            return rates
        missing = [name for name in self.independent if name not in rates]
        unknown = [name for name in rates if name not in self.independent]
        if missing or unknown:
            raise StateError(
                f'a compiled completion takes {", ".join(self.independent)}; '
                + (f'{missing[0]!r} is missing' if missing else f'{unknown[0]!r} is not needed'),
                where=self.robot.name,
                repair='Give exactly these, or use the generic function.',
            )
        of_each = np.shape(q)[:-1]  # one rate for all states of a batch will do
        columns = [as_numbers(rates[name], name, self.robot.name) for name in self.independent]
        columns = [np.full(of_each, x) if np.size(x) == 1 else x for x in columns]
        if any(np.shape(x) != of_each for x in columns):
            shapes = ', '.join(str(np.shape(x)) for x in columns)
            raise StateError(
                f'rates have shapes {shapes}, but q has shape {np.shape(q)}',
                where=self.robot.name,
                repair='Give each one number, or one for each state.',
            )
        return np.stack(columns, -1) if columns else np.empty((*of_each, 0))

    def _named(self, rates: Array) -> dict[str, float]:
        return dict(zip(self.independent, rates.tolist()))

    def _refuse_outdated(self) -> None:
        if not self.is_current:
            raise StateError(
                'the structure has changed since this was compiled',
                where=self.robot.name,
                repair='Compile again: robot.compile().',
            )


def _compiled_again(robot: Mechanism, source: Source, threads: int | None) -> CompiledMechanism:
    """Return a compiled mechanism that was copied, or sent to another process."""
    made = CompiledMechanism(robot, source, threads=threads)
    made._answers.doubt()  # the structure may have changed before
    return made
