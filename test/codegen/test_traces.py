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

"""Every traced function against the core, over all joint, loop, spring and coupling types."""

import casadi as ca
from helpers.furnished_mechanisms import furnished
from helpers.random_mechanisms import random_state, relative_error
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.codegen.actuation import is_redundant
from closed_chain_dynamics.codegen.gathering import gather
from closed_chain_dynamics.codegen.inverse import sought_torques, tree_forces
from closed_chain_dynamics.codegen.traces import TRACES, trace
from closed_chain_dynamics.codegen.tree import place
from closed_chain_dynamics.description.elements import LoopType

# Both ways round in other orders: some tens of roundings, more where clusters are stiff.
SAME = 1e-12
CLOSED_MODELS = (
    'four_bar', 'six_bar', 'slider_crank', 'exo', 'figure', 'swing', 'stewart', 'high_bar',
    'biped', 'five_bar',
)  # fmt: skip


def state_of(robot, seed=1):
    rng = np.random.default_rng(seed)
    q = ccd.assemble(robot)
    v = ccd.complete_velocity(robot, q, rng.normal(size=robot.nv))
    a = ccd.complete_acceleration(robot, q, v, rng.normal(size=robot.nv))
    return q, v, a, rng.normal(size=len(robot.actuator_names))


def call(robot, name, q, **given):
    found = trace(gather(robot, q), name).function(q=q, **given)
    return {key: value.full().squeeze() for key, value in found.items()}


def elsewhere(robot, q):
    """Return a pose somewhat away, reached by moving."""
    sim = ccd.Simulation(robot, q=q, v=ccd.complete_velocity(robot, q, np.ones(robot.nv)))
    sim.run(0.05)
    return np.array(sim.q)


def assert_same(actual, expected, scale=0.0):
    size = max(np.abs(expected).max(initial=0.0), scale)
    assert np.abs(actual - expected).max(initial=0.0) <= SAME * size


@pytest.mark.parametrize('model', CLOSED_MODELS)
def test_forward_and_inverse_dynamics_are_those_of_the_core(model):
    robot = ccd.load(model)
    q, v, a, tau = state_of(robot)
    found = call(robot, 'forward_dynamics', q, v=v, tau=tau)
    assert_same(found['acceleration'], ccd.forward_dynamics(robot, q, v, tau).acceleration)
    assert np.all(found['margin'] > 0.0) and np.all(found['closed'] > 0.0)
    found, r = call(robot, 'inverse_dynamics', q, v=v, a=a), ccd.inverse_dynamics(robot, q, v, a)
    scale = np.abs(r.tau_O).max()
    for name in ('tau_O', 'tau_G', 'tau_A', 'residual'):
        assert_same(found[name], getattr(r, name), scale)
    assert np.all(found['margin'] > 0.0)


@pytest.mark.parametrize('model', ['five_bar', 'biped', 'stewart', 'exo_leg'])
def test_torques_of_more_motors_than_needed_are_those_of_the_core_in_any_pose(model):
    """Where all joints have motors, torques are sought with another theta_G than the given."""
    loaded = ccd.load(model)
    robot = ccd.load(model, actuated=loaded.joint_names)
    q, v, a, _ = state_of(robot)
    source = gather(robot, q)
    assert any(is_redundant(source, cluster) for cluster in source.clusters)
    traced = trace(source, 'inverse_dynamics').function
    for pose in (q, elsewhere(robot, q)):
        v = ccd.complete_velocity(robot, pose, v)
        a = ccd.complete_acceleration(robot, pose, v, a)
        found, r = traced(q=pose, v=v, a=a), ccd.inverse_dynamics(robot, pose, v, a)
        assert np.all(found['margin'].full() > 0.0) and np.all(found['closed'].full() > 0.0)
        for name in ('tau_O', 'tau_G', 'tau_A', 'residual'):
            assert_same(found[name].full().ravel(), getattr(r, name), np.abs(r.tau_O).max())


@pytest.mark.parametrize('seed', range(4))
@pytest.mark.parametrize('model', ['biped', 'stewart', 'swing', 'exo_leg', 'high_bar'])
def test_torques_of_any_motors_are_those_of_the_core_whatever_theta_G_they_are_sought_with(
    model, seed
):
    """tau_G and the rows of S of other motors come from a theta_G that has a sparse H."""
    rng, joints = np.random.default_rng(seed), ccd.load(model).joint_names
    chosen = rng.choice(joints, size=1 + seed * len(joints) // 4, replace=False)
    robot = ccd.load(model, actuated=sorted(chosen))
    q, v, a, _ = state_of(robot)
    source = gather(robot, q)
    symbols = [ca.SX.sym(name, size) for name, size in zip('qva', (robot.nq, robot.nv, robot.nv))]
    frames = place(source, symbols[0])
    tau_O = tree_forces(source, frames, *symbols)
    redundant = [is_redundant(source, cluster) for cluster in source.clusters]
    for sparse in ([False] * len(redundant), [True] * len(redundant)):
        if any(redundant) and not any(sparse):
            continue  # those motors are always sought with a sparse H
        t = sought_torques(source, frames, symbols[0], tau_O, redundant, tuple(sparse))
        names = 'tau_O', 'tau_G', 'tau_A', 'residual'
        found = ca.Function('torques', symbols, [getattr(t, name) for name in names])
        r = ccd.inverse_dynamics(robot, q, v, a)
        for value, name in zip(found(q, v, a), names):
            assert_same(value.full().ravel(), getattr(r, name), np.abs(r.tau_O).max())


@pytest.mark.parametrize('model', ['exo', 'swing', 'stewart'])
def test_kinematics_are_those_of_the_core(model):
    robot = ccd.load(model)
    q, v, a, _ = state_of(robot)
    c = ccd.coordinates(robot, q)
    source = gather(robot, q)
    independent = list(source.independent)
    found = trace(source, 'coordinates').function(q=q)
    for name in ('W', 'S', 'J_C'):
        assert_same(found[name].full(), getattr(c, name), 1.0)
    assert_same(call(robot, 'complete_velocity', q, rates=v[independent])['v'], v)
    completed = call(robot, 'complete_acceleration', q, v=v, rates=a[independent])['a']
    assert_same(completed, a)
    rows = trace(source, 'placements').function(q=q)['placements'].full()
    for row, X in zip(rows, ccd.link_placements(robot, q).values()):
        assert_same(row, np.concatenate([X[:3, :3].ravel(), X[:3, 3]]))
    rest = np.zeros(robot.nv)
    gravity = call(robot, 'gravity_torques', q)['tau_A']
    assert_same(gravity, ccd.inverse_dynamics(robot, q, rest, rest).tau_A, 1.0)


@pytest.mark.parametrize('model', ['exo', 'swing', 'stewart'])
def test_two_newton_steps_close_loops_that_a_step_has_opened(model):
    robot = ccd.load(model)
    q, v, _, _ = state_of(robot)
    source = gather(robot, q)
    step, moved = trace(source, 'newton_step').function, ccd.integrate(robot, q, 1e-3 * v)
    assert max(max(gap) for gap in robot.loop_gaps(moved).values()) > 1e-9
    closed = step(q=step(q=moved)['q_next'])['q_next'].full().ravel()
    assert max(max(gap) for gap in robot.loop_gaps(closed).values()) < 1e-12
    settled = trace(source, 'settle_velocity').function(q=closed, v=v)
    assert (
        np.abs(ccd.constraint_jacobian(robot, closed)[0] @ settled['v_next'].full()).max() < 1e-10
    )


@pytest.mark.parametrize('kind', [kind for kind in LoopType if kind is not LoopType.FREE])
@pytest.mark.parametrize('seed', range(2))
def test_random_mechanisms_with_every_joint_loop_and_law_agree(kind, seed):
    rng = np.random.default_rng([list(LoopType).index(kind), seed])
    q, description = furnished(rng, kind, lambda each: random_state(rng, each)[0])
    robot = ccd.Mechanism(description, gravity=(0.3, -1.0, -9.0))
    if ccd.coordinates(robot, q).lost_rank:
        pytest.skip('a singular pose was drawn')
    v = ccd.complete_velocity(robot, q, rng.normal(size=robot.nv))
    tau = rng.normal(size=len(robot.actuator_names))
    found = call(robot, 'forward_dynamics', q, v=v, tau=tau)
    expected = ccd.forward_dynamics(robot, q, v, tau)
    scale = SAME * max(1.0, expected.condition / 10.0)
    error = relative_error(np.atleast_1d(found['acceleration']), expected.acceleration)
    assert error < scale
    a = ccd.complete_acceleration(robot, q, v, rng.normal(size=robot.nv))
    found, r = call(robot, 'inverse_dynamics', q, v=v, a=a), ccd.inverse_dynamics(robot, q, v, a)
    size = np.abs(r.tau_O).max()
    assert relative_error(np.atleast_1d(found['tau_O']), r.tau_O) < SAME
    for name in ('tau_G', 'tau_A') if np.all(found['margin'] > 0.0) else ():
        actual, wanted = np.atleast_1d(found[name]), getattr(r, name)
        assert relative_error(actual, wanted, at_least=size) < scale


def test_every_function_can_be_traced():
    robot = ccd.load('four_bar')
    source = gather(robot, ccd.assemble(robot))
    for name in TRACES:
        assert trace(source, name).function.n_out() >= 1
