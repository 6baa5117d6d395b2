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
Where the view gets its states from: here a model at rest, that is moved by hand.

This, a simulation, a log and a live ROS system are a `ViewSource`. A source is used by one thread,
that of the view; what is asked of it and cannot be done is a ClosedChainError, which it shows.
"""

from collections import deque
from collections.abc import Sequence

import numpy as np

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.assembly.search import assemble
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.viewer.observation import Observation, Snapshot

__all__ = ['KEPT_SAMPLES', 'History', 'ModelSource', 'ViewSource', 'dragged']

KEPT_SAMPLES = 300  # samples of a plot


class History:
    """The last samples of what is plotted: time, kinetic, potential, loop error, torques."""

    def __init__(self) -> None:
        self._rows: deque[tuple[float, ...]] = deque(maxlen=KEPT_SAMPLES)

    def add(self, seen: Observation) -> None:
        """Add a sample from an Observation."""
        self._rows.append(
            (seen.snapshot.time, seen.kinetic, seen.potential, seen.loop_error, *seen.torques)
        )

    def clear(self) -> None:
        """Forget everything."""
        self._rows.clear()

    def table(self) -> Vector:
        """Return the samples, one row each."""
        return np.array(self._rows)


class ViewSource:
    """
    What a view shows.

    `kind` is a word for the title; `can_drag`, `can_run`, `can_step`, `can_hold` and `duration`
    (of something recorded [s]) say which controls make sense. `gap` is what a connection closes
    at most [m]. `version` changes with the state; `notes` are sentences to show with it.
    """

    kind = ''
    can_drag = can_run = can_step = can_hold = can_switch = False
    duration: float | None = None
    gap: float | None = None
    notes: Sequence[str] = ()

    def __init__(self, robot: Mechanism) -> None:
        self.robot, self.version, self.history = robot, 0, History()
        self.paused, self.speed = False, 1.0

    def __repr__(self) -> str:
        return f'<{type(self).__name__} of {self.robot.name!r}>'

    def advance(self, elapsed: float) -> None:
        """Let time [s] pass, if the source has a time of its own."""

    def toggle(self) -> None:
        """Stop, or go on."""
        self.paused = not self.paused

    def snapshot(self) -> Snapshot:
        """Return the present Snapshot."""
        raise NotImplementedError

    def noticed(self, seen: Observation) -> None:
        """Keep an Observation for the plots."""
        self.history.add(seen)

    def samples(self) -> Vector:
        """Return what is plotted, one row per sample: see History."""
        return self.history.table()


class ModelSource(ViewSource):
    """A model at rest: it is moved by hand, along its loops."""

    kind = 'model'
    can_drag = can_switch = True

    def __init__(self, robot: Mechanism, q: Vector | None = None) -> None:
        super().__init__(robot.copy())
        self._first = assemble(self.robot, {}) if q is None else q, self.robot.connections()
        self.q, self._moves = self._first[0].copy(), 0

    def snapshot(self) -> Snapshot:
        """Return the pose; the time counts how often it was changed."""
        robot = self.robot.copy()
        return Snapshot(robot, self.q.copy(), np.zeros(robot.nv), time=float(self._moves))

    def _changed(self) -> None:
        self.version += 1
        self._moves += 1

    def drag(self, joint: str, value: float) -> None:
        """Put a joint somewhere [rad or m]; all others follow, or nothing moves at all."""
        self.q = dragged(self.robot, self.q, joint, value)
        self._changed()

    def cut(self, name: str) -> None:
        """Open a loop; the pose stays."""
        self.robot.cut(name)
        self._changed()

    def connect(self, name: str) -> None:
        """Close a loop, by moving everything as little as needed."""
        self.robot.connect(name)
        try:
            self.q = assemble(self.robot, {}, start=self.q)
        except ClosedChainError:
            self.robot.cut(name)
            raise
        self._changed()

    def reset(self) -> None:
        """Go back to the first pose and structure."""
        self.q = self._first[0].copy()
        self.robot.restructure(self._first[1])
        self.history.clear()
        self._changed()


def dragged(robot: Mechanism, q: Vector, joint: str, value: float) -> Vector:
    """Return the closed pose nearest to q with a joint at a value; refused where there is none."""
    # one start only: another one might close the loops in another branch, with a jump
    return assemble(robot, {joint: value}, start=q, attempts=1)
