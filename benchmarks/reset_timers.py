#!/usr/bin/env python3
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
Counts how often a timer goes off twice where it was due once, because another was reset.

Nothing of this package takes part: it is the smallest program that shows what rclpy's executor in
C++ does. The callback of one timer takes longer than the period of a second timer, which is due
then, and may reset its own timer at the end. The single-threaded executor is shown beside it.
"""

import argparse
from itertools import pairwise
import time

import rclpy
from rclpy.clock import Clock, ClockType
from rclpy.executors import SingleThreadedExecutor

PERIOD = 0.2  # of both timers [s]
TOO_SOON = 2e-3  # after the last call: the same that was due, once more [s]


def count(executor, resets, rounds):
    """Return how often the second timer went off, and how often of these too soon."""
    node = rclpy.create_node('timers')
    executor.add_node(node)
    steady, calls, times = Clock(clock_type=ClockType.STEADY_TIME), [], []

    def first():
        calls.append(1)
        time.sleep(1.2 * PERIOD)
        if resets:
            slow.reset()

    slow = node.create_timer(PERIOD, first, clock=steady)
    node.create_timer(PERIOD, lambda: times.append(time.monotonic()), clock=steady)
    while len(calls) < rounds:
        executor.spin_once(timeout_sec=PERIOD)
    executor.remove_node(node)
    node.destroy_node()
    executor.shutdown()
    return len(times), sum(later - sooner < TOO_SOON for sooner, later in pairwise(times))


def main():
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('--rounds', type=int, default=20, help='calls of the first timer')
    rounds = parser.parse_args().rounds
    from rclpy.experimental import EventsExecutor

    rclpy.init()
    print('executor                first timer  calls of the second  of these too soon')
    for make in (EventsExecutor, SingleThreadedExecutor):
        for resets in (False, True):
            calls, soon = count(make(), resets, rounds)
            word = 'reset' if resets else 'left alone'
            print(f'{make.__name__:23} {word:11} {calls:20} {soon:18}', flush=True)
    rclpy.shutdown()


if __name__ == '__main__':
    main()
