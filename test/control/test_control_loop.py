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

"""The loop around the law: bad states, references that do not fit, structure that changes."""

import math

from helpers.controlled_runs import FIVE_BAR, PERIOD, ControlledRun
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.control.control_loop import ControlLoop
from closed_chain_dynamics.control.law import TorqueController
from closed_chain_dynamics.control.rehearsed_turns import warm_up
from closed_chain_dynamics.control.state_tracking import StampCheck
from closed_chain_dynamics.control.torque_guard import TorqueGuard

TRACKING = 1e-3  # five_bar and swing at 1 kHz, zero-order hold of the torques [rad]
ROUNDING = 1e-9
SWING = {'left_knee': (0.4, 0.9), 'right_knee': (0.4, 0.9), 'left_elbow': (0.0, 1.0)}


def test_stamps_tell_repeated_reordered_and_old_states():
    """And a clock that starts anew is believed after some states."""
    check = StampCheck(0.05)
    assert check.refuse(10.0, 0.001) is None
    assert check.refuse(10.0, 0.001)[0] == 'repeated'
    assert check.refuse(9.999, 0.001)[0] == 'out of order'
    assert check.refuse(10.001, 0.06)[0] == 'stale'
    assert check.refuse(math.nan, 0.0)[0] == 'stamp'
    assert check.refuse(10.002, 1.7e9)[0] == 'other clock'
    check.other_clock = True  # its stamps tell no age
    assert check.refuse(10.002, 1.7e9) is None
    reasons = [check.refuse(1e-3 * k, 0.0) for k in range(6)]
    assert [each and each[0] for each in reasons] == ['out of order'] * 4 + [None, None]


def test_stamps_ahead_of_their_clock_are_refused():
    """A single one would carry the reference, and the length of turns, into the future."""
    check = StampCheck(0.05)
    assert check.refuse(10.0, 0.001) is None
    assert check.is_next(10.04, -0.03) and not check.is_next(13.0, -2.99)
    assert check.refuse(13.0, -2.99)[0] == 'ahead of time'
    assert all(check.refuse(13.0 + k, -2.0)[0] == 'ahead of time' for k in range(10))
    assert check.refuse(10.01, 0.0) is None  # the last good one counts, not those
    check.simulated = True  # states overtake the clock
    assert check.is_next(13.0, -2.99) and check.refuse(13.0, -2.99) is None


def test_another_clock_may_be_set_but_not_by_a_single_stamp():
    """One message that took long is no reason to doubt the next one, which did not."""
    check = StampCheck(0.05, other_clock=True)
    for stamp, age in ((10.0, 1.7e9), (10.001, 1.7e9 + 0.3), (10.302, 1.7e9 + 1e-3)):
        assert check.refuse(stamp, age) is None
    assert check.refuse(15.0, 1.7e9 - 4.7)[0] == 'ahead of time'
    assert check.refuse(10.303, 1.7e9) is None
    ahead = [check.refuse(99.0 + 1e-3 * k, 1.7e9 - 88.0) for k in range(6)]
    assert [each and each[0] for each in ahead] == ['ahead of time'] * 4 + [None, None]


def test_a_stamp_of_the_future_takes_no_stiffness_away():
    """Neither one that is wrong, nor a clock that was set and is believed after some states."""
    run = ControlledRun('five_bar')
    run.follow_sines(FIVE_BAR, 2.0)
    run.run(0.05)
    for shift in (0.0, 100.0):
        for k in range(20):
            now = run.sim.time
            stamp, age = 1.0 + now + shift, 1.7e9 - shift
            if shift == 0.0 and k == 10:
                stamp, age = stamp + 30.0, age - 30.0
            run.loop.tracker.stamps.other_clock = True
            tau = run.loop.take_state(run.names, *run.measured(), stamp=stamp, now=now, age=age)
            run.sim.step(run.tau if tau is None else tau)
    assert run.loop.turns.now < 0.01 and run.loop.tracker.refused['ahead of time'] == 5
    assert run.loop.tracker.refused['time restarted'] == 1


def hostile(run, rng, k):
    """Do to a message what networks and drivers do; return the time to wait."""
    loop, sim = run.loop, run.sim
    q, v = run.measured()
    now = sim.time
    kind = rng.integers(0, 8)
    if kind == 0:  # dropped
        return None
    if kind == 1:  # not finite
        q = np.where(rng.integers(0, 2, q.size), q, rng.choice([np.nan, np.inf, -np.inf]))
    stamp = 1.0 + now - (0.003 if kind == 2 else 0.0)  # out of order
    age = 1.0 if kind == 3 else 0.0  # late
    if kind == 4:  # a sensor that lies
        q = q + rng.normal(0.0, 2.0, q.size)
    tau = loop.take_state(run.names, q, v, stamp=stamp, now=now, age=age)
    if kind == 5:  # duplicated
        assert loop.take_state(run.names, q, v, stamp=stamp, now=now, age=age) is None
    return tau


def test_hostile_messages_give_no_bad_torque():
    """Dropped, duplicated, reordered, late, not finite, lying: torques stay finite and bounded."""
    run, rng = ControlledRun('five_bar'), np.random.default_rng(5)
    run.follow_sines(FIVE_BAR, 2.0)
    before, rate = run.tau, 100.0 * 20.0 * PERIOD
    for k in range(1000):
        tau = hostile(run, rng, k)
        watched = run.loop.watch(run.sim.time)
        tau = watched if watched is not None else tau
        if tau is not None:
            assert np.isfinite(tau).all() and np.abs(tau).max() <= 20.0
            assert not tau.any() or np.abs(tau - before).max() <= 10.0 * rate + ROUNDING
            before = run.tau = tau
        run.sim.step(run.tau)
    assert {name for name, _ in run.refused} >= {
        'repeated',
        'out of order',
        'stale',
        'state',
        'lost',
    }
    assert run.tracking_error() < 0.2  # half of the messages were bad, and it still follows


@pytest.mark.parametrize('fallback', ['zero', 'gravity'])
def test_states_that_stay_away_end_in_the_fallback_and_recover(fallback):
    """Within the timeout, and without anybody's help."""
    run = ControlledRun('five_bar', loop={'fallback': fallback, 'state_timeout': 0.02})
    run.follow_sines(FIVE_BAR, 2.0)
    run.run(0.2)
    assert run.loop.watch(run.sim.time) is None
    silent = run.sim.time + 0.021
    tau = run.loop.watch(silent)
    for k in range(100):
        tau = run.loop.watch(silent + 1e-3 * k)
    held = run.loop.controller.gravity(run.loop.state.q).tau_A
    np.testing.assert_allclose(tau, held if fallback == 'gravity' else np.zeros(2))
    assert 'timeout' in run.loop.reason
    run.run(0.5)
    assert run.loop.reason == '' and run.tracking_error() < 10.0 * TRACKING


def test_without_a_reference_there_is_the_fallback():
    """And a stream that ends is noticed."""
    run = ControlledRun('five_bar', loop={'reference_timeout': 0.1})
    run.turn()
    assert run.loop.reason == 'no reference yet' and not run.tau.any()
    for _ in range(50):
        run.loop.take_reference(['left_shoulder', 'right_shoulder'], [0.0], [run.sim.q[[0, 2]]])
        run.turn()
    assert run.loop.reason == '' and run.tau.any()
    run.run(0.2)
    assert 'stream' in run.loop.reason and not run.tau.any()


def test_a_reference_before_the_first_state_waits_for_it():
    """So that nobody has to care who starts first."""
    run = ControlledRun('five_bar')
    assert run.loop.take_reference(['left_shoulder', 'right_shoulder'], [1.0], [[2.2, 1.0]])
    run.run(0.01)
    assert run.loop.reason == ''


def test_references_that_do_not_fit_change_nothing():
    """They are refused by name, and the old one is followed on."""
    run = ControlledRun('five_bar')
    run.follow_sines(FIVE_BAR, 2.0)
    for names, times, points in (
        (['left_sholder'], [1.0], [[0.0]]),
        (['left_shoulder'], [1.0, 0.5], [[0.0], [0.0]]),
        (['left_shoulder'], [1.0], [[np.nan]]),
        (['left_shoulder'], [1.0], [[0.0, 1.0]]),
    ):
        assert not run.loop.take_reference(names, times, points)
        assert run.refused.pop()[0] == 'reference'
    assert max(run.run(0.3, ControlledRun.tracking_error)) < TRACKING


def test_a_simulation_that_starts_anew_is_followed_again():
    """Stamps go back to the beginning; the pose is found and the last reference held."""
    run = ControlledRun('five_bar')
    run.follow_sines(FIVE_BAR, 2.0)
    run.run(0.4)
    run.sim.reset()
    begun = run.loop.guard.tau
    for k in range(8):
        now = 10.0 + 1e-3 * k  # this machine's time goes on
        tau = run.loop.take_state(run.names, *run.measured(), stamp=1.0 + run.sim.time, now=now)
        run.sim.step(begun)
    assert tau is not None and run.loop.reason == ''
    assert 'time restarted' in dict(run.refused)


def test_structure_changes_between_turns():
    """A hand lets go and grips again: control goes on; what is impossible is refused."""
    run = ControlledRun('swing')
    run.follow_sines(SWING, 1.5)
    run.run(0.1)
    for where in (run.sim, run.loop):
        where.cut('left_hand')
    assert max(run.run(0.05, ControlledRun.tracking_error)) < 10.0 * TRACKING
    with pytest.raises(ccd.StructureError, match='already open'):
        run.loop.cut('left_hand')
    with pytest.raises(ccd.NameNotFound, match="'left_hand'"):
        run.loop.connect('left_hnad')
    for where in (run.sim, run.loop):
        where.connect('left_hand')
    run.run(0.05)
    assert run.loop.reason == '' and run.loop.robot.is_connected('left_hand')
    assert not [each for each in run.refused if each[0] != 'lost']


def test_a_joint_of_the_tree_may_break_off():
    """A shank falls: the other knee is controlled on, and nothing bad goes out."""
    run = ControlledRun('swing')
    run.follow_sines(SWING, 1.5)
    run.run(0.05)
    for where in (run.sim, run.loop):
        where.cut('right_knee')
    run.names = [name for name in run.names if name != 'right_knee'] + ['right_knee']
    seen = run.run(
        0.1,
        lambda now: abs(
            now.position('left_knee') - now.wanted('left_knee', now.sim.time - now.begun)
        ),
    )
    assert max(seen) < TRACKING and run.loop.reason == '' and not run.refused
    broken = run.sim.robot.actuator_names.index('right_knee')
    assert run.tau[broken] == 0.0  # its motor turns nothing any more


def test_loops_are_switched_before_the_pose_is_known():
    """Who starts while a hand is open is told so first; a joint of the tree needs a pose."""
    run = ControlledRun('swing')
    with pytest.raises(ccd.StructureError, match='not known yet'):
        run.loop.cut('right_knee')
    for where in (run.sim, run.loop):
        where.cut('left_hand')
    run.follow_sines(SWING, 1.0)
    assert max(run.run(0.1, ControlledRun.tracking_error)) < 10.0 * TRACKING
    fresh = ControlledRun('five_bar')
    fresh.loop.cut('tip')
    fresh.loop.connect('tip')
    fresh.follow_sines(FIVE_BAR, 1.0)
    assert max(fresh.run(0.1, ControlledRun.tracking_error)) < TRACKING


def test_the_owner_of_the_contacts_is_believed_without_a_pose():
    """Open loops and cut joints of the tree; what it does not name stays, or is whole."""
    run = ControlledRun('swing')
    for name in ('left_hand', 'right_knee'):
        run.sim.cut(name)
    run.sim.run(0.1)
    run.turn()
    assert run.loop.state is None and run.refused  # as if all were closed: nothing fits
    assert run.loop.follow({'left_hand': False, 'right_knee': False})
    assert not run.loop.follow({'left_hand': False, 'right_knee': False})
    run.refused.clear()
    run.follow_sines({'left_knee': SWING['left_knee']}, 1.0)
    assert run.run(0.3, ControlledRun.tracking_error)[-1] < TRACKING  # the fall has died out
    assert run.tau[run.sim.robot.actuator_names.index('right_knee')] == 0.0
    assert not run.refused and run.loop.robot.is_connected('right_hand')
    assert run.loop.follow({'left_hand': False, 'right_hand': False, 'elbow': False})
    assert run.loop.robot.nv == ccd.load('swing').nv and not run.loop.robot.is_connected(
        'right_hand'
    )
    assert run.refused == [('contact/state', "swing has no joint 'elbow'")]


def test_a_reference_outlives_a_change_that_comes_without_a_pose():
    """The simulation starts over with all hands on the rod: the last reference is held."""
    run = ControlledRun('swing')
    run.follow_sines(SWING, 1.0)
    for where in (run.sim, run.loop):
        where.cut('left_hand')
        where.cut('right_knee')
    run.run(0.3)
    run.sim.reset()
    begin, tau = 10.0, run.loop.guard.tau
    for k in range(20):
        given = run.loop.take_state(
            run.names, *run.measured(), stamp=1.0 + run.sim.time, now=begin + run.sim.time
        )
        if k == 10:  # what the owner says comes late
            run.loop.follow({'left_hand': True, 'right_hand': True})
        run.sim.step(tau)
    assert given is not None and run.loop.reason == '' and given.any()


def test_a_connection_across_a_gap_is_refused():
    """And leaves the loop open."""
    run = ControlledRun('five_bar')
    run.turn()
    for where in (run.sim, run.loop):
        where.cut('tip')
    run.run(0.3)
    with pytest.raises(ccd.StructureError, match='apart'):
        run.loop.connect('tip')
    assert not run.loop.robot.is_connected('tip')


def test_a_loop_can_be_made_for_every_model():
    """Turns on a copy load all kernels and change nothing."""
    for model in ('five_bar', 'swing', 'high_bar', 'four_bar', 'two_link'):
        robot = ccd.load(model)
        loop = ControlLoop(TorqueController(robot), TorqueGuard(robot))
        warm_up(loop)
        assert loop.state is None and loop.reason == 'no joint states yet'
