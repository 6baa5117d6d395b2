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
What a table of runs says: how parameters act on responses, and which runs are best.

Rows with a failed response are left out, of a Saltelli design together with the group of runs
that they belong to.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.studies.sampling import salib

__all__ = ['Effect', 'Indices', 'main_effect', 'pareto_front', 'sobol_indices']


MOST_LEVELS = 12  # a parameter with more values than this is divided into equal shares
EQUAL_SHARES = 10
FEWEST_FOR_INDICES = 64  # runs; with fewer RBD-FAST says nothing


@dataclass(frozen=True)
class Effect:
    """
    How the mean of a response follows one parameter.

    `levels`: values of the parameter; `means`, `deviations` of the response there; `share` of the
    variance of the response that the means explain, 0 to 1.
    """

    levels: Array
    means: Array
    deviations: Array
    share: float


@dataclass(frozen=True)
class Indices:
    """Sobol's indices, one per parameter: first order, total or None, and their 95 % bounds."""

    first: Array
    total: Array | None
    first_bound: Array
    total_bound: Array | None
    method: str


def main_effect(x: Array, y: Array) -> Effect:
    """Return the Effect of values x on responses y, both (runs,); NaN is left out."""
    good = np.isfinite(y)
    x, y = x[good], y[good]
    values, places = np.unique(x, return_inverse=True)
    if len(values) > MOST_LEVELS:
        order = np.argsort(np.argsort(x, kind='stable'), kind='stable')
        places = order * EQUAL_SHARES // len(x)
    count = np.bincount(places).astype(float)
    levels, means = (np.bincount(places, each) / count for each in (x, y))
    deviations = np.sqrt(np.bincount(places, (y - means[places]) ** 2) / count)
    variance = float(np.var(y)) if len(y) else 0.0
    explained = float((count * (means - y.mean()) ** 2).sum() / len(y)) if variance else 0.0
    return Effect(levels, means, deviations, explained / variance if variance else 0.0)


def sobol_indices(X: Array, y: Array, kind: str, seed: int = 0) -> Indices | None:
    """
    Return Sobol's Indices of responses y (runs,) to values X (runs, parameters).

    From a 'saltelli' design all of them; from other samples those of first order, by RBD-FAST;
    None where runs are too few, all alike, or a grid.
    """
    width = X.shape[1]
    problem = {'num_vars': width, 'names': [*map(str, range(width))]}
    problem['bounds'] = [[0.0, 1.0]] * width
    if kind == 'saltelli':
        groups = y.reshape(-1, width + 2)
        y = groups[np.isfinite(groups).all(axis=1)].ravel()
        if len(y) < 2 * (width + 2) or np.ptp(y) == 0.0:
            return None
        found = salib('analyze.sobol').analyze(problem, y, calc_second_order=False, seed=seed)
        return Indices(
            found['S1'], found['ST'], found['S1_conf'], found['ST_conf'], "Saltelli's samples"
        )
    good = np.isfinite(y)
    if kind == 'grid' or good.sum() < FEWEST_FOR_INDICES or np.ptp(y[good]) == 0.0:
        return None
    found = salib('analyze.rbd_fast').analyze(problem, X[good], y[good], seed=seed)
    return Indices(np.asarray(found['S1']), None, np.asarray(found['S1_conf']), None, 'RBD-FAST')


def pareto_front(objectives: Sequence[Array]) -> NDArray[np.intp]:
    """Return the runs that no other is better than in every one of some numbers, all minimised."""
    points = np.column_stack(objectives)
    left = np.flatnonzero(np.isfinite(points).all(axis=1))
    left = left[np.lexsort(points[left].T[::-1])]  # no later one dominates an earlier one
    front: list[int] = []
    while len(left):
        best = left[0]
        front.append(int(best))
        worse = (points[left] >= points[best]).all(axis=1)
        equal = (points[left] == points[best]).all(axis=1)
        front += [int(each) for each in left[equal] if each != best]
        left = left[~worse]
    return np.sort(np.array(front, dtype=np.intp))
