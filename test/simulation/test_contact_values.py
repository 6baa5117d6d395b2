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

"""Forces of contacts are values of a state; sticking contacts know how far they have moved."""

from helpers.touching_bodies import G, body_on_slope, corners_of
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics import kernels
from closed_chain_dynamics.description import Contact
from closed_chain_dynamics.dynamics.contacts import contact_forces, contact_wrenches
from closed_chain_dynamics.kernels.records import STICK

EXACT = 1e-9
CORNERS = corners_of(0.3, 0.2, 0.1)


def test_contact_forces_do_not_depend_on_what_was_computed_before():
    robot, q = body_on_slope(CORNERS, Contact(mu=0.3))
    one = np.array([0.7, 0.4, 0.0, 0.0, 0.0, 0.9])
    two = np.array([-0.2, 0.1, 0.0, 0.0, 0.0, -2.0])
    first, wrenches = contact_forces(robot, q, one), contact_wrenches(robot, q, one)
    other = contact_forces(robot, q, two, wrenches={'body': (0.0, 0.0, -50.0, 0.0, 0.0, 0.0)})
    ccd.forward_dynamics(robot, q, two)
    again = contact_forces(robot, q, one)
    for name, (normal, drag) in first.items():
        assert again[name][0] == normal and np.array_equal(again[name][1], drag)
        assert np.abs(other[name][1] - drag).max() > 0.1
    assert sum(normal for normal, _ in first.values()) == pytest.approx(2.0 * G, rel=EXACT)
    assert sum(n for n, _ in other.values()) == pytest.approx(2.0 * G + 50.0, rel=EXACT)
    assert np.array_equal(wrenches['body'], contact_wrenches(robot, q, one)['body'])
    drag = sum(drag for _, drag in first.values())
    assert np.abs(wrenches['body'][:3] - drag - [0.0, 0.0, 2.0 * G]).max() < EXACT


def test_the_gap_of_a_sticking_contact_is_its_way_from_where_it_stuck():
    robot, q = body_on_slope(CORNERS, Contact(mu=0.5))
    sim = ccd.Simulation(robot, q=q, dt=1e-3)
    sim.step()
    table, gaps = sim.robot.structure.loops, np.empty((4, 2))
    assert set(table['mode']) == {STICK} and set(table['n_rows']) == {3}
    way = np.array([0.003, -0.002, 0.001])
    moved = q.copy()
    moved[:3] += way
    assert kernels.compute_gaps(sim.robot.handle, moved, gaps) == 0
    assert np.abs(gaps[:, 0] - np.linalg.norm(way)).max() < 1e-12 and not np.any(gaps[:, 1])
    turned = q.copy()
    angle = 0.01
    turned[3:] = 0.0, 0.0, np.sin(angle / 2.0), np.cos(angle / 2.0)
    kernels.compute_gaps(sim.robot.handle, turned, gaps)
    chord = 2.0 * np.sin(angle / 2.0) * np.hypot(0.3, 0.2)
    assert np.abs(gaps[:, 0] - chord).max() < 1e-12


def test_a_box_that_spins_and_slides_moves_as_in_mujoco():
    """MuJoCo's contacts are soft: with stiff ones and small steps the trend is the same."""
    mujoco = pytest.importorskip('mujoco')
    r, mu, inertia = 0.01, 0.3, (0.05, 0.06, 0.09)
    feet = ''.join(
        f'<geom type="sphere" size="{r}" pos="{x} {y} {-0.1 + r}" mass="0"/>'
        for x, y, _ in CORNERS
    )
    model = mujoco.MjModel.from_xml_string(f"""<mujoco>
      <option timestep="5e-5" cone="elliptic" impratio="100" gravity="0 0 {-G}"/>
      <default><geom friction="{mu} 0 0" solref="0.0005 1" condim="3"/></default>
      <worldbody><geom type="plane" size="9 9 1"/>
      <body pos="0 0 0.1"><freejoint/>{feet}
      <inertial pos="0 0 0" mass="2" diaginertia="{inertia[0]} {inertia[1]} {inertia[2]}"/></body>
      </worldbody></mujoco>""")
    data = mujoco.MjData(model)
    data.qvel[:] = 0.8, 0.3, 0.0, 0.0, 0.0, 4.0
    robot, q = body_on_slope(CORNERS, Contact(mu=mu), inertia=inertia)
    sim = ccd.Simulation(robot, q=q, v=np.array([0.8, 0.3, 0.0, 0.0, 0.0, 4.0]), dt=1e-3)
    for end in (0.1, 0.2, 1.0):
        sim.run(end - sim.time)
        while data.time < end - 1e-9:
            mujoco.mj_step(model, data)
        assert np.abs(sim.q[:2] - data.qpos[:2]).max() < 0.02 * np.linalg.norm(data.qpos[:2])
        turned = 2.0 * np.arctan2(data.qpos[6], data.qpos[3])
        assert 2.0 * np.arctan2(sim.q[5], sim.q[6]) == pytest.approx(turned, rel=0.02)
    assert np.abs(sim.v).max() < 1e-12 and np.abs(data.qvel[:2]).max() < 1e-2
