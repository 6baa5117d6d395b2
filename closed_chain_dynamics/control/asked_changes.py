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

"""What may be asked of a structure: to connect a joint, to cut one, or to be as its owner says."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.control.control_loop import ControlLoop
from closed_chain_dynamics.control.state_tracking import StateTracker
from closed_chain_dynamics.model import changes
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.model.structure import Connections

__all__ = ['Change', 'Connect', 'Cut', 'Follow', 'StateOrNone']

StateOrNone: TypeAlias = tuple[
    Vector | None, Vector | None
]  # q and v, or None where it is not known


class Change(Protocol):
    """A change of the structure; `topic`: where it came from."""

    topic: str

    def made_by(self, holder: ControlLoop | StateTracker) -> bool:
        """Let a loop or a tracker make it; return whether anything changed, or raise."""

    def made_on(self, robot: Mechanism, pose: StateOrNone) -> tuple[StateOrNone, tuple[str, ...]]:
        """Make it on a mechanism; return the new pose and what was refused of it, or raise."""

    def leads_to(self, robot: Mechanism) -> Connections | None:
        """Return what is connected after it; None where joints of the tree take part."""


@dataclass
class Connect:
    """Close a loop joint, or join a cut one, across `gap` [m] and `angle` [rad] at most."""

    topic: str
    name: str
    gap: float
    angle: float

    def made_by(self, holder: ControlLoop | StateTracker) -> bool:
        """See Change."""
        holder.connect(self.name, gap=self.gap, angle=self.angle)
        return True

    def made_on(self, robot: Mechanism, pose: StateOrNone) -> tuple[StateOrNone, tuple[str, ...]]:
        """See Change."""
        return changes.connect(robot, self.name, *pose, gap=self.gap, angle=self.angle), ()

    def leads_to(self, robot: Mechanism) -> Connections | None:
        """See Change."""
        return _switched(robot, {self.name: True})


@dataclass
class Cut:
    """Open a loop joint, or cut a joint of the tree."""

    topic: str
    name: str

    def made_by(self, holder: ControlLoop | StateTracker) -> bool:
        """See Change."""
        holder.cut(self.name)
        return True

    def made_on(self, robot: Mechanism, pose: StateOrNone) -> tuple[StateOrNone, tuple[str, ...]]:
        """See Change."""
        return changes.cut(robot, self.name, *pose), ()

    def leads_to(self, robot: Mechanism) -> Connections | None:
        """See Change."""
        return _switched(robot, {self.name: False})


@dataclass
class Follow:
    """Be as the owner of the contacts says, {name: closed?}."""

    topic: str
    closed: Mapping[str, bool]

    def made_by(self, holder: ControlLoop | StateTracker) -> bool:
        """See Change."""
        return holder.follow(self.closed)

    def made_on(self, robot: Mechanism, pose: StateOrNone) -> tuple[StateOrNone, tuple[str, ...]]:
        """See Change."""
        done = changes.follow(robot, self.closed, *pose)
        return pose if pose[0] is None else (done.q, done.v), done.refused

    def leads_to(self, robot: Mechanism) -> Connections | None:
        """See Change."""
        cut = {name for name, closed in self.closed.items() if not closed}
        if cut.difference(robot.loop_names) != set(changes.cut_joints(robot)):
            return None
        return _switched(robot, {n: c for n, c in self.closed.items() if n in robot.loop_names})


def _switched(robot: Mechanism, closed: Mapping[str, bool]) -> Connections | None:
    """Return the connections with some loop joints closed or open; None where one is no loop."""
    if not closed.keys() <= set(robot.loop_names):
        return None
    now = robot.connections()
    loops = (
        (int(closed.get(name, active)), mode, rows)
        for name, (active, mode, rows) in zip(robot.loop_names, now.loops)
    )
    return replace(now, loops=tuple(loops))
