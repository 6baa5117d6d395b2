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

"""Distributions by SciPy's names: from shares between 0 and 1 to values."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.errors import NameNotFound, StateError

__all__ = ['Distribution']


@dataclass(frozen=True)
class Distribution:
    """A distribution of `scipy.stats`: its name, shapes, loc and scale, in SciPy's order."""

    name: str
    arguments: tuple[float, ...] = ()
    named: tuple[tuple[str, float], ...] = ()

    def __str__(self) -> str:
        given = [*(f'{each:g}' for each in self.arguments)]
        given += [f'{name}={each:g}' for name, each in self.named]
        return f'{self.name}({", ".join(given)})'

    def values(self, shares: Array) -> Array:
        """Return the values below which these shares of the distribution lie."""
        return np.asarray(self._frozen().ppf(shares), dtype=float)

    def check(self) -> None:
        """Refuse a name that SciPy does not have, or numbers that it does not take."""
        self._frozen()

    def _frozen(self) -> Any:
        family = getattr(_stats(), self.name, None)
        if self.name not in _names():
            raise NameNotFound('distribution', self.name, _names())
        try:
            frozen = family(*self.arguments, **dict(self.named))  # type: ignore[misc]
            good = bool(np.isfinite(frozen.ppf(0.5)))
        except TypeError:
            good = False
        if not good:
            raise StateError(
                f'the distribution {self} does not take these numbers',
                repair='They are those of scipy.stats: shapes, then loc, then scale; as '
                'norm(1, 0.1), uniform(0.8, 0.4) for 0.8 to 1.2.',
            )
        return frozen


@cache
def _names() -> list[str]:
    stats = _stats()
    kinds = stats.rv_continuous, stats.rv_discrete
    return [name for name in dir(stats) if isinstance(getattr(stats, name), kinds)]


def _stats() -> Any:
    import scipy.stats  # takes a second to import

    return scipy.stats
