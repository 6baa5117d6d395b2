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

"""A motor on the joint that closes a loop: its range and its stroke, by the law of cosines."""

import csv
import json
import math

import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.cli.main import main

CLOSED = 1e-9  # how exactly a motion closes its loops [m]
LEVER, BACK = (
    0.1,
    0.3,
)  # from the hinge of the arm to the ram on it, and to the ram on the base [m]
LINK = """
  <link name="{0}"> <inertial> <mass value="1"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/> </inertial> </link>
  <joint name="{0}" type="continuous"> <parent link="{1}"/> <child link="{0}"/>
    <origin xyz="{2} 0 0"/> <axis xyz="0 -1 0"/> </joint>"""


def stroke(angle):
    """Return the length of the ram [m] at an angle of the arm [rad]."""
    return math.sqrt(LEVER**2 + BACK**2 + 2.0 * LEVER * BACK * math.cos(angle))


@pytest.fixture
def lifted(tmp_path):
    """Return the path of an arm that a ram lifts, and that the ram can lower to 1 rad."""
    links = (('arm', 'base', 0), ('rod', 'arm', LEVER), ('housing', 'base', -BACK))
    path = tmp_path / 'lifted.urdf'
    path.write_text(f"""
<robot name="lifted" xmlns:cc="urn:closed_chain_dynamics"> <link name="base"/>
  {''.join(LINK.format(*each) for each in links)}
  <constraint name="ram" type="prismatic" cc:role="actuated">
    <parent link="housing"/> <parent_axis xyz="1 0 0"/>
    <child link="rod"/> <child_axis xyz="1 0 0"/>
    <limit lower="0" upper="{stroke(1.0)}" effort="900" velocity="2"/> </constraint>
  <cc:assembly name="up"> <cc:joint name="arm" value="1.2"/> </cc:assembly>
</robot>""")
    return path


def test_a_motion_beyond_the_range_of_the_motor_is_named(lifted, tmp_path, capsys):
    table = tmp_path / 'torques.csv'
    words = ['--q', 'arm=1.2', '--sine', 'arm=0.3,1', '--csv', str(table), '--json']
    assert main(['torque', str(lifted), *words]) == 0
    (found,) = json.loads(capsys.readouterr().out)['exceeded']
    assert (found['joint'], found['kind']) == ('ram', 'range')
    assert found['value'] == pytest.approx(stroke(0.9), abs=CLOSED)
    with open(table, newline='') as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        assert float(row['q:ram']) == pytest.approx(stroke(float(row['q:arm'])), abs=CLOSED)
    length, speed = (np.array([float(row[f'{each}:ram']) for row in rows]) for each in 'qv')
    time = np.array([float(row['time']) for row in rows])
    assert np.abs(np.gradient(length, time) - speed)[1:-1].max() < 1e-3 * np.abs(speed).max()


def test_a_pose_beyond_the_range_of_the_motor_is_refused_by_its_name(lifted):
    with pytest.raises(
        ccd.AssemblyError, match=f"beyond joint limits: 'ram' at {stroke(0.5):.4g}"
    ):
        ccd.assemble(ccd.load(lifted), {'arm': 0.5})


def test_check_shows_the_limits_of_the_motor(lifted, capsys):
    assert main(['check', str(lifted)]) == 0
    lines = capsys.readouterr().out.splitlines()
    (row,) = (line for line in lines if line.split()[:2] == ['ram', 'prismatic'])
    assert f'0 to {stroke(1.0):.4g} m' in row and '900 N' in row and '2 m/s' in row
