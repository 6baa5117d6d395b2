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

"""Sliders: who moves them, the range of those of joints, and a position on it."""

from collections.abc import Callable
import time
from typing import Any

import numpy as np

from closed_chain_dynamics.description import JointType
from closed_chain_dynamics.description.elements import Joint
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.viewer.observation import Snapshot

__all__ = ['SLIDER_STEP', 'Slider', 'nearest_turn', 'position', 'slider_range', 'within']

SLIDER_STEP = 1e-3  # of a slider [rad or m]
LET_GO = 0.5  # after its last move by hand, the view sets a slider again [s]


class Slider:
    """
    A slider that people move and the view sets; `handle` is that of viser.

    What a browser sends and what the view sends it may cross, and then the browser shows an old
    value while the view believes that it shows the new one. So the view sets nothing while a
    slider is moved, and afterwards sends its value once even if nothing seems to have changed.
    """

    def __init__(self, handle: Any, moved: Callable[[float], None]) -> None:
        self.handle, self._moved = handle, moved
        self._touched: float | None = None  # when it was moved by hand, until the view set it
        handle.on_update(self._by_hand)

    # a coroutine, which viser runs at once: a function would wait for a thread, and meanwhile
    # the view may have set the slider back to where the joint is
    async def _by_hand(self, event: Any) -> None:
        if event.client is not None:  # not what the view itself sets
            self._touched = time.monotonic()
            self._moved(event.target.value)

    @property
    def is_settled(self) -> bool:
        """Return whether the browser is known to show what the view has set."""
        return self._touched is None

    def show(self, value: float) -> None:
        """Set the slider to a value of its scale, unless somebody has it in hand."""
        touched = self._touched
        if touched is None:
            if self.handle.value != value:
                self.handle.value = value
        elif time.monotonic() - touched > LET_GO:
            self._touched = None
            # viser sends only what differs from what it knows
            same = self.handle.value == value
            self.handle.value = float(np.nextafter(value, np.inf)) if same else value


def slider_range(robot: Mechanism, joint: Joint) -> tuple[float, float]:
    """Return the range of a joint's slider: its limits, or what a limitless one is shown in."""
    slides = joint.type is JointType.PRISMATIC
    reach = robot.structure.world['length'] if slides else np.pi
    low, high = joint.limit.lower, joint.limit.upper
    low, high = low if np.isfinite(low) else -reach, high if np.isfinite(high) else reach
    return float(np.ceil(low / SLIDER_STEP) * SLIDER_STEP), float(
        np.floor(high / SLIDER_STEP) * SLIDER_STEP
    )


def within(slider: Any, value: float) -> float:
    """Return a value as a slider can show it: on its scale, by whole turns if it must."""
    whole_turn = slider.max - slider.min > 2.0 * np.pi - 3.0 * SLIDER_STEP
    if whole_turn and not slider.min <= value <= slider.max:
        value = (value - slider.min) % (2.0 * np.pi) + slider.min
    return float(round(min(max(value, slider.min), slider.max), 3))


def position(snapshot: Snapshot, joint: str) -> float:
    """Return the position of a joint of one degree [rad or m]."""
    return float(snapshot.q[snapshot.robot.joint_slices(joint)[0]][0])


def nearest_turn(joint: Joint, value: float, now: float) -> float:
    """Return an angle of a joint that turns for ever, by the turn that it is in."""
    if joint.type is not JointType.CONTINUOUS:
        return value
    return float(value + 2.0 * np.pi * np.round((now - value) / (2.0 * np.pi)))
