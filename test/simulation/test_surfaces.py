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

"""Beads on surfaces move as Lagrange says, and rows of contacts are derivatives."""

from dataclasses import replace

from helpers.contact_bodies import G, books_close, slider
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
from closed_chain_dynamics.description import Contact, LoopType
from closed_chain_dynamics.dynamics.contacts import contact_forces

EVENT = 1e-9  # events against closed forms [s]; they are located to 1e-13 s
STEP = 1e-6  # of central differences
FIRST = 2e-8  # rounding 1e-16 / 1e-6 and curvature 1e-12, sizes of a few metres on top
SECOND_STEP = 1e-4
SECOND = 5e-6  # rounding 1e-16 / 1e-8 and curvature 1e-8, sizes as above
INTEGRATED = 1e-7  # RK4 with 1 ms on smooth motions of a second, and SciPy with 1e-11


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
