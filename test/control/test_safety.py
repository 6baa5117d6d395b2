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

"""The leg of an exoskeleton under control: limits, branches, faults and fallbacks."""

from helpers.controlled_runs import DEAD_POINT, PERIOD, ControlledRun, ball_jointed, loose_leg
from helpers.page_blocks import DOCS, blocks
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.control.fallback import damping_torques

LEG_SPEED = 12.0  # of the cranks [rad/s]
ZONE = 0.05  # before limits, and most that is allowed beyond [rad]
ANKLE = ['ankle_pitch', 'ankle_roll']


def leg(**options):
    """Return the leg under control, standing, with a pose that is held."""
    run = ControlledRun('exo_leg', loop=options)
    run.turn()
    held = ['hip', 'knee', 'left_crank', 'right_crank']
    assert run.loop.take_reference(held, [0.01], [[0.0] * 4])
    run.run(0.02)
    return run


def test_a_start_without_states_is_no_change():
    """So that a node says once, and not twice, that it waits for them."""
    run = ControlledRun('exo_leg')
    before = run.loop.safety.cause
    run.loop.fall_back(0.0, 'no joint states yet')
    assert run.loop.safety.cause == before


def crank_watch(run):
    """Return the largest angle and speed of the cranks."""
    robot = run.sim.robot
    names = ('left_crank', 'right_crank')
    return (
        max(abs(run.position(name)) for name in names),
        max(abs(float(run.sim.v[robot.joint_slices(name)[1]][0])) for name in names),
    )


@pytest.mark.parametrize(
    'names, position, words',
    [
        (['hip'], [2.5], "'hip' is commanded to 2.5, and its limits are -0.6 to 1"),
        (ANKLE, [0.75, 0.0], "'ankle_pitch' is commanded to 0.75"),
        (ANKLE, [2.0, 0.0], "'ankle_pitch' is commanded to 2"),
        (ANKLE, [0.55, 0.3], 'right_crank'),  # within limits, but not those of the cranks
    ],
)
@pytest.mark.parametrize('time', [0.0, 1.0])
def test_what_is_beyond_limits_is_refused_in_words(names, position, words, time):
    run = leg()
    asked = run.loop.take_reference(names, [time], [position])
    seen = np.array(run.run(0.3, crank_watch))
    refusals = [text for name, text in run.refused if name == 'reference']
    assert refusals and words in refusals[-1], run.refused
    assert seen[:, 0].max() < 1.2 + ZONE and seen[:, 1].max() < LEG_SPEED
    assert run.position('hip') < 1.0 and run.position('ankle_pitch') < 0.6
    assert run.loop.safety.state == 'degraded' and asked == (words == 'right_crank')
    assert np.isfinite(run.tau).all()


def test_each_refusal_of_a_reference_is_told_and_none_of_them_twice():
    told = []
    run = leg(on_change=lambda safety: told.append(safety.text))
    for position, words in ((2.5, 'to 2.5'), (3.5, 'to 3.5')):
        before = len(told)
        assert not run.loop.take_reference(['hip'], [1.0], [[position]])
        run.run(0.02)
        assert len(told) == before + 1 and words in told[-1], told


def test_a_motion_that_was_given_up_hides_no_later_refusal():
    run = leg()
    assert run.loop.take_reference(ANKLE, [4.0], [[0.59, 0.34]])  # a crank would be beyond
    run.run(4.0)
    assert 's after its begin' in run.loop.safety.text
    for names, words in ((['hip'], 'to 2.5'), (['no_joint'], 'no_joint')):
        assert not run.loop.take_reference(names, [1.0], [[2.5]])
        run.run(0.02)
        assert run.loop.safety.state == 'degraded' and words in run.loop.safety.text
    assert run.loop.take_reference(['hip'], [1.0], [[0.1]])
    run.run(0.1)
    assert run.loop.safety.state == 'active'
    assert run.loop.take_reference(ANKLE, [4.0], [[0.59, 0.34]])
    run.run(4.0)
    assert 's after its begin' in run.loop.safety.text


def test_a_reference_during_a_fault_is_refused_and_never_begins():
    run = leg()
    run.loop.safety.fault('test', 'a fault')
    assert not run.loop.take_reference(['hip'], [1.0], [[0.1]])
    assert 'clear it first' in run.refused[-1][1]
    run.run(0.01)
    assert not run.loop.clear(run.sim.time) and not run.loop.is_asked
    run.run(0.01)
    assert run.loop.safety.cause == 'no reference yet'
    assert run.loop.take_reference(['hip'], [1.0], [[0.1]])


def test_who_clears_a_fault_is_told_why_states_are_refused():
    run = leg()
    robot = run.sim.robot
    run.sim.v = 20.0 * np.eye(robot.nv)[robot.joint_slices('hip')[1].start]
    for _ in range(80):
        run.sim.time += PERIOD
        run.take()
    assert run.loop.safety.cause == 'speed'
    why = run.loop.clear(run.sim.time, run.refused[-1][1])
    assert 'no good joint state' in why and "'hip' moves at 20 rad/s" in why


def test_clipped_references_end_at_the_limit():
    run = leg(clip=True)
    assert run.loop.take_reference(['hip'], [1.0], [[2.5]])
    run.run(1.3)
    assert run.position('hip') == pytest.approx(1.0, abs=2e-3)
    assert run.loop.safety.state == 'active'
    told = "'hip' is commanded to 2.5, and its limits are -0.6 to 1: it stays within them"
    assert run.refused == [('clipped', told)]
    assert run.loop.take_reference(['hip'], [1.0], [[0.9]])
    assert len(run.refused) == 1


@pytest.mark.parametrize('far', [30.0, 3000.0, 1e6, 1e300])
@pytest.mark.parametrize('time', [0.0, 1.0])
def test_far_references_are_refused_at_once(far, time):
    """On a joint without position limits, whose speed is what makes them hopeless."""
    run = ControlledRun('five_bar')
    run.turn()
    assert not run.loop.take_reference(['left_shoulder'], [time], [[far]])
    assert run.refused[-1][0] == 'reference'


def test_a_stream_that_jumps_is_caught_up_with_at_a_share_of_the_speed():
    run = leg()
    for _ in range(400):
        assert run.loop.take_reference(['hip'], [0.0], [[0.5]])
        run.turn()
        speed = abs(float(run.sim.v[run.sim.robot.joint_slices('hip')[1]][0]))
        assert speed < 8.0
    assert run.position('hip') == pytest.approx(0.5, abs=2e-2)


def feed(run, times=1, **changes):
    """Take states in which some joints are elsewhere; do not move the simulation."""
    tau = None
    for _ in range(times):
        q, v = run.measured()
        for name, (where, rate) in changes.items():
            k = run.names.index(name)
            q[k], v[k] = where, rate
        run.clock = getattr(run, 'clock', run.sim.time) + 1e-3
        tau = run.loop.take_state(run.names, q, v, stamp=1.0 + run.clock, now=run.clock)
    return tau


def test_a_speed_that_insists_is_a_fault_and_one_glitch_is_not():
    run = leg()
    assert feed(run, 1, hip=(0.0, 1e9)) is None and not run.loop.safety.is_fault
    assert feed(run, 1) is not None
    feed(run, 3, hip=(0.0, 1e9))
    assert run.loop.safety.is_fault and "'hip' moves at 1e+09" in run.loop.safety.text
    assert 'faster' in run.loop.clear(run.clock) or feed(run, 1) is not None
    assert run.loop.clear(run.clock) == '' and run.loop.safety.state == 'ready'
    tau = feed(run, 1)
    assert run.loop.reason == 'no reference yet' and not tau.any()  # it must be asked anew


def test_a_joint_beyond_its_limit_is_a_fault_until_it_is_back():
    run = leg(tracking_bound=10.0)
    for x in np.linspace(0.0, 1.1, 500):
        feed(run, 1, hip=(x, 0.5))
    assert run.loop.safety.is_fault and "'hip' is at" in run.loop.safety.text
    assert 'beyond its limit of 1' in run.loop.clear(run.clock)
    for x in np.linspace(1.1, 0.9, 200):
        assert not feed(run, 1, hip=(x, -0.5)).any()
    assert run.loop.safety.is_fault  # it does not go away by itself
    assert run.loop.clear(run.clock) == ''


def test_an_error_beyond_its_bound_is_a_fault():
    run = leg(tracking_bound=0.1)
    for x in np.linspace(0.0, 0.2, 200):
        feed(run, 1, hip=(x, 0.5))
    assert run.loop.safety.is_fault and 'away from the reference' in run.loop.safety.text


@pytest.mark.parametrize('refused', [False, True])
def test_a_jump_to_another_branch_is_a_fault(refused):
    """Also where the law holds a pose because another one was refused, which is told."""
    run = leg()
    if refused:
        assert not run.loop.take_reference(['hip'], [1.0], [[2.5]])
        run.run(0.01)
        assert run.loop.safety.state == 'degraded' and not run.loop.reason
    other = {'left_crank': np.pi + 0.3, 'right_crank': np.pi + 0.3}
    q = ccd.assemble(run.sim.robot, {**other, 'hip': 0.0, 'knee': 0.0}, limits=False)
    names = run.names
    for _ in range(5):
        feed(run, 1, **{name: (x, 0.0) for name, x in zip(names, q)})
    assert run.loop.safety.is_fault and 'branch' in run.loop.safety.text


def test_the_wrap_of_an_encoder_is_no_jump():
    run = ControlledRun('four_bar', start={'crank': 3.1})
    run.turn()
    q = run.measured()[0]
    k = run.names.index('crank')
    for step in range(100):
        crank = 3.1 + 1e-3 * step
        pose = ccd.assemble(run.sim.robot, {'crank': crank}, start=q)
        shown = np.where(
            np.arange(q.size) == k, np.remainder(pose + np.pi, 2 * np.pi) - np.pi, pose
        )
        v = ccd.complete_velocity(run.sim.robot, pose, {'crank': 1.0})
        now = 1e-3 * (step + 1)
        run.loop.take_state(run.names, shown, v, stamp=1.0 + now, now=now)
        assert run.loop.state.q[k] == pytest.approx(crank, abs=1e-9) and not run.refused


def test_a_missing_velocity_is_taken_from_positions():
    run = leg()
    for step in range(20):
        feed(run, 1, hip=(1e-3 * step, np.nan))
    k = run.sim.robot.coordinate_names.index('hip')
    assert run.loop.state.v[k] == pytest.approx(1.0, rel=1e-6) and not run.refused


def test_damping_is_what_the_projection_says_and_only_takes_energy():
    """Against S^-T W^T tau_O where it is square; power never positive, also with fewer motors."""
    rng = np.random.default_rng(3)
    for model, actuated in (('exo_leg', None), ('biped', None), ('exo_leg', ['hip', 'knee'])):
        robot = ccd.load(model, actuated=actuated)
        q = ccd.assemble(robot, limits=False)
        c = ccd.coordinates(robot, q)
        for _ in range(10):
            theta = rng.normal(size=c.mobility)
            v = c.W @ theta
            tau = damping_torques(robot, q, v, 1e-3, 0.0)
            assert tau @ (c.S @ theta) <= 1e-15
            if c.S.shape[0] == c.mobility:
                expected = np.linalg.solve(c.S.T, c.W.T @ (-1e-3 * v))
                np.testing.assert_allclose(tau, expected, rtol=1e-9, atol=1e-12)


def test_a_fault_with_damping_brings_the_leg_to_rest():
    run = leg(fallback='damping')
    assert run.loop.take_reference(['hip'], [0.3], [[0.5]])
    run.run(0.15)
    run.loop.safety.fault('test', 'somebody pressed the button')
    before = run.sim.energy().kinetic
    speeds = run.run(0.1, lambda now: float(np.abs(now.sim.v).max()))
    assert run.loop.safety.is_fault and run.tau.any() and speeds[-1] < speeds[0]
    assert run.sim.energy().kinetic < before


@pytest.mark.parametrize('policy', ['refuse', 'hold', 'damp'])
def test_the_dead_point_of_crank_and_rod_is_not_passed(policy):
    """Both cranks are asked for 1.8 rad, and are in line with their rods before."""
    run = ControlledRun(loose_leg(), singularity=policy)
    run.turn()
    asked = ['left_crank', 'right_crank', 'hip', 'knee']
    good = run.loop.take_reference(asked, [1.0], [[1.8, 1.8, 0.0, 0.0]])
    seen = np.array(run.run(1.0, crank_watch))[:, 0].max()
    words = [text for name, text in run.refused if name == 'reference']
    if policy == 'damp':
        assert good and not words and seen > DEAD_POINT
        return
    assert seen < DEAD_POINT and words and 'left_heel, right_heel' in words[-1], run.refused
    assert run.loop.safety.state == 'degraded' and not run.loop.reason
    if policy == 'refuse':
        assert seen < 1.0  # it has hardly begun
    else:
        assert seen > 1.0  # it stops before


@pytest.mark.parametrize('policy', ['refuse', 'hold'])
def test_the_little_by_which_a_rod_turns_is_no_motion_to_lose(policy):
    """A rod between ball and cross turns by some hundredths of its crank, or not at all."""
    run = ControlledRun(ball_jointed(loose_leg()), singularity=policy)
    run.turn()
    for pitch in (0.45, -0.45, 0.0):
        assert run.loop.take_reference(ANKLE, [0.8], [[pitch, 0.05]])
        run.run(1.0)
        assert run.loop.safety.state == 'active', str(run.loop.safety)
        assert run.position('ankle_pitch') == pytest.approx(pitch, abs=1e-3)
    run.loop.take_reference(['left_crank', 'right_crank'], [1.0], [[1.8, 1.8]])
    assert np.array(run.run(1.0, crank_watch))[:, 0].max() < DEAD_POINT
    assert "link 'foot' would lose a motion" in run.refused[-1][1]


# --- what nobody has driven yet ------------------------------------------------------------------
def lift(lower='0.1', **options):
    """Return the lift of the tutorial, which falls from the start, and its safety states."""
    text = next(
        text for _, title, text in blocks(DOCS / 'pages' / 'tutorial.md') if title == 'lift.urdf'
    )
    seen = []
    run = ControlledRun(
        text.replace('lower="0.1"', f'lower="{lower}"'),
        start={'motor': 0.5},
        guard={'effort_share': 0.5, 'rate_limit': 20.0},
        loop={'on_change': lambda safety: seen.append(str(safety)), **options},
    )
    return run, seen


def motor_speed(run):
    """Return how fast the motor turns [rad/s]."""
    return abs(float(run.sim.v[run.sim.robot.joint_slices('motor')[1]][0]))


def test_a_fall_before_it_is_driven_is_no_fault_and_is_told_meanwhile():
    run, seen = lift()
    limit = 1.25 * 10.0  # of the motor [rad/s]
    speeds = run.run(1.0, lambda now: (motor_speed(now), now.loop.safety.state))
    assert max(speed for speed, _ in speeds) > 2.0 * limit
    assert not any('fault' in each for each in seen)
    assert seen[0] == 'ready: no reference yet'
    assert "degraded: 'motor' moves at" in seen[1] and 'faster than its limit of 10' in seen[1]
    assert seen[2] == 'ready: no reference yet'  # by itself
    for before, now in zip(speeds, speeds[4:]):  # three in a row, and one that is under way
        if before[0] > limit and now[0] > limit:
            assert now[1] == 'degraded'


@pytest.mark.parametrize('lower', ['0.1', '0.25'])
@pytest.mark.parametrize('when', [0.15, 0.2, 0.4, 1.0])  # at 15, 34, 11 and 20 rad/s, or at rest
def test_a_reference_that_comes_while_it_falls_or_lies_at_its_stop_is_followed(lower, when):
    run, seen = lift(lower)
    run.run(when)
    speed = motor_speed(run)
    assert run.loop.take_reference(['motor'], [1.0], [[1.0]])
    run.turn()
    if speed > 10.0:
        assert run.loop.safety.state == 'degraded' and not run.tau.any()
        assert 'the reference waits until that is over' in run.loop.safety.text
    run.run(2.0)
    assert run.position('motor') == pytest.approx(1.0, abs=1e-3)
    assert run.loop.safety.state == 'active' and not any('fault' in each for each in seen)


def test_a_stream_that_ended_during_the_fall_is_not_followed_after_it():
    run, _ = lift(reference_timeout=0.01)
    run.run(0.15)
    assert run.loop.take_reference(['motor'], [0.0], [[-1.0]])
    run.run(0.2)
    assert run.loop.reason in ('no reference yet', run.loop.watcher.doubt[1])
    assert not run.loop.reference and not run.tau.any()


def test_what_was_driven_once_faults_until_it_is_cleared_and_not_after():
    run, seen = lift()
    run.turn()
    assert run.loop.take_reference(['motor'], [0.5], [[0.6]])
    run.run(0.1)
    fast = {'motor': (run.position('motor'), 50.0)}
    feed(run, 3, **fast)
    assert run.loop.safety.is_fault and seen[-1].startswith("fault: 'motor' moves at 50")
    feed(run, 2)
    assert run.loop.clear(run.clock) == ''
    feed(run, 5, **fast)  # somebody turns the crank by hand
    assert run.loop.safety.state == 'degraded'
    feed(run, 2)
    assert str(run.loop.safety) == 'ready: no reference yet'


def test_a_reference_that_is_refused_before_any_is_told_as_long_as_there_is_none():
    run, seen = lift()
    run.turn()
    assert not run.loop.take_reference(['motor'], [0.01], [[3.0]])
    run.turn()
    assert run.loop.safety.state == 'degraded' and "'motor' is commanded to move" in seen[-1]
