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

"""Stiff springs and dampers: a step is taken in as many parts as they need, or refused by name."""

import logging

from helpers.single_joints import slider
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.errors import StateError


def test_a_stiff_spring_keeps_its_energy():
    sim = ccd.Simulation(slider(0.01, stiffness=3e7), q=[1e-3])
    sim.run(0.01)
    assert sim.energy() == pytest.approx(15.0, rel=1e-9)
    phase = np.sqrt(3e7 / 0.01) * 0.01
    assert sim.q == pytest.approx([1e-3 * np.cos(phase)], abs=1e-8)


def test_what_is_too_stiff_is_refused_by_name():
    sim = ccd.Simulation(slider(0.01, stiffness=3e13), q=[1e-3])
    with pytest.raises(StateError, match=r"spring 'spring' oscillates at 5\.48e\+07 rad/s"):
        sim.run(0.01)
    both = ccd.Simulation(slider(0.01, stiffness=3e13, damping=1e4), q=[1e-3])  # still swings
    with pytest.raises(StateError, match=r"spring 'spring' oscillates at 5\.48e\+07 rad/s"):
        both.run(0.01)


def test_what_damping_stops_at_once_is_taken_by_implicit_steps_and_told(caplog, monkeypatch):
    # other tests run programs that configure logging, and may leave ours disabled
    monkeypatch.setattr(logging.getLogger('closed_chain_dynamics'), 'disabled', False)
    monkeypatch.setattr(logging.getLogger('closed_chain_dynamics'), 'propagate', True)
    sim = ccd.Simulation(slider(1e-5, damping=1e5), v=[1.0])
    with caplog.at_level(logging.WARNING, logger='closed_chain_dynamics'):
        sim.run(0.01)
    assert "the damping of joint 'slide' stops it within 1e-10 s" in caplog.text
    assert sim.q == pytest.approx([1e-10], rel=1e-9)  # m v / d
    assert sim.energy().dissipated == pytest.approx(5e-6, rel=1e-9)


def test_an_overdamped_spring_creeps_as_it_should():
    """d x' = -k x where the mass is nothing: 1e-5 kg, 5e3 N s/m, 1e5 N/m, in ten steps."""
    sim = ccd.Simulation(
        slider(1e-5, stiffness=1e5, damping=5e3), q=[0.1], dt=1e-3, integrator='implicit'
    )
    start = sim.energy()
    sim.run(0.05)
    assert sim.q == pytest.approx([0.1 * np.exp(-20.0 * 0.05)], rel=2e-5)  # (20 h)^2 / 24, less
    assert abs(sim.energy().balance - start.balance) < 2e-5 * start.balance  # as the motion
    assert sim.energy().dissipated == pytest.approx(500.0 * (1.0 - np.exp(-2.0)), rel=2e-5)


def test_implicit_steps_are_of_second_order():
    mass, stiffness, damping = 2.0, 50.0, 3.0
    a = 0.5 * damping / mass
    w = np.sqrt(stiffness / mass - a * a)
    known, errors = np.exp(-a) * (np.cos(w) + a / w * np.sin(w)), []
    for dt in (4e-3, 2e-3, 1e-3):
        robot = slider(mass, stiffness=stiffness, damping=damping)
        sim = ccd.Simulation(robot, q=[1.0], dt=dt, integrator='implicit')
        sim.run(1.0)
        errors.append(sim.q[0] - known)
    assert errors[0] / errors[1] == pytest.approx(4.0, abs=0.1)
    assert errors[1] / errors[2] == pytest.approx(4.0, abs=0.1)
    assert abs(errors[2]) < 3e-6


def test_implicit_steps_on_a_loop_are_of_second_order_and_close_it():
    """A four-bar linkage with damping on a dependent joint, against RK4 with small steps."""
    robot = ccd.load('four_bar')
    robot.structure.dofs['damping'][:] = [0.3, 0.0, 0.8]
    q = ccd.assemble(robot, {'crank': 1.0})
    v = ccd.complete_velocity(robot, q, {'crank': 3.0})
    exact = ccd.Simulation(robot, q=q, v=v, dt=1e-4)
    exact.run(0.2)
    errors = []
    for dt in (2e-3, 1e-3):
        sim = ccd.Simulation(robot, q=q, v=v, dt=dt, integrator='implicit')
        start = sim.energy().balance
        sim.run(0.2)
        errors.append(np.abs(sim.q - exact.q).max())
        assert sim.loop_error() < 1e-12
        # books are kept of the forces applied: they are off by what the dissipation is off by
        wrong = sim.energy().dissipated - exact.energy().dissipated
        assert sim.energy().balance - start == pytest.approx(wrong, rel=0.02)
        assert abs(wrong) < 4e-5 * (dt / 1e-3) ** 2 * exact.energy().dissipated
    assert errors[0] / errors[1] == pytest.approx(4.0, abs=0.5)


def test_a_motor_on_a_heavily_damped_joint_works_at_the_speed_that_damping_leaves():
    """A motor of 3 N against 1e4 N s/m on 1e-5 kg: v = F / d, and all work is dissipated."""
    sim = ccd.Simulation(slider(1e-5, damping=1e4), integrator='implicit')
    sim.run(0.1, [3.0])
    assert sim.v == pytest.approx([3e-4], rel=1e-9)
    assert sim.energy().work == pytest.approx(3.0 * 3e-4 * 0.1, rel=1e-6)
    assert sim.energy().dissipated == pytest.approx(sim.energy().work, rel=1e-6)


def test_friction_of_a_light_joint_near_rest_takes_what_it_had_and_no_more():
    """m v^2 / 2 until it stops after m v / F; then friction holds, and takes nothing."""
    mass, friction, speed = 1e-3, 5.0, 0.5
    for integrator in ('rk4', 'implicit'):
        sim = ccd.Simulation(slider(mass, friction=friction), v=[speed], integrator=integrator)
        sim.run(0.1)
        (lock,) = sim.events
        assert lock.kind == 'lock' and lock.time == pytest.approx(mass * speed / friction)
        assert sim.energy().dissipated == pytest.approx(0.5 * mass * speed**2, rel=1e-9)
        assert sim.v == pytest.approx([0.0], abs=1e-12)


def test_strong_damping_of_a_light_link_is_right():
    """v = v_0 exp(-d t / m): 1e-5 kg with 1 N s/m forgets its speed in 10 microseconds."""
    sim = ccd.Simulation(slider(1e-5, damping=1.0), v=[1.0])
    sim.run(0.01)
    assert sim.q == pytest.approx([1e-5], rel=1e-8)
    assert sim.energy().dissipated == pytest.approx(5e-6, rel=1e-8)


def test_smooth_motion_is_taken_in_one_part():
    """What is not stiff pays nothing: as many evaluations as steps ask for."""
    one = ccd.Simulation(slider(2.0, stiffness=50.0), q=[1.0])
    plain = ccd.Simulation(slider(2.0, stiffness=50.0), q=[1.0], tolerance=np.inf)
    one.run(1.0)
    plain.run(1.0)
    assert np.array_equal(one.log.q, plain.log.q)
