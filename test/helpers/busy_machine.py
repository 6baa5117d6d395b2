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
A machine that has something else to do.

What programs notice of it is that they stand still, anywhere and for longer than a turn lasts.
So they are stopped in turn: unlike loops that keep cores busy, this does the same on a machine of
any number of cores, and takes none of them from other tests.
"""

from contextlib import contextmanager
import itertools
import signal
import threading

HELD, FREE = 0.01, 0.02  # how long one stands still, and all go on [s]


@contextmanager
def busy(programs):
    """Let one of some programs after another stand still meanwhile."""
    over = threading.Event()

    def hold_up():
        for each in itertools.cycle(programs):
            each.send_signal(signal.SIGSTOP)
            over.wait(HELD)
            each.send_signal(signal.SIGCONT)
            if over.wait(FREE):
                return

    holding = threading.Thread(target=hold_up)
    holding.start()
    try:
        yield
    finally:
        over.set()
        holding.join()
