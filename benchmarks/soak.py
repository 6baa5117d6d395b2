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
The demonstration for half an hour, while everything goes wrong: python benchmarks/soak.py.

Simulator, controller, demonstration, view and loop states run as they do with `make demo`.
Meanwhile nodes are stopped, killed and started again, states are repeated, delayed and broken,
references, events, pauses and parameters come at random. Watched are memory and open files of each
process, torques, the loops and the energy books of the simulator. What broke is listed, and the
exit code is 1.
"""

import argparse
from collections import Counter
import json
import os
from pathlib import Path
from random import Random
import sys
import tempfile
import time

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from closed_chain_dynamics.ros.transport import use_safe_transport

LOOK_EVERY = 5.0  # at memory [s]
BETWEEN = (0.5, 4.0)  # two faults [s]
START = 600.0  # until torques come, where kernels have to be compiled [s]


class Soak:
    """The nodes, an ear, and what is done to them."""

    def __init__(self, seed, folder):
        import rclpy
        from rclpy.executors import SingleThreadedExecutor
        from rclpy.signals import SignalHandlerOptions
        from sensor_msgs.msg import JointState
        from std_msgs.msg import String
        from trajectory_msgs.msg import JointTrajectory

        from benchmarks.soaking.processes import MODEL, Nodes
        from benchmarks.soaking.watching import Watch

        self.rng, self.findings, self.delays = Random(seed), [], []
        self.did = Counter()
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)  # Ctrl-C ends the nodes first
        self.node = rclpy.create_node('soak')
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)
        self.watch = Watch(self.node, MODEL, self.find)
        self.nodes = Nodes(folder, self.find)
        kinds = {'reference': JointTrajectory, 'joint_states': JointState}
        kinds |= {'contact/connect': String, 'contact/cut': String}
        kinds['actuator_torques'] = JointState
        self.out = {
            topic: self.node.create_publisher(kind, topic, 10) for topic, kind in kinds.items()
        }
        self._looked, self.last = 0.0, 'the start'

    def find(self, kind, text):
        """Note what must not be; of the same kind, the first five."""
        if sum(each['kind'] == kind for each in self.findings) < 5:
            self.findings.append({'kind': kind, 'text': text, 'after': self.last})
            print(f'\nFOUND {kind} after {self.last}: {text[:1500]}', file=sys.stderr)

    def spin(self, seconds):
        """Listen for a while, and look at the processes."""
        self.wait(lambda: False, seconds)

    def wait(self, condition, seconds):
        """Listen until something holds; return how long that took, None where it did not."""
        began = time.monotonic()
        while time.monotonic() < began + seconds:
            if condition():
                return time.monotonic() - began
            self._executor.spin_once(timeout_sec=0.02)
            if time.monotonic() > self._looked + LOOK_EVERY:
                self._looked = time.monotonic()
                self.nodes.look()
        return None

    def is_driving(self):
        """Return whether torques come, and are not zero; wait a little for it."""
        watch = self.watch
        return self.wait(lambda: watch.tau is not None and watch.tau.any(), 5.0) is not None

    def say_states(self, states):
        """Publish bytes as joint states."""
        for each in states:
            self.out['joint_states'].publish(each)
            self.spin(0.005)
        return str(len(states))

    def ask(self, kind, service, request):
        """Call a service; nobody has to answer while others are stopped or start."""
        client = self.node.create_client(kind, service)
        if self.wait(client.service_is_ready, 10.0) is not None:
            future = client.call_async(request)
            self.wait(future.done, 20.0)
        self.node.destroy_client(client)

    def run(self, seconds):
        """Disturb until the time is over."""
        from benchmarks.soaking.faults import FAULTS

        if self.wait(lambda: self.watch.heard['torques'] > 20, START) is None:
            self.find('start', f'no torques within {START} s')
            return
        began = time.monotonic()
        while time.monotonic() < began + seconds:
            fault = self.rng.choices([*FAULTS], [*FAULTS.values()])[0]
            self.last = f'{fault.__name__} {fault(self)}'
            self.did[fault.__name__] += 1
            self.spin(self.rng.uniform(*BETWEEN))
            print(
                f'\r\x1b[K{(time.monotonic() - began) / 60:.1f} of {seconds / 60:.0f} min: '
                f'{sum(self.did.values())} faults, {self.watch.heard["torques"]} torques, '
                f'{len(self.findings)} findings',
                end='',
                file=sys.stderr,
                flush=True,
            )
        self.last = 'the end of faults'
        self._recover()

    def _recover(self):
        """All must be well again after the last fault: torques that follow states."""
        before = dict(self.watch.heard)
        for topic in ('torques', 'states'):
            if self.wait(lambda: self.watch.heard[topic] > before[topic] + 20, START) is None:
                self.find('no recovery', f'no {topic} after the last fault')


def main():
    """Soak, print the report, end with 1 where something broke."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('--minutes', type=float, default=30.0)
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--domain', default='57')
    parser.add_argument('--out', type=Path, help='a file for the report, as JSON')
    args = parser.parse_args()
    os.environ['ROS_DOMAIN_ID'] = args.domain
    use_safe_transport(default_range='LOCALHOST')
    with tempfile.TemporaryDirectory() as folder:
        soak = Soak(args.seed, Path(folder))
        try:
            soak.run(60.0 * args.minutes)
        except KeyboardInterrupt:
            print('\nStopped by the keyboard.', file=sys.stderr)
        finally:
            codes = soak.nodes.end()
    report = {
        'minutes': args.minutes,
        'faults': dict(soak.did),
        'seconds until zero': [(name, round(each, 2)) for name, each in soak.delays],
        **soak.watch.report(),
        'exit codes': codes,
        'processes': soak.nodes.report(),
        'findings': soak.findings,
    }
    text = json.dumps(report, indent=2)
    if args.out:
        args.out.write_text(text)
    print(f'\n{text}')
    return 1 if soak.findings else 0


if __name__ == '__main__':
    raise SystemExit(main())
