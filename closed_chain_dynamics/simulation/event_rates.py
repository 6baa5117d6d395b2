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

"""How often things happen: a contact that has more events a second than it should is told of."""

from collections import deque
from collections.abc import Iterable
import warnings

from closed_chain_dynamics.recording.events import Event

__all__ = ['EventRates']


class EventRates:
    """Counts events by contact, and warns once of each that has `most` within a second."""

    def __init__(self, robot: str, most: int) -> None:
        self.robot, self.most = robot, most
        self._times: dict[str, deque[float]] = {}
        self._told: set[str] = set()

    def count(self, events: Iterable[Event]) -> None:
        """Note events as they happen."""
        for event in events:
            times = self._times.setdefault(event.name, deque(maxlen=self.most))
            times.append(event.time)
            full = len(times) == self.most and event.time - times[0] < 1.0
            if full and event.name not in self._told:
                self._told.add(event.name)
                warnings.warn(
                    f'{self.robot}: {event.name!r} has had {self.most} events within '
                    f'{event.time - times[0]:.3g} s at t = {event.time:.6g} s, the last a '
                    f'{event.kind!r}: it does not come to rest, and the run is slow. Less '
                    'restitution, more friction or a soft contact (stiffness=) lets it settle.',
                    RuntimeWarning,
                    stacklevel=2,
                )
