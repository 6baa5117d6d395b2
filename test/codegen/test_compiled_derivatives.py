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

"""Compiled derivatives, which are recursions, against traces that CasADi differentiates."""

from helpers.furnished_mechanisms import furnished
from helpers.random_mechanisms import random_state
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.codegen import GeneratedCodeWarning
from closed_chain_dynamics.codegen.batch import Function
from closed_chain_dynamics.codegen.cache import DERIVATIVES
from closed_chain_dynamics.codegen.gathering import gather
from closed_chain_dynamics.description.elements import LoopType

# Two ways of summation; what both share are a and the condition of A, below 300 here.
SAME = 1e-12
STEP = 3e-7  # of central differences: the loops stay within the core's tolerance
DIFFERENCES = 1e-6  # relative to the largest entry: what such differences can tell
BLOCKS = 'wrt_q', 'wrt_v', 'wrt_tau', 'A', 'B'


def state_of(robot, seed=1):
    rng = np.random.default_rng(seed)
    q = ccd.assemble(robot)
    v = ccd.complete_velocity(robot, q, rng.normal(size=robot.nv))
    return q, v, rng.normal(size=len(robot.actuator_names))


def assert_same(found, expected, tolerance=SAME):
    assert found.independent == expected.independent
    for name in BLOCKS:
        actual, wanted = getattr(found, name), getattr(expected, name)
        assert actual.shape == wanted.shape
        error = np.abs(actual - wanted).max(initial=0.0)
        assert error <= tolerance * max(np.abs(wanted).max(initial=0.0), 1.0), name


@pytest.fixture(scope='module')
def four_bar():
    return ccd.load('four_bar').compile()


def test_compiled_derivatives_are_the_same(four_bar):
    q, v, tau = state_of(four_bar.robot)
    assert_same(four_bar.derivatives(q, v, tau), ccd.derivatives(four_bar.robot, q, v, tau))
    assert not four_bar.fallbacks


def differences(function, n):
    """Return the slopes of a function by central differences."""
    columns = [(function(STEP * e) - function(-STEP * e)) / (2 * STEP) for e in np.eye(n)]
    return np.array(columns).T


@pytest.mark.parametrize('kind, seed', [(LoopType.REVOLUTE, 0), (LoopType.PLANAR, 1)])
def test_whatever_acts_between_bodies_is_differentiated(kind, seed):
    """Rotors and motors on loop joints, springs, a coupling, stops, friction, carried weights."""
    rng = np.random.default_rng([list(LoopType).index(kind), seed])
    q, description = furnished(
        rng, kind, lambda each: random_state(rng, each)[0], bodies=5, rotor=0.2, carried=0.4
    )
    robot = ccd.Mechanism(description, gravity=(0.3, -1.0, -9.0))
    nv, na = robot.nv, len(robot.actuator_names)
    v, tau = ccd.complete_velocity(robot, q, rng.normal(size=nv)), rng.normal(size=na)

    def acceleration(dq=0.0, dv=0.0, dtau=0.0):
        pose = ccd.integrate(robot, q, dq + np.zeros(nv))
        return ccd.forward_dynamics(robot, pose, v + dv, tau + dtau).acceleration

    expected = {
        'wrt_q': differences(lambda x: acceleration(dq=x), nv),
        'wrt_v': differences(lambda x: acceleration(dv=x), nv),
        'wrt_tau': differences(lambda x: acceleration(dtau=x), na),
    }
    traced = ccd.derivatives(robot, q, v, tau)
    made = Function(gather(robot, q), DERIVATIVES).one((q, v, tau, acceleration()))
    assert made is not None
    recursive = np.split(made.reshape(nv, -1), [nv, 2 * nv, 2 * nv + na], axis=1)
    for (name, wanted), found in zip(expected.items(), recursive):
        size = max(np.abs(wanted).max(), 1.0)
        assert np.abs(found - wanted).max() < DIFFERENCES * size, name
        assert np.abs(found - getattr(traced, name)).max() < SAME * size, name


def test_derivatives_stay_true_when_the_structure_changes(four_bar):
    robot = four_bar.robot
    q, v, tau = state_of(robot)
    before, expected = four_bar.derivatives(q, v, tau), ccd.derivatives(robot, q, v, tau)
    loop = robot.loop_names[0]
    robot.cut(loop)
    with pytest.warns(GeneratedCodeWarning, match='falling back to the generic functions'):
        after = four_bar.derivatives(q, v, tau)
    assert len(after.A) == 6 and len(expected.A) == 2
    robot.connect(loop)
    assert_same(before, expected)  # A and B are made only now


def test_where_theta_G_has_no_good_choice_the_generic_derivatives_answer():
    """At the dead centre of an engine the piston stands still: it cannot lead the crank."""
    fast = ccd.load('slider_crank', actuated=['slider']).compile()
    q = ccd.assemble(fast.robot, {'rod': 0.0})
    v = ccd.complete_velocity(fast.robot, q, {'crank': 1.0})
    assert fast.independent == ['slider']
    with pytest.warns(GeneratedCodeWarning, match='derivatives do not hold here'):
        found = fast.derivatives(q, v)
    assert_same(found, ccd.derivatives(fast.robot, q, v))
