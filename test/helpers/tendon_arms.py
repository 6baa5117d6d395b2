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

"""Tendons: an arm with one of every kind, a body on a path, a leg with some across its loops."""

from dataclasses import replace

import numpy as np

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description.elements import CouplingTerm, Spring, Waypoint
from closed_chain_dynamics.description.links import Pose

__all__ = ['ARM', 'TENDONS', 'cart', 'states', 'strung_leg']

GEOM = '<geom type="box" size="0.05 0.03 0.2" pos="0.02 0 -0.2"/>'
ARM = f"""
<mujoco model="arm"><option gravity="0 0 -9.81"/><worldbody><site name="w" pos="0.1 0.2 0.1"/>
  <body><joint name="root" axis="0 1 0"/>{GEOM}<site name="a" pos="0.1 0.03 -0.1"/>
    <geom name="ball" type="sphere" size="0.06" pos="0.05 0.02 -0.4" mass="0"/>
    <geom name="rod" type="cylinder" size="0.05 0.3" pos="-0.02 0 -0.4" euler="80 10 0" mass="0"/>
    <site name="side" pos="0.2 0 -0.4"/><site name="inside" pos="0.051 0.021 -0.41"/>
    <site name="within" pos="-0.02 0.01 -0.41"/>
    <body pos="0 0 -0.4"><joint name="middle" axis="0 1 0.2"/>{GEOM}
      <site name="b" pos="0.02 -0.1 -0.3"/>
      <body pos="0 0 -0.4"><joint name="slide" type="slide" axis="0 0.1 1"/>{GEOM}
        <site name="c" pos="-0.1 0.04 -0.1"/>
        <body pos="0 0 -0.4"><joint name="knob" type="ball" stiffness="3" damping="0.1"/>{GEOM}
          <site name="d" pos="0.07 0.04 -0.2"/></body></body></body></body></worldbody>
  <tendon>%s</tendon></mujoco>"""
LAW = 'name="cord" stiffness="400" damping="20"'
ROPE = f'<spatial {LAW} springlength="0.1"><site site="a"/>%s<site site="%s"/></spatial>'
MASS = f'<spatial {LAW} springlength="0.2 0.9" armature="2.5">%s</spatial>'
SITES = ''.join(f'<site site="{name}"/>' for name in 'wabd')
PULLEYS = '<site site="a"/><site site="c"/><pulley divisor="3"/><site site="b"/><site site="d"/>'
JOINTS = '<joint joint="root" coef="1.5"/><joint joint="middle" coef="-0.7"/>'
TENDONS = {
    'joints': f'<fixed {LAW} springlength="0.1" armature="3">{JOINTS}</fixed>',
    'slack joints': f'<fixed {LAW} springlength="-0.2 0.3">{JOINTS}</fixed>',
    'two points': MASS % '<site site="w"/><site site="c"/>',
    'points': MASS % SITES,
    'pulleys': MASS % f'<site site="w"/><site site="a"/><pulley divisor="2"/>{PULLEYS}',
    'ball': ROPE % ('<geom geom="ball"/>', 'b'),
    'side of ball': ROPE % ('<geom geom="ball" sidesite="side"/>', 'c'),
    'rod': ROPE % ('<geom geom="rod"/>', 'b'),
    'side of rod': ROPE % ('<geom geom="rod" sidesite="side"/>', 'c'),
    'through ball': ROPE % ('<geom geom="ball" sidesite="inside"/>', 'c'),
    'side that moves': ROPE % ('<geom geom="ball" sidesite="c"/>', 'b'),
    'through rod': ROPE % ('<geom geom="rod" sidesite="within"/>', 'c'),
}
CART = """
<mujoco model="cart"><option gravity="0 0 0"/><worldbody>
  <geom name="shape" type="{shape}" size="0.5 1"/><site name="b" pos="-1 0 0"/>{site}
  <body><joint name="x" type="slide" axis="1 0 0"/><joint name="y" type="slide" axis="0 1 0"/>
    <joint name="z" type="slide" axis="0 0 1"/><geom size="0.1"/><site name="a"/></body>
  </worldbody>
  <tendon><spatial name="cord" stiffness="400" damping="20" springlength="0.1"><site site="a"/>
    <geom geom="shape"{side}/><site site="b"/></spatial></tendon></mujoco>"""


def states(count=8):
    random = np.random.default_rng(7)
    for _ in range(count):
        q, v = random.normal(size=7) * 0.8, random.normal(size=6)
        q[2] *= 0.1
        q[3:] /= np.linalg.norm(q[3:])
        yield q, v


def cart(shape, side):
    """Return a body that moves anywhere, with a path around a shape; `side` '' or where."""
    site = f'<site name="s" pos="{side}"/>' if side else ''
    return ccd.load(CART.format(shape=shape, site=site, side=' sidesite="s"' if side else ''))


def at(link, *xyz, **shape):
    """Return a point that a path leads through, or a shape that it goes around."""
    return Waypoint(link, Pose(xyz), **shape)


def strung_leg():
    """Return the leg of an exoskeleton, its loops crossed by paths and tendons with a mass."""
    calf = (
        at('thigh', -0.05, 0.01, -0.3),
        at('shank', 0.0, 0.0, -0.05, shape='cylinder', radius=0.03),
        at('foot', -0.06, 0.0, -0.02),
    )
    across = (
        at('pelvis', 0.1, 0.0, 0.0),
        at('thigh', 0.05, 0.0, -0.2),
        at('left_crank_link', 0.02, 0.0, 0.01),
        at('right_rod', 0.0, 0.01, -0.1, begins=True, divisor=2.0),
        at('front_bar', 0.01, 0.0, 0.02),
    )
    terms = CouplingTerm('hip', (0.05,)), CouplingTerm('ankle_roll', (-0.03,))
    springs = (
        Spring('calf', 'path', 800.0, 30.0, 0.2, path=calf),
        Spring('cross', 'path', 300.0, 5.0, 0.3, path=across, slack=0.01, armature=0.4),
        Spring('pair', 'tendon', 40.0, 1.0, 0.1, terms=terms, armature=0.3),
    )
    return ccd.Mechanism(replace(ccd.load('exo_leg').description, springs=springs))
