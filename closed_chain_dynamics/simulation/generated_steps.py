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
Which steps of a simulation generated code takes, and why it leaves others to the generic kernels.

Code is generated for one structure. When a structure is new, a process beside the simulation
generates it while the generic kernels go on; then generated code takes over. Both give the same
motion to rounding, and all events are found and handled by the generic code.
"""

from collections import Counter

import numpy as np

from closed_chain_dynamics.codegen.background import COMPILING, BackgroundBuild
from closed_chain_dynamics.codegen.build import require_casadi
from closed_chain_dynamics.codegen.cache import RUN_LIBRARY
from closed_chain_dynamics.codegen.compiler import find_compiler
from closed_chain_dynamics.codegen.gathering import gather
from closed_chain_dynamics.codegen.runner import (
    REASONS,
    RUN_EVENT,
    RUN_PIVOT,
    Asked,
    Outcome,
    Runner,
    first_missing,
    load_runner,
)
from closed_chain_dynamics.codegen.source import Source
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.simulation.moving_mechanism import MovingMechanism

__all__ = ['GeneratedSteps']

WHILE_COMPILING = 64  # steps of the generic kernels between two looks for new code
MOST_IN_A_ROW = 64  # steps of the generic kernels after a guard refused several, one by one
NEW_PIVOTS = 100  # steps refused for pivots, after which others are chosen where it is then
WRENCHES = 'external wrenches act'
HELD_JOINT = 'a stop or friction holds a joint'
CONTACTS = 'the model has contacts'


class GeneratedSteps:
    """
    Steps in generated code, of a simulation that asked for them.

    `steps`: how many generated code has taken; `generic`: how many the generic kernels took, by
    reason. `before`: those of the simulation before it was set back; their code is at hand.
    """

    def __init__(
        self, motion: MovingMechanism, contacts: bool, before: 'GeneratedSteps | None' = None
    ) -> None:
        require_casadi()
        find_compiler()
        self.steps, self.generic = 0, Counter[str]()
        self._motion, self._contacts = motion, contacts
        self._seen = -1  # changes of the mechanism when it was last looked at
        self._blocked = ''
        self._source: Source | None = None
        self._runner: Runner | None = None
        self._known: dict[object, Runner] = before._known if before else {}
        self._build: BackgroundBuild | None = None
        self._failed: dict[object, str] = {}
        self._for: object = None  # what is being built
        self._refused = self._lost = 0  # in a row; for pivots
        self._reason = ''
        self._lift = 0.0
        self._prepare()

    def __repr__(self) -> str:
        told = ''.join(f', {count} generic: {why}' for why, count in self.generic.items())
        return f'<GeneratedSteps: {self.steps} in generated code{told}>'

    def _prepare(self) -> None:
        """Compile for the structure at the start, and wait for it: what is wrong is told here."""
        self._look()
        if self._source is not None and self._runner is None:
            number = first_missing(self._source)
            if number is not None:
                self._take(Runner(self._source, number))

    # --- which code ----------------------------------------------------------------------------
    def _key(self) -> object:
        robot = self._motion.robot
        dependent = robot.structure.dofs['dependent'].tobytes()
        return robot.connections(), robot.gravity.tobytes(), dependent

    def _take(self, runner: Runner) -> None:
        self._runner, self._known[self._key()] = runner, runner

    def _look(self) -> None:
        """Find out what may run now, after a change of the structure."""
        motion, robot = self._motion, self._motion.robot
        self._seen, self._source, self._runner = robot.changes, None, None
        self._refused = self._lost = 0
        self._blocked = (
            CONTACTS if self._contacts else HELD_JOINT if robot.held_coordinates() else ''
        )
        if self._blocked:
            return
        self._runner = self._known.get(self._key())
        world = robot.structure.world
        weight = robot.structure.bodies['mass'][1:].sum() * np.linalg.norm(world['gravity'])
        self._lift = float(weight * world['length'])
        if self._runner is not None:
            return
        try:
            self._source = gather(robot.copy(), motion.q)
        except ClosedChainError as error:
            self._blocked = ' '.join(str(error).split())
            return
        found = load_runner(self._source, robot, motion.q, motion.v, motion.torques)
        if found is not None:
            self._take(found)

    def _ready(self) -> Runner | None:
        """Return what runs the present structure; None with a reason, where nothing does."""
        robot = self._motion.robot
        if robot.changes != self._seen:
            self._look()
        self._reason = WRENCHES if self._motion.wrenches else self._blocked
        if self._reason:
            return None
        runner = self._runner
        if runner is not None:
            if np.array_equal(runner.dependent, robot.structure.dofs['dependent'] != 0):
                return runner
            self._look()  # the generic kernels have chosen theta_G anew
        return self._awaited()

    def _awaited(self) -> Runner | None:
        """Look for code that is being made; begin with it where nobody does."""
        key = self._key()
        if self._runner is not None or self._source is None:
            return self._runner
        self._reason = self._failed.get(key, COMPILING)
        if self._build is None:
            number = None if key in self._failed else first_missing(self._source)
            if number is not None:
                self._build, self._for = BackgroundBuild(self._source, RUN_LIBRARY, number), key
            elif key not in self._failed:
                self._failed[key] = REASONS[RUN_PIVOT]
        elif self._build.is_done():
            told = self._build.complaint()
            self._build = None
            if told:
                self._failed[self._for] = told
            self._look()
        return self._runner

    # --- running -------------------------------------------------------------------------------
    def run(self, asked: Asked, log: np.ndarray) -> tuple[Outcome | None, int]:
        """
        Take steps in generated code; return what came of it, and how many others may take now.

        None where there is no code for the present structure.
        """
        motion, runner = self._motion, self._ready()
        if runner is None:
            return None, min(asked.steps, WHILE_COMPILING)
        asked = asked._replace(lift=self._lift)
        done = runner.run(
            motion.robot, asked, motion.q, motion.v, motion.torques, motion.books, log
        )
        self.steps += done.taken
        left = asked.steps - done.taken
        if not left:
            return done, 0
        self._reason = REASONS[done.why]
        self._refused = self._refused + 1 if not done.taken else 1
        self._lost += done.why == RUN_PIVOT
        if self._lost > NEW_PIVOTS:
            self._known.pop(self._key(), None)
            self._look()
        alone = 1 if done.why == RUN_EVENT else min(2 ** (self._refused - 1), MOST_IN_A_ROW)
        return done, min(left, alone)

    def count_generic(self, steps: int) -> None:
        """Note steps that the generic kernels have taken, for the reason that was just found."""
        if steps:
            self.generic[self._reason] += steps
