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

"""When steps are due: counted, not added up, so that one run and many short ones agree."""

from dataclasses import dataclass

import numpy as np

__all__ = ['StepGrid']

GRID_ROUNDING = 1e-9  # share of a step that is not worth one of its own


@dataclass
class StepGrid:
    """Steps of dt that have been taken since a time, and how many are counted for the log."""

    dt: float
    start: float = 0.0
    taken: int = 0
    counted: int = 0

    def tick(self, ahead: int = 0) -> float:
        """Return the time of a step, by default that of the last one taken."""
        return self.start + (self.taken + ahead) * self.dt

    def take(self, steps: int) -> None:
        """Count steps that were taken."""
        self.taken += steps
        self.counted += steps

    def take_part(self, time: float) -> None:
        """Count a shorter step that ended at a time: the grid goes on from there."""
        self.start, self.taken, self.counted = time, 0, self.counted + 1

    def divide(self, duration: float) -> tuple[int, float]:
        """Return how many whole steps a duration has, and what is left of it [s]."""
        ratio = duration / self.dt
        slack = max(GRID_ROUNDING, 4.0 * float(np.spacing(ratio)))
        steps = int(np.floor(ratio + slack))
        rest = ratio - steps
        return steps, rest * self.dt if rest > slack else 0.0
