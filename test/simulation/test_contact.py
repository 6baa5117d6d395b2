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

"""
Contacts with friction against closed forms: stick and slip, and several contacts at once.

Blocks and boxes whose motion can be written down, or follows from an equation of one unknown that
SciPy integrates here. Nothing of the package's contact law enters the expectations.
"""

from dataclasses import replace

from helpers.contact_bodies import CORNERS, G, books_close, free_body, kinds, slider
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import Actuator, Contact
from closed_chain_dynamics.dynamics.contacts import contact_forces, contact_wrenches

EXACT = 1e-9  # motion under constant forces, which RK4 integrates exactly: rounding
EVENT = 1e-9  # events against closed forms [s]; they are located to 1e-13 s
INTEGRATED = 1e-7  # RK4 with 1 ms on smooth motions of a second, and SciPy with 1e-11


# --- stick and slip --------------------------------------------------------------------------
@pytest.mark.parametrize('integrator', ['euler', 'rk4', 'adaptive'])
@pytest.mark.parametrize('share', [0.5, 0.999])
def test_a_block_below_the_friction_angle_stays_where_it_is(share, integrator):
    mu = 0.5
    robot = slider(Contact(mu=mu), tilt=share * np.arctan(mu))
    sim = ccd.Simulation(robot, dt=1e-2, integrator=integrator)
    sim.run(1.0)
    assert not np.any(sim.q) and not np.any(sim.v) and sim.events == []
    normal, drag = contact_forces(sim.robot, sim.q, sim.v)['on']
    assert normal == pytest.approx(2.0 * G * np.cos(share * np.arctan(mu)), rel=EXACT)
    assert np.linalg.norm(drag) == pytest.approx(
        2.0 * G * np.sin(share * np.arctan(mu)), rel=EXACT
    )


@pytest.mark.parametrize('share', [1.001, 1.8])
def test_a_block_above_the_friction_angle_slides_at_the_known_rate(share):
    mu = 0.5
    tilt = share * np.arctan(mu)
    sim = ccd.Simulation(slider(Contact(mu=mu), tilt=tilt), dt=1e-2)
    start = sim.energy().balance
    sim.run(1.0)
    rate = G * (np.sin(tilt) - mu * np.cos(tilt))
    along = np.array([np.cos(tilt), 0.0, -np.sin(tilt)])
    assert np.abs(sim.v - rate * along).max() < EXACT
    assert np.abs(sim.q - 0.5 * rate * along).max() < EXACT
    assert books_close(sim, start)
    assert sim.energy().dissipated == pytest.approx(
        mu * 2.0 * G * np.cos(tilt) * 0.5 * rate, rel=EXACT
    )


def test_static_friction_holds_up_to_its_own_limit_and_sliding_friction_is_less():
    sim = ccd.Simulation(slider(Contact(mu=0.3, mu_static=0.6)), dt=1e-3)
    ramp = 10.0  # [N/s]
    dt = sim.dt
    slips = 0.6 * 2.0 * G / ramp

    def push(sim):
        sim.apply_wrench('lz', (ramp * (sim.time + 0.5 * dt), 0.0, 0.0, 0.0, 0.0, 0.0))

    push(sim)
    sim.run(2.0, callback=push)
    (event,) = sim.events
    assert event.kind == 'slip'
    assert event.time == pytest.approx(slips, abs=dt)  # the force changes once a step
    t = 2.0
    speed = (0.5 * ramp * (t**2 - slips**2) - 0.3 * 2.0 * G * (t - slips)) / 2.0
    assert sim.v[0] == pytest.approx(speed, abs=20.0 * dt)


@pytest.mark.parametrize(('integrator', 'dt'), [('rk4', 1e-2), ('rk4', 0.3), ('adaptive', 0.1)])
def test_a_sliding_block_stops_at_an_instant_and_stays(integrator, dt):
    mu, speed = 0.4, 2.0
    sim = ccd.Simulation(
        slider(Contact(mu=mu)), v=np.array([speed, 0.0, 0.0]), dt=dt, integrator=integrator
    )
    start = sim.energy().balance
    sim.run(0.9)
    (event,) = sim.events
    assert event.kind == 'stick'
    assert event.time == pytest.approx(speed / (mu * G), abs=EVENT)
    assert sim.q[0] == pytest.approx(speed**2 / (2.0 * mu * G), abs=EVENT)
    assert not np.any(sim.v)
    assert books_close(sim, start)


def test_friction_in_two_directions_stops_a_diagonal_slide_on_a_straight_line():
    mu, velocity = 0.3, np.array([1.2, -0.7, 0.0])
    sim = ccd.Simulation(slider(Contact(mu=mu)), v=velocity.copy(), dt=2e-3)
    sim.run(1.0)
    speed = np.linalg.norm(velocity)
    (event,) = sim.events
    assert event.kind == 'stick'
    assert event.time == pytest.approx(speed / (mu * G), abs=EVENT)
    assert np.abs(sim.q - velocity * speed / (2.0 * mu * G)).max() < EVENT


def test_a_block_pushed_across_a_slope_turns_downhill_and_slides_on():
    """A direction that turns by more than a right angle is no stop."""
    mu, tilt = 0.2, 0.4
    rate, drag = G * np.sin(tilt), mu * G * np.cos(tilt)
    sim = ccd.Simulation(
        slider(Contact(mu=mu), tilt=tilt),
        dt=1e-3,
        v=np.array([-1.5 * np.cos(tilt), 0.8, 1.5 * np.sin(tilt)]),
    )
    sim.run(1.5)
    run = solve_ivp(
        lambda t, x: [
            x[2],
            x[3],
            rate - drag * x[2] / np.hypot(x[2], x[3]),
            -drag * x[3] / np.hypot(x[2], x[3]),
        ],
        (0.0, 1.5),
        [0.0, 0.0, -1.5, 0.8],
        rtol=1e-11,
        atol=1e-13,
    )
    down, across = run.y[0, -1], run.y[1, -1]
    assert np.abs(sim.q - [down * np.cos(tilt), across, -down * np.sin(tilt)]).max() < INTEGRATED
    assert sim.events == []


def corner_loads(sim):
    """Return the normal forces of the four corners, and the sum of friction forces."""
    forces = contact_forces(sim.robot, sim.q, sim.v)
    return (
        np.array([forces[f'p{k}'][0] for k in range(4)]),
        sum(forces[f'p{k}'][1] for k in range(4)),
    )


@pytest.mark.parametrize('com', [(0.0, 0.0, 0.0), (0.05, -0.04, 0.02), (0.22, 0.1, 0.0)])
def test_a_box_stands_on_four_corners_and_does_not_chatter(com):
    """Three corners would be enough: the fourth is redundant."""
    robot = free_body(*CORNERS, contact=Contact(mu=0.5), com=com)
    q = np.array([0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 1.0])
    sim = ccd.Simulation(robot, q=q, dt=1e-2)
    sim.run(2.0)
    assert np.abs(sim.q - q).max() < 1e-10
    assert len(sim.events) <= 1  # a corner that the least forces would make pull lets go, once
    loads = {f'p{k}': 0.0 for k in range(4)}
    found = contact_forces(sim.robot, sim.q, sim.v)
    loads.update({name: force[0] for name, force in found.items()})
    loads = np.array([loads[f'p{k}'] for k in range(4)])
    assert loads.min() >= 0.0
    assert loads.sum() == pytest.approx(2.0 * G, rel=EXACT)
    assert np.abs(loads @ np.array(CORNERS)[:, :2] - 2.0 * G * np.array(com[:2])).max() < 1e-8
    if com == (0.0, 0.0, 0.0):
        assert np.abs(loads - 0.5 * G).max() < 1e-9


def test_a_box_on_a_slope_holds_below_the_friction_angle_and_slides_exactly_above_it():
    mu = 0.5
    for share, slides in ((0.95, False), (1.5, True)):
        tilt = share * np.arctan(mu)
        robot = free_body(*CORNERS, contact=Contact(mu=mu), tilt=tilt)
        q = np.array(
            [
                0.1 * np.sin(tilt),
                0.0,
                0.1 * np.cos(tilt),
                0.0,
                np.sin(tilt / 2.0),
                0.0,
                np.cos(tilt / 2.0),
            ]
        )
        sim = ccd.Simulation(robot, q=q, dt=1e-2)
        start = sim.energy().balance
        sim.run(0.5)
        moved = sim.q[:3] - q[:3]
        rate = G * (np.sin(tilt) - mu * np.cos(tilt)) if slides else 0.0
        expected = 0.5 * rate * 0.5**2 * np.array([np.cos(tilt), 0.0, -np.sin(tilt)])
        assert np.abs(moved - expected).max() < 1e-8
        loads, drag = corner_loads(sim)
        assert loads.sum() == pytest.approx(2.0 * G * np.cos(tilt), rel=1e-8)
        assert books_close(sim, start)


def test_a_sliding_box_stops_with_all_its_corners():
    mu, speed = 0.3, 1.5
    robot = free_body(*CORNERS, contact=Contact(mu=mu))
    v = np.array([speed, 0.0, 0.0, 0.0, 0.0, 0.0])
    sim = ccd.Simulation(robot, q=np.array([0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 1.0]), v=v, dt=5e-3)
    start = sim.energy().balance
    sim.run(1.0)
    assert sim.q[0] == pytest.approx(speed**2 / (2.0 * mu * G), abs=1e-8)
    assert kinds(sim) == ['stick'] * 4
    assert all(event.time == pytest.approx(speed / (mu * G), abs=1e-8) for event in sim.events)
    assert np.abs(sim.v).max() < 1e-12
    assert books_close(sim, start)


def test_the_forces_of_the_contacts_balance_the_body():
    robot = free_body(*CORNERS, contact=Contact(mu=0.3))
    q = np.array([0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 1.0])
    v = np.array([0.7, 0.4, 0.0, 0.0, 0.0, 0.9])
    a = ccd.forward_dynamics(robot, q, v).acceleration
    rest = ccd.newton_euler(robot, q, v, a, wrenches=contact_wrenches(robot, q, v))
    assert np.abs(rest).max() < EXACT
    forces = contact_forces(robot, q, v)
    w = ccd.reactions(robot, q, v, a)
    force, moment = np.zeros(3), np.zeros(3)
    for k in range(4):  # each drags against its own motion
        normal, drag = forces[f'p{k}']
        point = np.array([0.7, 0.4, 0.0]) + np.cross([0.0, 0.0, 0.9], CORNERS[k])
        point[2] = 0.0
        assert np.abs(drag + 0.3 * normal * point / np.linalg.norm(point)).max() < EXACT
        # and its reaction, found from the motion, is both forces
        assert np.abs(w[f'p{k}'].force - drag - [0.0, 0.0, normal]).max() < EXACT
        force += w[f'p{k}'].force
        moment += np.cross(CORNERS[k], w[f'p{k}'].force)
    # Newton and Euler, the velocity in axes that turn with the body
    linear = a[:3] + np.cross(v[3:], v[:3])
    assert np.abs(force - 2.0 * (linear + [0.0, 0.0, G])).max() < EXACT
    tensor = np.array([0.02, 0.03, 0.04])
    assert np.abs(moment - tensor * a[3:] - np.cross(v[3:], tensor * v[3:])).max() < EXACT
    assert max(w.check().values()) < EXACT and np.abs(w['float'].wrench).max() < EXACT


def test_a_point_held_on_both_sides_drags_when_it_is_pulled_and_inverse_dynamics_knows():
    """The motors of a slider: m a + K |f_n| along the way, with f_n = m (g + a_z) - F_z."""
    robot = slider(Contact(mu=0.4, unilateral=False))
    robot = ccd.Mechanism(replace(robot.description, actuators=tuple(map(Actuator, 'xyz'))))
    v, a = np.array([-0.5, 0.3, 0.0]), np.array([1.0, 2.0, 0.0])
    way = v[:2] / np.linalg.norm(v)
    for lift in (0.0, 50.0):
        f = ccd.forward_dynamics(robot, np.zeros(3), v, [1.0, 2.0, lift])
        f_n = 2.0 * G - lift
        assert f.acceleration[:2] == pytest.approx(
            (np.array([1.0, 2.0]) - 0.4 * abs(f_n) * way) / 2.0, abs=EXACT
        )
        assert f.constraint_forces == pytest.approx([f_n], abs=EXACT)
        assert max(f.check().values()) < EXACT
    r = ccd.inverse_dynamics(robot, np.zeros(3), v, a)
    f_n = 2.0 * G - r.tau_A[2]
    assert r.tau_A[:2] == pytest.approx(2.0 * a[:2] + 0.4 * abs(f_n) * way, abs=EXACT)
    assert max(r.check().values()) < EXACT


# --- bad input -------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ('attributes', 'culprit'),
    [
        ('restitution="1.2"', 'restitution'),
        ('surface="sphere"', 'radius'),
        ('surface="cylinder"', 'radius'),
        ('surface="torus"', 'torus'),
        ('mu="-0.1"', 'mu'),
        ('mu="0.5" mu_static="0.2"', 'mu_static'),
        ('stiffness="-1"', 'stiffness'),
    ],
)
def test_a_contact_that_makes_no_sense_is_refused(attributes, culprit):
    text = f"""<robot name="r" xmlns:cc="urn:closed_chain_dynamics">
      <link name="world"/> <link name="body"> <inertial> <mass value="1"/>
      <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/> </inertial> </link>
      <joint name="j" type="floating"> <parent link="world"/> <child link="body"/> </joint>
      <constraint name="c" type="surface"> <parent link="world"/> <child link="body"/>
      <cc:contact {attributes}/> </constraint> </robot>"""
    with pytest.raises(ccd.DescriptionError, match=culprit):
        ccd.load(text)
