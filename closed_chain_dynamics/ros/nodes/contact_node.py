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
import json
import math
import sys
import time
from typing import Any

from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import Range
from std_msgs.msg import String

from closed_chain_dynamics.control.contact_detection import ContactDetector
from closed_chain_dynamics.description.assignments import assignments
from closed_chain_dynamics.errors import ClosedChainError, StateError
from closed_chain_dynamics.ros.messages.contacts import read_state
from closed_chain_dynamics.ros.messages.diagnostics import Diagnostics, Rejections
from closed_chain_dynamics.ros.messages.measured_states import seconds
from closed_chain_dynamics.ros.messages.qos import COMMAND, LATCHED, STREAM
from closed_chain_dynamics.ros.parameters import Parameters, Setting
from closed_chain_dynamics.ros.running import run

__all__ = ['ContactNode', 'main']

AXES = ('norm', 'x', 'y', 'z')
SETTINGS = [
    Setting('force_contacts', [], 'loop joints decided by a wrench sensor', fixed=True),
    Setting('height_contacts', [], 'loop joints decided by a height', fixed=True),
    Setting('force_axis', 'norm', 'part of the force that counts', choices=AXES),
    Setting('make_force', 50.0, 'contact is made above [N]', low=0.0, high=1e5),
    Setting('release_force', 20.0, 'contact is released below [N]', low=0.0, high=1e5),
    Setting('make_height', 0.005, 'contact is made below [m]', low=-10.0, high=10.0),
    Setting('release_height', 0.02, 'contact is released above [m]', low=-10.0, high=10.0),
    Setting('thresholds', [], 'name=make,release for contacts with thresholds of their own'),
    Setting(
        'debounce',
        0.01,
        'how long a signal has to stay beyond a threshold [s]',
        low=0.0,
        high=10.0,
    ),
    Setting('dwell', 0.1, 'how long a decision stands at least [s]', low=0.0, high=60.0),
    Setting('timeout', 0.5, 'a signal away longer than this is named [s]', low=0.001, high=60.0),
]
REPORT_EVERY = 1.0  # [s]
NAMES = {True: 'closed', False: 'open', None: 'not known yet'}


class ContactNode(Node):
    """See the top of this file."""

    def __init__(self, **options: Any) -> None:
        super().__init__('contact_node', **options)
        self._detectors: dict[str, ContactDetector] = {}
        self._heard: dict[str, float] = {}
        self._stamps: dict[str, float] = {}
        self._own_state: Any = None  # a publisher, while this node owns the contacts
        self.parameters = Parameters(self, SETTINGS, check=self._check, changed=self._on_change)
        self.diagnostics, self.rejected = Diagnostics(self), Rejections(self)
        self._topics = {
            kind: self.create_publisher(String, f'contact/{kind}', COMMAND)
            for kind in ('connect', 'cut')
        }
        self._detectors = self._make_detectors(self.parameters)
        for name in self.parameters.force_contacts:
            self.create_subscription(
                WrenchStamped,
                f'wrench/{name}',
                lambda message, name=name: self._on_wrench(name, message),
                STREAM,
            )
        for name in self.parameters.height_contacts:
            self.create_subscription(
                Range,
                f'height/{name}',
                lambda message, name=name: self._decide(name, message, message.range),
                STREAM,
            )
        self.create_subscription(String, 'contact/state', self._on_state, LATCHED)
        self.create_timer(REPORT_EVERY, self._report)

    def _make_detectors(self, p: Parameters) -> dict[str, ContactDetector]:
        """Return a detector per contact, or raise where thresholds do not fit."""
        own = assignments(p.thresholds, "parameter 'thresholds'")
        made = {}
        for signal, names, usual in (
            ('force', p.force_contacts, (p.make_force, p.release_force)),
            ('height', p.height_contacts, (p.make_height, p.release_height)),
        ):
            for name in names:
                pair = own.pop(name, usual)
                if name in made or not isinstance(pair, (list, tuple)) or len(pair) != 2:
                    raise StateError(
                        f'contact {name!r} is named twice'
                        if name in made
                        else f'{name!r} needs two thresholds',
                        where='contact_node',
                        repair='Write name=make,release.',
                    )
                made[name] = ContactDetector(
                    signal, *pair, debounce=p.debounce, dwell=p.dwell, closed=None
                )
        if own:
            raise StateError(
                f'thresholds for {", ".join(own)}, which is not a contact here',
                where='contact_node',
                repair='Name it in force_contacts or height_contacts.',
            )
        return made

    def _check(self, parameters: Parameters) -> None:
        """Refuse thresholds that do not fit each other."""
        self._new = self._make_detectors(parameters)

    def _on_change(self, names: set[str]) -> None:
        for name, detector in self._new.items():
            detector.closed = self._detectors[name].closed
        self._detectors = self._new

    # --- what comes in ---------------------------------------------------------------------------
    def _on_wrench(self, name: str, message: WrenchStamped) -> None:
        force, axis = message.wrench.force, self.parameters.force_axis
        value = (
            math.hypot(force.x, force.y, force.z) if axis == 'norm' else abs(getattr(force, axis))
        )
        self._decide(name, message, value)

    def _decide(self, name: str, message: Any, value: float) -> None:
        now = time.monotonic()
        stamp = seconds(message.header.stamp) or now
        last = self._stamps.get(name, -math.inf)
        if last - self.parameters.timeout < stamp <= last:
            self.rejected('out of order', f'{name}: a stamp {last - stamp:.3g} s before the last')
            return
        self._stamps[name] = stamp
        try:
            decision = self._detectors[name].update(stamp, value)
        except ClosedChainError as error:
            self.rejected('signal', f'{name}: {error}')
            return
        self._heard[name] = now
        if decision:
            self._topics[decision].publish(String(data=name))
            self._tell()

    def _tell(self) -> None:
        """Publish what was decided, unless somebody else owns the contacts."""
        if not self._is_owner():
            return
        if self._own_state is None:
            self._own_state = self.create_publisher(String, 'contact/state', LATCHED)
        self._own_state.publish(
            String(
                data=json.dumps(
                    {
                        name: each.closed
                        for name, each in self._detectors.items()
                        if each.closed is not None
                    }
                )
            )
        )

    def _is_owner(self) -> bool:
        """Return whether nobody else publishes contact/state; give way to who does."""
        others = self.count_publishers('contact/state') - (self._own_state is not None)
        if others > 0 and self._own_state is not None:
            self.destroy_publisher(self._own_state)
            self._own_state = None
        return bool(others <= 0)

    def _on_state(self, message: String) -> None:
        if self._own_state is not None and self._is_owner():
            return  # its own words
        state = read_state(message.data)
        if state is None:
            self.rejected('contact/state', 'contact/state is no JSON {name: true or false}')
            return
        for name, detector in self._detectors.items():
            if name in state:
                detector.correct(state[name], self._stamps.get(name, 0.0))
            else:
                self.rejected('unknown joint', f'contact/state does not know {name!r}')

    def _report(self) -> None:
        now, late = time.monotonic(), []
        for name in self._detectors:
            if now - self._heard.get(name, -math.inf) > self.parameters.timeout:
                late.append(name)
        values = {name: NAMES[detector.closed] for name, detector in self._detectors.items()}
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
