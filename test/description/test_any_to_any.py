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
Every dialect to every other: the new file moves as the old one did, or the report says why not.

Readers are compared with the tools of their dialects elsewhere, so a file that reads back with the
same numbers has them in its own tool too.
"""

from helpers.geared_legs import geared_legs
import numpy as np

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import convert
from closed_chain_dynamics.description.conversion import FORMATS

EXACT = 1e-9  # of the largest acceleration: numbers keep their digits, sums have another order
INERTIAL = (
    '<inertial><origin xyz="0.2 0.01 0.02"/><mass value="{}"/><inertia ixx="0.01" ixy="0.001" '
    'ixz="0" iyy="0.03" iyz="0" izz="0.03"/></inertial>'
)
GEOM = '<geom type="box" size="0.2 0.03 0.05" pos="0.2 0.01 0" euler="5 10 20"/>'
HINGE = '<axis><xyz>0 0 1</xyz><dynamics><damping>{}</damping></dynamics></axis>'
SOURCES = {
    'four_bar': 'four_bar',  # own URDF: a hinge with damping is cut
    'stewart': 'stewart',  # balls
    'urdf+': geared_legs(),
    'drake': f"""<robot name="d" xmlns:drake="http://drake.mit.edu"><link name="world"/>
      <link name="a">{INERTIAL.format(1)}</link><link name="b">{INERTIAL.format(2)}</link>
      <joint name="j" type="continuous"><parent link="world"/><child link="a"/>
        <axis xyz="0 1 0"/><dynamics damping="0.1"/></joint>
      <joint name="k" type="continuous"><parent link="world"/><child link="b"/>
        <origin xyz="0.5 0 0.2"/><axis xyz="0 1 0"/></joint>
      <drake:linear_spring_damper>
        <drake:linear_spring_damper_body_A name="a"/>
        <drake:linear_spring_damper_p_AP value="0.4 0 0"/>
        <drake:linear_spring_damper_body_B name="b"/>
        <drake:linear_spring_damper_p_BQ value="0.3 0 0"/>
        <drake:linear_spring_damper_free_length value="0.2"/>
        <drake:linear_spring_damper_stiffness value="50"/>
        <drake:linear_spring_damper_damping value="1"/>
      </drake:linear_spring_damper></robot>""",
    'mjcf': f"""<mujoco model="m"><option gravity="0.5 0 -9"/><worldbody>
      <frame euler="0 30 0"><body name="a"><joint name="j" axis="0 1 0" armature="0.02"
        stiffness="3" springref="40" damping="0.2"/>{GEOM}
        <body name="b" pos="0.5 0 0"><joint name="k" axis="0 1 0"/>{GEOM}</body></body></frame>
      <body name="c" pos="0.8 0 0.1" gravcomp="1"><joint name="l" axis="0 1 0"/>{GEOM}</body>
      </worldbody><equality><joint joint1="l" joint2="j" polycoef="0.1 -0.8 0 0 0"/></equality>
      </mujoco>""",
    'sdf': f"""<sdf version="1.9"><world name="w"><gravity>0 1 -9</gravity><model name="s">
      <link name="a"><pose>0 0 0 0 0 0.5</pose></link>
      <link name="b"><pose>1 0 0 0 0 0</pose></link>
      <link name="c"><pose>1 1 0 0.2 0 0</pose></link>
      <joint name="j" type="revolute"><parent>world</parent><child>a</child>{HINGE.format(1)}
      </joint><joint name="k" type="revolute"><parent>a</parent><child>b</child>
      {HINGE.format(0)}</joint><joint name="l" type="ball"><parent>b</parent><child>c</child>
      </joint><joint name="m" type="ball"><pose>0 0.5 0 0 0 0</pose><parent>world</parent>
      <child>c</child></joint></model></world></sdf>""",
}
# what a report has to name where accelerations change
REASONS = (
    'laws', 'rotors', 'springs', 'couplings', 'loops, which', 'weight', 'damping', 'limit moments',
)  # fmt: skip
EXACT_PAIRS = 27  # of 34; one more or less has a reason, to be found


def state_in(robot, other, q, v, at_rest):
    """Return a state in the order of another mechanism with the same joints."""
    q_other, v_other = other.neutral(), np.zeros(other.nv)
    for name in robot.joint_names:
        (own_q, own_v), (at_q, at_v) = robot.joint_slices(name), other.joint_slices(name)
        v_other[at_v] = v[own_v]
        if not at_rest:  # SDF counts joints from the pose in the file
            q_other[at_q] = q[own_q]
    return q_other, v_other


def positions(robot, q):
    """Return a pose as `convert` takes it."""
    found = {name: q[robot.joint_slices(name)[0]] for name in robot.joint_names}
    return {
        name: float(value[0]) if value.size == 1 else tuple(map(float, value))
        for name, value in found.items()
    }


def change(robot, to, folder):
    """Return how much accelerations change, relative, and the report."""
    q = ccd.assemble(robot, {})
    c = ccd.coordinates(robot, q)
    v = c.W @ np.linspace(0.7, -0.4, c.mobility)
    suffix = FORMATS[to][1][0]
    path = folder / f'{robot.name}_{to}{suffix}'
    files, report = convert(
        robot.description, path, robot.gravity, to=to, pose=positions(robot, q)
    )
    floats = any(each.type.value == 'floating' for each in robot.description.joints)
    again = ccd.load(files[0], gravity=robot.gravity)
    if to == 'sdf' and floats:
        return None, report
    a = ccd.forward_dynamics(robot, q, v).acceleration
    there = state_in(robot, again, q, v, to == 'sdf')
    found = ccd.forward_dynamics(again, *there).acceleration
    columns = [again.coordinate_names.index(name) for name in robot.coordinate_names]
    return np.abs(found[columns] - a).max() / np.abs(a).max(), report


def test_every_dialect_goes_to_every_other(tmp_path):
    exact, wrong = 0, []
    for name, source in SOURCES.items():
        robot = ccd.load(source)
        for to in FORMATS:
            difference, report = change(robot, to, tmp_path)
            if difference is None:
                continue
            exact += difference < EXACT
            told = any(reason in sentence for sentence in report for reason in REASONS)
            if difference >= EXACT and not told:
                wrong.append((name, to, difference, report))
            print(name, to, f'{difference:.1e}', report)
    assert not wrong
    assert exact == EXACT_PAIRS
