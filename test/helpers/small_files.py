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

"""Small files of robots, and those with one part put in."""


def body(name, *, mass='1', moments='ixx="1" iyy="1" izz="1"', extra=''):
    return (
        f'<link name="{name}"><inertial><mass value="{mass}"/><inertia {moments}/>'
        f'</inertial>{extra}</link>'
    )


def hinge(name, parent, child, *, kind='revolute', inside='', attributes=''):
    return (
        f'<joint name="{name}" type="{kind}" {attributes}><parent link="{parent}"/>'
        f'<child link="{child}"/>{inside}</joint>'
    )


def robot(*parts):
    """Return a file with one part a line: the first part stands in line 2."""
    return '\n'.join(['<robot name="r" xmlns:cc="urn:closed_chain_dynamics">', *parts, '</robot>'])


BASE, ARM, TIP = '<link name="base"/>', body('arm'), body('tip')
SHOULDER, ELBOW = hinge('shoulder', 'base', 'arm'), hinge('elbow', 'arm', 'tip')
GOOD = (BASE, ARM, TIP, SHOULDER, ELBOW)


def with_hinge(inside='', kind='revolute', attributes=''):
    """Return a pendulum whose joint stands in line 4."""
    return robot(
        BASE,
        ARM,
        hinge('shoulder', 'base', 'arm', kind=kind, inside=inside, attributes=attributes),
    )


def with_body(**values):
    """Return a two-link arm whose last link, in line 4, has these values, turning about x, y."""
    return robot(
        BASE,
        ARM,
        body('tip', **values),
        SHOULDER,
        hinge('elbow', 'arm', 'tip', inside='<axis xyz="0 1 0"/>'),
    )


def with_extra(*extra):
    """Return a good arm with more elements, the first in line 7."""
    return robot(*GOOD, *extra)


LOOP = (
    '<constraint name="grip" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
    '{inside}</constraint>'
)
SPRING = '<cc:spring name="s" type="linear">{}</cc:spring>'
AXIS = '<axis><xyz>0 0 1</xyz></axis>'
AXES = AXIS + AXIS.replace('axis', 'axis2')
PITCH = '<screw_thread_pitch>0.1</screw_thread_pitch>'


def sdf_joint(kind, inside='', *, name='j', child='a'):
    return (
        f'<joint name="{name}" type="{kind}"><parent>world</parent><child>{child}</child>'
        f'{inside}</joint>'
    )


def sdf_model(inside='', *joints):
    return f'<model name="m"><link name="a">{inside}</link>{"".join(joints)}</model>'
