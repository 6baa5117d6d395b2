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
Starts and ends every node again and again while its peers are killed, and counts exit codes.

Each cycle starts one node, and a peer that hears and says what that node gives and takes. The
peer is killed with -9, and the node ends by SIGINT or SIGTERM: idle, at a thousand messages a
second, or while it starts. A node that ends in order gives 0, whatever it was doing. A start
begins with the first line of this package: what a signal does to the interpreter before that is
not its doing.

With --warm, nodes that are not ended while they start are copies of a process that has imported
everything (see test/helpers/warm_start.py): the same node and the same end in a fifth of the time.
With --jobs, cycles run side by side, each in a domain of its own.
"""

import argparse
from collections import Counter, defaultdict
import json
import os
from pathlib import Path
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / 'test')]

from helpers.warm_start import warm_start  # noqa: E402

MODEL = 'four_bar'
NODES = {
    'simulator_node': {'model': MODEL},
    'torque_node': {'model': MODEL},
    'loop_state_node': {'model': MODEL},
    'contact_node': {'force_contacts': ['coupler_rocker']},
    'demo_node': {},
    'reference_node': {'model': MODEL},
    'viewer_node': {'model': MODEL, 'port': 0},
}
SITUATIONS = ('idle', 'busy', 'starting')
SIGNALS = (signal.SIGINT, signal.SIGTERM)
FIRST_IMPORT = 'numpy'  # what the package loads right after its first line
LONGEST = 120.0  # for a start or an end; only what hangs takes longer [s]
TELL_EVERY = 10.0  # how far it has come, on standard error [s]
# A peer that talks to all nodes, in both directions; its argument is the name of who is awaited.
PEER = """
import sys, time
import rclpy
from geometry_msgs.msg import WrenchStamped
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from closed_chain_dynamics.ros.transport import use_safe_transport
use_safe_transport(default_range='LOCALHOST')
rclpy.init()
node = rclpy.create_node('peer')
kinds = {'joint_states': JointState, 'measured_joint_states': JointState,
         'actuator_torques': JointState, 'wrench/coupler_rocker': WrenchStamped, '/clock': Clock}
topics = [(node.create_publisher(kind, topic, 10), kind()) for topic, kind in kinds.items()]
for topic, kind in kinds.items():
    node.create_subscription(kind, topic, lambda message: None, 10)
for _, message in topics:
    if isinstance(message, JointState):
        message.name, message.position, message.effort = ['crank'], [0.5], [0.1]
executor = rclpy.executors.SingleThreadedExecutor()
executor.add_node(node)
met, count = False, 0
while True:
    executor.spin_once(timeout_sec=0.001)
    if not met and sys.argv[1] in node.get_node_names():
        met = True
        print('met', flush=True)
    if met and sys.argv[2] == 'busy':
        count += 1
        for out, message in topics:
            if hasattr(message, 'header'):
                stamp = message.header.stamp
                stamp.sec, stamp.nanosec = count // 1000, count % 1000 * 1000000
            out.publish(message)
"""


def parse():
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('--cycles', type=int, default=10, help='of each node and situation')
    parser.add_argument('--minutes', type=float, default=1e9, help='end after this long')
    parser.add_argument('--nodes', nargs='+', choices=NODES, default=list(NODES))
    parser.add_argument('--situations', nargs='+', choices=SITUATIONS, default=list(SITUATIONS))
    parser.add_argument('--warm', action='store_true', help='start most nodes as copies')
    parser.add_argument('--jobs', type=int, default=1, help='cycles side by side')
    parser.add_argument('--domain', type=int, default=56, help='of the first job')
    parser.add_argument('--json', action='store_true', help='print numbers for programs')
    return parser.parse_args()


ONE_REQUEST = threading.Lock()  # at a time, of the process that is copied


class Program:
    """A module that runs as a program, and what it has said."""

    def __init__(self, words, environment, warm):
        self._output = tempfile.TemporaryFile()
        if warm:
            with ONE_REQUEST:
                self.popen = warm_start().start(words, environment, self._output)
        else:
            self.popen = subprocess.Popen(
                [sys.executable, '-m', *words],
                env=environment,
                stdout=self._output,
                stderr=subprocess.STDOUT,
            )

    def said(self):
        """Return all that it has written; where it writes on, which it shares, stays."""
        number = self._output.fileno()
        return os.pread(number, os.fstat(number).st_size, 0).decode(errors='replace')

    def close(self):
        """End it if it runs."""
        self.popen.kill()
        self.popen.wait()
        self._output.close()


def start_node(name, environment, warm):
    """Start a node with the words of its users."""
    words = [f'closed_chain_dynamics.ros.nodes.{name}', '--ros-args']
    for key, value in NODES[name].items():
        words += ['-p', f'{key}:={json.dumps(value)}']
    return Program(words, environment, warm)


def cycle(name, situation, number, environment, warm):
    """Return (exit code, what the node said, when it was told to end [s])."""
    peer = Program(['peer_of_nodes', name, situation], environment, warm)
    node, began = start_node(name, environment, warm and situation != 'starting'), time.monotonic()
    try:
        if situation == 'starting':
            while FIRST_IMPORT not in Path(f'/proc/{node.popen.pid}/maps').read_text():
                time.sleep(0.002)
            time.sleep(random.uniform(0.0, 4.0))
            peer.popen.kill()
        else:
            while 'met' not in peer.said():
                if time.monotonic() - began > LONGEST:
                    return 'never met', peer.said() + node.said(), LONGEST
                time.sleep(0.01)
            time.sleep(random.uniform(0.0, 0.3))
            peer.popen.kill()
            time.sleep(random.uniform(0.0, 0.1))
        when = time.monotonic() - began
        node.popen.send_signal(number)
        code = node.popen.wait(LONGEST)
        return code, node.said(), when
    except subprocess.TimeoutExpired:
        return 'hung', node.said(), when
    finally:
        peer.close()
        node.close()


class Cycles:
    """All cycles, for several threads; `counts`: of exit codes, `end`: when it is enough [s]."""

    def __init__(self, arguments):
        self._all = [
            (name, situation, SIGNALS[(k + SITUATIONS.index(situation)) % len(SIGNALS)])
            for k in range(arguments.cycles)
            for name in arguments.nodes
            for situation in arguments.situations
        ]
        self._left, self._warm, self._lock = iter(self._all), arguments.warm, threading.Lock()
        self.counts, self._begin = defaultdict(Counter), time.monotonic()
        self.end, self._told = self._begin + 60.0 * arguments.minutes, self._begin

    def run(self, environment):
        """Take one cycle after the other, until none is left."""
        while time.monotonic() < self.end:
            with self._lock:
                name, situation, number = next(self._left, (None, None, None))
            if name is None:
                return
            code, said, when = cycle(name, situation, number, environment, self._warm)
            with self._lock:
                self.counts[f'{name}, {situation}'][code] += 1
                if code != 0:
                    print(
                        f'--- {name}, {situation}, {number!r} after {when:.2f} s: {code}\n{said}'
                    )
                self._tell()

    def _tell(self):
        """Say how far it has come, now and then."""
        now = time.monotonic()
        if now - self._told < TELL_EVERY:
            return
        self._told, done = now, sum(sum(each.values()) for each in self.counts.values())
        bad = done - sum(codes[0] for codes in self.counts.values())
        left = (now - self._begin) * (len(self._all) / done - 1.0)
        print(
            f'{done} of {len(self._all)} cycles, {bad} not with 0; {left / 60.0:.0f} min left',
            file=sys.stderr,
            flush=True,
        )


def main():
    arguments = parse()
    # started in the background it would ignore SIGINT, and its nodes with it
    signal.signal(signal.SIGINT, signal.default_int_handler)
    from closed_chain_dynamics.ros.transport import use_safe_transport

    environment, cycles = dict(os.environ), Cycles(arguments)
    peers = tempfile.TemporaryDirectory()
    Path(peers.name, 'peer_of_nodes.py').write_text(PEER)
    environment['PYTHONPATH'] = os.pathsep.join(
        filter(None, [peers.name, str(ROOT), os.environ.get('PYTHONPATH')])
    )
    use_safe_transport(environment, default_range='LOCALHOST')
    jobs = [
        threading.Thread(
            target=cycles.run, args=({**environment, 'ROS_DOMAIN_ID': str(arguments.domain + k)},)
        )
        for k in range(arguments.jobs)
    ]
    for job in jobs:
        job.start()
    try:
        for job in jobs:
            job.join()
    except KeyboardInterrupt:  # each ends its cycle: no node is left behind
        cycles.end = 0.0
        for job in jobs:
            job.join()
    print_counts(cycles.counts, arguments.json)
    return 0 if all(set(each) == {0} for each in cycles.counts.values()) else 1


def print_counts(counts, as_json):
    if as_json:
        print(json.dumps(counts, indent=2))
        return
    for name, codes in sorted(counts.items()):
        print(f'{name:28}', ', '.join(f'{count} x {code}' for code, count in codes.items()))
    total = sum(sum(each.values()) for each in counts.values())
    print(f'{total} starts and ends, {sum(each[0] for each in counts.values())} with exit code 0')


if __name__ == '__main__':
    sys.exit(main())
