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

"""A description with every tag, and small ones."""

EVERYTHING = """
<robot name="all" xmlns:cc="urn:closed_chain_dynamics">
  <material name="red"> <color rgba="1 0 0 1"/> </material>
  <link name="base">
    <visual name="plate"> <geometry> <box size="1 2 3"/> </geometry> <material name="red"/>
    </visual>
    <visual> <origin xyz="1 0 0" rpy="0 0 1"/>
      <geometry> <mesh filename="package://a/b.stl" scale="0.1 0.1 0.1"/> </geometry>
      <material name="blue"> <color rgba="0 0 1 0.5"/> </material> </visual>
    <collision> <geometry> <cylinder radius="0.1" length="2"/> </geometry> </collision>
    <collision> <geometry> <capsule radius="0.2" length="3"/> </geometry> </collision>
    <collision> <geometry> <sphere radius="0.5"/> </geometry> </collision>
  </link>
  <link name="a"> <inertial> <origin xyz="0.1 0 0" rpy="0 0.2 0"/> <mass value="2"/>
    <inertia ixx="1" ixy="0.1" ixz="0.2" iyy="1.5" iyz="0.3" izz="2"/> </inertial> </link>
  <link name="b"> <inertial> <mass value="1"/> <inertia ixx="1" iyy="1" izz="1"/> </inertial>
  </link>
  <link name="c"> <inertial> <mass value="1"/> <inertia ixx="1" iyy="1" izz="1"/> </inertial>
  </link>
  <link name="d"> <inertial> <mass value="1"/> <inertia ixx="1" iyy="1" izz="1"/> </inertial>
  </link>
  <joint name="knee" type="revolute" cc:role="actuated" independent="true">
    <origin xyz="1 2 3" rpy="0.1 0.2 0.3"/> <parent link="base"/> <child link="a"/>
    <axis xyz="0 0 2"/> <limit lower="-1" upper="2" effort="30" velocity="4"/>
    <dynamics damping="0.1" friction="0.2"/>
    <cc:limit_moment model="linear" stiffness="200" damping="1" transition="0.05"/> </joint>
  <joint name="shoulder" type="floating" cc:type="spherical">
    <parent link="a"/> <child link="b"/> </joint>
  <joint name="slide" type="prismatic" cc:role="passive">
    <parent link="base"/> <child link="c"/> <axis xyz="0 3 4"/> <limit lower="0" upper="1"/>
  </joint>
  <joint name="wheel" type="continuous" independent="false">
    <parent link="c"/> <child link="d"/> <axis xyz="0 1 0"/> <limit effort="5" velocity="6"/>
    <mimic joint="knee" multiplier="-2" offset="0.5"/> </joint>
  <constraint name="grip" type="hinge" active="false" cc:role="actuated">
    <parent link="b"/> <parent_origin xyz="1 0 0" rpy="0 0 0.5"/> <parent_axis xyz="0 2 0"/>
    <child link="d"/> <child_origin xyz="0.5 0 0"/> <child_axis xyz="3 0 0"/>
    <limit lower="-3" upper="3" effort="7" velocity="8"/>
    <dynamics damping="0.3" friction="0.4"/>
    <cc:limit_moment stiffness="10"/>
    <cc:contact normal="0 0 5" unilateral="false" mu="0.8"/>
  </constraint>
  <coupling name="gear"> <predecessor link="a"/> <successor link="d"/> <ratio value="6"/>
    <offset value="0.25"/> <carrier link="base"/> </coupling>
  <coupling name="sum" active="false"> <cc:term joint="knee"/>
    <cc:term joint="wheel" coefficients="-2 0.1"/> <offset value="0.75"/> </coupling>
  <cc:spring name="s" type="linear"> <cc:from link="base" xyz="1 2 3"/> <cc:to link="b"/>
    <cc:law stiffness="100" damping="2" rest_length="0.3"/> </cc:spring>
  <cc:spring name="t" type="torsional" joint="knee">
    <cc:law stiffness="50" rest_angle="-0.1"/> </cc:spring>
  <cc:assembly name="up"> <cc:joint name="knee" value="1"/> <cc:joint name="slide" value="0.5"/>
  </cc:assembly>
</robot>
"""


def by_name(group):
    return {each.name: each for each in group}


def arm(moments, axis='0 0 1', upper_axis='0 0 1', upper='revolute', origin='', inertial=''):
    return f"""<robot name="r"> <link name="base"/> <link name="upper"/>
      <link name="arm"> <inertial> <origin {inertial}/> <mass value="1"/> <inertia {moments}/>
      </inertial> </link>
      <joint name="first" type="{upper}"> <origin rpy="0.3 0.2 0.1"/> <parent link="base"/>
        <child link="upper"/> <axis xyz="{upper_axis}"/> </joint>
      <joint name="second" type="revolute"> <origin {origin}/> <parent link="upper"/>
        <child link="arm"/> <axis xyz="{axis}"/> </joint> </robot>"""
