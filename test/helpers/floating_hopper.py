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

"""A hopper with a free base, an IMU on its trunk and a foot that stands."""

from helpers.random_mechanisms import pinocchio_model
import numpy as np
import pinocchio as pin

import closed_chain_dynamics as ccd

HOPPER = """<robot name="hopper" xmlns:cc="urn:closed_chain_dynamics"><link name="world"/>
  <link name="trunk"><inertial><mass value="10"/>
    <inertia ixx="0.2" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.1"/></inertial></link>
  <link name="sensor"/>
  <link name="thigh"><inertial><origin xyz="0 0 -0.2"/><mass value="2"/>
    <inertia ixx="0.03" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.002"/></inertial></link>
  <link name="shank"><inertial><origin xyz="0 0 -0.2"/><mass value="1"/>
    <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.001"/></inertial></link>
  <joint name="base" type="floating"><origin xyz="0.3 -0.2 0.1" rpy="0.1 0.2 0.3"/>
    <parent link="world"/><child link="trunk"/></joint>
  <joint name="mount" type="fixed"><origin xyz="0.05 0.02 0.1" rpy="0.4 -0.3 1.2"/>
    <parent link="trunk"/><child link="sensor"/></joint>
  <joint name="hip" type="revolute" cc:role="actuated"><parent link="trunk"/>
    <child link="thigh"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="80" velocity="20"/></joint>
  <joint name="knee" type="revolute" cc:role="actuated"><parent link="thigh"/>
    <child link="shank"/><origin xyz="0 0 -0.4"/><axis xyz="0 1 0"/>
    <limit lower="0" upper="2.5" effort="80" velocity="20"/></joint>
  <constraint name="foot" type="spherical"><parent link="world"/>
    <parent_origin xyz="0.4 0.1 0"/><child link="shank"/><child_origin xyz="0 0 -0.4"/>
  </constraint></robot>"""
LEG = ['hip', 'knee']


class Hopper:
    """A hopper on its foot in motion, and what its sensors say by Pinocchio."""

    def __init__(self):
        self.robot = ccd.load(HOPPER)
        start = self.robot.neutral()
        start[:7] = [0.1, 0.0, 0.7, 0.1, 0.2, -0.1, 1.0]
        start[3:7] /= np.linalg.norm(start[3:7])
        self.q = ccd.assemble(self.robot, {'hip': -0.5, 'knee': 1.0}, start=start)
        c = ccd.coordinates(self.robot, self.q)
        self.v = c.W @ np.random.default_rng(2).normal(size=c.mobility)
        self.model = pinocchio_model(self.robot.description)
        self.data = self.model.createData()

    def sensor(self, q=None):
        """Return pose (7,) and twist (6,) of the sensor."""
        q = self.q if q is None else q
        pin.forwardKinematics(self.model, self.data, q, self.v)
        pin.updateFramePlacements(self.model, self.data)
        frame = self.model.getFrameId('sensor')
        twist = pin.getFrameVelocity(self.model, self.data, frame, pin.LOCAL)
        return pin.SE3ToXYZQUAT(self.data.oMf[frame]), twist.vector

    def leg(self):
        """Return positions and velocities of the joints."""
        return self.q[7:].copy(), self.v[6:].copy()


CROUCHER = """<robot name="croucher" xmlns:cc="urn:closed_chain_dynamics"><link name="world"/>
  <link name="trunk"><inertial><mass value="10"/>
    <inertia ixx="0.2" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.1"/></inertial></link>
  <link name="crank_link"><inertial><mass value="0.5"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <link name="shank"><inertial><mass value="1"/>
    <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
  <link name="rocker_link"><inertial><mass value="0.5"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <joint name="base" type="floating"><parent link="world"/><child link="trunk"/></joint>
  <joint name="crank" type="continuous" cc:role="actuated"><parent link="trunk"/>
    <child link="crank_link"/><axis xyz="0 -1 0"/></joint>
  <joint name="knee" type="continuous"><parent link="crank_link"/><child link="shank"/>
    <origin xyz="0.2 0 0"/><axis xyz="0 -1 0"/></joint>
  <joint name="rocker" type="continuous"><parent link="trunk"/><child link="rocker_link"/>
    <origin xyz="0.5 0 0"/><axis xyz="0 -1 0"/></joint>
  <constraint name="pin" type="revolute"><parent link="shank"/><parent_origin xyz="0.5 0 0"/>
    <parent_axis xyz="0 -1 0"/><child link="rocker_link"/><child_origin xyz="0.4 0 0"/>
    <child_axis xyz="0 -1 0"/></constraint>
  <constraint name="foot" type="spherical"><parent link="world"/><child link="shank"/>
    <child_origin xyz="0.25 0 -0.4"/></constraint></robot>"""


def crouched(passed):
    """
    Return a robot on a foot that a four-bar carries, a state (q, v), and one `passed` seconds on.

    Its crank turns at 0.5 rad/s and its trunk leans over meanwhile.
    """
    robot = ccd.load(CROUCHER)
    rates = {'crank': 0.5, 'base:wx': 0.1, 'base:wy': -0.3, 'base:wz': 0.0}
    states, start = [], None
    for time in (0.0, passed):
        lean = pin.Quaternion(pin.exp3(time * np.array([0.1, -0.3, 0.0]))).coeffs()
        q = ccd.assemble(robot, {'crank': 1.0 + 0.5 * time}, start=start)
        foot = ccd.link_placement(robot, q, 'shank') @ [0.25, 0.0, -0.4, 1.0]
        R_old = pin.Quaternion(q[3:7]).matrix()
        arm = R_old.T @ (foot[:3] - q[:3])
        q[3:7] = lean
        q[:3] = -pin.Quaternion(lean).matrix() @ arm  # the foot on the origin of the world
        states.append((q, ccd.complete_velocity(robot, q, rates)))
        start = q
    return robot, *states
