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

"""How simulated time follows the time of the wall."""

from collections.abc import Callable
import time

__all__ = ['Pace']

SHORTEST_PERIOD = (
    0.001  # between two looks at the clock; faster simulations take several periods [s]
)
AT_A_STRETCH = 0.01  # how long a simulation without a pace goes on before it listens [s]
MOST_LAG = 0.1  # a simulation that is later than this does not try to catch up [s]


class Pace:
    """
    Says how many periods are due; `overruns` counts those that came late.

    Half a period early is on time: a timer that trembles shall not skip every other period. At
    factor 0 every period is due at once.
    """

    def __init__(self, period: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.period, self._clock, self.overruns = period, clock, 0
        self.begin(0.0, 1.0)

    def begin(self, simulated: float, factor: float) -> None:
        """Go on from a simulated time [s] at a factor of real time."""
        self._start, self._simulated, self._factor = self._clock(), simulated, factor
        self._at_once = max(1, round(SHORTEST_PERIOD * factor / self.period))
        self._mark = self._start, simulated

    @property
    def wall_period(self) -> float:
        """Return how often to ask what is due [s]."""
        return self._at_once * self.period / self._factor if self._factor else SHORTEST_PERIOD

    @property
    def is_free(self) -> bool:
        """Return whether time goes as fast as it can."""
        return self._factor == 0.0

    def due(self, simulated: float) -> int:
        """Return how many periods bring the simulated time up to date."""
        if self.is_free:
            return 1
        now = self._clock()
        lag = self._simulated + (now - self._start) * self._factor - simulated
        turns = int(lag / (self._at_once * self.period) + 0.5)
        if turns > 1:
            self.overruns += turns - 1
            if lag > MOST_LAG * self._factor:
                self._start, self._simulated = now, simulated + self._at_once * self.period
                turns = 1
        return turns * self._at_once

    def real_time_factor(self, simulated: float) -> float:
        """Return simulated by real time since this was last asked."""
        (then, before), now = self._mark, self._clock()
        self._mark = now, simulated
        return (simulated - before) / max(now - then, 1e-9)
