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

"""Which reference counts in a turn: that of the modes that follow one, or where a spring stays."""

import numpy as np

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.control.law import TRACKING, DesiredMotion, TorqueController
from closed_chain_dynamics.control.reference import Reference
from closed_chain_dynamics.control.sensed import Sensed

__all__ = ['Followed']

LONGEST_CATCH_UP = (
    2e-3  # a reference is not caught up with by more than in such a time at once [s]
)


class Followed:
    """
    Remembers whether a reference is followed, and the pose that an impedance without one is about.

    A reference that was not followed for a while is caught up with from where the joints are.
    """

    def __init__(self) -> None:
        self.is_on = False  # whether the last turn looked at the reference
        self._pose: Vector | None = None
        self._last = -np.inf  # stamp of the last turn

    def forget(self) -> None:
        """Take note that torques of no law were sent, or that joints were connected or cut."""
        self._pose = None

    def goes_on(self, reference: Reference, stamp: float, timeout: float) -> bool:
        """Return whether the reference is followed at a stamp as it was in the last turn."""
        ended = reference.is_stream and stamp - reference.received > timeout
        if not (self.is_on and reference) or ended:
            return False
        self._last = stamp
        return True

    def at(
        self,
        state: tuple[Vector, float],
        controller: TorqueController,
        reference: Reference,
        sensed: Sensed,
        *,
        anew: bool,
        timeout: float,
    ) -> tuple[DesiredMotion | None, str]:
        """
        Return what is followed at a state (q, stamp), and why nothing can be, in words.

        `anew`: whether the fallback was sent till now; `timeout`: of the points of a stream [s].
        """
        q, stamp = state
        was_on, self.is_on = self.is_on, False
        last, self._last = self._last, stamp
        if reference or controller.mode != 'impedance':
            self._pose = None
        if not controller.follows(sensed):
            return None, ''
        if not reference:
            if controller.mode in TRACKING:
                return None, 'no reference yet'
            if controller.mode != 'impedance':
                return None, ''
            if self._pose is None:
                self._pose = q.copy()
            zero = np.zeros(controller.robot.nv)
            return (self._pose, zero, zero), ''
        if reference.is_stream and stamp - reference.received > timeout:
            return None, 'the stream of references has ended'
        if anew:
            reference.resume(q, stamp)
        elif not was_on:  # where the joints are with it, its rate counts from the first turn on
            reference.resume(q, max(last, stamp - LONGEST_CATCH_UP))
        self.is_on = True
        return reference.at(stamp), ''
