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

"""What tests of elimination and of generated code share: the numeric core as the reference."""

import numpy as np

import closed_chain_dynamics as ccd
from closed_chain_dynamics.symbolic.elimination import derive

# ranges of the independent coordinates at which every loop closes [rad]
RANGES = {
    'exo': [(-1.57, 0.78), (-2.35, 0.52), (0.04, 1.53), (0.0, 1.57), (-3.1, 3.1)],
    'slider_crank': [(-3.1, 3.1)],
    'six_bar': [(-3.1, 3.1)],
    'four_bar': [(-3.1, 3.1)],
    'five_bar': [(1.6, 2.4), (0.7, 1.5)],
}
TERMS = ('M_1', 'c_1', 'g_1', 'tau_1')


def random_motion(name, count, seed=0):
    """Return q_1, v_1, a_1 of many random states, (count, n) each."""
    rng = np.random.default_rng(seed)
    lower, upper = np.transpose(RANGES[name])
    shape = (count, len(lower))
    return rng.uniform(lower, upper, shape), rng.normal(size=shape), rng.normal(size=shape)


def core_terms(robot, q, v_1, a_1):
    """Return M_1, c_1, g_1 and tau_1 at one closed pose, all by the numeric core."""
    c = ccd.coordinates(robot, q)
    still, W = np.zeros(robot.nv), c.W
    v = ccd.complete_velocity(robot, q, dict(zip(c.independent, v_1)))
    a = ccd.complete_acceleration(robot, q, v, dict(zip(c.independent, a_1)))
    bias = ccd.complete_acceleration(robot, q, v, dict.fromkeys(c.independent, 0.0))
    damping = {joint.name: joint.dynamics.damping for joint in robot.description.joints}
    g = ccd.newton_euler(robot, q, still, still)
    c_O = (
        ccd.newton_euler(robot, q, v, bias)
        - g
        - np.array([damping[name] for name in robot.coordinate_names]) * v
    )
    return {
        'M_1': W.T @ ccd.mass_matrix(robot, q) @ W,
        'c_1': W.T @ c_O,
        'g_1': W.T @ g,
        'tau_1': ccd.inverse_dynamics(robot, q, v, a).tau_G,
    }


def chain(n):
    """Return the URDF of an open chain of n hinges with axes in many directions."""
    rng = np.random.default_rng(n)
    links, joints = ['<link name="link_0"/>'], []
    for k in range(1, n + 1):
        axis = ' '.join(f'{x:.3f}' for x in rng.normal(size=3))
        links.append(
            f'<link name="link_{k}"><inertial><origin xyz="0.1 0.02 -0.03" rpy="{axis}"/>'
            '<mass value="1.3"/><inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0" ixz="0" '
            'iyz="0"/></inertial></link>'
        )
        joints.append(
            f'<joint name="joint_{k}" type="continuous"><parent link="link_{k - 1}"/>'
            f'<child link="link_{k}"/><origin xyz="0.3 0.1 0.2" rpy="{axis}"/>'
            f'<axis xyz="{axis}"/></joint>'
        )
    return f'<robot name="chain">{"".join(links + joints)}</robot>'


# A crank, a coupler on two crossed hinges, and a rocker whose axis is tilted: a spatial loop.
SPATIAL_JOINTS = (
    ('crank', 'base', '0 0 0', '0 0 0', '0 0 1', ' cc:role="actuated"'),
    ('swivel', 'crank_link', '0.2 0 0', '0.3 0.1 0', '0 0 1', ''),
    ('tilt', 'swivel_link', '0 0 0', '0 0 0', '0 1 0', ''),
    ('rocker', 'base', '0.4 0.1 0.05', '0.5 0.4 0.1', '0.6 0 0.8', ''),
)
SPATIAL = (
    '<robot name="spatial" xmlns:cc="urn:closed_chain_dynamics"><link name="base"/>'
    + ''.join(
        f'<link name="{child}_link"><inertial><origin xyz="0.1 0.01 0.02"/>'
        '<mass value="0.7"/><inertia ixx="0.001" iyy="0.004" izz="0.005" ixy="0.0001" '
        f'ixz="0" iyz="0"/></inertial></link><joint name="{child}" type="continuous"{role}>'
        f'<parent link="{parent}"/><child link="{child}_link"/>'
        f'<origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="{axis}"/>'
        '<dynamics damping="0.03"/></joint>'
        for child, parent, xyz, rpy, axis, role in SPATIAL_JOINTS
    )
    + '<constraint name="ball" type="spherical"><parent link="tilt_link"/>'
    '<parent_origin xyz="0.4 0 0"/><child link="rocker_link"/>'
    '<child_origin xyz="0.3 0 0"/></constraint></robot>'
)


def derived(name, method, **options):
    """Return a shipped model and its equations."""
    robot = ccd.load(name)
    return robot, derive(robot, method, **options)
