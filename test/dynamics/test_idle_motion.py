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

"""Rods that spin idly are named, and only those."""

from dataclasses import replace
import math

from helpers.explained import words
from helpers.loaded_joints import actuated, inertia
from helpers.random_mechanisms import rpy_of
import numpy as np

import closed_chain_dynamics as ccd
from closed_chain_dynamics import Mechanism
from closed_chain_dynamics.description import (
    Coupling,
    CouplingTerm,
    Description,
    Joint,
    JointType,
    Link,
    LoopJoint,
    LoopType,
    Pose,
)


def hexaglide(rng, offset=0.0, halves=False):
    """
    Return six sliders that carry a platform on rods between ball joints, and its closed pose.

    The rods' axis is z, their centre of mass `offset` off it; with `halves` each is two links on a
    slider of its own, which a motor drives.
    """
    links = [Link('base'), Link('platform', inertia(3.0))]
    joints, loops, q = [Joint('fly', JointType.FLOATING, 'base', 'platform')], [], []
    height = np.array([0.0, 0.0, 0.8])
    for k in range(6):
        angle = 2.0 * math.pi * k / 6.0 + (0.3 if k % 2 else -0.3)
        foot = 0.6 * np.array([math.cos(angle), math.sin(angle), 0.0])
        turn = 2.0 * math.pi * k / 6.0 + (-0.3 if k % 2 else 0.3)
        top = 0.3 * np.array([math.cos(turn), math.sin(turn), 0.0])
        way = height + top - foot
        length = np.linalg.norm(way)
        z = way / length
        x = np.cross(z, rng.normal(size=3))
        x /= np.linalg.norm(x)
        R = np.column_stack([x, np.cross(z, x), z])
        links += [
            Link(f'slider_{k}', inertia(0.5)),
            Link(f'rod_{k}', inertia(0.4, (offset, 0.0, length / 2.0))),
        ]
        joints += [
            Joint(
                f'slide_{k}',
                JointType.PRISMATIC,
                'base',
                f'slider_{k}',
                Pose(tuple(foot)),
                (0.0, 0.0, 1.0),
            ),
            Joint(
                f'ball_{k}',
                JointType.SPHERICAL,
                f'slider_{k}',
                f'rod_{k}',
                Pose((0.0, 0.0, 0.0), rpy_of(R)),
            ),
        ]
        end = f'rod_{k}'
        if halves:
            links.append(Link(f'tip_{k}', inertia(0.2)))
            joints.append(
                Joint(
                    f'stretch_{k}',
                    JointType.PRISMATIC,
                    f'rod_{k}',
                    f'tip_{k}',
                    Pose((0.0, 0.0, length)),
                    (0.0, 0.0, 1.0),
                )
            )
            end, length = f'tip_{k}', 0.0
        loops.append(
            LoopJoint(
                f'top_{k}',
                LoopType.SPHERICAL,
                end,
                'platform',
                Pose((0.0, 0.0, length)),
                Pose(tuple(top)),
            )
        )
    model = Description('hexaglide', tuple(links), tuple(joints), tuple(loops))
    robot = Mechanism(model)
    q = robot.neutral()
    q[robot.joint_slices('fly')[0]][:3] = height
    assert np.abs(ccd.constraint_jacobian(robot, q)[1]).max() < 1e-12
    return model, q


def test_rods_between_ball_joints_spin_idly():
    model, q = hexaglide(np.random.default_rng(1))
    text = words(actuated(model, *(f'slide_{k}' for k in range(6))), q)
    assert 'Mobility 12 = 30 joint velocities - rank 18 of 18 constraint rows.' in text
    assert (
        '6 idle degrees of freedom: rod_0, rod_1, rod_2, rod_3, rod_4 and rod_5 spin about '
        'their z axes, and nothing else moves.' in text
    )
    assert 'Actuation is deficient by 6: 6 actuators for mobility 12.' in text
    assert 'No actuator moves the idle spins; the actuators determine all other motion.' in text


def test_both_halves_of_a_strut_spin_as_one():
    model, q = hexaglide(np.random.default_rng(2), halves=True)
    locks = tuple(Coupling(f'lock_{k}', (CouplingTerm(f'slide_{k}', (1.0,)),)) for k in range(6))
    motors = [f'stretch_{k}' for k in range(6)]
    text = words(actuated(replace(model, couplings=locks), *motors), q)
    assert '6 idle degrees of freedom: rod_0, rod_1, ' in text
    assert 'tip' not in text.split('idle degrees')[1].splitlines()[0]


def test_a_rod_with_a_weight_on_its_side_is_not_idle():
    model, q = hexaglide(np.random.default_rng(3), offset=0.2)
    text = words(actuated(model, *(f'slide_{k}' for k in range(6))), q)
    assert 'idle' not in text.lower()
    assert (
        'No actuator decides how ball_0, ball_1, ball_2, ball_3, ball_4 and ball_5 move.' in text
    )


def test_one_idle_rod_is_one():
    model = Description(
        'rod',
        (Link('base'), Link('rod', inertia(1.0, (0.5, 0.0, 0.0)))),
        (Joint('ball', JointType.SPHERICAL, 'base', 'rod'),),
        (
            LoopJoint(
                'end',
                LoopType.SPHERICAL,
                'base',
                'rod',
                Pose((1.0, 0.0, 0.0)),
                Pose((1.0, 0.0, 0.0)),
            ),
        ),
    )
    text = words(model, [0.0, 0.0, 0.0, 1.0])
    assert 'Idle degree of freedom: rod spins about its x axis, and nothing else moves.' in text
    assert 'Idle' not in words(actuated(model, 'ball'), [0.0, 0.0, 0.0, 1.0])
