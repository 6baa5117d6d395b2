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
Torques that do not step where the law, its gains or its inputs do.

At a change the difference between the torques before and those of the new law is kept, and fades
within `duration`: tau + offset (1 - s(t)), s rising smoothly from 0 to 1. So torques go on from
where they were, whatever both laws are, and a second change before the end of the first does too.
"""

import numpy as np

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.errors import StateError

__all__ = ['STEEPEST', 'Blend']

STEEPEST = 1.5  # largest slope of s, in changes per duration


class Blend:
    """Fades from one law to the next within `duration` [s]; 0: at once."""

    def __init__(self, duration: float = 0.2) -> None:
        if not 0.0 <= duration < np.inf:
            raise StateError(
                f'blend must be a finite time of zero or more, not {duration!r}',
                where='blend',
                repair='Give the duration of a change of the control law [s].',
            )
        self.duration = duration
        self._source: object = None
        self._last: tuple[Vector, Vector] | None = None  # torques, and what motors could give
        self._offset: Vector | None = None
        self._begun = 0.0

    def forget(self) -> None:
        """Begin anew with the next torques: others were sent meanwhile."""
        self._last = self._offset = None

    def goes_on(self, source: object) -> bool:
        """Return whether torques of a source pass as they are."""
        return self._last is not None and self._offset is None and source == self._source

    def keep(self, tau: Vector, most: Vector) -> None:
        """Take note of torques that pass as they are."""
        self._last = tau, most

    def smooth(self, tau: Vector, time: float, source: object, most: Vector) -> Vector:
        """
        Return torques that go on from the last ones.

        `source`: what they come from; where it is not equal to the last one, a change begins.
        `most`: what the actuators can give, so that nothing fades that nobody felt.
        """
        if self._last is not None and source != self._source and self.duration > 0.0:
            last, could = self._last
            self._offset, self._begun = np.clip(last, -could, could) - tau, time
        self._source = source
        if self._offset is not None:
            share = (time - self._begun) / self.duration if self.duration > 0.0 else 1.0
            if 0.0 <= share < 1.0:
                tau = tau + (1.0 - share * share * (3.0 - 2.0 * share)) * self._offset
            else:
                self._offset = None
        self.keep(tau, most)
        return tau
