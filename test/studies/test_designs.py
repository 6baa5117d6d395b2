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

"""Designs of a study and what is drawn from them: against SciPy, Ishigami and all pairs."""

import math

import numpy as np
import pytest

from closed_chain_dynamics.studies.sampling import design, read_variation
from closed_chain_dynamics.studies.sensitivity import main_effect, pareto_front, sobol_indices


def test_samples_have_the_distributions_that_scipy_says():
    from scipy import stats  # takes a second, in every process that collects the tests

    variations = [read_variation(f'mass:a={each}') for each in ('norm(2,0.5)', 'uniform(1,2)')]
    for kind in ('latin', 'sobol', 'random'):
        values = design(variations, kind, 2000, 1)
        assert np.array_equal(values, design(variations, kind, 2000, 1))
        assert not np.array_equal(values, design(variations, kind, 2000, 2))
        assert stats.kstest(values[:, 0], stats.norm(2, 0.5).cdf).pvalue > 1e-3
        assert stats.kstest(values[:, 1], stats.uniform(1, 2).cdf).pvalue > 1e-3
    strata = np.sort(stats.norm(2, 0.5).cdf(design(variations, 'latin', 50, 1)[:, 0]))
    assert np.array_equal((strata * 50).astype(int), np.arange(50))  # one in each


def test_a_grid_has_all_combinations():
    variations = [read_variation('mass:a=range(1,2,3)'), read_variation('mass:b=x4,x5')]
    assert design(variations, 'grid').tolist() == [
        [a, b] for a in (1.0, 1.5, 2.0) for b in (4.0, 5.0)
    ]
    assert variations[1].scale and not variations[0].scale


def test_sobol_indices_are_those_of_ishigami():
    """Ishigami and Homma 1990, a = 7, b = 0.1: S1 0.314, 0.442, 0; ST 0.558, 0.442, 0.244."""
    variations = [read_variation(f'mass:{each}=uniform(-3.14159265,6.2831853)') for each in 'abc']
    x = design(variations, 'saltelli', 2048, 0)
    y = np.sin(x[:, 0]) + 7 * np.sin(x[:, 1]) ** 2 + 0.1 * x[:, 2] ** 4 * np.sin(x[:, 0])
    y[3] = math.nan  # a run that failed costs its group only
    found = sobol_indices(x, y, 'saltelli')
    assert found.first == pytest.approx([0.3139, 0.4424, 0.0], abs=0.03)
    assert found.total == pytest.approx([0.5576, 0.4424, 0.2437], abs=0.03)
    x = design(variations, 'latin', 4000, 0)
    y = np.sin(x[:, 0]) + 7 * np.sin(x[:, 1]) ** 2 + 0.1 * x[:, 2] ** 4 * np.sin(x[:, 0])
    assert sobol_indices(x, y, 'latin').first == pytest.approx([0.3139, 0.4424, 0.0], abs=0.05)
    assert main_effect(x[:, 1], y).share == pytest.approx(0.4424, abs=0.05)
    assert sobol_indices(x, y, 'grid') is None


def test_a_front_is_that_of_all_pairs():
    rng = np.random.default_rng(0)
    points = rng.integers(0, 12, (200, 3)).astype(float)  # many ties
    points[5, 1] = math.nan
    front = pareto_front(list(points.T))
    good = [k for k in range(200) if k != 5]
    slow = [
        k
        for k in good
        if not any((points[j] <= points[k]).all() and (points[j] < points[k]).any() for j in good)
    ]
    assert front.tolist() == slow
