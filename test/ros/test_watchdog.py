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

"""The process that sends zero where the node hangs, and not where it was itself held up."""

import os
import signal
import threading
import time

from helpers.ros_helpers import ros  # skips this file where there is no rclpy
import pytest
from sensor_msgs.msg import JointState

from closed_chain_dynamics.ros.watchdog import LONGEST_LOOK, ZERO_AFTER, Watchdog, _Silence

__all__ = ['ros']  # a fixture: pytest finds it by its name here

TIMEOUT = 2.5  # of heartbeats: the pauses of a busy machine are shorter [s]
HELD_UP = 4.0  # longer than that: a process that gets no time [s]
BEAT = 0.02  # between two heartbeats [s]
SHORT = 0.5 * TIMEOUT  # a pause after which no watchdog may blame the node [s]


class Node:
    """What the node does: says that it is alive, unless it is held up as well."""

    def __init__(self, ros, topic='torques'):
        self.zeros = ros.listen(JointState, topic, 100)
        self.watchdog = Watchdog(ros.context.get_domain_id(), '/', topic, {'commands': 1}, ['a'])
        ros.wait(lambda: ros.node.count_publishers(topic), 'the watchdog')
        self.ros, self.runs, self.ends = ros, True, False
        self.last = time.monotonic()  # not after the last heartbeat [s]
        self._longest = 0.0  # between two of them [s]
        self.watchdog.arm(TIMEOUT)
        self._thread = threading.Thread(target=self._beat)
        self._thread.start()

    def _beat(self):
        while not self.ends:
            if self.runs:
                before, self.last = self.last, time.monotonic()
                self._longest = max(self._longest, self.last - before)
                self.watchdog.alive()
            time.sleep(BEAT)

    def tell_watchdog(self, number):
        """Send a signal to the watchdog."""
        os.kill(self.watchdog._process.pid, number)

    def pause(self):
        """Return the longest time between two heartbeats since this was asked [s]."""
        last = self.last
        self.ros.wait(lambda: self.last != last, 'a heartbeat')
        longest, self._longest = self._longest, 0.0
        return longest

    def close(self):
        """End both."""
        self.ends = True
        self._thread.join()
        self.watchdog.close()


@pytest.fixture
def node(ros):
    """Return a Node that ends with the test."""
    made = Node(ros)
    yield made
    made.close()


@pytest.fixture
def neighbour(ros):
    """Return another Node, with a watchdog of its own."""
    made = Node(ros, 'other_torques')
    yield made
    made.close()


def test_a_watchdog_that_was_held_up_does_not_blame_the_node(node, neighbour):
    """Alone, and together with the node, which comes back a little later."""
    both = node, neighbour

    def are_held_up():
        for each in both:
            each.pause(), each.zeros.clear()
        neighbour.runs, silent = False, time.monotonic()
        for each in both:
            each.tell_watchdog(signal.SIGSTOP)
        late = time.monotonic() - silent
        node.ros.spin(HELD_UP)
        silent = time.monotonic()
        for each in both:
            each.tell_watchdog(signal.SIGCONT)
        node.ros.spin(0.3 * TIMEOUT)  # what it would say at once
        neighbour.runs = True
        neighbour.pause()
        late += time.monotonic() - silent
        node.ros.spin(TIMEOUT)
        return max(late, node.pause(), neighbour.pause()) < SHORT

    node.ros.wait(are_held_up, 'a try in which the test itself was not held up')
    assert not node.zeros and not neighbour.zeros


def test_a_node_that_is_silent_is_stopped_in_time_also_after_that(node):
    def is_held_up():
        node.pause(), node.zeros.clear()
        node.tell_watchdog(signal.SIGSTOP)
        node.ros.spin(HELD_UP)
        node.tell_watchdog(signal.SIGCONT)
        node.ros.spin(0.5 * TIMEOUT)
        return node.pause() < SHORT

    node.ros.wait(is_held_up, 'a try in which the test itself was not held up')
    assert not node.zeros
    node.runs = False
    message = node.ros.wait(lambda: node.zeros, 'zeros')[0]
    waited = time.monotonic() - node.last  # the next test knows how long exactly
    assert list(message.name) == ['a'] and list(message.effort) == [0.0]
    assert waited > ZERO_AFTER * TIMEOUT  # not before
    node.runs = True
    node.ros.spin(0.5)
    node.ros.until_quiet(node.zeros)


def test_zero_is_due_before_the_timeout_is_over():
    """Whenever the last heartbeat was between two looks, with looks that come in time."""
    for timeout in (0.02, 0.05, TIMEOUT):
        for phase in (0.0, 0.001, 0.5, 0.999):
            silence, now = _Silence(), 100.0
            silence._looked, silence._alive = now, now
            last = now + phase * silence.until_next_look(timeout)
            while silence.lasted <= ZERO_AFTER * timeout:
                now += silence.until_next_look(timeout)
                silence.look(now, last, timeout)
            assert ZERO_AFTER * timeout < now - last < timeout


def test_looks_are_seldom_while_the_node_is_alive():
    """A look takes processor time from the node that is looked at."""
    silence, timeout = _Silence(), 0.05
    silence.look(silence._looked + 0.01, silence._looked + 0.0095, timeout)
    assert silence.until_next_look(timeout) == pytest.approx(0.01)


def test_silence_counts_a_long_sleep_as_a_part_of_the_timeout():
    silence = _Silence()
    silence._looked = 100.0
    silence.look(100.1, 100.05, TIMEOUT)
    assert silence.lasted == pytest.approx(0.05)
    silence.look(200.0, 100.05, TIMEOUT)
    assert silence.lasted == pytest.approx(0.05 + LONGEST_LOOK * TIMEOUT)
    assert silence.lasted < ZERO_AFTER * TIMEOUT
