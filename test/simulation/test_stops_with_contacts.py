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

"""A contact and a stop of a joint that close at one instant, or one while the other holds."""

import numpy as np
import pytest

import closed_chain_dynamics as ccd

G = 9.80665
M, N = 3.0, 2.0  # of the body that falls, and of the foot that slides in it [kg]


def hopper(play, *, stop=0.0, restitution=0.0):
    """
    Return a body on a vertical guide, and a foot that slides in it between two stops.

    The foot is `play` below its upper stop at most; its sole is where its origin is.
    """
    inertia = '<inertia ixx="1" iyy="1" izz="1" ixy="0" iyz="0" ixz="0"/>'
    return ccd.load(f"""<robot name="hopper" xmlns:cc="urn:closed_chain_dynamics">
      <link name="world"/>
      <link name="body"><inertial><mass value="{M}"/>{inertia}</inertial></link>
      <link name="foot"><inertial><mass value="{N}"/>{inertia}</inertial></link>
      <joint name="height" type="prismatic"><parent link="world"/><child link="body"/>
        <axis xyz="0 0 1"/><limit lower="-10" upper="10" effort="1" velocity="1"/></joint>
      <joint name="leg" type="prismatic"><parent link="body"/><child link="foot"/>
        <axis xyz="0 0 1"/>
        <limit lower="{-play}" upper="0" effort="1" velocity="1" cc:restitution="{stop}"/></joint>
      <constraint name="sole" type="surface" active="false">
        <parent link="world"/><child link="foot"/><parent_axis xyz="0 0 1"/>
        <cc:contact unilateral="true" mu="0.5" restitution="{restitution}"/></constraint>
      </robot>""")


@pytest.mark.parametrize('integrator', ['euler', 'rk4', 'implicit', 'adaptive'])
def test_a_leg_that_lands_with_its_knee_at_the_stop_stops_as_a_whole(integrator):
    """Foot at its upper stop, both fall 0.2 m: the floor takes (m + n) v, the stop m v."""
    sim = ccd.Simulation(hopper(0.1), q=[0.2, 0.0], dt=1e-3, integrator=integrator)
    start = sim.energy()
    sim.run(0.5)
    speed = np.sqrt(2.0 * G * 0.2)
    rough = 1e-2 if integrator == 'euler' else 1e-6
    landing = {event.name: event for event in sim.events if event.impulse.size}
    assert set(landing) == {'sole', 'leg'}
    assert landing['sole'].time == landing['leg'].time
    assert landing['sole'].time == pytest.approx(speed / G, abs=rough)
    pushed = sum(event.momentum_change[2] for event in landing.values())
    assert pushed == pytest.approx((M + N) * speed, rel=rough)
    lost = sum(event.energy_lost for event in sim.events)
    assert lost == pytest.approx(0.5 * (M + N) * speed**2, rel=rough)
    assert np.abs(sim.v).max() < 1e-12 and np.abs(sim.q).max() < 1e-9
    if integrator != 'euler':
        assert abs(sim.energy().balance - start.balance) < 1e-7
    assert len(sim.events) <= 4


@pytest.mark.parametrize('integrator', ['rk4', 'adaptive'])
def test_a_stop_that_is_hit_while_the_foot_stands(integrator):
    """The foot stands, the body falls 0.1 m on it: the floor takes m v through the stop."""
    sim = ccd.Simulation(hopper(0.1), q=[0.1, -0.1], dt=1e-3, integrator=integrator)
    start = sim.energy()
    sim.run(0.4)
    speed = np.sqrt(2.0 * G * 0.1)
    (hit,) = (event for event in sim.events if event.name == 'leg' and event.impulse.size)
    assert hit.kind == 'stop' and hit.time == pytest.approx(speed / G, abs=1e-7)
    assert hit.impulse == pytest.approx([-M * speed], rel=1e-6)
    assert hit.energy_lost == pytest.approx(0.5 * M * speed**2, rel=1e-6)
    assert not any(event.kind == 'lift_off' for event in sim.events)
    assert np.abs(sim.v).max() < 1e-12
    assert abs(sim.energy().balance - start.balance) < 1e-7


def test_a_body_that_is_thrown_up_takes_its_foot_with_it():
    """At its lower stop the leg lifts the foot: m v = (m + n) w, and the sole leaves the floor."""
    speed = 2.0
    sim = ccd.Simulation(hopper(0.1), q=[0.05, -0.05], v=[speed, -speed], dt=1e-3)
    start = sim.energy()
    while not any(event.name == 'leg' for event in sim.events):
        sim.step()
    (hit,) = (event for event in sim.events if event.name == 'leg')
    fast = np.sqrt(speed**2 - 2.0 * G * 0.05)
    assert hit.time == pytest.approx((speed - fast) / G, abs=1e-7)
    after = np.flatnonzero(sim.log.time <= hit.time)[-1]
    assert sim.log.v[after] == pytest.approx([M / (M + N) * fast, 0.0], abs=1e-7)
    assert [event.kind for event in sim.events if event.name == 'sole'] == ['lift_off']
    assert hit.energy_lost == pytest.approx(0.5 * M * N / (M + N) * fast**2, rel=1e-6)
    assert abs(sim.energy().balance - start.balance) < 1e-7


def test_a_stop_that_throws_back_leaves_the_foot_where_it_stands():
    """With restitution 0.5 the body bounces on the stop; the floor keeps pushing."""
    sim = ccd.Simulation(hopper(0.1, stop=0.5), q=[0.1, -0.1], dt=1e-3)
    start = sim.energy()
    while not any(event.impulse.size for event in sim.events):
        sim.step()
    (hit,) = (event for event in sim.events if event.impulse.size)
    speed = np.sqrt(2.0 * G * 0.1)
    assert hit.kind == 'bounce' and hit.impulse == pytest.approx([-1.5 * M * speed], rel=1e-6)
    after = np.flatnonzero(sim.log.time <= hit.time)[-1]
    assert sim.log.v[after] == pytest.approx([0.5 * speed, -0.5 * speed], abs=1e-6)
    sim.run(1.5)
    assert np.abs(sim.v).max() < 1e-12 and len(sim.events) < 30
    assert not any(event.name == 'sole' for event in sim.events)
    assert abs(sim.energy().balance - start.balance) < 1e-7


def sledge(mu, tilt=0.0):
    """Return a block that stands on the floor, with a mass on a rail in it, up by an angle."""
    inertia = '<inertia ixx="1" iyy="1" izz="1" ixy="0" iyz="0" ixz="0"/>'
    return ccd.load(f"""<robot name="sledge" xmlns:cc="urn:closed_chain_dynamics">
      <link name="world"/> <link name="cart"/>
      <link name="block"><inertial><mass value="{M}"/>{inertia}</inertial></link>
      <link name="mass"><inertial><mass value="{N}"/>{inertia}</inertial></link>
      <joint name="x" type="prismatic"><parent link="world"/><child link="cart"/>
        <axis xyz="1 0 0"/><limit lower="-10" upper="10" effort="1" velocity="1"/></joint>
      <joint name="z" type="prismatic"><parent link="cart"/><child link="block"/>
        <axis xyz="0 0 1"/><limit lower="-10" upper="10" effort="1" velocity="1"/></joint>
      <joint name="rail" type="prismatic"><parent link="block"/><child link="mass"/>
        <axis xyz="{np.cos(tilt)} 0 {np.sin(tilt)}"/>
        <limit lower="-1" upper="0" effort="1" velocity="1"/></joint>
      <constraint name="sole" type="surface">
        <parent link="world"/><child link="block"/><parent_axis xyz="0 0 1"/>
        <cc:contact unilateral="true" mu="{mu}"/></constraint>
      </robot>""")


def test_a_stop_hit_along_the_floor_moves_what_friction_held():
    """No impulse along the normal, so none of friction: both move on with n v / (m + n)."""
    mu, speed = 0.4, 2.0
    sim = ccd.Simulation(sledge(mu), q=[0.0, 0.0, -0.1], v=[0.0, 0.0, speed], dt=1e-3)
    start = sim.energy()
    while not any(event.name == 'rail' for event in sim.events):
        sim.step()
    (hit,) = (event for event in sim.events if event.name == 'rail')
    after = np.flatnonzero(sim.log.time <= hit.time)[-1]
    together = N / (M + N) * speed
    assert hit.time == pytest.approx(0.1 / speed, abs=1e-9)
    assert sim.log.v[after] == pytest.approx([together, 0.0, 0.0], abs=1e-7)
    assert hit.energy_lost == pytest.approx(0.5 * M * N / (M + N) * speed**2, rel=1e-6)
    sim.run(1.0)
    assert sim.q[0] == pytest.approx(together**2 / (2.0 * mu * G), abs=1e-6)
    assert np.abs(sim.v).max() < 1e-12
    assert abs(sim.energy().balance - start.balance) < 1e-7


@pytest.mark.parametrize('integrator', ['rk4', 'adaptive'])
@pytest.mark.parametrize(('mu', 'tilt'), [(0.4, -0.5), (3.0, -0.5), (0.4, 0.5)])
def test_a_stop_hit_at_an_angle_presses_the_block_down_or_lifts_it(mu, tilt, integrator):
    """
    Along the floor (m + n) w = n v (cos(a) - mu sin(a)), or nothing where friction is more.

    Upwards nothing presses: both fly with the momentum of the mass, and the sole leaves.
    """
    speed, c, s = 2.0, np.cos(tilt), np.sin(tilt)
    robot = sledge(mu, tilt)
    v = [0.0, 0.0, speed]
    sim = ccd.Simulation(robot, q=[0.0, 0.0, -1e-6], v=v, dt=1e-5, integrator=integrator)
    start = sim.energy()
    while not any(event.name == 'rail' for event in sim.events):
        sim.step()
    (hit,) = (event for event in sim.events if event.name == 'rail')
    after = np.flatnonzero(sim.log.time <= hit.time)[-1]
    share = N * speed / (M + N)
    along = share * c if s > 0.0 else max(share * (c - mu * abs(s)), 0.0)
    assert sim.log.v[after] == pytest.approx([along, max(share * s, 0.0), 0.0], abs=1e-4)
    left = any(event.kind == 'lift_off' and event.name == 'sole' for event in sim.events)
    assert left == (s > 0.0)
    assert hit.energy_lost > 0.0
    assert abs(sim.energy().balance - start.balance) < 1e-9
