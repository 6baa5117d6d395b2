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
Where generated code does not hold, the generic functions of the core answer instead.

It holds for one structure and away from where its pivots fail. A warning says so once for each
reason. In a batch, states that the core refuses too hold nan. Several threads may ask at a time.
"""

from collections import Counter
from collections.abc import Callable
from threading import RLock
from typing import Any, TypeVar
import warnings

import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.codegen.batch import Function, as_numbers, as_rows, check_counts
from closed_chain_dynamics.codegen.cache import fingerprint
from closed_chain_dynamics.codegen.gathering import gather
from closed_chain_dynamics.codegen.source import Source
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['Answers', 'GeneratedCodeWarning']

T = TypeVar('T')
CHANGED = 'the structure has changed since this was compiled'
REFUSED = 'a pivot or a path of the generated code fails, or the state is refused'


class GeneratedCodeWarning(RuntimeWarning):
    """Generated code does not hold here, and the generic functions answer."""


class Answers:
    """
    Answers calls of a mechanism by the functions of a source, or by its generic ones.

    `structure`: changes of the mechanism at which the source held last; `fallbacks`: how often
    the generic functions answered, by reason.
    """

    def __init__(self, robot: Mechanism, source: Source, threads: int | None) -> None:
        self.robot, self.source, self._threads = robot, source, threads
        self.fallbacks: Counter[str] = Counter()
        self.structure = robot.changes
        self._other = -1  # changes of another structure, which was looked at before
        self._one_at_a_time = RLock()  # the core works in the one workspace of the mechanism
        self._functions: dict[str, Function] = {}

    def doubt(self) -> None:
        """Look anew whether the structure is the one that was compiled."""
        self.structure = self._other = -1

    @property
    def is_current(self) -> bool:
        """Return whether the mechanism is in the structure that was compiled, or so again."""
        changes = self.robot.changes
        if changes not in (self.structure, self._other):
            if self._is_the_same():
                self.structure = changes
            else:
                self._other = changes
        return bool(changes == self.structure)

    def _is_the_same(self) -> bool:
        """Return whether code generated now would be that which was compiled."""
        try:
            now = self.core(gather, self.robot, self.source.q)
        except ClosedChainError:
            return False
        return fingerprint(now) == fingerprint(self.source)

    def core(self, function: Callable[..., T], *given: Any) -> T:
        """Return what a function of the core answers, whatever thread asks."""
        with self._one_at_a_time:
            return function(*given)

    def function(self, name: str) -> Function:
        """Return a function of the generated code, compiled when it is first asked for."""
        if name not in self._functions:
            self._functions[name] = Function(self.source, name, self._threads)
        return self._functions[name]

    def say(self, reason: str) -> None:
        """Count an answer of the generic functions; warn of the first for each reason."""
        self.fallbacks[reason] += 1
        if self.fallbacks[reason] == 1:
            warnings.warn(
                f'{self.robot.name}: {reason}: falling back to the generic functions, which are '
                'slower.',
                GeneratedCodeWarning,
                stacklevel=4,
            )

    def call(
        self, name: str, given: tuple[ArrayLike, ...], core: Callable[..., tuple[Any, ...]]
    ) -> tuple[Array, Any, Any]:
        """Return a result, whether it counts, and whether the core gave it."""
        function = self.function(name)
        changed = not self.is_current
        if np.ndim(given[0]) == 2:
            return self._batch(function, given, core, changed)
        flat = None if changed else function.one(given)
        if flat is not None:
            return flat, True, False
        where = self.robot.name
        rows = tuple(as_numbers(x, what, where) for x, what in zip(given, function.inputs))
        answer = function.join(rows, self.core(core, *rows))
        self.say(CHANGED if changed else REFUSED)
        return answer, bool(np.isfinite(answer).all()), True

    def _batch(
        self,
        function: Function,
        given: tuple[ArrayLike, ...],
        core: Callable[..., tuple[Any, ...]],
        changed: bool,
    ) -> tuple[Array, Any, Any]:
        where = self.robot.name
        rows = tuple(
            as_rows(each, width, what, where)
            for each, (what, width) in zip(given, function.inputs.items())
        )
        check_counts(where, **dict(zip(function.inputs, rows)))
        if changed:
            flat, good = function.empty(len(rows[0])), np.zeros(len(rows[0]), dtype=bool)
        else:
            flat, good = function.many(rows)
        ok, generic = good.copy(), ~good
        for i in np.flatnonzero(generic):
            try:
                state = tuple(each[i] for each in rows)
                flat[i] = function.join(state, self.core(core, *state))
                ok[i] = np.isfinite(flat[i]).all()
            except (ClosedChainError, ValueError):
                flat[i], generic[i] = np.nan, False
        if generic.any():
            self.say(CHANGED if changed else REFUSED)
        return flat, ok, generic
