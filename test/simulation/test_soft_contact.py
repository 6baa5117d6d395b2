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
Soft contacts: a rigid foot on spring-dampers (Winter's viscoelastic foot), against closed forms.

The law is a spring that pushes in proportion to the depth, with damping in proportion to depth and
speed, never a pull, and friction K f_n tanh(speed / creep). It is written again here, by itself.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

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
from closed_chain_dynamics.dynamics.contacts import contact_forces
from closed_chain_dynamics.kernels.passive import CREEP_SPEED

G = 9.80665
MASS, STIFFNESS, DAMPING = 60.0, 2.0e4, 3.0e4
SOLE = [(x, y, 0.0) for x in (-0.08, 0.0, 0.08, 0.16) for y in (-0.04, 0.04)]
EXACT = 1e-9  # statics: rounding
INTEGRATED = 1e-7  # RK4 with 0.2 ms on a force that sets in with a kink, and SciPy
BOOKS = 1e-6  # relative


def foot(contact, *, com=(0.04, 0.0, 0.1), tilt=0.0):
    """Return a free rigid foot on soft points, on a floor tilted about y."""
    links = (Link('world'), Link('foot', Inertia(MASS, Pose(com), (0.4, 0.0, 0.0, 0.5, 0.0, 0.3))))
    joints = (Joint('float', JointType.FLOATING, 'world', 'foot'),)
    slope = Pose((0.0, 0.0, 0.0), (0.0, tilt, 0.0))
    loops = tuple(
        LoopJoint(f's{k}', LoopType.SURFACE, 'world', 'foot', slope, Pose(point), contact=contact)
        for k, point in enumerate(SOLE)
    )
    return ccd.Mechanism(Description('foot', links, joints, loops))


def height(h):
    """Return the configuration of a level foot with its sole at a height."""
    return np.array([0.0, 0.0, h, 0.0, 0.0, 0.0, 1.0])


def law(depth, away):
    """Return the normal force of one point."""
    return max(STIFFNESS * depth - DAMPING * depth * away, 0.0) if depth > 0.0 else 0.0


def test_a_foot_at_rest_sinks_by_its_weight_over_the_stiffness_of_all_points():
    sinkage = MASS * G / (len(SOLE) * STIFFNESS)
    robot = foot(Contact(stiffness=STIFFNESS, damping=DAMPING))
    a = ccd.forward_dynamics(robot, height(-sinkage), np.zeros(6)).acceleration
    assert np.abs(a).max() < EXACT
    forces = contact_forces(robot, height(-sinkage), np.zeros(6))
    assert np.abs([force - MASS * G / len(SOLE) for force, _ in forces.values()]).max() < EXACT
    sim = ccd.Simulation(robot, q=height(0.0), dt=1e-3, log_every=0)
    sim.run(3.0)
    assert sim.q[2] == pytest.approx(-sinkage, abs=1e-8)
    assert np.abs(sim.v).max() < 1e-6


def test_a_foot_with_its_mass_off_centre_leans_as_the_springs_say():
    """Points along x: force and moment of the springs give depth and lean, to first order."""
    off = 0.06
    robot = foot(Contact(stiffness=STIFFNESS, damping=DAMPING), com=(off, 0.0, 0.0))
    sim = ccd.Simulation(robot, q=height(-0.003), dt=1e-3, log_every=0)
    sim.run(4.0)
    x = np.array(SOLE)[:, 0]
    lean = MASS * G * (off - x.mean()) / (STIFFNESS * np.sum((x - x.mean()) ** 2))
    turned = 2.0 * np.arcsin(sim.q[4])
    assert turned == pytest.approx(lean, rel=1e-3)  # the lean is small: 0.03 rad, squared


@pytest.mark.parametrize('integrator', ['rk4', 'adaptive'])
def test_a_dropped_foot_moves_as_the_law_says_and_never_is_pulled(integrator):
    robot = foot(Contact(stiffness=STIFFNESS, damping=DAMPING), com=(0.04, 0.0, 0.1))
    dt, span = (1e-4, 0.4) if integrator == 'rk4' else (0.05, 0.15)
    sim = ccd.Simulation(robot, q=height(0.05), dt=dt, integrator=integrator, tolerance=1e-7)
    start = sim.energy().balance
    lowest = []
    sim.run(
        span,
        callback=lambda sim: lowest.append(
            min(force for force, _ in contact_forces(sim.robot, sim.q, sim.v).values())
        ),
    )

    def fall(t, x):
        return [x[1], len(SOLE) * law(-x[0], x[1]) / MASS - G]

    run = solve_ivp(fall, (0.0, span), [0.05, 0.0], rtol=1e-10, atol=1e-13, max_step=1e-3)
    assert sim.q[2] == pytest.approx(run.y[0, -1], abs=INTEGRATED)
    assert sim.v[2] == pytest.approx(run.y[1, -1], abs=100.0 * INTEGRATED)
    assert min(lowest) >= 0.0
    assert abs(sim.energy().balance - start) < BOOKS * MASS * G * 0.05
    assert sim.energy().dissipated > 1.0


def test_a_foot_pulled_up_is_let_go():
    robot = foot(Contact(stiffness=STIFFNESS, damping=DAMPING))
    v = np.array([0.0, 0.0, 5.0, 0.0, 0.0, 0.0])  # faster than the springs could follow
    a = ccd.forward_dynamics(robot, height(-0.002), v).acceleration
    assert a[2] == pytest.approx(-G, rel=EXACT)
    assert all(force == 0.0 for force, _ in contact_forces(robot, height(-0.002), v).values())


def test_friction_drags_a_sliding_foot_by_k_times_the_load_and_the_books_close():
    mu, speed = 0.6, 1.5
    robot = foot(Contact(stiffness=STIFFNESS, damping=DAMPING, mu=mu), com=(0.04, 0.0, 0.0))
    q = height(-MASS * G / (len(SOLE) * STIFFNESS))
    sim = ccd.Simulation(robot, q=q, v=np.array([speed, 0.0, 0.0, 0.0, 0.0, 0.0]), dt=2e-4)
    start = sim.energy().balance
    sim.run(0.1)
    # the sole is `sinkage` above the friction's plane: nothing turns it but that
    assert sim.v[0] == pytest.approx(speed - mu * G * 0.1, rel=1e-3)
    assert abs(sim.energy().balance - start) < BOOKS * 0.5 * MASS * speed**2
    assert sim.energy().dissipated == pytest.approx(
        0.5 * MASS * (speed**2 - sim.v[0] ** 2), rel=1e-2
    )


def test_on_a_slope_a_soft_foot_creeps_as_its_friction_says():
    """Smooth friction holds nothing quite: it creeps where K tanh(speed / creep) = tan(slope)."""
    mu, tilt = 0.8, 0.2
    robot = foot(
        Contact(stiffness=STIFFNESS, damping=DAMPING, mu=mu), com=(0.04, 0.0, 0.0), tilt=tilt
    )
    q = np.array([0.0, 0.0, 0.0, 0.0, np.sin(tilt / 2.0), 0.0, np.cos(tilt / 2.0)])
    q[:3] = (
        -MASS
        * G
        * np.cos(tilt)
        / (len(SOLE) * STIFFNESS)
        * np.array([np.sin(tilt), 0.0, np.cos(tilt)])
    )
    sim = ccd.Simulation(robot, q=q, dt=2e-4, log_every=0)
    sim.run(1.0)
    creep = CREEP_SPEED * np.arctanh(np.tan(tilt) / mu)
    assert np.linalg.norm(sim.v[:3]) == pytest.approx(creep, rel=1e-6)


def test_a_stiff_contact_comes_to_the_rigid_one():
    def rod(contact):
        links = (
            Link('world'),
            Link(
                'rod', Inertia(1.0, Pose((0.0, 0.0, 0.5)), (1 / 12, 0.0, 0.0, 1 / 12, 0.0, 1e-3))
            ),
        )
        joints = (
            Joint('slide', JointType.PRISMATIC, 'world', 'cart', axis=(0.0, 0.0, 1.0)),
            Joint('turn', JointType.CONTINUOUS, 'cart', 'rod', axis=(0.0, 1.0, 0.0)),
        )
        loop = LoopJoint('end', LoopType.SURFACE, 'world', 'rod', contact=contact)
        return ccd.Mechanism(Description('rod', (*links, Link('cart')), joints, (loop,)))

    q, span = np.array([0.0, 0.4]), 0.3
    rigid = ccd.Simulation(rod(Contact(unilateral=False)), q=q, dt=1e-3)
    rigid.run(span)
    errors = []
    for stiffness in (1e4, 1e5, 1e6):
        sunk = q - np.array([9.8 / stiffness, 0.0])
        soft = ccd.Simulation(
            rod(Contact(stiffness=stiffness, damping=100.0 * stiffness)),
            q=sunk,
            dt=2e-5,
            log_every=0,
        )
        soft.run(span)
        errors.append(abs(soft.q[1] - rigid.q[1]))
    assert errors[0] < 1e-2
    assert errors[1] < 0.2 * errors[0] and errors[2] < 0.2 * errors[1]
