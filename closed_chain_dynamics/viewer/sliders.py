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

"""Sliders of joints: their range, and a position on it."""

from typing import Any

import numpy as np

from closed_chain_dynamics.description import JointType
from closed_chain_dynamics.description.elements import Joint
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.viewer.observation import Snapshot

__all__ = ['SLIDER_STEP', 'nearest_turn', 'position', 'slider_range', 'within']

SLIDER_STEP = 1e-3  # of a slider [rad or m]


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
