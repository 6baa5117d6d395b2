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

"""External wrenches act where their link is, at every evaluation, and their work is booked."""

from functools import cache
import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import closed_chain_dynamics as ccd

# a pendulum about z with its centre of mass at 0.5 m, and a massless link fixed at 1 m
TOOL = """<robot name="pendulum"><link name="base"/>
  <link name="rod"><inertial><origin xyz="0.5 0 0"/><mass value="1"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="tool"/>
  <joint name="hinge" type="continuous"><parent link="base"/><child link="rod"/>
    <axis xyz="0 0 1"/></joint>
  <joint name="weld" type="fixed"><parent link="rod"/><child link="tool"/>
    <origin xyz="1 0 0"/></joint>
</robot>"""
INERTIA = 0.1 + 1.0 * 0.5**2  # about the hinge [kg m^2]
FORCE = (5.0, 0.0, 0.0, 0.0, 0.0, 0.0)
START, DURATION = 1.5, 10.0
# of the methods: euler is of first order, the others are exact to their tolerance
ERRORS = {'euler': 0.05, 'rk4': 1e-8, 'adaptive': 1e-7}
BOOKS = {'rk4': 1e-8, 'adaptive': 1e-6}  # energy that is not accounted for [J]


def exact():
    """Return angle and rate after the run, by SciPy from the moment 5 N at 1 m, nothing else."""

    def slope(_, x):  # the tool is at (cos, sin, 0): the moment of its force about z is -5 sin
        return x[1], -5.0 * math.sin(x[0]) / INERTIA

    found = solve_ivp(slope, (0.0, DURATION), (START, 0.0), 'DOP853', rtol=1e-12, atol=1e-13)
    assert found.y[0, -1] == pytest.approx(0.6937, abs=1e-4)  # as others have found
    return found.y[:, -1]


@cache
def pushed(integrator):
    """Return a simulation after its run; the adaptive method takes its own steps within dt."""
    robot, dt = ccd.load(TOOL, gravity=(0.0, 0.0, 0.0)), 1e-2 if integrator == 'adaptive' else 1e-3
    sim = ccd.Simulation(robot, [START], dt=dt, integrator=integrator, log_every=0)
    sim.apply_wrench('tool', FORCE)
    sim.run(DURATION)
    return sim


@pytest.mark.parametrize('integrator', ERRORS)
def test_a_force_on_a_fixed_link_turns_with_its_body(integrator):
    angle, rate = exact()
    sim = pushed(integrator)
    assert sim.q[0] == pytest.approx(angle, abs=ERRORS[integrator])
    assert sim.v[0] == pytest.approx(rate, abs=10.0 * ERRORS[integrator])


@pytest.mark.parametrize('integrator', BOOKS)
def test_the_work_of_a_wrench_is_in_the_books(integrator):
    """A constant force has the potential -5 x: its work is 5 N times the way of the tool."""
    sim = pushed(integrator)
    way = math.cos(sim.q[0]) - math.cos(START)
    energy = sim.energy()
    assert energy.work == pytest.approx(5.0 * way, abs=BOOKS[integrator])
    assert energy.balance == pytest.approx(0.0, abs=BOOKS[integrator])


def test_runge_kutta_keeps_its_order_under_a_wrench():
    """Halving the step leaves a sixteenth of the error; with an arm held for a step, a half."""
    angle = exact()[0]
    robot = ccd.load(TOOL, gravity=(0.0, 0.0, 0.0))
    errors = []
    for dt in (0.04, 0.02):
        sim = ccd.Simulation(robot, [START], dt=dt, tolerance=math.inf, log_every=0)
        sim.apply_wrench('tool', FORCE)
        sim.run(DURATION)
        errors.append(abs(sim.q[0] - angle))
    assert 3.5 < math.log2(errors[0] / errors[1]) < 4.5


def test_a_couple_and_a_force_act_together_on_two_links():
    robot = ccd.load(TOOL, gravity=(0.0, 0.0, 0.0))
    sim = ccd.Simulation(robot, [START], dt=1e-3, log_every=0)
    sim.apply_wrench('tool', FORCE)
    sim.apply_wrench('rod', (0.0, 0.0, 0.0, 0.0, 0.0, 2.0))
    sim.run(1.0)

    def slope(_, x):
        return x[1], (2.0 - 5.0 * math.sin(x[0])) / INERTIA

    found = solve_ivp(slope, (0.0, 1.0), (START, 0.0), 'DOP853', rtol=1e-12, atol=1e-13)
    assert sim.q[0] == pytest.approx(found.y[0, -1], abs=1e-9)


def test_a_wrench_leaves_nothing_behind():
    """Who computes with the simulated mechanism does not meet the wrench of the simulation."""
    robot = ccd.load(TOOL, gravity=(0.0, 0.0, 0.0))
    sim = ccd.Simulation(robot, [START])
    sim.apply_wrench('tool', FORCE)
    sim.step()
    still = np.zeros(1)
    assert ccd.forward_dynamics(sim.robot, still, still).acceleration == pytest.approx([0.0])
    sim.apply_wrench('tool', None)
    rate = sim.v[0]
    sim.run(0.1)
    assert sim.v[0] == pytest.approx(rate, abs=1e-12)
