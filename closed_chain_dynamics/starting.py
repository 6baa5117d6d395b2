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
Signals while a program of this package is still being loaded: it ends quietly.

Imports take a second or two, and launchers and people stop what has hardly begun. A node ends
with exit code 0; from the moment it runs, `ros.running` decides what a signal does. The command
`closed-chain` ends with 130 on Ctrl-C, but for what it does within `interrupts_raised`. Other
programs are left alone. Importing this module is enough.
"""

from collections.abc import Iterator
from contextlib import contextmanager
import os
import signal
import sys
from types import FrameType

__all__ = ['INTERRUPTED', 'interrupts_raised']

NODES = 'closed_chain_dynamics.ros.nodes'
COMMAND_NAME, COMMAND_MODULE = 'closed-chain', 'closed_chain_dynamics.cli'
WITH_VALUE = ('-X', '-W')  # options of Python whose value is the next word
INTERRUPTED = 130  # exit code of a command that Ctrl-C has ended


def _end_quietly_on_signals() -> None:
    """Let SIGINT, and SIGTERM for a node, end this process, if it is a program of this package."""
    program = _program()
    package, _, name = program.rpartition('.')
    if program in (COMMAND_NAME, COMMAND_MODULE):
        signal.signal(signal.SIGINT, _interrupt)
    elif package in (NODES, '') and _is_node(name):
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _end)


def _program() -> str:
    """Return the module that Python was told to run, or the name of the script."""
    words = iter(sys.orig_argv[1:])
    for word in words:
        if word == '-m':
            return next(words, '')
        if not word.startswith('-'):
            # one that pip or colcon has installed bears the name of the module that it runs
            return os.path.basename(word)
        if word in WITH_VALUE:
            next(words, '')
    return ''


def _is_node(name: str) -> bool:
    return os.path.isfile(os.path.join(os.path.dirname(__file__), 'ros', 'nodes', f'{name}.py'))


def _end(number: int, frame: FrameType | None) -> None:
    # At once: nothing is open yet, and an exception could be caught by whatever is being imported.
    os._exit(0)


def _interrupt(number: int, frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)


@contextmanager
def interrupts_raised() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt here, where somebody catches it."""
    ours = signal.getsignal(signal.SIGINT) is _interrupt
    if ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGINT, _interrupt)


_end_quietly_on_signals()
