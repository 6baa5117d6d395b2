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
Real nodes in processes of their own, and a node of the test that talks to them over DDS.

A test takes the fixture `ros`: every test has a ROS domain of its own, on this machine only.
Import `ros` into the test module; where there is no rclpy, the module is skipped.
"""

import argparse
from contextlib import contextmanager, suppress
import json
import math
import os
import signal
import socket
import subprocess
import sys
import time

from helpers.warm_start import NODES, warm_start
import pytest

rclpy = pytest.importorskip('rclpy', reason='ROS 2 is not installed here: no rclpy')
from rcl_interfaces.srv import GetParameters  # noqa: E402
from rclpy.qos import QoSProfile  # noqa: E402

from closed_chain_dynamics.cli import up  # noqa: E402
from closed_chain_dynamics.ros.running import make_executor  # noqa: E402
from closed_chain_dynamics.ros.transport import use_safe_transport  # noqa: E402

DOMAINS = range(60, 100)  # beyond what people use by hand, below the ephemeral ports
CLAIM_PORT = 47000  # plus the domain: whoever holds this port has the domain
# For whatever is waited for: only a broken program takes as long, on a machine however busy [s].
PATIENCE = 300.0
LOOK = 0.02  # between two looks at what is waited for, where nothing comes [s]
ASK_AGAIN = 2.0  # who was asked first may have been killed [s]
# The middleware drops an answer whose reader the server has not found within 0.1 s: then nothing
# comes, however long one waits. Far longer than an answer takes [s].
ANSWER_LOST = 60.0
AFTER_ALL = 10.0  # what programs that have ended have said is here after this time [s]
QUIET = 0.5  # without a message: what was under way has arrived [s]
QUIET_LOOKS = 5  # in that time: a pause of this process alone is not quiet


class Process:
    """A program that runs beside the test, and holds the domain of the test as long as it runs."""

    def __init__(self, words, environment, folder, holder, *, warm=False):
        self.name = words[0].rpartition('.')[2]
        self._log = folder / f'{self.name}-{time.monotonic_ns()}.log'
        with open(self._log, 'w') as log:
            if warm:
                self._popen = warm_start().start(words, environment, log, holder)
                return
            self._popen = subprocess.Popen(
                [sys.executable, '-m', *words],
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=[holder.fileno()],
                start_new_session=True,  # so that all it starts can be ended with it
            )

    @property
    def pid(self):
        """Return the number of the process."""
        return self._popen.pid

    def output(self):
        """Return what it has written until now."""
        return self._log.read_text()

    def is_running(self):
        """Return whether it has not ended."""
        return self._popen.poll() is None

    def wait(self, timeout=PATIENCE):
        """Wait for the end; return the exit code."""
        return self._popen.wait(timeout)

    def kill_all(self):
        """Kill it with all that it has started and that is left of it."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._popen.kill()  # one that was just copied may have no session of its own yet
        self._popen.wait()

    def send_signal(self, number):
        """Send a signal, unless it has ended."""
        self._popen.send_signal(number)

    def end(self, number=signal.SIGINT, timeout=PATIENCE):
        """Send a signal, wait for the end, return the exit code."""
        self.send_signal(number)
        try:
            return self.wait(timeout)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()
            raise AssertionError(
                f'{self.name} did not end within {timeout} s of signal {number}:\n{self.output()}'
            ) from None


def is_alive(number):
    """Return whether a process runs; one that has ended may wait for somebody to notice."""
    try:
        with open(f'/proc/{number}/stat') as file:
            return file.read().rpartition(')')[2].split()[0] not in 'ZX'
    except (FileNotFoundError, ProcessLookupError):
        return False


def parameter_words(parameters):
    """Return what stands behind --ros-args for a dict of parameters."""
    return [
        word
        for name, value in dict(parameters).items()
        for word in ('-p', f'{name}:={json.dumps(value)}')
    ]


def newest(states):
    """Return the time [s] and the positions by name of the newest state."""
    state = states[-1]
    time = state.header.stamp.sec + 1e-9 * state.header.stamp.nanosec
    return time, dict(zip(state.name, state.position))


class NothingHeardYet(IndexError):
    """A message is looked for where none has come."""


class Heard(list):
    """The messages of a topic, oldest first."""

    def __getitem__(self, place):
        """Return a message; where none has come, `wait` waits for it."""
        if not self:
            raise NothingHeardYet('no message has come on this topic')
        return super().__getitem__(place)


class Ros:
    """A ROS domain with processes in it, and a node of the test."""

    def __init__(self, domain, folder, holder):
        use_safe_transport(default_range='LOCALHOST')  # peers are killed here on purpose
        self.environment = {**os.environ, 'ROS_DOMAIN_ID': str(domain), 'PYTHONUNBUFFERED': '1'}
        self.folder, self.processes, self._clients = folder, [], {}
        self._holder, self._has_spun = holder, False
        self.context = rclpy.Context()
        rclpy.init(context=self.context, domain_id=domain)
        self.node = rclpy.create_node('test', context=self.context)
        self._executor = make_executor(self.context)
        self._executor.add_node(self.node)

    def start(self, program, parameters=(), remappings=(), *, warm=True):
        """
        Start a node of the package; parameters and remappings are dicts.

        `warm=False`: with all that a start takes, for tests of just that.
        """
        words = parameter_words(parameters)
        words += [
            word for old, new in dict(remappings).items() for word in ('-r', f'{old}:={new}')
        ]
        return self.run(f'{NODES}.{program}', '--ros-args', *words, warm=warm)

    def up(self, *words, **further):
        """
        Start the nodes that `closed-chain up` starts, warm; return them by name.

        `further`: parameters of a node, by its name. For tests of what these nodes do together;
        nobody looks after them as the command does.
        """
        parser = argparse.ArgumentParser()
        up.set_up(parser)
        arguments = parser.parse_args(words)
        return {
            each.executable: self.run(
                each.module, *each.arguments, *parameter_words(further.get(each.executable, ()))
            )
            for each in up.programs(arguments, up.load_model(arguments))
        }

    def run(self, module, *arguments, warm=True):
        """Start a module of the package as a program in this domain."""
        self.processes.append(
            Process([module, *arguments], self.environment, self.folder, self._holder, warm=warm)
        )
        return self.processes[-1]

    def listen(self, kind, topic, qos=10):
        """Return a list that every message of a topic is added to from now on."""
        heard = Heard()
        self.node.create_subscription(kind, topic, heard.append, qos)
        return heard

    def publisher(self, kind, topic, qos=10):
        """Return a publisher; `wait_for_reader` says when somebody listens."""
        return self.node.create_publisher(kind, topic, qos)

    def wait_for_reader(self, publisher):
        """Spin until somebody has subscribed."""
        self.wait(publisher.get_subscription_count, f'a reader of {publisher.topic_name}')

    def readers(self, publisher):
        """Return who listens, as far as is known: one that was killed stays for a while."""
        found = self.node.get_subscriptions_info_by_topic(publisher.topic_name)
        return {bytes(each.endpoint_gid) for each in found}

    def spin(self, seconds):
        """Receive for a while."""
        self._has_spun, end = True, time.monotonic() + seconds
        while time.monotonic() < end:
            self._executor.spin_once(timeout_sec=max(end - time.monotonic(), 0.0))
        everything = self._executor.create_task(bool)  # that is here already comes before it
        self._executor.spin_until_future_complete(everything)

    def wait(self, condition, what, timeout=PATIENCE, progress=lambda: None):
        """
        Receive until a condition holds, and return what it returned; fail after a time.

        That time begins anew whenever `progress` returns something else: simulated time, say,
        which passes as slowly as a busy machine lets it. A condition that looks at a topic on
        which nothing has come yet does not hold, and there is no progress on it yet.
        """
        end, reached = time.monotonic() + timeout, None
        while time.monotonic() < end:
            before = reached
            with suppress(NothingHeardYet):
                reached = progress()
            if reached != before:
                end = time.monotonic() + timeout
            self._has_spun = False
            with suppress(NothingHeardYet):
                result = condition()
                if result:
                    return result
            # a condition that receives by itself, while it sends, say, is not held up
            self._executor.spin_once(timeout_sec=0.0 if self._has_spun else LOOK)
            if self.processes and not any(each.is_running() for each in self.processes):
                end = min(end, time.monotonic() + AFTER_ALL)
        outputs = '\n'.join(f'--- {each.name}\n{each.output()}' for each in self.processes)
        raise AssertionError(f'waited {timeout} s in vain for {what}\n{outputs}')

    def until_quiet(self, heard):
        """Receive until no message has come for a while; forget what was heard."""
        heard.append(None)
        while heard:
            heard.clear()
            for _ in range(QUIET_LOOKS):
                self.spin(QUIET / QUIET_LOOKS)

    def next(self, heard, what, timeout=PATIENCE):
        """Forget what was heard, wait for one message more, and return it."""
        heard.clear()
        return self.wait(lambda: heard, what, timeout)[-1]

    def call(self, kind, service, request=None, timeout=PATIENCE, again=ANSWER_LOST, once=''):
        """
        Call a service and return its response; ask `again` after some seconds in vain.

        `once`: the node that answers, where asking it twice is not the same as asking it once.
        """
        client = self._clients.get(service)
        if client is None:
            client = self._clients[service] = self.node.create_client(kind, service)
            if once:  # then its answer cannot be lost
                self.make_known(once)
        futures, asked = [], -math.inf

        def answer():
            nonlocal asked
            if time.monotonic() - asked > again and client.service_is_ready():
                futures.append(client.call_async(request or kind.Request()))
                asked = time.monotonic()
            return next((future for future in futures if future.done()), None)

        return self.wait(answer, f'the answer of {service}', timeout).result()

    def make_known(self, name):
        """
        Wait until a node knows all that the test publishes, listens to and asks till now.

        That the test knows the node does not mean this: until then what either of them says may
        be lost, or come later than what is said after it. Nodes learn of readers, and of writers,
        in the order in which these are made, and whoever answers knows those of the question.
        """
        service = f'/{name}/get_parameters'
        self._clients.pop(service, None)  # a new one asks, which the node learns of last
        self.call(GetParameters, service, again=ASK_AGAIN)

    def until_taken(self, name):
        """Wait until a node has taken what was sent to it: it answers in the order of arrival."""
        self.call(GetParameters, f'/{name}/get_parameters', again=ASK_AGAIN)
        self.spin(0.0)  # what it said before its answer is here

    def close(self):
        """End what is still running."""
        for process in self.processes:
            process.kill_all()
        self._executor.remove_node(self.node)  # before it is destroyed, while all of it still is
        self.node.destroy_node()
        self._executor.shutdown()
        rclpy.shutdown(context=self.context)


def latched(depth=1):
    """Return the quality of service that gets what was published before."""
    return QoSProfile(depth=depth, durability=rclpy.qos.DurabilityPolicy.TRANSIENT_LOCAL)


def claim_domain():
    """
    Return a domain that no other test has at this time, and what holds it.

    Nodes of the test hold it too: where a test is killed and leaves some, nobody else meets them.
    """
    for domain in DOMAINS:
        holder = socket.socket()
        try:
            holder.bind(('127.0.0.1', CLAIM_PORT + domain))
        except OSError:
            holder.close()
            continue
        return domain, holder
    raise AssertionError('other tests hold all ROS domains')


@contextmanager
def own_domain(folder):
    """Give a Ros of its own, in a domain that nobody else has meanwhile."""
    domain, holder = claim_domain()
    made = Ros(domain, folder, holder)
    try:
        yield made
    finally:
        made.close()
        holder.close()


@pytest.fixture
def ros(tmp_path):
    """Return a Ros of its own for one test."""
    with own_domain(tmp_path) as made:
        yield made
