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

"""A mechanism of your own, as a string: Peaucellier's linkage draws an exactly straight line."""

from pathlib import Path
import sys

from matplotlib.figure import Figure
import numpy as np

import closed_chain_dynamics as ccd

PATH = Path(sys.argv[1] if len(sys.argv) > 1 else 'out/08_own_urdf.png')
LONG, SIDE, CRANK = 0.5, 0.2, 0.2  # two long bars, a rhombus, a crank as long as its base [m]
# name, parent, where on the parent, length, angle of an assembled pose
BARS = [
    ('crank', 'world', CRANK, CRANK, 0.0),
    ('long_a', 'world', 0.0, LONG, 0.39),
    ('long_b', 'world', 0.0, LONG, -0.39),
    ('near_a', 'crank', CRANK, SIDE, 1.25),
    ('near_b', 'crank', CRANK, SIDE, -1.25),
    ('far_a', 'long_a', LONG, SIDE, -1.64),
    ('far_b', 'long_b', LONG, SIDE, 1.64),
]
PINS = [
    ('a', 'near_a', SIDE, 'long_a', LONG),
    ('b', 'near_b', SIDE, 'long_b', LONG),
    ('pen', 'far_a', SIDE, 'far_b', SIDE),
]
xml = '<robot name="peaucellier" xmlns:cc="urn:closed_chain_dynamics"> <link name="world"/>'
for name, parent, x, length, _ in BARS:  # 1 kg/m, along +x
    role, moment = 'actuated' if name == 'crank' else 'passive', length**3 / 12.0
    xml += f"""
      <link name="{name}"> <inertial> <origin xyz="{length / 2} 0 0"/> <mass value="{length}"/>
        <inertia ixx="1e-5" ixy="0" ixz="0" iyy="{moment}" iyz="0" izz="{moment}"/>
      </inertial> </link>
      <joint name="{name}" type="continuous" cc:role="{role}"> <parent link="{parent}"/>
        <child link="{name}"/> <origin xyz="{x} 0 0"/> <axis xyz="0 -1 0"/> </joint>"""
for name, one, x, other, y in PINS:  # what closes the loops
    xml += f"""
      <constraint name="{name}" type="revolute"> <parent link="{one}"/> <child link="{other}"/>
        <parent_origin xyz="{x} 0 0"/> <parent_axis xyz="0 -1 0"/>
        <child_origin xyz="{y} 0 0"/> <child_axis xyz="0 -1 0"/> </constraint>"""
hint = ''.join(f'<cc:joint name="{name}" value="{angle}"/>' for name, *_, angle in BARS)
robot = ccd.load(f'{xml} <cc:assembly name="open"> {hint} </cc:assembly> </robot>')
q = ccd.assemble(robot, {'crank': 0.0})
print(ccd.coordinates(robot, q))

figure = Figure(figsize=(5.0, 5.0), layout='constrained')
axes, pen = figure.subplots(), []
for angle in np.linspace(-1.2, 1.2, 49):
    q = ccd.assemble(robot, {'crank': angle}, start=q)
    pen.append((ccd.link_placement(robot, q, 'far_a') @ (SIDE, 0.0, 0.0, 1.0))[:3])
    for name, _, _, length, _ in BARS if len(pen) in (9, 29, 49) else ():
        ends = ccd.link_placement(robot, q, name) @ ((0.0, length), (0, 0), (0, 0), (1, 1))
        axes.plot(ends[0], ends[2], '-o', color='#1f5fa8', alpha=len(pen) / 49, linewidth=3)
pen = np.array(pen)
line = (LONG**2 - SIDE**2) / (2.0 * CRANK)  # by inversion in a circle: Peaucellier, 1864
print(f'the pen moves by {np.ptp(pen[:, 2]):.3f} m up, and by {np.ptp(pen[:, 0]):.1e} m sideways')
assert np.allclose(pen[:, 0], line, rtol=0.0, atol=1e-12) and np.ptp(pen[:, 2]) > 0.5
axes.plot(pen[:, 0], pen[:, 2], color='#e07b1a', linewidth=3)
axes.set(xlabel='x [m]', ylabel='z [m]', title="Peaucellier's linkage", aspect='equal')
PATH.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(PATH, dpi=100)
print(f'wrote {PATH}')
