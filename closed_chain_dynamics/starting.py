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
Signals while a node is still being loaded: it ends quietly, with exit code 0.

Imports take a second or two, and launchers stop what has hardly begun. From the moment a node
runs, `ros.running` decides what a signal does; other programs are left alone. Importing this
module is enough.
"""

from itertools import pairwise
import os
import signal
import sys
from types import FrameType

NODES = 'closed_chain_dynamics.ros.nodes'


def _end_quietly_on_signals() -> None:
    """Let SIGINT and SIGTERM end this process, if it is a node of this package."""
    words = sys.orig_argv[1:4]
    modules = [module for option, module in pairwise(words) if option == '-m']
    # a script that pip or colcon has installed bears the name of the module that it runs
    modules += [f'{NODES}.{os.path.basename(word)}' for word in words[:1]]
    for module in modules:
        package, _, name = module.rpartition('.')
        if package == NODES and _is_node(name):
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, _end)


def _is_node(name: str) -> bool:
    return os.path.isfile(os.path.join(os.path.dirname(__file__), 'ros', 'nodes', f'{name}.py'))


def _end(number: int, frame: FrameType | None) -> None:
    # At once: nothing is open yet, and an exception could be caught by whatever is being imported.
    os._exit(0)


_end_quietly_on_signals()
