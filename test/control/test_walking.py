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

"""A figure of Winter's tables walks ten steps: against Newton, Coulomb, Pinocchio, textbooks."""

from helpers.walks import Walk
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.control.ground_forces import (
    BASE,
    LEAST_FORCE,
    Footing,
    Wanted,
    torques_on_ground,
)
from closed_chain_dynamics.control.walking import Walking

MASS, HEIGHT, G, MU = 70.0, 1.75, 9.80665, 0.8
WEIGHT = MASS * G
STEPS = 10
# Winter, Table 4.1 and Figure 4.1: mass, length, centre of mass, radius of gyration
TABLE = {
    'trunk': (0.578, 0.288, 0.66, 0.503),
    'left_arm': (0.050, 0.332, 0.530, 0.368),
    'left_thigh': (0.100, 0.245, 0.433, 0.323),
    'left_shank': (0.0465, 0.246, 0.433, 0.302),
}
DIGITS = 1e-5  # relative; the file has six digits
GAIT_DIGITS = 1e-3  # of moments and forces in the file: six digits, and what IPOPT left [N m, N]
BOOKS = 1e-6  # of the energy that motors exchange: RK4, and thousands of steps of 1 ms
RECTANGLES = 0.005  # of the impulse: forces are summed at 1 ms, and jump at events
CONE = 1e-6  # [N]


@pytest.fixture(scope='module')
def walk():
    """Return a walk of ten steps and half a step, forces measured."""
    made = Walk(measured=True)
    made.run((STEPS + 0.5) * made.gait.duration)
    return made


def test_the_segments_are_those_of_the_table():
    links = {link.name: link for link in Walk.robot.description.links}
    assert sum(link.inertia.mass for link in links.values() if link.inertia) == pytest.approx(MASS)
    for name, (mass, length, centre, gyration) in TABLE.items():
        inertia = links[name].inertia
        assert inertia.mass == pytest.approx(mass * MASS, rel=DIGITS)
        assert abs(inertia.origin.xyz[2]) == pytest.approx(centre * length * HEIGHT, rel=DIGITS)
        turning = mass * MASS * (gyration * length * HEIGHT) ** 2
        assert inertia.moments[3] == pytest.approx(turning, rel=DIGITS)


def test_moments_and_forces_of_the_gait_cause_its_motion():
    """Pinocchio finds the same moments, and none in the base, at every row of the data."""
    pin = pytest.importorskip('pinocchio')
    robot, gait = Walk.robot, Walk.gait
    model = pin.buildModelFromUrdf(robot.description.file)
    model.gravity.linear = np.array([0.0, 0.0, -G])
    data = model.createData()
    order = [model.getJointId(name) - 1 for name in robot.joint_names]
    assert order == sorted(order)  # coordinates are in the same order
    points = {loop.name: loop for loop in robot.description.loops}
    motors = [robot.joint_names.index(name) for name in robot.actuator_names]
    for row in range(len(gait.time)):
        q, v, a, tau, force = (gait.values[part][row] for part in ('q', 'v', 'a', 'tau', 'force'))
        found = pin.rnea(model, data, q, v, a)
        pin.computeJointJacobians(model, data, q)
        pin.updateFramePlacements(model, data)
        for name, (x, z) in zip(gait.names['force'], force.reshape(-1, 2)):
            frame = model.getFrameId(points[name].child)
            J = pin.getFrameJacobian(model, data, frame, pin.LOCAL_WORLD_ALIGNED)
            arm = data.oMf[frame].rotation @ np.array(points[name].child_origin.xyz)
            found -= J.T @ np.concatenate([(x, 0.0, z), np.cross(arm, (x, 0.0, z))])
        assert np.abs(found[:BASE]).max() < GAIT_DIGITS
        assert np.abs(found[motors] - tau).max() < GAIT_DIGITS


def test_the_gait_repeats_with_left_and_right_exchanged():
    q, v = (Walk.gait.values[part] for part in 'qv')
    other = [0, 1, 2, 7, 8, 9, 10, 3, 4, 5, 6]
    assert np.abs(q[-1][other] - q[0])[1:].max() < 1e-6 > np.abs(v[-1][other] - v[0]).max()
    assert 1.2 < Walk.gait.length / Walk.gait.duration < 1.3


def test_it_makes_ten_steps_without_falling(walk):
    assert walk.stands() and walk.controller.steps == STEPS
    sides = [side for _, side in walk.strikes]
    assert sides == ['right', 'left'] * (STEPS // 2)
    struck = [e.name for e in walk.sim.events if e.kind == 'touch_down']
    assert {'left_heel', 'left_toe', 'right_heel', 'right_toe'} == set(struck)
    x, z, pitch = np.array(walk.sim.log.q)[:, :3].T
    assert z.min() > 0.86 and z.max() < 0.95 and np.abs(pitch).max() < 0.05
    assert 1.15 < (x[-1] - x[0]) / walk.sim.time < 1.35


@pytest.mark.parametrize('phase', range(4))
def test_on_the_gait_the_torques_are_its_moments(phase):
    """What stabilises adds nothing where nothing is off."""
    gait, controller = Walk.gait, Walking(Walk.robot, Walk.gait)
    points = [name in gait.phases[phase] for name in gait.names['force']]
    times = gait.time[gait.phase == phase][:-1]  # rows: between them forces are not linear
    count = 0
    for time in times:
        now = gait.sample(time)
        along, up = now.force[points].T
        if np.all(np.abs(along) < controller.gains.friction * (up - LEAST_FORCE)):
            found = controller.torques(now.q, now.v, now.closed, time)
            assert np.abs(found - now.tau).max() < GAIT_DIGITS
            count += 1
    assert count >= len(times) - 3  # of a point that has just come, or goes, less is asked


def test_it_is_driven_by_the_moments_of_the_gait(walk):
    """Torques differ from them where feet land and leave, else little."""
    torques, moments = np.moveaxis(walk.moments, 1, 0)
    assert np.median(np.abs(torques - moments)) < 0.02 * np.sqrt(np.mean(moments**2))
    assert np.corrcoef(torques.ravel(), moments.ravel())[0, 1] > 0.9


def test_the_ground_pushes_with_two_humps_brakes_and_propels(walk):
    """Peaks of 1.0 to 1.3 of the weight, a valley of less than 0.85 between, as in textbooks."""
    from scipy.signal import find_peaks  # takes a second to import, in whoever collects tests

    time = np.array([t for t, _ in walk.forces])
    for number, (began, side) in enumerate(walk.strikes[1:-2]):
        along, up = (
            np.array(
                [
                    sum(pair[part] for name, pair in forces.items() if name.startswith(side))
                    for _, forces in walk.forces
                ]
            )
            / WEIGHT
            for part in (0, 1)
        )
        stance = (time >= began) & (time < began + 1.2 * walk.gait.duration)
        mean = np.ones(41) / 41  # 41 ms
        smooth = np.convolve(up, mean, 'same')[stance]
        # a rigid foot that strikes has a small peak before it is flat, at about half the weight
        peaks, _ = find_peaks(smooth, height=0.9, prominence=0.1)
        assert len(peaks) == 2, f'stride {number}'
        assert np.all((smooth[peaks] > 1.0) & (smooth[peaks] < 1.3))
        assert smooth[peaks[0] : peaks[1]].min() < 0.85
        pushed = np.convolve(along, mean, 'same')[stance]
        half = len(pushed) // 2
        assert pushed[:half].min() < -0.1 and pushed[half:].max() > 0.1
        assert pushed[: half // 2].mean() < 0.0 < pushed[-half // 2 :].mean()


def test_impulses_of_the_ground_are_weight_and_change_of_momentum(walk):
    sim, start = walk.sim, walk.gait.sample(0.0)
    change = ccd.momentum(walk.robot, sim.q, sim.v) - ccd.momentum(walk.robot, start.q, start.v)
    landed = np.sum([e.momentum_change for e in sim.events if e.kind == 'touch_down'], axis=0)
    for part, place, weight in ((0, 0, 0.0), (1, 2, WEIGHT * sim.time)):
        given = 1e-3 * sum(pair[part] for _, each in walk.forces for pair in each.values())
        left = given + landed[place] - weight - change[place]
        assert abs(left) < RECTANGLES * WEIGHT * sim.time


def test_friction_stays_in_its_cones_and_the_books_of_energy_close(walk):
    for _, each in walk.forces:
        assert all(abs(along) <= MU * up + CONE for along, up in each.values())
    balance, moved = walk.sim.log.balance, np.abs(np.diff(walk.sim.log.work)).sum()
    assert np.abs(balance - balance[0]).max() < BOOKS * moved


@pytest.mark.parametrize('change', [{'push': 30.0}, {'faster': 0.02, 'push': -30.0}], ids=str)
def test_it_bears_another_start_and_pushes(change):
    walk = Walk(**change)
    assert walk.run(3.5 * walk.gait.duration) and walk.controller.steps == 3


def test_without_feedback_it_falls():
    """The moments of the data alone do not keep a figure upright, as Winter found."""
    walk, gait = Walk(), Walk.gait
    while walk.stands() and walk.sim.time < gait.duration:
        walk.sim.step(gait.sample(walk.sim.time).tau)
    for _ in range(1000):
        if not walk.stands():
            return
        walk.sim.step()
    pytest.fail('it stands')


def test_forces_on_the_ground_obey_newton_and_keep_to_the_cone():
    robot, rng = Walk.robot, np.random.default_rng(0)
    q, v = Walk.gait.sample(0.2).q, Walk.gait.sample(0.2).v
    M, h = ccd.mass_matrix(robot, q), ccd.newton_euler(robot, q, v, np.zeros(robot.nv))
    toe = {loop.name: loop for loop in robot.description.loops}['left_toe']
    J = ccd.jacobian(robot, q, toe.child, point=toe.child_origin.xyz)[[0, 2]]
    rate = -ccd.jacobian_bias(robot, q, v, toe.child, point=toe.child_origin.xyz)[[0, 2]]
    ground = Footing(J, rate, J, np.array([0.0, WEIGHT]), 0.5, 3e-3)
    for _ in range(20):
        wanted = Wanted(
            rng.normal(scale=20.0, size=robot.nv),
            np.ones(robot.nv),
            50.0 * rng.normal(size=robot.nv),
            0.1,
        )
        force, f = torques_on_ground(M, h, wanted, ground)
        assert f[1] >= LEAST_FORCE - CONE and abs(f[0]) <= 0.5 * f[1] + CONE
        a = np.linalg.solve(M, force + J.T @ f - h)
        assert np.abs(force[:BASE]).max() < 1e-6 and np.abs(J @ a - rate).max() < 1e-6
