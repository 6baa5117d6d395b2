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
Steps of a simulation in generated code, for one structure and one choice of theta_G.

It does what `kernels/run.py` does while steps are plain, and comes back before one that is not.
"""

from typing import NamedTuple

import numpy as np

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.codegen.batch import pointer
from closed_chain_dynamics.codegen.build import VARIANTS, build, is_built
from closed_chain_dynamics.codegen.cache import RUN_LIBRARY
from closed_chain_dynamics.codegen.source import Source, counted_loops
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['RUN_EVENT', 'RUN_PIVOT', 'Asked', 'Outcome', 'Runner', 'first_missing', 'load_runner']

RUN_DONE, RUN_PIVOT, RUN_ROUGH, RUN_OPEN, RUN_EVENT, RUN_NOT_FINITE = range(6)  # as in run.c
REASONS = {
    RUN_PIVOT: 'a pivot or a path of the generated code fails in this pose',
    RUN_ROUGH: 'a step has to be taken in more than 64 parts',
    RUN_OPEN: 'the loops do not close',
    RUN_EVENT: 'a stop is hit or friction turns within the step',
    RUN_NOT_FINITE: 'the motion is not finite',
}
FIELDS = 7  # of what is watched, see run.c


class Asked(NamedTuple):
    """What a run is asked for, see kernels/run.py; `lift`: the energy of lifting it [J]."""

    start: float
    first: int
    dt: float
    steps: int
    rk4: bool
    tolerance: float
    stride: int
    counted: int
    lift: float


class Outcome(NamedTuple):
    """Why a run ended: a number of REASONS or RUN_DONE; steps taken, states logged."""

    why: int
    taken: int
    logged: int


class Runner:
    """The run of a mechanism in generated code."""

    def __init__(self, source: Source, variant: int = 0) -> None:
        self._library = build(source, RUN_LIBRARY, variant=variant)  # keeps the code loaded
        self.dependent = np.array([j not in source.independent for j in range(source.nv)])
        self._numbers = [w.number for w in source.watched]
        counted = counted_loops(source)
        self._fixed = np.array(
            [(w.loop < 0, w.rubs, w.loop in counted) for w in source.watched], dtype=bool
        ).reshape(-1, 3)
        self._count = np.zeros(2, dtype=np.int64)

    def run(
        self,
        robot: Mechanism,
        asked: Asked,
        q: Array,
        v: Array,
        torques: Array,
        books: Array,
        log: Array,
    ) -> Outcome:
        """Move q, v and books on by as many steps as are plain, at most as many as asked for."""
        watched = self._watched(robot)
        numbers, torques = np.array(asked, dtype=float), np.ascontiguousarray(torques)
        why = self._library.dll.run_steps(
            *(pointer(each) for each in (numbers, q, v, torques, books, watched, log)),
            pointer(self._count[:1]),
            pointer(self._count[1:]),
        )
        self._note_turns(robot, watched[:, 6])
        return Outcome(why, int(self._count[0]), int(self._count[1]))

    def goes_on_from(self, robot: Mechanism, q: Array, v: Array, torques: Array) -> bool:
        """Return whether its pivots hold in a state."""
        asked = Asked(0.0, 0, 1e-9, 1, False, np.inf, 0, 0, 0.0)
        room = np.empty((0, 0))
        return (
            self.run(robot, asked, q.copy(), v.copy(), torques, np.zeros(2), room).why != RUN_PIVOT
        )

    def _watched(self, robot: Mechanism) -> Array:
        """Return what the run has to know of coordinates that may be held, (n, FIELDS)."""
        out = np.zeros((len(self._numbers), FIELDS))
        if not self._numbers:
            return out
        hold, structure = robot.structure.holds[self._numbers], robot.structure
        on_tree, rubs, counts = self._fixed.T
        out[:, 0], out[:, 1], out[:, 2] = hold['lower'], hold['upper'], hold['placed']
        out[:, 3], out[:, 4] = rubs, counts
        for table, rows in ((structure.dofs, on_tree), (structure.loop_dofs, ~on_tree)):
            out[rows, 5] = table['direction'][hold['dof'][rows]]
        out[~on_tree, 6] = structure.loop_dofs['seen'][hold['dof'][~on_tree]]
        return out

    def _note_turns(self, robot: Mechanism, seen: Array) -> None:
        """Note where joints that close loops are, if they have turned far enough."""
        for n in np.flatnonzero(self._fixed[:, 2]):
            law = robot.structure.loop_dofs[robot.structure.holds[self._numbers[n]]['dof']]
            if law['seen'] != seen[n]:
                law['seen'] = seen[n]
                robot.structure.changed()


def load_runner(
    source: Source, robot: Mechanism, q: Array, v: Array, torques: Array
) -> Runner | None:
    """Return generated code that is on the disk and whose pivots hold in a state; else None."""
    for variant in range(VARIANTS):
        if not is_built(source, RUN_LIBRARY, variant):
            return None
        runner = Runner(source, variant)
        if runner.goes_on_from(robot, q, v, torques):
            return runner
    return None


def first_missing(source: Source) -> int | None:
    """Return the number of the next variant to be made; None where there are enough."""
    return next((n for n in range(VARIANTS) if not is_built(source, RUN_LIBRARY, n)), None)
