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
Programs that start as copies of a process which has imported everything already.

A node takes seconds of processor time until it has imported what it needs and has its compiled
kernels, and the tests start hundreds of them. So they are forks of a process like that, otherwise
programs like any other: a process, a session, an environment and an output of its own, `__main__`
and arguments of its own, and an interpreter that ends in the usual way. Tests of how a program
starts, and of what variables do to it then, start it with `subprocess`.
"""

import atexit
from contextlib import suppress
import ctypes
import functools
import gc
import importlib.util
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys

from closed_chain_dynamics import starting
from closed_chain_dynamics.ros.family_ties import PR_SET_PDEATHSIG

NODES = 'closed_chain_dynamics.ros.nodes'
PREPARED = (
    'contact_node', 'demo_node', 'loop_state_node', 'reference_node', 'simulator_node',
    'torque_node', 'viewer_node',
)  # fmt: skip
MOST = 1 << 20  # bytes of a request


class WarmStart:
    """A process that programs are copied from; one for all tests of a process is enough."""

    def __init__(self):
        self._requests, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(other.fileno())], pass_fds=[other.fileno()]
        )
        other.close()

    def start(self, words, environment, output, *held):
        """
        Start `python -m words` with an open file for all its output; return its Fork.

        `held` are files that it keeps open, as long as it lives.
        """
        told, tells = os.pipe()
        files = [output.fileno(), tells, *(each.fileno() for each in held)]
        request = json.dumps(
            {'words': words, 'environment': environment, 'folder': os.getcwd()}
        ).encode()
        socket.send_fds(self._requests, [request], files)
        os.close(tells)
        pid = int(self._requests.recv(MOST))
        return Fork(pid, told)

    def close(self):
        """End it."""
        self._requests.close()
        self._process.wait()


@functools.cache
def warm_start():
    """Return the WarmStart of this process."""
    made = WarmStart()
    atexit.register(made.close)
    return made


class Fork:
    """A program that was started so, with what tests need of `subprocess.Popen`."""

    def __init__(self, pid, told):
        self.pid, self.returncode, self._told = pid, None, told

    def poll(self):
        """Return the exit code, or None while it runs."""
        if self.returncode is None and select.select([self._told], [], [], 0.0)[0]:
            self.wait()
        return self.returncode

    def wait(self, timeout=None):
        """Wait for the end; return the exit code."""
        if self.returncode is None:
            if not select.select([self._told], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            self.returncode = int(os.read(self._told, 100))
            os.close(self._told)
        return self.returncode

    def send_signal(self, number):
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self):
        """Kill it."""
        self.send_signal(signal.SIGKILL)


# --- the process that is copied ------------------------------------------------------------------
def prepare():
    """Import what nodes import, and have the kernels that most of them call."""
    for each in PREPARED:
        with suppress(ImportError):  # what is not installed is told by who needs it
            importlib.import_module(f'{NODES}.{each}')
    import closed_chain_dynamics as ccd
    from closed_chain_dynamics import kernels

    kernels.compile_at_once()
    robot = ccd.load('four_bar')
    q = ccd.assemble(robot)
    sim = ccd.Simulation(robot, q=q)
    sim.run(0.01)
    ccd.reactions(robot, q, sim.v, ccd.forward_dynamics(robot, q, sim.v).acceleration)


def serve(requests):
    """Start a program for every request, tell how each ends; return the module in a copy."""
    source, running = os.getpid(), {}  # where the end of a process is told
    ended, wakes = os.pipe()
    for each in (ended, wakes):
        os.set_blocking(each, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes)
    while True:
        ready = select.select([requests, ended], [], [])[0]
        if ended in ready:
            os.read(ended, MOST)
            tell_endings(running)
        if requests not in ready:
            continue
        request, files, *_ = socket.recv_fds(requests, MOST, 10)
        if not request:  # who asked is gone
            os._exit(0)
        pid = os.fork()
        if pid == 0:
            break
        running[pid] = files[1]
        for each in (files[0], *files[2:]):
            os.close(each)
        with suppress(BrokenPipeError):
            requests.send(str(pid).encode())
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for each in (ended, wakes, files[1], *running.values()):
        os.close(each)
    requests.close()
    end_with(source)
    return become(output=files[0], **json.loads(request))


def tell_endings(running):
    """Tell the exit codes of processes that have ended."""
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        tells = running.pop(pid)
        os.write(tells, str(os.waitstatus_to_exitcode(status)).encode())
        os.close(tells)


def end_with(source):
    """Have this process killed when its source is gone: killed tests leave nothing behind."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != source:  # it was gone before the line above
        os._exit(1)


def become(words, environment, folder, output):
    """Make this process look as if it had been started alone; return the module to run."""
    os.setsid()
    os.chdir(folder)
    for number in (1, 2):
        os.dup2(output, number)
    os.close(output)
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, starting._end)  # as while a node is being imported
    os.environ.clear()
    os.environ.update(environment)
    folders = environment.get('PYTHONPATH', '').split(os.pathsep)
    sys.path[:0] = [each for each in folders if each and each not in sys.path]
    sys.modules.pop(words[0], None)  # it will be __main__
    sys.argv = [importlib.util.find_spec(words[0]).origin, *words[1:]]
    return words[0]


if __name__ == '__main__':
    sys.stdout.reconfigure(line_buffering=True)  # as PYTHONUNBUFFERED does
    prepare()
    gc.collect()
    gc.freeze()  # copies leave these pages alone
    module = serve(socket.socket(fileno=int(sys.argv[1])))
    runpy.run_module(module, run_name='__main__', alter_sys=True)
