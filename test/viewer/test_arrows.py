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

"""Force arrows: never longer than the scene bears, and gone by and by."""

import numpy as np
import pytest

from closed_chain_dynamics.viewer.arrows import FADE, Arrows
from closed_chain_dynamics.viewer.observation import ShownForce

COLOURS = {'loop': np.array([178.0, 24.0, 140.0])}
UNIT, LONGEST, SMALLEST = 0.01, 0.8, 1e-6  # [m/N, m, m]


def force(newton, name='hand', unique=True):
    return ShownForce(
        name, 'loop', np.array([1.0, 2.0, 3.0]), np.array([0.0, newton, 0.0]), unique
    )


def lengths(drawn):
    return [float(np.linalg.norm(end - start)) for start, end in drawn[0]]


def test_a_force_is_drawn_to_scale_up_to_the_longest():
    arrows = Arrows(UNIT, LONGEST, SMALLEST)
    assert lengths(arrows.draw([force(30.0)], 0.0, 1.0, COLOURS)) == [pytest.approx(0.3)]
    assert lengths(arrows.draw([force(30.0)], 0.1, 2.0, COLOURS)) == [pytest.approx(0.6)]
    (line,), (colour,) = arrows.draw([force(-1e6)], 0.2, 2.0, COLOURS)
    np.testing.assert_allclose(line[1] - line[0], [0.0, -LONGEST, 0.0])
    np.testing.assert_allclose(colour, COLOURS['loop'])
    assert lengths(Arrows(UNIT, LONGEST, SMALLEST).draw([force(np.inf)], 0.0, 1.0, COLOURS)) == []


def test_an_impact_fades_and_pales():
    arrows = Arrows(UNIT, LONGEST, SMALLEST)
    arrows.draw([force(1e6)], 1.0, 1.0, COLOURS)
    drawn = arrows.draw([force(1.0)], 1.0 + FADE, 1.0, COLOURS)
    assert lengths(drawn) == [pytest.approx(LONGEST / np.e)]
    assert np.all(drawn[1][0] > COLOURS['loop'])
    drawn = arrows.draw([], 1.0 + 2.0 * FADE, 1.0, COLOURS)  # the hand has let go
    assert lengths(drawn) == [pytest.approx(LONGEST / np.e**2)]
    assert lengths(arrows.draw([force(1.0)], 1.0 + 40.0 * FADE, 1.0, COLOURS)) == pytest.approx(
        [UNIT]
    )


def test_a_time_that_goes_back_leaves_nothing():
    arrows = Arrows(UNIT, LONGEST, SMALLEST)
    arrows.draw([force(1e6)], 5.0, 1.0, COLOURS)
    assert lengths(arrows.draw([], 0.0, 1.0, COLOURS)) == []


def test_what_redundancy_leaves_open_is_pale():
    _, (colour,) = Arrows(UNIT, LONGEST, SMALLEST).draw([force(9.0, unique=False)], 0, 1, COLOURS)
    assert np.all(colour > COLOURS['loop'])
