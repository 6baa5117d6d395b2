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

"""Derivatives against finite differences of the core and against Pinocchio's."""

import numpy as np
import pytest

from benchmarks.models import case
from benchmarks.peers import Pinocchio
import closed_chain_dynamics as ccd

STEP = 3e-7  # of central differences: the loops stay within the core's tolerance
DIFFERENCES = 1e-6  # relative to the largest entry: what such differences can tell
PEER = 1e-8  # Pinocchio solves with a small regularisation


def state_of(robot, seed=1):
    rng = np.random.default_rng(seed)
    q = ccd.assemble(robot)
    v = ccd.complete_velocity(robot, q, rng.normal(size=robot.nv))
    return q, v, rng.normal(size=len(robot.actuator_names))


def slope(function, n):
    columns = [(function(STEP * e) - function(-STEP * e)) / (2 * STEP) for e in np.eye(n)]
    return np.array(columns).T


def assert_close(actual, expected, tolerance=DIFFERENCES):
    assert actual.shape == expected.shape
    assert np.abs(actual - expected).max() <= tolerance * max(np.abs(expected).max(), 1.0)


@pytest.mark.parametrize('model', ['four_bar', 'exo', 'stewart', 'figure', 'swing'])
def test_derivatives_are_finite_differences_of_the_core(model):
    robot = ccd.load(model)
    q, v, tau = state_of(robot)
    d = ccd.derivatives(robot, q, v, tau)

    def acceleration(q, v, tau):
        return ccd.forward_dynamics(robot, q, v, tau).acceleration

    nv = robot.nv
    moved = slope(lambda x: acceleration(ccd.integrate(robot, q, x), v, tau), nv)
    assert_close(d.wrt_q, moved)
    assert_close(d.wrt_v, slope(lambda x: acceleration(q, v + x, tau), nv))
    assert_close(d.wrt_tau, slope(lambda x: acceleration(q, v, tau + x), len(tau)))


def closed_motion(robot, q, G, x):
    """Return the closed pose after a motion of theta_G by x, by the core's own assembly."""
    W = ccd.coordinates(robot, q).W
    moved = ccd.integrate(robot, q, W @ x)
    # the loops open to second order only: one Newton step of least norm closes them
    J_C, error, _ = ccd.constraint_jacobian(robot, moved)
    back = np.linalg.lstsq(J_C, -error, rcond=1e-9)[0]
    return ccd.integrate(robot, moved, back)


@pytest.mark.parametrize('model', ['four_bar', 'five_bar', 'exo', 'stewart', 'swing'])
def test_A_and_B_linearise_the_closed_chain(model):
    """Differences of theta_G'' along closed motions, velocities completed by the core."""
    robot = ccd.load(model)
    q, v, tau = state_of(robot)
    d = ccd.derivatives(robot, q, v, tau)
    G = [robot.coordinate_names.index(name) for name in d.independent]
    m, v_G = len(G), v[G]

    def field(x, rates, torque):
        pose = closed_motion(robot, q, G, x)
        W = ccd.coordinates(robot, pose).W
        return ccd.forward_dynamics(robot, pose, W @ rates, torque).acceleration[G]

    assert ccd.coordinates(robot, q).independent == d.independent
    assert_close(d.A[m:, :m], slope(lambda x: field(x, v_G, tau), m), 5 * DIFFERENCES)
    assert_close(d.A[m:, m:], slope(lambda x: field(np.zeros(m), v_G + x, tau), m))
    assert_close(d.B[m:], slope(lambda x: field(np.zeros(m), v_G, tau + x), len(tau)))
    assert np.array_equal(d.A[:m, m:], np.eye(m)) and not d.B[:m].any()


@pytest.mark.parametrize('model', ['figure', 'swing'])
def test_small_motions_turn_with_their_joints(model):
    """delta' = delta v - ad_v delta: two neighbouring motions at constant velocity drift apart."""
    robot = ccd.load(model)
    for loop in robot.loop_names:  # of the tree alone: any velocity is allowed
        if robot.is_connected(loop):
            robot.cut(loop)
    rng = np.random.default_rng(4)
    q, v = robot.neutral(), rng.normal(size=robot.nv)
    d = ccd.derivatives(robot, q, v)
    dt, x = 1e-4, 1e-4 * rng.normal(size=robot.nv)
    later = ccd.integrate(robot, q, dt * v)
    neighbour = ccd.integrate(robot, ccd.integrate(robot, q, x), dt * v)
    apart = (ccd.difference(robot, later, neighbour) - x) / dt
    assert_close(d.A[: robot.nv, : robot.nv] @ (x / 1e-4), apart / 1e-4, 1e-3)


@pytest.mark.parametrize('key', ['M2', 'M3'])  # a redundant row, as of M1, spoils the peer's
def test_derivatives_along_the_loops_are_pinocchios(key):
    c = case(key)
    peer = Pinocchio(c)
    pin, data = peer.pin, peer.data
    function, arguments = peer.constraint_dynamics(1e-12, 20)
    function(*arguments)
    pin.computeConstraintDynamicsDerivatives(
        peer.model, data, peer.constraints, peer.constraint_data, arguments[-1]
    )
    d, W = ccd.derivatives(c.robot, c.q, c.v, c.tau_A), ccd.coordinates(c.robot, c.q).W
    assert_close(d.wrt_v @ W, data.ddq_dv @ W, PEER * 1e2)
    assert_close(d.wrt_tau, data.ddq_dtau[:, peer.actuated], PEER * 1e2)
    # off the loops the two differ by how they write the loops' equations; along them they agree
    assert_close(
        d.wrt_q @ W + d.wrt_v @ turning(c, W),
        data.ddq_dq @ W + data.ddq_dv @ turning(c, W),
        PEER * 1e2,
    )


def turning(c, W):
    """Return how the allowed velocity changes along closed motions, by differences."""
    G = [c.robot.coordinate_names.index(n) for n in ccd.coordinates(c.robot, c.q).independent]

    def velocity(x):
        return ccd.coordinates(c.robot, closed_motion(c.robot, c.q, G, x)).W @ c.v[G]

    return slope(velocity, W.shape[1])


def test_an_open_pose_is_refused():
    robot = ccd.load('four_bar')
    q, v, tau = state_of(robot)
    with pytest.raises(ccd.StateError, match='is open by'):
        ccd.derivatives(robot, q + 0.1, v, tau)
