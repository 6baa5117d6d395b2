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
Robots written as other projects write theirs, one for each way of writing them.

URDF+ by hand, with loops that are closed and flat at zero; URDF+ out of a generator; Extended URDF
as a CAD program exports it, with a YAML file beside it, frames of a milligram, halves of rods that
are welded together, and numbers with seventeen digits. `helpers.geared_legs` has the gears, and
`helpers.rod_biped` is one in MJCF.
"""

from dataclasses import dataclass
import math

from helpers.geared_legs import geared_legs

__all__ = ['OWN_ROBOTS', 'OwnRobot', 'linkage_leg', 'own_file']

HALF_PI = math.pi / 2.0
NOISE = 2.7755575615628914e-17  # what a CAD program leaves of a zero


@dataclass(frozen=True)
class OwnRobot:
    """A URDF file, the YAML beside it if any, and how it can move with all loops closed."""

    urdf: str
    mobility: int
    yaml: str = ''


def own_file(name, folder):
    """Write a robot as files, and return the path of its URDF."""
    robot, path = OWN_ROBOTS[name], folder / f'{name}.urdf'
    path.write_text(robot.urdf)
    if robot.yaml:
        path.with_suffix('.yaml').write_text(robot.yaml)
    return path


# ---- URDF+ by hand ----
def _hinge(name, parent, child, x, kind='revolute', more=''):
    limit = '<limit effort="30" velocity="2.0" lower="-12.5" upper="12.5"/>'
    return f"""
    <joint name="{name}" type="{kind}"{more}>
        <parent link="{parent}"/>
        <child link="{child}"/>
        <origin xyz="{x} 0.0 0.0"/>
        <axis xyz="0 0 1"/>
        {limit if kind == 'revolute' else ''}
    </joint>"""


def _loop(name, predecessor, successor):
    """Write a loop in the plane; both ends are (link, x)."""
    return f"""
    <loop name="{name}" type="revolute">
        <predecessor link="{predecessor[0]}">
            <origin xyz="{predecessor[1]} 0.0 0.0"/>
        </predecessor>
        <successor link="{successor[0]}">
            <origin xyz="{successor[1]} 0.0 0.0"/>
        </successor>
        <axis xyz="0 0 1"/>
    </loop>"""


def _bar(name, mass, length, colour):
    """Write a bar with an inertia without rotation, a box to see, and a colour of its own."""
    return f"""
    <link name="{name}">
        <inertial>
            <mass value="{mass}"/>
            <origin xyz="{0.4 * length} 0.0 0.0"/>
            <inertia ixx="0.0021" ixy="0" ixz="0" iyy="0.0343" iyz="0" izz="0.0352"/>
        </inertial>
        <visual>
            <origin xyz="{length / 2.0} 0 0" rpy="0 0 0"/>
            <geometry> <box size="{length} 0.04 0.04"/> </geometry>
            <material name="{colour}"> <color rgba="0.2 0.7 0.1 1.0"/> </material>
        </visual>
    </link>"""


def _flat_bars():
    """Return a four-bar that is closed and flat at zero, where it can go two ways."""
    bars = _bar('crank', 2.1, 0.4, 'Red') + _bar('coupler', 3.2, 0.9, 'Green')
    return f"""<?xml version="1.0" ?>
<robot name="flat_bars" xmlns:xacro="http://ros.org/wiki/xacro">
    <link name="base_link"/>
    {bars}{_bar('rocker', 2.6, 0.5, 'Blue')}
    {_hinge('first', 'base_link', 'crank', 0.0, more=' independent="true"')}
    {_hinge('second', 'crank', 'coupler', 0.4, more=' independent="false"')}
    {_hinge('third', 'base_link', 'rocker', 0.8, more=' independent="false"')}
    {_loop('closing', ('coupler', 0.9), ('rocker', 0.5))}
</robot>"""


def linkage_leg():
    """Return a planar leg whose foot a parallelogram moves; inertias are about z alone."""
    parts = {
        'thigh': (0.31, 0.033, 6.1e-5),
        'shank_driver': (0.006, 0.05, 4.2e-6),
        'shank_support': (0.19, 0.041, 3.1e-5),
        'foot': (0.02, 0.07, 2.6e-5),
    }
    links = ''.join(
        f"""
    <link name="{name}">
        <inertial>
            <mass value="{mass}"/>
            <origin xyz="{x} 0.0 0.0"/>
            <inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="{izz}"/>
        </inertial>
    </link>"""
        for name, (mass, x, izz) in parts.items()
    )
    follows = ' independent="false"'
    return f"""<?xml version="1.0" ?>
<robot name="linkage_leg">
    <link name="base"/>
    {links}
    {_hinge('hip', 'base', 'thigh', 0.0, 'continuous')}
    {_hinge('drive', 'thigh', 'shank_driver', 0.015, 'continuous', ' independent="true"')}
    {_hinge('support', 'thigh', 'shank_support', 0.05, 'continuous', follows)}
    {_hinge('toe', 'shank_driver', 'foot', 0.1, 'continuous', follows)}
    {_loop('linkage', ('foot', 0.035), ('shank_support', 0.1))}
</robot>"""


# ---- URDF+ out of a generator ----
def _forked_chain(depth=3):
    """Return two chains whose first links a rod connects; attributes in a generator's order."""
    text = ['<link name="base"/>']

    def link(name):
        text.append(
            f'<link name="{name}"><inertial><mass value="0.3"/><origin rpy="0 0 0" xyz="0 0.4 0"/>'
            '<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.02"/></inertial></link>'
        )

    def joint(name, parent, child, xyz, independent):
        text.append(
            f'<joint independent="{independent}" name="{name}" type="revolute">'
            f'<parent link="{parent}"/><child link="{child}"/><origin xyz="{xyz}"/>'
            '<axis xyz="0 0 1"/><limit effort="30" lower="-9" upper="9" velocity="1.0"/></joint>'
        )

    for level in range(1, depth + 1):
        for side in (1, 2):
            name, parent = f'link_{side}_{level}', f'link_{side}_{level - 1}'
            link(name)
            place = '0 0.9 0' if level > 1 else f'{side - 1}.1 0 0'
            free = 'True' if level > 1 else str(side == 1).lower()
            joint(f'joint_{side}_{level}', parent if level > 1 else 'base', name, place, free)
    link('connecting_rod')
    joint('rod_joint', 'link_1_1', 'connecting_rod', '0 0.9 0', 'false')
    text.append(
        '<loop name="position_1" type="revolute"><predecessor link="connecting_rod">'
        '<origin xyz="1.2 0.0 0.0"/></predecessor><successor link="link_2_1">'
        '<origin xyz="0.0 0.9 0.0"/></successor><axis xyz="0 0 1"/></loop>'
    )
    return f'<robot name="forked_chain">{"".join(text)}</robot>'


# ---- Extended URDF out of a CAD program ----
def _exported(name, mass, place):
    """Write a link with a mesh, and an inertia about a point beside its axes."""
    mesh = f'<geometry><mesh filename="package:///{name}.stl"/></geometry>'
    origin = f'<origin xyz="{NOISE} {-NOISE} 0.0599" rpy="-6.12e-17 -0 {HALF_PI!r}" />'
    return f"""
<link name="{name}">
<visual>{origin}{mesh}
<material name="{name}_material"><color rgba="0.6 0.8 0.9 1.0"/></material></visual>
<collision>{origin}{mesh}</collision>
<inertial>
<origin xyz="{place}" rpy="0 0 0"/>
<mass value="{mass}" />
<inertia ixx="{0.0031 * mass}" ixy="{-1e-5 * mass}"  ixz="{3e-5 * mass}"
  iyy="{0.0042 * mass}" iyz="2e-9" izz="{0.0039 * mass}" />
</inertial>
</link>"""


def _frame(name, parent, xyz, rpy):
    """Write a frame as such programs do: a link of a milligram, fixed, with an axis of zeros."""
    return f"""
<link name="{name}">
<inertial>
<origin xyz="0 0 0" rpy="0 0 0" />
<mass value="1e-6" />
<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0" />
</inertial>
</link>
<joint name="{name}_frame" type="fixed">
<origin xyz="{xyz}" rpy="{rpy}" />
<parent link="{parent}" />
<child link="{name}" />
<axis xyz="0 0 0"/>
</joint>"""


def _exported_joint(name, parent, child, xyz, rpy='0 0 0'):
    """Write any joint as a hinge about its own z, with a tag that no other program knows."""
    return f"""
<joint name="{name}" type="revolute">
<origin xyz="{xyz}" rpy="{rpy}" />
<parent link="{parent}" />
<child link="{child}" />
<axis xyz="0 0 1"/>
<limit effort="1" velocity="20" />
<joint_properties friction="0.0"/>
</joint>"""


def _rod_legs():
    """
    Return two legs whose knees are moved by cranks over rods: 18 velocities, mobility 6.

    The upper half of a rod has a ball at the crank, the lower half a universal joint at the shank.
    """
    text, loops, motors, kinds = [_exported('torso', 7.9, f'{NOISE} 0 0.07')], [], [], {}
    down = f'{NOISE} {HALF_PI!r} 0'  # z of the child along x of the parent
    turned = f'{math.pi!r} {NOISE} {math.pi!r}'
    for k, (end, side) in enumerate((('', -1.0), ('_left', 1.0)), start=1):
        hip, thigh, shank, crank = (f'{name}{end}' for name in ('hip', 'thigh', 'shank', 'crank'))
        upper, lower = f'rod{end}_1/2', f'rod{end}_2/2'
        text += [
            _exported(hip, 1.13, '-0.01 0 -0.03'),
            _exported(thigh, 2.9, f'0.14 0.01 {0.02 * side}'),
            _exported(shank, 1.41, f'0.11 {NOISE} 0'),
            _exported(crank, 0.21, '0 -0.03 0'),
            _exported(upper, 0.06, '0 0 0.06'),
            _exported(lower, 0.06, '0 0 -0.06'),
            _exported_joint(f'motor_hip_x{end}', 'torso', hip, f'0 {0.1 * side} 0', down),
            _exported_joint(f'motor_hip_y{end}', hip, thigh, '0 0 0', f'{-HALF_PI!r} 0 0'),
            _exported_joint(f'knee{end}', thigh, shank, f'0.30000000000000004 {NOISE} 0'),
            _exported_joint(f'motor_knee{end}', thigh, crank, '0.05 -0.05 0.03'),
            _exported_joint(f'spherical_free_crank{end}', crank, upper, '0 -0.06 0', down),
            _exported_joint(f'spherical_free_shank{end}', shank, lower, '0 -0.11 0.03', down),
            _frame(f'closedloop{k}_A', upper, f'0 {NOISE} 0.12499999999999999', turned),
            _frame(f'closedloop{k}_B', lower, f'{NOISE} 0 -0.12500000000000003', turned),
        ]
        loops.append(f'["closedloop{k}_B", "closedloop{k}_A"]')
        motors += [f'motor_hip_x{end}', f'motor_hip_y{end}', f'motor_knee{end}']
        kinds[f'spherical_free_crank{end}'] = 'SPHERICAL'
        kinds[f'spherical_free_shank{end}'] = 'UJOINT_XY'
    yaml = f"""closed_loop:
  [
    {', '.join(loops)},
  ]
type: ["6d", "6d"]
name_mot: {motors}
joint_name:
  [
    # balls and universal joints
    {', '.join(kinds)},
  ]
joint_type: {list(kinds.values())}
"""
    return OwnRobot(f'<robot name="onshape">{"".join(text)}</robot>', 6, yaml)


def _five_bar():
    """Return a five-bar in the plane, open at zero, whose loop is a point in space."""
    text = [_exported('base', 1.0, '0 0 0')]
    for k, x in ((1, -0.1), (2, 0.1)):
        text += [
            _exported(f'arm{k}', 0.5, '0.1 0 0'),
            _exported(f'rod{k}', 0.3, '0.12 0 0'),
            _exported_joint(f'mot{k}', 'base', f'arm{k}', f'{x} 0 0', f'0 0 {HALF_PI!r}'),
            _exported_joint(f'passive{k}', f'arm{k}', f'rod{k}', '0.2 0 0'),
            _frame(f'closedloop3D_1{"AB"[k - 1]}', f'rod{k}', f'0.25 {NOISE} 0', '0 0 0'),
        ]
    yaml = """closed_loop: [['closedloop3D_1B', 'closedloop3D_1A']]
type: ['3d']
name_mot: ['mot2', 'mot1']
"""
    return OwnRobot(f'<robot name="onshape">{"".join(text)}</robot>', 2, yaml)


OWN_ROBOTS = {
    'flat_bars': OwnRobot(_flat_bars(), 1),
    'linkage_leg': OwnRobot(linkage_leg(), 2),
    'geared_legs': OwnRobot(geared_legs(), 16),
    'forked_chain': OwnRobot(_forked_chain(), 5),
    'rod_legs': _rod_legs(),
    'five_bar_of_cad': _five_bar(),
}
