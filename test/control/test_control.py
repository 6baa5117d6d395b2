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
Torque control in this process: tracking, modes, actuation, and what the guard lets pass.

The plant is the simulator, which knows nothing of the controller. Errors have closed forms: an
exact law leaves e'' + K_d e' + K_p e = 0.
"""

import math

from helpers.controlled_runs import FIVE_BAR, PERIOD, ControlledRun
from helpers.folding_linkages import parallel_pose, parallelogram
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


def five_bar_error(**law):
    """Return the largest tracking error of a five-bar that follows sines."""
    run = ControlledRun('five_bar', **law)
    run.follow_sines(FIVE_BAR, 2.0)
    return max(run.run(1.5, ControlledRun.tracking_error))


def test_a_five_bar_tracks_sines():
    """With both shoulders measured only, and within the bound that is stated."""
    assert five_bar_error(names=['left_shoulder', 'right_shoulder']) < TRACKING


def test_feedback_alone_tracks_much_worse(monkeypatch):
    """The same gains without the reference's acceleration and without gravity."""
    with_model = five_bar_error()
    honest = TorqueController.torques

    def feedback_only(self, q, v, reference, sensed, turn):
        q_d, v_d, a_d = reference
        law = honest(self, q, v, (q_d, v_d, np.zeros_like(a_d)))
        rest = honest(self, q, v, (q, v, np.zeros_like(a_d)))
        return type(law)(law.tau_A - rest.tau_A)

    monkeypatch.setattr(TorqueController, 'torques', feedback_only)
    monkeypatch.setattr(TorqueController, 'whole_law', lambda self, turn: None)
    assert five_bar_error() > 20.0 * with_model


def test_the_figure_on_the_swing_moves_its_knees_while_it_swings():
    """No actuator drives the swing: its motion is left to the dynamics, and named."""
    run = ControlledRun('swing')
    run.follow_sines(SWING, 1.5)
    errors = run.run(1.0, ControlledRun.tracking_error)
    assert max(errors) < TRACKING
    assert len(run.loop.command.residual) == 1 and not run.refused
    assert np.abs(run.sim.v[run.sim.robot.joint_slices('left_ceiling')[1]]).max() > 0.01


def test_an_error_decays_as_the_gains_say():
    """e(t) = e_0 (1 + w t) exp(-w t) for K_p = w^2, K_d = 2 w, in every generalized coordinate."""
    w = 10.0
    run = ControlledRun('five_bar', kp=w**2, kd=2.0 * w, guard={'rate_limit': 1e4})
    run.turn()
    centre = np.array([run.position(name) for name in FIVE_BAR])
    run.loop.take_reference(list(FIVE_BAR), [0.0, 10.0], [centre + 0.1, centre + 0.1])
    run.run(0.25)  # until the reference has caught up with its jump
    t_0, e_0 = run.sim.time, None
    for _ in range(400):
        run.turn()
        e = np.array([run.position(name) for name in FIVE_BAR]) - centre - 0.1
        rate = run.sim.v[[0, 2]]
        if e_0 is None:
            t_0, e_0, rate_0 = run.sim.time, e, rate
        t = run.sim.time - t_0
        expected = (e_0 + (rate_0 + w * e_0) * t) * np.exp(-w * t)
        np.testing.assert_allclose(e, expected, atol=2e-3 * 0.1)  # torques are held for 1 ms


def test_computed_torque_gives_the_acceleration_of_the_law():
    """Forward dynamics returns theta_d'' + K_d e' + K_p e; square and redundant actuation."""
    for model, actuated in (
        ('five_bar', None),
        ('five_bar', ['left_shoulder', 'right_shoulder', 'left_elbow']),
    ):
        robot = ccd.load(model, actuated=actuated)
        q, rng = ccd.assemble(robot), np.random.default_rng(1)
        c = ccd.coordinates(robot, q)
        v = c.W @ rng.normal(size=2)
        q_d = ccd.assemble(
            robot, {'left_shoulder': q[0] + 0.05, 'right_shoulder': q[2] - 0.02}, start=q
        )
        v_d = ccd.complete_velocity(robot, q_d, {'left_shoulder': 0.3, 'right_shoulder': 0.1})
        a_d = ccd.complete_acceleration(robot, q_d, v_d, {'left_shoulder': 1.0})
        command = TorqueController(robot, kp=100.0, kd=15.0).torques(q, v, (q_d, v_d, a_d))
        a = ccd.forward_dynamics(robot, q, v, command.tau_A).acceleration
        names = ccd.coordinates(robot, q).independent
        theta_G = [robot.coordinate_names.index(name) for name in names]
        wanted = (a_d + 15.0 * (v_d - v) + 100.0 * (q_d - q))[theta_G]
        np.testing.assert_allclose(a[theta_G], wanted, rtol=ROUNDING)
        assert command.residual == {}


def test_what_no_actuator_drives_is_left_to_the_dynamics():
    """The actuated joint accelerates as wanted, the other as forward dynamics has it."""
    robot = ccd.load('five_bar', actuated=['left_shoulder'])
    q, zero = ccd.assemble(robot), np.zeros(4)
    a_d = ccd.complete_acceleration(robot, q, zero, {'left_shoulder': 2.0, 'right_shoulder': 5.0})
    command = TorqueController(robot).torques(q, zero, (q, zero, a_d))
    a = ccd.forward_dynamics(robot, q, zero, command.tau_A).acceleration
    assert a[0] == pytest.approx(2.0, rel=ROUNDING)
    needed = ccd.inverse_dynamics(robot, q, zero, a_d)
    assert command.residual == pytest.approx(needed.residual_by_name, rel=1e-6)


def test_feedforward_uses_nothing_that_is_measured():
    """Torques are those of inverse dynamics along the reference, whatever the state."""
    robot = ccd.load('five_bar')
    q, zero = ccd.assemble(robot), np.zeros(4)
    v = ccd.complete_velocity(robot, q, {'left_shoulder': 1.0})
    a = ccd.complete_acceleration(robot, q, v, {'right_shoulder': 2.0})
    controller = TorqueController(robot, mode='feedforward', kp=1e4)
    expected = ccd.inverse_dynamics(robot, q, v, a).tau_A
    for elsewhere in (q, ccd.assemble(robot, {'left_shoulder': 1.8})):
        np.testing.assert_array_equal(
            controller.torques(elsewhere, zero, (q, v, a)).tau_A, expected
        )


def test_gravity_compensation_holds_a_pose():
    """Under its torques nothing accelerates from rest, and the velocity does not go in."""
    run = ControlledRun('five_bar', mode='gravity_compensation')
    run.run(0.05)
    robot, q = run.sim.robot, run.loop.state.q
    a = ccd.forward_dynamics(robot, q, np.zeros(4), run.loop.command.tau_A).acceleration
    assert np.abs(a).max() < ROUNDING and np.abs(run.sim.v).max() > 1e-3


def test_gains_may_be_given_by_joint():
    """And a misspelt joint gets a suggestion."""
    robot = ccd.load('five_bar')
    stiff = TorqueController(robot, kp={'default': 10.0, 'left_shoulder': 1000.0})
    assert stiff._gains.kp[0] == 1000.0 and stiff._gains.kp[2] == 10.0
    with pytest.raises(ccd.NameNotFound, match="'left_shoulder'"):
        TorqueController(robot, kp={'left_sholder': 1.0})
    with pytest.raises(ccd.StateError, match='not negative'):
        TorqueController(robot, kd=-1.0)
    with pytest.raises(ccd.StateError, match='unknown mode'):
        TorqueController(robot, mode='pid')
    with pytest.raises(ccd.ActuationError, match='no joint is actuated'):
        TorqueController(ccd.load('five_bar', actuated=[]))


def test_singular_poses_are_treated_as_the_policy_says():
    """A parallelogram with all bars in line: refused by name, or passed with finite torques."""
    robot = parallelogram()
    q, v, zero = parallel_pose(robot, 0.0), parallel_pose(robot, 1.0), np.zeros(3)
    reference = q, v, zero
    with pytest.raises(ccd.SingularityError, match='coupler'):
        TorqueController(robot, singularity='refuse').torques(q, v, reference)
    for policy in ('damp', 'hold'):
        command = TorqueController(robot, singularity=policy).torques(q, v, reference)
        assert np.isfinite(command.tau_A).all() and command.singular
    near = parallel_pose(robot, 1e-3)
    refusing = TorqueController(robot, singularity='refuse', singular_distance=1e-2)
    with pytest.raises(ccd.SingularityError):
        refusing.torques(near, v, (near, v, zero))


# --- the guard -----------------------------------------------------------------------------------
def test_torques_stay_within_effort_and_rate():
    """Whatever is asked for, and it is told which actuators were limited."""
    robot = ccd.load('five_bar')  # 20 N m each
    guard = TorqueGuard(robot, effort_share=0.5, rate_limit=10.0)  # 100 N m/s
    before, rng = np.zeros(2), np.random.default_rng(0)
    for k in range(300):
        tau = guard.limit(rng.normal(0.0, 60.0, 2), 1e-3 * k)
        assert np.all(np.abs(tau) <= 10.0)
        assert np.all(np.abs(tau - before) <= 0.1 + ROUNDING)
        before = tau
    for k in range(300):
        tau = guard.limit([1e6, 1.0], 0.3 + 1e-3 * k)
    assert tau[0] == 10.0 and guard.saturated == ['left_shoulder'] and guard.rate_limited == []
    assert not guard.release(0.7).any()


def test_a_pause_does_not_allow_a_larger_change():
    """After a second without torques, the next ones rise from there as ever."""
    guard = TorqueGuard(ccd.load('five_bar'), rate_limit=10.0)
    guard.limit([0.0, 0.0], 0.0)
    assert np.abs(guard.limit([20.0, 20.0], 1.0)).max() <= 200.0 * 0.01 + ROUNDING


def test_torques_that_are_no_numbers_do_not_pass():
    """Named by actuator."""
    guard = TorqueGuard(ccd.load('five_bar'))
    with pytest.raises(ccd.StateError, match="'right_shoulder' is nan"):
        guard.limit([1.0, np.nan], 0.0)
    assert not guard.tau.any()


# --- the loop around it --------------------------------------------------------------------------
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


# --- nothing is learnt in the middle of a turn ---------------------------------------------------
@pytest.mark.parametrize('change', ['connect', 'cut', 'follow'])
def test_the_rank_of_a_new_structure_is_learnt_where_it_changes(change):
    """Looking for closed poses nearby takes milliseconds, which a turn at 1 kHz has not."""
    run = ControlledRun('swing')
    run.follow_sines(SWING, 1.5)
    robot, (name, *_) = run.loop.robot, run.loop.robot.loop_names
    assert robot.rank_known
    if change == 'connect':
        run.loop.cut(name)
        run.loop.connect(name)
    elif change == 'cut':
        run.loop.cut(name)
    else:
        run.loop.follow({name: False})
    assert robot.rank_known


def test_the_first_state_of_a_control_loop_teaches_the_rank():
    run = ControlledRun('five_bar', mode='gravity_compensation')
    assert not run.loop.robot.rank_known
    tracker = run.loop.tracker
    assert tracker.take(run.names, *run.measured(), stamp=1.0)
    assert tracker.robot.rank_known


@pytest.mark.parametrize('model', ['five_bar', 'stewart', 'six_bar'])
def test_the_law_in_one_call_gives_the_torques_of_the_general_way(model):
    """With equal weights the general way looks for the same torques, by least squares."""
    robot = ccd.load(model)
    weights = dict.fromkeys(robot.actuator_names, 1.0)
    whole = TorqueController(robot)
    general = TorqueController(robot, policy='weighted', weights=weights)
    rng, q = np.random.default_rng(0), ccd.assemble(robot, limits=False)
    c = ccd.coordinates(robot, q)
    v, v_d = (c.W @ rng.normal(0.0, 0.5, c.mobility) for _ in range(2))
    q_d = ccd.assemble(robot, start=ccd.integrate(robot, q, 0.05 * v_d), limits=False)
    one, other = (law.torques(q, v, (q_d, v_d, v)) for law in (whole, general))
    scale = np.abs(other.tau_A).max()
    assert one.tau_A == pytest.approx(other.tau_A, abs=1e-9 * scale)
    assert one.error == pytest.approx(other.error, rel=1e-12) and one.error > 0.0
    with pytest.raises(ccd.StateError, match='nan'):
        whole.torques(q, v, (q_d, v_d, np.full(robot.nv, np.nan)))


@pytest.mark.parametrize('let_go, resumed', [(0.7, True), (1.8, False)])
def test_a_motion_that_was_given_up_goes_on_when_the_loop_opens_in_time(let_go, resumed):
    """Shoulders further apart than arms that hold each other allow; one that is over is over."""
    run = ControlledRun('five_bar')
    run.turn()
    names = ['left_shoulder', 'right_shoulder']
    begin = np.array([run.position(name) for name in names])
    apart = begin + [0.8, -0.8]
    assert run.loop.take_reference(names, [0.1, 0.5, 1.5], [begin, begin, apart])
    run.run(let_go)
    assert 'no pose of the present branch' in run.loop.safety.text
    for each in (run.loop, run.sim):
        each.cut('tip')
    run.run(2.0)
    reached = np.array([run.position(name) for name in names])
    assert (np.abs(reached - apart).max() < 0.05) == resumed
    assert (run.loop.safety.state == 'active') == resumed, run.loop.safety


def test_a_lever_counts_by_its_own_size_and_not_beside_others():
    """One motor of two: the most that it turns in a motion of unit length, by least squares."""
    robot = ccd.load('five_bar', actuated=['left_shoulder'])
    q = ccd.assemble(robot)
    c = ccd.coordinates(robot, q)
    free = c.W / robot.structure.dofs['scale'][:, None]
    lever = float(np.sqrt(c.S @ np.linalg.solve(free.T @ free, c.S.T))[0, 0])
    rest = np.zeros(robot.nv)
    ahead = ccd.assemble(robot, {'left_shoulder': q[0] + 0.1, 'right_shoulder': q[2]}, start=q)
    for share, drives in ((0.9, True), (1.1, False)):
        controller = TorqueController(robot, weak_lever=share * lever)
        held, pulled = (
            controller.torques(q, rest, (target, rest, rest)).tau_A for target in (q, ahead)
        )
        assert (abs(pulled[0] - held[0]) > 0.1) == drives
