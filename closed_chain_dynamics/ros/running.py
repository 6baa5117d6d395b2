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
How nodes run: one or several in a process, until SIGINT or SIGTERM, and how they end.

A node is stopped while it can still publish: its `stop()`, where it has one, sends the last
command; then nodes are destroyed and the process exits with 0. Signals that come while it ends
are ignored, because launchers send more than one.
"""

from collections.abc import Callable, Sequence
import gc
import os
import signal
import sys
from types import FrameType
from typing import Protocol, runtime_checkable

import rclpy
from rclpy.context import Context
from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future

from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.kernels.interrupts import ENDING_SIGNALS
from closed_chain_dynamics.ros.family_ties import end_with_parent
from closed_chain_dynamics.ros.transport import use_safe_transport

__all__ = ['make_executor', 'run']

RMWError = rclpy_implementation.RMWError
MAKING_GRACE = 1.0  # for nodes that are being made; compiling their kernels may take minutes [s]
SIGNAL_LOOK_EVERY = 0.1  # between two looks for a signal [s]


@runtime_checkable
class Stoppable(Protocol):
    """A node that has a last command to send."""

    def stop(self) -> None:
        """Send it."""


class _Signals:
    """
    Takes SIGINT and SIGTERM down; ends the process soon, while `at_once` is set.

    Without an exception: one that comes while LLVM calls back, because a kernel is loaded, makes
    the process crash.
    """

    def __init__(self) -> None:
        self.came, self.at_once = False, True
        for each in ENDING_SIGNALS:
            signal.signal(each, self._take)

    def _take(self, number: int, frame: FrameType | None) -> None:
        self.came = True
        if self.at_once:
            self.at_once = False
            signal.signal(signal.SIGALRM, lambda number, frame: os._exit(0))
            # again and again: another thread may take the first, where a process is stopped and
            # continued meanwhile, and then what this one waits for is not interrupted
            signal.setitimer(signal.ITIMER_REAL, MAKING_GRACE, SIGNAL_LOOK_EVERY)

    def ignore(self) -> None:
        """Ignore what comes from now on."""
        self.at_once = False
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        for each in ENDING_SIGNALS:
            signal.signal(each, signal.SIG_IGN)


def run(
    *makers: Callable[[], Node],
    args: Sequence[str] | None = None,
    until: Callable[[], bool] | None = None,
) -> int:
    """
    Make nodes, spin them in this thread until a signal or `until()`, end them cleanly.

    Returns the exit code: 0, or 1 with one line on standard error where the model, a parameter or
    data is bad.
    """
    signals = _Signals()
    executor: Executor | None = None
    nodes: list[Node] = []
    try:
        end_with_parent()
        use_safe_transport()
        # rclpy's own handlers would close the context before the last command is out.
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
        executor = make_executor()
        for make in makers:
            nodes.append(make())
            executor.add_node(nodes[-1])
        signals.at_once = False
        gc.collect()
        gc.freeze()  # what lives as long as the process is not looked through again and again
        while rclpy.ok() and not signals.came and not (until and until()):
            try:
                if until:
                    executor.spin_once(timeout_sec=SIGNAL_LOOK_EVERY)
                else:  # callback after callback, without coming back here after each
                    executor.spin_until_future_complete(Future(), timeout_sec=SIGNAL_LOOK_EVERY)
            except RMWError as error:  # bytes that are no message of their topic
                nodes[0].get_logger().warning(f'refused: {error}', throttle_duration_sec=1.0)
        return 0
    except ClosedChainError as error:
        print(f'{sys.argv[0].rpartition("/")[2]}: {error}', file=sys.stderr)
        return 1
    finally:
        signals.ignore()
        for node in nodes:
            if isinstance(node, Stoppable):
                node.stop()
        if executor is not None:
            for node in nodes:  # while their executor still is: it looks at what it is losing
                executor.remove_node(node)
                node.destroy_node()
            executor.shutdown()
        rclpy.try_shutdown()


def make_executor(context: Context | None = None) -> Executor:
    """Return rclpy's executor in C++ where there is one: the other takes a core at 1 kHz."""
    try:
        from rclpy.experimental import EventsExecutor
    except ImportError:  # before Jazzy
        return SingleThreadedExecutor(context=context)
    return EventsExecutor(context=context)
