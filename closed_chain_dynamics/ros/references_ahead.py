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
Trajectories that begin later: the present one is followed until then.

What is to be done at a stamp can be said long before, and then does not depend on how long the
message took; nor on how often it was said, because what was handed over once is not begun again.
One without a stamp begins at once, and what waits is forgotten. One whose end has passed long ago,
from a bag or another clock, is refused: nobody expects a motion to its end by now.
"""

from typing import Any

from closed_chain_dynamics.control.control_loop import ControlLoop
from closed_chain_dynamics.ros.messages.measured_states import seconds

__all__ = ['OVER', 'ReferencesAhead', 'arrays_of']

OVER = 'it was over before it came: send it before its stamp, or with none'

MOST_TRAJECTORIES = 20  # trajectories that wait; more is somebody's mistake


class ReferencesAhead:
    """Hands trajectories to a ControlLoop when their time has come."""

    def __init__(self) -> None:
        self._waiting: dict[float, tuple[Any, ...]] = {}  # by the stamp of their begin [s]
        self._begun: dict[float, tuple[Any, ...]] = {}  # the last ones that were accepted

    def take(self, message: Any, loop: ControlLoop, now: float) -> str:
        """Take a JointTrajectory at the stamp of the last state; return why not, or nothing."""
        start = seconds(message.header.stamp)
        if not start:
            self.clear()
            loop.take_reference(*arrays_of(message))
            return ''
        if len(self._waiting) >= MOST_TRAJECTORIES and start not in self._waiting:
            return f'{MOST_TRAJECTORIES} trajectories are waiting for their begin'
        arrays = arrays_of(message)
        if self._begun.get(start) == arrays and loop.is_asked:
            return ''
        self._waiting[start] = arrays
        self.hand_over(loop, now)
        return ''

    def hand_over(self, loop: ControlLoop, now: float) -> None:
        """Let the loop follow what has begun; where it has nothing yet, what begins first."""
        due = [start for start in self._waiting if start <= now]
        if due:
            begin = max(due)
        elif self._waiting and not loop.is_asked:
            begin = min(self._waiting)
        else:
            return
        end = begin + max(self._waiting[begin][1], default=0.0)
        if end < now - loop.reference_timeout:
            loop.asked.refuse(OVER)
        elif loop.take_reference(*self._waiting[begin], start=begin):
            self._begun[begin] = self._waiting[begin]
            self._begun = {
                each: self._begun[each] for each in sorted(self._begun)[-MOST_TRAJECTORIES:]
            }
        self._waiting = {start: arrays for start, arrays in self._waiting.items() if start > begin}

    def clear(self) -> None:
        """Forget what waits, and what has begun."""
        self._waiting.clear()
        self._begun.clear()


def arrays_of(message: Any) -> tuple[Any, ...]:
    """Return names, times, positions, velocities and accelerations; None: not given."""
    points = message.points
    positions, velocities, accelerations = (
        [list(getattr(point, field)) for point in points]
        for field in ('positions', 'velocities', 'accelerations')
    )
    return (
        list(message.joint_names),
        [seconds(point.time_from_start) for point in points],
        positions,
        velocities if any(velocities) else None,
        accelerations if any(accelerations) else None,
    )
