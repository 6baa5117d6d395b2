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
Sliders that tell the controller of a live system where to go.

They are there while a controller listens. A slider that nobody has moved shows where its joint is;
one that was moved shows what was asked for, until another joint's slider is moved: the controller
holds the joints that are not named where they are.
"""

from collections.abc import Callable
from typing import Any

from closed_chain_dynamics.description.elements import Joint
from closed_chain_dynamics.viewer.live import LiveSource
from closed_chain_dynamics.viewer.observation import Snapshot
from closed_chain_dynamics.viewer.scene import put
from closed_chain_dynamics.viewer.sliders import (
    SLIDER_STEP,
    Slider,
    nearest_turn,
    position,
    slider_range,
    within,
)

__all__ = ['Steering']


class Steering:
    """A folder of sliders; `follow` has the thread of the view call something, the newest only."""

    def __init__(self, gui: Any, source: LiveSource, follow: Callable[..., None]) -> None:
        self.source, self._follow, robot = source, follow, source.robot
        single = [joint for joint in robot.description.joints if joint.type.nv == 1]
        motors = [joint for joint in single if joint.name in robot.actuator_names]
        self.folder = gui.add_folder('Controller: motor targets')
        self.sliders: dict[str, Slider] = {}
        with self.folder:
            for joint in motors or single:
                self._add(gui, joint)

    def _add(self, gui: Any, joint: Joint) -> None:
        low, high = slider_range(self.source.robot, joint)
        slider = gui.add_slider(joint.name, low, high, SLIDER_STEP, min(max(0.0, low), high))

        self.sliders[joint.name] = Slider(
            slider, lambda value: self._follow(self._steer, joint, value)
        )

    def _steer(self, joint: Joint, value: float) -> None:
        now = position(self.source.snapshot(), joint.name)
        self.source.steer(joint, nearest_turn(joint, value, now))

    def update(self, snapshot: Snapshot) -> None:
        """Show what was asked for, else what is."""
        put(self.folder, 'visible', self.source.can_steer)
        asked = self.source.asked
        for name, slider in self.sliders.items():
            value = asked[1] if asked and asked[0] == name else position(snapshot, name)
            slider.show(within(slider.handle, value))
