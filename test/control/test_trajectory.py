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

"""Trajectories: polynomials against SciPy and closed forms, and what is refused."""

import numpy as np
import pytest
from scipy.interpolate import BPoly, CubicSpline

import closed_chain_dynamics as ccd
from closed_chain_dynamics.control.reference import Reference
from closed_chain_dynamics.control.trajectory import Trajectory

ROUNDING = 1e-11  # polynomials up to the fifth power over a second or so
TIMES = np.array([0.0, 0.4, 1.0, 1.3, 2.0])
RNG = np.random.default_rng(4)
P, V, A = RNG.normal(size=(3, 5, 2))
DENSE = np.linspace(0.0, 1.999, 77)
NAMES = ['a', 'b']


def sampled(trajectory):
    """Return positions, velocities and accelerations at dense times, (3, times, joints)."""
    return np.array([trajectory.sample(t) for t in DENSE]).transpose(1, 0, 2)


def test_positions_alone_give_the_clamped_cubic_spline_of_scipy():
    """Its accelerations are continuous; velocities at both ends are zero."""
    peer = CubicSpline(TIMES, P, bc_type='clamped')
    for order, values in enumerate(sampled(Trajectory(NAMES, TIMES, P))):
        np.testing.assert_allclose(values, peer(DENSE, order), atol=ROUNDING)


def test_positions_alone_give_no_jump_in_acceleration():
    trajectory, h = Trajectory(NAMES, TIMES, P), 1e-9
    for k, t in enumerate(TIMES[1:-1], start=1):
        before, after = trajectory.sample(t - h), trajectory.sample(t + h)
        for one, other in zip(before, after):
            np.testing.assert_allclose(one, other, atol=1e-6)  # h times the jerk
        np.testing.assert_allclose(after[0], P[k], atol=1e-6)
    for t in (TIMES[0], TIMES[-1] - h):
        np.testing.assert_allclose(trajectory.sample(t)[1], 0.0, atol=1e-6)


def test_velocities_give_cubics_and_accelerations_quintics():
    """As SciPy joins points with given derivatives."""
    for given in ([V], [V, A]):
        peer = BPoly.from_derivatives(TIMES, np.stack([P, *given], axis=1))
        ours = sampled(Trajectory(NAMES, TIMES, P, *given))
        for order, values in enumerate(ours):
            np.testing.assert_allclose(values, peer(DENSE, order), atol=1e3 * ROUNDING)


def test_a_late_first_point_is_reached_from_the_start():
    """The motion begins with the position and velocity of the start."""
    start = np.array([0.3, -0.2]), np.array([1.0, 2.0])
    peer = CubicSpline(
        TIMES, np.vstack([start[0], P[1:]]), bc_type=((1, start[1]), (1, [0.0, 0.0]))
    )
    spline = sampled(Trajectory(NAMES, TIMES[1:], P[1:], start=start))
    np.testing.assert_allclose(spline[0], peer(DENSE), atol=ROUNDING)
    for given in ([], [V[1:]], [V[1:], A[1:]]):
        trajectory = Trajectory(NAMES, TIMES[1:], P[1:], *given, start=start)
        position, velocity, _ = trajectory.sample(0.0)
        np.testing.assert_allclose([position, velocity], start, atol=ROUNDING)
        np.testing.assert_allclose(trajectory.sample(TIMES[1])[0], P[1], atol=ROUNDING)


def test_after_the_end_the_last_point_is_held():
    """Even where it was given a velocity."""
    position, velocity, acceleration = Trajectory(NAMES, TIMES, P, V).sample(5.0)
    assert np.array_equal(position, P[-1]) and not velocity.any() and not acceleration.any()


def test_a_point_of_a_stream_moves_on_by_its_rates_for_a_moment():
    """And for not longer than a tenth of a second."""
    trajectory = Trajectory(['a'], [0.0], [[1.0]], [[2.0]], [[4.0]])
    assert trajectory.is_stream
    assert trajectory.sample(0.05)[0][0] == pytest.approx(1.0 + 0.05 * 2.0 + 0.5 * 0.0025 * 4.0)
    assert trajectory.sample(60.0)[0][0] == pytest.approx(1.0 + 0.1 * 2.0 + 0.5 * 0.01 * 4.0)


@pytest.mark.parametrize(
    'bad, word',
    [
        (dict(names=[]), 'no joint'),
        (dict(names=['a', 'a']), 'twice'),
        (dict(times=[0.0, 0.4, 0.4, 1.3, 2.0]), 'do not increase'),
        (dict(times=[-0.1, 0.4, 1.0, 1.3, 2.0]), 'do not increase'),
        (dict(times=[], positions=np.zeros((0, 2))), 'no points'),
        (dict(positions=P[:, :1]), 'positions have shape'),
        (dict(positions=[[0.0, 1.0], [0.0]]), 'positions are not numbers'),
        (dict(velocities=V[:3]), 'velocities have shape'),
        (dict(positions=np.where(P[2, 1] == P, np.nan, P)), 'not all finite'),
        (dict(times=[0.0, 0.4, np.inf, 1.3, 2.0]), 'not all finite'),
        (dict(accelerations=A), 'no velocities'),
    ],
)
def test_what_makes_no_trajectory_is_refused_with_the_reason(bad, word):
    """Sizes, times, names and numbers."""
    given = {'names': NAMES, 'times': TIMES, 'positions': P, **bad}
    with pytest.raises(ccd.StateError, match=word):
        Trajectory(**given)


def five_bar_reference():
    """Return a five-bar, its pose, and a reference that swings both shoulders."""
    robot = ccd.load('five_bar')
    q = ccd.assemble(robot)
    reference = Reference(robot)
    shoulders = q[[0, 2]]
    reference.take(
        ['left_shoulder', 'right_shoulder'],
        [0.3, 0.6, 1.0],
        [shoulders + [0.3, 0.1], shoulders + [-0.1, 0.3], shoulders],
        time=0.0,
        q=q,
        v=np.zeros(4),
    )
    return robot, reference


def test_a_reference_is_complete_and_its_rates_are_its_derivatives():
    """Dependent joints close the loop; v_d and a_d agree with finite differences of q_d."""
    robot, reference = five_bar_reference()
    h = 1e-4
    q = np.array([reference.at(k * h)[0] for k in range(4000)])
    reference = five_bar_reference()[1]
    for k in range(4000):
        q_d, v_d, a_d = reference.at(k * h)
        if k % 500 == 250:
            assert max(robot.loop_gaps(q_d)['tip']) < 1e-12
            # central differences: error h^2 / 6 times the third derivative, some 100 rad/s^3
            np.testing.assert_allclose(v_d, (q[k + 1] - q[k - 1]) / (2.0 * h), atol=1e-6)
            np.testing.assert_allclose(a_d, (q[k + 1] - 2.0 * q[k] + q[k - 1]) / h**2, atol=1e-3)


def test_joints_that_a_reference_cannot_move_are_refused():
    """Unknown names get suggestions; joints of several degrees of freedom are told so."""
    robot = ccd.load('swing')
    q, v = ccd.assemble(robot), np.zeros(robot.nv)
    reference = Reference(robot)
    with pytest.raises(ccd.NameNotFound, match="'left_knee'"):
        reference.take(['left_kne'], [1.0], [[0.5]], time=0.0, q=q, v=v)
    with pytest.raises(ccd.StateError, match="'left_hip' has several coordinates"):
        reference.take(['left_hip'], [1.0], [[0.5]], time=0.0, q=q, v=v)
    assert not reference
