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

"""Derivatives of inverse dynamics and of steps against differences of the core and Pinocchio."""

from dataclasses import replace

from helpers.tendon_arms import strung_leg
import numpy as np
import pytest

from benchmarks.models import case
from benchmarks.peers import Pinocchio
import closed_chain_dynamics as ccd
from closed_chain_dynamics.codegen import inverse_derivatives, step_derivatives
from closed_chain_dynamics.description.elements import Spring
from closed_chain_dynamics.studies.parameters import Variation, changed

STEP = 1e-6  # of central differences
DIFFERENCES = 1e-6  # relative to the largest entry: what such differences can tell
MODELS = ('four_bar', 'exo_leg', 'five_bar', 'stewart', 'figure', 'leg with tendons')


def state_of(robot, seed=1):
    rng = np.random.default_rng(seed)
    q = ccd.assemble(robot)
    v = ccd.complete_velocity(robot, q, rng.normal(size=robot.nv))
    a = ccd.complete_acceleration(robot, q, v, rng.normal(size=robot.nv))
    return q, v, a, rng.normal(size=len(robot.actuator_names))


def mechanism(model):
    """Return a model that comes with the package, or the one with tendons."""
    return strung_leg() if model == 'leg with tendons' else ccd.load(model)


def slope(function, n):
    columns = [(function(STEP * e) - function(-STEP * e)) / (2 * STEP) for e in np.eye(n)]
    return np.array(columns).T if n else np.zeros((len(function(np.zeros(0))), 0))


def assert_close(actual, expected, tolerance=DIFFERENCES):
    assert actual.shape == expected.shape
    assert np.abs(actual - expected).max(initial=0.0) <= tolerance * max(
        np.abs(expected).max(initial=0.0), 1.0
    )


def places(robot, names):
    return [robot.coordinate_names.index(name) for name in names]


def closed(robot, q, x):
    """Return the closed pose after a motion of theta_G, which a simulation closes with it held."""
    W = ccd.coordinates(robot, q).W
    pose = ccd.integrate(robot, q, W @ x)
    # theta_S opens to second order: Newton's method with theta_G held, by the simulation
    return ccd.Simulation(robot, q=pose, limits=False).q


def with_values(robot, names, x):
    """Return the mechanism of other parameters, relative changes x."""
    description = robot.description
    for name, share in zip(names, x):
        kind, _, owner = name.partition(':')
        variation = Variation(kind, owner, (1.0 + share,), scale=True)
        description = changed(description, variation, 1.0 + share)
    return ccd.Mechanism(description)


@pytest.mark.parametrize('model', MODELS)
def test_inverse_dynamics(model):
    robot = mechanism(model)
    q, v, a, _ = state_of(robot)
    d = inverse_derivatives(robot, q, v, a)
    G = places(robot, d.independent)
    m = len(G)
    assert_close(d.tau_A, ccd.inverse_dynamics(robot, q, v, a).tau_A, 1e-12)

    def tau(q, v, a):
        return ccd.inverse_dynamics(robot, q, v, a).tau_A

    assert_close(d.wrt_v, slope(lambda x: tau(q, v + x, a), robot.nv))
    assert_close(d.wrt_a, slope(lambda x: tau(q, v, a + x), robot.nv))

    def along(x, r, s):
        pose = closed(robot, q, x)
        W = ccd.coordinates(robot, pose).W
        rate = W @ (v[G] + r)
        bias = ccd.complete_acceleration(robot, pose, rate, dict(zip(d.independent, a[G] + s)))
        return tau(pose, rate, bias)

    zero = np.zeros(m)
    assert_close(d.G_q, slope(lambda x: along(x, zero, zero), m), 5 * DIFFERENCES)
    assert_close(d.G_v, slope(lambda x: along(zero, x, zero), m))
    assert_close(d.G_a, slope(lambda x: along(zero, zero, x), m))


@pytest.mark.parametrize('integrator', ['euler', 'rk4'])
@pytest.mark.parametrize('model', MODELS)
def test_a_step(model, integrator):
    robot, dt = mechanism(model), 2e-3
    q, v, _, tau = state_of(robot)
    d = step_derivatives(robot, q, v, tau, dt=dt, integrator=integrator)
    G = places(robot, d.independent)
    m = len(G)

    def step(x, r, torque):
        pose = closed(robot, q, x)
        rate = ccd.coordinates(robot, pose).W @ (v[G] + r)
        options = {'integrator': integrator, 'tolerance': np.inf, 'limits': False}
        sim = ccd.Simulation(robot, q=pose, v=rate, dt=dt, **options)
        sim.robot.structure.dofs['slip'] = 0  # friction as a function of speed
        sim.step(torque)
        return sim.q, sim.v

    q_next, v_next = step(np.zeros(m), np.zeros(m), tau)
    assert_close(d.q_next, q_next, 1e-11)
    assert_close(d.v_next, v_next, 1e-11)

    def moved(x, r, torque):
        pose, rate = step(x, r, torque)
        return np.concatenate([ccd.difference(robot, q_next, pose), rate])

    zero = np.zeros(m)
    slopes = np.concatenate([d.q_slopes, d.v_slopes])
    expected = np.concatenate(
        [
            slope(lambda x: moved(x, zero, tau), m),
            slope(lambda x: moved(zero, x, tau), m),
            slope(lambda x: moved(zero, zero, tau + x), len(tau)),
        ],
        axis=1,
    )
    assert_close(slopes, expected, 5 * DIFFERENCES)
    both = [*G, *(robot.nv + g for g in G)]
    assert np.array_equal(d.A, slopes[both, : 2 * m])
    assert np.array_equal(d.B, slopes[both, 2 * m :])


def sprung():
    """Return a four-bar with a spring on its crank, and one between two links."""
    description = ccd.load('four_bar').description
    ends = {'from_link': description.links[0].name, 'to_link': 'rocker_link'}
    springs = (
        Spring('coil', 'torsional', 0.5, 0.01, 0.2, joint='crank'),
        Spring('line', 'linear', 20.0, 0.5, 0.1, to_xyz=(0.0, 0.0, 0.1), **ends),
    )
    return ccd.Mechanism(replace(description, springs=springs))


SPRUNG = [
    'mass:coupler_link', 'inertia:rocker_link', 'length:coupler_link', 'length:rocker_link',
    'stiffness:coil', 'rest:line', 'stiffness:line', 'damping:rocker',
]  # fmt: skip
STRUNG = ['stiffness:calf', 'rest:cross', 'stiffness:pair', 'length:thigh', 'length:shank']


@pytest.mark.parametrize('made, names', [(sprung, SPRUNG), (strung_leg, STRUNG)])
def test_parameters(made, names):
    """Differences over mechanisms whose parameters a study has changed, theta_G held."""
    robot = made()
    q, v, a, tau = state_of(robot)
    free = ccd.coordinates(robot, q).independent
    G, n = places(robot, free), len(free)
    inverse = inverse_derivatives(robot, q, v, a, names)
    step = step_derivatives(robot, q, v, tau, parameters=names)

    def answers(x):
        other = with_values(robot, names, x)
        pose = ccd.Simulation(other, q=q, limits=False).q
        rate = ccd.complete_velocity(other, pose, dict(zip(free, v[G])))
        wanted = ccd.complete_acceleration(other, pose, rate, dict(zip(free, a[G])))
        sim = ccd.Simulation(other, q=pose, v=rate, tolerance=np.inf, limits=False)
        sim.step(tau)
        needed = ccd.inverse_dynamics(other, pose, rate, wanted).tau_A
        return np.concatenate([needed, sim.q[G] - q[G], sim.v[G]])

    values = []
    for name in names:
        kind, _, owner = name.partition(':')
        values.append(value_of(robot, kind, owner))
    expected = slope(answers, len(names)) / np.array(values)
    assert_close(inverse.wrt_parameters, expected[:n])
    assert_close(step.wrt_parameters, expected[n:])


def value_of(robot, kind, owner):
    """Return what the model says, read from the description."""
    links = {each.name: each for each in robot.description.links}
    springs = {each.name: each for each in robot.description.springs}
    joints = {each.name: each for each in robot.description.joints}
    if kind in ('stiffness', 'rest'):
        return getattr(springs[owner], kind)
    if kind == 'damping':
        return joints[owner].dynamics.damping
    if kind == 'mass':
        return links[owner].inertia.mass
    if kind == 'inertia':
        return np.linalg.eigvalsh(links[owner].inertia.tensor)[-1]
    ends = [j.origin.xyz for j in joints.values() if j.parent == owner]
    for loop in robot.description.loops:
        ends += [loop.parent_origin.xyz] if loop.parent == owner else []
        ends += [loop.child_origin.xyz] if loop.child == owner else []
    return max(np.linalg.norm(each) for each in ends)


@pytest.mark.parametrize('key', ['M2', 'M3'])
def test_a_small_step_is_pinocchios_constraint_dynamics(key):
    """v_next = v + dt a before the loops are closed: B is dt times ddq_dtau in theta_G."""
    c = case(key)
    peer = Pinocchio(c)
    function, arguments = peer.constraint_dynamics(1e-12, 20)
    function(*arguments)
    peer.pin.computeConstraintDynamicsDerivatives(
        peer.model, peer.data, peer.constraints, peer.constraint_data, arguments[-1]
    )
    dt = 1e-4
    d = step_derivatives(c.robot, c.q, c.v, c.tau_A, dt=dt, integrator='euler')
    G, m = places(c.robot, d.independent), len(d.independent)
    W = ccd.coordinates(c.robot, c.q).W
    assert_close(d.B[m:] / dt, peer.data.ddq_dtau[:, peer.actuated][G], DIFFERENCES)
    assert_close((d.A[m:, m:] - np.eye(m)) / dt, (peer.data.ddq_dv @ W)[G], DIFFERENCES)


@pytest.mark.parametrize(
    'name, told',
    [
        ('colour:coupler', "no parameter named 'colour'"),
        ('mass:nothing', "'nothing'"),
        ('stiffness:nothing', "'nothing'"),
        ('length:nothing', "'nothing'"),
    ],
)
def test_parameters_that_are_not_there_are_told(name, told):
    robot = ccd.load('four_bar')
    q, v, a, _ = state_of(robot)
    with pytest.raises(ccd.ClosedChainError, match=told):
        inverse_derivatives(robot, q, v, a, [name])
