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

"""A system that runs elsewhere, as its messages describe it; knows nothing of messages itself."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics.description.elements import Joint
from closed_chain_dynamics.dynamics.tree import link_placement
from closed_chain_dynamics.model.changes import follow
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.viewer.observation import Snapshot
from closed_chain_dynamics.viewer.sources import ModelSource

if TYPE_CHECKING:  # it knows this file
    from closed_chain_dynamics.viewer.live_controls import Simulator

__all__ = ['LiveController', 'LiveSource']

STEERED = 1.0  # speed of a joint that a slider moves, at most [rad/s or m/s]
UNHURRIED = 0.25  # and of its fastest
SOONEST = 0.3  # time that the shortest way takes [s]


class LiveController(Protocol):
    """Who is asked to move joints."""

    def is_ready(self) -> bool:
        """Return whether it listens."""

    def go_to(self, joint: str, value: float, within: float) -> None:
        """Bring a joint to a position [rad or m] within a time [s]."""


class LiveSource(ModelSource):
    """
    A live system; until the first joint states come, a model at rest that can be dragged.

    `news(source)` is called before every picture and hands over what has come in, through
    `take_joints`, `take_structure`, `take_torques` and `take_notes`. `ask(kind, name)` passes on
    that somebody wants to connect or cut a joint: what becomes of it, the next structure tells.
    `simulator`, if there is one at the other end, is told to pause, step or reset, and what is
    pushed; `controller`, the target of a joint, and how fast to go there.
    """

    def __init__(
        self,
        robot: Mechanism,
        news: Callable[['LiveSource'], None],
        ask: Callable[[str, str], None],
        simulator: 'Simulator | None' = None,
        controller: 'LiveController | None' = None,
    ) -> None:
        super().__init__(robot)
        self._news, self._ask, self.heard = news, ask, False
        self.simulator, self._controller = simulator, controller
        self.asked: tuple[str, float] | None = None  # joint and position that were asked for last
        self.v, self.time = np.zeros(self.robot.nv), 0.0
        self.tau = np.zeros(len(self.robot.actuator_names))

    @property
    def kind(self) -> str:  # type: ignore[override]  # nobody sets it
        """Return what is shown, in a word."""
        return 'live system' if self.heard else 'model'

    @property
    def can_drag(self) -> bool:  # type: ignore[override]  # nobody sets it
        """Tell whether nobody else moves it."""
        return not self.heard

    def advance(self, elapsed: float) -> None:
        """Take what has come in."""
        self._news(self)

    def take_joints(
        self, joints: Mapping[str, tuple[ArrayLike, ArrayLike | None]], time: float
    ) -> None:
        """Take the state of joints, {name: (part of q, part of v or None)}, at a time [s]."""
        self.heard, self.time = True, time
        for name, (position, velocity) in joints.items():
            in_q, in_v = self.robot.joint_slices(name)
            if np.size(position) == in_q.stop - in_q.start:  # else it was cut a moment ago
                self.q[in_q] = position
                self.v[in_v] = 0.0 if velocity is None else velocity
        self.version += 1

    def take_structure(self, closed: Mapping[str, bool]) -> None:
        """Take which loops are closed, and which joints of the tree are cut, {name: closed?}."""
        followed = follow(self.robot, closed, self.q, self.v)
        self.q, self.v = followed.q, followed.v
        self.version += 1

    def take_torques(self, torques: Mapping[str, float]) -> None:
        """Take the torques of actuators, {name: [N m or N]}."""
        names = self.robot.actuator_names
        self.tau = np.array([torques.get(name, was) for name, was in zip(names, self.tau)])

    def take_notes(self, notes: Sequence[str]) -> None:
        """Take sentences to be shown."""
        if notes != self.notes:
            self.notes = notes
            self.version += 1

    @property
    def can_command(self) -> bool:
        """Tell whether a simulator listens to pause, step and reset."""
        return self.heard and self.simulator is not None and self.simulator.is_ready()

    @property
    def steers(self) -> bool:
        """Tell whether there may be a controller, now or later."""
        return self._controller is not None

    @property
    def can_steer(self) -> bool:
        """Tell whether a controller listens."""
        return self.heard and self._controller is not None and self._controller.is_ready()

    def steer(self, joint: Joint, value: float) -> None:
        """Ask the controller to bring a joint to a position, at a part of its fastest [rad, m]."""
        assert self._controller is not None  # its sliders are there only then
        fastest = joint.limit.velocity
        speed = min(UNHURRIED * fastest, STEERED) if np.isfinite(fastest) else STEERED
        way = abs(value - float(self.q[self.robot.joint_slices(joint.name)[0]][0]))
        self.asked = joint.name, value
        self._controller.go_to(joint.name, value, max(way / speed, SOONEST))

    def push(self, link: str, force: ArrayLike) -> None:
        """Push a link at its origin with a force in world axes, (3,) [N]."""
        assert self.simulator is not None  # its controls are there only then
        R = link_placement(self.robot, self.q, link)[:3, :3]
        self.simulator.push(link, R.T @ np.asarray(force, dtype=float))

    def snapshot(self) -> Snapshot:
        """Return the last state that was heard of, or the model at rest."""
        if not self.heard:
            return super().snapshot()
        return Snapshot(self.robot.copy(), self.q.copy(), self.v.copy(), self.tau, self.time)

    def cut(self, name: str) -> None:
        """Ask for a cut."""
        self._switch('cut', name, super().cut)

    def connect(self, name: str) -> None:
        """Ask for a connection."""
        self._switch('connect', name, super().connect)

    def _switch(self, kind: str, name: str, at_rest: Callable[[str], None]) -> None:
        if self.heard:
            self._ask(kind, name)
            return
        at_rest(name)
        self.v = np.zeros(self.robot.nv)
