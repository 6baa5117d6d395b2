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

from helpers.controlled_runs import FIVE_BAR, ControlledRun
from helpers.folding_linkages import parallel_pose, parallelogram
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.control.law import TorqueController
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
    monkeypatch.setattr(TorqueController, 'whole_law', lambda *_: None)
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
