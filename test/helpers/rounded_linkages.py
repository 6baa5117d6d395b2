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

"""Overconstrained mechanisms whose files have few digits: they close to these, and no better."""

import numpy as np

import closed_chain_dynamics as ccd

SIDE, TWIST = 1.0, 0.9  # of Bennett's linkage: a / sin(alpha) is the same for both pairs
OTHER = 1.7
DIGITS = 7  # after the point, as in many files


def bennett(crank, digits=DIGITS):
    """
    Return Bennett's linkage, four hinges in space that move although they should not, rounded.

    Links a, b, a, b with twists alpha, beta, a / sin(alpha) = b / sin(beta); the file has the
    origins of the hinges in a pose that is closed, to `digits` digits.
    """
    a, alpha = SIDE, TWIST
    beta = np.arcsin(np.sin(alpha) / OTHER) if OTHER > 1.0 else TWIST
    b = a * np.sin(beta) / np.sin(alpha)
    # tan(t_1 / 2) tan(t_2 / 2) = sin((beta + alpha) / 2) / sin((beta - alpha) / 2)
    ratio = np.sin(0.5 * (beta + alpha)) / np.sin(0.5 * (beta - alpha))
    second = 2.0 * np.arctan(ratio / np.tan(0.5 * crank))

    def hinge(angle):
        c, s = np.cos(angle), np.sin(angle)
        return np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])

    def link(length, twist):
        c, s = np.cos(twist), np.sin(twist)
        return np.array([[1, 0, 0, length], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1]])

    links = [link(a, alpha), link(b, beta), link(a, alpha), link(b, beta)]
    angles = [crank, second, -crank, -second]
    return links, [hinge(angle) for angle in angles]


def _origin(place, digits):
    from scipy.spatial.transform import Rotation

    rpy = Rotation.from_matrix(place[:3, :3]).as_euler('xyz')
    write = ' '.join
    return (
        f'xyz="{write(f"{x:.{digits}f}" for x in place[:3, 3])}" '
        f'rpy="{write(f"{x:.{digits}f}" for x in rpy)}"'
    )


def rounded_bennett(digits=DIGITS):
    """Return the Mechanism of Bennett's linkage, all its numbers rounded, and its crank angle."""
    crank = 1.0
    links, _hinges = bennett(crank)
    text = ['<robot name="bennett"><link name="ground"/>']
    parent, place = 'ground', np.eye(4)
    for k, after in enumerate(links[:3]):
        text.append(
            f'<link name="bar_{k}"><inertial><origin xyz="0.4 0 0"/><mass value="1"/>'
            '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="hinge_{k}" type="continuous"><parent link="{parent}"/>'
            f'<child link="bar_{k}"/><origin {_origin(place, digits)}/><axis xyz="0 0 1"/></joint>'
        )
        parent, place = f'bar_{k}', after
    text.append(
        '<constraint name="closing" type="revolute"><parent link="bar_2"/>'
        f'<parent_origin {_origin(links[2], digits)}/><parent_axis xyz="0 0 1"/>'
        f'<child link="ground"/><child_origin {_origin(np.linalg.inv(links[3]), digits)}/>'
        '<child_axis xyz="0 0 1"/></constraint></robot>'
    )
    return ccd.load(''.join(text)), crank


def rounded_wrist(size, turn, digits=DIGITS, stop=None):
    """
    Return a spherical wrist with three motors: all nine axes meet in a point, but for rounding.

    Three legs of two links at right angles, as in the Agile Eye of Gosselin and Hamel (1994);
    `size`: distance of the motors from that point [m]; `turn`: of the whole [rad], for other
    digits. Mobility 3, with two loops of five rows of which two each count. `stop`: the angle
    that elbow_2 turns up to, either way [rad].
    """
    from scipy.spatial.transform import Rotation

    x, y, z = Rotation.from_rotvec([0.3 + turn, -0.5, 0.8]).as_matrix().T
    near, far, top = size, 1.3 * size, 0.9 * size

    def write(vector):
        return ' '.join(f'{number:.{digits}f}' for number in vector)

    def link(name):
        return (
            f'<link name="{name}"><inertial><mass value="0.2"/><inertia ixx="1e-3" iyy="1.2e-3" '
            'izz="0.9e-3" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        )

    def hinge(name, parent, child, origin, axis):
        stopped = stop is not None and name == 'elbow_2'
        limit = f'<limit lower="-{stop}" upper="{stop}" effort="9" velocity="9"/>' * stopped
        return (
            f'<joint name="{name}" type="{"revolute" if stopped else "continuous"}">'
            f'<parent link="{parent}"/><child link="{child}"/>{limit}'
            f'<origin xyz="{write(origin)}"/><axis xyz="{write(axis)}"/></joint>'
        )

    text = ['<robot name="wrist"><link name="base"/>', link('platform')]
    for k, (first, second, third) in enumerate(((x, y, z), (y, z, x), (z, x, y))):
        elbow, wrist = far * second - near * first, top * third - far * second
        text += [
            link(f'near_{k}'),
            link(f'far_{k}'),
            hinge(f'motor_{k}', 'base', f'near_{k}', near * first, first),
            hinge(f'elbow_{k}', f'near_{k}', f'far_{k}', elbow, second),
        ]
        if k == 0:
            text.append(hinge('wrist_0', 'far_0', 'platform', wrist, third))
            continue
        text.append(
            f'<constraint name="wrist_{k}" type="revolute"><parent link="far_{k}"/>'
            f'<parent_origin xyz="{write(wrist)}"/><parent_axis xyz="{write(third)}"/>'
            f'<child link="platform"/><child_origin xyz="{write(top * (third - z))}"/>'
            f'<child_axis xyz="{write(third)}"/></constraint>'
        )
    return ccd.load(''.join(text) + '</robot>')
