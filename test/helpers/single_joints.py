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

"""Bodies on one joint, of the tree or closing a loop, and two links: their motions are known."""

import closed_chain_dynamics as ccd

ARM = 1.0  # from the joint to the centre of mass [m]
MASS, SPIN = 2.0, 0.5  # of a body, and its inertia about its centre of mass [kg, kg m^2]


def _link(name, mass, spin, xyz='0 0 0'):
    moments = ' '.join(f'i{axis}="{spin}"' for axis in ('xx', 'yy', 'zz'))
    return f"""<link name="{name}"><inertial><origin xyz="{xyz}"/><mass value="{mass}"/>
        <inertia {moments} ixy="0" ixz="0" iyz="0"/></inertial></link>"""


def _law(friction, limits, restitution, moment):
    lower, upper = limits or (None, None)
    limit = f"""<limit lower="{lower}" upper="{upper}" effort="100" velocity="100"
        cc:restitution="{restitution}"/>"""
    law = f'<dynamics friction="{friction}"/>' + (limit if limits else '')
    if moment:
        law += '<cc:limit_moment stiffness="{}" damping="{}" transition="{}"/>'.format(*moment)
    return law


def _robot(inside, spring, joint, **options):
    if spring:
        inside += f"""<cc:spring name="spring" type="torsional" joint="{joint}">
            <cc:law stiffness="{spring[0]}" damping="{spring[1]}" rest_angle="{spring[2]}"/>
            </cc:spring>"""
    text = f"""<robot name="one_joint" xmlns:cc="urn:closed_chain_dynamics">
        <link name="base"/>{inside}</robot>"""
    return ccd.load(text, **options)


def pendulum(*, friction=0.0, limits=None, restitution=0.0, spring=None, moment=None, cut=False):
    """Return a pendulum in the plane of x and z; `cut`: its hinge closes a loop of a free body."""
    law = _law(friction, limits, restitution, moment)
    body = _link('arm', MASS, SPIN, f'0 0 {-ARM}')
    if not cut:
        joint = f"""<joint name="hinge" type="{'revolute' if limits else 'continuous'}">
            <parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>{law}</joint>"""
        return _robot(body + joint, spring, 'hinge', actuated=['hinge'])
    joint = f"""<joint name="flight" type="planar"><parent link="base"/><child link="arm"/>
        <axis xyz="0 1 0"/></joint>
        <constraint name="hinge" type="revolute"><parent link="base"/><parent_axis xyz="0 1 0"/>
        <child link="arm"/><child_axis xyz="0 1 0"/>{law}</constraint>"""
    return _robot(body + joint, spring, 'hinge', actuated=['hinge'])


def slider(mass=MASS, *, friction=0.0, stiffness=0.0, damping=0.0, limits=None, restitution=0.0):
    """Return a body that slides along x, without gravity."""
    law = _law(friction, limits, restitution, None)
    if damping:
        law = law.replace('<dynamics ', f'<dynamics damping="{damping}" ')
    joint = f"""<joint name="slide" type="prismatic"><parent link="base"/><child link="block"/>
        <axis xyz="1 0 0"/>{law}</joint>"""
    spring = (stiffness, 0.0, 0.0) if stiffness else None
    body = _link('block', mass, mass)
    return _robot(body + joint, spring, 'slide', gravity=(0, 0, 0), actuated=['slide'])


def wheel(inertia, friction):
    """Return a wheel that turns about x, without gravity."""
    joint = f"""<joint name="axle" type="continuous"><parent link="base"/><child link="rim"/>
        <axis xyz="1 0 0"/>{_law(friction, None, 0.0, None)}</joint>"""
    return _robot(_link('rim', 1.0, inertia) + joint, None, '', gravity=(0, 0, 0))


def two_links(limits, *, restitution=0.0):
    """Return two links in a row about y, the second with stops, without gravity."""
    second = _law(0.0, limits, restitution, None)
    inside = f"""{_link('upper', MASS, SPIN, '0 0 -0.5')}{_link('lower', MASS, SPIN, '0 0 -0.5')}
        <joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/>
        <axis xyz="0 1 0"/></joint>
        <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/>
        <origin xyz="0 0 -1"/><axis xyz="0 1 0"/>{second}</joint>"""
    return _robot(inside, None, '', gravity=(0, 0, 0))
