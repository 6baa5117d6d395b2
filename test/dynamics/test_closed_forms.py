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

"""Planar linkages whose motion and forces have a closed form."""

import math

from helpers.bar_linkages import (
    FIVE_BAR,
    FIVE_BAR_RODS,
    FOUR_BAR,
    FOUR_BAR_RODS,
    SLIDER_CRANK,
    SLIDER_CRANK_RODS,
    five_bar,
    five_bar_frames,
    four_bar,
    four_bar_frames,
    full_turn,
    slider_crank,
    slider_crank_frames,
)
from helpers.comparing import ROUNDING, close, link_angle_rate
from helpers.planar_linkages import (
    GRAVITY,
    Rod,
    configuration,
    derivatives,
    motion,
    moving_state,
    planar_linkage,
    virtual_work,
)
import mpmath
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import Dynamics, Spring

STIFF = 1e-10  # the same where a short crank moves at engine speed: accelerations of 1e4
ENERGY = 1e-9  # a derivative of derivatives, each with forty digits less those it costs


# --- the four-bar --------------------------------------------------------------------------------
@pytest.mark.parametrize('theta', full_turn(12))
def test_the_four_bar_closes_where_two_circles_meet(theta):
    description, positions = four_bar()
    robot = ccd.Mechanism(description)
    q, v, a = moving_state(robot, positions, (theta,), (1.0,), (0.0,))
    J_C, error, bias = ccd.constraint_jacobian(robot, q, v)
    assert np.abs(error).max() < ROUNDING
    assert np.abs(J_C @ v).max() < ROUNDING
    assert np.abs(J_C @ a + bias).max() < ROUNDING
    pin = complex(four_bar_frames(theta)['pin'])
    X = ccd.link_placement(robot, q, 'rocker')
    start = four_bar_frames(1.0)
    local = complex(start['pin'] - start['rocker'][0])
    assert close((X @ (local.real, local.imag, 0.0, 1.0))[:2], (pin.real, pin.imag))


@pytest.mark.parametrize('theta', full_turn(12))
def test_the_four_bar_turns_in_the_ratios_of_its_instant_centres(theta):
    """A crank and a rocker turn as their distances from the centre on the line of both feet."""
    description, positions = four_bar()
    robot = ccd.Mechanism(description)
    frames = four_bar_frames(theta)
    knee, pin = complex(frames['coupler'][0]), complex(frames['pin'])
    foot = FOUR_BAR['ground']
    centre = knee.real - knee.imag * (pin - knee).real / (pin - knee).imag  # coupler meets y = 0
    rocker_to_crank = centre / (centre - foot)
    # crank and rocker lines meet in the centre of the coupler: knee * s = foot + (pin - foot) * t
    s, _ = np.linalg.solve([[knee.real, -(pin - foot).real], [knee.imag, -pin.imag]], [foot, 0.0])
    coupler_to_crank = 1.0 / (1.0 - s)
    q = configuration(robot, motion(positions, (theta,), (1.0,), (0.0,))[0])
    c = ccd.coordinates(robot, q)
    assert (c.mobility, c.rank, len(c.redundant_rows)) == (1, 2, 3)
    v = c.W[:, 0] / c.W[robot.coordinate_names.index('crank'), 0]
    assert close(link_angle_rate(robot, q, v, 'rocker'), rocker_to_crank)
    assert close(link_angle_rate(robot, q, v, 'coupler'), coupler_to_crank)


@pytest.mark.parametrize('theta', full_turn(6))
def test_a_load_on_the_rocker_reaches_the_crank_by_the_velocity_ratio(theta):
    description, positions = four_bar()
    robot = ccd.Mechanism(description, gravity=(0.0, 0.0, 0.0))
    q, v, a = moving_state(robot, positions, (theta,), (1.0,), (0.0,))
    still = np.zeros(robot.nv)
    wrench = {'rocker': (0.0, 0.0, 0.0, 0.0, 0.0, 7.0)}
    result = ccd.inverse_dynamics(robot, q, still, still, wrenches=wrench)
    assert close(result.tau_A, -7.0 * link_angle_rate(robot, q, v, 'rocker'))


@pytest.mark.parametrize('theta', full_turn(6))
@pytest.mark.parametrize(
    'rate, second', [(0.0, 0.0), (3.0, 0.0), (-1.4, 5.0)], ids=['static', 'steady', 'dynamic']
)
def test_the_crank_torque_of_the_four_bar_is_that_of_virtual_work(theta, rate, second):
    description, positions = four_bar()
    robot = ccd.Mechanism(description, gravity=GRAVITY)
    q, v, a = moving_state(robot, positions, (theta,), (rate,), (second,))
    expected = virtual_work(four_bar_frames, FOUR_BAR_RODS, (theta,), (rate,), (second,), -9.81j)
    result = ccd.inverse_dynamics(robot, q, v, a)
    assert close(result.tau_A, expected)
    assert close(result.residual, [0.0])
    assert close(ccd.forward_dynamics(robot, q, v, expected).acceleration, a)


def test_the_power_of_the_crank_is_the_rate_of_the_energy():
    theta, rate, second = 0.8, 2.5, -4.0
    description, positions = four_bar()
    robot = ccd.Mechanism(description, gravity=GRAVITY)
    q, v, a = moving_state(robot, positions, (theta,), (rate,), (second,))

    def energy(t):
        moved = (theta + rate * t + second * t * t / 2,), (rate + second * t,)
        total = mpmath.mpf(0)
        for name, rod in FOUR_BAR_RODS.items():

            def com(s):
                return rod.com_of(four_bar_frames(moved[0][0] + moved[1][0] * s)[name])

            def angle(s):
                return four_bar_frames(moved[0][0] + moved[1][0] * s)[name][1]

            speed = abs(mpmath.diff(com, 0))
            total += rod.mass * (speed**2 / 2 + mpmath.mpf('9.81') * com(0).imag)
            total += rod.inertia * mpmath.diff(angle, 0) ** 2 / 2
        return total

    with mpmath.workdps(40):
        power = float(mpmath.diff(energy, 0))
    tau = ccd.inverse_dynamics(robot, q, v, a).tau_A[0]
    assert tau * rate == pytest.approx(power, rel=ENERGY)
    assert sum(ccd.energy(robot, q, v)) == pytest.approx(float(energy(0)), rel=ENERGY)


# --- the five-bar --------------------------------------------------------------------------------
FIVE_BAR_POSES = [(2.0, 1.2), (2.4, 0.6), (1.7, 1.5), (1.0, 2.0)]


def five_bar_jacobian(left, right):
    """
    Return d tip / d (left, right), (2, 2).

    Each distal rod keeps its length: (tip - elbow) . tip' = (tip - elbow) . elbow'.
    """
    frames = five_bar_frames(left, right)
    tip = complex(frames['tip'])
    rods = [tip - complex(frames[name][0]) for name in ('left_distal', 'right_distal')]
    levers = [1j * FIVE_BAR['proximal'] * np.exp(1j * angle) for angle in (left, right)]
    rows = np.array([[rod.real, rod.imag] for rod in rods])
    return np.linalg.solve(
        rows, np.diag([(rod * np.conj(lever)).real for rod, lever in zip(rods, levers)])
    )


@pytest.mark.parametrize('pose', FIVE_BAR_POSES)
def test_the_tip_of_the_five_bar_moves_by_its_jacobian_in_closed_form(pose):
    description, positions = five_bar()
    robot = ccd.Mechanism(description)
    for rates in ((1.0, 0.0), (0.0, 1.0), (0.7, -1.9)):
        q, v, _ = moving_state(robot, positions, pose, rates, (0.0, 0.0))
        local = ccd.link_placement(robot, configuration(robot, {}), 'left_distal')[:3, 3]
        tip = complex(five_bar_frames(2.0, 1.2)['tip'])
        J = ccd.jacobian(
            robot, q, 'left_distal', point=(tip.real - local[0], tip.imag - local[1], 0.0)
        )
        assert close((J @ v)[:2], five_bar_jacobian(*pose) @ rates)
    c = ccd.coordinates(robot, q)
    assert c.mobility == 2
    assert sorted(c.independent) == ['left', 'right']  # the motors


@pytest.mark.parametrize('pose', FIVE_BAR_POSES)
def test_a_force_at_the_tip_of_the_five_bar_needs_the_transposed_jacobian(pose):
    description, positions = five_bar()
    robot = ccd.Mechanism(description, gravity=(0.0, 0.0, 0.0))
    q, v, a = moving_state(robot, positions, pose, (0.0, 0.0), (0.0, 0.0))
    tip = complex(five_bar_frames(*pose)['tip'])
    force = np.array([3.0, -5.0, 0.0])
    arm = (tip.real, tip.imag, 0.0) - ccd.link_placement(robot, q, 'right_distal')[:3, 3]
    result = ccd.inverse_dynamics(
        robot, q, v, a, wrenches={'right_distal': np.concatenate([force, np.cross(arm, force)])}
    )
    torques = [result.torques()[name] for name in ('left', 'right')]
    assert close(torques, -five_bar_jacobian(*pose).T @ force[:2])


@pytest.mark.parametrize('pose', FIVE_BAR_POSES)
def test_the_motor_torques_of_the_five_bar_are_those_of_virtual_work(pose):
    description, positions = five_bar()
    robot = ccd.Mechanism(description, gravity=GRAVITY)
    rates, seconds = (1.1, -0.8), (2.0, 3.0)
    q, v, a = moving_state(robot, positions, pose, rates, seconds)
    expected = virtual_work(five_bar_frames, FIVE_BAR_RODS, pose, rates, seconds, -9.81j)
    torques = ccd.inverse_dynamics(robot, q, v, a).torques()
    assert close([torques['left'], torques['right']], expected)
    tau = dict(zip(('left', 'right'), expected))
    assert close(ccd.forward_dynamics(robot, q, v, tau).acceleration, a)


# --- the slider-crank ----------------------------------------------------------------------------
def piston(theta):
    """Return x, dx / dtheta and its derivative of the piston, by the book."""
    a, rod, offset = (SLIDER_CRANK[key] for key in ('crank', 'rod', 'offset'))
    f, f1, f2 = offset - a * math.sin(theta), -a * math.cos(theta), a * math.sin(theta)
    r = math.sqrt(rod**2 - f**2)
    return (
        a * math.cos(theta) + r,
        -a * math.sin(theta) - f * f1 / r,
        -a * math.cos(theta) - (f1**2 + f * f2) / r - (f * f1) ** 2 / r**3,
    )


@pytest.mark.parametrize('theta', full_turn(8))
def test_the_piston_of_the_slider_crank_moves_by_the_book(theta):
    description, positions = slider_crank()
    robot = ccd.Mechanism(description)
    rate, second = 300.0, 1000.0
    x, x1, x2 = piston(theta)
    q, v, a = moving_state(robot, positions, (theta,), (rate,), (second,))
    J_C, error, bias = ccd.constraint_jacobian(robot, q, v)
    assert np.abs(error).max() < ROUNDING
    assert ccd.link_placement(robot, q, 'piston')[0, 3] == pytest.approx(x, abs=ROUNDING)
    crank = robot.coordinate_names.index('crank')
    bore = robot.coordinate_names.index('bore')
    c = ccd.coordinates(robot, q)
    assert (c.mobility, c.rank) == (1, 2)
    assert c.W[bore, 0] / c.W[crank, 0] == pytest.approx(x1, abs=ROUNDING)
    # accelerations of the piston by forward dynamics, from the torque that gives the crank its own
    tau = ccd.inverse_dynamics(robot, q, v, a).tau_A
    acceleration = ccd.forward_dynamics(robot, q, v, tau).acceleration
    assert acceleration[crank] == pytest.approx(second, rel=STIFF)
    assert acceleration[bore] == pytest.approx(x2 * rate**2 + x1 * second, rel=STIFF)


@pytest.mark.parametrize('theta', full_turn(8))
def test_a_gas_force_on_the_piston_turns_the_crank_by_virtual_work(theta):
    description, positions = slider_crank()
    robot = ccd.Mechanism(description, gravity=GRAVITY)
    gas = -2500.0
    rate, second = 120.0, -300.0
    wrench = {'piston': (gas, 0.0, 0.0, 0.0, 0.0, 0.0)}
    still = np.zeros(robot.nv)
    q, v, a = moving_state(robot, positions, (theta,), (rate,), (second,))
    robot.gravity = (0.0, 0.0, 0.0)
    static = ccd.inverse_dynamics(robot, q, still, still, wrenches=wrench).tau_A
    assert close(static, -gas * piston(theta)[1])
    robot.gravity = GRAVITY
    expected = virtual_work(
        slider_crank_frames,
        SLIDER_CRANK_RODS,
        (theta,),
        (rate,),
        (second,),
        -9.81j,
        [(lambda t: slider_crank_frames(t)['piston'][0], gas)],
    )
    assert close(ccd.inverse_dynamics(robot, q, v, a, wrenches=wrench).tau_A, expected, STIFF)


# --- the parallelogram ---------------------------------------------------------------------------
FEET = {'bar_1': 0.0, 'bar_2': 0.7, 'bar_3': 1.5}
BAR = 0.6


def parallelogram(moved_foot=0.0):
    """Return three equal bars that carry one coupler, described at an angle of 1 rad."""

    def frames(theta):
        carried = BAR * mpmath.expj(theta)
        each = {name: (mpmath.mpc(x), theta) for name, x in FEET.items()}
        return {'ground': (0j, 0), 'coupler': (carried, 0), **each}

    def top(name):
        return lambda frames: frames['coupler'][0] + FEET[name]

    joints = [(name, 'ground', name, lambda frames, n=name: frames[n][0]) for name in FEET]
    joints += [(f'top_{k}', f'bar_{k}', 'coupler', top(f'bar_{k}')) for k in (1, 2, 3)]
    rods = {
        'bar_1': Rod(1.0, 0.3 + 0j, 0.03),
        'bar_2': Rod(1.2, 0.25 + 0j, 0.03),
        'bar_3': Rod(0.9, 0.35 + 0.01j, 0.03),
        'coupler': Rod(2.0, 0.8 + 0.1j, 0.3),
    }
    if moved_foot:  # the last bar stands in another direction
        joints[2] = ('bar_3', 'ground', 'bar_3', lambda frames: frames['bar_3'][0] + moved_foot)
    description, positions = planar_linkage(
        'parallelogram',
        rods,
        frames,
        joints,
        origin=(1.0,),
        cut=('top_2', 'top_3'),
        actuated=('bar_1',),
    )
    return description, positions, frames, rods


@pytest.mark.parametrize('theta', [0.4, 1.0, 2.2, -0.9])
def test_a_third_parallel_bar_is_redundant_and_all_bars_turn_alike(theta):
    description, positions, frames, rods = parallelogram()
    robot = ccd.Mechanism(description, gravity=GRAVITY)
    q, v, a = moving_state(robot, positions, (theta,), (1.3,), (-2.0,))
    c = ccd.coordinates(robot, q)
    # ten rows on four coordinates: six hold the bars in the plane, one is the third bar's
    assert (len(c.J_C), c.rank, c.mobility, len(c.redundant_rows)) == (10, 3, 1, 7)
    kept = [row for row in range(10) if row not in c.redundant_rows]
    assert np.linalg.matrix_rank(c.J_C[kept]) == 3
    for name in ('bar_2', 'bar_3'):
        assert c.W[robot.coordinate_names.index(name), 0] == pytest.approx(
            c.W[robot.coordinate_names.index('bar_1'), 0], abs=ROUNDING
        )
    assert link_angle_rate(robot, q, v, 'coupler') == pytest.approx(0.0, abs=ROUNDING)
    expected = virtual_work(frames, rods, (theta,), (1.3,), (-2.0,), -9.81j)
    assert close(ccd.inverse_dynamics(robot, q, v, a).tau_A, expected)
    assert close(ccd.forward_dynamics(robot, q, v, expected).acceleration, a)


def test_a_third_bar_that_is_not_parallel_locks_the_parallelogram():
    description, _, _, _ = parallelogram(moved_foot=0.2)
    robot = ccd.Mechanism(description)
    c = ccd.coordinates(robot, robot.neutral())
    assert (c.rank, c.mobility) == (4, 0)


# --- the place of the cut ------------------------------------------------------------------------
CUTS = [
    (four_bar, cut, (2.2,), motors)
    for cut in ('crank', 'knee', 'pin', 'rocker')
    for motors in (('crank',), ('pin',))
]
CUTS += [
    (five_bar, cut, (2.4, 0.6), motors)
    for cut in ('left', 'left_elbow', 'tip', 'right_elbow', 'right')
    for motors in (('left', 'right'), ('tip', 'left_elbow'))
]
CUTS += [
    (slider_crank, cut, (2.0,), motors)
    for cut in ('crank', 'journal', 'wrist', 'bore')
    for motors in (('crank',), ('bore',))
]


def laws(make, motors):
    """Return damping, friction and springs that stay on their joints whatever is cut."""
    lossy = {'dynamics': Dynamics(damping=0.3, friction=0.2)}
    springy = {four_bar: 'knee', five_bar: 'right_elbow', slider_crank: 'wrist'}[make]
    spring = Spring('wound', 'torsional', 40.0, 0.5, 0.1, joint=springy)
    return {motors[0]: lossy, springy: lossy, 'springs': (spring,)}


@pytest.mark.parametrize(
    'make, cut, pose, motors',
    CUTS,
    ids=[f'{each[0].__name__}-{each[1]}-{each[3][0]}' for each in CUTS],
)
def test_the_answer_does_not_depend_on_where_the_loop_is_cut(make, cut, pose, motors):
    """
    Motors, springs and friction act on a cut joint as on a joint of the tree.

    The pin, the tip and the wrist are where the mechanism is cut for comparison.
    """
    rates, seconds, torques = (1.1, -0.8)[: len(pose)], (2.0, 3.0)[: len(pose)], (0.7, -1.2)
    mechanisms = []
    for place in (cut, {four_bar: 'pin', five_bar: 'tip', slider_crank: 'wrist'}[make]):
        description, positions = make(place, actuated=motors, **laws(make, motors))
        robot = ccd.Mechanism(description, gravity=GRAVITY)
        q, v, a = moving_state(robot, positions, pose, rates, seconds)
        mechanisms.append((robot, q, v, a))
    (robot, q, v, a), (other, other_q, other_v, other_a) = mechanisms
    assert ccd.coordinates(robot, q).mobility == ccd.coordinates(other, other_q).mobility
    ours, theirs = (ccd.inverse_dynamics(*each).torques() for each in mechanisms)
    assert ours == pytest.approx(theirs, rel=STIFF, abs=STIFF)
    tau = dict(zip(motors, torques))
    ours = ccd.forward_dynamics(robot, q, v, tau).acceleration
    theirs = ccd.forward_dynamics(other, other_q, other_v, tau).acceleration
    common = set(robot.coordinate_names) & set(other.coordinate_names)
    for name in common:
        assert ours[robot.coordinate_names.index(name)] == pytest.approx(
            theirs[other.coordinate_names.index(name)], rel=STIFF, abs=STIFF
        ), name
    turning, expected = (
        ccd.link_accelerations(*each)
        for each in ((robot, q, v, ours), (other, other_q, other_v, theirs))
    )
    for link in turning:
        assert close(turning[link][3:], expected[link][3:], STIFF), link


def test_a_motor_on_a_cut_joint_has_the_velocity_ratio_of_that_joint_in_s():
    description, positions = four_bar('rocker', actuated=('crank', 'rocker'))
    robot = ccd.Mechanism(description)
    q, v, _ = moving_state(robot, positions, (2.2,), (1.0,), (0.0,))
    S = ccd.coordinates(robot, q).S
    rate, _ = derivatives(lambda t: four_bar_frames(t)['rocker'][1], (2.2,), (1.0,), (0.0,))
    assert S[1, 0] / S[0, 0] == pytest.approx(rate, abs=ROUNDING)
