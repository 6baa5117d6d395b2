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

"""A run takes exactly as long as it is asked to, whatever the step."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import closed_chain_dynamics as ccd

PENDULUM = """<robot name="pendulum"><link name="base"/>
  <link name="rod"><inertial><origin xyz="0 0 -0.5"/><mass value="1"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="hinge" type="continuous"><parent link="base"/><child link="rod"/>
    <axis xyz="0 1 0"/></joint>
</robot>"""
INTEGRATORS = ('euler', 'rk4', 'adaptive')
ADDED_UP = 1e-12  # what a thousand additions of times round [s]


def pendulum(**options):
    return ccd.Simulation(ccd.load(PENDULUM), [0.7], dt=1e-3, **options)


def exact(time):
    """Return angle and rate of the pendulum at a time."""

    def slope(_, x):
        return x[1], -9.80665 * 0.5 * np.sin(x[0]) / 0.35

    return solve_ivp(slope, (0.0, time), (0.7, 0.0), 'DOP853', rtol=1e-12, atol=1e-13).y[:, -1]


@pytest.mark.parametrize('integrator', INTEGRATORS)
def test_many_runs_of_half_a_step_take_their_time(integrator):
    sim = pendulum(integrator=integrator)
    for _ in range(1000):
        sim.run(0.0005)
    assert sim.time == pytest.approx(0.5, abs=ADDED_UP)
    tolerance = 5e-3 if integrator == 'euler' else 1e-8
    assert [sim.q[0], sim.v[0]] == pytest.approx(exact(0.5), abs=tolerance)


@pytest.mark.parametrize('integrator', INTEGRATORS)
@pytest.mark.parametrize('duration', [0.1004, 0.0996, 0.0003, 0.25])
def test_the_rest_of_a_duration_is_a_shorter_last_step(integrator, duration):
    sim = pendulum(integrator=integrator)
    sim.run(duration)
    assert sim.time == pytest.approx(duration, abs=ADDED_UP)
    assert len(sim.log) == np.ceil(round(duration / 1e-3, 6)) + 1
    tolerance = 1e-3 if integrator == 'euler' else 1e-8
    assert [sim.q[0], sim.v[0]] == pytest.approx(exact(duration), abs=tolerance)


def test_a_duration_that_rounding_leaves_short_of_a_step_has_no_rest():
    """0.3 / 1e-3 is not 300 in floats; nor are sums of 0.1."""
    sim = pendulum()
    sim.run(0.3)
    sim.run(0.1 + 0.2)
    assert len(sim.log) == 601
    assert sim.time == 0.6


def test_controllers_and_callbacks_are_asked_at_the_last_shorter_step_too():
    asked, seen, shares = [], [], []
    sim = pendulum()
    sim.run(
        0.0025,
        lambda s: asked.append(s.time),
        callback=lambda s: seen.append(s.time),
        progress=shares.append,
    )
    assert asked == pytest.approx([0.0, 1e-3, 2e-3])
    assert seen == pytest.approx([1e-3, 2e-3, 2.5e-3])
    assert shares[-1] == 1.0


def test_every_tenth_step_is_logged_whether_steps_are_whole_or_not():
    sim = pendulum(log_every=10)
    for _ in range(100):
        sim.run(0.0005)
    assert len(sim.log) == 11
    assert np.diff(sim.log.time) == pytest.approx(np.full(10, 5e-3))
