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
from threading import Thread

import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.codegen import GeneratedCodeWarning
from closed_chain_dynamics.description import Description, Link

SAME = 1e-12  # relative; sums in another order
MIXED_UP = 1e-6  # [rad/s^2]: beyond all rounding, and far below what poses differ by


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
    for options in (
        {'steps': 2.5},
        {'steps': 1, 'every': 0.5},
        {'steps': 1, 'every': 2},  # of which no state would be kept
        {'steps': 1, 'dt': 'soon'},
    ):
        with pytest.raises(ccd.StateError, match='must be whole numbers above zero, every not'):
            fast.rollout(q[None], v[None], **options)


def test_complex_numbers_are_refused_as_by_the_core(fast):
    q, v, tau = state_of(fast.robot)
    with pytest.raises(ccd.StateError, match='must be numbers, not complex'):
        fast.forward_dynamics(q + 1j, v, tau)
    with pytest.raises(ccd.StateError, match='must be numbers, not complex'):
        fast.inverse_dynamics(np.tile(q, (2, 1)), np.tile(v, (2, 1)), np.tile(v + 1j, (2, 1)))
    with pytest.raises(ccd.StateError, match='must be numbers, not complex'):
        fast.rollout(q[None] + 1j, v[None], steps=1)


def test_states_whose_accelerations_overflow_are_not_ok(fast):
    q, v, tau = state_of(fast.robot)
    with pytest.warns(GeneratedCodeWarning):
        assert not fast.forward_dynamics(q, 1e200 * v, tau).ok
    speeds = np.array([1.0, 1e200, 1.0])[:, None]
    f = fast.forward_dynamics(np.tile(q, (3, 1)), speeds * v, np.tile(tau, (3, 1)))
    assert f.ok.tolist() == [True, False, True]


def test_threads_may_share_a_compiled_mechanism_even_where_the_core_answers(fast):
    """The core has one workspace for each mechanism: unguarded, threads mix up their states."""
    robot = fast.robot
    _, v, tau = state_of(robot)
    poses = [ccd.assemble(robot, {'crank': angle}) for angle in np.linspace(0.5, 1.5, 8)]
    robot.gravity = (0.0, 0.0, -1.62)
    with pytest.warns(GeneratedCodeWarning):
        expected = [fast.forward_dynamics(q, v, tau).acceleration for q in poses]
    wrong = []

    def work(first):
        for k in range(first, first + 4000):
            found = fast.forward_dynamics(poses[k % 8], v, tau).acceleration
            if np.abs(found - expected[k % 8]).max() > MIXED_UP:
                wrong.append(k)

    threads = [Thread(target=work, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_derivatives_can_be_sent_to_another_process(fast):
    q, v, tau = state_of(fast.robot)
    for d in (fast.derivatives(q, v, tau), ccd.derivatives(fast.robot, q, v, tau)):
        other = pickle.loads(pickle.dumps(d))
        assert np.array_equal(other.A, d.A) and np.array_equal(other.B, d.B)


def test_a_mechanism_in_which_nothing_moves_has_empty_answers():
    robot = ccd.Mechanism(Description('block', links=(Link('world'),), joints=()))
    fast = robot.compile()
    none = np.zeros(0)
    assert fast.forward_dynamics(none, none).acceleration.shape == (0,)
    assert fast.complete_velocity(none, {}).values.shape == (0,)
    assert fast.complete_velocity(np.zeros((4, 0)), {}).values.shape == (4, 0)
    for d in (fast.derivatives(none, none), ccd.derivatives(robot, none, none)):
        assert d.wrt_q.shape == d.A.shape == (0, 0)
    assert ccd.codegen.inverse_derivatives(robot, none, none, none).wrt_q.shape == (0, 0)
    assert ccd.codegen.step_derivatives(robot, none, none).A.shape == (0, 0)
