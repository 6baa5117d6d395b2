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
The state of a mechanism from messages that may be late, repeated, out of order or wrong.

What is refused is counted and told by name; the state goes on with the next good message. Stamps
that go back and then rise again are those of a clock that started anew: the pose is then looked
for from the start.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.assembly.search import assemble
from closed_chain_dynamics.control.loop_state import LoopState
from closed_chain_dynamics.dynamics.learnt_structures import LearntStructures
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.kernels import compile_at_once
from closed_chain_dynamics.kernels.following import Found
from closed_chain_dynamics.model import changes
from closed_chain_dynamics.model.changes import CONNECT_ANGLE, CONNECT_GAP
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['OTHER_CLOCK', 'StampCheck', 'StateTracker']

OTHER_CLOCK = 3600.0  # stamps further from now are of another clock [s]
RESTARTED = 5  # states in a row with old but rising stamps: their clock started anew

OnRefusal: TypeAlias = Callable[[str, str], object] | None


class StampCheck:
    """
    Tells states that are new from those that are repeated, out of order, old or ahead of time.

    `other_clock`: whether stamps may be of another clock, so that they tell no age; `simulated`:
    whether they are of simulated time, which reaches this clock later than the states.
    """

    def __init__(self, timeout: float, other_clock: bool = False) -> None:
        self.timeout, self.last, self.restarted = timeout, -math.inf, False
        self.other_clock, self.simulated = other_clock, False
        self._back, self._count = -math.inf, 0
        self._behind = math.inf  # another clock, or more, where every message took its time [s]

    def is_next(self, stamp: float, age: float) -> bool:
        """Return whether nothing is the matter with a stamp."""
        of_here = -OTHER_CLOCK < age <= self.timeout
        of_another = self.other_clock and abs(age) >= OTHER_CLOCK
        right = (of_here or of_another) and self.last < stamp < math.inf
        return right and not self._ahead(age) > self.timeout

    def _ahead(self, age: float) -> float:
        """Return by how much a stamp is ahead of its clock [s]."""
        if self.simulated:
            return 0.0
        if abs(age) < OTHER_CLOCK:
            return -age
        return self._behind - age if math.isfinite(self._behind) else 0.0

    def take(self, stamp: float, age: float) -> None:
        """Take note of a stamp with which nothing is the matter."""
        self.last, self._count, self.restarted = stamp, 0, False
        if abs(age) >= OTHER_CLOCK and age < self._behind:
            self._behind = age

    def refuse(self, stamp: float, age: float) -> tuple[str, str] | None:
        """Return why a state is refused, (name, text), or None; `age`: by the clock [s]."""
        self.restarted = False
        if not math.isfinite(stamp):
            return 'stamp', f'its stamp is {stamp}'
        if self.timeout < age < OTHER_CLOCK:
            return 'stale', f'it is {age:.3g} s old, more than {self.timeout:g} s'
        if abs(age) >= OTHER_CLOCK and not self.other_clock:
            return 'other clock', (
                f'its stamp is {age:.3g} s away from this clock: use_sim_time, or parameter '
                'other_clock, if that is meant'
            )
        ahead = self._ahead(age)
        if ahead > self.timeout and abs(age) < OTHER_CLOCK:
            return 'ahead of time', (
                f'its stamp is {ahead:.3g} s ahead of this clock, more than {self.timeout:g} s: '
                'synchronise the clocks'
            )
        if stamp == self.last:
            return 'repeated', f'a state with the stamp {stamp:.9g} s has come before'
        if stamp > self.last and not ahead > self.timeout:
            self.take(stamp, age)
            return None
        self._count = self._count + 1 if stamp > self._back else 1
        self._back = stamp
        if self._count < RESTARTED:
            if stamp > self.last:
                return 'ahead of time', f'its stamp is {ahead:.3g} s ahead of those before it'
            return 'out of order', f'its stamp is {self.last - stamp:.3g} s before the last one'
        self._behind = math.inf
        self.take(stamp, age)
        self._back, self.restarted = -math.inf, True
        return None


class StateTracker:
    """
    Keeps the complete state up to date, and the structure with it.

    `timeout`: age from which a state is refused [s]; `on_refusal(name, text)` is told of all that
    is refused; `options` go to LoopState. `state` is None until there is one; `learnt`: what is
    known of structures that were met before.
    """

    def __init__(
        self,
        robot: Mechanism,
        *,
        timeout: float = 0.05,
        on_refusal: OnRefusal = None,
        **options: Any,
    ) -> None:
        compile_at_once()  # not in the middle of a motion
        self.robot, self.restarted = robot, False
        self.state: LoopState | None = None
        self.stamps = StampCheck(timeout)
        self.refused: Counter[str] = Counter()
        self.learnt = LearntStructures()
        self._on_refusal, self._options = on_refusal, options

    def take(
        self,
        names: Sequence[str],
        position: ArrayLike,
        velocity: ArrayLike | None,
        *,
        stamp: float,
        age: float = 0.0,
    ) -> bool:
        """
        Take positions and velocities of named joints; return whether the state is good.

        `position` as in q; `stamp`: its time [s]; `age`: the clock's time minus the stamp.
        """
        refusal = self.stamps.refuse(stamp, age)
        self.restarted = self.stamps.restarted
        if refusal:
            return self.refuse(*refusal)
        if self.restarted:
            self.refuse('time restarted', 'time stamps jump: the pose is searched for again')
            self.state = None
        try:
            if self.state is None or self.state.names != list(names):
                start = None if self.state is None else self.state.q
                self.state = LoopState(self.robot, names, start=start, **self._options)
            if not self.state.update(stamp, position, velocity):
                return self.refuse(
                    'lost', 'the joints jumped, or are where no pose closes the loops'
                )
        except ClosedChainError as error:
            if self.state is not None and self.state.q is None:
                self.state = None
            return self.refuse('state', str(error))
        return True

    def go_on(self, stamp: float, age: float, found: Found) -> None:
        """Take what was found at a stamp, nothing being wrong with either."""
        assert self.state is not None  # it was found from there
        self.stamps.take(stamp, age)
        self.restarted = False
        self.state.accept(stamp, found)

    def warm_up(self) -> None:
        """Take a few states on a copy, so that every kernel is loaded before it counts."""
        robot = self.robot.copy()
        trial = StateTracker(robot)
        try:
            q = assemble(robot, limits=False)
        except ClosedChainError:  # it may be closed later, by an event
            return
        for k in range(4):  # all joints, then all but one, which has to be found
            names = robot.joint_names[k // 2 :]
            slices = [robot.joint_slices(name) for name in names]
            trial.take(
                names,
                np.concatenate([np.zeros(0), *(q[each] for each, _ in slices)]),
                np.zeros(sum(each.stop - each.start for _, each in slices)),
                stamp=1e-3 * k,
            )

    def refuse(self, name: str, text: str) -> bool:
        """Count a refusal and tell it; return False."""
        self.refused[name] += 1
        if self._on_refusal:
            self._on_refusal(name, text)
        return False

    # --- structure -----------------------------------------------------------------------------
    def connect(
        self, name: str, *, gap: float = CONNECT_GAP, angle: float = CONNECT_ANGLE
    ) -> None:
        """
        Close a loop joint, or join a tree joint that was cut; raise where it is refused.

        Before the first state there is no gap to look at: states have to fit a loop then.
        """
        self.learnt.keep(self.robot)
        self._restructured(*changes.connect(self.robot, name, *self.pose, gap=gap, angle=angle))

    def cut(self, name: str) -> None:
        """Open a loop joint, or cut a joint of the tree; raise where it is refused."""
        self.learnt.keep(self.robot)
        self._restructured(*changes.cut(self.robot, name, *self.pose))

    def follow(self, closed: Mapping[str, bool]) -> bool:
        """
        Make the structure what its owner says, {name: closed?}; return whether it changed.

        No gap is too large, for it is so already, and no pose has to be known. Loop joints that
        are not named stay as they are; tree joints that are not named are whole.
        """
        self.learnt.keep(self.robot)
        followed = changes.follow(self.robot, closed, *self.pose)
        for reason in followed.refused:
            self.refuse('contact/state', reason)
        if followed.changed:
            self._restructured(followed.q, followed.v)
        return followed.changed

    @property
    def is_known(self) -> bool:
        """Return whether there is a pose."""
        return self.state is not None and self.state.q is not None

    @property
    def pose(self) -> tuple[Vector | None, Vector | None]:
        """Return q and v, or (None, None) while there is no pose."""
        if self.state is None or self.state.q is None:
            return None, None
        return self.state.q, self.state.v

    def _restructured(self, q: Vector | None, v: Vector | None) -> None:
        self.learnt.recall(self.robot)
        if self.state is not None and self.state.q is not None:
            self.state.restructured(q, v)
        else:
            self.state = None  # a pose that fits is looked for with the next joint states
