#!/usr/bin/env python3
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

"""A planetary gear from couplings: Willis' ratio, and the inertia and load that the motor sees."""

from pathlib import Path
import sys

import numpy as np

import closed_chain_dynamics as ccd

PATH = Path(sys.argv[1] if len(sys.argv) > 1 else 'out/11_planetary_gear.gif')
SUN, PLANET, MODULE = 12, 18, 0.004  # teeth; the ring has 48, and stands still; metres each
RING, ARM = SUN + 2 * PLANET, MODULE * (SUN + PLANET) / 2


def wheel(name, parent, place, radius, mass, colour, bar):
    """Return a wheel about -y, its joint, and a bar across it that shows how it turns."""
    axial = mass * radius**2 / 2.0
    return f"""<link name="{name}"> <inertial> <mass value="{mass}"/> <inertia ixx="{axial / 2}"
      iyy="{axial}" izz="{axial / 2}" ixy="0" ixz="0" iyz="0"/> </inertial>
    <visual> <origin rpy="1.5707963 0 0"/> <geometry> <cylinder radius="{radius}" length="0.02"/>
      </geometry> <material name="{colour}"> <color rgba="{colour} 1"/> </material> </visual>
    <visual> <origin xyz="{bar / 2} -0.014 0"/> <geometry> <box size="{bar} 0.01 0.008"/>
      </geometry> <material name="b"> <color rgba="0.2 0.2 0.2 1"/> </material> </visual> </link>
  <joint name="{name}" type="continuous"> <parent link="{parent}"/> <child link="{name}"/>
    <origin xyz="{place[0]} 0 {place[1]}"/> <axis xyz="0 -1 0"/> </joint>"""


xml = wheel('sun', 'world', (0, 0), MODULE * SUN / 2, 0.4, '0.95 0.55 0.15', MODULE * SUN / 2)
xml += wheel('carrier', 'world', (0, 0), 0.015, 0.3, '0.42 0.44 0.48', ARM)
for k, angle in enumerate(np.radians((0.0, 120.0, 240.0)), start=1):
    xml += wheel(
        f'planet_{k}',
        'carrier',
        ARM * np.array((np.cos(angle), np.sin(angle))),
        MODULE * PLANET / 2,
        0.6,
        '0.2 0.45 0.75',
        MODULE * PLANET / 2,
    )
    for one, ratio in (('sun', -SUN / PLANET), ('world', RING / PLANET)):  # seen on the carrier
        xml += f"""<coupling name="{one}_{k}"> <predecessor link="{one}"/> <successor
          link="planet_{k}"/> <ratio value="{ratio}"/> <carrier link="carrier"/> </coupling>"""
ring = ''.join(
    f'<visual> <origin xyz="{0.106 * np.cos(a)} 0 {0.106 * np.sin(a)}" rpy="0 {-a} 0"'
    '/> <geometry> <box size="0.02 0.02 0.008"/> </geometry> </visual>'
    for a in np.linspace(0.0, 2.0 * np.pi, RING, endpoint=False)
)
robot = ccd.load(
    f'<robot name="planetary"> <link name="world"> {ring} </link> {xml} </robot>', actuated=['sun']
)
q, still = ccd.assemble(robot, {'sun': 0.0}), np.zeros(robot.nv)
rate = dict(zip(robot.coordinate_names, ccd.coordinates(robot, q).W[:, 0]))
assert abs(rate['carrier'] - SUN / (SUN + RING)) < 1e-12  # Willis
inertia = (
    0.4 * 0.024**2 / 2
    + rate['carrier'] ** 2 * (0.3 * 0.015**2 / 2 + 3 * 0.6 * ARM**2)
    + 3 * 0.6 * 0.036**2 / 2 * (rate['carrier'] + rate['planet_1']) ** 2
)
alpha = ccd.forward_dynamics(robot, q, still, {'sun': inertia}).acceleration
assert abs(alpha[robot.coordinate_names.index('sun')] - 1.0) < 1e-9
(held,) = ccd.inverse_dynamics(
    robot, q, still, still, wrenches={'carrier': (0, 0, 0, 0, 1, 0)}
).tau_A
print(f'the sun feels {inertia:.3e} kg m^2, and holds 1 N m at the carrier with {held:.3f} N m')
assert abs(held - 0.2) < 1e-9

sim = ccd.Simulation(robot, q, dt=1e-3, log_every=10)
sim.run(1.5, {'sun': 0.008})
PATH.parent.mkdir(parents=True, exist_ok=True)
sim.log.record(PATH, fps=20, size=(400, 360), view='front')
print(f'wrote {PATH}')
