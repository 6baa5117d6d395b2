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

"""How long turns of control are, of late: what springs and dampers have to be stable with."""

import math

from closed_chain_dynamics.control.state_tracking import OTHER_CLOCK

__all__ = ['TurnLength']

UNKNOWN = 0.05  # length of a turn before two states have come [s]
FORGOTTEN = 1.0  # time in which a long turn is forgotten to a share of 1/e [s]


class TurnLength:
    """
    The longest of the last turns, `now` [s], by the stamps of states; `is_known`: from two on.

    It grows at once and shrinks slowly: a single turn with a force that is too large is enough to
    throw a leg, and a late one seldom comes alone. A state that is older than a turn when it is
    answered counts by its age.
    """

    def __init__(self) -> None:
        self.now, self._last, self.is_known = UNKNOWN, math.nan, False

    def after(self, stamp: float, age: float, stood: bool) -> float:
        """
        Return the longest turn [s], with the one that a state ends, `age` after its stamp [s].

        `stood`: whether torques of the law acted since the last one; else the time between does
        not count.
        """
        apart = stamp - self._last
        if not apart > 0.0:  # the first of all, or of a clock that started anew
            return self.now
        counts, before = self._counts(apart, stood), self.now
        if self.is_known:
            before *= math.exp(-apart / FORGOTTEN)
        elif counts:
            before = 0.0
        return max(before, _known(age), apart if counts else 0.0)

    def take(self, stamp: float, age: float, stood: bool) -> None:
        """Take note of a state that is answered now; see `after`."""
        self.now, apart = self.after(stamp, age, stood), stamp - self._last
        self.is_known = self.is_known or (apart > 0.0 and self._counts(apart, stood))
        self._last = stamp

    def _counts(self, apart: float, stood: bool) -> bool:
        """Return whether the time between two states is a turn."""
        return stood or (not self.is_known and apart < UNKNOWN)


def _known(age: float) -> float:
    """Return the age of a state, if it is of this clock [s]."""
    return age if abs(age) < OTHER_CLOCK else 0.0
