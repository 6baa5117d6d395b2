"""How long turns take, and how regularly they come: numbers for diagnostics."""

import numpy as np

__all__ = ['TurnTimes']

LENGTH = 500  # turns that are remembered: a report in between must not hold up the next turn


class TurnTimes:
    """Remembers the last turns."""

    def __init__(self) -> None:
        self._began, self._spent, self.count = np.zeros(LENGTH), np.zeros(LENGTH), 0

    def add(self, began: float, ended: float) -> None:
        """Note a turn, in the time of the machine [s]."""
        place = self.count % LENGTH
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
            'rate [Hz]': float(len(gaps) / max(gaps.sum(), 1e-9)),
            'turn median [us]': float(spent[len(spent) // 2]),
            'turn p99 [us]': float(spent[int(0.99 * len(spent))]),
            'longest pause [s]': float(gaps.max()),
        }
