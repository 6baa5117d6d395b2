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

"""A turn in one compiled call does what a turn taken step by step does, and solves loops once."""

import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.control import law_turns
from closed_chain_dynamics.control.control_loop import ControlLoop
from closed_chain_dynamics.control.law import TorqueController
from closed_chain_dynamics.control.reference import Reference
from closed_chain_dynamics.control.sensed import Sensors
from closed_chain_dynamics.control.torque_guard import TorqueGuard
from closed_chain_dynamics.dynamics.tree import integrate
from closed_chain_dynamics.kernels import following, torque_law
from closed_chain_dynamics.kernels.control_turn import compute_turn

# joints that a reference names: motors, or joints that the loops move
MOTIONS = {
    'five_bar': ('left_shoulder', 'right_shoulder'),
    'exo_leg': ('hip', 'knee', 'ankle_pitch'),
    'swing': ('left_knee', 'right_knee'),
}
PERIOD = 1e-3
# two ways to sum the same terms, in torques of up to some 100 N m, after turns that follow turns
SAME_TORQUE = 1e-7


def begin(model):
    """Return a mechanism, its pose, and a trajectory of some of its joints."""
    robot, names = ccd.load(model), list(MOTIONS[model])
    at = {'hip': 0.0, 'knee': 0.4, 'ankle_pitch': 0.0} if model == 'exo_leg' else {}
    q = ccd.assemble(robot, at)
    here = np.array([q[robot.joint_slices(name)[0]][0] for name in names])
    times = 0.05 * np.arange(1, 20)
    return robot, q, (names, times, [here + 0.1 * np.sin(4.0 * t) * t for t in times])


def turns(model, *, joints=None, gap=0.0, lag=0.0, singularity='damp', **guarded):
    """
    Return the torques of a motion that is followed, and how many turns were in one call.

    `gap`: without a state, after a third of it; `lag`: of the joints behind the reference [s].
    """
    robot, q, reference = begin(model)
    law = TorqueController(robot, singularity=singularity)
    loop = ControlLoop(law, TorqueGuard(robot, **guarded))
    loop.take_reference(*reference, start=0.0)
    plan = ControlLoop(TorqueController(robot.copy()), TorqueGuard(robot)).reference
    plan.take(*reference, time=0.0, q=q, v=np.zeros(robot.nv))
    names = joints or robot.joint_names
    in_q, in_v = (
        np.concatenate([np.r_[robot.joint_slices(name)[k]] for name in names]) for k in (0, 1)
    )
    found, whole = [], []
    kept = law_turns.compute_turn

    def counted(*arguments):
        whole.append(kept(*arguments))
        return whole[-1]

    law_turns.compute_turn = counted
    try:
        for k in range(300):
            t = k * PERIOD + (gap if k > 100 else 0.0)
            q_d, v_d, _ = plan.at(max(t - lag, 0.0))
            tau = loop.take_state(names, q_d[in_q], v_d[in_v], stamp=t, now=t)
            assert tau is not None
            found.append(tau.copy())
            loop.look_ahead()
    finally:
        law_turns.compute_turn = kept
    assert loop.safety.state == 'active', loop.safety.text
    return np.array(found), sum(done >= 0 for done in whole)


@pytest.mark.parametrize('model', MOTIONS)
def test_a_turn_in_one_call_gives_the_torques_of_one_taken_step_by_step(model):
    quick, count = turns(model)
    slow, none = turns(model, power_limit=1e9)  # whose speeds are looked at in between
    assert count > 280, f'only {count} of 300 turns were in one call'
    assert none == 0
    assert np.abs(slow).max() > 0.1
    np.testing.assert_allclose(quick, slow, atol=SAME_TORQUE)


@pytest.mark.parametrize('policy', ['hold', 'refuse'])
def test_away_from_singular_poses_a_policy_for_them_changes_neither_torques_nor_turns(policy):
    """They are looked for, in one call, and there are none."""
    quick, count = turns('exo_leg', singularity=policy)
    assert count > 280, f'only {count} of 300 turns were in one call'
    np.testing.assert_allclose(quick, turns('exo_leg', power_limit=1e9)[0], atol=SAME_TORQUE)


@pytest.mark.parametrize('model', MOTIONS)
def test_a_state_that_comes_late_weakens_gains_and_no_turn_takes_longer(model):
    """A machine that is too busy for a moment must not have more to do for the next second."""
    late = {'gap': 0.015, 'lag': 0.02}  # turns above 10 ms cannot hold kd = 40 / s
    quick, count = turns(model, **late)
    assert count > 280, f'only {count} of 300 turns were in one call'
    np.testing.assert_allclose(quick, turns(model, power_limit=1e9, **late)[0], atol=SAME_TORQUE)


def test_the_motors_alone_suffice_for_a_turn_in_one_call():
    motors = list(ccd.load('exo_leg').actuator_names)
    quick, count = turns('exo_leg', joints=motors)
    assert count > 280
    np.testing.assert_allclose(
        quick, turns('exo_leg', joints=motors, power_limit=1e9)[0], atol=SAME_TORQUE
    )


def test_a_reference_reached_ahead_is_that_of_the_stamp_that_comes():
    """Stamps come early, late, much too late, and a new trajectory comes in between."""
    robot, q, points = begin('exo_leg')
    ahead, in_turn = Reference(robot), Reference(robot.copy())
    random, t = np.random.default_rng(3), 0.0
    for k in range(200):
        if k in (0, 100):
            for each in (ahead, in_turn):
                each.take(*points, time=t, q=q, v=np.zeros(robot.nv), start=0.0)
        t += 4.5 * PERIOD if k % 50 == 49 else PERIOD * random.uniform(0.9, 1.1)
        found, exact = ahead.at(t), in_turn.at(t)
        foreseen = ahead._ahead
        ahead.look_ahead()
        # moved by at most 0.2 ms: jerks of some 100 rad/s^3 give 1e-9 rad, and turns follow turns
        np.testing.assert_allclose(found[0], exact[0], atol=1e-8)
        np.testing.assert_allclose(found[1], exact[1], atol=1e-5)
        np.testing.assert_allclose(found[2], exact[2], atol=0.1)
    assert ahead._ahead is not None and foreseen is None


@pytest.mark.parametrize('model', ['swing', 'figure', 'walker', 'high_bar'])
def test_too_few_actuators_leave_the_rest_to_the_dynamics_in_one_call_too(model):
    robot = ccd.load(model)
    q = ccd.assemble(robot)
    random = np.random.default_rng(5)
    names = [name for name in robot.joint_names if name in robot.coordinate_names]
    v = ccd.complete_velocity(robot, q, {names[0]: 0.3})
    target = integrate(robot, q, 0.01 * v), v, 0.1 * random.normal(size=robot.nv)
    whole = TorqueController(robot)
    weights = dict.fromkeys(robot.actuator_names, 1.0)
    by_steps = TorqueController(robot, policy='weighted', weights=weights)
    assert whole._whole_law(q, v, target) is not None
    quick, slow = whole.torques(q, v, target), by_steps.torques(q, v, target)
    assert by_steps._is_plain is False
    np.testing.assert_allclose(quick.tau_A, slow.tau_A, atol=SAME_TORQUE)
    assert quick.error == pytest.approx(slow.error, rel=1e-9)
    assert quick.residual == pytest.approx(slow.residual, rel=1e-6)
    assert quick.residual, 'something is to be left over'


@pytest.mark.parametrize('guarded', [{}, {'power_limit': 1e9}], ids=['one call', 'by steps'])
def test_torques_are_sent_once_and_those_that_are_returned(guarded):
    robot, q, reference = begin('five_bar')
    loop = ControlLoop(TorqueController(robot), TorqueGuard(robot, **guarded))
    sent = []
    for k in range(20):
        stamp = PERIOD * (k if k != 15 else 3)  # one is out of order, and refused
        tau = loop.take_state(
            robot.joint_names, q, np.zeros(robot.nv), stamp=stamp, now=k * PERIOD, send=sent.append
        )
        assert (tau is None) == (k == 15) and len(sent) == (tau is not None)
        if sent:
            assert sent.pop() is tau is loop.guard.tau
        if k == 0:
            loop.take_reference(*reference)
        loop.look_ahead()


def test_a_pose_in_whole_numbers_is_a_pose():
    """Compiled code that looks at types once must not take integers for numbers with a point."""
    robot, q, reference = begin('five_bar')
    whole, real = Reference(robot), Reference(robot.copy())
    rest = np.zeros(robot.nv, dtype=int)
    whole.take(*reference, time=0.0, q=q, v=rest)
    real.take(*reference, time=0.0, q=q, v=np.zeros(robot.nv))
    for k in range(5):
        np.testing.assert_array_equal(whole.at(k * PERIOD), real.at(k * PERIOD))


def test_a_clock_that_started_anew_is_told_of_once():
    """Who hands trajectories over forgets them then, and must not in every turn that follows."""
    robot, q, reference = begin('five_bar')
    loop = ControlLoop(TorqueController(robot), TorqueGuard(robot))
    told = []
    for k in range(30):
        stamp = 10.0 + k * PERIOD if k < 10 else k * PERIOD
        loop.take_state(robot.joint_names, q, np.zeros(robot.nv), stamp=stamp, now=k * PERIOD)
        if k == 0:
            loop.take_reference(*reference)
        told.append(loop.tracker.restarted)
    assert sum(told) == 1


def test_what_was_sensed_before_the_sensors_went_is_not_held_against_the_law():
    robot, q, reference = begin('five_bar')
    loop = ControlLoop(TorqueController(robot), TorqueGuard(robot))
    loop.sensors = Sensors(robot, links=robot.link_names[-1:])
    for k in range(12):
        now = k * PERIOD
        loop.take_state(robot.joint_names, q, np.zeros(robot.nv), stamp=now, now=now)
        if k == 0:
            loop.take_reference(*reference)
        if k == 6:
            assert loop.safety.state == 'degraded'  # nobody measures what is to be measured
            loop.sensors = Sensors(robot)
    assert loop.safety.state == 'active'


def test_loops_are_solved_once_in_a_turn_and_once_for_the_next_reference(monkeypatch):
    robot, q, reference = begin('exo_leg')
    loop = ControlLoop(TorqueController(robot), TorqueGuard(robot))
    loop.take_reference(*reference, start=0.0)
    solved = []

    def counting(kernel):
        def solve(m, *arguments):
            solved.append(kernel)
            return kernel(m, *arguments)

        return solve

    for module in (following, torque_law):
        monkeypatch.setattr(module, 'solve_constraints', counting(module.solve_constraints))
    seen = []

    def interpreted(*arguments):
        solved.clear()
        done = compute_turn.interpret(arguments)
        seen.append((done, len(solved)))
        return done

    monkeypatch.setattr(law_turns, 'compute_turn', interpreted)
    for k in range(4):
        t = k * PERIOD
        q_d, v_d = (q, np.zeros(robot.nv)) if k == 0 else loop.reference.at(t)[:2]
        assert loop.take_state(robot.joint_names, q_d, v_d, stamp=t, now=t) is not None
    assert seen and seen[-1] == (0, 1)
