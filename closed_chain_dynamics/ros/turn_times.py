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

"""How long turns take, and how regularly they come: numbers for diagnostics."""

import numpy as np

__all__ = ['TurnTimes']

LENGTH = 500  # turns that are remembered: a report in between must not hold up the next turn


class TurnTimes:
    """
    Remembers the last turns; `late`: how many of all took longer than a `period` [s].

    What a turn takes is from when its state was taken up to when its torques were handed over.
    """

    def __init__(self, period: float = np.inf) -> None:
        self._began, self._spent, self.count = np.zeros(LENGTH), np.zeros(LENGTH), 0
        self.period, self.late = period, 0

    def add(self, began: float, ended: float) -> None:
        """Note a turn, in the time of the machine [s]."""
        place = self.count % LENGTH
        self.late += ended - began > self.period
        self._began[place], self._spent[place] = began, ended - began
        self.count += 1

    def values(self) -> dict[str, float]:
        """Return what diagnostics shows."""
        if self.count < 2:
            return {'turns': self.count}
        last = np.arange(max(self.count - LENGTH, 0), self.count) % LENGTH
        spent, gaps = np.sort(1e6 * self._spent[last]), np.diff(self._began[last])
        return {
            'turns': self.count,
            'late turns': self.late,
            'rate [Hz]': float(len(gaps) / max(gaps.sum(), 1e-9)),
            'turn median [us]': float(spent[len(spent) // 2]),
            'turn p99 [us]': float(spent[int(0.99 * len(spent))]),
            'longest pause [s]': float(gaps.max()),
        }
