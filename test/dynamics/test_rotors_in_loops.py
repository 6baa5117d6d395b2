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

"""Rotors on joints that loops decide: they take part in the drift W' theta_G', as bodies do."""

from dataclasses import replace

import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description.elements import Dynamics

TORQUE = 0.7


@pytest.fixture(params=['crank', 'coupler', 'rocker'])
def geared(request):
    """Return a four-bar with a heavy rotor on one of its joints, in motion."""
    description = ccd.load('four_bar').description
    joints = tuple(
        replace(each, dynamics=Dynamics(armature=0.1)) if each.name == request.param else each
        for each in description.joints
    )
    robot = ccd.Mechanism(replace(description, joints=joints))
    q = ccd.assemble(robot, {'crank': 1.0})
    return robot, q, ccd.complete_velocity(robot, q, {'crank': 2.0})


def test_forward_dynamics_undo_inverse_dynamics(geared):
    robot, q, v = geared
    a = ccd.forward_dynamics(robot, q, v, [TORQUE]).acceleration
    assert ccd.inverse_dynamics(robot, q, v, a).tau_A[0] == pytest.approx(TORQUE, abs=1e-13)


def test_energy_stays(geared):
    """Kinetic energy is half the sum of masses and rotors times squares: nobody's dynamics."""
    robot, q, v = geared
    sim = ccd.Simulation(robot, q=q, v=v, dt=1e-3, tolerance=np.inf)
    before = sim.energy().balance
    sim.run(0.2)
    assert sim.energy().balance == pytest.approx(before, abs=1e-8)
