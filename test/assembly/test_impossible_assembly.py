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

"""Held joints, limits, poses that do not exist, wrong input: what holds, and what is said."""

import cmath
from dataclasses import replace
import math
import pickle
import re

import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import (
    Coupling,
    CouplingTerm,
    Description,
    Inertia,
    Joint,
    JointType,
    Limit,
    Link,
    LoopJoint,
    LoopType,
    Pose,
)
from closed_chain_dynamics.model import library

# Loop joints are held by an equation, not by leaving them out: closed to rounding.
HELD = 1e-14
# A pose that misses is a least-squares pose, which converges at the rate of its curvature.
MISSED = 1e-3


def four_bar(**limits):
    """Return the shipped four-bar, with other ranges where they are given."""
    description = ccd.load('four_bar').description
    return ccd.Mechanism(
        replace(
            description,
            joints=tuple(
                replace(joint, limit=Limit(*limits[joint.name])) if joint.name in limits else joint
                for joint in description.joints
            ),
        )
    )


def at_joint(robot, q, name):
    """Return where a joint of one coordinate is."""
    return q[robot.joint_slices(name)[0]][0]


# --- what is held is held ------------------------------------------------------------------------
def test_held_joints_are_exact_and_so_are_orientations():
    description = ccd.load('four_bar').description
    robot = ccd.Mechanism(
        replace(
            description,
            links=(*description.links, Link('kite', Inertia(1.0))),
            joints=(*description.joints, Joint('string', JointType.FLOATING, 'base', 'kite')),
        )
    )
    turn = np.array([0.1, -0.3, 0.2, 0.0])
    turn[3] = math.sqrt(1.0 - turn @ turn)
    where = np.array([1.0, 2.0, 3.0, *turn])
    q = ccd.assemble(robot, {'crank': 2.2, 'string': where})
    assert at_joint(robot, q, 'crank') == 2.2
    assert np.abs(q[robot.joint_slices('string')[0]] - where).max() <= 2e-16  # made unit again


def test_a_loop_joint_can_be_held():
    robot = ccd.load('four_bar')
    for angle in (1.0, 1.2, 1.5):
        q = ccd.assemble(robot, {'coupler_rocker': angle})
        assert abs(ccd.loop_positions(robot, q)['coupler_rocker'] - angle) <= HELD
        assert max(robot.loop_gaps(q)['coupler_rocker']) <= HELD


def test_joints_nobody_asked_about_stay_where_they_are():
    robot = ccd.load('five_bar')
    q = ccd.assemble(robot, hint='tip_up')
    moved = ccd.assemble(
        robot, {'left_shoulder': at_joint(robot, q, 'left_shoulder') + 1e-3}, start=q
    )
    assert np.abs(moved - q).max() < 5e-3
    assert np.array_equal(ccd.assemble(robot, start=q), q)


def test_the_mechanism_is_left_as_it_was():
    robot = ccd.load('four_bar')
    before = pickle.dumps(robot)
    ccd.find_assembly(robot, {'crank': 0.3}).branch
    assert pickle.dumps(robot) == before
    found = ccd.find_assembly(robot)
    robot.cut('coupler_rocker')
    assert max(found.gaps['coupler_rocker']) <= HELD  # what was found stays what it was


# --- limits --------------------------------------------------------------------------------------
def test_limits_choose_the_branch():
    for lower, upper in ((0.0, 2.6), (-2.6, 0.0)):
        robot = four_bar(rocker=(lower, upper))
        for crank in np.linspace(-3.0, 3.0, 7):
            q = ccd.assemble(robot, {'crank': crank}, start=robot.neutral())
            assert lower <= at_joint(robot, q, 'rocker') <= upper


def test_a_range_that_needs_a_whole_turn_is_met():
    robot = four_bar(rocker=(2.0 * math.pi, 2.0 * math.pi + 2.6))
    found = ccd.find_assembly(robot, hint='elbow_up')
    rocker = at_joint(robot, found.q, 'rocker')
    assert abs(rocker - 2.0 * math.pi - 1.4380176710407746) < 1e-12  # the hint's own digits
    assert found.iterations <= 1  # the turn is taken as such


def test_a_limit_in_the_way_is_named():
    robot = four_bar(rocker=(-2.0, 2.0))  # crank at 3: the rocker would stand at 2.32
    with pytest.raises(ccd.AssemblyError, match="beyond joint limits: 'rocker' at -?2.323.*limit"):
        ccd.assemble(robot, {'crank': 3.0})
    assert abs(at_joint(robot, ccd.assemble(robot, {'crank': 3.0}, limits=False), 'rocker')) > 2.0
    with pytest.raises(ccd.AssemblyError, match="'rocker' is held at 2.1, beyond its range -2 to"):
        ccd.assemble(robot, {'rocker': 2.1})


def test_limits_of_loop_joints_hold():
    description = ccd.load('five_bar').description
    free = ccd.loop_positions(
        ccd.Mechanism(description), ccd.assemble(ccd.Mechanism(description))
    )['tip']
    loop = replace(description.loops[0], limit=Limit(free + 0.2, free + 0.4))
    robot = ccd.Mechanism(replace(description, loops=(loop,)))
    tip = ccd.loop_positions(robot, ccd.assemble(robot))['tip']
    assert free + 0.2 - 1e-9 <= tip <= free + 0.4 + 1e-9


# --- what does not exist -------------------------------------------------------------------------
def test_an_impossible_pose_names_loop_gap_and_way_out():
    robot = ccd.load('four_bar')
    # the rocker's end at 0.5 rad is further from the crank's pivot than both bars reach
    short = abs(0.5 + 0.4 * cmath.exp(0.5j)) - 0.7
    with pytest.raises(ccd.AssemblyError) as error:
        ccd.assemble(robot, {'rocker': 0.5})
    text = str(error.value)
    assert "loop 'coupler_rocker' stays open by" in text and "with 'rocker' held" in text
    gap = float(text.split('stays open by ')[1].split(' m', maxsplit=1)[0])
    assert abs(gap - short) <= MISSED
    assert '60 starts' in text
    reach = math.pi - math.acos((0.5**2 + 0.4**2 - 0.7**2) / 0.4)  # both bars in line
    assert abs(float(text.split("with 'rocker' = ")[1].split(':', maxsplit=1)[0]) - reach) < 0.2


def test_a_linkage_too_short_says_so():
    links = (Link('ground'), Link('left', Inertia(1.0)), Link('right', Inertia(1.0)))
    axis = {'axis': (0.0, 0.0, 1.0)}
    robot = ccd.Mechanism(
        Description(
            'short',
            links,
            (
                Joint('a', JointType.CONTINUOUS, 'ground', 'left', **axis),
                Joint('b', JointType.CONTINUOUS, 'ground', 'right', Pose((3.0, 0.0, 0.0)), **axis),
            ),
            (
                LoopJoint(
                    'pin',
                    LoopType.SPHERICAL,
                    'left',
                    'right',
                    Pose((1.0, 0.0, 0.0)),
                    Pose((1.0, 0.0, 0.0)),
                ),
            ),
        )
    )
    with pytest.raises(ccd.AssemblyError, match="'pin' stays open by 1 m.*Check lengths"):
        ccd.assemble(robot, attempts=10)


def test_axes_that_are_nearly_parallel_are_taken_for_rounded():
    text = (library.share_folder() / 'urdf/six_bar.urdf').read_text(encoding='utf-8')
    tilted = text.replace('<child_axis xyz="0 ', '<child_axis xyz="0.0001 ')
    assert tilted != text
    with pytest.raises(ccd.AssemblyError, match='axes miss each other by a little'):
        ccd.assemble(ccd.load(tilted))
    assert ccd.assemble(ccd.load(text)).size  # which closes as it was written


def test_two_separate_loops_with_tilted_axes_get_the_same_advice_and_are_counted():
    text = (library.share_folder() / 'urdf/four_bar.urdf').read_text(encoding='utf-8')
    tilted = text.replace('<child_axis xyz="0 ', '<child_axis xyz="0.0001 ')
    links = tilted[tilted.index('<link name="crank_link"') : tilted.index('<joint name="world')]
    joints = tilted[tilted.index('<joint name="crank"') : tilted.index('</constraint>')]
    again = re.sub(
        '((?:<link|<joint|<constraint) name| link)="(?!base")([^"]+)"',
        r'\1="\2_2"',
        links + joints,
    )
    robot = ccd.load(tilted.replace('</robot>', again + '</constraint></robot>'))
    assert list(robot.loop_names) == ['coupler_rocker', 'coupler_rocker_2']
    says = 'at best .1 other group of loops does, too.; tried .* axes miss each other by a little'
    with pytest.raises(ccd.AssemblyError, match=says):
        ccd.assemble(robot)


def test_the_advice_for_axes_that_miss_each_other_closes_both_loops():
    text = (library.share_folder() / 'urdf/six_bar.urdf').read_text(encoding='utf-8')
    exact = ccd.load(text)
    tilted = text.replace('<child_axis xyz="0 ', '<child_axis xyz="0.0001 ')
    followed = re.sub('(<constraint name="[^"]+" type=)"revolute"', r'\1"spherical"', tilted)
    assert followed.count('type="spherical"') == len(exact.loop_names) == 2
    robot = ccd.load(followed)
    q = ccd.assemble(robot, {'crank': 1.0}, start=ccd.assemble(exact, {'crank': 1.0}))
    assert ccd.coordinates(robot, q).mobility == ccd.coordinates(exact, q).mobility == 1
    rest = np.zeros(robot.nv)
    torques = [ccd.inverse_dynamics(each, q, rest, rest).tau_A for each in (robot, exact)]
    assert np.allclose(*torques, rtol=1e-9)  # pins that are balls move the same plane mechanism


def test_held_joints_that_contradict_a_coupling_are_named():
    description = ccd.load('four_bar').description
    gear = Coupling('gear', (CouplingTerm('rocker', (1.0,)), CouplingTerm('crank', (-2.0,))))
    robot = ccd.Mechanism(replace(description, loops=(), couplings=(gear,)))
    with pytest.raises(
        ccd.AssemblyError, match="'gear' is open by 0 m and 0.3 rad.*'crank', 'rocker'"
    ):
        ccd.assemble(robot, {'crank': 0.5, 'rocker': 1.3})
    q = ccd.assemble(robot, {'crank': 0.5})
    assert abs(at_joint(robot, q, 'rocker') - 1.0) <= 1e-15


def test_an_open_loop_is_named_with_its_gap_and_the_repair():
    robot = ccd.load('four_bar')
    for call in (
        lambda q: ccd.coordinates(robot, q),
        lambda q: ccd.forward_dynamics(robot, q, np.zeros(3)),
        lambda q: ccd.complete_velocity(robot, q, {'crank': 1.0}),
    ):
        with pytest.raises(
            ccd.StateError,
            match="'coupler_rocker' is open by 0.2 m and 0 rad, more than 1e-06.*ccd.assemble",
        ):
            call(robot.neutral())


def test_a_motion_without_mass_is_named():
    links = (Link('ground'), Link('ghost'))
    robot = ccd.Mechanism(
        Description(
            'ghosts',
            links,
            (Joint('hinge', JointType.CONTINUOUS, 'ground', 'ghost', axis=(0.0, 0.0, 1.0)),),
        )
    )
    with pytest.raises(ccd.StateError, match="no mass resists a motion of 'hinge'"):
        ccd.forward_dynamics(robot, robot.neutral(), np.zeros(1))


# --- wrong input ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    'arguments, options, error, text',
    [
        (({'cranc': 1.0},), {}, ccd.NameNotFound, "no joint named 'cranc'.*'crank'"),
        ((), {'hint': 'elbow_upp'}, ccd.NameNotFound, "no assembly hint.*'elbow_up'"),
        (({'crank': math.nan},), {}, ccd.StateError, "'crank' is nan"),
        (
            ({'crank': (1.0, 2.0)},),
            {},
            ccd.StateError,
            "'crank' has shape .2,. but needs one number",
        ),
        (({'crank': 'up'},), {}, ccd.StateError, "'crank' must be a number"),
        (([1.0, 2.0],), {}, ccd.StateError, 'must be given by name'),
        ((), {'start': np.zeros(4)}, ccd.StateError, r'q has shape \(4,\)'),
        ((), {'start': np.array([math.inf, 0.0, 0.0])}, ccd.StateError, "'crank' is inf"),
    ],
)
def test_wrong_input_is_refused(arguments, options, error, text):
    with pytest.raises(error, match=text):
        ccd.assemble(ccd.load('four_bar'), *arguments, **options)


def test_what_is_no_rotation_is_refused():
    description = ccd.load('four_bar').description
    robot = ccd.Mechanism(
        replace(
            description,
            joints=tuple(
                replace(joint, type=JointType.FLOATING) if joint.type is JointType.FIXED else joint
                for joint in description.joints
            ),
        )
    )
    with pytest.raises(ccd.StateError, match="'world_to_base' has length 2 instead"):
        ccd.assemble(robot, {'world_to_base': (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0)})
