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

"""Roll-outs: many states over many steps in one call, over vector lanes and threads."""

import ctypes
from numbers import Integral, Real
import os

import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics.codegen.batch import (
    as_numbers,
    as_rows,
    check_counts,
    pointer,
    shares,
    spread,
)
from closed_chain_dynamics.codegen.build import build
from closed_chain_dynamics.codegen.cache import STEP_LIBRARY
from closed_chain_dynamics.codegen.compiler import find_compiler
from closed_chain_dynamics.codegen.results import Rollout
from closed_chain_dynamics.codegen.source import Source
from closed_chain_dynamics.errors import NameNotFound, StateError

__all__ = ['GENERATED_INTEGRATORS', 'Roller']

GENERATED_INTEGRATORS = ('euler', 'rk4')  # as in Simulation: semi-implicit Euler


class Roller:
    """Roll-outs of many states over many steps."""

    def __init__(self, source: Source, threads: int | None = None) -> None:
        self._source = source
        self.threads = threads or os.cpu_count() or 1
        self._lanes = find_compiler().lanes
        self._library = {1: build(source, STEP_LIBRARY)}

    def roll(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        steps: int,
        every: int,
        dt: float,
        integrator: str,
    ) -> Rollout:
        """Return states kept and steps done; see `CompiledMechanism.rollout`."""
        source = self._source
        if integrator not in GENERATED_INTEGRATORS:
            raise NameNotFound('integrator', integrator, GENERATED_INTEGRATORS, where=source.name)
        whole = isinstance(steps, Integral) and isinstance(every, Integral)
        if not (whole and 0 < every <= steps and isinstance(dt, Real) and 0.0 < dt < np.inf):
            raise StateError(
                'steps and every must be whole numbers above zero, every not above steps, and dt '
                f'a time above zero, not {steps!r}, {every!r} and {dt!r}',
                where=source.name,
                repair='For example steps=1000, every=1, dt=1e-3.',
            )
        q, v = as_rows(q, source.nq, 'q', source.name), as_rows(v, source.nv, 'v', source.name)
        tau = as_numbers(tau, 'tau', source.name)
        check_counts(source.name, q=q, v=v, tau=np.atleast_1d(tau))
        n, motors = len(q), len(source.motors)
        motors += len(source.symbols[1]) if source.symbols else 0  # parameters, behind torques
        changing = tau.ndim == 3
        if tau.shape != ((n, steps, motors) if changing else (n, motors)):
            raise StateError(
                f'tau has shape {tau.shape}, which is neither (n, actuators) nor '
                '(n, steps, actuators)',
                where=source.name,
                repair=f'Give shape ({n}, {motors}) or ({n}, {steps}, {motors}).',
            )
        lanes = self._lanes if n > 1 else 1
        if lanes not in self._library:
            self._library[lanes] = build(source, STEP_LIBRARY, lanes=lanes)
        kept = steps // every
        q_out = np.empty((n, kept, source.nq))
        v_out = np.empty((n, kept, source.nv))
        done = np.zeros(n, dtype=np.int64)
        call = self._library[lanes].dll.roll_many

        def run(share: tuple[int, int]) -> None:
            call(
                *(ctypes.c_long(x) for x in (*share, steps, every)),
                ctypes.c_int(changing),
                ctypes.c_int(integrator == 'rk4'),
                ctypes.c_double(dt),
                *(pointer(each) for each in (q, v, tau, q_out, v_out, done)),
            )

        spread(run, shares(n, lanes, self.threads))
        return Rollout(q_out, v_out, done, done == steps)
