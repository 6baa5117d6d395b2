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
Contact or not, from a signal with noise: thresholds, hysteresis, debouncing, minimum dwell.

A force makes contact above a threshold and ends it below a lower one; a height the other way
round. The signal has to stay beyond the threshold for the debouncing time, and a decision stands
for the dwell time at least.
"""

import math

from closed_chain_dynamics.errors import StateError

__all__ = ['CONTACT_SIGNALS', 'ContactDetector']

CONTACT_SIGNALS = ('force', 'height')
TICK = 1e-9  # of stamps: differences of times are no better [s]


class ContactDetector:
    """
    Decides about one contact.

    `signal`: 'force' [N] or 'height' [m]; `make`, `release`: thresholds, `release` below `make`
    for a force and above it for a height; `debounce`, `dwell`: times [s]. `closed` may be None,
    not known yet: then the first signal beyond either threshold decides.
    """

    def __init__(
        self,
        signal: str,
        make: float,
        release: float,
        *,
        debounce: float = 0.01,
        dwell: float = 0.1,
        closed: bool | None = False,
    ) -> None:
        if signal not in CONTACT_SIGNALS:
            raise StateError(
                f'unknown signal {signal!r}',
                where='contact',
                repair=f'Choose one of {", ".join(CONTACT_SIGNALS)}.',
            )
        if not (math.isfinite(make) and math.isfinite(release)):
            raise StateError('thresholds must be finite', where='contact')
        if (make < release) if signal == 'force' else (make > release):
            side = 'below' if signal == 'force' else 'above'
            raise StateError(
                f'the release threshold of a {signal} must be {side} the make threshold, and '
                f'{release:g} is not {side} {make:g}',
                where='contact',
                repair='Swap the thresholds.',
            )
        if not (0.0 <= debounce < math.inf and 0.0 <= dwell < math.inf):
            raise StateError('debounce and dwell must be times of zero or more', where='contact')
        self._sign = 1.0 if signal == 'force' else -1.0
        self._make, self._release = self._sign * make, self._sign * release
        self._debounce, self._dwell = debounce, dwell
        self.closed = closed
        self._since: float | None = None
        self._changed: float | None = None
        self._time: float | None = None
        self._wanted: bool | None = None

    def __repr__(self) -> str:
        return f'<ContactDetector: {"closed" if self.closed else "open"}>'

    def update(self, time: float, value: float) -> str | None:
        """Take a value at a time; return 'connect', 'cut' or None."""
        if not math.isfinite(value):
            raise StateError(
                f'the signal is {value}', where='contact', repair='Give finite numbers only.'
            )
        if self._time is not None and time < self._time:  # a clock that started anew
            self._since = self._changed = None
        self._time = time
        value *= self._sign
        wanted = True if value > self._make else False if value < self._release else self.closed
        if wanted == self.closed:
            self._since = None
            return None
        if self._since is None or wanted != self._wanted:
            self._since, self._wanted = time, wanted
        if time - self._since < self._debounce - TICK or (
            self._changed is not None and time - self._changed < self._dwell - TICK
        ):
            return None
        self.closed, self._changed, self._since = wanted, time, None
        return 'connect' if self.closed else 'cut'

    def correct(self, closed: bool, time: float) -> None:
        """Take over what the contact really is, after a refusal or an event of somebody else."""
        if closed != self.closed:
            self._changed = None if self.closed is None else time
            self.closed, self._since = closed, None
