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
The lengths and colours of force arrows: none is longer than the scene bears, and all fade.

An impact is over within a step, and its force may be a thousand times the weight: its arrow is cut
off at a largest length, and shrinks and pales over some tenths of a second of simulated time
instead of flashing up in one picture.
"""

from collections.abc import Iterable
import math

import numpy as np

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.viewer.observation import ShownForce

__all__ = ['Arrows']

FADE = 0.2  # time within which what is left of an arrow falls to a third [s]
LONGEST_PAUSE = 1.0  # after a longer pause, or a time that went back, nothing is left [s]
SHARED = 0.55  # how much paler a force is that redundant constraints leave open
PALEST = 0.8  # how pale an arrow gets that only fades
WHITE = 255.0


class Arrows:
    """
    Remembers what was drawn.

    `unit`: length of a newton [m]; `longest` and `smallest`: lengths that are drawn [m].
    """

    def __init__(self, unit: float, longest: float, smallest: float) -> None:
        self.unit, self.longest, self.smallest = unit, longest, smallest
        self._time = 0.0
        self._drawn: dict[
            tuple[str, str], tuple[ShownForce, Vector]
        ] = {}  # force and arrow by name

    def draw(
        self, forces: Iterable[ShownForce], time: float, scale: float, colours: dict[str, Vector]
    ) -> tuple[list[tuple[Vector, Vector]], list[Vector]]:
        """Return ends and colours of the arrows at a simulated time [s]."""
        passed, self._time = time - self._time, time
        left = math.exp(-passed / FADE) if 0.0 <= passed <= LONGEST_PAUSE else 0.0
        now = {(force.kind, force.name): force for force in forces}
        before, self._drawn = self._drawn, {}
        for key, (force, arrow) in before.items():
            if key not in now and np.linalg.norm(left * arrow) > self.smallest:
                self._drawn[key] = force, left * arrow
        for key, force in now.items():
            arrow = self._limited(self.unit * scale * force.vector)
            if key in before:
                old = left * before[key][1]
                arrow = arrow if np.linalg.norm(arrow) >= np.linalg.norm(old) else old
            if np.linalg.norm(arrow) > self.smallest:
                self._drawn[key] = force, arrow
        lines = [(force.point, force.point + arrow) for force, arrow in self._drawn.values()]
        shades = []
        for key, (force, arrow) in self._drawn.items():
            true = self._limited(self.unit * scale * force.vector) if key in now else 0.0 * arrow
            fading = 1.0 - min(1.0, float(np.linalg.norm(true) / np.linalg.norm(arrow)))
            pale = max(0.0 if force.unique else SHARED, PALEST * fading)
            shades.append(pale * WHITE + (1.0 - pale) * colours[force.kind])
        return lines, shades

    def _limited(self, arrow: Vector) -> Vector:
        length = float(np.linalg.norm(arrow))
        if not math.isfinite(length):
            return np.zeros(3)
        return arrow * min(1.0, self.longest / max(length, self.smallest))
