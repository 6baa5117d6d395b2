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

"""Balls and wheels as contacts against the closed forms of rolling."""

from dataclasses import replace

from helpers.random_mechanisms import (
    random_description,
    random_loops,
    random_state,
    relative_error,
)
from helpers.touching_bodies import G, body_on_slope, downhill
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import Contact, LoopType
from closed_chain_dynamics.kernels.records import STICK

EXACT = 1e-8  # events are found where a speed of 1e-9 m/s is left
STEP, FIRST = 1e-6, 2e-7  # central differences: rounding 1e-16 / 1e-6, sizes of a few metres
MASS, R = 2.0, 0.1
SHARE = {'ball': 0.4, 'wheel': 0.5}  # I / (m r^2)


def roller(kind, mu, tilt=0.0):
    """Return a ball or wheel on a slope, and its pose."""
    inertia = (SHARE[kind] * MASS * R * R,) * 3
    robot, q = body_on_slope(
        [(0.0, 0.0, 0.0)],
        Contact(mu=mu, **{kind: R}),
        tilt=tilt,
        inertia=inertia,
        child_axis=(0.0, 1.0, 0.0),
    )
    q[:3] = R * np.sin(tilt), 0.0, R * np.cos(tilt)
    q[3:] = 0.0, 0.0, 0.0, 1.0
    return robot, q


@pytest.mark.parametrize('kind', SHARE)
def test_it_rolls_down_a_slope_at_the_known_rate(kind):
    tilt = 0.3
    robot, q = roller(kind, 0.4, tilt)
    sim = ccd.Simulation(robot, q=q, dt=1e-3)
    start = sim.energy().balance
    sim.run(0.5)
    rate = G * np.sin(tilt) / (1.0 + SHARE[kind])  # 5/7 and 2/3 of g sin(a)
    assert (sim.q[:3] - q[:3]) @ downhill(tilt) == pytest.approx(0.125 * rate, rel=EXACT)
    assert sim.v[4] == pytest.approx(0.5 * rate / R, rel=EXACT)
    assert sim.events == [] and abs(sim.energy().balance - start) < 1e-8
    assert sim.energy().dissipated == 0.0


@pytest.mark.parametrize('kind', SHARE)
def test_it_slips_where_the_slope_is_steeper_than_friction_can_turn_it(kind):
    """Rolling needs tan(a) <= mu (1 + m r^2 / I)."""
    mu = 0.2
    steepest = np.arctan(mu * (1.0 + 1.0 / SHARE[kind]))
    for share, rolls in ((1.0 - 1e-6, True), (1.0 + 1e-6, False)):
        robot, q = roller(kind, mu, share * steepest)
        sim = ccd.Simulation(robot, q=q, dt=1e-3)
        sim.run(0.05)
        assert (sim.robot.structure.loops['mode'][0] == STICK) == rolls


@pytest.mark.parametrize('kind', SHARE)
def test_sliding_becomes_rolling_when_and_at_the_speed_it_should(kind):
    mu, speed = 0.3, 2.0
    robot, q = roller(kind, mu)
    sim = ccd.Simulation(robot, q=q, v=np.array([speed, 0.0, 0.0, 0.0, 0.0, 0.0]), dt=1e-3)
    start = sim.energy().balance
    sim.run(0.5)
    k = SHARE[kind]
    (event,) = sim.events
    assert event.kind == 'stick'
    # a ball: 2/7 v / (mu g), and 5/7 of the speed is left
    assert event.time == pytest.approx(speed * k / (1.0 + k) / (mu * G), abs=EXACT)
    assert np.linalg.norm(sim.v[:3]) == pytest.approx(speed / (1.0 + k), abs=EXACT)
    lost = 0.5 * MASS * speed**2 * k / (1.0 + k)
    assert sim.energy().dissipated == pytest.approx(lost, rel=1e-6)
    assert abs(sim.energy().balance - start) < 1e-7


@pytest.mark.parametrize('mode', ['slide', 'stick'])
@pytest.mark.parametrize('kind', ['ball', 'ball on sphere', 'ball on cylinder', 'wheel'])
def test_rows_and_bias_are_derivatives(kind, mode):
    """Rows against the rate of the gap, bias against the rate of J_C v along the motion."""
    for seed in range(4):
        rng = np.random.default_rng([seed, 17])
        tree = random_description(rng, 8, damping=0.0)
        q, v, _ = random_state(rng, tree)
        model = random_loops(rng, tree, q, 1, (LoopType.SURFACE,))
        loop = model.loops[0]
        contact = Contact(
            surface=kind.rpartition('on ')[2] if ' on ' in kind else 'plane',
            radius=0.7,
            normal=loop.parent_axis,
            unilateral=False,
            mu=0.5,
            **{kind.split()[0]: 0.13},
        )
        robot = ccd.Mechanism(replace(model, loops=(replace(loop, contact=contact),)))
        if mode == 'stick':
            record = robot.structure.loops[0]
            record['mode'], record['n_rows'] = STICK, 3
            robot.build()
        J_C, _, bias = ccd.constraint_jacobian(robot, q, v)

        def at(t):
            return ccd.constraint_jacobian(robot, ccd.integrate(robot, q, t * v))

        rates = [at(side * STEP)[0] @ v for side in (-1.0, 1.0)]
        slope = (rates[1] - rates[0]) / (2.0 * STEP)
        assert relative_error(bias, slope, at_least=10.0) < 10.0 * FIRST
        if mode == 'slide':  # rolling has no position; the gap has
            gaps = [at(side * STEP)[1] for side in (-1.0, 1.0)]
            slope = (gaps[1] - gaps[0]) / (2.0 * STEP)
            assert relative_error(J_C @ v, slope, at_least=1.0) < FIRST


def over_the_dome(mu, tip, radius):
    """Return (time, angle) of slip and of lift-off of a ball on a dome, by SciPy."""
    way, k = radius + R, SHARE['ball']

    def push(x):  # normal force over mass
        return G * np.cos(x[0]) - way * x[1] ** 2

    def rolling(_, x):
        return [x[1], G * np.sin(x[0]) / (1.0 + k) / way]

    def slipping(_, x):
        return [x[1], (G * np.sin(x[0]) - mu * push(x)) / way]

    def slips(_, x):
        return mu * push(x) - G * np.sin(x[0]) * k / (1.0 + k)

    def leaves(_, x):
        return push(x)

    slips.terminal = leaves.terminal = True
    found, start = [], (0.0, [tip, 0.0])
    for motion, event in ((rolling, slips), (slipping, leaves)):
        run = solve_ivp(
            motion, (start[0], 10.0), start[1], 'DOP853', events=event, rtol=1e-12, atol=1e-14
        )
        start = run.t_events[0][0], run.y_events[0][0]
        found.append((start[0], start[1][0]))
    return found


@pytest.mark.parametrize('integrator', ['rk4', 'adaptive'])
@pytest.mark.parametrize('mu', [0.3, 0.6, 2.0, 50.0])
def test_a_ball_rolls_over_a_dome_slips_once_and_leaves_it_where_it_should(mu, integrator):
    """Friction holds until it is f = 2/7 m g sin(a) > mu n, and then the slip only grows."""
    robot, q = roller('ball', mu)
    loop = robot.description.loops[0]
    dome = replace(loop.contact, surface='sphere', radius=1.0)
    robot = ccd.Mechanism(replace(robot.description, loops=(replace(loop, contact=dome),)))
    tip = 0.1
    q[:3] = (1.0 + R) * np.array([np.sin(tip), 0.0, np.cos(tip)])
    sim = ccd.Simulation(robot, q=q, dt=1e-3, integrator=integrator)
    while not sim.events or sim.events[-1].kind != 'lift_off':
        sim.step()
    assert [event.kind for event in sim.events] == ['slip', 'lift_off']
    # friction of a slow contact keeps its direction for a step, while the dome turns under it
    expected, within = over_the_dome(mu, tip, 1.0), 2e-5
    for event, (when, angle) in zip(sim.events, expected):
        assert event.time == pytest.approx(when, abs=within)
        x, _, z = sim.log.q[np.flatnonzero(sim.log.time <= event.time)[-1], :3]
        assert np.arctan2(x, z) == pytest.approx(angle, abs=10.0 * within)
    if mu == 50.0:  # without slip at cos(a) = 10/17 cos(tip)
        assert np.cos(expected[1][1]) == pytest.approx(10.0 / 17.0 * np.cos(tip), abs=1e-3)
    assert abs(sim.energy().lost) < 1e-12  # rounding


def test_a_wheel_is_refused_where_it_cannot_roll():
    text = """<robot name="r" xmlns:cc="urn:closed_chain_dynamics">
      <link name="world"/> <link name="body"> <inertial> <mass value="1"/>
      <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/> </inertial> </link>
      <joint name="j" type="floating"> <parent link="world"/> <child link="body"/> </joint>
      <constraint name="c" type="surface"> <parent link="world"/> <child link="body"/>
      <child_axis xyz="0 1 0"/> <parent_axis xyz="0 0 1"/>
      <cc:contact {}/> </constraint> </robot>"""
    with pytest.raises(ccd.DescriptionError, match='wheel'):
        ccd.load(text.format('surface="sphere" radius="1" wheel="0.1"'))
    robot = ccd.load(text.format('wheel="0.1" mu="0.3"'))
    assert robot.description.loops[0].contact.wheel == 0.1
    with pytest.raises(ccd.DescriptionError, match='does not roll'):
        robot.set_surface('c', lambda x, y, z: z)
