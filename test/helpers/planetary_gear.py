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

"""A planetary gear from couplings, and its speeds by Willis's formula."""

import numpy as np

Z_SUN, Z_PLANET, Z_RING = 24, 18, 60  # teeth; the ring has those of the sun and two planets
I_SUN, I_PLANET, I_CARRIER, I_RING = 0.01, 0.004, 0.08, 0.3
M_PLANET, ARM = 0.6, 0.21

PLANETARY = f'''
<robot name="planetary" xmlns:cc="urn:closed_chain_dynamics">
  <link name="base"/>
  <link name="sun"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="{I_SUN}" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="carrier"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="{I_CARRIER}" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="planet"><inertial><mass value="{M_PLANET}"/>
    <inertia ixx="1" iyy="1" izz="{I_PLANET}" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="ring"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="{I_RING}" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="sun" type="continuous" cc:role="actuated"><parent link="base"/>
    <child link="sun"/><axis xyz="0 0 1"/></joint>
  <joint name="carrier" type="continuous"><parent link="base"/>
    <child link="carrier"/><axis xyz="0 0 1"/></joint>
  <joint name="planet" type="continuous"><parent link="carrier"/>
    <child link="planet"/><origin xyz="{ARM} 0 0"/><axis xyz="0 0 1"/></joint>
  <joint name="ring" type="continuous" cc:role="actuated"><parent link="base"/>
    <child link="ring"/><axis xyz="0 0 1"/></joint>
  <coupling name="sun_planet"><predecessor link="sun"/><successor link="planet"/>
    <ratio value="{-Z_SUN / Z_PLANET!r}"/><carrier link="carrier"/></coupling>
  <coupling name="planet_ring"><predecessor link="planet"/><successor link="ring"/>
    <ratio value="{Z_PLANET / Z_RING!r}"/><carrier link="carrier"/></coupling>
</robot>
'''


def planetary_speeds(sun, carrier):
    """Return all absolute speeds by Willis's formula: those against the carrier mesh."""
    return {
        'sun': sun,
        'carrier': carrier,
        'planet': carrier - (sun - carrier) * Z_SUN / Z_PLANET,
        'ring': carrier - (sun - carrier) * Z_SUN / Z_RING,
    }


def planetary_state(robot, speeds):
    """Return a vector over the joints: the planet's counts against the carrier."""
    values = {**speeds, 'planet': speeds['planet'] - speeds['carrier']}
    return np.array([values[name] for name in robot.coordinate_names])
