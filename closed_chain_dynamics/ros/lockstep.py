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
A simulation in step with its controller: a period begins when the torques of its state have come.

Who answers says which state by its stamp. A state that is not answered is said again, because a
message may be lost; after a time the simulation goes on without the answer, and counts that. The
first answer of all is waited for however long it takes: the controller may still be starting.
"""

from collections.abc import Callable
import time

__all__ = ['Lockstep']

SAY_AGAIN = 0.05  # a state without an answer [s]


class Lockstep:
    """
    Says whether time may go on; `missed` counts periods that went on without an answer.

    `patience`: how long an answer is waited for on the clock of the machine [s].
    """

    def __init__(self, patience: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.patience, self.missed, self._clock = patience, 0, clock
        self._met = False
        self.ask((0, 0))

    def ask(self, stamp: tuple[int, int]) -> None:
        """Wait for the answer to a state from now on."""
        self._stamp, self._asked, self.answered = stamp, self._clock(), False
        self._said = self._asked

    def answer(self, stamp: tuple[int, int]) -> bool:
        """Take note of torques; return whether they are the first that answer the last state."""
        if stamp != self._stamp or self.answered:
            return False
        self.answered = self._met = True
        return True

    def is_ready(self) -> bool:
        """Return whether the answer has come, or has been waited for long enough."""
        late = self._met and self._clock() - self._asked > self.patience
        if late and not self.answered:
            self.missed += 1
            self.answered = True
        return self.answered

    def shall_say_again(self) -> bool:
        """Return whether to publish the state once more."""
        now = self._clock()
        if self.answered or now - self._said < SAY_AGAIN:
            return False
        self._said = now
        return True

    @property
    def waited(self) -> float:
        """Return how long the present answer has been waited for [s]."""
        return 0.0 if self.answered else self._clock() - self._asked
