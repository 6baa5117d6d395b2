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

"""Closing loops: closed forms of linkages, real files, random mechanisms, straight lines."""

import cmath
from dataclasses import replace
import math

from helpers.own_robots import OWN_ROBOTS, own_file
from helpers.random_mechanisms import random_description, random_loops, random_state
from hypothesis import given, settings, strategies as st
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics import kernels
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
from closed_chain_dynamics.dynamics.closing import Closure
from closed_chain_dynamics.kernels import records as at

# A closed loop is closed to rounding: placements are sums of a few products of numbers near one.
CLOSED = 1e-14
# Joints that follow from a closed loop: rounding, over a condition number of about ten.
POSITION = 1e-13
# Central differences with a step of 1e-6: rounding of 1e-16 over the step, errors of about one.
GRADIENT = 1e-6

A, B = -0.25 + 0.45j, 0.25 + 0.45j  # pivots of the shipped four-bar in its plane
CRANK, COUPLER, ROCKER = 0.2, 0.5, 0.4  # its bars [m]


def worst_gap(robot, q):
    """Return the largest gap of any loop or coupling [m or rad]."""
    return max(map(max, robot.loop_gaps(q).values()), default=0.0)


def close_to(actual, expected, tolerance=POSITION):
    """Return whether angles agree, whole turns apart or not."""
    turned = np.remainder(np.subtract(actual, expected) + math.pi, 2.0 * math.pi) - math.pi
    return np.abs(turned).max() <= tolerance


def four_bar_angles(crank, side):
    """Return crank, coupler and rocker angles from the intersection of two circles."""
    pin = A + CRANK * cmath.exp(1j * crank)
    line = B - pin
    along = (COUPLER**2 - ROCKER**2 + abs(line) ** 2) / (2.0 * abs(line))
    across = side * math.sqrt(COUPLER**2 - along**2)
    elbow = pin + (along + 1j * across) * line / abs(line)
    return [crank, cmath.phase(elbow - pin) - crank, cmath.phase(elbow - B)]


def positions(robot, q, names):
    """Return where joints of one coordinate are."""
    return [q[robot.joint_slices(name)[0]][0] for name in names]


BARS = ('crank', 'coupler', 'rocker')
SIDES = {'elbow_up': 1.0, 'elbow_down': -1.0}


# --- the shipped models --------------------------------------------------------------------------
@pytest.mark.parametrize(
    'model, mobility', [('four_bar', 1), ('five_bar', 2), ('two_link', 1), ('three_link', 2)]
)
@pytest.mark.parametrize('from_neutral', [False, True])
def test_shipped_models_close_from_hints_and_from_neutral(model, mobility, from_neutral):
    robot = ccd.load(model)
    q = ccd.assemble(robot, start=robot.neutral() if from_neutral else None)
    assert worst_gap(robot, q) <= CLOSED
    c = ccd.coordinates(robot, q)
    assert c.mobility == mobility and c.lost_rank == 0


@pytest.mark.parametrize(
    'model, hints',
    [('five_bar', ('tip_up', 'tip_down')), ('four_bar', ('elbow_up', 'elbow_down'))],
)
def test_branches_have_the_names_of_their_hints(model, hints):
    robot = ccd.load(model)
    found = [ccd.find_assembly(robot, hint=hint) for hint in hints]
    assert [each.branch.split()[0] for each in found] == list(hints)
    assert found[0].branch.split()[1] != found[1].branch.split()[1]
    assert found[0].started_from == f'hint {hints[0]!r}'


@pytest.mark.parametrize('hint', ['elbow_up', 'elbow_down'])
@pytest.mark.parametrize('crank', np.linspace(-3.1, 3.1, 9))
def test_four_bar_is_the_intersection_of_two_circles(hint, crank):
    robot = ccd.load('four_bar')
    found = ccd.find_assembly(robot, {'crank': crank}, hint=hint)
    assert found.q[robot.joint_slices('crank')[0]] == crank
    assert close_to(positions(robot, found.q, BARS), four_bar_angles(crank, SIDES[hint]))
    assert found.branch.split()[0] == hint
    assert max(map(max, found.gaps.values())) <= CLOSED


@pytest.mark.parametrize('hint', ['elbow_up', 'elbow_down'])
def test_warm_starts_keep_the_branch_all_round(hint):
    robot = ccd.load('four_bar')
    q = ccd.assemble(robot, {'crank': 0.0}, hint=hint)
    branch = None
    for crank in np.linspace(0.0, 4.0 * math.pi, 41):  # steps of 0.3 rad, twice round
        before = positions(robot, q, BARS)
        found = ccd.find_assembly(robot, {'crank': crank}, start=q)
        q, now = found.q, positions(robot, found.q, BARS)
        assert close_to(now, four_bar_angles(crank, SIDES[hint]))
        assert np.abs(np.subtract(now, before)).max() < 1.0  # no whole turns either
        assert branch in (None, found.branch)
        branch = found.branch


def slider_crank(radius=0.3, rod=0.8, **slider):
    """Return a slider-crank along x in the plane of x and y."""
    links = (
        Link('ground'),
        *(
            Link(name, Inertia(1.0, moments=(1.0, 0.0, 0.0, 1.0, 0.0, 1.0)))
            for name in ('disc', 'rod', 'block')
        ),
    )
    about_z = {'axis': (0.0, 0.0, 1.0)}
    joints = (
        Joint('crank', JointType.CONTINUOUS, 'ground', 'disc', **about_z),
        Joint('pin', JointType.CONTINUOUS, 'disc', 'rod', Pose((radius, 0.0, 0.0)), **about_z),
        Joint('slider', JointType.PRISMATIC, 'ground', 'block', axis=(1.0, 0.0, 0.0), **slider),
    )
    loop = LoopJoint('wrist', LoopType.REVOLUTE, 'rod', 'block', Pose((rod, 0.0, 0.0)))
    return ccd.Mechanism(Description('slider_crank', links, joints, (loop,)))


@pytest.mark.parametrize('crank', np.linspace(-3.0, 3.0, 7))
def test_slider_crank_has_its_closed_form(crank):
    robot = slider_crank(limit=Limit(lower=0.0, upper=2.0))
    q = ccd.assemble(robot, {'crank': crank})
    y = 0.3 * math.sin(crank)
    stroke = 0.3 * math.cos(crank) + math.sqrt(0.8**2 - y**2)
    pin = math.asin(-y / 0.8) - crank
    assert abs(positions(robot, q, ['slider'])[0] - stroke) <= POSITION
    assert close_to(positions(robot, q, ['pin']), [pin])


# --- files as other projects write them ----------------------------------------------------------
@pytest.mark.parametrize('name', OWN_ROBOTS)
def test_files_of_other_ways_close_with_the_mobility_they_have(name, tmp_path):
    robot = ccd.load(own_file(name, tmp_path))
    q = ccd.assemble(robot)
    assert worst_gap(robot, q) <= CLOSED
    c = ccd.coordinates(robot, q)
    assert c.mobility == OWN_ROBOTS[name].mobility
    assert c.lost_rank == 0 and c.distance > 1e-3  # far from the rank tolerance of 1e-6


def parallelogram():
    """Return a parallelogram four-bar, folded flat at zero."""
    links = (Link('ground'), *(Link(name, Inertia(1.0)) for name in ('left', 'top', 'right')))
    about_z = {'axis': (0.0, 0.0, 1.0)}
    joints = (
        Joint('a', JointType.CONTINUOUS, 'ground', 'left', **about_z),
        Joint('b', JointType.CONTINUOUS, 'left', 'top', Pose((0.3, 0.0, 0.0)), **about_z),
        Joint('c', JointType.CONTINUOUS, 'ground', 'right', Pose((0.5, 0.0, 0.0)), **about_z),
    )
    loop = LoopJoint(
        'd', LoopType.REVOLUTE, 'top', 'right', Pose((0.5, 0.0, 0.0)), Pose((0.3, 0.0, 0.0))
    )
    return ccd.Mechanism(Description('parallelogram', links, joints, (loop,)))


def test_a_change_point_is_left_unless_it_is_asked_for():
    robot = parallelogram()
    flat = ccd.coordinates(robot, robot.neutral())
    assert flat.mobility == 2 and flat.lost_rank == 1  # folded flat: two ways to go
    q = ccd.assemble(robot)
    assert ccd.coordinates(robot, q).mobility == 1
    assert np.array_equal(ccd.assemble(robot, start=robot.neutral()), robot.neutral())
    held = ccd.assemble(robot, {'a': 0.0})
    assert worst_gap(robot, held) <= 1e-12 and positions(robot, held, 'a') == [0.0]


@pytest.mark.parametrize('a', np.linspace(0.05, 3.1, 6))
def test_a_long_way_from_the_start_keeps_the_branch(a):
    # up to both dead points, where the straight and the crossed branch meet
    robot = parallelogram()
    pin = 0.3 * cmath.exp(1.5j)
    line = 0.5 - pin
    corner = pin + (0.5 / line).conjugate() * line  # the straight corner, mirrored in the line
    crossed = [1.5, cmath.phase(corner - pin) - 1.5, cmath.phase(corner - 0.5)]
    found = [
        ccd.find_assembly(robot, {'a': a}, start=np.array(start))
        for start in ([1.5, -1.5, 1.5], crossed)
    ]
    assert max(map(max, found[1].gaps.values())) <= CLOSED
    assert close_to(found[0].q, [a, -a, a], 1e-12)
    assert found[0].branch != found[1].branch


def test_convergence_is_quadratic_with_redundant_rows():
    robot = ccd.load('five_bar')  # two of its five rows say nothing
    q = ccd.assemble(robot, hint='tip_up')
    found = ccd.find_assembly(robot, start=q + 1e-3 * np.array([1.0, -2.0, 1.0, 3.0]))
    assert found.iterations <= 4  # 1e-3, 1e-6, 1e-12, rounding


# --- random mechanisms ---------------------------------------------------------------------------
def random_closed(seed, n_joints, n_loops):
    rng = np.random.default_rng(seed)
    description = random_description(rng, n_joints, max_dof=40)
    q = random_state(rng, description)[0]
    if description.joints and any(j.type is not JointType.FIXED for j in description.joints):
        description = random_loops(rng, description, q, n_loops)
    return rng, description, ccd.Mechanism(description), q


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(3, 14), st.integers(1, 5))
def test_random_mechanisms_close_again_after_a_push(seed, n_joints, n_loops):
    rng, _, robot, q = random_closed(seed, n_joints, n_loops)
    start = ccd.integrate(robot, q, 0.2 * rng.normal(size=robot.nv))
    found = ccd.find_assembly(robot, start=start)
    assert worst_gap(robot, found.q) <= CLOSED
    assert found.started_from == 'start' and found.iterations <= 60
    # the loops were opened by a push of known size: closing them is a way of about that size
    pushed = np.linalg.norm(ccd.difference(robot, start, q))
    assert np.linalg.norm(ccd.difference(robot, start, found.q)) <= 5.0 * pushed + 1e-9


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(3, 12), st.integers(1, 4))
def test_random_mechanisms_close_from_anywhere(seed, n_joints, n_loops):
    rng, description, robot, _ = random_closed(seed, n_joints, n_loops)
    anywhere = random_state(rng, description)[0]
    found = ccd.find_assembly(robot, start=anywhere)
    assert worst_gap(robot, found.q) <= CLOSED
    turning = [
        robot.joint_slices(joint.name)[0].start
        for joint in description.joints
        if joint.type in (JointType.REVOLUTE, JointType.CONTINUOUS)
    ]
    assert np.abs(found.q - anywhere)[turning].max(initial=0.0) <= math.pi + 1e-9  # unwound
    again = ccd.find_assembly(robot, start=anywhere)
    assert np.array_equal(again.q, found.q)  # the same seed, the same pose


@settings(max_examples=30)
@given(st.integers(0, 10**6))
def test_the_gradient_of_the_squared_gap_is_exact_however_wide_it_is(seed):
    rng, description, robot, _ = random_closed(seed, 6, 3)
    q = random_state(rng, description)[0]
    for cluster in range(len(robot.structure.clusters)):
        closure = Closure(robot, cluster, np.zeros(robot.nv, dtype=bool), False)
        if not closure.units.size:
            continue
        error, J = closure.evaluate(q)
        for j, step in enumerate(1e-6 * np.eye(closure.dofs.size)):
            ahead, behind = (closure.evaluate(closure.move(q, s))[0] for s in (step, -step))
            slope = (ahead @ ahead - behind @ behind) / 4e-6
            assert abs(slope - (J.T @ error)[j]) <= GRADIENT * (1.0 + error @ error)


@pytest.mark.parametrize(
    'kind',
    [LoopType.FIXED, LoopType.REVOLUTE, LoopType.PRISMATIC, LoopType.CYLINDRICAL, LoopType.PLANAR],
)
def test_half_a_turn_is_not_closed(kind):
    links = (Link('ground'), Link('body', Inertia(1.0)))
    robot = ccd.Mechanism(
        Description(
            'brick',
            links,
            (Joint('fly', JointType.FLOATING, 'ground', 'body'),),
            (LoopJoint('hold', kind, 'ground', 'body'),),
        )
    )
    flipped = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])  # half a turn about x
    assert robot.loop_gaps(flipped)['hold'] == (0.0, pytest.approx(math.pi))
    q = ccd.assemble(robot, start=flipped)
    z = ccd.link_placement(robot, q, 'body')[:3, 2]
    assert np.abs(z - (0.0, 0.0, 1.0)).max() <= CLOSED
    assert kernels.compute_coordinates(robot.handle, q, np.empty((6, 6))) == at.OK


def test_the_closed_pose_nearest_to_a_straight_line_is_found():
    robot = ccd.load('four_bar')  # at zero all bars lie in one line: no step leads anywhere
    found = ccd.find_assembly(robot, {'crank': 0.0}, start=robot.neutral())
    assert found.started_from == 'start, shaken'
    assert any(
        close_to(positions(robot, found.q, BARS), four_bar_angles(0.0, side))
        for side in (1.0, -1.0)
    )


def test_couplings_close_with_the_loops():
    robot = slider_crank()
    gear = Coupling(
        'gear', (CouplingTerm('pin', (1.0,)), CouplingTerm('crank', (3.0, 0.1))), constant=-0.2
    )
    robot = ccd.Mechanism(replace(robot.description, loops=(), couplings=(gear,)))
    q = ccd.assemble(robot, {'crank': 0.4})
    assert abs(positions(robot, q, ['pin'])[0] - (0.2 - 3.0 * 0.4 - 0.1 * 0.4**2)) <= 1e-15
