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

"""Coulomb friction of joints: constant while they slide, and holding what it can at rest."""

from dataclasses import replace

from helpers.single_joints import ARM, MASS, SPIN, pendulum, slider, wheel
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import Dynamics

G = 9.80665
EXACT = 1e-9
BOOKS = 1e-9  # share of the energy turned over, to which the books close


def kinds(sim):
    """Return what happened, in order."""
    return [event.kind for event in sim.events]


@pytest.mark.parametrize('integrator', ['rk4', 'adaptive'])
def test_a_block_comes_to_rest(integrator):
    """Its way is m v^2 / (2 F), and its kinetic energy is what friction takes."""
    mass, force, speed = 2.0, 3.0, 1.5
    sim = ccd.Simulation(slider(mass, friction=force), v=[speed], integrator=integrator)
    sim.run(2.0)
    assert sim.q == pytest.approx([mass * speed**2 / (2.0 * force)], rel=EXACT)
    assert sim.v[0] == 0.0
    assert kinds(sim) == ['lock']
    assert sim.events[0].time == pytest.approx(mass * speed / force, abs=1e-8)
    assert (sim.events[0].mobility_before, sim.events[0].mobility_after) == (1, 0)
    assert sim.energy().dissipated == pytest.approx(0.5 * mass * speed**2, rel=EXACT)


def test_an_oscillator_loses_four_f_over_k_a_cycle_and_stops_in_the_dead_band():
    mass, force, stiffness = 2.0, 3.0, 50.0
    sim = ccd.Simulation(slider(mass, friction=force, stiffness=stiffness), q=[1.0])
    sim.run(12.0)
    half = np.pi * np.sqrt(mass / stiffness)
    turns = [1.0]
    while abs(turns[-1]) > force / stiffness:
        turns.append(-np.sign(turns[-1]) * (abs(turns[-1]) - 2.0 * force / stiffness))
    for k in range(1, len(turns)):
        at = np.searchsorted(sim.log.time, k * half)
        assert sim.log.q[at - 1 : at + 1, 0] == pytest.approx([turns[k]] * 2, abs=2e-5)
    assert sim.q == pytest.approx([turns[-1]], abs=1e-9)
    assert abs(sim.q[0]) < force / stiffness
    assert kinds(sim) == ['lock']
    assert sim.events[0].time == pytest.approx((len(turns) - 1) * half, abs=1e-7)
    assert np.ptp(sim.log.balance) < BOOKS * 25.0


@pytest.mark.parametrize(('inertia', 'friction'), [(1e-5, 0.1), (0.01, 10.0), (1e-8, 1.0)])
def test_stiff_friction_stops_a_light_wheel_and_its_books_close(inertia, friction):
    sim = ccd.Simulation(wheel(inertia, friction), v=[5.0])
    sim.run(0.1)
    energy = 0.5 * inertia * 25.0
    assert sim.v[0] == 0.0
    assert sim.q == pytest.approx([energy / friction], rel=1e-6)
    assert sim.energy().dissipated == pytest.approx(energy, rel=1e-9)
    assert sim.energy().balance == pytest.approx(energy, rel=1e-9)


@pytest.mark.parametrize('cut', [False, True])
def test_friction_holds_a_pendulum_up_to_its_moment(cut):
    weight = MASS * G * ARM
    angle = 0.4
    for share, holds in ((1.001, True), (0.999, False)):
        robot = pendulum(friction=share * weight * np.sin(angle), cut=cut)
        q = ccd.assemble(robot, {'hinge': angle})
        sim = ccd.Simulation(robot, q=q)
        sim.run(0.5)
        assert (sim.mobility() == 0) == holds
        assert (np.abs(sim.v).max() == 0.0) == holds
        assert np.ptp(sim.log.balance) < BOOKS * weight


def test_a_motor_unlocks_a_joint_and_friction_locks_it_again():
    sim = ccd.Simulation(slider(2.0, friction=3.0))
    sim.run(0.1, {'slide': 2.9})
    assert (sim.mobility(), sim.v[0], kinds(sim)) == (0, 0.0, [])
    sim.run(0.1, {'slide': 5.0})
    assert kinds(sim) == ['unlock']
    assert sim.v == pytest.approx([0.1 * (5.0 - 3.0) / 2.0], rel=EXACT)
    sim.run(0.1)
    assert kinds(sim) == ['unlock', 'lock']
    assert sim.energy().balance == pytest.approx(0.0, abs=1e-12)


def test_friction_never_gives_energy():
    rng = np.random.default_rng(3)
    robot = ccd.load('figure')
    description = replace(
        robot.description,
        joints=tuple(
            replace(joint, dynamics=Dynamics(friction=float(rng.uniform(0.1, 3.0))))
            if joint.type.nv == 1
            else joint
            for joint in robot.description.joints
        ),
    )
    robot = ccd.Mechanism(description)
    sim = ccd.Simulation(robot, v=rng.normal(0.0, 1.0, robot.nv))
    sim.run(0.5)
    assert np.all(np.diff(sim.log.dissipated) >= -1e-12)
    assert np.all(np.diff(sim.log.lost) >= -1e-12)
    turned_over = sim.log.kinetic.max()
    assert np.ptp(sim.log.balance) < 1e-7 * turned_over


@pytest.mark.parametrize('friction', [0.5, 30.0])
def test_friction_in_all_joints_of_a_figure_near_rest_neither_creeps_nor_invents_dissipation(
    friction,
):
    """Its ball joints too: what is dissipated is missing of the energy, what is held stands."""
    rng = np.random.default_rng(11)
    description = ccd.load('figure').description
    joints = tuple(
        replace(joint, dynamics=Dynamics(friction=friction * float(rng.uniform(0.5, 1.5))))
        if 0 < joint.type.nv < 6
        else joint
        for joint in description.joints
    )
    robot = ccd.Mechanism(replace(description, joints=joints), gravity=(0.0, 0.0, 0.0))
    sim = ccd.Simulation(robot, v=rng.normal(0.0, 2.0, robot.nv))
    start = sim.energy()
    sim.run(1.0)
    energy = sim.energy()
    assert abs(energy.balance - start.balance) < 1e-8 * start.kinetic
    assert 0.0 < energy.dissipated < start.kinetic
    names = {event.name for event in sim.events if event.kind == 'lock'}
    names -= {event.name for event in sim.events if event.kind == 'unlock'}
    rates = dict(zip(robot.coordinate_names, sim.v))
    assert len(names) > 5 and max(abs(rates[name]) for name in names) < 1e-12
    dissipated = energy.dissipated
    if sim.mobility() == 6:  # all joints are held: it flies on as one body, and loses nothing
        sim.run(1.0)
        assert abs(sim.energy().dissipated - dissipated) < 1e-12


def test_all_four_hinges_of_a_linkage_share_what_friction_holds():
    """Break-away: the crank's moment is the sum of all moments times their transmission."""
    robot = ccd.load('four_bar', gravity=(0.0, 0.0, 0.0))
    friction = {'crank': 0.3, 'coupler': 0.7, 'rocker': 0.2, 'coupler_rocker': 0.5}
    description = replace(
        robot.description,
        joints=tuple(
            replace(joint, dynamics=Dynamics(friction=friction.get(joint.name, 0.0)))
            for joint in robot.description.joints
        ),
        loops=tuple(
            replace(loop, dynamics=Dynamics(friction=friction[loop.name]))
            for loop in robot.description.loops
        ),
    )
    robot = ccd.Mechanism(description, gravity=(0.0, 0.0, 0.0))
    q = ccd.assemble(robot, {'crank': 1.0})
    rates = dict(zip(robot.coordinate_names, ccd.complete_velocity(robot, q, {'crank': 1.0})))
    rates['coupler_rocker'] = float(
        (ccd.loop_jacobian(robot, q) @ np.array([rates[n] for n in robot.coordinate_names]))[0]
    )
    needed = sum(friction[name] * abs(rates[name]) for name in friction)
    for share, moves in ((0.9999, False), (1.0001, True)):
        sim = ccd.Simulation(robot, q=q)
        sim.run(0.05, {'crank': share * needed})
        assert (np.abs(sim.v).max() > 0.0) == moves
        assert np.ptp(sim.log.balance) < BOOKS
    # and pushed gently, with a moment that grows: it holds up to there, without a flood of events
    sim = ccd.Simulation(robot, q=q)
    sim.run(0.2, lambda simulation: {'crank': needed * simulation.time / 0.1})
    assert sim.events[0].time == pytest.approx(0.1, abs=2e-3)
    assert len(sim.events) < 10


def test_the_smooth_law_is_kept_outside_of_simulations():
    """A single computation has no history: friction is a function of speed there."""
    robot = slider(2.0, friction=3.0)
    for speed in (1e-4, 1.0, -1.0):
        a = ccd.forward_dynamics(robot, [0.0], [speed]).acceleration
        assert a == pytest.approx([-1.5 * np.tanh(speed / 1e-3)], rel=1e-12)


def test_spin_stops_on_a_hinge_that_closes_a_loop():
    moment, speed = 1.5, 11.0
    robot = pendulum(friction=moment, cut=True)
    robot.gravity = (0.0, 0.0, 0.0)
    sim = ccd.Simulation(robot, v=ccd.complete_velocity(robot, robot.neutral(), {'hinge': speed}))
    sim.run(20.0)
    way = 0.5 * (SPIN + MASS * ARM**2) * speed**2 / moment
    assert ccd.loop_positions(sim.robot, sim.q)['hinge'] == pytest.approx(way, rel=1e-8)
    assert way > 2.0 * np.pi
