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

"""contact_node as a process of its own: signals in, connections and cuts out, over DDS."""

import json
import math
import signal

from diagnostic_msgs.msg import DiagnosticArray  # noqa: I100
from geometry_msgs.msg import WrenchStamped
from helpers.ros_helpers import latched, own_domain  # skips this file where there is no rclpy
import pytest
from sensor_msgs.msg import Range
from std_msgs.msg import String

PERIOD = 10**6  # of the signals, as their stamps have it [ns]
KEPT = 8  # signals that wait for a node that is busy; more would push others out


class Signals:
    """The sensors of two contacts, and what the node makes of them."""

    def __init__(self, ros, owner=True):
        self.ros, self.stamp, self._sent = ros, 10**9, 0
        self.start()
        self.events = []
        for kind in ('connect', 'cut'):
            ros.node.create_subscription(
                String,
                f'contact/{kind}',
                lambda message, kind=kind: self.events.append((kind, message.data)),
                10,
            )
        self.wrench = ros.publisher(WrenchStamped, 'wrench/left_hand')
        self.height = ros.publisher(Range, 'height/left_foot')
        self.state = ros.publisher(String, 'contact/state', latched()) if owner else None
        self.diagnostics = ros.listen(DiagnosticArray, 'diagnostics')
        for publisher in (self.wrench, self.height, *[self.state] * owner):
            ros.wait_for_reader(publisher)
        for kind in ('connect', 'cut'):
            ros.wait(lambda kind=kind: ros.node.count_publishers(f'contact/{kind}'), 'the node')
        ros.wait(self.is_heard, 'both signals to be heard')

    def start(self):
        """Start the node, the first time or again."""
        self.process = self.ros.start(
            'contact_node',
            {
                'force_contacts': ['left_hand'],
                'height_contacts': ['left_foot'],
                'thresholds': ['left_foot=0.01,0.05'],
                'debounce': 0.01,
                'dwell': 0.05,
            },
        )

    def is_heard(self):
        """Publish values that decide nothing; return whether the node has heard of them."""
        self.send(self.wrench, 30.0)
        self.send(self.height, 0.02)
        return self.diagnostics and self.diagnostics[-1].status[0].message == '2 contacts'

    def send(self, publisher, value, count=1, step=PERIOD):
        """Publish a value some times; stamps go on by the period."""
        for _ in range(count):
            self.stamp += step
            message = Range(range=value) if publisher is self.height else WrenchStamped()
            if publisher is self.wrench:
                message.wrench.force.x, message.wrench.force.z = 0.6 * value, 0.8 * value
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(self.stamp, 10**9)
            publisher.publish(message)
            self._sent += 1
            if self._sent % KEPT == 0 and self.process.is_running():
                self.ros.until_taken('contact_node')

    def until_event(self, publisher, value):
        """Publish a value until there is an event, and return what was heard."""

        def is_decided():
            self.send(publisher, value)
            self.ros.until_taken('contact_node')
            return self.events

        self.ros.wait(is_decided, 'a decision')
        return self.heard()

    def heard(self):
        """Return the events since the last time, when all that was sent has been taken."""
        if self.process.is_running():
            self.ros.until_taken('contact_node')
        events = self.events[:]
        self.events.clear()
        return events

    def told(self, key):
        """Wait for a value in diagnostics."""
        self.diagnostics.clear()
        return self.ros.wait(lambda: self.value(key), f'{key!r} in diagnostics')

    def value(self, key):
        """Return a value of the newest diagnostics, None where there is none."""
        values = self.diagnostics[-1].status[0].values if self.diagnostics else ()
        return {each.key: each.value for each in values}.get(key)


@pytest.fixture(scope='module')
def signals(tmp_path_factory):
    """Return Signals that the tests share, in their order."""
    with own_domain(tmp_path_factory.mktemp('contact_node')) as ros:
        yield Signals(ros)


def test_a_force_connects_and_its_end_cuts(signals):
    """One event each, whatever bounces; between the thresholds nothing."""
    for _ in range(5):  # bounces, shorter than the debouncing time
        signals.send(signals.wrench, 80.0, 6)
        signals.send(signals.wrench, 0.0, 3)
    assert signals.heard() == []
    assert signals.until_event(signals.wrench, 80.0) == [('connect', 'left_hand')]
    signals.send(signals.wrench, 30.0, 80)
    assert signals.heard() == []
    assert signals.until_event(signals.wrench, 10.0) == [('cut', 'left_hand')]


def test_a_height_with_thresholds_of_its_own(signals):
    """Connects below 10 mm, cuts above 50 mm."""
    signals.send(signals.height, 0.02, 20)
    assert signals.heard() == []
    assert signals.until_event(signals.height, 0.005) == [('connect', 'left_foot')]
    signals.send(signals.height, 0.04, 60)
    assert signals.heard() == []
    assert signals.until_event(signals.height, 0.06) == [('cut', 'left_foot')]


def test_a_decision_stands_for_the_dwell_time(signals):
    """A force that comes and goes at once gives a cut 50 ms later, not earlier."""
    signals.send(signals.wrench, 0.0, 60)
    assert signals.until_event(signals.wrench, 80.0) == [('connect', 'left_hand')]
    signals.send(signals.wrench, 0.0, 30)
    assert signals.heard() == []
    assert signals.until_event(signals.wrench, 0.0) == [('cut', 'left_hand')]


def test_it_comes_back_after_kill(signals):
    """While it is away nothing is decided; started anew, it decides again."""
    signals.process.end(signal.SIGKILL)
    signals.send(signals.wrench, 80.0, 60)
    assert signals.heard() == []
    signals.diagnostics.clear()
    signals.start()
    # of the node that was killed, diagnostics may still be waiting here
    signals.ros.wait(
        lambda: signals.is_heard() and signals.value('left_hand') == 'not known yet',
        'both signals to be heard by the new one',
    )
    assert ('connect', 'left_hand') in signals.until_event(signals.wrench, 80.0)
    assert ('cut', 'left_hand') in signals.until_event(signals.wrench, 0.0)


def test_a_refused_connection_is_asked_for_again(signals):
    """When contact/state says that the hand is still open."""
    signals.send(signals.wrench, 0.0, 60)
    assert signals.until_event(signals.wrench, 80.0) == [('connect', 'left_hand')]
    signals.state.publish(String(data=json.dumps({'left_hand': False, 'left_foot': False})))
    signals.ros.until_taken('contact_node')
    assert signals.until_event(signals.wrench, 80.0) == [('connect', 'left_hand')]
    assert signals.until_event(signals.wrench, 0.0) == [('cut', 'left_hand')]


def test_bad_signals_are_refused_counted_and_named(signals):
    """Not finite, out of order, and a state that is no JSON."""
    signals.send(signals.wrench, math.nan)
    signals.send(signals.wrench, math.inf, 30)
    signals.send(signals.height, 0.02)
    signals.send(signals.height, 0.0, 1, step=-2 * PERIOD)
    signals.state.publish(String(data='{'))
    assert signals.heard() == []
    for reason in ('signal', 'out of order', 'contact/state'):
        assert int(signals.told(f'rejected: {reason}')) >= 1


def test_a_silent_sensor_is_named(signals):
    """After the timeout."""
    signals.ros.wait(
        lambda: any(
            'no signal of left_hand, left_foot' in array.status[0].message
            for array in signals.diagnostics
        ),
        'both sensors by name',
    )


def test_without_another_owner_it_tells_late_comers_what_it_decided(tmp_path):
    """Also that a contact is open from the start; a simulator that appears knows better."""
    with own_domain(tmp_path) as ros:
        signals = Signals(ros, owner=False)
        assert signals.until_event(signals.wrench, 0.0) == [('cut', 'left_hand')]
        heard = ros.listen(String, 'contact/state', latched())
        ros.wait(lambda: heard, 'contact/state')
        assert json.loads(heard[-1].data) == {'left_hand': False}
        assert signals.until_event(signals.height, 0.0) == [('connect', 'left_foot')]
        ros.wait(lambda: len(heard) > 1, 'contact/state with the foot')
        assert json.loads(heard[-1].data) == {'left_hand': False, 'left_foot': True}
        other = ros.publisher(String, 'contact/state', latched())
        ros.wait_for_reader(other)
        other.publish(String(data=json.dumps({'left_hand': True, 'left_foot': True})))
        ros.wait(lambda: ros.node.count_publishers('contact/state') == 1, 'the node to give way')
        # not at once: diagnostics from before may be on their way
        ros.wait(lambda: signals.value('left_hand') == 'closed', 'the word of the other one')


def test_it_ends_with_exit_code_0(signals):
    """On SIGINT."""
    assert signals.process.end() == 0 and 'Traceback' not in signals.process.output()


def test_thresholds_that_do_not_fit_end_with_one_line(signals):
    """Exit code 1, and the reason."""
    node = signals.ros.start(
        'contact_node',
        {'force_contacts': ['left_hand'], 'make_force': 10.0, 'release_force': 20.0},
    )
    assert node.wait() == 1
    assert 'release threshold' in node.output() and 'Traceback' not in node.output()
