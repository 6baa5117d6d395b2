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

"""Through and at singular poses: the branch is kept, the choice changes, nothing explodes."""

from helpers.folding_linkages import four_bar, parallel_pose, parallelogram
import numpy as np
import pytest

import closed_chain_dynamics as ccd

SPEED_ERROR = 1e-9  # largest J_C v while passing a singular pose
BRANCH = 1e-9  # the coupler of a parallelogram stays parallel to the ground [rad]


def test_a_parallelogram_keeps_its_branch_through_the_change_points():
    """Driven by its own motion, over several turns, past both folded poses."""
    robot = parallelogram()
    sim = ccd.Simulation(robot, q=parallel_pose(robot, 0.4), v=parallel_pose(robot, 1.0), dt=1e-3)
    worst_speed = 0.0
    for _ in range(40):
        sim.run(0.5)
        J_C = ccd.constraint_jacobian(sim.robot, sim.q)[0]
        worst_speed = max(worst_speed, np.abs(J_C @ sim.v).max())
    crank, coupler, rocker = (
        sim.log.q[:, robot.joint_slices(name)[0]].ravel()
        for name in ('crank', 'coupler', 'rocker')
    )
    assert crank.max() > 3.0 * 2.0 * np.pi
    assert np.abs(crank + coupler).max() < BRANCH
    assert np.abs(rocker - crank).max() < BRANCH
    assert worst_speed < SPEED_ERROR
    # nothing pushes: the parallelogram turns at constant speed
    assert np.ptp(sim.log.v[:, robot.joint_slices('crank')[1]]) < 1e-9


def test_a_sweep_that_stops_at_the_change_point_goes_on_along_its_branch():
    robot = parallelogram()
    q = parallel_pose(robot, -0.3)
    for angle in np.linspace(-0.3, 0.3, 31)[1:]:  # one of them is zero, the folded pose
        v = ccd.complete_velocity(robot, q, parallel_pose(robot, 1.0))
        assert np.abs(ccd.constraint_jacobian(robot, q)[0] @ v).max() < SPEED_ERROR
        q = ccd.assemble(robot, {'crank': angle}, start=ccd.integrate(robot, q, 0.02 * v))
        np.testing.assert_allclose(q, parallel_pose(robot, angle), atol=1e-7)


def test_a_dead_point_of_the_driver_switches_the_coordinate_without_a_jump():
    """A rocker cannot drive the crank through its dead points: another joint takes over there."""
    robot = four_bar(1.0, 0.3, 0.9, 0.7, actuated=('rocker',))
    q = ccd.assemble(robot, {'crank': 0.5})
    chosen, W_largest = set(), 0.0
    for angle in np.linspace(0.5, 0.5 + 2.0 * np.pi, 2001):
        q = ccd.assemble(robot, {'crank': angle}, start=q)
        c = ccd.coordinates(robot, q)
        chosen.update(c.independent)
        W_largest = max(W_largest, np.abs(c.W).max())
        v = ccd.complete_velocity(robot, q, {'crank': 1.0})
        assert np.abs(c.J_C @ v).max() < SPEED_ERROR
        # the same motion in the chosen coordinate, whichever it is
        rate = v[[robot.coordinate_names.index(name) for name in c.independent]]
        np.testing.assert_allclose(c.W @ rate, v, atol=1e-9)
    assert 'rocker' in chosen and len(chosen) > 1
    assert W_largest < 2e3  # the choice changes before H grows beyond its limit


def test_a_choice_once_made_is_kept_on_the_way_back_until_it_is_poor():
    """Hysteresis: the coordinate changes on the way into a dead point, not on the way out."""
    robot = four_bar(1.0, 0.3, 0.9, 0.7, actuated=('rocker',))
    q = ccd.assemble(robot, {'crank': 0.5})
    angles = np.linspace(0.5, 0.5 + 2.0 * np.pi, 2001)
    names = []
    for angle in angles:
        q = ccd.assemble(robot, {'crank': angle}, start=q)
        names.append(ccd.coordinates(robot, q).independent[0])
    change = next(k for k in range(1, len(names)) if names[k] != names[0])
    assert names[0] == 'rocker'
    kept = four_bar(1.0, 0.3, 0.9, 0.7, actuated=('rocker',))
    way = []
    for angle in [*angles[: change + 1], *angles[change - 1 :: -1]]:
        q = ccd.assemble(kept, {'crank': angle}, start=q)
        way.append(ccd.coordinates(kept, q).independent[0])
    assert way[change] != 'rocker' and way[change + 1] == way[change]


@pytest.fixture
def folded():
    """Return a parallelogram folded flat, moving along its parallel branch."""
    robot = parallelogram()
    return robot, parallel_pose(robot, 0.0), parallel_pose(robot, 1.0)


def test_a_singular_pose_is_named_even_when_it_is_the_first_one_seen(folded):
    robot, q, _ = folded
    c = ccd.coordinates(robot, q)
    assert c.mobility == 2 and c.lost_rank == 1 and c.is_singular
    assert c.condition > 1e6
    assert ccd.coordinates(robot, parallel_pose(robot, 0.5)).mobility == 1
    assert not ccd.coordinates(robot, parallel_pose(robot, 0.5)).is_singular


def test_the_singular_direction_is_possible_only_at_the_singular_pose(folded):
    robot, q, _ = folded
    c = ccd.coordinates(robot, q)
    direction = c.singular_direction
    assert np.linalg.norm(direction) == pytest.approx(1.0)
    assert np.abs(c.J_C @ direction).max() < 1e-9
    J_C = ccd.constraint_jacobian(robot, parallel_pose(robot, 0.5))[0]
    assert np.abs(J_C @ direction).max() > 1e-3


@pytest.mark.parametrize('policy', ['damp', 'hold'])
def test_at_a_singular_pose_accelerations_are_finite_and_flagged(folded, policy):
    robot, q, v = folded
    f = ccd.forward_dynamics(robot, q, v, {'crank': 1.0}, singularity=policy)
    assert f.singular and np.all(np.isfinite(f.acceleration))
    assert np.abs(f.acceleration).max() < 10.0
    J_C, _, bias = ccd.constraint_jacobian(robot, q, v)
    assert np.abs(J_C @ f.acceleration + bias).max() < 1e-9


def test_holding_keeps_to_the_branch_of_the_velocity(folded):
    """A parallelogram on its parallel branch: all three bars turn alike, as just beside it."""
    robot, q, v = folded
    held = ccd.forward_dynamics(robot, q, v, {'crank': 1.0}, singularity='hold').acceleration
    beside = ccd.forward_dynamics(robot, parallel_pose(robot, 0.05), v, {'crank': 1.0})
    np.testing.assert_allclose(held, beside.acceleration, rtol=1e-2)
    torque = ccd.inverse_dynamics(robot, q, v, held, singularity='hold').tau_A
    np.testing.assert_allclose(torque, 1.0, rtol=1e-2)


def test_refusing_names_the_joints_that_come_free(folded):
    robot, q, v = folded
    for call in (
        lambda: ccd.forward_dynamics(robot, q, v, singularity='refuse'),
        lambda: ccd.inverse_dynamics(robot, q, v, 0.0 * v, singularity='refuse'),
    ):
        with pytest.raises(ccd.SingularityError, match='singular.*rocker|singular.*coupler'):
            call()
    with pytest.raises(ccd.StateError, match='unknown policy.*damp'):
        ccd.forward_dynamics(robot, q, v, singularity='ignore')


@pytest.mark.parametrize('offset', [1e-3, 1e-5, 1e-6, 1e-7, 1e-9, 1e-12])
def test_close_to_a_singular_pose_nothing_explodes_silently(offset):
    """Accelerations beside the folded pose are those of the branch, or the result is flagged."""
    robot = parallelogram()
    q, v = parallel_pose(robot, offset), parallel_pose(robot, 1.0)
    beside = ccd.forward_dynamics(robot, parallel_pose(robot, 0.05), v, {'crank': 1.0})
    f = ccd.forward_dynamics(robot, q, v, {'crank': 1.0})
    assert np.all(np.isfinite(f.acceleration))
    largest = np.abs(f.acceleration).max()
    assert largest < 2.0 * np.abs(beside.acceleration).max() or f.singular
    assert f.condition > 0.1 / offset
