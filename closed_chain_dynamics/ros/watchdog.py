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
A process beside torque_node that sends zero torques when the node hangs, or is gone.

It shares nothing with the turns of the node but a few numbers in memory: whether torques are being
sent, when the node was last alive, how long it may be silent, and whether zero was sent. So it
goes on whatever the node does: computes without end, waits on a lock, holds Python's own lock, is
stopped or killed. What counts is silence while it was itself running: where it gets no time, the
node may have had none either, and is given the chance to say that it is alive. A node that goes on
later reads that zero was sent, and lets its torques grow from there.
Signals to the node are passed on to it by a pipe; a node that hangs and therefore cannot answer
SIGINT or SIGTERM is killed, after zero torques were sent.
"""

from contextlib import suppress
import json
import mmap
import os
import select
import signal
import struct
import subprocess
import sys
import tempfile
import time
from typing import IO, Any

__all__ = ['Watchdog']

HEARTBEAT = struct.Struct('3d')  # armed (0: no, 1: yes, -1: end), last alive [s], timeout [s]
STOOD_IN = (
    HEARTBEAT.size
)  # where a number follows: 1 once zero was sent, until the node has read it
ZERO_AFTER = 0.85  # of the timeout, after which zero is sent, so that it is there in time
LOOK, SELDOM = 0.04, 0.2  # share of the timeout between two looks: when zero is due, and before
LONGEST_LOOK = 0.25  # share of the timeout that the time between two looks counts for at most
IDLE = 0.05  # between two looks while nothing is sent, and the longest between others [s]
LAST_ZEROS = 5  # when the node is gone
# For a node that hangs to answer a signal: healthy ones were seen to get no time for 2.2 s, and
# launchers wait for 5 s [s]
HANGING_GRACE = 4.0
SAY_EVERY = 5.0  # that the node does not answer [s]
END = 2.0  # for this process to end, before it is killed [s]


class Watchdog:
    """
    The node's side: starts the process, and tells it that the node is alive.

    `domain`, `enclave`: those of the node; `torques`: a topic; `commands`: others, and how many
    numbers each; `names`: of the actuators.
    """

    def __init__(
        self, domain: int, enclave: str, torques: str, commands: dict[str, int], names: list[str]
    ) -> None:
        with _in_memory() as file:
            file.truncate(mmap.PAGESIZE)
            self._memory = mmap.mmap(file.fileno(), mmap.PAGESIZE)
            heard, self._pipe = os.pipe()
            os.set_blocking(self._pipe, False)
            told = {'enclave': enclave, 'torques': torques, 'commands': commands, 'names': names}
            numbers = [str(file.fileno()), str(heard), str(os.getpid())]
            self._process = subprocess.Popen(
                [sys.executable, '-m', __name__, *numbers, json.dumps(told)],
                pass_fds=(file.fileno(), heard),
                env={**os.environ, 'ROS_DOMAIN_ID': str(domain)},
            )
        os.close(heard)
        self._before = _wake_up_by(self._pipe)

    def arm(self, timeout: float) -> None:
        """Torques are being sent: be alive, at least as often as a timeout [s] says."""
        HEARTBEAT.pack_into(self._memory, 0, 1.0, time.monotonic(), timeout)

    def disarm(self) -> None:
        """Nothing is sent any more."""
        HEARTBEAT.pack_into(self._memory, 0, 0.0, time.monotonic(), 0.0)

    def alive(self) -> None:
        """Say so."""
        struct.pack_into('d', self._memory, 8, time.monotonic())

    def stood_in(self) -> bool:
        """Return whether zero was sent for the node since this was asked."""
        if not struct.unpack_from('d', self._memory, STOOD_IN)[0]:
            return False
        struct.pack_into('d', self._memory, STOOD_IN, 0.0)
        return True

    def close(self) -> None:
        """End the process."""
        HEARTBEAT.pack_into(self._memory, 0, -1.0, 0.0, 0.0)
        _wake_up_by(self._before)
        os.close(self._pipe)
        try:
            self._process.wait(END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _in_memory() -> IO[bytes]:
    """Return a file that two processes can share; on a disk, writing may have to wait for it."""
    if hasattr(os, 'memfd_create'):
        return os.fdopen(os.memfd_create('watchdog'), 'r+b')
    return tempfile.TemporaryFile()


def _wake_up_by(pipe: int) -> int:
    """Let signals write into a pipe; return the one before, -1 where there is none."""
    try:
        return signal.set_wakeup_fd(pipe, warn_on_full_buffer=False)
    except ValueError:  # not in the main thread: signals are somebody else's
        return -1


class _Zeros:
    """Publishes zero torques from a node of its own."""

    def __init__(self, told: dict[str, Any]) -> None:
        import rclpy
        from rclpy.parameter import Parameter
        from rclpy.signals import SignalHandlerOptions
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray

        from closed_chain_dynamics.ros.messages.qos import COMMAND, PUBLISHED_STATE

        rclpy.init(
            args=['--ros-args', '--enclave', told['enclave']],
            signal_handler_options=SignalHandlerOptions.NO,
        )
        # Nobody asks it anything: what it may do is to publish.
        node = rclpy.create_node(
            f'watchdog_{os.getpid()}',
            enable_rosout=False,
            start_parameter_services=False,
            parameter_overrides=[Parameter('start_type_description_service', value=False)],
        )
        self._torques = node.create_publisher(JointState, told['torques'], PUBLISHED_STATE)
        self._commands = [
            (node.create_publisher(type(none), topic, COMMAND), none)
            for topic, count in told['commands'].items()
            for none in [Float64MultiArray(data=[0.0] * count)]
        ]
        # Without a stamp: no state is answered, and none shall seem to be.
        names = told['names']
        self._zero = JointState(name=names, effort=[0.0] * len(names))

    def publish(self) -> None:
        """Send them."""
        self._torques.publish(self._zero)
        for publisher, none in self._commands:
            publisher.publish(none)


class _Silence:
    """
    How long the node has said nothing while this process was there to hear it.

    A long time in which this process did not run counts as LONGEST_LOOK only.
    """

    def __init__(self) -> None:
        self.lasted = 0.0  # [s]
        self._looked, self._alive = time.monotonic(), 0.0

    def look(self, now: float, alive: float, timeout: float) -> None:
        """Take when the node was last alive; `now` is from before that was read."""
        gone = min(max(now - self._looked, 0.0), LONGEST_LOOK * timeout)
        news, self._alive, self._looked = alive != self._alive, alive, now
        self.lasted = min(max(now - alive, 0.0), gone) if news else self.lasted + gone

    def until_next_look(self, timeout: float) -> float:
        """Return how long nothing can be due [s]: each look takes processor time from the node."""
        left = ZERO_AFTER * timeout - self.lasted
        return max(min(left, SELDOM * timeout, IDLE), LOOK * timeout)


def watch(memory: mmap.mmap, pipe: int, parent: int, told: dict[str, Any]) -> None:
    """Watch the node until it ends."""
    zeros, said, silence = _Zeros(told), -SAY_EVERY, _Silence()
    before: float | None = None  # a signal that was not answered: how long the silence was [s]
    while True:
        now = time.monotonic()  # before the numbers are read: they can only be newer
        armed, alive, timeout = HEARTBEAT.unpack_from(memory)
        if armed < 0.0:
            return
        if os.getppid() != parent:
            if armed:
                _say('torque_node is gone: zero torques are sent')
                for _ in range(LAST_ZEROS):
                    zeros.publish()
                    time.sleep(0.02)
            return
        silence.look(now, alive, timeout)
        pause = silence.until_next_look(timeout) if armed else IDLE
        if before is not None:
            before = min(before, silence.lasted)  # it was alive since then
        silent = bool(armed) and silence.lasted > ZERO_AFTER * timeout
        if silent:
            struct.pack_into(
                'd', memory, STOOD_IN, 1.0
            )  # before it: the node may wake up any time
            zeros.publish()
            if now - said >= SAY_EVERY:
                said = now
                _say('torque_node does not answer: zero torques are sent')
            if before is not None and silence.lasted - before > max(HANGING_GRACE, timeout):
                _say('torque_node does not answer the signal either: it is killed')
                with suppress(ProcessLookupError):  # it has just ended, and zeros are to follow
                    os.kill(parent, signal.SIGKILL)
        ready, _, _ = select.select([pipe], [], [], pause)
        if ready and os.read(pipe, 64) and before is None:
            before = silence.lasted


def _say(text: str) -> None:
    print(f'watchdog: {text}', file=sys.stderr, flush=True)


def main() -> int:
    """Run the process: numbers of memory, pipe and parent, and what to publish."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the node says when to end
    memory, pipe, parent = (int(word) for word in sys.argv[1:4])
    watch(mmap.mmap(memory, mmap.PAGESIZE), pipe, parent, json.loads(sys.argv[4]))
    return 0


if __name__ == '__main__':
    sys.exit(main())
