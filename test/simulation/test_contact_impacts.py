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

"""Impacts of contacts with friction: stick or slide in the impact itself, and no energy gained."""

from dataclasses import replace

from helpers.touching_bodies import G, RandomContacts, body_on_slope, corners_of, solid_box
from hypothesis import given, settings, strategies as st
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import (
    Contact,
    Description,
    Inertia,
    Joint,
    JointType,
    Link,
    LoopJoint,
    LoopType,
    Pose,
)
from closed_chain_dynamics.dynamics.contact_impacts import contact_impact

EXACT = 1e-9
NO_GAIN = 1e-10  # share of the energy that rounding may add


def rocking_block(b, h, tip, **contact):
    """Return a block of half sizes b, h that stands tipped on two corners, and its pose."""
    mass = 2.0
    robot, _ = body_on_slope(
        corners_of(b, 0.1, h),
        Contact(**contact),
        inertia=(1.0, mass / 3.0 * (b * b + h * h), 1.0),
        active=False,
    )
    lowest = b * np.sin(tip) + h * np.cos(tip)
    return robot, np.array([0.0, 0.0, lowest, 0.0, np.sin(tip / 2.0), 0.0, np.cos(tip / 2.0)])


@pytest.mark.parametrize(('b', 'h'), [(0.1, 0.3), (0.1, 0.2), (0.05, 0.4)])
def test_a_rocking_block_loses_what_housner_says(b, h):
    """From corner to corner the spin becomes 1 - 3/2 sin^2(alpha) of it, tan(alpha) = b / h."""
    robot, q = rocking_block(b, h, 0.05, mu=2.0)
    sim = ccd.Simulation(robot, q=q, dt=1e-3)
    start = sim.energy().balance
    spins = []
    while len(sim.events) < 4 and sim.time < 1.0:
        spins.append(sim.v[4])
        sim.step()
    hit = sim.events[0]
    # the spin just before: potential energy of the tipped block, about its corner
    r2 = b * b + h * h
    drop = b * np.sin(0.05) + h * np.cos(0.05) - h
    before = np.sqrt(2.0 * G * drop / (4.0 / 3.0 * r2))
    share = 1.0 - 1.5 * b * b / r2
    lost = 0.5 * 2.0 * 4.0 / 3.0 * r2 * before**2 * (1.0 - share**2)
    assert hit.kind == 'touch_down'
    assert sum(event.energy_lost for event in sim.events[:4]) == pytest.approx(lost, rel=1e-6)
    assert abs(sim.energy().balance - start) < 1e-8


def test_a_squat_block_stops_at_its_first_impact():
    """Housner's share is negative below h / b = 1 / sqrt(2): both corners take the impact."""
    robot, q = rocking_block(0.3, 0.1, 0.05, mu=2.0)
    sim = ccd.Simulation(robot, q=q, dt=1e-3)
    sim.run(0.5)
    assert np.abs(sim.v).max() < 1e-9


@pytest.mark.parametrize(('speed', 'sticks'), [(0.8, True), (3.0, False)])
def test_a_ball_that_lands_obliquely_rolls_off_or_slides_on(speed, sticks):
    """The impulse that makes it roll is 2/7 m v_t; friction gives at most mu m v_n."""
    mu, drop, r, mass = 0.2, 1.5, 0.1, 2.0
    robot, q = body_on_slope(
        [(0.0, 0.0, 0.0)], Contact(mu=mu, ball=r), inertia=(0.4 * mass * r * r,) * 3, active=False
    )
    q[2] = r
    v = np.array([speed, 0.0, -drop, 0.0, 0.0, 0.0])
    hit = contact_impact(robot, q, v, [0], [0])
    after = hit.impact.v_after
    if sticks:
        assert after[0] == pytest.approx(5.0 / 7.0 * speed, rel=EXACT)
        assert after[4] == pytest.approx(after[0] / r, rel=EXACT)
    else:
        assert after[0] == pytest.approx(speed - mu * drop, rel=EXACT)
        assert after[4] == pytest.approx(mu * drop / (0.4 * r), rel=EXACT)
    assert abs(after[2]) < EXACT and hit.open == frozenset()
    assert hit.impact.impulse_of('p0')[2] == pytest.approx(mass * drop, rel=EXACT)


def test_a_ball_with_restitution_leaves_with_spin_from_both_phases():
    mu, e, drop, speed, r = 0.1, 0.5, 2.0, 3.0, 0.1
    robot, q = body_on_slope(
        [(0.0, 0.0, 0.0)],
        Contact(mu=mu, ball=r, restitution=e),
        inertia=(0.4 * 2.0 * r * r,) * 3,
        active=False,
    )
    q[2] = r
    hit = contact_impact(robot, q, np.array([speed, 0.0, -drop, 0.0, 0.0, 0.0]), [0], [0])
    after = hit.impact.v_after
    assert after[2] == pytest.approx(e * drop, rel=EXACT)
    assert after[0] == pytest.approx(speed - mu * (1.0 + e) * drop, rel=EXACT)  # it slides on
    assert hit.open == {0}


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.integers(1, 2), st.sampled_from([0.0, 0.3, 0.9, 1.0]))
def test_random_impacts_keep_coulombs_law_and_never_gain_energy(seed, bodies, e):
    rng = np.random.default_rng(seed)
    case = RandomContacts(rng, bodies, restitution=e, active=False)
    v = rng.normal(size=case.robot.nv)
    loops = list(range(len(case.touches)))
    hit = contact_impact(case.robot, case.q, v, loops, loops)
    before, after = hit.impact.energy_before, hit.impact.energy_after
    assert after <= before * (1.0 + NO_GAIN)
    M = ccd.mass_matrix(case.robot, case.q)
    gained, total = M @ (hit.impact.v_after - v), np.zeros(case.robot.nv)
    size = max(np.abs(gained).max(), 1e-12)
    for k, (upper, lower, point, normal, mu) in enumerate(case.touches):
        rows = hit.impact.impulse_of(f'c{k}')
        R = case.robot.workspace.frames[k]['R_1']
        force = R @ rows
        push = force @ normal
        assert push >= -1e-8 * size
        assert np.linalg.norm(force - push * normal) <= mu * push + 1e-8 * size
        for body, sign in ((upper, 1.0), (lower, -1.0)):
            if body >= 0:  # pose zero: the axes of all bodies are those of the world
                total[6 * body : 6 * body + 6] += sign * np.append(force, np.cross(point, force))
        if e == 0.0:  # and no point goes in
            away = 0.0
            for body, sign in ((upper, 1.0), (lower, -1.0)):
                if body >= 0:
                    w = hit.impact.v_after[6 * body : 6 * body + 6]
                    away += sign * normal @ (w[:3] + np.cross(w[3:], point))
            assert away >= -1e-8 * np.abs(v).max()
    assert np.abs(total - gained).max() < 1e-8 * size


def test_the_inertia_of_a_rotor_counts_in_an_impact():
    """A hinged bar hits a stop: p r = (I + armature) omega."""
    links = (
        Link('world'),
        Link('bar', Inertia(1.5, Pose((0.4, 0.0, 0.0)), (0.1, 0.0, 0.0, 0.1, 0.0, 0.1))),
    )
    joint = Joint('hinge', JointType.CONTINUOUS, 'world', 'bar', axis=(0.0, 1.0, 0.0))
    rotor = 0.7
    joint = replace(joint, dynamics=replace(joint.dynamics, armature=rotor))
    stop = LoopJoint(
        'stop',
        LoopType.SURFACE,
        'world',
        'bar',
        child_origin=Pose((0.8, 0.0, 0.0)),
        contact=Contact(),
        active=False,
    )
    robot = ccd.Mechanism(Description('flail', links, (joint,), (stop,)))
    omega = 2.0  # about y: the tip goes down
    hit = contact_impact(robot, np.zeros(1), np.array([omega]), [0], [0])
    inertia = 0.1 + 1.5 * 0.4**2 + rotor
    assert hit.impact.impulse_of('stop')[0] * 0.8 == pytest.approx(inertia * omega, rel=EXACT)
    assert hit.impact.energy_lost == pytest.approx(0.5 * inertia * omega**2, rel=EXACT)
    assert np.abs(hit.impact.v_after).max() < EXACT


def test_what_closing_the_gap_takes_is_booked_and_shown():
    """Four corners that touch a little apart in height are brought onto the plane."""
    robot, q = body_on_slope(
        corners_of(0.3, 0.2, 0.1),
        Contact(mu=0.5),
        active=False,
        inertia=solid_box(2.0, 0.3, 0.2, 0.1),
    )
    q[2] += 0.05
    q[3] = 1e-9
    sim = ccd.Simulation(robot, q=q, dt=1e-3)
    start = sim.energy().balance
    sim.run(0.5)
    assert abs(sim.energy().balance - start) < 1e-9
    total = sum(event.energy_lost + event.energy_of_gap for event in sim.events)
    assert total == pytest.approx(sim.energy().lost, rel=1e-6)
    assert 'taken by the gap' in sim.log._repr_html_()
