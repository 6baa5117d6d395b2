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

"""What is caught at an event loses energy, and never more of its motion than it has to."""

import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.simulation.moving_mechanism import MovingMechanism

EXACT = 1e-9


@pytest.mark.parametrize('crank', [1.0, 0.1, 1e-3, 1e-5, 0.0])
def test_impulses_take_what_loops_do_not_allow(crank):
    """v - M^-1 J^T (J M^-1 J^T)^+ J v, at the dead points of a slider-crank as well."""
    robot = ccd.load('slider_crank')
    q = ccd.assemble(robot, {'crank': crank})
    for seed in range(5):
        v = np.random.default_rng(seed).normal(size=robot.nv)
        motion = MovingMechanism(robot.copy(), q, v, 1e-3)
        before = motion.energy()
        motion.catch()
        M, J = ccd.mass_matrix(robot, q), ccd.coordinates(robot, q).J_C
        root = np.linalg.cholesky(M)
        A = np.linalg.solve(root, J.T)  # v = root^-T w: the nearest w is the orthogonal one
        w = root.T @ v
        expected = np.linalg.solve(root.T, w - A @ np.linalg.lstsq(A, w, rcond=1e-10)[0])
        assert motion.v == pytest.approx(expected, abs=EXACT)
        assert motion.energy().kinetic < before.kinetic
