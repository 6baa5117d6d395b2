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

"""What a simulation may be asked to do: steps, integrators, logging; what cannot be is refused."""

import numbers

import numpy as np

from closed_chain_dynamics.errors import StateError
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['INTEGRATORS', 'check_duration', 'check_options', 'check_step']

INTEGRATORS = ('euler', 'rk4', 'implicit', 'adaptive')  # but the last as the kernels number them


def check_step(robot: Mechanism, dt: float) -> None:
    """Refuse a step that is not a positive time [s]."""
    if not (isinstance(dt, numbers.Real) and np.isfinite(float(dt)) and dt > 0.0):
        raise StateError(
            f'the step dt must be a positive time, not {dt!r}',
            where=robot.name,
            repair='Give it in seconds, for example dt=1e-3.',
        )


def check_options(
    robot: Mechanism,
    dt: float,
    integrator: str,
    log_every: int,
    tolerance: float,
    compiled: bool = False,
) -> None:
    """Refuse options that no simulation can work with."""
    check_step(robot, dt)
    if integrator not in INTEGRATORS:
        raise StateError(
            f'unknown integrator {integrator!r}',
            where=robot.name,
            repair=f'Choose one of {", ".join(INTEGRATORS)}.',
        )
    if compiled and integrator == 'adaptive':
        raise StateError(
            f'the integrator {integrator!r} has no steps in generated code',
            where=robot.name,
            repair="Take integrator='rk4' or 'euler', or leave out compiled.",
        )
    if not (isinstance(log_every, numbers.Integral) and log_every >= 0):
        raise StateError(
            f'log_every must be a number of steps, not {log_every!r}',
            where=robot.name,
            repair='Give 1 for every step, 0 for no log.',
        )
    if not (isinstance(tolerance, numbers.Real) and tolerance > 0.0) or (
        integrator == 'adaptive' and np.isinf(float(tolerance))
    ):
        raise StateError(
            f'the tolerance must be positive, not {tolerance!r}',
            where=robot.name,
            repair='For example tolerance=1e-9.',
        )


def check_duration(robot: Mechanism, duration: float) -> None:
    """Refuse a duration that is not a time of zero or more [s]."""
    is_number = isinstance(duration, numbers.Real) and np.isfinite(float(duration))
    if not (is_number and duration >= 0.0):
        raise StateError(
            f'the duration must be a time of zero or more, not {duration!r}', where=robot.name
        )
