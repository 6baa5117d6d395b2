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

"""Forces on the ground against closed forms, and the nearest motion against SciPy."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial import ConvexHull

import closed_chain_dynamics as ccd
from closed_chain_dynamics.studies.consistency import study_consistency
from closed_chain_dynamics.studies.ground import ContactPoint, Ground
from closed_chain_dynamics.studies.ground_forces import ground_forces, passive_directions
from closed_chain_dynamics.studies.motion.moving import Motion
from closed_chain_dynamics.studies.motion.tracks import Tracks
from closed_chain_dynamics.studies.nearest_motion import FEET, nearest_motion
from closed_chain_dynamics.studies.record_poses import nearest_closed
from closed_chain_dynamics.studies.support_polygon import hull, inside

G = 9.80665
ROUNDING = 1e-9
SCIPY = 1e-6  # how far from an optimum SLSQP stops [rad or m]
CART = """<robot name="cart" xmlns:cc="urn:closed_chain_dynamics"> <link name="floor"/>
  <link name="lift"> <inertial> <mass value="1e-9"/> <inertia ixx="1e-9" iyy="1e-9" izz="1e-9"
  ixy="0" ixz="0" iyz="0"/> </inertial> </link>
  <link name="cart"> <inertial> <mass value="3"/> <inertia ixx="1" iyy="1" izz="1" ixy="0"
  ixz="0" iyz="0"/> </inertial> </link>
  <link name="bob"> <inertial> <origin xyz="0 0 0.5"/> <mass value="2"/> <inertia ixx="1e-9"
  iyy="1e-9" izz="1e-9" ixy="0" ixz="0" iyz="0"/> </inertial> </link>
  <joint name="up" type="prismatic"> <parent link="floor"/> <child link="lift"/>
  <axis xyz="0 0 1"/> <limit effort="9" lower="-9" upper="9" velocity="99"/> </joint>
  <joint name="along" type="prismatic"> <parent link="lift"/> <child link="cart"/>
  <axis xyz="1 0 0"/> <limit effort="9" lower="-9" upper="9" velocity="99"/> </joint>
  <joint name="swing" type="continuous" cc:role="actuated"> <parent link="cart"/>
  <child link="bob"/> <axis xyz="0 1 0"/> </joint> </robot>"""


@pytest.fixture(scope='module')
def standing():
    """Return a figure, its pose with both feet on the ground, and the ground."""
    robot = ccd.load('figure')
    q = ccd.assemble(robot, {})
    contacts = []
    for side in ('left', 'right'):
        X = ccd.link_placement(robot, q, f'{side}_shank')
        low = X[:3, :3].T @ (np.array([X[0, 3], X[1, 3], 0.0]) - X[:3, 3])
        for name, x, y in (
            ('toe', 0.2, 0.0),
            ('heel', -0.1, 0.0),
            ('in', 0.0, -0.05),
            ('out', 0.0, 0.05),
        ):
            p = low + [x, y, 0.0]
            contacts.append(ContactPoint(f'{side}_{name}', f'{side}_shank', tuple(p), 0.6))
    return robot, q, Ground(tuple(contacts))


def pushed(robot, q, acceleration, samples=1):
    """Return the Motion of a figure that is moved as a whole, at rest for a moment."""
    a = np.zeros((samples, robot.nv))
    a[:, robot.joint_slices('root')[1].start : robot.joint_slices('root')[1].start + 3] = (
        acceleration
    )
    time = np.arange(samples) / 100.0
    return Motion(time, np.tile(q, (samples, 1)), np.zeros_like(a), a)


@pytest.mark.parametrize(
    'ax, ay, az, reason',
    [
        (0.0, 0.0, 0.0, ''),
        (0.8, 0.0, 1.0, ''),
        (0.3, -0.5, -2.0, ''),
        (0.0, 3.0, 0.0, 'it would tip over: the zero-moment point is not within the feet'),
        (0.0, 0.0, -12.0, 'the ground would have to pull'),
    ],
)
def test_the_zero_moment_point_is_that_of_the_closed_form(standing, ax, ay, az, reason):
    """All links move alike: x_c - z_c a_x / (g + a_z) on the floor, and F = m (a - g)."""
    robot, q, ground = standing
    found = ground_forces(robot, pushed(robot, q, (ax, ay, az)), ground)
    c, F = ccd.center_of_mass(robot, q), robot.total_mass * np.array([ax, ay, G + az])
    np.testing.assert_allclose(found.needed[0, :3], F, atol=1e-9 * found.weight)
    if az > -G:
        zmp = c[:2] - c[2] * np.array([ax, ay]) / (G + az)
        np.testing.assert_allclose(found.zmp[0], zmp, atol=ROUNDING)
        assert (found.margin[0] > 0.0) == (not reason)
    assert found.touches.all()
    assert [each['reason'] for each in found.breaks()] == ([reason] if reason else [])
    if not reason:
        given = found.forces[0]
        np.testing.assert_allclose(given.sum(axis=0), F, rtol=1e-5, atol=1e-3)
        assert np.all(np.hypot(given[:, 0], given[:, 1]) <= 0.6 * given[:, 2] + ROUNDING)
        moments = np.cross(found.points[0], given).sum(axis=0)
        np.testing.assert_allclose(moments, found.needed[0, 3:], atol=1e-4 * found.weight)


def test_ice_makes_feet_slip_and_the_air_holds_nothing(standing):
    robot, q, ground = standing
    ice = Ground(tuple(ContactPoint(e.name, e.link, e.xyz, 0.02) for e in ground.contacts))
    motion = pushed(robot, q, (0.8, 0.0, 1.0), samples=3)
    (broken,) = ground_forces(robot, motion, ice).breaks()
    assert broken['reason'] == 'the feet would slip' and broken['frames'] == 3
    # what is missing beyond the cone, over the weight
    assert broken['share'] == pytest.approx((0.8 - 0.02 * (G + 1.0)) / G, rel=0.05)
    motion.q[:, robot.joint_slices('root')[0].start + 2] += 0.3
    (broken,) = ground_forces(robot, motion, ground).breaks()
    assert broken['reason'] == 'nothing touches the ground, and something holds it'


def test_ground_and_motors_carry_a_figure_that_stands(standing):
    """Without the ground its root needs the whole weight, with it nothing."""
    robot, q, ground = standing
    tracks = Tracks(np.linspace(0.0, 0.05, 5))
    for joint in robot.joint_names:
        place, mine = robot.joint_slices(joint)
        rest = np.zeros((5, mine.stop - mine.start))
        tracks.joints[joint] = (np.tile(q[place], (5, 1)), rest, rest)
    alone = study_consistency(robot, tracks, start=q)
    carried = study_consistency(robot, tracks, start=q, ground=ground)
    assert alone.residual['root:vz'][0] == pytest.approx(robot.total_mass * G, rel=ROUNDING)
    assert not alone.verdicts['forces'] and 'ground' not in alone.verdicts
    assert carried.verdicts['forces'] and carried.verdicts['ground']


def test_the_hull_and_the_distance_from_it_are_those_of_all_edges():
    random = np.random.default_rng(2)
    points = random.normal(0.0, 1.0, (30, 2))
    assert len(hull(points)) == len(ConvexHull(points).vertices)
    planes = ConvexHull(points).equations  # n x + d <= 0 within
    for each in 0.3 * random.normal(0.0, 1.0, (20, 2)):
        assert inside(each, points) == pytest.approx(-(planes[:, :2] @ each + planes[:, 2]).max())
    assert inside(np.array([0.0, 2.0]), np.array([[-1.0, 0.0], [1.0, 0.0]])) == pytest.approx(-2.0)


def test_the_nearest_motion_is_that_of_scipy():
    """A cart that friction holds for half of the time, then it flies; Newton's law by hand."""
    robot, mu, n, h = ccd.load(CART), 0.2, 9, 0.05
    time = h * np.arange(n)
    Q = np.column_stack([0.0 * time, 0.02 * np.sin(7.0 * time), 0.3 * np.sin(9.4 * time)])
    touches = np.arange(n)[:, None] < 5
    rest = np.zeros_like(Q)
    ground = Ground((ContactPoint('wheel', 'cart', mu=mu),))
    found = nearest_motion(robot, Motion(time, Q, rest, rest), ground, touches)

    def forces(x):
        q = x.reshape(n, 3)
        a, v = (q[2:] - 2.0 * q[1:-1] + q[:-2]) / h**2, (q[2:] - q[:-2]) / (2.0 * h)
        sine, cosine = np.sin(q[1:-1, 2]), np.cos(q[1:-1, 2])
        along = 5.0 * a[:, 1] + 2.0 * 0.5 * (a[:, 2] * cosine - v[:, 2] ** 2 * sine)
        up = 5.0 * (a[:, 0] + G) - 2.0 * 0.5 * (a[:, 2] * sine + v[:, 2] ** 2 * cosine)
        return along, up

    on = touches[1:-1, 0]

    def cost(x):
        away = x.reshape(n, 3) - Q
        return (away**2).sum() + FEET * (away[1:-1, :2][on] ** 2).sum()

    def flies(x):
        along, up = forces(x)
        return np.append(along[~on], up[~on])

    def sticks(x):
        along, up = forces(x)
        return np.append((mu * up - along)[on], (mu * up + along)[on])

    best = minimize(
        cost, Q.ravel(), method='SLSQP', options={'ftol': 1e-14, 'maxiter': 300},
        constraints=[{'type': 'eq', 'fun': flies}, {'type': 'ineq', 'fun': sticks}],
    )  # fmt: skip
    x = found.motion.q.ravel()
    assert np.abs(flies(x)).max() < 1e-8 and sticks(x).min() > -1e-6
    assert cost(x) == pytest.approx(best.fun, rel=1e-6) and np.abs(x - best.x).max() < SCIPY
    assert found.moved.max() > 0.02  # it had to change
    np.testing.assert_allclose(found.forces[1:-1, 0, 2][on], forces(x)[1][on], rtol=1e-6)


def test_the_nearest_closed_pose_is_that_of_scipy():
    """A four-bar whose three angles were measured: least squares with its loop as constraint."""
    robot = ccd.load('four_bar')
    q = ccd.assemble(robot, {'crank': 1.0})
    recorded = q + [0.04, -0.03, 0.06]

    J_C = ccd.constraint_jacobian(robot, q)[0]
    in_plane = np.abs(J_C).max(axis=1) > 1e-9  # the others are zero whatever the angles are

    def gap(x):
        return ccd.constraint_jacobian(robot, x)[1]

    best = minimize(
        lambda x: ((x - recorded) ** 2).sum(), q, method='SLSQP', options={'ftol': 1e-16},
        constraints={'type': 'eq', 'fun': lambda x: gap(x)[in_plane]},
    )  # fmt: skip
    (found,) = nearest_closed(robot, robot.joint_names, recorded[None])
    assert np.abs(gap(found)).max() < ROUNDING
    np.testing.assert_allclose(found, best.x, atol=SCIPY)


def test_a_linkage_without_motors_moves_as_its_own_dynamics_say():
    """The nearest motion to a noisy free swing has no force that nobody gives, loops closed."""
    robot = ccd.load('four_bar', actuated=[])
    q = ccd.assemble(robot, {'crank': 1.0})
    sim = ccd.Simulation(robot, q, ccd.complete_velocity(robot, q, {'crank': 2.0}), dt=0.01)
    sim.run(0.1)
    random = np.random.default_rng(1)
    noisy = sim.log.q + random.normal(0.0, 2e-3, sim.log.q.shape)
    poses = nearest_closed(robot, robot.joint_names, noisy)
    rest = np.zeros_like(poses)
    motion = Motion(np.array(sim.log.time), poses, rest, rest)
    none = np.zeros((len(poses), 0), dtype=bool)
    found = nearest_motion(robot, motion, Ground(()), none)
    for k in range(1, len(poses) - 1):
        q, v, a = (each[k] for each in (found.motion.q, found.motion.v, found.motion.a))
        Z = passive_directions(robot, q)
        unmet = Z.T @ ccd.inverse_dynamics(robot, q, v, a).tau_O
        assert np.abs(unmet).max() < 1e-6
        assert max(map(max, robot.loop_gaps(q).values())) < ROUNDING
    truth = np.abs(found.motion.q - sim.log.q).max()
    assert truth < np.abs(poses - sim.log.q).max()  # nearer to what really happened
