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

from typing import Any, NamedTuple

import numpy as np

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.dynamics.forward import ForwardDynamics
from closed_chain_dynamics.model.model import Model
from closed_chain_dynamics.model.structure import Structure

__all__ = ['Basis', 'Completed', 'Forward', 'Inverse', 'Rollout']


class Forward(NamedTuple):
    """
    Accelerations theta_O'' that torques cause, (nv,) or (n, nv).

    `numbers`: q, v and torques as they were, and from `first` on theta_O'', side by side.
    """

    numbers: Array
    first: int
    ok: Any  # True, or (n,) of bool
    generic: Any  # whether the core answered instead
    model: Model
    structure: Structure  # as it was

    def __repr__(self) -> str:
        return f'Forward(acceleration={self.acceleration!r}, ok={self.ok}, generic={self.generic})'

    @property
    def acceleration(self) -> Array:
        """Return theta_O''."""
        return self.numbers[..., self.first :]

    @property
    def constraint_forces(self) -> Array:
        """
        Return the forces in the rows of J_C, (rows,) or (n, rows); nan where it is not `ok`.

        As those of the core, which computes them from the accelerations when they are asked for.
        """
        found = [self._constraint_forces(each) for each in np.atleast_2d(self.numbers)]
        rows = int(self.structure.shape['n_rows'])
        return np.reshape(found, (*self.numbers.shape[:-1], rows))

    def _constraint_forces(self, numbers: Array) -> Array:
        """Return what closes the equation of motion of one state; nan where there is none."""
        if not np.isfinite(numbers).all():
            return np.full(int(self.structure.shape['n_rows']), np.nan)
        nv = len(numbers) - self.first
        nq = self.first - nv - len(self.model.actuator_names)
        kept = self.model, self.structure, numbers, nq, nv, None, None
        return ForwardDynamics(kept).constraint_forces


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
