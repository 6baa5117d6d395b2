"""
How nodes run: one or several in a process, until SIGINT or SIGTERM, and how they end.

A node is stopped while it can still publish: its `stop()`, where it has one, sends the last
command; then nodes are destroyed and the process exits with 0. Signals that come while it ends
are ignored, because launchers send more than one.
"""

import gc
import signal
import sys

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions

from closed_chain_dynamics.errors import ClosedChainError

__all__ = ['make_executor', 'run']

SIGNALS = (signal.SIGINT, signal.SIGTERM)
PATIENCE = 0.1  # between two looks for a signal while nothing happens [s]


def run(*makers, args=None, until=None):
    """
    Make nodes, spin them in this thread until a signal or `until()`, end them cleanly.

    Returns the exit code: 0, or 1 with one line on standard error where the model, a parameter or
    data is bad.
    """
    stopped = []
    for each in SIGNALS:
        signal.signal(each, lambda number, _: stopped.append(number))
    # rclpy's own handlers would close the context before the last command is out.
    rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    executor, nodes = make_executor(), []
    try:
        for make in makers:
            nodes.append(make())
            executor.add_node(nodes[-1])
        gc.collect()
        gc.freeze()  # what lives as long as the process is not looked through again and again
        while rclpy.ok() and not stopped and not (until and until()):
            executor.spin_once(timeout_sec=PATIENCE)
        return 0
    except ClosedChainError as error:
        print(f'{sys.argv[0].rpartition("/")[2]}: {error}', file=sys.stderr)
        return 1
    finally:
        for each in SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        for node in nodes:
            getattr(node, 'stop', bool)()
        executor.shutdown()
        for node in nodes:
            node.destroy_node()
        rclpy.try_shutdown()


def make_executor():
    """Return rclpy's executor in C++ where there is one: the other takes a core at 1 kHz."""
    try:
        from rclpy.experimental import EventsExecutor
    except ImportError:  # before Jazzy
        return SingleThreadedExecutor()
    return EventsExecutor()
