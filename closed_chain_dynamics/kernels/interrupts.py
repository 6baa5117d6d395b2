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
Ctrl-C while LLVM works: it waits until LLVM is done.

LLVM calls back into Python, when code is loaded from disk, say. An exception cannot pass through
it: Python drops it there, and LLVM goes on with nothing where it has asked for code, which crashes
the process. So signals that a Python function handles are handled a little later, when LLVM is not
in between. It could not have been interrupted before either.
"""

from collections.abc import Iterator
from contextlib import contextmanager
import signal
import threading

ENDING_SIGNALS = signal.SIGINT, signal.SIGTERM


@contextmanager
def held_back() -> Iterator[None]:
    """Handle signals after what is done meanwhile."""
    if threading.current_thread() is not threading.main_thread():  # no other handles any
        yield
        return
    usual = {number: signal.getsignal(number) for number in ENDING_SIGNALS}
    usual = {number: handler for number, handler in usual.items() if callable(handler)}
    came = []
    for number in usual:
        signal.signal(number, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
        for number, frame in came:
            usual[number](number, frame)
