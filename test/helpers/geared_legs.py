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

"""
Two legs with geared motors on a free base, in URDF+, as free stand-in for robots of others.

Every joint has a rotor on the link before it; that of the ankle sits on the thigh, so its belt
runs over the knee and its coupling sums two joints.
"""

__all__ = ['AXES', 'GEAR', 'SIDES', 'geared_legs']

SIDES = {'left': 1.0, 'right': -1.0}
AXES = {'hip_z': '0 0 1', 'hip_x': '1 0 0', 'hip_y': '0 1 0', 'knee': '0 1 0', 'ankle': '0 1 0'}
GEAR = {'hip_z': 6, 'hip_x': 6, 'hip_y': 6, 'knee': 12, 'ankle': 12}
LENGTH = {'hip_z': 0.05, 'hip_x': 0.05, 'hip_y': 0.3, 'knee': 0.3, 'ankle': 0.06}
MASS = {'hip_z': 0.9, 'hip_x': 0.8, 'hip_y': 3.1, 'knee': 1.7, 'ankle': 0.4}


def geared_legs():
    """Return the URDF+ text: 26 velocities, 10 couplings, mobility 16."""
    parts = [_link('base', 9.0, 0.1), '<link name="world"/>']
    parts.append(
        '<joint name="world_to_base" type="floating"><parent link="world"/>'
        '<child link="base"/></joint>'
    )
    for side, sign in SIDES.items():
        parent, drop, shift = 'base', 0.0, f'0 {0.09 * sign}'
        for name, axis in AXES.items():
            mine, rotor = f'{side}_{name}', f'{side}_{name}_rotor'
            # the motor of the ankle is carried by the thigh, those of the others by their parent
            carrier = f'{side}_hip_y' if name == 'ankle' else parent
            parts += [
                _link(f'{mine}_link', MASS[name], -LENGTH[name] / 2.0),
                _joint(mine, parent_link(parent), f'{mine}_link', f'{shift} {-drop}', axis),
                _link(f'{rotor}_link', 0.2, 0.0),
                _joint(rotor, parent_link(carrier), f'{rotor}_link', '0.02 0 0', axis, 'false'),
                f'<coupling name="{mine}_gear"><predecessor link="{mine}_link"/>'
                f'<successor link="{rotor}_link"/><ratio value="{GEAR[name]}"/></coupling>',
            ]
            parent, drop, shift = mine, LENGTH[name], '0 0'
    return f'<robot name="geared_legs">{"".join(parts)}</robot>'


def parent_link(joint):
    """Return the link that a joint moves."""
    return joint if joint == 'base' else f'{joint}_link'


def _link(name, mass, height):
    return (
        f'<link name="{name}"><inertial><origin xyz="0.01 0 {height}"/><mass value="{mass}"/>'
        f'<inertia ixx="{0.02 * mass}" iyy="{0.018 * mass}" izz="{0.005 * mass}" ixy="0" '
        'ixz="0.0001" iyz="0"/></inertial></link>'
    )


def _joint(name, parent, child, place, axis, independent='true'):
    return (
        f'<joint name="{name}" type="revolute" independent="{independent}">'
        f'<parent link="{parent}"/><child link="{child}"/><origin xyz="{place}"/>'
        f'<axis xyz="{axis}"/><limit lower="-10" upper="10" effort="150" velocity="100"/></joint>'
    )
