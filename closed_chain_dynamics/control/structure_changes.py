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
Changes of the structure, prepared beside the turns of a control loop, and taken between two.

What a structure that was never met allows takes as long to learn as several turns. So joints are
connected and cut on a copy first, in a thread: all that were asked for since, one after the other,
at the pose of that moment. What was learnt there is handed over together with what is closed then.
Turns go on in the old structure meanwhile, as if the message had come a little later, and however
many messages come, one change is taken between two turns. One that leads back to a structure that
was met before takes less than half a turn, and is made at once.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass

from closed_chain_dynamics.codegen.background import sharing_python
from closed_chain_dynamics.control.asked_changes import Change, StateOrNone
from closed_chain_dynamics.control.control_loop import ControlLoop
from closed_chain_dynamics.control.loop_state import LoopState
from closed_chain_dynamics.control.state_tracking import StateTracker
from closed_chain_dynamics.dynamics.distances import learn_motions
from closed_chain_dynamics.dynamics.learnt_structures import LearntStructures
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.model import changes
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.model.model import Model
from closed_chain_dynamics.model.structure import Structure

__all__ = ['StructureChanges']

MOST_CHANGES_ASKED = 1000  # changes that were asked for and not taken up yet


@dataclass(frozen=True)
class _Prepared:
    """A mechanism in the structure that changes lead to, and those refused, (topic, reason)."""

    robot: Mechanism
    refused: list[tuple[str, str]]


@dataclass(frozen=True)
class _Task:
    """Changes to make on a copy; `motions`: whether more is learnt of them than the rank."""

    structure: Structure
    pose: StateOrNone
    names: Sequence[str]
    asked: list[Change]
    motions: bool


def _prepare(model: Model, learnt: LearntStructures, task: _Task) -> _Prepared:
    """Make changes on a copy, and learn the structure that they lead to."""
    robot, pose = Mechanism.in_structure(model, task.structure), task.pose
    refused: list[tuple[str, str]] = []
    for change in task.asked:
        try:
            pose, reasons = change.made_on(robot, pose)
            refused += [(change.topic, reason) for reason in reasons]
        except ClosedChainError as error:
            refused.append((change.topic, str(error)))
    if pose[0] is not None:
        learnt.recall(robot)
        trial = LoopState(robot, task.names)
        trial.restructured(*pose)
        if task.motions and trial.q is not None:
            learn_motions(robot, trial.q)
    return _Prepared(robot, refused)


class StructureChanges:
    """Makes the changes that are asked of a ControlLoop or a StateTracker, or rejects them."""

    def __init__(
        self, holder: ControlLoop | StateTracker, reject: Callable[[str, str], object]
    ) -> None:
        self._holder, self._reject = holder, reject
        self._tracker = holder.tracker if isinstance(holder, ControlLoop) else holder
        self._waiting: list[Change] = []
        self._preparing: Future[_Prepared] | None = None
        self._sharing = ExitStack()
        self._thread = ThreadPoolExecutor(1, 'structure_changes')
        self._thread.submit(int)  # now: to start a thread takes longer than to wake it

    def ask(self, change: Change) -> None:
        """Make a change, as soon as it is prepared and somebody takes it."""
        if len(self._waiting) >= MOST_CHANGES_ASKED:
            self._reject(change.topic, f'more than {MOST_CHANGES_ASKED} changes wait')
        else:
            self._waiting.append(change)

    def take(self) -> bool:
        """Go on with what was asked for, between turns; return whether the structure changed."""
        if self._preparing is not None:
            return self._preparing.done() and self._take_prepared(self._preparing)
        if not self._waiting:
            return False
        if len(self._waiting) == 1 and self._is_known(self._waiting[0]):
            return self._make(self._waiting.pop())
        self._prepare_all()
        return False

    def settle(self) -> bool:
        """Wait for all that was asked for, and take it; return whether the structure changed."""
        changed = False
        while self._preparing is not None or self._waiting:
            if self._preparing is not None:
                wait([self._preparing])
            changed = self.take() or changed
        return changed

    # --- at once -------------------------------------------------------------------------------
    def _is_known(self, change: Change) -> bool:
        """Return whether a change leads to a structure of which nothing has to be learnt."""
        target = change.leads_to(self._tracker.robot)
        return target is not None and target in self._tracker.learnt

    def _make(self, change: Change) -> bool:
        """Make a change here and now; return whether it was possible."""
        try:
            return change.made_by(self._holder)
        except ClosedChainError as error:
            self._reject(change.topic, str(error))
            return False

    # --- beside the turns ------------------------------------------------------------------------
    def _prepare_all(self) -> None:
        """Prepare all that waits."""
        loop, tracker = self._holder, self._tracker
        motions = isinstance(loop, ControlLoop) and loop.controller.singularity != 'damp'
        names = () if tracker.state is None else tracker.state.names
        asked, self._waiting = self._waiting, []
        task = _Task(tracker.robot.kept_structure(), tracker.pose, names, asked, motions)
        self._sharing.enter_context(sharing_python())  # before this thread waits for the other
        self._preparing = self._thread.submit(_prepare, tracker.robot.model, tracker.learnt, task)

    def _take_prepared(self, prepared: Future[_Prepared]) -> bool:
        """Make the structure the one that was prepared; return whether it is another."""
        self._preparing = None
        self._sharing.close()
        done = prepared.result()
        for topic, reason in done.refused:
            self._reject(topic, reason)
        self._tracker.learnt.keep(done.robot)
        return self._holder.follow(changes.open_or_closed(done.robot))
