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

"""A log as a view shows it: played, or scrubbed through."""

import numpy as np

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.errors import StructureError
from closed_chain_dynamics.recording.log import Log
from closed_chain_dynamics.viewer.observation import Observation, Snapshot
from closed_chain_dynamics.viewer.sources import KEPT_SAMPLES, ViewSource

__all__ = ['LogSource']


class LogSource(ViewSource):
    """A log that is played, or scrubbed through."""

    kind = 'log'
    can_run = can_step = True
    duration: float

    def __init__(self, log: Log) -> None:
        if not len(log):
            raise StructureError(
                'there is nothing to show: the log has no samples', where=log.robot.name
            )
        super().__init__(log.robot)
        self.times, self._sample = log.time, 0
        self.duration = float(self.times[-1] - self.times[0])
        self._spans = list(log.spans())
        self._robots = [segment.mechanism() for segment, _ in self._spans]
        self._table = np.column_stack(
            [log.time, log.kinetic, log.potential, log.loop_error, log.table('tau')[1]]
        )
        self.position = 0.0

    def advance(self, elapsed: float) -> None:
        """Play on, and stop at the end."""
        if not self.paused:
            self.seek(min(self.position + elapsed * self.speed, self.duration))
            self.paused = self.position >= self.duration

    def toggle(self) -> None:
        """Stop, or go on: from the start where the end is reached."""
        super().toggle()
        if self.position >= self.duration:
            self.reset()

    def seek(self, position: float) -> None:
        """Go to a time after the start of the log [s]."""
        self.position = float(position)
        place = np.searchsorted(self.times, self.times[0] + position + 1e-9, side='right')
        self._go(int(place) - 1)

    def step(self) -> None:
        """Go to the next sample."""
        self.paused = True
        self._go(min(self._sample + 1, len(self.times) - 1))
        self.position = float(self.times[self._sample] - self.times[0])

    def reset(self) -> None:
        """Go back to the first sample."""
        self.seek(0.0)

    def _go(self, sample: int) -> None:
        self.version += sample != self._sample
        self._sample = sample

    def snapshot(self) -> Snapshot:
        """Return the state of the sample that is shown."""
        k = self._sample
        place = next(n for n, (_, span) in enumerate(self._spans) if k < span.stop)
        segment, span = self._spans[place]
        q, v = (segment.get(what)[k - span.start].copy() for what in 'qv')
        time, kinetic, potential, _, *tau = self._table[k]
        return Snapshot(
            self._robots[place].copy(),
            q,
            v,
            np.array(tau),
            float(time),
            (kinetic, potential),
            segment.wrenches,
        )

    def noticed(self, seen: Observation) -> None:
        """Keep nothing: it is all in the log."""

    def samples(self) -> Vector:
        """Return the samples up to the one that is shown, thinned out."""
        every = max(1, (self._sample + 1) // KEPT_SAMPLES)
        return self._table[self._sample :: -every][::-1]
