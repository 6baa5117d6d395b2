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
The controls of a simulator that runs elsewhere: pause, step, reset, speed, and a push at a link.

They are there while a simulator listens. What they show is what the simulator says, not what was
asked of it.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.viewer.live import LiveSource
from closed_chain_dynamics.viewer.scene import put

__all__ = ['SPEEDS', 'LiveControls', 'Simulator']

SPEEDS = (0.05, 4.0)  # slowest and fastest
STRENGTH = 50.0  # of a push, at first [N]
STRONGEST_PULL = 1000.0  # [N]
DIRECTIONS = {
    'z': (0.0, 0.0, 1.0),
    'x': (1.0, 0.0, 0.0),
    '-x': (-1.0, 0.0, 0.0),
    'y': (0.0, 1.0, 0.0),
    '-y': (0.0, -1.0, 0.0),
    '-z': (0.0, 0.0, -1.0),
}  # in world axes


class Simulator(Protocol):
    """Who is asked; `factor` is the real-time factor that it reaches, None: not known."""

    paused: bool
    factor: float | None

    def is_ready(self) -> bool:
        """Return whether it listens."""

    def pause(self, paused: bool) -> None:
        """Stop time, or let it go on."""

    def step(self) -> None:
        """Let a period pass."""

    def reset(self) -> None:
        """Go back to the start."""

    def set_speed(self, factor: float) -> None:
        """Let time pass at a factor of real time."""

    def push(self, link: str, force: NDArray[np.float64]) -> None:
        """Push a link at its origin with a force in its own axes, (3,) [N]."""


class LiveControls:
    """A folder of controls; `do` has the thread of the view call something."""

    def __init__(self, gui: Any, source: LiveSource, do: Callable[..., None]) -> None:
        assert source.simulator is not None  # whom these controls are for
        self.source, self._simulator, self._do = source, source.simulator, do
        self.folder = gui.add_folder('Simulator')
        with self.folder:
            self._play = gui.add_button('Pause', hint='stop time, and let it go on')
            self._play.on_click(lambda _: do(self._toggle))
            steps = gui.add_button_group(
                'time', ['Step', 'Reset'], hint='Step: a period. Reset: back to the start.'
            )
            actions = {'Step': self._step, 'Reset': self._simulator.reset}
            steps.on_click(lambda _: do(actions[steps.value]))
            speed = gui.add_slider('speed', *SPEEDS, 0.05, 1.0)
            speed.on_update(lambda _: do(self._simulator.set_speed, speed.value))
            links = source.robot.link_names[:0:-1]  # the ends of the tree first, not what is held
            link = gui.add_dropdown('link', links)
            towards = gui.add_dropdown('towards', list(DIRECTIONS))
            strength = gui.add_slider('force [N]', 1.0, STRONGEST_PULL, 1.0, STRENGTH)
            push = gui.add_button('Push', hint='for a moment, at the origin of the link')
            push.on_click(
                lambda _: do(self._push, link.value, DIRECTIONS[towards.value], strength.value)
            )
        self.update()

    def _toggle(self) -> None:
        self._simulator.pause(not self._simulator.paused)

    def _step(self) -> None:
        self._simulator.pause(True)
        self._simulator.step()

    def _push(self, link: str, direction: tuple[float, ...], strength: float) -> None:
        self.source.push(link, strength * np.array(direction))

    def update(self) -> None:
        """Show what the simulator says of itself."""
        put(self.folder, 'visible', self.source.can_command)
        put(self._play, 'label', 'Go on' if self._simulator.paused else 'Pause')

    def pace(self) -> str:
        """Return the real-time factor in words, nothing where it is not known."""
        factor = self._simulator.factor
        if not self.source.can_command or factor is None:
            return ''
        return ' · paused' if self._simulator.paused else f' · real-time factor {factor:.2f}'
