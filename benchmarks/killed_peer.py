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
Counts crashes of a plain rclpy reader whose writer is killed while it publishes.

Nothing of this package takes part: it is the smallest program that shows what the transport of
Fast DDS by shared memory does to the others when a process dies. Every cycle starts a reader and a
writer, kills the writer with -9, lets the reader end by itself and takes its exit code down.
"""

import argparse
from collections import Counter
import os
from pathlib import Path
import subprocess
import sys

CONFIG = Path(__file__).resolve().parent.parent / 'config'
WRITER = """
import rclpy
from std_msgs.msg import String
rclpy.init()
node = rclpy.create_node('writer')
out = node.create_publisher(String, 'words', 10)
while True:
    out.publish(String(data='word' * 50))
"""
READER = """
import sys, time
import rclpy
from std_msgs.msg import String
rclpy.init()
node, heard = rclpy.create_node('reader'), []
node.create_subscription(String, 'words', heard.append, 10)
if sys.argv[1] == 'events':
    from rclpy.experimental import EventsExecutor
    executor = EventsExecutor()
else:
    executor = rclpy.executors.SingleThreadedExecutor()
executor.add_node(node)
def spin(condition):
    end = time.monotonic() + 20.0
    while not condition() and time.monotonic() < end:
        executor.spin_once(timeout_sec=0.05)
spin(lambda: len(heard) > 200)
print('heard' if heard else 'heard nothing', flush=True)
sys.stdin.readline()                       # the writer is dead
end = time.monotonic() + 0.1
spin(lambda: time.monotonic() > end)
executor.remove_node(node)
node.destroy_node()
executor.shutdown()
rclpy.shutdown()
"""


def parse():
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('--cycles', type=int, default=100)
    parser.add_argument('--executor', choices=('events', 'single'), default='events')
    parser.add_argument('--transport', choices=('shared', 'udp'), default='shared')
    parser.add_argument('--domain', default='57')
    return parser.parse_args()


def cycle(executor, environment):
    """Return the exit code of a reader whose writer was killed."""
    programs = [[sys.executable, '-c', WRITER], [sys.executable, '-c', READER, executor]]
    writer, reader = (
        subprocess.Popen(
            each, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for each in programs
    )
    try:
        if reader.stdout.readline().strip() != 'heard':
            raise SystemExit('the reader heard nothing: is the domain free?')
        writer.kill()
        writer.wait()
        reader.communicate('\n', timeout=60.0)
        return reader.returncode
    finally:
        for each in (writer, reader):
            each.kill()
            each.wait()


def main():
    arguments = parse()
    environment = {**os.environ, 'ROS_DOMAIN_ID': arguments.domain}
    environment['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    if arguments.transport == 'udp':
        environment['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'SYSTEM_DEFAULT'
        for library in ('FASTDDS', 'FASTRTPS'):  # the second is what version 2 reads
            environment[f'{library}_DEFAULT_PROFILES_FILE'] = str(CONFIG / 'fastdds_loopback.xml')
    codes = Counter(cycle(arguments.executor, environment) for _ in range(arguments.cycles))
    print(f'{arguments.transport}, {arguments.executor} executor: ', end='')
    print(', '.join(f'{count} ended with {code}' for code, count in sorted(codes.items())))
    return 0


if __name__ == '__main__':
    sys.exit(main())
