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

"""What a compiled mechanism answers: light values, of one state or of n of them."""

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.dynamics.forward import ForwardDynamics
from closed_chain_dynamics.dynamics.values import numbers
from closed_chain_dynamics.model.model import Model
from closed_chain_dynamics.model.structure import Structure

__all__ = ['AnsweredFor', 'Basis', 'Completed', 'Forward', 'Inverse', 'Rollout']


# the mechanism as it was, and q, v and torques: numbers one after the other
AnsweredFor: TypeAlias = tuple[Model, Structure, bytes, bytes, bytes]


class Forward(NamedTuple):
    """Accelerations theta_O'', (nv,) or (n, nv)."""

    acceleration: Array
    ok: Any  # True, or (n,) of bool
    generic: Any  # whether the core answered instead
    asked: AnsweredFor

    @property
    def constraint_forces(self) -> Array:
        """
        Return the forces in the rows of J_C, (rows,) or (n, rows); nan where it is not `ok`.

        As those of the core, which computes them from the accelerations when they are asked for.
        """
        model, structure, *given = self.asked
        if self.acceleration.ndim == 1:
            return _constraint_forces((model, structure), given, self.acceleration)
        count = len(self.acceleration)
        found = np.empty((count, int(structure.shape['n_rows'])))
        for k, acceleration in enumerate(self.acceleration):
            state = [numbers(each).reshape(count, -1)[k].tobytes() for each in given]
            found[k] = _constraint_forces((model, structure), state, acceleration)
        return found


def _constraint_forces(
    where: tuple[Model, Structure], given: list[bytes], acceleration: Array
) -> Array:
    """Return what closes the equation of motion of one state; nan where there is none."""
    if not np.isfinite(acceleration).all():
        return np.full(int(where[1].shape['n_rows']), np.nan)
    q, v, tau = (numbers(each) for each in given)
    answer = np.concatenate([q, v, tau, acceleration])
    return ForwardDynamics((*where, answer, len(q), len(v), None, None)).constraint_forces


class Inverse(NamedTuple):
    """
    Forces that a motion needs; each (width,) or (n, width).

    `tau_O`, `tau_G`, `tau_A` and `residual` lie side by side in `forces`, one after `ends`.
    """

    forces: Array
    ends: tuple[int, int, int]
    ok: Any
    generic: Any

    @property
    def tau_O(self) -> Array:
        """Return the forces on the tree."""
        return self.forces[..., : self.ends[0]]

    @property
    def tau_G(self) -> Array:
        """Return the generalized forces W^T tau_O."""
        return self.forces[..., self.ends[0] : self.ends[1]]

    @property
    def tau_A(self) -> Array:
        """Return the torques of the actuators."""
        return self.forces[..., self.ends[1] : self.ends[2]]

    @property
    def residual(self) -> Array:
        """Return what no actuator gives of tau_G."""
        return self.forces[..., self.ends[2] :]


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
