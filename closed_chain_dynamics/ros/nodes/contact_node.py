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
`contact_node`: from wrench sensors or heights to connections and cuts.

Takes            Type                         What
wrench/<name>    geometry_msgs/WrenchStamped  for every name in `force_contacts`, best effort [N]
height/<name>    sensor_msgs/Range            for every name in `height_contacts`, best effort [m]
contact/state    std_msgs/String, latched     JSON {joint: closed?}: what really is, if known

Gives            Type                         When
contact/connect  std_msgs/String              the name, when contact is made
contact/cut      std_msgs/String              the name, when it is released
contact/state    std_msgs/String, latched     JSON {joint: closed?}, with every decision, while
                                              nobody else publishes it
diagnostics      diagnostic_msgs/DiagnosticArray  once a second

Contact is made above `make_force` or below `make_height`, and released below `release_force` or
above `release_height`, each for `debounce` at least; a decision stands for `dwell`. Times are
those of the stamps, or of arrival where a stamp is zero. Where `contact/state` says that a
connection was refused or that somebody else made it, that is taken over, and asked again after
`dwell` if the signal still wants it. Values that are not finite, and stamps that go back for a
moment, are refused and counted; a signal that stays away longer than `timeout` decides nothing
and is named in diagnostics.

On a robot this node owns the contacts: who starts late or anew learns them from `contact/state`.
A contact is in it from its first decision on, which every contact gets as soon as its signal is
beyond either threshold. Beside a simulator, which knows better, the node says nothing there.
"""

from collections.abc import Sequence
import math
import sys
import time
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from std_msgs.msg import String

from closed_chain_dynamics.control.contact_detection import ContactDetector
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.ros.contact_ownership import ContactOwnership
from closed_chain_dynamics.ros.contact_settings import SETTINGS, make_detectors
from closed_chain_dynamics.ros.contact_signals import ContactSignals
from closed_chain_dynamics.ros.messages.bounded import subscribe
from closed_chain_dynamics.ros.messages.contacts import read_state
from closed_chain_dynamics.ros.messages.diagnostics import REPORT_EVERY, Diagnostics, Rejections
from closed_chain_dynamics.ros.messages.qos import COMMAND, LATCHED
from closed_chain_dynamics.ros.parameters import Parameters
from closed_chain_dynamics.ros.running import run

__all__ = ['ContactNode', 'main']

TOLD_AS = {True: 'closed', False: 'open', None: 'not known yet'}


class ContactNode(Node):
    """See the top of this file."""

    def __init__(self, **options: Any) -> None:
        super().__init__('contact_node', **options)
        self._detectors: dict[str, ContactDetector] = {}
        self._heard: dict[str, float] = {}
        self._ownership = ContactOwnership(self)
        self.parameters = Parameters(self, SETTINGS, check=self._check, changed=self._on_change)
        self.diagnostics, self.rejected = Diagnostics(self), Rejections(self)
        self._topics = {
            kind: self.create_publisher(String, f'contact/{kind}', COMMAND)
            for kind in ('connect', 'cut')
        }
        self._detectors = make_detectors(self.parameters)
        self._signals = ContactSignals(self, self._decide)
        subscribe(self, self.rejected, String, 'contact/state', self._on_state, LATCHED)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(REPORT_EVERY, self._report, clock=steady)

    def _check(self, parameters: Parameters) -> None:
        """Refuse thresholds that do not fit each other."""
        self._new = make_detectors(parameters)

    def _on_change(self, names: set[str]) -> None:
        for name, detector in self._new.items():
            detector.closed = self._detectors[name].closed
        self._detectors = self._new

    # --- what comes in ---------------------------------------------------------------------------
    def _decide(self, name: str, stamp: float, value: float) -> None:
        try:
            decision = self._detectors[name].update(stamp, value)
        except ClosedChainError as error:
            self.rejected('signal', f'{name}: {error}')
            return
        self._heard[name] = time.monotonic()
        if decision:
            self._topics[decision].publish(String(data=name))
            self._ownership.tell({n: each.closed for n, each in self._detectors.items()})

    def _on_state(self, message: String) -> None:
        if self._ownership.said_it():
            return
        state = read_state(message.data)
        if state is None:
            self.rejected('contact/state', 'contact/state is not JSON {name: true or false}')
            return
        for name, detector in self._detectors.items():
            if name in state:
                detector.correct(state[name], self._signals.stamps.get(name, 0.0))
            else:
                self.rejected('unknown joint', f'contact/state does not know {name!r}')

    def _report(self) -> None:
        now, late = time.monotonic(), []
        for name in self._detectors:
            if now - self._heard.get(name, -math.inf) > self.parameters.timeout:
                late.append(name)
        values = {name: TOLD_AS[detector.closed] for name, detector in self._detectors.items()}
        message = (
            f'no signal of {", ".join(late)}'
            if late
            else f'{len(values)} contacts'
            if values
            else 'no contacts are named in the parameters'
        )
        self.diagnostics.publish(
            'warning' if late or not values else 'ok',
            message,
            {**values, **self.rejected.values()},
        )


def main(args: Sequence[str] | None = None) -> int:
    """Run the node; return the exit code."""
    return run(ContactNode, args=args)


if __name__ == '__main__':
    sys.exit(main())
