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

"""Counts what goes over the topics of a running system, for the summary at its end."""

from collections import Counter, deque
from contextlib import suppress
import json
from struct import unpack_from
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from closed_chain_dynamics.ros.messages.qos import EVENTS, STREAM
from closed_chain_dynamics.ros.simulator_start import BEGINNING

__all__ = ['Monitor']

COUNTED = ('joint_states', 'actuator_torques')
MOST_KEPT_EVENTS = 10_000  # that are kept; all are counted
STAMP_SIZE = 8
STAMP_PLACE = 4  # place of the stamp in a serialized message: after the mark of its encoding
LOOP_ERROR = 'loop error [m or rad]'  # as simulator_node calls it


class Monitor(Node):
    """Hears joint states, torques, events and diagnostics; `summary()` says what there was."""

    def __init__(self, **options: Any) -> None:
        super().__init__('monitor', **options)
        self.events: deque[dict[str, Any]] = deque(maxlen=MOST_KEPT_EVENTS)
        self._kinds: Counter[str] = Counter()
        self.loop_error = 0.0
        self._said: dict[str, str] = {}
        self._counts = {topic: _Count() for topic in COUNTED}
        for topic, count in self._counts.items():  # raw: number and stamp are all we want
            self.create_subscription(JointState, topic, count, STREAM, raw=True)
        self.create_subscription(String, 'contact/events', self._on_event, EVENTS)
        self.create_subscription(DiagnosticArray, 'diagnostics', self._on_diagnostics, STREAM)

    def _on_event(self, message: String) -> None:
        try:
            event = json.loads(message.data)
            self._kinds[str(event['kind'])] += 1
        except (KeyError, RecursionError, TypeError, ValueError):
            return  # whoever says it, it is no simulator
        self.events.append(event)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self._said[status.name.rpartition('/')[2]] = status.message
            for each in status.values:
                if each.key == LOOP_ERROR:
                    with suppress(ValueError):
                        self.loop_error = max(self.loop_error, float(each.value))

    @property
    def began(self) -> float | None:
        """Return when simulated time began to pass, on the clock of the machine; None: not yet."""
        return self._counts['joint_states'].first

    def summary(self) -> dict[str, Any]:
        """Return rates [Hz], loop error, real-time factor, events and what nodes last said."""
        return {
            'rates': {topic: count.rate() for topic, count in self._counts.items()},
            'loop_error': self.loop_error,
            'simulated': self._counts['joint_states'].simulated,
            'real_time_factor': self._counts['joint_states'].factor(),
            'event_counts': dict(self._kinds),
            'events': list(self.events),
            'diagnostics': self._said,
        }


class _Count:
    """Counts messages from the first on that is not of the beginning, and the time they span."""

    def __init__(self) -> None:
        self.first: float | None = None  # of arrivals
        self._last = 0.0
        self._number, self._stamp, self.simulated = 0, 0.0, 0.0

    def __call__(self, raw: bytes) -> None:
        if len(raw) < STAMP_PLACE + STAMP_SIZE:
            return
        sec, nanosec = unpack_from('<iI', raw, STAMP_PLACE)
        stamp = sec + 1e-9 * nanosec
        if stamp > BEGINNING:
            self._last = time.monotonic()
            if self.first is None:
                self.first, self._stamp = self._last, stamp
            self._number += 1
            self.simulated += max(stamp - self._stamp, 0.0)  # a reset goes back
            self._stamp = stamp

    def rate(self) -> float:
        """Return messages per second."""
        if self.first is None or self._number < 2:
            return 0.0
        return (self._number - 1) / (self._last - self.first)

    def factor(self) -> float | None:
        """Return simulated by real time, or None."""
        if self.first is None or self._number < 2:
            return None
        return self.simulated / (self._last - self.first)
