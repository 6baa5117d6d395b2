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

"""Reactions in linkages, doors, trusses and brackets as statics by hand says."""

from dataclasses import replace

from helpers.loaded_joints import hinge, inertia, parallelogram
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics import Mechanism
from closed_chain_dynamics.description import (
    Description,
    Joint,
    JointType,
    Link,
    LoopJoint,
    LoopType,
    Pose,
)

G = 9.80665
EXACT = 1e-12  # statics of a few bars: rounding only


@pytest.mark.parametrize('phi', [0.4, 1.1, 2.0, 2.9])
@pytest.mark.parametrize('split', ['joints', 'loops'])
def test_a_parallelogram_carries_its_coupler_as_statics_says(phi, split):
    mass, length = 2.0, 0.3
    robot, q = parallelogram(phi)
    w = ccd.reactions(robot, q, np.zeros(3), np.zeros(3), split=split)
    # the rocker has no weight: its force b runs along it, and lifts half of the coupler
    b = mass * G / (2.0 * np.sin(phi))
    along = b * np.array([np.cos(phi), 0.0, np.sin(phi)])
    other = np.array([-along[0], 0.0, mass * G / 2.0])
    size = mass * G + abs(b)
    for name, force in (('pin_1', other), ('drive', other), ('pin_2', -along), ('swing', along)):
        assert np.abs(w[name].force - force).max() < EXACT * size, name
    torque = mass * G * length * np.cos(phi)  # counts about -y
    assert np.abs(w['drive'].moment - (0.0, -torque, 0.0)).max() < EXACT * size
    assert w.tau_A == pytest.approx([torque], rel=EXACT, abs=EXACT * size)
    for name in ('pin_1', 'pin_2', 'swing'):
        assert np.abs(w[name].moment).max() < EXACT * size


def test_out_of_plane_parts_of_a_planar_loop_are_not_unique():
    robot, q = parallelogram(1.0)
    w = ccd.reactions(robot, q, np.zeros(3), np.zeros(3))
    assert not w.is_unique
    for reaction in w.values():
        assert not reaction.unique
        # forces in x and z and the moment about y are; those across the plane are not
        assert reaction.unique_components.tolist() == [True, False, True, False, True, False]


def test_a_spherical_loop_of_a_planar_linkage_leaves_less_open():
    robot, q = parallelogram(1.0)
    (loop,) = robot.description.loops
    robot = Mechanism(replace(robot.description, loops=(replace(loop, type=LoopType.SPHERICAL),)))
    w = ccd.reactions(robot, q, np.zeros(3), np.zeros(3))
    assert w['pin_2'].unique_components.tolist() == [True, False, True, True, True, True]


def door(kind, loop_kind, *, height=2.0, mass=30.0, arm=0.45):
    """Return a door on two hinges along z, its centre of mass in the middle of its height."""
    joint = Joint('lower', kind, 'frame', 'door', Pose(), (0.0, 0.0, 1.0))
    loop = LoopJoint(
        'upper', loop_kind, 'frame', 'door', Pose((0.0, 0.0, height)), Pose((0.0, 0.0, height))
    )
    return Mechanism(
        Description(
            'door',
            (Link('frame'), Link('door', inertia(mass, (arm, 0.0, height / 2.0), 2.0))),
            (joint,),
            (loop,),
        )
    )


def test_a_door_on_two_balls_shares_its_weight_and_not_its_couple():
    robot = door(JointType.SPHERICAL, LoopType.SPHERICAL)
    q, rest = robot.neutral(), np.zeros(3)
    w = ccd.reactions(robot, q, rest, rest)
    weight, couple = 30.0 * G, 30.0 * G * 0.45 / 2.0
    for name, push in (('lower', couple), ('upper', -couple)):
        assert np.abs(w[name].force - (push, 0.0, weight / 2.0)).max() < EXACT * weight
        assert np.abs(w[name].moment).max() < EXACT * weight
        assert not w[name].unique
        assert w[name].unique_components.tolist() == [True, True, False, True, True, True]
    # the loop's frames stand along the world's axes: its rows are its force
    assert np.abs(w.multipliers - w['upper'].force).max() < EXACT * weight
    # with the multipliers of least norm the cut joint carries no more than it must
    w = ccd.reactions(robot, q, rest, rest, split='loops')
    assert np.abs(w['lower'].force - (couple, 0.0, weight)).max() < EXACT * weight
    assert np.abs(w['upper'].force - (-couple, 0.0, 0.0)).max() < EXACT * weight


def test_two_hinges_of_a_door_share_all_alike_wherever_the_cut_is():
    robot = door(JointType.REVOLUTE, LoopType.REVOLUTE)
    w = ccd.reactions(robot, np.zeros(1), np.zeros(1), np.zeros(1))
    weight = 30.0 * G
    assert w['lower'].force[2] == pytest.approx(weight / 2.0, rel=EXACT)
    assert w['upper'].force[2] == pytest.approx(weight / 2.0, rel=EXACT)
    assert w['upper'].moment == pytest.approx(w['lower'].moment, rel=EXACT, abs=EXACT * weight)
    for name in ('lower', 'upper'):  # turning about z is free: nothing is left open there
        assert w[name].unique_components.tolist() == [False] * 5 + [True]
    assert w.check()['equilibrium'] < EXACT


def test_a_door_that_floats_between_two_loops_has_halves_too():
    robot = door(JointType.FLOATING, LoopType.SPHERICAL)
    (upper,) = robot.description.loops
    lower = replace(upper, name='below', parent_origin=Pose(), child_origin=Pose())
    robot = Mechanism(replace(robot.description, loops=(upper, lower)))
    for split in ('joints', 'loops'):
        w = ccd.reactions(robot, robot.neutral(), np.zeros(6), np.zeros(6), split=split)
        assert np.abs(w['lower'].wrench).max() < EXACT * 300.0  # a joint that flies holds nothing
        assert w['lower'].unique
        for name in ('below', 'upper'):
            assert w[name].force[2] == pytest.approx(15.0 * G, rel=EXACT)


def test_a_truss_of_two_bars_pulls_and_pushes_along_its_bars():
    half, height, load = 1.5, 2.0, 700.0
    y, angle = (0.0, -1.0, 0.0), np.arctan2(2.0, 1.5)
    length = np.hypot(half, height)
    robot = Mechanism(
        Description(
            'truss',
            (Link('ground'), Link('left'), Link('right')),
            (
                hinge('foot_1', 'ground', 'left', (-half, 0.0, 0.0), y),
                hinge('foot_2', 'ground', 'right', (half, 0.0, 0.0), y),
            ),
            (
                LoopJoint(
                    'top',
                    LoopType.REVOLUTE,
                    'left',
                    'right',
                    Pose((length, 0.0, 0.0)),
                    Pose((length, 0.0, 0.0)),
                    y,
                    y,
                ),
            ),
        )
    )
    q = np.array([angle, np.pi - angle])
    assert ccd.coordinates(robot, q).mobility == 0
    tip = np.array([half, 0.0, height])  # from the origin of the left bar
    push = np.array([0.0, 0.0, -load])
    w = ccd.reactions(
        robot,
        q,
        np.zeros(2),
        np.zeros(2),
        wrenches={'left': np.concatenate([push, np.cross(tip, push)])},
    )
    bar = load / (2.0 * height / length)  # compression in each bar
    for name, sign in (('foot_1', 1.0), ('foot_2', -1.0)):
        expected = bar / length * np.array([sign * half, 0.0, height])
        assert np.abs(w[name].force - expected).max() < EXACT * bar
        assert np.abs(w[name].moment).max() < EXACT * bar
    assert (
        np.abs(w['top'].force + bar / length * np.array([-half, 0.0, height])).max() < EXACT * bar
    )


def test_a_wall_bracket_of_fixed_joints_bends_as_a_beam_does():
    robot = Mechanism(
        Description(
            'bracket',
            (
                Link('wall'),
                Link('beam', inertia(3.0, (0.5, 0.0, 0.0))),
                Link('lamp', inertia(1.0)),
            ),
            (
                Joint('clamp', JointType.FIXED, 'wall', 'beam'),
                Joint('screw', JointType.FIXED, 'beam', 'lamp', Pose((1.0, 0.0, 0.0))),
            ),
        )
    )
    w = ccd.reactions(
        robot,
        np.zeros(0),
        np.zeros(0),
        np.zeros(0),
        wrenches={'lamp': [0.0, 4.0, 0.0, 0.0, 0.0, 0.0]},
    )
    assert w['screw'].wrench == pytest.approx([0.0, -4.0, G, 0.0, 0.0, 0.0], abs=EXACT)
    assert w['clamp'].wrench == pytest.approx(
        [0.0, -4.0, 4.0 * G, 0.0, -2.5 * G, -4.0], abs=1e2 * EXACT
    )
