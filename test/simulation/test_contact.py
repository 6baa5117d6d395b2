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
Contacts with friction against closed forms: stick and slip, touch-down, lift-off, surfaces.

Blocks, balls, rods and beads whose motion can be written down, or follows from an equation of one
unknown that SciPy integrates here. Nothing of the package's contact law enters the expectations.
"""

from dataclasses import replace

from helpers.random_mechanisms import (
    random_description,
    random_loops,
    random_state,
    relative_error,
)
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import (
    Actuator,
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
from closed_chain_dynamics.dynamics.contacts import contact_forces, contact_wrenches

G = 9.80665
EXACT = 1e-9  # motion under constant forces, which RK4 integrates exactly: rounding
EVENT = 1e-9  # events against closed forms [s]; they are located to 1e-13 s
BOOKS = 1e-6  # energy balance, relative
STEP = 1e-6  # of central differences
FIRST = 2e-8  # rounding 1e-16 / 1e-6 and curvature 1e-12, sizes of a few metres on top
SECOND_STEP = 1e-4
SECOND = 5e-6  # rounding 1e-16 / 1e-8 and curvature 1e-8, sizes as above
INTEGRATED = 1e-7  # RK4 with 1 ms on smooth motions of a second, and SciPy with 1e-11


def free_body(
    *points,
    contact,
    mass=2.0,
    inertia=(0.02, 0.03, 0.04),
    active=True,
    tilt=0.0,
    com=(0.0, 0.0, 0.0),
):
    """Return a free body with points on a plane that is tilted about y, downhill towards +x."""
    links = (
        Link('world'),
        Link(
            'body', Inertia(mass, Pose(com), (inertia[0], 0.0, 0.0, inertia[1], 0.0, inertia[2]))
        ),
    )
    joints = (Joint('float', JointType.FLOATING, 'world', 'body'),)
    slope = Pose((0.0, 0.0, 0.0), (0.0, tilt, 0.0))
    loops = tuple(
        LoopJoint(
            f'p{k}',
            LoopType.SURFACE,
            'world',
            'body',
            slope,
            Pose(tuple(point)),
            contact=contact,
            active=active,
        )
        for k, point in enumerate(points)
    )
    return ccd.Mechanism(Description('free', links, joints, loops))


def slider(contact, *, axes='xyz', mass=2.0, active=True, tilt=0.0, shape_at=(0.0, 0.0, 0.0)):
    """Return a point mass on prismatic joints, with one contact; it cannot turn."""
    links, joints, parent = [Link('world')], [], 'world'
    for axis in axes:
        last = axis == axes[-1]
        inertia = Inertia(mass, Pose(), (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)) if last else None
        links.append(Link(f'l{axis}', inertia))
        direction = tuple(float(axis == each) for each in 'xyz')
        joints.append(Joint(axis, JointType.PRISMATIC, parent, f'l{axis}', axis=direction))
        parent = f'l{axis}'
    loop = LoopJoint(
        'on',
        LoopType.SURFACE,
        'world',
        parent,
        Pose(shape_at, (0.0, tilt, 0.0)),
        contact=contact,
        active=active,
    )
    return ccd.Mechanism(Description('slider', tuple(links), tuple(joints), (loop,)))


def kinds(sim):
    """Return the kinds of all events so far."""
    return [event.kind for event in sim.events]


def books_close(sim, start):
    """Return whether the energy books close, relative to what has been turned over."""
    energy = sim.energy()
    size = max(abs(start), abs(energy.kinetic), abs(energy.dissipated), abs(energy.work), 1.0)
    return abs(energy.balance - start) < BOOKS * size


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


# --- several contacts at once ------------------------------------------------------------------
CORNERS = [(x, y, -0.1) for x in (-0.3, 0.3) for y in (-0.2, 0.2)]


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


# --- touch-down, bouncing, lift-off -------------------------------------------------------------
@pytest.mark.parametrize(
    ('integrator', 'dt'), [('rk4', 1e-2), ('rk4', 0.2), ('adaptive', 0.1), ('euler', 1e-4)]
)
def test_a_falling_ball_touches_down_at_the_instant_of_the_closed_form(integrator, dt):
    sim = ccd.Simulation(
        slider(Contact(), active=False), q=np.array([0.0, 0.0, 1.3]), dt=dt, integrator=integrator
    )
    sim.run(1.0)
    (event,) = sim.events
    assert event.kind == 'touch_down'
    # the Euler method moves the fall itself by half a step
    assert event.time == pytest.approx(
        np.sqrt(2.0 * 1.3 / G), abs=dt if integrator == 'euler' else EVENT
    )
    assert np.abs(sim.v).max() < 1e-12 and abs(sim.q[2]) < 1e-12
    assert event.energy_lost == pytest.approx(2.0 * G * 1.3, rel=1e-3 if dt == 1e-4 else EXACT)
    assert event.impulse == pytest.approx([2.0 * np.sqrt(2.0 * G * 1.3)], rel=1e-3)


@pytest.mark.parametrize('integrator', ['rk4', 'adaptive'])
def test_a_bouncing_ball_bounces_when_the_series_says_until_it_rests(integrator):
    e, height = 0.5, 0.8
    sim = ccd.Simulation(
        slider(Contact(restitution=e), active=False),
        q=np.array([0.0, 0.0, height]),
        dt=0.05,
        integrator=integrator,
    )
    start = sim.energy().balance
    sim.run(2.0)
    speed, t, expected = np.sqrt(2.0 * G * height), np.sqrt(2.0 * height / G), []
    while speed > 1e-3:
        expected.append(t)
        speed *= e
        t += 2.0 * speed / G
    expected.append(t)  # too slow to bounce again
    assert kinds(sim) == ['bounce'] * (len(expected) - 1) + ['touch_down']
    assert np.abs(np.array([event.time for event in sim.events]) - expected).max() < 1e-8
    assert np.abs(sim.v).max() < 1e-12
    assert books_close(sim, start)


def test_a_box_that_falls_flat_bounces_without_turning():
    robot = free_body(*CORNERS, contact=Contact(restitution=0.6), active=False)
    sim = ccd.Simulation(robot, q=np.array([0.0, 0.0, 0.6, 0.0, 0.0, 0.0, 1.0]), dt=1e-2)
    sim.run(0.5)
    assert kinds(sim) == ['bounce'] * 4
    assert np.abs(sim.v[3:]).max() < 1e-10
    assert sim.events[0].time == pytest.approx(np.sqrt(2.0 * 0.5 / G), abs=EVENT)


def test_a_rocking_rod_lets_go_at_one_end_when_the_other_hits():
    """With heavy ends the blow on one end throws the other up: a support cannot pull it back."""
    mass, inertia, r, tip, rate = 2.0, 1.5, 0.5, 0.05, 0.8
    robot = free_body(
        (-r, 0.0, 0.0),
        (r, 0.0, 0.0),
        contact=Contact(),
        mass=mass,
        inertia=(0.01, inertia, inertia),
    )
    robot.cut('p1')
    q = np.array([0.0, 0.0, r * np.sin(tip), 0.0, -np.sin(tip / 2.0), 0.0, np.cos(tip / 2.0)])
    # the middle falls with the turn, straight down: the floor is smooth
    v = np.array([0.0, 0.0, -r * rate * np.cos(tip), 0.0, rate, 0.0])
    v[:3] = (
        np.array(
            [[np.cos(tip), 0.0, np.sin(tip)], [0.0, 1.0, 0.0], [-np.sin(tip), 0.0, np.cos(tip)]]
        )
        @ v[:3]
    )
    sim = ccd.Simulation(robot, q=q, v=v, dt=1e-3)
    start = sim.energy().balance
    sim.run(0.2)
    assert [(event.kind, event.name) for event in sim.events[:2]] == [
        ('touch_down', 'p1'),
        ('lift_off', 'p0'),
    ]
    # turning about the resting end before and about the other after, at half the rate
    about_end = mass * r * r + inertia
    hit = (
        (mass * (r * np.cos(tip)) ** 2 + inertia) * rate**2 + 2.0 * mass * G * r * np.sin(tip)
    ) / about_end  # square of the rate at the blow
    share = (inertia - mass * r * r) / about_end
    assert share == 0.5
    assert sim.events[0].energy_lost == pytest.approx(
        0.5 * about_end * hit * (1.0 - share**2), rel=1e-8
    )
    assert books_close(sim, start)


def test_a_ladder_leaves_the_wall_when_its_equation_says():
    """A smooth ladder slides down; the wall lets go at two thirds of its first height."""
    length, mass, start = 2.0, 3.0, 1.2
    inertia = mass * length**2 / 12.0
    links = (
        Link('world'),
        Link('ladder', Inertia(mass, Pose(), (inertia, 0.0, 0.0, inertia, 0.0, 1e-3))),
    )
    joints = (Joint('plane', JointType.PLANAR, 'world', 'ladder', axis=(0.0, -1.0, 0.0)),)
    end = length / 2.0
    loops = (
        LoopJoint(
            'floor',
            LoopType.SURFACE,
            'world',
            'ladder',
            child_origin=Pose((0.0, 0.0, -end)),
            contact=Contact(),
        ),
        LoopJoint(
            'wall',
            LoopType.SURFACE,
            'world',
            'ladder',
            child_origin=Pose((0.0, 0.0, end)),
            contact=Contact(normal=(1.0, 0.0, 0.0)),
        ),
    )
    robot = ccd.Mechanism(Description('ladder', links, joints, loops))
    # the angle from the floor: the foot at x = l cos, the top at z = l sin
    R = np.array(
        [
            [np.sin(start), 0.0, -np.cos(start)],
            [0.0, 1.0, 0.0],
            [np.cos(start), 0.0, np.sin(start)],
        ]
    )
    middle = end * np.array([np.cos(start), 0.0, np.sin(start)])
    q = planar_state(robot, middle, R)
    sim = ccd.Simulation(robot, q=q, dt=1e-3)
    sim.run(0.9)
    run = solve_ivp(
        lambda t, x: [x[1], -1.5 * G / length * np.cos(x[0])],
        (0.0, 2.0),
        [start, 0.0],
        rtol=1e-12,
        atol=1e-13,
        dense_output=True,
        events=lambda t, x: np.sin(x[0]) - 2.0 / 3.0 * np.sin(start),
    )
    off = [event for event in sim.events if event.kind == 'lift_off']
    assert off[0].name == 'wall'
    assert off[0].time == pytest.approx(run.t_events[0][0], abs=EVENT * 10)


def planar_state(robot, position, R):
    """Return the configuration of one planar joint that puts its link at a placement."""
    best, q = np.inf, None
    for turn in np.linspace(-np.pi, np.pi, 721):
        trial = robot.neutral()
        trial[2:4] = np.cos(turn), np.sin(turn)
        error = np.abs(ccd.link_placement(robot, trial, 'ladder')[:3, :3] - R).max()
        if error < best:
            best, q = error, trial
    for _ in range(8):  # Newton on the angle
        X = ccd.link_placement(robot, q, 'ladder')
        J = ccd.jacobian(robot, q, 'ladder')
        skew = 0.5 * (R @ X[:3, :3].T - (R @ X[:3, :3].T).T)
        error = np.concatenate([position - X[:3, 3], [skew[2, 1], skew[0, 2], skew[1, 0]]])
        q = ccd.integrate(robot, q, np.linalg.lstsq(J, error, rcond=None)[0])
    return q


# --- surfaces ------------------------------------------------------------------------------------
@pytest.mark.parametrize(('integrator', 'dt'), [('rk4', 1e-3), ('adaptive', 0.05)])
def test_a_bead_on_a_sphere_leaves_it_at_two_thirds_of_its_radius(integrator, dt):
    radius, tip = 0.5, 0.1
    robot = slider(Contact(surface='sphere', radius=radius))
    q = radius * np.array([np.sin(tip), 0.0, np.cos(tip)])
    sim = ccd.Simulation(robot, q=q, dt=dt, integrator=integrator, tolerance=1e-10)
    start = sim.energy().balance
    sim.run(0.7)
    off = sim.events[0]
    assert off.kind == 'lift_off'
    run = solve_ivp(
        lambda t, x: [x[1], G / radius * np.sin(x[0])],
        (0.0, 2.0),
        [tip, 0.0],
        rtol=1e-12,
        atol=1e-13,
        events=lambda t, x: np.cos(x[0]) - 2.0 / 3.0 * np.cos(tip),
    )
    assert off.time == pytest.approx(run.t_events[0][0], abs=10 * EVENT)
    # then it flies: a parabola from cos = 2/3 cos(tip), with the speed that it has there
    angle = np.arccos(2.0 / 3.0 * np.cos(tip))
    speed = np.sqrt(2.0 * G * radius * (np.cos(tip) - np.cos(angle)))
    t = sim.time - off.time
    expected = (
        radius * np.array([np.sin(angle), 0.0, np.cos(angle)])
        + t * speed * np.array([np.cos(angle), 0.0, -np.sin(angle)])
        - 0.5 * G * t**2 * np.array([0.0, 0.0, 1.0])
    )
    assert np.abs(sim.q - expected).max() < INTEGRATED
    assert books_close(sim, start)


def test_a_bead_held_on_a_sphere_is_a_spherical_pendulum():
    radius = 0.7
    robot = slider(Contact(surface='sphere', radius=radius, unilateral=False))
    theta, rate, turn = 2.0, 0.5, 2.5  # from the top; turning about z
    q = radius * np.array([np.sin(theta), 0.0, np.cos(theta)])
    v = radius * np.array([np.cos(theta) * rate, np.sin(theta) * turn, -np.sin(theta) * rate])
    sim = ccd.Simulation(robot, q=q, v=v, dt=5e-4, log_every=0)
    sim.run(1.0)
    momentum = np.sin(theta) ** 2 * turn
    run = solve_ivp(
        lambda t, x: [
            x[1],
            momentum**2 * np.cos(x[0]) / np.sin(x[0]) ** 3 + G / radius * np.sin(x[0]),
            momentum / np.sin(x[0]) ** 2,
        ],
        (0.0, 1.0),
        [theta, rate, 0.0],
        rtol=1e-11,
        atol=1e-12,
    )
    t, _, p = run.y[:, -1]
    expected = radius * np.array([np.sin(t) * np.cos(p), np.sin(t) * np.sin(p), np.cos(t)])
    assert np.abs(sim.q - expected).max() < INTEGRATED


def test_a_bead_on_a_cylinder_swings_across_and_glides_along():
    radius, tip, glide = 0.6, 2.6, 0.4
    robot = slider(
        Contact(surface='cylinder', radius=radius, unilateral=False, normal=(0.0, 1.0, 0.0))
    )  # its axis along y
    q = radius * np.array([np.sin(tip), 0.0, np.cos(tip)])
    sim = ccd.Simulation(robot, q=q, v=np.array([0.0, glide, 0.0]), dt=5e-4, log_every=0)
    sim.run(1.0)
    run = solve_ivp(
        lambda t, x: [x[1], G / radius * np.sin(x[0])],
        (0.0, 1.0),
        [tip, 0.0],
        rtol=1e-11,
        atol=1e-12,
    )
    angle = run.y[0, -1]
    assert (
        np.abs(sim.q - [radius * np.sin(angle), glide, radius * np.cos(angle)]).max() < INTEGRATED
    )


def test_a_bead_in_a_paraboloid_given_as_a_function_moves_as_lagrange_says():
    robot = slider(Contact(unilateral=False))
    robot.set_surface('on', lambda x, y, z: z - x * x - y * y)
    q, v = np.array([0.5, 0.2, 0.29]), np.array([-0.3, 1.0, 2 * 0.5 * -0.3 + 2 * 0.2 * 1.0])
    sim = ccd.Simulation(robot, q=q, v=v, dt=5e-4)
    start = sim.energy().balance
    sim.run(1.5)

    def lagrange(t, x):  # L = (r'^2 + (2 r.r')^2) / 2 - g r^2 with r = (x, y)
        r, w = x[:2], x[2:]
        M = np.eye(2) + 4.0 * np.outer(r, r)
        return np.concatenate([w, np.linalg.solve(M, -4.0 * r * (w @ w) - 2.0 * G * r)])

    run = solve_ivp(lagrange, (0.0, 1.5), [*q[:2], *v[:2]], rtol=1e-11, atol=1e-12)
    x, y = run.y[:2, -1]
    assert np.abs(sim.q - [x, y, x * x + y * y]).max() < INTEGRATED
    assert np.max(sim.log.loop_error) < 1e-12
    assert books_close(sim, start)


def test_a_function_and_a_built_in_surface_give_the_same_forces():
    sphere = slider(Contact(surface='sphere', radius=0.7, mu=0.3, unilateral=False))
    given = slider(Contact(mu=0.3, unilateral=False))
    given.set_surface('on', lambda x, y, z: 5.0 * (x * x + y * y + z * z - 0.49))
    q = 0.7 * np.array([0.48, 0.6, 0.64])
    v = np.cross([0.3, -1.0, 0.8], q)
    results = []
    for robot in (sphere, given):
        a = ccd.forward_dynamics(robot, q, v).acceleration
        normal, drag = contact_forces(robot, q, v)['on']
        results.append(np.concatenate([a, [normal], drag]))
    assert np.abs(results[0] - results[1]).max() < 1e-8  # the bend is a difference


@pytest.mark.parametrize(
    'function', [lambda x, y, z: abs(x) + z, lambda x, y, z: 3.0 + 0.0 * x, lambda x, y: x - y]
)
def test_a_surface_that_has_no_gradient_is_refused(function):
    with pytest.raises(ccd.DescriptionError, match="loop joint 'on'"):
        slider(Contact()).set_surface('on', function)


@pytest.mark.parametrize('shape', ['sphere', 'cylinder', 'stick'])
def test_rows_and_bias_of_contacts_are_the_derivatives_of_their_errors(shape):
    for seed in range(4):
        rng = np.random.default_rng([seed, 11])
        tree = random_description(rng, 8, damping=0.0)
        q, v, _ = random_state(rng, tree)
        model = random_loops(rng, tree, q, 1, (LoopType.SURFACE,))
        contact = Contact(
            surface='plane' if shape == 'stick' else shape,
            radius=0.7,
            normal=model.loops[0].parent_axis,
            unilateral=False,
            mu=0.5,
        )
        robot = ccd.Mechanism(replace(model, loops=(replace(model.loops[0], contact=contact),)))
        if shape == 'stick':
            stick(robot)
        J_C, here, bias = ccd.constraint_jacobian(robot, q, v)
        assert J_C.shape[0] == (3 if shape == 'stick' else 1)

        def error(t):
            return ccd.constraint_jacobian(robot, ccd.integrate(robot, q, t * v))[1]

        assert (
            relative_error(J_C @ v, (error(STEP) - error(-STEP)) / (2.0 * STEP), at_least=1.0)
            < FIRST
        )
        second = (error(SECOND_STEP) - 2.0 * here + error(-SECOND_STEP)) / SECOND_STEP**2
        assert relative_error(bias, second, at_least=10.0) < SECOND


def stick(robot):
    """Put the only contact of a mechanism into the state in which it sticks."""
    from closed_chain_dynamics.kernels.records import STICK

    loop = robot.structure.loops[0]
    loop['mode'], loop['n_rows'] = STICK, 3
    robot.build()


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
