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

"""Velocities and accelerations that loops allow: finite differences, named values, refusals."""

from dataclasses import replace
import math

from helpers.random_mechanisms import random_description, random_loops, random_state
from hypothesis import assume, given, settings, strategies as st
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import Coupling, CouplingTerm, JointType

# What the loops allow, they allow to rounding, whatever the condition of the pose.
ALLOWED = 1e-12
# Central differences of poses closed to 1e-15: at steps of 1e-4 the truncation, 1e-8 times third
# derivatives of up to a hundred, and for accelerations rounding, 1e-15 over the squared step.
VELOCITY, ACCELERATION, STEP = 1e-6, 1e-5, 1e-4

SEEDS = st.integers(0, 10**6)


def random_closed(seed):
    """Return random numbers, a random closed mechanism that can move, and a closed pose."""
    rng = np.random.default_rng(seed)
    description = random_description(rng, int(rng.integers(3, 14)), max_dof=40)
    q = random_state(rng, description)[0]
    if any(joint.type is not JointType.FIXED for joint in description.joints):
        description = random_loops(rng, description, q, int(rng.integers(1, 5)))
    return rng, ccd.Mechanism(description), q


def moving(robot, joints, rates, accelerations, t, start):
    """Return the closed pose at time t of a motion with constant accelerations of some joints."""
    return ccd.assemble(
        robot,
        {
            name: joints[name] + rates[name] * t + accelerations[name] * t * t / 2.0
            for name in joints
        },
        start=start,
    )


# --- against motions that were assembled pose by pose --------------------------------------------
@pytest.mark.parametrize(
    'model, hint, joints',
    [
        ('four_bar', 'elbow_up', ['crank']),
        ('four_bar', 'elbow_down', ['rocker']),
        ('four_bar', 'elbow_up', ['coupler_rocker']),
        ('five_bar', 'tip_up', ['tip', 'left_elbow']),
        ('five_bar', 'tip_down', ['left_shoulder', 'right_shoulder']),
        ('three_link', 'tent', ['joint_1', 'joint_3']),
    ],
)
def test_rates_are_those_of_the_assembled_motion(model, hint, joints):
    robot = ccd.load(model)
    q = ccd.assemble(robot, hint=hint)
    known = {**dict(zip(robot.joint_names, q)), **ccd.loop_positions(robot, q)}
    joints = {name: known[name] for name in joints}
    rates = {name: 0.7 - 0.4 * k for k, name in enumerate(joints)}
    accelerations = {name: -0.5 + 1.1 * k for k, name in enumerate(joints)}
    ahead, behind = (moving(robot, joints, rates, accelerations, t, q) for t in (STEP, -STEP))
    v = ccd.complete_velocity(robot, q, rates)
    a = ccd.complete_acceleration(robot, q, v, accelerations)
    assert np.abs((ahead - behind) / (2.0 * STEP) - v).max() <= VELOCITY
    assert np.abs((ahead - 2.0 * q + behind) / STEP**2 - a).max() <= ACCELERATION


@settings(max_examples=60)
@given(SEEDS)
def test_what_is_completed_keeps_the_loops_closed(seed):
    rng, robot, q = random_closed(seed)
    c = ccd.coordinates(robot, q)
    assume(c.mobility)
    names = [str(name) for name in rng.permutation(c.independent)[: rng.integers(1, 4)]]
    rates = {name: float(rng.normal()) for name in names}
    v = ccd.complete_velocity(robot, q, rates)
    assert all(v[robot.coordinate_names.index(name)] == rate for name, rate in rates.items())
    J_C, _, bias = ccd.constraint_jacobian(robot, q, v)
    assert np.abs(J_C @ v).max(initial=0.0) <= ALLOWED * (1.0 + np.abs(v).max())
    a = ccd.complete_acceleration(robot, q, v, rates)
    assert all(a[robot.coordinate_names.index(name)] == rate for name, rate in rates.items())
    size = 1.0 + np.abs(a).max() + np.abs(bias).max(initial=0.0)
    assert np.abs(J_C @ a + bias).max(initial=0.0) <= ALLOWED * size


@settings(max_examples=40)
@given(SEEDS)
def test_all_generalized_rates_give_w_times_them(seed):
    rng, robot, q = random_closed(seed)
    c = ccd.coordinates(robot, q)
    theta_G = rng.normal(size=c.mobility)
    v = ccd.complete_velocity(robot, q, dict(zip(c.independent, theta_G)))
    assert np.abs(v - c.W @ theta_G).max(initial=0.0) <= 1e-9 * (1.0 + np.abs(v).max(initial=0.0))


@settings(max_examples=40)
@given(SEEDS)
def test_arrays_give_the_nearest_that_the_loops_allow(seed):
    rng, robot, q = random_closed(seed)
    wanted = rng.normal(size=robot.nv)
    v = ccd.complete_velocity(robot, q, wanted)
    assert np.abs(ccd.complete_velocity(robot, q, v) - v).max() <= ALLOWED
    c = ccd.coordinates(robot, q)
    scale = robot.structure.dofs['scale']
    # what was taken off is at right angles to all that is allowed, in units of typical lengths
    assert np.abs(((wanted - v) / scale**2) @ c.W).max(initial=0.0) <= 1e-9
    a = ccd.complete_acceleration(robot, q, v, wanted)
    J_C, _, bias = ccd.constraint_jacobian(robot, q, v)
    assert np.abs(J_C @ a + bias).max(initial=0.0) <= ALLOWED * (1.0 + np.abs(a).max())
    assert np.abs(((wanted - a) / scale**2) @ c.W).max(initial=0.0) <= 1e-9


@settings(max_examples=60)
@given(SEEDS)
def test_named_loop_joints_accelerate_as_told(seed):
    rng, robot, q = random_closed(seed)
    moves = np.linalg.norm(ccd.loop_jacobian(robot, q) @ ccd.coordinates(robot, q).W, axis=1)
    assume(moves.size and moves.max() > 0.1)
    number = int(np.argmax(moves))
    v = ccd.complete_velocity(robot, q, rng.normal(size=robot.nv))
    a = ccd.complete_acceleration(robot, q, v, {robot.loop_coordinate_names[number]: 0.7})
    rates = [
        ccd.loop_jacobian(robot, ccd.integrate(robot, q, t * v + t * t / 2.0 * a))[number]
        @ (v + t * a)
        for t in (STEP, -STEP)
    ]
    # along the manifold v + t a is the velocity to first order, so the difference to second
    size = 1.0 + np.abs(v).max() ** 3 + np.abs(a).max() ** 2
    assert abs((rates[0] - rates[1]) / (2.0 * STEP) - 0.7) <= ACCELERATION * size


def test_parts_of_joints_and_couplings_can_be_named():
    description, base = ccd.load('four_bar').description, 'world_to_base'
    robot = ccd.Mechanism(
        replace(
            description,
            joints=tuple(
                replace(joint, type=JointType.FLOATING) if joint.name == base else joint
                for joint in description.joints
            ),
        )
    )
    q = ccd.assemble(robot, {'crank': 0.8})
    twist = np.arange(6.0)
    v = ccd.complete_velocity(robot, q, {base: twist, 'crank': 2.0})
    assert np.array_equal(v[:6], twist)
    one = ccd.complete_velocity(robot, q, {f'{base}:vx': 2.0})
    assert one[0] == 2.0 and np.abs(one[1:]).max() == 0.0  # nothing else has to move
    gear = Coupling('gear', (CouplingTerm('rocker', (1.0,)), CouplingTerm('crank', (-2.0, -3.0))))
    geared = ccd.Mechanism(replace(description, loops=(), couplings=(gear,)))
    q = ccd.assemble(geared, {'crank': 0.3})
    v = ccd.complete_velocity(geared, q, {'crank': 2.0})
    a = ccd.complete_acceleration(geared, q, v, {'crank': 1.0})
    place = geared.coordinate_names.index('rocker')
    assert v[place] == pytest.approx((2.0 + 6.0 * 0.3) * 2.0, rel=1e-14)
    assert a[place] == pytest.approx((2.0 + 6.0 * 0.3) + 6.0 * 2.0**2, rel=1e-14)


# --- what cannot be ------------------------------------------------------------------------------
def test_rates_that_contradict_the_loops_are_named():
    robot = ccd.load('five_bar')
    q = ccd.assemble(robot, hint='tip_up')
    with pytest.raises(
        ccd.StateError,
        match="rates of 'left_shoulder', 'left_elbow', "
        "'right_shoulder' contradict the loops; the residual is",
    ):
        ccd.complete_velocity(
            robot, q, {'left_shoulder': 1.0, 'left_elbow': 1.0, 'right_shoulder': 1.0}
        )


def test_a_dead_point_says_that_the_crank_cannot_be_driven_through():
    robot = ccd.load('four_bar')
    # crank and coupler in line: the rocker stands still, whatever the crank does
    q = ccd.assemble(robot, {'coupler': 0.0}, hint='elbow_up')
    assert (
        abs(
            ccd.complete_velocity(robot, q, {'crank': 1.0})[robot.coordinate_names.index('rocker')]
        )
        < 1e-12
    )
    with pytest.raises(ccd.StateError, match="'rocker' contradict the loops"):
        ccd.complete_velocity(robot, q, {'rocker': 1.0})


def test_a_velocity_that_opens_the_loops_is_refused():
    robot = ccd.load('four_bar')
    q = ccd.assemble(robot)
    with pytest.raises(ccd.StateError, match='v opens the loops.*complete_velocity'):
        ccd.complete_acceleration(robot, q, np.ones(3), {'crank': 1.0})


@pytest.mark.parametrize(
    'rates, error, text',
    [
        ({'krank': 1.0}, ccd.NameNotFound, "named 'krank'.*'crank'"),
        ({'crank': math.inf}, ccd.StateError, "'crank' is inf"),
        ({'crank': (1.0, 2.0)}, ccd.StateError, "'crank' has shape"),
        (np.zeros(2), ccd.StateError, r'shape \(2,\)'),
        (np.array([math.nan, 0.0, 0.0]), ccd.StateError, "'crank' in . is nan"),
    ],
)
def test_wrong_input_is_refused(rates, error, text):
    robot = ccd.load('four_bar')
    q = ccd.assemble(robot)
    with pytest.raises(error, match=text):
        ccd.complete_velocity(robot, q, rates)
    with pytest.raises(error, match=text):
        ccd.complete_acceleration(robot, q, np.zeros(3), rates)
