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

"""Gears against the speeds of Willis, the split of torques and their kinetic energy."""

import math

from helpers.comparing import ROUNDING, close, link_angle_rate
from helpers.planar_linkages import GRAVITY
from helpers.planetary_gear import (
    ARM,
    I_CARRIER,
    I_PLANET,
    I_RING,
    I_SUN,
    M_PLANET,
    PLANETARY,
    Z_RING,
    Z_SUN,
    planetary_speeds,
    planetary_state,
)
import numpy as np
import pytest

import closed_chain_dynamics as ccd


@pytest.fixture
def planetary():
    return ccd.load(PLANETARY)


def test_a_planetary_gear_has_two_degrees_of_freedom_and_the_speeds_of_willis(planetary):
    c = ccd.coordinates(planetary, np.zeros(4))
    assert (c.mobility, c.rank, c.redundant_rows) == (2, 2, [])
    for sun, carrier in ((1.0, 0.0), (0.0, 1.0), (3.0, -2.0)):
        v = planetary_state(planetary, planetary_speeds(sun, carrier))
        assert np.abs(c.J_C @ v).max() < ROUNDING
        rates = c.W @ v[[planetary.coordinate_names.index(name) for name in c.independent]]
        assert close(rates, v)
    held = planetary_speeds(7.0, 7.0 * Z_SUN / (Z_SUN + Z_RING))  # the reducer: the ring stands
    assert held['ring'] == pytest.approx(0.0, abs=ROUNDING)


def test_the_torques_of_a_planetary_gear_split_as_the_teeth(planetary):
    """At rest: sun, ring and carrier share as Z_sun : Z_ring : -(Z_sun + Z_ring)."""
    load = 14.0
    still = np.zeros(4)
    q = planetary_state(planetary, planetary_speeds(0.3, -0.8))  # integrates to closed positions
    result = ccd.inverse_dynamics(
        planetary, q, still, still, wrenches={'carrier': (0.0, 0.0, 0.0, 0.0, 0.0, load)}
    )
    assert result.torques() == pytest.approx(
        {'sun': -load * Z_SUN / (Z_SUN + Z_RING), 'ring': -load * Z_RING / (Z_SUN + Z_RING)},
        rel=ROUNDING,
    )


def test_the_planetary_gear_accelerates_by_its_kinetic_energy(planetary):
    """T is quadratic in the speeds of sun and carrier, with constant coefficients."""
    columns = [planetary_speeds(1.0, 0.0), planetary_speeds(0.0, 1.0)]
    inertia = {
        'sun': I_SUN,
        'carrier': I_CARRIER + M_PLANET * ARM**2,
        'planet': I_PLANET,
        'ring': I_RING,
    }
    A = np.array(
        [
            [sum(inertia[name] * one[name] * two[name] for name in inertia) for one in columns]
            for two in columns
        ]
    )
    tau = {'sun': 0.9, 'ring': -2.0}
    force = [tau['sun'] * column['sun'] + tau['ring'] * column['ring'] for column in columns]
    expected = planetary_speeds(*np.linalg.solve(A, force))
    v = planetary_state(planetary, planetary_speeds(40.0, -7.0))
    a = ccd.forward_dynamics(planetary, np.zeros(4), v, tau).acceleration
    assert close(a, planetary_state(planetary, expected))
    assert ccd.inverse_dynamics(planetary, np.zeros(4), v, a).torques() == pytest.approx(
        tau, rel=ROUNDING * 10
    )


def geared_arm(ratio, predecessor):
    """Return an arm in the plane of gravity with two wheels; the arm is the gears' carrier."""
    inertias = {'arm': (1.5, 0.02), 'first': (0.7, 0.003), 'second': (0.9, 0.006)}
    links = ''.join(
        f'<link name="{name}"><inertial><origin xyz="{0.2 if name == "arm" else 0.0} 0 0"/>'
        f'<mass value="{mass}"/><inertia ixx="1" iyy="1" izz="{izz}" ixy="0" ixz="0" iyz="0"/>'
        '</inertial></link>'
        for name, (mass, izz) in inertias.items()
    )
    return ccd.load(
        f'''
<robot name="geared_arm"><link name="base"/>{links}
  <joint name="arm" type="continuous"><parent link="base"/><child link="arm"/>
    <axis xyz="0 0 1"/></joint>
  <joint name="first" type="continuous"><parent link="arm"/><child link="first"/>
    <origin xyz="0.3 0 0"/><axis xyz="0 0 1"/></joint>
  <joint name="second" type="continuous"><parent link="arm"/><child link="second"/>
    <origin xyz="0.5 0 0"/><axis xyz="0 0 1"/></joint>
  <coupling name="mesh"><predecessor link="{predecessor}"/><successor link="second"/>
    <ratio value="{ratio}"/><carrier link="arm"/></coupling>
</robot>''',
        actuated=['arm', 'first'],
        gravity=GRAVITY,
    ), inertias


def test_gears_on_a_moving_carrier_mesh_relative_to_it():
    """The arm's own turn drives no wheel: second = ratio first, both against the arm."""
    ratio = -1.5
    robot, inertias = geared_arm(ratio, 'first')
    assert robot.coordinate_names == ['arm', 'first', 'second']
    arm, wheel = 0.7, 1.1
    q = np.array([arm, wheel, ratio * wheel])
    v, a = np.array([0.9, 4.0, ratio * 4.0]), np.array([-2.0, 3.0, ratio * 3.0])
    c = ccd.coordinates(robot, q)
    assert c.mobility == 2
    assert c.J_C[0, 0] == 0.0
    # T = sum of m r^2 arm'^2 / 2 + I (arm' + wheel')^2 / 2,  V = g sum of m r sin(arm)
    radii = {'arm': 0.2, 'first': 0.3, 'second': 0.5}
    turn = {'arm': a[0], 'first': a[0] + a[1], 'second': a[0] + a[2]}
    on_arm = sum(
        mass * radii[name] ** 2 * a[0]
        + izz * turn[name]
        + mass * radii[name] * 9.81 * math.cos(arm)
        for name, (mass, izz) in inertias.items()
    )
    on_first = (
        inertias['first'][1] * turn['first'] + ratio * inertias['second'][1] * turn['second']
    )
    result = ccd.inverse_dynamics(robot, q, v, a)
    assert result.torques() == pytest.approx({'arm': on_arm, 'first': on_first}, rel=ROUNDING)
    assert close(ccd.forward_dynamics(robot, q, v, result.tau_A).acceleration, a)


def test_a_planet_rolls_round_a_fixed_sun_by_willis():
    """A gear on the ground turns backwards against the carrier: the planet turns forwards."""
    teeth = 24 / 18
    robot, _ = geared_arm(-teeth, 'base')
    c = ccd.coordinates(robot, np.zeros(3))
    assert c.mobility == 2
    v = c.W @ [1.0, 0.0] if c.independent[0] == 'arm' else c.W @ [0.0, 1.0]
    assert robot.coordinate_names == ['arm', 'first', 'second']
    assert v == pytest.approx((1.0, 0.0, teeth), abs=ROUNDING)
    assert link_angle_rate(robot, np.zeros(3), v, 'second') == pytest.approx(
        1.0 + teeth, abs=ROUNDING
    )
