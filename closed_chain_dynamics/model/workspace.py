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

"""Scratch of the kernels: what one computation writes, and the forces from outside it reads."""

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.errors import DescriptionError
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.model.memory import Tables
from closed_chain_dynamics.model.model import Model, Records

__all__ = ['Workspace']

MOST_WORKSPACE_BYTES = 4 * 2**30  # some two thousand bodies: matrices of bodies by bodies
NO_LOADS = np.zeros(0, at.LOAD)


class Workspace(Tables):
    """
    Tables that every computation writes anew: for one thread.

    `totals` is a single record. `torques` (actuators,) are tau_A; loads and forces on the
    coordinates are given through the mechanism, whose handle says how many there are.
    """

    _totals: Records
    moving: Records
    inertias: Records
    columns: Records
    frames: Records
    rows: Records
    loop_columns: Records
    zeros: NDArray[np.float64]
    tau: NDArray[np.float64]
    drift: NDArray[np.float64]
    torques: NDArray[np.float64]
    extra: NDArray[np.float64]

    def __repr__(self) -> str:
        return f'<Workspace of {self.memory.nbytes} bytes>'

    def __init__(self, model: Model) -> None:
        self.layout = model.workspace_layout
        if self.layout.size > MOST_WORKSPACE_BYTES:
            needed = self.layout.size / 2**30
            raise DescriptionError(
                f'the matrices of {len(model.bodies)} bodies need {needed:.1f} GiB',
                repair='Take a smaller mechanism: '
                f'{MOST_WORKSPACE_BYTES // 2**30} GiB is the limit.',
            )
        self.memory = self.layout.memory()
        self.loads: Records = NO_LOADS

    @property
    def totals(self) -> np.void:
        """Return the shift of the origin, energies and powers."""
        record: np.void = self._totals[0]
        return record
