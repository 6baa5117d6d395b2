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

"""The benchmark of loop errors, whose figures the comparison with other engines shows."""

import numpy as np
import pytest

from benchmarks import loop_errors
import closed_chain_dynamics as ccd

SHOWN = 1.3e-13  # largest gap within ten seconds in the comparison [m]
SAME_SIZE = 10.0  # rounding differs between machines


@pytest.fixture(scope='module')
def case():
    return loop_errors.turning_four_bar()


def test_the_loop_stays_as_closed_as_the_comparison_says(case):
    assert loop_errors.here(case, 10.0, 1e-3) < SAME_SIZE * SHOWN


def test_the_motion_stays_away_from_singular_poses(case):
    """M1 itself folds flat, where no engine can tell how it goes on."""
    poses = [ccd.assemble(case.robot, {'crank_01': 0.4}, start=case.q)]
    for angle in np.linspace(0.4, 0.4 + 2.0 * np.pi, 100):
        poses.append(ccd.assemble(case.robot, {'crank_01': angle}, start=poses[-1]))
    assert min(ccd.coordinates(case.robot, q).distance for q in poses) > 0.01


@pytest.mark.parametrize('correction, least, most', [(0.0, 1e-7, 1e-1), (1e4, 1e-10, 1e-6)])
def test_an_engine_without_projection_drifts(case, correction, least, most):
    pytest.importorskip('pinocchio')
    assert least < loop_errors.in_pinocchio(case, 0.2, 1e-3, correction) < most
