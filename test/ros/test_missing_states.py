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

"""When joint states stop, the fallback comes at `state_timeout`, in the time that counts."""

import json
import os
import signal
import time

from diagnostic_msgs.msg import DiagnosticArray
from helpers.ros_helpers import latched, ros  # skips this file where there is no rclpy
from helpers.torque_benches import newest
import numpy as np
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import String

import closed_chain_dynamics as ccd
from closed_chain_dynamics.ros.messages.measured_states import seconds

__all__ = ['ros']  # a fixture: pytest finds it by its name here

TIMES = 5  # that states stop: a busy machine may be late once or twice
TIMEOUT = 4.0  # of the machine's time; its pauses are shorter [s]
LATE = 0.12  # of that; looks at every tenth of it alone would be later, or too early [s]
DRIFT = 1e-3  # between the clock of stamps and that of timers, within TIMEOUT [s]
SIMULATED_TIMEOUT = 10.0  # in simulated time; a tenth is one second of the machine [s]
SOON = 0.9  # less than that second: simulated time decides, however fast it runs [s]
NANO = 10**9


class Bench:
    """A torque_node that holds the five-bar against gravity, and what it hears and says."""

    def __init__(self, ros, **parameters):
        self.ros, self.robot = ros, ccd.load('five_bar')
        given = {'model': 'five_bar', 'mode': 'gravity_compensation'}
        # mostly without the watchdog, whose zeros are for a node that is held up itself
        self.node = ros.start('torque_node', {**given, 'watchdog': False, **parameters})
        self.torques = ros.listen(JointState, 'actuator_torques', 100)
        self.states = ros.publisher(JointState, 'joint_states')
        ros.wait_for_reader(self.states)
        ros.wait(lambda: self.torques, 'torques')
        self.position = list(map(float, ccd.assemble(self.robot)[[0, 2]]))

    def send(self, nanoseconds, frame=''):
        """Publish a state with a stamp; return it [s]."""
        message = JointState(name=['left_shoulder', 'right_shoulder'], position=self.position)
        message.velocity, message.header.frame_id = [0.0, 0.0], frame
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(nanoseconds, NANO)
        self.states.publish(message)
        return seconds(message.header.stamp)

    def answer(self, stamp):
        """Return whether torques answer a state, the last that was heard."""
        last = self.torques[-1] if self.torques else None
        return last and seconds(last.header.stamp) == stamp and np.any(last.effort)

    def zero(self):
        """Return the first message of zero torques that came, if any."""
        return next((each for each in self.torques if not np.any(each.effort)), None)


def tell(clock, nanoseconds):
    """Publish the simulated time."""
    message = Clock()
    message.clock.sec, message.clock.nanosec = divmod(nanoseconds, NANO)
    clock.publish(message)


def test_zero_is_sent_at_the_timeout_neither_before_nor_at_the_next_look(ros):
    """By the stamp that the node itself gives it."""
    bench, waited = Bench(ros, state_timeout=TIMEOUT), []
    for _ in range(TIMES):

        def last():
            stamp = bench.send(ros.node.get_clock().now().nanoseconds)
            ros.spin(0.05)
            return stamp if bench.answer(stamp) else None

        stopped = ros.wait(last, 'an answer')
        bench.torques.clear()
        ros.wait(bench.zero, 'zero torques')
        waited.append(seconds(bench.zero().header.stamp) - stopped)
    assert min(waited) > TIMEOUT - DRIFT, waited
    assert np.median(waited) < TIMEOUT + LATE, waited


def test_what_is_wrong_with_states_is_in_the_safety_state(ros):
    """Whether there was a good one before or not: states come, and none of them is good."""
    bench, said = Bench(ros, state_timeout=TIMEOUT), ros.listen(String, 'safety_state', latched())
    hours = 2 * 3600 * NANO

    def told(ahead, *words):
        bench.send(ros.node.get_clock().now().nanoseconds + ahead)
        ros.spin(0.05)
        last = json.loads(said[-1].data)
        return [last['state'], *(each for each in words if each in last['text'])] == [
            'degraded' if words else 'active',
            *words,
        ]

    why = 'the last one was refused: its stamp is 7.2e+03 s away from this clock'
    ros.wait(lambda: told(-hours, 'no good joint state yet', why), 'the reason')
    ros.wait(lambda: told(0), 'torques')
    ros.wait(lambda: told(-hours, 'no good joint state within the timeout', why), 'it again')
    ros.wait(lambda: told(0), 'torques')


def test_no_frame_id_makes_an_old_state_a_fresh_one(ros):
    """A simulator that waits says so there, and its states have no age: in simulated time only."""
    bench, said = Bench(ros, state_timeout=TIMEOUT), ros.listen(String, 'safety_state', latched())

    def told():
        bench.send(ros.node.get_clock().now().nanoseconds - 2 * 3600 * NANO, frame='{}')
        ros.spin(0.05)
        return said and 'away from this clock' in json.loads(said[-1].data)['text']

    ros.wait(lambda: told() or bench.torques and np.any(bench.torques[-1].effort), 'an answer')
    assert told() and not any(np.any(each.effort) for each in bench.torques)


def test_with_simulated_time_the_timeout_is_over_when_the_clock_says_so(ros):
    """Not before, however long that takes; and then at once, not at some look of the machine."""
    clock = ros.publisher(Clock, '/clock')
    bench = Bench(ros, use_sim_time=True, state_timeout=SIMULATED_TIMEOUT, wall_timeout=3600.0)
    ros.wait_for_reader(clock)
    waited, start = [], 100 * NANO

    for _ in range(TIMES):
        timeout = int(SIMULATED_TIMEOUT * NANO)

        def told():
            nonlocal start
            start += NANO // 100
            tell(clock, start)
            ros.until_taken('torque_node')
            stamp = bench.send(start)
            ros.spin(0.05)
            return bench.answer(stamp)

        ros.wait(told, 'an answer')
        bench.torques.clear()
        tell(clock, start + timeout - NANO // 1000)
        ros.spin(0.2)
        ros.until_taken('torque_node')
        assert not bench.zero()
        tell(clock, start + timeout + NANO // 1000)
        began = time.monotonic()
        ros.wait(bench.zero, 'zero torques')
        waited.append(time.monotonic() - began)
        start += 2 * timeout
    assert np.median(waited) < SOON, waited


def test_a_state_that_waited_for_a_node_that_was_held_up_is_not_answered(ros):
    """With simulated time its stamp does not tell: the time until the next would be a turn."""
    clock, said = ros.publisher(Clock, '/clock'), ros.listen(DiagnosticArray, 'diagnostics')
    bench = Bench(
        ros, use_sim_time=True, state_timeout=TIMEOUT, wall_timeout=TIMEOUT, watchdog=True
    )
    ros.wait_for_reader(clock)
    now = 100 * NANO

    def answered():
        nonlocal now
        now += NANO // 100
        tell(clock, now)
        stamp = bench.send(now)
        ros.spin(0.02)
        return bench.answer(stamp)

    ros.wait(lambda: ros.node.count_publishers('actuator_torques') == 2, 'node and watchdog')
    ros.wait(answered, 'an answer')
    os.kill(bench.node.pid, signal.SIGSTOP)
    waiting = bench.send(now + NANO // 100)
    bench.torques.clear()
    ros.wait(bench.zero, 'zero of the watchdog')
    os.kill(bench.node.pid, signal.SIGCONT)
    ros.until_taken('torque_node')
    assert not any(seconds(each.header.stamp) == waiting for each in bench.torques)
    now += 30 * NANO
    said.clear()
    ros.wait(lambda: answered() and newest(said, 'longest turn lately [s]'), 'diagnostics')
    assert float(newest(said, 'longest turn lately [s]')) < TIMEOUT
    assert bench.node.end() == 0, bench.node.output()
