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
Trajectories that were asked for: taken, refused with the reason, or waiting for a state.

One that comes before the first state waits for it. So does one that comes while something that is
not driven yet moves faster, or is further, than its limits allow. A point of a stream does not
wait for longer than it would be followed.
"""

from collections.abc import Sequence
import math
from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics.control.reference import Reference
from closed_chain_dynamics.control.state_tracking import StateTracker
from closed_chain_dynamics.control.state_watch import StateWatch
from closed_chain_dynamics.errors import ClosedChainError

__all__ = ['AskedMotion', 'Points']


class Points(TypedDict):
    """A trajectory, see `Reference.take`."""

    names: Sequence[str]
    times: ArrayLike
    positions: ArrayLike
    velocities: ArrayLike | None
    accelerations: ArrayLike | None
    start: float | None


class AskedMotion:
    """
    Hands trajectories to a Reference as soon as the state of a tracker allows it.

    `waiting`: what was asked and not taken yet; `count`: how many have been asked for; `refused`:
    why the last one was not taken, in words, until another one is; `problem`: what is wrong with
    what was asked last, refused or given up on the way.
    """

    def __init__(self, reference: Reference, tracker: StateTracker, watcher: StateWatch) -> None:
        self.reference, self._tracker, self._watcher = reference, tracker, watcher
        self.waiting: Points | None = None
        self.count, self.refused, self._told = 0, '', ''
        self._before = ''  # the problem of the reference when the last one was refused
        self._asked = math.nan  # stamp of the last state when what waits was asked [s]

    def take(self, points: Points, stamp: float) -> bool:
        """Take a trajectory; return whether it was accepted."""
        self._asked, self.count = stamp, self.count + 1
        return self._hand_over(points)

    def _hand_over(self, points: Points) -> bool:
        state = self._tracker.state
        if state is None or state.q is None or self._watcher.is_unfit(state.v):
            self.waiting = points
            return True
        self.waiting = None
        try:
            self.reference.take(**points, time=state.time, q=state.q, v=state.v)
        except ClosedChainError as error:
            return self._refused(str(error))
        self.refused = ''
        if self.reference.clipped:
            self._tracker.refuse('clipped', f'{self.reference.clipped}: it stays within them')
        return True

    def refuse(self, why: str) -> bool:
        """Take no trajectory, for a reason outside of it; return that it was not accepted."""
        self.count += 1
        return self._refused(why)

    def _refused(self, why: str) -> bool:
        self._tracker.refuse('reference', why)
        self.refused, self._before = why, self.reference.problem
        return False

    def go_on(self, stamp: float, timeout: float) -> None:
        """Take what has waited for a state, but no point of a stream that is older by now."""
        if self.waiting is None:
            return
        times = self.waiting['times']
        is_stream = np.size(times) == 1 and not np.any(times)
        if is_stream and stamp - self._asked > timeout:
            self.waiting = None
        else:
            self._hand_over(self.waiting)

    def forget(self) -> None:
        """Drop all that was asked for."""
        self.reference.drop()
        self.waiting, self.refused = None, ''

    def while_waiting(self, text: str) -> str:
        """Return a reason, and that a reference waits for its end if one does."""
        return f'{text}: the reference waits until that is over' if self.waiting else text

    @property
    def problem(self) -> str:
        """Return what was asked for that cannot be, in words."""
        of_motion = self.reference.problem
        if self.refused and of_motion == self._before:  # nothing has happened since
            return self.refused
        return of_motion or self.refused

    def tell_problem(self) -> None:
        """Tell once what a reference asks for that cannot be."""
        problem = self.reference.problem
        if problem and problem.partition(' ')[0] != self._told.partition(' ')[0]:
            self._tracker.refuse('reference', f'{problem}: the last pose is held')
        self._told = problem
