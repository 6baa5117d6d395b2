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

"""A compiled mechanism as an object: structures that come back, copies, what does not fit."""

import copy
import pickle

import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.codegen import GeneratedCodeWarning

SAME = 1e-12  # relative; sums in another order


@pytest.fixture
def fast():
    return ccd.load('four_bar').compile()


def state_of(robot):
    q = ccd.assemble(robot, {'crank': 1.0})
    return q, ccd.complete_velocity(robot, q, {'crank': 2.0}), np.array([0.5])


def test_a_structure_that_comes_back_is_generated_code_again(fast):
    q, v, tau = state_of(fast.robot)
    expected = fast.forward_dynamics(q, v, tau).acceleration
    loop = fast.robot.loop_names[0]
    fast.robot.cut(loop)
    with pytest.warns(GeneratedCodeWarning, match='the structure has changed'):
        assert fast.forward_dynamics(q, v, tau).generic
    assert not fast.is_current
    fast.robot.connect(loop)
    f = fast.forward_dynamics(q, v, tau)
    assert fast.is_current and not f.generic
    assert np.array_equal(f.acceleration, expected)
    fast.robot.gravity = (0.0, 0.0, -1.62)
    moon = fast.forward_dynamics(q, v, tau)
    assert moon.generic and not np.allclose(moon.acceleration, expected)


def test_copies_have_a_mechanism_of_their_own(fast):
    q, v, tau = state_of(fast.robot)
    expected = fast.forward_dynamics(q, v, tau).acceleration
    for other in (copy.deepcopy(fast), pickle.loads(pickle.dumps(fast))):
        assert np.array_equal(other.forward_dynamics(q, v, tau).acceleration, expected)
        other.robot.cut(other.robot.loop_names[0])
        with pytest.warns(GeneratedCodeWarning):
            assert other.forward_dynamics(q, v, tau).generic
        again = copy.deepcopy(other)  # what does not fit does not fit in a copy either
        with pytest.warns(GeneratedCodeWarning):
            assert again.forward_dynamics(q, v, tau).generic
    assert not fast.forward_dynamics(q, v, tau).generic


def test_a_batch_of_no_states_is_empty(fast):
    nq, nv = fast.robot.nq, fast.robot.nv
    f = fast.forward_dynamics(np.zeros((0, nq)), np.zeros((0, nv)), np.zeros((0, 1)))
    assert f.acceleration.shape == (0, nv) and f.ok.shape == (0,)


def test_what_does_not_fit_is_told(fast):
    q, v, _ = state_of(fast.robot)
    with pytest.raises(ccd.StateError, match=r'shape \(2,\) but there are 1 theta_G'):
        fast.complete_velocity(q, [1.0, 2.0])
    with pytest.raises(ccd.StateError, match=r'derivatives are computed for one state'):
        fast.derivatives(np.tile(q, (3, 1)), np.tile(v, (3, 1)))
