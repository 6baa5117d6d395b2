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

"""Friction of contacts held on both sides, and the numbers that say how well a result holds."""

from itertools import product

from helpers.folding_linkages import bar, hinge
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.dynamics.constraint_forces import find_drags

K = np.array([0.5, 0.5])
TIE = 1e-12  # forces below it are zero but for rounding: a contact without force is on both sides


def combinations(free, share):
    """Yield every solution of f_n = free + share K |f_n|, by trying all signs."""
    for side in product((1.0, -1.0), repeat=2):
        system = np.eye(2) - share * (K * side)
        if abs(np.linalg.det(system)) > 1e-9:
            normal = np.linalg.solve(system, free)
            if np.all(np.array(side) * normal >= -TIE):
                yield K * side * normal


def test_friction_locks_only_where_no_combination_of_sides_has_a_solution():
    rng, solved, locked = np.random.default_rng(0), 0, 0
    for _ in range(3000):
        free = rng.integers(-5, 6, 2) + 0.25
        share = rng.integers(-4, 5, (2, 2)) + 0.125
        possible = list(combinations(free, share))
        found = find_drags(lambda size: free + share @ size, K, np.ones(2, bool))
        assert (found is None) == (not possible), (free, share)
        if found is not None:
            assert min(np.abs(found - each).max() for each in possible) < 1e-9
        solved, locked = solved + bool(possible), locked + (not possible)
    assert solved > 100 and locked > 100


def test_one_sided_contacts_keep_their_side():
    share = np.array([[0.0, -3.0], [0.0, 0.0]])
    found = find_drags(lambda size: np.array([1.0, 1.0]) + share @ size, K, np.zeros(2, bool))
    np.testing.assert_allclose(found, [-0.25, 0.5])  # the first would have to pull: it lifts off


@pytest.fixture
def arm_beside_a_linkage():
    """Return a four-bar at rest, but for rounding, and a pendulum beside it that swings."""
    xml = '<robot name="two"><link name="base"/>' + ''.join(
        [bar(name, length) for name, length in (('a', 0.3), ('b', 0.9), ('c', 0.7), ('arm', 1.0))]
        + [hinge('crank', 'base', 'a'), hinge('coupler', 'a', 'b', 0.3)]
        + [hinge('rocker', 'base', 'c', 1.0), hinge('swing', 'base', 'arm')]
    )
    robot = ccd.load(
        xml
        + """<constraint name="pin" type="revolute">
        <parent link="b"/><parent_origin xyz="0.9 0 0"/><parent_axis xyz="0 0 1"/>
        <child link="c"/><child_origin xyz="0.7 0 0"/><child_axis xyz="0 0 1"/>
        </constraint></robot>""",
        actuated=['crank', 'swing'],
        gravity=(0.0, -9.81, 0.0),
    )
    q = ccd.assemble(robot, {'crank': 0.5, 'swing': 0.2})
    v = ccd.complete_velocity(robot, q, {'crank': 0.0, 'swing': 2.0})
    v[:3] = 1e-17 * np.array([1.0, -3.0, 2.0])  # what a solver leaves
    return robot, q, v


def test_power_is_measured_by_the_whole_motion(arm_beside_a_linkage):
    robot, q, v = arm_beside_a_linkage
    f = ccd.forward_dynamics(robot, q, v, {'crank': 1.0})
    assert f.check()['power'] < 1e-15
    r = ccd.inverse_dynamics(robot, q, v, f.acceleration)
    assert r.check()['power'] < 1e-15
    # and a force that does work where none should is seen
    v[:3] = (1.0, -3.0, 2.0)
    assert ccd.forward_dynamics(robot, q, v, {'crank': 1.0}).check()['power'] > 1e-2
