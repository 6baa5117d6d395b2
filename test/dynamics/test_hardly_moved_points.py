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

"""Coulomb's law where a motion hardly moves the points that it should slide, or should not."""

import numpy as np
import pytest

from closed_chain_dynamics.dynamics.coulomb_law import EXACT, STICKS, CoulombLaw

MU = 0.5
PUSH = 10.0


def feet_astride(lever, pull):
    """
    Return the law for two feet that a hinge presses apart, by a lever of next to nothing.

    A mass of 1 kg stands on both, and what is held between them has an inertia of 1 kg m^2: along
    the line through the feet, internal forces move it by the lever alone.
    """
    J = np.zeros((6, 3))  # of z, y and the hinge
    J[[0, 3], 0] = 1.0  # normals
    J[[1, 4], 1] = 1.0  # along the line
    J[4, 2] = lever
    G = J @ J.T
    G[2, 2] = G[5, 5] = 1.0  # across
    c = J @ np.array([-PUSH, 0.0, pull])
    return CoulombLaw(
        G, c, np.array([MU, MU]), np.tile([0.0, np.inf], (2, 1)), np.zeros(2, dtype=bool)
    )


@pytest.mark.parametrize('lever', [1e-3, 1e-4, 1e-5])
@pytest.mark.parametrize('pull', [5.0, -5.0])
def test_one_of_two_feet_slides_by_what_a_hinge_hardly_moves(lever, pull):
    """No friction in the cones holds pull / lever; a guess that both stick misses little."""
    law, n = feet_astride(lever, pull), 0.5 * PUSH
    guess = np.array([n, 0.0, 0.0, n, 0.0, 0.0])
    assert law.agrees(guess, 1e-2)
    p = law.by_doubting(guess, np.array([STICKS, STICKS]))
    assert p is not None
    assert law.agrees(p, EXACT)
    u = (law.G @ p + law.c).reshape(-1, 3)
    speeds = np.linalg.norm(u[:, 1:], axis=1)
    assert speeds.max() == pytest.approx(abs(lever * pull), rel=1e-3)
    friction, normal = np.linalg.norm(p.reshape(-1, 3)[:, 1:], axis=1), p[::3]
    assert np.all(friction <= MU * normal * (1.0 + 1e-9))
    assert friction[speeds.argmax()] == pytest.approx(MU * normal[speeds.argmax()])


def test_nothing_is_doubted_where_all_that_sticks_stands():
    law = feet_astride(1e-3, 0.0)
    guess = np.array([0.5 * PUSH, 0.0, 0.0, 0.5 * PUSH, 0.0, 0.0])
    assert law.by_doubting(guess, np.array([STICKS, STICKS])) is None
