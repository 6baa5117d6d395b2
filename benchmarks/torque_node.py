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
Measures torque_node as users run it: a process of its own, fed over DDS by this one.

Joint states go out at a steady rate; every torque carries the stamp of the state it answers, so
that latency is measured by one clock, from before publishing to after receiving, transport both
ways and this process's own waking up included. Reported: achieved rate, latency, what the node
computes per turn, its processor load, and deadlines missed (no answer within one period). The same
is asked in turns of two nodes that compute nothing (`echo_node.py`): the difference is what
torque_node adds. One takes one message and sends one; the other takes and sends as many as
torque_node, which sends torques twice and may get a state in two halves: what torque_node adds to
that one is its computation, and what it adds to the first is that and the other messages.

Others use the machine, more at one time than at another. So the nodes take several short turns,
every other time in the opposite order; a number is the median over its turns, and what torque_node
adds is the median of the differences to the echo of the same round. The least and the most over
the rounds are shown as well: where they are far apart, the machine was measured and not the node.
"""

import argparse
import gc
import json
import os
from pathlib import Path
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

# joints that move, and what they move about [rad], None: where the model begins; of the leg
# the ankle is moved by cranks and rods
MODELS = {
    'five_bar': {'left_shoulder': None, 'right_shoulder': None},
    'four_bar': {'crank': None},
    'exo_leg': {'hip': 0.0, 'knee': 0.4, 'ankle_pitch': 0.0},
    'swing': {'left_knee': None, 'right_knee': None},
}
WARM_UP = 1.0  # not measured [s]
MOST_WAITING = 100  # answers to another node that may still wait
LONGEST_START = 300.0  # of a node, which may have kernels to compile [s]
ROUNDS = 5  # in which each node takes a turn
AS_MANY = 'echo_node of as many messages'


def parse():
    """Return the arguments."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('--model', default='five_bar', choices=sorted(MODELS))
    parser.add_argument('--seconds', type=float, default=10.0, help='measured of each node')
    parser.add_argument('--rate', type=float, default=1000.0, help='joint states per second')
    parser.add_argument('--compiled', action='store_true', help='torques by generated code')
    parser.add_argument('--json', action='store_true', help='print numbers for programs')
    return parser.parse_args()


def motion(model, count, period):
    """Return complete states of a mechanism that moves along a reference, and the reference."""
    import closed_chain_dynamics as ccd
    from closed_chain_dynamics.control.reference import Reference

    robot = ccd.load(model)
    names = list(MODELS[model])
    q = ccd.assemble(robot, {n: at for n, at in MODELS[model].items() if at is not None})
    centre = np.array([q[robot.joint_slices(name)[0]][0] for name in names])
    times = np.arange(1, round(count * period / 0.05) + 2) * 0.05
    points = [centre + 0.2 * np.sin(3.0 * t) * (1.0 - np.exp(-t)) for t in times]
    reference = Reference(robot)
    reference.take(names, times, points, time=0.0, q=q, v=np.zeros(robot.nv))
    return robot, [reference.at(k * period)[:2] for k in range(count)], (names, times, points)


class Feeder:
    """Publishes states on time and notes when each was answered."""

    def __init__(self, arguments):
        import rclpy
        from sensor_msgs.msg import JointState, MultiDOFJointState
        from trajectory_msgs.msg import JointTrajectory

        from closed_chain_dynamics.ros.messages.qos import COMMAND, LATEST, PUBLISHED_STATE
        from closed_chain_dynamics.ros.messages.state_messages import StateMessages
        from closed_chain_dynamics.ros.running import make_executor

        self.arguments, self.period = arguments, 1.0 / arguments.rate
        count = round((arguments.seconds / ROUNDS + WARM_UP) * arguments.rate)
        self.robot, self.states, self.reference = motion(arguments.model, count, self.period)
        rclpy.init()
        self.node = rclpy.create_node('feeder')
        self._executor = make_executor()
        self._executor.add_node(self.node)
        self._messages = StateMessages(self.robot)
        self._single = self.node.create_publisher(JointState, 'joint_states', PUBLISHED_STATE)
        self._multi = self.node.create_publisher(
            MultiDOFJointState, 'multi_dof_joint_states', PUBLISHED_STATE
        )
        self._reference = self.node.create_publisher(JointTrajectory, 'reference', COMMAND)
        self.node.create_subscription(
            JointState, 'actuator_torques', self._answered, LATEST, raw=True
        )
        self.sent, self.answered = np.full(count, np.nan), np.full(count, np.nan)
        self._is_heard = False  # whether the node has answered anything
        self._efforts = np.zeros(len(self.robot.actuator_names))

    @property
    def sends_both(self):
        """Return whether a state is two messages."""
        return self._messages.multi_dof is not None

    def anew(self):
        """Forget what was sent and answered, and what still waits; return the feeder."""
        for _ in range(MOST_WAITING):
            self._executor.spin_once(timeout_sec=0.0)
        self.sent[:], self.answered[:] = np.nan, np.nan
        self._is_heard = False
        return self

    def _answered(self, raw):
        now, self._is_heard = time.monotonic(), True
        sec, nanosec = struct.unpack_from('<iI', raw, 4)  # the header comes first
        k = round((sec - 1000 + 1e-9 * nanosec) / self.period)
        if 0 <= k < len(self.answered) and self.sent[k] <= now and np.isnan(self.answered[k]):
            self.answered[k] = now  # to a state that was sent in this run

    def wait_for_node(self, process):
        """Spin until the node answers, and send it the reference."""
        end = time.monotonic() + LONGEST_START
        while not (self._is_heard and self._reference.get_subscription_count()):
            if self._single.get_subscription_count():
                self._publish(0)
            self._executor.spin_once(timeout_sec=0.05)
            if time.monotonic() > end or process.poll() is not None:
                raise SystemExit('torque_node did not come up')
        self._reference.publish(self._trajectory())

    def _trajectory(self):
        from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

        names, times, points = self.reference
        made = JointTrajectory(joint_names=names)
        made.header.stamp.sec = 1000
        for when, position in zip(times, points):
            point = JointTrajectoryPoint(positions=list(map(float, position)))
            point.time_from_start.sec = int(when)
            point.time_from_start.nanosec = round(when % 1.0 * 1e9)
            made.points.append(point)
        return made

    def _publish(self, k):
        self._messages.fill(1000.0 + k * self.period, *self.states[k], self._efforts)
        self.sent[k] = time.monotonic()
        if self._messages.multi_dof:
            self._multi.publish(self._messages.multi_dof)
        self._single.publish(self._messages.joint_states)

    def run(self):
        """Publish all states on time; those that this process is too late for are left out."""
        gc.collect()
        gc.freeze()
        begin = time.monotonic() + 0.2
        for k in range(1, len(self.states)):
            due = begin + k * self.period
            if time.monotonic() - due > self.period:  # no robot sends several at once
                continue
            while True:
                left = due - time.monotonic()
                if left <= 0.0:
                    break
                self._executor.spin_once(timeout_sec=left)
            self._publish(k)
        self._executor.spin_once(timeout_sec=0.2)


def processor_seconds(pid):
    """Return the processor time that a process has used [s]."""
    fields = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def computation(feeder):
    """Return times of turns without messages, to the torques and after them, here [s]."""
    from closed_chain_dynamics.control.control_loop import ControlLoop
    from closed_chain_dynamics.control.generated_law import GeneratedLaw
    from closed_chain_dynamics.control.law import TorqueController
    from closed_chain_dynamics.control.torque_guard import TorqueGuard

    robot, spent, after = feeder.robot, [], []
    generated = GeneratedLaw(robot) if feeder.arguments.compiled else None
    if generated is not None:
        generated.prepare()
    loop = ControlLoop(TorqueController(robot, generated=generated), TorqueGuard(robot))
    names, times, points = feeder.reference
    loop.take_reference(names, times, points, start=0.0)
    for k, (q, v) in enumerate(feeder.states[:3000]):
        began = time.perf_counter()
        loop.take_state(robot.joint_names, q, v, stamp=k * feeder.period, now=k * feeder.period)
        sent = time.perf_counter()
        loop.look_ahead()
        spent.append(sent - began)
        after.append(time.perf_counter() - sent)
    return np.array(spent[100:]), np.array(after[100:])


def quantiles(values, unit):
    """Return median, p99, p99.9 and the largest, in a unit."""
    return {
        'median': float(np.median(values) / unit),
        'p99': float(np.quantile(values, 0.99) / unit),
        'p99.9': float(np.quantile(values, 0.999) / unit),
        'max': float(values.max() / unit),
    }


def programme(arguments, feeder):
    """Return the words that start each node, by name."""
    node = ['-m', 'closed_chain_dynamics.ros.nodes.torque_node', '--ros-args']
    # stamps count from the first state
    node += ['-p', f'model:={arguments.model}', '-p', 'other_clock:=true']
    node += ['-p', f'compiled:={str(arguments.compiled).lower()}']
    echo = [str(Path(__file__).parent / 'echo_node.py'), str(len(feeder.robot.actuator_names))]
    as_many = [*echo, 'commands', *(['halves'] if feeder.sends_both else [])]
    return {'torque_node': node, 'echo_node': echo, AS_MANY: as_many}


def ask(feeder, words):
    """Let a node answer all states; return the numbers."""
    root, rate = Path(__file__).resolve().parent.parent, feeder.arguments.rate
    process = subprocess.Popen([sys.executable, *words], cwd=root)
    try:
        feeder.wait_for_node(process)
        began, used = time.monotonic(), processor_seconds(process.pid)
        feeder.run()
        load = (processor_seconds(process.pid) - used) / (time.monotonic() - began)
    finally:
        process.send_signal(signal.SIGINT)
        code = process.wait(timeout=20)
    measured = np.isfinite(feeder.sent)
    measured[: round(WARM_UP * rate)] = False
    sent, latency = feeder.sent[measured], (feeder.answered - feeder.sent)[measured]
    came = latency[np.isfinite(latency)]
    if not came.size:
        raise SystemExit(f'{words} answered no state')
    missed = int(np.sum(~(latency <= feeder.period)))
    return {
        'sent rate [Hz]': float((len(sent) - 1) / (sent[-1] - sent[0])),
        'achieved rate [Hz]': float(len(came) / (sent[-1] - sent[0])),
        'latency [ms]': quantiles(came, 1e-3),
        'processor load [%]': 100.0 * load,
        'missed deadlines per 1000': 1000.0 * missed / len(sent),
        'exit code': code,
    }


def late(numbers):
    """Return the answers that came late, or not at all, per 1000."""
    return numbers['missed deadlines per 1000']


def median(numbers):
    """Return the median of the latency [ms]."""
    return numbers['latency [ms]']['median']


def middle(found):
    """Return the median of each number of a node over its turns; of exit codes, the largest."""
    first = found[0]
    return {
        name: middle([each[name] for each in found])
        if isinstance(first[name], dict)
        else float((max if name == 'exit code' else np.median)([each[name] for each in found]))
        for name in first
    }


def measure(arguments):
    """Let all nodes take turns with a feeder; return the numbers."""
    feeder, rounds = Feeder(arguments), []
    alone, after = computation(feeder)
    nodes = programme(arguments, feeder)
    for k in range(ROUNDS):
        order = list(nodes) if k % 2 == 0 else list(nodes)[::-1]
        rounds.append({name: ask(feeder.anew(), nodes[name]) for name in order})
    return {
        'model': arguments.model,
        'asked rate [Hz]': arguments.rate,
        **{name: middle([each[name] for each in rounds]) for name in nodes},
        'computation alone [us]': quantiles(alone, 1e-6),
        'after torques are out [us]': quantiles(after, 1e-6),
        **added(rounds),
        'load average of the machine': os.getloadavg()[0],
    }


def added(rounds):
    """Return what torque_node adds to each echo: the median over rounds, the least and most."""
    numbers = {}
    for name, end in (('echo_node', ''), (AS_MANY, ', echo of as many messages')):
        for what, of in (('the median [ms]', median), ('late answers per 1000', late)):
            more = [of(each['torque_node']) - of(each[name]) for each in rounds]
            numbers[f'added to {what}{end}'] = float(np.median(more))
            numbers[f'added to {what}{end}: least and most'] = f'{min(more):.3g} {max(more):.3g}'
    return numbers


def flat(numbers, before=''):
    """Return pairs of a name and a number, whatever is nested in what."""
    pairs = []
    for name, value in numbers.items():
        if isinstance(value, dict):
            pairs += flat(value, f'{before}{name}: ')
        else:
            pairs.append((before + name, value))
    return pairs


def main():
    """Measure and print; return the exit code."""
    arguments = parse()
    try:
        import rclpy  # noqa: F401
    except ImportError:
        print('{}' if arguments.json else 'torque_node: ROS 2 is not installed here (no rclpy).')
        return 0
    from closed_chain_dynamics.ros.transport import use_safe_transport

    os.environ.setdefault('ROS_DOMAIN_ID', '58')  # nobody's by default
    use_safe_transport(default_range='LOCALHOST')
    numbers = measure(arguments)
    if arguments.json:
        print(json.dumps(numbers, indent=2))
        return 0
    for name, value in flat(numbers):
        print(f'{name:<72} {value if isinstance(value, str) else f"{value:.4g}"}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
