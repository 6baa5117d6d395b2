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
Which runs a study makes: every combination, or points spread over the parameters.

Points are shares between 0 and 1, one per parameter, that its distribution turns into values; a
list of values is taken as equally likely. The same seed gives the same points.
"""

from collections.abc import Sequence
from itertools import islice, product
import math
import re
from typing import Any
import warnings

import numpy as np

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.errors import ClosedChainError, NameNotFound, StateError
from closed_chain_dynamics.studies.distributions import Distribution
from closed_chain_dynamics.studies.parameters import Variation

__all__ = ['DESIGNS', 'MOST_SAMPLED_RUNS', 'count_runs', 'design', 'read_variation']


DESIGNS = ('grid', 'latin', 'sobol', 'random', 'saltelli')
MOST_SAMPLED_RUNS = 10**8  # an index of all runs is kept in memory: 8 bytes each
MOST_VALUES = 10**6  # of one range: numbers in Python take ten times the memory
CALL = re.compile(r'(x?)([a-z]\w*)\((.*)\)')


def read_variation(text: str) -> Variation:
    """
    Return a Variation from 'parameter:name=values'; raise ValueError where it is none.

    Values: numbers with commas between, range(first, last, count), or a distribution as
    norm(1, 0.1); x before numbers or name: factors of what the model says.
    """
    label, _, values = text.partition('=')
    parameter, _, name = label.strip().partition(':')
    if not parameter or not values or (parameter == 'gravity') == bool(name):
        raise ValueError
    called = CALL.fullmatch(values.strip())
    if called is None:
        parts = [each.strip() for each in values.split(',')]
        scale = all(each.startswith('x') for each in parts)
        numbers = tuple(float(each.removeprefix('x') if scale else each) for each in parts)
        return Variation(parameter, name, numbers, scale)
    scale, family = bool(called[1]), called[2]
    given = [each.strip() for each in called[3].split(',') if each.strip()]
    plain = tuple(float(each) for each in given if '=' not in each)
    named = tuple((k.strip(), float(v)) for k, v in (e.split('=') for e in given if '=' in e))
    if family != 'range':
        return Variation(parameter, name, (), scale, Distribution(family, plain, named))
    first, last, count = plain
    if named or not 1 <= count <= MOST_VALUES or count != int(count):
        raise ValueError
    return Variation(parameter, name, tuple(np.linspace(first, last, int(count))), scale)


def count_runs(variations: Sequence[Variation], kind: str, samples: int) -> int:
    """Return how many runs a design has."""
    if kind == 'grid':
        return math.prod(len(each.values) for each in variations)
    return samples * (len(variations) + 2) if kind == 'saltelli' else samples


def design(
    variations: Sequence[Variation], kind: str, samples: int = 0, seed: int = 0, where: str = ''
) -> Array:
    """
    Return the values of all runs, (runs, variations).

    `kind`: 'grid' of all combinations of lists; 'latin' hypercube, 'sobol' (low discrepancy),
    'random'; 'saltelli': `samples` times (variations + 2) runs from which Sobol's indices follow.
    """
    if kind not in DESIGNS:
        raise NameNotFound('design', kind, DESIGNS, where=where)
    drawn = [each for each in variations if each.distribution is not None]
    for each in drawn:
        assert each.distribution is not None
        each.distribution.check()
    if kind == 'grid' and drawn:
        raise StateError(
            f'a grid has no values for {drawn[0].label}, which is a distribution',
            where=where,
            repair='State how many samples to take, or give a list or a range.',
        )
    if kind != 'grid' and samples < 1:
        raise StateError(
            f'a design of kind {kind!r} needs a number of samples',
            where=where,
            repair='Give for instance samples: 100.',
        )
    if seed < 0:
        raise StateError(
            f'the seed {seed} is negative',
            where=where,
            repair='Give 0 or a positive whole number.',
        )
    if kind != 'grid' and not variations:
        raise StateError(
            f'a design of kind {kind!r} samples parameters, and none is varied',
            where=where,
            repair='Vary one: mass:arm=uniform(1, 2), say.',
        )
    runs = count_runs(variations, kind, samples)
    if not 1 <= runs <= MOST_SAMPLED_RUNS:
        raise StateError(
            f'the study has {runs} runs, and 1 to {MOST_SAMPLED_RUNS} are possible',
            where=where,
            repair='Vary fewer numbers at a time, or give fewer values.',
        )
    if kind == 'grid':
        return _grid(variations, runs)
    shares = _shares(kind, len(variations), samples, seed)
    return np.column_stack([_values(each, column) for each, column in zip(variations, shares.T)])


def _grid(variations: Sequence[Variation], runs: int) -> Array:
    """Return all combinations; the last parameter changes fastest."""
    rows: Array = np.empty((runs, len(variations)))
    combinations = product(*(each.values for each in variations))
    for start in range(0, runs, 10000):
        part = list(islice(combinations, 10000))
        rows[start : start + len(part)] = part
    return rows


def _values(variation: Variation, shares: Array) -> Array:
    if variation.distribution is not None:
        return variation.distribution.values(shares)
    places = (shares * len(variation.values)).astype(int)
    values: Array = np.array(variation.values)
    return np.asarray(values[places.clip(max=len(values) - 1)])


def _shares(kind: str, width: int, samples: int, seed: int) -> Array:
    """Return points in the unit cube, (runs, width)."""
    from scipy.stats import qmc

    if kind == 'random':
        return np.random.default_rng(seed).random((samples, width))
    if kind == 'latin':
        return np.asarray(qmc.LatinHypercube(width, seed=seed).random(samples))
    with warnings.catch_warnings():  # a number that is no power of two is the user's choice
        warnings.simplefilter('ignore', UserWarning)
        if kind == 'sobol':
            return np.asarray(qmc.Sobol(width, seed=seed).random(samples))
        problem = {'num_vars': width, 'names': [*map(str, range(width))]}
        problem['bounds'] = [[0.0, 1.0]] * width
        points = salib('sample.sobol').sample(problem, samples, calc_second_order=False, seed=seed)
    return np.asarray(points, dtype=float)


def salib(module: str) -> Any:
    """Return a module of SALib, or say what is missing."""
    from importlib import import_module

    try:
        return import_module(f'SALib.{module}')
    except ImportError:
        raise ClosedChainError(
            "Sobol's indices need the library SALib",
            repair="Install it: pip install 'closed_chain_dynamics[study]'.",
        ) from None
