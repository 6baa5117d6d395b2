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

"""Four-bars as URDF texts, among them one that folds flat."""

import closed_chain_dynamics as ccd


def bar(name, length, mass=1.0):
    """Return a link: a rod along x with a given length and mass."""
    moment = mass * length**2 / 12.0
    return f"""<link name="{name}"><inertial><origin xyz="{length / 2} 0 0"/><mass value="{mass}"/>
      <inertia ixx="{moment * 0.01}" iyy="{moment}" izz="{moment}" ixy="0" ixz="0" iyz="0"/>
    </inertial></link>"""


def hinge(name, parent, child, x=0.0):
    """Return a joint about z."""
    return f"""<joint name="{name}" type="continuous"><parent link="{parent}"/>
      <child link="{child}"/><origin xyz="{x} 0 0"/><axis xyz="0 0 1"/></joint>"""


def four_bar(ground, crank, coupler, rocker, actuated=('crank',)):
    """Return a planar four-bar in the plane z = 0; the loop closes coupler and rocker."""
    xml = '<robot name="four_bar"><link name="base"/>' + ''.join(
        [
            bar('crank_bar', crank),
            bar('coupler_bar', coupler),
            bar('rocker_bar', rocker),
            hinge('crank', 'base', 'crank_bar'),
            hinge('coupler', 'crank_bar', 'coupler_bar', crank),
            hinge('rocker', 'base', 'rocker_bar', ground),
        ]
    )
    return ccd.load(
        xml
        + f"""<constraint name="pin" type="revolute">
      <parent link="coupler_bar"/><parent_origin xyz="{coupler} 0 0"/><parent_axis xyz="0 0 1"/>
      <child link="rocker_bar"/><child_origin xyz="{rocker} 0 0"/><child_axis xyz="0 0 1"/>
      </constraint></robot>""",
        actuated=actuated,
        gravity=(0.0, 0.0, 0.0),
    )


def parallelogram():
    """Return a four-bar that folds flat: its change points are at crank angles 0 and pi."""
    return four_bar(2.0, 1.0, 2.0, 1.0)


def parallel_pose(robot, angle):
    """Return the pose of the parallel branch: the coupler does not turn."""
    q = robot.neutral()
    for joint, value in (('crank', angle), ('coupler', -angle), ('rocker', angle)):
        q[robot.joint_slices(joint)[0]] = value
    return q
