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
A biped in MJCF with springs and rods, written as models of a menagerie are.

Classes of defaults, frames by two of their axes, full inertias, angles that count from a
reference, a body that is fixed to another, balls, rotors, springs of joints, and connections
without a name. A rod with balls goes from each thigh to the shin, behind the knee and its spring;
a crank moves the foot over another rod, in the plane.
"""

__all__ = ['MOBILITY', 'rod_biped']

# 26 velocities; of the three rows of a rod with balls all count, of those in the plane two
MOBILITY = 26 - 2 * (3 + 2)
# joint, gear, largest input
MOTORS = ('hip', 25, 4.5), ('thigh', 16, 12.2), ('knee', 16, 12.2), ('crank', 50, 0.9)


def _leg(side, sign):
    return f"""
      <body name="{side}-hip" pos="0.02 {0.13 * sign} 0" xyaxes="0 0 -1 0 1 0">
        <inertial pos="-0.017 0.0002 -0.043" mass="1.7"
          fullinertia="0.0035 0.0038 0.0022 -7e-07 {-0.0008 * sign} 4e-06"/>
        <joint name="{side}-hip" type="hinge" range="-15 22.5" damping="1" armature="0.036"/>
        <body name="{side}-thigh" pos="0 0 -0.08" xyaxes="1 0 0 0 0 1">
          <inertial pos="0.06 5e-05 -0.035" mass="4.9"
            fullinertia="0.0109 0.0297 0.0303 -0.00027 -5.7e-05 9e-06"/>
          <joint name="{side}-thigh" type="hinge" range="-50 80" damping="1" armature="0.09"/>
          <geom class="collision-{side}" size="0.05" fromto="0 0 0 0.1 0 0"/>
          <body name="{side}-tendon-rod" pos="0 0 0.045" xyaxes="0.8 -0.6 0 0.6 0.8 0">
            <inertial pos="0.2 0 0" mass="0.15"
              fullinertia="3.8e-06 0.0035 0.003501 -4e-08 -2e-08 0"/>
            <joint name="{side}-tendon-rod" type="ball" damping="0.01"/>
          </body>
          <body name="{side}-knee" pos="0.12 0 0.0045" xyaxes="0.7071 -0.7071 0 0.7071 0.7071 0">
            <inertial pos="0.023 0.032 -0.002" mass="0.76"
              fullinertia="0.0014 0.001 0.0022 -0.0004 -4e-05 -5e-05"/>
            <joint name="{side}-knee" type="hinge" ref="-45" range="-160 -37" damping="1"/>
            <body name="{side}-knee-spring" pos="0.06 0.08 0">
              <inertial pos="0.084 0.003 0" mass="0.19"
                fullinertia="5e-05 0.0004 0.00037 7e-06 0 0"/>
            </body>
            <body name="{side}-shin" pos="0.06 0.047 0">
              <inertial pos="0.18 0.001 0.0002" mass="0.58"
                fullinertia="0.00036 0.0147 0.0147 -0.0002 2e-05 -1e-07"/>
              <joint name="{side}-shin" range="-20 20" stiffness="1400" damping="0.1"/>
              <body name="{side}-crank" pos="0.06 -0.03 0.01" xyaxes="0.6 0.8 0 -0.8 0.6 0">
                <inertial pos="0.007 2e-05 0" mass="0.12" fullinertia="3e-05 2e-05 4e-05 0 0 0"/>
                <joint name="{side}-crank" type="hinge" ref="20" armature="0.01"/>
                <body name="{side}-push-rod" pos="0.055 0 -0.008" xyaxes="0.6 -0.8 0 0.8 0.6 0">
                  <inertial pos="0.15 0 0" mass="0.11" fullinertia="3e-06 0.0018 0.0018 0 0 0"/>
                  <joint name="{side}-push-rod" type="hinge"/>
                </body>
              </body>
              <body name="{side}-foot" pos="0.41 0 0" xyaxes="-0.6 -0.8 0 0.8 -0.6 0">
                <inertial pos="0.0047 0.027 -0.0001" mass="0.15"
                  fullinertia="0.0001 0.00018 0.00028 -3e-05 0 0"/>
                <joint name="{side}-foot" type="hinge" ref="-140" range="-140 -30" damping="1"/>
                <site name="{side}-sole" pos="0.01 0.05 0"/>
              </body>
            </body>
          </body>
        </body>
      </body>"""


def rod_biped():
    """Return the text of the file."""
    motors = ''.join(
        f'<motor name="{side}-{joint}" joint="{side}-{joint}" gear="{gear}" '
        f'ctrlrange="-{most} {most}" user="2900"/>'
        for side in ('left', 'right')
        for joint, gear, most in MOTORS
    )
    connections = ''.join(
        f'<connect body1="{side}-tendon-rod" body2="{side}-shin" anchor="0.42 0 0"/>'
        f'<connect body1="{side}-push-rod" body2="{side}-foot" anchor="0.31 0 0"/>'
        for side in ('left', 'right')
    )
    return f"""<mujoco model="rod_biped">
  <compiler eulerseq="zyx" autolimits="true"/>
  <option timestep="0.0005"/>
  <default>
    <geom contype="0" conaffinity="0" condim="1" solref="0.005 1"/>
    <equality solref="0.005 1"/>
    <default class="biped"> <geom group="2"/> </default>
    <default class="collision"> <geom contype="1" group="3" type="capsule"/>
      <default class="collision-left"> <geom contype="2" conaffinity="4"/> </default>
      <default class="collision-right"> <geom contype="4" conaffinity="2"/> </default>
    </default>
  </default>
  <worldbody>
    <light name="spotlight" mode="targetbodycom" target="pelvis" pos="0 -1 2"/>
    <body name="pelvis" pos="0 0 1.1" childclass="biped">
      <camera name="track" pos="0 -3 1" zaxis="0 -1 0.5" mode="track"/>
      <inertial pos="0.05 0.0003 0.028" mass="9.8"
        fullinertia="0.086 0.049 0.087 1e-05 -0.00016 -0.0004"/>
      <freejoint/>
      <site name="imu" size="0.01" pos="0.03 0 -0.08"/>{_leg('left', 1)}{_leg('right', -1)}
    </body>
  </worldbody>
  <contact> <exclude body1="left-shin" body2="left-crank"/> </contact>
  <equality>{connections}</equality>
  <actuator>{motors}</actuator>
  <sensor> <gyro name="pelvis-gyro" site="imu"/> <jointpos joint="left-shin"/> </sensor>
</mujoco>"""
