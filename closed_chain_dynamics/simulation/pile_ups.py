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

"""When events pile up within a step, and how much of it is then taken at velocity level."""

__all__ = ['PileUp']

INSTANT = 1e-12  # what follows an event sooner than this is at the same time [s]
EVENTS_AT_ONCE = 3  # events at one time that lead nowhere; more are stepped over
EVENTS_BEFORE, EVENTS_AFTER = (
    8,
    2,
)  # events in one step before a part of it is stepped over, and after it
FIRST_STEPPED_OVER = (
    1.0 / 64.0
)  # share of dt that is stepped over first; twice as much each time again


class PileUp:
    """Counts the events of one step of a length dt [s]."""

    def __init__(self, dt: float) -> None:
        self._part, self._count, self._at_once, self._time = FIRST_STEPPED_OVER * dt, 0, 0, -1.0

    def count(self, time: float) -> None:
        """Note that an event has happened at a time [s]."""
        self._count += 1
        self._at_once = self._at_once + 1 if time - self._time <= INSTANT else 0
        self._time = time

    def lock(self) -> None:
        """Note that no forces fit the motion."""
        self._at_once = EVENTS_AT_ONCE

    @property
    def is_high(self) -> bool:
        """Return whether it has to be stepped over."""
        return self._count >= EVENTS_BEFORE or self._at_once >= EVENTS_AT_ONCE

    @property
    def has_events(self) -> bool:
        """Return whether anything has happened in the step."""
        return self._count > 0 or self.is_high

    def step(self, left: float) -> float:
        """Return the time to step over, at most what is `left` of the step [s]."""
        part, self._part = self._part, 2.0 * self._part
        self._at_once, self._count = 0, min(self._count, EVENTS_BEFORE - EVENTS_AFTER)
        return min(part, left)
