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

"""CasADi functions: names, values and what optimisation asks of them."""

import casadi as ca
import numpy as np
import pytest

import closed_chain_dynamics as ccd

SAME = 1e-11  # after ten steps, relative to 1


@pytest.fixture(scope='module')
def four_bar():
    robot = ccd.load('four_bar')
    q = ccd.assemble(robot, {'crank': 0.8})
    return robot, q, ccd.codegen.casadi(robot, q)


def test_inputs_and_outputs_are_named(four_bar):
    _, _, functions = four_bar
    f = functions['forward_dynamics']
    assert f.name_in() == ['q', 'v', 'tau'] and f.name_out() == [
        'acceleration',
        'margin',
        'closed',
    ]
    assert functions['step_rk4'].name_in() == ['q', 'v', 'tau', 'dt']


@pytest.mark.parametrize('name, integrator', [('step', 'euler'), ('step_rk4', 'rk4')])
def test_steps_are_those_of_the_simulation(four_bar, name, integrator):
    robot, q, functions = four_bar
    v = ccd.complete_velocity(robot, q, {'crank': 2.0})
    sim = ccd.Simulation(robot.copy(), q=q, v=v, dt=1e-3, integrator=integrator)
    for _ in range(10):
        found = functions[name](q=q, v=v, tau=[0.7], dt=1e-3)
        q, v = found['q_next'].full().ravel(), found['v_next'].full().ravel()
        sim.step(np.array([0.7]))
        assert np.all(found['margin'].full() > 0.0)
    assert np.abs(q - sim.q).max() < SAME and np.abs(v - sim.v).max() < SAME


def test_a_projection_holds_theta_G(four_bar):
    robot, q, functions = four_bar
    found = functions['project'](q=q + [0.0, 1e-4, -1e-4], v=[1.0, 0.0, 0.0])
    closed, v = found['q_next'].full().ravel(), found['v_next'].full().ravel()
    assert closed[0] == q[0] and v[0] == 1.0
    assert np.abs(ccd.constraint_jacobian(robot, closed)[0] @ v).max() < 1e-12


def test_an_optimiser_finds_the_torque_that_holds(four_bar):
    """IPOPT, told only to bring the acceleration to zero, finds what inverse dynamics gives."""
    robot, q, functions = four_bar
    opti = ca.Opti()
    tau = opti.variable(1)
    a = functions['forward_dynamics'](q=q, v=np.zeros(3), tau=tau)['acceleration']
    opti.minimize(ca.sumsqr(a))
    opti.solver('ipopt', {'print_time': False}, {'print_level': 0})
    rest = np.zeros(3)
    assert opti.solve().value(tau) == pytest.approx(
        ccd.inverse_dynamics(robot, q, rest, rest).tau_A[0], abs=1e-7
    )
