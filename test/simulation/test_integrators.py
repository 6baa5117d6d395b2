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

"""
The integrators: their order, closed forms, and MuJoCo.

A method of order p makes an error that falls with the p-th power of the step; the exact motion is
that of the adaptive integrator at its tightest. Closed forms are those of textbooks: pendulum,
symmetric top, harmonic oscillator.
"""

from dataclasses import replace
import math

from helpers.mujoco_peer import Peer, mjcf
from helpers.posed_figures import posed
from helpers.random_mechanisms import random_description, random_loops, random_state
from helpers.simulated import moved, pendulum, seated
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipj, ellipk

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import (
    Description,
    Dynamics,
    Inertia,
    Joint,
    JointType,
    Link,
    Pose,
    Spring,
)

SLOPE = 0.2  # how far a measured order may be from the true one
TIGHT = 1e-13  # tolerance of the reference motion: errors measured are 1e-10 and larger
# RK4 at 1 ms on motions of some rad/s: the error per second is about (0.001 x 10)^4 / 100
RK4_1_MS = 1e-9
ADAPTIVE = 1e-9  # ten times the tolerance asked for, which is per step
LEVER = 700.0  # what a gap in the loops makes of the pose after a second, measured 550
SAME_ENGINE = 1e-6  # asked for; MuJoCo and this package at 0.2 ms leave 1e-8 or less
KINDS = {
    'spherical': {JointType.SPHERICAL: 1.0},
    'planar': {JointType.PLANAR: 1.0},
    'free': {JointType.FLOATING: 1.0},
    'turning and sliding': {JointType.CONTINUOUS: 0.5, JointType.PRISMATIC: 0.5},
}


def tree(kind, *, seed=3):
    """Return a random tree of one kind of joints, and a state."""
    rng = np.random.default_rng(seed)
    description = random_description(
        rng,
        3 if kind == 'free' else 5,
        shares=KINDS[kind],
        floating_root=kind != 'planar',
        massless=0.0,
        damping=0.1,
    )
    q, v, _ = random_state(rng, description)
    return ccd.Mechanism(description), q, v


def looped():
    """Return a random tree that two loops close, and a motion that keeps them closed."""
    rng = np.random.default_rng(5)
    description = random_description(rng, 6, max_dof=14, floating_root=False, massless=0.0)
    q, _, _ = random_state(rng, description)
    from closed_chain_dynamics.description import LoopType

    description = random_loops(rng, description, q, 2, (LoopType.SPHERICAL, LoopType.UNIVERSAL))
    robot = ccd.Mechanism(description)
    W = ccd.coordinates(robot, q).W
    return robot, q, W @ rng.normal(0.0, 0.5, W.shape[1])


def errors(robot, q, v, duration, integrator, counts):
    """Return the error at the end for each number of steps."""
    exact = moved(robot, q, v, duration, dt=duration / 8, integrator='adaptive', tolerance=TIGHT)
    found = []
    for count in counts:
        sim = moved(
            robot, q, v, duration, dt=duration / count, integrator=integrator, tolerance=math.inf
        )  # the bare method: no step is subdivided
        found.append(np.linalg.norm(np.r_[ccd.difference(robot, exact.q, sim.q), sim.v - exact.v]))
    return np.array(found)


def order(counts, found):
    return -np.polyfit(np.log(counts), np.log(found), 1)[0]


CASES = {
    **{kind: lambda kind=kind: tree(kind) for kind in KINDS},
    'loops': looped,
    'swing': seated,
}


# --- order ---------------------------------------------------------------------------------------
@pytest.mark.parametrize('case', CASES)
@pytest.mark.parametrize(
    'integrator, expected, counts', [('rk4', 4, (8, 16, 32)), ('euler', 1, (512, 1024, 2048))]
)
def test_the_error_falls_with_the_order_of_the_method(case, integrator, expected, counts):
    """Adding angular velocities up would leave RK4 at order two with spherical and free joints."""
    robot, q, v = CASES[case]()
    found = errors(robot, q, v, 0.2, integrator, counts)
    assert found[-1] > 1e3 * TIGHT  # what is measured is the method, not rounding
    assert order(counts, found) == pytest.approx(expected, abs=SLOPE)


# --- closed forms --------------------------------------------------------------------------------
def free_body(moments, gravity=(0.0, 0.0, 0.0)):
    """Return one free body."""
    xx, yy, zz = moments
    body = Link('body', Inertia(2.0, Pose(), (xx, 0.0, 0.0, yy, 0.0, zz)))
    return ccd.Mechanism(
        Description(
            'top', (Link('world'), body), (Joint('free', JointType.FLOATING, 'world', 'body'),)
        ),
        gravity=gravity,
    )


@pytest.mark.parametrize('integrator', ['rk4', 'adaptive'])
def test_a_symmetric_top_precesses_as_the_textbook_says(integrator):
    """Its axis goes round L at |L| / I_1, while the body turns back under it."""
    I_1, I_3, w, spin = 0.3, 0.5, 1.2, 4.0
    robot = free_body((I_1, I_1, I_3))
    q, v = robot.neutral(), np.array([0.0, 0.0, 0.0, w, 0.0, spin])
    L = np.array([I_1 * w, 0.0, I_3 * spin])
    duration = 2.0
    sim = moved(robot, q, v, duration, dt=1e-3, integrator=integrator, tolerance=1e-11)
    turn = (I_3 - I_1) / I_1 * spin * duration
    assert sim.v[3:] == pytest.approx([w * math.cos(turn), w * math.sin(turn), spin], abs=ADAPTIVE)
    n, angle = L / np.linalg.norm(L), np.linalg.norm(L) / I_1 * duration
    axis = np.array([0.0, 0.0, 1.0])  # of the body, at the start
    axis = (
        axis * math.cos(angle)
        + np.cross(n, axis) * math.sin(angle)
        + n * (n @ axis) * (1 - math.cos(angle))
    )
    assert ccd.link_placement(robot, sim.q, 'body')[:3, 2] == pytest.approx(axis, abs=ADAPTIVE)


def test_a_tumbling_body_keeps_its_angular_momentum_and_its_energy():
    robot = free_body((0.2, 0.35, 0.5))
    q, v = robot.neutral(), np.array([0.3, -0.2, 0.1, 0.05, 3.0, 0.02])  # the unstable axis
    before = ccd.momentum(robot, q, v)
    sim = moved(robot, q, v, 10.0, dt=1e-3, log_every=10)
    assert abs(sim.v[3:] - v[3:]).max() > 1.0  # it has tumbled
    assert ccd.momentum(robot, sim.q, sim.v) == pytest.approx(before, abs=RK4_1_MS)
    assert np.ptp(sim.log.energy) < RK4_1_MS
    assert sim.q[:3] == pytest.approx(10.0 * v[:3], abs=1e-9)


@pytest.mark.parametrize('integrator, dt', [('rk4', 1e-3), ('adaptive', 0.05)])
def test_a_pendulum_swings_as_the_elliptic_functions_say(integrator, dt):
    start, rate = 2.5, math.sqrt(9.80665 / 0.7)
    m = math.sin(start / 2) ** 2
    sim = moved(
        pendulum(),
        np.array([start]),
        np.zeros(1),
        3.0,
        dt=dt,
        integrator=integrator,
        log_every=1,
        tolerance=1e-11,
    )
    sn = ellipj(ellipk(m) - rate * sim.log.time, m)[0]
    assert sim.log.q[:, 0] == pytest.approx(2.0 * np.arcsin(math.sqrt(m) * sn), abs=RK4_1_MS)


def test_the_adaptive_integrator_agrees_with_scipy_on_a_damped_oscillator():
    k, d, inertia = 30.0, 0.8, 0.49
    robot = pendulum(dynamics=Dynamics(damping=d))
    robot = ccd.Mechanism(
        replace(
            robot.description, springs=(Spring('s', 'torsional', k, 0.0, 0.2, joint='pivot'),)
        ),
        gravity=(0.0, 0.0, 0.0),
    )
    sim = moved(
        robot,
        np.array([1.0]),
        np.array([0.5]),
        2.0,
        dt=0.02,
        integrator='adaptive',
        log_every=1,
        tolerance=1e-10,
    )
    # closed form, and SciPy on the same equation written down anew
    decay, w = d / (2 * inertia), math.sqrt(k / inertia - (d / (2 * inertia)) ** 2)
    t = sim.log.time
    closed = 0.2 + np.exp(-decay * t) * (
        0.8 * np.cos(w * t) + (0.5 + decay * 0.8) / w * np.sin(w * t)
    )
    other = solve_ivp(
        lambda _, x: (x[1], (-k * (x[0] - 0.2) - d * x[1]) / inertia),
        (0.0, 2.0),
        (1.0, 0.5),
        'DOP853',
        t_eval=t,
        rtol=1e-12,
        atol=1e-13,
    )
    assert sim.log.q[:, 0] == pytest.approx(closed, abs=ADAPTIVE)
    assert sim.log.q[:, 0] == pytest.approx(other.y[0], abs=ADAPTIVE)
    assert sim.log.v[:, 0] == pytest.approx(other.y[1], abs=10 * ADAPTIVE)


# --- MuJoCo --------------------------------------------------------------------------------------
def distance(robot, q, other):
    """Return how far links are from where they are in MuJoCo [m, or sines of angles]."""
    X = ccd.link_placements(robot, q)
    return max(
        abs(np.vstack([X[link][:3, 3], X[link][:3, :3]]) - placement).max()
        for link, placement in other.items()
    )


def without_stops(description, **changes):
    """Return a description without limit moments, which MuJoCo has in another form."""
    return replace(
        description,
        joints=tuple(replace(joint, limit_moment=None) for joint in description.joints),
        **changes,
    )


def test_the_open_figure_moves_as_in_mujoco():
    robot = ccd.Mechanism(without_stops(ccd.load('figure').description))
    rng = np.random.default_rng(2)
    q, v = ccd.assemble(robot, {}), rng.normal(0.0, 1.0, robot.nv)
    assert mjcf(robot.description, robot.gravity).count('<joint') == len(robot.joint_names)
    sim = moved(robot, q, v, 1.0, dt=2e-4, limits=False)
    assert distance(robot, sim.q, Peer(robot).run(q, v, 1.0, 2e-4)[0]) < SAME_ENGINE


def test_the_swing_moves_as_in_mujoco_but_for_the_softness_of_its_loops():
    """
    Ten times stiffer loops, ten times smaller gaps and difference: what is left without is ours.

    MuJoCo has no sliding loop joint. So the tree is another one of the same swing: thighs slide on
    the plate, and hands, one hip and one hook are closed, points on points.
    """
    swing = ccd.load('swing')
    robot = posed(
        swing,
        ccd.assemble(swing, {}),
        cut=('right_ceiling', 'left_hand', 'right_hand', 'right_hip'),
    )
    q = robot.neutral()
    c = ccd.coordinates(robot, q)
    assert c.mobility == 7
    v = c.W @ np.random.default_rng(0).normal(0.0, 0.3, 7)
    sim = moved(robot, q, v, 1.0, dt=2e-4)
    (soft, soft_gap), (stiff, gap) = (
        Peer(robot, impedance, stiffness=1e6).run(q, v, 1.0, 1e-4) for impedance in (0.999, 0.9999)
    )
    assert distance(robot, q, stiff) > 0.5  # it has moved
    assert gap < 3e-7 and soft_gap / gap == pytest.approx(10.0, rel=0.02)
    far, near = distance(robot, sim.q, soft), distance(robot, sim.q, stiff)
    assert near < LEVER * gap and far / near == pytest.approx(10.0, rel=0.02)
    more, less = ((1.0 - d) / d for d in (0.999, 0.9999))  # compliance
    rigid = {
        link: stiff[link] + less / (more - less) * (stiff[link] - soft[link]) for link in stiff
    }
    assert distance(robot, sim.q, rigid) < SAME_ENGINE
