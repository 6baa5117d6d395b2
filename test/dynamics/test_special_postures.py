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

"""Postures of the figures in which the rank falls."""

from dataclasses import replace
import math

from helpers.figures import THIGHS, counts, load
from helpers.posed_figures import GRAVITY, posed
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import Pose

CLOSED = 1e-12  # what is asked of every assembly [m or rad]
ROUNDING = 1e-12
# Where a constraint touches without crossing, loops closed to 1e-10 leave a pose off by its root,
# some 1e-5, and the singular value that vanishes is as small as that, against the largest.
TOUCHING = 1e-4
ARM, FOREARM, WIDTH = 0.3162, 0.3411016, 0.22015
Z_UP = (0.0, 0.0, 0.0, 1.0)


def with_loops(robot, **changes):
    """Return the mechanism with other frames of some loops."""
    loops = tuple(replace(loop, **changes.get(loop.name, {})) for loop in robot.description.loops)
    return ccd.Mechanism(replace(robot.description, loops=loops), gravity=GRAVITY)


def parallel_sliders():
    """Return the swing with both thighs sliding straight forward, and a closed posture."""
    robot, q = load('swing')
    straight = {
        side: {'parent_origin': Pose((0.05, y - 0.3, -1.9))}
        for side, y in (('left_thigh', 0.09), ('right_thigh', -0.09))
    }
    robot = with_loops(robot, **straight)
    for side in ('left', 'right'):
        q[robot.joint_slices(f'{side}_hip')[0]] = 0, -math.sqrt(0.5), 0, math.sqrt(0.5)
    assert max(max(gap) for gap in robot.loop_gaps(q).values()) < CLOSED
    return robot, q


def vanishing(robot, q, rank):
    """Return the singular value of J_C that makes the given rank, against the largest."""
    sigma = ccd.coordinates(robot, q).singular_values
    return sigma[rank - 1] / sigma[0]


def test_parallel_thigh_sliders_cost_one_rank():
    robot, q = parallel_sliders()
    assert counts(robot, q) == (36, 28, 8)
    assert vanishing(robot, q, 18) < ROUNDING < 1e-3 < vanishing(*load('swing'), 18)
    other = posed(robot, q, cut=('right_ceiling', 'right_hand', *THIGHS))
    assert counts(other, other.neutral()) == (30, 22, 8)
    for each in THIGHS:
        robot.cut(each)
        assert counts(robot, q)[2] == (12 if each == 'left_thigh' else 17)


def test_the_motion_that_parallel_sliders_gain_is_not_finite():
    """Unequal sliding turns the hips, and moves them apart to second order: it cannot go far."""
    robot, q = parallel_sliders()
    c = ccd.coordinates(robot, q)
    slides = np.array(
        [ccd.loop_jacobian(robot, q)[robot.loop_coordinate_names.index(each)] for each in THIGHS]
    )
    unequal = (slides[0] - slides[1]) @ c.W
    step = c.W @ unequal / np.linalg.norm(c.W @ unequal)
    moved = ccd.assemble(robot, {}, start=ccd.integrate(robot, q, 0.05 * step))
    at = ccd.loop_positions(robot, moved)
    assert abs(0.05 * (slides[0] - slides[1]) @ step) > 10 * TOUCHING
    assert abs(at['left_thigh'] - at['right_thigh']) < TOUCHING
    assert vanishing(robot, moved, 18) < TOUCHING  # the posture found is as singular


def straight_grips(half_width):
    """Return the high bar with grips without tilt, at y = +- half_width."""
    robot = ccd.load('high_bar', gravity=GRAVITY)
    changes = {
        f'{side}_grip': {
            'parent_origin': Pose((0.0, sign * half_width, 2.5)),
            'child_origin': Pose((0.0, 0.0, -FOREARM)),
        }
        for side, sign in (('left', 1.0), ('right', -1.0))
    }
    return with_loops(robot, **changes)


def hanging(robot, shoulder=-2.7, elbow=-0.7):
    """Return the posture with both arms in planes normal to the bar, in closed form."""
    hand = np.array(
        [
            -ARM * math.sin(shoulder) - FOREARM * math.sin(shoulder + elbow),
            0.0,
            -ARM * math.cos(shoulder) - FOREARM * math.cos(shoulder + elbow),
        ]
    )
    q = robot.neutral()
    q[robot.joint_slices('root')[0]] = *(np.array([0.0, 0.0, 2.5 - 0.4896]) - hand), *Z_UP
    for side in ('left', 'right'):
        q[robot.joint_slices(f'{side}_shoulder')[0]] = (
            0.0,
            math.sin(shoulder / 2),
            0.0,
            math.cos(shoulder / 2),
        )
        q[robot.joint_slices(f'{side}_elbow')[0]] = elbow
    return q


def test_grips_as_wide_as_the_shoulders_without_tilt_cost_one_rank():
    robot = straight_grips(WIDTH)
    q = hanging(robot)
    assert max(max(gap) for gap in robot.loop_gaps(q).values()) < CLOSED
    assert counts(robot, q) == (24, 11, 13)
    lateral = []
    for seed in range(3):
        step = 0.1 * np.random.default_rng(seed).normal(size=robot.nv)
        moved = ccd.assemble(robot, {}, start=ccd.integrate(robot, q, step), limits=False)
        lateral.append(ccd.link_placement(robot, moved, 'torso')[:3, 1])
        assert vanishing(robot, moved, 10) < TOUCHING
    # however it is moved, the line of the shoulders stays along the bar: two motions are missing
    assert np.abs(np.array(lateral) - [0, 1, 0]).max() < TOUCHING


def test_narrower_grips_without_tilt_are_regular_and_wider_ones_impossible():
    narrow = straight_grips(0.18)
    q = ccd.assemble(narrow, {}, start=hanging(narrow), limits=False)
    assert counts(narrow, q) == (24, 12, 12)
    lateral = ccd.link_placement(narrow, q, 'torso')[:3, 1]
    # the torso must turn: the distance along the bar between the shoulders is that of the grips
    assert abs(lateral[1]) == pytest.approx(0.18 / WIDTH, abs=1e-9)
    wide = straight_grips(0.25)
    with pytest.raises(ccd.AssemblyError, match='_grip. stays open'):
        ccd.assemble(wide, {}, start=hanging(wide), limits=False, attempts=3)
