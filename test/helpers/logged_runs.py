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

"""Runs whose logs several tests look at."""

import numpy as np

import closed_chain_dynamics as ccd

__all__ = ['ALL_KINDS', 'all_kinds_run', 'four_bar_run', 'torn_run']

# One joint of each kind that has several coordinates, and two of those with one.
ALL_KINDS = """<robot name="all_kinds" xmlns:cc="urn:closed_chain_dynamics">
  <link name="world"/>
  {links}
  <joint name="fly" type="floating"> <parent link="world"/> <child link="a"/>
    <origin xyz="0 0 1" rpy="0.1 0.2 0.3"/> </joint>
  <joint name="ball" type="floating" cc:type="spherical"> <parent link="a"/> <child link="b"/>
    <origin xyz="0.3 0 0" rpy="0 0.4 0"/> </joint>
  <joint name="push" type="prismatic" cc:role="actuated"> <parent link="b"/> <child link="c"/>
    <origin xyz="0 0.2 0" rpy="0.5 0 0"/> <axis xyz="0 0 1"/>
    <limit effort="10" velocity="10" lower="-9" upper="9"/> </joint>
  <joint name="glide" type="planar"> <parent link="world"/> <child link="d"/>
    <origin xyz="1 0 0" rpy="0.3 0 0"/> <axis xyz="0.6 0 0.8"/> </joint>
  <joint name="tilt" type="fixed"> <parent link="d"/> <child link="e"/>
    <origin xyz="0 0 0.1" rpy="0 0.7 0"/> </joint>
</robot>""".format(
    links=''.join(
        f'<link name="{name}"> <inertial> <mass value="1"/> <inertia ixx="0.1" iyy="0.2" '
        'izz="0.15" '
        'ixy="0" ixz="0" iyz="0"/> </inertial> </link>'
        for name in 'abcde'
    )
)


def four_bar_run():
    """Turn a four-bar, open its loop, go on, and close it again a moment later."""
    robot = ccd.load('four_bar')
    q = ccd.assemble(robot, {'crank': 1.0})
    sim = ccd.Simulation(robot, q, ccd.complete_velocity(robot, q, {'crank': 2.0}))
    sim.run(0.2, {'crank': 0.4})
    sim.cut('coupler_rocker')
    sim.run(0.002, {'crank': -0.3})
    sim.connect('coupler_rocker')
    sim.run(0.1)
    return sim.log


def torn_run():
    """Tear the coupler of a four-bar off its crank."""
    sim = ccd.Simulation(ccd.load('four_bar'))
    sim.run(0.05)
    sim.cut('coupler')
    sim.run(0.05)
    return sim.log


def all_kinds_run():
    """Let a mechanism with every kind of joint fly."""
    robot = ccd.load(ALL_KINDS)
    v = np.random.default_rng(1).normal(size=robot.nv)
    sim = ccd.Simulation(robot, robot.neutral(), v)
    sim.run(0.05, {'push': 2.0})
    return sim.log
