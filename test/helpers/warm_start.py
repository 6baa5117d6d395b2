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
and arguments of its own, and an interpreter that ends in the usual way. What they start in turn,
nodes of `closed-chain up` and the watchdog of torque_node, are copies, too, and their children.
Tests of how a program starts, and of what variables do to it then, start it with `subprocess`.
"""

import atexit
from contextlib import suppress
import ctypes
import fcntl
import functools
import gc
import importlib.util
import inspect
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

PROGRAMS = 'closed_chain_dynamics.ros'
NODES = f'{PROGRAMS}.nodes'
COMMAND = 'closed_chain_dynamics.cli'
PREPARED = (
    *(
        f'{NODES}.{each}_node'
        for each in (
            'contact', 'demo', 'loop_state', 'reference', 'simulator', 'torque', 'viewer'
        )
    ),
    f'{PROGRAMS}.watchdog', f'{PROGRAMS}.monitor', f'{PROGRAMS}.supervision', f'{COMMAND}.up',
    'rclpy.experimental', 'transforms3d',  # what nodes import when they need it
)  # fmt: skip
STARTERS = (COMMAND, f'{NODES}.torque_node')  # programs that start others
NODE_ENDS = dict.fromkeys((signal.SIGINT, signal.SIGTERM), starting._end)
# A library of the middleware, LTTng, has threads as soon as it is loaded, and cancels them when
# the process ends. Copies are without them: what is left of them must stay where it was.
KEPT_STACKS = {'GLIBC_TUNABLES': 'glibc.pthread.stack_cache_size=1073741824'}
PR_SET_CHILD_SUBREAPER = 36  # of Linux, see prctl(2)
MOST = 1 << 20  # bytes of a request


class WarmStart:
    """
    A process that programs are copied from; one for all tests of a process is enough.

    `prepared=False`: without all that makes it warm, for tests of what it is to its copies.
    """

    def __init__(self, *, prepared=True):
        self._requests, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(other.fileno()), *(['warm'] if prepared else [])],
            env={**os.environ, **KEPT_STACKS},
            pass_fds=[other.fileno()],
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
            with suppress(ProcessLookupError):  # that it has ended is only told later
                os.kill(self.pid, number)

    def kill(self):
        """Kill it."""
        self.send_signal(signal.SIGKILL)


# --- the process that is copied ------------------------------------------------------------------
def prepare():
    """Import what nodes import, and do once what each would do again at its start."""
    for each in PREPARED:
        with suppress(ImportError):  # what is not installed is told by who needs it
            importlib.import_module(each)
    load_kernels()
    load_messages()
    # The first line of a log asks which module each file is: thousands of paths are looked up.
    inspect.getmodule(inspect.currentframe())


def load_kernels():
    """Have what a simulation and the laws of torques call, and what is computed of a result."""
    import closed_chain_dynamics as ccd
    from closed_chain_dynamics import kernels
    from closed_chain_dynamics.control import rehearsed_turns
    from closed_chain_dynamics.control.control_loop import ControlLoop
    from closed_chain_dynamics.control.law import TorqueController
    from closed_chain_dynamics.control.torque_guard import TorqueGuard

    kernels.compile_at_once()
    robot = ccd.load('swing')
    q = ccd.assemble(robot)
    sim = ccd.Simulation(robot, q=q)
    sim.run(0.01)
    ccd.reactions(robot, q, sim.v, ccd.forward_dynamics(robot, q, sim.v).acceleration)
    for change in (sim.cut, sim.connect):
        change(robot.loop_names[0])
        sim.step()
    rehearsed_turns.warm_up(ControlLoop(TorqueController(robot), TorqueGuard(robot)))


def load_messages():
    """Have what the middleware needs of each kind of message, service and action."""
    for module in list(sys.modules.values()):
        for kind in vars(module).values():
            if isinstance(kind, type) and hasattr(kind, '__import_type_support__'):
                kind.__import_type_support__()


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
    for number in (1, 2):
        os.dup2(output, number)
    os.close(output)
    if words[0] in STARTERS:
        Relative.nursery = Nursery()
        subprocess.Popen = Relative
    return take_over(words, environment, folder)


def take_over(words, environment, folder):
    """Take the words, the variables and the folder of a program; return the module to run."""
    os.chdir(folder)
    # as while it is being imported
    ends = {signal.SIGINT: starting._interrupt} if words[0] == COMMAND else NODE_ENDS
    for number in NODE_ENDS:
        signal.signal(number, ends.get(number, signal.SIG_DFL))
    os.environ.clear()
    os.environ.update(environment)
    folders = environment.get('PYTHONPATH', '').split(os.pathsep)
    sys.path[:0] = [each for each in folders if each and each not in sys.path]
    spec = importlib.util.find_spec(words[0])
    if spec.submodule_search_locations:
        spec = importlib.util.find_spec(f'{words[0]}.__main__')
    sys.modules.pop(spec.name, None)  # it will be __main__
    sys.argv = [spec.origin, *words[1:]]
    return words[0]


# --- what a copy starts in turn ------------------------------------------------------------------
class Nursery:
    """
    A process beside a program, without its threads, that makes copies which become its children.

    A process with threads must not be copied. A copy of a copy whose parent has ended belongs to
    who has asked for orphans: to the program.
    """

    def __init__(self):
        program = os.getpid()
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
        self._requests, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if os.fork() == 0:
            self._requests.close()
            for number in NODE_ENDS:
                signal.signal(number, signal.SIG_IGN)
            run(rear(other, program))
        other.close()

    def start(self, words, environment, folder, files):
        """Start `python -m words` with some files, by number; return the number of the process."""
        request = {'words': words, 'environment': environment, 'folder': folder}
        socket.send_fds(
            self._requests,
            [json.dumps({**request, 'numbers': list(files)}).encode()],
            list(files.values()),
        )
        return int(self._requests.recv(MOST))


def rear(requests, program):
    """Make a child of a program for every request of it; return the module in that child."""
    while True:
        request, files, *_ = socket.recv_fds(requests, MOST, 100)
        if not request:  # the program has ended
            os._exit(0)
        between = os.fork()
        if between == 0:
            if os.fork() == 0:
                break
            os._exit(0)
        os.waitpid(between, 0)
        for each in files:
            os.close(each)
    while os.getppid() != program:  # who was between takes a moment to end
        os.sched_yield()
    requests.send(str(os.getpid()).encode())
    told = json.loads(request)
    keep(dict(zip(told.pop('numbers'), files)))
    return take_over(**told)


def keep(files):
    """Have open files by their numbers, and no others."""
    beyond = max(files) + 1
    moved = {number: fcntl.fcntl(each, fcntl.F_DUPFD, beyond) for number, each in files.items()}
    for number, each in moved.items():
        os.dup2(each, number)
    for number in map(int, os.listdir('/proc/self/fd')):
        if number not in files:
            with suppress(OSError):  # that of the list itself is closed already
                os.close(number)


class Relative(subprocess.Popen):
    """What is started as a copy where it is a program of this package, else as ever."""

    nursery = None

    def _execute_child(self, args, executable, preexec_fn, close_fds, pass_fds, cwd, env, *more):
        if args[:2] != [sys.executable, '-m'] or not args[2].startswith(PROGRAMS):
            super()._execute_child(
                args, executable, preexec_fn, close_fds, pass_fds, cwd, env, *more
            )
            return
        pipes = more[3:9]  # ends of this process and of the other, for input, output and errors
        standard = zip(range(3), (pipes[0], pipes[3], pipes[5]))
        files = {number: number if end == -1 else end for number, end in standard}
        files.update(zip(pass_fds, pass_fds))
        environment = dict(os.environ if env is None else env)
        self.pid = self.nursery.start(args[2:], environment, cwd or os.getcwd(), files)
        self._child_created = True
        self._close_pipe_fds(*pipes)


def run(module):
    """Run a module as the program of this process, to its end."""
    runpy.run_module(module, run_name='__main__', alter_sys=True)
    sys.exit()


if __name__ == '__main__':
    sys.stdout.reconfigure(line_buffering=True)  # as PYTHONUNBUFFERED does
    if sys.argv[2:]:
        prepare()
    gc.collect()
    gc.freeze()  # copies leave these pages alone
    run(serve(socket.socket(fileno=int(sys.argv[1]))))
